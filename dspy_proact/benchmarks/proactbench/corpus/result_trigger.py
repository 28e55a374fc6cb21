import json
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from dspy_proact.benchmarks.proactbench.types import Grade, Origin, Rubric
from dspy_proact.plain_text import encodable
from dspy_proact.types import Frozen

UnscoredReason = Literal["no_response", "empty_response", "no_verdict", "not_evaluated", "stray_label"]
"""Why a trigger of a results file has no grade."""
EVALUATED, SKIPPED = "EVALUATED", "SKIPPED"
"""The format's words for the status of a verdict."""


class TokenUsage(Frozen):
    """What a role used, as a results file states it; 0 where it was not recorded."""

    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    calls: int = Field(default=0, ge=0)

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            calls=self.calls + other.calls,
        )


class ResultTrigger(Frozen):
    """One trigger of a results file, scored or not.

    Raises:
        ValidationError: The key is not that of the dialogue and turn, or there is a response without a user message.
    """

    key: str
    """`<unique_id_eval>__t<turn>`; a row without `unique_id_eval` gets the one that the corpus has."""
    origin: Origin
    """`source_model` is `source_evaluated_model`, who wrote the curated responses."""
    turn: int = Field(ge=1)
    """Counted from 1."""
    rubric: Rubric
    user_message: str | None
    """None where the record of the turn is missing."""
    response: str | None
    """What the model under test answered; None where it was dropped or null."""
    curated_response: str | None
    """`original_assistant_response`."""
    status: str | None = None
    """As it stands in the file, in any form; None without a result."""
    label: str | None = None
    """`score` as it stands in the file, in any form; None without a result."""
    reasoning: str = ""
    """`rationale`; empty without a result."""
    evidence: tuple[str, ...] = ()
    """What the judge quotes, not yet looked up in the response."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.key != (key := trigger_key(self.origin.dialogue, self.turn)):
            raise ValueError(f"the key must be {key!r}, not {self.key!r}")
        if self.user_message is None and (self.response is not None or self.curated_response is not None):
            raise ValueError("a response needs the user message that it answers")
        return self

    @property
    def grade(self) -> Grade | None:
        """What the judge said; None when unscored.

        A status or label that differs from the format in case or outer blanks only is read as what it says. A verdict
        on an empty response counts, as in the official evaluator.
        """
        if self.label is None or not self._evaluated:
            return None
        return next((grade for grade in Grade if grade == _plain(self.label)), None)

    @property
    def stray(self) -> bool:
        """Whether a verdict is not in the format's own words, exactly: the official evaluator loses it.

        It has a grade all the same where it can be read.
        """
        if self.status == EVALUATED:
            return self.label is not None and self.label not in tuple(Grade)
        return self._given and self.status != SKIPPED

    @property
    def unscored_reason(self) -> UnscoredReason | None:
        """Why there is no grade; None when there is one. That there is no response goes before what the file says."""
        if self.grade is not None:
            return None
        if self.response is None:
            return "no_response"
        if self._given and not self._evaluated:
            return "not_evaluated"
        if self.label is not None:
            return "stray_label"
        return "no_verdict" if self.response.strip() else "empty_response"

    @property
    def _given(self) -> bool:
        """Whether the file says anything of a verdict."""
        return self.status is not None or self.label is not None

    @property
    def _evaluated(self) -> bool:
        return self.status is not None and _plain(self.status) == EVALUATED


def trigger_key(dialogue: str, turn: int) -> str:
    """The key of a trigger: the dialogue's only unique id, and the turn."""
    return f"{dialogue}__t{turn}"


def made_safe(trigger: ResultTrigger) -> tuple[ResultTrigger, int]:
    """The trigger with texts that any file can hold, and how many characters were replaced by U+FFFD.

    Halves of surrogate pairs are joined; lone ones and NUL characters are replaced. Ids stay as they are.
    """
    texts = trigger.model_dump(exclude={"key", "origin"})
    safe = _safe(texts)
    before, after = (json.dumps(each, ensure_ascii=False).count("\ufffd") for each in (texts, safe))
    return ResultTrigger(key=trigger.key, origin=trigger.origin, **safe), after - before


def _plain(word: str) -> str:
    return word.strip().upper()


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value).replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {key: _safe(item) for key, item in value.items()}
    return tuple(map(_safe, value)) if isinstance(value, tuple) else value
