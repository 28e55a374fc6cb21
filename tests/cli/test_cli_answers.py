"""`dspy-proact eval --answers`: tables, runs, results files and logs, graded without a call to a model under test."""

import json
import zipfile
from pathlib import Path

import pytest
from builders.results import corpus_with, file_with
from drivers.terminal import last, unwrapped

import dspy_proact.benchmarks.proactbench  # noqa: F401 - the tests are skipped where its folder is gone
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.runs import RunFolder

pytestmark = pytest.mark.usefixtures("proactbench")

SETTINGS = benchmark_named("proactbench").settings_type()
SAMPLE = benchmark_named("proactbench").read("sample", SETTINGS)
KEYS = [case.key for case in SAMPLE.cases if case.stratum != "CONTROL"]
TEXT = "You move on Friday, so label the boxes today."


def table(name: str = "answers.csv", count: int = 12, columns: str = "trigger,reply") -> str:
    Path(name).write_text(f"{columns}\n" + "".join(f'{key},"{TEXT} {key}"\n' for key in KEYS[:count]), "utf-8")
    return name


def answered(file, *more, name="mine"):
    named = ["--as", name] if name else []
    return last("eval", "--answers", file, *named, "--corpus", "sample", "--judge", "embedded", *more)


def test_a_table_is_graded_and_the_headline_says_whose_answers_and_how_much_of_the_corpus(proact, done):
    out, err = done(*answered(table(), "--out", "run"))
    assert "Answers of mine scored" in unwrapped(out)
    assert "A part of the corpus: the file has 12 of 49 triggers." in unwrapped(out)
    assert "answers.csv: has 12 of the 49 triggers of the corpus sample." in err
    assert "assistant: 0 calls" in out
    document = json.loads(proact("report", "run", "--json")[1])
    assert document["run"]["answers"] == {"name": "answers.csv", "cases": 12}
    assert (document["run"]["model"], document["triggers"]["total"]) == ("mine", 12)


def test_such_a_run_goes_on_after_a_limit_and_is_read_by_every_verb(proact, done):
    table(count=49)
    assert proact(*answered("answers.csv", "--out", "run", "--max-calls", 5))[0] == 4
    status, _, err = proact(*answered("answers.csv", "--out", "run"))
    assert (status, "5 of 49 triggers are done already" in err) == (0, True), err
    assert "no calls were made" in proact(*answered("answers.csv", "--out", "run"))[2]
    assert proact("eval", "--out", "other")[0] == 0
    for words in (
        "report run --explain",
        "report run --html page.html",
        f"show run --case {KEYS[0]} --transcript",
        "compare other run",
        "leaderboard run",
        "export run --format csv",
        "rejudge run --judge embedded --out again",
        "label sheet run --draw 8 --out sheet.csv",
    ):
        done(*words.split())
    page = Path("page.html").read_text("utf-8")
    assert "were read from answers.csv" in page
    assert "was asked 49 triggers" not in page


def test_answers_that_changed_are_another_run_which_copies_the_verdicts_on_those_that_are_the_same(proact, server):
    judged = ("--corpus", "sample", "--as", "mine", "--judge", "hosted_vllm/j", "--judge-api-base", server.judge)
    assert proact("eval", "--answers", table(count=6), *judged, "--out", "run")[0] == 0
    assert len(server.sent) == 6
    text = Path("answers.csv").read_text("utf-8")
    Path("answers.csv").write_text(text.replace(f"{TEXT} {KEYS[0]}", f"Well. {TEXT}"), "utf-8")
    status, _, err = proact("eval", "--answers", "answers.csv", *judged, "--out", "run")
    assert (status, "differs in parent; other answers were graded there" in unwrapped(err)) == (2, True), err
    status, _, err = proact("eval", "--answers", "answers.csv", *judged, "--out", "again", "--reuse", "run")
    assert (status, len(server.sent)) == (0, 7), err


def test_the_export_of_a_run_is_a_table_of_its_answers(proact, done):
    assert proact("eval", "--out", "run")[0] == 0
    assert proact("export", "run", "--format", "parquet", "--out", "run.parquet")[0] == 0
    done(*answered("run.parquet", "--out", "again"))
    a, b = (
        {event.key.case: event.text for event in RunFolder(name).events() if event.answer} for name in ("run", "again")
    )
    assert a == b


def test_a_run_is_graded_as_it_is_and_a_results_file_by_its_corpus(proact):
    assert proact("eval", "--limit", 4, "--out", "run")[0] == 0
    assert proact("eval", "--answers", "run", "--judge", "embedded", "--out", "again")[0] == 0
    assert RunFolder("again").manifest().identity.parent == RunFolder("run").manifest().identity.digest()
    corpus_with(Path()), file_with(Path())
    options = ("--corpus", "corpus.jsonl", "--judge", "embedded", "--out", "graded")
    status, _, err = proact("eval", "--answers", "results.jsonl", *options)
    assert status in (0, 3), err
    assert RunFolder("graded").manifest().answers is None


def log_of_inspect(failed: int = 0, **header) -> str:
    """Three samples, of which so many ended by an error."""
    eval_ = {"task": "t", "model": "openai/gpt-4o", "created": "2026-01-01T00:00:00Z"}
    with zipfile.ZipFile("log.eval", "w") as log:
        log.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": eval_} | header))
        for number, key in enumerate(KEYS[:3], start=1):
            message = {"role": "assistant", "content": TEXT}
            sample = {"id": number, "epoch": 1, "input": "hi", "target": "", "messages": []}
            sample |= {"output": {"choices": [{"message": message}]}, "metadata": {"case": key}}
            sample |= {"error": {"message": f"ValueError('boom {number}')"}} if number <= failed else {}
            log.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return "log.eval"


def test_samples_of_a_log_that_an_error_ended_are_unscored_with_it_and_a_log_that_ended_so_says_it(proact):
    log_of_inspect(2, status="error", error={"message": "RuntimeError('too many')", "traceback": ""})
    status, out, err = proact(*answered("log.eval", "--map", "key=case", "--out", "run", name=None))
    assert (status, "done already" in err) == (3, False), err
    ended = "log.eval: the log has the status 'error', its error is RuntimeError('too many')."
    assert (ended in unwrapped(out), ended in err) == (True, True), unwrapped(out) + err
    # What the two had answered by then is not graded.
    failures = [event.failure for event in RunFolder("run").events() if event.failure]
    assert [(one.reason, one.detail) for one in failures] == [("error", f"ValueError('boom {n}')") for n in (1, 2)]
    assert "response: error: ValueError('boom 1')" in unwrapped(proact("report", "run")[1])
    log_of_inspect(3)
    status, out, err = proact(*answered("log.eval", "--map", "key=case", "--out", "none", name=None))
    assert (status, "done already" in err, "the status" in out) == (3, False, False), err


def test_a_log_of_inspect_has_keys_and_says_who_answered(done):
    log_of_inspect()
    out = done(*answered("log.eval", "--map", "key=case", "--out", "run", name=None))[0]
    assert "Answers of openai/gpt-4o scored" in unwrapped(out)
    assert [event.text for event in RunFolder("run").events() if event.answer] == [TEXT] * 3


def test_answers_in_the_folder_of_a_corpus_are_found_by_their_name_and_have_it(done):
    folder = Path("made")
    folder.mkdir()
    corpus_with(folder)
    key = next(iter(benchmark_named("proactbench").read("made/corpus.jsonl", SETTINGS).cases)).key
    (folder / "logged.jsonl").write_text(json.dumps({"key": key, "response": TEXT}) + "\n", "utf-8")
    options = ("--answers", "logged", "--corpus", "made/corpus.jsonl", "--judge", "embedded", "--out", "run")
    out = done("eval", *options)[0]
    assert "Answers of logged scored" in unwrapped(out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--answers answers.csv", "--as: name who answered in answers.csv, such as --as my-assistant"),
        ("--as mine", "--as: has no effect without --answers"),
        ("--answers answers.csv --as mine --model openai/gpt-4o", "--answers and --model are mutually exclusive"),
        ("--answers answers.csv --as mine --system-prompt Hi", "--answers and --system-prompt are mutually exclusive"),
        ("--answers answers.csv --as mine --map key=id", "--map key=id: there is no such column; the columns are"),
        ("--answers answers.csv --as mine --map keys=id", "--map keys=id: 'keys' is none of key, response, epoch"),
        ("--answers odd.csv --as mine", "the answers; the columns are trigger, mine; name it: --map response=COLUMN"),
        ("--answers answers.csv --as mine --epochs 2", "--epochs 2: answers.csv has at most 1 of each trigger"),
        ("--answers answers.csv --as mine --controls", "--controls: among these responses is none at a control turn"),
        ("--answers none.csv --as mine", "none.csv: no such file or folder; did you mean odd.csv?"),
        ("--answers rows.jsonl", "if it is a table of answers, name who answered: --as NAME"),
        ("--answers run --as mine", "run: a run knows who answered; leave --as and --map out"),
        ("--answers answers.csv --as embedded", "--as 'embedded': is the name of the stand-in; name who answered"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_before_any_call(refused, proact, options, message):
    table(), table("odd.csv", columns="trigger,mine")
    Path("rows.jsonl").write_text(json.dumps({"key": KEYS[0], "response": TEXT}) + "\n", "utf-8")
    assert proact("eval", "--limit", 1, "--out", "run")[0] == 0
    err = refused("eval", *options.split(), *([] if "run" in options.split() else ["--corpus", "sample"]))
    assert message in unwrapped(err)


def test_the_forecast_counts_the_judge_alone(proact):
    status, out, _ = proact(*answered(table(), "--dry-run", "--json"))
    document = json.loads(out)
    assert (status, document["assistant"]["calls"], document["judge"]["calls"], document["calls"]) == (0, 0, 12, 12)
    assert document["assumption"] is None, "the judge's prompts hold the answers, which are there"


def test_answers_without_a_score_or_without_an_order_are_a_part_of_the_corpus_too(proact):
    Path("blank.csv").write_text("trigger,reply\n" + "".join(f"{key},\n" for key in KEYS[:3]), "utf-8")
    out = unwrapped(proact(*answered("blank.csv", "--out", "run"))[1])
    assert ("have no score" in out, "A part of the corpus: the file has 3 of 49 triggers." in out) == (True, True)
    Path("rows.csv").write_text("key,input,response\na,Where is it?,Soon.\nb,When?,Later.\n", "utf-8")
    Path("one.csv").write_text("key,response\na,Soon.\n", "utf-8")
    rows = ("--corpus", "rows.csv", "--scale", "sorry,soon", "--nominal", "--judge", "embedded", "--out", "rows")
    out = unwrapped(proact("eval", "--answers", "one.csv", "--as", "mine", *rows)[1])
    assert ("have soon 1" in out, "A part of the corpus: the file has 1 of 2 rows." in out) == (True, True), out


def test_blank_answers_are_not_counted_as_done_and_equal_answers_in_another_file_are_the_same_run(proact):
    text = Path(table(count=6)).read_text("utf-8").splitlines()
    Path("blank.csv").write_text("\n".join([*text[:-2], *(f'{key}," "' for key in KEYS[4:6])]), "utf-8")
    status, out, err = proact(*answered("blank.csv", "--out", "run"))
    assert (status, "done already" in err) == (3, False), err
    Path("blank.csv").rename("moved.csv")
    status, out, err = proact(*answered("moved.csv", "--out", "run"))
    assert "4 of 4 triggers are done already." in err
    assert ("Answers of mine scored" in unwrapped(out), "blank.csv" in out) == (True, False)


def test_what_lacks_an_answer_in_an_epoch_is_listed_as_answers(proact):
    rows = [f"{KEYS[0]},1,Well.", f"{KEYS[1]},1,Well.", f"{KEYS[1]},2,Shall I?"]
    Path("epochs.csv").write_text("\n".join(["trigger,epoch,reply", *rows]), "utf-8")
    proact(*answered("epochs.csv", "--out", "runs/run"))
    (listed,) = json.loads(proact("runs", "--json")[1])
    # Both triggers have a grade; of 4 answers one is missing.
    assert (listed["scored"], listed["state"]) == (2, "1 of 4 answers unscored")
