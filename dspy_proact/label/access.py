"""What stands between a browser and the app: which requests are let in, and how an answer is guarded.

A request names a host that is served, against a page of others whose own name points here (DNS rebinding). What
writes comes from a page of this app (`Origin`), with a value that only such a page can read (CSRF), and is small.
Tokens travel in a link's fragment, which no browser sends, and then in a cookie: they are in no log and no Referer.
"""

import hashlib
import hmac
import ipaddress
import re
import socket
import time
from asyncio import timeout
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dspy_proact.errors import UsageError

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not `no-referrer`, with which a browser sends a form without its Origin.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_FORM = "application/x-www-form-urlencoded"
MOST_BYTES, _MOST_FIELDS = 65_536, 20
"""Of a request's body."""
_BODY_SECONDS = 10.0
"""In which a form comes."""


def origins(port: int, host: str = "127.0.0.1", url: str | None = None) -> Mapping[str, str]:
    """The origin of the pages, by the host that a request may name, of an app that listens on a port of a host.

    `url` is where raters reach it, such as a proxy with TLS, or an address of this machine. Raises a `UsageError` where
    it is not the whole of an origin.
    """
    names = ["127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host]
    names += [] if is_loopback(host) else [socket.gethostname()]
    by_host = {f"{name}:{port}".lower(): f"http://{name}:{port}".lower() for name in names}
    if url is not None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/") or "@" in url:
            raise UsageError(f"`url` {url!r}: is not like https://label.example.org")
        by_host[parts.netloc.lower()] = f"{parts.scheme}://{parts.netloc.lower()}"
    return by_host


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def csrf_of(token: str) -> str:
    """What a page of the holder of a token sends with every write; it tells nothing of the token."""
    return hmac.new(token.encode(), b"csrf", hashlib.sha256).hexdigest()


def token_of_rater(entry: str, key: str) -> str:
    """The token of who joins by an entry token with a key of their own: the same click twice is one rater."""
    return hmac.new(entry.encode(), key.encode(), hashlib.sha256).hexdigest()[:32]


async def fields_of(request: Request, token: str | None = None) -> dict[str, str]:
    """The fields of a form; its `key` is an idempotency key, 128 random bits of the page's in hex.

    Raises an `HTTPException` where it is no form, not in UTF-8, has no key, comes too slowly, or not from a page of
    whoever has the token.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != _FORM:
        raise HTTPException(409, "This is no form.")
    try:
        async with timeout(_BODY_SECONDS):
            text = (await request.body()).decode()
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"))
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(408, "This came too slowly.") from None
    except ValueError:
        raise HTTPException(409, "This form cannot be read.") from None
    csrf = fields.pop("csrf", "")
    if token is not None and not hmac.compare_digest(csrf.encode(), csrf_of(token).encode()):
        raise HTTPException(403, "This page is of an earlier visit; load it again. What you wrote is kept.")
    if not re.fullmatch("[0-9a-f]{32}", fields.get("key", "")):
        raise HTTPException(409, "This write has no key.")
    return fields


class Guard:
    """Lets in what may come in, and puts the headers on whatever goes out; ASGI around the app.

    `requests` are those of one client in a minute, `size` the most bytes of a request's body. The app finds the origin
    that is asked for in the scope.
    """

    def __init__(self, app: ASGIApp, origins: Mapping[str, str], requests: int, size: int = MOST_BYTES):
        self._app, self._origins, self._most, self._size = app, origins, requests, size
        self._minute, self._count = 0, Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (self._refused(scope) or self._app)(scope, receive, guarded)

    def _refused(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        origin = self._origins.get(headers.get("host", "").lower())
        if origin is None:
            return problem(421, "This host is not served here; the owner names other addresses.")
        scope["origin"] = origin
        if (minute := int(time.monotonic() // 60)) != self._minute:
            self._minute, self._count = minute, Counter()
        self._count[client := (scope.get("client") or ("",))[0]] += 1
        if self._count[client] > self._most:
            return problem(429, "Too many requests; wait a minute.")
        site = headers.get("sec-fetch-site", "same-origin")
        if method == "POST" and (headers.get("origin") != origin or site != "same-origin"):
            return problem(403, "This did not come from a page of this app.")
        # Without a length, or beside one, a body may come in chunks without end.
        size = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not re.fullmatch("[0-9]{1,9}", size) or int(size) > self._size:
            return problem(413, "This is too large, or does not say how large it is.")
        return None


def problem(status: int, message: str) -> Response:
    """A refusal, as the pages' scripts read it."""
    return JSONResponse({"problem": message}, status)
