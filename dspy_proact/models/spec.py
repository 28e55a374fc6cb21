"""A model as a person names it: name, role, endpoint, price and decoding parameters.

Parameters come from a preset, matched on the model's own name after any router prefix (`openrouter/openai/gpt-5.5` is
`gpt-5.5`), and from the person. One limit of an answer's length is sent and reserved for, under one name, and one
answer is requested at a time. A value that may be a secret is sent, and appears in no file, message or command.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite
from typing import Any, Literal

from pydantic import Field

from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.types import Frozen

EMBEDDED = "embedded"
"""Names the stand-in, which needs no key and measures nothing."""
SCHEMA, LIMIT = "response_format", "max_tokens"
COMPLETION_LIMIT = "max_completion_tokens"
"""Another name of the limit, which some providers insist on."""
FORMS = ("json_schema", "json_object")
"""Forms of answers in JSON that a provider may be asked for."""
StandIn = Callable[[str, Sequence[tuple[str, str]]], str]
"""The embedded model's answer to a system text and messages, each a role and a text."""
Writes = Literal["response", "verdict"]
"""What a role writes: a response at any length that a person reads, or a verdict, which may need thought."""
Decoding = Mapping[str, Any]
"""Parameter name -> value, as litellm names them; a missing name is not sent."""


@dataclass(frozen=True)
class Role:
    """A role in which a model is called."""

    name: str
    """Under which its calls are counted, such as `judge`; two roles may share it."""
    argument: str
    """The argument that names its model, such as `judge`."""
    writes: Writes
    """Selects the decoding preset."""
    stand_in: StandIn | None = field(repr=False)
    """The embedded model's answers in it; None where it has none, so that a model must be named."""
    temperature: float | None = None
    """In place of the preset's 0.7, which no model needs; None for the preset."""


class ModelSpec(Frozen):
    """A model by its name, and how it is called."""

    name: str = EMBEDDED
    """A litellm name, or `embedded`."""
    api_base: str | None = None
    """Another endpoint than the provider's own."""
    params: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Decoding parameters that override the preset. None omits one; `response_format` is `json_schema`, `json_object`
    or None where an answer is JSON."""
    price: Price | None = None

    @classmethod
    def of(cls, named: "ModelSpec | str") -> "ModelSpec":
        """The spec of a model that is named alone."""
        return cls(name=named) if isinstance(named, str) else named

    def beside(self, other: "ModelSpec") -> "ModelSpec":
        """This spec; what it leaves open is taken from another one of the same name."""
        if self.name != other.name:
            return self
        return ModelSpec(**{name: getattr(self, name) or getattr(other, name) for name in ModelSpec.model_fields})


@dataclass(frozen=True)
class Preset:
    """A row of the table."""

    pattern: str
    """Regular expression that the whole name must match, in upper or lower case."""
    response: Decoding
    verdict: Decoding


_RESPONSE, _VERDICT = {LIMIT: 8192}, {LIMIT: 32768}
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
"""The first row that matches decides. Source: the settings of the official evaluator."""


@dataclass(frozen=True)
class Capacity:
    """What is known of a model: a preset is cut down to it, a person's own value is not."""

    tokens: int | None = None
    """The most tokens of an answer; None where it is not known."""
    refuses: frozenset[str] = frozenset()
    """Parameters of presets that it does not take."""
    sees: bool = True
    """Whether it takes images; true where that is not known."""


def decoding(
    model: str,
    writes: Writes,
    overrides: Mapping[str, Any] | None = None,
    capacity: Capacity | None = None,
    temperature: float | None = None,
) -> Decoding:
    """The parameters sent for a model: those of its preset, which asks for no more than its capacity, and overrides.

    Of the person's overrides None omits a parameter. `temperature` is in place of the preset's 0.7, which no model
    needs.
    """
    name, known = model.rsplit("/", 1)[-1], capacity or Capacity()
    row = next(row for row in PRESETS if re.fullmatch(row.pattern, name, re.IGNORECASE | re.DOTALL))
    preset = row.response if writes == "response" else row.verdict
    preset = {key: value for key, value in preset.items() if key not in known.refuses}
    if temperature is not None and preset.get("temperature") == _PLAIN["temperature"]:
        preset["temperature"] = temperature
    preset[LIMIT] = min(preset[LIMIT], known.tokens or preset[LIMIT])
    merged = {**preset, **(overrides or {})}
    return {name: value for name, value in merged.items() if value is not None}


def with_one_limit(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with the limit of an answer under one name, `max_tokens`."""
    others = {name: value for name, value in parameters.items() if name not in (LIMIT, COMPLETION_LIMIT)}
    limits = [parameters[name] for name in (LIMIT, COMPLETION_LIMIT) if name in parameters]
    return others | ({LIMIT: next(filter(None, limits), None)} if limits else {})


def takes_completion_limit(model: str) -> bool:
    """Whether the limit goes out as `max_completion_tokens`: OpenAI's reasoning models refuse `max_tokens`."""
    return re.match(r"(gpt-5|o[134])", model.rsplit("/", 1)[-1], re.IGNORECASE) is not None


_OTHER_LIMITS = re.compile(
    r"(?i)max_(completion_tokens|gen_len|length|new_tokens|output_tokens|tokens_to_sample)|max(output)?tokens|n(um)?_predict"
)
"""Other servers' names of `max_tokens`."""
_SEVERAL = re.compile(r"(?i)n|best_of|candidate_?count|num_(completions|generations|return_sequences)")
"""Names of the number of answers, which is one."""
_SENT = re.compile(
    r"cache_prompt|chat_template_kwargs|do_sample|enable_thinking|extra_body|frequency_penalty|ignore_eos|keep_alive|"
    r"length_penalty|logit_bias|max_completion_tokens|max_tokens|min_p|min_tokens|mirostat|mirostat_eta|mirostat_tau|no_repeat_ngram_size|"
    r"num_ctx|presence_penalty|prompt_cache_key|prompt_cache_retention|provider|reasoning|reasoning_effort|"
    r"repeat_last_n|repeat_penalty|repetition_penalty|response_format|safe_prompt|safety_identifier|safety_settings|"
    r"seed|service_tier|stop|stop_token_ids|store|temperature|tfs_z|thinking|top_a|top_k|top_p|transforms|typical_p|"
    r"user|verbosity"
)
"""Parameters that go to a provider and nowhere else. Any other name could be one of litellm's own, which send calls to
other models, repeat them or answer without one; a server's own parameters are given in `extra_body`."""
_ROUTED = ("provider",)
"""Parameters that choose by whom, and so at which price, a request is answered."""
_NOT_IN_BODY = re.compile(
    r"(?i)api_base|api_key|base_url|.*cach(e|ing)|.*fallbacks?(_dict)?|(extra_)?headers|input|max_retries|messages|"
    r"(mock|litellm)_.*|models?|num_retries|response_format|retry_(policy|strategy)|rollout_id|route|stream|"
    r"stream_options|timeout|tools"
)
"""Names in `extra_body` that an option, a program or DSPy sets, or that have another model answer."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_LENGTH: tuple[str, Callable[[Any], bool]] = ("a whole number above 0", lambda value: _is_integer(value) and value > 0)
_TAKES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    LIMIT: _LENGTH,
    COMPLETION_LIMIT: _LENGTH,
    SCHEMA: (f"{' or '.join(FORMS)} or none", lambda value: value in FORMS),
    "temperature": ("a number of at least 0", lambda value: _is_number(value) and value >= 0),
    "top_p": ("a number above 0 and at most 1", lambda value: _is_number(value) and 0 < value <= 1),
    "top_k": ("a whole number", _is_integer),
    "seed": ("a whole number", _is_integer),
    "frequency_penalty": ("a number", _is_number),
    "presence_penalty": ("a number", _is_number),
    "extra_body": ("an object", lambda value: isinstance(value, dict)),
    "reasoning_effort": ("a word, such as low", lambda value: isinstance(value, str) and bool(value.strip())),
}
"""Values of the parameters that every provider has alike, and of that for its own."""

_HOLDS_SECRETS = re.compile(
    r"(?i)access|auth|bearer|body|cookie|credential|header|jwt|key|pass|pwd|query|secret|session|signature|(^|_)sid|token"
)
_MARK = re.compile(r"\[hidden [0-9a-f]{8}\]")


def require_parameters(argument: str, parameters: Mapping[str, Any]) -> None:
    """Raise a `UsageError` that says what is allowed, where a parameter cannot be sent."""
    if None not in (parameters.get(LIMIT), parameters.get(COMPLETION_LIMIT)):
        raise UsageError(f"`{argument}` {LIMIT} and {COMPLETION_LIMIT}: two names of one limit; give one of them")
    for name, value in parameters.items():
        if problem := _problem(argument, name, value):
            raise UsageError(f"`{argument}` {name}: {problem}")


def _problem(argument: str, name: str, value: Any) -> str | None:
    """Why a parameter cannot be sent; None where it can."""
    for inner in (name, *_names(value)):
        where = "" if inner is name else f"{inner!r} in it: "
        if _SEVERAL.fullmatch(inner):
            return f"{where}one answer is requested at a time"
        if (_OTHER_LIMITS.fullmatch(inner) and name != COMPLETION_LIMIT) or (where and inner.lower() == LIMIT):
            return f"{where}set the length limit of an answer with `{argument}` {LIMIT}=N"
    if not _SENT.fullmatch(name):
        near = get_close_matches(name, _SENT.pattern.split("|"), n=1)
        hint = f"did you mean {near[0]}?" if near else f"give a server's own with `{argument}` extra_body={{...}}"
        return f"is not a decoding parameter that is known here; {hint}"
    body = value if name == "extra_body" and isinstance(value, Mapping) else {}
    if refused := next((key for key in body if _NOT_IN_BODY.fullmatch(str(key))), None):
        return f"{refused!r} is not a decoding parameter"
    if name in _TAKES and value is not None:
        allowed, fits = _TAKES[name]
        if not fits(value):
            return f"must be {allowed}, not {value!r}"
    marked = any(map(_MARK.fullmatch, secret_texts({name: value})))
    return "holds the mark of a redacted secret; give the secret itself" if marked else None


def unpriced_names(sent: Iterable[str]) -> list[str]:
    """The parameters, also those in `extra_body`, that may change a request's price in a way that no list tells."""
    return [name for name in sent if name in _ROUTED or not _SENT.fullmatch(name)]


def _names(value: Any) -> Iterator[str]:
    """Every name in a value, at any depth."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _names(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _names(inner)


def without_secrets(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as they may be written down: a text that may be a secret is a mark, which changes when it does."""

    def mark(path: str, text: str) -> str:
        # 32 bits, salted by its place, show that a value has changed, and fit too many texts to reveal which it is.
        return f"[hidden {hashlib.sha256(json.dumps([path, text]).encode()).hexdigest()[:8]}]"

    return _hiding(parameters, "", False, mark)


def secret_texts(parameters: Mapping[str, Any]) -> list[str]:
    """The texts that `without_secrets` hides."""
    texts: list[str] = []

    def keep(_: str, text: str) -> str:
        texts.append(text)
        return text

    _hiding(parameters, "", False, keep)
    return texts


def _hiding(value: Any, path: str, hidden: bool, hide: Callable[[str, str], str]) -> Any:
    """A value with each text that may be a secret replaced, by its path."""
    if isinstance(value, Mapping):
        return {
            name: _hiding(inner, f"{path}.{name}", hidden or bool(_HOLDS_SECRETS.search(str(name))), hide)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_hiding(inner, path, hidden, hide) for inner in value]
    return hide(path, value) if hidden and isinstance(value, str) else value
