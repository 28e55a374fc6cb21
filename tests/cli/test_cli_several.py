"""Several models, several judges, and everything several times: one list of reports, one limit, and what is shown."""

import asyncio
import io
import json
import os
import re
import signal
import threading
from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from builders.dialogues import jsonl, row
from builders.runs import JUDGE, MODEL, answered, failed, graded, manifest, trigger
from fakes.server import Answer, error, healthy
from rich.console import Console

from dspy_proact.calls import Call, Price
from dspy_proact.cli.views import progress
from dspy_proact.cli.views.progress import RunProgress
from dspy_proact.report import summarize
from dspy_proact.runs import CONTROL, RunFolder, Scope, StageEvent, StageKey, VerdictRecord

ANN, BEN = "hosted_vllm/ann", "hosted_vllm/ben"
KIND = "openai/kind"
NOTHING_LEFT = "No answer was received, and no folder was kept."


def against(server, models=(ANN,), judges=(KIND,), *more, dialogues=1):
    """The command: each model, each judge, and a corpus with three triggers a dialogue."""
    path = Path("corpus.jsonl")
    path.write_text(jsonl(*(row(unique_id_eval=f"d{number}") for number in range(dialogues))), encoding="utf-8")
    named = [("--model", name) for name in models] + [("--judge", name) for name in judges]
    bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge]
    return ["eval", *chain.from_iterable(named), *bases, "--corpus", path, "--retries", 0, *more]


def two(server, *more, **changes):
    """The command for both models into one parent folder."""
    return against(server, (ANN, BEN), (KIND,), "--out", "both", *more, **changes)


def calls_by_model(server, role="assistant"):
    """Requests of each model in a role."""
    return Counter(sent.body["model"] for sent in server.of(role))


def run_of(model, parent="both"):
    """The folder of a model's run; there is one."""
    (path,) = Path(parent).glob(f"proactbench--{model.replace('/', '_')}--*")
    return path


def failing(**scripts):
    """A script for the assistants by their names; any other, and the judges, are healthy."""
    return lambda sent: scripts.get(sent.body["model"], healthy)(sent)


# Models


def test_several_models_make_a_run_each_below_out_and_a_list_of_reports(proact, server):
    status, out, err = proact(*two(server, "--json"))
    assert (status, calls_by_model(server)) == (0, {"ann": 3, "ben": 3})
    reports = json.loads(out)
    assert [(item["run"]["model"], item["run"]["path"]) for item in reports] == [
        (name, str(run_of(name))) for name in (ANN, BEN)
    ]
    assert set(Path("both").iterdir()) == {run_of(ANN), run_of(BEN)}
    for report in reports:
        assert json.loads(proact("report", report["run"]["path"], "--json")[1]) == report
        assert f"The run is in {report['run']['path']}.\n" in err
    assert err.endswith(f"Next: dspy-proact compare {run_of(ANN)} {run_of(BEN)}\n")
    assert err.count("Next:") == 1
    again = proact(*two(server, "--json"))
    assert (again[0], again[1], len(server.sent)) == (0, out, 12)
    assert again[2].count("Nothing to do: all results are on disk; no calls were made.") == 1
    _, out, err = proact(*two(server))
    for letter, name in zip("AB", (ANN, BEN), strict=True):
        assert f"{letter}: {name} judged by {KIND} ({run_of(name)})" in " ".join(out.split())
    assert [line for line in err.splitlines() if line in (f"{ANN}:", f"{BEN}:")] == [f"{ANN}:", f"{BEN}:"]


def test_a_run_of_several_is_the_one_that_it_would_be_alone(proact, server):
    proact(*against(server, (ANN, BEN)))
    assert set(Path("runs").iterdir()) == {run_of(name, "runs") for name in (ANN, BEN)}
    for name in (ANN, BEN):
        status, out, err = proact(*against(server, (name,), (KIND,), "--json"))
        assert (status, "no calls were made" in err, json.loads(out)["run"]["model"]) == (0, True, name)
    proact(*against(server, (ANN,), (KIND,), "--out", "alone"))
    assert RunFolder("alone").exists


def test_a_limit_is_shared_by_all_models_and_the_command_goes_on(proact, server):
    # A run takes 3 responses and 3 verdicts: the first model leaves 2 of the 8.
    status, out, err = proact(*two(server, "--max-calls", 8, "--json"))
    assert (status, len(server.sent)) == (4, 8)
    reports = {report["run"]["model"]: report for report in json.loads(out)}
    assert [reports[name]["complete"] for name in (ANN, BEN)] == [True, False]
    assert "--max-calls 8 is reached" in err
    assert f"The run is in {run_of(ANN)}." in err
    kept = f"Results so far are kept in {run_of(BEN)}."
    assert f"{kept} Repeat the command to go on. Limits count from zero again." in err
    status, out, _ = proact(*two(server, "--json"))
    assert (status, len(server.sent)) == (0, 12)
    assert [report["triggers"]["scored"] for report in json.loads(out)] == [3, 3]


def test_a_limit_that_the_first_model_uses_up_lets_the_second_make_no_call(proact, server):
    status, out, err = proact(*two(server, "--max-calls", 6, "--json"))
    (report,) = json.loads(out)
    assert (status, report["complete"], calls_by_model(server), NOTHING_LEFT in err) == (4, True, {"ann": 3}, True)
    assert [path.name for path in Path("both").iterdir()] == [run_of(ANN).name]
    assert (proact(*two(server))[0], len(server.sent)) == (0, 12)


def test_ctrl_c_in_the_first_keeps_what_is_in_flight_and_does_not_begin_the_second(proact, server):
    def interrupting(sent):
        if len(server.sent) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        answer = healthy(sent)
        answer.delay = 0.1
        return answer

    server.script = interrupting
    status, out, err = proact(*two(server, "--concurrency", 2, "--json", dialogues=4))
    (report,) = json.loads(out)
    assert (status, report["complete"], "ben" in calls_by_model(server)) == (130, False, False)
    assert "Stopping: waiting for calls in flight" in err
    assert f"Results so far are kept in {run_of(ANN)}. Repeat the command to go on." in err
    assert len(list(RunFolder(run_of(ANN)).events())) == len(server.sent) < 24
    server.script = healthy
    status, out, _ = proact(*two(server, "--json", dialogues=4))
    assert (status, len(server.sent)) == (0, 48)  # 2 models x 12 triggers x 2 roles, each once


def test_a_key_that_is_refused_for_the_second_model_leaves_the_first_ones_result(proact, server):
    server.script = failing(ben=lambda sent: error(401, "bad key"))
    status, out, err = proact(*two(server, "--json"))
    assert (status, [report["run"]["model"] for report in json.loads(out)]) == (2, [ANN])
    assert f"--model {BEN}: the key was refused" in err
    assert NOTHING_LEFT in err
    server.script = healthy
    server.sent.clear()
    assert (proact(*two(server))[0], "ann" in calls_by_model(server)) == (0, False)


def test_unscored_triggers_of_any_model_end_with_three_and_one_that_is_down_with_five(proact, server):
    server.script = failing(ann=lambda sent: Answer(""))
    status, out, _ = proact(*two(server, "--json"))
    assert (status, [report["triggers"]["unscored"] for report in json.loads(out)]) == (3, [3, 0])
    server.script = failing(ann=lambda sent: error(503))
    server.sent.clear()
    down = against(server, (ANN, BEN), (KIND,), "--out", "down", "--concurrency", 1, dialogues=4)
    status, _, err = proact(*down)
    assert (status, calls_by_model(server)) == (5, {"ann": 10})
    assert f"--model {ANN}: down. 10 calls in a row failed after all retries" in err
    server.script = healthy
    assert proact(*down)[0] == 0
    assert [summarize(RunFolder(run_of(name, "down"))).count("scored") for name in (ANN, BEN)] == [12, 12]


def test_a_dry_run_of_several_models_says_what_each_takes_and_what_the_limit_stops(proact, server):
    status, out, err = proact(*two(server, "--dry-run", "--max-calls", 11))
    assert (status, err, server.sent, Path("both").exists()) == (0, "", [], False)
    lines = out.splitlines()
    assert lines.index(f"{ANN}:") < lines.index(f"{BEN}:")
    assert out.count("6 calls, without repairs and retries.") == 2
    # 12 calls of both together: neither alone would exceed 11.
    assert lines[-2:] == ["--max-calls 11 may stop it after 92%: it could take 12", "Dry run: no calls were made."]
    assert "may stop" not in proact(*two(server, "--dry-run", "--max-calls", 12))[1]
    plans = json.loads(proact(*two(server, "--dry-run", "--json"))[1])
    assert plans[1]["sent"][f"assistant {BEN}"] == {"temperature": 0.7, "top_p": 1.0, "max_tokens": 8192}
    assert [(plan["calls"], plan["assistant"]["calls"], plan["judge"]["calls"]) for plan in plans] == [(6, 3, 3)] * 2
    proact(*against(server, (BEN,)))
    plans = json.loads(proact(*against(server, (ANN, BEN), (KIND,), "--dry-run", "--json"))[1])
    assert [plan["calls"] for plan in plans] == [6, 0]  # the second is done
    assert json.loads(proact(*against(server, (ANN,), (KIND,), "--dry-run", "--json"))[1])["calls"] == 6


# Progress

CASES = [trigger(f"d{number}") for number in range(3)]
PRICED = Price(prompt=0.001, completion=0.01, cached=None, reason="a list")


def call(role, **tokens):
    return Call(role=role, started=1.0, latency=0.5, finish_reason="stop", **tokens)


def watched(of):
    """A run of three triggers, watched: one passes, one fails, one has no response."""
    one, other, third = CASES
    answer = call("assistant", prompt_tokens=1000, completion_tokens=100)
    with RunProgress(of, Scope()) as shown:
        shown.started(3, 5)
        shown.ended(answered(one, "yes", answer), False)
        shown.ended(graded(one, "PASS", call("judge", prompt_tokens=2000, completion_tokens=50)), True)
        shown.ended(failed(third, "empty"), True)
        shown.ended(answered(other, "no", answer), False)
        shown.ended(graded(other, "FAIL"), True)


def test_lines_show_the_results_so_far_and_the_cost_where_it_is_known(capsys):
    watched(manifest(assistant_price=PRICED, judge_prices={JUDGE: PRICED}))
    assert capsys.readouterr().err.splitlines() == [
        "2 of 5 triggers are done already.",
        "1 of 3 triggers; verdicts: PASS 1; USD 4.50",
        "2 of 3 triggers; verdicts: PASS 1; failed 1; USD 4.50",
        "3 of 3 triggers; verdicts: PASS 1, FAIL 1; failed 1; USD 6.50",
    ]
    unknown = Price(prompt=None, completion=None, cached=None, reason="no list has it")
    watched(manifest(model=MODEL, assistant_price=unknown, judge_prices={JUDGE: PRICED}))
    assert "USD" not in capsys.readouterr().err


def test_levels_that_are_numbers_are_told_from_their_counts(capsys):
    with RunProgress(manifest(JUDGE, labels=("5", "3", "1")), Scope()) as shown:
        shown.started(3, 3)
        for case, level in zip(CASES, ("3", "5", "3"), strict=True):
            verdict = VerdictRecord(score=0.5, label=level, verified=None, detail={})
            key = StageKey(case=case.key, epoch=1, stage="verdict", judge=JUDGE)
            shown.ended(StageEvent(key=key, grade=verdict, calls=(), time=3.0), True)
    assert "verdicts: level 5: 1, level 3: 2" in capsys.readouterr().err


def test_answers_are_counted_where_they_are_more_than_triggers_and_their_grades_apart(capsys):
    control = replace(trigger("c"), stratum=CONTROL)
    of = manifest(JUDGE, "openai/k", control_labels=("HELD_BACK", "UNWANTED"))
    held = VerdictRecord(score=1.0, label="HELD_BACK", verified=None, detail={})
    seen = StageEvent(
        key=StageKey(case=control.key, epoch=1, stage="verdict", judge=JUDGE), grade=held, calls=(), time=3.0
    )
    with RunProgress(of, Scope(epochs=2, controls=True)) as shown:
        shown.started(3, 8)
        for epoch in (1, 2):
            shown.ended(graded(CASES[0], "PARTIAL", epoch=epoch), False)
            shown.ended(graded(CASES[0], "FAIL", judge="openai/k", epoch=epoch), True)
        shown.ended(seen, False)
        shown.ended(failed(control, "refused", judge="openai/k"), True)
    assert capsys.readouterr().err.splitlines() == [
        "5 of 8 answers are done already.",
        "1 of 3 answers; verdicts: PARTIAL 1, FAIL 1",
        "2 of 3 answers; verdicts: PARTIAL 2, FAIL 2",
        "3 of 3 answers; verdicts: PARTIAL 2, FAIL 2; control turns: HELD_BACK 1;",
        "  failed 1",
    ]


def test_silence_is_noted_with_what_waits_where_and_what_to_try(server, done, monkeypatch):
    noted, say = threading.Event(), RunProgress.stalled
    monkeypatch.setattr("dspy_proact.models.gate._QUIET", 0.01)
    monkeypatch.setattr(RunProgress, "stalled", lambda self, stall: (say(self, stall), noted.set()))

    async def script(sent):
        await asyncio.to_thread(noted.wait)
        return healthy(sent)

    server.script = script
    models = ["--model", "openai/any", "--model-api-base", server.assistant, "--judge", "embedded"]
    err = done("eval", *models, "--corpus", "sample", "--limit", 2, "--concurrency", 2, "--out", "run")[1]
    assert "No call has ended for " in err
    assert re.search(rf"\d in flight.* at {server.assistant}\. A call may take --timeout 600 seconds\.", err)
    assert "try --concurrency 1 for a server that answers one call at a time, or another --timeout." in err


@pytest.mark.parametrize("width", [60, 80])
def test_on_a_terminal_a_bar_names_its_clocks_and_the_same_stands_below(monkeypatch, width):
    stream = io.StringIO()
    terminal = Console(file=stream, force_terminal=True, width=width, color_system=None, legacy_windows=False)
    monkeypatch.setattr(progress, "Console", lambda **_: terminal)
    watched(manifest(assistant_price=PRICED, judge_prices={JUDGE: PRICED}))
    assert re.search(
        r"triggers \S+ 3/3 so far 0:00:00 left \S+ *\nverdicts: PASS 1, FAIL 1; failed 1; USD 6.50", stream.getvalue()
    )
