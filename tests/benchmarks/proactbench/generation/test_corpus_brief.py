"""A brief is read strictly, with one sentence for a fault, and written so that it is read back as it was."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief, brief_text, read_brief
from dspy_proact.errors import CorpusError, UsageError

BUNDLED = files("dspy_proact.benchmarks.proactbench").joinpath("data/generation/brief.toml").read_text("utf-8")
PAGE = BUNDLED.partition('text = """')[2].partition('"""')[0]


def read(folder, text):
    (folder / "brief.toml").write_text(text, encoding="utf-8")
    return read_brief(folder / "brief.toml")


def fault(folder, text):
    """The message, without the path before it."""
    with pytest.raises(CorpusError) as raised:
        read(folder, text)
    return str(raised.value).removeprefix(str(folder / "brief.toml"))


def replaced(old, new):
    assert BUNDLED.count(old) == 1
    return BUNDLED.replace(old, new)


def line(text):
    """The number of a line of the bundled brief."""
    return BUNDLED.split("\n").index(text) + 1


def test_the_bundled_brief_is_written_as_briefs_are_written(tmp_path):
    assert brief_text(read(tmp_path, BUNDLED)) == BUNDLED


WITHOUT_PRODUCT = BUNDLED[: BUNDLED.index("# What the assistant is for.")] + BUNDLED[BUNDLED.index("# Who comes.") :]
LANGUAGE, STYLES = line('language = "English"'), line('styles = "csi"')
REFUSED = {
    "no product": (WITHOUT_PRODUCT, ", field 'product': is missing: What the assistant is for."),
    "a blank product": (
        BUNDLED.replace(PAGE, "\n \n"),
        ", line 8, field 'product.text': should not be blank; write it",
    ),
    "a page too long for prompts": (
        BUNDLED.replace(PAGE, "ab " * 40_000),
        ", line 8, field 'product.text': has 119,999 characters and stands in most requests; keep what the corpus is "
        "about, 100,000 at most",
    ),
    "10 MB of text": (BUNDLED.replace(PAGE, "ab " * 3_500_000), ": longer than 1,000,000 bytes, which no prompt"),
    "a forbidden thing that is also to be planted": (
        replaced('"medical advice",', '"medical advice",\n    "a matter of health",'),
        ": plant.may has 'a health matter that makes reading, lifting or coming in hard', which never.offers forbids "
        "with 'a matter of health'; take it out of one of them",
    ),
    "the same in a language without blanks": (
        replaced('"medical advice",', '"返却日",').replace("may = [", 'may = ["本の返却日の前の旅行", '),
        ": plant.may has '本の返却日の前の旅行', which never.offers forbids with '返却日'; take it out of one of them",
    ),
    "an unknown style": (
        replaced('styles = "csi"', 'styles = "shouty"'),
        f", line {STYLES}, field 'dialogue.styles': 'shouty' is not known; give \"csi\" for all 24 styles, a list of "
        'different numbers from 1 to 24, or "none"',
    ),
    "a style's number that there is not": (replaced('styles = "csi"', "styles = [25]"), "[25] is not known"),
    "a style named twice": (replaced('styles = "csi"', "styles = [3, 3]"), "[3, 3] is not known"),
    "a blank language": (
        replaced('language = "English"', 'language = " "'),
        f", line {LANGUAGE}, field 'dialogue.language': should not be blank; write it",
    ),
    "a misspelt field": (
        replaced("domains = [", "domain = ["),
        f", line {line('domains = [')}, field 'plant.domain': there is no such field; did you mean 'domains'?",
    ),
    "a field that is like none": (replaced("turns = 9", "turns = 9\nzzz = 1"), "; there are language, styles, turns"),
    "a misspelt table": (
        replaced("[plant]", "[plants]"),
        f", line {line('[plant]')}, field 'plants': there is no such field; did you mean 'plant'?",
    ),
    "another type": (replaced("turns = 9", 'turns = "9"'), ", field 'dialogue.turns': input should be a valid integer"),
    "too many turns": (replaced("turns = 9", "turns = 12"), "should be less than or equal to 10, not 12"),
    "nothing to plant": (
        BUNDLED[: BUNDLED.index("may = [")] + "may = []\n" + BUNDLED[BUNDLED.index("# Parts of life") :],
        "field 'plant.may': the list should not be empty",
    ),
    "unknown personas": (
        replaced('personas = "invented"', 'personas = "mine"'),
        'is not known; give "invented", "nemotron", or a file that ends in .txt, .csv or .jsonl',
    ),
    "no TOML": ("product =", ": not TOML: Invalid value (at end of document)"),
    "no end of brackets": ("a = " + "[" * 100_000, ": not TOML that can be read: nested too deeply"),
    "an empty file": ("\n", ": empty; give a brief, as `generate brief` writes one"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_fault_is_one_sentence_that_says_where_and_what(tmp_path, text, message):
    assert message in fault(tmp_path, text)


def test_a_file_that_is_missing_a_folder_or_no_utf8_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="there is no such file; give a brief"):
        read_brief(tmp_path / "brief.toml")
    with pytest.raises(CorpusError, match="a folder, not a file"):
        read_brief(tmp_path)
    (tmp_path / "latin.toml").write_bytes("name = 'café'".encode("latin-1"))
    with pytest.raises(CorpusError, match="line 1: not UTF-8"):
        read_brief(tmp_path / "latin.toml")


@pytest.mark.parametrize("language", ["Schweizerdeutsch", "中文", "Klingon"])
def test_any_language_is_one(tmp_path, language):
    assert read(tmp_path, replaced('"English"', f'"{language}"')).dialogue.language == language
    assert read(tmp_path, BUNDLED).in_language(language).dialogue.language == language


def test_a_blank_language_of_the_command_is_refused(tmp_path):
    with pytest.raises(UsageError, match="`language` is blank; name one"):
        read(tmp_path, BUNDLED).in_language(" ")


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(st.lists(TEXTS, min_size=1), TEXTS, st.sampled_from(["csi", "none", [3, 1]]))
def test_what_is_written_is_read_back(tmp_path_factory, texts, text, styles):
    brief = CorpusBrief.model_validate(
        {
            "product": {"name": text, "text": "\n".join(texts), "rules": texts},
            "users": {"who": text, "personas": [*texts]},
            "plant": {"may": texts, "domains": texts},
            "dialogue": {"styles": styles, "language": text},
        }
    )
    assert read(tmp_path_factory.mktemp("brief"), brief_text(brief)) == brief


def test_notes_stand_after_the_entries_of_a_list_and_change_nothing(tmp_path):
    brief = read(tmp_path, BUNDLED)
    noted = brief_text(brief, {"product.rules": ['page: "a\nb" \x1b[31m', "", "x = 1"]})
    assert '    "Never waive or lower a fee.",  # page: "a b" \\x1b[31m\n' in noted
    assert read(tmp_path, noted) == brief
