"""What a card of a trained model claims, and for every condition the case in which it must not."""

import re
from dataclasses import replace

import pytest
from builders.trained import (
    BASE,
    PREFERS,
    REWARDED_BY,
    SCORES_BY,
    TUNED,
    chosen,
    good_card,
    run_of_model,
    trained_on,
)

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.trained.card import CLAIM_CHOICES
from dspy_proact.trained.card_text import print_trained_card, trained_card_document, trained_card_markdown
from dspy_proact.trained.preference import why_no_pairs

pytestmark = pytest.mark.usefixtures("proactbench")
GAINED = ["PASS"] * 45 + ["FAIL"] * 5 + ["PASS"] * 50


def unmet(card):
    assert all(one.met or one.name == "score" or one.unmet in one.text for one in card.conditions)
    return [condition.name for condition in card.conditions if not condition.met]


def test_an_improvement_is_claimed_where_every_condition_is_met():
    card = good_card()
    assert unmet(card) == []
    assert card.shown
    # 50 of 100 before, 95 after.
    assert card.headline.text.startswith("Improvement shown: +45.0 points (95 % ")
    assert card.headline.text.endswith(" on 100 triggers that it was not trained on.")
    assert card.headline.side == "higher"
    assert [row.name for row in card.rows] == ["score", "controls", "length"]
    assert card.length.difference.value == 1.0


def test_no_sentence_of_a_claim_is_longer_than_thirty_words():
    cards = [good_card(), good_card(trained=None), good_card(choices=None), good_card(trained=trained_on(judged=False))]
    cards.append(good_card(trained=trained_on("p00", without_unit={"": 4})))
    assert all(len(re.sub(r" \(95 %.*?\)", " (95 %)", card.headline.text).split()) <= 30 for card in cards)


# The score


def test_a_gain_that_may_be_chance_is_none():
    # Two of a hundred: the interval reaches below 0.
    card = good_card(tuned=run_of_model(TUNED, ["PASS"] * 2 + ["FAIL"] * 48 + ["PASS"] * 50, ["HELD_BACK"] * 40))
    assert unmet(card) == ["score"]
    assert card.headline.text.startswith("No improvement shown: +2.0 points (95 % ")
    assert card.headline.side is None


def test_a_gain_of_few_people_may_be_that_of_one_of_ten_checkpoints():
    # All of nine people's cases are gained, or of ten: exchanging whole people gives p 2 / 2^9, or 2 / 2^10.
    for people, claimed in ((9, False), (10, True)):
        before = ["FAIL" if number % 20 < people else "PASS" for number in range(100)]
        base = run_of_model(BASE, before, ["HELD_BACK"] * 40)
        card = good_card(base=base, tuned=run_of_model(TUNED, ["PASS"] * 100, ["HELD_BACK"] * 40))
        assert card.change.shown
        assert card.change.p == pytest.approx(2 / 2**people, rel=0.5)
        assert card.shown == claimed
        assert ("may be chance: p is .004, and a claim takes 0.002" in card.headline.text) != claimed


@pytest.mark.parametrize("lost", [0, 1])
def test_fewer_than_sixty_cases_claim_nothing(lost):
    left = 60 - lost
    base = run_of_model(BASE, (["FAIL"] * 50 + ["PASS"] * 50)[:left], ["HELD_BACK"] * 40)
    card = good_card(base=base, tuned=run_of_model(TUNED, GAINED[:left], ["HELD_BACK"] * 40))
    assert card.shown == (lost == 0)
    if lost:
        assert unmet(card) == ["score", "preference"]
        assert "a claim takes 60 triggers in 10 scenarios" in card.headline.text


def test_what_is_unscored_counts_against_the_trained_model():
    grades = [None] * 28 + ["PASS"] * 72  # of those which failed before, 28 have no grade now
    card = good_card(tuned=run_of_model(TUNED, grades, ["HELD_BACK"] * 40))
    # Where both are scored, 22 of 72 are gained; with the unscored as failures still those 22 of 100.
    assert (card.change.count, card.change.unread) == (72, 28)
    assert card.shown
    lost = ["PASS"] * 45 + ["FAIL"] * 5 + [None] * 40 + ["PASS"] * 10  # what passed before has no grade now
    worse = good_card(tuned=run_of_model(TUNED, lost, ["HELD_BACK"] * 40))
    assert unmet(worse) == ["score"]
    assert "counting the 40 without a score against the trained model" in worse.conditions[0].text


# What it was trained on


def test_without_its_training_data_nothing_is_claimed():
    card = good_card(trained=None)
    assert unmet(card) == ["training data", "judge", "judge without the rubric"]
    assert card.headline.text == (
        "No improvement is claimed: what it was trained on is not known; name it with `trained_on`."
    )


def test_cases_of_people_that_it_was_trained_on_are_left_out_and_counted():
    card = good_card(trained=trained_on("p00", "p01", "p02"))
    # Five of a hundred cases each, and two of forty control turns.
    assert (card.left_out, len(card.keys), card.controls.count) == (15, 85, 34)
    assert not {"d0__t1", "d1__t1", "d20__t1"} & {*card.keys}
    assert "15 triggers left out that share data with them" in card.conditions[1].text
    # A gain at these people alone is none.
    known = [
        grade if number % 20 < 13 else before
        for number, (grade, before) in enumerate(zip(GAINED, ["FAIL"] * 50 + ["PASS"] * 50, strict=True))
    ]
    people = [f"p{number:02d}" for number in range(13)]
    tuned = run_of_model(TUNED, known, ["HELD_BACK"] * 40)
    assert good_card(tuned=tuned).shown
    assert unmet(good_card(tuned=tuned, trained=trained_on(*people))) == ["score", "control cases", "preference"]


@pytest.mark.parametrize("name", ["p07", "p07:S", "d7__t1"])
def test_a_persona_is_left_out_by_its_unit_its_group_or_one_case(name):
    card = good_card(trained=trained_on(name))
    assert {f"d{number}__t1" for number in range(100)} - {*card.keys} == {
        f"d{number}__t1" for number in (7, 27, 47, 67, 87)
    }


def test_rows_of_nobody_known_claim_nothing():
    card = good_card(trained=trained_on("p00", without_unit={"": 2, "unknown__t1": 3, "d0__t1": 4}))
    assert unmet(card) == ["training data"]
    assert "5 rows that it was trained on name neither a unit nor a case of the test" in card.headline.text
    assert good_card(trained=trained_on("d0__t1", without_unit={"d0__t1": 4})).shown
    assert unmet(good_card(trained=trained_on(rows=0)))[0] == "training data"


def test_with_all_people_trained_on_there_is_no_test():
    card = good_card(trained=trained_on(*(f"p{number:02d}" for number in range(20))))
    assert card.headline.text == "No improvement shown: no trigger of the test is scored in both."
    assert "controls" not in next(one.text for one in card.conditions if one.name == "control cases")
    assert trained_card_document(card)["shown"] is False
    assert trained_card_markdown(card)


# Who judged


@pytest.mark.parametrize("rewarding", [SCORES_BY, "azure/our-gpt-4o", "ft:gpt-4o-mini:acme::1", "openrouter/openai/o3"])
def test_a_judge_of_a_family_that_rewarded_claims_nothing(rewarding):
    card = good_card(trained=trained_on(judges=[REWARDED_BY, rewarding]))
    assert unmet(card) == ["judge"]
    assert card.headline.text == "No improvement is claimed: the judge is of a family that rewarded."


def test_nor_does_a_judge_of_the_preference_of_such_a_family():
    card = good_card(choices=chosen([1.0, 0.0] * 50, "vertex_ai/claude-sonnet-5"))
    assert unmet(card) == ["judge without the rubric"]


def test_where_nobody_says_who_rewarded_nothing_is_claimed_and_where_no_judge_did_it_is():
    assert unmet(good_card(trained=trained_on(judges=[], judged=False))) == ["judge", "judge without the rubric"]
    assert good_card(trained=trained_on(judges=[])).shown


def test_where_all_responses_are_equal_no_judge_is_named():
    card = good_card(choices=replace(chosen([0.5] * 100), judges=(), alike=100))
    assert unmet(card) == ["preference"]
    assert "judge without the rubric" not in [condition.name for condition in card.conditions]


def test_of_answers_that_are_more_than_a_text_no_mend_is_promised():
    benchmark = benchmark_named("probe")
    assert why_no_pairs(benchmark) == "its answers are more than a text"
    text = next(one.text for one in good_card(declared=benchmark, choices=None).conditions if one.name == "preference")
    assert text == "no judge without the rubric can be asked: its answers are more than a text"


@pytest.mark.parametrize("role", ["judge", "model", "judge without the rubric"])
def test_the_stand_in_claims_nothing(role):
    base, tuned = good_card().base, good_card().tuned
    if role == "judge":
        base = run_of_model(BASE, ["FAIL"] * 50 + ["PASS"] * 50, ["HELD_BACK"] * 40, judge="embedded")
        tuned = run_of_model(TUNED, GAINED, ["HELD_BACK"] * 40, judge="embedded")
    if role == "model":
        tuned = run_of_model("embedded", GAINED, ["HELD_BACK"] * 40)
    choices = chosen([1.0, 0.0] * 50, "embedded" if role == "judge without the rubric" else PREFERS)
    card = good_card(base=base, tuned=tuned, choices=choices)
    assert unmet(card) == [role]
    assert card.headline.text.startswith("Demonstration with the embedded stand-in")


def test_runs_that_differ_in_more_than_their_model_claim_nothing_or_are_refused():
    other = run_of_model(TUNED, GAINED, ["HELD_BACK"] * 40, assistant={"decoding": {"temperature": 0.1}})
    card = good_card(tuned=other)
    assert unmet(card) == ["model"]
    assert "differ in assistant.decoding.temperature too" in card.headline.text
    unknown = run_of_model(TUNED, GAINED, ["HELD_BACK"] * 40, assistant={"program": "unknown", "prompt": ""})
    assert "how a model was asked is not known of answers in a file" in good_card(tuned=unknown).headline.text
    with pytest.raises(UsageError, match=r"differ in judge.model .*`rejudge` grades both alike"):
        good_card(tuned=run_of_model(TUNED, GAINED, judge="openai/gpt-4o"))
    with pytest.raises(UsageError, match="differ in corpus"):
        good_card(tuned=run_of_model(TUNED, GAINED, corpus_sha256="dd"))


# Unwanted offers


def test_more_unwanted_offers_claim_nothing():
    everywhere = good_card(tuned=run_of_model(TUNED, GAINED, ["UNWANTED"] * 40))
    assert unmet(everywhere) == ["control cases"]
    assert everywhere.headline.text.endswith("unwanted offers rose (shown by the one-sided 90 % interval).")
    # 3 of 40 are 7.5 points more, above the margin of 5.
    three = good_card(tuned=run_of_model(TUNED, GAINED, ["UNWANTED"] * 3 + ["HELD_BACK"] * 37))
    assert unmet(three) == ["control cases"]
    # 1 of 40 are 2.5 points, which may be chance; what is unscored counts as unwanted.
    assert good_card(tuned=run_of_model(TUNED, GAINED, ["UNWANTED"] + ["HELD_BACK"] * 39)).shown
    lost = good_card(tuned=run_of_model(TUNED, GAINED, [None] * 3 + ["HELD_BACK"] * 37))
    assert lost.headline.text.endswith(", counting the 3 without a score against the trained model.")


def test_control_turns_that_the_base_model_has_no_grade_at_hide_no_offer():
    """Both are scored at 12 turns of 12 people, where both hold back; at the others the trained model offers."""
    base = run_of_model(BASE, ["FAIL"] * 50 + ["PASS"] * 50, ["HELD_BACK"] * 12 + [None] * 28)
    card = good_card(base=base, tuned=run_of_model(TUNED, GAINED, ["HELD_BACK"] * 12 + ["UNWANTED"] * 28))
    assert unmet(card) == ["control cases"]
    assert "on 12 control turns in 12 scenarios" in card.conditions[4].text
    few = run_of_model(BASE, ["FAIL"] * 50 + ["PASS"] * 50, ["HELD_BACK"] * 9 + [None] * 31)
    card = good_card(base=few)
    assert "in 10 scenarios, and there are 9" in card.headline.text


def test_control_turns_that_were_graded_in_different_words_claim_nothing():
    card = good_card(tuned=run_of_model(TUNED, GAINED, ["HELD_BACK"] * 40, controls_in="other words"))
    assert unmet(card) == ["control cases"]
    assert "were graded in different words" in card.headline.text


@pytest.mark.parametrize("count", [0, 9])
def test_without_control_turns_or_with_those_of_few_groups_nothing_is_claimed(count):
    base = run_of_model(BASE, ["FAIL"] * 50 + ["PASS"] * 50, ["HELD_BACK"] * count)
    card = good_card(base=base, tuned=run_of_model(TUNED, GAINED, ["HELD_BACK"] * count))
    assert unmet(card) == ["control cases"]
    mend = "make both runs with `controls`" if count == 0 else "in 10 scenarios, and there are 9"
    assert mend in card.headline.text


# The preference


def test_without_a_preference_nothing_is_claimed():
    card = good_card(choices=None)
    assert unmet(card) == ["preference"]
    assert card.headline.text.endswith("was asked which response is better; name one with `judge`.")


def test_a_preference_for_the_base_model_claims_nothing():
    against = good_card(choices=chosen([1.0] * 30 + [0.0] * 70))
    assert unmet(against) == ["preference"]
    assert "prefers the base model" in against.headline.text
    # 44 of 100 is below 45, and 46 is not; neither is shown to be lower than one half.
    nearly = [float(number % 20 < 9 or number == 19) for number in range(100)]
    assert sum(nearly) == 46
    assert good_card(choices=chosen(nearly)).shown
    assert unmet(good_card(choices=chosen([0.0, 0.0, *nearly[2:]]))) == ["preference"]


def test_choices_that_are_missing_count_for_the_base_model():
    card = good_card(choices=chosen([None] * 20 + [1.0, 0.0] * 40))
    # 40 of 80, and 40 of 100.
    assert card.preference.after.value == 0.5
    assert unmet(card) == ["preference"]
    # Nobody prefers the base model, and the sentence does not say so.
    assert card.headline.text.endswith("counting the 20 missing against the other.")


def test_of_several_judges_each_makes_choices_and_the_sentence_counts_their_choices_as_theirs():
    two = (PREFERS, "mistral/large")
    card = good_card(choices=replace(chosen([1.0, 0.0] * 50, *two), fewest=CLAIM_CHOICES - 1))
    assert card.headline.text.endswith("the same in both orders, and a judge made 29.")
    card = good_card(choices=replace(chosen([1.0, 0.0] * 50, *two), tuned=100, base=100))
    assert card.shown
    assert "on 100 triggers in 20 scenarios: choices of 2 judges, 100 for it, 100 against" in card.conditions[-1].text
    card = good_card(choices=chosen([1.0] * 30 + [0.0] * 70, *two))
    assert "the judges without the rubric prefer the base model" in card.headline.text


def test_a_judge_that_only_makes_ties_is_no_support():
    few = [1.0] * (CLAIM_CHOICES - 1) + [0.5] * (101 - CLAIM_CHOICES)
    assert unmet(good_card(choices=chosen(few, ties=71))) == ["preference"]
    assert good_card(choices=chosen([1.0, *few[:-1]], ties=70)).shown


# How it is shown


def test_every_condition_is_a_line_of_the_text_the_document_and_the_markdown(capsys):
    card = good_card(trained=trained_on("p00", reserved=12), choices=chosen([1.0] * 30 + [0.0] * 70))
    print_trained_card(card, explain=True)
    printed = " ".join(capsys.readouterr().out.split())
    document, markdown = trained_card_document(card), trained_card_markdown(card)
    for condition in card.conditions:
        assert f"{'met' if condition.met else 'not met'}: {condition.name}: {condition.text}." in printed
        assert condition.text.split(";")[0].replace("[", "(").replace("_", " ")[:30] in markdown
    assert {one["name"]: one["met"] for one in document["conditions"]} == {one.name: one.met for one in card.conditions}
    assert (document["triggers"], document["left_out"], document["shown"]) == (95, 5, False)
    assert document["trained_on"]["judges"] == [REWARDED_BY]
    assert "12 rows of the split test taken as not used" in printed
    assert document["rows"][0]["count"] == 95


def test_nothing_in_a_name_is_markup():
    run = run_of_model("a|b`c<script>[x](y)", GAINED, ["HELD_BACK"] * 40)
    markdown = trained_card_markdown(good_card(tuned=run))
    assert "<script>" not in markdown
    assert "](y)" not in markdown
