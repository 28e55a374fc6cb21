"""Decisions at the moments of a stream: their parts, their measures by hand, and rules with their closed forms."""

from math import inf

import pytest

from dspy_proact.evaluation.ruled import ByRule
from dspy_proact.evaluation.stream import Decision, Rules, decision_measures
from dspy_proact.report.measured import bounds_of, measured
from dspy_proact.runs import Outcome, VerdictRecord
from dspy_proact.stats import Estimate, part_mean

MEASURES = {measure.name: measure for measure in decision_measures("acted")}


def outcome(number: int, parts: dict[str, float]) -> Outcome:
    verdict = VerdictRecord(label="ANY", score=0.0, verified=None, detail={}, parts=parts)
    return Outcome("all", f"stream-{number % 5}", "scored", "ANY", key=str(number), verdicts=(verdict,))


def values(decisions, cost=1.0):
    outcomes = [outcome(number, decision.parts(cost)) for number, decision in enumerate(decisions)]
    return {name: measured(measure, outcomes, (-inf, inf)).value for name, measure in MEASURES.items()}


def test_measures_are_those_that_are_worked_by_hand():
    """3 acts that were right, 2 that were wrong, 4 silences that were right and 1 that was wrong: 10 moments.

    Wanted 4, of which 3 were acted on; not wanted 6, of which 2. Recall 3/4, precision 3/5, F1 6/9, accuracy 7/10;
    balanced accuracy (3/4 + 4/6) / 2; chance agreement .4 x .5 + .6 x .5 = .5, so kappa (.7 - .5) / .5; the value at
    a cost of 2 is (3 - 4) / 10.
    """
    judged = [(True, True)] * 3 + [(True, False)] * 2 + [(False, True)] * 4 + [(False, False)]
    assert values([Decision.judged(*pair) for pair in judged], cost=2.0) == pytest.approx(
        {
            "recall": 3 / 4,
            "precision": 3 / 5,
            "accuracy": 7 / 10,
            "false_alarm": 2 / 5,
            "f1": 2 / 3,
            "acted": 1 / 2,
            "balanced_accuracy": (3 / 4 + 2 / 3) / 2,
            "kappa": 0.4,
            "value": -0.1,
        }
    )


def test_a_decision_is_right_where_it_acts_as_was_wanted():
    for acted, wanted in ((True, True), (True, False), (False, True), (False, False)):
        decision = Decision(acted, wanted)
        assert decision.right == (acted == wanted)
        assert Decision.judged(acted, decision.right) == decision
        assert ("false_alarm" in decision.parts(1.0)) == acted
    assert Decision(acted=False, wanted=True).parts(5.0)["value"] == 0


WANTED = [number % 5 < 2 for number in range(1000)]
"""Wanted at 2 of 5 moments."""


def by_rule(**settings):
    rules = Rules(**settings)
    return [Decision(rules.acts(str(number), number + 1), wanted) for number, wanted in enumerate(WANTED)]


def test_rules_give_their_closed_forms():
    """With p = .4: always has recall 1, precision and accuracy p, F1 2p / (1 + p), value p - c (1 - p)."""
    p, cost = 0.4, 3.0
    always = values(by_rule(baseline="always"), cost)
    assert [always[name] for name in ("recall", "precision", "accuracy", "balanced_accuracy", "kappa")] == [
        1,
        p,
        p,
        0.5,
        0,
    ]
    assert (always["f1"], always["false_alarm"]) == pytest.approx((2 * p / (1 + p), 1 - p))
    assert always["value"] == pytest.approx(p - cost * (1 - p))
    never = values(by_rule(baseline="never"), cost)
    assert [never[name] for name in ("recall", "accuracy", "balanced_accuracy", "value")] == [0, 1 - p, 0.5, 0]
    assert (never["precision"], never["false_alarm"]) == (None, None)
    # Independent of what is wanted: recall is the rate r, precision p, the value r (p - c (1 - p)).
    rate = 0.3
    drawn = values(by_rule(baseline="random", rate=rate), cost)
    assert drawn["acted"] == pytest.approx(rate, abs=0.05)
    assert (drawn["recall"], drawn["precision"]) == (pytest.approx(rate, abs=0.07), pytest.approx(p, abs=0.08))
    assert drawn["balanced_accuracy"] == pytest.approx(0.5, abs=0.05)
    assert drawn["value"] == pytest.approx(rate * (p - cost * (1 - p)), abs=0.12)
    assert values(by_rule(baseline="every-nth", nth=4))["acted"] == 0.25


def test_random_decides_by_key_and_seed_and_a_rule_is_known_by_its_settings():
    first, again, other = (by_rule(baseline="random", seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert (
        ByRule(Rules(baseline="random", seed=1)).fingerprint() != ByRule(Rules(baseline="random", seed=2)).fingerprint()
    )
    assert Rules().rules_without_effect == dict.fromkeys(["nth", "rate", "seed"], "baseline=none")
    assert Rules(baseline="random").rules_without_effect == {"nth": "baseline=random"}


class Priced(Rules):
    cost: float = 1.0


def estimates(decisions, **settings):
    """As a report of a run with these settings has them."""
    under = Priced(**settings)
    outcomes = [outcome(number, decision.parts(under.cost)) for number, decision in enumerate(decisions)]
    own = {name: measure.under(under) for name, measure in MEASURES.items()}
    return {name: measured(measure, outcomes, bounds_of(measure, outcomes)) for name, measure in own.items()}


def test_what_a_rule_fixes_has_no_interval():
    always, never = (estimates(by_rule(baseline=rule), baseline=rule) for rule in ("always", "never"))
    fixed = [
        (always["recall"], 1),
        (always["acted"], 1),
        (never["recall"], 0),
        (never["acted"], 0),
        (never["value"], 0),
    ]
    for estimate, value in fixed:
        assert estimate == Estimate(value, reason="fixed by the rule")
    # What depends on when help was wanted is none of them.
    assert None not in (always["precision"].low, always["value"].low, never["accuracy"].low)


def test_silence_of_a_model_is_worth_0_without_a_bound_that_it_never_reached():
    silent = estimates([Decision(acted=False, wanted=wanted) for wanted in WANTED])
    assert silent["value"] == Estimate(0, reason="no variance between groups")
    # That it acts never is found in five streams alone: at most 1 - .025^(1/5) of moments.
    assert (silent["acted"].value, silent["acted"].high) == (0, pytest.approx(1 - 0.025 ** (1 / 5)))


@pytest.mark.parametrize("cost", [0.5, 3.0])
def test_the_value_has_an_interval_within_minus_its_cost_and_1(cost):
    """Right in three streams, wrong in one and silent in one: though no value may lie below 0, the bound does."""
    right = estimates([Decision(True, True)] * 3 + [Decision(True, False), Decision(False, True)], cost=cost)["value"]
    assert right.low == max(-cost, part_mean([1, 1, 1, -cost, 0], range(5)).low)
    assert (right.high, right.low < 0) == (1, True)


def test_precision_and_one_minus_false_alarm_are_one_number_with_one_interval():
    judged = [Decision(number % 3 > 0, number % 4 > 0) for number in range(100)]
    result = estimates(judged)
    precision, false = result["precision"], result["false_alarm"]
    mirrored = (1 - false.value, 1 - false.high, 1 - false.low)
    assert (precision.value, precision.low, precision.high) == pytest.approx(mirrored)
    assert precision.low is not None
