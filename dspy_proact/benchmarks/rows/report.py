"""What is said of grades of rows in reports: what they rest on, and how rows are read."""

from collections.abc import Iterator
from typing import Any

from dspy_proact.benchmarks.rows.levels import RowVerdict
from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.evaluation.reporting import Addition, Grounds, PageSection, Reporting, View, sections_of
from dspy_proact.runs import VerdictRecord

WITHOUT_CRITERIA = (
    "No criteria were given: the judge graded by its own reading of the words {levels}. Only its agreement with people "
    "shows what such grades are worth."
)
BY_STEPS = "Score: the levels {levels} at equal steps from 0 to 100, which is an assumption."
UNGROUPED = (
    "Every row is its own group, as no column is named that says which belong together: intervals are too narrow where "
    "rows share a customer or a conversation."
)


def _sections(view: View) -> Iterator[PageSection]:
    if "conversation" not in view:  # the run keeps no inputs
        yield from sections_of(view)
        return
    chat = tuple((message["role"], message["content"]) for message in view["conversation"])
    yield PageSection("conversation", "chat", chat)
    if view["context"]:
        columns = tuple((one["name"], one["text"]) for one in view["context"])
        yield PageSection("further columns", "terms", columns, hidden=True)


def _grounds(verdict: VerdictRecord) -> Grounds:
    detail = RowVerdict.model_validate(verdict.detail)
    return Grounds(detail.reasoning, detail.evidence)


def _of_study(study: Any) -> Addition:
    """What the judge's grades rest on, where a judge is compared."""
    run: MeasuredRun | None = study.graded
    return Addition(lines=_without_criteria(run) if run else ())


def _without_criteria(run: MeasuredRun) -> list[str]:
    levels = ", ".join(run.labels if run.settings.get("nominal") else run.labels[::-1])
    return [] if run.settings.get("criteria") or not run.judges else [WITHOUT_CRITERIA.format(levels=levels)]


def _of_run(run: MeasuredRun) -> Addition:
    """What the grades can claim."""
    steps = BY_STEPS.format(levels=", ".join(run.labels[::-1]))
    groups = [UNGROUPED] if len(run.outcomes) > 1 and run.group_count == run.case_count else []
    return Addition(lines=[*_without_criteria(run), *([steps] if run.ordered else []), *groups])


REPORTING = Reporting(
    meta=frozenset(),
    about_case="A row is a message of a user, with what was said before it, and a response to it.",
    detail=lambda _: RowVerdict,
    answer=str,
    sections=_sections,
    grounds=_grounds,
    run=_of_run,
    agreement=_of_study,
)
