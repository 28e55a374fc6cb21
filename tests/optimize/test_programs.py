"""The recipes in optimize/, the artefacts that they made, and the hand-written prompts."""

from itertools import combinations

import pytest
from drivers.script import ROOT, run

from dspy_proact.benchmarks.proactbench.programs import Assistant

OPTIMIZE = ROOT / "optimize"
PROMPTS = {path.name: path.read_text(encoding="utf-8") for path in sorted((OPTIMIZE / "prompts").glob("*.txt"))}
GRADING = ("grade", "judge", "rubric", "score", "benchmark")


def test_the_prompts_are_three_short_ones_each_in_its_own_words_of_no_grading():
    table = (OPTIMIZE / "prompts" / "README.md").read_text(encoding="utf-8")
    assert len(PROMPTS) == 3
    for name, text in PROMPTS.items():
        assert f"| `{name}` |" in table
        assert 60 <= len(text.split()) <= 180
        assert not [word for word in GRADING if word in text.lower()]
        assert Assistant(text).instruction == text.strip()
    for one, other in combinations([set(text.lower().split()) for text in PROMPTS.values()], 2):
        # Half of the words of the shorter one: English alone makes about a third.
        assert len(one & other) < min(len(one), len(other)) / 2


@pytest.mark.parametrize("path", sorted(OPTIMIZE.glob("*.py")), ids=lambda path: path.name)
def test_a_recipe_is_at_most_a_hundred_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 100


def test_the_recipe_of_the_assistant_says_what_it_takes_and_refuses_a_real_model_graded_by_the_stand_in(tmp_path):
    done = run(OPTIMIZE / "assistant.py", "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(option in done.stdout for option in ("--model", "--judge", "--report-judge", "--out", "--programs"))
    real = ["--model", "openai/gpt-4o", "--judge", "openai/gpt-5.4"]
    done = run(OPTIMIZE / "assistant.py", *real, folder=tmp_path)
    assert done.returncode == 2
    assert "--report-judge" in done.stderr.splitlines()[-1]
