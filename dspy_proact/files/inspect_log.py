"""Logs of Inspect, https://inspect.aisi.org.uk: a sample as a value, and its form in a file.

Two forms are known: `.eval`, a zip with `header.json` and a file for each sample, and `.json`, which holds all of it.
The fields are those of version 2 as inspect-ai 0.3.285 writes them; Inspect keeps them readable and specifies no more.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from dspy_proact.errors import CorpusError
from dspy_proact.files.archives import Archive
from dspy_proact.files.rows import misfit, opened, read_bytes, strict_json, text_of
from dspy_proact.types import Frozen, Message

WANTED = "a log of Inspect, `.eval` or `.json`"
_MIB = 2**20
_LARGEST_SAMPLE = 256 * _MIB
_LARGEST_LOG = 64 * 1024 * _MIB
"""Bytes when unpacked: a zip of a few megabytes may say that it holds more, and would be read for hours."""
_HEADER, _BEGUN = "header.json", "_journal/start.json"
_ZIP = b"PK\x03\x04"
_OF_HEADER = {"status", "eval", "error"}
_ATTACHMENT = "attachment://"
"""Stands in a message before the name of a long text or of an image that the sample has once."""


class LogScore(Frozen):
    """What a scorer says of a sample."""

    value: Any = None
    """A text, a number, a truth value, or several by name; None where it could not score."""
    answer: str | None = None
    """What it took for the answer."""
    explanation: str | None = None
    metadata: Mapping[str, Any] = Field(default_factory=dict[str, Any])


class InspectSample(Frozen):
    """One sample of a log, in one epoch."""

    id: str
    epoch: int
    input: tuple[Message, ...]
    """The conversation with which it began; a plain text is the user's message."""
    messages: tuple[Message, ...]
    """The conversation as it ended, with the model's answers and the results of tools; without thoughts."""
    output: str | None
    """The text of the model's last answer; None where there is none."""
    target: tuple[str, ...] = ()
    """What was to be answered, in the words of the log."""
    scores: Mapping[str, LogScore] = Field(default_factory=dict[str, LogScore])
    """By scorer."""
    metadata: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    error: str | None = None
    """What ended it before its time, a sentence."""
    source: str = ""
    """The log and the sample in it, as messages name it."""
    member: str = ""
    """Its file in the zip, by which `sample_at` reads it again; empty of a log in one file."""
    size: int = 0
    """Bytes of that file."""

    def fault(self, problem: str, field: str | None = None) -> CorpusError:
        """The error to raise for a problem with this sample."""
        return CorpusError(problem, source=self.source, field=field)


class InspectHeader(Frozen):
    """What a log says of all its samples."""

    status: str
    """`success`, `error`, `cancelled`, or `started` where it has not ended."""
    task: str
    model: str
    created: str
    error: str | None = None
    """What ended it before its time, a sentence."""
    metadata: Mapping[str, Any] = Field(default_factory=dict[str, Any])


def header_of(path: Path) -> InspectHeader:
    """The header of a log; raises a `CorpusError` where the file is none."""
    if not _zipped(path):
        fields = _object_of(read_bytes(str(path), WANTED), str(path), _OF_HEADER)
        return _header(fields, str(path))
    archive = Archive(path, WANTED)
    name = next((name for name in (_HEADER, _BEGUN) if name in archive.sizes), None)
    if name is None:
        raise CorpusError(f"no log of Inspect: {_HEADER} is not in it", source=str(path))
    source = archive.source_of(name)
    return _header(_object_of(archive.read(name, _LARGEST_SAMPLE), source, _OF_HEADER), source)


def samples_in(path: Path) -> Iterator[InspectSample]:
    """The samples of a log one by one, in the order of the file; of an unfinished log those that it has.

    One sample at a time is in memory; of `.json`, which may have 256 MiB, all are. Raises a `CorpusError` where the
    file is no log, is damaged, has no samples, or has one twice.
    """
    keys, count = set[tuple[str, int]](), 0
    for sample in _zipped_samples(path) if _zipped(path) else _listed_samples(path):
        if (key := (sample.id, sample.epoch)) in keys:
            raise sample.fault(f"the sample {sample.id!r} is in the log twice in epoch {sample.epoch}", "id")
        keys.add(key)
        count += 1
        yield sample
    if not count:
        raise CorpusError("the log has no samples; run Inspect so that it logs them", source=str(path))


def sample_at(path: Path, member: str) -> InspectSample:
    """A sample of a zip, by the name of its file; raises a `CorpusError` as `samples_in` does."""
    return _member(Archive(path, WANTED), member)


def _zipped(path: Path) -> bool:
    with opened(str(path), WANTED) as file:
        return path.suffix == ".eval" or file.read(len(_ZIP)) == _ZIP


def _zipped_samples(path: Path) -> Iterator[InspectSample]:
    archive = Archive(path, WANTED)
    names = [name for name in archive.sizes if name.startswith("samples/") and name.endswith(".json")]
    if not names and not {_HEADER, _BEGUN} & archive.sizes.keys():
        raise CorpusError(f"no log of Inspect: neither {_HEADER} nor samples are in it", source=str(path))
    if sum(archive.sizes[name] for name in names) > _LARGEST_LOG:
        raise CorpusError(f"its samples have more than {_LARGEST_LOG // _MIB:,} MiB when unpacked", source=str(path))
    for name in names:
        yield _member(archive, name)


def _member(archive: Archive, name: str) -> InspectSample:
    source = archive.source_of(name)
    sample = _sample(_object_of(archive.read(name, _LARGEST_SAMPLE), source, _FIELDS), source)
    return sample.model_copy(update={"member": name, "size": archive.sizes[name]})


def _listed_samples(path: Path) -> Iterator[InspectSample]:
    source = str(path)
    samples = _object_of(read_bytes(source, WANTED), source, {"samples", "eval"})
    if "eval" not in samples:
        raise CorpusError("no log of Inspect: it has no field 'eval'", source=source)
    listed = samples.get("samples") or []
    for number, fields in enumerate(listed if isinstance(listed, list) else [listed]):
        here = f"{source}, samples[{number}]"
        if not isinstance(fields, dict):
            raise CorpusError("a sample must be an object", source=here)
        yield _sample(fields, here)


def _object_of(data: bytes, source: str, only: set[str]) -> dict[str, Any]:
    """The object of a file without its other fields, such as events, which may be larger than all the rest."""
    text = text_of(data, source)

    def fault(problem: str, field: str | None) -> CorpusError:
        return CorpusError(problem, source=source, field=field)

    try:
        value = strict_json(text, fault, nan=True, only=only.__contains__)
    except json.JSONDecodeError as error:
        raise CorpusError(f"not JSON: {error.msg}", source=source, line=error.lineno) from None
    if not isinstance(value, dict):
        raise CorpusError("no log of Inspect: a JSON object is expected", source=source)
    return value


# The form in the file. Fields that are not named here are passed over: every version of Inspect adds some.


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class _Function(_Part):
    id: str = ""
    function: str
    arguments: Any = None


class _Message(_Part):
    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]]
    tool_calls: list[_Function] | None = None
    tool_call_id: str | list[str] | None = None
    function: str | None = None


class _OutputChoice(_Part):
    message: _Message


class _ModelOutput(_Part):
    choices: list[_OutputChoice] = Field(default_factory=list[_OutputChoice])
    completion: str | None = None


class _Score(_Part):
    value: Any = None
    answer: str | None = None
    explanation: str | None = None
    metadata: dict[str, Any] | None = None


class _Error(_Part):
    message: str


class _Sample(_Part):
    id: int | str
    epoch: int = Field(ge=1)
    input: str | list[_Message]
    target: str | list[str] = ""
    messages: list[_Message] = Field(default_factory=list[_Message])
    output: _ModelOutput = _ModelOutput()
    scores: dict[str, _Score] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    error: _Error | None = None
    attachments: dict[str, str] = Field(default_factory=dict[str, str])

    @field_validator("metadata", "attachments", mode="before")
    @classmethod
    def _null_is_empty(cls, value: Any) -> Any:
        return {} if value is None else value


class _Spec(_Part):
    task: str
    model: str
    created: str = ""
    metadata: dict[str, Any] | None = None


class _Header(_Part):
    status: str = "started"
    eval: _Spec
    error: _Error | None = None


_FIELDS = set(_Sample.model_fields)


def _header(fields: Mapping[str, Any], source: str) -> InspectHeader:
    try:
        header = _Header.model_validate(fields)
    except ValidationError as error:
        field, problem = misfit(error)
        raise CorpusError(f"no log of Inspect: {problem}", source=source, field=field) from None
    spec = header.eval
    return InspectHeader(
        status=header.status,
        task=spec.task,
        model=spec.model,
        created=spec.created,
        error=header.error and header.error.message,
        metadata=spec.metadata or {},
    )


def _sample(fields: Mapping[str, Any], source: str) -> InspectSample:
    try:
        sample = _Sample.model_validate(fields)
    except ValidationError as error:
        field, problem = misfit(error)
        raise CorpusError(problem, source=source, field=field) from None
    begun = [_Message(role="user", content=sample.input)] if isinstance(sample.input, str) else sample.input
    first, last = (
        tuple(_chat_message(message, sample.attachments) for message in messages)
        for messages in (begun, sample.messages)
    )
    output = sample.output.completion or None
    if sample.output.choices:
        output = _text_of(_chat_message(sample.output.choices[0].message, sample.attachments))
    return InspectSample(
        id=str(sample.id),
        epoch=sample.epoch,
        input=first,
        messages=last or first,
        output=output,
        target=(sample.target,) if isinstance(sample.target, str) else tuple(sample.target),
        scores={
            name: LogScore(
                value=score.value,
                answer=score.answer,
                explanation=score.explanation,
                metadata=score.metadata or {},
            )
            for name, score in (sample.scores or {}).items()
        },
        metadata=sample.metadata,
        error=sample.error and sample.error.message,
        source=source,
    )


def _chat_message(message: _Message, attachments: Mapping[str, str]) -> Message:
    """A message of Inspect in the form of OpenAI's chat API."""
    content: str | list[dict[str, Any]]
    if isinstance(message.content, str):
        content = _resolved(message.content, attachments)
    else:
        parts = [part for part in message.content if part.get("type") != "reasoning"]
        content = [_chat_part(part, attachments) for part in parts]
        if all(part["type"] == "text" for part in content):
            content = "\n".join(part["text"] for part in content)
    chat: dict[str, Any] = {"role": message.role, "content": content}
    if message.tool_calls:
        chat["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    if message.role == "tool":
        chat |= {"tool_call_id": message.tool_call_id or "", "name": message.function or ""}
    return chat


def _chat_part(part: Mapping[str, Any], attachments: Mapping[str, str]) -> dict[str, Any]:
    """A part of a message; of what is neither text nor image its kind alone."""
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": _resolved(str(part.get("text", "")), attachments)}
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": _resolved(str(part.get("image", "")), attachments)}}
    return {"type": str(kind)}


def _resolved(text: str, attachments: Mapping[str, str]) -> str:
    return attachments.get(text.removeprefix(_ATTACHMENT), text) if text.startswith(_ATTACHMENT) else text


def _text_of(message: Message) -> str:
    content: str | Sequence[Mapping[str, Any]] = message["content"]
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if "text" in part)
