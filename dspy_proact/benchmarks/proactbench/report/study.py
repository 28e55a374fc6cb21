"""How far a judge agrees with people, beside how far people agree with each other: by phase and pooled."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from dspy_proact.benchmarks.proactbench.corpus import RatedItem, Ratings, published_ratings
from dspy_proact.benchmarks.proactbench.report.study_part import UNJUDGED, Choices, Part, Parting, Rated, partings
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase
from dspy_proact.errors import RunError, UsageError
from dspy_proact.plain_text import printable
from dspy_proact.report.numbers import counted
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import front_html
from dspy_proact.runs import Outcome
from dspy_proact.stats import Standing


@dataclass(frozen=True, repr=False)
class Study:
    """Ratings with what they say of people and of a judge."""

    ratings: Ratings
    """After what was left out."""
    choices: Choices
    whole: Part
    """All phases together, before any rater was left out."""
    excluded: tuple[str, ...] = ()
    """Raters left out by the published rule."""
    embedded: bool = False
    """Whether responses and the judge's grades are of the embedded stand-in."""
    judge: str = ""
    """By name; empty where it is not known."""
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The judge's, by key of the item; one a verdict."""
    learned_on: int = 0
    """Items of conversations that the judge's program was compiled on."""

    def __repr__(self) -> str:
        counts = (
            counted(len(self.ratings.ratings), "rating"),
            counted(len(self.pooled.rated), "item"),
            counted(len(self.ratings.annotators), "rater"),
        )
        judged = f"; judge {self.judge}" if self.judge else ""
        return f"Study({printable(self.ratings.name)}: {', '.join(counts)}{printable(judged)})"

    def _repr_html_(self) -> str:
        from dspy_proact.benchmarks.proactbench.report.study_text import print_study

        return front_html(partial(print_study, self))

    @cached_property
    def pooled(self) -> Part:
        """All phases together."""
        return Part(_rated(self.ratings), self.choices)

    @cached_property
    def phases(self) -> Mapping[Phase, Part]:
        """Each phase, also those that nobody rated."""
        parts = {phase: [each for each in self.pooled.rated if each.item.phase is phase] for phase in Phase}
        return {phase: Part(rated, self.choices) for phase, rated in parts.items()}

    @property
    def parts(self) -> Mapping[str, Part]:
        """Each phase, and all of them pooled, by name."""
        return {**{str(phase): part for phase, part in self.phases.items()}, "pooled": self.pooled}

    @property
    def apart(self) -> list[Standing]:
        """Raters who agree with the others less than one person does with another, by the whole of their interval."""
        usual = self.whole.reference.one_human.value
        found = ((each, each.against_others.high) for each in self.whole.standings)
        return [each for each, high in found if high is not None and usual is not None and high < usual]

    @cached_property
    def partings(self) -> list[Parting]:
        """Items on which the judge and people part, farthest first."""
        return partings(self.pooled, self.reasons)

    @property
    def balanced(self) -> bool:
        """Whether items are the published ones, drawn by the judge's grade: no rate on them is one in the corpus."""
        keys = {item.key for item in self.ratings.items}
        known = self.ratings.name in {"published", "proactbench"}
        return known or keys == {item.key for item in published_ratings().items}


def study(
    ratings: Ratings,
    choices: Choices | None = None,
    *,
    embedded: bool = False,
    graded: Summary | None = None,
    learned_on: int = 0,
) -> Study:
    """Compare people with each other and with the judge.

    Args:
        ratings: Of any study, with the judge's grades where they are known.
        choices: What is counted, and how.
        embedded: Whether responses and the judge's grades are of the embedded stand-in.
        graded: A run on the items, whose grades stand in place of all that were known before.
        learned_on: Items of conversations that the judge's program was compiled on.

    Raises:
        UsageError: The published rule is to exclude raters, and the judge's grades are not known or nobody is left.
    """
    choices = choices or Choices()
    judge, reasons = "", dict[str, tuple[str, ...]]()
    if graded is not None:
        ratings, reasons = _graded(ratings, graded), _reasons(graded)
        judge, embedded = graded.judge, embedded or graded.embedded
    whole = Part(_rated(ratings), Choices())
    found = Study(ratings, choices, whole, (), embedded, judge, reasons, learned_on)
    if not choices.exclude:
        return found
    if not whole.compared:
        raise UsageError(f"{ratings.name}: raters are excluded by their agreement with a judge, and {UNJUDGED}")
    excluded = tuple(whole.excluded)
    kept = tuple(rating for rating in ratings.ratings if rating.annotator not in excluded)
    if not kept:
        raise UsageError(f"{ratings.name}: the published rule leaves out every rater; do without --exclude")
    return replace(found, ratings=replace(ratings, ratings=kept), excluded=excluded)


def items_of(summary: Summary) -> tuple[RatedItem, ...]:
    """The cases of a run as items to rate, with the judge's grade and the response of the first epoch, if any.

    Of a results file without a view: it does not hold the conversations.

    Raises:
        UsageError: The run is of another benchmark.
        RunError: A case has another form than those of this one.
    """
    if summary.benchmark != "proactbench":
        raise UsageError(f"{summary.path}: no run of proactbench, whose phases and rubrics ratings are by")
    return tuple(_item(summary, outcome) for outcome in summary.outcomes if outcome.epoch == 1)


def _item(summary: Summary, outcome: Outcome) -> RatedItem:
    try:
        return RatedItem(
            key=outcome.key,
            phase=Phase(outcome.stratum),
            scenario=outcome.group,
            persona=str(outcome.meta.get("persona", "")),
            judge=Grade(outcome.label) if outcome.label else None,
            view=JudgeView.model_validate(outcome.view) if summary.manifest else None,
            response=outcome.response,
            model=summary.model,
        )
    except ValueError as error:
        raise RunError(f"{summary.path}: {outcome.key!r} cannot be read") from error


def _graded(ratings: Ratings, run: Summary) -> Ratings:
    """The same with the grades of a run, and with no other."""
    labels = {outcome.key: outcome.label for outcome in run.outcomes if outcome.epoch == 1 and outcome.label}
    grades = {key: Grade(label) for key, label in labels.items()}
    items = (item.model_copy(update={"judge": grades.get(item.key)}) for item in ratings.items)
    return replace(ratings, items=tuple(items))


def _reasons(run: Summary) -> dict[str, tuple[str, ...]]:
    """Of the verdicts of a run, by case."""
    return {
        outcome.key: tuple(str(verdict.detail.get("reasoning", "")) for verdict in outcome.verdicts)
        for outcome in run.outcomes
        if outcome.epoch == 1
    }


def _rated(ratings: Ratings) -> list[Rated]:
    pairs = ((item, ratings.by_item[item.key]) for item in ratings.items)
    return [Rated(item, given) for item, given in pairs if given]
