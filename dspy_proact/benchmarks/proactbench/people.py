"""Ratings in ProactBench's own formats: what `agree`, `label`, `report --ratings` and `optimize judge` do with them."""

from dspy_proact.benchmarks.proactbench.cases import responses_of_ratings as responses
from dspy_proact.benchmarks.proactbench.corpus.bundled import official_files
from dspy_proact.benchmarks.proactbench.corpus.rating_files import (
    comes_with_items,
    load_ratings,
    rating_template,
    read_rated_items,
)
from dspy_proact.benchmarks.proactbench.report.labelling import (
    draw_of,
    items_of,
    labelling_plan,
    peoples_ratings,
    plan_document,
    print_plan,
)
from dspy_proact.benchmarks.proactbench.report.study import Choices, study
from dspy_proact.benchmarks.proactbench.report.study_text import print_study, study_document

__all__ = [
    "Choices",
    "comes_with_items",
    "draw_of",
    "items_of",
    "labelling_plan",
    "load_ratings",
    "official_files",
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
