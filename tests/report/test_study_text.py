"""Studies of a benchmark whose answers people grade in parts, as text."""

import io
from collections.abc import Sequence

import pytest
from builders.benchmarks import Declared
from pydantic import BaseModel
from rich.console import Console

from dspy_proact import HumanGrade, Nouns, Part, People
from dspy_proact.evaluation import registry
from dspy_proact.evaluation.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.report.study import Choices, studies
from dspy_proact.report.study_text import print_studies, studies_document


class Reply(BaseModel, frozen=True):
    text: str


class Traits(Declared):
    nouns = Nouns(strata="hours", group="valley", groups="valleys")
    name, labels, answer_type = "traits", ("GOOD", "POOR"), Reply
    people = People(parts=(Part("tone", ("WARM", "COLD", "ODD"), "nominal"), Part("fit", ("NO", "YES"))))


TRAITS = Traits()


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """A process remembers the benchmarks that it was given."""
    monkeypatch.setattr(registry, "_OWN", {})


def study_of(grades: Sequence[tuple[str, str, str, str]], judged: Sequence[dict[str, str]]) -> Ratings:
    """Grades, each an item, a part, a grade and a rater, of items in a group each, and the judge's levels of these."""
    rows = tuple(HumanGrade(key, None, grade, rater, part=part) for key, part, grade, rater in grades)
    items = [RatedItem(f"i{n}", f"g{n}", "all", judged=levels) for n, levels in enumerate(judged)]
    return Ratings("a study", "traits", tuple(items), rows, RatingsSource(origin="here", files={}))


def text_of(ratings: Ratings, explain: bool = True, choices: Choices | None = None) -> str:
    """As it is printed, on one line."""
    text = io.StringIO()
    print_studies(studies(ratings, choices, benchmark=TRAITS), Console(file=text, width=1000), explain)
    return " ".join(text.getvalue().split())


TIED = study_of(
    [(f"i{n}", "tone", grade, rater) for n in range(4) for rater, grade in (("ann", "WARM"), ("bob", "COLD"))],
    [{"tone": "COLD"}] * 4,
)
"""Two raters who never agree; of three levels the middle one wins the tie, and the judge gives it."""


def test_a_part_whose_levels_have_no_order_is_explained_with_its_confusion_and_its_ties():
    message = text_of(TIED)
    assert studies_document(studies(TIED, benchmark=TRAITS))["pooled"]["exact"]["value"] == 1
    assert "On the tone of 4 items" in message
    assert "WARM 0 0 0 COLD 0 4 0 ODD 0 0 0" in message
    assert "commonest grade: ties go to COLD, then ODD, then WARM. kappa: unweighted" in message


def test_why_nothing_can_be_said_of_a_judge_beside_a_person_is_what_is_the_case():
    """Two rated the first item, which the judge did not grade; one rated the second, which it graded alike."""
    rows = [("i0", "tone", "WARM", "ann"), ("i0", "tone", "WARM", "bob"), ("i1", "tone", "COLD", "ann")]
    nothing = "A judge cannot be compared with a single person: "
    both = study_of(rows, [{}, {"tone": "COLD"}])
    alike = "The judge gives the grade of the tone that the only rater gave on 1 of 1 item"
    assert text_of(both, False).startswith(alike)
    assert f"{nothing}no item that the judge graded has two ratings of the tone" in text_of(both, False)
    assert f"{nothing}no item has 3 ratings of the tone." in text_of(both, False, Choices(min_ratings=3))
    assert f"{nothing}no item has two ratings of the tone" in text_of(study_of(rows[2:], [{}, {"tone": "COLD"}]), False)


def test_the_table_of_parts_says_what_its_kappas_are_of_and_reasons_have_the_benchmark_s_nouns():
    fits = [(f"i{n}", "fit", "YES" if n else "NO", rater) for n in range(4) for rater in ("ann", "bob")]
    several = study_of([*fits, *((key, "tone", "ODD", rater) for key, _, _, rater in fits)], [{"fit": "YES"}] * 4)
    message = "same, kappa: people's commonest grade and the judge's. two raters: kappa of one with another, which"
    assert message in text_of(several, False)
    assert "same, kappa: people's shares of grades and" in text_of(several, False, Choices("soft"))
    share = studies_document(studies(several, benchmark=TRAITS))["parts"]["fit"]["voted"][0]["share"]
    # The judge always says YES, people once NO.
    assert (share["value"], share["reason"]) == (0.75, "fewer than 5 valleys; for these 2 raters only")
