"""What is recorded of a call, on both routes: tokens, finish reason and failure, by every provider's count."""

import json

import pytest
from asking import ROUTES, USAGE, WAYS, answers, ask, assistant, gate
from server import Answer, error

from dspy_proact.models.gate import Limits

NO_COUNTS = [
    {"prompt_tokens": 10**30, "completion_tokens": 4},
    "none",
    ["none"],
    11,
    {"prompt_tokens": 11.5, "completion_tokens": 4},
    {"prompt_tokens": {"all": 1}},
]
COUNTS = [
    {"prompt_tokens": "11", "completion_tokens": 4},
    {"prompt_tokens": 11.0, "completion_tokens": "4", "prompt_tokens_details": "none"},
    {"prompt_tokens": 11, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": "few"}},
]


@WAYS
@pytest.mark.parametrize("usage", [*NO_COUNTS, *COUNTS], ids=repr)
@ROUTES
def test_usage_that_is_no_count_costs_no_answer(server, name, backend, way, usage):
    answers(server, Answer("hello", usage=usage))
    through = gate(backend, retries=0, limits=Limits(tokens=10**6))
    outcome = ask(assistant(server, name, through), way)
    assert (outcome.text, outcome.words) == ("hello", [None])
    (call,) = outcome.calls
    counted = usage in COUNTS
    assert (call.prompt_tokens, call.completion_tokens) == ((11, 4) if counted else (None, call.completion_tokens))
    assert (through.budget.spent.tokens == 15) == counted  # what is not known counts as the most that it can be


@ROUTES
@WAYS
def test_a_call_is_recorded_with_its_usage(server, name, backend, way):
    answers(server, Answer("hello", usage=USAGE))
    (call,) = ask(assistant(server, name, gate(backend)), way).calls
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (100, 37, 64)
    assert (call.role, call.finish_reason, call.error) == ("assistant", "stop", None)
    assert call.started > 1.7e9
    assert call.latency > 0


@ROUTES
@WAYS
def test_a_usage_that_the_provider_did_not_give_is_none(server, name, backend, way):
    answers(server, Answer("hello", usage=None))
    (call,) = ask(assistant(server, name, gate(backend)), way).calls
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (None, None, None)


@ROUTES
@WAYS
def test_a_failed_call_is_recorded_with_a_word(server, name, backend, way):
    answers(server, error(500))
    (call,) = ask(assistant(server, name, gate(backend, retries=0)), way).calls
    assert (call.error, call.finish_reason) == ("server", None)
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (None, None, None)
    assert call.latency > 0


@ROUTES
@WAYS
@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
def test_the_finish_reason_is_recorded(server, name, backend, way, reason):
    answers(server, Answer("hello", finish_reason=reason))
    (call,) = ask(assistant(server, name, gate(backend)), way).calls
    assert call.finish_reason == reason


ANTHROPIC = {
    "id": "x",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 5,
        "output_tokens": 37,
    },
}
GEMINI = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "hello"}]}, "finishReason": "STOP", "index": 0},
    ],
    "usageMetadata": {
        "promptTokenCount": 105,
        "cachedContentTokenCount": 90,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 30,
        "totalTokenCount": 142,
    },
    "modelVersion": "m",
    "responseId": "x",
}
XAI = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    "usage": {
        "prompt_tokens": 105,
        "completion_tokens": 7,
        "total_tokens": 142,
        "prompt_tokens_details": {"cached_tokens": 90},
        "completion_tokens_details": {"reasoning_tokens": 30},
    },
}


@pytest.mark.parametrize("backend", ["auto", "litellm"])
@pytest.mark.parametrize(
    ("name", "body"),
    [("anthropic/claude-sonnet-4-5", ANTHROPIC), ("gemini/gemini-2.5-flash", GEMINI), ("xai/grok-4", XAI)],
    ids=["anthropic", "gemini", "xai"],
)
def test_tokens_that_a_provider_counts_apart_are_added(server, name, body, backend):
    answers(server, Answer(raw=json.dumps(body).encode()))
    outcome = ask(assistant(server, name, gate(backend, retries=0)))
    assert outcome.text == "hello"
    (call,) = outcome.calls
    # Anthropic: 10 new + 90 read + 5 written. Gemini and xAI: 7 of the answer + 30 of reasoning.
    assert (call.prompt_tokens, call.completion_tokens, call.cached_tokens) == (105, 37, 90)
