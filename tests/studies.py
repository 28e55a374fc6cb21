"""Studies of raters as `label serve` keeps them, made without a server: the test says who rated what."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dspy_proact.evaluation.registry import benchmark_of
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, Given, Study, StudyItem, StudyRun, items_of, pairs_of, run_key
from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder

Grading = Callable[[str, StudyItem, int], str | Given | None]
"""What a rater says of an item with its place: a grade, all of a rating, or nothing."""


def given(item: str, grade: str, confidence: int = 4, **more: Any) -> Given:
    """A rating with a key of its own, or a skip, whose grade is empty."""
    return Given(item, grade, secrets.token_hex(16), confidence if grade else 0, **more)


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
    of = tuple(StudyRun(run_key(each), each.path, draw) for each in summaries)
    design = Design(each=len(raters), raters=len(raters), kind="pairs" if pairs else "grades")
    store = Store.create(path, Study(declared.name, of, design), items)
    with closing(store):
        for name in raters:
            rater = store.add_rater(name)
            said = [(item, grade(name, item, number)) for number, item in enumerate(items)]
            store.assign(rater.number, lambda said=said: [(item.key, False) for item, _ in said])
            store.give(
                rater.number,
                *(
                    each if isinstance(each, Given) else given(item.key, each)
                    for item, each in said
                    if each is not None
                ),
            )
    return path
