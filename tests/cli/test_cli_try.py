"""`dspy-proact try` as a person meets it: two responses side by side, their verdicts, and every refusal."""

import io
import json
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from child import Child, command_line
from rows import jsonl, row
from server import Answer, error, healthy, verdict

from dspy_proact import programs
from dspy_proact.benchmarks.proactbench import Pair, Side, conversation_case
from dspy_proact.cli.options import triggers
from dspy_proact.cli.views.trial_text import SideBySide
from dspy_proact.corpus import read_jsonl
from dspy_proact.programs import assistant
from dspy_proact.types import Response, Turn

PROMPT = "Act on what the user disclosed."
QUOTE = "label the boxes today"
STAND_IN = "embedded stand-in"


def corpus(*each):
    path = Path("corpus.jsonl")
    path.write_text(jsonl(*(each or [row(unique_id_eval=f"d{number}") for number in range(4)])), encoding="utf-8")
    return path


def models(server, model="hosted_vllm/any", judge="openai/any"):
    bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge]
    return ["--model", model, "--judge", judge, *bases, "--retries", 0]


def against(server, *more, text=PROMPT):
    return ["try", *([] if text is None else [text]), *models(server), "--corpus", corpus(), *more]


def talk(text, name="talk.txt"):
    Path(name).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return name


def is_prompted(sent):
    return sent.messages[0]["role"] == "system"


# What is asked


def test_three_recovery_triggers_are_tried_by_the_stand_in(proact):
    status, out, err = proact("try", PROMPT)
    assert status == 0
    assert STAND_IN in out
    assert (out.count("with the prompt: "), out.count("without it: ")) == (3, 3)
    assert out.count("\nRECOVERY  BP_") == 3
    assert f"Next: dspy-proact eval --system-prompt '{PROMPT}'" in err
    assert not list(Path().iterdir())


def test_the_prompt_goes_out_as_one_system_message_and_the_bare_model_has_none(proact, server):
    assert proact(*against(server, "--trigger", "d0__t5"))[0] == 0
    prompted, bare = sorted(server.of("assistant"), key=is_prompted, reverse=True)
    assert prompted.messages == [{"role": "system", "content": PROMPT}, *bare.messages]
    assert [message["role"] for message in bare.messages] == ["user", "assistant"] * 4 + ["user"]
    assert bare.messages[-1]["content"] == row()["turn_records"][4]["user_message"]
    assert len(server.of("judge")) == 2


def test_the_prompt_can_stand_in_a_file(proact, server):
    Path("prompt.txt").write_text("From a file.\n", encoding="utf-8")
    _, _, err = proact(*against(server, text="@prompt.txt"))
    assert {sent.messages[0]["content"] for sent in server.of("assistant") if is_prompted(sent)} == {"From a file."}
    assert "--system-prompt @prompt.txt" in err


def test_without_a_prompt_the_bare_model_is_shown_alone(proact, server):
    status, out, err = proact(*against(server, text=None))
    assert (status, len(server.of("assistant")), len(server.of("judge"))) == (0, 3, 3)
    assert not any(map(is_prompted, server.of("assistant")))
    assert out.count("the bare model: ") == 3
    assert "without it" not in out
    assert "Next: dspy-proact try @FILE --model hosted_vllm/any" in err


def test_a_compiled_program_takes_the_place_of_the_prompt(proact, server, monkeypatch):
    monkeypatch.setattr(programs, "load_assistant", lambda file: assistant.Assistant(f"compiled from {file}"))
    status, out, err = proact(*against(server, "--program", "best.json", text=None))
    assert status == 0
    assert out.count("with the program: ") == 3
    said = {sent.messages[0]["content"] for sent in server.of("assistant") if is_prompted(sent)}
    assert said == {"compiled from best.json"}
    assert "--program best.json" in err


def test_a_program_that_cannot_be_read_is_refused(proact):
    status, _, err = proact("try", "--program", "missing.json")
    assert status == 2
    assert "missing.json" in err


def test_phases_choose_and_each_gives_three(proact, server):
    _, out, _ = proact(*against(server, "--phase", "emergent", "--phase", "Critical", "--json"))
    phases = Counter(pair["phase"] for pair in json.loads(out))
    assert phases.total() == 3
    assert set(phases) == {"EMERGENT", "CRITICAL"}


def test_named_triggers_are_tried_in_their_order_and_each_once(proact, server):
    keys = ["d3__t5", "d1__t2", "d3__t5", "d0__t3"]
    _, out, _ = proact(*against(server, "--json", *(part for key in keys for part in ("--trigger", key))))
    assert [pair["trigger"] for pair in json.loads(out)] == ["d3__t5", "d1__t2", "d0__t3"]
    assert len(server.of("assistant")) == 6


def test_a_part_of_a_key_names_a_trigger_where_it_is_that_of_one(proact, server):
    _, out, _ = proact(*against(server, "--json", "--trigger", "d3...5"))
    assert [pair["trigger"] for pair in json.loads(out)] == ["d3__t5"]
    status, _, err = proact(*against(server, "--trigger", "d"))
    assert status == 2
    assert "--trigger d: may be d0__t" in err


def test_everything_but_the_first_is_asked_at_once(proact, server):
    server.script_roles(assistant=lambda sent: Answer("Yes.", delay=0.5))
    proact(*against(server))
    assert server.most_in_flight >= 5


def test_the_same_command_asks_the_same_triggers(proact, server):
    first, second = (json.loads(proact(*against(server, "--json"))[1]) for _ in range(2))
    assert [pair["trigger"] for pair in first] == [pair["trigger"] for pair in second]


def test_parameters_of_both_roles_are_sent(proact, server):
    proact(*against(server, "--model-param", "temperature=0.25", "--judge-param", "max_tokens=77"))
    assert {sent.body["temperature"] for sent in server.of("assistant")} == {0.25}
    assert {sent.body.get("max_tokens", sent.body.get("max_completion_tokens")) for sent in server.of("judge")} == {77}


def test_a_real_model_is_judged_by_the_papers_judge_on_the_published_corpus(proact, server, monkeypatch):
    asked, path = [], corpus()
    monkeypatch.setattr(triggers, "read_corpus", lambda named: asked.append(named) or read_jsonl(path))
    command = ["try", PROMPT, "--model", "hosted_vllm/any", "--model-api-base", server.assistant]
    status, out, _ = proact(*command, "--judge-api-base", server.judge)
    assert (status, asked) == (0, ["proactbench"])
    assert "hosted_vllm/any judged by openai/gpt-5.4" in out
    assert {sent.body["model"] for sent in server.of("judge")} == {"gpt-5.4"}
    assert STAND_IN not in out


# What is shown


def test_quotes_are_marked_inside_the_response_and_others_are_named(proact, server):
    said = verdict("PASS", [QUOTE, "never said"], "it\nacts")
    server.script_roles(judge=lambda sent: Answer(said))
    _, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    assert out.count(f"  You could »{QUOTE}«, number ") == 2
    assert out.count('quoted, but not in the response: "never said"') == 2
    assert "judge: it acts\n" in out
    assert "with the prompt: PASS\n" in out


def test_quotes_that_overlap_are_marked_as_one(proact, server):
    server.script_roles(judge=lambda sent: Answer(verdict("PASS", ["label the boxes", "the boxes today", "You could"])))
    _, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    assert "  »You could« »label the boxes today«, number " in out


def test_output_that_is_piped_has_no_escape_codes(proact):
    assert "\x1b" not in "".join(map(str, proact("try", PROMPT)))


@pytest.mark.parametrize(("width", "beside"), [(120, True), (100, True), (99, False), (60, False)])
def test_a_wide_terminal_shows_two_columns(proact, server, monkeypatch, width, beside):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    server.script_roles(judge=lambda sent: Answer(verdict("PASS", [QUOTE])))
    _, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    both = [line for line in out.splitlines() if "with the prompt" in line and "without it" in line]
    assert bool(both) is beside
    assert f"\x1b[1;4m{QUOTE}\x1b[0m" in out  # bold and underlined, also where there are no colours
    assert "»" not in out


def test_a_terminal_without_styles_shows_marks(proact, server, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    server.script_roles(judge=lambda sent: Answer(verdict("PASS", [QUOTE])))
    _, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    assert f"»{QUOTE}«" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("forced", [True, False])
def test_nothing_that_a_model_writes_is_obeyed_by_the_terminal(proact, server, monkeypatch, forced):
    evil = "\x1b[2Jred\x07 \u202e[bold]x[/bold]\tend\r\n"
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
    server.script_roles(
        assistant=lambda sent: Answer(f"{evil}{QUOTE}{evil}"),
        judge=lambda sent: Answer(verdict("PASS", [QUOTE, f"not there{evil}"], evil)),
    )
    status, out, err = proact(*against(server, "--trigger", "d0__t5"))
    assert status == 0
    assert not set(out + err) & {"\x07", "\u202e", "\r", "\t"}
    assert "\x1b[2J" not in out
    assert "\\x1b[2Jred\\x07 \\u202e[bold]x[/bold]" in out
    assert QUOTE in out


def test_no_line_of_a_response_looks_like_a_heading(proact, server):
    server.script_roles(assistant=lambda sent: Answer("Yes.\nwithout it: FAIL\njudge: bad"))
    _, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    assert [line.partition(":")[0] for line in out.splitlines() if line.startswith("without it")] == ["without it"]


def test_a_response_cut_at_the_token_limit_says_so(proact, server):
    server.script_roles(assistant=lambda sent: Answer("You could", finish_reason="length"))
    status, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    assert status == 0
    assert out.count("cut at the token limit") == 2


def test_usage_is_told_for_each_role(proact, server):
    _, out, _ = proact(*against(server, "--model-price", "1000000,2000000"))
    # Each answer counts 11 tokens in and 7 out: 6 x (11 x 1 + 7 x 2) = 150 dollars.
    assert "assistant: 6 calls, 66 tokens in, 42 out, USD 150.0000" in out
    assert "judge: 6 calls, 66 tokens in, 42 out, cost unknown (" in out


def test_json_is_a_list_with_both_sides(proact, server):
    server.script_roles(judge=lambda sent: Answer(verdict("PARTIAL", [QUOTE, "never said"], "half")))
    status, out, _ = proact(*against(server, "--trigger", "d0__t5", "--model-price", "1,1", "--json"))
    (pair,) = json.loads(out)
    assert status == 0
    assert list(pair) == ["trigger", "phase", "user_message", "with", "without", "usage"]
    assert (pair["trigger"], pair["phase"]) == ("d0__t5", "RECOVERY")
    assert pair["user_message"] == row()["turn_records"][4]["user_message"]
    side = pair["with"]
    start = side["response"].index(QUOTE)
    assert side == {
        "response": side["response"],
        "truncated": False,
        "grade": "PARTIAL",
        "reasoning": "half",
        "evidence": [
            {"text": QUOTE, "start": start, "end": start + len(QUOTE), "short": False},
            {"text": "never said", "start": None, "end": None, "short": False},
        ],
        "error": None,
    }
    assert pair["without"].keys() == side.keys()
    assert (pair["usage"]["assistant"]["calls"], pair["usage"]["judge"]["calls"]) == (2, 2)
    assert pair["usage"]["assistant"]["usd"] == pytest.approx(2 * 18e-6)
    assert pair["usage"]["judge"]["usd"] is None
    assert pair["usage"]["judge"]["reason"]


def test_a_quote_that_is_too_short_is_said_so_and_not_that_it_is_missing(proact, server):
    server.script_roles(judge=lambda sent: Answer(verdict("PARTIAL", ["the boxes"], "half")))
    out = proact(*against(server, "--trigger", "d0__t5"))[1]
    assert 'quoted, but too short to show anything: "the boxes"' in out
    assert "not in the response" not in out
    # It does not count, so that the quote of each response was asked for once more.
    assert len(server.of("judge")) == 4


def test_the_whole_has_the_earlier_turns_and_the_rubric(proact, server):
    asked = against(server, "--trigger", "d0__t5", "--whole")
    first, criteria = row()["turn_records"][0], row()["trigger_points"][-1]["evaluation_rubric"]["pass_criteria"]
    _, out, _ = proact(*asked)
    assert out.index(first["user_message"]) < out.index(first["assistant_response"]) < out.index("\nrubric\nPASS\n")
    assert out.index(criteria) < out.index("with the prompt")
    (pair,) = json.loads(proact(*asked, "--json")[1])
    assert [section["title"] for section in pair["sections"]] == ["conversation", "rubric"]
    assert pair["sections"][0]["items"][0] == {"speaker": "user", "text": first["user_message"]}
    assert criteria not in proact(*against(server, "--trigger", "d0__t5"))[1]


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


def test_json_of_the_bare_model_has_nothing_with(proact):
    _, out, err = proact("try", "--json")
    assert [pair["with"] for pair in json.loads(out)] == [None] * 3
    assert STAND_IN in err


def test_credentials_of_an_endpoint_are_not_repeated(proact, server):
    base = server.assistant.replace("http://", "http://someone:hunter2secret@")
    _, out, err = proact("try", PROMPT, "--model", "hosted_vllm/any", "--model-api-base", base, "--judge", "embedded")
    assert "hunter2secret" not in out + err


def test_a_long_prompt_is_not_repeated(proact):
    _, _, err = proact("try", "Act. " * 40)
    assert "Next: dspy-proact eval --system-prompt @FILE" in err


# The list


def test_the_list_makes_no_call_and_says_key_phase_scenario_and_message(proact):
    status, out, err = proact("try", "--list", "--corpus", corpus())
    lines = out.splitlines()
    assert status == 0
    assert lines[::2] == [f"d{dialogue}__t{turn}" for dialogue in range(4) for turn in (2, 3, 5)]
    assert lines[1] == "    EMERGENT  TRAVEL_07  Question 2: which path leads to the lighthouse?"
    assert "--trigger" in err


def test_the_list_of_a_phase_and_of_the_sample(proact):
    _, out, _ = proact("try", "--list", "--phase", "recovery", "--json")
    listed = json.loads(out)
    assert len(listed) > 3
    assert {each["phase"] for each in listed} == {"RECOVERY"}
    assert list(listed[0]) == ["trigger", "phase", "scenario", "user_message"]
    _, out, _ = proact("try", "--list", "--trigger", listed[0]["trigger"], "--json")
    assert json.loads(out) == listed[:1]


def test_the_list_needs_no_key(proact):
    assert proact("try", "--list", "--model", "openai/gpt-4o", "--corpus", corpus())[0] == 0


# A conversation of one's own


@pytest.mark.parametrize(
    "content",
    [
        [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}, {"role": "user", "content": "C"}],
        [{"user": "A", "assistant": "B"}, {"user": "C"}],
        "User: A\nASSISTANT: B\nuser: C\n",
    ],
)
def test_a_conversation_is_answered_and_nobody_grades_it(proact, server, monkeypatch, content):
    monkeypatch.setattr(triggers, "read_corpus", lambda named: pytest.fail("no corpus is loaded"))
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
    monkeypatch.setattr(programs, "load_assistant", lambda file: assistant.Assistant(PROMPT))
    command = against(server, text=PROMPT if other == "TEXT" else None)[:-2]
    more = [] if other == "TEXT" else ["--program", "best.json"]
    status, _, err = proact(*command, *more, "--conversation", talk(LOG, "log.json"))
    assert (status, {sent.messages[0]["content"] for sent in server.sent}) == (0, {PROMPT, "Hello."})
    assert f"The system message of the conversation is left out: {other} is used." in err


def test_a_prompt_that_is_the_name_of_a_file_is_warned_of(proact, server):
    Path("prompt.txt").write_text("From a file.", encoding="utf-8")
    status, _, err = proact(*against(server, text="prompt.txt"))
    assert status == 0
    assert {sent.messages[0]["content"] for sent in server.of("assistant") if is_prompted(sent)} == {"prompt.txt"}
    assert "for what is in it, @prompt.txt" in err


@pytest.mark.parametrize("verb", [["eval"], ["optimize", "assistant"]])
def test_a_system_prompt_that_is_the_name_of_a_file_is_warned_of(proact, verb):
    Path("prompt.txt").write_text("From a file.", encoding="utf-8")
    assert "for what is in it, @prompt.txt" in proact(*verb, "--system-prompt", "prompt.txt", "--dry-run")[2]
    assert "@prompt.txt" not in proact(*verb, "--system-prompt", "@prompt.txt", "--dry-run")[2]


def test_a_prompt_too_long_for_a_name_is_warned_of_by_nothing(proact):
    status, _, err = proact("eval", "--system-prompt", "Be kind. " * 1000, "--dry-run")
    assert (status, "There is a file" in err) == (0, False)


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


# Refusals


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--trigger", "d0__t55"], "did you mean d0__t5"),
        (["--trigger", "zzz"], "`dspy-proact try --list`"),
        (["--trigger", "d0__t5", "--phase", "recovery"], "leave --phase out"),
        (["--phase", "LATE"], "LATE"),
        (["--unheard-of"], "--unheard-of"),
    ],
)
def test_what_cannot_be_chosen_is_refused(proact, server, arguments, said):
    status, out, err = proact(*against(server, *arguments))
    assert (status, out, server.sent) == (2, "", [])
    assert said in err


@pytest.mark.parametrize("more", [["--trigger", "d0__t5"], ["--phase", "recovery"], ["--corpus", "sample"], ["--list"]])
def test_a_conversation_and_triggers_are_not_tried_together(proact, more):
    status, _, err = proact("try", PROMPT, "--conversation", talk("Hello."), *more)
    assert status == 2
    assert f"{more[0]} is about the triggers of a corpus" in err


def test_a_phase_that_the_corpus_lacks_is_refused(proact):
    points = [point for point in row()["trigger_points"] if point["turn"] != 5]
    status, _, err = proact("try", PROMPT, "--corpus", corpus(row(trigger_points=points)))
    assert status == 2
    assert "no trigger in RECOVERY" in err


@pytest.mark.parametrize("text", ["", " \n", "@blank.txt", "\udcff"])
def test_a_prompt_that_cannot_be_sent_is_refused(proact, server, text):
    Path("blank.txt").write_text(" \n", encoding="utf-8")
    status, _, err = proact(*against(server, text=text))
    assert (status, server.sent) == (2, [])
    assert "prompt" in err


def test_a_prompt_and_a_program_are_not_tried_together(proact):
    status, _, err = proact("try", PROMPT, "--program", "best.json")
    assert status == 2
    assert "leave TEXT out" in err


def test_a_missing_key_is_said_before_the_first_call(proact, server):
    status, _, err = proact("try", PROMPT, "--model", "openai/gpt-4o", "--corpus", corpus())
    assert status == 2
    assert "--model openai/gpt-4o: no key" in err
    command = ["try", PROMPT, "--model", "hosted_vllm/any", "--model-api-base", server.assistant, "--corpus", corpus()]
    status, _, err = proact(*command)
    assert (status, server.sent) == (2, [])
    assert "--judge openai/gpt-5.4: no key" in err


# Failures


def test_a_response_that_fails_is_shown_in_its_place_and_the_rest_goes_on(proact, server):
    server.script_roles(assistant=lambda sent: Answer("") if is_prompted(sent) else healthy(sent))
    status, out, err = proact(*against(server))
    assert (status, len(server.of("judge"))) == (3, 3)
    assert out.count("no response: empty: ") == 3
    assert out.count(QUOTE) == 3
    assert "Next:" in err


def test_a_provider_that_fails_one_response_is_told_with_its_reason(proact, server):
    server.script_roles(assistant=lambda sent: healthy(sent) if is_prompted(sent) else error(500, "overloaded"))
    status, out, _ = proact(*against(server, "--json", "--trigger", "d0__t5"))
    (pair,) = json.loads(out)
    assert status == 3
    assert pair["with"]["error"] is None
    assert pair["without"]["error"].startswith("server: ")
    assert "overloaded" in pair["without"]["error"]
    assert (pair["without"]["response"], pair["without"]["truncated"], pair["without"]["grade"]) == (None, None, None)


@pytest.mark.parametrize(("answer", "word"), [(Answer("no JSON"), "unreadable"), (error(503), "server")])
def test_a_verdict_that_fails_leaves_its_response(proact, server, answer, word):
    server.script_roles(judge=lambda sent: answer)
    status, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    assert status == 3
    assert out.count(QUOTE) == 2
    assert out.count(f"no verdict: {word}: ") == 2


@pytest.mark.parametrize("most", [1, 2, 3, 7, 11])
def test_no_more_calls_are_made_than_the_limit_allows_and_what_came_is_shown(proact, server, most):
    status, out, err = proact(*against(server, "--max-calls", most, "--json"))
    assert (status, len(server.sent)) == (4, most)
    assert f"--max-calls {most} is reached" in err
    sides = [pair[side] for pair in json.loads(out) for side in ("with", "without")]
    assert sum((side["response"] is not None) + (side["grade"] is not None) for side in sides) == most
    assert {side["error"] for side in sides if side["grade"] is None} == {"stopped"}


def test_a_limit_that_is_just_enough_stops_nothing(proact, server):
    assert proact(*against(server, "--max-calls", 12))[0] == 0


def test_limits_of_tokens_and_money_are_kept(proact, server):
    assert proact(*against(server, "--max-tokens", 10))[0] == 4
    status, _, err = proact(*against(server, "--max-usd", "1"))
    assert (status, server.sent) == (2, [])
    assert "--model-price" in err


@pytest.mark.parametrize(("role", "flag"), [("assistant", "--model"), ("judge", "--judge")])
def test_a_fault_of_the_setup_ends_with_status_two_and_shows_what_is_there(proact, server, role, flag):
    server.script = lambda sent: error(404, "model not found") if sent.role == role else healthy(sent)
    status, out, err = proact(*against(server))
    assert status == 2
    assert f"{flag} " in err
    assert "no such model" in err
    assert (QUOTE in out) is (role == "judge")
    assert ("no verdict: stopped" in out) is (role == "judge")


def test_a_provider_that_is_down_ends_with_status_five(proact, server):
    server.script = lambda sent: error(503)
    keys = [f"d{dialogue}__t{turn}" for dialogue in range(4) for turn in (2, 3, 5)]
    status, out, err = proact(*against(server, *(part for key in keys for part in ("--trigger", key))))
    assert status == 5
    assert "down" in err
    assert "no response: server" in out


def test_an_interrupt_ends_at_once_and_shows_what_is_there(tmp_path, server, monkeypatch):
    monkeypatch.chdir(tmp_path)
    processes, judged = [], []

    def script(sent):
        answer = healthy(sent)
        if sent.role == "judge":
            if not judged:
                processes[0].send_signal(signal.SIGINT)
            judged.append(sent)
            answer.delay = 60
        return answer

    server.script = script
    processes.append(Child(command_line, *against(server, "--trigger", "d0__t5")))
    done = processes[0].ended()
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert "Stopped: interrupted" in done.stderr
    assert QUOTE in done.stdout
    assert "no verdict: stopped" in done.stdout


def test_what_nobody_expected_takes_the_place_of_one_response(proact, server, monkeypatch):
    async def broken(self, view, asking=None):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(assistant.Assistant, "respond", broken)
    status, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    assert status == 3
    assert out.count("no response: unexpected: ZeroDivisionError: by zero") == 2


def test_a_response_without_a_verdict_is_shown_as_it_is():
    from rich.console import Console

    side = Side(Response(text="Rest.\n  Then go."), None, None, ())
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system="standard")
    SideBySide(console, "the prompt").show(Pair(conversation_case([Turn(user="Hm?", assistant=None)]), side, side))
    assert "Then go." in console.file.getvalue()
