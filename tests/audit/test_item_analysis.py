"""Items of a corpus by the answers of several models: rows, checks and refusals, from what runs hold."""

from dataclasses import replace

import pytest
from builders.runs import manifest, outcome, summary

from dspy_proact.audit.items import item_analysis
from dspy_proact.errors import UsageError

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
