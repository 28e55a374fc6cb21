"""What is said first of a made corpus: never more than was shown."""

from dataclasses import replace

import pytest
from builders.made import (
    SHOWN,
    made_anchor,
    made_corpus,
    made_dialogue,
    made_effect,
    made_proof_of_all,
    rubric_audit,
    sampled,
)

from dspy_proact.benchmarks.proactbench.generation.made import PlantedCell
from dspy_proact.benchmarks.proactbench.report.made_summary import REVIEW, MadeSummary, difference_of
from dspy_proact.generation.maker import Kept
from dspy_proact.stats import Estimate

GENERAL = "2 triggers rest on general knowledge; review them first."
"""Of three dialogues the third has a first fact that rests on it, and two triggers rest on that fact."""


def headline(**changes):
    return MadeSummary(made_corpus(3, **changes)).headline


def fresh(difference, **changes):
    return made_proof_of_all(fresh={"all": made_effect(difference)}, **changes)


def test_the_headline_says_what_was_shown_with_its_interval_and_who_answered():
    lead = headline()
    assert lead.text == (
        "3 dialogues, 9 triggers; told to look, a model passes 91 % with the planted fact and 14 % without "
        "(difference 77 points, 95 % 66 to 86, fresh answers by openai/tester)."
    )
    assert lead.side == "higher"
    assert lead.number == SHOWN
    assert lead.caveats == (REVIEW, GENERAL)


@pytest.mark.parametrize("difference", [Estimate(0.1, -0.02, 0.3), Estimate(0, -0.1, 0.1), Estimate(-0.3, -0.4, -0.1)])
def test_an_interval_that_is_not_above_zero_shows_no_effect(difference):
    lead = headline(proof=fresh(difference))
    assert "; no effect is shown: told to look, a model passes" in lead.text
    assert lead.side is None


def test_an_interval_next_to_zero_does_not_round_to_it():
    assert "95 % 0.4 to 30" in headline(proof=fresh(Estimate(0.1, 0.004, 0.3))).text


def test_without_an_interval_no_effect_is_claimed_and_the_reason_is_given():
    lead = headline(proof=fresh(Estimate(0.7, reason="fewer than 12 triggers")))
    assert lead.text == (
        "3 dialogues, 9 triggers; too few to show an effect: told to look, a model passes 91 % with the planted fact "
        "and 14 % without (fresh answers by openai/tester)."
    )
    assert lead.caveats[0] == "Difference: fewer than 12 triggers."
    assert lead.side is None


def test_answers_that_selected_are_no_proof_of_an_effect():
    text = headline(proof=made_proof_of_all(fresh={}, tester="")).text
    assert text == "3 dialogues, 9 triggers; no fresh answers were made, so no effect is shown."


def test_fresh_answers_that_repeat_those_that_selected_show_nothing():
    """A model at temperature 0, or a cache, gives its first answers again: the figure is then the selection's."""
    effect = made_effect(SHOWN)
    most, few = effect.answers // 2 + 1, 1
    lead = headline(proof=fresh(SHOWN, repeats=most))
    assert lead.text == (
        "3 dialogues, 9 triggers; no effect is shown, as the fresh answers repeat those by which triggers were kept."
    )
    assert lead.side is None
    assert lead.caveats[0].startswith(f"{most} of {effect.answers} fresh answers repeat, word for word, an answer")
    lead = headline(proof=fresh(SHOWN, repeats=few))
    assert lead.side == "higher"
    assert lead.caveats[0].startswith(f"1 of {effect.answers} fresh answers repeat")


def test_drafts_show_nothing_and_the_stand_in_measures_nothing():
    assert headline(draft=True).text == "3 dialogues, 9 triggers: drafts, of which nothing was shown."
    lead = headline(model="embedded")
    assert lead.text == (
        "Demonstration with the embedded stand-in, no real model: 3 dialogues, 9 triggers, which measure nothing."
    )
    assert (lead.side, lead.number, lead.caveats) == (None, None, ())


def test_a_light_proof_a_shortfall_and_a_missed_bar_are_said():
    matrix = {"silent": {"EMERGENT": PlantedCell(3, 20, high=0.05), "CRITICAL": PlantedCell(0, 20, high=0.05)}}
    matrix |= {"anchor-taker": {"RECOVERY": PlantedCell(2, 20, low=0.7)}}
    lead = headline(wanted=5, level="light", proof=made_proof_of_all(matrix=matrix))
    assert lead.text == (
        "3 of 5 dialogues, 9 triggers; told to look, a model passes 91 % with the planted fact and 14 % without (light "
        "proof, difference 77 points, 95 % 66 to 86, fresh answers by openai/tester); 2 planted assistants miss their "
        "bar."
    )
    assert lead.caveats == (
        "2 dialogues could not be made: 2 attempts failed, most of them at: audit of scenario.",
        "Light proof: one answer in place of three kept or rejected each trigger.",
        "silent passes 15 % of 20 EMERGENT triggers; at most 5 % was to be expected.",
        "anchor-taker passes 10 % of 20 RECOVERY triggers; at least 70 % was to be expected.",
        REVIEW,
        GENERAL,
    )


def test_a_bar_is_missed_by_a_share_outside_it_and_never_where_nothing_was_graded():
    assert [PlantedCell(count, 20, high=0.05).missed for count in (0, 1, 2)] == [False, False, True]
    assert not PlantedCell(0, 0, low=0.7).missed


def test_a_corpus_without_a_dialogue_has_nothing_to_measure_with():
    lead = MadeSummary(made_corpus(0, wanted=4)).headline
    assert lead.text == "0 of 4 dialogues, 0 triggers: nothing to measure with."
    assert REVIEW not in lead.caveats


def test_triggers_that_were_not_kept_are_counted_by_reason_and_in_no_phase():
    dialogue = made_dialogue(0)
    dropped = dialogue.triggers[0].proof.model_copy(update={"kept": False, "reason": "1 of 3 pass without the fact."})
    triggers = [dialogue.triggers[0].model_copy(update={"proof": dropped}), *dialogue.triggers[1:]]
    corpus = made_corpus(1)
    kept = [Kept(1, 1, dialogue.model_copy(update={"triggers": triggers}), ())]
    summary = MadeSummary(replace(corpus, made=replace(corpus.made, kept=kept)))
    assert summary.phases == {"EMERGENT": 0, "CRITICAL": 1, "RECOVERY": 1}
    reasons = dict(summary.rejections)
    assert reasons == {"1 of 3 pass without the fact.": 1, "The assistant had done it at turn 6. ": 1}


def test_attempts_are_counted_by_stage_and_rule_with_what_came_of_them():
    repairs = MadeSummary(made_corpus(3)).repairs
    # Two attempts failed by one rule; each of three dialogues has two answers that were too long.
    assert [(row.stage, row.repeated, row.mended, row.dropped) for row in repairs] == [
        ("audit of scenario", 0, 0, 2),
        ("scenario", 6, 0, 0),
    ]


def test_the_weakest_triggers_come_first_with_what_speaks_against_them():
    weakest = MadeSummary(made_corpus(3)).weakest
    # In the second dialogue one of three passes without the fact: effect 2/3. The third rests on general knowledge.
    assert [(item.slot, item.trigger.turn) for item in weakest] == [(2, 2), (2, 5), (2, 8), (3, 2), (3, 8)]
    assert weakest[0].doubts == ("3 of 3 pass with the fact, 1 of 3 without",)
    assert weakest[0].effect == pytest.approx(2 / 3)
    assert weakest[3].doubts == ("rests on general knowledge",)


def test_what_an_auditor_objects_to_is_a_doubt_and_stands_before_fewer_doubts():
    dialogue = made_dialogue(0, draft=True)
    audit = rubric_audit(consequence_true="unsure", one_artefact=True)
    triggers = [dialogue.triggers[0], dialogue.triggers[1].model_copy(update={"audit": audit})]
    corpus = made_corpus(1, draft=True)
    made = replace(corpus.made, kept=[Kept(1, 1, dialogue.model_copy(update={"triggers": triggers}), ())])
    (only,) = MadeSummary(replace(corpus, made=made)).weakest
    assert only.doubts == (
        "the auditor is unsure that the act is right",
        "the auditor says that only one wording could pass",
    )
    assert only.effect is None


def test_an_effect_is_a_difference_of_shares_and_none_where_an_arm_is_empty():
    assert difference_of(sampled(3, 1)) == pytest.approx(2 / 3)
    assert difference_of(sampled(0, 3)) == -1
    assert difference_of(sampled(0, 0, of=0)) is None
    assert difference_of(None) is None


def test_coverage_has_the_domains_of_the_brief_those_of_the_dialogues_and_every_style():
    coverage = MadeSummary(made_corpus(3)).coverage
    assert coverage.columns["domain"] == ["travel", "family", "health", "work"]
    assert len(coverage.columns["style"]) == 24
    # 4 domains x 24 styles x 3 phases x 9 turns, of which each of nine triggers has one of its own.
    assert (coverage.cells, coverage.empty) == (2592, 2583)
    assert coverage.table("phase", "turn")[0] == [0, 3, 0, 0, 0, 0, 0, 0, 0]


def test_what_repeats_is_counted_over_dialogues():
    summary = MadeSummary(made_corpus(6))
    # Names: Mia Brandt twice (0 and 5) and Mia Lindgren once, so that Mia stands in three of six.
    assert [(name.value, name.count) for name in summary.common["name"]][:2] == [("Mia", 3), ("Brandt", 2)]
    assert summary.common["title"] == []
    assert len(summary.alike["planted facts"]) > 0
    assert made_anchor(0, 1).fact == made_anchor(4, 1).fact
