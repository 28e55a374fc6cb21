"""Who writes instructions: asked for one at a time.

Neither a refusal nor an unreadable answer ends a compile, and none is lost silently: what came of each is counted.
"""

from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

import dspy

from dspy_proact.compile.instruction_reader import InstructionReader
from dspy_proact.errors import ContentError, StageError
from dspy_proact.programs.answer import Answer
from dspy_proact.programs.asking import ask_for_fields, ask_now, run_now
from dspy_proact.programs.card import Proposals


class Proposer:
    """Who is asked for instructions in a compile, and what came of it; may be asked by several threads."""

    def __init__(self, lm: dspy.LM):
        self._lm, self._turn = lm, Lock()
        self.counts = Proposals()

    def ask(self, signature: type[dspy.Signature], rollout: int = 0, **inputs: Any) -> str | None:
        """The one output of a signature; None where none can be read, though an unreadable one is asked for once more.

        A question that is put again on purpose has a rollout of its own.
        """
        (name,) = signature.output_fields
        lm = self._lm.copy(rollout_id=rollout) if rollout else self._lm
        with suppress(StageError), dspy.context(lm=lm, trace=None):
            asking = ask_for_fields(
                _ask_all, dspy.Predict(signature), lambda note: InstructionReader(note=note), **inputs
            )
            return run_now(asking)[name]
        return None

    def new(self, before: str, texts: Sequence[str | None]) -> list[str | None]:
        """Answers to one brief, None in place of those that are not new; all of them are counted."""
        known, new, read = {before}, list[str | None](), sum(text is not None for text in texts)
        for text in texts:
            new.append(None if text in known else text)
            known.add(text or before)
        count = sum(text is not None for text in new)
        with self._turn:
            self.counts = Proposals(
                new=self.counts.new + count,
                same=self.counts.same + read - count,
                unread=self.counts.unread + len(texts) - read,
            )
        return new


async def _ask_all(predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
    """`ask_now`, where half an instruction is none."""
    answer = await ask_now(predictor, adapter, **inputs)
    if answer.truncated:
        raise ContentError("cut", "the instruction was cut at the token limit")
    return answer
