"""The record of a compile: the n-th asking of a request gets the n-th answer, and only what is not there is paid."""

import json

import pytest
from dspy.lm15 import Message, Request
from hypothesis import given, settings
from hypothesis import strategies as st
from server import Answer, error

from dspy_proact.calls import collect_calls
from dspy_proact.errors import ContentError, LimitReached, ProviderDown, RunError, SetupFault
from dspy_proact.models import Gate, Limits, ModelSpec, Record, open_model
from dspy_proact.models.record import Answered, RecordedEngine
from dspy_proact.programs import JUDGE


def request(text: str) -> Request:
    return Request(model="openai-chat:any", messages=(Message.user(text),))


def asked(engine: RecordedEngine, text: str) -> str:
    return engine.complete(request(text)).message.text or ""


@pytest.fixture
def engine(server):
    """An engine with a record; the server counts what it was asked."""

    def make(record: Record, name: str = "openai/any", role=JUDGE, **gate) -> RecordedEngine:
        base = server.judge if role is JUDGE else server.assistant
        model = open_model(ModelSpec(name=name, api_base=base), role, Gate(retries=0, **gate), record=record)
        made = model.lm._engine_spec
        assert isinstance(made, RecordedEngine)
        return made

    server.script = lambda sent: Answer(f"{sent.messages[0]['content']} {len(server.sent)}")
    return make


def test_the_nth_asking_gets_the_nth_answer_and_only_the_rest_is_sent(tmp_path, server, engine):
    path = tmp_path / "out" / "record.jsonl"
    with Record(path) as record:
        first = [asked(engine(record), text) for text in "aab"]
    assert first == ["a 1", "a 2", "b 3"]
    with Record(path) as record:
        again = [asked(engine(record), text) for text in "abaac"]
        assert record.paid == 2
    assert again == ["a 1", "b 3", "a 2", "a 4", "c 5"]


def test_a_replayed_call_is_told_as_it_was(tmp_path, server, engine):
    told = []
    for _ in range(2):
        with Record(tmp_path / "record.jsonl") as record, collect_calls() as calls:
            asked(engine(record), "a")
            told.append((list(calls), list(record.calls)))
    assert told[0] == told[1]
    ((call,), _) = told[0]
    assert (call.prompt_tokens, call.completion_tokens) == (11, 7)


def test_roles_models_and_endpoints_have_answers_of_their_own(tmp_path, server, engine):
    with Record(tmp_path / "record.jsonl") as record:
        engines = [engine(record), engine(record, "openai/other"), engine(record, role="proposer")]
        assert [asked(each, "a") for each in engines] == ["a 1", "a 2", "a 3"]
    with Record(tmp_path / "record.jsonl") as record:
        engines = [engine(record, role="proposer"), engine(record, "openai/other"), engine(record)]
        assert [asked(each, "a") for each in engines] == ["a 3", "a 2", "a 1"]
        assert record.paid == 0


def test_what_a_provider_refuses_for_good_is_refused_from_the_record(tmp_path, server, engine):
    server.script = lambda sent: error(400, "your prompt was flagged: content_policy_violation")
    refusals = []
    for _ in range(2):
        with Record(tmp_path / "record.jsonl") as record, pytest.raises(ContentError) as caught:
            asked(engine(record), "a")
        refusals.append((caught.value.reason, caught.value.detail))
    assert refusals[0] == refusals[1]
    assert len(server.sent) == 1


@pytest.mark.parametrize(("status", "halt"), [(500, ProviderDown), (429, ProviderDown), (401, SetupFault)])
def test_what_may_heal_ends_the_compile_and_is_asked_again(tmp_path, server, engine, status, halt):
    well, server.script = server.script, lambda sent: error(status)
    with Record(tmp_path / "record.jsonl") as record, pytest.raises(halt):
        asked(engine(record), "a")
    server.script = well
    with Record(tmp_path / "record.jsonl") as record:
        assert asked(engine(record), "a") == "a 2"


def test_what_stands_in_the_record_does_not_count_against_a_limit(tmp_path, server, engine):
    limited = {"limits": Limits(calls=2)}
    for sent in (2, 4):
        with Record(tmp_path / "record.jsonl") as record:
            one = engine(record, **limited)
            answers = [asked(one, text) for text in "abcd"[:sent]]
            with pytest.raises(LimitReached):
                asked(one, "e")
        assert len(answers) == len(server.sent) == sent


def test_a_torn_last_line_is_cut_off_and_asked_again(tmp_path, server, engine):
    path = tmp_path / "record.jsonl"
    with Record(path) as record:
        for text in "ab":
            asked(engine(record), text)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    with Record(path) as record:
        assert [asked(engine(record), text) for text in "ab"] == ["a 1", "b 3"]
    assert path.read_bytes().count(b"\n") == 2
    with Record(path) as record:
        assert [asked(engine(record), text) for text in "ab"] == ["a 1", "b 3"]


@pytest.mark.parametrize("line", [b"{}\n", b"nonsense\n", b'{"request": "a", "calls": [], "more": 1}\n', b"\xff\n"])
def test_a_damaged_record_is_refused_and_left_as_it_is(tmp_path, line):
    path = tmp_path / "record.jsonl"
    path.write_bytes(line)
    for _ in range(2):  # it is not held afterwards either
        with pytest.raises(RunError, match="damaged; remove the folder"):
            Record(path).__enter__()
    assert path.read_bytes() == line


def test_one_process_at_a_time(tmp_path):
    with Record(tmp_path / "record.jsonl"), pytest.raises(RunError, match="another process is compiling here"):
        Record(tmp_path / "record.jsonl").__enter__()
    with Record(tmp_path / "record.jsonl"):
        pass


def test_what_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(RunError, match="cannot be written"):
        Record(tmp_path / "file" / "record.jsonl").__enter__()


@given(texts=st.lists(st.sampled_from("abc"), max_size=8), cut=st.integers(0, 8))
@settings(max_examples=30, deadline=None)
def test_a_compile_that_was_stopped_anywhere_gets_the_answers_of_one_that_was_not(tmp_path_factory, texts, cut):
    """No model: the answers are numbers in the order of asking."""
    path = tmp_path_factory.mktemp("record") / "record.jsonl"
    numbers = iter(range(100))

    def ask(record: Record, text: str) -> str:
        if kept := record.next(text):
            return kept.refused[0] if kept.refused else ""
        number = str(next(numbers))
        record.add(Answered(request=text, refused=(number, ""), calls=()))
        return number

    with Record(path) as record:
        begun = [ask(record, text) for text in texts[:cut]]
    with Record(path) as record:
        whole = [ask(record, text) for text in texts]
        assert record.paid == len(texts[cut:])
    assert whole[:cut] == begun
    assert whole == [str(place) for place in range(len(texts))]
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == len(texts)
