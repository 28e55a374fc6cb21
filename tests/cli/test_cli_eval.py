"""`dspy-proact eval` as a person meets it: results, resuming, and every refusal with its message."""

import asyncio
import json
import signal
from pathlib import Path

import pytest
from child import Child, command_line
from rows import jsonl, row, rubric, trigger_point, without
from server import Answer, Server, error, healthy

from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder


def corpus(folder, *each):
    path = Path(folder) / "corpus.jsonl"
    path.write_text(jsonl(*(each or [row()])), encoding="utf-8")
    return path


def against(server, *more, model="hosted_vllm/any", judge="openai/any"):
    bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge]
    return ["eval", "--model", model, "--judge", judge, *bases, "--retries", 0, *more]


def test_a_run_prints_scores_marked_as_stand_in_and_the_next_step(proact, tmp_path):
    status, out, err = proact("eval", "--corpus", corpus(tmp_path))
    assert status == 0
    assert all(text in out for text in ("EMERGENT", "CRITICAL", "RECOVERY", "embedded stand-in", "3/3"))
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("embedded--embedded--")
    assert f"dspy-proact report {folder}" in err


def test_the_same_command_again_makes_no_call_and_says_so(proact, tmp_path, server):
    command = against(server, "--corpus", corpus(tmp_path))
    first = proact(*command)
    calls = len(server.sent)
    second = proact(*command)
    assert (first[0], second[0], len(server.sent)) == (0, 0, calls)
    assert "no calls were made" in second[2]
    assert second[1] == first[1]


def test_json_is_the_report(proact, tmp_path):
    _, out, _ = proact("eval", "--corpus", corpus(tmp_path), "--out", "run", "--json")
    _, report, _ = proact("report", "run", "--json")
    assert json.loads(out) == json.loads(report)


def test_the_real_dialogue_scores_three_of_three(proact, data):
    status, _, _ = proact("eval", "--corpus", data / "proactbench_dialogue.jsonl", "--out", "run")
    assert status == 0
    _, out, _ = proact("report", "run", "--json")
    report = json.loads(out)
    assert report["triggers"] == {"total": 3, "scored": 3, "unscored": 0, "pending": 0, "unscored_reasons": {}}
    assert report["complete"] is True
    assert [report["phases"][phase]["total"] for phase in ("EMERGENT", "CRITICAL", "RECOVERY")] == [1, 1, 1]


def test_a_limit_and_phases_can_be_widened(proact, tmp_path, server):
    command = against(server, "--corpus", corpus(tmp_path), "--out", "run")
    proact(*command, "--limit", 1)
    assert len(server.sent) == 2
    proact(*command, "--phase", "recovery", "--phase", "Critical")
    proact(*command)
    assert len(server.sent) == 6  # 3 triggers x 2 roles, each once
    assert summarize(RunFolder(Path("run"))).count("scored") == 3


def test_unscored_triggers_end_with_status_three(proact, tmp_path, server):
    server.script_roles(assistant=lambda sent: Answer(""))
    status, out, _ = proact(*against(server, "--corpus", corpus(tmp_path)))
    assert status == 3
    assert "unscored 3: response: empty 3" in out
    assert "0/3" in out


def test_provider_failures_are_mended_by_the_same_command_and_content_failures_are_not(proact, tmp_path, server):
    command = against(server, "--corpus", corpus(tmp_path), "--out", "run")
    broken = {3: error(500), 5: Answer("")}  # by the number of messages: triggers at turns 2 and 3
    server.script_roles(assistant=lambda sent: broken.get(len(sent.messages)) or healthy(sent))
    assert proact(*command)[0] == 3
    server.script = healthy
    server.sent.clear()
    assert proact(*command)[0] == 3
    assert [len(sent.messages) for sent in server.of("assistant")] == [3]
    summary = summarize(RunFolder(Path("run")))
    assert (summary.count("scored"), summary.unscored_reasons) == (2, {"response: empty": 1})


@pytest.mark.parametrize(("role", "flag"), [("assistant", "--model"), ("judge", "--judge")])
def test_a_refused_key_stops_the_run_at_once(proact, tmp_path, server, role, flag, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    each = [row(unique_id_eval=f"d{number}") for number in range(20)]
    server.script = lambda sent: error(401, "bad key") if sent.role == role else healthy(sent)
    command = against(server, "--corpus", corpus(tmp_path, *each), "--concurrency", 4, model="openai/any")
    status, _, err = proact(*command)
    assert status == 2
    assert len([sent for sent in server.sent if sent.role == role]) <= 4
    assert f"{flag} openai/any" in err
    assert "OPENAI_API_KEY" in err
    said = "no folder was left" if role == "assistant" else "Repeat the command to go on"
    assert said in err
    assert any(Path("runs").iterdir()) == (role == "judge")


def test_an_unknown_model_at_the_server_stops_the_run(proact, tmp_path, server):
    server.script = lambda sent: error(404, "model not found")
    status, _, err = proact(*against(server, "--corpus", corpus(tmp_path)))
    assert status == 2
    assert "no such model" in err


def test_a_refused_parameter_is_named_with_the_flag_that_leaves_it_out(proact, tmp_path, server):
    server.script = lambda sent: error(400, "Unsupported parameter: 'top_p' is not supported")
    status, _, err = proact(*against(server, "--corpus", corpus(tmp_path)))
    assert status == 2
    assert "--model-param top_p=none" in err


def test_a_missing_key_is_said_before_the_first_call(proact, tmp_path):
    status, _, err = proact("eval", "--model", "openai/gpt-4o", "--corpus", corpus(tmp_path))
    assert status == 2
    assert "--model openai/gpt-4o: no key. Set OPENAI_API_KEY" in err
    assert not Path("runs").exists()


def test_the_judges_missing_key_is_said_too(proact, tmp_path, server):
    status, _, err = proact(
        "eval", "--model", "hosted_vllm/any", "--model-api-base", server.assistant, "--corpus", corpus(tmp_path)
    )
    assert status == 2
    assert "--judge openai/gpt-5.4: no key. Set OPENAI_API_KEY" in err
    assert not server.sent


def test_an_unknown_provider_is_a_usage_error(proact, tmp_path):
    status, _, err = proact("eval", "--model", "nonsense/model", "--judge", "embedded", "--corpus", corpus(tmp_path))
    assert status == 2
    assert "'nonsense/model'" in err


@pytest.mark.parametrize(
    ("more", "models", "named"),
    [
        (["--model-param", "temperature=0"], {}, "assistant.decoding.temperature"),
        (["--judge-param", "max_tokens=9"], {}, "judge.decoding.max_tokens"),
        ([], {"judge": "openai/other"}, "judge.model"),
        ([], {"model": "openai/any"}, "assistant.model"),
    ],
)
def test_a_folder_with_another_run_is_refused_naming_what_differs(proact, tmp_path, server, more, models, named):
    command = ["--corpus", corpus(tmp_path), "--out", "run"]
    proact(*against(server, *command))
    calls = len(server.sent)
    status, _, err = proact(*against(server, *command, *more, **models))
    assert (status, len(server.sent)) == (2, calls)
    assert f"run: holds another run, which differs in {named};" in err


def test_another_corpus_is_another_run(proact, tmp_path):
    proact("eval", "--corpus", corpus(tmp_path), "--out", "run")
    status, _, err = proact("eval", "--corpus", corpus(tmp_path, row(unique_id_eval="other")), "--out", "run")
    assert status == 2
    assert "differs in corpus;" in err


LONE = json.dumps(row(unique_id_eval="lone")).replace("Question 1", "Question \\ud800")
DOUBLE = json.dumps(row()).replace('"scenario_id":', '"scenario_id": "X_01", "scenario_id":')
CRITERION = without(rubric("EMERGENT"), "partial_criteria")
BAD_FILES = {
    "empty": (b"", "empty"),
    "not UTF-8": (b"\xff\xfe\x00", "UTF-8"),
    "not JSON": (jsonl(row()) + "{nope\n", "line 2"),
    "no criterion": (jsonl(row(trigger_points=[trigger_point(2, evaluation_rubric=CRITERION)])), "partial_criteria"),
    "unknown phase": (jsonl(row(trigger_points=[trigger_point(2, evaluation_rubric=rubric("LATE"))])), "LATE"),
    "no such turn": (jsonl(row(trigger_points=[trigger_point(9)])), "9"),
    "two at one turn": (jsonl(row(trigger_points=[trigger_point(2), trigger_point(2, "CRITICAL")])), "trigger_points"),
    "key twice in the file": (jsonl(row(), row()), "unique_id_eval"),
    "key twice in a row": (DOUBLE, "scenario_id"),
    "turn out of order": (jsonl(row(turn_records=row()["turn_records"][::-1])), "turn"),
    "lone surrogate": (LONE, "surrogate"),
    "wrong type": (jsonl(row(style_combination_index="3")), "style_combination_index"),
}


@pytest.mark.parametrize(("content", "named"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_corpus_is_refused_before_any_call(proact, tmp_path, server, content, named):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    status, out, err = proact(*against(server, "--corpus", path))
    assert (status, out, server.sent) == (2, "", [])
    assert err.count("Error:") == 1
    assert str(path) in err
    assert named in err
    assert not Path("runs").exists()


@pytest.mark.parametrize(("name", "said"), [("missing.jsonl", "no such file"), (".", "director")])
def test_a_corpus_that_is_no_file_is_refused(proact, name, said):
    status, _, err = proact("eval", "--corpus", name)
    assert status == 2
    assert said in err.lower() or "folder" in err.lower()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--limit", "0"],
        ["--limit", "-3"],
        ["--limit", "1e3"],
        ["--limit", "99999999999999"],
        ["--epochs", "0"],
        ["--epochs", "1000000"],
        ["--votes", "0"],
        ["--votes", "1000000"],
        ["--concurrency", "0"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--retries", "-1"],
        ["--stratum", "LATE"],
        ["--backend", "magic"],
        ["--model-param", "temperature"],
        ["--model-param", "=1"],
        ["--model-param", "temperature=NaN"],
        ["--unheard-of"],
    ],
)
def test_absurd_arguments_are_usage_errors(proact, tmp_path, arguments):
    status, _, err = proact("eval", "--corpus", corpus(tmp_path), *arguments)
    assert status == 2
    assert arguments[0].lstrip("-") in err
    assert not Path("runs").exists()


def test_an_override_of_what_is_not_decoding_is_refused(proact, tmp_path, server):
    status, _, err = proact(*against(server, "--corpus", corpus(tmp_path), "--model-param", "messages=[]"))
    assert status == 2
    assert "'messages' is not a decoding parameter" in err


def test_ignored_fields_are_counted_in_one_line(proact, tmp_path):
    _, _, err = proact("eval", "--corpus", corpus(tmp_path, row(novelty=1), row(unique_id_eval="b", novelty=2)))
    assert "ignored fields that the format does not know: 'novelty' (2)" in err


def child(server, folder, *more):
    arguments = against(server, "--corpus", corpus(folder, *dialogues()), "--out", folder / "run", *more)
    return Child(command_line, *arguments, COLUMNS="100")


def dialogues():
    return [row(unique_id_eval=f"d{number}") for number in range(10)]


class Holding:
    """A healthy server that sends a signal to a child at the n-th request."""

    def __init__(self, number, at):
        self.number, self.at, self.seen, self.process = number, at, 0, None

    def __call__(self, sent):
        self.seen += 1
        if self.seen == self.at:
            self.process.send_signal(self.number)
        answer = healthy(sent)
        answer.delay = 0.05
        return answer


def grades(folder):
    return {event.key: event.grade for event in RunFolder(folder).events() if event.grade}


def test_a_killed_run_ends_like_an_uninterrupted_one(tmp_path, server):
    with Server() as other:
        (tmp_path / "whole").mkdir()
        assert child(other, tmp_path / "whole").ended().returncode == 0
    (tmp_path / "killed").mkdir()
    server.script = holding = Holding(signal.SIGKILL, at=25)
    holding.process = child(server, tmp_path / "killed", "--concurrency", "4")
    assert holding.process.ended().returncode == -signal.SIGKILL
    kept = grades(tmp_path / "killed" / "run")
    assert 0 < len(kept) < 30
    server.script = healthy
    assert child(server, tmp_path / "killed", "--concurrency", "4").ended().returncode == 0
    assert grades(tmp_path / "killed" / "run") == grades(tmp_path / "whole" / "run")
    assert len(server.sent) <= 60 + 4  # 10 dialogues x 3 triggers x 2 roles, and what was in flight


def test_an_interrupted_run_keeps_what_is_in_flight_and_says_how_to_go_on(tmp_path, server):
    server.script = holding = Holding(signal.SIGINT, at=10)
    holding.process = child(server, tmp_path, "--concurrency", "4")
    done = holding.process.ended()
    assert done.returncode == 130
    assert "Repeat the command to go on" in done.stderr
    assert "Traceback" not in done.stderr
    events = list(RunFolder(tmp_path / "run").events())
    assert len(events) == len(server.sent)  # nothing that was paid for is lost
    server.script = healthy
    assert child(server, tmp_path).ended().returncode == 0
    assert len(server.sent) == 60  # and nothing is paid for twice


def test_a_second_process_on_the_same_folder_is_refused(tmp_path, server):
    refused = []

    async def script(sent):
        """Answer when the other process has ended: until then this one holds the folder."""
        if not refused:
            second = child(server, tmp_path)
            refused.append(await asyncio.to_thread(second.ended))
        return healthy(sent)

    server.script = script
    first = child(server, tmp_path, "--concurrency", "1", "--limit", "1").ended()
    assert refused[0].returncode == 2
    assert "another process" in refused[0].stderr
    assert first.returncode == 0
