"""The artefacts in optimize/programs/ are read by the code as it stands, and their recipes are short."""

from pathlib import Path

import pytest
from tuning import compiled_judge

from dspy_proact.programs.artefact import read_artefact

OPTIMIZE = Path(__file__).parents[2] / "optimize"


@pytest.mark.parametrize("path", sorted((OPTIMIZE / "programs").glob("judge-*.json")), ids=lambda path: path.name)
def test_an_artefact_is_read_and_makes_a_judge_of_its_own_words(path):
    artefact = read_artefact(path)
    judge = compiled_judge(artefact)
    assert judge.instruction == artefact.states["grade"].signature.instructions
    assert len(judge.grade.demos) == len(artefact.states["grade"].demos)
    assert judge.name == f"compiled:{artefact.digest[:12]}"
    assert "mprovement shown" in artefact.card.headline


def test_there_is_an_artefact_for_the_recipe():
    assert (OPTIMIZE / "programs" / "judge-embedded.json").is_file()


@pytest.mark.parametrize("path", sorted(OPTIMIZE.glob("*.py")), ids=lambda path: path.name)
def test_a_recipe_is_at_most_a_hundred_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 100
