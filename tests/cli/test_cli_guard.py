"""What the command line guards: keys, money, and a run whose provider or disk gives way."""

import itertools
import os
import re
import shutil
import signal
import socket
import socketserver
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from builders.dialogues import jsonl, row
from drivers.child import Child, command_line, command_line_within
from drivers.script import ended
from drivers.terminal import last
from support.provider import Scripted, SimulatedProvider, healthy, refusal, slow

from dspy_proact import RunFolder, cli, summarize

pytestmark = pytest.mark.usefixtures("proactbench")
KEY = "sk-planted-0123456789abcdef"


@pytest.fixture
def provider():
    with SimulatedProvider(healthy) as running:
        yield running


def command(folder, bases, *more, dialogues=10):
    (folder / "corpus.jsonl").write_text(
        jsonl(*(row(unique_id_eval=f"d{number}") for number in range(dialogues))), encoding="utf-8"
    )
    models = ["--model", "openai/any", "--judge", "openai/any", "--retries", "0"]
    endpoints = ["--model-api-base", bases[0], "--judge-api-base", bases[1]]
    size = ["--corpus", folder / "corpus.jsonl", "--out", folder / "run", "--concurrency", "4"]
    return ["eval", *map(str, last(*models, *endpoints, *size, *more))]


def bases(provider):
    return provider.base("assistant"), provider.base("judge")


@pytest.fixture
def run(monkeypatch, tmp_path):
    """The command line, in this process."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return lambda arguments: ended(cli.main, Path("dspy-proact"), *arguments, folder=tmp_path)


@pytest.mark.parametrize(("status", "backend"), [(500, "auto"), (401, "litellm")])
def test_a_key_that_the_provider_repeats_is_nowhere(provider, tmp_path, backend, status, run):
    def script(received):
        message = f"you sent {received.headers['authorization']}, top secret"
        return healthy(received) if received.number < 2 else refusal(status, message)

    provider.script = script
    done = run(command(tmp_path, bases(provider), "--backend", backend, "--concurrency", 1, dialogues=1))
    assert done.returncode in (2, 3)
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "run").iterdir()]
    assert texts
    assert not [text for text in (done.stdout, done.stderr, *texts) if KEY in text]
    assert "Traceback" not in done.stderr


def test_an_endpoint_with_a_user_or_a_query_is_refused_and_leaves_nothing(provider, tmp_path, run):
    for first in ("http://someone:hunter2secret@127.0.0.1:1/v1", "http://127.0.0.1:1/v1?key=hunter2secret"):
        done = run(command(tmp_path, (first, provider.base("judge")), dialogues=1))
        assert done.returncode == 2
        assert "hunter2secret" not in done.stdout + done.stderr
        assert not (tmp_path / "run").exists()


def test_a_secret_among_the_parameters_is_sent_and_nowhere(provider, tmp_path, run):
    inputs = ["--model-param", 'extra_body={"auth": [{"token": "hunter2secret"}]}', "--model-param", "user=me"]
    seen = []

    def script(received):
        seen.append(received.body)
        return healthy(received) if received.number else refusal(500, "not with hunter2secret")

    provider.script = script
    done = run(command(tmp_path, bases(provider), *inputs, dialogues=1))
    assert done.returncode == 3
    assert any(body.get("auth") == [{"token": "hunter2secret"}] for body in seen)
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "run").iterdir()]
    assert not [text for text in (done.stdout, done.stderr, *texts) if "hunter2" in text]


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def unencrypted():
    """An HTTPS endpoint that does not speak TLS."""

    class Plain(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(1)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Plain) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


@pytest.mark.parametrize(
    ("kind", "backend"),
    [("refused", "auto"), ("unresolved", "auto"), ("unencrypted", "auto"), ("unresolved", "litellm")],
)
def test_an_endpoint_that_cannot_be_reached_is_the_networks_failure(
    tmp_path, provider, unencrypted, kind, backend, run
):
    endpoints = {
        "refused": f"http://127.0.0.1:{closed_port()}/v1",
        "unresolved": "http://no-such-host.invalid/v1",
        "unencrypted": unencrypted,
    }
    unreachable = (endpoints[kind], provider.base("judge"))
    done = run(command(tmp_path, unreachable, "--backend", backend, dialogues=1))
    assert done.returncode == 5
    assert "--model openai/any: cannot be reached, network: " in done.stderr
    assert "No answer was received, and no folder was kept." in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_named_and_the_run_goes_on_when_there_is_room(provider, tmp_path, run):
    run(command(tmp_path, bases(provider), "--max-calls", "1"))  # so that every case is written
    size = max(path.stat().st_size for path in (tmp_path / "run").iterdir())
    long = Scripted("You could label the boxes today. " * 100)
    provider.script = lambda received: long if received.role == "assistant" else healthy(received)
    done = Child(command_line_within, size + 2048, *command(tmp_path, bases(provider)), OPENAI_API_KEY=KEY).ended()
    provider.script = healthy
    assert done.returncode == 2
    assert "calls.jsonl" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(list(RunFolder(tmp_path / "run").events())) >= 2
    assert run(command(tmp_path, bases(provider))).returncode == 0
    assert summarize(RunFolder(tmp_path / "run")).count("scored") == 30


def test_a_folder_that_is_removed_in_the_middle_is_named(provider, tmp_path, run):
    def script(received):
        if received.number == 10:
            shutil.rmtree(tmp_path / "run")
        return healthy(received)

    provider.script = script
    done = run(command(tmp_path, bases(provider)))
    assert done.returncode == 2
    assert "was removed" in done.stderr
    assert provider.received.total() <= 10 + 2 * 4  # it does not go on paying for what it cannot keep


def test_a_clock_that_jumps_changes_nothing(tmp_path, provider, monkeypatch, run):
    times = itertools.cycle([0.0, 4e9, -5.0, 1e9])
    monkeypatch.setattr(time, "time", lambda: next(times))
    provider.script = slow(healthy, 0.01)
    assert run(command(tmp_path, bases(provider), dialogues=2)).returncode == 0
    assert summarize(RunFolder(tmp_path / "run")).count("scored") == 6
    latencies = [call.latency for event in RunFolder(tmp_path / "run").events() for call in event.calls]
    assert all(0 <= latency < 60 for latency in latencies)


def test_escape_sequences_of_a_provider_are_shown_and_not_run(provider, tmp_path, run):
    provider.script = lambda received: refusal(401, "\x1b[31mred\x07 \u202e evil")
    done = run(command(tmp_path, bases(provider), dialogues=1))
    assert done.returncode == 2
    assert not set(done.stdout + done.stderr) & {"\x1b", "\x07", "\u202e"}
    assert "red" in done.stderr


def test_what_a_library_logs_of_an_answer_is_shown_and_not_run(provider, tmp_path):
    """A finish reason that litellm does not know is logged by it; its logger has a stream of its own."""
    evil = "\x1b]0;title\x07\x1b[31mred"
    provider.script = lambda received: Scripted(healthy(received).content, finish_reason=evil)
    arguments = command(tmp_path, bases(provider), "--backend", "litellm", dialogues=1)
    done = Child(command_line, *arguments, OPENAI_API_KEY=KEY, COLUMNS="200").ended()
    assert not set(done.stdout + done.stderr) & {"\x1b", "\x07"}
    assert "\\x1b[31mred" in done.stderr


def test_a_fault_of_ours_is_a_sentence_and_shows_where_with_nothing_that_a_terminal_obeys(proact, monkeypatch, capsys):
    def broken():
        raise KeyError("\x1b[31mred")

    monkeypatch.setattr("dspy_proact.cli.proact", lambda **_: broken())
    monkeypatch.setattr(sys, "argv", ["dspy-proact", "report", "x"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    err = capsys.readouterr().err
    assert end.value.code == 1
    assert "in broken" in err
    assert "This is a bug in dspy-proact" in err
    assert "\x1b" not in err


# What a first user does


def test_failures_are_told_at_once_and_once_a_wave(provider, tmp_path, run):
    """Each of the three different questions is refused twice; one line tells of each time."""
    refused = Counter()

    def script(received):
        refused[received.digest] += 1
        again = received.role == "assistant" and refused[received.digest] <= 2
        return refusal(429, "slow down", Retry_After="0") if again else healthy(received)

    provider.script = script
    done = run(command(tmp_path, bases(provider), "--retries", "2"))
    assert done.returncode == 0
    assert provider.received["assistant"] == 30 + 3 * 2
    assert "assistant: 36 calls (6 retries), " in done.stdout
    assert [line for line in done.stderr.splitlines() if "slow down" in line] == [
        f"--model openai/any: attempt {number} of 3 failed: rate_limit: 'slow down'. Next attempt in 0 s."
        for number in (1, 2)
    ]


def test_the_last_answers_come_in_after_ctrl_c_and_the_scores_are_shown(provider, tmp_path, run):
    def script(received):
        if provider.received.total() == 60:
            os.kill(os.getpid(), signal.SIGINT)
        return replace(healthy(received), delay=0.05)

    provider.script = script
    done = run(command(tmp_path, bases(provider)))
    assert (done.returncode, provider.received.total()) == (0, 60)
    assert re.search(r"^30 of 30 triggers; verdicts: [A-Z]+ \d+", done.stderr, re.MULTILINE)
    assert re.search(r"EMERGENT +10/10 ", done.stdout)


def test_a_compile_that_gets_no_answer_leaves_nothing(tmp_path, run):
    judge = ["--judge", "openai/any", "--judge-api-base", f"http://127.0.0.1:{closed_port()}/v1", "--retries", "0"]
    done = run(["optimize", "judge", *judge, "--out", str(tmp_path / "out")])
    assert done.returncode == 5
    assert "cannot be reached" in done.stderr
    assert not (tmp_path / "out").exists()
