"""`dspy-proact try` with a conversation of one's own, which nobody grades."""

import io
import json
import sys
from pathlib import Path

import pytest
from trying import PROMPT, against, is_prompted, models, talk

from dspy_proact.benchmarks.proactbench.programs import assistant
from dspy_proact.cli.options import cases


def test_the_whole_of_a_conversation_of_ones_own_has_no_rubric(proact):
    talk(
        [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "Bye."},
        ]
    )
    out = proact("try", "--conversation", "talk.txt", "--whole")[1]
    assert "conversation\nuser\n  Hello.\nassistant\n  Hi.\nuser\n  Bye.\n" in out
    assert "rubric" not in out


@pytest.mark.parametrize(
    "content",
    [
        [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}, {"role": "user", "content": "C"}],
        [{"user": "A", "assistant": "B"}, {"user": "C"}],
        "User: A\nASSISTANT: B\nuser: C\n",
    ],
)
def test_a_conversation_is_answered_and_nobody_grades_it(proact, server, monkeypatch, content):
    monkeypatch.setattr(cases, "read_corpus", lambda named: pytest.fail("no corpus is loaded"))
    command = ["try", PROMPT, "--model", "hosted_vllm/any", "--model-api-base", server.assistant]
    status, out, _ = proact(*command, "--conversation", talk(content))
    assert (status, len(server.of("assistant")), server.of("judge")) == (0, 2, [])
    bare = next(sent for sent in server.sent if not is_prompted(sent))
    said = [("user", "A"), ("assistant", "B"), ("user", "C")]
    assert bare.messages == [{"role": role, "content": text} for role, text in said]
    assert all(text in out for text in ("your conversation", "with the prompt\n", "without it\n"))
    assert "judge" not in out


def test_a_conversation_can_come_from_standard_input(proact, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"My cat is ill.\n")))
    status, out, _ = proact("try", PROMPT, "--conversation", "-", "--json")
    (pair,) = json.loads(out)
    assert status == 0
    assert (pair["trigger"], pair["phase"], pair["user_message"]) == (None, None, "My cat is ill.")
    assert (pair["with"]["grade"], pair["with"]["reasoning"], pair["with"]["evidence"]) == (None, None, [])
    assert list(pair["usage"]) == ["assistant"]


def test_a_judge_for_a_conversation_is_not_asked_and_that_is_said(proact, server):
    command = ["try", PROMPT, *models(server), "--conversation", talk("Hello.")]
    status, _, err = proact(*command)
    assert (status, server.of("judge")) == (0, [])
    assert "no rubric" in err


LOG = {"messages": [{"role": "system", "content": "@ Be kind."}, {"role": "user", "content": "Hello."}]}


def test_the_system_message_of_a_log_is_the_prompt_where_there_is_no_other(proact, server):
    status, out, err = proact(*against(server, text=None)[:-2], "--conversation", talk(LOG, "log.json"))
    prompted, bare = sorted(server.sent, key=is_prompted, reverse=True)
    assert (status, prompted.messages, bare.messages) == (0, LOG["messages"], LOG["messages"][1:])
    assert "with the prompt" in out
    assert "The system message of the conversation is the prompt." in err
    assert "--system-prompt @FILE" in err  # for what begins with @ would be read as a file's name


@pytest.mark.parametrize("other", ["TEXT", "--program"])
def test_the_system_message_of_a_log_is_left_out_where_there_is_a_prompt_and_that_is_said(
    proact, server, monkeypatch, other
):
    monkeypatch.setattr("dspy_proact.programs.artefact.load_assistant", lambda file: assistant.Assistant(PROMPT))
    command = against(server, text=PROMPT if other == "TEXT" else None)[:-2]
    more = [] if other == "TEXT" else ["--program", "best.json"]
    status, _, err = proact(*command, *more, "--conversation", talk(LOG, "log.json"))
    assert (status, {sent.messages[0]["content"] for sent in server.sent}) == (0, {PROMPT, "Hello."})
    assert f"The system message of the conversation is left out: {other} is used." in err


BAD_TALKS = {
    "ends with the assistant": ("User: a\nAssistant: b", "ends with an assistant message"),
    "empty": ("", "empty"),
    "system message in the middle": (
        '[{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]',
        "put it first",
    ),
    "two in a row": ("User: a\nUser: b", "two user messages in a row"),
    "unknown role": ('[{"role": "tool", "content": "a"}]', "'tool'"),
    "unknown key": ('[{"role": "user", "content": "a", "id": 1}]', "'id'"),
    "blank": ('[{"role": "user", "content": " "}]', "blank"),
    "lone surrogate": ('[{"role": "user", "content": "\\ud800"}]', "surrogate"),
}


@pytest.mark.parametrize(("text", "said"), BAD_TALKS.values(), ids=BAD_TALKS)
def test_a_bad_conversation_is_refused_before_any_call(proact, server, text, said):
    status, out, err = proact(*against(server)[:-2], "--conversation", talk(text))
    assert (status, out, server.sent) == (2, "", [])
    assert "talk.txt" in err
    assert said in err


def test_a_conversation_that_is_not_utf8_or_not_there_is_refused(proact):
    Path("talk.txt").write_bytes(b"\xff\xfe")
    assert "UTF-8" in proact("try", "--conversation", "talk.txt")[2]
    status, _, err = proact("try", "--conversation", "missing.txt")
    assert status == 2
    assert "missing.txt: there is no such file" in err


@pytest.mark.parametrize("more", [["--trigger", "d0__t5"], ["--phase", "recovery"], ["--corpus", "sample"], ["--list"]])
def test_a_conversation_and_triggers_are_not_tried_together(proact, more):
    status, _, err = proact("try", PROMPT, "--conversation", talk("Hello."), *more)
    assert status == 2
    assert f"--conversation and {more[0]} are mutually exclusive" in err
