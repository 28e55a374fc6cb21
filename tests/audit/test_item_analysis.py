"""Items of a corpus by the answers of several models: rows, checks and refusals, from what runs hold."""

import json
from dataclasses import replace

import numpy as np
import pytest
from builders.runs import manifest, outcome, summary

from dspy_proact.audit.items import item_analysis
from dspy_proact.errors import UsageError
from dspy_proact.report.numbers import document

KEYS = tuple(f"d{number:02d}" for number in range(24))


def run(model, grades, **changes):
    """A run that graded the triggers in order so: a letter each, P, A (partial), F, or - for unscored."""
    words = {"P": "PASS", "A": "PARTIAL", "F": "FAIL", "-": None}
    outcomes = [outcome(key, words[grade], group=key) for key, grade in zip(KEYS, grades, strict=False)]
    return summary(*outcomes, model=model, path=f"runs/{model}", **changes)


def check(analysis, name):
    (one,) = [one for one in analysis.checks if one.name == name]
    return one


def test_runs_and_programs_of_one_model_are_one_respondent():
    """One of two runs of m passes the first trigger: its score there is .5, and with n's 1 the mean is .75."""
    analysis = item_analysis([run("m", "PF"), run("n", "PP"), replace(run("m", "FF"), path="runs/other")])
    assert [(row.model, row.paths) for row in analysis.models] == [
        ("m", ("runs/m", "runs/other")),
        ("n", ("runs/n",)),
    ]
    assert [item.figures.difficulty.value for item in analysis.items] == [0.75, 0.5]
    assert [(row.before, row.items) for row in analysis.models] == [(0.25, 2), (1.0, 2)]


def test_judges_of_different_runs_disagree_on_one_response():
    """Both runs have the same responses of m: the verdicts on the first differ, those on the second agree."""
    analysis = item_analysis([run("m", "PF"), replace(run("m", "FF"), path="runs/judged again")])
    assert [item.figures.split for item in analysis.items] == [(1, 1), (0, 1)]
    assert check(analysis, "judges disagree").sentence.startswith("In 1 of 2 pairs of a model and a trigger verdicts")


def test_a_run_that_covers_a_part_counts_where_it_has_a_score():
    analysis = item_analysis([run("m", "PFP"), run("n", "PP"), run("o", "P-")])
    assert [item.figures.models for item in analysis.items] == [3, 2, 1]
    assert [item.figures.unscored for item in analysis.items] == [(0, 3), (1, 3), (0, 1)]


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (run("n", "P", benchmark="probe"), "are runs of proactbench and probe; give runs of one corpus"),
        (run("n", "P", manifest=manifest(corpus_sha256="dd")), "different corpora, two versions of c.jsonl"),
        (summary(outcome("elsewhere", "PASS"), path="runs/n"), "have no trigger in common"),
    ],
)
def test_runs_of_another_corpus_are_refused(other, sentence):
    with pytest.raises(UsageError, match=sentence):
        item_analysis([run("m", "P", manifest=manifest()), other])


# What checks say.


def planted(models=16, items=40, *, wrong=(), seed=4):
    """Runs of models of rising ability; at wrong triggers the worse ones pass."""
    rng = np.random.default_rng(seed)
    keys, runs = [f"d{number:02d}" for number in range(items)], []
    for ability in np.linspace(-2, 2, models):
        outcomes = []
        for key, hard in zip(keys, np.linspace(-1, 1, items), strict=True):
            chance = 1 / (1 + np.exp(3 * (hard - ability) * (-1 if key in wrong else 1)))
            outcomes.append(outcome(key, "PASS" if rng.random() < chance else "FAIL", group=key))
        runs.append(summary(*outcomes, model=f"m{len(runs)}", path=f"runs/{len(runs)}"))
    return runs


def test_a_trigger_that_better_models_fail_is_named_with_its_correlation():
    analysis = item_analysis(planted(wrong=("d20",)))
    assert [item.key for item in analysis.flagged] == ["d20"]
    one = check(analysis, "discrimination")
    assert (one.state, one.tested, [finding.key for finding in one.findings]) == ("failed", 40, ["d20"])
    assert one.findings[0].problem.startswith("Models that are better at the rest score lower here: correlation -0.")
    assert one.sentence == (
        "In 1 of 40 triggers models that are better at the rest score lower (95 % interval below 0; by chance about "
        "1.0 would, if no trigger were related to the rest), in 1 after Holm over all triggers and tests."
    )
    assert (one.p or 1) <= 0.05


def test_a_corpus_without_such_a_trigger_is_not_accused():
    analysis = item_analysis(planted())
    states = {one.name: one.state for one in analysis.checks if one.state != "reported"}
    assert states == {"discrimination": "passed", "judges disagree": "not tested", "unscored": "passed"}
    assert analysis.flagged == ()
    assert check(analysis, "what dropping would change").sentence == (
        "No trigger is flagged, so that none would be dropped."
    )
    assert check(analysis, "judges disagree").sentence == "No response has several verdicts."


def test_a_flag_that_does_not_hold_over_all_is_reported():
    """Six models are enough for an interval below 0, and too few for a test over 40 triggers."""
    one = check(item_analysis(planted(6, wrong=("d20",), seed=0)), "discrimination")
    assert (one.state, [finding.key for finding in one.findings]) == ("reported", ["d20"])
    assert one.sentence.endswith("in none after Holm over all triggers and tests.")


def test_what_dropping_changes_is_also_measured_by_flags_of_other_models():
    """d20 is passed by half of the models, as all are in the mean: without it the mean score hardly changes."""
    analysis = item_analysis(planted(wrong=("d20",)))
    one = check(analysis, "what dropping would change")
    assert "Without the 1 flagged trigger the mean score over models changes by" in one.sentence
    assert "which can flatter, since the same answers choose what to drop; by flags of the other half" in one.sentence
    assert one.estimate == analysis.split_change
    row = analysis.models[0]
    assert row.change.value == pytest.approx((row.after or 0) - (row.before or 0))
    few = item_analysis([run(f"m{number}", "P" * 5 + "F" * 15 + "-") for number in range(6)])
    assert "by flags of other models the change is not known (fewer than 10 models)" in (
        check(few, "what dropping would change").sentence
    )


def test_triggers_at_an_end_are_counted_beside_what_chance_leaves():
    """Of two models both fail the first 12 and pass the last 12: rates differ as much as they can, as expected."""
    analysis = item_analysis([run(model, "F" * 12 + "P" * 12) for model in "mn"])
    assert check(analysis, "nobody passes").sentence == (
        "12 of 24 triggers are passed by no model; about 12.0 would be by chance, from how difficult the triggers are."
    )
    alone = item_analysis([run("m", "FPPP")])
    assert check(alone, "everybody passes").sentence == (
        "3 of 4 triggers are passed by every model in every answer; how many would be by chance is not known: that "
        "takes 20 triggers and two models."
    )


def test_a_trigger_that_is_often_unscored_is_named():
    analysis = item_analysis([run(f"m{number}", "-" + "PF" * 11) for number in range(6)])
    one = check(analysis, "unscored")
    assert (one.state, [finding.key for finding in one.findings]) == ("failed", ["d00"])
    assert one.sentence.startswith("In 6 of 138 pairs of a model and a trigger a response has no score; in 1 of 23")
    assert one.findings[0].problem == "For 6 of 6 models a response has no score, more often than elsewhere."


@pytest.mark.parametrize(
    ("models", "name", "sentence"),
    [
        (
            4,
            "discrimination",
            "A correlation with the rest takes 5 models, not 4; runs and programs of one model count as one.",
        ),
        (2, "reliability", "It is not known: fewer than 3 models."),
        (6, "discrimination", "No trigger has scores of enough models that differ."),
    ],
)
def test_what_takes_more_models_is_not_tested(models, name, sentence):
    analysis = item_analysis([run(f"m{number}", "PF" * 4) for number in range(models)])
    assert (check(analysis, name).state, check(analysis, name).sentence) == ("not tested", sentence)


def test_runs_without_a_score_say_so():
    analysis = item_analysis([run("m", "--"), run("n", "--")])
    assert check(analysis, "difficulty").sentence == "No trigger has a score."
    assert check(analysis, "nobody passes").sentence == "No trigger has a score."
    assert [(row.before, row.change.value) for row in analysis.models] == [(None, 0.0), (None, 0.0)]


def test_reliability_has_its_interval_and_the_error_of_a_total():
    one = check(item_analysis(planted()), "reliability")
    assert one.estimate is not None
    assert one.estimate.low is not None
    assert one.sentence.startswith("Reliability of the mean score, with scenarios as its parts (alpha): 0.9")
    assert one.sentence.endswith("points beside the others'.")


def test_a_rule_in_place_of_a_model_is_a_respondent_of_its_own():
    """Two baselines and their model, which is called rule in both runs."""
    identity = manifest().identity
    rules = [
        run("rule", "P", manifest=manifest(identity=identity.model_copy(update={"settings": {"baseline": name}})))
        for name in ("never", "always")
    ]
    assert [row.model for row in item_analysis([*rules, run("m", "F")]).models] == ["rule never", "rule always", "m"]


def test_the_analysis_is_a_document_without_nan_that_has_the_flags():
    written = json.loads(json.dumps(document(item_analysis(planted(wrong=("d20",)))), allow_nan=False))
    assert [item["key"] for item in written["items"] if "negative" in item["figures"]["flags"]] == ["d20"]
