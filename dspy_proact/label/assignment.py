"""Which items a study holds, and who rates what.

Items are drawn as the rows of a sheet are, so that a corrected score may rest on their ratings. Of each unit, which is
the parts of one response, `Design.ratings` raters rate every part, one by one. A rater gets a share of the units: those
that lack most raters come first, so that a study that ends early has rated the beginning of its draw, and among these
the ones whose raters share least with this rater, so that in the end everyone is comparable with everyone.
"""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.ratings import Draw
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, Slot, Study, StudyItem, StudyRun, Unit, rated_of, run_key
from dspy_proact.report.numbers import counted
from dspy_proact.report.ratings import drawn_keys, grades_mark
from dspy_proact.report.summary import Summary
from dspy_proact.stats.plan import balanced_order

IDLE_SECONDS = 86_400.0
"""Who wrote nothing for so long gives the rest back as soon as another rater has nothing to do."""
_REPEAT_DISTANCE = 5
"""Units that lie between a unit and its repeat, at least: sooner a rater remembers what they said."""


def design_study(
    declared: Benchmark[Any, Any], summaries: Sequence[Summary], design: Design
) -> tuple[Study, tuple[StudyItem, ...]]:
    """A study of runs, and its items in the order of the draw, the parts of a unit one after another.

    Raises a `UsageError` where runs and design do not fit, or have not so many responses; a `RunError` where one is
    damaged.
    """
    if not 1 <= design.ratings <= design.raters:
        raise UsageError(
            f"{design.ratings} raters of every item are more than {counted(design.raters, 'rater')} in all"
        )
    items, draws, orders = rated_of(declared, summaries, design.kind), list[str | None](), list[list[Unit]]()
    if design.kind == "grades":
        for summary in summaries:
            keys, draw = draw_cases(summary, design)
            draws.append(draw)
            orders.append([(run_key(summary), key) for key in keys])
    elif design.disputed:
        raise UsageError("pairs are drawn by the grades of both responses, and none is disputed")
    else:
        draws = [None, None]
        strata = {outcome.key: outcome.stratum for outcome in summaries[0].outcomes}
        grades = [{case.key: case.label for case in summary.outcomes if case.epoch == 1} for summary in summaries]
        kinds = [(strata[item.case], tuple(of.get(item.case) for of in grades)) for item in items]
        order = balanced_order([item.case for item in items], kinds, design.seed)
        if design.count and design.count > len(items):
            raise UsageError(f"{design.count} cannot be drawn: there are {len(items)} pairs of responses that differ")
        orders = [[items[index].unit for index in order[: design.count]]]
    by_unit = defaultdict[Unit, list[StudyItem]](list)
    for item in items:
        by_unit[item.unit].append(item)
    # Runs take turns, so that every beginning holds as many responses of each.
    units = (unit for turn in zip_longest(*orders) for unit in turn if unit in by_unit)
    runs = (StudyRun(run_key(summary), summary.path, draw) for summary, draw in zip(summaries, draws, strict=True))
    settings = next((summary.settings for summary in summaries if summary.responses), {})
    return Study(declared.name, tuple(runs), design, settings), tuple(item for unit in units for item in by_unit[unit])


def draw_cases(summary: Summary, design: Design) -> tuple[list[str], str | None]:
    """Keys of the cases of a run to be rated, in order, and the draw as a sheet has it; None where it is none.

    Responses without a grade are in no draw; they come last where all are asked for. Raises a `UsageError` where there
    are not so many, or disputed cases are asked for and no verdicts on a response differ.
    """
    graded = drawn_keys(summary, design.seed)
    if not graded and not design.disputed:
        return _draw_ungraded(summary, design), None
    first = {outcome.key: outcome for outcome in summary.outcomes if outcome.epoch == 1}
    if design.disputed:
        if not any(first[key].split for key in graded):
            raise UsageError(f"{summary.path}: no two verdicts on one response differ; judge it again with a jury")
        # Stable, so that the draw decides among cases that are disputed alike.
        scores = {key: [verdict.score for verdict in first[key].verdicts] for key in graded}
        graded.sort(key=lambda key: (first[key].split, max(scores[key]) - min(scores[key])), reverse=True)
    count = len(graded) if design.count is None else design.count
    if count > len(graded):
        raise UsageError(f"{count} cannot be drawn: there are {len(graded)} scored responses of {summary.path}")
    ungraded = [key for key in first if key not in {*graded}] if design.count is None else []
    draw = None if design.disputed or not count else str(Draw(count=count, seed=design.seed, mark=grades_mark(summary)))
    return graded[:count] + ungraded, draw


def _draw_ungraded(summary: Summary, design: Design) -> list[str]:
    """Keys of responses that no judge has graded, balanced over strata; raises a `UsageError` as `draw_cases` does."""
    answered = [outcome for outcome in summary.outcomes if outcome.epoch == 1 and outcome.response is not None]
    if design.count and design.count > len(answered):
        raise UsageError(f"{design.count} cannot be drawn: there are {len(answered)} responses of {summary.path}")
    order = balanced_order([one.key for one in answered], [(one.stratum, "") for one in answered], design.seed)
    return [answered[index].key for index in order[: design.count]]


def assign(store: Store, rater: int) -> tuple[Slot, ...]:
    """The slate of a rater; where nothing of it is open, with what they are to rate next, if there is anything.

    It is their share, and after that what no planned rater is still expected for: none, a day after the first rating.
    Whoever is idle gives the rest back where nothing else is left.
    """
    slate, choose = store.slate(rater), partial(_slots, store, rater)
    if any(slot.state == "open" for slot in slate):
        return slate
    if not store.assign(rater, choose) and store.give_back(idle=IDLE_SECONDS):
        store.assign(rater, choose)
    return store.slate(rater)


def _slots(store: Store, rater: int) -> Iterator[tuple[str, bool]]:
    """Items for a rater, and whether each is a repeat: their units, and later in the slate some of these again."""
    units = _chosen(store, rater)
    # A repeat comes half a slate after the first time; of the first half, those at equal steps are repeated.
    distance = max(_REPEAT_DISTANCE + 1, math.ceil(len(units) / 2))
    later, count = max(0, len(units) - distance), math.ceil(store.study.design.repeated * len(units))
    again = {index * later // count for index in range(count)} if later else set[int]()
    for index, unit in enumerate(units):
        yield from ((item, False) for item in unit)
        if index - distance in again:
            yield from ((item, True) for item in units[index - distance])


def _chosen(store: Store, rater: int) -> list[tuple[str, ...]]:
    """The units that a rater gets, in their order; of each the items that lack a rater and are new to this one."""
    design, of_item, mine = store.study.design, defaultdict[str, set[int]](set), set[str]()
    for slot in store.slate():
        if slot.state in ("open", "rated"):
            of_item[slot.item].add(slot.rater)
        if slot.rater == rater and slot.state != "returned":
            mine.add(slot.item)
    all_units = store.units()
    planned = [design.raters_of(rank) for rank in range(len(all_units))]
    lacking = [count - min(len(of_item[item]) for item in unit) for count, unit in zip(planned, all_units, strict=True)]
    share = sum(planned) / design.raters
    yet_to_come = max(0, design.raters - len(store.raters())) if store.waits(IDLE_SECONDS) else 0
    left = math.ceil(sum(max(0, lack) for lack in lacking) - share * yet_to_come)
    kinds = defaultdict[tuple[int, frozenset[int]], deque[tuple[int, tuple[str, ...]]]](deque)
    for rank, unit in enumerate(all_units):
        if new := tuple(item for item in unit if len(of_item[item]) < planned[rank] and item not in mine):
            beside = frozenset[int]().union(*(of_item[item] for item in unit))
            kinds[lacking[rank], beside].append((rank, new))
    chosen, together = list[tuple[str, ...]](), Counter[int]()
    while kinds and len(chosen) < min(left, math.ceil(share)):
        lack, beside = min(kinds, key=lambda of: (-of[0], sum(together[other] for other in of[1]), kinds[of][0]))
        together.update(beside)
        chosen.append(kinds[lack, beside].popleft()[1])
        if not kinds[lack, beside]:
            del kinds[lack, beside]
    return chosen
