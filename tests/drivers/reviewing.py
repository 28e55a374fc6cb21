"""A review of made-up items that is served over HTTP."""

import json
from pathlib import Path

from support.visitor import Answer, key

from drivers.labelling import Riddles
from dspy_proact.evaluation.reporting import PageSection
from dspy_proact.evaluation.reviewing import KeptQuote, ReviewField, ReviewItem
from dspy_proact.label.review import ReviewCollection
from dspy_proact.label.reviews import CorpusItem, ReviewStore
from dspy_proact.label.serving import serve
from dspy_proact.label.study import Design, Study, StudyRun


def review_item(number: int, text: str = "What is round?") -> ReviewItem:
    """A riddle that names the moon, which has to stay."""
    quoted = KeptQuote("the moon", "the answer")
    fields = (
        ReviewField("riddle", "Riddle", text, "The riddle", followed_by=(("assistant", "Let me think."),)),
        ReviewField("hint", "Hint", "It is the moon, of course.", "The answer", keeps=(quoted,)),
        ReviewField("points", "Points", "3", "The answer", kind="value"),
    )
    sections = (PageSection("who asks", "terms", (("name", f"Person {number}"),)),)
    return ReviewItem(f"riddle {number}", f"Riddle number {number}", sections, fields, group=f"g{number % 3}")


def reviewed(
    path: Path, *items: ReviewItem, ratings: int = 2, raters: int = 2, shared: float = 1.0
) -> ReviewCollection:
    """A new review in a file, of which every item has two reviewers."""
    entries = tuple(map(CorpusItem, items))
    design = Design(ratings=ratings, raters=raters, repeated=0.0, kind="reviews", shared=shared)
    study = Study("riddles", (StudyRun("", "corpora/riddles"),), design)
    owner, entry = key(), key()
    store = ReviewStore.create(path, study, entries, tokens=(owner, entry))
    return ReviewCollection(store, (), (), Riddles(), {}, owner, entry, entries)


def review(page: Answer, verdict: str = "accept", **changed: object) -> dict[str, object]:
    """What the form of a page would send."""
    edits = changed.pop("edits", {})
    answers = {"happens": "yes", "reads_like_test": "no", "reason": "No." if verdict == "reject" else ""}
    shown = {"item": page.field("item"), "repeated": page.field("repeated"), "grade": verdict, "seconds": 2.5}
    return {**shown, **answers, "spans": "[]", "edits": json.dumps(edits), **changed}


def review_again(path: str, count: str, ready: str) -> None:
    """What a child is that serves a review of so many items; it writes its address into a pipe."""
    store = ReviewStore.open(Path(path))
    entries = store.chosen(CorpusItem(review_item(number)) for number in range(int(count)))

    def say(address: str) -> None:
        Path(ready).write_text(address, encoding="ascii")

    serve(ReviewCollection(store, (), (), Riddles(), {}, "", "", entries), ready=say)
