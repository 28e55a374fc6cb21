"""What litellm's bundled map says of a model: its price, its tokens and what it takes. Nothing is looked up online."""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from dspy_proact.calls import SIZES, Price
from dspy_proact.models.clients import import_litellm
from dspy_proact.models.dspy_internals import model_info
from dspy_proact.models.endpoint import Route
from dspy_proact.models.spec import EMBEDDED, Capacity, unpriced_names

EMBEDDED_PRICE = Price(prompt=0.0, completion=0.0, reason="the embedded model costs nothing")
_CHARACTERS_A_TOKEN = 4


def find_capacity(route: Route) -> Capacity:
    """What litellm knows of a model."""
    litellm, known = import_litellm(), _listed(route.model, route.provider)
    tokens = known.get("max_output_tokens") or known.get("max_tokens")
    try:
        name, provider, _, _ = litellm.get_llm_provider(route.model, api_base=route.api_base)
        takes = litellm.get_supported_openai_params(name, provider)
    except litellm.exceptions.BadRequestError:  # a provider of DSPy's own client alone
        takes = None
    sampling = {"temperature", "top_p"}
    refuses = {*sampling, "reasoning_effort"} - set(takes) if takes else set[str]()
    refuses |= sampling if known.get("supports_sampling_params") is False else set()
    # At an endpoint of one's own a name may be that of any model.
    sees = known.get("supports_vision") is not False or route.api_base is not None
    return Capacity(tokens if isinstance(tokens, int) else None, frozenset(refuses), sees)


_UNTIERED = (None, "auto", "default", "standard", "standard_only")
_COLUMNS = {
    "prompt": "input_cost_per_token",
    "completion": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "written": "cache_creation_input_token_cost",
}


def find_price(route: Route, sent: Mapping[str, Any] | None = None) -> Price:
    """The list price of a model in litellm's bundled map, by the size of the prompt where that has several.

    Of the parameters that are sent, `service_tier` has prices of its own.
    """
    known, sent = _listed(route.model, route.provider), sent or {}
    extra = sent.get("extra_body")
    body: Mapping[str, Any] = extra if isinstance(extra, Mapping) else {}
    tier = (body if "service_tier" in body else sent).get("service_tier")
    suffix = "" if tier in _UNTIERED else f"_{tier}"
    if known.get("tiered_pricing") and not suffix:
        prices = {int(row["range"][0]): _price({**known, **row}) for row in known["tiered_pricing"]}
    else:
        sizes = re.findall(r"input_cost_per_token_above_(\d+)k_tokens\b", " ".join(known))
        prices = {1000 * int(size): _price(known, f"_above_{size}k_tokens{suffix}") for size in sizes}
        prices[0] = _price(known, suffix)
    plain = prices.pop(0, Price())
    if plain.prompt is not None and (own := unpriced_names({**sent, **body})):
        return Price(reason=f"litellm's bundled map does not say what {', '.join(own)} costs with {route.model}")
    more = _costs_more(route, known)
    if plain.prompt is None or plain.completion is None or more or not {*prices} <= {*SIZES}:
        whose = f"{route.model} at service_tier={tier}" if suffix else route.model
        fault = "prices more than tokens of prompt and answer" if more else "has no price"
        return Price(reason=f"litellm's bundled map {fault} for {whose}")
    return plain.model_copy(update={"above": prices, "reason": "list price in litellm's bundled map"})


def _costs_more(route: Route, known: Mapping[str, Any]) -> bool:
    """Whether a request costs more than its tokens at plain prices: for itself, thoughts, searches or its region."""
    reasoning = known.get("output_cost_per_reasoning_token")
    if known.get("input_cost_per_request") or reasoning not in (None, known.get("output_cost_per_token")):
        return True
    # Many models search where they are asked to, and these at every request.
    if known.get("search_context_cost_per_query") and re.search("search|sonar", route.model):
        return True
    # OpenAI's servers of a region, and Google's of any place: what is not global may cost more.
    region = (urlsplit(route.api_base or "").hostname or "").partition(".")[0]
    location = os.environ.get("VERTEXAI_LOCATION") or os.environ.get("VERTEX_LOCATION") or ""
    dearer = "regional_endpoint_uplift_multiplier" in known and location.lower() != "global"
    return dearer or f"regional_processing_uplift_multiplier_{region}" in known


def _price(row: Mapping[str, Any], suffix: str = "") -> Price:
    return Price.model_validate({name: row.get(column + suffix) for name, column in _COLUMNS.items()})


@cache
def _listed(model: str, provider: str) -> Mapping[str, Any]:
    """The row of litellm's bundled map; empty without one. Cached, since a name without a row is sought in all."""
    return import_litellm().model_cost.get(model) or model_info(provider, model.partition("/")[2] or model)


def count_tokens(model: str, messages: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of messages' texts by litellm's counter, of the stand-in four characters each; images are not counted."""
    texts = [{**message, "content": _text(message["content"])} for message in messages]
    if model == EMBEDDED:
        return sum(len(message["content"]) for message in texts) // _CHARACTERS_A_TOKEN
    litellm = import_litellm()
    litellm.disable_hf_tokenizer_download = True
    return litellm.token_counter(model=model, messages=texts)


def _text(content: Any) -> str:
    """The text of a message, whose content may be a list of texts and images."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def tokenizer_name(model: str) -> str:
    """The tokenizer that counts the prompts of a model."""
    if model == EMBEDDED:
        return "four characters a token"
    return "tiktoken" if model.startswith("openai/") else "tiktoken, a fallback: exact for OpenAI's models only"
