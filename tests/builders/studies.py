"""Studies of raters: as `label serve` keeps them, as filled-in sheets, and the published one of 60 items."""

import csv
import secrets
from collections.abc import Callable, Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

from dspy_proact import Estimate, RunFolder, summarize
from dspy_proact.evaluation.registry import benchmark_of
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, Study, StudyItem, StudyRun, Submission, items_of, pairs_of, run_key

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
    return list(csv.DictReader(StringIO(path.read_text(encoding="utf-8-sig"))))


def sheet_of(proact: Callable[..., tuple[int, str, str]], *arguments: object) -> list[dict[str, str]]:
    """The rows of a sheet that is printed."""
    return list(csv.DictReader(StringIO(proact("label", "sheet", *arguments, "--out", "-")[1])))


def sheet_with(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """A sheet with these rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def filled(
    path: Path,
    rows: Sequence[dict[str, str]],
    raters: int = 8,
    times: int = 2,
    grade: Callable[[int], str] = lambda number: GRADES[number % 3],
) -> Path:
    """A file of ratings: the raters take turns, each row is rated so often."""
    ratings = [
        {**row, "annotator": f"r{(times * number + time) % raters}", "grade": grade(number + time)}
        for number, row in enumerate(rows)
        for time in range(times)
    ]
    return sheet_with(path, ratings)


def numbers(estimate: Estimate) -> list[float | None]:
    """Value and bounds."""
    return [estimate.value, estimate.low, estimate.high]
