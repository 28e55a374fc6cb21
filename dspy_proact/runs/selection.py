"""Which cases a command asks for."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence

from dspy_proact.runs.benchmark import Case

_SEED = "dspy-proact case order 1"


def select_cases(cases: Sequence[Case], limit: int | None = None, strata: Collection[str] = ()) -> list[Case]:
    """Cases of the strata, at most `limit`, in the order of the benchmark.

    A limit takes a prefix of one seeded order that is spread over groups and strata, so that a smaller limit is a
    part of a larger one and a few cases look like the whole.

    Args:
        cases: Every case of the benchmark.
        limit: The most cases; None for all.
        strata: Names of strata; empty for all.
    """
    chosen = [case for case in cases if not strata or case.stratum in strata]
    if limit is None or limit >= len(chosen):
        return chosen
    taken = {case.key for case in _spread(chosen)[:limit]}
    return [case for case in chosen if case.key in taken]


def _spread(cases: Sequence[Case]) -> list[Case]:
    """Rounds over the groups; within its group a case comes the later, the more often its stratum came before.

    In each round the strata take turns over the groups, so that any prefix is balanced over both.
    """
    groups: defaultdict[str, list[Case]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: _shuffle(case.key)):
        groups[case.group].append(case)
    used: defaultdict[str, int] = defaultdict(int)
    order: list[Case] = []
    while groups:
        for group in sorted(groups, key=_shuffle):
            case = min(groups[group], key=lambda case: used[case.stratum])
            groups[group].remove(case)
            used[case.stratum] += 1
            order.append(case)
            if not groups[group]:
                del groups[group]
    return order


def _shuffle(key: str) -> str:
    return hashlib.sha256(f"{_SEED}/{key}".encode()).hexdigest()
