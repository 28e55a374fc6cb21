"""The ratings of a study as everything else reads them, and ratings that were given elsewhere, added to a study.

Whatever takes a file of ratings takes that of a study. The first rating of a rater's counts, no planned second one.
Practice is no rating, and the owner's grades replace none.

Of what is added everything is checked before anything is written, and a file that is at fault leaves nothing. The same
file again adds nothing: what a rater has rated or skipped in the study stays.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.files.labels import Label, LabelFile
from dspy_proact.files.rows import Line
from dspy_proact.label.store import Store, pseudonym
from dspy_proact.label.study import LONGEST_SECONDS, Rating, StudyItem, Submission, items_of, pairs_of, run_key
from dspy_proact.plain_text import shown
from dspy_proact.report.pairs import PairChoice, PairStudy
from dspy_proact.report.summary import Summary

_SUFFIXES = {".db", ".sqlite", ".sqlite3"}
SIDES: dict[str, Literal["a", "b", "tie"]] = {"first": "a", "second": "b", "tie": "tie"}
"""Whose response a grade of a pair prefers, as files of choices call the two."""
_ASSUMED_CONFIDENCE = 3
"""Of a label that gives none: the middle."""


@dataclass(frozen=True)
class RunRatings:
    """The ratings of responses of one run."""

    source: str
    """The file of their study."""
    ratings: tuple[Rating, ...]
    """In the order in which they were given, at least one; of texts that are still what was rated."""
    draw: str | None
    """By what chance the cases were drawn, as the column `draw` of a sheet has it."""
    changed: int = 0
    """Ratings of texts that are others now, left out."""

    @property
    def labels(self) -> LabelFile:
        """The ratings as `load_ratings` takes them; a line is the number of a rating in its study."""
        return LabelFile(
            tuple(
                Label(
                    Line(self.source, rating.number, ""),
                    rating.rater,
                    rating.case.strip(),
                    rating.part,
                    rating.grade,
                    rating.confidence or None,
                    rating.reason,
                    rating.seconds or None,
                    draw=self.draw or "",
                )
                for rating in self.ratings
            )
        )


def is_study(named: str | Path) -> bool:
    """Whether a path names the file of a study, by its suffix."""
    return Path(named).suffix.lower() in _SUFFIXES


def runs_of(path: Path) -> tuple[Path, ...]:
    """Where the runs of a study are; raises a `UsageError` where one is not there any more."""
    with closing(Store.open(path)) as store:
        runs = [Path(run.path) for run in store.study.runs]
        mend = "move it back" if store.study.design.kind == "pairs" else "name where it is with `run`"
    if gone := next((run for run in runs if not run.exists()), None):
        raise UsageError(f"{path}: its run was in {gone}, where there is none now; {mend}")
    return tuple(runs)


def ratings_of_run(path: Path, declared: Benchmark[Any, Any], summary: Summary) -> RunRatings:
    """The ratings that a study has of a run.

    Raises a `UsageError` where the study is of another benchmark, of other runs or of pairs, or has no rating of the
    run's texts, and a `RunError` where a case of the run cannot be read.
    """
    with closing(Store.open(path)) as store:
        study = store.study
        if study.benchmark != declared.name:
            raise UsageError(f"{path}: rates {study.benchmark}, and {summary.path} is of {declared.name}")
        if study.design.kind == "pairs":
            raise UsageError(f"{path}: its raters chose between two responses; read it with `pairs={path}`")
        run = next((one for one in study.runs if one.run == run_key(summary)), None)
        if run is None:
            rated = ", ".join(one.path for one in study.runs)
            raise UsageError(f"{path}: rates no response of {summary.path}; its ratings are of {rated}")
        ratings = [rating for rating in store.ratings(repeats=False) if rating.run == run.run]
        current = _current(store, items_of(declared, [summary]), ratings)
    if not current:
        why = "all its ratings are of texts that have changed since" if ratings else "nobody has rated it yet"
        raise UsageError(f"{path}: has no rating of {summary.path}: {why}")
    return RunRatings(str(path), current, run.draw, len(ratings) - len(current))


def pair_study(path: Path, declared: Benchmark[Any, Any], summaries: Sequence[Summary]) -> PairStudy:
    """The choices of a study of pairs of two runs, each rater's first one of a case, by the stratum of the case.

    Raises a `UsageError` where the study is none of pairs of these runs, or nobody has chosen yet.
    """
    with closing(Store.open(path)) as store:
        if store.study.design.kind != "pairs":
            raise UsageError(f"{path}: its raters graded single responses; read it with `ratings={path}`")
        first, second = summaries
        ratings, items = store.ratings(repeats=False), {item.key: item for item in pairs_of(declared, first, second)}
        current = _current(store, list(items.values()), ratings)
        numbers = {rater.name: rater.number for rater in store.raters()}
        # The second response, which is b, stands on the right where the two are not swapped.
        turned = [store.swapped(numbers[rating.rater], items[rating.item]) for rating in current]
    if not current:
        why = "their responses have changed since" if ratings else "nobody has chosen yet"
        raise UsageError(f"{path}: has no choice between {first.path} and {second.path}: {why}")
    strata = {outcome.key: outcome.stratum for outcome in first.outcomes}
    names = [Path(summary.path).name for summary in summaries]
    a, b = names if names[0] != names[1] else [summary.path for summary in summaries]
    choices = tuple(
        PairChoice(
            rating.rater,
            rating.case,
            SIDES[rating.grade],
            right="a" if swapped else "b",
            confidence=rating.confidence,
            seconds=rating.seconds or None,
            stratum=strata[rating.case],
        )
        for rating, swapped in zip(current, turned, strict=True)
    )
    return PairStudy(str(path), (a, b), choices)


def _current(store: Store, items: Sequence[StudyItem], ratings: Sequence[Rating]) -> tuple[Rating, ...]:
    """Those of some ratings whose items are still what was rated, and that say of these what can be said of them."""
    current = store.current(items)
    return tuple(
        rating
        for rating in ratings
        if (item := current.get(rating.item))
        and (item.case, item.part.name) == (rating.case, rating.part)
        and not item.misfit(rating)
    )


@dataclass(frozen=True)
class Imported:
    """What became of the ratings of a file."""

    new: int
    known: int
    """Those of a rater who had rated or skipped the item: what stands in the study stays."""
    differing: int
    """Of these, with another grade."""
    undone: int
    """Those that were added before and that the rater has undone since: they stay undone."""


def import_labels(store: Store, items: Sequence[StudyItem], labels: Sequence[Label]) -> Imported:
    """Add labels that a file holds to a study, whose raters are found by their pseudonym, or made.

    A label without a confidence gets the middle. Raises a `CorpusError` where a label is of no item or of another text,
    gives no grade of its part or too long a reason, is by no pseudonym, or stands there twice, and a `UsageError` where
    two of the items are of one case, in different runs.
    """
    by_case = {(item.case, item.part.name): item for item in items}
    if len(by_case) < len(items):
        raise UsageError(f"{store.path}: rates the same cases of several runs; name one with `run`")
    by_rater, names = defaultdict[str, dict[str, Submission]](dict), dict[str, str]()
    for label in labels:
        item = by_case.get((label.item, label.part))
        if item is None:
            part = f" with the part {shown(label.part)}" if label.part else ""
            raise label.error(f"{shown(label.item)}{part} is no item of the study", "item")
        try:
            name = pseudonym(label.rater)
        except UsageError as error:
            raise label.error(str(error), "annotator") from None
        own = by_rater[names.setdefault(name.casefold(), name)]  # as the store finds raters
        if item.key in own:
            raise label.error(f"{shown(label.rater)} grades {shown(label.item)} twice; keep one of the two", "item")
        own[item.key] = _submission(label, item)
    return add_ratings(store, {name: [*own.values()] for name, own in by_rater.items()})


def _submission(label: Label, item: StudyItem) -> Submission:
    """What a label gives to its item: a level in any case, of the text as a spreadsheet keeps it."""
    label.require_response("".join(item.responses))
    levels, seconds = {level.casefold(): level for level in item.part.levels}, min(label.seconds or 0, LONGEST_SECONDS)
    confidence = label.confidence or _ASSUMED_CONFIDENCE
    key = hashlib.sha256(f"import {item.key}".encode()).hexdigest()[:32]
    grade = levels.get(label.grade.casefold(), label.grade)
    submission = Submission(item.key, grade, key, confidence, label.reason, seconds=seconds)
    if misfit := item.misfit(submission):
        field, why = misfit
        raise label.error(why, field)
    return submission


def add_ratings(store: Store, by_rater: Mapping[str, Sequence[Submission]]) -> Imported:
    """Add ratings and skips, as far as the study has none of the rater's for the item; each gets its place."""
    grades = {(rating.rater, rating.item, rating.repeated): rating.grade for rating in store.ratings()}
    new = known = differing = undone = 0
    for name, submissions in by_rater.items():
        rater = store.rater_named(name) or store.add_rater(name)
        states = {(slot.item, slot.repeated): slot.state for slot in store.slate(rater.number)}
        there = [states.get((one.item, one.repeated)) in ("rated", "skipped") for one in submissions]
        due = [one for one, stands in zip(submissions, there, strict=True) if not stands]
        unplanned = [at for one in due if (at := (one.item, one.repeated)) not in states]
        store.assign(rater.number, lambda unplanned=unplanned: unplanned)
        added = store.give(rater.number, *due)
        new += added
        undone += len(due) - added  # the key of each is in the log
        known += sum(there)
        differing += sum(
            stands and one.grade != grades.get((rater.name, one.item, one.repeated), "")
            for one, stands in zip(submissions, there, strict=True)
        )
    return Imported(new, known, differing, undone)
