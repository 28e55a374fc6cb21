"""`dspy-proact try` as a person asks for it: who answers which triggers, and every refusal."""

import json
from collections import Counter
from pathlib import Path

import pytest
from rows import row
from server import Answer
from trying import PROMPT, STAND_IN, against, corpus, is_prompted

from dspy_proact.benchmarks.proactbench.corpus import read_jsonl
from dspy_proact.benchmarks.proactbench.programs import assistant
from dspy_proact.cli.options import cases

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
    monkeypatch.setattr(
        "dspy_proact.programs.artefact.load_assistant", lambda file: assistant.Assistant(f"compiled from {file}")
    )
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
    assert "--trigger d: is ambiguous: d0__t" in err


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
    monkeypatch.setattr(cases, "read_corpus", lambda named: asked.append(named) or read_jsonl(path))
    command = ["try", PROMPT, "--model", "hosted_vllm/any", "--model-api-base", server.assistant]
    status, out, _ = proact(*command, "--judge-api-base", server.judge)
    assert (status, asked) == (0, ["proactbench"])
    assert "hosted_vllm/any judged by openai/gpt-5.4" in out
    assert {sent.body["model"] for sent in server.of("judge")} == {"gpt-5.4"}
    assert STAND_IN not in out


def test_a_prompt_that_is_the_name_of_a_file_is_warned_of(proact, server):
    Path("prompt.txt").write_text("From a file.", encoding="utf-8")
    status, _, err = proact(*against(server, text="prompt.txt"))
    assert status == 0
    assert {sent.messages[0]["content"] for sent in server.of("assistant") if is_prompted(sent)} == {"prompt.txt"}
    assert "for its contents, @prompt.txt" in err


@pytest.mark.parametrize("verb", [["eval"], ["optimize", "assistant"]])
def test_a_system_prompt_that_is_the_name_of_a_file_is_warned_of(proact, verb):
    Path("prompt.txt").write_text("From a file.", encoding="utf-8")
    assert "for its contents, @prompt.txt" in proact(*verb, "--system-prompt", "prompt.txt", "--dry-run")[2]
    assert "@prompt.txt" not in proact(*verb, "--system-prompt", "@prompt.txt", "--dry-run")[2]


def test_a_prompt_too_long_for_a_name_is_warned_of_by_nothing(proact):
    status, _, err = proact("eval", "--system-prompt", "Be kind. " * 1000, "--dry-run")
    assert (status, "There is a file" in err) == (0, False)


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


# Refusals


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--trigger", "d0__t55"], "did you mean d0__t5"),
        (["--trigger", "zzz"], "`dspy-proact try --list`"),
        (["--trigger", "d0__t5", "--phase", "recovery"], "--trigger and --phase are mutually exclusive"),
        (["--phase", "LATE"], "LATE"),
        (["--unheard-of"], "--unheard-of"),
    ],
)
def test_what_cannot_be_chosen_is_refused(proact, server, arguments, said):
    status, out, err = proact(*against(server, *arguments))
    assert (status, out, server.sent) == (2, "", [])
    assert said in err


@pytest.mark.parametrize(
    "more",
    [["Be proactive."], ["--judge", "x"], ["--whole"], ["--program", "best.json"], ["--model-param", "seed=1"]],
    ids=lambda more: more[0],
)
def test_a_list_takes_nothing_that_is_asked_of_a_model(proact, more):
    status, out, err = proact("try", "--list", "--corpus", corpus(), *more)
    assert (status, out) == (2, "")
    assert f"--list and {more[0] if more[0].startswith('--') else 'TEXT'} are mutually exclusive" in err


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
    assert "TEXT and --program are mutually exclusive" in err


def test_a_missing_key_is_said_before_the_first_call(proact, server):
    status, _, err = proact("try", PROMPT, "--model", "openai/gpt-4o", "--corpus", corpus())
    assert status == 2
    assert "--model openai/gpt-4o: no key" in err
    command = ["try", PROMPT, "--model", "hosted_vllm/any", "--model-api-base", server.assistant, "--corpus", corpus()]
    status, _, err = proact(*command)
    assert (status, server.sent) == (2, [])
    assert "--judge openai/gpt-5.4: no key" in err
