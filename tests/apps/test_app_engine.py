"""An application behind the gate: asked by a benchmark's own program, counted, tried again, and told apart."""

import hashlib
from functools import reduce

import pytest

from dspy_proact import Evaluation, Gate, Limits, RunFolder, Scope, summarize, transcript
from dspy_proact.apps import AppReply
from dspy_proact.errors import AppError, LimitReached, ProviderDown, ProviderError, RefusedAlike, SetupFault, UsageError
from dspy_proact.models import EMBEDDED

pytestmark = pytest.mark.usefixtures("proactbench")
CALL = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"q": "late"}'}}
STEPS = (
    {"role": "assistant", "content": "I look it up.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "nothing"},
)


class Scripted:
    """An application that does for each request what a script says."""

    name = "bot.py:answer"

    def __init__(self, *script):
        self.script, self.requests, self.closed = list(script), [], 0

    def fingerprint(self):
        return hashlib.sha256(b"bot").hexdigest()

    async def answer(self, request):
        self.requests.append(request)
        then = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(then, BaseException):
            raise then
        return then

    async def aclose(self):
        self.closed += 1


def at(app, retries=0, **limits):
    gate = Gate(concurrency=1, retries=retries, backoff=0.0, limits=Limits(**limits))
    return Evaluation("sample", app, EMBEDDED, gate=gate)


def test_it_gets_the_messages_that_a_model_gets_and_its_reply_is_graded_with_its_steps_kept(tmp_path):
    app = Scripted(AppReply("Shall I move the meeting?", STEPS, 10, 4, 0.25))
    at(app).run(tmp_path / "run", Scope(limit=2))
    assert app.closed == 1
    answers = [event.answer["text"] for event in RunFolder(tmp_path / "run").events() if event.answer]
    assert answers == ["Shall I move the meeting?"] * 2
    calls = [call for call in RunFolder(tmp_path / "run").calls() if call.role == "assistant"]
    assert [step["role"] for step in calls[0].steps] == ["assistant", "tool"]
    assert [part["type"] for part in calls[0].parts] == ["step", "tool_call", "tool_result", "text"]
    key = calls[0].key.case
    exchange = transcript(RunFolder(tmp_path / "run"), key)[0].exchanges[0]
    sent = [part["text"] for message in exchange.request["messages"] for part in message["parts"]]
    assert sent == [message["content"] for message in app.requests[0].messages]
    # 2 answers at USD 0.25, 10 and 4 tokens.
    usage = summarize(tmp_path / "run").usage["assistant"]
    assert (usage.usd, usage.prompt_tokens, usage.completion_tokens) == (0.5, 20, 8)


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (reduce(lambda inner, _: [inner], range(65), "x"), "[" * 65 + '"x"' + "]" * 65),
        ({"a": float("nan")}, '{"a": NaN}'),
        (reduce(lambda inner, _: [inner], range(100_000), "x"), "(nested too deep to be kept)"),
    ],
    ids=["deep", "nan", "deepest"],
)
def test_a_step_that_no_log_could_be_read_with_is_kept_as_a_text(tmp_path, content, kept):
    steps = ({"role": "tool", "content": content, "tool_call_id": "1"},)
    at(Scripted(AppReply("Shall I?", steps))).run(tmp_path / "run", Scope(limit=1))
    (call,) = [call for call in RunFolder(tmp_path / "run").calls() if call.role == "assistant"]
    assert call.steps[0]["content"] == kept
    assert len(summarize(tmp_path / "run").scored) == 1


def test_a_cost_that_only_some_answers_report_is_not_known(tmp_path):
    at(Scripted(AppReply("One?", usd=0.25), AppReply("Two?"))).run(tmp_path / "run", Scope(limit=2))
    usage = summarize(tmp_path / "run").usage["assistant"]
    assert (usage.usd, usage.reason) == (None, "the application reported it for 1 of 2 answers")
    assert summarize(tmp_path / "run").usd is None
    at(Scripted(AppReply("Two?"))).run(tmp_path / "none", Scope(limit=2))
    assert summarize(tmp_path / "none").usage["assistant"].reason == "the application reports none"
    at(Scripted(AppReply("Two?", usd=0.0))).run(tmp_path / "free", Scope(limit=2))
    assert summarize(tmp_path / "free").usage["assistant"].usd == 0.0


@pytest.mark.parametrize("usd", [float("nan"), float("inf"), -0.1, 10.0**7])
def test_a_cost_that_no_answer_can_have_is_not_known_and_the_answer_is_graded(tmp_path, usd):
    at(Scripted(AppReply("Two?", usd=usd, prompt_tokens=10**9, completion_tokens=1))).run(
        tmp_path / "run", Scope(limit=1)
    )
    usage = summarize(tmp_path / "run").usage["assistant"]
    assert (usage.usd, usage.prompt_tokens, usage.reason) == (None, None, "the application reports none")
    assert len(summarize(tmp_path / "run").scored) == 1


def test_requests_of_one_answer_share_a_conversation_and_those_of_another_run_do_not(tmp_path):
    app = Scripted(AppError("raised", "no"), AppReply("Yes."))
    at(app, retries=1).run(tmp_path / "run", Scope(limit=2))
    first, again, other = (request.conversation for request in app.requests)
    assert first == again != other
    assert app.requests[0].messages == app.requests[1].messages


def test_what_fails_is_of_the_kind_app_is_unscored_and_is_asked_again_by_the_same_command(tmp_path):
    app = Scripted(AppReply("Yes."), AppError("raised", "ValueError: no"), AppReply("Yes."))
    done = at(app).run(tmp_path / "run", Scope(limit=3))
    assert (done.unscored, done.retryable, done.by_content) == (1, 1, 0)
    (failure,) = (event.failure for event in RunFolder(tmp_path / "run").events() if event.failure)
    assert (failure.kind, failure.reason, failure.detail) == ("app", "raised", "ValueError: no")
    assert at(Scripted(AppReply("Yes."))).run(tmp_path / "run", Scope(limit=3)).unscored == 0


@pytest.mark.parametrize(
    ("failure", "tried"),
    [
        (AppError("raised", "no"), 3),
        (AppError("bug", "no"), 1),
        (AppError("no_text", "None"), 1),
        (AppReply(" \n"), 1),
    ],
)
def test_what_was_answered_and_has_no_text_is_not_asked_for_again_at_once(tmp_path, failure, tried):
    app = Scripted(AppReply("Yes."), failure)
    at(app, retries=2).run(tmp_path / "run", Scope(limit=2))
    assert len(app.requests) == 1 + tried


def test_five_equal_failures_without_an_answer_end_the_run(tmp_path):
    app = Scripted(AppError("raised", "KeyError: 'x' (bot.py:3)"))
    with pytest.raises(RefusedAlike, match=r"`app` bot.py:answer: 5 requests failed alike.*KeyError: 'x' \(bot.py:3\)"):
        at(app).run(tmp_path / "run", Scope())
    assert (len(app.requests), (tmp_path / "run").exists()) == (5, False)
    app = Scripted(AppReply("Yes."), AppError("raised", "no"))
    with pytest.raises(ProviderDown, match="10 calls in a row failed"):
        at(app).run(tmp_path / "run", Scope())


def test_what_would_meet_every_request_ends_the_run_at_once(tmp_path):
    app = Scripted(SetupFault("bot.py:2: ImportError: no module"))
    with pytest.raises(SetupFault, match=r"bot.py:2: ImportError"):
        at(app, retries=3).run(tmp_path / "run", Scope())
    assert (len(app.requests), (tmp_path / "run").exists()) == (1, False)
    with pytest.raises(ProviderDown, match=r"down\. 10 calls in a row failed"):
        at(Scripted(ProviderError("lost", "it broke off"))).run(tmp_path / "run", Scope())
    with pytest.raises(ProviderDown, match="cannot be reached"):
        at(Scripted(ProviderError("network", "no connection"))).run(tmp_path / "run", Scope())


def test_limits_count_requests_and_what_is_reported(tmp_path):
    app = Scripted(AppReply("Yes.", usd=1.0))
    with pytest.raises(LimitReached, match=r"limits\.calls=7"):
        at(app, calls=7).run(tmp_path / "calls", Scope())
    # Each case takes an answer and a verdict: 3 cases are 6 calls, and another one does not fit.
    assert len(app.requests) == 3
    app = Scripted(AppReply("Yes.", usd=1.0))
    with pytest.raises(LimitReached, match=r"limits\.usd=2"):
        at(app, usd=2.5).run(tmp_path / "usd", Scope())
    assert len(app.requests) == 3  # USD 2 are less than 2.5, and what the third one costs is known when it has answered


def test_it_has_its_own_program_and_prompt():
    for argument, value in (("system_prompt", "Be brief."), ("program", "x.json")):
        with pytest.raises(UsageError, match=f"`{argument}`: an application has its own"):
            Evaluation("sample", Scripted(AppReply("Yes.")), EMBEDDED, **{argument: value})
