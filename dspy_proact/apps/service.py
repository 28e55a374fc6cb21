"""An application that is an HTTP service: OpenAI's chat completions, or anything that a template describes.

what the service does                       what follows
redirects                                   SetupFault: the key would go where it points
401, 403, 404, 405, 407                     SetupFault; after an answer a ProviderError
408, 429, 5xx, no connection, a lost one    ProviderError, which the gate tries again; of these only one that was never
                                            made means that the service cannot be reached
any other status                            AppError: the same request would be refused again
no JSON, no text at the path, too long      AppError, with the path and the beginning of the body
"""

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import quote

import httpx

from dspy_proact.apps.app import AppReply, AppRequest, dollars, token_count
from dspy_proact.apps.template import OPENAI, ReplyPath, Template, TemplateValues, step_of, text_at, with_variables
from dspy_proact.errors import AppError, ProviderError, SetupFault, UsageError
from dspy_proact.models.clients import CONNECT, RedirectError, WireError, bound_body
from dspy_proact.models.dspy_internals import retry_after_seconds
from dspy_proact.models.endpoint import clean_endpoint, keys_of_environment, require_no_key, variable
from dspy_proact.models.redaction import redacted, spellings
from dspy_proact.plain_text import shown
from dspy_proact.types import Message

LONGEST = 10 * 2**20
"""Bytes of an answer."""
_EXCERPT = 300
"""Characters of an answer that a message shows."""
_KEY = "APP_API_KEY"
"""The variable of the key of a service without a template."""
_COMPLETIONS = "/chat/completions"
_ID = re.compile(r"\{\{\s*conversation\s*\}\}")
_RETRIED = {408: "timeout", 429: "rate_limit", 504: "timeout"}
_ALIKE = {
    401: "the key was refused",
    403: "the key was refused",
    404: "there is nothing at this address",
    405: "the address takes no such request",
    407: "the proxy refuses the request",
}
"""Statuses that every request meets alike."""


class ServiceApp:
    """A service under test.

    A stateful one is sent every turn of the user in order, in a conversation of its own for each answer; its last reply
    is graded. What it replied before takes the place of the curated replies, which it never sees.

    Raises a `UsageError` where the URL, or a variable of the environment that the template names, cannot be used.

    Args:
        url: The address; without a template the base of an OpenAI-compatible server, or all of its address.
        template: How it is asked; None for OpenAI's chat completions.
        name: What a person calls it, its URL where None.
    """

    def __init__(self, url: str, template: Template | None = None, name: str | None = None):
        self._template = template or OPENAI
        base = url if template else url.rstrip("/").removesuffix(_COMPLETIONS)
        require_no_key(f"{url}\n{self._template.model_dump_json()}", "the application's URL or template")
        # A slash at the end is kept: without it many a framework redirects.
        slash = "/" if template and url.endswith("/") else ""
        self._url = clean_endpoint("the application", base) + ("" if template else _COMPLETIONS) + slash
        self._sent = self._template.placeholders | ({"conversation"} if _ID.search(url) else set[str]())
        if self._template.stateful and "conversation" not in self._sent:
            raise UsageError(
                'the template is "stateful": true, and sends no {{conversation}}, by which the service could know it'
            )
        values = {name: variable(name, "the application's template") or "" for name in self._template.variables}
        key = None if template else variable(_KEY, "the application", required=False)
        self._variables = values
        self._headers = {"Authorization": f"Bearer {key}"} if key else self._template.headers
        self._secrets = spellings((*keys_of_environment(), *values.values(), *([key] if key else [])))
        self._name, self._answered = name or self._url, False
        self._client: httpx.AsyncClient | None = None

    @property
    def name(self) -> str:
        """What a person calls it, else its URL, in which there is neither a user nor a query."""
        return self._name

    @property
    def stateful(self) -> bool:
        """Whether it keeps the conversation, so that earlier replies in it are its own."""
        return self._template.stateful

    def fingerprint(self) -> str:
        """sha256 of URL and template, which names variables and holds none of their values."""
        return sha256(json.dumps([self._url, self._template.model_dump()], sort_keys=True).encode()).hexdigest()

    def require(self, messages: Sequence[Message]) -> None:
        """Raise a `UsageError` for a conversation of which it would miss a part."""
        if lost := self._template.lost_of(messages, self._sent):
            raise UsageError(f"`app_template`: {lost}")

    async def answer(self, request: AppRequest) -> AppReply:
        """Its reply to a conversation; raises what the module's docstring says."""
        if lost := self._template.lost_of(request.messages, self._sent):
            raise SetupFault(lost)
        if not self._template.stateful:
            return (await self._ask(request.messages, request.conversation)).reply
        system = [message for message in request.messages if message["role"] == "system"]
        turns = [message for message in request.messages if message["role"] == "user"]
        # An attempt begins a new conversation: of one that broke off the service may have kept a part.
        ours = f"{request.conversation}-{secrets.token_hex(4)}"
        conversation = None if self._template.conversation else ours
        replies, steps = list[AppReply](), list[Message]()
        for turn in turns:
            if replies:
                steps.append({"role": "assistant", "content": replies[-1].text})
            result = await self._ask([*system, turn], conversation)
            conversation = result.conversation or conversation
            replies.append(result.reply)
            steps += result.reply.steps
        return AppReply(
            replies[-1].text,
            tuple(steps),
            _sum([reply.prompt_tokens for reply in replies]),
            _sum([reply.completion_tokens for reply in replies]),
            _sum([reply.usd for reply in replies]),
        )

    async def aclose(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _ask(self, messages: Sequence[Message], conversation: str | int | None) -> "_Turn":
        """The answer to one request, read."""
        template = self._template
        body = await self._send(TemplateValues(messages, conversation))
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            raise self._unusable("not_json", "the answer is not JSON", body) from None
        value = self._value(template.reply, document, body)
        text, steps = text_at(value), _optional(template.steps, document)
        if text is None or not text.strip():
            waits = "; it calls tools, and waits for their results" if steps else ""
            problem = f"at {template.reply or 'the top'!r} is {shown(value)}, no text{waits}"
            raise self._unusable("empty" if value in (None, "", []) or text is not None else "no_text", problem, body)
        self._answered = True
        reply = AppReply(
            text,
            tuple(map(step_of, steps)) if isinstance(steps, list) else (),
            token_count(_optional(template.prompt_tokens, document)),
            token_count(_optional(template.completion_tokens, document)),
            dollars(_optional(template.usd, document)),
        )
        if template.conversation is None:
            return _Turn(reply, conversation)
        named = self._value(template.conversation, document, body)
        if not (isinstance(named, str | int) and str(named) and str(named).isprintable()):
            problem = f"at {template.conversation!r} is {shown(named)}, no id of the conversation"
            raise self._unusable("no_conversation", problem, body)
        return _Turn(reply, named)

    def _value(self, path: str, document: object, body: bytes) -> Any:
        try:
            return ReplyPath.of(path).value(document)
        except LookupError as error:
            raise self._unusable("no_text", f"{path!r} does not fit the answer: {error.args[0]}", body) from None

    async def _send(self, values: TemplateValues) -> bytes:
        """The body of the answer to one request."""
        template, client = self._template, self._opened()
        headers = httpx.Headers(
            {"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json"}
        )
        for name, text in self._headers.items():
            # Variables first: a conversation that says $NAME is not to be given its value.
            headers.update([(name.encode(), self._parameter(text, values).encode())])
        try:
            response = await client.post(
                _ID.sub(quote(values.text("conversation"), safe=""), self._url),
                params={name: self._parameter(text, values) for name, text in template.query.items()} or None,
                headers=headers,
                content=json.dumps(values.fill(template.body)),
            )
        except RedirectError as error:
            raise SetupFault(f"{self._url}: {self._clean(str(error))}. Give the final address.") from None
        except WireError as error:
            raise AppError("too_long", self._clean(str(error))) from None
        except httpx.TimeoutException as error:
            raise ProviderError("timeout", f"no connection to {self._url}: it took too long") from error
        except httpx.TransportError as error:
            problem = self._clean(str(error) or type(error).__name__).rstrip(".")
            if isinstance(error, httpx.ConnectError | httpx.ProxyError):
                raise ProviderError("network", f"no connection to {self._url}: {problem}") from error
            raise ProviderError("lost", f"the connection to {self._url} broke off before a reply: {problem}") from error
        if response.status_code >= 300:
            raise self._refusal(response)
        return response.content

    def _parameter(self, text: str, values: TemplateValues) -> str:
        """A header or a parameter of the query, with variables and placeholders replaced."""
        return values.filled_text(with_variables(text, self._variables))

    def _refusal(self, response: httpx.Response) -> Exception | SetupFault:
        """What a status that is no success means."""
        status, body = response.status_code, response.content
        http = f"HTTP {status}"
        if word := _RETRIED.get(status) or ("server" if status >= 500 else None):
            after = retry_after_seconds(response.headers.get("retry-after"))
            return ProviderError(word, f"{http}. {self._excerpt(body)}", after)
        if problem := _ALIKE.get(status):
            names = " or ".join(sorted(self._template.variables) or [_KEY] * (self._template is OPENAI))
            check = f" Check {names}." if status in (401, 403) and names else ""
            hint = " A service that is not OpenAI-compatible needs `app_template`." * (self._template is OPENAI)
            sentence = f"{problem} ({http}).{check}{hint} {self._excerpt(body)}"
            return ProviderError("denied", sentence) if self._answered else SetupFault(f"{self._url}: {sentence}")
        return self._unusable("refused", f"the request was refused ({http})", body)

    def _unusable(self, reason: str, problem: str, body: bytes) -> AppError:
        return AppError(reason, f"{self._clean(problem)}. {self._excerpt(body)}", alike=problem)

    def _excerpt(self, body: bytes) -> str:
        """The beginning of an answer, in quotes and without a secret."""
        text = self._clean(body[:20_000].decode(errors="replace"))
        return f"The service said: {text if len(text) <= _EXCERPT else text[:_EXCERPT] + '...'!r}"

    def _clean(self, text: str) -> str:
        return redacted(text, self._secrets)

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            # The time limit is that of the gate, of all turns together.
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(None, connect=CONNECT),
                limits=httpx.Limits(max_connections=None),
                event_hooks={"response": [partial(bound_body, most=LONGEST)]},
            )
            # Cookies would tie answers together that have nothing to do with each other.
            self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        return self._client


@dataclass(frozen=True)
class _Turn:
    """One reply, and the id of the conversation for the next."""

    reply: AppReply
    conversation: str | int | None


def _optional(path: str | None, document: object) -> Any:
    """The value at a path; None where it does not fit."""
    try:
        return None if path is None else ReplyPath.of(path).value(document)
    except LookupError:
        return None


def _sum(numbers: Sequence[Any]) -> Any:
    """The sum; None where one is not known."""
    return None if None in numbers else sum(numbers)
