"""The order of `--limit`: which cases a limit takes, and in which order a run works through them."""

import hashlib
from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import replace

from dspy_proact.errors import UsageError
from dspy_proact.runs.benchmark import CONTROL, Case, CaseSet


def select_cases(cases: Sequence[Case], limit: int | None = None, strata: Collection[str] = ()) -> list[Case]:
    """Cases of the strata, at most `limit`, in the order of the benchmark.

    A limit takes a prefix of `seeded_order`, so that a smaller limit is a part of a larger one, a few cases look like
    the whole, and no case of a chain is taken without those before it.
    """
    chosen = [case for case in cases if not strata or case.stratum in strata]
    if limit is None or limit >= len(chosen):
        return chosen
    taken = {case.key for case in seeded_order(chosen)[:limit]}
    return [case for case in chosen if case.key in taken]


def limited(case_set: CaseSet, limit: int | None) -> CaseSet:
    """The cases that a run of this limit asks for, with as many control cases; the same set where that is all of them.

    Raises a `UsageError` for a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"`limit={limit}`: must be 1 or more")
    parts = ([case for case in case_set.cases if (case.stratum == CONTROL) is control] for control in (False, True))
    taken = {case.key for part in parts for case in select_cases(part, limit)}
    cases = tuple(case for case in case_set.cases if case.key in taken)
    if len(cases) == len(case_set.cases):
        return case_set
    return replace(case_set, cases=cases, sha256=CaseSet.of(case_set.corpus.name, cases).sha256)


def seeded_order(cases: Sequence[Case]) -> list[Case]:
    """One order of the cases, whatever order they come in, of which any prefix is balanced over groups and strata.

    It goes in rounds over the groups; within its group a case comes the later, the more often its stratum came before.
    Cases of a chain keep the order in which they come.
    A run works in it, so that one that stopped early has a sample of the whole.
    """
    waiting: defaultdict[str, defaultdict[str, deque[tuple[int, Case]]]] = defaultdict(lambda: defaultdict(deque))
    for index, case in enumerate(sorted(cases, key=lambda case: _shuffle(case.chain or case.key))):
        waiting[case.group][case.stratum].append((index, case))
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
    return hashlib.sha256(f"dspy-proact case order 1/{key}".encode()).hexdigest()
