"""What is marked for Anthropic's prompt cache, over HTTP on both routes: a long beginning that repeats."""

import json

import pytest
from drivers.client import JUDGE, QUIET, gate
from dspy.lm15 import Message, Request
from fakes.server import Answer

from dspy_proact.calls import collect_calls
from dspy_proact.errors import ProviderError
from dspy_proact.models import ModelSpec, open_model
from dspy_proact.models.prompt_cache import PromptCache

pytestmark = [QUIET, pytest.mark.filterwarnings("ignore")]
LONG = "Grade the response by the rubric. " * 200
BOTH = pytest.mark.parametrize("backend", ["auto", "litellm"])


def reply(**usage):
    content, usage = [{"type": "text", "text": "hello"}], {"input_tokens": 11, "output_tokens": 7, **usage}
    message = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}
    return Answer(raw=json.dumps({**message, "stop_reason": "end_turn"}).encode())


def marks(sent):
    """Where a request to Anthropic is marked: `system`, or the number of a message, counted from 0."""
    blocks = [("system", sent.body.get("system", ()))]
    blocks += [(at, message["content"]) for at, message in enumerate(sent.body["messages"])]
    return [at for at, content in blocks for block in content if "cache_control" in block]


@pytest.fixture
def model(server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    server.script = lambda sent: reply()

    def opened(backend):
        return open_model(ModelSpec(name="anthropic/claude-sonnet-4-5", api_base=server.judge), JUDGE, gate(backend))

    return opened


def send(model, *texts, system: str | None = LONG):
    messages = tuple(Message.user(text) if at % 2 == 0 else Message.assistant(text) for at, text in enumerate(texts))
    return model.lm.engine.complete(Request(model=model.name, messages=messages, system=system))


@BOTH
def test_a_long_system_text_is_marked_from_the_second_request_on(server, model, backend):
    judge = model(backend)
    for text in ("one", "two", "three"):
        assert send(judge, text).text == "hello"
    assert [marks(sent) for sent in server.sent] == [[], ["system"], ["system"]]


@BOTH
def test_a_conversation_is_marked_where_the_request_before_it_ended(server, model, backend):
    judge = model(backend)
    send(judge, LONG, system=None)
    send(judge, LONG, "yes", "and then?", system=None)
    send(judge, LONG, "yes", "and then?", "no", "why?", system=None)
    send(judge, "short", system=None)
    send(judge, "short", "yes", "and then?", system=None)
    assert [marks(sent) for sent in server.sent] == [[], [0], [2], [], []]


def test_of_requests_at_once_one_writes_and_none_is_marked_before_an_answer():
    cache = PromptCache(by_litellm=False)
    requests = [Request(model="m", system=LONG, messages=(Message.user(str(number)),)) for number in range(3)]
    first, second, third = (cache.marked(request) for request in requests)
    with first as plain, second as other:
        assert (plain, other) == (requests[0], requests[1])
    with third as writing, cache.marked(requests[0]) as meanwhile:
        assert (writing.config.cache is not None, meanwhile) == (True, requests[0])
    with cache.marked(requests[1]) as one, cache.marked(requests[2]) as another:
        assert None not in (one.config.cache, another.config.cache)


def test_what_was_not_answered_was_not_written():
    cache = PromptCache(by_litellm=False)
    requests = [Request(model="m", system=LONG, messages=(Message.user(str(number)),)) for number in range(3)]
    with cache.marked(requests[0]):
        pass
    with pytest.raises(ProviderError), cache.marked(requests[1]):
        raise ProviderError("server", "down")
    with cache.marked(requests[1]) as writing, cache.marked(requests[2]) as meanwhile:
        assert (writing.config.cache is not None, meanwhile) == (True, requests[2])


@BOTH
def test_what_was_read_and_written_is_counted_and_priced(server, model, backend):
    judge = model(backend)
    answers = iter([reply(), reply(cache_creation_input_tokens=2000), reply(cache_read_input_tokens=2000)])
    server.script = lambda sent: next(answers)
    with collect_calls() as calls:
        for text in ("one", "two", "three"):
            send(judge, text)
    counts = [(call.prompt_tokens, call.written_tokens, call.cached_tokens) for call in calls]
    assert [tuple(count or 0 for count in row) for row in counts] == [(11, 0, 0), (2011, 2000, 0), (2011, 0, 2000)]
    # Anthropic's list: 3, 15, 0.30 and 3.75 dollars a million tokens in, out, read and written.
    assert judge.price.of(2011, 7, 0, 2000) == pytest.approx(11 * 3e-6 + 2000 * 3.75e-6 + 7 * 15e-6)
