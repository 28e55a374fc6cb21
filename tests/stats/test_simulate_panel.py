import numpy as np

from dspy_proact.stats import PanelDesign, simulate_panel

DESIGN = PanelDesign(groups=12, items=60, raters=6, leniency=0.5)


def test_a_study_is_as_large_as_was_asked_for():
    study = simulate_panel(np.random.default_rng(1), DESIGN)
    assert set(study.groups) == set(range(12))
    assert [len(given) for given in study.ratings] == [len(people) for people in study.raters]
    assert all(len(set(people)) == len(people) <= 5 for people in study.raters)
    assert {who for people in study.raters for who in people} == set(range(6))
    assert study.judges.shape == (2, 60)
    assert {level for given in study.ratings for level in given} | set(study.judges.ravel().tolist()) == {0, 1, 2}


def test_the_same_seed_draws_the_same_study():
    one, other = (simulate_panel(np.random.default_rng(1), DESIGN) for _ in range(2))
    assert (one.ratings, one.raters, one.groups) == (other.ratings, other.raters, other.groups)


def test_leniency_sets_raters_apart():
    """With 400 ratings each the means of equal raters differ by about .04, of lenient and strict ones by far more."""

    def apart(leniency: float) -> float:
        study = simulate_panel(np.random.default_rng(2), PanelDesign(100, 800, 6, leniency))
        given: dict[int, list[int]] = {}
        for ratings, raters in zip(study.ratings, study.raters, strict=True):
            for level, who in zip(ratings, raters, strict=True):
                given.setdefault(who, []).append(level)
        return float(np.std([np.mean(levels) for levels in given.values()]))

    assert apart(0) < 0.1 < apart(0.5)


def test_fresh_raters_give_one_rating_each():
    study = simulate_panel(np.random.default_rng(1), DESIGN, fresh=True)
    raters = [who for people in study.raters for who in people]
    assert len(set(raters)) == len(raters)
    assert len(set(study.groups)) == 60
