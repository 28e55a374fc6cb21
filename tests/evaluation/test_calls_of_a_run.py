"""The log of a run's calls: what is written, what is replayed from it, and what is not."""

import json
import os
import shutil

import pytest
from builders.riddles import outcomes
from fakes.player import played
from fakes.server import Answer, error

from dspy_proact import Evaluation, Gate, Limits, ModelSpec, Rejudging, Responses, RunFolder, Scope, summarize
from dspy_proact.calls import LoggedCall, StageKey
from dspy_proact.errors import LimitReached, RunError
from dspy_proact.kept import CallLog

pytestmark = pytest.mark.usefixtures("proactbench")


def at(server, *, name: str = "openai/gpt-4o", retries: int = 0, concurrency: int = 1, **limits) -> Evaluation:
    """ProactBench's sample at a server."""
    models = (ModelSpec(name=name, api_base=base) for base in (server.assistant, server.judge))
    gate = Gate(retries=retries, backoff=0.0, concurrency=concurrency, limits=Limits(**limits))
    return Evaluation("sample", *models, gate=gate)


def lines(path) -> list[LoggedCall]:
    return list(RunFolder(path).calls())


def test_a_line_has_the_stage_the_attempts_and_the_reply_and_events_have_no_calls(server, tmp_path):
    server.script = lambda sent: error(500) if len(server.sent) == 1 else played(sent)
    at(server, retries=1).run(tmp_path / "run", Scope(limit=1))
    first, second = lines(tmp_path / "run")
    assert [first.key.stage, first.number, first.rollout, first.role] == ["response", 1, 0, "assistant"]
    assert [second.key.stage, second.key.judge, second.role] == ["verdict", "openai/gpt-4o", "judge"]
    assert [attempt.error for attempt in first.attempts] == ["server", None]
    assert first.response["message"]["parts"][0]["text"] == next(RunFolder(tmp_path / "run").events()).answer["text"]
    assert not any(event.calls for event in RunFolder(tmp_path / "run").events())
    # 3 attempts, the first of which has no count of tokens; the server counts 11 and 7 a call.
    usage = summarize(tmp_path / "run").usage
    assert [(usage[role].calls, usage[role].prompt_tokens) for role in ("assistant", "judge")] == [(2, 11), (1, 11)]


def test_a_failure_is_logged_with_the_providers_sentence_and_asked_again(server, tmp_path):
    server.script = lambda sent: error(503, "the moon is down") if sent.role == "judge" else played(sent)
    assert at(server).run(tmp_path / "run", Scope(limit=1)).unscored == 1
    _, line = lines(tmp_path / "run")
    assert (line.failure.kind, "the moon is down" in line.failure.detail, line.response) == ("provider", True, None)
    server.script = played
    assert at(server).run(tmp_path / "run", Scope(limit=1)).unscored == 0
    assert [sent.role for sent in server.sent[:3]] == ["assistant", "judge", "judge"]


def test_an_edited_line_and_a_line_of_another_run_are_refused_by_their_number_and_a_torn_one_is_cut_off(tmp_path):
    ours, theirs = Evaluation(), Evaluation(system_prompt="Be brief.")
    for evaluation, name in ((ours, "ours"), (theirs, "theirs")):
        evaluation.run(tmp_path / name, Scope(limit=2))
    path = tmp_path / "ours" / "calls.jsonl"
    good = path.read_text("utf-8")
    foreign = (tmp_path / "theirs" / "calls.jsonl").read_text("utf-8").splitlines(keepends=True)[0]
    for bad, line in ((good.replace('"completion_tokens":', '"completion_tokens":1', 1), 1), (good + foreign, 5)):
        path.write_text(bad, "utf-8")
        with pytest.raises(RunError, match=rf"calls\.jsonl, line {line}: was changed, or is of another run"):
            ours.run(tmp_path / "ours", Scope(limit=3))
    shutil.copy(tmp_path / "theirs" / "calls.jsonl", path)
    with pytest.raises(RunError, match=r"calls\.jsonl, line 1: was changed, or is of another run"):
        summarize(tmp_path / "ours")
    path.write_text(good + good[:40], "utf-8")
    ours.run(tmp_path / "ours", Scope(limit=3))
    assert len(lines(tmp_path / "ours")) == 6


def test_thoughts_of_private_inputs_are_not_written(tmp_path):
    response = {"model": "m", "finish_reason": "stop", "usage": {}}
    parts = [{"type": "thinking", "text": "a secret"}, {"type": "text", "text": "hello"}]
    call = LoggedCall(role="judge", request="r", response={**response, "message": {"parts": parts}}, attempts=())
    for keeps, count in ((True, 2), (False, 1)):
        with CallLog(tmp_path / f"{keeps}.jsonl", "mine", lambda call: True, keeps_thoughts=keeps) as log:
            log.add(call)
            assert len(log.reply("r").response["message"]["parts"]) == count
        assert ("a secret" in (tmp_path / f"{keeps}.jsonl").read_text("utf-8")) == keeps


def test_a_reply_that_is_of_use_to_its_stage_alone_is_kept_until_that_has_ended(tmp_path):
    key, path = StageKey(case="a", epoch=1, stage="response"), tmp_path / "calls.jsonl"
    vectors = LoggedCall(role="embedder", key=key, request="r", response={"vectors": [0.25]}, attempts=())
    with CallLog(path, "mine", lambda call: True) as log, log.stage(key, 1):
        log.add(vectors, briefly=True)
    assert "vectors" not in path.read_text("utf-8")
    with CallLog(path, "mine", lambda call: call.response is not None) as log:
        with log.stage(key, 1):  # broken off, and begun again
            assert log.reply("r", key).response == vectors.response
        log.forget(key, 1)
    assert sorted(tmp_path.iterdir()) == [path]


def test_replies_for_an_open_stage_are_healed_after_a_kill_and_refused_when_changed(tmp_path):
    key, path = StageKey(case="a", epoch=1, stage="response"), tmp_path / "calls.jsonl"
    vectors = LoggedCall(role="embedder", key=key, request="r", response={"vectors": [0.25]}, attempts=())

    def reply(replays=lambda call: call.response is not None) -> LoggedCall | None:
        with CallLog(path, "mine", replays) as log:
            return log.reply("r", key)

    with CallLog(path, "mine", lambda call: True) as log:
        log.add(vectors, briefly=True)
    (kept,) = (tmp_path / "open").iterdir()
    line = path.read_bytes()
    path.write_bytes(b"")  # killed before its line in the log
    assert reply() is not None
    assert path.read_bytes() == line
    good = kept.read_bytes()
    kept.write_bytes(good.replace(b"0.25", b"0.75"))
    with pytest.raises(RunError, match=r"open/\w+\.jsonl, line 1: was changed, or is of another run"):
        reply()
    kept.parent.rename(tmp_path / "elsewhere")
    kept.parent.symlink_to("elsewhere")
    with pytest.raises(RunError, match=r"open: is a link, and what it leads to would be deleted; remove the link"):
        reply()
    kept.parent.unlink()
    (tmp_path / "elsewhere").rename(kept.parent)
    (other := kept.with_name("notes.jsonl")).write_text("{}\n", "utf-8")
    kept.write_bytes(good[:-20])  # torn
    assert reply() is None
    assert [*kept.parent.iterdir()] == [other]
    kept.write_bytes(good)
    assert reply(lambda call: False) is None  # its stage had ended when the process was killed
    assert not kept.exists()


def test_where_calls_of_ended_stages_are_lost_their_number_stands_in_place_of_the_cost(server, tmp_path):
    server.script, run = played, tmp_path / "run"
    at(server).run(run, Scope(limit=2))
    assert all(usage.usd for usage in summarize(run).usage.values())
    path = run / "calls.jsonl"
    first, *others, last = path.read_text("utf-8").splitlines(keepends=True)
    assert '"stage":"response"' in first
    path.write_text("".join(others) + last[:40], "utf-8")  # one deleted, one torn
    assert at(server).run(run, Scope(limit=2)).stages == 0
    reasons = [f"calls.jsonl lacks the calls of 1 of the {of}" for of in ("responses", "verdicts of openai/gpt-4o")]
    assert [(usage.calls, usage.usd, usage.reason) for usage in summarize(run).usage.values()] == [
        (1, None, reason) for reason in reasons
    ]
    path.write_text(first + "".join(others) + last, "utf-8")
    judge = ModelSpec(name="openai/gpt-4o", api_base=server.judge, params={"max_tokens": 4000})
    Rejudging(Responses.of_run(RunFolder(run)), judge).run(tmp_path / "again")
    assert all(usage.reason is None for usage in summarize(tmp_path / "again").usage.values())


def test_content_that_could_not_be_used_is_kept_whole_and_only_asked_again_when_a_person_says_so(server, tmp_path):
    """A verdict that nobody can read is asked for twice; tried again, it is asked anew and not read from the log."""
    server.script = lambda sent: Answer("no verdict, " * 40) if sent.role == "judge" else played(sent)
    run, scope = tmp_path / "run", Scope(limit=1)
    assert at(server).run(run, scope).unscored == 1
    assert len(server.sent) == 3
    assert "no verdict, " * 40 in json.dumps(lines(run)[1].response)
    assert at(server).run(run, scope).stages == 0
    server.script = played
    assert at(server).run(run, Scope(limit=1, retry_unscored=True)).unscored == 0
    assert [line.begun for line in lines(run)] == [1, 1, 1, 2]


def test_begun_cases_are_finished_before_others_are_begun(tmp_path):
    """37 calls are 18 triggers of two calls, and one call that begins none."""
    evaluation = Evaluation(gate=Gate(concurrency=64, limits=Limits(calls=37)))
    with pytest.raises(LimitReached, match=r"36 calls spent, and the next case must reserve 2 calls"):
        evaluation.run(tmp_path / "run")
    assert (summarize(tmp_path / "run").count("scored"), len(lines(tmp_path / "run"))) == (18, 36)


def test_a_limit_that_one_call_can_never_fit_in_is_told_before_anything_is_paid(server, tmp_path):
    """A verdict of gpt-5.4 may take 32,768 tokens at 15 dollars a million: 0.49 dollars."""
    models = [ModelSpec(name="openai/gpt-4o-mini", api_base=server.assistant)]
    models += [ModelSpec(name="openai/gpt-5.4", api_base=server.judge)]
    evaluation = Evaluation("sample", *models, gate=Gate(limits=Limits(usd=0.3), concurrency=64))
    with pytest.raises(LimitReached, match=r"gpt-5\.4 must reserve .*; `judge\.params` max_tokens=N lowers that"):
        evaluation.run(tmp_path / "run")
    assert server.sent == []


def test_the_usage_of_a_run_that_is_older_than_the_log_is_read_from_its_events(tmp_path):
    evaluation = Evaluation()
    evaluation.run(tmp_path / "run", Scope(limit=2))
    now = summarize(tmp_path / "run").usage
    by_stage: dict[str, list] = {}
    for line in lines(tmp_path / "run"):
        by_stage.setdefault(line.key.model_dump_json(), []).extend(line.attempts)
    path = tmp_path / "run" / "events.jsonl"
    events = [
        event.model_copy(update={"calls": tuple(by_stage[event.key.model_dump_json()])})
        for event in RunFolder(tmp_path / "run").events()
    ]
    path.write_text("".join(f"{event.model_dump_json()}\n" for event in events), "utf-8")
    (tmp_path / "run" / "calls.jsonl").unlink()
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"keeps_calls": true', '"keeps_calls": false'), "utf-8")
    assert summarize(tmp_path / "run").usage == now
    evaluation.run(tmp_path / "run", Scope(limit=3))
    assert summarize(tmp_path / "run").usage["assistant"].calls == 3


def test_a_model_that_was_used_before_a_fork_answers_in_the_child(tmp_path):
    import dspy

    from dspy_proact import ASSISTANT, Assistant, open_model

    def answer() -> str:
        with dspy.context(lm=open_model("embedded", ASSISTANT, Gate()).lm):
            return Assistant()(history=[], user_message="I move on Friday. Thanks!").response

    before = answer()
    pid = os.fork()
    if pid == 0:
        (tmp_path / "child").write_text(answer(), "utf-8")
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert (tmp_path / "child").read_text("utf-8") == before


def test_calls_without_their_events_are_replayed_and_events_without_their_calls_are_refused(server, tmp_path):
    server.script, run = played, tmp_path / "run"
    at(server).run(run, Scope(limit=2))
    before, usage = outcomes(run), summarize(run).usage
    (run / "events.jsonl").unlink()
    at(server).run(run, Scope(limit=2))
    assert (outcomes(run), summarize(run).usage, len(server.sent)) == (before, usage, 4)
    (run / "calls.jsonl").unlink()
    for command in (lambda: summarize(run), lambda: at(server).run(run, Scope(limit=3))):
        with pytest.raises(RunError, match=r"calls\.jsonl: is missing; restore it"):
            command()
    (run / "calls.jsonl").touch()
    at(server).run(run, Scope(limit=3))
    assert (len(server.of("assistant")), summarize(run).usage["assistant"].calls) == (3, 1)


def test_no_parameter_is_named_that_the_stand_in_does_not_take(tmp_path):
    with pytest.raises(LimitReached, match=r"next call of `model` embedded must reserve \d+ tokens$"):
        Evaluation(gate=Gate(limits=Limits(tokens=100))).run(tmp_path / "run")
