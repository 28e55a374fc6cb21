"""How much of a benchmark a command asks for, and in which order it works."""

import hashlib
from collections import defaultdict, deque
from collections.abc import Collection, Sequence

from dspy_proact.runs.benchmark import Case
from dspy_proact.types import Frozen

_SEED = "dspy-proact case order 1"


class Scope(Frozen):
    """How much of a benchmark a command asks for: not part of a run's identity, so that a run can be widened."""

    limit: int | None = None
    """The most cases, spread over groups and strata, 1 or more; None for all. As many control cases are added."""
    strata: tuple[str, ...] = ()
    """Only these, in any case of letters; empty for all."""
    epochs: int | None = None
    """How often each case is answered, 1 or more; None for once, or as often as copied responses are."""
    judge_epochs: int | None = None
    """How often each judge grades each response, 1 or more; None for once, or as often as its program asks."""
    retry_unscored: bool = False
    """Also retry stages that failed because of their content; the report counts them."""
    controls: bool = False
    """Ask for control cases too."""


def select_cases(cases: Sequence[Case], limit: int | None = None, strata: Collection[str] = ()) -> list[Case]:
    """Cases of the strata, at most `limit`, in the order of the benchmark.

    A limit takes a prefix of `seeded_order`, so that a smaller limit is a part of a larger one and a few cases look
    like the whole.
    """
    chosen = [case for case in cases if not strata or case.stratum in strata]
    if limit is None or limit >= len(chosen):
        return chosen
    taken = {case.key for case in seeded_order(chosen)[:limit]}
    return [case for case in chosen if case.key in taken]


def seeded_order(cases: Sequence[Case]) -> list[Case]:
    """One order of the cases, whatever order they come in, of which any prefix is balanced over groups and strata.

    It goes in rounds over the groups; within its group a case comes the later, the more often its stratum came before.
    A run works in it, so that one that stopped early has a sample of the whole.
    """
    waiting: defaultdict[str, defaultdict[str, deque[tuple[int, Case]]]] = defaultdict(lambda: defaultdict(deque))
    for place, case in enumerate(sorted(cases, key=lambda case: _shuffle(case.key))):
        waiting[case.group][case.stratum].append((place, case))
    used: defaultdict[str, int] = defaultdict(int)
    order: list[Case] = []
    groups = sorted(waiting, key=_shuffle)
    while groups:
        for group in groups:
            strata = waiting[group]
            stratum = min(strata, key=lambda name: (used[name], strata[name][0][0]))
            order.append(strata[stratum].popleft()[1])
            used[stratum] += 1
            if not strata[stratum]:
                del strata[stratum]
        groups = [group for group in groups if waiting[group]]
    return order


def _shuffle(key: str) -> str:
    return hashlib.sha256(f"{_SEED}/{key}".encode()).hexdigest()
