"""Which triggers of a corpus a person tries: those that are named, or a few that look like the whole."""

from collections.abc import Sequence
from difflib import get_close_matches

from dspy_proact.benchmarks.proactbench import cases_of
from dspy_proact.cli.options.corpus import read_corpus
from dspy_proact.errors import UsageError
from dspy_proact.runs import Case, select_cases


def named_triggers(corpus: str, keys: Sequence[str]) -> list[Case]:
    """Those of the keys, each once, in the order in which they are given.

    Raises:
        CorpusError: There is no such corpus, or it is not valid.
        UsageError: It has no such trigger.
    """
    known = {case.key: case for case in cases_of(read_corpus(corpus))}
    for key in keys:
        if key not in known:
            raise UsageError(f"--trigger {key}: {corpus} has no such trigger{_nearest(key, list(known))}")
    return [known[key] for key in dict.fromkeys(keys)]


def triggers_of(corpus: str, phases: Sequence[str], most: int | None) -> list[Case]:
    """Those of some phases, all where none is named, spread over scenarios and phases; raises as `named_triggers`."""
    chosen = select_cases(cases_of(read_corpus(corpus)), most, phases)
    if not chosen:
        raise UsageError(f"{corpus}: has no trigger in {' or '.join(phases)}; name another --phase")
    return chosen


def _nearest(key: str, known: Sequence[str]) -> str:
    near = get_close_matches(key, known, n=1)
    meant = f"; did you mean {near[0]}?" if near else "."
    return f"{meant} `dspy-proact try --list` prints them all, with the same --corpus"
