"""Which way a litellm model name goes: DSPy's native client where it has one, litellm elsewhere.

The only file that knows DSPy's semi-private routing; a contract test holds it to DSPy 3.4.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

# Read by both at their first look-up: prices come from the bundled map, never over the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from dspy._vendor.lm15.registry import lookup
from dspy.clients.engines import AsyncLiteLLMEngine, AsyncLM15Engine, LM15Engine
from dspy.clients.engines.base import validate_request
from dspy.lm15 import (
    AmbiguousModelError,
    Request,
    Response,
    RouterConfig,
    Timeouts,
    UnknownModelError,
    UnsupportedFeatureError,
)

from dspy_proact.errors import UsageError
from dspy_proact.models.usage import LenientReader
from dspy_proact.models.wire import BoundedTransport, bound_clients_of_litellm

Backend = Literal["auto", "litellm"]
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_ADDED = "/chat/completions"
_PLACEHOLDER_KEY = "none"  # a server of one's own asks for no key, but clients refuse to send none


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
    """Whether the environment holds one."""
    api_base: str | None
    """Given by the person, or by the provider's variable in the environment."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may repeat: every key in the environment."""
        return tuple(value for name, value in os.environ.items() if _SECRET.search(name))

    def require_key(self, flag: str) -> None:
        """Raise a `UsageError` that names the variable if a key is needed and not there."""
        if self.needs_key and not self.has_key and not self.api_base:
            variables = " or ".join(self.key_variables)
            raise UsageError(
                f"{flag} {self.model}: no key. Set {variables}, "
                f"or give {flag}-api-base for a server that asks for none."
            )

    def engines(self, *, connections: int, timeout: float) -> Callable[[], Any]:
        """A maker of asynchronous engines, each of which belongs to one event loop.

        Args:
            connections: The most that are open at once.
            timeout: Seconds to wait for the next byte.
        """
        if not self.native:
            client = self.litellm_options(timeout)
            bound_clients_of_litellm()
            return lambda: _ClosingLiteLLM(**client)
        key = self._placeholder or next((os.environ[name] for name in self.key_variables if os.environ.get(name)), None)
        config = RouterConfig(
            api_keys={self.provider: key} if key else None,
            base_urls={self.provider: self.api_base} if self.api_base else None,
            max_connections=connections,
            timeouts=Timeouts(connect=min(10.0, timeout), read=timeout, write=timeout, pool=None),
        )
        return lambda: _LeanLM15(config)

    def litellm_options(self, timeout: float) -> dict[str, Any]:
        """What litellm's clients are told of the way; they find their keys themselves."""
        options = {"api_base": self.api_base, "api_key": self._placeholder, "timeout": timeout}
        return {name: value for name, value in options.items() if value is not None}

    @property
    def _placeholder(self) -> str | None:
        """What stands for a key where none is asked for."""
        return _PLACEHOLDER_KEY if not self.has_key and (self.api_base or not self.needs_key) else None


class _LeanLM15(AsyncLM15Engine):
    """DSPy's asynchronous engine, which finds the way of a request without a thread, and no proxy where there is none.

    Its keys are there when it is made, so that nothing on that way waits.
    """

    def __init__(self, config: RouterConfig):
        self._transport = BoundedTransport(**config.transport_kwargs(), trust_env=bool(getproxies()))
        self._targets: dict[tuple[str, bool], tuple[Any, str]] = {}
        super().__init__(replace(config, transport=self._transport, timeouts=None, max_connections=None))

    async def complete(self, request: Request) -> Response:
        """The answer to a request."""
        provider, routed = self._target(request)
        return await provider.complete(routed)

    def _target(self, request: Request, *, streaming: bool = False) -> tuple[Any, Request]:
        """The client of a request and the request as it takes it, found once for each model."""
        if (request.model, streaming) not in self._targets:
            provider, routed = super()._target(request, streaming=streaming)
            provider._inner = LenientReader(provider._inner)
            self._targets[request.model, streaming] = provider, routed.model
            return provider, routed
        validate_request(request)
        provider, model = self._targets[request.model, streaming]
        return provider, replace(request, model=model)

    async def aclose(self) -> None:
        """Close the engine and its connections."""
        self._targets.clear()
        await super().aclose()
        await self._transport.aclose()


class _ClosingLiteLLM(AsyncLiteLLMEngine):
    """litellm's asynchronous engine; closing it closes litellm's clients, which the process would keep and leak.

    Of a stream litellm makes up what the provider leaves out: the usage is then its own count, and a connection that
    ends in good order without a finish reason has the reason `stop`.
    """

    async def aclose(self) -> None:
        """Close every client that litellm has cached; it opens new ones when it is asked again."""
        await super().aclose()
        await close_litellm()


def find_route(model: str, api_base: str | None = None, backend: Backend = "auto") -> Route:
    """The route of a model name.

    Raises:
        UsageError: No provider is known by that name, or the endpoint is no URL.
    """
    prefix = model.partition("/")[0].upper().replace("-", "_")
    api_base = api_base or os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL")
    if api_base is not None and not _is_address(api_base):
        raise UsageError(
            f"the endpoint of {model} must begin with http:// or https:// and name a host, "
            "with a port from 1 to 65535 if any"
        )
    if api_base is not None and (re.search(r"[?#]", api_base) or "@" in urlsplit(api_base).netloc):
        raise UsageError(
            f"the endpoint of {model} has a query, or a user or password, which would not be sent: "
            "give it without, and a key in the environment"
        )
    api_base = api_base and api_base.rstrip("/")
    if api_base is not None and api_base.endswith(_ADDED):
        raise UsageError(
            f"the endpoint of {model} ends in {_ADDED}, which is added to it: give {api_base.removesuffix(_ADDED)}"
        )
    if backend == "litellm" or (provider := _native_provider(model)) is None:
        return _litellm_route(model, api_base)
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


def _is_address(url: str) -> bool:
    """Whether a URL names a host, and a port that there can be if it names one."""
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.netloc[-1] != ":" and parts.port != 0
        return named and parts.scheme in ("http", "https")
    except ValueError:
        return False


def _native_provider(model: str) -> str | None:
    try:
        provider = LM15Engine(RouterConfig(env={})).resolve(model).provider
    except (UnknownModelError, AmbiguousModelError, UnsupportedFeatureError):
        return None
    return None if provider.startswith("azure") else provider  # Azure's versions and deployments are litellm's


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


def import_litellm() -> Any:
    """litellm, without its messages on standard output."""
    import litellm

    litellm.suppress_debug_info = True
    return litellm


async def close_litellm() -> None:
    """Close every client that litellm has cached; it opens new ones when it is asked again."""
    litellm = import_litellm()
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()
