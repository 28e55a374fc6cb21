"""A rater's slate as one file that works from disk, and gives back a file of ratings.

The page asks nothing of any network: its style and script are in it, and its policy allows nothing else. What is rated
is kept in the browser under the study and the rater, and saved as JSON, which the study takes in once.
"""

import json
import re
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from markupsafe import Markup

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.files.rows import Id, JsonFile, OwnPart
from dspy_proact.label.assignment import assign
from dspy_proact.label.exchange import Imported, add_ratings
from dspy_proact.label.store import Store, pseudonym
from dspy_proact.label.study import Rater, StudyItem, Submission, briefing_of
from dspy_proact.plain_text import encodable, shown
from dspy_proact.report.page.figures import PAGE, one_file, page_text, templates

FORMAT = "dspy-proact offline ratings 1"
"""Names the format of what an offline page saves."""
SAVED = re.compile(r'\s*\{\s*"format"')
"""Start of what an offline page saves, by which it is none of the sheets of ratings."""
_EARLIEST = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
"""Seconds since the epoch; before it there was no such page, so that the clock of the machine was wrong."""
_AHEAD = 86_400
"""Seconds by which the clock of a rater's machine may be ahead of this one's."""


def offline_page(
    store: Store, items: Iterable[StudyItem], name: str, declared: Benchmark[Any, Any]
) -> tuple[Rater, str]:
    """The rater of a pseudonym, and the page of what they are still to rate, as HTML that needs no other file.

    A new rater gets a slate and no link, for they rate from a file. Raises a `UsageError` where it is no pseudonym, or
    there is nothing left to rate.
    """
    name = pseudonym(name)
    rater = store.rater_named(name) or store.add_rater(name)
    slate = assign(store, rater.number)
    if not any(slot.state == "open" for slot in slate):
        raise UsageError(f"{store.path}: there is nothing left to rate for {name}; name another rater with `rater`")
    by_key = {item.key: item for item in items}
    slots = [
        (item, store.swapped(rater.number, item), slot.repeated)
        for slot in slate
        if slot.state == "open" and (item := by_key.get(slot.item))
    ]
    identity = {"format": FORMAT, "study": store.id, "rater": rater.name, "number": rater.number}
    text = one_file(
        templates(__package__).get_template("offline.html"),
        style=page_text(PAGE, "page.css") + page_text(__package__, "label.css"),
        script=page_text(__package__, "rate.js") + page_text(__package__, "offline.js"),
        slots=slots,
        practice=False,
        study=f"{store.id}-{rater.number}",
        kind=store.study.design.kind,
        **briefing_of(declared, by_key.values()),
        slate=Markup(json.dumps(identity).replace("<", "\\u003c")),
    )
    return rater, encodable(text)


class _Saved(OwnPart):
    format: Literal["dspy-proact offline ratings 1"]
    study: str
    rater: Id
    number: int
    """The rater's own, so that a name that somebody changed is found."""
    ratings: list[Submission]


def import_saved(store: Store, items: Sequence[StudyItem], text: str, source: str) -> Imported:
    """Add the ratings that an offline page saved; a `CorpusError` where they are damaged, or not of a slate here."""
    file = JsonFile.of(source, text)
    saved = _Saved.of(file)
    if saved.study != store.id:
        raise file.error(f"ratings of another study than {store.path}", "study")
    rater = store.rater_named(saved.rater)
    if rater is None or rater.number != saved.number:
        why = f"is another rater than the page was made for, number {saved.number}" if rater else "is no rater"
        raise file.error(f"{shown(saved.rater)} {why} of {store.path}", "rater")
    by_key, submissions = {item.key: item for item in items}, dict[tuple[str, bool], Submission]()
    slate, keys = {(slot.item, slot.repeated) for slot in store.slate(rater.number)}, store.keys_of(rater.number)
    for number, rated in enumerate(saved.ratings):
        item, at = by_key.get(rated.item), (rated.item, rated.repeated)
        if item is None or at not in slate or at in submissions:
            why = "is there twice" if at in submissions else "is not this rater's to rate, or its text has changed"
            raise file.error(f"{shown(rated.item)} {why}", f"ratings[{number}].item")
        if keys.setdefault(rated.key, at) != at:
            problem = "is the key of another rating too, so that one of the two would be lost"
            raise file.error(problem, f"ratings[{number}].key")
        if not rated.seconds:
            raise file.error("is 0, and a rating takes time", f"ratings[{number}].seconds")
        if rated.time is not None and not _EARLIEST <= rated.time <= time.time() + _AHEAD:
            why = "before 2020" if rated.time < _EARLIEST else "in the future"
            problem = f"{datetime.fromtimestamp(rated.time, UTC).date()} is {why}; null stands for now"
            raise file.error(problem, f"ratings[{number}].time")
        submissions[at] = store.turned(rater.number, item, rated)
        if misfit := item.misfit(submissions[at]):
            field, why = misfit
            raise file.error(why, f"ratings[{number}].{field}")
    return add_ratings(store, {rater.name: [*submissions.values()]})
