"""`dspy-proact optimize show --as-prompt`: a compiled assistant as the system message that it sends."""

import pytest
import tuning
from assistants import PUSHY, artefact, on_disk
from server import healthy

from dspy_proact.programs.artefact import write_artefact

PROMPTS = [
    (PUSHY, 0),
    (PUSHY, 2),
    (None, 1),
    ("Löse [bold]alles[/bold]: «ja»…\n\n- one\n- two\n\n" + "A long line of many words. " * 12 + "\tEnd.", 1),
    ("  Spaces before\n    and inside  \n\n", 0),
]


@pytest.mark.parametrize(("instruction", "demos"), PROMPTS)
def test_as_prompt_prints_what_eval_sends_byte_for_byte(proact, tmp_path, server, instruction, demos):
    write_artefact(tmp_path / "assistant.json", artefact(instruction, demos))
    status, out, err = proact("optimize", "show", "assistant.json", "--as-prompt")
    assert (status, err) == (0, "")
    server.script = healthy
    models = ["--model", "openai/any", "--model-api-base", server.assistant]
    judge = ["--judge", "openai/any", "--judge-api-base", server.judge]
    run = ["--program", "assistant.json", "--limit", 1, "--out", "run"]
    assert proact("eval", *models, *judge, *on_disk(tmp_path), *run)[0] == 0
    (sent,) = server.of("assistant")
    system, *said = sent.messages
    assert system["role"] == "system"
    assert out == f"{system['content']}\n"
    assert [each["role"] for each in said[::2]] == ["user"] * len(said[::2])


def test_as_prompt_without_demos_prints_the_instruction_and_no_conversation(proact, tmp_path):
    write_artefact(tmp_path / "assistant.json", artefact(PUSHY, 2))
    assert "A worked example:" in proact("optimize", "show", "assistant.json", "--as-prompt")[1]
    assert proact("optimize", "show", "assistant.json", "--as-prompt", "--no-demos") == (0, f"{PUSHY}\n", "")


def test_demos_are_left_out_of_a_prompt_that_has_more_and_is_asked_for(proact, tmp_path):
    write_artefact(tmp_path / "assistant.json", artefact(None, 1))
    status, out, err = proact("optimize", "show", "assistant.json", "--as-prompt", "--no-demos")
    assert (status, out) == (2, "")
    assert "says nothing beside its worked examples; leave --no-demos out" in err
    status, out, err = proact("optimize", "show", "assistant.json", "--no-demos")
    assert (status, out) == (2, "")
    assert "--no-demos is about the prompt that --as-prompt prints; name that too, or leave it out" in err


@pytest.mark.parametrize("option", ["--json", "--explain"])
def test_a_prompt_alone_is_printed_and_nothing_of_the_card(proact, tmp_path, option):
    write_artefact(tmp_path / "assistant.json", artefact(PUSHY, 2))
    status, out, err = proact("optimize", "show", "assistant.json", "--as-prompt", option)
    assert (status, out) == (2, "")
    assert f"{option} is about the card" in err
    assert err.rstrip().endswith("; leave it out")


def test_a_bare_program_and_a_judge_have_no_prompt(proact, tmp_path):
    write_artefact(tmp_path / "assistant.json", artefact(None, demos=0))
    write_artefact(tmp_path / "judge.json", tuning.artefact())
    for file, told in (
        ("assistant.json", "assistant.json: says nothing to its model; the compile kept the bare chat"),
        ("judge.json", "judge.json: a compiled judge, which is no system prompt; use it with --judge-program"),
    ):
        status, out, err = proact("optimize", "show", file, "--as-prompt")
        assert (status, out) == (2, "")
        assert told in err
