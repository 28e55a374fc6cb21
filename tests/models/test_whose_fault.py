"""What servers and gateways refuse, in their own bodies over HTTP: whose fault it is, and what mends it."""

import asyncio
import json

import pytest
from drivers.client import ASSISTANT, JUDGE, Chat, answers, ask, awaited, gate
from fakes.local import LOCAL_SERVERS
from fakes.server import Answer

from dspy_proact.errors import ContentError, ProviderError, RefusedAlike, SetupFault
from dspy_proact.models import ModelSpec, open_model

VLLM, GEMINI, CLAUDE, ROUTER = "hosted_vllm/m", "gemini/gemini-2.5-pro", "anthropic/claude-sonnet-4-5", "openrouter/a/m"


def body(status, document):
    return Answer(status=status, raw=json.dumps(document).encode())


def openai_error(status, message, **more):
    return body(status, {"error": {"message": message, **more}})


def opened(server, name, through=None, role=JUDGE):
    return open_model(ModelSpec(name=name, api_base=server.judge), role, through or gate(retries=0))


NO_FIELD = "Unknown name \"additionalProperties\" at 'generation_config.response_schema': Cannot find field."
CREDIT = "Your credit balance is too low to access the Anthropic API."
MEDIUM = "Unsupported value: 'medium' is not supported with this model. Supported values are: 'high'."
MOST = "max_tokens is too large: 32768. This model supports at most 16384 completion tokens."
# Who refuses what, and what the person is told.
ALIKE = {
    "a parameter in its field": (
        "openai/gpt-5-pro",
        openai_error(400, MEDIUM, code="unsupported_value", param="reasoning_effort"),
        ("reasoning_effort=none", "Supported values are: 'high'"),
    ),
    "a schema by Gemini's name": (
        GEMINI,
        openai_error(400, NO_FIELD, code=400),
        ("response_format=none", "Cannot find field"),
    ),
    "effort by Gemini's name": (
        GEMINI,
        openai_error(400, "Thinking level is not supported for this model.", code=400),
        ("reasoning_effort=none",),
    ),
    "guided decoding": (
        "lm_studio/m",
        openai_error(400, "This model does not support structured outputs: guided decoding is not available."),
        ("response_format=none",),
    ),
    "a grammar, as a server's failure": (
        VLLM,
        openai_error(500, "failed to parse grammar", type="server_error"),
        ("response_format=none",),
    ),
    "a list of FastAPI": (
        VLLM,
        body(422, {"detail": [{"loc": ["body", "temperature"], "msg": "extra fields not permitted"}]}),
        ("temperature=none", "extra fields not permitted"),
    ),
    "a list in Mistral's message": (
        VLLM,
        body(422, {"object": "error", "message": {"detail": [{"loc": ["body", "top_p"], "msg": "Input too large"}]}}),
        ("top_p=none", "Input too large"),
    ),
    "a provider behind a gateway": (
        ROUTER,
        openai_error(400, "Provider returned error", code=400, metadata={"raw": '{"error": {"param": "top_p"}}'}),
        ("top_p=none", "Provider returned error"),
    ),
    "a lower limit": (VLLM, openai_error(400, MOST, param="max_tokens"), ("max_tokens=16384", "at most 16384")),
    "no system message": (
        VLLM,
        openai_error(400, "Developer instruction is not enabled for this model"),
        ("takes no system message", "Developer instruction"),
    ),
    "no credit": (CLAUDE, openai_error(400, CREDIT, type="invalid_request_error"), ("cannot pay", CREDIT)),
    "no credit inside an answer": (
        ROUTER,
        body(200, {"error": {"message": "Insufficient credits. Add more.", "code": 402}}),
        ("cannot pay (HTTP 402)", "Insufficient credits"),
    ),
    "no quota": ("openai/gpt-4o", openai_error(429, "Check your plan.", code="insufficient_quota"), ("cannot pay",)),
    "no country": (
        "openai/gpt-4o",
        openai_error(403, "Country, region, or territory not supported", code="unsupported_country_region_territory"),
        ("HTTP 403", "Country, region"),
    ),
}


@pytest.mark.parametrize(("name", "refusal", "parts"), ALIKE.values(), ids=ALIKE)
def test_what_every_request_would_meet_ends_the_run_at_the_first_with_the_providers_sentence(
    server, monkeypatch, name, refusal, parts
):
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(variable, "sk-0123456789abcdef")
    answers(server, refusal)
    failure = ask(opened(server, name, gate(retries=2))).error
    assert isinstance(failure, SetupFault)
    assert str(failure).startswith(f"`judge` {name}: ")
    assert not [part for part in parts if part not in str(failure)]
    assert len(server.sent) == 1
    assert (failure.change is not None) == ("=none" in parts[0] or "max_tokens" in parts[0])


SENTENCES = {
    "flat": {"object": "error", "message": "The image is broken.", "code": 400},
    "text": {"error": "The image is broken."},
    "text in detail": {"detail": "The image is broken."},
    "in JSON": {"error": {"message": "Bad", "metadata": {"raw": '{"message": "The image is broken."}'}}},
}


@pytest.mark.parametrize("document", SENTENCES.values(), ids=SENTENCES)
def test_the_sentence_of_a_refusal_is_its_reason_in_whatever_form_it_comes(server, document):
    answers(server, body(422, document))
    failure = ask(opened(server, VLLM)).error
    assert isinstance(failure, ContentError)
    assert (failure.reason, "The image is broken." in failure.detail) == ("refused", True)


FLAGGED = {
    "moderated": openai_error(403, "Input was flagged for: self-harm.", code=403, metadata={"reasons": ["self-harm"]}),
    "filtered": openai_error(400, "The response was filtered.", code="content_filter", param="prompt"),
    "a policy": openai_error(400, "no", innererror={"code": "ResponsibleAIPolicyViolation"}, code="content_filter"),
}


@pytest.mark.parametrize("refusal", FLAGGED.values(), ids=FLAGGED)
def test_what_a_filter_refuses_is_of_that_request_alone_also_before_any_answer(server, refusal):
    answers(server, refusal, Answer("one"))
    model = opened(server, VLLM)
    first, second = ask(model), ask(model)
    assert isinstance(first.error, ContentError)
    assert (first.error.reason, second.text) == ("filtered", "one")


def too_long(kind, prompt):
    """The refusal by a stand-in of a local server, whose context has 4,096 tokens, of a prompt of so many."""
    local = LOCAL_SERVERS[kind]
    return body(local.too_long, local.refusal(prompt, 32768, 4096))


ROOM, ALONE = "`judge.params` max_tokens=3000 fits", "the prompt alone is too long"
BOTH = "33,864 were requested (1,096 of the prompt and 32,768 of the answer's limit)"
# Who says how that it was too long, and what is said of it. The limit of a verdict is 32,768.
LENGTHS = {
    "vLLM": (too_long("vLLM", 1096), (BOTH, ROOM)),
    "vLLM, formerly, and OpenAI": (too_long("an older vLLM", 1096), (BOTH, ROOM)),
    "vLLM, hardly room": (too_long("vLLM", 4023), ("73 tokens are left for an answer: serve the model with a larger",)),
    "vLLM, the prompt": (
        body(400, {"message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096."}),
        ("the context has 4,096 tokens and 5,000 were requested", ALONE),
    ),
    "llama.cpp": (
        openai_error(400, "the request exceeds the available context size", n_prompt_tokens=5000, n_ctx=4096),
        ("the context has 4,096 tokens and 5,000 were requested", ALONE),
    ),
    "llama.cpp, in words": (
        openai_error(400, "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"),
        ("the context has 4,096 tokens and 5,000 were requested", ALONE),
    ),
    "llama.cpp, later": (openai_error(500, "Context size has been exceeded."), ("a larger context",)),
    "TGI": (too_long("TGI", 1096), (BOTH, ROOM)),
    "LM Studio": (too_long("LM Studio", 5000), ("the context has 4,096 tokens and 5,000 were requested", ALONE)),
    "Ollama": (body(400, {"error": "the input length exceeds the context length"}), ("a larger context",)),
    "Anthropic": (
        openai_error(400, "prompt is too long: 208310 tokens > 200000 maximum", type="invalid_request_error"),
        ("the context has 200,000 tokens and 208,310 were requested", ALONE),
    ),
    "Anthropic, both": (
        openai_error(400, "input length and `max_tokens` exceed context limit: 188240 + 32768 > 200000, decrease"),
        ("221,008 were requested", "max_tokens=11760 fits"),
    ),
    "Gemini": (
        openai_error(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        ("the context has 1,048,576 tokens and 1,200,000 were requested", ALONE),
    ),
}


@pytest.mark.parametrize(("refusal", "parts"), LENGTHS.values(), ids=LENGTHS)
def test_a_request_that_is_too_long_names_both_numbers_and_the_limit_that_fits(server, refusal, parts):
    answers(server, refusal, Answer("one"))
    model = opened(server, VLLM)
    failure = ask(model).error
    assert isinstance(failure, ContentError)
    assert failure.reason == "too_long"
    assert not [part for part in parts if part not in failure.detail], failure.detail
    assert ask(model).text == "one"


def test_a_limit_of_tokens_per_minute_is_no_limit_of_the_context(server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-0123456789abcdef")
    message = "This request would exceed your organization's rate limit of 40,000 input tokens per minute."
    answers(server, openai_error(429, message, type="rate_limit_error"), Answer("late"))
    outcome = ask(opened(server, CLAUDE))
    assert isinstance(outcome.error, ProviderError)
    assert outcome.words == ["rate_limit"]


# One after another


@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_refused_key_after_an_answer_is_of_that_request_until_five_in_a_row(server, status):
    refused = openai_error(status, "no")
    answers(server, Answer("one"), *[refused] * 4, Answer("two"), refused)
    through = gate(retries=3)
    model = opened(server, VLLM, through, ASSISTANT)
    outcomes = [ask(model) for _ in range(11)]
    assert [outcome.text for outcome in outcomes if outcome.text] == ["one", "two"]
    failures = [outcome.error for outcome in outcomes if outcome.error]
    assert [type(failure) for failure in failures] == [ProviderError] * 8 + [SetupFault]
    assert {failure.reason for failure in failures[:8]} == {"denied"}
    assert through.switch.halt is failures[-1]
    assert len(server.sent) == 11


def test_five_equal_refusals_without_an_answer_end_the_run_whatever_they_say(server):
    """They differ in a number and an identifier alone."""
    refusals = [openai_error(400, f"Request req_00{at}abcdef of worker {at} was not understood") for at in range(5)]
    answers(server, openai_error(400, "Something else"), *refusals)
    through = gate()
    model = opened(server, VLLM, through)
    failures = [ask(model).error for _ in range(6)]
    assert [type(failure) for failure in failures] == [ContentError] * 5 + [RefusedAlike]
    assert "5 requests were refused alike, and none was answered (refused)" in str(failures[-1])
    assert "Request req_004abcdef of worker 4 was not understood" in str(failures[-1])


def test_refusals_after_an_answer_end_nothing(server):
    answers(server, Answer("one"), openai_error(400, "not understood"))
    model = opened(server, VLLM)
    assert {type(ask(model).error) for _ in range(12)} == {type(None), ContentError}


def test_five_that_are_too_long_end_the_run_with_the_limit_that_fits_all_of_them(server):
    lengths = [1096, 1296, 1096, 1096, 1096]
    answers(server, *(too_long("an older vLLM", length) for length in lengths))
    model = opened(server, VLLM)
    failure = [ask(model).error for _ in lengths][-1]
    assert isinstance(failure, SetupFault)
    assert failure.change == ("judge", "max_tokens", "2800")


def test_quick_refusals_wait_for_the_slow_answers_that_began_beside_them(server):
    """Of eight in flight three are slow: after five equal refusals none begins until these have come."""

    async def script(sent):
        if sent.messages[-1]["content"] not in ("0", "1", "2"):
            return openai_error(400, "not understood")
        while len(server.sent) < 8 or server.in_flight > 3:
            await asyncio.sleep(0)
        return Answer("late", turns=300)

    server.script = script
    through = gate(concurrency=8)
    model = opened(server, VLLM, through, ASSISTANT)

    async def asking():
        questions = (Chat().acall(user_message=str(number)) for number in range(20))
        return await asyncio.gather(*questions, return_exceptions=True)

    outcomes = asyncio.run(awaited(model, asking()))
    assert sum(isinstance(outcome, ContentError) for outcome in outcomes) == 17
    assert through.switch.halt is None
