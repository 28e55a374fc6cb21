"""What simulators of eval/support draw is what they say that they draw; and how shares of data sets are judged."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from builders.judges import graded
from support.bands import Band
from support.probe_tasks import EVIDENCE, Size, synthetic_tasks, write_synthetic
from support.rated import RatedStudy, RatedWorld, simulate_rated
from support.synthetic_study import LEVELS, permuted_within_phase, rater_kappa, synthetic_items, synthetic_ratings

from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.task import ProbeView
from dspy_proact.stats import Panel, improvement

WORLD = RatedWorld(0.33, 0.5)


def test_the_rated_are_drawn_in_equal_numbers_by_label_or_evenly():
    rng = np.random.default_rng(3)
    drawn = simulate_rated(rng, [WORLD], RatedStudy(25, 60, 18, 3))
    counts = [
        sum(rated for label, rated in zip(drawn.labels, drawn.rated, strict=True) if label == own)
        for own in (0, 0.5, 1)
    ]
    assert counts == [20, 20, 20]
    assert (len(drawn.raters), set(drawn.times[drawn.rated])) == (180, {3})
    evenly = simulate_rated(rng, [WORLD], RatedStudy(400, 2000, 18, 1), by_label=False)
    assert np.mean(evenly.scores[evenly.rated]) == pytest.approx(evenly.scores.mean(), abs=0.02)


def test_a_share_may_be_out_by_two_standard_errors_of_the_edge():
    # Of 1,000 data sets 1.6 points at 93 %, and .9 at 98.
    band = Band(0.93, 0.98)
    assert [band.holds(share, 1000) for share in (0.913, 0.914, 0.988, 0.989)] == [False, True, True, False]
    assert not band.holds(0.914, 10_000)


def agreement(levels, ratings):
    items = sorted(graded(ratings), key=lambda entry: entry.key)  # the order of the levels
    panel = Panel.of([[rating.grade for rating in item.grades[""]] for item in items], LEVELS)
    phases, scenarios = [item.case.stratum for item in items], [item.group for item in items]
    return improvement(levels, levels, panel, phases, scenarios, order=list(Phase)).overall.before.value


def levels_with(cuts, items):
    return [sum(item.step.strength >= cut for cut in cuts) for item in items]


def test_permuted_labels_are_the_same_labels_and_say_nothing():
    items = synthetic_items(0, 2000)
    ratings = synthetic_ratings(0, items)
    permuted = permuted_within_phase(ratings, 0)
    assert permuted.items == ratings.items
    assert permuted == permuted_within_phase(ratings, 0)
    phase = {item.item.key: item.item.stratum for item in items}
    grades = [Counter((phase[row.key], row.grade) for row in study.grades) for study in (ratings, permuted)]
    assert grades[0] == grades[1]
    assert {len(rating) for rating in permuted.by_item.values()} == {3}
    assert rater_kappa(permuted) == pytest.approx(rater_kappa(ratings))
    assert abs(agreement(levels_with((0.675, 0.95), items), permuted)) < 0.07


SMALL = Size(items=10, words=30, actions=4)


def test_the_same_arguments_give_the_same_tasks_and_more_begin_with_fewer():
    tasks = list(synthetic_tasks(1, 6, SMALL))
    assert tasks[:3] == list(synthetic_tasks(1, 3, SMALL))
    assert tasks != list(synthetic_tasks(2, 6, SMALL))
    with pytest.raises(ValueError, match="more than 6 items"):
        synthetic_tasks(0, 1, Size(items=6))


def test_they_are_valid_and_their_evidence_tells_every_right_value(tmp_path: Path):
    folder, zips = tmp_path / "folder", tmp_path / "zips"
    for path in (folder, zips):
        path.mkdir()
        write_synthetic(path, 0, 9, SMALL, zipped=path is zips)
    tasks = load_tasks(str(folder))
    assert (tasks.sha256, tasks.corpus.ignored_fields) == (load_tasks(str(zips)).sha256, {})
    assert (len(tasks.cases), len({case.group for case in tasks.cases})) == (9, 3)
    views = [case.view_as(ProbeView) for case in tasks.cases]
    assert len({(view.world.person, view.gold.action) for view in views}) == 9
    for view in views:
        assert EVIDENCE[0] <= len(view.gold.evidence) <= EVIDENCE[1]
        shown = " ".join(item.model_dump_json() for item in view.items if item.id in view.gold.evidence)
        assert view.gold.parameters
        assert all(value in shown for value in view.gold.parameters.values())
