"""Terms of reports are explained once: docs have the texts of the glossary."""

from pathlib import Path

from dspy_proact.benchmarks.proactbench.types import NOUNS
from dspy_proact.report.glossary import GLOSSARY, explained
from dspy_proact.runs import Nouns

DOCS = Path(__file__).parents[2] / "docs" / "statistics.md"


def test_docs_explain_every_term_in_the_words_of_the_terminal():
    _, _, below = DOCS.read_text(encoding="utf-8").partition("**Terms of the tables**")
    entries = [" ".join(entry.split()) for entry in below.partition("\n\n**References")[0].split("\n- ")[1:]]
    assert entries == [f"**{term}**: {explained(NOUNS, term).removeprefix(f'{term}: ')}" for term in GLOSSARY]


def test_terms_are_explained_in_the_benchmarks_nouns():
    words = Nouns(cases="riddles", strata="kinds")
    assert explained(words, "micro", "macro") == "micro: the mean over riddles; macro: the mean of the kinds."
