"""A study in which people review a corpus, and its pages: read an item, accept it, edit it, or reject it.

Everything that is no review (links, pseudonyms, tokens, leaving) is as in a study of responses. A share of the items
has two reviewers, of whom neither sees what the other says; where they differ, the owner decides.
"""

import secrets
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.reporting import quoted
from dspy_proact.evaluation.review_summary import ReviewSummary, review_summary
from dspy_proact.evaluation.reviewing import REALISM_QUESTIONS, Review, ReviewField, Reviewing
from dspy_proact.evidence import Passage
from dspy_proact.label.access import csrf_of, fields_of
from dspy_proact.label.app import Collection, Pages
from dspy_proact.label.assignment import assign
from dspy_proact.label.quality import median_of
from dspy_proact.label.reviews import CorpusItem, ReviewStore, ReviewSubmission
from dspy_proact.label.serving import open_store
from dspy_proact.label.study import LONGEST_REASON, Design, Rater, Study, StudyRun
from dspy_proact.plain_text import encodable
from dspy_proact.report.numbers import counted, plain, share
from dspy_proact.report.page.figures import templates
from dspy_proact.report.page.rendered import marked
from dspy_proact.stats.plan import balanced_order

_FORM = TypeAdapter(ReviewSubmission)
_DRAFT = ("item", "repeated", "grade", "reason", "edits", "happens", "reads_like_test", "seconds")


@dataclass(frozen=True)
class ReviewCollection(Collection):
    """What is reviewed, and by which tokens people come in."""

    reviewed: tuple[CorpusItem, ...] = ()
    """As the store has them."""

    def pages(self) -> "ReviewPages":
        """The pages on which it is reviewed."""
        return ReviewPages(self)


def reviewing_of(declared: Benchmark[Any, Any]) -> Reviewing:
    """How people review a benchmark's corpora; a `UsageError` where they cannot."""
    if declared.corpus.reviewing is None:
        raise UsageError(f"{declared.name}: declares no way to review its corpora; name another benchmark's corpus")
    return declared.corpus.reviewing()


def open_review(file: Path, declared: Benchmark[Any, Any], corpus: Path, design: Design) -> ReviewCollection:
    """The review of a corpus in its file, begun by the design where it is not there; raises as `open_store` does.

    Raises a `CorpusError` where the corpus cannot be read, and a `UsageError` where it has fewer items than are asked
    for.
    """
    items = tuple(map(CorpusItem, reviewing_of(declared).items(corpus)))

    def begin() -> tuple[Study, tuple[CorpusItem, ...]]:
        if design.count and design.count > len(items):
            raise UsageError(f"{design.count} cannot be drawn: there are {counted(len(items), 'item')} in {corpus}")
        order = balanced_order([item.key for item in items], [(item.item.group, "") for item in items], design.seed)
        return Study(declared.name, (StudyRun("", str(corpus)),), design), tuple(
            items[i] for i in order[: design.count]
        )

    store, chosen, owner, entry = open_store(file, ReviewStore, declared.name, begin, lambda _: items)
    return ReviewCollection(store, (), (), declared, {}, owner, entry, chosen)


class ReviewPages(Pages):
    """The pages of a review, in place of those on which responses are rated."""

    most_bytes = 262_144

    def __init__(self, collection: ReviewCollection):
        super().__init__(collection)
        assert isinstance(collection.store, ReviewStore)
        self._reviews = collection.store
        self._by_key = {item.key: item for item in collection.reviewed}

    async def briefing(self, request: Request) -> Response:
        """What to do, at any time."""
        about = self._of.declared.about
        return self._page("review_briefing.html", request, self._rater(request), about=about)

    async def rate(self, request: Request) -> Response:
        """The first open item, and in the end nothing."""
        rater = self._rater(request)
        slots = assign(self._store, rater.number)
        states = Counter(slot.state for slot in slots)
        done = states["rated"] + states["skipped"]
        slot = next((slot for slot in slots if slot.state == "open"), None)
        if slot is None:
            return self._page("done.html", request, rater, left=False, done=done)
        entry, total = self._by_key[slot.item], done + states["open"]
        parts = [(heading, [*fields]) for heading, fields in groupby(entry.item.fields, lambda field: field.heading)]
        more = {"parts": parts, "questions": REALISM_QUESTIONS, "longest": LONGEST_REASON}
        more |= {function.__name__: function for function in (as_it_is, with_quotes)}
        return self._page("review.html", request, rater, entry=entry, done=done, total=total, **more)

    async def give(self, request: Request) -> Response:
        """Keep a review, or a skip."""
        number, fields = await self._writing(request)
        try:
            submission = replace(_FORM.validate_python(fields), time=None, confidence=0, spans=())
        except ValidationError:
            raise HTTPException(409, "This form is not what the page sends.") from None
        entry = self._by_key.get(submission.item)
        if not entry or submission.repeated or entry.key not in {slot.item for slot in self._store.slate(number)}:
            raise HTTPException(409, "This is not yours to review.")
        if misfit := entry.misfit(submission):
            raise HTTPException(409, misfit)
        edits = entry.item.differing(submission.edits) if submission.grade == "edit" else {}
        self._store.give(number, replace(submission, edits=edits))
        return JSONResponse({"to": "/rate"})

    async def undo(self, request: Request) -> Response:
        """Undo the last review or skip; what it was, for the form."""
        number, fields = await self._writing(request)
        last = self._store.undo(number, fields["key"])
        if last is None:
            return JSONResponse({"to": "/rate"})
        undone = self._reviews.undone(last)
        return JSONResponse({"to": "/rate", "draft": {name: getattr(undone, name) for name in _DRAFT}})

    async def owner(self, request: Request) -> Response:
        """How the review stands, and what is to be decided."""
        csrf = csrf_of(self._owners_token(request))

        def page() -> str:
            with closing(ReviewStore.open(self._store.path)) as store:
                return review_page(review_overview(store, tuple(self._by_key.values())), csrf)

        return HTMLResponse(await run_in_threadpool(page))

    async def adjudicate(self, request: Request) -> Response:
        """Keep what the owner decides on an item, with the reason, beside the reviews."""
        fields = await fields_of(request, self._owners_token(request))
        try:
            submission = replace(_FORM.validate_python(fields), time=None)
        except ValidationError:
            raise HTTPException(409, "This form is not what the page sends.") from None
        entry = self._by_key.get(submission.item)
        if not entry or not 1 <= len(submission.reason) <= LONGEST_REASON:
            raise HTTPException(409, f"A decision has a reason of at most {LONGEST_REASON} characters.")
        edits = {
            f"edit {number}"
            for number, review in self._reviews.numbered()
            if review.item == entry.case and review.verdict == "edit"
        }
        if submission.grade not in {"accept", "reject", *edits}:
            raise HTTPException(409, "Choose one of the decisions.")
        self._store.adjudicate(submission)
        return RedirectResponse(f"/owner#{entry.key}", 303)


def as_it_is(text: str) -> Markup:
    """A text as text of a page, with its characters, where a template spells out those that are not seen."""
    return escape(encodable(text))


def with_quotes(field: ReviewField) -> Markup:
    """A text as it is read, with a mark around the words that have to stay."""
    quotes = [Passage(field.text).quote(kept.quote) for kept in field.quotes]
    return marked(field.text, [(start, end, "") for start, end in quoted(quotes)])


@dataclass(frozen=True)
class ReviewerStanding:
    """One reviewer."""

    rater: Rater
    verdicts: Counter[str]
    """How often each was given."""
    skipped: int
    open: int
    seconds: float | None
    """Median of a review; None where no time is known."""


@dataclass(frozen=True)
class Contested:
    """An item and what was said of it, such as one on which reviewers decided differently."""

    entry: CorpusItem
    reviews: tuple[tuple[int, Review], ...]
    """Those of people, with their numbers in the log."""
    decision: Review | None
    """The owner's; None where it is unresolved."""

    @property
    def fields(self) -> dict[str, ReviewField]:
        """Those of the item, by name."""
        return {field.name: field for field in self.entry.item.fields}


@dataclass(frozen=True)
class ReviewOverview:
    """How a review stands."""

    design: Design
    double: int
    """Items for two reviewers."""
    summary: ReviewSummary
    reviewers: tuple[ReviewerStanding, ...]
    """In the order in which they came."""
    contested: tuple[Contested, ...]
    """Unresolved ones first."""
    changed: tuple[Contested, ...]
    """Those that everybody who reviewed them rejected, or edited alike: nothing is to decide."""


def review_overview(store: ReviewStore, items: tuple[CorpusItem, ...]) -> ReviewOverview:
    """How a review of these items stands now."""
    numbered, decisions = store.numbered(), store.decisions()
    reviews = [review for _, review in numbered]
    summary = review_summary([item.item for item in items], [*reviews, *decisions], str(store.path))
    decided = {review.item: review for review in decisions}
    contested, changed = list[Contested](), list[Contested]()
    for item in items:
        own = tuple((number, review) for number, review in numbered if review.item == item.case)
        if item.case in decided or len({review.outcome for _, review in own}) > 1:
            contested.append(Contested(item, own, decided.get(item.case)))
        elif own and own[0][1].verdict != "accept":
            changed.append(Contested(item, own, None))
    contested.sort(key=lambda one: one.decision is not None)
    standings = list[ReviewerStanding]()
    for rater in store.raters():
        mine, slate = [one for one in reviews if one.reviewer == rater.name], store.slate(rater.number)
        states = Counter(slot.state for slot in slate)
        verdicts, seconds = Counter(one.verdict for one in mine), median_of(one.seconds or None for one in mine)
        standings.append(ReviewerStanding(rater, Counter[str](verdicts), states["skipped"], states["open"], seconds))
    design = store.study.design
    double = sum(design.raters_of(rank) > 1 for rank in range(len(items)))
    return ReviewOverview(design, double, summary, tuple(standings), tuple(contested), tuple(changed))


def review_page(view: ReviewOverview, csrf: str) -> str:
    """The owner's page, as HTML; its forms carry the CSRF value, and a key each by which a write counts once."""
    page = templates(__package__).get_template("review_owner.html")
    names = {function.__name__: function for function in (plain, share, counted)}
    more = {"longest": LONGEST_REASON, "questions": REALISM_QUESTIONS}
    return page.render(view=view, csrf=csrf, key=lambda: secrets.token_hex(16), rater=None, **names, **more)
