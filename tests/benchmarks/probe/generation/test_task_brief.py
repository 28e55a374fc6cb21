"""A brief about a line of work is read strictly, with one sentence for a fault, and is written as it is read."""

from importlib.resources import files

import pytest

from dspy_proact.benchmarks.probe.generation.brief import beyond_stand_in, brief_of, brief_text
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.toml import with_fields

BUNDLED = files("dspy_proact.benchmarks.probe").joinpath("data/generation/brief.toml").read_text("utf-8")


def read(folder, text):
    (folder / "brief.toml").write_text(text, encoding="utf-8")
    return brief_of(folder / "brief.toml")


def replaced(old, new):
    assert BUNDLED.count(old) == 1
    return BUNDLED.replace(old, new)


def test_the_bundled_brief_is_written_as_briefs_are_written(tmp_path):
    assert brief_text(brief_of(None)) == BUNDLED
    assert read(tmp_path, BUNDLED) == brief_of(None)


REFUSED = {
    "a blank text": (
        replaced('name = "Kelderwick Seed Bank"', 'name = " "'),
        "'work.name': should not be blank; write it",
    ),
    "a text too long": (
        replaced("Kelderwick Seed Bank keeps seeds", "ab " * 14_000 + "keeps seeds"),
        "characters and stands in requests; keep 40,000 at most",
    ),
    "an unknown difficulty": (replaced('difficulty = "mixed"', 'difficulty = "brutal"'), "'tasks.difficulty'"),
    "too many tasks": (replaced("per_person = 3", "per_person = 7"), "should be less than or equal to 6, not 7"),
    "too few items": (replaced("distractors = 50", "distractors = 9"), "should be greater than or equal to 10, not 9"),
    "unknown personas": (
        replaced('personas = "invented"', 'personas = "linkedin"'),
        'should be "invented", the name of a file, or a list of texts that are not blank',
    ),
    "a misspelt field": (
        replaced("per_person = 3", "per_persons = 3"),
        "there is no such field; did you mean 'per_person'?",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_fault_is_one_sentence_that_says_where_and_what(tmp_path, text, message):
    with pytest.raises(CorpusError) as raised:
        read(tmp_path, text)
    assert message in str(raised.value)


def test_people_are_invented_ones_or_those_of_a_list_or_of_a_file_beside_the_brief(tmp_path):
    bundled = brief_of(None).personas()
    assert len({persona.key for persona in bundled}) == len({persona.text for persona in bundled}) == 12
    (tmp_path / "people.txt").write_text("Ada, a nurse\nBo, a cook\n")
    texts = ["Ada, a nurse", "Bo, a cook"]
    for personas in ('"people.txt"', '["Ada, a nurse", "Bo, a cook"]'):
        brief = read(tmp_path, replaced('personas = "invented"', f"personas = {personas}"))
        assert [persona.text for persona in brief.personas()] == texts
        assert brief.people.personas == texts


def test_the_language_can_be_another_and_not_a_blank_one():
    assert brief_of(None, " German ").tasks.language == "German"
    assert brief_of(brief_of(None)).tasks.language == "English"
    with pytest.raises(UsageError, match="`language` is blank; name one"):
        brief_of(None, " ")


def test_the_stand_in_follows_how_much_is_made_and_says_what_else_it_cannot():
    much = {"tasks.per_person": 2, "tasks.difficulty": "hard", "tasks.distractors": 75}
    assert beyond_stand_in(with_fields(brief_of(None), much, "x")) is None
    assert beyond_stand_in(brief_of(None, "German")) == "tasks.language"
    assert beyond_stand_in(with_fields(brief_of(None), {"work.roles": ["cook"]}, "x")) == "work.roles"
