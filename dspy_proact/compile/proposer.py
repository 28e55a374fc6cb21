"""Who writes instructions, and what it is shown: text alone.

A proposer is asked for one instruction at a time. Neither a refusal nor an unreadable answer ends a compile, and
none is lost silently: what came of each request is counted.

DSPy makes images and files of its own markers in any message. A stranger's text would so reach a proposer as a picture,
or end the proposing with one that cannot be read.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import dspy
from dspy import AdapterParseError

from dspy_proact.compile.instruction_reader import InstructionReader
from dspy_proact.errors import ContentError, StageError
from dspy_proact.plain_text import tame
from dspy_proact.programs.answer import Answer
from dspy_proact.programs.asking import ask_for_fields, ask_now, run_now
from dspy_proact.programs.card import Proposals

_MENDED, _NESTED = 4_000, 10
"""Characters and opening brackets of broken JSON that DSPy mends; with many of them that would take hours."""
_OPENING = re.compile(r"[{\[]")


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


if TYPE_CHECKING:
    _Adapter = dspy.Adapter
else:
    _Adapter = object  # a subclass of DSPy's would bring a `parse` of its own, before that of the one it is mixed into


class _Tamed(_Adapter):
    """What an adapter words, with a blank in DSPy's markers."""

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        return tame(super().format_system_message(signature))

    def format_user_message_content(self, *args: Any, **named: Any) -> str:
        return tame(super().format_user_message_content(*args, **named))

    def format_assistant_message_content(self, *args: Any, **named: Any) -> str:
        return tame(super().format_assistant_message_content(*args, **named))


class TamedJSONAdapter(_Tamed, dspy.JSONAdapter):
    """DSPy's adapter for JSON, with nothing but text in what it sends."""

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The output fields; raises `AdapterParseError` alone, and soon."""
        error: Exception | None = None
        try:
            begin = max(0, completion.find("{"))
            value, _ = json.JSONDecoder(strict=False).raw_decode(completion, begin)
            return super().parse(signature, json.dumps(value))
        except (RecursionError, ValueError) as fault:
            error = fault
        if len(completion) <= _MENDED and len(_OPENING.findall(completion)) <= _NESTED:
            with suppress(RecursionError, ValueError):
                return super().parse(signature, completion)
        raise AdapterParseError(
            adapter_name=type(self).__name__,
            signature=cast("Any", signature),  # annotated as an instance in DSPy, where a class is meant
            lm_response=completion,
            message="It is no JSON object.",
        ) from error


class TamedAdapter(_Tamed, dspy.ChatAdapter):
    """DSPy's usual adapter, and the one that it falls back to, with nothing but text in what they send."""

    def _make_json_adapter_fallback(self) -> dspy.JSONAdapter:
        return TamedJSONAdapter()
