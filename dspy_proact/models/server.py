"""What an endpoint says of itself: how long a context it has, and how many requests it answers at a time.

It is asked by GET, once a process, and only at an address that a person gave. No model is called. Nothing is known of
a server that is slow, refuses, redirects or answers anything else, or of servers on the nodes of a cluster: what a dry
run does not ask must not decide which run it is.
"""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from dspy_proact.models.clients import LONGEST
from dspy_proact.models.endpoint import NODE, Route
from dspy_proact.models.pacing import FIRST

_SECONDS = 5.0
"""For a reply. Where it comes later, the context is not known, and the same command makes another run."""
_PIECE = 2**16
_PROMPT = 3072
"""Tokens: the prompts of a judge with a conversation seldom take more."""
_CONTEXTS = ("max_model_len", "context_length", "max_context_length", "context_window")
"""Names of a model's context in `/v1/models`: vLLM and SGLang, OpenRouter, Mistral, Groq."""
_MOST = 10**9
"""A larger number is no count of tokens or requests."""


@dataclass(frozen=True)
class Server:
    """What an endpoint says of one of its models; None where it does not say."""

    context: int | None = None
    """Tokens of a prompt and its answer together."""
    slots: int | None = None
    """Requests that it answers at a time; others wait in its queue."""

    @property
    def longest_answer(self) -> int | None:
        """The most tokens that a preset asks for in any request: half of the context, so that the prompt has the rest.

        It is less where a prompt would have less than `_PROMPT`, but at least a quarter.
        """
        return self.context and max(1, self.context // 4, min(self.context // 2, self.context - _PROMPT))


def find_server(route: Route) -> Server:
    """What the endpoint of a model says; nothing of a provider's own endpoint, or one of another protocol."""
    if not route.api_base or NODE in route.api_base or not route.speaks_openai:
        return Server()
    listed, props, info = _documents(route.api_base, route.key)
    row = _row(listed, route.model.partition("/")[2] or route.model)
    slot = props.get("default_generation_settings")
    contexts = [_count(row, *_CONTEXTS), _count(slot if isinstance(slot, Mapping) else {}, "n_ctx")]
    contexts += [_count(props, "n_ctx"), _count(info, "max_total_tokens")]
    return Server(next(filter(None, contexts), None), _count(props, "total_slots"))


def first_calls(route: Route) -> int | None:
    """Calls that an endpoint is sent at first: as many as it says that it answers; None for as many as are allowed."""
    return find_server(route).slots or (FIRST if route.is_private else None)


def _row(listed: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What is listed of a model; a server with one model answers by it, whatever name is sent."""
    rows = listed.get("data")
    rows = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    named = [row for row in rows if row.get("id") == name]
    return next(iter(named or (rows if len(rows) == 1 else [])), {})


def _count(document: Mapping[str, Any], *names: str) -> int | None:
    """The first count under one of the names."""
    counts = (document.get(name) for name in names)
    return next((count for count in counts if type(count) is int and 0 < count < _MOST), None)


@cache
def _documents(api_base: str, key: str | None) -> tuple[Mapping[str, Any], ...]:
    """`/v1/models`, and beside `/v1` the `/props` of llama.cpp and the `/info` of TGI; empty where there is none."""
    root = re.sub(r"/v[0-9]+$", "", api_base)
    try:
        return tuple(_read(url, key) for url in (f"{api_base}/models", f"{root}/props", f"{root}/info"))
    except (OSError, HTTPException, ValueError):  # it cannot be reached, or takes too long: no second wait
        return {}, {}, {}


def _read(url: str, key: str | None) -> Mapping[str, Any]:
    """The JSON object at an address; empty where the server answers with anything else."""
    request = Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    body, end = b"", time.monotonic() + _SECONDS
    try:
        with build_opener(_NoRedirect).open(request, timeout=_SECONDS) as response:
            while piece := response.read1(_PIECE):
                body += piece
                if len(body) > LONGEST or time.monotonic() > end:
                    raise TimeoutError
        document = json.loads(body)
    except HTTPError as error:
        error.close()
        return {}
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, Mapping) else {}


class _NoRedirect(HTTPRedirectHandler):
    """Makes an `HTTPError` of a redirect: the key would go where the server points."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
