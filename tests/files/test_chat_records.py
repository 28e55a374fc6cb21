"""The forms in which products and tools keep conversations; every record here is written by hand after public docs."""

import json
from zipfile import ZipFile

import pytest

from dspy_proact.errors import CorpusError
from dspy_proact.files.chats import chats_in


def spoken(path):
    """The conversations of a log, each as pairs of the first letter of the role and the text."""
    return [[(turn.role[0], turn.text) for turn in chat.turns] for chat in chats_in(path)]


def written(tmp_path, *records, name="log.jsonl"):
    path = tmp_path / name
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


USER, REPLY = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
PAIR = [[("u", "Hi"), ("a", "Hello")]]


def choices(text):
    return [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]


def langchain(name, content, **fields):
    """A message as `langchain_core.load.dumpd` writes it."""
    kind = {"HumanMessage": "human", "AIMessage": "ai"}[name]
    names = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": names, "kwargs": {"content": content, "type": kind, **fields}}


ONE_RECORD = {
    "OpenAI's messages": {"messages": [USER, REPLY]},
    "a developer's message and parts of content": {
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "..."}, {"type": "text", "text": "Hello"}],
            },
        ]
    },
    "messages with the reply beside them": {"messages": [USER], "response": "Hello"},
    "a stored chat completion with its messages": {
        "object": "chat.completion",
        "messages": [USER],
        "choices": choices("Hello"),
    },
    "a request and its response": {
        "request": {"model": "m", "messages": [USER]},
        "response": {"choices": choices("Hello")},
    },
    "a response of OpenAI": {
        "object": "response",
        "id": "resp_1",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "name": "find", "arguments": "{}", "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": "[]"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
        ],
    },
    "ShareGPT": {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
    "ShareGPT with tools, as LLaMA-Factory has it": {
        "conversations": [
            {"from": "human", "value": "Hi"},
            {"from": "function_call", "value": '{"name": "find", "arguments": {}}'},
            {"from": "observation", "value": "[]"},
            {"from": "gpt", "value": "Hello"},
        ],
        "system": "Be brief.",
    },
    "WildChat and LMSYS": {"conversation_hash": "1", "conversation": [USER, REPLY]},
    "a run of LangSmith": {
        "id": "1",
        "trace_id": "1",
        "run_type": "chain",
        "start_time": "2026-11-01T10:00:00",
        "session_id": "project",
        "inputs": {"input": "Hi"},
        "outputs": {"output": "Hello"},
        "extra": {"metadata": {"thread_id": "t"}},
    },
    "a run of LangSmith with messages of LangChain": {
        "id": "1",
        "trace_id": "1",
        "run_type": "llm",
        "parent_run_id": None,
        "inputs": {"messages": [[langchain("HumanMessage", "Hi")]]},
        "outputs": {
            "generations": [[{"text": "Hello", "message": langchain("AIMessage", "Hello")}]],
            "llm_output": None,
        },
    },
    "a run whose output is the state of a graph": {
        "id": "1",
        "run_type": "chain",
        "inputs": {"messages": [{"type": "human", "content": "Hi"}]},
        "outputs": {
            "messages": [
                {"type": "human", "content": "Hi"},
                {"type": "ai", "content": "", "tool_calls": [{"name": "find", "args": {}}]},
                {"type": "tool", "content": "[]", "tool_call_id": "1"},
                {"type": "ai", "content": "Hello"},
            ]
        },
    },
    "a run with messages as dictionaries and as pairs": {
        "id": "1",
        "run_type": "chain",
        "inputs": {"messages": [["human", "Hi"]]},
        "outputs": {"output": {"type": "ai", "data": {"content": "Hello"}}},
    },
    "a trace of Langfuse": {
        "id": "t",
        "projectId": "p",
        "sessionId": "s",
        "timestamp": "2026-11-01T10:00:00.000Z",
        "input": {"messages": [USER]},
        "output": REPLY,
    },
    "an observation of Langfuse from its blob storage": {
        "id": "o",
        "trace_id": "t",
        "session_id": "s",
        "type": "GENERATION",
        "parent_observation_id": "",
        "start_time": "2024-05-29 13:46:19.963000",
        "input": json.dumps([USER]),
        "output": "Hello",
    },
    "a question and an answer": {"question": "Hi", "answer": "Hello"},
    "a question with its history": {"input": {"question": "Hi", "chat_history": []}, "output": {"answer": "Hello"}},
}


@pytest.mark.parametrize("form", ONE_RECORD)
def test_a_form_is_recognised_by_its_fields(form, tmp_path):
    assert spoken(written(tmp_path, ONE_RECORD[form])) == PAIR


def mlflow_trace(name, time, session, *spans):
    """A trace as `Trace.to_json` of mlflow 3 writes it; of each span its parent, type, inputs and outputs."""
    return {
        "info": {
            "trace_id": name,
            "request_time": time,
            "trace_metadata": {"mlflow.trace.session": session},
            "tags": {},
        },
        "data": {
            "spans": [
                {
                    "span_id": str(at),
                    "parent_span_id": parent,
                    "start_time_unix_nano": 1_795_946_210_929_428_836,
                    "attributes": {
                        "mlflow.spanType": json.dumps(kind),
                        "mlflow.spanInputs": json.dumps(inputs),
                        "mlflow.spanOutputs": json.dumps(outputs),
                    },
                }
                for at, (parent, kind, inputs, outputs) in enumerate(spans)
            ]
        },
    }


def test_the_traces_of_a_session_of_mlflow_are_one_conversation_in_time_order(tmp_path):
    path = written(
        tmp_path,
        mlflow_trace("tr-2", "2026-11-01T10:01:00Z", "s", (None, "AGENT", {"question": "More?"}, "Yes")),
        mlflow_trace(
            "tr-1", "2026-11-01T10:00:00Z", "s", (None, "AGENT", {"messages": [USER]}, {"choices": choices("Hello")})
        ),
    )
    assert spoken(path) == [[*PAIR[0], ("u", "More?"), ("a", "Yes")]]
    (chat,) = chats_in(path)
    assert chat.time is not None
    assert chat.time.isoformat() == "2026-11-01T10:00:00+00:00"


def test_where_the_root_of_a_trace_is_no_conversation_the_last_step_within_is_read(tmp_path):
    steps = [
        (None, "CHAIN", {"topic": "x", "depth": 2}, {"a": 1, "b": 2}),
        ("0", "CHAT_MODEL", {"messages": [{"role": "user", "content": "Plan"}]}, {"choices": choices("First look")}),
        ("0", "CHAT_MODEL", {"messages": [USER]}, {"choices": choices("Hello")}),
    ]
    assert spoken(written(tmp_path, mlflow_trace("tr", "2026-11-01T10:00:00Z", "s", *steps))) == PAIR


def test_of_a_trace_of_langsmith_the_outermost_run_is_read_and_its_steps_are_not(tmp_path):
    run = {"trace_id": "1", "run_type": "llm", "session_id": "project", "start_time": "2026-11-01T10:00:00Z"}
    path = written(
        tmp_path,
        {
            **run,
            "id": "2",
            "parent_run_id": "1",
            "inputs": {"messages": [["human", "Rephrase: Hi"]]},
            "outputs": {"text": "x"},
        },
        {
            **run,
            "id": "3",
            "parent_run_id": "1",
            "run_type": "retriever",
            "inputs": {"query": "Hi"},
            "outputs": {"output": []},
        },
        {**run, "id": "1", "parent_run_id": None, "inputs": {"input": "Hi"}, "outputs": {"output": "Hello"}},
    )
    assert spoken(path) == PAIR


def test_a_project_of_langsmith_is_no_conversation_and_a_thread_is(tmp_path):
    run = {"run_type": "chain", "session_id": "project"}

    def turn(number, thread):
        metadata = {"metadata": {"session_id": thread}}
        texts = {"inputs": {"input": f"q{number}"}, "outputs": {"output": f"a{number}"}}
        return {**run, "id": str(number), "start_time": f"2026-11-01T10:0{number}:00", "extra": metadata, **texts}

    assert spoken(written(tmp_path, turn(2, "x"), turn(1, "x"), turn(3, "y"))) == [
        [("u", "q1"), ("a", "a1"), ("u", "q2"), ("a", "a2")],
        [("u", "q3"), ("a", "a3")],
    ]


def test_a_session_of_langfuse_in_one_file_is_a_conversation(tmp_path):
    traces = [
        {"id": "2", "timestamp": "2026-11-01T10:01:00.000Z", "input": "More?", "output": "Yes"},
        {"id": "1", "timestamp": "2026-11-01T10:00:00.000Z", "input": "Hi", "output": "Hello"},
    ]
    path = tmp_path / "session-s.json"
    path.write_text(json.dumps({"id": "s", "traces": traces}, indent=2), encoding="utf-8")
    assert spoken(path) == [[*PAIR[0], ("u", "More?"), ("a", "Yes")]]


def test_responses_of_openai_are_joined_by_the_one_before_them(tmp_path):
    path = written(
        tmp_path,
        {
            "object": "response",
            "id": "3",
            "previous_response_id": "2",
            "input": "c",
            "output_text": "C",
            "created_at": 30,
        },
        {
            "object": "response",
            "id": "1",
            "input": "a",
            "output_text": "A",
            "created_at": 10,
            "instructions": "Be brief.",
        },
        {
            "object": "response",
            "id": "2",
            "previous_response_id": "1",
            "input": "b",
            "output_text": "B",
            "created_at": 20,
        },
    )
    assert spoken(path) == [[("u", "a"), ("a", "A"), ("u", "b"), ("a", "B"), ("u", "c"), ("a", "C")]]
    assert next(iter(chats_in(path))).system == "Be brief."


def test_a_table_of_turns_is_joined_by_conversation_and_time(tmp_path):
    path = tmp_path / "turns.csv"
    rows = (
        "conversation_id,author,message,sent_at",
        "1,agent,Hello,2026-11-01 10:01",
        "1,customer,Hi,2026-11-01 10:00",
    )
    path.write_text("\n".join((*rows, "2,bot,x,")), encoding="utf-8")
    assert spoken(path) == PAIR
    assert [(note.reason, note.count) for note in chats_in(path).left_out] == [("only the assistant speaks in it", 1)]


def test_a_sample_of_inspect_is_a_conversation(tmp_path):
    path = tmp_path / "2026_task.eval"
    sample = {"id": "1", "epoch": 1, "input": "Hi", "messages": [USER, REPLY]}
    with ZipFile(path, "w") as archive:
        archive.writestr(
            "header.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}})
        )
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    assert spoken(path) == PAIR
    written(tmp_path, {"question": "q", "answer": "a"})
    assert spoken(tmp_path) == [*PAIR, [("u", "q"), ("a", "a")]]  # a folder with both


def test_a_list_and_a_folder_are_read_as_lines_are(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"messages": [USER, REPLY]}]), encoding="utf-8")
    written(tmp_path, {"question": "q", "answer": "a"}, name="b.jsonl")
    assert spoken(tmp_path) == [*PAIR, [("u", "q"), ("a", "a")]]


NOT_READ = {
    "a response without its input": ({"object": "response", "id": "1", "output": []}, "was kept without its `input`"),
    "fields of no form": ({"a": 1, "b": 2}, "no field holds messages or a question; its fields are a, b"),
    "a speaker of another kind": ({"messages": [{"role": "narrator", "content": "x"}]}, "the role 'narrator'"),
    "a value of Python as text": ({"request": "{'messages': []}", "response": "x"}, "save it as JSON"),
    "an input of several fields": (
        {"id": "1", "run_type": "chain", "inputs": {"a": "b", "c": "d"}},
        "its fields are a, c",
    ),
    "a retriever": (
        {"id": "1", "run_type": "retriever", "inputs": {"query": "x"}},
        "type retriever holds no conversation",
    ),
}


@pytest.mark.parametrize("case", NOT_READ)
def test_a_record_that_holds_no_conversation_is_left_out_with_the_reason(case, tmp_path):
    record, reason = NOT_READ[case]
    (note,) = chats_in(written(tmp_path, record, {"messages": [USER, REPLY]})).left_out
    assert reason in str(note)
    assert note.first.endswith("log.jsonl on line 1")


WRONG_TYPES = {
    "a content that is a number": ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    "a part that is a number": ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]"),
    "a message that is a text": ({"messages": ["Hi"]}, "messages[0]"),
    "a role that is a list": ({"messages": [{"role": ["user"], "content": "Hi"}]}, "messages[0].role"),
    "a conversation that is true": ({"messages": [USER, REPLY], "session_id": True}, "session_id"),
    "a time that is none": ({"messages": [USER, REPLY], "created_at": "soon"}, "created_at"),
    "a call that is a number": ({"messages": [{"role": "assistant", "tool_calls": [5]}]}, "messages[0].tool_calls[0]"),
}


@pytest.mark.parametrize("case", WRONG_TYPES)
def test_a_field_of_another_type_is_named_with_its_file_and_line(case, tmp_path):
    record, field = WRONG_TYPES[case]
    with pytest.raises(CorpusError, match=r"expected|not a time") as error:
        chats_in(written(tmp_path, {"messages": [USER, REPLY]}, record))
    assert (error.value.line, error.value.field) == (2, field)
    assert error.value.source.endswith("log.jsonl")
