"""A rater's slate as one file that works from disk, and the file of ratings that it gives back.

The page asks nothing of any network: its style and script are in it, and its policy allows nothing else. What is rated
is kept in the browser under the study and the rater, and saved as JSON, which the study takes in once.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Annotated, Literal

from markupsafe import Markup
from pydantic import Field

from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.rows import Id, Line, Part, json_of
from dspy_proact.label.assignment import assign
from dspy_proact.label.exchange import Imported, add_given
from dspy_proact.label.items import Item
from dspy_proact.label.reading import given_level, shown, templates
from dspy_proact.label.store import Store, pseudonym
from dspy_proact.label.study import LONGEST_REASON, MOST_SPANS, Given, Rater
from dspy_proact.plain_text import encodable
from dspy_proact.plain_text import shown as quoted

_FORMAT = "dspy-proact offline ratings 1"
_DAY = 86_400


class _Rated(Part):
    """A rating, or a skip, whose grade is empty, as the form gives it."""

    item: Id
    repeated: Literal["0", "1"]
    grade: str
    confidence: Literal["", "1", "2", "3", "4", "5"]
    reason: Annotated[str, Field(max_length=LONGEST_REASON)]
    spans: Annotated[list[Annotated[list[int], Field(min_length=2, max_length=2)]], Field(max_length=MOST_SPANS)]
    seconds: Annotated[float, Field(ge=0, le=_DAY)]
    time: Annotated[float, Field(ge=0, lt=1e11)]
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class _Saved(Part):
    """What the page saves."""

    format: Literal["dspy-proact offline ratings 1"]
    study: str
    rater: Id
    ratings: list[_Rated]


class _Whole(Line):
    """A file that is one object."""

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        return CorpusError(problem, source=self.source, field=field)


def offline_rater(store: Store, name: str) -> Rater:
    """The rater of a pseudonym, with a slate; a new one has no link, for they rate from a file.

    Raises:
        UsageError: It is no pseudonym, or there is nothing left to rate.
    """
    name = pseudonym(name)
    rater = next((each for each in store.raters() if each.name == name), None) or store.add_rater(name, token="")[0]
    if not any(each.state == "open" for each in store.slate(rater.number)) and not assign(store, rater.number):
        raise UsageError(f"{store.path}: there is nothing left to rate for {name}")
    return rater


def offline_page(store: Store, items: Iterable[Item], rater: Rater) -> str:
    """The page of what a rater is still to rate, as HTML that needs no other file.

    Args:
        store: Of the study.
        items: All of the study's.
        rater: With a slate.
    """
    by_key = {item.key: item for item in items}
    places = [
        shown(item, swapped=store.swapped(rater.number, item), repeated=place.repeated)
        for place in store.slate(rater.number)
        if place.state == "open" and (item := by_key.get(place.item))
    ]
    told = {"format": _FORMAT, "study": store.id, "rater": rater.name, "file": f"ratings-{rater.number}.json"}
    style = _text("report.page", "page.css") + _text("label", "label.css")
    script = _text("label", "rate.js") + _text("label", "offline.js")
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script))
    policy = "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
    page = templates().get_template("offline.html")
    return encodable(
        page.render(
            places=places,
            study=f"{store.id}-{rater.number}",
            kind=store.study.kind,
            slate=Markup(json.dumps(told).replace("<", "\\u003c")),
            style=Markup(style),
            script=Markup(script),
            policy=policy.format(*digests),
        )
    )


def import_saved(store: Store, items: Sequence[Item], text: str, source: str) -> Imported:
    """Add the ratings that an offline page saved, all or none of them; the same file again adds nothing.

    Raises:
        CorpusError: The file is none of an offline page, is damaged, or is of another study, rater or slate.
    """
    fields = json_of(text, source)
    if not isinstance(fields, dict):
        raise CorpusError("one object is expected", source=source)
    saved = _Saved.of(_Whole(source, 1, "", fields))
    if saved.study != store.id:
        raise CorpusError(f"ratings of another study than {store.path}", source=source, field="study")
    rater = next((each for each in store.raters() if each.name == saved.rater), None)
    if rater is None:
        raise CorpusError(f"{quoted(saved.rater)} is no rater of {store.path}", source=source, field="rater")
    by_key, given = {item.key: item for item in items}, dict[tuple[str, bool], Given]()
    slate = {(each.item, each.repeated) for each in store.slate(rater.number)}
    for number, rated in enumerate(saved.ratings):
        item, at = by_key.get(rated.item), (rated.item, rated.repeated == "1")
        if item is None or at not in slate or at in given:
            why = "is there twice" if at in given else "is not this rater's to rate, or its text has changed"
            raise CorpusError(f"{quoted(rated.item)} {why}", source=source, field=f"ratings[{number}].item")
        grade = given_level(item, rated.grade, swapped=store.swapped(rater.number, item)) if rated.grade else None
        spans = tuple((start, end) for start, end in rated.spans)
        for field, fits in (
            ("grade", grade or not rated.grade),
            ("confidence", bool(rated.confidence) is bool(grade)),
            ("reason", grade or rated.reason.strip()),
            ("spans", item.spans_within(spans) and not (spans and len(item.responses) > 1)),
        ):
            if not fits:
                raise CorpusError("not what the page gives", source=source, field=f"ratings[{number}].{field}")
        given[at] = Given(
            rated.item,
            grade,
            rated.key,
            int(rated.confidence) if grade else None,
            rated.reason.strip(),
            spans,
            rated.seconds,
            repeated=at[1],
            time=rated.time,
        )
    return add_given(store, rater, list(given.values()))


def _text(room: str, name: str) -> str:
    return (files(f"dspy_proact.{room}") / name).read_text(encoding="utf-8")
