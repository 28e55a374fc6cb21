"""What a reply is by its body: how it ended, who failed, and why it has no text; over real HTTP on every route."""

import json

import pytest
from drivers.client import CLIENTS, NATIVE, OPENAI, QUIET, answers, ask, assistant, gate
from fakes.server import Answer

from dspy_proact import Evaluation, ModelSpec, RunFolder, Scope
from dspy_proact.errors import ContentError, ProviderError, SetupFault

pytestmark = QUIET
ROUTES = pytest.mark.parametrize(("name", "backend"), CLIENTS)


def body(content="Bye.", finish="stop", error=None, top=None, **message):
    """An answer of these parts, as a gateway may send it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    document = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    choice |= {"error": error} if error else {}
    document |= {"error": top} if top else {"choices": [choice]}
    return Answer(raw=json.dumps(document).encode())


def came(server, name, backend, *scripted, retries=0):
    answers(server, *scripted)
    return ask(assistant(server, name, gate(backend, retries=retries)))


ENDS = {
    **dict.fromkeys(["stop", "eos", "eos_token", "end_turn", "stop_sequence", "COMPLETED", None], "stop"),
    **dict.fromkeys(["length", "max_tokens", "model_length"], "length"),
}


@ROUTES
def test_a_finish_reason_is_what_the_providers_word_means_and_an_unknown_one_is_kept(server, name, backend):
    for word, meant in {**ENDS, "abort": "abort"}.items():
        outcome = came(server, name, backend, body(finish=word))
        assert (outcome.text, [call.finish_reason for call in outcome.calls]) == ("Bye.", [meant]), word


FAILURES = {
    "in the choice": body("", "error", {"message": "Upstream idle timeout", "code": 502}),
    "in the choice, after half a text": body("Sure. Bef", "error", {"message": "Upstream idle timeout", "code": 504}),
    "by its finish reason": body("Sure. Bef", "error"),
    "by another word": body("Sure. Bef", "network_error"),
    "in place of the choices": body(top={"message": "Upstream idle timeout", "code": 503}),
    "as a text": body(top="Upstream idle timeout"),
}


@ROUTES
@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
def test_an_error_in_a_body_is_the_providers_failure_and_is_tried_again(server, name, backend, answer):
    outcome = came(server, name, backend, answer, body(), retries=1)
    assert (outcome.text, len(server.sent)) == ("Bye.", 2)
    assert outcome.words[0] in ("server", "timeout")
    failed = came(server, name, backend, answer)
    assert isinstance(failed.error, ProviderError)


@ROUTES
def test_a_status_in_a_body_counts_as_that_of_the_answer(server, name, backend):
    unpaid = came(server, name, backend, body(top={"message": "Insufficient credits.", "code": 402}))
    assert isinstance(unpaid.error, SetupFault)
    assert "the account cannot pay" in str(unpaid.error)
    assert "Insufficient credits." in str(unpaid.error)
    limited = came(server, name, backend, body(top={"message": "Rate limit exceeded", "code": 429}), body(), retries=1)
    assert (limited.text, limited.words) == ("Bye.", ["rate_limit", None])


CALL = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
WITHOUT_TEXT = {
    "cut": (body(None, "length"), "cut", "cut at 7 tokens before any text"),
    "cut while it thinks": (body(None, "length", reasoning_content="hm"), "cut", "before any text: thinking took them"),
    "cut in its thoughts": (body("<think>hm", "length"), "cut", "before any text: thinking took them"),
    "all thought": (body("<think>hm</think>"), "empty", "the model thought, and answered nothing"),
    "refused": (body(None, refusal="I cannot\nhelp." + " no" * 999), "refused", "the model refused: I cannot help. no"),
    "a tool": (body(None, "tool_calls", tool_calls=[CALL]), "tool_call", "the model called the tool 'search'"),
    "filtered": (body(None, "sensitive"), "filtered", "filter"),
}


@ROUTES
@pytest.mark.parametrize(("answer", "reason", "part"), WITHOUT_TEXT.values(), ids=WITHOUT_TEXT)
def test_an_answer_without_text_says_why(server, name, backend, answer, reason, part):
    error = came(server, name, backend, answer).error
    assert isinstance(error, ContentError)
    assert error.reason == reason
    assert part in error.detail
    assert len(server.sent) == 1


OF_GEMINI = {
    "a blocked prompt": (
        {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}},
        0,
        "filtered",
        "PROHIBITED_CONTENT",
    ),
    "a recitation": ({"candidates": [{"content": {}, "finishReason": "RECITATION"}]}, 0, "filtered", "RECITATION"),
    "thoughts up to the limit": (
        {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]},
        8188,
        "cut",
        "cut at 8,188 tokens before any text: thinking took them",
    ),
}


@pytest.mark.parametrize(("document", "thoughts", "reason", "part"), OF_GEMINI.values(), ids=OF_GEMINI)
def test_an_answer_of_gemini_without_text_says_why(server, document, thoughts, reason, part):
    usage = {"promptTokenCount": 100, "thoughtsTokenCount": thoughts, "totalTokenCount": 100 + thoughts}
    answer = Answer(raw=json.dumps({**document, "usageMetadata": usage}).encode())
    error = came(server, "gemini/gemini-2.5-flash", "auto", answer).error
    assert isinstance(error, ContentError)
    assert (error.reason, part in error.detail) == (reason, True), error.detail


def test_without_a_count_the_limit_that_was_sent_is_named(server):
    answers(server, Answer("", finish_reason="length", usage=None))
    error = ask(assistant(server, *NATIVE[:1], gate())).error
    assert "cut at 8,192 tokens" in str(error)


def test_thoughts_among_the_parts_of_a_content_are_kept_beside_the_text(server, tmp_path):
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "A canary."}]}
    server.script = lambda sent: body([thought, {"type": "text", "text": "Bye."}])
    models = [ModelSpec(name=NATIVE[0], api_base=base) for base in (server.assistant, server.judge)]
    Evaluation("sample", *models, gate=gate(retries=0)).run(tmp_path / "run", Scope(limit=1))
    call = next(RunFolder(tmp_path / "run").calls())
    assert [(part["type"], part["text"]) for part in call.parts] == [("thinking", "A canary."), ("text", "Bye.")]
    assert not any("canary" in sent.text for sent in server.sent)


@pytest.mark.parametrize(("name", "backend"), [NATIVE, OPENAI])
def test_thoughts_are_no_part_of_an_answer_awaited_or_streamed(server, name, backend):
    for way in ("async", "sync", "stream"):
        answers(server, Answer("<think>\nA canary.\n</think>\n\nBye."))
        outcome = ask(assistant(server, name, gate(backend)), way)
        assert outcome.text == "Bye."
    assert outcome.calls[0].thoughts or name == OPENAI[0]  # litellm takes some forms out by itself


def test_a_model_whose_template_opens_its_thoughts_streams_them_once_as_text(server):
    answers(server, Answer("A canary.\n</think>\n\nBye."))
    model = assistant(server, *NATIVE[:1], gate())
    assert [ask(model, "stream").text for _ in range(2)] == ["A canary.\n</think>\n\nBye.", "Bye."]


def test_an_error_in_a_stream_is_the_providers_failure(server):
    event = {"choices": [{"index": 0, "delta": {"content": "Sure"}, "finish_reason": None}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"message": "idle", "code": 504}}]}
    answers(server, Answer(raw="".join(f"data: {json.dumps(one)}\n\n" for one in (event, end)).encode()))
    assert isinstance(ask(assistant(server, *NATIVE[:1], gate(retries=0)), "stream").error, ProviderError)
