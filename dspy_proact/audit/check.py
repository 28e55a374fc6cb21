"""What one check of a corpus shows, as reports print it and benchmarks' own checks give it."""

from collections.abc import Iterable
from typing import Literal

from dspy_proact.stats.estimate import Estimate
from dspy_proact.types import Frozen

State = Literal["passed", "failed", "reported", "not tested"]
"""`reported` has no bar; `not tested` says that there is too little, or that a model or a run is missing."""


class Finding(Frozen):
    """What is wrong with one item."""

    key: str
    """Of the item, as files name it; empty for the corpus as one."""
    problem: str
    """One sentence, with its stop."""


class AuditCheck(Frozen):
    """What one check shows of a corpus."""

    name: str
    """Such as `near duplicates`."""
    state: State
    sentence: str
    """What was tested of how many, and the result: one sentence, with its stop."""
    tested: int
    """Items, pairs or answers that it is about."""
    findings: tuple[Finding, ...] = ()
    """In the order of the corpus."""
    estimate: Estimate | None = None
    """What the state rests on; None where it is counted."""
    p: float | None = None
    """Of the test behind the state, adjusted where several are made; None without one."""

    @classmethod
    def judged(cls, name: str, sentence: str, tested: int, findings: Iterable[Finding]) -> "AuditCheck":
        """A check that fails by any finding."""
        listed = tuple(findings)
        state: State = "failed" if listed else "passed"
        return cls(name=name, state=state, sentence=sentence, tested=tested, findings=listed)

    @classmethod
    def reported(cls, name: str, sentence: str, tested: int, findings: Iterable[Finding] = ()) -> "AuditCheck":
        """A check without a bar."""
        return cls(name=name, state="reported", sentence=sentence, tested=tested, findings=tuple(findings))

    @classmethod
    def not_tested(cls, name: str, why: str) -> "AuditCheck":
        """A check that could not be made, and why: a sentence without its stop, in lower case or not."""
        return cls(name=name, state="not tested", sentence=f"{why[0].upper()}{why[1:]}.", tested=0)
