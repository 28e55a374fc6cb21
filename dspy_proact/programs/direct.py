"""How a run asks: a finished request, straight to the gate.

DSPy prepares, prices and remembers a call in layers for which a run has no use and which take more of the processor
than the call. What is sent is DSPy's own nevertheless: the first question of a kind goes through all of them, up to an
engine that only listens, and what arrives there is the form of those that follow, but for their messages.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast
from weakref import WeakKeyDictionary

import dspy
from dspy import AdapterParseError
from dspy.lm15 import DataPart, Message, Request, Response, TextPart, request_from_openai_chat

from dspy_proact.models.allowed import AllowedModels
from dspy_proact.models.dspy_internals import NO_RESPONSE, async_engine_of
from dspy_proact.models.engine import Described
from dspy_proact.programs.answer import Answer, mark_cut, ours
from dspy_proact.programs.asking import ask, declaring
from dspy_proact.programs.fenced_json import FencedJSON

_LEAN: Mapping[str, object] = {"disable_history": True, "max_trace_size": 0, "warn_on_type_mismatch": False}
"""DSPy's bookkeeping off: a run keeps its own, and the trace is for compiling."""

_PLAIN, _MESSAGE_OF = {"role", "content"}, {"user": Message.user, "assistant": Message.assistant}
"""The names in a row of plain text, and what DSPy makes of it, in a third of the time."""


class Direct:
    """A way to ask one model, without history or trace; by way of DSPy where a person's callbacks are to hear of it."""

    def __init__(self, lm: dspy.LM):
        self._lm = lm
        self._engine = async_engine_of(lm)
        # Weak, as a corpus makes a program for each system text.
        self._forms = WeakKeyDictionary[dspy.Predict, dict[type[dspy.Adapter], Request]]()

    async def __call__(self, predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
        """The answer; raises ours of `errors`."""
        if any(not isinstance(callback, AllowedModels) for callback in dspy.settings.callbacks):
            with dspy.context(lm=self._lm, **_LEAN):
                return await ask(predictor, adapter, **inputs)
        signature = cast("Any", predictor.signature)
        form = self._form(predictor, adapter, inputs)
        if isinstance(adapter, FencedJSON):
            is_schema = (form.config.response_format or {}).get("type") == "json_schema"
            adapter.has_schema = is_schema and self._engine.trusts_schema
        request = _request(form, adapter.format(signature, predictor.demos, inputs))
        with ours() as calls:
            text = _text(await self._engine.complete(request))
            if not text:
                raise AdapterParseError(type(adapter).__name__, signature, text, NO_RESPONSE)
            return mark_cut(dspy.Prediction(**adapter.parse(signature, text)), calls)

    def _form(self, predictor: dspy.Predict, adapter: dspy.Adapter, inputs: dict[str, Any]) -> Request:
        """A request of DSPy's for a question of this kind."""
        forms = self._forms.setdefault(predictor, {})
        if type(adapter) not in forms:
            listening = _Listening(self._lm.engine)
            try:
                with dspy.context(lm=self._lm.copy(engine=listening), adapter=adapter, callbacks=[], **_LEAN):
                    predictor(**declaring(predictor, inputs))
            except _Heard as heard:
                forms[type(adapter)] = heard.request
        return forms[type(adapter)]


class _Listening(Described):
    """An engine that is described as another one, hears what it is asked and answers nothing."""

    def complete(self, request: Request) -> Response:
        raise _Heard(request)


class _Heard(BaseException):
    """No `Exception`, for DSPy makes its own of those."""

    def __init__(self, request: Request):
        super().__init__()
        self.request = request


def _request(form: Request, rows: list[dict[str, Any]]) -> Request:
    """A request of a form with these rows of a chat, as DSPy reads them."""
    system = rows[0]["content"] if rows[0]["role"] == "system" else None
    chat = rows if system is None else rows[1:]
    if all(row.keys() == _PLAIN and row["role"] in _MESSAGE_OF and isinstance(row["content"], str) for row in chat):
        return replace(form, system=system, messages=tuple(_MESSAGE_OF[row["role"]](row["content"]) for row in chat))
    read = request_from_openai_chat({"model": form.model, "messages": rows})
    return replace(form, system=read.system, messages=read.messages)


def _text(response: Response) -> str:
    """The text of an answer; what its client has read as data by the schema is JSON again."""
    parts = [part for part in response.message.parts if isinstance(part, TextPart | DataPart)]
    return "".join(
        part.text if isinstance(part, TextPart) else json.dumps(part.value, ensure_ascii=False) for part in parts
    )
