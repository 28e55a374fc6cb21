"""Runs with a service as the assistant under test, over real HTTP: what it is sent, what is kept, what ends them."""

import json
from itertools import count

import pytest
from fakes.server import Answer, error

from dspy_proact import Evaluation, Gate, RunFolder, Scope, summarize, transcript
from dspy_proact.apps.service import ServiceApp
from dspy_proact.apps.template import Template
from dspy_proact.errors import ProviderDown, RefusedAlike, RunError, SetupFault, UsageError
from dspy_proact.models import EMBEDDED
from dspy_proact.report.caveats import caveats

pytestmark = pytest.mark.usefixtures("proactbench")
KEY = "key-of-the-bot-1234"
CHAT = Template(body={"chat": "{{messages}}", "id": "{{conversation}}"}, headers={"X-Key": "$BOT_KEY"}, reply="text")
STATEFUL = Template(body={"say": "{{last}}", "id": "{{conversation}}"}, reply="text", stateful=True)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("BOT_KEY", KEY)


def replied(text, **fields):
    return Answer(raw=json.dumps({"text": text, **fields}).encode())


def at(server, template=CHAT, retries=0, concurrency=1, **options):
    app = ServiceApp(f"{server.base('bot')}/chat", template)
    return Evaluation(
        "sample", app, EMBEDDED, gate=Gate(concurrency=concurrency, retries=retries, backoff=0.0, **options)
    )


def outcomes(folder):
    return [(outcome.state, outcome.reason) for outcome in summarize(folder).outcomes]


def test_a_run_sends_the_conversation_alone_and_has_no_key_in_any_file(server, tmp_path):
    server.script = lambda sent: replied("Shall I label the boxes today?")
    at(server).run(tmp_path / "run", Scope(limit=4))
    folder, sent = RunFolder(tmp_path / "run"), server.of("bot")
    assert [state for state, _ in outcomes(tmp_path / "run")] == ["scored"] * 4
    assert {one.headers["X-Key"] for one in sent} == {KEY}
    views = {case.key: case.view for case in folder.cases()}
    for view in views.values():
        hidden = [text for name, text in view["rubric"].items() if name.endswith("_criteria")]
        assert not any(text in one.text for text in hidden for one in sent)
    chats = [[turn["user"] for turn in view["conversation"]] for view in views.values()]
    users = [[message["content"] for message in one.body["chat"] if message["role"] == "user"] for one in sent]
    assert sorted(users) == sorted(chats)
    files = [path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert files
    assert not any(KEY.encode() in content for content in files)
    assert folder.manifest().identity.assistant.model == f"{server.base('bot')}/chat"


def test_the_same_command_asks_for_what_is_not_answered_and_for_nothing_else(server, tmp_path):
    numbers = count()
    server.script = lambda sent: error(500) if next(numbers) in (1, 3) else replied("Yes.")
    at(server).run(tmp_path / "run", Scope(limit=6))
    assert (
        sorted(outcomes(tmp_path / "run"), key=str) == [("scored", None)] * 4 + [("unscored", "response: server")] * 2
    )
    before = [sent.wire for sent in server.of("bot")]
    at(server).run(tmp_path / "run", Scope(limit=6))
    again = [sent.body["chat"] for sent in server.of("bot")[len(before) :]]
    assert again == [json.loads(wire)[1]["chat"] for wire in (before[1], before[3])]
    assert {state for state, _ in outcomes(tmp_path / "run")} == {"scored"}


def test_a_service_that_is_busy_is_asked_again_by_the_gate(server, tmp_path):
    pending = [error(429, **{"Retry-After": "0"}), error(503)]
    server.script = lambda sent: pending.pop() if pending else replied("Yes.")
    at(server, retries=3).run(tmp_path / "run", Scope(limit=1))
    assert outcomes(tmp_path / "run") == [("scored", None)]
    assert len(server.of("bot")) == 3


@pytest.mark.parametrize("status", [200, 422])
def test_a_template_that_fits_no_answer_ends_the_run_though_no_two_bodies_are_alike(server, tmp_path, status):
    numbers = count()

    def script(sent):
        return Answer(raw=json.dumps({"answer": f"one of {'many words ' * next(numbers)}"}).encode(), status=status)

    server.script = script
    with pytest.raises(RefusedAlike, match="5 requests failed alike, and none was answered"):
        at(server).run(tmp_path / "run")
    assert len(server.of("bot")) == 5


def test_who_wants_to_go_on_has_every_case_unscored_with_the_failure_of_the_application(server, tmp_path):
    server.script = lambda sent: replied(7)
    at(server).run(tmp_path / "run", Scope(limit=7, keep_going=True))
    assert outcomes(tmp_path / "run") == [("unscored", "response: no_text")] * 7
    assert {event.failure.kind for event in RunFolder(tmp_path / "run").events() if event.failure} == {"app"}


@pytest.mark.parametrize(
    ("status", "halt", "words"), [(401, SetupFault, "Check BOT_KEY"), (404, SetupFault, "nothing at this address")]
)
def test_what_every_request_meets_ends_the_run_at_once(server, tmp_path, status, halt, words):
    server.script = lambda sent: error(status, f"you sent {sent.headers['X-Key']}")
    with pytest.raises(halt, match=words) as raised:
        at(server, retries=3).run(tmp_path / "run")
    assert len(server.of("bot")) == 1
    assert KEY not in str(raised.value)


def test_a_template_that_loses_a_part_of_any_conversation_is_refused_before_the_first_request(server, tmp_path):
    """Some triggers of the sample are first turns, which nothing is lost of."""
    evaluation = at(server, Template(body={"q": "{{last}}"}, reply=CHAT.reply))
    for begin in (evaluation.run, evaluation.forecast):
        with pytest.raises(UsageError, match=r"`app_template`: the template sends the last message alone"):
            begin(tmp_path / "run", Scope())
    assert (server.sent, (tmp_path / "run").exists()) == ([], False)
    complete = at(server, Template(body={"q": "{{last}}", "h": "{{history}}"}, reply=CHAT.reply))
    assert complete.forecast(tmp_path / "run", Scope()).assistant.calls == 49


def test_a_service_that_is_not_there_ends_the_run(server, tmp_path):
    app = ServiceApp("http://127.0.0.1:9/chat", CHAT)
    with pytest.raises(ProviderDown, match=r"no connection to http://127\.0\.0\.1:9/chat"):
        Evaluation("sample", app, EMBEDDED, gate=Gate(retries=0)).run(tmp_path / "run")


def test_a_service_that_never_answers_is_given_up_at_the_time_limit(server, tmp_path):
    server.script = lambda sent: Answer(delay=3600.0)
    at(server, timeout=0.3).run(tmp_path / "run", Scope(limit=1))
    assert outcomes(tmp_path / "run") == [("unscored", "response: timeout")]


# A service that keeps the conversation


def memory():
    turns = {}

    def script(sent):
        kept = turns.setdefault(sent.body["id"], [])
        kept.append(sent.body["say"])
        return replied(f"Reply {len(kept)}: shall I label the boxes?")

    return script, turns


def test_a_stateful_service_has_heard_every_turn_in_order_when_its_last_reply_is_graded(server, tmp_path):
    server.script, turns = memory()
    at(server, STATEFUL, concurrency=4).run(tmp_path / "run", Scope(limit=5))
    folder = RunFolder(tmp_path / "run")
    views = {case.key: [turn["user"] for turn in case.view["conversation"]] for case in folder.cases()}
    assert sorted(turns.values()) == sorted(views.values())
    answers = {event.key.case: event.answer["text"] for event in folder.events() if event.answer}
    assert {key: text.split(":")[0] for key, text in answers.items()} == {
        key: f"Reply {len(users)}" for key, users in views.items()
    }
    key = max(views, key=lambda key: len(views[key]))
    steps = [
        step["content"]
        for call in folder.calls()
        if call.key.case == key and call.role == "assistant"
        for step in call.steps
    ]
    assert [step.split(":")[0] for step in steps] == [f"Reply {number}" for number in range(1, len(views[key]))]
    assert transcript(folder, key)


def test_a_run_of_a_stateful_service_is_called_so_and_is_another_run(server, tmp_path):
    server.script, _ = memory()
    at(server, STATEFUL).run(tmp_path / "stateful", Scope(limit=2))
    assert summarize(tmp_path / "stateful").model_name == f"{server.base('bot')}/chat (stateful)"
    assert [line for line in caveats(summarize(tmp_path / "stateful")) if "keeps the conversation" in line]
    server.script = lambda sent: replied("Yes.")
    at(server).run(tmp_path / "plain", Scope(limit=2))
    assert not [line for line in caveats(summarize(tmp_path / "plain")) if "keeps the conversation" in line]
    assert summarize(tmp_path / "plain").model_name == f"{server.base('bot')}/chat"
    with pytest.raises(RunError, match="another run"):
        at(server).run(tmp_path / "stateful", Scope(limit=2))
