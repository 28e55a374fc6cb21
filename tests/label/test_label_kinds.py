"""Every kind of label goes once from the app to `agree`: grades by a rubric, parts of a grading, accept or reject."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from drivers.labelling import joined, rating, serving

from dspy_proact import Evaluation, RunFolder, summarize
from dspy_proact.evaluation.people import parts_of
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.label.serving import open_study
from dspy_proact.label.study import PREFERENCE, Design


def rate_all(served, collection, grade):
    """A rater who practises, and then gives each item its grade, with the first word marked; how many that are."""
    ann, right, count = joined(served, "Ann"), {one.item.key: one.grade for one in collection.practice}, 0
    items = {item.key: item for item in collection.items}
    while True:
        page = ann.get("/rate")
        with suppress(ValueError):
            key = page.field("item")
            if key in right:
                assert ann.post("/practice", {"item": key, "grade": right[key]}).json["correct"]
                continue
            spans = "[]" if items[key].part == PREFERENCE else "[[0, 3]]"
            answer = ann.post("/rate", rating(page, grade=grade(items[key]), spans=spans))
            assert answer.status == 200, answer.text
            count += 1
            continue
        return count


@pytest.mark.parametrize("benchmark", ["proactbench", "probe", "proactiveagent"])
def test_labels_go_from_the_app_to_agree(done, request, benchmark):
    """Ann gives every item its best grade; of each part as many are asked for as were drawn."""
    request.getfixturevalue(benchmark)
    declared = benchmark_named(benchmark)
    Evaluation("sample", benchmark=benchmark).run(Path("run"))
    design = Design(count=3, ratings=1, raters=1, repeated=0.0)
    collection = open_study(Path("study.db"), declared, [summarize(RunFolder(Path("run")))], design)
    with serving(collection) as served:
        parts = parts_of(declared)
        assert rate_all(served, collection, lambda item: item.levels[0]) == 3 * len(parts)
    out = done("agree", "--ratings", "study.db", "--json")[0]
    document = json.loads(out)
    studies = document["parts"] if benchmark == "probe" else {"grade": document}
    assert {name: one["pooled"]["items"] for name, one in studies.items()} == {
        part.name or "grade": 3 for part in parts
    }
    assert {(one["ratings"]["ratings"], one["ratings"]["raters"]) for one in studies.values()} == {(3, 1)}
    assert document["marked_words"][0]["marked"] == 3


def test_grades_that_no_command_reads_are_not_collected(proactivebench, proact):
    """ProactiveBench grades by its own rule, and `agree --ratings` refuses it: so does the command that collects."""
    Evaluation("sample", benchmark="proactivebench").run(Path("run"))
    status, _, err = proact("label", "serve", "run", "--no-browser")
    assert (status, "proactivebench: no command reads people's grades of it" in err) == (2, True), err
    assert not Path("labels/run.db").exists()
