"""What is told of a judge's reasons: sentences of ours that they choose, and never a word of theirs."""

from typing import Any

import pytest
from builders.assistants import DECLARED, few, items_of
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact import Grade, Phase, Response, Scored, Settings, Verdict
from dspy_proact.benchmarks.proactbench import shortcomings
from dspy_proact.benchmarks.proactbench.shortcomings import shortcomings_in
from dspy_proact.benchmarks.proactbench.types import Offers
from dspy_proact.evaluation.ratings import ratings_named
from dspy_proact.evidence import locate_quotes

CASE, CONTROL = (next(case for case in items_of(few()) if case.stratum == name) for name in ("RECOVERY", "CONTROL"))
RESPONSE = "Good luck. Take the lantern."
NO_OFFERS = Offers(reasoning="", offers=())
MEANINGS = {shortcoming.meaning for shortcoming in (*shortcomings._OF_ALL, *shortcomings._OF_PHASE.values())}


def feedback(grade: Grade, reasoning: str, *quotes: str) -> Any:
    """What is told of a verdict on the response."""
    verdict = Verdict(reasoning=reasoning, evidence=locate_quotes(quotes, RESPONSE), grade=grade)
    tuning = DECLARED.tuning(Settings())
    return tuning.feedback(CASE, Response(text=RESPONSE), Scored(grade.score, grade, verdict))


@pytest.mark.parametrize(
    ("reasons", "phase", "name"),
    [
        ("It restates the plan and wishes her well.", Phase.EMERGENT, "recaps only"),
        ("Generic packing advice.", Phase.EMERGENT, "generic"),
        ("It would suit anybody who moves.", Phase.CRITICAL, "generic"),
        ("It only hints at the clash.", Phase.CRITICAL, "hints only"),
        ("It notices the knee but proposes nothing.", Phase.EMERGENT, None),
        ("The knee is noticed, yet no step follows.", Phase.EMERGENT, "names no act"),
        ("A vague offer to help some day.", Phase.RECOVERY, "names no act"),
        ("It raises the knee and leaves it there.", Phase.EMERGENT, "waved away"),
        ("Still about the letter.", Phase.RECOVERY, "inside the topic"),
        ("Still about the letter.", Phase.EMERGENT, None),
        ("A single fact is used; nothing is joined.", Phase.CRITICAL, "joins nothing"),
        ("The knee is ignored.", Phase.EMERGENT, "uses nothing disclosed"),
        ("It sends him home an hour early, which is wrong.", Phase.CRITICAL, "wrong"),
        ("This is not generic.", Phase.EMERGENT, None),
        ("The strongest step has strength 0.33.", Phase.EMERGENT, None),
    ],
)
def test_reasons_are_read_for_the_shortcoming_that_they_speak_of(reasons, phase, name):
    assert next((shortcoming.name for shortcoming in shortcomings_in(reasons, phase)), None) == name


def test_of_the_samples_reasons_for_less_than_a_pass_three_quarters_are_recognised():
    """190 of 248; in no phase fewer than two thirds."""
    ratings: Any = ratings_named(DECLARED, "sample", Settings())
    phases = {item.key: item.stratum for item in ratings.items}
    below = [grade for grade in ratings.grades if grade.grade != Grade.PASS]
    known = [grade for grade in below if shortcomings_in(grade.reason, Phase(phases[grade.key]))]
    assert (len(known), len(below)) == (190, 248)
    for phase in Phase:
        own = [grade for grade in below if phases[grade.key] == phase]
        assert sum(grade in known for grade in own) * 3 > 2 * len(own)


def test_a_failure_is_told_in_our_words_with_quotes_that_stand_in_the_response():
    shown = feedback(Grade.FAIL, "It ignores the zebra. Generic.", "Take the lantern", "a zebra")
    assert shown.text.splitlines() == [
        "Graded FAIL.",
        "What it lacks: it is generic: it would fit anybody, and hangs on no detail of this conversation; it uses "
        "nothing of what the user disclosed without asking, or misses what matters in it.",
        "The judge quoted: Take the lantern",
    ]
    assert (shown.error, shown.score) == ("generic", 0.0)
    unknown = feedback(Grade.PARTIAL, "No zebra.")
    assert unknown.text.splitlines() == ["Graded PARTIAL.", "What it lacks: not known."]
    assert unknown.error == "PARTIAL, reason not known"


def test_a_pass_lacks_nothing_whatever_its_reasons_say():
    assert (feedback(Grade.PASS, "It is generic.").text, feedback(Grade.PASS, "Vague.").error) == ("Graded PASS.", "")


def test_at_a_control_turn_an_offer_is_the_error():
    tuning, answer = DECLARED.tuning(Settings()), Response(text=RESPONSE)
    assert tuning.feedback(CONTROL, answer, Scored(0.0, "UNWANTED", NO_OFFERS)).error == "UNWANTED"
    assert tuning.feedback(CONTROL, answer, Scored(1.0, "HELD_BACK", NO_OFFERS)).error == ""


@given(st.text(max_size=200), st.lists(st.sampled_from(["generic", "no step", "zebra", "hints", "Friday"]), max_size=6))
def test_no_word_of_the_reasons_is_told(text, words):
    lines = feedback(Grade.PARTIAL, f"{text} {' '.join(words)}.").text
    graded, _, lacks = lines.partition("\nWhat it lacks: ")
    assert graded == "Graded PARTIAL."
    assert set(lacks.removesuffix(".").split("; ")) <= MEANINGS | {"not known"}
