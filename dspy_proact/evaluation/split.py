"""Which cases a model may be trained on, and which test it.

The split follows from a hash of what cases share that must not stand on both sides, such as the person they are about.
It is the same in every run and export, and what a corpus has stays where it is when the corpus grows.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.runs import Case, CaseRecord
from dspy_proact.types import Frozen

Split = Literal["train", "test"]
TEST_SHARE = 1 / 3
"""Of the units, on average. With fewer, a corpus of 25 groups would be tested on too few for an interval."""


def split_of(unit: str) -> Split:
    """The side of a unit: `test` where the first 64 bits of the sha256 of its name are below a third of their range."""
    digest = hashlib.sha256(unit.encode("utf-8", "surrogatepass")).digest()
    return "test" if int.from_bytes(digest[:8]) < TEST_SHARE * 2**64 else "train"


def units_of(declared: Benchmark[Any, Any] | None, cases: Iterable[Case | CaseRecord]) -> Mapping[str, str]:
    """What a split keeps together, by the keys of cases: what folds of a compile do, or else their groups."""
    known = [Case(case.key, case.group, case.stratum, Frozen(), case.meta) for case in cases]
    if not declared:
        return {case.key: case.group for case in known}
    from dspy_proact.evaluation.tuning import tuning_of

    return tuning_of(declared, declared.settings_type()).units(known)


def splits_of(declared: Benchmark[Any, Any] | None, cases: Iterable[Case | CaseRecord]) -> Mapping[str, Split]:
    """The split of cases by their keys, by `units_of`."""
    return {key: split_of(unit) for key, unit in units_of(declared, cases).items()}
