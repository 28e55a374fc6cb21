"""How a model is reached by its litellm name, and what its tokens are and cost.

DSPy's native client is used where it has one for the provider, litellm elsewhere. Prices and tokenizers are those that
litellm bundles; nothing is looked up over the network.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

from dspy.lm15 import AmbiguousModelError, RouterConfig, Timeouts, UnknownModelError, UnsupportedFeatureError

from dspy_proact.calls import SIZES, Price
from dspy_proact.errors import UsageError
from dspy_proact.models.clients import ClosingLiteLLM, LeanLM15, bound_clients_of_litellm, import_litellm
from dspy_proact.models.dspy_internals import LM15Engine, lookup, model_info
from dspy_proact.models.spec import EMBEDDED, Capacity, unpriced_names

Backend = Literal["auto", "litellm"]
EMBEDDED_PRICE = Price(prompt=0.0, completion=0.0, reason="the embedded model costs nothing")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_ADDED = "/chat/completions"
_PLACEHOLDER_KEY = "none"  # a self-hosted server asks for no key, but clients refuse to send none
_CHARACTERS_A_TOKEN = 4
_LONG_SECRET = 12
"""Characters: a shorter one may be a word."""
_FIXED_ENDPOINTS = {
    "BYTEZ": "api.bytez.com",
    "REPLICATE": "api.replicate.com",
    **dict.fromkeys(("SAGEMAKER", "SAGEMAKER_CHAT", "SAGEMAKER_NOVA"), "Amazon's own servers"),
}


@dataclass(frozen=True)
class Route:
    """How the calls of one model travel."""

    model: str
    native: bool
    """By DSPy's own client; by litellm's otherwise."""
    provider: str
    """As that client names it."""
    dialect: str
    """The form of the request on the wire: `openai-chat`, `anthropic`, `gemini`; `litellm` where litellm decides."""
    key_variables: tuple[str, ...]
    """Environment variables that may hold the key, the usual one first."""
    needs_key: bool
    """Whether the provider's own endpoint asks for one."""
    has_key: bool
    api_base: str | None
    """Given by the person, or by the provider's variable in the environment."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every key in the environment; no message may repeat one."""
        return tuple(value for name, value in os.environ.items() if _SECRET.search(name))

    def require_key(self, flag: str) -> None:
        """Raise a `UsageError` that names the variable, where a key is needed and missing."""
        if self.needs_key and not self.has_key and not self.api_base:
            raise UsageError(
                f"{flag} {self.model}: no key. Set {' or '.join(self.key_variables)}, "
                f"or give {flag}-api-base for a server that asks for none."
            )

    def engines(self, *, connections: int, timeout: float) -> Callable[[], Any]:
        """A function that makes asynchronous engines; each belongs to one event loop."""
        if not self.native:
            options = self.litellm_options(timeout)
            bound_clients_of_litellm()
            return lambda: ClosingLiteLLM(**options)
        key = self._placeholder or next((os.environ[name] for name in self.key_variables if os.environ.get(name)), None)
        config = RouterConfig(
            api_keys={self.provider: key} if key else None,
            base_urls={self.provider: self.api_base} if self.api_base else None,
            max_connections=connections,
            timeouts=Timeouts(connect=min(10.0, timeout), read=timeout, write=timeout, pool=None),
        )
        return lambda: LeanLM15(config)

    def litellm_options(self, timeout: float) -> dict[str, Any]:
        """The options of litellm's clients; they find their keys themselves."""
        options = {"api_base": self.api_base, "api_key": self._placeholder, "timeout": timeout}
        return {name: value for name, value in options.items() if value is not None}

    @property
    def _placeholder(self) -> str | None:
        return _PLACEHOLDER_KEY if not self.has_key and (self.api_base or not self.needs_key) else None


def find_route(model: str, api_base: str | None = None, backend: Backend = "auto") -> Route:
    """The route of a model name; raises a `UsageError` where there is no such provider, or a wrong endpoint."""
    prefix = model.partition("/")[0].upper().replace("-", "_")
    api_base = api_base or os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL")
    secrets = [value for name, value in os.environ.items() if _SECRET.search(name) and len(value) >= _LONG_SECRET]
    if any(secret in f"{model}\n{api_base}" for secret in secrets):
        raise UsageError("a model's name or endpoint holds a key of the environment; omit it: files would show it")
    if api_base is not None:
        if fixed := _FIXED_ENDPOINTS.get(prefix):
            raise UsageError(f"{model}: litellm asks {fixed}, whatever endpoint is given; omit it")
        api_base = _endpoint(model, api_base)
    try:
        provider = LM15Engine(RouterConfig(env={})).resolve(model).provider
    except (UnknownModelError, AmbiguousModelError, UnsupportedFeatureError):
        provider = None
    if backend == "litellm" or provider is None or provider.startswith("azure"):
        return _litellm_route(model, api_base)  # which knows Azure's versions and deployments
    definition = lookup(provider)
    assert definition is not None, "a resolved provider has a definition"
    variables = tuple(definition.access.env_keys) or (f"{prefix}_API_KEY",)
    return Route(
        model=model,
        native=True,
        provider=provider,
        dialect=definition.dialect,
        key_variables=variables,
        needs_key=definition.placeholder_key is None,
        has_key=any(os.environ.get(name) for name in variables),
        api_base=api_base,
    )


def _endpoint(model: str, url: str) -> str:
    """The URL as it is used and written down; no message repeats it, since it may hold a secret."""
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and parts.netloc[-1] != ":" and parts.port != 0
        valid = valid and parts.scheme in ("http", "https")
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(
            f"the endpoint of {model} must begin with http:// or https:// and name a host, "
            "with a port from 1 to 65535 if any"
        )
    if re.search(r"[?#]", url) or "@" in urlsplit(url).netloc:
        raise UsageError(
            f"the endpoint of {model} has a query, or a user or password, which would not be sent: "
            "omit them, and give a key in the environment"
        )
    url = url.rstrip("/")
    if url.endswith(_ADDED):
        raise UsageError(f"the endpoint of {model} ends in {_ADDED}, which is added to it: give {url[: -len(_ADDED)]}")
    return url


def _litellm_route(model: str, api_base: str | None) -> Route:
    litellm = import_litellm()
    try:
        _, provider, _, _ = litellm.get_llm_provider(model, api_base=api_base)
    except litellm.exceptions.BadRequestError as error:
        raise UsageError(
            f"model {model!r}: no provider of that name. "
            "Names are litellm's, such as openai/gpt-5.4 or hosted_vllm/NAME."
        ) from error
    environment = litellm.validate_environment(model)
    missing = tuple(name for name in environment["missing_keys"] if _SECRET.search(name))
    letters = re.sub(r"[^A-Z0-9]", "", provider.upper())
    given = tuple(name for name in os.environ if _SECRET.search(name) and name.replace("_", "").startswith(letters))
    return Route(
        model=model,
        native=False,
        provider=provider,
        dialect="litellm",
        key_variables=missing or given or (f"{provider.upper()}_API_KEY",),
        needs_key=bool(missing),
        has_key=environment["keys_in_environment"],
        api_base=api_base,
    )


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
    given = sent.get("extra_body")
    body: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
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
    place = os.environ.get("VERTEXAI_LOCATION") or os.environ.get("VERTEX_LOCATION") or ""
    dearer_places = "regional_endpoint_uplift_multiplier" in known and place.lower() != "global"
    return dearer_places or f"regional_processing_uplift_multiplier_{region}" in known


def _price(row: Mapping[str, Any], suffix: str = "") -> Price:
    return Price.model_validate({name: row.get(column + suffix) for name, column in _COLUMNS.items()})


@cache
def _listed(model: str, provider: str) -> Mapping[str, Any]:
    """The row of litellm's bundled map; empty without one. Cached, since a name without a row is sought in all."""
    return import_litellm().model_cost.get(model) or model_info(provider, model.partition("/")[2] or model)


def count_tokens(model: str, messages: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of the texts of messages, as `litellm.token_counter` counts them; images are counted by `image_tokens`.

    Four characters are a token of the embedded model.
    """
    said = [{**message, "content": _text(message["content"])} for message in messages]
    if model == EMBEDDED:
        return sum(len(message["content"]) for message in said) // _CHARACTERS_A_TOKEN
    litellm = import_litellm()
    litellm.disable_hf_tokenizer_download = True
    return litellm.token_counter(model=model, messages=said)


def _text(content: Any) -> str:
    """The text of a message, whose content may be a list of texts and images."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def tokenizer_name(model: str) -> str:
    """The tokenizer that counts the prompts of a model."""
    if model == EMBEDDED:
        return "four characters a token"
    return "tiktoken" if model.startswith("openai/") else "tiktoken, a fallback: exact for OpenAI's models only"
