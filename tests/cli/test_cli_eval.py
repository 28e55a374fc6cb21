"""`dspy-proact eval` and `rejudge`: results, prompts, options in a file, another judge, kills, and every refusal."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from builders.benchmarks import write_mine
from builders.dialogues import jsonl, row, rubric, trigger_point, without
from builders.results import corpus_with, file_with, result_point, result_row
from builders.riddles import written
from builders.runs import answered, manifest, run_of, trigger
from drivers.terminal import last, unwrapped
from fakes.server import Answer, verdict

from dspy_proact.benchmarks.proactbench.corpus.dialogues import read_jsonl
from dspy_proact.runs import RunFolder, RunWriter

pytestmark = pytest.mark.usefixtures("proactbench")

PROMPT = "Hold back. Only what was asked: naïve, “quoted” and 漢字."


def corpus(folder, *item):
    path = Path(folder) / "corpus.jsonl"
    path.write_text(jsonl(*(item or [row()])), encoding="utf-8")
    return path


def against(server, *more, model="hosted_vllm/any", judge="openai/any"):
    bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge]
    return last("eval", "--model", model, "--judge", judge, *bases, "--retries", 0, *more)


# One run


def test_a_run_has_a_folder_of_its_own_and_ignored_fields_are_counted(done, tmp_path):
    rows = row(novelty=1), row(unique_id_eval="b", novelty=2)
    err = done("eval", "--corpus", corpus(tmp_path, *rows))[1]
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("proactbench--embedded--embedded--")
    assert "ignored fields that the format does not know: 'novelty' (2)" in err


# Refusals


def test_a_bad_corpus_is_refused_before_any_call(refused, tmp_path, server):
    lacking = without(rubric("EMERGENT"), "partial_criteria")
    path = corpus(tmp_path, row(trigger_points=[trigger_point(2, evaluation_rubric=lacking)]))
    err = refused(*against(server, "--corpus", path))
    assert (err.count("Error:"), str(path) in err, "partial_criteria" in err) == (1, True, True)
    assert (server.sent, Path("runs").exists()) == ([], False)


def test_a_run_goes_on_with_the_revision_of_the_corpus_that_it_began_with(proact, tmp_path, server, monkeypatch):
    requests, file = [], corpus(tmp_path)

    def load(named, revision=None):
        requests.append(revision)
        return replace(read_jsonl(file), name=named, revision=revision or "c0ffee")

    monkeypatch.setattr("dspy_proact.benchmarks.proactbench.benchmark.load_corpus", load)
    for limit in (1, 2):
        assert proact(*against(server, "--limit", limit))[0] == 0
    assert requests == [None, "c0ffee"]


# System prompts


def test_a_prompt_is_the_system_message_and_everything_after_it_is_as_without(proact, tmp_path, server):
    size = ["--corpus", corpus(tmp_path), "--controls"]
    proact(*against(server, *size, "--out", "bare"))
    bare = [sent.messages for sent in server.of("assistant")]
    server.sent.clear()
    # A mark of the byte order and blanks around it are no part of a prompt.
    Path("prompt.txt").write_text(f"\n  {PROMPT}\n\n", encoding="utf-8-sig")
    proact(*against(server, *size, "--system-prompt", "@prompt.txt", "--out", "run"))
    systems = [sent.messages[0] for sent in server.of("assistant")]
    assert systems == [{"role": "system", "content": PROMPT}] * len(bare)
    prompted = [sent.messages[1:] for sent in server.of("assistant")]
    assert sorted(map(json.dumps, prompted)) == sorted(map(json.dumps, bare))
    assert not [sent for sent in server.of("judge") if PROMPT in sent.text]
    # The same words in TEXT are the same run, which keeps them when it is judged again, and is not ranked.
    status, _, err = proact(*against(server, *size, "--system-prompt", PROMPT, "--out", "run"))
    assert (status, "no calls were made" in err) == (0, True)
    proact("rejudge", "run", "--judge", "hosted_vllm/second", "--judge-api-base", server.judge, "--out", "child")
    manifests = [RunFolder(name).manifest() for name in ("run", "child")]
    assert [(item.identity.assistant.program, item.system_prompt) for item in manifests] == [("prompt", PROMPT)] * 2
    (entry,) = [row for row in json.loads(proact("leaderboard", "run", "--json")[1])["rows"] if not row["published"]]
    assert (entry["rank"], entry["lenient_rank"]) == (None, None)
    assert "the responses are of the program 'prompt', not of the bare model" in entry["differences"]


# Options in a file, lists of runs


def config(text, folder="there"):
    path = Path(folder, "run.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_every_kind_of_option_and_what_is_typed_comes_first(proact, server):
    path = config(
        f"""
        model = "hosted_vllm/ann"
        model-api-base = "{server.assistant}"
        judge = ["hosted_vllm/j", "hosted_vllm/k"]
        judge-api-base = "{server.judge}"
        corpus = "sample"
        limit = 2
        phase = ["EMERGENT"]
        system-prompt = "@prompt.txt"
        retry-unscored = true
        dry-run = false
        [model-param]
        seed = 7
        top_p = "none"
        """
    )
    path.with_name("prompt.txt").write_text("Look ahead.", encoding="utf-8")
    assert proact("eval", "--config", path, "--limit", 1, "--out", "run")[0] == 0
    (request,) = server.of("assistant")
    assert (request.body["seed"], "top_p" in request.body, request.messages[0]["content"]) == (7, False, "Look ahead.")
    assert {sent.body["model"] for sent in server.of("judge")} == {"j", "k"}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_may_begin_with_a_byte_order_mark_and_end_its_lines_as_windows_does(proact, mark):
    path = config(mark + "limit = 2\r\nretries = 1\r\nout = 'run'\r\n")
    assert proact("eval", "--config", path)[0] == 0
    assert len([*RunFolder(path.with_name("run")).cases()]) == 2


def test_a_path_in_a_file_is_relative_to_it_and_a_name_is_none(proact):
    path = config("model = 'embedded'\njudge = 'embedded'\ncorpus = 'own.jsonl'\nlimit = 1\nout = 'run'")
    for name in ("embedded", "sample"):
        path.with_name(name).mkdir()
    corpus(path.parent).rename(path.with_name("own.jsonl"))
    assert proact("eval", "--config", path)[0] == 0
    assert RunFolder(path.with_name("run")).manifest().corpus.name == "there/own.jsonl"
    path.write_text("corpus = 'sample'\nlimit = 1", encoding="utf-8")
    assert proact("eval", "--config", path, "--out", "typed")[0] == 0
    assert RunFolder("typed").manifest().corpus.name == "sample"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle = 'x'", "'modle' is no option of eval; did you mean 'model'?"),
        ("limit = 'many'", "'many' is not a valid integer"),
        ("limit =", "Invalid value"),
        ("config = 'other.toml'", "'config' is for the command line alone; leave it out"),
        (None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_what_is_wrong(refused, text, message):
    assert message in " ".join(refused("eval", "--config", config(text) if text else "nowhere.toml").split())


def test_a_score_under_the_required_one_ends_with_six(proact):
    for least, status in ((0, 0), (100, 6)):
        done = proact("eval", "--limit", 4, "--fail-under", least, "--out", "run")
        assert (done[0], "is under --fail-under 100" in done[2]) == (status, bool(status))


def test_runs_of_two_benchmarks_are_refused_by_name(proact, refused):
    proact("eval", "--limit", 1, "--out", "one")
    proact("eval", "--benchmark", write_mine(Path()), "--out", "two")
    for verb in ("report one two --html page.html", "show one --beside two", "compare one two", "leaderboard one two"):
        message = refused(*verb.split())
        assert ("two" in message, "next-step" in message) == (True, True), verb


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


# Another judge on a run


def test_the_new_grades_are_shown_and_both_judges_compared(proact, done, run, tmp_path, server):
    run(tmp_path)
    server.script = lenient
    out, err = done("rejudge", "parent", *by(server))
    assert "Mean score of the second minus the first: +50.0" in unwrapped(out)  # (0 + 0.5 + 1) / 3
    assert err.endswith("The run is in child.\nNext: dspy-proact compare parent child\n")
    assert err.count("Next:") == 1
    again = proact("rejudge", "parent", *by(server))
    assert (again[0], again[1], len(server.sent), "no calls were made" in again[2]) == (0, out, 3, True)
    document = json.loads(proact("rejudge", "parent", *by(server, "--json"))[1])
    judges = document.pop("judges")
    assert document == json.loads(proact("report", "child", "--json")[1])
    assert judges == json.loads(proact("compare", "parent", "child", "--json")[1])["judges"]
    assert judges["table"]["PARTIAL"] == {"PASS": 1, "PARTIAL": 0, "FAIL": 0}


def test_responses_that_the_other_run_has_not_got_yet_are_counted_and_graded_when_they_are_there(
    proact, tmp_path, server
):
    """Of three cases the run was stopped before the last."""
    cases = [trigger(f"d{number}") for number in range(3)]
    written(tmp_path / "parent", manifest(), cases, [answered(case) for case in cases[:2]])
    server.script = lenient
    status, out, err = proact("rejudge", "parent", *by(server))
    assert status == 3
    assert "\n1 response is not in parent yet: go on with that run, and then repeat this command.\n" in err
    assert "done already" not in err
    assert "pending 1: the run is not complete" in out
    with RunWriter(tmp_path / "parent", manifest()) as parent:
        parent.record(answered(cases[2]))
    status, out, err = proact("rejudge", "parent", *by(server))
    assert (status, "not in parent yet" in err, "pending" in out, len(server.sent)) == (0, False, False, 3)


def test_without_a_judge_the_stand_in_judges_its_own_and_the_papers_judge_others(proact, refused, run, tmp_path):
    run_of(tmp_path / "embedded", [(trigger(), "PASS")], "embedded", model="embedded", embedded=True)
    status, out, _ = proact("rejudge", "embedded", "--out", "first")
    assert (status, ", judged by embedded. " in " ".join(out.split())) == (0, True)
    run(tmp_path)
    assert "--judge openai/gpt-5.4: no key. Set OPENAI_API_KEY" in refused("rejudge", "parent")
    assert not (tmp_path / "runs").exists()


# Another judge on a results file


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
    assert document["triggers"] == {"shared": 3, "compared": 2, "tried": 3, "rephrased": 0}
    assert document["judges"]["evidence"]["first"] == {"checked": 2, "verified": 1}


def test_the_flex_tier_is_of_both_roles_and_refused_for_a_model_that_has_none(proact):
    models = ("--model", "openai/gpt-5.4", "--corpus", "sample", "--flex", "--dry-run", "--judge")
    status, out, _ = proact("eval", *models, "openai/gpt-5.4")
    assert (status, out.count('service_tier="flex"')) == (0, 2)
    status, _, err = proact("eval", *models, "openai/gpt-4o")
    assert (status, "omit --flex, or ask this model in its usual tier with --judge-param" in err) == (2, True)


def test_what_would_be_sent_is_printed_without_a_call_or_a_key(proact):
    models = ("--model", "openai/gpt-4o", "--judge", "openai/gpt-5.4", "--corpus", "sample", "--system-prompt", PROMPT)
    status, out, _ = proact("eval", *models, "--dry-run", "--show-prompt")
    assert (status, out.splitlines()[-1]) == (0, "No calls were made.")
    assert [line.partition(" is sent first")[0] for line in out.splitlines() if " is sent first, about " in line] == [
        "assistant openai/gpt-4o",
        "judge openai/gpt-5.4",
    ]
    assert PROMPT in out
    assert "[the response of openai/gpt-4o stands here]" in out
    answer, grade = json.loads(proact("eval", *models, "--dry-run", "--show-prompt", "--json")[1])
    assert (answer["request"]["system"], answer["placeholder"]) == (PROMPT, None)
    assert grade["placeholder"] in json.dumps(grade["request"])
