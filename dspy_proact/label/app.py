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
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
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
from dspy_proact.errors import UsageError
from dspy_proact.label.access import Address, Bounds, Guard, PerMinute, csrf_of, fields_of, problem, token_of_rater
from dspy_proact.label.assignment import assign
from dspy_proact.label.items import Item, Practice
from dspy_proact.label.reading import Form, given_level, shown, templates
from dspy_proact.label.store import Store
from dspy_proact.label.study import LONGEST_REASON, PRACTICE_ROUND, Given, Rater, practice_passed

_COOKIE_SECONDS = 90 * 86_400
_STATIC = {
    "page.css": ("dspy_proact.report.page", "text/css"),
    "label.css": ("dspy_proact.label", "text/css"),
    "rate.js": ("dspy_proact.label", "text/javascript"),
    "pages.js": ("dspy_proact.label", "text/javascript"),
}


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


def application(collection: Collection, address: Address, bounds: Bounds | None = None) -> ASGIApp:
    """The app of a study, for any ASGI server with one worker."""
    pages = _Pages(collection, address, bounds := bounds or Bounds())
    routes = [
        Route("/", pages.door),
        Route("/enter", pages.enter, methods=["POST"]),
        Route("/join", pages.join, methods=["POST"]),
        Route("/briefing", pages.briefing),
        Route("/practice", pages.practise, methods=["POST"]),
        Route("/rate", pages.rate),
        Route("/rate", pages.give, methods=["POST"]),
        Route("/undo", pages.undo, methods=["POST"]),
        Route("/leave", pages.leave, methods=["POST"]),
        Route("/left", pages.left),
        Route("/link", pages.link, methods=["POST"]),
        Route("/owner", pages.owner),
        Route("/owner/adjudicate", pages.adjudicate, methods=["POST"]),
        Route("/static/{name}", _static),
    ]
    handlers = dict.fromkeys((UsageError, HTTPException), _refusal)
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, address, bounds)


@dataclass(frozen=True)
class _Session:
    """A rater whose cookie is valid."""

    rater: Rater
    csrf: str


class _Pages:
    """Every page and every write.

    Each reads and writes the store in the event loop, one after another: a write takes milliseconds. The owner's page,
    which computes, has a thread and a connection of its own.
    """

    def __init__(self, collection: Collection, address: Address, bounds: Bounds):
        self._of, self._store, self._bounds, self._address = collection, collection.store, bounds, address
        self._items = {item.key: item for item in collection.items}
        self._practice = {each.item.key: each for each in collection.practice}
        self._wrong = PerMinute(bounds.wrong_tokens)

    # Coming in

    async def door(self, request: Request) -> Response:
        """Where every link leads."""
        if self._store.rater_of(self._token(request, "rater")):
            return RedirectResponse("/rate", 303)
        return self._page("door.html")

    async def enter(self, request: Request) -> Response:
        """Take the token of a link: of the owner, of a rater, or the one by which raters join."""
        token = (await fields_of(request)).get("token", "")
        if self._store.is_owner(token):
            return self._with_cookie(request, "/owner", "owner", token)
        if self._store.rater_of(token):
            return self._with_cookie(request, "/rate", "rater", token)
        self._require_entry(request, token)
        return JSONResponse({"join": True})

    async def join(self, request: Request) -> Response:
        """Make a rater; the same click again finds the one that it made."""
        fields = await fields_of(request)
        self._require_entry(request, entry := fields.get("token", ""))
        token = token_of_rater(entry, fields["key"])
        if not self._store.rater_of(token):
            self._store.add_rater(fields.get("name", ""), token, self._bounds.raters)
        return self._with_cookie(request, "/briefing", "rater", token)

    def _require_entry(self, request: Request, token: str) -> None:
        if not self._store.is_entry(token):
            if not self._wrong.allows(request.client.host if request.client else ""):
                raise HTTPException(429, "Too many wrong links; wait a minute.")
            raise HTTPException(
                403, "This link is not whole, or not valid any more. Ask whoever invited you for another."
            )

    # Pages of a rater

    async def briefing(self, request: Request) -> Response:
        """What to do, at any time."""
        session = self._session(request)
        practised = bool(self._store.practice(session.rater.number)) or not self._practice
        return self._page("briefing.html", session, declared=self._of.declared, practised=practised)

    async def rate(self, request: Request) -> Response:
        """What is next: practice until it is passed or over, then the first open place, and in the end nothing."""
        session = self._session(request)
        number, given = session.rater.number, self._store.practice(session.rater.number)
        left = [each for key, each in self._practice.items() if key not in {grade.item for grade in given}]
        if left and practice_passed(given) is None:
            told = {"done": len(given) % PRACTICE_ROUND, "again": len(given) >= PRACTICE_ROUND}
            view = shown(left[0].item, practice=True)
            return self._page("rate.html", session, shown=view, total=PRACTICE_ROUND, **told)
        places = self._store.slate(number)
        if not any(place.state == "open" for place in places):
            assign(self._store, number)
            places = self._store.slate(number)
        states = Counter(place.state for place in places)
        done = states["rated"] + states["skipped"]
        place = next((place for place in places if place.state == "open"), None)
        if place is None:
            return self._page("done.html", session, left=False, done=done)
        item = self._items[place.item]
        view = shown(item, swapped=self._store.swapped(number, item), repeated=place.repeated)
        return self._page("rate.html", session, shown=view, done=done, total=done + states["open"], again=False)

    async def left(self, request: Request) -> Response:
        """After what was not rated was given back."""
        return self._page("done.html", self._session(request), left=True, done=0)

    # What a rater writes

    async def practise(self, request: Request) -> Response:
        """Keep the grade of a practice item, and explain the right one."""
        number, fields = await self._writing(request)
        practice = self._practice.get(fields.get("item", ""))
        grade = practice and given_level(practice.item, fields.get("grade", ""), swapped=False)
        if practice is None or grade is None:
            raise HTTPException(409, "This is not to be practised.")
        self._store.practise(number, practice.item.key, grade, grade == practice.grade)
        given = self._store.practice(number)
        ends = len(given) % PRACTICE_ROUND == 0
        passed = practice_passed(given) if ends else None
        return JSONResponse(
            {
                "correct": next(each.correct for each in given if each.item == practice.item.key),
                "grade": practice.grade,
                "why": practice.why,
                "passed": passed,
                "again": ends and passed is None and len(given) < len(self._practice),
            }
        )

    async def give(self, request: Request) -> Response:
        """Keep a rating, or a skip, whose grade is empty."""
        number, fields = await self._writing(request)
        item, repeated = self._items.get(fields.get("item", "")), fields.get("repeated") == "1"
        if not item or (item.key, repeated) not in {(each.item, each.repeated) for each in self._store.slate(number)}:
            raise HTTPException(409, "This is not yours to rate.")
        self._store.give(number, _given(item, fields, self._store.swapped(number, item)))
        return JSONResponse({"to": "/rate"})

    async def undo(self, request: Request) -> Response:
        """Undo the last rating or skip; what it was, for the form."""
        number, fields = await self._writing(request)
        given, draft = self._store.undo(number, fields["key"]), {}
        if given is not None:
            item = self._items[given.item]
            grade = given_level(item, given.grade or "", swapped=self._store.swapped(number, item)) or ""
            said = {"reason": given.reason, "spans": given.spans, "seconds": given.seconds}
            said |= {"grade": grade, "confidence": str(given.confidence or "")}
            draft = {"item": item.key, "repeated": int(given.repeated), "draft": said}
        return JSONResponse({"to": "/rate", **draft})

    async def leave(self, request: Request) -> Response:
        """Give back what is not rated."""
        number, _ = await self._writing(request)
        self._store.give_back(number)
        return JSONResponse({"to": "/left"})

    async def link(self, request: Request) -> Response:
        """The rater's own link, to go on elsewhere."""
        await self._writing(request)
        return JSONResponse({"link": f"{self._origin(request)}/#{self._token(request, 'rater')}"})

    # The owner's

    async def owner(self, request: Request) -> Response:
        """How the study stands."""
        csrf = self._owner(request)

        def page() -> str:
            from dspy_proact.label.quality import overview, owner_page

            with closing(Store.open(self._store.path)) as store:
                return owner_page(overview(store, self._of.items, self._of.declared, self._of.groups), csrf)

        return HTMLResponse(await run_in_threadpool(page))

    async def adjudicate(self, request: Request) -> Response:
        """Keep a grade of the owner's with its reason, beside the ratings."""
        fields = await _written(request, self._owner(request))
        item, reason = self._items.get(fields.get("item", "")), fields.get("reason", "").strip()
        if item is None or fields.get("grade") not in item.part.levels:
            raise HTTPException(409, "There is no such item or grade.")
        if not 1 <= len(reason) <= LONGEST_REASON:
            raise HTTPException(409, f"A reason has 1 to {LONGEST_REASON} characters.")
        self._store.adjudicate(item.key, fields["grade"], reason, fields["key"])
        return RedirectResponse(f"/owner#{item.key}", 303)

    # Who asks, and what they see

    def _origin(self, request: Request) -> str:
        return self._address.origin(request.headers["host"].lower()) or ""

    def _cookie(self, whose: str) -> str:
        # Cookies know no port: by the study's id, those of two studies on one host are two.
        return f"{whose}-{self._store.id[:8]}"

    def _token(self, request: Request, whose: str) -> str:
        return request.cookies.get(self._cookie(whose), "")

    def _with_cookie(self, request: Request, to: str, whose: str, token: str) -> Response:
        response, secure = JSONResponse({"to": to}), self._origin(request).startswith("https:")
        name = self._cookie(whose)
        response.set_cookie(name, token, _COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
        return response

    def _session(self, request: Request) -> _Session:
        token = self._token(request, "rater")
        if rater := self._store.rater_of(token):
            return _Session(rater, csrf_of(token))
        raise HTTPException(403, "Open the link that you were given.")

    async def _writing(self, request: Request) -> tuple[int, dict[str, str]]:
        """The number of the rater who writes, and what."""
        session = self._session(request)
        return session.rater.number, await _written(request, session.csrf)

    def _owner(self, request: Request) -> str:
        """The CSRF value of the owner's pages, where it is the owner who asks."""
        if not self._store.is_owner(token := self._token(request, "owner")):
            raise HTTPException(403, "Open the owner's link.")
        return csrf_of(token)

    def _page(self, name: str, session: _Session | None = None, **told: Any) -> Response:
        # Drafts in a browser are of one rater: another who uses it sees none of them.
        study = session and f"{self._store.id}-{session.rater.number}"
        page = templates().get_template(name)
        return HTMLResponse(page.render(session=session, study=study, kind=self._store.study.kind, **told))


async def _written(request: Request, csrf: str) -> dict[str, str]:
    """The form of a write, which comes from a page with this CSRF value."""
    fields = await fields_of(request)
    if not hmac.compare_digest(fields.pop("csrf", "").encode(), csrf.encode()):
        raise HTTPException(403, "This page is of an earlier visit; load it again. What you wrote is kept.")
    return fields


def _given(item: Item, fields: dict[str, str], swapped: bool) -> Given:
    """What a form gives to an item; raises `HTTPException` where it is not what the page sends."""
    try:
        typed = {"spans": json.loads(fields["spans"]), "seconds": float(fields["seconds"]), "time": None}
        given = Form.model_validate(fields | typed).given(item, swapped)
    except (ValueError, KeyError, RecursionError):
        raise HTTPException(409, "This form is not what the page sends.") from None
    if misfit := item.misfit(given):
        raise HTTPException(409, f"This cannot be kept: {' '.join(misfit)}.")
    return given


def _refusal(request: Request, error: Exception) -> Response:
    """Why not: a page, or what the script of one shows beside what was typed."""
    status, message = 409, f"{str(error)[:1].upper()}{str(error)[1:]}."
    if isinstance(error, HTTPException):
        status, message = error.status_code, error.detail
    if request.method == "POST":
        return problem(status, message)
    return HTMLResponse(templates().get_template("refused.html").render(message=message, session=None), status)


async def _static(request: Request) -> Response:
    if not (found := _STATIC.get(request.path_params["name"])):
        raise HTTPException(404, "There is no such page.")
    package, kind = found
    content = (files(package) / request.path_params["name"]).read_bytes()
    return Response(content, media_type=kind, headers={"Cache-Control": "private, max-age=300"})
