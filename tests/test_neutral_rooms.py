"""Rooms that serve any benchmark say nothing of one: the words of each are searched for in their sources."""

import re
from pathlib import Path

import pytest

import dspy_proact

HOUSE = Path(dspy_proact.__file__).parent
ROOMS = {
    "runs": "runs/**/*.py",
    "models": "models/**/*.py",
    "stats": "stats/**/*.py",
    "kept": "kept/**/*.py",
    "files": "files/*.py",
    "nouns": "[a-z]*.py",
    "the driver": "evaluation/*.py",
    "the core of report": "report/*.py",
    "the page": "report/page/**/*.*",
    "the labelling app": "label/**/*.*",
    "compiles": "compile/*.py",
    "programs": "programs/*.py",
    "generation": "generation/*.py",
}
OWN_WORDS = {"generation": {"dialogue"}, "files": {"persona"}}
"""Words of a benchmark that are a room's own: corpora of any are counted as `dialogues`, and made from personas."""
DOORS = {"evaluation/__init__.py"}
"""Files that name the default benchmark, which is all that they do."""
WORDS = re.compile(
    r"(?i:phase|rubric|trigger|scenario|dialogue|persona|blueprint|curated|emergent|recovery|proact_?bench)"
    r"|(?i:\boffers?\b|unwanted_offer|proactive_?agent|pro_?agent_?bench|thunlp)|\b(?:CRITICAL|PASS|PARTIAL|FAIL|JudgeView|AssistantView|ControlView)\b"
    r"|import.*\bGrade\b|\bGrade\."
    r"|(?i:\bprobe|bottleneck|facet|mailbox|distractor|\boracles?\b|reflexion|rewoo|sanitiz)|\b(?:SOLVED|FAILED)\b"
)
"""In identifiers, texts and comments alike; grades as they are written there, since the words are English too."""


def words_in(room: str) -> list[str]:
    return [
        f"{path.relative_to(HOUSE)}:{number}: {', '.join(words)}"
        for path in sorted(HOUSE.glob(ROOMS[room]))
        if path.relative_to(HOUSE).as_posix() not in DOORS and path.suffix != ".pyc"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if (words := [word for word in WORDS.findall(line) if word.lower() not in OWN_WORDS.get(room, ())])
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_for_any_benchmark_has_no_word_of_one(room: str):
    assert list(HOUSE.glob(ROOMS[room])), "the room is where it is looked for"
    assert words_in(room) == []


def test_the_search_finds_the_words_however_they_are_written_and_leaves_english_alone():
    ours = "for phase in Phases: trigger_key(RUBRIC); Grade.PASS; 'PARTIAL'; ProactBench; unwanted_offers"
    names = ["phase", "Phase", "trigger", "RUBRIC", "Grade.", "PASS", "PARTIAL", "ProactBench", "unwanted_offer"]
    assert WORDS.findall(ours) == names
    assert WORDS.findall("of PROBE the Bottleneck; SOLVED, FAILED") == ["PROBE", "Bottleneck", "SOLVED", "FAILED"]
    assert not WORDS.findall(
        "Grade: the commonest; from functools import partial; failures pass; offered, coffers; solved; failed"
    )


NAMES = re.compile(r"(?i:proact_?bench|proactive_?agent|pro_?agent_?bench)|\b(?:PROBE|probe)\b")
NAME_ONE = {
    "__init__.py": "the face of the package",
    "cli/__init__.py": "the first page of help, which explains the default",
    "evaluation/__init__.py": "the default",
}
"""Files outside the folders of benchmarks that may name one, and why; none is added."""


def test_a_benchmark_is_named_in_its_folder_alone():
    sources = {
        path.relative_to(HOUSE).as_posix(): path
        for path in HOUSE.rglob("*.*")
        if path.suffix in (".py", ".html", ".js", ".css")
    }
    neutral = {name: path for name, path in sources.items() if not re.match(r"benchmarks/\w+/", name)}
    naming = {name for name, path in neutral.items() if NAMES.search(path.read_text(encoding="utf-8"))}
    assert naming == set(NAME_ONE)
