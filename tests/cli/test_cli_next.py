"""What every verb says to type next: a whole command, which does what it says when it is pasted into a shell."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import click
import pytest
from builders import judges
from builders.assistants import NAMES, artefact, bases, command_at
from builders.assistants import models as assistants
from builders.assistants import on_disk as corpus_on_disk
from builders.benchmarks import write_mine
from builders.dialogues import jsonl, row
from builders.results import result_point, result_record, result_row
from builders.runs import run_of, trigger
from builders.studies import filled, rows_of
from drivers.terminal import last, next_of
from fakes.official_package import installed
from fakes.server import Answer, error, healthy, verdict

from dspy_proact import cli
from dspy_proact.cli.next_step import Next
from dspy_proact.programs.artefact import write_artefact

FOLDER = "Ann's runs & more"
"""Of all that is written: a shell would take it for several words."""
PRICED = ["--judge-price", "2.5,15"]
CALLS = ["--timeout", "30", "--retries", "0", "--backend", "litellm", "--concurrency", "3"]
CALLING = {"eval", "rejudge"}
"""Verbs that have a dry run."""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / FOLDER).mkdir()


def at(name):
    return f"{FOLDER}/{name}"


def quoted(name):
    return f"'Ann'\"'\"'s runs & more/{name}'"


def pasted(proact, message):
    """What comes of the command that is said to be next; one that calls models is tried without a call."""
    words = next_of(message)
    status, _, err = proact(*words, *(["--dry-run"] if words[0] in CALLING else []))
    assert status == 0, err
    return words


def flags_of(words):
    """Options and their values, of a command without flags that take none."""
    return {flag: value for flag, value in pairwise(words) if flag.startswith("--")}


def corpus(dialogues=1):
    Path(at("corpus.jsonl")).write_text(
        jsonl(*(row(unique_id_eval=f"d{number}") for number in range(dialogues))), encoding="utf-8"
    )
    return ["--corpus", at("corpus.jsonl")]


def judged_by(server, name="hosted_vllm/judge"):
    return ["--judge", name, "--judge-api-base", server.judge, "--judge-param", "top_p=none", *PRICED]


def answered_by(server, *names):
    named = [part for name in names for part in ("--model", f"hosted_vllm/{name}")]
    return [*named, "--model-api-base", server.assistant, "--model-param", "seed=7", "--model-price", "1,2"]


# Runs


def test_a_run_names_the_worst_grade_that_it_has_and_none_where_all_are_the_best(proact):
    assert proact("benchmarks", "new", at("mine.py"))[0] == 0
    mine = Path(at("mine.py"))
    ended = proact("eval", "--benchmark", at("mine.py"), "--out", at("some"))
    assert "--grade wrong" in ended[2]
    graded = ("--judge", "embedded", "--votes", 3, "--limit", 2, "--out", at("votes"))
    assert "To read the worst" not in proact("eval", "--model", "embedded", *graded)[2]  # votes decide the grade
    right = mine.read_text("utf-8").replace('Scored(score, "RIGHT" if score == 1 else "WRONG"', 'Scored(1.0, "RIGHT"')
    mine.with_name("right.py").write_text(right.replace('name = "mine"', 'name = "right"'), "utf-8")
    ended = proact("eval", "--benchmark", at("right.py"), "--out", at("all-right"))
    assert ended[0] == 0
    assert "Next: " in ended[2]
    assert "To read the worst" not in ended[2]


def test_after_a_run_its_report_and_after_several_they_are_set_side_by_side(proact, server):
    size = [*judged_by(server), *corpus(), *CALLS]
    ended = proact("eval", *answered_by(server, "ann"), *size, "--out", at("run"))
    assert f"To read the worst: dspy-proact show {quoted('run')} --grade fail\nNext: " in ended[2]
    exported = ["export", at("run"), "--format", "official", "--out", at("run.jsonl")]
    for done, words in (
        (ended, ["report", at("run"), "--html", "page.html"]),
        (proact("report", at("run")), ["report", at("run"), "--html", "page.html"]),
        (proact("report", at("run"), "--html", at("page.html")), ["show", at("run")]),
        (proact("compare", at("run"), at("run")), ["show", at("run"), "--beside", at("run"), "--disagree"]),
        (proact("leaderboard", at("run")), ["report", at("run")]),
        (proact(*exported), ["report", at("run.jsonl")]),
    ):
        assert (done[0], pasted(proact, done)) == (0, words), done[2]
    names = ("ann", "ben", "cid")
    first, *runs = pasted(proact, proact("eval", *answered_by(server, *names), *size, "--limit", 1, "--out", at("all")))
    assert (first, runs[3:]) == ("report", ["--html", "page.html"])
    first, *runs = pasted(proact, proact("report", *runs[:3], "--html", at("page.html")))
    assert first == "compare"
    assert [Path(run).name.split("--")[1] for run in runs] == [f"hosted_vllm_{name}" for name in names]
    stopped = proact("eval", *answered_by(server, "ann"), *size, "--max-calls", 1, "--out", at("stopped"))
    assert (stopped[0], "Next:" in stopped[2], "Repeat the command to go on." in stopped[2]) == (4, False, True)


def test_after_replies_that_were_cut_their_limit_is_raised_and_the_rest_is_reused(proact, server):
    """Only the verdict that could not be read, which was asked for twice, is asked for again."""
    cut = Answer('{"reasoning": "I', "length")
    server.script = lambda sent: (
        cut if sent.body["max_tokens"] == 100 and len(server.of("judge")) > 1 else healthy(sent)
    )
    limited = ["--judge-param", "max_tokens=100", "--limit", 2, "--out", at("run")]
    done = proact("eval", *answered_by(server, "ann"), *judged_by(server), *corpus(2), *CALLS, *limited)
    words = next_of(done)
    assert (done[0], words[0], words[-2:]) == (3, "eval", ["--reuse", at("run")])
    assert ("--out" in words, "max_tokens=100" in words, "max_tokens=200" in words) == (False, False, True)
    before = len(server.sent)
    status, out, err = proact(*words, "--dry-run")
    assert (status, "1 calls, without" in out, "reused" in err) == (0, True, False), out
    err = proact(*words, "--dry-run", "--system-prompt", "Be brief.")[2]
    assert f"Nothing of {at('run')} is reused: assistant.program, assistant.prompt differ." in " ".join(err.split())
    status, out, err = proact(*words)
    assert (status, len(server.sent) - before) == (0, 1), err
    assert f"Reused from {at('run')}: 2 responses and 1 verdict" in " ".join(out.split())


def test_after_a_refused_parameter_it_is_left_out_and_what_was_paid_for_is_reused(proact, server):
    """The server refuses the judge's penalty once a response is there."""
    refusal = error(400, "frequency_penalty is not supported")
    server.script = lambda sent: refusal if "frequency_penalty" in sent.body else healthy(sent)
    sized = [*answered_by(server, "ann"), *judged_by(server), *corpus(), *CALLS]
    done = proact("eval", *sized, "--judge-param", "frequency_penalty=1", "--limit", 1, "--out", at("run"))
    words = next_of(done)
    assert (done[0], "frequency_penalty=none" in words, words[-2:]) == (2, True, ["--reuse", at("run")])
    server.sent.clear()
    assert proact(*words)[0] == 0
    assert [sent.role for sent in server.sent] == ["judge"]


def test_after_a_rejudging_the_two_gradings_are_compared_if_there_are_two(proact, server):
    run_of(Path(at("parent")), [(trigger(), "PASS")])
    server.script = lambda _: Answer(verdict("PASS", ["Label the boxes today"]))
    done = proact("rejudge", at("parent"), *judged_by(server), *CALLS, "--out", at("child"))
    assert pasted(proact, done) == ["compare", at("parent"), at("child")]
    # The file has a response to the trigger of turn 2, and this is about RECOVERY.
    only = result_row(trigger_points=[result_point(2)], turn_records=[result_record(2)])
    Path(at("results.jsonl")).write_text(jsonl(only), encoding="utf-8")
    Path(at("corpus.jsonl")).write_text(jsonl(row()), encoding="utf-8")
    named = [at("results.jsonl"), "--corpus", at("corpus.jsonl"), "--stratum", "RECOVERY"]
    done = proact("rejudge", *named, *judged_by(server), *CALLS, "--out", at("other"))
    # The file has no response there, which no judge mends.
    assert (done[0], pasted(proact, done)) == (3, ["report", at("other"), "--html", "page.html"])
    server.script = lambda _: Answer("I cannot say.")
    done = proact("rejudge", at("parent"), *judged_by(server), *CALLS, "--out", at("unread"))
    assert pasted(proact, done)[-1] == "--retry-unscored"
    # Where the parent has no grade there is nothing to compare.
    server.script = lambda _: Answer(verdict("PASS", ["Label the boxes today"]))
    done = proact("rejudge", at("unread"), *judged_by(server), *CALLS, "--out", at("read"))
    assert pasted(proact, done) == ["report", at("read"), "--html", "page.html"]


def test_after_the_report_of_a_results_file_another_judge_grades_what_it_answers(proact, monkeypatch):
    Path(at("results.jsonl")).write_text(jsonl(result_row()), encoding="utf-8")
    Path(at("corpus.jsonl")).write_text(jsonl(row()), encoding="utf-8")
    named = ["--corpus", at("corpus.jsonl")]
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert pasted(proact, proact("report", at("results.jsonl"), *named)) == ["rejudge", at("results.jsonl"), *named]
    # Of the sample nobody has to say so.
    proact("eval", "--limit", 3, "--out", at("run"))
    proact("export", at("run"), "--format", "official", "--out", at("sample.jsonl"))
    done = proact("report", at("sample.jsonl"))
    assert pasted(proact, done) == ["rejudge", at("sample.jsonl"), "--corpus", "sample"]


def test_before_any_run_the_leaderboard_says_how_one_is_made(proact, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    words = next_of(proact("leaderboard"))
    assert words == ["eval", "--model", "openai/gpt-4o", "--judge-prompt", "official"]
    with installed(tmp_path / "package"):
        assert proact(*words, "--corpus", "sample", "--dry-run")[0] == 0


# People


def fill_in(sheet, *grades):
    """Have one rater fill in a sheet, the grades in turn."""
    rows = rows_of(Path(sheet))
    filled(Path(sheet), rows, raters=1, times=1, grade=lambda number: grades[number % len(grades)])


def test_a_sheet_that_is_filled_in_is_read_by_the_command_that_is_next(proact):
    run_of(Path(at("run")), [(trigger(), "PASS")])
    sheet = proact("label", "sheet", at("run"))
    assert next_of(sheet) == ["agree", "--run", at("run"), "--ratings", "labels/run.csv"]
    fill_in("labels/run.csv", "PASS")
    done = proact(*next_of(sheet))
    assert pasted(proact, done) == ["agree", "--ratings", "labels/run.csv", "--run", at("run"), "--explain"]
    done = proact("agree", "--consensus", "soft", "--min-ratings", 2)
    assert pasted(proact, done) == ["agree", "--consensus", "soft", "--min-ratings", "2", "--explain"]
    assert pasted(proact, proact(*next_of(done))) == [*next_of(done), "--json"]


# Prompts


def test_a_prompt_or_program_that_was_tried_is_evaluated_by_the_same_models(proagentbench, proact, server):
    models = [*answered_by(server, "ann"), *judged_by(server)]
    done = proact("try", "Don't push; it's rude.", *models, *corpus(4), *CALLS, "--max-calls", 100)
    words = pasted(proact, done)
    expected = ["eval", "--system-prompt", "Don't push; it's rude.", *models, *corpus(4), *CALLS]
    assert (words[:3], sorted(words)) == (expected[:3], sorted(expected))
    # Without one, a prompt in a file that the person writes; and so of a long one.
    done = proact("try", *models, *corpus(4), *CALLS)
    Path("FILE").write_text("Look ahead.", encoding="utf-8")
    assert next_of(done)[:2] == ["try", "@FILE"]
    assert proact(*next_of(done))[0] == 0
    assert "Look ahead." in {sent.messages[0]["content"] for sent in server.of("assistant")}
    # Where a program has its own words no prompt is asked for.
    done = proact("try", "--benchmark", "proagentbench")
    assert next_of(done) == ["eval", "--benchmark", "proagentbench"]
    status, _, err = proact("try", "Look ahead.", "--benchmark", write_mine(Path(), "start.prompt or ", ""))
    assert (status, "next-step has no system prompt; leave it out" in err) == (2, True)
    done = proact("try", "Look ahead.\n" * 20, *models, *corpus(4))
    assert "With the prompt in FILE: Next: " in done[2]
    assert flags_of(pasted(proact, done))["--system-prompt"] == "@FILE"
    write_artefact(Path(at("assistant.json")), artefact())
    done = proact("try", "--program", at("assistant.json"), *models, *corpus(4))
    assert flags_of(pasted(proact, done))["--program"] == at("assistant.json")


def test_of_ones_own_conversation_the_judge_that_was_not_asked_is_not_named(proact, server):
    Path(at("talk.txt")).write_text("User: Hi", encoding="utf-8")
    judge = ["--judge", "openai/j", "--judge-api-base", "http://me:hunter2@there/v1"]
    done = proact("try", "Hm.", *answered_by(server, "ann"), *judge, "--conversation", at("talk.txt"))
    assert (done[0], "--judge" in next_of(done), "hunter2" in done[2]) == (0, False, False)


def test_a_secret_among_parameters_is_asked_for_and_never_printed(proact, server):
    secret = {"api_key_2": "hunter2", "plain": 3}
    params = ["--model-param", f"extra_body={json.dumps(secret)}"]
    params += ["--judge-param", 'extra_body={"session_token": "hunter3"}']
    done = proact("try", "Hm.", *answered_by(server, "ann"), *judged_by(server), *params, *corpus(4))
    assert (done[0], "hunter" in done[1] + done[2]) == (0, False)
    assert "Fill in what is [hidden] in it. Next: " in done[2]
    words = next_of(done)
    body, _ = [word for word in words if word.startswith("extra_body=")]
    assert json.loads(body.partition("=")[2])["plain"] == 3
    assert "[hidden " in body
    assert {"seed=7", "top_p=none"} <= set(words)


# Compiles

FEW = ["--trials", 2, "--max-demos", 1, "--folds", 2]


def test_a_judge_tuned_to_ratings_of_a_run_judges_that_run(proact, server):
    cases = [trigger(f"d{n}", scenario=f"S{n}", user=f"Any boxes in room {n}?") for n in range(4)]
    people = [replace(case, meta={**case.meta, "persona": f"p{n}"}) for n, case in enumerate(cases)]
    run_of(Path(at("run")), [(case, "PASS") for case in people])
    proact("label", "sheet", at("run"), "--out", at("mine.csv"))
    fill_in(at("mine.csv"), "PASS", "FAIL")
    server.script = lambda _: Answer(verdict("PASS", ["Label the boxes today"]))
    labels = ["--ratings", at("mine.csv"), "--run", at("run")]
    how = ["--optimizer", "labeled", *FEW, *judged_by(server), *CALLS, "--out", at("out")]
    done = proact("optimize", "judge", *labels, *how)
    assert done[0] == 0, done[2]
    words = pasted(proact, done)
    assert words[:2] == ["rejudge", at("run")]
    assert flags_of(words) == flags_of([*judged_by(server), *CALLS, "--judge-program", at("out/judge.json")])


def test_a_judge_tuned_to_other_ratings_is_used_in_an_evaluation(proact, tmp_path, server):
    server.script = judges.models
    named = ["--benchmark", "proactbench", *judged_by(server), *CALLS]
    few = [*judges.on_disk(tmp_path, judges.study()), "--optimizer", "labeled", *FEW]
    done = proact("optimize", "judge", *few, *named, "--out", at("out"))
    assert done[0] == 0, done[2]
    words = pasted(proact, done)
    assert words[0] == "eval"
    assert "Name a model of your own in place of the stand-in. Next: " in done[2]
    on = ["--model", "embedded", "--corpus", "sample", *named, "--judge-program", at("out/judge.json")]
    assert flags_of(words) == flags_of(on)


def tuned(proact, server, *more):
    server.script = assistants
    corpus_on_disk(Path(FOLDER))
    named = ["--corpus", at("corpus.jsonl"), *more, *FEW, "--optimizer", "search", "--out", at("out")]
    return proact(*last("optimize", "assistant", *named))


def test_an_assistant_is_evaluated_on_its_corpus_by_the_judge_that_reported(proact, server):
    parameters = ["--model-price", "1,2", "--judge-price", "3,4", "--report-judge-price", "5,6", "--timeout", 30]
    parameters += ["--benchmark", "proactbench"]
    message = tuned(proact, server, *command_at(server), *parameters)
    assert message[0] == 0, message[2]
    words = pasted(proact, message)
    assert words[0] == "eval"
    assert flags_of(words) == {
        "--model": NAMES["model"],
        "--model-api-base": bases(server)["model_api_base"],
        "--model-price": "1,2",
        "--judge": NAMES["report_judge"],
        "--judge-api-base": bases(server)["report_judge_api_base"],
        "--judge-price": "5,6",
        "--corpus": at("corpus.jsonl"),
        "--retries": "0",
        "--timeout": "30",
        "--benchmark": "proactbench",
        "--program": at("out/assistant.json"),
    }


def test_where_one_judge_tunes_and_reports_it_is_named_as_it_was(proact, server):
    """What was said of the tuning judge holds for the reporting one, as far as nothing else was said of that."""
    judge = ["--judge", "hosted_vllm/j", "--judge-api-base", server.judge, "--judge-param", "seed=7"]
    one = ["--model", "embedded", *judge]
    message = tuned(proact, server, *one, "--report-judge", "hosted_vllm/j", "--report-judge-price", "5,6")
    assert message[0] == 0, message[2]
    text = flags_of(pasted(proact, message))
    assert text["--judge"] == "hosted_vllm/j"
    assert text["--judge-api-base"] == server.judge
    assert (text["--judge-param"], text["--judge-price"]) == ("seed=7", "5,6")


def test_nobody_words_beside_it_what_is_next():
    house = Path(cli.__file__).parent
    assert [path.name for path in house.rglob("*.py") if "Next:" in path.read_text(encoding="utf-8")] == [
        "next_step.py"
    ]


@pytest.mark.parametrize("step", Next, ids=str.lower)
def test_each_step_is_a_command_with_options_that_it_has(step):
    verb = cli.proact
    words = step.split()
    while isinstance(verb, click.Group) and not words[0].startswith("{"):
        verb = verb.commands[words.pop(0)]
    verb = next((one for one in getattr(verb, "further", ()) if one.name == words[0]), verb)
    flags = {flag for param in verb.params for flag in param.opts}
    assert isinstance(verb, click.Group) or flags >= {word for word in words if word.startswith("--")}
