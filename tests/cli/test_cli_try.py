"""`dspy-proact try`: who answers what, what is shown, what came before a failure, and every refusal."""

import io
import json
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from builders.dialogues import jsonl, row
from drivers.child import Child, command_line
from fakes.server import Answer, error, healthy, verdict

from dspy_proact.benchmarks.proactbench.corpus.dialogues import read_jsonl
from dspy_proact.benchmarks.proactbench.programs import assistant

ONE = ("--case", "d0__t5")
PROMPT = "Act on what the user disclosed."
QUOTE = "label the boxes today"
STAND_IN = "embedded stand-in"
LOAD_CORPUS = "dspy_proact.benchmarks.proactbench.benchmark.load_corpus"


def corpus(*item):
    path = Path("corpus.jsonl")
    path.write_text(jsonl(*(item or [row(unique_id_eval=f"d{number}") for number in range(4)])), encoding="utf-8")
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


def test_a_trial_leaves_no_file(proact):
    assert "Next: dspy-proact eval --system-prompt @FILE" in proact("try", "Act. " * 40)[2]
    assert not list(Path().iterdir())


def test_the_prompt_goes_out_as_one_system_message_and_the_bare_model_has_none(proact, server):
    assert proact(*against(server, *ONE, "--model-param", "temperature=0.25", "--judge-param", "seed=7"))[0] == 0
    prompted, bare = sorted(server.of("assistant"), key=is_prompted, reverse=True)
    assert prompted.messages == [{"role": "system", "content": PROMPT}, *bare.messages]
    assert [message["role"] for message in bare.messages] == ["user", "assistant"] * 4 + ["user"]
    assert bare.messages[-1]["content"] == row()["turn_records"][4]["user_message"]
    assert [sent.body["temperature"] for sent in server.of("assistant")] == [0.25] * 2
    assert [sent.body["seed"] for sent in server.of("judge")] == [7] * 2


def test_without_a_prompt_the_bare_model_is_shown_alone(proact, server):
    status, out, err = proact(*against(server, text=None))
    assert (status, len(server.of("assistant")), len(server.of("judge"))) == (0, 3, 3)
    assert not any(map(is_prompted, server.of("assistant")))
    assert (out.count("the bare model: "), "without it" in out) == (3, False)
    assert "Next: dspy-proact try @FILE --model hosted_vllm/any" in err
    _, out, err = proact("try", "--json")
    assert [pair["with"] for pair in json.loads(out)] == [None] * 3
    assert STAND_IN in err


def test_a_prompt_in_a_file_is_read_and_the_name_of_a_file_alone_is_warned_of(proact, server):
    Path("prompt.txt").write_text("From a file.\n", encoding="utf-8")
    _, _, err = proact(*against(server, text="@prompt.txt"))
    assert {sent.messages[0]["content"] for sent in server.of("assistant") if is_prompted(sent)} == {"From a file."}
    assert "--system-prompt @prompt.txt" in err
    assert "for its contents, @prompt.txt" in proact(*against(server, text="prompt.txt"))[2]
    for verb in (["eval"], ["optimize", "assistant"]):
        assert "for its contents, @prompt.txt" in proact(*verb, "--system-prompt", "prompt.txt", "--dry-run")[2]
        assert "contents" not in proact(*verb, "--system-prompt", "@prompt.txt", "--dry-run")[2]
    # One that is too long for a name.
    status, _, err = proact("eval", "--system-prompt", "Be kind. " * 1000, "--dry-run")
    assert (status, "There is a file" in err) == (0, False)


def test_triggers_are_chosen_by_stratum_or_key(proact, server):
    _, out, _ = proact(*against(server, "--stratum", "emergent", "--phase", "Critical", "--json"))
    phases = Counter(pair["phase"] for pair in json.loads(out))
    assert (phases.total(), set(phases)) == (3, {"EMERGENT", "CRITICAL"})
    server.sent.clear()
    keys = ["d3...5", "d1__t2", "d3__t5", "d0__t3"]
    _, out, _ = proact(*against(server, "--json", *(part for key in keys for part in ("--case", key))))
    assert [pair["trigger"] for pair in json.loads(out)] == ["d3__t5", "d1__t2", "d0__t3"]
    assert len(server.of("assistant")) == 6


def test_a_real_model_is_judged_by_the_papers_judge_on_the_published_corpus(proact, server, monkeypatch):
    requests, path = [], corpus()
    monkeypatch.setattr(LOAD_CORPUS, lambda named, revision=None: requests.append(named) or read_jsonl(path))
    command = ["try", PROMPT, "--model", "hosted_vllm/any", "--model-api-base", server.assistant]
    status, out, _ = proact(*command, "--judge-api-base", server.judge)
    assert (status, requests, STAND_IN in out) == (0, ["proactbench"], False)
    assert "hosted_vllm/any judged by openai/gpt-5.4" in out


def test_the_list_makes_no_call_and_says_key_phase_scenario_and_message(proact):
    status, out, err = proact("try", "--list", "--model", "openai/gpt-4o", "--corpus", corpus())
    lines = out.splitlines()
    assert status == 0
    assert lines[::2] == [f"d{dialogue}__t{turn}" for dialogue in range(4) for turn in (2, 3, 5)]
    assert lines[1] == "    EMERGENT  Question 2: which path leads to the lighthouse?"
    assert err.endswith("Next: dspy-proact try --corpus corpus.jsonl --case d0__t2\n")
    listed = json.loads(proact("try", "--list", "--stratum", "recovery", "--json")[1])
    assert (len(listed) > 3, {item["phase"] for item in listed}) == (True, {"RECOVERY"})
    assert list(listed[0]) == ["trigger", "phase", "scenario", "user"]
    assert json.loads(proact("try", "--list", "--case", listed[0]["trigger"], "--json")[1]) == listed[:1]


# Conversations of one's own

LOG = {"messages": [{"role": "system", "content": "@ Be kind."}, {"role": "user", "content": "Hello."}]}


def test_a_conversation_is_answered_and_nobody_grades_it(proact, server, monkeypatch):
    content = "User: A\nASSISTANT: B\nuser: C\n"
    monkeypatch.setattr(LOAD_CORPUS, lambda named, revision=None: pytest.fail("no corpus is loaded"))
    status, out, err = proact("try", PROMPT, *models(server), "--conversation", talk(content), "--whole")
    assert (status, len(server.of("assistant")), server.of("judge")) == (0, 2, [])
    assert "has no rubric; --judge is ignored" in err
    bare = next(sent for sent in server.sent if not is_prompted(sent))
    assert [(message["role"], message["content"]) for message in bare.messages] == [
        ("user", "A"),
        ("assistant", "B"),
        ("user", "C"),
    ]
    assert "your conversation\nconversation\nuser\n  A\nassistant\n  B\nuser\n  C\n" in out
    assert ("with the prompt\n" in out, "without it\n" in out, "rubric" in out) == (True, True, False)


def test_a_conversation_can_come_from_standard_input(proact, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"My cat is ill.\n")))
    status, out, _ = proact("try", PROMPT, "--conversation", "-", "--json")
    (pair,) = json.loads(out)
    assert (status, pair["trigger"], pair["phase"]) == (0, None, None)
    assert (pair["with"]["grade"], pair["with"]["quotes"], list(pair["usage"])) == (None, [], ["assistant"])


@pytest.mark.parametrize("other", [None, "TEXT", "--program"])
def test_the_system_message_of_a_log_is_part_of_the_conversation_and_comes_after_the_prompt(
    proact, server, monkeypatch, other
):
    monkeypatch.setattr(
        "dspy_proact.evaluation.participant.compiled_program",
        lambda declared, settings, start, *_: assistant.Assistant(start.prompt or (PROMPT if other else None)),
    )
    command = against(server, text=PROMPT if other == "TEXT" else None)[:-2]
    program = ["--program", "best.json"] if other == "--program" else []
    status, out, _ = proact(*command, *program, "--conversation", talk(LOG, "log.json"), "--whole")
    bare, *prompted = sorted(server.sent, key=lambda sent: len(sent.text))
    assert (status, bare.messages) == (0, LOG["messages"])
    rules = LOG["messages"][0]["content"]
    texts = [sent.messages[0]["content"] for sent in prompted]
    assert texts == ([f"{PROMPT}\n\n{rules}"] if other else [])
    assert "what the assistant was told before the conversation" in out
    assert rules.split("\n", maxsplit=1)[0] in out


# What is shown


@pytest.mark.parametrize(
    ("width", "terminal", "beside"), [(120, "xterm", True), (99, "xterm", False), (120, "dumb", False)]
)
def test_a_wide_terminal_shows_two_columns_and_one_without_styles_marks(
    proact, server, monkeypatch, width, terminal, beside
):
    for name, value in (("COLUMNS", width), ("FORCE_COLOR", "1"), ("TERM", terminal)):
        monkeypatch.setenv(name, str(value))
    server.script_roles(judge=lambda sent: Answer(verdict("PASS", [QUOTE])))
    _, out, _ = proact(*against(server, *ONE))
    both = [line for line in out.splitlines() if "with the prompt" in line and "without it" in line]
    if terminal == "dumb":
        assert (f"»{QUOTE}«" in out, "\x1b" in out) == (True, False)
    else:
        assert bool(both) is beside
        assert (f"\x1b[1;4m{QUOTE}\x1b[0m" in out, "»" in out) == (True, False)  # bold and underlined without colours


@pytest.mark.parametrize("forced", [True, False])
def test_nothing_that_a_model_writes_is_obeyed_by_the_terminal_or_looks_like_a_heading(
    proact, server, monkeypatch, forced
):
    evil = "\x1b[2Jred\x07 \u202e[bold]x[/bold]\tend\r\n"
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
    server.script_roles(
        assistant=lambda sent: Answer(f"{evil}{QUOTE}{evil}\nwithout it: FAIL\njudge: bad"),
        judge=lambda sent: Answer(verdict("PASS", [QUOTE, f"not there{evil}"], evil)),
    )
    status, out, err = proact(*against(server, *ONE))
    assert (status, set(out + err) & {"\x07", "\u202e", "\r", "\t"}, "\x1b[2J" in out) == (0, set(), False)
    assert "\\x1b[2Jred\\x07 \\u202e[bold]x[/bold]" in out
    assert len([line for line in out.splitlines() if line.startswith("without it")]) <= 1


def test_json_is_a_list_with_both_sides_and_their_usage(proact, server):
    server.script_roles(judge=lambda sent: Answer(verdict("PARTIAL", [QUOTE, "never said"], "half")))
    status, out, _ = proact(*against(server, *ONE, "--model-price", "1,1", "--json"))
    (pair,) = json.loads(out)
    assert status == 0
    assert list(pair) == ["trigger", "phase", "with", "without", "usage"]
    side = pair["with"]
    start = side["response"].index(QUOTE)
    assert side == {
        "response": side["response"],
        "truncated": False,
        "grade": "PARTIAL",
        "score": 0.5,
        "reasons": "half",
        "quotes": [
            {"text": QUOTE, "start": start, "end": start + len(QUOTE), "short": False},
            {"text": "never said", "start": None, "end": None, "short": False},
        ],
        "points": [],
        "error": None,
    }
    assert pair["without"].keys() == side.keys()
    usage = pair["usage"]
    assert [usage[role]["calls"] for role in ("assistant", "judge")] == [2, 2]
    assert (usage["assistant"]["usd"], usage["judge"]["usd"]) == (pytest.approx(2 * 18e-6), None)
    # Each answer counts 11 tokens in and 7 out: 6 x (11 x 1 + 7 x 2) = 150 dollars.
    out = proact(*against(server, "--model-price", "1000000,2000000"))[1]
    assert "assistant: 6 calls, 66 tokens in (0 cached), 42 out, USD 150.0000" in out
    assert "judge: 6 calls, 66 tokens in (0 cached), 42 out, cost unknown (" in out


def test_the_whole_has_the_earlier_turns_and_the_rubric(proact, server):
    first, criteria = row()["turn_records"][0], row()["trigger_points"][-1]["evaluation_rubric"]["pass_criteria"]
    _, out, _ = proact(*against(server, *ONE, "--whole"))
    assert out.index(first["user_message"]) < out.index(first["assistant_response"]) < out.index("\nrubric\nPASS\n")
    assert out.index(criteria) < out.index("with the prompt")
    (pair,) = json.loads(proact(*against(server, *ONE, "--whole", "--json"))[1])
    assert [section["title"] for section in pair["sections"]] == ["conversation", "rubric"]
    assert criteria not in proact(*against(server, *ONE))[1]


# Failures, limits and interrupts


def test_the_prompt_is_shown_as_messages_without_a_call(proact):
    models = ("--model", "openai/gpt-4o", "--judge", "openai/gpt-5.4", "--corpus", "sample")
    status, out, _ = proact("try", "Be brief.", *models, "--show-prompt")
    sent = [line.partition(", about ")[0] for line in out.splitlines() if " is sent first, about " in line]
    assert (status, sent) == (
        0,
        [f"{who} is sent first" for who in [*["assistant openai/gpt-4o"] * 2, "judge openai/gpt-5.4"]],
    )
    assert (out.count("\nsystem\n  Be brief.\n"), out.splitlines()[-1]) == (1, "No calls were made.")


def test_what_fails_is_shown_in_its_place_and_the_rest_goes_on(proact, server, monkeypatch):
    server.script_roles(assistant=lambda sent: Answer("") if is_prompted(sent) else healthy(sent))
    status, out, err = proact(*against(server))
    assert (status, len(server.of("judge")), "Next:" in err) == (3, 3, True)
    assert (out.count("no response: empty: "), out.count(QUOTE)) == (3, 3)
    server.script_roles(assistant=lambda sent: healthy(sent) if is_prompted(sent) else error(500, "overloaded"))
    (pair,) = json.loads(proact(*against(server, *ONE, "--json"))[1])
    assert pair["with"]["error"] is None
    assert pair["without"]["error"].startswith("server: ")
    assert "overloaded" in pair["without"]["error"]
    server.script_roles(assistant=lambda sent: Answer("You could", finish_reason="length"))
    assert proact(*against(server, *ONE))[1].count("cut at the token limit") == 2

    async def broken(self, asking, history, user_message):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(assistant.Assistant, "answer_by", broken)
    assert proact(*against(server, *ONE))[1].count("no response: unexpected: ZeroDivisionError: by zero") == 2


@pytest.mark.parametrize(("answer", "word"), [(Answer("no JSON"), "unreadable"), (error(503), "server")])
def test_a_verdict_that_fails_leaves_its_response(proact, server, answer, word):
    server.script_roles(judge=lambda sent: answer)
    status, out, _ = proact(*against(server, *ONE))
    assert (status, out.count(QUOTE), out.count(f"no verdict: {word}: ")) == (3, 2, 2)


@pytest.mark.parametrize("most", [1, 3, 11])
def test_no_more_calls_are_made_than_the_limit_allows_and_what_came_is_shown(proact, server, most):
    status, out, err = proact(*against(server, "--max-calls", most, "--json"))
    assert (status, len(server.sent), f"--max-calls {most} is reached" in err) == (4, most, True)
    sides = [pair[side] for pair in json.loads(out) for side in ("with", "without")]
    assert sum((side["response"] is not None) + (side["grade"] is not None) for side in sides) == most
    assert {side["error"] for side in sides if side["grade"] is None} == {"stopped"}


@pytest.mark.parametrize(("role", "flag"), [("assistant", "--model"), ("judge", "--judge")])
def test_a_fault_of_the_setup_ends_with_two_and_a_provider_that_is_down_with_five(proact, server, role, flag):
    server.script = lambda sent: error(404, "model not found") if sent.role == role else healthy(sent)
    status, out, err = proact(*against(server))
    assert (status, f"{flag} " in err, "no such model" in err) == (2, True, True)
    assert (QUOTE in out, "no verdict: stopped" in out) == ((role == "judge"),) * 2
    server.script = lambda sent: error(503)
    keys = [f"d{dialogue}__t{turn}" for dialogue in range(4) for turn in (2, 3, 5)]
    status, out, err = proact(*against(server, *(part for key in keys for part in ("--case", key))))
    assert (status, "down" in err, "no response: server" in out) == (5, True, True)


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
    processes.append(Child(command_line, *against(server, *ONE)))
    done = processes[0].ended()
    assert (done.returncode, "Traceback" in done.stderr, "Stopped: interrupted" in done.stderr) == (130, False, True)
    assert (QUOTE in done.stdout, "no verdict: stopped" in done.stdout) == (True, True)


# Refusals


def test_a_phase_that_the_corpus_lacks_and_a_missing_key_are_refused(proact, server):
    points = [point for point in row()["trigger_points"] if point["turn"] != 5]
    assert "no trigger in RECOVERY" in proact("try", PROMPT, "--corpus", corpus(row(trigger_points=points)))[2]
    assert "--model openai/gpt-4o: no key" in proact("try", PROMPT, "--model", "openai/gpt-4o", "--corpus", corpus())[2]
    command = ["try", PROMPT, "--model", "hosted_vllm/any", "--model-api-base", server.assistant, "--corpus", corpus()]
    status, _, err = proact(*command)
    assert (status, server.sent, "--judge openai/gpt-5.4: no key" in err) == (2, [], True)
    base = server.assistant.replace("http://", "http://someone:hunter2secret@")
    _, out, err = proact("try", PROMPT, "--model", "hosted_vllm/any", "--model-api-base", base, "--judge", "embedded")
    assert "hunter2secret" not in out + err


def test_a_bad_conversation_is_refused_before_any_call(refused, server):
    command = [*against(server)[:-2], "--conversation", "talk.txt"]
    assert "talk.txt: there is no such file" in refused(*command)
    talk("User: a\nAssistant: b")
    assert "talk.txt, line 2: ends with an assistant message" in refused(*command)
    assert server.sent == []
