"""Benchmarks as a person reads them, and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import click
from rich.console import Console

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.cli.options.settings import settings_of
from dspy_proact.plain_text import printable


def benchmarks_text(entries: Sequence[Benchmark[Any, Any]]) -> str:
    """Each under its name, as wide as the terminal."""
    width = Console().width
    formatter = click.HelpFormatter(width=width, max_width=width)
    for entry in entries:
        with formatter.section(entry.name):
            formatter.write_dl([(name, printable(text)) for name, text in _rows(entry)])
    return formatter.getvalue().lstrip("\n")


def entry_document(entry: Benchmark[Any, Any]) -> dict[str, Any]:
    """What a benchmark is, and its settings."""
    return {
        "name": entry.name,
        "measures": entry.about,
        "size": entry.size,
        "licence": entry.licence,
        "data": entry.data,
        "best_published": entry.best,
        "judge": entry.judge_name,
        "settings": [
            {"name": each.name, "takes": each.takes, "default": each.default, "description": each.description}
            for each in settings_of(entry.settings_type)
        ],
    }


def _rows(entry: Benchmark[Any, Any]) -> Iterator[tuple[str, str]]:
    yield "measures", entry.about
    yield "size", entry.size
    yield "licence", entry.licence
    yield "data", entry.data
    yield "best published", entry.best
    yield "default judge", entry.judge_name or "none"
    settings = settings_of(entry.settings_type)
    if not settings:
        yield "settings", "none"
    for each in settings:
        yield f"--set {each.usual}", f"{each.wants}. {each.description}"
