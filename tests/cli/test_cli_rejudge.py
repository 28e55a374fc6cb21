"""`dspy-proact rejudge`: another judge on responses that exist, of a run or of a results file."""

import json
from pathlib import Path

import pytest
from official_package import RUNTIME, installed, missing
from proact_run import RESPONSE, answered, failed, graded, manifest, run_of, trigger, written
from results_rows import result_point, result_record, result_row
from rows import jsonl, row
from server import Answer, error, verdict

from dspy_proact.benchmarks.proactbench.corpus import sample_path
from dspy_proact.report import summarize
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


def file_with(folder, *rows, name="results.jsonl"):
    (folder / name).write_text(jsonl(*(rows or [result_row()])), encoding="utf-8")
    return name


def corpus_with(folder, *rows):
    (folder / "corpus.jsonl").write_text(jsonl(*(rows or [row()])), encoding="utf-8")
    return "corpus.jsonl"


# A run.


def test_the_new_grades_are_shown_and_both_judges_compared(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lenient
    status, out, err = proact("rejudge", "parent", *by(server))
    text = " ".join(out.split())
    assert status == 0
    assert "of 3 triggers of the corpus c.jsonl, judged by hosted_vllm/second." in text
    assert "3/3" in text
    assert "assistant: 0 calls" in text
    assert "openai/j and hosted_vllm/second on 3 responses: same grade 33.3" in text
    assert "flips from the first to the second: PARTIAL -> PASS 1, FAIL -> PASS 1." in text
    assert "Mean score of the second minus the first: +50.0" in text  # (0 + 0.5 + 1) / 3
    assert "verdicts with a quote that stands in the response: 3 of 3 and 3 of 3." in text
    assert err.endswith("The run is in child.\nNext: dspy-proact compare parent child\n")
    assert err.count("Next:") == 1


def test_json_is_the_report_of_the_new_run_with_both_judges(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lenient
    status, out, _ = proact("rejudge", "parent", *by(server, "--json"))
    document = json.loads(out)
    judges = document.pop("judges")
    assert status == 0
    assert document == json.loads(proact("report", "child", "--json")[1])
    assert judges == json.loads(proact("compare", "parent", "child", "--json")[1])["judges"]
    assert (judges["first"], judges["second"], judges["responses"]) == ("openai/j", "hosted_vllm/second", 3)
    assert judges["table"]["PARTIAL"] == {"PASS": 1, "PARTIAL": 0, "FAIL": 0}
    assert document["run"]["parent"] == RunFolder(tmp_path / "parent").manifest().identity.digest()


def test_the_same_command_again_makes_no_call_and_says_so(proact, run, tmp_path, server):
    run(tmp_path)
    first = proact("rejudge", "parent", *by(server))
    calls = len(server.sent)
    second = proact("rejudge", "parent", *by(server))
    assert (second[0], second[1], len(server.sent)) == (0, first[1], calls)
    assert "no calls were made" in second[2]


def test_a_limit_on_calls_stops_it_and_the_same_command_goes_on(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lenient
    status, _, err = proact("rejudge", "parent", *by(server, "--max-calls", 2, "--concurrency", 1))
    assert (status, len(server.sent)) == (4, 2)
    assert "Repeat the command to go on" in err
    assert proact("rejudge", "parent", *by(server))[0] == 0
    assert len(server.sent) == 3


def test_a_refused_key_stops_it_naming_the_judge(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lambda sent: error(401, "bad key")
    status, _, err = proact("rejudge", "parent", *by(server, judge="openai/second"))
    assert status == 2
    assert "--judge openai/second" in err


def test_responses_that_failed_stay_unscored_and_end_with_status_three(proact, tmp_path, server):
    cases = [trigger(name) for name in "ab"]
    events = [answered(cases[0]), graded(cases[0]), failed(cases[1], "empty")]
    written(tmp_path / "parent", manifest(), cases, events)
    for more in ([], ["--retry-unscored"]):
        status, out, _ = proact("rejudge", "parent", *by(server, *more))
        assert status == 3
        assert "unscored 1: response: empty 1" in out
    assert len(server.sent) == 1


def test_what_the_parent_still_owes_is_pending_and_no_failure(proact, tmp_path, server):
    cases = [trigger(name) for name in "ab"]
    written(tmp_path / "parent", manifest(), cases, [answered(cases[0]), graded(cases[0])])
    status, out, _ = proact("rejudge", "parent", *by(server))
    assert status == 0
    assert "pending 1: the run is not complete; it reached 1 of 1 scenario." in out


def test_a_jury_grades_as_often_as_asked(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lenient
    status, out, _ = proact("rejudge", "parent", *by(server, "--judge", "hosted_vllm/third", "--votes", 2, "--json"))
    document = json.loads(out)
    assert (status, len(server.sent)) == (0, 12)  # 3 responses x 2 judges x 2
    assert document["run"]["judges"] == ["hosted_vllm/second", "hosted_vllm/third"]
    assert document["several_verdicts"]["responses"] == 3
    assert document["judges"]["second"] == "hosted_vllm/second + hosted_vllm/third"


def test_a_part_can_be_judged_first(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lenient
    assert proact("rejudge", "parent", *by(server, "--limit", 1))[0] == 0
    assert len(server.sent) == 1
    assert proact("rejudge", "parent", *by(server))[0] == 0
    assert len(server.sent) == 3


def test_a_dry_run_counts_the_verdicts_and_does_nothing(proact, run, tmp_path, server):
    run(tmp_path)
    status, out, _ = proact("rejudge", "parent", *by(server, "--dry-run"))
    assert status == 0
    assert out.startswith("3 calls, without repairs and retries.\n")
    assert "assistant: 0 calls" in out
    assert server.sent == []
    assert not (tmp_path / "child").exists()


def test_what_was_made_with_the_stand_in_is_judged_by_it_where_no_judge_is_named(proact, tmp_path):
    run_of(tmp_path / "parent", [(trigger(), "PASS")], "embedded", model="embedded", embedded=True)
    status, out, _ = proact("rejudge", "parent", "--out", "child")
    assert status == 0
    assert out.startswith("The embedded stand-in measures nothing about any model: embedded passed ")
    assert ", judged by embedded. " in " ".join(out.split())


def test_real_responses_are_judged_by_the_papers_judge_whose_key_is_asked_for(proact, run, tmp_path):
    run(tmp_path)
    status, _, err = proact("rejudge", "parent", "--out", "child")
    assert status == 2
    assert "--judge openai/gpt-5.4: no key. Set OPENAI_API_KEY" in err
    assert not (tmp_path / "child").exists()


def test_without_a_folder_it_is_named_by_the_model_and_the_new_judge(proact, run, tmp_path, server):
    run(tmp_path)
    assert proact("rejudge", "parent", "--judge", "hosted_vllm/second", "--judge-api-base", server.judge)[0] == 0
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("openai_m--hosted_vllm_second--")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["missing"], "missing: no run here"),
        (["empty"], "empty: no run here"),
        (["parent", "--corpus", "sample"], "--corpus is for results files; a run knows its corpus"),
        (["owing"], "no response in it yet"),
        (["parent", "--judge", "hosted_vllm/second"], "name each judge once"),
    ],
)
def test_what_cannot_be_rejudged_is_refused(proact, run, tmp_path, server, given, said):
    run(tmp_path)
    (tmp_path / "empty").mkdir()
    written(tmp_path / "owing", manifest(), [trigger()])
    status, out, err = proact("rejudge", *given, *by(server))
    assert (status, out, server.sent) == (2, "", [])
    assert said in err
    assert not (tmp_path / "child").exists()


@pytest.mark.parametrize(("out", "named"), [("parent", "judge.model"), ("other", "parent")])
def test_a_folder_of_another_run_is_refused_naming_what_differs(proact, run, tmp_path, server, out, named):
    run(tmp_path)
    run_of(tmp_path / "else", [(trigger("x"), "PASS")], corpus_sha256="dd")
    proact("rejudge", "else", *by(server, out="other"))
    server.sent.clear()
    status, _, err = proact("rejudge", "parent", *by(server, out=out))
    assert (status, server.sent) == (2, [])
    assert f"{out}: holds another run, which differs in" in err
    assert named in err


# A results file.


def test_a_results_file_is_reported_rejudged_without_a_key_and_compared(proact, tmp_path):
    """As the official evaluator writes it (facts (a)): no `unique_id_eval`, a score in another case, a null result."""
    points = [
        result_point(2, score="Pass"),
        result_point(3, "CRITICAL", evidence="a quote that is not there", score="PARTIAL"),
        result_point(5, "RECOVERY", result=None),
    ]
    file, of = file_with(tmp_path, result_row(trigger_points=points)), corpus_with(tmp_path)
    status, out, err = proact("report", file, "--corpus", of)
    assert status == 0
    assert "labels that the official evaluator loses: 1 ('EVALUATED/Pass' 1)." in " ".join(out.split())
    assert f"dspy-proact rejudge {file} --corpus" in err
    status, out, err = proact("rejudge", file, "--corpus", of, "--judge", "embedded", "--out", "child")
    assert status == 0
    assert ": vendor/model-1 passed " in " ".join(out.split())
    assert ", judged by embedded. " in " ".join(out.split())
    assert "a judge that the file does not name and embedded on 2 responses" in " ".join(out.split())
    assert f"dspy-proact compare {file} child" in err
    status, out, _ = proact("compare", file, "child", "--json")
    document = json.loads(out)
    assert (status, document["triggers"]) == (0, {"shared": 3, "compared": 2, "tried": 3, "worded_otherwise": 0})
    assert document["judges"]["evidence"]["first"] == {"checked": 2, "verified": 1}


def test_a_file_on_the_sample_needs_no_corpus_to_be_named(proact, tmp_path):
    proact("eval", "--limit", 3, "--out", "run")
    proact("export", "run", "--format", "proactbench")
    status, out, _ = proact("rejudge", "exports/run.jsonl", "--out", "child")
    assert status == 3  # the sample's other triggers are not in the file
    assert "response: absent 46" in out  # of 49
    assert ", judged by embedded. " in " ".join(out.split())
    assert Path(RunFolder("child").manifest().corpus.name).name in ("sample", sample_path().name)


def test_a_file_without_its_corpus_is_asked_for_it(proact, tmp_path, server):
    status, out, err = proact("rejudge", file_with(tmp_path), *by(server))
    assert (status, out, server.sent) == (2, "", [])
    assert "results.jsonl: a results file holds no conversations; name the corpus that it answers with --corpus" in err


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(unique_id_eval="other")], "3 of its 3 triggers are not in the corpus 'corpus.jsonl'"),
        (
            [row(turn_records=[{**each, "user_message": "Else?"} for each in row()["turn_records"]])],
            "is worded otherwise",
        ),
    ],
)
def test_another_corpus_is_refused_by_name_before_any_call(proact, tmp_path, server, rows, said):
    status, out, err = proact("rejudge", file_with(tmp_path), "--corpus", corpus_with(tmp_path, *rows), *by(server))
    assert (status, out, server.sent) == (2, "", [])
    assert said in err
    assert "corpus.jsonl" in err
    assert not (tmp_path / "child").exists()


def test_triggers_that_the_file_lacks_are_unscored_in_the_new_run(proact, tmp_path, server):
    kept = result_row(trigger_points=[result_point(2)], turn_records=[result_record(2)])
    server.script = lambda sent: Answer(verdict("FAIL"))
    status, out, _ = proact("rejudge", file_with(tmp_path, kept), "--corpus", corpus_with(tmp_path), *by(server))
    assert (status, len(server.sent)) == (3, 1)
    assert "unscored 2: response: absent 2" in out


def test_a_part_of_which_the_file_has_nothing_is_reported_all_the_same(proact, tmp_path, server):
    kept = result_row(trigger_points=[result_point(2)], turn_records=[result_record(2)])
    file, of = file_with(tmp_path, kept), corpus_with(tmp_path)
    status, out, _ = proact("rejudge", file, "--corpus", of, *by(server, "--phase", "RECOVERY", "--json"))
    assert (status, server.sent) == (3, [])
    document = json.loads(out)
    assert document["triggers"]["unscored_reasons"] == {"response: absent": 1}
    assert document["judges"] is None


def test_a_file_in_which_every_trigger_was_dropped_is_not_taken_for_the_samples(proact, tmp_path, server):
    dropped = result_row(trigger_points=[], turn_records=[], trigger_stats={}, num_trigger_points=0)
    status, out, err = proact("rejudge", file_with(tmp_path, dropped), *by(server))
    assert (status, out, server.sent) == (2, "", [])
    assert "--corpus" in err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (jsonl(row()), "corpus"),
        ("", "empty"),
        ("{nope\n", "not JSON"),
        (jsonl(result_row(), result_row()), "same dialogue stands on line 1"),
        (jsonl(result_row(), result_row(uuid="f" * 32, evaluated_model="vendor/other")), "one model a file"),
        (jsonl(result_row(trigger_points=[result_point(2), result_point(2)])), "turn 2 has a trigger already"),
    ],
)
def test_a_file_that_is_no_results_file_is_refused_by_name(proact, tmp_path, server, content, said):
    (tmp_path / "results.jsonl").write_text(content, encoding="utf-8")
    of = corpus_with(tmp_path)
    status, out, err = proact("rejudge", "results.jsonl", "--corpus", of, *by(server))
    assert (status, out, server.sent) == (2, "", [])
    assert err.startswith("Error: results.jsonl")
    assert said in err


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


def test_eval_takes_the_official_prompt_too(proact, tmp_path, server):
    server.script_roles(assistant=lambda sent: Answer(RESPONSE), judge=lambda sent: official("PARTIAL"))
    models = ["--model", "hosted_vllm/any", "--model-api-base", server.assistant]
    with installed(tmp_path / "package"):
        given = [*models, "--corpus", corpus_with(tmp_path), "--judge-prompt", "official", "--json"]
        status, out, _ = proact("eval", *given, *by(server, out="run"))
    assert status == 0
    assert json.loads(out)["overall"]["micro"]["weighted"]["value"] == 0.5
    assert len(server.of("judge")) == 3


def test_a_response_that_the_official_judge_skips_is_asked_for_once_more_and_unscored(proact, tmp_path, server):
    run_of(tmp_path / "parent", [(trigger(), "PASS")])
    server.script = lambda sent: official(status="SKIPPED")
    with installed(tmp_path / "package"):
        status, out, _ = proact("rejudge", "parent", *by(server, "--judge-prompt", "official"))
    assert (status, len(server.sent)) == (3, 2)
    assert server.sent[0].messages == server.sent[1].messages
    assert "unscored 1: verdict: unreadable 1" in out


def test_without_the_official_package_the_line_that_installs_it_is_shown(proact, run, tmp_path, server):
    run(tmp_path)
    with missing():
        status, out, err = proact("rejudge", "parent", *by(server, "--judge-prompt", "official"))
    assert (status, out, server.sent) == (2, "", [])
    assert "pip install 'proactbench @ git+https://github.com/boson-ai/ProactBench'" in err
    assert not (tmp_path / "child").exists()


@pytest.mark.parametrize(
    "runtime",
    [
        None,
        RUNTIME.replace("JUDGE_SYSTEM_TEMPLATE", "SYSTEM"),
        RUNTIME.replace("(trigger_point, history)", "(trigger_point, history, style)"),
    ],
    ids=["no module", "no system message", "another signature"],
)
def test_a_package_that_has_changed_is_a_sentence(proact, run, tmp_path, server, runtime):
    run(tmp_path)
    with installed(tmp_path / "package", runtime):
        status, out, err = proact("rejudge", "parent", *by(server, "--judge-prompt", "official"))
    assert (status, out, server.sent) == (2, "", [])
    assert "Error: --judge-prompt official: the installed official package is not the one known here" in err


def test_a_run_does_not_go_on_with_other_words_of_the_package(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lambda sent: official()
    command = ["rejudge", "parent", *by(server, "--judge-prompt", "official")]
    with installed(tmp_path / "one"):
        proact(*command, "--limit", 1)
    with installed(tmp_path / "other", RUNTIME.replace("weigh one", "weigh an")):
        status, _, err = proact(*command)
    assert (status, len(server.sent)) == (2, 1)
    assert "differs in judge.prompt;" in err


def test_the_stand_in_does_not_read_the_official_prompt(proact, run, tmp_path):
    run(tmp_path)
    with installed(tmp_path / "package"):
        status, _, err = proact(
            "rejudge", "parent", "--judge", "embedded", "--judge-prompt", "official", "--out", "child"
        )
    assert status == 2
    assert "the embedded stand-in reads our prompt only; name a --judge" in err
    assert not (tmp_path / "child").exists()


def test_our_prompt_and_the_official_one_are_compared_on_the_same_responses(proact, run, tmp_path, server):
    run(tmp_path)
    server.script = lambda sent: official("FAIL") if "ACTIVE" in sent.messages[1]["content"] else lenient(sent)
    with installed(tmp_path / "package"):
        proact("rejudge", "parent", *by(server, out="ours"))
        proact("rejudge", "parent", *by(server, "--judge-prompt", "official", out="theirs"))
    document = json.loads(proact("compare", "ours", "theirs", "--json")[1])
    changed = {change["field"]: (change["a"], change["b"]) for change in document["changed"]}
    assert changed["judge.program"] == ("default", "official")
    assert set(changed) == {"judge.program", "judge.prompt"}
    assert document["overall"]["micro"]["weighted"]["value"] == -1.0
    assert document["judges"]["table"]["PASS"]["FAIL"] == 3
    assert summarize(RunFolder("theirs")).count("scored") == 3
