"""Ratings in ProactBench's own formats: what `agree`, `label`, `report --ratings` and `optimize judge` do with them."""

from typing import TYPE_CHECKING

from dspy_proact.benchmarks.proactbench.corpus import (
    Ratings,
    comes_with_items,
    load_ratings,
    rating_template,
    read_rated_items,
)
from dspy_proact.benchmarks.proactbench.report import (
    Choices,
    draw_of,
    items_of,
    labelling_plan,
    peoples_ratings,
    plan_document,
    print_plan,
    print_study,
    study,
    study_document,
)

if TYPE_CHECKING:
    from dspy_proact.benchmarks.responses import Responses

__all__ = [
    "Choices",
    "comes_with_items",
    "draw_of",
    "items_of",
    "labelling_plan",
    "load_ratings",
    "peoples_ratings",
    "plan_document",
    "print_plan",
    "print_study",
    "rating_template",
    "read_rated_items",
    "responses",
    "study",
    "study_document",
]


def responses(ratings: Ratings) -> "Responses":
    """The items that somebody rated, to be graded by a judge; raises as `responses_of_ratings` does."""
    # It imports DSPy, which nothing else here needs.
    from dspy_proact.benchmarks.proactbench.responses import responses_of_ratings

    return responses_of_ratings(ratings)
