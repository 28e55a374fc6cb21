"""A benchmark that shares nothing with ProactBench is forecast, run, reported, compared and exported.

`contest.py` is all that was written for it.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from builders.benchmarks import COUNT, contest, contestant
from fakes.server import Server

from dspy_proact.errors import UsageError
from dspy_proact.runs import RunFolder, Scope

Call = Callable[..., tuple[int, str, str]]


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


def test_an_answer_of_two_calls_is_logged_with_both_and_graded_without_any(run: Path):
    events = list(RunFolder(run).events())
    assert len(events) == 2 * COUNT - 1  # no guess was ventured at one riddle, and nothing is graded there
    count = Counter(call.key for call in RunFolder(run).calls())
    assert {(event.key.stage, event.key.judge, count[event.key]) for event in events} == {
        ("response", None, 2),
        ("verdict", None, 0),
    }
    kept = {event.key.case: event.grade for event in events if event.grade}
    verdict = kept["riddle-8"]
    assert (verdict.score, verdict.label, verdict.verified, verdict.detail) == (0.5, "LONG", None, {"words": 4})
    assert verdict.parts == {"words": 4.0, "is_trick": 0.0, "said_trick": 0.0}


def test_what_it_does_not_have_is_not_asked_for(guesser: Server, tmp_path: Path):
    for scope, mend in [
        (Scope(controls=True), "contest has no control cases"),
        (Scope(strata=("PROSE",)), "`scope.strata=PROSE`: is none of RHYME, NUMBER"),
        (Scope(judge_epochs=2), "contest is graded without a judge, and once"),
        (Scope(limit=0), "limit must be 1 or more"),
        (Scope(epochs=0), "epochs and votes 1 to 1000"),
        (Scope(epochs=1001), "epochs and votes 1 to 1000"),
    ]:
        with pytest.raises(UsageError, match=mend):
            contest(guesser.assistant).run(tmp_path / "run", scope)
    assert guesser.sent == []


def test_it_is_reported_in_its_own_words_with_its_measures(proact: Call, run: Path):
    """Of nine guesses 3 see a trick, 1 overlooks one and 1 sees one too many.

    F1 = 6 / (6 + 2) = 0.75. They agree with the truth in 7 of 9, by chance in (4 x 4 + 5 x 5) / 81 = 41 / 81: kappa =
    (63 - 41) / (81 - 41) = 0.55. Words: (7 x 1 + 2 + 4) / 9 = 13 / 9.
    """
    document = json.loads(proact("report", run, "--json")[1])
    assert (document["places"], document["riddles"]["scored"], document["run"]["judge"]) == (5, 9, None)
    assert document["riddles"]["unscored_reasons"] == {"response: silent": 1}
    assert document["strata"]["RHYME"] | {"solved": 4, "long": 1, "lost": 1} == document["strata"]["RHYME"]
    assert document["overall"]["micro"]["weighted"]["value"] == pytest.approx(7.5 / 9)
    measures = document["overall"]["measures"]
    assert {name: measure["value"] for name, measure in measures.items()} == pytest.approx(
        {"length": 13 / 9, "tricks": 0.75, "insight": 0.55}
    )
    assert all(measure["low"] < measure["value"] < measure["high"] for measure in measures.values())
    text = proact("report", run)[1]
    assert "10 riddles in 5 places" in text
    assert "tricks seen through" in text
