"""One record of a log of conversations, in the forms in which products and tools keep them.

A record is a line of a file, an element of its list, or a row of its table; its form is recognised from its fields.

- *Messages*: `messages` (OpenAI, and most files for training), `conversations` (ShareGPT), `conversation` (LMSYS and
  WildChat), with the reply among them, or beside them as `response`, `output`, or the `choices` of a chat completion.
- *OpenAI*: chat completions (`object` is `chat.completion`) with the `messages` of the request, and responses (`object`
  is `response`) with their `input` and `output`, which `previous_response_id` or `conversation` joins.
- *MLflow*: what `Trace.to_json` writes (`info`, `data.spans`, of each `mlflow.spanInputs` and `mlflow.spanOutputs` as
  JSON in a text), and rows of `search_traces` (`trace_id`, `request`, `response`, `spans`). The conversation is
  `mlflow.trace.session` of the metadata. From mlflow 3.18: entities/trace.py, tracing/constant.py.
- *LangSmith*: runs (`run_type`, `inputs`, `outputs`), as its bulk export and its client give them. The conversation is
  `session_id`, `thread_id` or `conversation_id` of the metadata; a run's own field `session_id` is its project. From
  docs.langchain.com/langsmith: run-data-format, threads; and langsmith 0.15, schemas.py.
- *Langfuse*: traces and observations (`input`, `output`; `sessionId`, `traceId`, `parentObservationId` from the API and
  the user interface, with underscores from the blob storage). From langfuse.com/docs: export-from-ui,
  blob-storage-export-fields; and langfuse 5.0, observation_v2.py.
- *Turns*: a role, a text, and where known a conversation and a time, a row for a turn; or a question and its answer.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from typing import cast

from dspy_proact.files.chat_messages import (
    LoggedMessage,
    Node,
    UnknownRole,
    is_message,
    message_of,
    messages_of,
)
from dspy_proact.plain_text import cleaned, printable, shortened, shown

Messages = tuple[LoggedMessage, ...]
_CONVERSATION = (
    *("conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "threadId", "chat_id", "chatId"),
    *("dialog_id", "ticket_id", "conversation_hash", "conversation", "session", "thread", "chat"),
)
"""Names of the field that says which conversation a record is of."""
_TIME = (
    *("timestamp", "start_time", "startTime", "created_at", "createdAt", "created", "request_time", "time", "date"),
    *("datetime", "sent_at", "timestamp_ms"),
)
_MESSAGES = ("messages", "conversations", "conversation", "chat_history")
_QUESTION = (
    *("messages", "input", "question", "query", "prompt", "user_input", "user_message", "message", "human", "user"),
    *("text", "content", "inputs", "request", "instruction"),
)
"""Names of the field that holds what the user wrote, the surest first: of the tools, then usual ones of products."""
_ANSWER = (
    *("choices", "messages", "output", "answer", "response", "reply", "completion", "assistant", "generations", "text"),
    *("content", "message", "result", "outputs", "output_text"),
)
_ROLE = ("role", "speaker", "sender", "from", "author_role", "author", "sender_type")
_TEXT = ("text", "content", "message", "body", "utterance", "value")
_SPEAKER = ("name", "speaker_name", "author_name", "sender_name")
_THREAD = ("session_id", "thread_id", "conversation_id")
"""In the metadata of a LangSmith run."""
_MLFLOW_SESSION = "mlflow.trace.session"
_SPAN = ("mlflow.spanInputs", "mlflow.spanOutputs")
"""Attributes of a span; each is a JSON in a text, that of a text too."""
_NO_CONVERSATION = ("EVENT", "TOOL", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")
"""Types of a Langfuse observation."""
_INNER = 5
"""How deep an answer is looked for in what wraps it."""
_LISTS = ("traces", "runs", "observations", "data")
"""Fields of a file that hold its records, where it is one object: those of MLflow, LangSmith, Langfuse and OpenAI."""


class Unusable(Exception):  # noqa: N818  -- not an error of a file: the record is left out
    """A record that is well formed and holds nothing of a conversation; the message says why."""


class Nearness(IntEnum):
    """How near a record is to what the user of a product saw."""

    TRACE = 0
    """The request as a whole."""
    ROOT = 1
    """The outermost step of it, which is the same where both were exported."""
    INNER = 2
    """A step within, such as a call to a model."""


@dataclass(frozen=True)
class ChatRecord:
    """What one record holds of a conversation."""

    messages: tuple[LoggedMessage, ...]
    """In their order; those of a call to a model may begin with all the messages before it."""
    problem: str = ""
    """Why there are none, where there are none."""
    conversation: str | None = None
    """Which conversation it is of, as the file says; None where it does not."""
    moment: float | None = None
    """When it began, in seconds since 1970; None where the file does not say."""
    trace: str | None = None
    """Identifies the request of the user of which this record is a step."""
    step: Nearness = Nearness.TRACE
    own: str | None = None
    """Identifies the record itself; of two that are equal in it the first is read."""
    before: str | None = None
    """Identifies the record that came before it in the conversation."""


def records_in(node: Node) -> Iterator[Node]:
    """The records of an object: itself, or those of the list that it wraps, with the conversation that it names."""
    is_record = node.at("input", "inputs", "output", "outputs", *_MESSAGES, "info", "run_type", "choices", "role")
    wrapped = None if is_record else next((one for name in _LISTS if (one := node.at(name)) and one.is_list), None)
    if wrapped is None:
        yield node
        return
    conversation = node.at("id") if wrapped.path == "traces" else None  # Langfuse's file of one session
    for element in wrapped.elements():
        if conversation and element.is_object and not element.at(*_CONVERSATION):
            fields = cast("dict[str, object]", element.value)
            yield Node(element.line, element.path, {**fields, "sessionId": conversation.value})
        else:
            yield element


def record_of(record: Node) -> ChatRecord:
    """What a record holds; raises a `CorpusError` where a field has another type than its form."""
    if not record.is_object:
        raise record.error(f"a record is expected, an object, not {shown(record.value)}")
    head, read = _form_of(record)
    try:
        messages, problem = read(record), ""
    except UnknownRole as error:
        messages, problem = (), f"a message has the role {shown(str(error))}, neither user, assistant, system nor tool"
    except Unusable as error:
        messages, problem = (), str(error)
    return replace(head, messages=messages, problem=problem)


def _form_of(record: Node) -> tuple[ChatRecord, Callable[[Node], Messages]]:
    """What a record says of its conversation, time and trace, and the function that reads the messages of its form."""
    if record.within("data", "spans") or record.at("spans", "trace_metadata"):
        return _mlflow_head(record), _mlflow
    if record.at("run_type"):
        return _langsmith_head(record), _langsmith
    kind, own, time = record.at("object"), _name(record.at("id")), moment_of(record.at(*_TIME))
    if kind and kind.value == "response":
        conversation = record.at("conversation")
        conversation = conversation.at("id") if conversation and conversation.is_object else conversation
        before = _name(record.at("previous_response_id"))
        return ChatRecord((), "", _name(conversation), time, own=own, before=before), _openai_response
    conversation = record.at(*_CONVERSATION)
    if conversation is None or conversation.is_list or conversation.is_object:
        metadata = record.at("metadata")
        conversation = metadata.at(*_CONVERSATION) if metadata else None
    head = ChatRecord((), "", _name(conversation), time, own=own)
    if record.at("traceId", "trace_id", "projectId", "project_id", "observations"):
        trace, parent = record.at("traceId", "trace_id"), record.at("parentObservationId", "parent_observation_id")
        step = Nearness.INNER if parent else Nearness.ROOT if trace else Nearness.TRACE
        return replace(head, trace=_name(trace) or own, step=step), _langfuse
    messages, role = record.at(*_MESSAGES), record.at(*_ROLE)
    if not (messages and messages.is_list) and role and isinstance(role.value, str):
        # Rows that name no conversation are one, as where every conversation has a file.
        return replace(head, conversation=head.conversation or record.line.source, own=None), _turn
    read = _with_messages if messages and messages.is_list else _question_and_answer
    return replace(head, conversation=head.conversation or own, own=None), read


def _mlflow_head(record: Node) -> ChatRecord:
    info = record.at("info") or record
    session = info.within("trace_metadata", _MLFLOW_SESSION) or info.within("request_metadata", _MLFLOW_SESSION)
    session = session or info.within("tags", "session_id")  # as the docs of mlflow had it before 3.2
    trace, time = _name(info.at("trace_id", "request_id")), moment_of(info.at("request_time", "timestamp_ms"))
    return ChatRecord((), "", _name(session), time, trace, own=trace)


def _langsmith_head(record: Node) -> ChatRecord:
    metadata = record.within("extra", "metadata") or record.at("metadata")
    thread = (metadata and metadata.at(*_THREAD)) or record.at("thread_id")
    own, time = _name(record.at("id")), moment_of(record.at("start_time"))
    step = Nearness.INNER if record.at("parent_run_id") else Nearness.TRACE
    return ChatRecord((), "", _name(thread), time, _name(record.at("trace_id")) or own, step, own)


def _name(node: Node | None) -> str | None:
    return node.name() if node else None


def _with_messages(record: Node) -> Messages:
    """Messages, and a reply that stands beside them."""
    messages = record.at(*_MESSAGES)
    listed = messages_of(messages) if messages else ()
    if (system := record.at("system", "instructions")) and isinstance(system.value, str):  # LLaMA-Factory's ShareGPT
        listed = (LoggedMessage("system", cleaned(system.value)), *listed)
    if not listed or listed[-1].role != "assistant":
        reply = record.at("choices", "response", "output", "completion", "reply", "answer")
        listed += _answer(reply, _INNER) if reply else ()
    return listed


def _turn(record: Node) -> Messages:
    """A row of a table of turns."""
    role, text, speaker = record.at(*_ROLE), record.at(*_TEXT), record.at(*_SPEAKER)
    fields: dict[str, object] = {"role": role.value if role else "", "content": text.value if text else ""}
    if calls := record.at("tool_calls"):
        fields["tool_calls"] = calls.value
    if speaker:
        fields["name"] = speaker.value
    at = text or record
    return (message_of(Node(record.line, at.path.rpartition(".")[0], fields)),)


def _question_and_answer(record: Node) -> Messages:
    question = record.at(*_QUESTION)
    if question is None:
        raise Unusable(f"no field holds messages or a question; {_fields(record)}")
    answer = record.at(*(name for name in _ANSWER if name not in (question.path, "text", "content", "messages")))
    return _both(question, answer)


def _langfuse(record: Node) -> Messages:
    kind = record.at("type")
    if kind and isinstance(kind.value, str) and kind.value.upper() in _NO_CONVERSATION:
        raise Unusable(f"a step of the type {kind.value.upper()} holds no conversation")
    if question := record.at("input"):
        return _both(question, record.at("output"))
    if (steps := record.at("observations")) and steps.is_list:  # of a file of one trace
        return _best(list(steps.elements()), "input", "output", ("parentObservationId", "parent_observation_id"))
    raise Unusable("`input` is empty")


def _langsmith(record: Node) -> Messages:
    kind = record.at("run_type")
    if kind and kind.value in ("tool", "retriever", "embedding", "prompt", "parser"):
        raise Unusable(f"a run of the type {kind.value} holds no conversation")
    if question := record.at("inputs"):
        return _both(question, record.at("outputs"))
    raise Unusable("`inputs` is empty")


def _mlflow(record: Node) -> Messages:
    """The request and response of the root span, or else of the last span within that can be read."""
    spans = record.within("data", "spans") or record.at("spans")
    if spans and spans.is_list:
        flat = list[Node]()
        for span in spans.elements():
            attributes = span.at("attributes")
            if span.is_object and attributes and attributes.is_object:
                fields = cast("dict[str, object]", attributes.value)
                fields = {
                    name: Node(span.line, f"{span.path}.attributes.{name}", fields.get(name)).parsed() for name in _SPAN
                }
                flat.append(Node(span.line, span.path, {**cast("dict[str, object]", span.value), **fields}))
        return _best(flat, *_SPAN, ("parent_span_id", "parent_id"))
    if question := record.at("request"):
        return _both(question, record.at("response"))
    raise Unusable("the trace has neither spans nor a request")


def _best(steps: list[Node], question: str, answer: str, parent: tuple[str, ...]) -> Messages:
    """The messages of the outermost step of a trace that can be read, else of the last one within it."""
    outer = [step for step in steps if not step.at(*parent)]
    problem = "none of its steps holds messages"
    for step in (*outer, *(step for step in reversed(steps) if step.at(*parent))):
        if start := step.at(question):
            try:
                return _both(start, step.at(answer))
            except Unusable as error:
                problem = str(error) if step in outer else problem
    raise Unusable(problem)


def _openai_response(record: Node) -> Messages:
    question, instructions = record.at("input"), record.at("instructions")
    if question is None:
        raise Unusable("the response was kept without its `input`; add the input items to it")
    text = instructions.value if instructions else None
    system = (LoggedMessage("system", cleaned(text)),) if isinstance(text, str) else ()
    return (*system, *_both(question, record.at("output", "output_text")))


def _both(question: Node, answer: Node | None) -> Messages:
    """Input and output; the output alone where it repeats the conversation, as the state of LangGraph does."""
    before, after = _question(question, _INNER), _answer(answer, _INNER) if answer else ()
    return after if any(message.role == "user" for message in after) else (*before, *after)


def _question(node: Node, depth: int) -> Messages:
    """The messages of an input: its own, those in a field of a known name, or its one text, which the user wrote."""
    if isinstance(node.value, str):
        return (LoggedMessage("user", _plain(node.value)),)
    if listed := _listed(node):
        return listed
    if is_message(node):
        return (message_of(node),)
    if node.is_object and depth and (inner := node.at(*_QUESTION) or _only_field(node)):
        history = node.at("chat_history", "history")
        earlier = _listed(history) if history and history.path != inner.path else ()
        return (*earlier, *_question(inner, depth - 1))
    raise Unusable(f"the input holds neither messages nor a text of the user; {_fields(node)}")


def _answer(node: Node, depth: int) -> Messages:
    """The messages of an output, likewise; its one text is the assistant's."""
    if isinstance(node.value, str):
        return (LoggedMessage("assistant", _plain(node.value)),)
    if listed := _listed(node):
        return listed
    if is_message(node):
        message = message_of(node)
        return (message if message.role in ("assistant", "tool") else replace(message, role="assistant"),)
    if node.is_list:  # choices, or generations, of which a list holds one list for one prompt
        first = next(node.elements(), None)
        return _answer(first, depth - 1) if first and depth else ()
    if node.is_object and depth and (inner := node.at("message", *_ANSWER) or _only_field(node)):
        return _answer(inner, depth - 1)
    raise Unusable(f"the output holds neither messages nor a text of the assistant; {_fields(node)}")


def _plain(text: str) -> str:
    if text.startswith(("{'", "[{'")):
        raise Unusable("a value of Python stands in it as text, as in a table of traces saved as CSV; save it as JSON")
    return cleaned(text)


def _listed(node: Node) -> Messages:
    """The messages of a list of messages, or of a list that holds one; empty where it is none."""
    if not node.is_list:
        return ()
    elements = list(node.elements())
    if len(elements) == 1 and elements[0].is_list and not is_message(elements[0]):
        return _listed(elements[0])
    return messages_of(node) if elements and all(map(is_message, elements)) else ()


def _only_field(node: Node) -> Node | None:
    fields = cast("dict[str, object]", node.value)
    return node.at(*fields) if len(fields) == 1 else None


def _fields(node: Node) -> str:
    if not node.is_object:
        return f"it is {shown(node.value)}"
    names = ", ".join(cast("dict[str, object]", node.value))
    return f"its fields are {shortened(printable(names))}" if names else "it is empty"


def moment_of(node: Node | None) -> float | None:
    """A time in seconds since 1970, UTC where it names no zone; None where there is none.

    Numbers count seconds, or thousandths, millionths or milliardths of one by their size. Raises a `CorpusError` where
    it is no time: the order of turns depends on it.
    """
    if node is None:
        return None
    value = node.value
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,19}(?:\.\d+)?", value.strip()):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        while abs(value) > 1e11:
            value /= 1000
        return float(value)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            pass
    raise node.error(f"not a time: {shown(value)}; write it as ISO 8601, such as 2026-11-29T09:30:00Z")
