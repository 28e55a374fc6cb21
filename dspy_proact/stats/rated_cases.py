from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.table import numbered


@dataclass(frozen=True, eq=False)
class RatedCases:
    """Cases that a judge scored, with what people gave to a part of them.

    Raises:
        ValueError: The lengths differ, a score is outside [0, 1], or a rating is of a case that is not there.
    """

    labels: Sequence[Hashable]
    """The judge's label of each case: (n,)."""
    scores: ArrayLike
    """Its score, in [0, 1], higher is better: shape (n,)."""
    groups: Sequence[Hashable]
    """Key of the group of each case: (n,)."""
    strata: Sequence[Hashable]
    """Stratum of each case: (n,)."""
    of: ArrayLike
    """Which case each rating is of, counted from 0: shape (q,)."""
    raters: Sequence[Hashable]
    """Who gave it: (q,); nobody rates a case twice."""
    ratings: ArrayLike
    """What was given, in [0, 1], higher is better: shape (q,)."""

    def __post_init__(self):
        cases, ratings = len(self.labels), len(self.raters)
        if not np.shape(self.scores) == (len(self.groups),) == (len(self.strata),) == (cases,):
            raise ValueError(f"one score, group and stratum a label, of which there are {cases}")
        if not np.shape(self.of) == np.shape(self.ratings) == (ratings,):
            raise ValueError(f"one case and rater a rating: {np.shape(self.of)}, {ratings}, {np.shape(self.ratings)}")
        if ratings and not (self.place.min() >= 0 and self.place.max() < cases):
            raise ValueError(f"ratings are of the {cases} cases, counted from 0")
        given = np.concatenate([self.score, self.given])
        if not ((given >= 0) & (given <= 1)).all():
            raise ValueError("scores and ratings must be in [0, 1]")

    @cached_property
    def score(self) -> NDArray[np.float64]:
        """The judge's scores as an array of shape (n,)."""
        return np.asarray(self.scores, dtype=np.float64)

    @cached_property
    def place(self) -> NDArray[np.intp]:
        """The case of each rating as an array of shape (q,)."""
        return np.asarray(self.of, dtype=np.intp)

    @cached_property
    def given(self) -> NDArray[np.float64]:
        """The ratings as an array of shape (q,)."""
        return np.asarray(self.ratings, dtype=np.float64)

    @cached_property
    def times(self) -> NDArray[np.intp]:
        """How many ratings each case has: shape (n,)."""
        return np.bincount(self.place, minlength=len(self.labels))

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean rating of each case: shape (n,); 0 where it has none."""
        return np.bincount(self.place, self.given, len(self.labels)) / np.maximum(1, self.times)

    @property
    def rated(self) -> NDArray[np.bool_]:
        """Whether each case has a rating: shape (n,)."""
        return self.times > 0

    @property
    def rater_count(self) -> int:
        """People who gave a rating."""
        return len(set(self.raters))

    @property
    def order(self) -> list[Hashable]:
        """The strata that have cases, as they first appear."""
        return list(dict.fromkeys(self.strata))

    @cached_property
    def cell(self) -> NDArray[np.intp]:
        """Stratum and label of each case as one number, counted from 0 without a gap: shape (n,)."""
        return numbered(list(zip(self.strata, self.labels, strict=True)))

    def where(self, chosen: Sequence[bool] | NDArray[np.bool_]) -> "RatedCases":
        """The chosen cases with their ratings."""
        kept = np.asarray(chosen, dtype=np.bool_)
        ratings, renumbered = kept[self.place], np.cumsum(kept) - 1
        return RatedCases(
            labels=list(compress(self.labels, kept)),
            scores=self.score[kept],
            groups=list(compress(self.groups, kept)),
            strata=list(compress(self.strata, kept)),
            of=renumbered[self.place[ratings]],
            raters=list(compress(self.raters, ratings)),
            ratings=self.given[ratings],
        )

    def of_stratum(self, stratum: Hashable) -> "RatedCases":
        """The cases of one stratum."""
        return self.where([own == stratum for own in self.strata])
