"""What a provider refuses in the form of a request goes out in another form, at once and from then on."""

import asyncio
import json

import dspy
import pytest
from drivers.client import JUDGE, ask, awaited, gate
from fakes.server import Answer, error

from dspy_proact.call_observer import CallObserver
from dspy_proact.calls import Price, collect_calls
from dspy_proact.errors import Halt, SetupFault, UsageError
from dspy_proact.models import Limits, ModelSpec, open_model
from dspy_proact.programs import FencedJSON
from dspy_proact.programs.direct import Direct
from dspy_proact.switch import Switch

BACKENDS = pytest.mark.parametrize("backend", ["auto", "litellm"])
QUESTION = dspy.Predict("question -> answer: str")
SAYS = Answer('{"answer": "yes"}')


class Changes(CallObserver):
    def __init__(self):
        self.lines = []

    def form_changed(self, who, change):
        self.lines.append(f"{who}: {change}")


def opened(server, backend="auto", name="openai/any", limits=None, price=None, **params):
    """A judge at the server, whose gate is open, and what is said of its changes."""
    through = gate(backend, retries=0, limits=limits)
    changes = Changes()
    through.open(Switch(), observer=changes)
    return open_model(ModelSpec(name=name, api_base=server.judge, params=params, price=price), JUDGE, through), changes


def json_answers(model, questions=1):
    """Ask for JSON, so many questions at once: texts or errors, and the calls."""

    async def one(direct):
        return (await direct(QUESTION, FencedJSON(), question="?")).prediction.answer

    async def every():
        direct = Direct(model.lm)
        return await asyncio.gather(*(one(direct) for _ in range(questions)))

    with collect_calls() as calls:
        return asyncio.run(awaited(model, every())), calls


def form(sent):
    return (sent.body.get("response_format") or {}).get("type")


def refusing(status, message, *forms, **fields):
    """A server that refuses requests which ask for JSON in one of these forms."""
    body = json.dumps({"error": {"message": message, **fields}}).encode()
    return lambda sent: Answer(status=status, raw=body) if form(sent) in forms else SAYS


REFUSALS = {
    "by name": (400, "response_format is not supported", {}),
    "vLLM": (400, "guided decoding backend is not available", {}),
    "by the field": (400, "Invalid value", {"param": "response_format"}),
    "llama.cpp": (500, "failed to parse grammar", {}),
    "LM Studio": (400, "'response_format.type' must be 'text'", {}),
}


@pytest.mark.parametrize(("status", "message", "fields"), REFUSALS.values(), ids=REFUSALS)
def test_a_schema_that_is_refused_is_omitted_at_once_and_from_then_on_and_it_is_said_once(
    server, status, message, fields
):
    server.script = refusing(status, message, "json_schema", **fields)
    model, changes = opened(server)
    answers, calls = json_answers(model, 3)
    assert (answers, len(changes.lines)) == (["yes"] * 3, 1)
    assert changes.lines[0].startswith("`judge` openai/any: a JSON schema (response_format) is refused, and is omitted")
    assert message in changes.lines[0]
    assert [call.omitted for call in calls if call.error is None] == ["response_format"] * 3
    assert {call.omitted for call in calls if call.error} == {None}
    server.sent.clear()
    assert json_answers(model)[0] == ["yes"]
    assert [form(sent) for sent in server.sent] == [None]


@pytest.mark.parametrize(
    ("name", "backend"),
    [("openai/any", "auto"), ("openai/gpt-4", "auto"), ("openai/any", "litellm"), ("hosted_vllm/any", "litellm")],
)
def test_a_server_of_ones_own_is_sent_a_schema_as_strict_as_openais_rules_and_its_shape_in_words(server, name, backend):
    server.script = lambda sent: SAYS
    model, _ = opened(server, backend, name)
    assert (json_answers(model)[0], model.form) == (["yes"], "json_schema")
    (sent,) = server.sent
    schema = sent.body["response_format"]["json_schema"]
    assert (schema["strict"], schema["schema"]["additionalProperties"]) == (True, False)
    assert schema["schema"]["required"] == list(schema["schema"]["properties"]) == ["answer"]
    assert "JSON object" in sent.messages[-1]["content"]


@BACKENDS
@pytest.mark.parametrize("chosen", ["json_schema", "json_object", None])
def test_a_persons_own_form_is_sent_as_it_is_and_a_refusal_of_it_names_the_option(server, chosen, backend):
    server.script = refusing(400, "response_format is not supported", "json_schema", "json_object")
    model, changes = opened(server, backend, response_format=chosen)
    assert (model.form, model.decoding["response_format"], model.overridden) == (chosen, chosen, ("response_format",))
    if chosen:
        with pytest.raises(SetupFault, match=r"response_format was refused.*response_format=none"):
            json_answers(model)
    else:
        assert json_answers(model)[0] == ["yes"]
    assert ([form(sent) for sent in server.sent], changes.lines) == ([chosen], [])


def test_of_the_providers_of_the_list_each_is_asked_as_dspy_knows_it():
    forms = {
        name: open_model(name, JUDGE, gate()).form
        for name in ("openai/gpt-4o", "openai/gpt-4", "hosted_vllm/any", "gemini/gemini-2.5-pro")
    }
    assert list(forms.values()) == ["json_schema", "json_object", "json_schema", "json_schema"]


# The limit


def limits_of(sent):
    return {name: value for name, value in sent.body.items() if name in ("max_tokens", "max_completion_tokens")}


def insisting(wanted, message):
    """A server that takes the limit under one name only."""

    def script(sent):
        other = next((name for name in limits_of(sent) if name != wanted), None)
        return error(400, message.format(other=other, wanted=wanted)) if other else Answer("hello")

    return script


ASK_FOR = [
    "Unsupported parameter: '{other}' is not supported with this model. Use '{wanted}' instead.",
    "Unrecognized request argument supplied: {other}",
    "{other}: Extra inputs are not permitted",
]


@BACKENDS
@pytest.mark.parametrize("message", ASK_FOR)
@pytest.mark.parametrize("wanted", ["max_tokens", "max_completion_tokens"])
def test_the_limit_goes_out_under_the_name_that_the_provider_asks_for(server, wanted, message, backend):
    server.script = insisting(wanted, message)
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[wanted]
    model, changes = opened(server, backend, **{other: 50})
    assert (model.decoding["max_tokens"], model.caller.completion_limit) == (50, 50)
    assert [ask(model).text, ask(model).text] == ["hello", "hello"]
    assert [limits_of(sent) for sent in server.sent] == [{other: 50}, {wanted: 50}, {wanted: 50}]
    assert [line.partition(" The server")[0] for line in changes.lines] == [
        f"`judge` openai/any: the limit of an answer is sent as {wanted} from now on."
    ]


def test_a_limit_of_dollars_holds_under_either_name(server):
    server.script = insisting("max_completion_tokens", ASK_FOR[0])
    price = Price(prompt=0.0, completion=0.01)
    model, _ = opened(server, limits=Limits(usd=0.55), price=price, max_tokens=50)
    assert ask(model).text == "hello"  # at most USD 0.50; it cost seven tokens, USD 0.07
    with pytest.raises(Halt, match=r"limits.usd=0.55` is reached"):
        raise ask(model).error


def test_a_limit_that_is_refused_under_both_names_is_a_fault(server):
    server.script = lambda sent: error(400, f"Unsupported parameter: {next(iter(limits_of(sent)))}")
    model, _ = opened(server, max_tokens=50)
    assert isinstance(ask(model).error, SetupFault)
    assert [*map(limits_of, server.sent)] == [{"max_tokens": 50}, {"max_completion_tokens": 50}]


def test_a_limit_that_is_too_large_is_no_question_of_its_name(server):
    server.script = lambda sent: error(400, "max_tokens is too large: 50. This model takes 16 at most")
    model, changes = opened(server, max_tokens=50)
    assert ask(model).error is not None
    assert (len(server.sent), changes.lines) == (1, [])


def test_the_limit_is_given_once_under_either_name(server):
    with pytest.raises(UsageError, match="two names of one limit"):
        opened(server, max_tokens=5, max_completion_tokens=6)
    model, _ = opened(server, max_tokens=None, max_completion_tokens=6)
    assert model.decoding["max_tokens"] == 6
    model, _ = opened(server, max_completion_tokens=None)
    assert "max_tokens" not in model.decoding
