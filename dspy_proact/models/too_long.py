"""A request that is too long for a model's context: the numbers in the server's sentence, and what would fit."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dspy_proact.models.error_body import ErrorBody

_LEAST = 16
"""Tokens: room for fewer is room for no answer."""
_USEFUL = 256
"""Tokens: a lower limit cuts most verdicts, so none is recommended."""
_NUMBER = r"([\d,_]{0,15}\d)"
"""No count has more characters; to look for one of any length takes the square of a message's."""
_REFUSED = re.compile(
    r"context[_ ](length|size|window|limit)|maximum model length|(prompt|input|request|conversation) is "
    r"too long|input length|input token count|max_new_tokens` must be|must have less than [\d,]{1,16} tokens|n_ctx",
    re.IGNORECASE,
)
"""How OpenAI, Anthropic, Gemini, vLLM, llama.cpp, TGI, LM Studio and Ollama say so."""
_CONTEXT = (
    rf"exceed context limit: [\d,]{{1,16}} \+ [\d,]{{1,16}} > {_NUMBER}",
    rf"(?:context|model) (?:length|size|window) (?:is|of)(?: only)? {_NUMBER}",
    rf"context (?:length|size|window) \({_NUMBER}",
    rf"n_ctx[:=]\s*{_NUMBER}",
    rf"must be <= {_NUMBER}",
    rf"less than {_NUMBER} tokens",
    rf"> {_NUMBER} maximum",
    rf"tokens allowed \({_NUMBER}",
)
_PROMPT = (
    rf"exceed context limit: {_NUMBER} \+",
    rf"{_NUMBER} in the (?:messages|prompt)",
    rf"{_NUMBER} input tokens",
    rf"request \({_NUMBER} tokens\)",
    rf"Given: {_NUMBER}",
    rf"\(length {_NUMBER}\)",
    rf"too long: {_NUMBER} tokens",
    rf"keep the first {_NUMBER} tokens",
    rf"n_keep[:=]\s*{_NUMBER}",
    rf"token count \({_NUMBER}\)",
    rf"resulted in {_NUMBER} tokens",
)
_LIMIT = (
    rf"exceed context limit: [\d,]{{1,16}} \+ {_NUMBER}",
    rf"{_NUMBER} in (?:the|your) completion",
    rf"{_NUMBER} `max_new_tokens`",
    rf"requested {_NUMBER} output tokens",
    rf"too large: {_NUMBER}",
)
_TOTAL = (rf"requested(?: about)? {_NUMBER} tokens",)


@dataclass(frozen=True)
class TooLong:
    """What a request needs and what there is, in tokens; None where the server does not say."""

    context: int | None
    prompt: int | None
    limit: int | None
    """The most tokens of an answer, as requested."""
    total: int | None
    """Of prompt and answer together."""

    @classmethod
    def of(cls, message: str, body: ErrorBody, limit: int | None) -> "TooLong | None":
        """The numbers of a refusal of a request with this limit; None where it is not about its length."""
        if not _REFUSED.search(f"{message} {body.codes}") or "maximum value for" in message:
            return None  # Groq names the context where the limit of an answer is too large for any prompt
        context, prompt = body.context or _first(_CONTEXT, message), body.prompt or _first(_PROMPT, message)
        limit, total = _first(_LIMIT, message) or limit, _first(_TOTAL, message)
        if prompt is None and total is not None and limit is not None:
            prompt = total - limit if total > limit else None
        return cls(context, prompt, limit, total or (prompt + limit if prompt and limit else None))

    @property
    def fitting(self) -> int | None:
        """The limit of an answer that fits beside the prompt; None where that is not known, or too little fits."""
        room = self.context - self.prompt if self.context and self.prompt is not None else 0
        return room if room >= _USEFUL and (self.limit is None or room < self.limit) else None

    def sentences(self, argument: str) -> str:
        """What did not fit, with both numbers, and the mend."""
        parts = {"of the prompt": self.prompt, "of the answer's limit": self.limit}
        split = " and ".join(f"{tokens:,} {name}" for name, tokens in parts.items() if tokens)
        # The prompt alone is the request where a server says that it does not fit.
        alone = bool(self.context and self.prompt and self.context - self.prompt < _LEAST)
        needed = self.prompt if alone else self.total
        numbers = [f"the context has {self.context:,} tokens"] if self.context else []
        if needed:
            numbers.append(f"{needed:,} were requested{f' ({split})' if split and not alone else ''}")
        known = f"{' and '.join(numbers)}; " if numbers else ""
        if alone:
            return f"{known}the prompt alone is too long: serve the model with a larger context, or name another"
        if self.fitting:
            return f"{known}`{argument}.params` max_tokens={self.fitting} fits"
        if self.context and self.prompt and self.context - self.prompt < _USEFUL:
            room = self.context - self.prompt
            return (
                f"{known}{room:,} tokens are left for an answer: serve the model with a larger context, or name another"
            )
        return f"{known}lower `{argument}.params` max_tokens=N, or serve the model with a larger context"


def _first(patterns: Iterable[str], message: str) -> int | None:
    matches = (re.search(pattern, message, re.IGNORECASE) for pattern in patterns)
    return next((int(re.sub("[,_]", "", match[1])) for match in matches if match), None)
