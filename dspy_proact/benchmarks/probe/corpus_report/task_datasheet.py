"""The datasheet of made tasks, as Markdown, after Gebru et al., Datasheets for Datasets (arXiv:1803.09010).

It is a function of the answers: no date, time or cost is in it. What a person or a model wrote stands in it as code,
which no Markdown leaves.
"""

from collections.abc import Iterator

from dspy_proact.benchmarks.probe.corpus_report.task_page import shares
from dspy_proact.benchmarks.probe.corpus_report.task_publishing import INSTANCE, METHOD, PURPOSE
from dspy_proact.benchmarks.probe.corpus_report.task_summary import TaskSummary
from dspy_proact.publish.made_lines import diversity_lines, dropped_lines, ending_lines, made_datasheet, making_lines
from dspy_proact.publish.markdown import block, code, table_lines, unmarked
from dspy_proact.report.numbers import counted, percent, share


def datasheet(summary: TaskSummary) -> str:
    """The datasheet of a made corpus."""
    sections = {
        "Motivation": _motivation,
        "Composition": _composition,
        "How it was made": _process,
        "Proof": _proof,
        "Checks": _checks,
        "Diversity": _diversity,
        "What was dropped, and why": _dropped,
        "Uses and limits": _limits,
        "Licence and attribution": _distribution,
    }
    return made_datasheet(f"tasks for {code(summary.corpus.brief.work.name)}", summary, sections)


def _motivation(summary: TaskSummary) -> Iterator[str]:
    yield f"{PURPOSE} `dspy-proact generate` made it from a brief that a person wrote (`brief.toml`). The work:"
    yield ""
    yield block(summary.corpus.brief.work.text)


def _composition(summary: TaskSummary) -> Iterator[str]:
    corpus = summary.corpus
    people = [of.person for of in summary.people]
    yield from table_lines(
        ("what", "count"),
        (
            ("people", f"{len(people)} of {corpus.made.wanted} wanted"),
            ("personas", len({person.persona for person in people})),
            ("tasks", len(summary.tasks)),
            *(
                (f"tasks, {difficulty}", sum(of.person.difficulty == difficulty for of, _ in summary.tasks))
                for difficulty in summary.evidence.columns["difficulty"]
            ),
            ("items of the evidence", sum(len(task.evidence) for _, task in summary.tasks)),
            ("items that are no evidence", sum(len(person.distractors) for person in people)),
            ("actions", sum(len(person.actions) for person in people)),
        ),
    )
    yield ""
    yield f"{INSTANCE} Models wrote its people, from personas."
    yield ""
    yield f"- Language: {code(corpus.brief.tasks.language)}"
    yield (
        "- Files: `tasks/*_input.json` and `tasks/*_output.json` (official layout), `distractors.jsonl` (how the other "
        "items mislead), `items.jsonl` (who wrote what), `audits.jsonl`, `calls.jsonl`"
    )


def _process(summary: TaskSummary) -> Iterator[str]:
    method, corpus = f"{METHOD} A person has three attempts at most.", summary.corpus
    return making_lines(method, corpus)


def _proof(summary: TaskSummary) -> Iterator[str]:
    corpus, proof = summary.corpus, summary.corpus.proof
    if summary.stand_in:
        yield "The embedded stand-in took part: these numbers show how this works and measure nothing."
        yield ""
    if proof is None:
        yield "None was made: whether these tasks can be solved, and only from their evidence, is unknown."
        return
    full = corpus.level == "full"
    yield (
        "A solver is shown the world, all actions, and the evidence, the evidence without one item, or one item alone. "
        "Solved is end to end: some of the evidence, every facet, the action and its parameters. A task was kept where "
        f"{'at least 2 of 3 answers' if full else 'the one answer'} from the evidence solved it, "
        f"{'no item could be spared and none was enough alone (2 of 3 answers)' if full else 'none from less did'}, "
        "and an adversary who saw no text did not come to the action and the essential facets. "
        f"{counted(proof.tested, 'version')} of tasks were tested, and {proof.kept} kept; what could not be graded "
        "counted against a task."
    )
    yield ""
    rows = [
        (
            name,
            of.tasks,
            of.personas,
            f"{of.solved} of {of.graded}",
            percent(of.share),
            share(high),
            of.share.reason or "",
        )
        for name, of, high in shares(corpus)
    ]
    headings = ("answered from", "tasks", "personas", "solved", "% of tasks, 95 % interval", "at most, %", "remark")
    yield from table_lines(headings, rows)
    yield ""
    yield (
        f"Fresh answers, by {code(proof.tester)}, decided nothing; the others decided what was kept, over all versions "
        "that were tested. Intervals are clustered by persona."
    )


def _checks(summary: TaskSummary) -> Iterator[str]:
    checks = summary.corpus.checks
    rows = [(check.name, check.state, unmarked(check.sentence)) for check in checks]
    yield from table_lines(("check", "state", "what it shows"), rows) if rows else ["None was made."]


def _diversity(summary: TaskSummary) -> Iterator[str]:
    for coverage, what in ((summary.evidence, "the evidence"), (summary.distractors, "the other items")):
        cells = f"{coverage.empty} of {coverage.cells}"
        yield f"- Cells of {' x '.join(coverage.columns)} without an item of {what}: {cells}"
    yield from diversity_lines(summary.common, summary.alike, summary.lengths, "person")


def _dropped(summary: TaskSummary) -> Iterator[str]:
    lost = sum(count for _, count in summary.rejections)
    yield (
        f"{counted(len(summary.corpus.made.dropped), 'attempt')} at people failed; "
        f"{counted(summary.missing, 'person', 'people')} could not be made. Of the people who were, "
        f"{counted(lost, 'bottleneck')} {'is' if lost == 1 else 'are'} no task of the corpus."
    )
    yield from dropped_lines(summary.repairs, summary.rejections, "why a bottleneck is no task", "bottlenecks")


def _limits(summary: TaskSummary) -> Iterator[str]:
    yield "- For measuring an agent in this line of work and for compiling one; for no claim about agents as such."
    yield "- It has PROBE's form and is not PROBE: scores on it are not comparable with published ones."
    yield "- Models wrote the people, the items and the labels, and audited them. People have reviewed none."
    yield "- A proof asks models whether tasks can be solved, and from what; nobody asked people."
    yield "- Bottlenecks are planted: real ones are spread less neatly, and may be resolved in several ways."
    if summary.weakest:
        rows = [f"person {one.slot} task {one.task.number}" for one in summary.weakest[:10]]
        more = f" and {len(summary.weakest) - 10} more" if len(summary.weakest) > 10 else ""
        yield f"- To be reviewed first: {', '.join(rows)}{more}."


def _distribution(summary: TaskSummary) -> Iterator[str]:
    if summary.corpus.brief.people.personas == "invented":
        yield "- Personas: invented, bundled with dspy-proact, Apache-2.0."
    else:
        yield "- Personas: of the person who wrote the brief, who must be entitled to publish them."
    yield "- The texts of the brief are of the person who wrote it."
    yield from ending_lines(summary.corpus.made)
