"""The family of a model, by its name: whose models are trained alike, and may therefore have the same taste.

A name says what its owner wrote into it. A model of a lab of one's own, or a deployment, may be called anything: then
its family is the first word of its name, so that two names that begin alike are taken as one family.
"""

import re
from collections.abc import Mapping

_FAMILIES: Mapping[str, str] = {
    "openai": r"(chat)?gpt|o[134](?![a-z0-9])|codex|davinci",
    "anthropic": r"claude|anthropic",
    "google": r"gemini|gemma|palm|google",
    "meta": r"llama|meta(?![a-z])",
    "mistral": r"(open-)?mi[sx]tral|ministral|magistral|codestral|devstral|pixtral",
    "qwen": r"qwen|qwq|qvq",
    "deepseek": r"deepseek",
    "xai": r"grok|xai|x-ai",
    "cohere": r"cohere|command(?![a-z])|aya(?![a-z])",
    "microsoft": r"phi(?![a-z])",
    "amazon": r"nova(?![a-z])|titan|amazon",
    "zhipu": r"(chat)?glm|zai|z-ai",
    "moonshot": r"kimi|moonshot",
    "minimax": r"minimax",
    "nvidia": r"nemotron",
    "ibm": r"granite",
    "ai2": r"olmo|tulu",
}
"""What stands in names, at the beginning of a word: of models, and of vendors that are put before them, as Bedrock and
OpenRouter do. OpenAI is not among the vendors, since any server that speaks its protocol is called `openai/NAME`."""
_NAMED = {family: re.compile(rf"(?<![a-z])(?:{words})") for family, words in _FAMILIES.items()}
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def families_of(model: str) -> frozenset[str]:
    """The families of a model by its name, whatever the provider's prefix.

    There are several of a distilled one, such as `DeepSeek-R1-Distill-Qwen-7B`. Of `ft:MODEL:ORGANISATION:NAME:ID` the
    model counts, of `MODEL:TAG` likewise.
    """
    *vendors, name = re.sub(r"(?<![a-z])ft:", "", model.casefold()).split("/")
    name = name.partition(":")[0] or name
    for text in (name, *reversed(vendors)):
        if known := frozenset(family for family, words in _NAMED.items() if words.search(text)):
            return known
    first = _FIRST_WORD.search(name)
    return frozenset({first[0] if first else name})
