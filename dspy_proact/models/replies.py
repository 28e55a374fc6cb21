"""What a reply is: text, thoughts, a cut, or a failure; told apart here alone, for every program of every benchmark.

It is read at the engine's border, before it is logged: thoughts become a part of their own, as if the server had
separated them; the finish reason is what the provider's word means; an error in a body is the provider's failure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dspy import lm15
from dspy.lm15 import (
    FinishReason,
    RefusalPart,
    Request,
    Response,
    StreamDeltaEvent,
    StreamEndEvent,
    TextDelta,
    TextPart,
    ThinkingDelta,
    ThinkingPart,
)

from dspy_proact.calls import Call
from dspy_proact.errors import ContentError
from dspy_proact.models.dspy_internals import StreamEvent
from dspy_proact.models.error_body import ErrorBody, read_error_body
from dspy_proact.models.thoughts import (
    BEGINNING,
    HINTS,
    OPENS,
    ROOM,
    joined,
    kept_of,
    thoughts_beside,
    without_thoughts,
)
from dspy_proact.plain_text import shown

_WORDS: Mapping[FinishReason, str] = {
    "stop": "stop eos eos_token end_turn stop_sequence stop_token stopped complete completed done end finish finished "
    "finish_reason_stop finish_reason_unspecified success normal <|im_end|> <|eot_id|> </s>",
    "length": "length max_tokens max_token max_length max_new_tokens max_output_tokens model_length token_limit "
    "finish_reason_max_tokens model_context_window_exceeded context_length_exceeded compaction",
    "content_filter": "content_filter content_filtered safety recitation blocklist prohibited_content spii sensitive "
    "refusal blocked guardrail_intervened error_toxic finish_reason_safety",
    "tool_call": "tool_calls tool_call function_call tool_use pause_turn",
    "error": "error error_limit failed upstream_error provider_error server_error internal_error network_error "
    "insufficient_system_resource malformed_response",
}
"""How providers, gateways and local servers word why a reply ended."""
_MEANINGS: Mapping[str, FinishReason] = {word: finish for finish, words in _WORDS.items() for word in words.split()}
_EXCERPT = 300
"""Characters of a refusal that are repeated, in one line."""
_SHORT, _READINGS = 1000, 16
"""A text of more characters is not read as a whole at every piece: in all, no character is more often than so."""
_KINDS: Mapping[int, type[lm15.ProviderError]] = {
    401: lm15.AuthError,
    402: lm15.BillingError,
    403: lm15.AuthError,
    408: lm15.TimeoutError,
    429: lm15.RateLimitError,
    504: lm15.TimeoutError,
}


def read(response: Response, request: Request) -> tuple[Response, bool]:
    """A reply with its thoughts as a part of their own, and whether some were taken out of its text.

    Its finish reason is what the provider's word means, where that is known.
    """
    finish, parts = finish_of(response), response.message.parts
    if finish != response.finish_reason and finish in _WORDS:
        response = replace(response, finish_reason=finish)
    text = "".join(part.text for part in parts if isinstance(part, TextPart))
    thoughts, rest = without_thoughts(text, request.system)
    others = [*_separated(response), *(part for part in parts if not isinstance(part, TextPart))]
    if others:
        rest = rest.lstrip()  # what stands between thoughts that a server has separated and the text
    elif refusal := _further(_message(response)).get("refusal"):
        others = [RefusalPart(str(refusal))]
    elif rest is text:
        return response, False
    new = [*([ThinkingPart(thoughts)] if thoughts else []), *([TextPart(rest)] if rest or not others else [])]
    return replace(response, message=replace(response.message, parts=(*others, *new))), bool(thoughts)


def _separated(response: Response) -> list[ThinkingPart]:
    """Thoughts in a content that is a list of parts, as Mistral's, which DSPy leaves out."""
    content = _message(response).get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    inner = [one for part in parts if part.get("type") == "thinking" for one in part.get("thinking") or ()]
    text = "".join(str(one.get("text") or "") if isinstance(one, dict) else str(one) for one in inner)
    return [ThinkingPart(text)] if text else []


class StreamedReply:
    """The events of a streamed reply, with its thoughts as such; text is held until it is known to be no thought.

    Where the template of the chat opens the thoughts, they can be told only by their closing mark, which may never
    come. Unless it `waits` for one, which takes the stream out of streaming, such thoughts are passed on as text, and
    so is what stands between thoughts after the first words of the text.
    """

    def __init__(self, system: object = None, waits: bool = False):
        self._system, self._waits = system, waits
        self._text, self._held, self._holds = "", list[StreamEvent](), True
        self._read = 0
        """Characters, of all the times that the text was read from its beginning."""
        self.thoughts = self.unopened = False
        """Whether there were some, and, at the end, whether some were passed on as text, since nothing opened them."""

    def pass_on(self, event: StreamEvent | None = None) -> list[StreamEvent]:
        """What may be passed on now that an event has come, or, with None, the end."""
        piece = ""
        if event is not None:
            if not (isinstance(event, StreamDeltaEvent) and isinstance(event.delta, TextDelta)):
                return [event]
            piece = event.delta.text
            self._text += piece
        if not self._holds:
            self.unopened = event is None and not self.thoughts and bool(without_thoughts(self._text, self._system)[0])
            return [] if event is None else [event]
        if event is not None:
            self._held.append(event)
            # To look for a mark in all of it at every piece takes long.
            latest = self._text[-len(piece) - ROOM :]
            waits = (self._waits or OPENS.match(self._text)) and not any(hint in latest for hint in HINTS)
            if waits or (len(self._text) > _SHORT and self._read > _READINGS * len(self._text)):
                return []
            self._read += len(self._text)
        kept = None if without_thoughts(self._text, self._system)[1] is self._text else kept_of(self._text)
        text = self._text if kept is None else joined(kept, self._text)
        # A mark that waits are for may turn out to stand in code, once more has come.
        enough = len(text) > ROOM and kept is not None if self._waits else text.strip() and not BEGINNING.match(text)
        if event is not None and not enough:
            return []
        self._holds = False
        if kept is None:
            return self._held
        self.thoughts = bool(thoughts := thoughts_beside(kept, self._text))
        deltas = [*([ThinkingDelta(thoughts)] if thoughts else []), *([TextDelta(text)] if text else [])]
        return [StreamDeltaEvent(delta) for delta in deltas]


def finish_of(response: Response) -> str:
    """Why a reply ended: a `FinishReason`, or the provider's own word where that is not known."""
    if response.finish_reason != "stop":
        return response.finish_reason
    return finish_named(_native_finish(response.provider_data)) or "stop"  # DSPy's word for what it does not know


def ended_as_meant(end: StreamEndEvent) -> StreamEndEvent:
    """The end of a stream with what the provider's word means; raises a failure that came with it."""
    if failure := failure_in(end.provider_data):
        raise failure
    word = finish_named(_native_finish(end.provider_data))
    return replace(end, finish_reason=word) if end.finish_reason == "stop" and word in _WORDS else end


def finish_named(word: object) -> str | None:
    """The finish reason that a provider's word means; the word where it is not known, None where there is none."""
    return _MEANINGS.get(word.lower(), word) if isinstance(word, str) and word else None


def failure_in(data: Mapping[str, Any] | None) -> lm15.ProviderError | None:
    """The failure that a body has beside a reply, or in place of one, whatever its HTTP status; None without one."""
    data = data or {}
    choice = _first(data.get("choices"))
    error = choice.get("error") or _further(choice).get("error") or (None if choice else data.get("error"))
    if not error and finish_named(_native_finish(data)) != "error":
        return None
    other = error or "the provider ended the reply by the finish reason 'error'"
    body = read_error_body({"error": error}) or ErrorBody(str(other))
    kind = lm15.ServerError if (body.status or 500) >= 500 else lm15.InvalidRequestError
    return _KINDS.get(body.status or 0, kind)(body.message, provider_code=body.codes or None, status=body.status)


def _native_finish(data: Mapping[str, Any] | None) -> object:
    data = data or {}
    choice = _first(data.get("choices"))
    native = _further(choice).get("native_finish_reason") or choice.get("finish_reason")
    return native or _first(data.get("candidates")).get("finishReason") or data.get("stop_reason")


def _message(response: Response) -> Mapping[str, Any]:
    message = _first((response.provider_data or {}).get("choices")).get("message")
    return message if isinstance(message, dict) else {}


def _further(fields: object) -> Mapping[str, Any]:
    """Where litellm keeps the fields that it does not know."""
    further = fields.get("provider_specific_fields") if isinstance(fields, dict) else None
    return further if isinstance(further, dict) else {}


def _first(values: object) -> Mapping[str, Any]:
    return values[0] if isinstance(values, list) and values and isinstance(values[0], dict) else {}


def cut_at(attempts: Sequence[Call]) -> str:
    """Where the last of some replies was cut, as the beginning of a sentence."""
    tokens = attempts[-1].cut_at if attempts else None
    return f"cut at {f'{tokens:,} tokens' if tokens else 'the token limit'}"


def filtered() -> ContentError:
    """What a reply that a filter cut or withheld is for its stage."""
    return ContentError("filtered", "the provider's content filter cut the answer")


def require_text(response: Response, attempts: Sequence[Call]) -> Response:
    """The reply; raises a `ContentError` where a filter cut it, and where it has no text for a reason that is known.

    Without text and reason it is `empty`, which whoever reads it says.
    """
    if response.finish_reason == "content_filter":
        raise filtered()
    parts = response.message.parts
    if any(part.type == "data" or (isinstance(part, TextPart) and part.text.strip()) for part in parts):
        return response
    if refused := next((part.text for part in parts if part.type == "refusal"), None):
        raise ContentError("refused", f"the model refused: {' '.join(refused.split())[:_EXCERPT]}")
    if called := next((part.name for part in parts if part.type == "tool_call"), None):
        raise ContentError("tool_call", f"the model called the tool {shown(called)} in place of an answer")
    thinks = any(part.type == "thinking" for part in parts)
    if response.finish_reason == "length":
        thinks = thinks or response.usage.reasoning_tokens
        raise ContentError("cut", f"{cut_at(attempts)} before any text{': thinking took them' if thinks else ''}")
    if thinks:
        raise ContentError("empty", "the model thought, and answered nothing")
    return response
