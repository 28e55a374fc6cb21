"""What is published of a corpus: its effect with an interval or a reason, and planted assistants beside their bars."""

import pytest
from builders.made_dialogues import CRITICAL, EMERGENT, RECOVERY, made_dialogue

from dspy_proact.benchmarks.proactbench.generation.effect import effect_of, proof_of
from dspy_proact.benchmarks.proactbench.generation.made import (
    UNSCORED,
    MadeDialogue,
    MadeTrigger,
    Sampled,
    TriggerProof,
)
from dspy_proact.benchmarks.proactbench.generation.planted import PLANTED
from dspy_proact.benchmarks.proactbench.generation.values import Swap, SwapAudit

GRADES = {"P": "PASS", "A": "PARTIAL", "F": "FAIL", "U": UNSCORED}
FINE = SwapAudit(implied=False, other_reason=False, realism=1, advice="")


def sampled(with_anchors: str, without_anchors: str) -> Sampled:
    arms = [[GRADES[letter] for letter in letters] for letters in (with_anchors, without_anchors)]
    return Sampled(with_anchors=arms[0], without_anchors=arms[1])


def proven(made: MadeTrigger, fresh: Sampled | None) -> MadeTrigger:
    proof = TriggerProof(
        swap=Swap(turns=[], removed=[]),
        audit=FINE,
        looking=sampled("PPP", "FFF") if fresh else sampled("PPP", "PPP"),
        bare=sampled("PFF", "FFF"),
        fresh=fresh,
        kept=fresh is not None,
    )
    return made.model_copy(update={"proof": proof})


def rows(*arms: tuple[str, str], personas: int = 6) -> list[tuple[str, Sampled]]:
    return [(f"p{number % personas}", sampled(*pair)) for number, pair in enumerate(arms)]


def test_the_effect_is_the_mean_difference_of_shares_and_has_an_interval_by_persona():
    effect = effect_of(rows(*[("PPP", "FFF"), ("PPF", "FFF"), ("PPP", "PFF")] * 4))
    assert (effect.triggers, effect.personas, effect.answers) == (12, 6, 72)
    # 8 of 9 and 1 of 9.
    assert effect.with_anchors.value == pytest.approx(8 / 9)
    assert effect.without_anchors.value == pytest.approx(1 / 9)
    assert effect.difference.value == pytest.approx(7 / 9)
    # Two personas of mean 1 and four of 2/3: SE^2 = 6/5 * (2 * (2/9)^2 + 4 * (1/9)^2) / 6^2 = 0.00494; t(5) = 2.571.
    assert effect.difference.low == pytest.approx(7 / 9 - 2.5706 * 0.00494**0.5, abs=2e-3)
    assert effect.difference.high == pytest.approx(7 / 9 + 2.5706 * 0.00494**0.5, abs=2e-3)


@pytest.mark.parametrize(
    ("count", "personas", "reason"),
    [
        (11, 6, "fewer than 12 triggers (11): no interval"),
        (12, 4, "fewer than 5 personas (4): no interval"),
        (12, 5, None),
    ],
)
def test_too_few_triggers_or_personas_have_no_interval(count, personas, reason):
    arms = [("PPP", "FFF"), ("PPF", "PFF"), ("PFF", "FFF"), ("FFF", "FFF"), ("PPP", "PFF"), ("PPF", "FFF")] * 2
    effect = effect_of(rows(*arms[:count], personas=personas))
    for estimate in (effect.with_anchors, effect.without_anchors, effect.difference):
        assert estimate.value is not None
        assert (estimate.low is None) == (reason is not None)
        assert reason is None or estimate.reason == reason


def test_what_is_unscored_is_left_out_and_is_no_failure():
    effect = effect_of(rows(("PUU", "FFF"), ("UUU", "FFF"), ("PPF", "UUF")))
    assert (effect.triggers, effect.answers) == (2, 1 + 3 + 3 + 1)
    assert effect.with_anchors.value == pytest.approx((1 + 2 / 3) / 2)
    nothing = effect_of(rows(("UUU", "FFF")))
    assert (nothing.triggers, nothing.difference.value) == (0, None)
    assert nothing.difference.reason


def test_where_all_pass_with_the_facts_alone_the_lower_end_counts_personas_as_trials():
    effect = effect_of(rows(*[("PPP", "FFF")] * 12))
    # Six trials: each share is known to .025^(1/6) = .5407.
    assert effect.difference.low == pytest.approx(2 * 0.5407 - 1, abs=1e-3)
    assert (effect.difference.value, effect.difference.high) == (1, 1)


def test_an_effect_of_none_is_not_shown():
    effect = effect_of(rows(*[("PPF", "PFF"), ("PFF", "PPF")] * 6, personas=5))
    assert effect.difference.low < 0 < effect.difference.high


def dialogue(persona: str, *triggers: MadeTrigger, matrix: dict[str, dict[int, str]] | None = None) -> MadeDialogue:
    return made_dialogue(*triggers, persona=persona).model_copy(update={"matrix": matrix or {}})


def test_a_corpus_has_its_effect_in_all_and_by_phase_from_what_was_kept():
    kept, gone = proven(EMERGENT, sampled("PPF", "FFF")), proven(CRITICAL, None)
    proof = proof_of(
        [dialogue("a", kept, gone), dialogue("b", kept, proven(RECOVERY, sampled("PPP", "PFF")))], "model-x"
    )
    assert (proof.tested, proof.tester, proof.matrix, proof.matrix_dialogues) == (4, "model-x", {}, 0)
    assert {name: effect.triggers for name, effect in proof.fresh.items()} == {"all": 3, "EMERGENT": 2, "RECOVERY": 1}
    assert proof.fresh["EMERGENT"].difference.value == pytest.approx(2 / 3)
    # Of all four that were tested, three pass with the facts alone and one in both arms.
    assert proof.looking["all"].difference.value == pytest.approx(3 / 4)
    assert proof.bare["all"].difference.value == pytest.approx(1 / 3)


def test_drafts_show_nothing():
    proof = proof_of([dialogue("a", EMERGENT)], "")
    assert (proof.tested, proof.fresh, proof.looking, proof.matrix) == (0, {}, {}, {})


def test_planted_assistants_stand_beside_their_bars_and_one_that_is_missed_is_seen():
    kept = [proven(trigger, sampled("PPP", "FFF")) for trigger in (EMERGENT, CRITICAL, RECOVERY)]
    turns = [trigger.turn for trigger in kept]
    honest = {
        **{name: dict.fromkeys(turns, "FAIL") for name in PLANTED},
        "anchor-taker": dict(zip(turns, ("PASS", "FAIL", "PASS"), strict=True)),
        "knows the rubric": dict.fromkeys(turns, "PASS"),
    }
    proof = proof_of([dialogue("a", *kept, matrix=honest), dialogue("b", *kept)], "x")
    assert proof.matrix_dialogues == 1
    assert list(proof.matrix) == list(PLANTED)
    assert not [cell for row in proof.matrix.values() for cell in row.values() if cell.missed]
    assert proof.matrix["silent"]["EMERGENT"].graded == 1
    faulty = honest | {
        "polite closer": honest["silent"] | {5: "PASS"},
        "anchor-taker": dict.fromkeys(turns, "PASS"),
        "knows the rubric": dict.fromkeys(turns, UNSCORED),
    }
    cells = proof_of([dialogue("a", *kept, matrix=faulty)], "x").matrix
    missed = [(name, phase) for name, row in cells.items() for phase, cell in row.items() if cell.missed]
    assert missed == [("polite closer", "RECOVERY"), ("anchor-taker", "CRITICAL")]
    assert cells["knows the rubric"]["EMERGENT"].graded == 0
