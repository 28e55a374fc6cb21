"""The labels that a person names."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.kinds import path_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section

if TYPE_CHECKING:
    from dspy_proact.corpus import Ratings
    from dspy_proact.report import Summary


@dataclass(frozen=True)
class Labels:
    """People's ratings, and what they are of: a study's own items, those of a run, or those of a file."""

    ratings: str
    run: Path | None
    items: Path | None

    @cached_property
    def summary(self) -> "Summary | None":
        """Of the run."""
        from dspy_proact.cli.views.summary import summary_of

        return None if self.run is None else summary_of(self.run)

    def load(self) -> "Ratings":
        """The ratings, joined with what they are of."""
        from dspy_proact.corpus import load_ratings
        from dspy_proact.report.proactbench import items_of

        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dspy-proact"
        summary = self.summary
        return load_ratings(self.ratings, items_of(summary) if summary else None, items_path=self.items, cache=cache)


def label_options(default: str, named: str, whose: str) -> Bundle:
    """The options of labels, which come as one `Labels`; `named` is what may be named, `whose` whose these are."""
    options = (
        click.Option(["--ratings"], default=default, show_default=True, metavar=named, help=whose),
        path_option("--run", "Run whose responses a file of ratings is of."),
        path_option("--items", "File of the items that a file of ratings is of."),
    )
    return Bundle("labels", (Section(Heading.ASKED, options),), Labels)
