"""Frozen values that every room shares."""

from collections.abc import Mapping
from math import inf
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from dspy_proact.errors import UsageError
from dspy_proact.plain_text import shown

Classification = Literal["f1", "precision", "recall", "balanced_accuracy", "kappa"]
"""A statistic of predictions that are true or false, as `stats.classification` makes it."""
Message = Mapping[str, Any]
"""In the form of OpenAI's chat API: `role`, and `content` as a text or a list of parts; tool calls likewise."""
STATEFUL = "stateful"
"""The program of an application that keeps the conversation itself."""
_PLAIN = frozenset({"bare", "default", "unknown"})
"""Programs by which a role speaks where a person names no other."""


class Frozen(BaseModel):
    """A value that cannot change, and refuses fields it does not know and numbers that are not finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants")


class RoleIdentity(Frozen):
    """What decides the answers of a model in its role: what two commands must have alike to get the same ones."""

    model: str
    program: str = "default"
    """Which program speaks: `bare`, `prompt`, `compiled:` with the hash of its file, or `unknown` for an assistant,
    `stateful` for an application that keeps the conversation; `default`, `official` or `compiled:` for a judge."""
    prompt: str | None = None
    """sha256 of the program's rendered prompt. None in a compile, where programs change: a file then has model,
    endpoint and decoding alone."""
    decoding: dict[str, Any]
    endpoint: str | None = None
    """None for the provider's own."""
    app: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """Of an application in the place of a model: sha256 of what decides its answers, as far as that is known."""
    cuts: dict[str, tuple[float, float]] = Field(default_factory=dict[str, tuple[float, float]])
    """Of a compiled judge, by stratum: from where on the mean level of its verdicts (the worst label 0, the next 1,
    ...) the second worst label begins, and the best; empty where the commonest label decides."""

    @property
    def name(self) -> str:
        """The model, and the program wherever that is not the plain one."""
        names = {"official": "official prompt", "prompt": f"prompt {(self.prompt or '')[:8]}"}
        return self.model if self.is_plain else f"{self.model} ({names.get(self.program, self.program)})"

    @property
    def is_plain(self) -> bool:
        """Whether the program is the one that speaks where a person names no other."""
        return self.program in _PLAIN

    @property
    def output_limit(self) -> float:
        """The most tokens of a reply; infinite where no limit is sent."""
        return self.decoding.get("max_tokens") or inf

    @model_serializer(mode="wrap")
    def _without_program(self, fields_of: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = fields_of(self)
        return fields if self.prompt is not None else {name: fields[name] for name in ("model", "endpoint", "decoding")}


class Quote(Frozen):
    """One quote of a judge, and where it stands in the response."""

    text: str
    start: int | None = None
    """Index of its first character in the response; None when it was not found."""
    end: int | None = None
    """Index after its last character; None when it was not found."""
    short: bool = False
    """Whether it was found and has too few words to be evidence, by `Passage.quote`."""

    @property
    def counts(self) -> bool:
        """Whether it is evidence: it stands in the response, and is not too short."""
        return self.start is not None and not self.short


def require_name(name: str) -> None:
    """Raise a `UsageError` for what nobody who answers can be called."""
    if name == "embedded" or not name.strip() or not name.isprintable():
        problem = "is the name of the stand-in" if name == "embedded" else "is no name"
        raise UsageError(f"`as={shown(name)}`: {problem}; name who answered")
