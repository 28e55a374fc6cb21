"""`dspy-proact eval` as a person meets it: results, prompts, control cases, resuming, and every refusal."""

import asyncio
import json
import signal
from pathlib import Path

import pytest
from child import Child, command_line
from rows import jsonl, row, rubric, trigger_point, without
from server import Answer, Server, error, healthy
from sheets import said
from typed import last

from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder

pytestmark = pytest.mark.usefixtures("proactbench")

PROMPT = "Hold back. Only what was asked: naïve, “quoted” and 漢字."


def corpus(folder, *each):
    path = Path(folder) / "corpus.jsonl"
    path.write_text(jsonl(*(each or [row()])), encoding="utf-8")
    return path


def against(server, *more, model="hosted_vllm/any", judge="openai/any"):
    bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge]
    return last("eval", "--model", model, "--judge", judge, *bases, "--retries", 0, *more)


def calls(server):
    return len(server.of("assistant")), len(server.of("judge"))


# One run


def test_a_run_prints_scores_marked_as_stand_in_and_the_next_step(proact, tmp_path):
    rows = row(novelty=1), row(unique_id_eval="b", novelty=2)
    status, out, err = proact("eval", "--corpus", corpus(tmp_path, *rows))
    assert status == 0
    assert all(text in out for text in ("EMERGENT", "CRITICAL", "RECOVERY", "embedded stand-in", "6/6"))
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("proactbench--embedded--embedded--")
    assert f"dspy-proact report {folder}" in err
    assert "ignored fields that the format does not know: 'novelty' (2)" in err


def test_json_is_the_report_and_the_same_command_again_makes_no_call(proact, tmp_path, server):
    command = against(server, "--corpus", corpus(tmp_path), "--out", "run", "--json")
    first = proact(*command)
    count = len(server.sent)
    assert json.loads(first[1]) == json.loads(proact("report", "run", "--json")[1])
    second = proact(*command)
    assert (first[0], second[0], second[1], len(server.sent)) == (0, 0, first[1], count)
    assert "no calls were made" in second[2]


def test_a_limit_and_phases_can_be_widened(proact, tmp_path, server):
    command = against(server, "--corpus", corpus(tmp_path), "--out", "run")
    proact(*command, "--limit", 1)
    assert len(server.sent) == 2
    proact(*command, "--phase", "recovery", "--stratum", "Critical")
    proact(*command)
    assert len(server.sent) == 6  # 3 triggers x 2 roles, each once
    assert summarize(RunFolder(Path("run"))).count("scored") == 3


def test_provider_failures_are_mended_by_the_same_command_and_content_failures_are_not(proact, tmp_path, server):
    command = against(server, "--corpus", corpus(tmp_path), "--out", "run")
    broken = {3: error(500), 5: Answer("")}  # by the number of messages: triggers at turns 2 and 3
    server.script_roles(assistant=lambda sent: broken.get(len(sent.messages)) or healthy(sent))
    status, out, _ = proact(*command)
    assert (status, "1/3" in out) == (3, True)
    server.script = healthy
    server.sent.clear()
    status, out, _ = proact(*command)
    assert (status, "unscored 1: response: empty 1" in out) == (3, True)
    assert [len(sent.messages) for sent in server.of("assistant")] == [3]


@pytest.mark.parametrize(("role", "flag"), [("assistant", "--model"), ("judge", "--judge")])
def test_a_refused_key_stops_the_run_at_once(proact, tmp_path, server, role, flag, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    each = [row(unique_id_eval=f"d{number}") for number in range(20)]
    server.script = lambda sent: error(401, "bad key") if sent.role == role else healthy(sent)
    command = against(server, "--corpus", corpus(tmp_path, *each), "--concurrency", 4, model="openai/any")
    status, _, err = proact(*command)
    assert (status, f"{flag} openai/any" in err, "OPENAI_API_KEY" in err) == (2, True, True)
    assert len([sent for sent in server.sent if sent.role == role]) <= 4
    assert ("no folder was kept" if role == "assistant" else "Repeat the command to go on") in err
    assert any(Path("runs").iterdir()) == (role == "judge")


def test_a_folder_with_another_run_is_refused_naming_what_differs(proact, refused, tmp_path, server):
    command = ["--corpus", corpus(tmp_path), "--out", "run"]
    proact(*against(server, *command))
    count = len(server.sent)
    more = ["--model-param", "temperature=0", "--judge", "openai/other", "--system-prompt", PROMPT]
    err = refused(*against(server, *command, *more))
    assert len(server.sent) == count
    named = ("assistant.decoding.temperature", "assistant.program", "assistant.prompt", "judges.2.")
    assert "run: holds another run, which differs in " in err
    assert [name for name in named if name not in err] == []


# Refusals

CRITERION = without(rubric("EMERGENT"), "partial_criteria")
BAD_FILES = {
    "not UTF-8": (b"\xff\xfe\x00", "UTF-8"),
    "no criterion": (jsonl(row(trigger_points=[trigger_point(2, evaluation_rubric=CRITERION)])), "partial_criteria"),
    "missing": (None, "no such file"),
}


@pytest.mark.parametrize(("content", "named"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_corpus_is_refused_before_any_call(proact, tmp_path, server, content, named):
    path = tmp_path / "bad.jsonl"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    status, out, err = proact(*against(server, "--corpus", path))
    assert (status, out, server.sent) == (2, "", [])
    assert (err.count("Error:"), str(path) in err, named in err) == (1, True, True)
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--limit", "0"],
        ["--limit", "99999999999999"],
        ["--votes", "0"],
        ["--concurrency", "0"],
        ["--timeout", "nan"],
        ["--retries", "-1"],
        ["--stratum", "LATE"],
        ["--backend", "magic"],
        ["--model-param", "temperature"],
        ["--model-param", "=1"],
        ["--model-param", "temperature=NaN"],
        ["--model-param", "messages=[]", "--model", "hosted_vllm/any", "--model-api-base", "http://127.0.0.1:9/v1"],
        ["--model", "nonsense/model", "--judge", "embedded"],
        ["--system-prompt", "x", "--program", "assistant.json"],
        ["--min-kappa", "0.2"],
        ["--unheard-of"],
    ],
    ids=" ".join,
)
def test_absurd_arguments_are_refused_by_name(proact, tmp_path, arguments):
    status, _, err = proact(*last("eval", "--corpus", corpus(tmp_path), "--judge", "embedded", *arguments))
    assert (status, arguments[0].lstrip("-").partition("-")[0] in err) == (2, True), err
    assert not Path("runs").exists()


# System prompts


def systems(server):
    """The system message of each request to the assistant; None where there is none."""
    firsts = [sent.messages[0] for sent in server.of("assistant")]
    return [first["content"] if first["role"] == "system" else None for first in firsts]


def test_a_prompt_is_the_system_message_and_everything_after_it_is_as_without(proact, tmp_path, server):
    size = ["--corpus", corpus(tmp_path), "--controls"]
    proact(*against(server, *size, "--out", "bare"))
    bare = [sent.messages for sent in server.of("assistant")]
    server.sent.clear()
    # A mark of the byte order and blanks around it are no part of a prompt.
    Path("prompt.txt").write_text(f"\n  {PROMPT}\n\n", encoding="utf-8-sig")
    proact(*against(server, *size, "--system-prompt", "@prompt.txt", "--out", "run"))
    assert systems(server) == [PROMPT] * len(bare)
    prompted = [sent.messages[1:] for sent in server.of("assistant")]
    assert sorted(map(json.dumps, prompted)) == sorted(map(json.dumps, bare))
    assert not [sent for sent in server.of("judge") if PROMPT in sent.text]
    # The same words in TEXT are the same run, which keeps them when it is judged again, and is not ranked.
    status, _, err = proact(*against(server, *size, "--system-prompt", PROMPT, "--out", "run"))
    assert (status, "no calls were made" in err) == (0, True)
    proact("rejudge", "run", "--judge", "hosted_vllm/second", "--judge-api-base", server.judge, "--out", "child")
    manifests = [RunFolder(name).manifest() for name in ("run", "child")]
    assert [(each.identity.assistant.program, each.system_prompt) for each in manifests] == [("prompt", PROMPT)] * 2
    (entry,) = [row for row in json.loads(proact("leaderboard", "run", "--json")[1])["rows"] if not row["published"]]
    assert (entry["rank"], entry["strict_rank"]) == (None, None)
    assert "the responses are of the program 'prompt', not of the bare model" in entry["differences"]


BAD_PROMPTS = {
    "missing": (None, "prompt.txt: cannot be read: No such file or directory"),
    "blank": (b" \n\t\n", "the system prompt is empty; leave it out for the bare model"),
}


@pytest.mark.parametrize(("content", "problem"), BAD_PROMPTS.values(), ids=BAD_PROMPTS)
def test_a_file_that_cannot_be_a_prompt_is_refused_before_a_call(proact, tmp_path, server, content, problem):
    if content is not None:
        Path("prompt.txt").write_bytes(content)
    status, out, err = proact(*against(server, "--corpus", corpus(tmp_path), "--system-prompt", "@prompt.txt"))
    assert (status, out, server.sent, problem in said(err)) == (2, "", [], True)
    for text in ("", " ", "\n\t", "@", "@.", "@a\0b"):
        status, _, err = proact(*against(server, "--corpus", corpus(tmp_path), "--system-prompt", text))
        assert (status, server.sent, Path("runs").exists()) == (2, [], False)
        assert "the system prompt is empty" in said(err) or "cannot be read" in err


# Control cases


# Kills and interrupts


def child(server, folder, *more):
    dialogues = [row(unique_id_eval=f"d{number}") for number in range(10)]
    arguments = against(server, "--corpus", corpus(folder, *dialogues), "--out", folder / "run", *more)
    return Child(command_line, *arguments, COLUMNS="100")


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
    assert (done.returncode, "Traceback" in done.stderr) == (130, False)
    assert "Repeat the command to go on" in done.stderr
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
    assert (refused[0].returncode, "another process" in refused[0].stderr, first.returncode) == (2, True, 0)
