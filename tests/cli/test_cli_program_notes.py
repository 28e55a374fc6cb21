"""What is said of a compiled program that is used where its card promises nothing."""

import json
from html import unescape

import assistants
import pytest
import tuning
from proact_run import RESPONSE, run_of, trigger
from server import Answer, verdict

from dspy_proact.programs.artefact import write_artefact

NOTHING = "its card shows no improvement over the program that the compile began with."


@pytest.fixture
def run(tmp_path, server):
    """A run to be rejudged, and the options of a judge at the server."""
    run_of(tmp_path / "run", [(trigger(), "PASS")])
    server.script_roles(judge=lambda sent: Answer(verdict("PASS", [RESPONSE[:20]])))
    return lambda judge: ["rejudge", "run", "--judge", judge, "--judge-api-base", server.judge, "--out", "child"]


def judge_program(folder, shown):
    made = tuning.artefact()
    made = made.model_copy(update={"card": made.card.model_copy(update={"shown": shown})})
    write_artefact(folder / "judge.json", made)
    return ["--judge-program", "judge.json"]


@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize("judge", ["openai/any", "openai/another"])
def test_a_compiled_judge_without_a_gain_or_of_another_model_is_said_so(proact, run, tmp_path, judge, shown):
    status, _, err = proact(*run(judge), *judge_program(tmp_path, shown))
    assert status == 0
    assert (f"--judge-program: {NOTHING}" in err) is not shown
    other = "--judge-program: was compiled for openai/any; its card says nothing about openai/another."
    assert (other in err) is (judge == "openai/another")


def test_eval_says_the_same_of_both_programs_before_any_call(proact, tmp_path):
    made = assistants.artefact(shown=False)
    write_artefact(tmp_path / "assistant.json", made)
    programs = ["--program", "assistant.json", *judge_program(tmp_path, shown=False)]
    status, _, err = proact("eval", "--limit", 1, *programs, "--dry-run")
    assert status == 0
    assert f"--program: {NOTHING}" in err
    assert f"--judge-program: {NOTHING}" in err
    assert "--program: was compiled for openai/student; its card says nothing about embedded." in err
    assert "--judge-program: was compiled for openai/any; its card says nothing about embedded." in err


def test_agree_says_the_same_of_the_judge_that_grades(proact, tmp_path):
    program = judge_program(tmp_path, shown=False)
    status, _, err = proact("agree", "--ratings", "sample", "--judge", "embedded", *program, "--dry-run")
    assert status == 0
    assert f"--judge-program: {NOTHING}" in err
    assert "--judge-program: was compiled for openai/any; its card says nothing about embedded." in err


def test_a_run_keeps_what_both_cards_tell_and_its_page_says_it(proact, tmp_path):
    made = assistants.artefact(shown=False)
    write_artefact(tmp_path / "assistant.json", made)
    programs = ["--program", "assistant.json", *judge_program(tmp_path, shown=True)]
    assert proact("eval", "--limit", 1, *programs, "--out", "run")[0] == 0
    assert proact("rejudge", "run", "--judge", "embedded", "--out", "child")[0] == 0
    cards = json.loads(proact("report", "run", "--json")[1])["run"]["cards"]
    assert cards["assistant"] == made.card.told
    assert made.card.headline in cards["assistant"]
    assert cards["judge"] == tuning.artefact().card.told
    assert json.loads(proact("report", "child", "--json")[1])["run"]["cards"] == {"assistant": cards["assistant"]}
    proact("report", "run", "--html", "page.html")
    page = unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert f"The judge's program: {cards['judge']}" in page


def test_try_says_the_same_of_the_program_on_trial(proact, tmp_path):
    write_artefact(tmp_path / "assistant.json", assistants.artefact(shown=False))
    status, _, err = proact("try", "--program", "assistant.json")
    assert status == 0
    assert f"--program: {NOTHING}" in err
    assert "--program: was compiled for openai/student; its card says nothing about embedded." in err


def test_of_a_plain_prompt_nothing_is_said(proact, tmp_path):
    _, _, err = proact("eval", "--limit", 1, "--system-prompt", "Be kind.", "--dry-run")
    assert "card" not in err
