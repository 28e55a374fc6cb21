"""The audit of samples: what asks the same twice, and what gives its answer away."""

import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from dspy_proact.audit.audit import Audit, benchmark_of_corpus

SAMPLE = Path(str(files("dspy_proact.benchmarks.proactivebench") / "data" / "sample"))
FILE = "QuickDraw_preprocessed.jsonl"


@pytest.fixture
def corpus(tmp_path):
    """A copy of the bundled sample, some entries of which are changed, or are there twice under another id."""

    def write(change=None, more=0):
        folder = tmp_path / "corpus"
        shutil.copytree(SAMPLE, folder)
        entries = [json.loads(line) for line in (SAMPLE / FILE).read_text("utf-8").splitlines()]
        entries[0] |= change or {}
        last = max(entry["id"] for entry in entries)
        entries += [{**entries[0], "id": last + number + 1} for number in range(more)]
        (folder / FILE).write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
        return folder

    return write


def checks(folder):
    return {check.name: check for check in Audit(folder).checks}


@pytest.fixture(autouse=True)
def unfiltered(monkeypatch):
    """The paper's filter is of the published entries; it would leave these out by their ids."""
    from dspy_proact.benchmarks.proactivebench import corpus as module

    monkeypatch.setattr(module, "kept_ids", dict)


def test_a_copy_of_the_sample_fails_no_check_and_is_known_by_its_files(corpus):
    folder = corpus()
    assert benchmark_of_corpus(str(folder)).name == "proactivebench"
    assert [check.name for check in checks(folder).values() if check.state == "failed"] == []


def test_the_same_question_about_the_same_image_fails(corpus):
    check = checks(corpus(more=1))["repeated samples"]
    assert check.state == "failed"
    assert check.sentence == "1 of 29 samples asks the same about the same image as another."


def test_a_question_that_holds_the_right_answer_alone_fails(corpus):
    entry = json.loads((SAMPLE / FILE).read_text("utf-8").splitlines()[0])
    check = checks(corpus({"prompt": f"Is this {entry['answer']}, or what?"}))["answers in questions"]
    assert check.state == "failed"
    assert check.findings[0].problem == "Its question holds the right answer and no other."


def test_both_answers_in_a_question_give_nothing_away(corpus):
    entry = json.loads((SAMPLE / FILE).read_text("utf-8").splitlines()[0])
    one, other = entry["categories"][:2]
    assert checks(corpus({"prompt": f"Is this {one} or {other}?"}))["answers in questions"].state == "passed"


def test_a_place_that_the_right_answer_always_has_is_reported(corpus):
    by_name = checks(corpus(more=9))
    # Ten of the thirteen are one entry; the other three have places of their own, or the same.
    assert by_name["position of the answer"].state == "reported"
    assert by_name["commonest answer"].sentence.endswith("is right most often in QD: in 77% of its samples.")
