"""The recipe of the assistant, its artefact, and the hand-written prompts."""

from itertools import combinations

import pytest
from script import ROOT, run

from dspy_proact.benchmarks.compiled import load_assistant
from dspy_proact.benchmarks.proactbench.programs import Assistant
from dspy_proact.programs import Recipe
from dspy_proact.programs.artefact import read_artefact

OPTIMIZE = ROOT / "optimize"
ARTEFACT = OPTIMIZE / "programs" / "assistant-embedded.json"
PROMPTS = sorted((OPTIMIZE / "prompts").glob("*.txt"))
GRADING = ("grade", "judge", "rubric", "score", "benchmark")


def test_the_artefact_is_an_assistant_with_a_prompt_that_a_person_can_read():
    assistant = load_assistant(ARTEFACT)
    assert assistant.name == f"compiled:{read_artefact(ARTEFACT).digest[:12]}"
    assert assistant.system_prompt.startswith(assistant.instruction)
    assert assistant.instruction


def test_its_card_says_that_a_stand_in_was_tuned_by_the_recipe():
    card = read_artefact(ARTEFACT).card
    assert card.provenance.embedded
    assert card.provenance.recipe == Recipe(optimizer="search", trials=12, max_demos=2, folds=5, seed=0)
    assert card.guards == {"offers": 0.05}
    assert card.provenance.data.name == "sample"
    assert "No improvement could have been shown in RECOVERY" in card.headline


def test_there_are_three_prompts_and_a_table_of_them():
    table = (OPTIMIZE / "prompts" / "README.md").read_text(encoding="utf-8")
    assert len(PROMPTS) == 3
    assert all(f"| `{path.name}` |" in table for path in PROMPTS)


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_a_prompt_is_short_and_speaks_of_no_grading(path):
    text = path.read_text(encoding="utf-8")
    assert 60 <= len(text.split()) <= 180
    assert not [word for word in GRADING if word in text.lower()]
    assert Assistant(text).instruction == text.strip()


def test_each_prompt_is_worded_in_its_own_way():
    words = {path.stem: set(path.read_text(encoding="utf-8").lower().split()) for path in PROMPTS}
    for one, other in combinations(words, 2):
        # Half of the words of the shorter one: English alone makes about a third.
        assert len(words[one] & words[other]) < min(len(words[one]), len(words[other])) / 2


def test_the_recipe_says_what_it_takes(tmp_path):
    done = run(OPTIMIZE / "assistant.py", "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for option in ("--model", "--judge", "--report-judge", "--out", "--programs"):
        assert option in done.stdout


def test_the_recipe_refuses_to_have_a_real_model_graded_by_the_stand_in(tmp_path):
    real = ["--model", "openai/gpt-4o", "--judge", "openai/gpt-5.4"]
    done = run(OPTIMIZE / "assistant.py", *real, folder=tmp_path)
    assert done.returncode == 2
    assert "--report-judge" in done.stderr.splitlines()[-1]
