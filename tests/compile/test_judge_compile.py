"""`JudgeCompile` from end to end: every optimizer, stopped and resumed, replayed, with votes, and what it refuses."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest
from server import GRADES, Answer, error, verdict
from tuning import QUOTE, at, item, lasting, models, on_disk, plan, proposer_base, study

from dspy_proact.compile import OPTIMIZERS, JudgeCompile
from dspy_proact.errors import LimitReached, ProviderDown, RunError, UsageError
from dspy_proact.models import Limits
from dspy_proact.programs import read_artefact


def bodies(sent):
    return Counter(json.dumps([each.role, each.body], sort_keys=True) for each in sent)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_compile_that_a_limit_stopped_goes_on_to_the_same_file_and_pays_for_nothing_twice(
    tmp_path, server, optimizer
):
    """So does a second compile from nothing, which the first two runs of this test are."""
    server.script = models
    ratings, how = study(), plan(optimizer)
    whole = at(server, ratings, how).run(tmp_path / "whole")
    asked = bodies(server.sent)
    assert whole.paid == len(server.sent)
    assert read_artefact(whole.path) == whole.artefact

    server.sent.clear()
    half = whole.paid // 2
    with pytest.raises(LimitReached):
        at(server, ratings, how, limits=Limits(calls=half)).run(tmp_path / "parts")
    assert len(server.sent) == half
    assert not (tmp_path / "parts" / "judge.json").exists()
    resumed = at(server, ratings, how).run(tmp_path / "parts")
    assert resumed.paid == whole.paid - half
    assert bodies(server.sent) == asked
    assert lasting(resumed.path) == lasting(whole.path)
    # And once more: everything stands in the record.
    again = at(server, ratings, how).run(tmp_path / "parts")
    assert (again.paid, len(server.sent)) == (0, whole.paid)
    assert lasting(again.path) == lasting(whole.path)


def test_a_compile_that_was_killed_pays_again_only_for_the_call_in_flight(tmp_path, server):
    ratings, how = study(), plan("search")
    server.script = models
    whole = at(server, ratings, how).run(tmp_path / "whole")
    asked = bodies(server.sent)
    server.sent.clear()
    kill_at = whole.paid // 2

    def kill(sent):
        if len(server.sent) == kill_at:
            os.kill(child.pid, signal.SIGKILL)
        return models(sent)

    server.script = kill
    options = ["--judge", "openai/any", "--judge-api-base", server.judge, "--retries", "0", "--out", tmp_path / "parts"]
    options += ["--proposer", "openai/any", "--proposer-api-base", proposer_base(server), *on_disk(tmp_path, ratings)]
    options += ["--optimizer", "search", "--trials", "2", "--max-demos", "2", "--folds", "2"]
    command = [sys.executable, "-c", "from dspy_proact.cli import main; main()", "optimize", "judge", *options]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    told = child.communicate(timeout=60)[1]
    assert child.returncode == -signal.SIGKILL, told
    assert len(server.sent) == kill_at
    at_kill = bodies(server.sent[-1:])

    server.script = models
    resumed = at(server, ratings, how).run(tmp_path / "parts")
    assert resumed.paid == whole.paid - kill_at + 1
    assert bodies(server.sent) == asked + at_kill
    assert lasting(resumed.path)["state"] == lasting(whole.path)["state"]
    kept, made = (lasting(each.path) for each in (resumed, whole))
    assert kept == made
