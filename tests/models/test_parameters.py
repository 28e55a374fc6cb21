"""The parameters that a person may set: what is refused when it is read, and what is never written down."""

import json

import pytest
from asking import ROUTES, answers, ask, gate
from server import Answer, error

from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, JUDGE
from dspy_proact.errors import UsageError
from dspy_proact.models import Limits, ModelSpec, open_model
from dspy_proact.models.spec import require_parameters, secret_texts, without_secrets

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
    "fewer than none": ({"max_tokens": -5}, "a whole number above 0"),
    "a text of tokens": ({"max_tokens": "99"}, "a whole number above 0"),
    "a form": ({"response_format": "non"}, "response_format=none"),
    "a schema": ({"response_format": {"type": "json_object"}}, "response_format=none"),
    "several answers": ({"n": 5}, "one answer"),
    "the best of several": ({"best_of": 5}, "one answer"),
    "several answers in the body": ({"extra_body": {"n": 5}}, "one answer"),
    "several answers far down": ({"extra_body": {"generationConfig": [{"candidateCount": 5}]}}, "one answer"),
    "the limit's other name": ({"max_completion_tokens": 9}, "max_tokens=N"),
    "another limit in the body": ({"extra_body": {"max_new_tokens": 9}}, "max_tokens=N"),
    "the limit in the body": ({"extra_body": {"max_tokens": 99_999}}, "max_tokens=N"),
    "another model in the body": ({"extra_body": {"model": "dear"}}, "model"),
    "the mark of a secret": ({"extra_body": {"api": {"secret": "[hidden 0123abcd]"}}}, "the secret itself"),
    "a form in the body": ({"extra_body": {"response_format": {}}}, "response_format"),
}


@pytest.mark.parametrize(("given", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_sent_is_refused_with_what_is_allowed(given, said):
    with pytest.raises(UsageError) as refused:
        open_model(ModelSpec(name="openai/any", api_base="http://127.0.0.1:1/v1", params=given), JUDGE, gate())
    assert str(refused.value).startswith("--judge-param ")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {"temperature": 0, "top_p": 1, "max_tokens": 1, "seed": 7, "reasoning_effort": "low"},
        {"temperature": None, "max_tokens": None, "response_format": None},
        {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}, "stop": ["x"]},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ],
)
def test_what_can_be_sent_is_taken(given):
    require_parameters("--model-param", given)


def test_a_limit_of_tokens_is_held_against_the_limit_that_is_sent(server):
    """What was reserved for and what was sent had two names once: 2 million tokens under a limit of 60,000."""
    spec = ModelSpec(name="openai/any", api_base=server.assistant, params={"max_tokens": 50})
    outcome = ask(open_model(spec, ASSISTANT, gate(limits=Limits(tokens=60_000))))
    assert outcome.error is None
    (sent,) = server.sent
    assert {name: value for name, value in sent.body.items() if "max" in name} == {"max_tokens": 50}


SECRET = {
    "extra_headers": {"X-Gateway": "canary-one", "X-More": ["canary-two"]},
    "extra_body": {"inner": {"deep": [{"deeper": "canary-three"}]}, "thinking": True, "budget": 5},
    "aws_secret_access_key": "canary-four",
    "user": "me",
    "seed": 7,
}


def test_a_text_that_may_be_a_secret_is_without_secrets_as_a_mark_that_changes_with_it():
    told = without_secrets(SECRET)
    assert "canary" not in json.dumps(told)
    assert sorted(secret_texts(SECRET)) == ["canary-four", "canary-one", "canary-three", "canary-two"]
    assert (told["user"], told["seed"]) == ("me", 7)
    assert (told["extra_body"]["thinking"], told["extra_body"]["budget"]) == (True, 5)
    assert told == without_secrets(SECRET)
    other = without_secrets({**SECRET, "aws_secret_access_key": "canary-five"})
    assert {name for name in told if told[name] != other[name]} == {"aws_secret_access_key"}
    for name in ("passwd", "pwd", "passphrase", "bearer", "jwt", "sid", "access", "session"):
        assert secret_texts({name: "canary"}) == ["canary"], name
    # The same text elsewhere has another mark.
    assert len({*without_secrets({"a_key": "x", "b_key": "x"}).values()}) == 2


@ROUTES
def test_a_secret_among_the_parameters_is_sent_and_reaches_no_record(server, name, backend):
    given = {"extra_body": {"gateway": ["canary/one+1"]}}
    answers(server, error(500, "the caller canary/one+1, or canary%2Fone%2B1, or Y2FuYXJ5L29uZSsx"), Answer("hello"))
    spec = ModelSpec(name=name, api_base=server.assistant, params=given)
    model = open_model(spec, ASSISTANT, gate(backend, retries=0))
    failed = ask(model)
    assert "canary" not in failed.error.detail
    assert "Y2FuYXJ5" not in failed.error.detail
    assert "canary" not in f"{model}{model.identity}"
    assert ask(model).text == "hello"
    assert [sent.body["gateway"] for sent in server.sent] == [["canary/one+1"]] * 2
