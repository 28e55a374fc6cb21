"""What holds of a run of every benchmark of the package: limits, faults, kills, and that nothing is paid for twice.

The server answers whatever is asked for, by the request alone.
"""

import json
import os
import queue
import signal
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
from builders.riddles import outcomes
from drivers.child import Child
from fakes.player import played
from fakes.server import Answer, Sent, Server, error, rows_of

from dspy_proact import (
    Evaluation,
    Gate,
    Limits,
    ModelSpec,
    Rejudging,
    Responses,
    RunFolder,
    Scope,
    summarize,
    transcript,
)
from dspy_proact.apps import opened_app
from dspy_proact.errors import LimitReached
from dspy_proact.evaluation.benchmark import has_judge
from dspy_proact.evaluation.checks import file_of
from dspy_proact.evaluation.registry import benchmarks
from dspy_proact.report.summary_text import summary_document

SCOPE, FEW = Scope(limit=6), Scope(limit=2)
OWN = {name: declared for name, declared in benchmarks().items() if file_of(declared) is None}
HISTORIES = {name: declared.settings_type.model_fields.get("history") for name, declared in OWN.items()}
CHAINED = [f"{name} history=2" for name, field in HISTORIES.items() if field and field.annotation is int]
AGENTS = [
    f"{name} agent={agent}"
    for name, declared in OWN.items()
    if (field := declared.settings_type.model_fields.get("agent"))
    for agent in get_args(field.annotation)[1:]
]
ANSWERED = [f"{name} answers" for name in ("proactbench", "proactiveagent") if name in OWN]
"""Answers that exist, of a text and of several fields, from rows; a judge grades them."""
APPS = [f"{name} app" for name in ("proactbench", "probe") if name in OWN]
"""An application in the place of the model, which asks the same server, in one call a case and in several.

What is sent to one is shown for all; what is done about its failures knows no benchmark.
"""
EVERY = pytest.mark.parametrize("name", [*OWN, *CHAINED, *ANSWERED, *APPS])
EVERY_AGENT = pytest.mark.parametrize("name", [*OWN, *CHAINED, *AGENTS, *ANSWERED, *APPS])
RELAY = Path(__file__).parents[1] / "fakes" / "relay.py"


def at(server: Server | SimpleNamespace, name: str, limit: int = 4096, **gate):
    """An evaluation of a benchmark as it is, or as set: `NAME SETTING=VALUE`."""
    named, _, chosen = name.partition(" ")
    declared, (setting, _, value) = OWN[named], chosen.partition("=")
    limited = {"name": "openai/any", "params": {"max_tokens": limit}}
    models = [ModelSpec(api_base=base, **limited) for base in (server.assistant, server.judge)]
    if not has_judge(declared):  # it is graded without one
        del models[1]
    if setting == "answers":
        return Rejudging(answers_to(named), models[1], gate=Gate(retries=0, concurrency=1, **gate))
    if setting == "app":
        os.environ["RELAY"], setting = server.assistant, ""
        models[0] = opened_app(f"{RELAY}:answer")
    settings = declared.settings_type(**({setting: int(value) if value.isdigit() else value} if setting else {}))
    gate = Gate(retries=0, concurrency=1, **gate)
    return Evaluation("sample", *models, benchmark=declared, settings=settings, gate=gate)


def answers_to(name: str) -> Responses:
    """A row for every case of the sample of a benchmark, whose answer has a text in each field of texts."""
    declared = OWN[name]
    cases = declared.read("sample", declared.settings_type()).cases
    texts = ({"key": case.key, "response": f"Shall I look into it? {case.key}"} for case in cases)
    fields = ({"key": case.key, "proposals": json.dumps([f"Look into {case.key}."])} for case in cases)
    return Responses.of_rows(texts if name == "proactbench" else fields, "mine", "sample", benchmark=declared)


def in_a_process(assistant: str, judge: str, name: str, path: str) -> None:
    """What a process does that runs one."""
    at(SimpleNamespace(assistant=assistant, judge=judge), name).run(path, SCOPE)


@cache
def run_of(name: str, folder) -> dict:
    """What an uninterrupted run comes to, and how many calls it takes."""
    with Server(played) as server:
        at(server, name).run(folder / name, FEW if name in AGENTS else SCOPE)
        log = (folder / name / "calls.jsonl").read_text("utf-8")
        return {"outcomes": outcomes(folder / name), "calls": len(server.sent), "sent": server.sent, "log": log}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return lambda name: run_of(name, folder)


@EVERY_AGENT
def test_thoughts_in_the_text_of_every_reply_change_nothing_but_their_count(server, tmp_path, undisturbed, name):
    def thinking(sent):
        answer = played(sent)
        return replace(answer, content=f"<think>\nA canary says {answer.content}\n</think>\n\n{answer.content}")

    server.script = thinking
    at(server, name).run(tmp_path / "run", FEW if name in AGENTS else SCOPE)
    expected = undisturbed(name)
    assert outcomes(tmp_path / "run") == expected["outcomes"]
    assert [sent.wire for sent in server.sent] == [sent.wire for sent in expected["sent"]]
    summary = summarize(tmp_path / "run")
    assert sum(summary.thoughts.values()) == len({call.key for call in RunFolder(tmp_path / "run").calls()})
    assert summary_document(summary)["run"]["thoughts"] == summary.thoughts


@EVERY_AGENT
def test_a_run_that_stops_at_every_second_call_ends_as_one_that_does_not_and_pays_no_call_twice(
    server, tmp_path, undisturbed, name
):
    server.script = played
    run, stops, scope = tmp_path / "run", 0, FEW if name in AGENTS else SCOPE
    while True:
        try:
            at(server, name, limits=Limits(calls=2)).run(run, scope)
            break
        except LimitReached:
            stops += 1
    assert stops
    assert outcomes(run) == undisturbed(name)["outcomes"]
    sent = len(server.sent)
    assert sent == undisturbed(name)["calls"]
    assert at(server, name).run(run, scope).stages == 0
    assert len(server.sent) == sent


@EVERY
def test_the_log_of_calls_holds_nothing_of_a_request(undisturbed, name):
    """No ninety characters of it with more than eight words; the model here quotes five."""
    held = undisturbed(name)
    texts = {str(message["content"]) for sent in held["sent"] for message in sent.messages}
    pieces = [text[start : start + 90] for text in texts for start in range(0, len(text) - 90, 300)]
    pieces = [piece for piece in pieces if len(piece.split()) > 8]
    assert pieces
    assert not [piece for piece in pieces if json.dumps(piece, ensure_ascii=False)[1:-1] in held["log"]]


@EVERY
def test_what_a_provider_refuses_is_unscored_and_mended_by_the_same_command(server, tmp_path, undisturbed, name):
    server.script = lambda sent: error(500) if len(server.sent) % 4 == 0 else played(sent)
    assert at(server, name).run(tmp_path / "run", SCOPE).unscored > 0
    failed = [event.failure for event in RunFolder(tmp_path / "run").events() if event.failure]
    assert {failure.kind for failure in failed} <= {"provider", "content", "app"}
    server.script = played
    at(server, name).run(tmp_path / "run", SCOPE)
    assert outcomes(tmp_path / "run") == undisturbed(name)["outcomes"]


@pytest.mark.parametrize("name", OWN)
def test_an_application_is_sent_the_messages_that_a_model_is_sent_and_nothing_else(undisturbed, name):
    """So that what is hidden from a model, which canaries show, is hidden from it."""
    app, model = undisturbed(f"{name} app")["sent"], undisturbed(name)["sent"]
    of_app = [sent.body for sent in app if sent.role == "assistant"]
    assert of_app
    assert {body.keys() == {"model", "messages"} for body in of_app} == {True}
    assert [body["messages"] for body in of_app] == [sent.messages for sent in model if sent.role == "assistant"]


@pytest.mark.parametrize("name", [*OWN, *CHAINED, *ANSWERED])
def test_a_run_under_a_raised_limit_that_reuses_one_with_cut_replies_ends_as_one_that_does_not(
    server, tmp_path, undisturbed, name
):
    server.script = lambda sent: Answer("It", "length") if len(server.sent) % 5 == 0 else played(sent)
    at(server, name, limit=64).run(tmp_path / "old", SCOPE)
    server.script = played
    server.sent.clear()
    at(server, name).run(tmp_path / "new", Scope(limit=6, reuse=tmp_path / "old"))
    assert outcomes(tmp_path / "new") == undisturbed(name)["outcomes"]
    assert 0 < len(server.sent) < undisturbed(name)["calls"]


@EVERY
def test_a_killed_run_goes_on_and_pays_again_only_for_the_call_in_flight(server, tmp_path, undisturbed, name):
    path, calls, begun = tmp_path / "run", undisturbed(name)["calls"], queue.Queue[Child]()

    def deadly(sent: Sent) -> Answer:
        if len(server.sent) == calls // 2:
            begun.get().kill()
        return played(sent)

    server.script = deadly
    child = Child(in_a_process, server.assistant, server.judge, name, path)
    begun.put(child)
    assert child.ended().returncode == -signal.SIGKILL
    assert (len(server.sent), 0 < len(outcomes(path)) < len(undisturbed(name)["outcomes"])) == (calls // 2, True)
    server.script = played
    at(server, name).run(path, SCOPE)
    assert outcomes(path) == undisturbed(name)["outcomes"]
    assert len(server.sent) == calls + 1
    lines, answered = [*RunFolder(path).calls()], [*server.sent[: calls // 2 - 1], *server.sent[calls // 2 :]]
    case = lines[calls // 2 - 1].key.case  # of the call in flight
    exchanges = [exchange for stage in transcript(RunFolder(path), case) for exchange in stage.exchanges]
    of_case = [sent.rows for line, sent in zip(lines, answered, strict=True) if line.key.case == case]
    assert [rows_of(exchange.request) for exchange in exchanges] == of_case


@pytest.mark.parametrize("name", OWN)
def test_the_answers_of_a_run_are_graded_from_rows_as_they_were_in_it(tmp_path, name):
    declared = OWN[name]
    Evaluation("sample", benchmark=declared).run(tmp_path / "run", SCOPE)
    events = [event for event in RunFolder(tmp_path / "run").events() if event.answer]
    rows = [{"key": event.key.case, "response": json.dumps(event.answer)} for event in events]
    if name in ("proactbench", "rows"):  # whose answers are texts
        rows = [{"key": event.key.case, "response": event.text} for event in events]
    responses = Responses.of_rows(rows, "mine", "sample", benchmark=declared)
    Rejudging(responses, "embedded" if has_judge(declared) else None).run(tmp_path / "graded")
    assert events
    assert outcomes(tmp_path / "graded") == outcomes(tmp_path / "run")


@pytest.mark.parametrize("name", OWN)
def test_a_run_of_the_sample_is_read_by_every_verb(proact, done, name):
    """By the stand-in, without a key; docs/benchmarks/ has the other verbs."""
    assert proact("eval", "--benchmark", name, "--out", "run")[0] == 0
    case = next(RunFolder(Path("run")).cases()).key
    for words in (
        "report run --explain",
        "report run --html page.html",
        f"show run --case {case}",
        *(["leaderboard run"] if OWN[name].published else []),
        "export run --format csv",
        "rejudge run --out again",
        "compare run again",
    ):
        done(*words.split())
