"""One file that shows a made corpus: what was shown of it, where it is weak, and every task; no script.

What models wrote is text, and escaped.
"""

from typing import Any

from markupsafe import Markup

from dspy_proact.benchmarks.probe.corpus_report.task_summary import TaskSummary
from dspy_proact.benchmarks.probe.generation.corpus import SolvedShare, TaskCorpus
from dspy_proact.benchmarks.probe.generation.made import MadeItem, MadeTask, TaskProof
from dspy_proact.benchmarks.probe.generation.proof import Answers
from dspy_proact.evidence import Passage
from dspy_proact.plain_text import encodable
from dspy_proact.report.made import across, short, writers, written
from dspy_proact.report.numbers import counted
from dspy_proact.report.page.figures import PAGE, one_file, page_text, templates
from dspy_proact.report.page.rendered import marked

_HERE = "dspy_proact.benchmarks.probe.corpus_report"
_REPEATS = {
    "name": "Names of people",
    "company": "Companies",
    "persona": "Personas",
    "title": "Titles of items",
    "opening": "First words of bottlenecks",
}
FACETS = {
    "who_blocked": "Who is held up",
    "who_blocker": "By whom or what",
    "what_task": "In which task",
    "why_root_cause": "Why",
    "when_deadline": "By when",
    "where_system": "Where",
    "how_mechanism": "How",
    "impact_scope": "What it leads to",
}
"""What a facet says, by its name."""
_MOST_FINDINGS = 10
"""Of a check, that are open at once."""


def corpus_page(summary: TaskSummary, canary: str) -> str:
    """The page of a made corpus, as HTML that needs no other file."""
    corpus = summary.corpus
    functions = (across, answers_by, counted, people_of, rows_of, short, shares, tone, value_of, with_marks, writers)
    own: dict[str, Any] = {function.__name__: function for function in (*functions, written)}
    names = {"facets": FACETS, "repeats": _REPEATS, "most": _MOST_FINDINGS}
    styles = ((PAGE, "page.css"), (PAGE, "made.css"), ("dspy_proact.audit", "audit.css"), (_HERE, "tasks.css"))
    style = "".join(page_text(package, name) for package, name in styles)
    shown = {"corpus": corpus, "summary": summary, "canary": canary}
    return encodable(one_file(templates(_HERE).get_template("tasks.html"), style, "", **shown, **names, **own))


def shares(corpus: TaskCorpus) -> list[tuple[str, SolvedShare, float | None]]:
    """What answers of each kind solved: in words, the share, and the upper end of its interval."""
    proof = corpus.proof
    rows = (
        (
            ("the evidence alone, fresh", proof.fresh),
            ("the evidence alone, deciding", proof.directed),
            ("less than the evidence", proof.less),
            ("no text: the adversary", proof.shortcut),
        )
        if proof
        else ()
    )
    return [
        (name, solved, solved.bound if solved is (proof and proof.shortcut) else solved.share.high)
        for name, solved in rows
        if solved and solved.graded
    ]


def answers_by(proof: TaskProof) -> list[tuple[str, Answers, bool]]:
    """What was answered from what: in words, each answer, and whether it is well that it solves the task."""
    from_less = [(f"all but {item}", of, False) for item, of in proof.without.items()]
    from_less += [(f"{item} alone", of, False) for item, of in proof.alone.items()]
    adversary: Answers = (proof.shortcut,) if proof.fresh else ()
    rows = [("the evidence", proof.directed, True), *from_less, ("the evidence, fresh", proof.fresh, True)]
    return [row for row in (*rows, ("no text: the adversary", adversary, False)) if row[1]]


def tone(answer: bool | None, well: bool) -> str:
    """The class of an answer's badge; of one that could not be graded, none."""
    return "" if answer is None else "best" if answer == well else "worst"


def rows_of(corpus: TaskCorpus, slot: int, task: MadeTask) -> str:
    """By which files name a task; empty where there are no files."""
    return corpus.keys.get((slot, task.number), "")


def people_of(item: MadeItem) -> str:
    """Who wrote an item and to whom."""
    draft = item.item
    to = f" to {', '.join(draft.people)}" if draft.people else ""
    return f"{draft.author}{to}{f', at {draft.location}' if draft.location else ''}"


def value_of(value: str | float | list[str]) -> str:
    """The value of a parameter."""
    return ", ".join(value) if isinstance(value, list) else value if isinstance(value, str) else f"{value:,.10g}"


def with_marks(task: MadeTask, number: int, item: MadeItem) -> Markup:
    """The text of an item of the evidence with what states a facet or a parameter marked."""
    filled = [(f"{one.name}", one.quote) for one in task.parameters if one.item == number]
    passage = Passage(item.item.text)
    quotes = [
        (name, passage.quote(quote)) for name, quote in [*((one.what, one.quote) for one in item.stated), *filled]
    ]
    names = dict[tuple[int, int], dict[str, None]]()
    for name, quote in quotes:
        if quote.start is not None and quote.end is not None:
            names.setdefault((quote.start, quote.end), {})[FACETS.get(name, name).lower()] = None
    return marked(item.item.text, [(start, end, ", ".join(of)) for (start, end), of in names.items()])
