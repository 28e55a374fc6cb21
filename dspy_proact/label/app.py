"""The app in which people rate: an ASGI application over the file of a study.

The door reads the token from the fragment of a link, and gives a cookie for it. A rater sees the first open place of
their own slate and nothing else. What is written is on disk before it is answered.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.label.access import MOST_BYTES, Guard, csrf_of, fields_of, problem, token_of_rater
from dspy_proact.label.assignment import assign
from dspy_proact.label.database import StoreError
from dspy_proact.label.store import Store
from dspy_proact.label.study import (
    LONGEST_REASON,
    PRACTICE_ROUND,
    Practice,
    Rater,
    StudyItem,
    Submission,
    briefing_of,
    practice_passed,
)
from dspy_proact.report.page.figures import templates

_LOGGER = logging.getLogger(__name__)
_COOKIE_SECONDS = 90 * 86_400
_MOST_RATERS = 1_000
"""That join."""
_FORM = TypeAdapter(Submission)
_OWN_FILES = ("label.css", "rate.js", "pages.js", "review.css", "review.js")
_STATIC = {"page.css": "dspy_proact.report.page"} | dict.fromkeys(_OWN_FILES, __package__)


@dataclass(frozen=True)
class Collection:
    """What is collected, and by which tokens people come in."""

    store: Store
    items: tuple[StudyItem, ...]
    """As the store has them."""
    practice: tuple[Practice, ...]
    declared: Benchmark[Any, Any]
    """The benchmark."""
    groups: Mapping[str, str]
    """Of each case, which intervals allow for."""
    owner: str = field(default="", repr=False)
    """The owner's token."""
    entry: str = field(default="", repr=False)
    """That by which raters join."""

    def pages(self) -> "Pages":
        """The pages on which it is collected."""
        return Pages(self)


def application(collection: Collection, origins: Mapping[str, str], requests: int = 6_000) -> ASGIApp:
    """The app of a study at these `origins`, for an ASGI server with one worker; `requests` are a client's a minute."""
    pages = collection.pages()
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
    handlers = dict.fromkeys((UsageError, HTTPException), pages.refusal)
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, origins, requests, pages.most_bytes)


class Pages:
    """Every page and every write.

    Each reads and writes the store in the event loop, one after another: a write takes milliseconds. The owner's page,
    which computes, has a thread and a connection of its own.

    Attributes:
        most_bytes: Of the body of a write.
    """

    most_bytes = MOST_BYTES

    def __init__(self, collection: Collection):
        self._of, self._store = collection, collection.store
        self._items = {item.key: item for item in collection.items}
        self._practice = {practice.item.key: practice for practice in collection.practice}
        self._warned = ""

    # Coming in

    async def door(self, request: Request) -> Response:
        """Where every link leads."""
        if self._store.rater_of(self._token(request, "rater")):
            return RedirectResponse("/rate", 303)
        return self._page("door.html")

    async def enter(self, request: Request) -> Response:
        """Take the token of a link: of the owner, of a rater, or the one by which raters join."""
        token = (await fields_of(request)).get("token", "")
        if self._store.holds(token, "owner"):
            return self._with_cookie(request, "/owner", "owner", token)
        if self._store.rater_of(token):
            return self._with_cookie(request, "/rate", "rater", token)
        self._require_entry(token)
        return JSONResponse({"join": True})

    async def join(self, request: Request) -> Response:
        """Make a rater; the same click again finds the one that it made."""
        fields = await fields_of(request)
        self._require_entry(entry := fields.get("token", ""))
        token = token_of_rater(entry, fields["key"])
        if not self._store.rater_of(token):
            self._store.add_rater(fields.get("name", ""), token, _MOST_RATERS)
        return self._with_cookie(request, "/briefing", "rater", token)

    def _require_entry(self, token: str) -> None:
        if not self._store.holds(token, "entry"):
            why = "This link is not whole, or not valid any more. Ask whoever invited you for another."
            raise HTTPException(403, why)

    # Pages of a rater

    async def briefing(self, request: Request) -> Response:
        """What to do, at any time."""
        rater = self._rater(request)
        practised = bool(self._store.practice(rater.number)) or not self._practice
        briefing = briefing_of(self._of.declared, self._of.items)
        return self._page("briefing.html", request, rater, practised=practised, **briefing)

    async def rate(self, request: Request) -> Response:
        """What is next: practice until it is passed or over, then the first open place, and in the end nothing."""
        rater = self._rater(request)
        practised = self._store.practice(rater.number)
        left = next((practice.item for key, practice in self._practice.items() if key not in practised), None)
        context = {"practice": True, "again": len(practised) >= PRACTICE_ROUND, "swapped": False, "repeated": False}
        if left and practice_passed([*practised.values()]) is None:
            context |= {"done": len(practised) % PRACTICE_ROUND, "total": PRACTICE_ROUND}
            return self._page("rate.html", request, rater, item=left, **context)
        slots = assign(self._store, rater.number)
        states = Counter(slot.state for slot in slots)
        done = states["rated"] + states["skipped"]
        slot = next((slot for slot in slots if slot.state == "open"), None)
        if slot is None:
            return self._page("done.html", request, rater, left=False, done=done)
        item = self._items[slot.item]
        context = {"practice": False, "swapped": self._store.swapped(rater.number, item), "repeated": slot.repeated}
        return self._page("rate.html", request, rater, item=item, done=done, total=done + states["open"], **context)

    async def left(self, request: Request) -> Response:
        """After what was not rated was given back."""
        return self._page("done.html", request, self._rater(request), left=True, done=0)

    # What a rater writes

    async def practise(self, request: Request) -> Response:
        """Keep the grade of a practice item, and explain the right one."""
        number, fields = await self._writing(request)
        practice, grade = self._practice.get(fields.get("item", "")), fields.get("grade", "")
        if practice is None or grade not in practice.item.levels:
            raise HTTPException(409, "This is not to be practised.")
        self._store.practise(number, practice.item.key, grade, grade == practice.grade)
        correct = self._store.practice(number)
        ends = len(correct) % PRACTICE_ROUND == 0
        passed = practice_passed([*correct.values()]) if ends else None
        again = ends and passed is None and len(correct) < len(self._practice)
        answer = {"correct": correct[practice.item.key], "grade": practice.grade, "why": practice.why}
        return JSONResponse(answer | {"passed": passed, "again": again})

    async def give(self, request: Request) -> Response:
        """Keep a rating, or a skip."""
        number, fields = await self._writing(request)
        submission, slate = _submission(fields), self._store.slate(number)
        item = self._items.get(submission.item)
        if not item or (item.key, submission.repeated) not in {(slot.item, slot.repeated) for slot in slate}:
            raise HTTPException(409, "This is not yours to rate.")
        submission = self._store.turned(number, item, submission)
        if misfit := item.misfit(submission):
            raise HTTPException(409, f"This cannot be kept: {' '.join(misfit)}.")
        self._store.give(number, submission)
        return JSONResponse({"to": "/rate"})

    async def undo(self, request: Request) -> Response:
        """Undo the last rating or skip; what it was, for the form."""
        number, fields = await self._writing(request)
        last = self._store.undo(number, fields["key"])
        if last is None:
            return JSONResponse({"to": "/rate"})
        shown = self._store.turned(number, self._items[last.item], last)
        named = ("item", "repeated", "grade", "confidence", "reason", "spans", "seconds")
        return JSONResponse({"to": "/rate", "draft": {name: getattr(shown, name) for name in named}})

    async def leave(self, request: Request) -> Response:
        """Give back what is not rated."""
        number, _ = await self._writing(request)
        self._store.give_back(number)
        return JSONResponse({"to": "/left"})

    async def link(self, request: Request) -> Response:
        """The rater's own link, to go on elsewhere."""
        await self._writing(request)
        return JSONResponse({"link": f"{request.scope['origin']}/#{self._token(request, 'rater')}"})

    # The owner's

    async def owner(self, request: Request) -> Response:
        """How the study stands."""
        csrf = csrf_of(self._owners_token(request))

        def page() -> str:
            from dspy_proact.label.quality import overview, owner_page

            with closing(Store.open(self._store.path)) as store:
                return owner_page(overview(store, self._of.items, self._of.declared, self._of.groups), csrf)

        return HTMLResponse(await run_in_threadpool(page))

    async def adjudicate(self, request: Request) -> Response:
        """Keep a grade of the owner's with its reason, beside the ratings."""
        submission = _submission(await fields_of(request, self._owners_token(request)))
        item = self._items.get(submission.item)
        if not item or submission.grade not in item.levels or not 1 <= len(submission.reason) <= LONGEST_REASON:
            raise HTTPException(409, f"Choose a grade, with a reason of at most {LONGEST_REASON} characters.")
        self._store.adjudicate(submission)
        return RedirectResponse(f"/owner#{item.key}", 303)

    # Who asks, and what they see

    def refusal(self, request: Request, error: Exception) -> Response:
        """Why not: a page, or what the script of one shows beside what was typed."""
        status, message = 409, f"{str(error)[:1].upper()}{str(error)[1:]}."
        if isinstance(error, HTTPException):
            status, message = error.status_code, error.detail
        elif isinstance(error, StoreError):
            status, invite = 507 if error.full else 503, "Tell whoever invited you"
            message = f"The study cannot be used now: {error.why}. {invite}, and load this page again later."
            if request.method == "POST":
                stays = f"What you wrote stays in this page. {invite}, and save again later."
                message = f"This could not be kept: {error.why}. {stays}"
            if str(error) != self._warned:  # once, on the terminal of the server
                self._warned = str(error)
                _LOGGER.warning("The study cannot be used: %s.", error)
        if request.method == "POST":
            return problem(status, message)
        page = templates(__package__).get_template("refused.html")
        return HTMLResponse(page.render(message=message, rater=None), status)

    def _cookie(self, whose: str) -> str:
        # Cookies know no port: by the study's id, those of two studies on one host are two.
        return f"{whose}-{self._store.id[:8]}"

    def _token(self, request: Request, whose: str) -> str:
        return request.cookies.get(self._cookie(whose), "")

    def _with_cookie(self, request: Request, to: str, whose: str, token: str) -> Response:
        response, secure = JSONResponse({"to": to}), request.scope["origin"].startswith("https:")
        name = self._cookie(whose)
        response.set_cookie(name, token, _COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
        return response

    def _rater(self, request: Request) -> Rater:
        self._store.require_unmoved()
        if rater := self._store.rater_of(self._token(request, "rater")):
            return rater
        raise HTTPException(403, "Open the link that you were given.")

    async def _writing(self, request: Request) -> tuple[int, dict[str, str]]:
        return self._rater(request).number, await fields_of(request, self._token(request, "rater"))

    def _owners_token(self, request: Request) -> str:
        self._store.require_unmoved()
        if not self._store.holds(token := self._token(request, "owner"), "owner"):
            raise HTTPException(403, "Open the owner's link.")
        return token

    def _page(self, name: str, request: Request | None = None, rater: Rater | None = None, **context: Any) -> Response:
        if request and rater:
            # Drafts in a browser are of one rater: another who uses it sees none of them.
            context |= {"csrf": csrf_of(self._token(request, "rater")), "study": f"{self._store.id}-{rater.number}"}
        page = templates(__package__).get_template(name)
        return HTMLResponse(page.render(rater=rater, kind=self._store.study.design.kind, **context))


def _submission(fields: dict[str, str]) -> Submission:
    """What a form gives to an item, now; raises `HTTPException` where it is not what a page sends."""
    try:
        return replace(_FORM.validate_python(fields), time=None)
    except ValidationError:
        raise HTTPException(409, "This form is not what the page sends.") from None


async def _static(request: Request) -> Response:
    if not (package := _STATIC.get(name := request.path_params["name"])):
        raise HTTPException(404, "There is no such page.")
    kind, content = "text/css" if name.endswith(".css") else "text/javascript", (files(package) / name).read_bytes()
    return Response(content, media_type=kind, headers={"Cache-Control": "private, max-age=300"})
