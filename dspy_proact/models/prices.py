"""What litellm's bundled map says of a model: its price, its limits and what it takes. Nothing is looked up online.

Of a model that DSPy's own client calls it is read from litellm's files: importing litellm takes seconds.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import dspy

from dspy_proact.calls import SIZES, Price
from dspy_proact.models.clients import import_litellm, litellm_folder
from dspy_proact.models.dspy_internals import capabilities
from dspy_proact.models.endpoint import Route
from dspy_proact.models.spec import Capacity, unpriced_names

EMBEDDED_PRICE = Price(prompt=0.0, completion=0.0, reason="the embedded model costs nothing")
_SAMPLING = frozenset({"temperature", "top_p"})
_REFUSED: Mapping[str, frozenset[str]] = {
    r"gpt-5-chat(-latest)?": frozenset({"reasoning_effort"}),
    r"gpt-5-search.*": _SAMPLING | {"reasoning_effort"},
    r"gpt-6-astra|gpt-6\.1-sol": frozenset({"top_p"}),
}
"""Parameters that OpenAI's models refuse by litellm's rules, where DSPy does not know it."""
_ASK_A_SERVER = ("huggingface", "lemonade", "ollama", "ollama_chat")
"""Providers whose models litellm looks up over the network."""


def find_capacity(route: Route) -> Capacity:
    """What litellm knows of a model."""
    known, takes = _listed(route.model, route.native), _parameters(route)
    tokens = known.get("max_output_tokens") or known.get("max_tokens")
    refuses = (_SAMPLING | {"reasoning_effort"}) - takes if takes else set[str]()
    refuses |= _SAMPLING if known.get("supports_sampling_params") is False else set()
    # At an endpoint of one's own a name may be that of any model.
    sees = known.get("supports_vision") is not False or route.api_base is not None
    return Capacity(tokens if isinstance(tokens, int) else None, frozenset(refuses), sees)


@cache
def capabilities_of(model: str, native: bool) -> Any:
    """What DSPy knows of a model: whether it takes a schema (`response_schema`), and which parameters (`params`)."""
    return capabilities(dspy.LM(model, engine="lm15" if native else "litellm"))


def _parameters(route: Route) -> frozenset[str]:
    """The parameters that a model takes; empty where that is not known."""
    if route.native:
        name = route.model.rpartition("/")[2]
        refused = [names for pattern, names in _REFUSED.items() if re.fullmatch(pattern, name)]
        return capabilities_of(route.model, native=True).params.difference(*refused)
    litellm = import_litellm()
    name, provider, _, _ = litellm.get_llm_provider(route.model, api_base=route.api_base)
    return frozenset(litellm.get_supported_openai_params(name, provider) or ())


_UNTIERED = (None, "auto", "default", "standard", "standard_only")
_COLUMNS = {
    "prompt": "input_cost_per_token",
    "completion": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "written": "cache_creation_input_token_cost",
}


def find_price(route: Route, sent: Mapping[str, Any] | None = None, *, batch: bool = False) -> Price:
    """The list price of a model in litellm's bundled map, by the size of the prompt where that has several.

    Of the parameters that are sent, `service_tier` has prices of its own, and so have requests in a `batch`.
    """
    known, sent = _listed(route.model, route.native), sent or {}
    extra = sent.get("extra_body")
    body: Mapping[str, Any] = extra if isinstance(extra, Mapping) else {}
    tier = (body if "service_tier" in body else sent).get("service_tier")
    suffix = "" if tier in _UNTIERED else f"_{tier}"
    if batch:
        suffix, tier = "_batches", "batch"
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
        whose = f"{route.model} in batches" if batch else whose
        fault = "prices more than tokens of prompt and answer" if more else "has no price"
        return Price(reason=f"litellm's bundled map {fault} for {whose}", tier="batch" if batch else None)
    reason = f"list price {'of batches ' if batch else ''}in litellm's bundled map"
    return plain.model_copy(update={"above": prices, "reason": reason, "tier": "batch" if batch else None})


def find_tiers(route: Route, sent: Mapping[str, Any]) -> dict[str, Price]:
    """The known prices of a model by tier, `plain`, `flex` and `batch`, whatever tier the parameters name."""
    plain = {name: value for name, value in sent.items() if name != "service_tier"}
    prices = {
        "plain": find_price(route, plain),
        "flex": find_price(route, {**plain, "service_tier": "flex"}),
        "batch": find_price(route, plain, batch=True),
    }
    return {tier: price for tier, price in prices.items() if price.known}


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
def _listed(model: str, native: bool) -> Mapping[str, Any]:
    """The row of litellm's bundled map that its `get_model_info` finds; empty without one."""
    if native:
        return next(_rows(model), None) or _of_its_family(model)
    litellm, known = import_litellm(), {"key": model}
    if model.partition("/")[0] not in _ASK_A_SERVER:
        with suppress(Exception):  # whatever a version of litellm raises where it finds nothing
            known = litellm.get_model_info(model)
    # Where it has no row, it makes one up from the family, with prices of 0.
    return litellm.model_cost.get(known["key"]) or {key: known[key] for key in known if "cost" not in key}


def _rows(model: str) -> Iterator[Mapping[str, Any]]:
    """The rows of a model of a provider that DSPy's client calls, in litellm's order: the nearest first."""
    rows, (provider, _, own) = _bundled(), model.partition("/")
    for name in (model, own, _undated(model, provider), _undated(own, provider)):
        row = rows.get(name.lower(), {})
        if own and row.get("litellm_provider") != provider:
            continue
        if row:
            yield row


def _of_its_family(model: str) -> dict[str, Any]:
    """What the map says of any model with such a name; never a price."""
    rules = _bundled().get("fallback_generalizations", {}).get("rules", ())
    matching = [rule["model_info"] for rule in rules if re.search(rule["pattern"], model, re.IGNORECASE)]
    return {key: value for row in matching if "litellm_provider" not in row for key, value in row.items()}


def _undated(name: str, provider: str) -> str:
    """A model's name without its version, or without the owner and the number of a fine-tuned one."""
    if "ft:" in name:
        return re.sub(r"(:[^:]*){3}$", "", name)
    return re.sub(r"-\d+$" if provider == "gemini" else r"-\d{4}-\d\d-\d\d$", "", name)


@cache
def _bundled() -> Mapping[str, Mapping[str, Any]]:
    """The rows of litellm's map, each by its name in lower case."""
    file = litellm_folder() / "model_prices_and_context_window_backup.json"
    return {name.lower(): row for name, row in json.loads(file.read_bytes()).items()}
