from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import Figure, Repeats, repeats

law = settings(deadline=None, max_examples=25)
# One row is (score, trigger, epoch); a trigger's scenario is its number over 2.
Rows = list[tuple[float, int, int]]
rows: st.SearchStrategy[Rows] = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 7), st.integers(0, 2)), max_size=50
)


def of(table: Sequence[tuple[float, int, object]]) -> Repeats:
    scores, cases, responses = zip(*table, strict=True) if table else ((), (), ())
    return repeats(scores, cases, responses, [case // 2 for case in cases])


def figures(result: Repeats) -> dict[str, float | None]:
    return {name: figure.value for name, figure in vars(result).items()}


# Worked by hand.


def test_a_balanced_design_by_hand():
    # Trigger 1: responses (1, 1) and (.5, .5); trigger 2: (0, 0) and (0, .5).
    # Verdicts: .125 / 4 = .03125. Responses: (4 * .0625 + 4 * .015625) / 2 = .15625, (.15625 - .03125) / 2 = .0625.
    # Triggers: means .75 and .125: 8 * .3125^2 = .78125, (.78125 - .15625) / 4 = .15625.
    scores, groups = [1, 1, 0.5, 0.5, 0, 0, 0, 0.5], list("AAAABBBB")
    result = repeats(scores, [1, 1, 1, 1, 2, 2, 2, 2], [1, 1, 2, 2, 1, 1, 2, 2], groups)
    assert figures(result) == pytest.approx(
        {
            "case_variance": 0.15625,
            "within_variance": 0.09375,
            "response_variance": 0.0625,
            "judge_variance": 0.03125,
            # One trigger in each scenario.
            "design_effect": 1,
            # 9 * .09375 / .15625 = 5.4; 9 * .03125 / (.15625 + .0625) = 1.29.
            "epochs_worth": 6,
            "judge_epochs_worth": 2,
        }
    )


def test_an_unbalanced_design_by_hand():
    # Trigger 1: responses (1, 1) and (.5); trigger 2: (0). No verdicts differ on a response: judge 0.
    # Responses: 2 / 36 + 1 / 9 = 1/6; spread 5/3 + 1 = 8/3: (1/6) / (4 - 8/3) = .125.
    # Triggers: mean .625: 3 (5/24)^2 + .625^2 = .520833; of replies 8/3 - 6/4 = 7/6, of triggers 4 - 10/4 = 1.5:
    # (.520833 - 7/6 * .125) / 1.5 = .25.
    result = repeats([1, 1, 0.5, 0], [1, 1, 1, 2], ["a", "a", "b", "c"], list("AAAB"))
    assert result.judge_variance == Figure(0)
    assert result.response_variance.value == pytest.approx(0.125)
    assert result.case_variance.value == pytest.approx(0.25)
    assert (result.epochs_worth, result.judge_epochs_worth) == (Figure(5), Figure(1))


def test_likeness_within_scenarios_widens_the_mean():
    # Four triggers, the same within each of two scenarios: of the mean, .5, SE^2 = 2 * .25^2 / .5 = .25 by scenarios,
    # and (1/3) / 4 = 1/12 by triggers.
    result = repeats([1, 1, 0, 0], range(4), range(4), list("AABB"))
    assert result.design_effect.value == pytest.approx(3)


@law
@given(rows)
def test_variances_are_at_least_zero_and_the_rules_hold(table: Rows):
    result = of(table)
    assert all(value is None or value >= 0 for value in figures(result).values())
    if result.epochs_worth.value is not None and result.epochs_worth.value > 1:
        left = (result.design_effect.value or 0) * (result.case_variance.value or 0)
        noise = [(result.within_variance.value or 0) / (result.epochs_worth.value - less) for less in (0, 1)]
        assert noise[0] <= 0.1 * (left + noise[0]) * (1 + 1e-6)
        assert noise[1] > 0.1 * (left + noise[1])


WITHIN = ["response_variance", "judge_variance", "judge_epochs_worth"]
RESPONSES = ["case_variance", "within_variance", "response_variance", "epochs_worth"]


@pytest.mark.parametrize(
    ("table", "message", "reason", "unknown"),
    [
        ([(1, 0, 0), (0, 1, 0), (0.5, 2, 0)], {}, "no repeated verdicts", ["judge_variance", "judge_epochs_worth"]),
        ([(1, 0, 0), (0, 1, 0), (0.5, 2, 0)], {}, "no repeated responses", RESPONSES),
        # Trigger 0: 1 and .5, trigger 1 (of the same scenario): 0 and .5, trigger 2: 0 and 0.
        (
            [(1, 0, 0), (0.5, 0, 1), (0, 1, 0), (0.5, 1, 1), (0, 2, 0), (0, 2, 1)],
            {"within_variance": (0.125 + 0.125) / 3},
            "no repeated verdicts",
            WITHIN,
        ),
        (
            [(1, 0, 0), (0.5, 0, 0), (0, 1, 0), (0, 1, 0), (0, 2, 0)],
            {"judge_variance": 0.125 / 2},
            "no repeated responses",
            RESPONSES,
        ),
        ([(1, 0, 0), (0, 0, 1)], {"within_variance": 0.5}, "one case", ["case_variance", "epochs_worth"]),
        ([(1, 0, 0), (0, 0, 1)], {}, "one group", ["design_effect"]),
        # Each trigger 1 and 0: means alike, so that between them nothing is left after noise.
        (
            [(1, 0, 0), (0, 0, 1), (0, 2, 0), (1, 2, 1)],
            {"case_variance": 0},
            "no variance between cases",
            ["design_effect", "epochs_worth"],
        ),
        # A design effect alone does not help: responses differ by more than triggers do.
        (
            [(1, 0, 0), (0, 0, 1), (0, 2, 0), (1, 2, 1), (0.5, 4, 0), (0, 4, 1)],
            {},
            "no variance between cases",
            ["epochs_worth"],
        ),
        ([], {}, "no scores", ["design_effect", "case_variance"]),
    ],
)
def test_what_cannot_be_told_says_why(table: Rows, message: dict[str, float], reason: str, unknown: list[str]):
    result = of(table)
    assert {name: figures(result)[name] for name in message} == pytest.approx(message)
    assert {name: vars(result)[name] for name in unknown} == dict.fromkeys(unknown, Figure(None, reason))
