"""Which triggers of a corpus a person tries: those that are named, or a few that look like the whole."""

import json
from collections.abc import Sequence
from difflib import get_close_matches

import click
from rich.console import Console

from dspy_proact.benchmarks.proactbench import cases_of, user_message
from dspy_proact.cli.saying import say
from dspy_proact.corpus import load_corpus
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable
from dspy_proact.runs import Case, select_cases

_FEW = 3
_INDENT = 4
_SHORTEST = 40
"""Characters of a message that the list shows at least."""


class Triggers:
    """The triggers of a corpus.

    Args:
        corpus: As `--corpus` takes it.

    Raises:
        CorpusError: There is no such corpus, or it is not valid.
    """

    def __init__(self, corpus: str):
        loaded = load_corpus(corpus)
        if loaded.ignored_note:
            say(f"{corpus}: {loaded.ignored_note}")
        self._corpus, self._cases = corpus, cases_of(loaded)

    def named(self, keys: Sequence[str]) -> list[Case]:
        """Those of the keys, each once, in the order in which they are given; raises `UsageError` for an unknown."""
        known = {case.key: case for case in self._cases}
        for key in keys:
            if key not in known:
                raise UsageError(f"--trigger {key}: {self._corpus} has no such trigger{_nearest(key, list(known))}")
        return [known[key] for key in dict.fromkeys(keys)]

    def of(self, phases: Sequence[str], few: bool) -> list[Case]:
        """Those of some phases, all where none is named; raises `UsageError` where there are none.

        Args:
            phases: Their names.
            few: Take three, spread over scenarios and phases.
        """
        chosen = select_cases(self._cases, _FEW if few else None, phases)
        if not chosen:
            raise UsageError(f"{self._corpus}: has no trigger in {' or '.join(phases)}; name another --phase")
        return chosen


def print_triggers(cases: Sequence[Case], as_json: bool) -> None:
    """Print keys with phase, scenario and message: two lines each, or JSON with the whole message."""
    if as_json:
        each = [
            {"trigger": case.key, "phase": case.stratum, "scenario": case.group, "user_message": user_message(case)}
            for case in cases
        ]
        click.echo(json.dumps(each, indent=2))
        return
    width = Console().width - _INDENT
    for case in cases:
        told = f"{case.stratum:<8}  {case.meta['scenario_id']}  "
        message = " ".join(user_message(case).split())
        room = max(_SHORTEST, width - len(told))
        clipped = message if len(message) <= room else f"{message[: room - 3]}..."
        click.echo(f"{printable(case.key)}\n{' ' * _INDENT}{printable(told + clipped)}")


def _nearest(key: str, known: Sequence[str]) -> str:
    near = get_close_matches(key, known, n=1)
    meant = f"; did you mean {near[0]}?" if near else "."
    return f"{meant} `dspy-proact try --list` prints them all, with the same --corpus"
