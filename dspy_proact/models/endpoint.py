"""The endpoint of a model by its litellm name: its address, checked and cleaned, its key, and who sends the request.

DSPy's native client is used where it has one for the provider, litellm elsewhere.
"""

import ipaddress
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from dspy.lm15 import AmbiguousModelError, RouterConfig, Timeouts, UnknownModelError, UnsupportedFeatureError

from dspy_proact.errors import UsageError
from dspy_proact.models.clients import CONNECT, ClosingLiteLLM, LeanLM15, bound_clients_of_litellm, import_litellm
from dspy_proact.models.dspy_internals import LM15Engine, lookup

Backend = Literal["auto", "litellm"]
NODE = "{node}"
"""In an address: the machine on which a worker of a cluster runs."""
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_ADDED_PATH = "/chat/completions"
_LONG_SECRET = 12
"""Characters: a shorter one may be a word."""
_COMPATIBLE = frozenset(
    ("openai", "custom_openai", "hosted_vllm", "lm_studio", "llamafile", "litellm_proxy", "ollama", "ollama_chat")
)
"""litellm's names of servers of one's own."""
_NO_HEADER = re.compile(r"[^\x20-\x7e\xa0-\xff]")
_SIGNS_IN = ("chatgpt", "github_copilot")
"""Providers for which litellm begins a log-in in a browser as soon as a name is looked up."""
_FIXED_ENDPOINTS = {
    "BYTEZ": "api.bytez.com",
    "REPLICATE": "api.replicate.com",
    **dict.fromkeys(("SAGEMAKER", "SAGEMAKER_CHAT", "SAGEMAKER_NOVA"), "Amazon's own servers"),
}
_AT_HOME = {
    **dict.fromkeys(("ollama", "ollama_chat"), "http://localhost:11434"),
    "llamafile": "http://127.0.0.1:8080/v1",
}
"""Where litellm looks for servers of one's own that are given no address."""
_CLOUDS = {
    **dict.fromkeys(("bedrock", "sagemaker", "sagemaker_chat"), ("AWS",)),
    **dict.fromkeys(("vertex", "vertex_ai"), ("VERTEX", "GOOGLE")),
}
"""How the variables of providers begin that have the name of their cloud."""
_LETTERS = re.compile(r"[^A-Z0-9]")
_PRIVATE_NAMES = re.compile(
    r"[^.]+|.+\.(localhost|local|lan|internal|home\.arpa)",
    re.IGNORECASE,
)
"""Names of one's own machine and network; one without a dot is that of a container or a neighbour."""


@dataclass(frozen=True)
class EngineSetup:
    """What makes the asynchronous engines of a model, as a value that can travel."""

    native: bool
    """By DSPy's own client; by litellm's otherwise, which finds its keys in the environment."""
    provider: str
    """As that client names it."""
    api_base: str | None
    key: str | None = field(repr=False)
    """What is sent as the key; with litellm a placeholder or nothing."""
    connections: int
    """At most."""
    timeout: float
    """Seconds."""

    @property
    def litellm_options(self) -> dict[str, Any]:
        """The options of litellm's clients."""
        options = {"api_base": self.api_base, "api_key": self.key, "timeout": self.timeout}
        return {name: value for name, value in options.items() if value is not None}

    def engine(
        self,
        native: Callable[[RouterConfig], Any] = LeanLM15,
        foreign: Callable[..., Any] = ClosingLiteLLM,
    ) -> Any:
        """An engine for one event loop: DSPy's by `native`, or litellm's."""
        if not self.native:
            bound_clients_of_litellm()
            return foreign(**self.litellm_options)
        config = RouterConfig(
            api_keys={self.provider: self.key} if self.key else None,
            base_urls={self.provider: self.api_base} if self.api_base else None,
            max_connections=self.connections,
            timeouts=Timeouts(connect=min(CONNECT, self.timeout), pool=None),
        )
        return native(config)


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
    def address(self) -> str | None:
        """Where requests go, as far as that is known."""
        definition = lookup(self.provider) if self.native else None
        return self.api_base or (definition.base_url if definition else _AT_HOME.get(self.provider))

    @property
    def is_private(self) -> bool:
        """Whether that is a server of one's own: this machine, or one of its network. No name is looked up."""
        host = urlsplit(self.address or "").hostname or ""
        try:
            return not ipaddress.ip_address(host).is_global
        except ValueError:
            return _PRIVATE_NAMES.fullmatch(host) is not None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every key in the environment; no message may repeat one."""
        return keys_of_environment()

    def require_key(self, argument: str) -> None:
        """Raise a `UsageError` that names the variable, where a key is needed and missing, or cannot be sent.

        Likewise where a request would go through a proxy that is not supported.
        """
        whose = f"`{argument}` {self.model}"
        if self.needs_key and not self.has_key and not self.api_base:
            raise UsageError(
                f"{whose}: no key. Set {' or '.join(self.key_variables)}, "
                f"or give `{argument}.api_base` for a server that asks for none."
            )
        held = [name for name in self.key_variables if os.environ.get(name)]
        for name in held[:1] if self.native else held:
            if problem := _key_problem(os.environ[name]):
                raise UsageError(f"{whose}: {name} {problem}")
        if kind := self._unsupported_proxy:
            raise UsageError(
                f"{whose}: the environment names a {kind} proxy (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY), and only "
                "http:// proxies are supported: name one, or in NO_PROXY the hosts that are reached without a proxy"
            )

    @property
    def speaks_openai(self) -> bool:
        """Whether requests go out in the form of OpenAI's chat protocol, which servers of one's own take."""
        return self.dialect == "openai-chat" or self.provider in _COMPATIBLE

    @property
    def key(self) -> str | None:
        """What is sent as the key: that of the provider's own variables, or a placeholder; None where none can be."""
        # By litellm other variables may count too, which hold no key of this protocol.
        names = self.key_variables if self.native else (f"{self.provider.upper()}_API_KEY",)
        key = self._placeholder or next((os.environ[name] for name in names if os.environ.get(name)), None)
        return None if key and _key_problem(key) else key

    def setup(self, *, connections: int, timeout: float) -> "EngineSetup":
        """What makes the engines of this model."""
        key = self.key if self.native else self._placeholder
        return EngineSetup(self.native, self.provider, self.api_base, key, connections, timeout)

    def is_variable(self, name: str) -> bool:
        """Whether clients read a variable of the environment for this provider, as a key or a setting."""
        named = self.model.split("/")[:-1]  # `hosted_vllm`, which DSPy's client calls otherwise
        names = (self.provider, *named[:1], *_CLOUDS.get(self.provider, ()))
        prefixes = tuple(_LETTERS.sub("", prefix.upper()) for prefix in names)
        return name in self.key_variables or _LETTERS.sub("", name).startswith(prefixes)

    @property
    def proxy(self) -> str | None:
        """Host and port of the proxy on the way to the endpoint; None for no proxy."""
        return re.sub(r"^(\w+://)?([^/]*@)?", "", self._proxy).rstrip("/") or None

    @property
    def _proxy(self) -> str:
        """The proxy that the environment names for the way to the endpoint; empty for none."""
        address, proxies = urlsplit(self.address or "https:"), getproxies()
        # Of an endpoint that a client alone knows, NO_PROXY may say that it is reached without one.
        unused = proxy_bypass(address.hostname) if address.hostname else "no" in proxies
        return "" if unused else proxies.get(address.scheme) or proxies.get("all") or ""

    @property
    def _unsupported_proxy(self) -> str | None:
        """The scheme of the proxy on the way to the endpoint, such as `socks5`; None for http, or no proxy."""
        scheme, colon, _ = self._proxy.partition("://")
        usual = not colon or scheme.lower() == "http" or (scheme.lower() == "https" and not self.native)
        return None if usual else scheme

    @property
    def _placeholder(self) -> str | None:
        # A self-hosted server asks for no key, but clients refuse to send none.
        return "none" if not self.has_key and (self.api_base or not self.needs_key) else None


def find_route(model: str, api_base: str | None = None, backend: Backend = "auto") -> Route:
    """The route of a model name; raises a `UsageError` where there is no such provider, or a wrong endpoint."""
    prefix = model.partition("/")[0].upper().replace("-", "_")
    api_base = api_base or os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL")
    require_no_key(f"{model}\n{api_base}", "a model's name or endpoint")
    if api_base is not None:
        if fixed := _FIXED_ENDPOINTS.get(prefix):
            raise UsageError(f"{model}: litellm asks {fixed}, whatever endpoint is given; omit it")
        api_base = clean_endpoint(model, api_base)
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


def keys_of_environment() -> tuple[str, ...]:
    """Every value in the environment that by its name is a key."""
    return tuple(value for name, value in os.environ.items() if _SECRET.search(name))


def require_no_key(text: str, what: str) -> None:
    """Raise a `UsageError` where a text that files show holds a key of the environment; no message repeats it."""
    if any(secret in text for secret in keys_of_environment() if len(secret) >= _LONG_SECRET):
        raise UsageError(f"{what} holds a key of the environment; omit it: files would show it")


def variable(name: str, wanted_by: str, *, required: bool = True) -> str | None:
    """The value of a variable that goes into a header or a query; None where it is unset and not required.

    Raises a `UsageError` where it is required and unset, or cannot be sent.
    """
    if not (value := os.environ.get(name)):
        if required:
            raise UsageError(f"{wanted_by}: there is no {name} in the environment; set it")
        return None
    if problem := _key_problem(value):
        raise UsageError(f"{wanted_by}: {name} {problem}")
    return value


def _key_problem(key: str) -> str | None:
    """Why a key cannot be sent as it is, without its text; None where it can."""
    if "-----BEGIN" in key:  # it signs, and is sent in no header
        return None
    if key != key.strip().strip("\"'"):
        return "begins or ends with a blank, a line end or a quotation mark: set it to the key alone"
    if _NO_HEADER.search(key):
        return "has a character that no header can hold, such as a typographic dash: copy the key anew"
    return None


def clean_endpoint(model: str, url: str) -> str:
    """The address as it is used and written down, without a slash at its end; a user, password or query is refused.

    No message repeats it, since it may hold a secret.
    """
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and parts.netloc[-1] != ":" and parts.port != 0
        valid = valid and parts.scheme in ("http", "https") and not re.search(r"[\s\x00-\x1f\x7f]", url)
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(
            f"the endpoint of {model} must begin with http:// or https:// and name a host, "
            "with a port from 1 to 65535 if any, and no blank"
        )
    if re.search(r"[?#]", url) or "@" in urlsplit(url).netloc:
        raise UsageError(
            f"the endpoint of {model} has a query, or a user or password, which would not be sent: "
            "omit them, and give a key in the environment"
        )
    url = url.rstrip("/")
    if url.endswith(_ADDED_PATH):
        raise UsageError(
            f"the endpoint of {model} ends in {_ADDED_PATH}, which is added to it: give {url[: -len(_ADDED_PATH)]}"
        )
    return url


def _litellm_route(model: str, api_base: str | None) -> Route:
    if model.partition("/")[0] in _SIGNS_IN:
        raise UsageError(
            f"{model}: litellm asks for a log-in in a browser as soon as this name is looked up. "
            "Have a LiteLLM proxy of your own serve it, and name that: litellm_proxy/NAME with its address."
        )
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
    letters = _LETTERS.sub("", provider.upper())
    present = tuple(name for name in os.environ if _SECRET.search(name) and name.replace("_", "").startswith(letters))
    return Route(
        model=model,
        native=False,
        provider=provider,
        dialect="litellm",
        key_variables=missing or present or (f"{provider.upper()}_API_KEY",),
        needs_key=bool(missing),
        has_key=environment["keys_in_environment"],
        api_base=api_base,
    )
