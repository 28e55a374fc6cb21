"""Calls to models as they are logged, what they cost, and the contextvar that collects their attempts.

The gate appends one `Call` an attempt, repairs and retries included; a `LoggedCall` is a request with its attempts and
the reply or the failure, one line of `calls.jsonl`.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from dspy_proact.prompt_counts import PromptCounts
from dspy_proact.types import Frozen

MOST_TOKENS = 10**8
"""Of one call: a count above it is none."""
Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
MOST_DOLLARS = 10**6
"""That a call or a token costs: an amount above it is none."""
Dollars = Annotated[float, Field(ge=0, le=MOST_DOLLARS)]


FINISHES = frozenset({"stop", "length", "content_filter", "tool_call", "error", None})
"""Why a call may have ended, None being a failure; any other is the provider's own word, and not known."""


def _later(default: Any) -> Any:
    """A field that older logs lack: it is not written without a value, so that the marks of their lines hold."""
    return Field(default=default, exclude_if=lambda value: not value)


class Call(Frozen):
    """One attempt to call a model."""

    role: str
    """`assistant`, `judge`, `proposer`, `embedder`, or a further role of the benchmark."""
    started: float
    """Seconds since the epoch."""
    latency: float
    """Seconds until the answer or the failure."""
    characters: int | None = _later(None)
    """Of all texts in the prompt that was answered; None of calls that failed, and of older runs."""
    images: int = _later(0)
    """In that prompt."""
    prompt_tokens: Tokens | None = None
    """All tokens of the prompt, cached ones included; None when the provider did not say."""
    completion_tokens: Tokens | None = None
    """All tokens written, reasoning included; None when the provider did not say."""
    cached_tokens: Tokens | None = None
    """Those of `prompt_tokens` that the provider read from its cache; None when it did not say."""
    written_tokens: Tokens | None = None
    """Those of them that it wrote to its cache, likewise."""
    finish_reason: str | None = None
    """`stop`, `length`, `content_filter` or `tool_call`, or the provider's own word; None when the call failed."""
    cut_at: Tokens | None = _later(None)
    """Tokens at which the reply was cut; None where it was not, or where that is not known."""
    thoughts: bool = _later(False)
    """Whether thoughts were taken out of its text, in which the server had left them."""
    error: str | None = None
    """What failed, in a word; None when it answered."""
    usd: Dollars | None = Field(default=None, exclude_if=lambda value: value is None)
    """What an application says that its answer cost; None where it does not say, and of a model."""
    omitted: str | None = _later(None)
    """The parameter of the request that was not sent, since the provider had refused it; None where all were."""


def was_cut(calls: Iterable[Call]) -> bool:
    """Whether any reply was cut at its limit."""
    return any(call.finish_reason == "length" for call in calls)


Stage = Literal["response", "verdict"]


class StageKey(Frozen):
    """Identifies a stage of a run."""

    case: str
    epoch: int
    """Counted from 1."""
    stage: Stage
    judge: str | None = None
    """The judge of a verdict; None for the benchmark itself, and for a response."""
    judge_epoch: int = 1
    """Number of this judge's verdict on the response, counted from 1."""


class Failure(Frozen):
    """Why a stage or a request has no result."""

    kind: Literal["content", "provider", "app"]
    reason: str
    detail: str = ""


class CallUsage(Frozen):
    """What a line of `calls.jsonl` says of usage; the rest of the line is passed over."""

    model_config = ConfigDict(extra="ignore")
    key: StageKey | None = None
    attempts: tuple[Call, ...]
    reused: tuple[Call, ...] = ()


class LoggedCall(Frozen):
    """One line of `calls.jsonl`: a request, its attempts, and the reply or the failure."""

    role: str
    """As `Call.role`."""
    key: StageKey | None = None
    """The stage of a run that asked; None in a compile, where a request has one reply whoever asks."""
    begun: int = 1
    """Which beginning of its stage: one whose content could not be used is begun anew when it is tried again."""
    number: int | None = None
    """Of the request in its stage, counted from 1; None in a compile."""
    rollout: int | None = None
    """Tells equal requests apart that are to have several replies: in a run how many came before in the stage."""
    request: str
    """sha256 over role, model, endpoint, rollout and request."""
    messages: tuple[str, ...] | None = None
    """Hashes of what it was made of in `messages.jsonl`; None where it can be rendered again, or was not kept."""
    response: dict[str, Any] | None = None
    """The reply in DSPy's own form: parts (text, thoughts, tool calls), finish reason and usage."""
    steps: tuple[dict[str, Any], ...] = _later(())
    """What an application did before its reply, such as calls of tools with their results, as OpenAI's messages."""
    failure: Failure | None = None
    """Why there is none, after all attempts; none of both where the command ended meanwhile."""
    attempts: tuple[Call, ...]
    reused: tuple[Call, ...] = ()
    """The attempts, where the reply was copied from another run, which paid for them; `attempts` is then empty."""
    mark: str = ""
    """Hash of the rest of the line and of whose log it is, by which an edited or foreign line is told."""

    @property
    def parts(self) -> Sequence[Mapping[str, Any]]:
        """The parts of the reply, each with its `type`, after those of the steps before it; none without one."""
        message: Mapping[str, Any] = (self.response or {}).get("message") or {}
        return [*_parts_of_steps(self.steps), *message.get("parts", ())]


def _parts_of_steps(steps: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Steps as the parts of a reply: calls of tools, their results, and as `step` what was said meanwhile."""
    names = dict[Any, Any]()
    for step in steps:
        content, calls = step.get("content"), step.get("tool_calls")
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        if step.get("role") == "tool":
            name = step.get("name") or names.get(step.get("tool_call_id"))
            yield {"type": "tool_result", "name": name, "content": [{"type": "text", "text": text}]}
            continue
        if content:
            yield {"type": "step", "text": text}
        for call in calls or ():
            function = call["function"]
            names[call.get("id")], arguments = function["name"], function["arguments"]
            with suppress(ValueError, RecursionError):
                arguments = json.loads(arguments)  # OpenAI's form has them as JSON in a text
            yield {"type": "tool_call", "name": function["name"], "input": arguments}


def is_final(call: LoggedCall) -> bool:
    """Whether a request has its reply, or was refused for good."""
    return call.response is not None or (call.failure is not None and call.failure.kind == "content")


def part_text(part: Mapping[str, Any]) -> tuple[str, str]:
    """What a part of a message is, and its text; an image is its name, where that is known, and its sha256."""
    kind = str(part.get("type", "part")).replace("_", " ")
    if "sha256" in part:
        return kind, " ".join(filter(None, (part.get("name"), f"sha256 {part['sha256']}")))
    if "text" in part:
        return "thoughts" if kind == "thinking" else kind, str(part["text"])
    if content := part.get("content"):
        return f"{kind} {part.get('name') or ''}".strip(), "\n".join(part_text(inner)[1] for inner in content)
    if kind == "data":
        return kind, json.dumps(part.get("value"), ensure_ascii=False)
    if kind == "tool call":
        return f"{kind} {part.get('name')}", json.dumps(part.get("input"), ensure_ascii=False)
    return kind, json.dumps(dict(part), ensure_ascii=False)


SIZES = (32_000, 100_000, 128_000, 200_000, 256_000, 272_000, 512_000)
"""Tokens of a prompt above which some provider has other prices."""


class Price(Frozen):
    """US dollars per token of one model; unknown is None with the reason, never 0."""

    prompt: Dollars | None = None
    completion: Dollars | None = None
    cached: Dollars | None = None
    """For prompt tokens that the provider reads from its cache; None where there is no price of its own for them."""
    written: Dollars | None = None
    """For prompt tokens that the provider writes to its cache, likewise."""
    above: dict[int, "Price"] = Field(default_factory=dict[int, "Price"])
    """Prices of a call whose prompt has more tokens than the key, which is one of `SIZES`."""
    reason: str | None = None
    """Why it is not known, or where it is from."""
    tier: Literal["batch"] | None = _later(None)
    """Of what it is the price; None for requests that are sent one by one."""
    reported: bool = _later(False)
    """Whether there is none, since an application says what each of its answers costs, if anything is known."""

    def of(self, prompt: int, completion: int, cached: int = 0, written: int = 0, *, calls: int = 1) -> float | None:
        """US dollars for so many tokens, cached and written ones among those of the prompt; None where it is not known.

        Counts may be those of several `calls`, whose prompts are of about one length.
        """
        sizes = [size for size in self.above if prompt / max(calls, 1) > size]
        tier = self.above[max(sizes)] if sizes else self
        if tier.prompt is None or tier.completion is None:
            return None
        read = tier.prompt if tier.cached is None else tier.cached
        write = tier.prompt if tier.written is None else tier.written
        # A provider may say more of them than the prompt has.
        cached = min(cached, prompt)
        written = min(written, prompt - cached)
        plain = prompt - cached - written
        return plain * tier.prompt + cached * read + written * write + completion * tier.completion

    def most(self, prompt: int, completion: int) -> float | None:
        """US dollars that a call with at most so many tokens can cost; None where it is not known."""
        costs = list[float]()
        for tier in (self, *(tier for size, tier in self.above.items() if size < prompt)):
            if tier.prompt is None or tier.completion is None:
                return None
            costs.append(prompt * max(tier.prompt, tier.written or 0.0) + completion * tier.completion)
        return max(costs)

    @property
    def known(self) -> bool:
        """Whether the price of every call is known."""
        return all(None not in (tier.prompt, tier.completion) for tier in (self, *self.above.values()))


@dataclass(frozen=True)
class Usage:
    """What one role has used, every attempt counted."""

    calls: int
    """Retries included."""
    retries: int = field(default=0, kw_only=True)
    """Further attempts at a request, as far as it is known which attempts are of one request."""
    prompt_tokens: int | None
    """None, as the other counts, where answers came and none with a count."""
    completion_tokens: int | None
    cached_tokens: int | None
    usd: float | None
    """US dollars; None where it cannot be known."""
    reason: str | None

    @classmethod
    def of(cls, calls: Iterable[Call], price: Price) -> "Usage":
        """What calls of one role have used; the cost is not known where an answer came without token counts."""
        tally = CallTally()
        for call in calls:
            tally.add(call)
        return tally.usage(price)

    def __add__(self, other: "Usage") -> "Usage":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Usage(
            self.calls + other.calls,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.completion_tokens, other.completion_tokens),
            _sum(self.cached_tokens, other.cached_tokens),
            usd,
            "; ".join(dict.fromkeys(filter(None, (self.reason, other.reason)))) or None,
            retries=self.retries + other.retries,
        )

    @property
    def attempts(self) -> str:
        """The calls in words, with the retries among them."""
        retries = f" ({self.retries:,} {'retry' if self.retries == 1 else 'retries'})" if self.retries else ""
        return f"{self.calls:,} calls{retries}"

    @property
    def tokens(self) -> str:
        """The counts in words."""
        if self.prompt_tokens is None:
            return "the server counts no tokens"
        share = f", {100 * self.cached_tokens / max(self.prompt_tokens, 1):.0f} %" if self.cached_tokens else ""
        cached = f"{self.cached_tokens:,} cached{share}"
        return f"{self.prompt_tokens:,} tokens in ({cached}), {self.completion_tokens:,} out"


def _sum(one: int | None, other: int | None) -> int | None:
    """Of counts; None where there is none of either."""
    return other if one is None else one + (other or 0)


class CallTally:
    """Calls of one role, counted one by one.

    Attributes:
        calls: All of them.
        retries: Those of them that were further attempts at a request.
        replies: Those that were answered.
        silent: Answers that came without token counts.
        priced: Answers of an application that said what they cost.
        usd: What these say, in US dollars.
        prompts: What is known of their prompts.
    """

    def __init__(self) -> None:
        self.calls = self.retries = self.replies = self.silent = self.priced = 0
        self.usd = 0.0
        self.prompts = PromptCounts()
        self._counts = defaultdict[int, list[int]](lambda: [0] * 5)
        """Calls and tokens of prompt, completion, cache reads and cache writes, by the size of the prompt."""

    def add(self, call: Call, retry: bool = False) -> None:
        """Count one more."""
        prompt = call.prompt_tokens or 0
        counts = self._counts[bisect_left(SIZES, prompt)]
        counts[0] += 1
        counts[1] += prompt
        counts[2] += call.completion_tokens or 0
        counts[3] += call.cached_tokens or 0
        counts[4] += call.written_tokens or 0
        self.calls += 1
        self.retries += retry
        if call.error is None:
            self.replies += 1
            self.silent += call.prompt_tokens is None or call.completion_tokens is None
            self.priced += call.usd is not None
            self.usd += call.usd or 0.0
            self.prompts.add(call)

    def usage(self, price: Price) -> Usage:
        """What they have used; the cost is not known where an answer came without token counts."""
        costs = [price.of(*tokens, calls=calls) for calls, *tokens in self._counts.values()]
        _, prompt, completion, cached, _ = (sum(column) for column in zip([0] * 5, *self._counts.values(), strict=True))
        usd, reason = None, price.reason
        if price.reported:
            usd = self.usd if self.priced == self.replies else None
            reason = f"the application reported it for {self.priced:,} of {self.replies:,} answers"
            reason = None if usd is not None else reason if self.priced else "the application reports none"
        elif self.silent and price.of(0, 0) is not None:
            reason = f"{self.silent} of {self.replies} answers came without token counts"
        elif price.of(0, 0) is not None:
            known = [cost for cost in costs if cost is not None]
            usd = sum(known, 0.0) if len(known) == len(costs) else None
            reason = None if usd is not None else "no price is known for prompts of that length"
        if self.silent and not prompt + completion:
            return Usage(self.calls, None, None, None, usd, reason, retries=self.retries)
        return Usage(self.calls, prompt, completion, cached, usd, reason, retries=self.retries)


_collected: ContextVar[list[Call] | None] = ContextVar("dspy_proact_calls", default=None)


@contextmanager
def collect_calls() -> Generator[list[Call]]:
    """Collect the calls made inside, in the order in which they ended. A collection around this one gets them too."""
    outer = _collected.get()
    calls: list[Call] = []
    token = _collected.set(calls)
    try:
        yield calls
    finally:
        _collected.reset(token)
        if outer is not None:
            outer.extend(calls)


@contextmanager
def uncollected() -> Generator[None]:
    """Inside, calls are in no collection around it: they are of something else than what is collected."""
    token = _collected.set(None)
    try:
        yield
    finally:
        _collected.reset(token)


def record_call(call: Call) -> None:
    """Add a call to the open collection; without one it is forgotten."""
    calls = _collected.get()
    if calls is not None:
        calls.append(call)
