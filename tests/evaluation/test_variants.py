"""What one command tests: every model with every prompt and program, and how they are named."""

from pathlib import Path

import pytest

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.variants import BARE, variants_of, wordings_of
from dspy_proact.models import ModelSpec


def test_every_model_is_tested_with_every_wording_the_bare_model_first():
    wordings = wordings_of([("@prompts/short.txt", "Act.")], [Path("tuned.json")], bare=True)
    variants = variants_of([ModelSpec(name="ann"), ModelSpec(name="ben")], wordings)
    assert [variant.name for variant in variants] == [
        *("ann", "ann (short)", "ann (tuned)"),
        *("ben", "ben (short)", "ben (tuned)"),
    ]
    ways = [(one.wording.system_prompt, one.wording.program) for one in variants[:3]]
    assert ways == [(None, None), ("Act.", None), (None, Path("tuned.json"))]


def test_without_a_prompt_or_a_program_the_bare_model_is_tested():
    assert wordings_of([], []) == (BARE,)


@pytest.mark.parametrize(
    ("typed", "label"),
    [
        ("@a/b.c.txt", "b.c"),
        ("Be  kind,\nand  brief.", "Be kind, and brief."),
        (
            "Notice what the user mentioned in passing.",
            "Notice what the user…",
        ),  # 20 characters; "mentioned" ends at 30
        ("気" * 30, "気" * 24 + "…"),
    ],
)
def test_a_prompt_is_named_by_its_file_or_by_its_first_words(typed, label):
    assert wordings_of([(typed, "text")], [])[0].label == label


def test_equal_names_are_told_apart_by_all_of_what_was_typed():
    wordings = wordings_of([("@a/short.txt", "one"), ("@b/short.txt", "two"), ("@long.txt", "three")], [])
    assert [wording.label for wording in wordings] == ["@a/short.txt", "@b/short.txt", "long"]


def test_one_prompt_under_two_names_is_refused_since_both_would_be_one_run():
    with pytest.raises(UsageError, match=r"'@a.txt' and '@b.txt' are the same; name each once"):
        wordings_of([("@a.txt", "Act."), ("@b.txt", "Act.")], [])
