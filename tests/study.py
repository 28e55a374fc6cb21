"""The published human study, read from the public data: 60 items, 275 ratings by 18 people."""

import csv
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

from dspy_proact.stats import Estimate

LABELS = ["FAIL", "PARTIAL", "PASS"]
TIES = ["PARTIAL", "PASS", "FAIL"]
PHASES = ["EMERGENT", "CRITICAL", "RECOVERY"]


@dataclass(frozen=True)
class Study:
    """Columns over the items, in the order of the file."""

    keys: list[str]
    strata: list[str]
    groups: list[str]
    judge: list[str]
    ratings: list[list[str]]
    raters: list[list[str]]

    def of(self, stratum: str | None) -> "Study":
        """The items of one phase; of all where it is None."""
        return self.where([stratum in {None, own} for own in self.strata])

    def where(self, chosen: list[bool]) -> "Study":
        """The chosen items."""
        return Study(
            keys=list(compress(self.keys, chosen)),
            strata=list(compress(self.strata, chosen)),
            groups=list(compress(self.groups, chosen)),
            judge=list(compress(self.judge, chosen)),
            ratings=list(compress(self.ratings, chosen)),
            raters=list(compress(self.raters, chosen)),
        )

    def without(self, out: set[object]) -> "Study":
        """The same items without the ratings of some people."""
        kept = [[person not in out for person in people] for people in self.raters]
        return replace(
            self,
            ratings=[list(compress(row, keep)) for row, keep in zip(self.ratings, kept, strict=True)],
            raters=[list(compress(row, keep)) for row, keep in zip(self.raters, kept, strict=True)],
        )


def study(folder: Path) -> Study:
    """Read the study from the folder of public data."""
    items, ratings = (
        list(csv.DictReader((folder / f"human_{name}.csv").read_text(encoding="utf-8").splitlines()))
        for name in ("items", "ratings")
    )
    keys = [item["item_id"] for item in items]
    given = {key: [row for row in ratings if row["item_id"] == key] for key in keys}
    return Study(
        keys=keys,
        strata=[item["type"] for item in items],
        groups=["/".join(key.split("__")[:2]) for key in keys],
        judge=[item["judge_score"].upper() for item in items],
        ratings=[[row["score"].upper() for row in given[key]] for key in keys],
        raters=[[row["annotator_id"] for row in given[key]] for key in keys],
    )


def numbers(estimate: Estimate) -> list[float | None]:
    """Value and bounds."""
    return [estimate.value, estimate.low, estimate.high]
