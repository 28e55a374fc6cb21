"""The log of a compile: a function from a request to its reply, of which only what is not there is paid for."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path

import pytest
from drivers.client import JUDGE
from dspy.lm15 import Message, Request
from fakes.server import Answer, Sent, Server, error

from dspy_proact.calls import collect_calls, is_final
from dspy_proact.compile.target import PROPOSER
from dspy_proact.errors import ContentError, Interrupted, LimitReached, ProviderDown, RunError, SetupFault
from dspy_proact.kept import CallLog
from dspy_proact.models import Gate, Limits, ModelSpec, open_model
from dspy_proact.models.logged import LoggedFace


def log_at(path: Path) -> CallLog:
    """The log of a compile, which replays replies and refusals."""
    return CallLog(path, "mine", is_final)


def request(text: str) -> Request:
    return Request(model="openai-chat:any", messages=(Message.user(text),))


def completed(engine: LoggedFace, text: str) -> str:
    return engine.complete(request(text)).message.text or ""


@pytest.fixture
def engine(server):
    """An engine with a log, as DSPy calls it; the server counts what it was asked."""

    def make(log: CallLog, name: str = "openai/any", role=JUDGE, **gate) -> LoggedFace:
        base = server.judge if role is JUDGE else server.assistant
        model = open_model(ModelSpec(name=name, api_base=base), role, Gate(**{"retries": 0} | gate), log=log)
        made = model.lm._engine_spec
        assert isinstance(made, LoggedFace)
        return made

    server.script = lambda sent: Answer(f"{sent.messages[0]['content']} {len(server.sent)}")
    return make


def test_the_same_request_gets_the_same_answer_in_whatever_order_and_only_the_rest_is_sent(tmp_path, server, engine):
    path = tmp_path / "calls.jsonl"
    with log_at(path) as log:
        first = [completed(engine(log), text) for text in "aabab"]
    assert first == ["a 1", "a 1", "b 2", "a 1", "b 2"]
    with log_at(path) as log:
        again = [completed(engine(log), text) for text in "bcab"]
        assert log.paid == 1
    assert again == ["b 2", "c 3", "a 1", "b 2"]


def held(server: Server, count: int):
    """A script whose answers all wait until so many requests are there; the last of them lets all go."""
    all_there = threading.Event()

    async def held_back(sent: Sent) -> Answer:
        if len(server.sent) > count:  # the first call to a model is made alone
            all_there.set()
        elif len(server.sent) == 1:
            return Answer("up")
        while not all_there.is_set():
            await asyncio.sleep(0)
        return Answer(f"{sent.messages[0]['content']} held")

    return held_back


def at_once(*work):
    """What each piece of work comes to, in threads of their own."""
    with ThreadPoolExecutor(len(work)) as pool:
        return [future.result() for future in [pool.submit(piece) for piece in work]]


def test_the_same_request_in_flight_many_times_is_sent_once(tmp_path, server, engine):
    """Twelve threads ask two questions; nothing is answered before both have arrived."""
    server.script = held(server, 2)
    with log_at(tmp_path / "calls.jsonl") as log:
        one = engine(log)
        completed(one, "are you there?")
        with collect_calls() as calls:
            texts = at_once(*[partial(copy_context().run, completed, one, text) for text in "ab" * 6])
        assert texts == ["a held", "b held"] * 6
        assert len(server.sent) == log.paid == 3
        assert len(calls) == 12  # whoever waited collects the call too


def test_who_waits_for_a_request_in_flight_gets_its_failure_and_asks_no_more(tmp_path, server, engine):
    server.script = lambda sent: error(500, turns=200)
    with log_at(tmp_path / "calls.jsonl") as log:
        one = engine(log)

        def failure() -> str:
            with pytest.raises(ProviderDown) as caught:
                completed(one, "a")
            return str(caught.value)

        assert len(set(at_once(*[failure] * 8))) == 1
    assert len(server.sent) <= 8  # who comes later than the failure finds the switch pulled
    assert not log.sending
    assert not log.replies


def test_a_rollout_is_another_request_and_the_first_has_none(tmp_path, server):
    path = tmp_path / "calls.jsonl"
    server.script = lambda sent: Answer(f"{len(server.sent)}")
    for _ in range(2):
        with log_at(path) as log:
            spec = ModelSpec(name="openai/any", api_base=server.judge)
            lm = open_model(spec, JUDGE, Gate(retries=0), log=log).lm
            lms = [lm, lm.copy(rollout_id=1), lm.copy(rollout_id=2), lm.copy(), lm.copy(rollout_id=1)]
            texts = [lm("a")[0] for lm in lms]
            copied = lms[1].copy()("a")[0]
        assert texts == ["1", "2", "3", "1", "2"]
        assert copied == "2"  # a copy keeps its rollout
    assert len(server.sent) == 3
    assert len({sent.wire for sent in server.sent}) == 1  # no rollout is sent to the model


def test_nothing_is_sent_once_the_log_is_closed(tmp_path, server, engine):
    with log_at(tmp_path / "calls.jsonl") as log:
        one = engine(log)
        completed(one, "a")
    with pytest.raises(Interrupted):
        completed(one, "b")
    assert completed(one, "a") == "a 1"
    assert len(server.sent) == 1


def test_a_replayed_call_is_told_as_it_was(tmp_path, server, engine):
    lines = []
    for _ in range(2):
        with log_at(tmp_path / "calls.jsonl") as log, collect_calls() as calls:
            completed(engine(log), "a")
            lines.append(list(calls))
    assert lines[0] == lines[1]
    ((call,), _) = lines
    assert (call.prompt_tokens, call.completion_tokens) == (11, 7)


def test_roles_models_and_endpoints_have_answers_of_their_own(tmp_path, server, engine):
    with log_at(tmp_path / "calls.jsonl") as log:
        engines = [engine(log), engine(log, "openai/other"), engine(log, role=PROPOSER)]
        assert [completed(one, "a") for one in engines] == ["a 1", "a 2", "a 3"]
    with log_at(tmp_path / "calls.jsonl") as log:
        engines = [engine(log, role=PROPOSER), engine(log, "openai/other"), engine(log)]
        assert [completed(one, "a") for one in engines] == ["a 3", "a 2", "a 1"]
        assert log.paid == 0


def test_what_a_provider_refuses_for_good_is_refused_from_the_log(tmp_path, server, engine):
    server.script = lambda sent: error(400, "your prompt was flagged: content_policy_violation")
    refusals = []
    for _ in range(2):
        with log_at(tmp_path / "calls.jsonl") as log, pytest.raises(ContentError) as caught:
            completed(engine(log), "a")
        refusals.append((caught.value.reason, caught.value.detail))
    assert refusals[0] == refusals[1]
    assert len(server.sent) == 1


def test_what_is_refused_before_any_answer_may_be_of_the_set_up_and_is_asked_again(tmp_path, server, engine):
    server.script = lambda sent: error(400, "no")
    with log_at(tmp_path / "calls.jsonl") as log, pytest.raises(ContentError):
        completed(engine(log), "a")
    server.script = lambda sent: Answer("mended")
    with log_at(tmp_path / "calls.jsonl") as log:
        assert completed(engine(log), "a") == "mended"


@pytest.mark.parametrize(("status", "halt"), [(500, ProviderDown), (429, ProviderDown), (401, SetupFault)])
def test_what_may_heal_ends_the_compile_and_is_asked_again(tmp_path, server, engine, status, halt):
    well, server.script = server.script, lambda sent: error(status)
    with log_at(tmp_path / "calls.jsonl") as log, pytest.raises(halt):
        completed(engine(log), "a")
    server.script = well
    with log_at(tmp_path / "calls.jsonl") as log:
        assert completed(engine(log), "a") == "a 2"


@pytest.mark.parametrize("depth", [400, 900, 100_000])
def test_a_body_that_nobody_can_read_or_keep_ends_the_compile(tmp_path, server, engine, depth):
    """An optimizer would take any other error for a wrong answer, and end with another program and status 0."""
    nested = b"[" * depth + b"]" * depth
    message = b'{"role": "assistant", "content": "hello"}'
    raw = b'{"choices": [{"finish_reason": "stop", "message": %s}], "more": %s}' % (message, nested)
    server.script = lambda sent: Answer(raw=raw)
    path = tmp_path / "calls.jsonl"
    with log_at(path) as log:
        one = engine(log)
        with suppress(ProviderDown):  # how deep is too deep is Python's affair
            assert completed(one, "a") == "hello"
        assert len(log.replies) == (one.engine.gated.gate.switch.halt is None)
    with log_at(path) as log:  # it can be read again
        assert len(log.replies) == log.paid + (one.engine.gated.gate.switch.halt is None)


def test_what_is_in_the_log_does_not_count_against_a_limit(tmp_path, server, engine):
    limited = {"limits": Limits(calls=2)}
    for sent in (2, 4):
        with log_at(tmp_path / "calls.jsonl") as log:
            one = engine(log, **limited)
            answers = [completed(one, text) for text in "abcd"[:sent]]
            with pytest.raises(LimitReached):
                completed(one, "e")
        assert len(answers) == len(server.sent) == sent


@pytest.mark.parametrize("line", [b"{}\n", b"nonsense\n", b'{"request": "a", "calls": [], "more": 1}\n', b"\xff\n"])
def test_a_damaged_log_is_refused_and_left_as_it_is(tmp_path, line):
    path = tmp_path / "calls.jsonl"
    path.write_bytes(line)
    for _ in range(2):  # it is not held afterwards either
        with pytest.raises(RunError, match=r"calls\.jsonl, line 1: .*; restore this line, or delete it"):
            log_at(path).__enter__()
    assert path.read_bytes() == line


def test_a_reply_that_somebody_has_edited_is_refused_with_the_mend(tmp_path, server, engine):
    path = tmp_path / "calls.jsonl"
    with log_at(path) as log:
        completed(engine(log), "a")
    line = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(line | {"response": {"message": 1}}) + "\n", encoding="utf-8")
    with pytest.raises(RunError, match=r"calls.jsonl, line 1: was changed.* delete it"), log_at(path):
        pass
