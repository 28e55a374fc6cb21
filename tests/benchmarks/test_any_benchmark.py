"""A benchmark that shares nothing with ProactBench is forecast, run, killed, resumed, reported, compared and exported.

It has no judge, two calls an answer, parts, measures and settings of its own; `contest.py` is all that was written for
it.
"""

import json
import os
import queue
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from contest import COUNT, Contest, Rules, contest, contestant, rejudged
from server import Answer, Sent, Server
from toy import outcomes

from dspy_proact.benchmarks import Responses
from dspy_proact.errors import RunError, UsageError
from dspy_proact.runs import RunFolder, Scope, latest

KILLED_IN = 8
"""Of the requests the last one that is answered by a process which is then no more."""
CHILD = "import sys, contest; contest.contest(sys.argv[1], concurrency=1).run(sys.argv[2])"


@pytest.fixture
def guesser(server: Server):
    server.script = contestant
    return server


@pytest.fixture
def run(guesser: Server, tmp_path: Path) -> Path:
    """A run from its beginning to its end."""
    contest(guesser.assistant).run(tmp_path / "run")
    return tmp_path / "run"


def test_it_is_forecast_from_what_it_says_it_will_ask(guesser: Server, tmp_path: Path):
    forecast = contest(guesser.assistant).forecast(tmp_path / "run")
    assert (forecast.calls, forecast.assistant.calls, forecast.judge.calls) == (20, 20, 0)
    assert forecast.assistant.completion_tokens == (220, 2100)  # 10 x (20 + 2) to 10 x (200 + 10)
    assert forecast.assistant.prompt_tokens > COUNT * 50  # the thought of 50 words stands in every second prompt
    assert forecast.judge.usd == (0, 0)
    assert forecast.seconds == (10, 150)  # 20 calls, 4 at a time, of 2 to 30 seconds
    assert forecast.assumption == "Guesses are counted after thoughts of 50 words."
    assert (guesser.sent, (tmp_path / "run").exists()) == ([], False)
    few = contest(guesser.assistant).forecast(tmp_path / "run", Scope(limit=3, strata=("RHYME",), epochs=2))
    assert few.calls == 12


def test_an_answer_of_two_calls_is_kept_with_both_and_graded_without_any(run: Path):
    events = RunFolder(run).events()
    assert len(events) == 2 * COUNT - 1  # no guess was ventured at one riddle, and nothing is graded there
    assert {(event.key.stage, event.key.judge, len(event.calls)) for event in events} == {
        ("response", None, 2),
        ("verdict", None, 0),
    }
    kept = {event.key.case: event.grade for event in events if event.grade}
    assert kept["riddle-8"].model_dump() == {
        "score": 0.5,
        "label": "LONG",
        "verified": None,
        "parts": {"words": 4.0, "is_trick": 0.0, "said_trick": 0.0},
        "detail": {"words": 4},
    }


def test_its_run_says_what_it_is_called_measured_by_and_set_to(run: Path):
    manifest = RunFolder(run).manifest()
    assert (manifest.identity.benchmark, manifest.identity.judges) == ("contest", ())
    assert manifest.identity.settings == {"longest": 3}
    assert [measure.name for measure in manifest.measures] == ["length", "tricks", "insight"]
    assert (manifest.nouns.cases, manifest.corpus.rows, manifest.judge_prices) == ("riddles", 1, {})


def test_a_killed_run_goes_on_and_pays_only_for_the_answer_in_flight(guesser: Server, run: Path, tmp_path: Path):
    guesser.sent.clear()
    pids: queue.Queue[int] = queue.Queue()

    def deadly(sent: Sent):
        if len(guesser.sent) == KILLED_IN:
            os.kill(pids.get(), signal.SIGKILL)
        return contestant(sent)

    guesser.script = deadly
    path, tests = tmp_path / "killed", Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", CHILD, guesser.assistant, str(path)], env=environment) as child:
        pids.put(child.pid)
    assert child.returncode == -signal.SIGKILL
    assert len(RunFolder(path).events()) == 6  # three riddles answered and graded; the fourth was at its second call
    execution = contest(guesser.assistant)
    assert execution.forecast(path).calls == 14
    assert execution.run(path).unscored == 1
    assert len(guesser.sent) == 2 * COUNT + 2  # both calls of the fourth answer were paid twice
    assert outcomes(path) == outcomes(run)
    assert execution.run(path).stages == 0
    assert len(guesser.sent) == 2 * COUNT + 2


def test_other_settings_are_another_run(guesser: Server, run: Path):
    with pytest.raises(RunError, match=r"differs in settings\.longest"):
        contest(guesser.assistant, Rules(longest=9)).run(run)


def test_a_run_is_widened_by_strata_and_epochs(guesser: Server, tmp_path: Path):
    execution = contest(guesser.assistant)
    execution.run(tmp_path, Scope(limit=2, strata=("NUMBER",)))
    assert len(guesser.sent) == 4
    execution.run(tmp_path, Scope(epochs=2))
    assert len(guesser.sent) == 4 * COUNT
    assert RunFolder(tmp_path).manifest().epochs == 2


def test_what_it_does_not_have_is_not_asked_for(guesser: Server, tmp_path: Path):
    for scope, mend in [
        (Scope(controls=True), "contest has no control cases"),
        (Scope(strata=("PROSE",)), "limit and epochs must be 1 or more, and strata among RHYME, NUMBER"),
        (Scope(limit=0), "limit and epochs must be 1 or more"),
    ]:
        with pytest.raises(UsageError, match=mend):
            contest(guesser.assistant).run(tmp_path / "run", scope)
    assert guesser.sent == []


def test_the_unscored_are_tried_again_when_that_is_asked_for(guesser: Server, run: Path):
    assert contest(guesser.assistant).run(run, Scope(retry_unscored=True)).unscored == 1
    assert len(guesser.sent) == 2 * COUNT + 2
    (tried,) = [event for event in latest(RunFolder(run).events()).values() if event.failure]
    assert (tried.key.case, tried.failure and tried.failure.reason) == ("riddle-9", "silent")


def test_its_answers_are_judged_again_without_a_new_one(guesser: Server, run: Path, tmp_path: Path):
    """The referee lets every guess pass, so that the wrong one is solved and the long one is still long."""
    guesser.sent.clear()
    guesser.script = lambda sent: Answer(json.dumps({"right": True}))
    rejudging = rejudged(Responses.of_run(RunFolder(run), Contest), guesser.judge)
    forecast = rejudging.forecast(tmp_path / "again")
    assert (forecast.assistant.calls, forecast.judge.calls, forecast.judge.untold) == (0, 9, 9)
    assert rejudging.run(tmp_path / "again").unscored == 1
    assert [sent.role for sent in guesser.sent] == ["judge"] * 9
    again = RunFolder(tmp_path / "again")
    assert again.manifest().identity.parent == RunFolder(run).manifest().identity.digest()
    assert again.manifest().identity.settings == {"longest": 3}
    labels = {event.key.case: event.grade.label for event in again.events() if event.grade}
    assert (labels["riddle-7"], labels["riddle-8"], len(labels)) == ("SOLVED", "LONG", 9)
