"""Ratings that were given elsewhere, added to a study: labels of sheets and tools, and what an offline page saved.

Everything is checked before anything is written, and a file that is at fault leaves nothing. The same file again adds
nothing: what a rater has rated or skipped in the study stays.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.labels import Label
from dspy_proact.files.rows import Id, Line, Part, json_of
from dspy_proact.label.items import Item
from dspy_proact.label.reading import Form
from dspy_proact.label.store import Store, pseudonym
from dspy_proact.label.study import LONGEST_SECONDS, Given, Rater
from dspy_proact.plain_text import encodable, shown

FORMAT = "dspy-proact offline ratings 1"
"""Names the format of what an offline page saves."""
_ASSUMED_CONFIDENCE = "3"
"""Of a label that gives none: the middle."""


@dataclass(frozen=True)
class Imported:
    """What became of the ratings of a file."""

    new: int
    known: int
    """Those of a rater who had rated or skipped the item: what stands in the study stays."""
    differing: int
    """Of these, with another grade."""

    def __add__(self, other: "Imported") -> "Imported":
        return Imported(self.new + other.new, self.known + other.known, self.differing + other.differing)


def import_labels(store: Store, items: Sequence[Item], labels: Sequence[Label]) -> Imported:
    """Add labels that a file holds to a study, whose raters are found by their pseudonym, or made.

    A label without a confidence gets the middle.

    Raises:
        CorpusError: A label is of no item or of another text, gives no grade of its part, a confidence that is none of
            1 to 5 or too long a reason, is by no pseudonym, or stands there twice.
        UsageError: Two of the items are of one case, in different runs.
    """
    by_case = {(item.case, item.part.name): item for item in items}
    if len(by_case) < len(items):
        raise UsageError(f"{store.path}: rates the same cases of several runs; name one with --run")
    by_rater = defaultdict[str, dict[str, Given]](dict)
    for label in labels:
        item = by_case.get((label.item, label.part))
        if item is None:
            part = f" with the part {shown(label.part)}" if label.part else ""
            raise label.error(f"{shown(label.item)}{part} is no item of the study", "item")
        try:
            own = by_rater[pseudonym(label.rater)]
        except UsageError as error:
            raise label.error(str(error), "annotator") from None
        if item.key in own:
            raise label.error(f"{shown(label.rater)} grades {shown(label.item)} twice; keep one of the two", "item")
        own[item.key] = _given(label, item)
    total = Imported(0, 0, 0)
    for name, own in by_rater.items():
        total += _added(store, store.rater_named(name) or store.add_rater(name), list(own.values()))
    return total


def _given(label: Label, item: Item) -> Given:
    """What a label gives to its item: a level in any case, of the text as a spreadsheet keeps it."""
    texts = (label.response or "", "".join(item.responses).replace("\0", "\ufffd"))
    if label.response and len({" ".join(encodable(text).split()) for text in texts}) > 1:
        raise label.error("not the response of this item, so that the grade is of another; name its run", "response")
    levels, said = {level.casefold(): level for level in item.part.levels}, label.confidence or _ASSUMED_CONFIDENCE
    confidence = int(said) if said in {_ASSUMED_CONFIDENCE, *"12345"} else 0
    grade, seconds = levels.get(label.grade.casefold(), label.grade), min(label.seconds, LONGEST_SECONDS)
    given = Given(item.key, grade, f"import {item.key}", confidence, label.reason, seconds=seconds)
    if misfit := item.misfit(given):
        field, why = misfit
        raise label.error(why, field)
    return given


# What an offline page saved


class _Saved(Part):
    format: Literal["dspy-proact offline ratings 1"]
    study: str
    rater: Id
    ratings: list[Form]


class _Whole(Line):
    """A file that is one object."""

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        return CorpusError(problem, source=self.source, field=field)


def import_saved(store: Store, items: Sequence[Item], text: str, source: str) -> Imported:
    """Add the ratings that an offline page saved.

    Raises:
        CorpusError: The file is none of an offline page, is damaged, or is of another study, rater or slate.
    """
    fields = json_of(text, source)
    whole = _Whole(source, 1, "", fields if isinstance(fields, dict) else {})
    saved = _Saved.of(whole)
    if saved.study != store.id:
        raise whole.error(f"ratings of another study than {store.path}", "study")
    if (rater := store.rater_named(saved.rater)) is None:
        raise whole.error(f"{shown(saved.rater)} is no rater of {store.path}", "rater")
    by_key, given = {item.key: item for item in items}, dict[tuple[str, bool], Given]()
    slate = {(each.item, each.repeated) for each in store.slate(rater.number)}
    for number, rated in enumerate(saved.ratings):
        item, at = by_key.get(rated.item), (rated.item, rated.repeated == "1")
        if item is None or at not in slate or at in given:
            why = "is there twice" if at in given else "is not this rater's to rate, or its text has changed"
            raise whole.error(f"{shown(rated.item)} {why}", f"ratings[{number}].item")
        given[at] = rated.given(item, store.swapped(rater.number, item))
        if misfit := item.misfit(given[at]):
            field, why = misfit
            raise whole.error(why, f"ratings[{number}].{field}")
    return _added(store, rater, list(given.values()))


def _added(store: Store, rater: Rater, given: Sequence[Given]) -> Imported:
    """Add ratings and skips of a rater, as far as the study has none of theirs for the item; each gets its place."""
    places = {(each.item, each.repeated): each.state for each in store.slate(rater.number)}
    grades = {(each.item, each.repeated): each.grade for each in store.ratings() if each.rater == rater.name}
    standing = {at for at, state in places.items() if state in ("rated", "skipped")}
    due = [each for each in given if (each.item, each.repeated) not in standing]
    unplanned = [(each.item, each.repeated) for each in due if (each.item, each.repeated) not in places]
    store.assign(rater.number, lambda: unplanned)
    new = store.give(rater.number, *due)
    differing = sum(grades.get(at) != each.grade for each in given if (at := (each.item, each.repeated)) in standing)
    return Imported(new, len(given) - new, differing)
