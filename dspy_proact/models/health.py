"""How a model has fared in a run or compile, and which of its refusals end it.

A refusal that would meet every request, of the key, the account or a parameter, ends it at once where the model has
answered no call; later, after five in a row. So does any refusal that five requests meet alike without one answer. A
quick refusal may overtake slow answers: before five decide, the calls in flight are awaited, and meanwhile none begins.
"""

from collections import Counter
from dataclasses import dataclass, field

from dspy_proact.errors import AppError, RefusedAlike, SetupFault
from dspy_proact.models.faults import Caller, Fault
from dspy_proact.plain_text import folded
from dspy_proact.switch import Bell, Switch

_ENOUGH = 5
"""Refusals."""


@dataclass
class ModelHealth:
    """How one model has fared."""

    answered: bool = False
    """Whether it has answered a call, of this command or one before it in the same folder."""
    responded: bool = False
    """Whether it has responded to any call of this command, by an answer or a refusal."""
    failures: int = 0
    """Calls that failed after all retries since the last answer."""
    last: str = ""
    """The last of these failures."""
    in_flight: int = 0
    """Attempts."""
    _refusals: Counter[str] = field(default_factory=Counter[str])
    """Since the last answer, by sentence."""
    _fitting: list[int] = field(default_factory=list[int])
    """Limits of output that would have fitted."""
    _ended: Bell = field(default_factory=Bell)

    async def admit(self, switch: Switch) -> None:
        """Wait while calls in flight may show whether the model refuses all of them."""
        while self.in_flight and max(self._refusals.values(), default=0) >= _ENOUGH:
            await self._ended.wait()
            switch.check()

    def ended(self) -> None:
        """An attempt ended."""
        self.in_flight -= 1
        self._ended.ring()

    def succeeded(self) -> None:
        """A call was answered."""
        self.answered = self.responded = True
        self.failures = 0
        self._refusals.clear()
        self._fitting.clear()

    def refused(self, fault: Fault, caller: Caller, keep_going: bool | None) -> SetupFault | None:
        """Note a refusal; what ends the run or compile for it, None where it is of this request.

        `keep_going` says whether the person wants to go on whatever single requests meet; None where that is no choice.
        """
        self.responded = True
        if fault.setup and not self.answered:
            return fault.setup
        # Where nobody can choose to go on, as in a compile, a filter never ends it.
        goes_on = fault.word == "filtered" if keep_going is None else keep_going
        if not fault.setup and (self.answered or goes_on):
            return None
        reason, sentence = "", ""
        if not fault.setup:
            reason, _, sentence = str(fault.error).partition(": ")
        alike = fault.error.alike if isinstance(fault.error, AppError) else sentence
        self._refusals[kind := folded(alike)] += 1
        self._fitting += [fault.fitting] if fault.fitting else []
        if self._refusals[kind] < _ENOUGH or self.in_flight > 1:
            return None
        if fault.setup:
            return fault.setup
        change = None
        if fault.parameter and self._fitting:
            change = (caller.argument, fault.parameter, str(min(self._fitting)))
        answer = sentence if fault.word == "too_long" or caller.app else f"The server said: {sentence}"
        mend = ". `scope.keep_going` leaves such requests unscored and goes on" if keep_going is False else ""
        how = "failed" if caller.app else "were refused"
        count = f"{self._refusals[kind]} requests {how} alike, and none was answered"
        return RefusedAlike(f"{caller.whose}: {count} ({reason}). {answer}{mend}", change)
