"""How a benchmark asks a program: in a run straight through the gate, in a compile through DSPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from dspy_proact.programs.answer import ours
from dspy_proact.programs.asking import Asking, ask_now
from dspy_proact.programs.direct import Direct
from dspy_proact.programs.program import Program
from dspy_proact.runs import Settings


@dataclass(frozen=True)
class Ask:
    """A program, and the model that it speaks through."""

    program: Any
    lm: dspy.LM | None
    settings: Settings
    asking: Asking | None
    """How a program of ours asks with an adapter of its own: in a compile `ask_now`; None without a model."""
    earlier: Sequence[Any] = ()
    """Answers to the cases before this one in its chain, in their order; None for one that could not be used."""

    @classmethod
    def in_run(cls, program: Any, lm: dspy.LM | None, settings: Settings) -> "Ask":
        """Asks straight through the gate."""
        return cls(program, lm, settings, Direct(lm) if lm else None)

    async def __call__(self, **inputs: Any) -> dspy.Prediction:
        """The program's prediction; raises errors of `errors`, such as a `StageError` where there is none."""
        own = isinstance(self.program, Program)
        if own and self.asking not in (None, ask_now):
            return await self.program.answer_by(self.asking, **inputs)
        # DSPy would remember ten thousand calls, images included, which nothing reads; a compile needs its traces.
        lean = {"disable_history": True} | ({} if self.asking is ask_now else {"max_trace_size": 0})
        with ours(), dspy.context(lm=self.lm, **lean):
            if self.asking is ask_now:
                return await self.program.answer_by(ask_now, **inputs) if own else self.program(**inputs)
            return await self.program.acall(**inputs)
