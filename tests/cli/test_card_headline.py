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
        return " ".join(out.split()).partition(". ")[0]

    return first


def target(made, count=147, **changes):
    """The row of what it was tuned for."""
    return {
        "target": made().card.target.model_copy(update={"count": count, "difference": RISE, "low98": -0.01, **changes})
    }


KAPPA, POINTS = "(+0.20 in kappa, 95 % +0.05 to +0.35)", "(+20 [+5, +35] points)"
NO_COST = {"rows": ()}


@pytest.mark.parametrize(
    ("raters", "begin"),
    [
        (4, "Improvement shown: the judge agrees better with people"),
        (3, "Improvement shown with these 3 raters: the judge agrees better with these 3 raters"),
        (1, "Improvement shown with this rater: the judge agrees better with this rater"),
    ],
)
def test_a_judge_that_agrees_better_is_said_to_with_few_raters_with_these(first, raters, begin):
    said = first(tuning.artefact(), shown=True, raters=raters, **target(tuning.artefact, low98=0.02))
    assert said == f"{begin} {KAPPA}, on 147 graded answers not seen before"


def test_a_judge_of_which_nothing_is_shown_has_the_gain_that_so_many_labels_show(first):
    """Of 20 scenarios, t 2.5395 and .8610: .9 x 3.4005 / sqrt(147) = .252."""
    said = first(tuning.artefact(), shown=False, group_count=20, **target(tuning.artefact))
    assert said == f"No improvement shown {KAPPA}: 147 graded answers have 80 % power to detect 0.25"


def test_an_assistant_of_which_nothing_is_shown_has_the_gain_that_it_takes(first):
    """The 98 % interval reaches .2 + .01 below the gain."""
    said = first(assistants.artefact(), shown=False, **NO_COST, **target(assistants.artefact))
    assert said == f"No improvement shown in RECOVERY {POINTS}: with 147 triggers it takes a measured gain of 21 points"


@pytest.mark.parametrize("made", [tuning.artefact, assistants.artefact])
def test_a_gain_that_does_not_bear_the_unread_is_said_to(first, made):
    changes = target(made, total=154, low98=0.02, low98_unread=-0.03)
    said = first(made(), shown=False, group_count=20, **changes)
    assert said.startswith("No improvement shown")
    assert ": not counting the 7 unreadable against it" in said


@pytest.mark.parametrize("made", [tuning.artefact, assistants.artefact])
@pytest.mark.parametrize(("count", "groups"), [(59, 10), (60, 9)])
def test_on_few_cases_nothing_could_have_been_shown(first, made, count, groups):
    said = first(made(), shown=False, group_count=groups, **target(made, count))
    assert said.startswith("No improvement could have been shown")
    assert f"in {groups} scenarios are too few; a claim takes 60 in 10" in said


def test_without_a_grade_nothing_could_be_graded_and_there_is_no_cost(first):
    nothing = CardNumber(value=None, reason="no scores")
    changes = target(assistants.artefact, 0, difference=nothing, low98=None)
    said = first(assistants.artefact(), shown=False, **changes)
    assert said == "No improvement could have been shown in RECOVERY: nothing could be graded"


def row(name, value, low, high, **changes):
    """A row beside the target, whose usual margin is .05."""
    difference = CardNumber(value=value, low=low, high=high)
    return assistants.card_row(name, **{"margin": 0.05, "difference": difference, **changes})


@pytest.mark.parametrize(
    ("rows", "cost"),
    [
        # A score that falls by at most .02, a rate that rises by at most .04: both within the margin.
        ([row("EMERGENT", 0.01, -0.02, 0.04), row("offers", 0.01, -0.02, 0.04, unit="rate")], "; no cost beyond the"),
        ([row("EMERGENT", -0.06, -0.1, -0.02)], "; beyond the usual margins: EMERGENT -6 [-10, -2] points"),
        ([row("offers", 0.1, 0.0, 0.2, unit="rate")], "; beyond the usual margins: offers +10 [+0, +20] points"),
        # A ratio of 1.3 is a growth of .3, of 1.1 one of .1 that may be .3.
        (
            [row("words", 1.3, 1.2, 1.4, unit="times", margin=0.2)],
            "; beyond the usual margins: words x 1.30 [1.",
        ),
        (
            [row("words", 1.1, 0.9, 1.3, unit="times", margin=0.2)],
            "; costs beyond the usual margins cannot be excluded",
        ),
        # The unread at their worst count against it.
        (
            [
                row("offers", 0.0, -0.02, 0.02, unit="rate", most=CardNumber(value=0.1, low=0.0, high=0.2)),
                row("c", 0.01, 0, 0.02),
            ],
            "; costs beyond the usual margins cannot be excluded for offers",
        ),
        # What is exactly what it was costs nothing, even without an interval.
        ([row("EMERGENT", 0.0, None, None)], "; no cost beyond the usual margins"),
        ([row("RECOVERY", -0.9, -1, -0.8, margin=None)], ""),
    ],
)
def test_what_got_worse_is_said_with_its_interval(first, rows, cost):
    said = first(assistants.artefact(), shown=True, rows=tuple(rows), **target(assistants.artefact, low98=0.02))
    head, end, told = said.partition("not seen before")
    assert (head + end, told.startswith(cost)) == (
        f"Improvement shown in RECOVERY {POINTS}, on 147 triggers not seen before",
        True,
    )


@pytest.mark.parametrize("made", [tuning.artefact, assistants.artefact])
def test_the_card_of_a_stand_in_measures_nothing(first, made):
    artefact = made()
    provenance = artefact.card.provenance.model_copy(update={"embedded": True})
    assert first(artefact, provenance=provenance).startswith(f"{MEASURES_NOTHING}Improvement shown")
