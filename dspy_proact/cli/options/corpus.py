"""The corpus that a person names."""

from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.verb import Heading, Section

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.corpus import Corpus, Results

HUB = "proactbench"
"""The published corpus."""
_METAVAR = "sample|proactbench[@REV]|FILE"
_ANY_METAVAR = "sample|NAME[@REV]|PATH"
CORPUS = Section(
    Heading.ASKED,
    (
        click.Option(
            ["--corpus"],
            metavar=_ANY_METAVAR,
            help="Files of your own by their path, or by the benchmark's NAME what was published. Default: that; the "
            "sample when embedded.",
        ),
    ),
)
TRIED_CORPUS = Section(
    Heading.ASKED,
    (
        click.Option(
            ["--corpus"], metavar=_METAVAR, help="Whose triggers. Default: proactbench; the sample when embedded."
        ),
    ),
)
ANSWERED_CORPUS = Section(
    Heading.ASKED, (click.Option(["--corpus"], metavar=_METAVAR, help="What a results file answers."),)
)


def default_corpus(embedded: bool) -> str:
    """What is asked where nothing is named: the stand-in the sample, a real model the published corpus."""
    return "sample" if embedded else HUB


def read_corpus(named: str, revision: str | None = None) -> "Corpus":
    """The corpus of a name; what of it the format does not know is told.

    Args:
        named: As `--corpus` takes it.
        revision: Of the dataset, as it was recorded before; None for the newest.
    """
    from dspy_proact.benchmarks.proactbench.corpus import load_corpus
    from dspy_proact.cli.views.message import say

    corpus = load_corpus(named, revision)
    if corpus.ignored_note:
        say(f"{named}: {corpus.ignored_note}")
    return corpus


def answered_corpus(results: "Results", named: str | None) -> "Corpus | None":
    """The corpus that a results file answers: the one that is named, or the sample where it has every trigger."""
    from dspy_proact.benchmarks.proactbench.corpus import load_corpus

    if named is not None:
        return load_corpus(named)
    sample = load_corpus("sample")
    dialogues = {dialogue.origin.dialogue for dialogue in sample.dialogues}
    answered = {trigger.origin.dialogue for trigger in results.triggers}
    return sample if answered and answered <= dialogues else None
