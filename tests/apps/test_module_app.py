"""A module of DSPy's with models of its own as an application: asked by the names of its inputs, in a child."""

import asyncio

import pytest
from fakes.server import Answer

from dspy_proact.apps import AppRequest, opened_app
from dspy_proact.errors import SetupFault

TURNS = (
    {"role": "user", "content": "The train left."},
    {"role": "assistant", "content": "It did."},
    {"role": "user", "content": "And my bag?"},
)
MODULES = """
import os
import dspy

class Reply(dspy.Signature):
    history: dspy.History = dspy.InputField()
    question: str = dspy.InputField()
    response: str = dspy.OutputField()

class Own(dspy.Module):
    def __init__(self):
        super().__init__()
        self.reply = dspy.Predict("question -> answer")

    def forward(self, question, history=None, tone="calm"):
        return self.reply(question=f"{len(history)} before, {tone}: {question}")

def weather(place: str) -> str:
    return f"rain in {place}"

plain, bare, own = dspy.Predict(Reply), dspy.Predict(Reply), Own()
thinking = dspy.ChainOfThought("messages -> response")
agent = dspy.ReAct("history: dspy.History, question -> answer", tools=[weather], max_iters=3)
last = dspy.Predict("question -> answer")
unasked = Own()
two = dspy.Predict("first, second -> answer")

class Text(Own):
    def forward(self, question, history):
        return self.reply(question=question).answer

class OneWay(dspy.BaseLM):
    def forward(self, prompt=None, messages=None, **kwargs):
        from litellm import ModelResponse
        return ModelResponse(choices=[{"message": {"content": "[[ ## response ## ]] One way."}}], model="own")

text, one_way = Text(), dspy.Predict(Reply)
one_way.set_lm(OneWay(model="own"))
for module in (plain, own, thinking, agent, last, two, text):
    module.set_lm(dspy.LM("openai/m", api_base=os.environ["MODEL"], api_key="x", cache=False))
"""


def played(sent):
    """A model that looks up the weather once, and else says the same."""
    wanted, shown = sent.messages[0]["content"], sent.messages[-1]["content"]
    fields = {"reasoning": "hm", "answer": "It is lost.", "response": "It is lost."}
    if "next_tool_name" in wanted:
        name, arguments = ("finish", "{}") if "rain in" in shown else ("weather", '{"place": "Graz"}')
        fields = {"next_thought": "I look.", "next_tool_name": name, "next_tool_args": arguments}
    return Answer("\n\n".join(f"[[ ## {name} ## ]]\n{text}" for name, text in [*fields.items(), ("completed", "")]))


@pytest.fixture
def ask(tmp_path, server, monkeypatch):
    monkeypatch.setenv("MODEL", server.assistant)
    server.script = played
    (tmp_path / "modules.py").write_text(MODULES, "utf-8")

    async def answer(name, turns):
        app = opened_app(f"{tmp_path / 'modules.py'}:{name}")
        try:
            return await app.answer(AppRequest(turns, "c1"))
        except SetupFault as fault:
            return str(fault)
        finally:
            await app.aclose()

    return lambda name, turns=TURNS: asyncio.run(answer(name, turns))


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("plain", ["The train left.", "It did.", "And my bag?"]),
        ("own", ["2 before, calm: And my bag?"]),
        ("thinking", ["The train left.", "It did.", "And my bag?"]),
    ],
)
def test_a_module_is_given_what_its_inputs_are_called_and_its_usage_is_counted(ask, server, name, sent):
    reply = ask(name)
    assert (reply.text, reply.usd) == ("It is lost.", None)
    assert (reply.prompt_tokens, reply.completion_tokens) == (11, 7)  # of one call at the server
    (request,) = server.sent
    text = "\n".join(message["content"] for message in request.messages[1:])
    assert [text.count(part) for part in sent] == [1] * len(sent)


def test_the_steps_of_an_agent_are_kept(ask):
    reply = ask("agent")
    assert reply.text == "It is lost."
    call, result = reply.steps[:2]
    assert (call["content"], call["tool_calls"][0]["function"]["arguments"]) == ("I look.", '{"place": "Graz"}')
    assert (result["role"], result["name"], result["content"]) == ("tool", "weather", "rain in Graz")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bare", "bare has no model; give it one of its own with `set_lm(dspy.LM(...))`, or test it as `program`"),
        ("unasked", "unasked has no model for reply; give it one"),
        ("two", "two takes first, second; it is given `messages`, or `history` and one input"),
    ],
)
def test_a_module_without_a_model_or_with_inputs_that_nobody_knows_is_at_fault(ask, server, name, words):
    assert words in ask(name)
    assert server.sent == []


def test_what_a_module_cannot_take_of_a_conversation_is_at_fault_with_the_mend_and_else_it_is_asked(ask, server):
    assert "last takes question, and the turns before would be lost: give it an input `messages` or `hist" in ask(
        "last"
    )
    system = {"role": "system", "content": "Be brief."}
    for name, turns in (("plain", (system, *TURNS)), ("last", (system, TURNS[-1]))):
        assert ask(name, turns).endswith("and the system text would be lost: give it an input `messages`")
    assert server.sent == []
    assert ask("last", TURNS[-1:]).text == "It is lost."
    assert ask("own", (system, *TURNS)).text == "It is lost.", "its history has the system text"


def test_a_module_that_returns_a_text_and_a_model_that_is_not_awaited_are_asked_without_a_warning(ask, capfd):
    reply = ask("text")
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("It is lost.", 11, 7)
    assert ask("one_way").text == "One way."
    assert "WARNING" not in capfd.readouterr().err
