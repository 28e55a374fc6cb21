"""What `dspy-proact try` shows: responses, marked quotes and verdicts, on any terminal and as JSON."""

import json

import pytest
from rows import row
from server import Answer, verdict
from trying import PROMPT, QUOTE, STAND_IN, against


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
    assert 'quoted, but too short to count as evidence: "the boxes"' in out
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
