import numpy as np
import pytest
from support.panels import PanelDesign, simulate_panel

from dspy_proact.stats import attainable_kappa, human_reference, kappa

SHARES = (0.45, 0.32, 0.23)


@pytest.mark.parametrize(("agreement", "best"), [(0.15, 0.36), (0.28, 0.49), (0.36, 0.55), (0.68, 0.80)])
def test_the_best_judge_with_three_grades_of_the_facts(agreement: float, best: float):
    # Below the root of the agreement: .39, .53, .60, .82.
    assert attainable_kappa(agreement, SHARES) == pytest.approx(best, abs=0.02)
    assert attainable_kappa(agreement, SHARES) < agreement**0.5


def test_it_is_what_the_best_cuts_of_the_true_levels_reach():
    study = simulate_panel(np.random.default_rng(3), PanelDesign(1, 20_000, 2, 0.5), fresh=True)
    person = human_reference(study.ratings, [0] * 20_000, [0, 1, 2], [place % 2 for place in range(20_000)]).one_human
    ratings = np.array([given[0] for given in study.ratings])
    cuts = np.linspace(-1.5, 1.5, 31)
    reached = max(
        kappa(
            np.histogram2d(ratings, np.digitize(study.levels, pair), bins=[[-0.5, 0.5, 1.5, 2.5]] * 2)[0], "quadratic"
        )
        or 0
        for pair in ((low, high) for low in cuts for high in cuts if low < high)
    )
    assert person.value is not None
    shares = np.bincount(ratings) / len(ratings)
    assert attainable_kappa(round(person.value, 3), (shares[0], shares[1], shares[2])) == pytest.approx(
        reached, abs=0.02
    )


def test_people_who_agree_fully_let_a_judge_do_so():
    assert attainable_kappa(1, SHARES) == 1


def test_a_grade_that_nobody_gives_is_no_hindrance():
    assert 0.3 < attainable_kappa(0.3, (0, 0.5, 0.5)) < 0.3**0.5


def test_where_people_do_not_agree_nothing_is_best():
    with pytest.raises(ValueError, match="beyond chance"):
        attainable_kappa(0, SHARES)
