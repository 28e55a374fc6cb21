"""Ctrl-C while an assistant or a judge is tuned."""

import json
import signal
from collections import Counter

import pytest
import tuning
from assistants import command_at, models, on_disk
from child import Child, command_line
from typed import last


def interrupted_at(place, of):
    """A script that interrupts a process when it asks for the n-th time."""

    def script(sent):
        of["asked"] += 1
        if of["asked"] == place:
            of["child"].send_signal(signal.SIGINT)
        return of["models"](sent)

    return script


@pytest.mark.parametrize("program", ["assistant", "judge"])
def test_ctrl_c_ends_a_compile_in_order_and_the_same_command_goes_on(proact, tmp_path, server, program):
    """What is in flight is awaited and kept, so that it is not paid for again."""
    if program == "assistant":
        answers, where = models, [*on_disk(tmp_path), *command_at(server)]
    else:
        bases = ["--judge-api-base", server.judge, "--proposer-api-base", server.proposer]
        where = [
            *tuning.on_disk(tmp_path, tuning.study()),
            *("--judge", "openai/any", "--proposer", "openai/writer", *bases),
        ]
        answers = tuning.models
    command = last(program, *where, *tuning.SMALL, "--retries", 0, "--concurrency", 1, "--out", "out")
    of = {"asked": 0, "models": answers}
    server.script = interrupted_at(20, of)
    of["child"] = Child(command_line, "optimize", *command, folder=tmp_path)
    done = of["child"].ended()
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "interrupted",
        "Results so far are kept in out. Repeat the command to go on.",
    ]
    assert len(server.sent) in {20, 21}, "the answer may come before the signal"
    assert not (tmp_path / "out" / f"{program}.json").exists()

    server.script = answers
    status, _, err = proact("optimize", *command)
    assert status == 0, err
    assert (tmp_path / "out" / f"{program}.json").exists()
    asked = Counter(json.dumps([sent.role, sent.body], sort_keys=True) for sent in server.sent)
    assert set(asked.values()) == {1}
