"""A model as a person names it: presets, parameters, and values that are never written down."""

import json

import pytest
from drivers.client import ASSISTANT, JUDGE, ROUTES, answers, ask, gate
from fakes.server import Answer, error

from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.models import EMBEDDED, PRESETS, Limits, ModelSpec, decoding, open_model, without_secrets
from dspy_proact.models.spec import require_parameters, secret_texts, takes_completion_limit

INPUTS = {"api_base": "http://here/v1", "params": {"seed": 7}, "price": Price(prompt=1e-6, completion=2e-6)}


def test_a_name_alone_is_a_spec_with_defaults():
    assert ModelSpec.of("openai/m") == ModelSpec(name="openai/m", api_base=None, params={}, price=None)
    assert ModelSpec.of(complete := ModelSpec(name="openai/m", **INPUTS)) is complete
    assert ModelSpec().name == EMBEDDED


@pytest.mark.parametrize("own", [{}, {"api_base": "http://there/v1"}, {"params": {"seed": 8}}, {"price": Price()}])
def test_a_spec_takes_what_it_leaves_open_from_another_one_of_its_name_only(own):
    other = ModelSpec(name="openai/m", **INPUTS)
    assert ModelSpec(name="openai/m", **own).beside(other) == ModelSpec(name="openai/m", **(INPUTS | own))
    assert ModelSpec(name="openai/n", **own).beside(other) == ModelSpec(name="openai/n", **own)


# The table of presets: parameters of a response, parameters of a verdict, and the names that have them.
REASONING = (
    {"temperature": 1.0, "max_tokens": 32768},
    {"temperature": 1.0, "max_tokens": 32768, "reasoning_effort": "medium"},
)
NEW_CLAUDE = ({"max_tokens": 8192}, {"max_tokens": 32768})
CLAUDE = ({"temperature": 0.7, "max_tokens": 8192}, {"temperature": 0.7, "max_tokens": 32768})
OTHER = (
    {"temperature": 0.7, "top_p": 1.0, "max_tokens": 8192},
    {"temperature": 0.7, "top_p": 1.0, "max_tokens": 32768},
)
ROWS = {
    "reasoning": (
        REASONING,
        "gpt-5 gpt-5.4 gpt-5-mini-2025-08-07 gpt-5.5-chat-latest GPT-5.4 o1 o1-preview o3 o3-mini o4-mini-2025-04-16 "
        "gemini-2.5-pro gemini-2.5-pro-preview-06-05",
    ),
    "claude from 4.7 on": (
        NEW_CLAUDE,
        "claude-opus-4-7 claude-opus-4.7 claude-opus-4-7-20260115 claude-opus-4.7-20260115 claude-sonnet-4-8 "
        "claude-opus-4-10 claude-4-7-opus claude-sonnet-5 claude-sonnet-5-20260801 claude-haiku-5-1 "
        "claude-haiku-5-1-20260801 claude-opus-5.2 claude-5-sonnet-20260801 claude-opus-10 Claude-Opus-4.7 "
        "claude-opus-4.7:free claude-opus-4.7:beta claude-opus-4.7@latest",
    ),
    "claude before 4.7": (
        CLAUDE,
        "claude-2.1 claude-instant-1.2 claude-3-haiku-20240307 claude-3-5-sonnet-20241022 claude-3-7-sonnet-20250219 "
        "claude-3.7-sonnet claude-3-7-sonnet-latest claude-opus-4-20250514 claude-sonnet-4@20250514 "
        "claude-4-opus-20250514 claude-opus-4-1-20250805 claude-sonnet-4-5 claude-sonnet-4-5-20250929 "
        "claude-sonnet-4.5 claude-opus-4-6 claude-opus-4-6-20260205 "
        # Bedrock's names, to which top_p beside temperature would be refused.
        "anthropic.claude-sonnet-4-5-20250929-v1:0 us.anthropic.claude-3-7-sonnet-20250219-v1:0",
    ),
    "all others": (
        OTHER,
        "gpt-4o gpt-4.1-mini gpt-oss-120b gemini-2.5-flash gemini-2.0-pro llama-3.1-70b-instruct Qwen2.5-72B "
        "my-claude-sonnet-4-7 not-gpt-5 phi-o1 any claude-proxy/gpt-4o o1/any",
    ),
}
PREFIXES = ["", "openai/", "hosted_vllm/", "openrouter/vendor/", "vertex_ai/", "azure/", "a/b/c/"]


def test_every_row_of_the_table_has_its_names_here():
    assert len(PRESETS) == len(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_the_name_after_any_router_prefix_decides(row):
    sent, names = ROWS[row]
    for name in names.split():
        for prefix in PREFIXES:
            assert (decoding(prefix + name, "response"), decoding(prefix + name, "verdict")) == sent, prefix + name
    assert decoding("", "response") == OTHER[0]


def test_overrides_replace_add_and_omit_and_leave_the_table_as_it_was():
    assert decoding("any", "response", {"temperature": 0.0, "seed": 7}) == {**OTHER[0], "temperature": 0.0, "seed": 7}
    assert decoding("any", "verdict", {"temperature": None, "max_tokens": None, "top_k": None}) == {"top_p": 1.0}
    decoding("gpt-5", "verdict", {"temperature": 0.1, "reasoning_effort": None})
    assert decoding("gpt-5", "verdict") == REASONING[1]


@pytest.mark.parametrize("value", [0, 0.0, False, "", []])
def test_a_value_that_is_merely_false_is_sent(value):
    assert decoding("any", "verdict", {"temperature": value})["temperature"] == value


def test_only_openais_reasoning_models_take_the_limit_as_completion_tokens():
    for prefix in PREFIXES:
        for name in ("gpt-5", "gpt-5.4-mini", "o1", "o3", "o4-mini", "GPT-5"):
            assert takes_completion_limit(prefix + name)
        for name in ("gpt-4o", "gpt-oss-120b", "gemini-2.5-pro", "claude-opus-4-7", "o2", "any", "gpt-5/any"):
            assert not takes_completion_limit(prefix + name)


# Parameters

REFUSED = {
    **{
        f"{name} is not one": ({name: value}, name)
        for name in ("messages", "model", "stream", "tools", "rollout_id", "extra_headers", "timeout")
        for value in ("x", None)
    },
    "an endpoint": ({"api_base": "http://127.0.0.1/"}, "api_base"),
    "a key": ({"api_key": "k"}, "api_key"),
    "a word for a number": ({"temperature": "hot"}, "a number of at least 0"),
    "no number": ({"temperature": float("nan")}, "a number of at least 0"),
    "yes for a number": ({"temperature": True}, "a number of at least 0"),
    "more than all": ({"top_p": 1.5}, "at most 1"),
    "no tokens": ({"max_tokens": 0}, "a whole number above 0"),
    "half a token": ({"max_tokens": 1.5}, "a whole number above 0"),
    "a text of tokens": ({"max_tokens": "99"}, "a whole number above 0"),
    "a form": ({"response_format": "non"}, "json_schema or json_object or none"),
    "a schema": ({"response_format": {"type": "json_object"}}, "json_schema or json_object or none"),
    "several answers": ({"n": 5}, "one answer"),
    "the best of several": ({"best_of": 5}, "one answer"),
    "several answers in the body": ({"extra_body": {"n": 5}}, "one answer"),
    "several answers far down": ({"extra_body": {"generationConfig": [{"candidateCount": 5}]}}, "one answer"),
    "the limit's other name too": ({"max_tokens": 9, "max_completion_tokens": 9}, "two names of one limit"),
    "another limit in the body": ({"extra_body": {"max_new_tokens": 9}}, "max_tokens=N"),
    "the limit in the body": ({"extra_body": {"max_tokens": 99_999}}, "max_tokens=N"),
    "another model in the body": ({"extra_body": {"model": "dear"}}, "model"),
    "the mark of a secret": ({"extra_body": {"api": {"secret": "[hidden 0123abcd]"}}}, "the secret itself"),
    "a body that is no object": ({"extra_body": 5}, "extra_body: must be an object, not 5"),
    "misspelt": ({"temprature": 0}, "did you mean temperature?"),
    "a form in the body": ({"extra_body": {"response_format": {}}}, "response_format"),
}


@pytest.mark.parametrize(("inputs", "message"), REFUSED.values(), ids=REFUSED)
def test_a_parameter_that_cannot_be_sent_is_refused_with_what_is_allowed(inputs, message):
    with pytest.raises(UsageError) as refused:
        open_model(ModelSpec(name="openai/any", api_base="http://127.0.0.1:1/v1", params=inputs), JUDGE, gate())
    assert str(refused.value).startswith("`judge.params` ")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "inputs",
    [
        {"temperature": 0, "top_p": 1, "max_tokens": 1, "seed": 7, "reasoning_effort": "low"},
        {"temperature": None, "max_tokens": None, "response_format": None},
        {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}, "stop": ["x"]},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ],
)
def test_a_parameter_that_can_be_sent_is_accepted(inputs):
    require_parameters("model.params", inputs)


def test_a_limit_of_tokens_is_held_against_the_limit_that_is_sent(server):
    """Under two names, what is reserved for and what is sent differ: 2 million tokens under a limit of 60,000."""
    spec = ModelSpec(name="openai/any", api_base=server.assistant, params={"max_tokens": 50})
    outcome = ask(open_model(spec, ASSISTANT, gate(limits=Limits(tokens=60_000))))
    assert outcome.error is None
    (sent,) = server.sent
    assert {name: value for name, value in sent.body.items() if "max" in name} == {"max_tokens": 50}


# Secrets

SECRET = {
    "extra_headers": {"X-Gateway": "canary-one", "X-More": ["canary-two"]},
    "extra_body": {"inner": {"deep": [{"deeper": "canary-three"}]}, "thinking": True, "budget": 5},
    "aws_secret_access_key": "canary-four",
    "user": "me",
    "seed": 7,
}


def test_a_text_that_may_be_a_secret_is_written_as_a_mark_that_changes_with_it():
    written = without_secrets(SECRET)
    assert "canary" not in json.dumps(written)
    assert sorted(secret_texts(SECRET)) == ["canary-four", "canary-one", "canary-three", "canary-two"]
    assert (written["user"], written["seed"]) == ("me", 7)
    assert (written["extra_body"]["thinking"], written["extra_body"]["budget"]) == (True, 5)
    assert written == without_secrets(SECRET)
    other = without_secrets({**SECRET, "aws_secret_access_key": "canary-five"})
    assert {name for name in written if written[name] != other[name]} == {"aws_secret_access_key"}
    for name in ("passwd", "pwd", "passphrase", "bearer", "jwt", "sid", "access", "session"):
        assert secret_texts({name: "canary"}) == ["canary"], name
    # The same text elsewhere has another mark.
    assert len({*without_secrets({"a_key": "x", "b_key": "x"}).values()}) == 2


@ROUTES
def test_a_secret_among_the_parameters_is_sent_and_reaches_no_record(server, name, backend):
    inputs = {"extra_body": {"gateway": ["canary/one+1"]}}
    answers(server, error(500, "the caller canary/one+1, or canary%2Fone%2B1, or Y2FuYXJ5L29uZSsx"), Answer("hello"))
    spec = ModelSpec(name=name, api_base=server.assistant, params=inputs)
    model = open_model(spec, ASSISTANT, gate(backend, retries=0))
    failed = ask(model)
    assert "canary" not in failed.error.detail
    assert "Y2FuYXJ5" not in failed.error.detail
    assert "canary" not in f"{model}{model.identity}"
    assert ask(model).text == "hello"
    assert [sent.body["gateway"] for sent in server.sent] == [["canary/one+1"]] * 2
