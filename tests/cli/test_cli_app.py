"""`eval --app FILE.py:NAME`: an application as the assistant under test, on the command line."""

import json
from pathlib import Path

import pytest
from drivers.terminal import unwrapped

from dspy_proact import summarize
from dspy_proact.report.page.replies import raw_replies

pytestmark = pytest.mark.usefixtures("proactbench")
BOT = """
CALL = {"id": "1", "function": {"name": "calendar", "arguments": '{"day": "Friday"}'}}

def answer(messages):
    print("printed by the application")
    said = {"role": "assistant", "content": "Shall I move the 6:40?"}
    tool = {"role": "tool", "tool_call_id": "1", "content": "nothing on Friday"}
    return {"messages": [*messages, {"role": "assistant", "content": None, "tool_calls": [CALL]}, tool, said]}

def priced(messages): return {"text": "Shall I?", "usd": 0.25, "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
def broken(messages): return messages[100]
"""


@pytest.fixture
def run(proact):
    Path("bot.py").write_text(BOT, "utf-8")

    def call(name, *more):
        return proact("eval", "--app", f"bot.py:{name}", "--judge", "embedded", "--corpus", "sample", *more)

    return call


def test_a_run_says_that_its_cost_is_not_known_and_what_is_not_limited(run, proact):
    status, out, _ = run("answer", "--limit", 4, "--out", "run")
    assert status == 0
    assert "printed by the application" not in out
    lines = unwrapped(out)
    assert "The cost of bot.py:answer is not known (the application reports none)." in lines
    assert "No limit of this run holds for models that it calls itself." in lines
    assert "assistant: 4 calls, tokens not known, cost unknown (the application reports none)" in lines
    document = json.loads(proact("report", "run", "--json")[1])
    assert (document["usd"], document["usage"]["assistant"]["usd"]) == (None, None)
    assert run("answer", "--limit", 4, "--out", "run")[2].count("Nothing to do") == 1


def test_a_cost_that_it_reports_is_that_of_the_run(run):
    _, out, err = run("priced", "--limit", 4, "--out", "run", "--max-usd", 3)
    # 4 answers at USD 0.25, 5 and 2 tokens.
    assert "The cost of bot.py:priced is what it reports, USD 1.0000." in unwrapped(out)
    assert "assistant: 4 calls, 20 tokens in (0 cached), 8 out, USD 1.0000" in unwrapped(out)
    assert "nothing limits the models that it calls itself" in unwrapped(err)


def test_calls_of_tools_are_in_the_transcript_and_on_the_page_and_in_no_response(run, proact):
    run("answer", "--limit", 1, "--out", "run")
    (case,) = {json.loads(line)["key"]["case"] for line in Path("run/calls.jsonl").read_text("utf-8").splitlines()}
    _, out, _ = proact("show", "run", "--trigger", case, "--transcript")
    steps = unwrapped(out).partition("reply: ")[2]
    assert [part in steps for part in ("tool call calendar", '{"day": "Friday"}', "nothing on Friday")] == [True] * 3
    (event,) = (json.loads(line) for line in Path("run/events.jsonl").read_text("utf-8").splitlines()[:1])
    assert event["answer"]["text"] == "Shall I move the 6:40?"
    (replies,) = raw_replies(summarize("run")).values()
    assert [kind.rpartition(": ")[2] for kind, _ in replies if kind.startswith("assistant")] == [
        "tool call calendar",
        "tool result calendar",
    ]


def test_what_fails_is_shown_with_its_line_and_ends_a_run_that_has_no_answer(run):
    status, _, err = run("broken", "--concurrency", 1, "--retries", 0, "--out", "run")
    assert (status, Path("run").exists()) == (2, False)
    # Line 11 of the file.
    assert (
        "5 requests failed alike, and none was answered (raised). IndexError: list index out of range (bot.py:11)"
        in (unwrapped(err))
    )


def test_a_dry_run_knows_the_calls_and_no_price_and_starts_nothing(run):
    Path("started").touch()
    Path("bot.py").write_text("import os\nos.remove('started')\n" + BOT, "utf-8")
    status, out, _ = run("answer", "--dry-run")
    assert (status, Path("started").exists()) == (0, True)
    assert "assistant: 49 calls to the application, whose tokens and price are not known" in out
    (document,) = [json.loads(run("answer", "--dry-run", "--json")[1])]
    assert (document["assistant"]["app"], document["assistant"]["usd"]) == (True, None)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--model", "openai/gpt-4o"), "--app and --model are mutually exclusive"),
        (("--model-param", "temperature=0"), "--app and --model-param are mutually exclusive"),
        (("--system-prompt", "Be brief."), "--app and --system-prompt are mutually exclusive"),
        (("--program", "x.json"), "--app and --program are mutually exclusive"),
        (("--app-template", "x.json"), "--app-template x.json: has no effect with bot.py:answer"),
        (("--app", "bot.py:answer"), "--app: each application is named once"),
    ],
)
def test_options_of_a_model_are_refused_with_the_mend(run, options, sentence):
    status, _, err = run("answer", *options)
    assert (status, sentence in unwrapped(err)) == (2, True), err


def test_several_applications_make_a_run_each(run):
    status, out, _ = run("answer", "--app", "bot.py:priced", "--limit", 4, "--out", "runs", "--json")
    assert (status, [one["run"]["model"] for one in json.loads(out)]) == (0, ["bot.py:answer", "bot.py:priced"])


def test_a_name_tells_one_version_from_another_and_a_plain_repeat_asks_what_failed(run, proact):
    assert run("answer", "--limit", 2, "--as", "v1")[0] == run("answer", "--limit", 2, "--as", "v2")[0] == 0
    listed = json.loads(proact("runs", "--json")[1])
    assert sorted(one["model"] for one in listed) == ["v1", "v2"]
    for options, sentence in (
        (("--as", "embedded"), "--as 'embedded': is the name of the stand-in"),
        (("--as", "v1", "--app", "bot.py:priced"), "--as: names one application"),
    ):
        status, _, err = run("answer", *options)
        assert (status, sentence in unwrapped(err)) == (2, True), err
    Path("bot.py").write_text(BOT + "\ndef once(messages):\n    return None if len(messages) == 1 else 'Shall I?'\n")
    status, _, err = run("once", "--limit", 6, "--out", "once")
    assert status == 3, err
    assert ("Next: " in err, "--retry-unscored" in err) == (True, False), err
