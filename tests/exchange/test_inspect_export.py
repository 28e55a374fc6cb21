"""A run as a log of Inspect: what is in it, what inspect-ai makes of it, and that it reads back as the run."""

import json
import random
import re
import subprocess
import sys
import zipfile
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from builders.benchmarks import write_mine
from builders.runs import RESPONSE, answered, failed, graded, manifest, run_of, trigger, written
from drivers.script import ROOT
from hostile_soak import spoiled

from dspy_proact import Evaluation, RunFolder, Scope, summarize
from dspy_proact.calls import Failure
from dspy_proact.errors import CorpusError, ProactError
from dspy_proact.evaluation import registry
from dspy_proact.evaluation.checks import file_of
from dspy_proact.evaluation.inspect_run import LoggedRun, LoggedView
from dspy_proact.evaluation.registry import benchmarks
from dspy_proact.evaluation.responses import Responses
from dspy_proact.exchange.inspect_log import export_inspect, log_name
from dspy_proact.files.inspect_log import header_of, samples_in
from dspy_proact.report.summary_text import summary_document

OURS = [name for name, declared in benchmarks().items() if file_of(declared) is None]


@cache
def run_by_the_stand_in(folder: Path, name: str) -> RunFolder:
    controls = name == "proactbench"
    scope = Scope(limit=6, epochs=2, controls=controls)
    Evaluation("sample", benchmark=benchmarks()[name]).run(folder / name, scope)
    return RunFolder(folder / name)


@pytest.fixture(scope="module")
def stood_in(tmp_path_factory):
    """A run of each benchmark by the stand-in, twice a case."""
    return partial(run_by_the_stand_in, tmp_path_factory.mktemp("runs"))


def logged(run: RunFolder, folder: Path) -> Path:
    summary = summarize(run)
    export_inspect(run, summary, path := folder / log_name(summary))
    return path


def report_of(run: RunFolder) -> dict:
    """Without its path."""
    document = summary_document(summarize(run))
    del document["run"]["path"]
    return document


def read_by_inspect(*arguments: object) -> dict:
    command = [sys.executable, ROOT / "tests" / "drivers" / "inspect_reader.py", *arguments]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


with_inspect = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="needs inspect-ai")


@pytest.mark.parametrize("name", OURS)
def test_the_report_of_an_exported_log_is_the_report_of_the_run(stood_in, tmp_path, name):
    run = stood_in(name)
    log = logged(run, tmp_path)
    assert report_of(LoggedRun(log)) == report_of(run)
    assert logged(run, tmp_path).read_bytes() == log.read_bytes()
    assert re.fullmatch(rf"[\d-]+T[\d-]+_{name}_\w{{22}}\.eval", log.name)


@pytest.mark.parametrize("name", OURS)
def test_its_answers_are_judged_again_as_those_of_the_run(stood_in, tmp_path, name):
    run = stood_in(name)
    here, there = Responses.of_run(run), Responses.of_run(LoggedRun(logged(run, tmp_path)))
    assert (there.parent, there.epochs, there.settings) == (here.parent, here.epochs, here.settings)
    assert {case.key: case for case in there.case_set.cases} == {case.key: case for case in here.case_set.cases}
    assert {event.key: event.answer for event in there.stages} == {event.key: event.answer for event in here.stages}


@with_inspect
def test_inspect_reads_the_logs_of_every_benchmark(stood_in, tmp_path):
    (tmp_path / "logs").mkdir()
    paths = [logged(stood_in(name), tmp_path / "logs") for name in OURS]
    read = read_by_inspect("read", tmp_path / "logs", tmp_path / "bundle")
    assert read["evals"] == OURS
    assert read["bundle"] == sorted(path.name for path in paths)
    assert {"score_grade", "metadata_phase", *(f"score_{name}" for name in OURS)} <= set(read["columns"])
    count = 0
    for name in OURS:
        log, summary = read["logs"][name], summarize(stood_in(name))
        assert (log["status"], log["model"]) == ("success", "embedded")
        outcomes = (*summary.outcomes, *summary.controls.outcomes)
        count += len(outcomes)
        by_position = {(outcome.key, outcome.epoch): outcome for outcome in outcomes}
        assert {(one["id"], one["epoch"]) for one in log["samples"]} == by_position.keys()
        listed = {(one["id"], one["epoch"]): one["scores"]["grade"]["value"] for one in log["summaries"]}
        assert listed == {position: outcome.label for position, outcome in by_position.items()}
        for sample in log["samples"]:
            outcome = by_position[sample["id"], sample["epoch"]]
            (number,) = (score for scorer, score in sample["scores"].items() if scorer != "grade")
            assert (number["value"], sample["scores"]["grade"]["value"]) == (outcome.score, outcome.label)
        first, *others = log["scores"]
        assert (first["name"], first["scored_samples"]) == (name, len(summary.scored))
        for metric, estimate in (("score", summary.leading.weighted), ("micro_pass_rate", summary.micro.pass_rate)):
            metric_of = first["metrics"].get(metric, {"value": None, "metadata": {"low": None}})
            assert (metric_of["value"], metric_of["metadata"]["low"]) == (estimate.value, estimate.low)
        assert [score["name"] for score in others] == (["controls"] if summary.controls.outcomes else [])
        used = [usage for role, usage in summary.usage.items() if role in ("assistant", "judge")]
        tokens = sum((usage.prompt_tokens or 0) + (usage.completion_tokens or 0) for usage in used)
        assert log["usage"].get("embedded", {"total_tokens": 0})["total_tokens"] == tokens
    assert read["rows"] == count


@with_inspect
def test_a_log_that_inspect_writes_is_read(tmp_path):
    made = read_by_inspect("write", tmp_path)
    assert made["status"] == "success", made["error"]
    samples = {(sample.id, sample.epoch): sample for sample in samples_in(Path(made["path"]))}
    assert samples.keys() == {("a", 1), ("a", 2), ("7", 1), ("7", 2)}
    assert samples["a", 1].input == ({"role": "user", "content": "Say yes."},)
    assert {sample.output for sample in samples.values()} == {"yes", "I would"}
    assert [message["role"] for message in samples["7", 2].messages] == ["user", "assistant", "user", "assistant"]
    assert samples["7", 1].target == ("no", "never")
    assert samples["a", 2].metadata == {"key": "d1__t2"}
    assert {sample.scores["match"].value for sample in samples.values()} <= {"C", "I"}
    assert header_of(Path(made["path"])).model == "mockllm/model"
    with pytest.raises(CorpusError, match="no run of ours is in this log of Inspect; its answers can be scored"):
        LoggedRun(made["path"])


def samples_of(path):
    return {sample.id: sample for sample in samples_in(path)}


def test_a_sample_has_the_messages_the_rubric_the_answer_and_what_the_verdict_rests_on(tmp_path):
    case = trigger(criterion="Plans the move.")
    of = manifest("openai/j", system_prompt="Be kind.")
    events = [answered(case, truncated=True), graded(case, "PARTIAL", judge="openai/j", evidence=("Then call Ann.",))]
    sample = samples_of(logged(written(tmp_path / "run", of, [case], events), tmp_path))["d1__t2"]
    conversation = [
        ("system", "Be kind."),
        ("user", "I move on Friday."),
        ("assistant", "Good luck."),
        ("user", "Any boxes?"),
    ]
    assert [(message["role"], message["content"]) for message in sample.input] == conversation
    assert [(message["role"], message["content"]) for message in sample.messages] == [
        *conversation,
        ("assistant", RESPONSE),
    ]
    assert sample.target == ("RUBRIC\nPASS: Plans the move.\nPARTIAL: Hints.\nFAIL: Does nothing.",)
    score = sample.scores["proactbench"]
    assert (score.value, score.answer, score.explanation) == (0.5, RESPONSE, "because")
    (verdict,) = score.metadata["verdicts"]
    start = RESPONSE.index("Then")
    assert verdict["quotes"] == [{"text": "Then call Ann.", "start": start, "end": len(RESPONSE) - 1, "short": False}]
    assert (verdict["judge"], verdict["grade"], verdict["verified"]) == ("openai/j", "PARTIAL", True)
    assert sample.scores["grade"].value == "PARTIAL"


def test_what_has_no_grade_has_an_error_and_no_score_and_what_was_not_tried_is_no_sample(tmp_path):
    cases = [trigger(name, user=name) for name in "abcd"]
    unread = failed(cases[1], "unreadable", judge="openai/j").model_copy(
        update={"failure": Failure(kind="content", reason="unreadable", detail="no grade in it")}
    )
    events = [failed(cases[0], "empty"), answered(cases[1]), unread, answered(cases[2]), graded(cases[2])]
    run = written(tmp_path / "run", manifest(), cases, events)
    summary = summarize(run)
    lost = export_inspect(run, summary, path := tmp_path / "x.eval")
    assert lost[0] == "1 pending cases, of which it has the keys; the log says that the run was cancelled"
    samples = samples_of(path)
    assert {key: (sample.error, sample.output, len(sample.scores)) for key, sample in samples.items()} == {
        "a__t2": ("response: empty", None, 0),
        "b__t2": ("verdict: unreadable: no grade in it", RESPONSE, 0),
        "c__t2": (None, RESPONSE, 2),
    }
    assert header_of(path).status == "cancelled"
    assert report_of(LoggedRun(path)) == report_of(run)


def test_a_private_corpus_whose_inputs_were_not_kept_is_in_no_log(tmp_path):
    case = trigger(user="A canary in the message", criterion="A canary in the rubric")
    run = written(tmp_path / "run", manifest(keeps_inputs=False), [case], [answered(case), graded(case)])
    path = logged(run, tmp_path)
    with zipfile.ZipFile(path) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist()]
    assert not [text for text in texts if "canary" in text]
    (sample,) = samples_in(path)
    assert sample.target == ("",)
    assert str(sample.input[0]["content"]).startswith("(not kept by the run; sha256 ")
    assert report_of(LoggedRun(path)) == report_of(run)


def rewritten(path, change):
    """A copy whose samples were changed, as Inspect does when a score is edited."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed := path.with_name("changed.eval"), "w") as new:
        for name in old.namelist():
            value = json.loads(old.read(name))
            if name.startswith("samples/"):
                change(value)
            new.writestr(name, json.dumps(value))
    return changed


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda sample: sample["scores"]["proactbench"].update(value=0.0),
            "the score is 0.0 in the log and 1.0 in the",
        ),
        (lambda sample: sample["metadata"].pop("dspy_proact"), "the sample has no 'dspy_proact'; export the run again"),
        (lambda sample: sample["metadata"]["dspy_proact"].pop("events"), "field 'events': Field required; export the"),
        (
            lambda sample: sample["metadata"]["dspy_proact"]["case"]["view"]["rubric"].update(fail_criteria="Any."),
            "the case 'd1__t2' was changed after the export",
        ),
    ],
)
def test_a_log_that_contradicts_its_run_is_refused(tmp_path, change, problem):
    path = rewritten(logged(run_of(tmp_path / "run", [(trigger(), "PASS")]), tmp_path), change)
    with pytest.raises(CorpusError, match=re.escape(problem)) as refused:
        summarize(LoggedRun(path))
    assert "samples/d1__t2_epoch_1.json" in str(refused.value)


def test_what_no_file_holds_safely_is_replaced_and_the_log_reads_back(tmp_path):
    case = trigger("../../d1", user="nul \0 here")
    run = written(tmp_path / "run", manifest(), [case], [answered(case, "half \0."), graded(case, evidence=["half"])])
    lost = export_inspect(run, summarize(run), path := tmp_path / "x.eval")
    assert any(re.fullmatch(r"\d+ characters that no file holds safely, replaced by U\+FFFD", line) for line in lost)
    (sample,) = samples_in(path)
    assert sample.output == "half \ufffd."
    assert sample.metadata["trigger"] == case.key
    assert ".." not in sample.id
    assert report_of(LoggedRun(path)) == report_of(run)


def test_a_benchmark_of_ones_own_is_exported_with_what_its_program_saw(proact, done, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_OWN", {})
    registry._of_file.cache_clear()
    write_mine(tmp_path)
    assert proact("eval", "--benchmark", "mine.py", "--out", "run")[0] == 0
    out, err = done("export", "run", "--format", "eval")
    assert f"To open it: inspect view start --log-dir {Path(out.strip()).parent}" in err
    (first, *others) = samples_in(Path(out.strip()))
    assert len(others) == 7
    assert first.scores["grade"].value in ("CLEAR", "VAGUE", "clear", "vague")
    assert report_of(LoggedRun(out.strip())) == report_of(RunFolder("run"))


def test_verbs_take_a_log_in_place_of_a_run(proact, done, tmp_path):
    cases = [trigger(name, user=name) for name in "ab"]
    run = run_of(tmp_path / "run", zip(cases, ("PASS", "FAIL"), strict=True))
    log = logged(run, tmp_path)
    reports = [json.loads(proact("report", path, "--json")[1])["overall"] for path in (run.path, log)]
    assert reports[0] == reports[1]
    assert "a__t2" in proact("show", log)[1]
    assert "»Label the boxes today«." in proact("show", log, "--trigger", "a__t2")[1]
    assert "a file has no calls" in proact("show", log, "--trigger", "a__t2", "--transcript")[2]
    assert proact("compare", run.path, log)[0] == 0
    assert proact("report", log, "--html", "page.html")[0] == 0
    assert "2 triggers" in Path("page.html").read_text("utf-8")
    out = done("rejudge", log, "--judge", "embedded", "--out", "again", "--json")[0]
    assert RunFolder("again").manifest().identity.parent == run.manifest().identity.digest()
    assert json.loads(out)["triggers"]["scored"] == 2
    assert "--corpus is for results files" in proact("report", log, "--corpus", "sample")[2]


def test_a_log_without_a_run_of_ours_is_refused_in_a_sentence(proact, tmp_path):
    header = {"version": 2, "status": "success", "eval": {"task": "tea", "model": "m", "created": "2026-11-29"}}
    (tmp_path / "other.json").write_text(json.dumps(header | {"samples": []}))
    for command in ("report", "show", "rejudge"):
        status, _, err = proact(command, tmp_path / "other.json")
        assert (status, "no run of ours is in this log of Inspect" in err) == (2, True), err


def test_views_of_long_cases_stay_in_the_log(tmp_path):
    cases = [trigger(name, user=f"{name} {'word ' * 60_000}") for name in "abc"]
    run = run_of(tmp_path / "run", [(case, "PASS") for case in cases])
    log = logged(run, tmp_path)
    back = LoggedRun(log)
    assert all(isinstance(case.view, LoggedView) for case in back.cases())
    assert [dict(case.view) for case in back.cases()] == [dict(case.view) for case in run.cases()]
    assert report_of(back) == report_of(run)
    assert logged(back, tmp_path).read_bytes() == log.read_bytes()


@pytest.mark.parametrize("seed", range(4))
def test_a_log_with_hostile_values_is_read_or_refused_in_a_sentence(tmp_path, seed):
    draw, refusals = random.Random(seed), list[str]()
    run = run_of(tmp_path / "run", [(trigger("a"), "PASS"), (trigger("b", user="x"), None)])
    with zipfile.ZipFile(logged(run, tmp_path)) as archive:
        members = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    for _ in range(25):
        name = draw.choice([name for name in members if name != "summaries.json"])
        with zipfile.ZipFile(path := tmp_path / "hostile.eval", "w") as archive:
            for member, value in members.items():
                archive.writestr(member, json.dumps(spoiled(value, draw) if member == name else value))
        for read in (lambda path: [*samples_in(path)], lambda path: report_of(LoggedRun(path))):
            try:
                read(path)
            except ProactError as error:
                refusals.append(str(error))
    assert refusals
    assert all("hostile.eval" in refusal for refusal in refusals)
