"""One file that shows a made corpus: what was shown of it, where it is weak, and every dialogue; no script.

What models wrote is text: it is escaped, and Markdown of responses is rendered as elements that `rendered` names.
"""

from typing import Any

from markupsafe import Markup

from dspy_proact.benchmarks.proactbench.generation.made import MadeCorpus, MadeDialogue, MadeTurn, PlantedCell
from dspy_proact.benchmarks.proactbench.generation.styles import COMBINATIONS
from dspy_proact.benchmarks.proactbench.generation.values import Anchor, Swap, SwappedTurn
from dspy_proact.benchmarks.proactbench.report.datasheet import canary
from dspy_proact.benchmarks.proactbench.report.made_summary import PHASES, MadeSummary, effect_rows
from dspy_proact.benchmarks.proactbench.types import Grade
from dspy_proact.evidence import Passage
from dspy_proact.plain_text import encodable
from dspy_proact.report.made import across, short, writers, written
from dspy_proact.report.numbers import counted, signed
from dspy_proact.report.page.figures import PAGE, one_file, page_text, templates
from dspy_proact.report.page.rendered import marked
from dspy_proact.stats import Estimate
from dspy_proact.stats.likeness import WORD

_HERE = "dspy_proact.benchmarks.proactbench.report"
_REPEATS = {
    "name": "Names of people",
    "persona": "Personas",
    "title": "Titles",
    "opening": "First words",
    "closing": "Last words",
}
_TRAITS = {
    "E": "expressive",
    "P": "precise",
    "VA": "verbally aggressive",
    "Q": "questioning",
    "Em": "emotional",
    "IM": "out to impress",
}
_TONES = {Grade.PASS.value: "best", Grade.PARTIAL.value: "middle", Grade.FAIL.value: "worst"}


def corpus_page(corpus: MadeCorpus) -> str:
    """The page of a made corpus, as HTML that needs no other file."""
    summary = MadeSummary(corpus)
    figures = (across, counted, difference, effect_rows, passed, short, tone)
    texts = (changed, disclosed_at, new_words, people, style_of, unchanged, with_marks, writers, written)
    own: dict[str, Any] = {function.__name__: function for function in (*figures, *texts)}
    shown = {"corpus": corpus, "summary": summary, "phases": PHASES, "repeats": _REPEATS, "canary": canary(corpus)}
    style = page_text(PAGE, "page.css") + page_text(PAGE, "made.css") + page_text(_HERE, "corpus.css")
    return encodable(one_file(templates(_HERE).get_template("corpus.html"), style, "", **shown, **own))


def difference(estimate: Estimate) -> Markup:
    """A difference in points of a hundred, with its interval; a dash where there is none."""
    if estimate.value is None:
        return Markup('<span class="none">–</span>')
    if estimate.low is None or estimate.high is None:
        return Markup("{}").format(signed(estimate.value))
    interval = Markup('<span class="interval">[{}, {}]</span>').format(signed(estimate.low), signed(estimate.high))
    return Markup("{} {}").format(signed(estimate.value), interval)


def passed(cell: PlantedCell) -> str:
    """How many triggers a planted assistant passed."""
    return f"{cell.passed} of {cell.graded}"


def tone(grade: str) -> str:
    """The class of a grade's badge; of what is no grade, none."""
    return _TONES.get(grade, "")


def people(dialogue: MadeDialogue) -> str:
    """Who takes part in a scenario."""
    return "; ".join(f"{person.name} ({person.relation})" for person in dialogue.scenario.cast)


def style_of(dialogue: MadeDialogue) -> str:
    """The number of a user's style and its traits in words; empty without a style."""
    if dialogue.style is None:
        return ""
    traits = ", ".join(_TRAITS[trait] for trait in COMBINATIONS[dialogue.style - 1])
    return f"{dialogue.style} of {len(COMBINATIONS)}: {traits or 'no trait stands out'}"


def disclosed_at(dialogue: MadeDialogue, anchor: Anchor) -> str:
    """The turn at which an anchor is disclosed, in words."""
    turns = [disclosure.turn for disclosure in dialogue.disclosures if disclosure.anchor == anchor.id]
    return f"turn {turns[0]}" if turns else "not disclosed"


def with_marks(dialogue: MadeDialogue, turn: MadeTurn) -> Markup:
    """A user message with what discloses an anchor marked."""
    message = turn.message.message
    quotes = [(of.anchor, Passage(message).quote(of.quote)) for of in dialogue.disclosures if of.turn == turn.turn]
    spans = [
        (quote.start, quote.end, name) for name, quote in quotes if quote.start is not None and quote.end is not None
    ]
    return marked(message, spans)


def changed(dialogue: MadeDialogue, swap: Swap) -> list[tuple[MadeTurn, SwappedTurn]]:
    """The turns that a swap rewrote, before and after."""
    originals = {turn.turn: turn for turn in dialogue.turns}
    pairs = [(originals[after.turn], after) for after in swap.turns if after.turn in originals]
    return [(before, after) for before, after in pairs if _differ(before, after)]


def unchanged(dialogue: MadeDialogue, swap: Swap) -> list[int]:
    """The turns that a swap left as they were."""
    rewritten = {after.turn for _, after in changed(dialogue, swap)}
    return [after.turn for after in swap.turns if after.turn not in rewritten]


def _differ(before: MadeTurn, after: SwappedTurn) -> bool:
    return before.message.message != after.user or after.assistant not in (None, before.reply)


def new_words(before: str, after: str) -> Markup:
    """A rewritten text, with the words marked that the original does not have; neighbours are marked as one."""
    known = {match.group().casefold() for match in WORD.finditer(before)}
    spans = list[tuple[int, int, str]]()
    last_new = False
    for match in WORD.finditer(after):
        is_new = match.group().casefold() not in known
        if is_new and last_new:
            spans[-1] = (spans[-1][0], match.end(), "")
        elif is_new:
            spans.append((*match.span(), ""))
        last_new = is_new
    return marked(after, spans)
