"""`dspy-proact rejudge`: another judge on responses that exist, of a run or of a results file."""

import json
from pathlib import Path

import pytest
from official_package import installed, missing
from proact_run import RESPONSE, manifest, run_of, trigger, written
from results_rows import corpus_with, file_with, result_point, result_row
from rows import row
from server import Answer, verdict
from typed import last

from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path
from dspy_proact.runs import RunFolder


def by(server, *more, judge="hosted_vllm/second", out="child"):
    """The options of a rejudging by a judge at the server."""
    return ["--judge", judge, "--judge-api-base", server.judge, "--retries", 0, "--out", out, *more]


@pytest.fixture
def run():
    """A run of three triggers, graded PASS, PARTIAL and FAIL by openai/j, in the working folder."""
    cases = [trigger(f"d{number}", scenario=f"S{number}") for number in range(3)]
    return lambda folder: run_of(folder / "parent", zip(cases, ("PASS", "PARTIAL", "FAIL"), strict=True)).path


def lenient(sent):
    """A judge that passes everything, and quotes what stands there."""
    return Answer(verdict("PASS", ["Label the boxes today"]))


def official(score="Pass", status="EVALUATED"):
    result = {"status": status, "score": score, "rationale": "r", "evidence": "Label the boxes"}
    return Answer(json.dumps({"evaluation_result": result}))


# A run


def test_the_new_grades_are_shown_and_both_judges_compared(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lenient
    status, out, err = proact("rejudge", "parent", *by(server))
    text = " ".join(out.split())
    assert status == 0
    for said in (
        "on 3 triggers of the corpus c.jsonl, judged by hosted_vllm/second.",
        "assistant: 0 calls",
        "openai/j and hosted_vllm/second on 3 responses: same grade 33.3",
        "flips from the first to the second: PARTIAL -> PASS 1, FAIL -> PASS 1.",
        "Mean score of the second minus the first: +50.0",  # (0 + 0.5 + 1) / 3
    ):
        assert said in text
    assert err.endswith("The run is in child.\nNext: dspy-proact compare parent child\n")
    assert err.count("Next:") == 1
    again = proact("rejudge", "parent", *by(server))
    assert (again[0], again[1], len(server.sent), "no calls were made" in again[2]) == (0, out, 3, True)
    document = json.loads(proact("rejudge", "parent", *by(server, "--json"))[1])
    judges = document.pop("judges")
    assert document == json.loads(proact("report", "child", "--json")[1])
    assert judges == json.loads(proact("compare", "parent", "child", "--json")[1])["judges"]
    assert judges["table"]["PARTIAL"] == {"PASS": 1, "PARTIAL": 0, "FAIL": 0}


def test_without_a_judge_the_stand_in_judges_its_own_and_the_papers_judge_others(proact, refused, run, tmp_path):
    run_of(tmp_path / "embedded", [(trigger(), "PASS")], "embedded", model="embedded", embedded=True)
    status, out, _ = proact("rejudge", "embedded", "--out", "first")
    assert (status, ", judged by embedded. " in " ".join(out.split())) == (0, True)
    run(tmp_path)
    assert "--judge openai/gpt-5.4: no key. Set OPENAI_API_KEY" in refused("rejudge", "parent")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["parent", "--corpus", "sample"], "--corpus is for results files; a run knows its corpus"),
        (["owing"], "no response in it yet"),
        (["parent", "--judge", "hosted_vllm/second"], "name each judge once"),
        (["parent", "--out", "other"], "other: holds another run, which differs in"),
        (["parent", "--out", "parent"], "parent: holds another run, which differs in judge.decoding"),
        (["results.jsonl"], "a results file holds no conversations; name the corpus that it answers with --corpus"),
        (["dropped.jsonl"], "--corpus"),
        (["corpus.jsonl"], "as in a corpus: this is no results file"),
        (["without", "--controls"], "--controls: among these responses is none at a control turn"),
        (["results.jsonl", "--corpus", "strange.jsonl"], "3 of its 3 triggers are not in the corpus 'strange.jsonl'"),
        (["results.jsonl", "--corpus", "reworded.jsonl"], "is worded otherwise"),
    ],
)
def test_what_cannot_be_rejudged_is_refused_before_any_call(proact, run, tmp_path, server, given, said):
    run(tmp_path)
    written(tmp_path / "owing", manifest(), [trigger()])
    run_of(tmp_path / "other", [(trigger("x"), "PASS")], corpus_sha256="dd")
    file_with(tmp_path)
    nothing = result_row(trigger_points=[], turn_records=[], trigger_stats={}, num_trigger_points=0)
    file_with(tmp_path, nothing, name="dropped.jsonl")
    corpus_with(tmp_path)
    run_of(tmp_path / "without", [(trigger(), "PASS")])
    file_with(tmp_path, row(unique_id_eval="other"), name="strange.jsonl")
    turns = [{**each, "user_message": "Else?"} for each in row()["turn_records"]]
    file_with(tmp_path, row(turn_records=turns), name="reworded.jsonl")
    status, out, err = proact(*last("rejudge", *by(server), *given))
    assert (status, out, server.sent, said in " ".join(err.split())) == (2, "", [], True), err
    assert not (tmp_path / "child").exists()


# A results file


def test_a_results_file_is_reported_rejudged_without_a_key_and_compared(proact, tmp_path):
    """As the official evaluator writes it (facts (a)): no `unique_id_eval`, a score in another case, a null result."""
    points = [
        result_point(2, score="Pass"),
        result_point(3, "CRITICAL", evidence="a quote that is not there", score="PARTIAL"),
        result_point(5, "RECOVERY", result=None),
    ]
    file, of = file_with(tmp_path, result_row(trigger_points=points)), corpus_with(tmp_path)
    status, out, err = proact("rejudge", file, "--corpus", of, "--judge", "embedded", "--out", "child")
    text = " ".join(out.split())
    assert (status, ": vendor/model-1 scored " in text, ", judged by embedded. " in text) == (0, True, True)
    assert "a judge that the file does not name and embedded on 2 responses" in text
    assert f"dspy-proact compare {file} child" in err
    document = json.loads(proact("compare", file, "child", "--json")[1])
    assert document["triggers"] == {"shared": 3, "compared": 2, "tried": 3, "worded_otherwise": 0}
    assert document["judges"]["evidence"]["first"] == {"checked": 2, "verified": 1}


def test_a_file_on_the_sample_needs_no_corpus_to_be_named(proact, tmp_path):
    proact("eval", "--limit", 3, "--out", "run")
    proact("export", "run", "--format", "official")
    status, out, _ = proact("rejudge", "exports/run.jsonl", "--out", "child")
    assert status == 3  # the sample's other triggers are not in the file
    assert "response: absent 46" in out  # of 49
    assert Path(RunFolder("child").manifest().corpus.name).name in ("sample", sample_path().name)


# The official prompt.


def test_with_the_official_prompt_the_messages_are_the_packages(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lambda sent: official()
    with installed(tmp_path / "package"):
        status, out, _ = proact("rejudge", "parent", *by(server, "--judge-prompt", "official", "--json"))
    assert status == 0
    document = json.loads(out)
    assert document["run"]["judge_prompt"] == "official"
    assert document["phases"]["EMERGENT"]["pass"] == 3
    assert document["evidence"] == {"checked": 3, "verified": 3}
    assert len(server.sent) == 3
    for sent in server.sent:
        system, user = sent.messages
        assert system["content"].startswith("You weigh one answer by its rubric.")
        assert user["content"].startswith("ACTIVE at 2\n{")
        assert user["content"].endswith(f"<assistant> {RESPONSE}\n\nTHE END")


def test_without_the_official_package_the_line_that_installs_it_is_shown(proact, run, tmp_path, server):
    run(tmp_path)
    with missing():
        status, out, err = proact("rejudge", "parent", *by(server, "--judge-prompt", "official"))
    assert (status, out, server.sent) == (2, "", [])
    assert "pip install 'proactbench @ git+https://github.com/boson-ai/ProactBench'" in err
    assert not (tmp_path / "child").exists()
