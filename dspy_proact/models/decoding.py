"""Decoding parameters by model: the paper's settings as a table.

Matched on the model's own name, after any router prefix (`openrouter/openai/gpt-5.5` is `gpt-5.5`).
The first row that matches decides. Source: the official evaluator's settings (DESIGN.md, protocol 5).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dspy_proact.models.role import Writes

Decoding = Mapping[str, Any]
"""Parameter name -> value, as litellm names them; what is not there is not sent."""


@dataclass(frozen=True)
class Preset:
    """A row of the table."""

    pattern: str
    """Regular expression that the whole name must match, without regard to case."""
    response: Decoding
    verdict: Decoding


_RESPONSE, _VERDICT = {"max_tokens": 8192}, {"max_tokens": 32768}
_PLAIN = {"temperature": 0.7, "top_p": 1.0}
_REASONING = {"temperature": 1.0, **_VERDICT}

_CLAUDE = r"(.*\.)?claude-"  # Bedrock puts the vendor before the name: anthropic.claude-...

PRESETS = (
    Preset(r"(gpt-5|o1|o3|o4|gemini-2\.5-pro).*", _REASONING, {**_REASONING, "reasoning_effort": "medium"}),
    # Claude from 4.7 on takes no sampling parameter. A number of more than two digits is a date.
    Preset(_CLAUDE + r"([a-z]+-)?(4[.-]([7-9]|[1-9]\d)|([5-9]|[1-9]\d)([.-]\d{1,2})?)(?!\d).*", _RESPONSE, _VERDICT),
    Preset(_CLAUDE + r".*", {"temperature": 0.7, **_RESPONSE}, {"temperature": 0.7, **_VERDICT}),
    Preset(r".*", {**_PLAIN, **_RESPONSE}, {**_PLAIN, **_VERDICT}),
)


def decoding(model: str, writes: Writes, overrides: Mapping[str, Any] | None = None) -> Decoding:
    """The parameters sent for a model.

    Args:
        model: A litellm name.
        writes: The limit of a response is 8192 tokens, that of a verdict 32768; reasoning models get 32768 for both.
        overrides: Values of the person; None leaves a parameter out.
    """
    name = model.rsplit("/", 1)[-1]
    preset = next(row for row in PRESETS if re.fullmatch(row.pattern, name, re.IGNORECASE | re.DOTALL))
    merged = {**(preset.response if writes == "response" else preset.verdict), **(overrides or {})}
    return {name: value for name, value in merged.items() if value is not None}


def takes_completion_limit(model: str) -> bool:
    """Whether the model's limit goes out as `max_completion_tokens`: OpenAI's reasoning models refuse `max_tokens`."""
    return re.match(r"(gpt-5|o[134])", model.rsplit("/", 1)[-1], re.IGNORECASE) is not None
