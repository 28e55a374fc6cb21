"""The sentence of a card, as `optimize show` prints it first: shown, not shown, and what could not have been."""

from pathlib import Path

import assistants
import pytest
import tuning

from dspy_proact.programs import CardNumber
from dspy_proact.programs.artefact import write_artefact
from dspy_proact.report import MEASURES_NOTHING

RISE = CardNumber(value=0.2, low=0.05, high=0.35)
"""In kappa, or of a mean score."""


@pytest.fixture
def first(proact):
    """The first sentence of what is shown of a compiled program, whose card has these changes."""

    def first(artefact, **changes):
        card = artefact.card.model_copy(update=changes)
        write_artefact(Path("made.json"), artefact.model_copy(update={"card": card}))
        status, out, _ = proact("optimize", "show", "made.json")
        assert status == 0
        return " ".join(out.split()).split(". ")[0]

    return first


def gain(labels=147, **changes):
    """What the card of a judge has of all phases."""
    overall = tuning.card().overall
    return {"overall": overall.model_copy(update={"labels": labels, "difference": RISE, "low98": -0.01, **changes})}


def target(count=120, **changes):
    """What the card of an assistant has of the phases that it was tuned for."""
    change = assistants.card().target
    return {"target": change.model_copy(update={"count": count, "difference": RISE, "low98": -0.01, **changes})}


def test_a_judge_that_agrees_better_is_said_to(first):
    said = first(tuning.artefact(), shown=True, raters=4, **gain(low98=0.02))
    told = "(+0.20 in kappa, 95 % +0.05 to +0.35), on 147 rated items that it had not seen"
    assert said == f"Improvement shown: the judge agrees better with people {told}"


@pytest.mark.parametrize(("raters", "whom"), [(1, "this rater"), (3, "these 3 raters")])
def test_a_judge_that_agrees_better_with_few_raters_is_said_to_with_these(first, raters, whom):
    said = first(tuning.artefact(), shown=True, raters=raters, **gain(low98=0.02))
    assert said.startswith(f"Improvement shown with {whom}: the judge agrees better with {whom} (+0.20 in kappa")


def test_a_judge_of_which_nothing_is_shown_has_the_gain_that_so_many_labels_show(first):
    """Of 20 scenarios, t 2.5395 and .8610: .9 x 3.4005 / sqrt(147) = .252."""
    said = first(tuning.artefact(), shown=False, scenarios=20, **gain())
    seen = "147 rated items let one of 0.25 be seen in at least four compiles of five"
    assert said == f"No improvement shown (+0.20 in kappa, 95 % +0.05 to +0.35): {seen}"


@pytest.mark.parametrize(("made", "of"), [(tuning.artefact, "judge"), (assistants.artefact, "assistant")])
def test_a_gain_that_does_not_bear_the_unread_is_said_to(first, made, of):
    changes = {"low98": 0.02, "low98_unread": -0.03}
    told = {"unread": 7, **gain(**changes)} if of == "judge" else target(total=127, **changes)
    said = first(made(), shown=False, scenarios=20, **told)
    assert said.startswith("No improvement shown")
    assert ": not with the 7 unread at their worst" in said


@pytest.mark.parametrize(("labels", "scenarios"), [(59, 10), (60, 9)])
def test_of_a_judge_with_few_labels_nothing_could_have_been_shown(first, labels, scenarios):
    said = first(tuning.artefact(), shown=False, scenarios=scenarios, **gain(labels))
    few = f"{labels} rated items in {scenarios} scenarios are too few for a claim, which takes 60 in 10"
    assert said == f"No improvement could have been shown: {few}"


def test_an_assistant_that_scores_higher_is_said_to_with_what_it_cost(first):
    said = first(assistants.artefact(), shown=True, **target(low98=0.02))
    assert said.startswith("Improvement shown in RECOVERY (+20.0 points, 95 % +5.0 to +35.0), on 120 triggers ")
    assert "; beside it, beyond the usual margins: unwanted offers +50 [+30, +70] points" in said


def test_an_assistant_of_which_nothing_is_shown_has_the_gain_that_it_takes(first):
    """The 98 % interval reaches .2 + .01 below the gain."""
    said = first(assistants.artefact(), shown=False, **target())
    told = "(+20.0 points, 95 % +5.0 to +35.0): on 120 triggers it takes a measured gain of 21 points"
    assert said.startswith(f"No improvement shown in RECOVERY {told}; ")


@pytest.mark.parametrize(
    ("count", "scenarios", "few"), [(59, 10, "59 triggers"), (60, 9, "their scenarios")], ids=["triggers", "scenarios"]
)
def test_of_an_assistant_on_few_triggers_nothing_could_have_been_shown(first, count, scenarios, few):
    said = first(assistants.artefact(), shown=False, scenarios=scenarios, **target(count))
    claim = f"{few} are too few for a claim, which takes 60 in 10 scenarios"
    assert said.startswith(f"No improvement could have been shown in RECOVERY: {claim}; ")


def test_an_assistant_without_a_grade_has_no_price(first):
    nothing = CardNumber(value=None, reason="no scores")
    said = first(assistants.artefact(), shown=False, **target(0, difference=nothing, low98=None))
    assert said == "No improvement could have been shown in RECOVERY: nothing could be graded"


@pytest.mark.parametrize("made", [tuning.artefact, assistants.artefact])
def test_the_card_of_a_stand_in_measures_nothing(first, made):
    artefact = made()
    provenance = artefact.card.provenance.model_copy(update={"embedded": True})
    assert first(artefact, provenance=provenance).startswith(f"{MEASURES_NOTHING}Improvement shown")
