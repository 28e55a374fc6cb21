"""The app in which people rate: an ASGI application over the file of a study.

    GET   /            the door: reads the token from the fragment of a link
    POST  /enter       takes a token, and gives a cookie
    POST  /join        a new rater, by the token for joining
    GET   /briefing    what to do
    GET   /rate        the next practice item, or the next item, or that there is none
    POST  /practice /rate /undo /leave /link      a rater's
    GET   /owner       how the study stands
    POST  /owner/adjudicate                       the owner's

A rater sees the first open place of their own slate and nothing else. What is written is on disk before it is answered.
"""

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.errors import StorageFault, UsageError
from dspy_proact.label.access import (
    Address,
    Guard,
    Limits,
    PerMinute,
    RefusedError,
    csrf_of,
    fields_of,
    problem,
    token_of_rater,
)
from dspy_proact.label.assignment import assign
from dspy_proact.label.items import Item, Practice
from dspy_proact.label.reading import given_level, shown, templates
from dspy_proact.label.store import Store
from dspy_proact.label.study import LONGEST_REASON, MOST_SPANS, PRACTICE_ROUND, Given, Place, Rater, practice_passed

_COOKIE_SECONDS = 90 * 86_400
_DAY = 86_400.0
_STATIC = {
    "page.css": ("dspy_proact.report.page", "text/css"),
    "label.css": ("dspy_proact.label", "text/css"),
    "rate.js": ("dspy_proact.label", "text/javascript"),
    "pages.js": ("dspy_proact.label", "text/javascript"),
}
_KEY = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Collection:
    """What is collected, and from whom."""

    store: Store
    items: tuple[Item, ...]
    """As the store has them."""
    practice: tuple[Practice, ...]
    declared: Benchmark[Any, Any]
    """The benchmark."""
    groups: Mapping[str, str]
    """Of each case, which intervals allow for."""


def application(collection: Collection, address: Address, limits: Limits | None = None) -> ASGIApp:
    """The app of a study, for any ASGI server with one worker.

    Args:
        collection: Of ratings.
        address: Where it is reached.
        limits: Of what is let in.
    """
    limits = limits or Limits()
    pages = _Pages(collection, address, limits)
    read = (("", pages.door), ("briefing", pages.briefing), ("rate", pages.rate), ("left", pages.left))
    written = (
        *(("enter", pages.enter), ("join", pages.join), ("practice", pages.practise), ("rate", pages.give)),
        *(("undo", pages.undo), ("leave", pages.leave), ("link", pages.link), ("owner/adjudicate", pages.adjudicate)),
    )
    routes = [
        *(Route(f"/{path}", _whole(page)) for path, page in (*read, ("owner", pages.owner))),
        *(Route(f"/{path}", _answered(does), methods=["POST"]) for path, does in written),
        Route("/static/{name}", _static),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={HTTPException: _not_there}), address, limits)


@dataclass(frozen=True)
class _Session:
    """A rater whose cookie is valid."""

    rater: Rater
    csrf: str
    token: str


class _Pages:
    """Every page and every write.

    Each reads and writes the store in the event loop, one after another: a write takes milliseconds. The owner's page,
    which computes, has a thread and a connection of its own.
    """

    def __init__(self, collection: Collection, address: Address, limits: Limits):
        self._of, self._store, self._limits, self._address = collection, collection.store, limits, address
        self._items = {item.key: item for item in collection.items}
        self._practice = {each.item.key: each for each in collection.practice}
        self._wrong = PerMinute(limits.wrong_tokens)
        self._shown = lru_cache(256)(shown)  # a page of a long response takes time to make, and raters share items

    # Coming in

    async def door(self, request: Request) -> Response:
        """Where every link leads."""
        if self._token(request, "rater") and self._store.rater_of(self._token(request, "rater")):
            return RedirectResponse("/rate", 303)
        return self._page("door.html")

    async def enter(self, request: Request, fields: dict[str, str]) -> Response:
        """Take the token of a link: of the owner, of a rater, or the one by which raters join."""
        token = fields.get("token", "")
        if self._store.is_owner(token):
            return self._with_cookie(request, _to("/owner"), "owner", token)
        if self._store.rater_of(token):
            return self._with_cookie(request, _to("/rate"), "rater", token)
        self._require_entry(request, token)
        return JSONResponse({"join": True})

    async def join(self, request: Request, fields: dict[str, str]) -> Response:
        """Make a rater; the same click again finds the one that it made."""
        entry, name, key = fields.get("token", ""), fields.get("name", ""), _key(fields)
        self._require_entry(request, entry)
        token = token_of_rater(entry, key)
        if not self._store.rater_of(token):
            self._store.add_rater(name, self._limits.raters, token=token)
        return self._with_cookie(request, _to("/briefing"), "rater", token)

    def _require_entry(self, request: Request, token: str) -> None:
        if not self._store.is_entry(token):
            if not self._wrong.allows(request.client.host if request.client else ""):
                raise RefusedError(429, "Too many wrong links; wait a minute.")
            raise RefusedError(
                403, "This link is not valid any more, or not whole. Ask whoever invited you for a new one."
            )

    # Pages of a rater

    async def briefing(self, request: Request) -> Response:
        """What to do, at any time."""
        session = self._session(request)
        practised = bool(self._store.practice(session.rater.number)) or not self._practice
        return self._page("briefing.html", session, declared=self._of.declared, practised=practised)

    async def rate(self, request: Request) -> Response:
        """What is next: practice until it is passed or over, then the first open place, and some day nothing."""
        session = self._session(request)
        number, given = session.rater.number, self._store.practice(session.rater.number)
        left = [each for key, each in self._practice.items() if key not in {grade.item for grade in given}]
        if left and practice_passed(given) is None:
            at = len(given) % PRACTICE_ROUND
            told = {"done": at, "total": PRACTICE_ROUND, "again": len(given) >= PRACTICE_ROUND}
            return self._page("rate.html", session, shown=self._shown(left[0].item, practice=True), **told)
        place = self._open(number)
        if place is None:
            assign(self._store, number)
            place = self._open(number)
        states = [each.state for each in self._store.slate(number)]
        progress = {"done": len(states) - states.count("open") - states.count("returned"), "again": False}
        progress["total"] = progress["done"] + states.count("open")
        if place is None:
            return self._page("done.html", session, left=False, **progress)
        item = self._items[place.item]
        view = self._shown(item, swapped=self._swapped(number, item), repeated=place.repeated)
        return self._page("rate.html", session, shown=view, **progress)

    async def left(self, request: Request) -> Response:
        """After what was not rated was given back."""
        return self._page("done.html", self._session(request), left=True, done=0)

    # What a rater writes

    async def practise(self, request: Request, fields: dict[str, str]) -> Response:
        """Keep the grade of a practice item, and explain the right one."""
        number, key = self._writing(request, fields).rater.number, _key(fields)
        practice = self._practice.get(fields.get("item", ""))
        grade = practice and given_level(practice.item, fields.get("grade", ""), swapped=False)
        if practice is None or grade is None:
            raise RefusedError(409, "This is not to be practised.")
        self._store.practise(number, practice.item.key, grade, grade == practice.grade, key)
        given = self._store.practice(number)
        first = next(each for each in given if each.item == practice.item.key)
        ended = None if len(given) % PRACTICE_ROUND else practice_passed(given)
        round_ended = len(given) % PRACTICE_ROUND == 0
        return JSONResponse(
            {
                "correct": first.correct,
                "grade": practice.grade,
                "why": practice.why,
                "passed": ended,
                "again": round_ended and ended is None and len(given) < len(self._practice),
            }
        )

    async def give(self, request: Request, fields: dict[str, str]) -> Response:
        """Keep a rating, or a skip, whose grade is empty."""
        number, repeated = self._writing(request, fields).rater.number, fields.get("repeated") == "1"
        item = self._items.get(fields.get("item", ""))
        mine = item and any((p.item, p.repeated) == (item.key, repeated) for p in self._store.slate(number))
        if item is None or not mine:
            raise RefusedError(409, "This is not yours to rate.")
        self._store.give(number, _given(item, fields, repeated, self._swapped(number, item)))
        return _to("/rate")

    async def undo(self, request: Request, fields: dict[str, str]) -> Response:
        """Undo the last rating or skip; what it was, for the form."""
        number = self._writing(request, fields).rater.number
        given = self._store.undo(number, _key(fields))
        if given is None:
            return JSONResponse({"to": "/rate", "draft": None})
        swapped = self._swapped(number, self._items[given.item])
        draft = {
            "grade": given_level(self._items[given.item], given.grade or "", swapped=swapped) or "",
            "confidence": str(given.confidence or ""),
            "reason": given.reason,
            "spans": given.spans,
            "seconds": given.seconds,
        }
        return JSONResponse({"to": "/rate", "draft": draft, "item": given.item, "repeated": int(given.repeated)})

    async def leave(self, request: Request, fields: dict[str, str]) -> Response:
        """Give back what is not rated."""
        self._store.give_back(self._writing(request, fields).rater.number)
        return _to("/left")

    async def link(self, request: Request, fields: dict[str, str]) -> Response:
        """The rater's own link, to go on elsewhere."""
        origin = self._address.origin(request.headers["host"].lower())
        return JSONResponse({"link": f"{origin}/#{self._writing(request, fields).token}"})

    # The owner's

    async def owner(self, request: Request) -> Response:
        """How the study stands."""
        csrf = csrf_of(self._owner(request))
        return HTMLResponse(await run_in_threadpool(self._overview, csrf))

    def _overview(self, csrf: str) -> str:
        from dspy_proact.label.quality import overview, owner_page

        store = Store.open(self._store.path)
        try:
            return owner_page(overview(store, self._of.items, self._of.declared, self._of.groups), csrf)
        finally:
            store.close()

    async def adjudicate(self, request: Request, fields: dict[str, str]) -> Response:
        """Keep a grade of the owner's with its reason, beside the ratings."""
        self._check(fields, csrf_of(self._owner(request)))
        item, key, reason = self._items.get(fields.get("item", "")), _key(fields), fields.get("reason", "").strip()
        if item is None or fields.get("grade") not in item.part.levels:
            raise RefusedError(409, "There is no such item or grade.")
        if not 1 <= len(reason) <= LONGEST_REASON:
            raise RefusedError(409, f"A reason has 1 to {LONGEST_REASON} characters.")
        self._store.adjudicate(item.key, fields["grade"], reason, key)
        return RedirectResponse(f"/owner#{item.key}", 303)

    # Who asks, and what they see

    def _token(self, request: Request, whose: str) -> str:
        return request.cookies.get(f"{whose}-{self._store.id[:8]}", "")

    def _with_cookie(self, request: Request, response: Response, whose: str, token: str) -> Response:
        # Cookies know no port, so that their names tell one study of a host from another.
        secure = str(self._address.origin(request.headers["host"].lower())).startswith("https:")
        name = f"{whose}-{self._store.id[:8]}"
        response.set_cookie(name, token, _COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
        return response

    def _session(self, request: Request) -> _Session:
        token = self._token(request, "rater")
        rater = self._store.rater_of(token) if token else None
        if rater is None:
            raise RefusedError(403, "Open the link that you were given.")
        return _Session(rater, csrf_of(token), token)

    def _owner(self, request: Request) -> str:
        token = self._token(request, "owner")
        if not self._store.is_owner(token):
            raise RefusedError(403, "Open the owner's link.")
        return token

    def _writing(self, request: Request, fields: dict[str, str]) -> _Session:
        session = self._session(request)
        self._check(fields, session.csrf)
        return session

    def _check(self, fields: dict[str, str], csrf: str) -> None:
        if not hmac.compare_digest(fields.get("csrf", "").encode(), csrf.encode()):
            raise RefusedError(403, "This page is of an earlier visit; load it again. What you wrote is kept.")

    def _open(self, rater: int) -> Place | None:
        return next((place for place in self._store.slate(rater) if place.state == "open"), None)

    def _swapped(self, rater: int, item: Item) -> bool:
        """Whether a rater sees the second response of a pair first: by chance, and always alike."""
        return len(item.responses) > 1 and bool(sha256(f"{self._store.id} {rater} {item.key}".encode()).digest()[0] & 1)

    def _page(self, name: str, session: _Session | None = None, **told: Any) -> Response:
        page = templates().get_template(name)
        # Drafts in a browser are of one rater: another who uses it sees none of them.
        study = session and f"{self._store.id}-{session.rater.number}"
        return HTMLResponse(page.render(session=session, study=study, kind=self._store.study.kind, **told))


def _given(item: Item, fields: dict[str, str], repeated: bool, swapped: bool) -> Given:
    """What a form says of an item; raises `RefusedError` where it is not what the page sends."""
    value, reason = fields.get("grade", ""), fields.get("reason", "")
    grade = given_level(item, value, swapped=swapped) if value else None
    if (value and grade is None) or len(reason) > LONGEST_REASON or not (value or reason.strip()):
        raise RefusedError(409, "There is no such grade, or a skip has no reason, or the reason is too long.")
    try:
        confidence, seconds = int(fields.get("confidence") or 0), float(fields.get("seconds", "nan"))
        spans = tuple((int(start), int(end)) for start, end in json.loads(fields.get("spans") or "[]"))
    except (ValueError, TypeError, RecursionError):
        raise RefusedError(409, "This form is not what the page sends.") from None
    if confidence not in (range(1, 6) if grade else (0,)) or not 0 <= seconds <= _DAY:
        raise RefusedError(409, "A grade comes with a confidence of 1 to 5, and with the seconds that it took.")
    if len(spans) > MOST_SPANS or not item.spans_within(spans) or (spans and len(item.responses) > 1):
        raise RefusedError(409, "The marked words are not those of the response.")
    return Given(item.key, grade, _key(fields), confidence or None, reason.strip(), spans, seconds, repeated)


def _key(fields: dict[str, str]) -> str:
    """The idempotency key of a write: 128 random bits of the page's, in hex."""
    key = fields.get("key", "")
    if len(key) != 32 or not _KEY.issuperset(key):
        raise RefusedError(409, "This write has no key.")
    return key


def _to(path: str) -> Response:
    return JSONResponse({"to": path})


def _whole(page: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """A page; a refusal is a page too."""

    async def answer(request: Request) -> Response:
        try:
            return await page(request)
        except RefusedError as refused:
            return _refusal(refused.status, refused.message)

    return answer


def _answered(
    does: Callable[[Request, dict[str, str]], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """A write; the page of what is refused keeps what was typed, and says why."""

    async def answer(request: Request) -> Response:
        try:
            return await does(request, fields_of(request))
        except RefusedError as refused:
            return problem(refused.status, refused.message)
        except UsageError as error:
            return problem(409, f"{str(error)[0].upper()}{str(error)[1:]}.")
        except StorageFault:
            return problem(
                507,
                "This could not be kept: the disk is full or cannot be written. Nothing is lost: what you "
                "wrote stays in this page. Tell whoever invited you, and save again later.",
            )

    return answer


def _refusal(status: int, message: str) -> Response:
    return HTMLResponse(templates().get_template("refused.html").render(message=message, session=None), status)


async def _not_there(_: Request, error: Exception) -> Response:
    return _refusal(error.status_code if isinstance(error, HTTPException) else 404, "There is no such page.")


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404)
    package, kind = _STATIC[name]
    return Response((files(package) / name).read_bytes(), media_type=kind)
