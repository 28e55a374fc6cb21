"""Marks for Anthropic's prompt cache, which keeps nothing that is not marked: a write costs 1.25 times, a read a tenth.

What is marked is the longest beginning of a request, before its last message, that another request had too. It is
marked from when that one is answered, and one request alone writes it: of those in flight at once, each would.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from dspy.lm15 import CacheConfig, Request

_SHORTEST = 3_500
"""Characters: about the 1,024 tokens below which Anthropic caches nothing. A model that needs more ignores a mark."""


class PromptCache:
    """The beginnings of one model's requests in one role.

    Args:
        by_litellm: Whether litellm sends them, which has a parameter for marks.
    """

    def __init__(self, by_litellm: bool):
        self._by_litellm = by_litellm
        self._known = dict[int, Literal["answered", "being written", "written"]]()
        """Beginnings that are long enough, by their hashes."""

    @contextmanager
    def marked(self, request: Request) -> Generator[Request]:
        """The request with its mark, while it is asked; what is raised meanwhile says that it was not answered."""
        begins = list(_beginnings(request))
        usable = [at for at, begin in enumerate(begins[:-1]) if self._known.get(begin) in ("answered", "written")]
        if usable:
            begin, before = begins[usable[-1]], self._known[begins[usable[-1]]]
            self._known[begin] = "being written" if before == "answered" else "written"
            try:
                yield self._with_mark(request, usable[-1])
            except BaseException:
                self._known[begin] = before
                raise
            self._known[begin] = "written"
        else:
            yield request
        for begin in begins:
            if begin:
                self._known.setdefault(begin, "answered")

    def _with_mark(self, request: Request, at: int) -> Request:
        """The request with a mark at the end of its system text, or of a message, counted from 1."""
        config = request.config
        if not self._by_litellm:
            cache = CacheConfig(prefix_until_index=at - 1 if at else None)
            return replace(request, config=replace(config, cache=cache))
        where = {"index": at - (not request.system)} if at else {"role": "system"}
        points = {"cache_control_injection_points": [{"location": "message", **where}]}
        return replace(request, config=replace(config, extensions={**(config.extensions or {}), **points}))


def _beginnings(request: Request) -> Iterator[int]:
    """A hash of the system text, and of it with each message more; 0 where that is too short."""
    digest = characters = 0
    for piece in (request.system, *request.messages):
        text = repr(piece)
        digest, characters = hash((digest, text)), characters + len(text)
        yield digest if characters >= _SHORTEST else 0
