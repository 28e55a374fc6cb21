"""Studies of raters: as `label serve` keeps them, as filled-in sheets, and the published one of 60 items."""

import csv
import secrets
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from io import StringIO
from itertools import compress
from pathlib import Path
from typing import Any

from dspy_proact.evaluation.registry import benchmark_of
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, Study, StudyItem, StudyRun, Submission, items_of, pairs_of, run_key
from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder
from dspy_proact.stats import Estimate

LABELS = ["FAIL", "PARTIAL", "PASS"]
TIES = ["PARTIAL", "PASS", "FAIL"]
PHASES = ["EMERGENT", "CRITICAL", "RECOVERY"]
GRADES = ("PASS", "PARTIAL", "FAIL", "FAIL")
Grading = Callable[[str, StudyItem, int], str | Submission | None]
"""What a rater says of an item with its number: a grade, all of a rating, or nothing."""


def submission(item: str, grade: str, confidence: int = 4, **more: Any) -> Submission:
    """A rating with a key of its own, or a skip, whose grade is empty."""
    return Submission(item, grade, secrets.token_hex(16), confidence if grade else 0, **more)


def study_of(
    path: Path,
    *runs: Path,
    raters: Sequence[str] = ("Ann", "Bob"),
    grade: Grading = lambda rater, item, number: item.levels[0],
    draw: str | None = None,
    pairs: bool = False,
) -> Path:
    """The file of a study of some runs, in which each rater has rated every item."""
    summaries = [summarize(RunFolder(run)) for run in runs]
    declared = benchmark_of(summaries[0].benchmark)
    items = pairs_of(declared, *summaries) if pairs else items_of(declared, summaries)
    of = tuple(StudyRun(run_key(run), run.path, draw) for run in summaries)
    design = Design(ratings=len(raters), raters=len(raters), kind="pairs" if pairs else "grades")
    store = Store.create(path, Study(declared.name, of, design), items)
    with closing(store):
        for name in raters:
            rater = store.add_rater(name)
            graded = [(item, grade(name, item, number)) for number, item in enumerate(items)]
            store.assign(rater.number, lambda graded=graded: [(item.key, False) for item, _ in graded])
            store.give(
                rater.number,
                *(
                    one if isinstance(one, Submission) else submission(item.key, one)
                    for item, one in graded
                    if one is not None
                ),
            )
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a sheet."""
    return list(csv.DictReader(StringIO(path.read_text(encoding="utf-8"))))


def filled(
    path: Path,
    rows: Sequence[dict[str, str]],
    raters: int = 8,
    times: int = 2,
    grade: Callable[[int], str] = lambda number: GRADES[number % 3],
) -> Path:
    """A file of ratings: the raters take turns, each row is rated so often."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for number, row in enumerate(rows):
            for time in range(times):
                rater = f"r{(times * number + time) % raters}"
                writer.writerow({**row, "annotator": rater, "grade": grade(number + time)})
    return path


@dataclass(frozen=True)
class PublishedStudy:
    """Columns over the items, in the order of the file."""

    keys: list[str]
    strata: list[str]
    groups: list[str]
    judge: list[str]
    ratings: list[list[str]]
    raters: list[list[str]]

    def of(self, stratum: str | None) -> "PublishedStudy":
        """The items of one phase; of all where it is None."""
        return self.where([stratum in {None, own} for own in self.strata])

    def where(self, chosen: list[bool]) -> "PublishedStudy":
        """The chosen items."""
        return PublishedStudy(
            keys=list(compress(self.keys, chosen)),
            strata=list(compress(self.strata, chosen)),
            groups=list(compress(self.groups, chosen)),
            judge=list(compress(self.judge, chosen)),
            ratings=list(compress(self.ratings, chosen)),
            raters=list(compress(self.raters, chosen)),
        )

    def without(self, out: set[object]) -> "PublishedStudy":
        """The same items without the ratings of some people."""
        kept = [[person not in out for person in people] for people in self.raters]
        return replace(
            self,
            ratings=[list(compress(row, keep)) for row, keep in zip(self.ratings, kept, strict=True)],
            raters=[list(compress(row, keep)) for row, keep in zip(self.raters, kept, strict=True)],
        )


def published_study(folder: Path) -> PublishedStudy:
    """Read the study from the folder of public data."""
    items, ratings = (
        list(csv.DictReader((folder / f"human_{name}.csv").read_text(encoding="utf-8").splitlines()))
        for name in ("items", "ratings")
    )
    keys = [item["item_id"] for item in items]
    values = {key: [row for row in ratings if row["item_id"] == key] for key in keys}
    return PublishedStudy(
        keys=keys,
        strata=[item["type"] for item in items],
        groups=["/".join(key.split("__")[:2]) for key in keys],
        judge=[item["judge_score"].upper() for item in items],
        ratings=[[row["score"].upper() for row in values[key]] for key in keys],
        raters=[[row["annotator_id"] for row in values[key]] for key in keys],
    )


def numbers(estimate: Estimate) -> list[float | None]:
    """Value and bounds."""
    return [estimate.value, estimate.low, estimate.high]
