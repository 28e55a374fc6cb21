"""Ratings of responses of a run, as its report takes them; how what is rated was chosen is looked into."""

from collections.abc import Iterator, Mapping

from dspy_proact.benchmarks.proactbench.corpus import SAMPLE, Draw, RatedItem, Ratings
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase
from dspy_proact.errors import RunError, UsageError
from dspy_proact.report.corrected import PeoplesRatings, drawn_keys, grades_mark, ratable, unfair
from dspy_proact.report.numbers import counted
from dspy_proact.report.summary import Summary


def peoples_ratings(ratings: Ratings, summary: Summary) -> PeoplesRatings:
    """What people gave to responses of the first epoch of a run or a results file.

    Raises:
        UsageError: The run is of another benchmark, no rated item is one of its triggers, or one is with another
            response.
    """
    own = {item.key: item for item in items_of(summary)}
    rated = {item.key: item for item in ratings.items if ratings.by_item[item.key]}
    if not rated.keys() & own.keys():
        raise UsageError(
            f"{ratings.name}: none of its {counted(len(rated), 'rated item')} is a trigger of {summary.path}; name "
            "ratings of the responses of this run, or the run of those that were rated"
        )
    for key in rated.keys() & own.keys():
        _require_response(ratings, rated[key], own[key], summary)
    scored = {outcome.key for outcome in ratable(summary)}
    given = {
        key: {rating.annotator: rating.grade.score for rating in ratings.by_item[key]}
        for key in own
        if key in scored and key in rated
    }
    fault = unfair(summary, set(given), _drawn(ratings, summary))
    people = "these raters" if ratings.name == SAMPLE else "people"
    return PeoplesRatings(ratings.name, given, fault, tuple(_notes(ratings, rated, own, scored, summary)), people)


def draw_of(summary: Summary, count: int, seed: int) -> tuple[Draw, list[RatedItem]]:
    """Responses of a run to be rated, drawn in equal numbers by phase, and in each by the judge's grade.

    Returns:
        What the sheet says of how they were drawn, and the items in the order of the sheet, in which every first part
        is a draw, too.

    Raises:
        UsageError: The run is of another benchmark, or has no such number of scored triggers.
    """
    items, order = {item.key: item for item in items_of(summary)}, drawn_keys(summary, seed)
    if count > len(order):
        raise UsageError(f"{summary.path}: {count} cannot be drawn of {counted(len(order), 'scored trigger')}")
    return Draw(count=count, seed=seed, of=grades_mark(summary)), [items[key] for key in order[:count]]


def _drawn(ratings: Ratings, summary: Summary) -> list[str] | str:
    """Keys of the longest of the draws, of which the others are the beginnings; or why they are not known."""
    if not ratings.draws:
        return "nothing shows that the rated triggers were drawn by the judge's grades"
    mark, draws = grades_mark(summary), sorted(ratings.draws, key=lambda draw: draw.count)
    if any(draw.of != mark for draw in draws):
        return "the rated triggers were drawn by other grades than this run has"
    if len({draw.seed for draw in draws}) > 1:
        return "the rated triggers are of several draws with seeds of their own"
    return drawn_keys(summary, draws[-1].seed)[: draws[-1].count]


def _require_response(ratings: Ratings, rated: RatedItem, own: RatedItem, summary: Summary) -> None:
    if rated.response is None:
        raise UsageError(
            f"{ratings.name}: {rated.key!r} comes without its response, so that nobody knows whether it is that of "
            f"{summary.path}; name ratings that come with what was rated"
        )
    if rated.response != own.response:
        raise UsageError(
            f"{ratings.name}: {rated.key!r} has another response in {summary.path} than was rated; name ratings of the "
            "responses of this run"
        )


def items_of(summary: Summary) -> tuple[RatedItem, ...]:
    """The cases of a run as items to rate, with the judge's grade and the response of the first epoch, if any.

    Of a results file without a view: it does not hold the conversations.

    Raises:
        UsageError: The run is of another benchmark.
        RunError: A case has another form than those of this one.
    """
    if summary.benchmark != "proactbench":
        raise UsageError(f"{summary.path}: no run of proactbench, whose phases and rubrics ratings are by")
    items: list[RatedItem] = []
    for outcome in summary.outcomes:
        if outcome.epoch > 1:
            continue
        try:
            item = RatedItem(
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
        items.append(item)
    return tuple(items)


def _notes(
    ratings: Ratings, rated: Mapping[str, RatedItem], own: Mapping[str, RatedItem], scored: set[str], summary: Summary
) -> Iterator[str]:
    if ratings.name == SAMPLE:
        yield "these raters are language-model agents, not people"
    if elsewhere := len(rated.keys() - own.keys()):
        yield f"rated items of no trigger of this run, left out: {elsewhere}"
    if ungraded := len((rated.keys() & own.keys()) - scored):
        yield f"rated triggers without a grade of the judge, left out: {ungraded}"
    if summary.manifest and summary.manifest.epochs > 1:
        yield "ratings are of the responses of the first epoch, and so are the numbers beside them"
