"""Which triggers of a corpus a person tries: those that are named, or a few that look like the whole."""

from collections.abc import Sequence
from difflib import get_close_matches

from dspy_proact.benchmarks.proactbench import cases_of
from dspy_proact.cli.options.corpus import read_corpus
from dspy_proact.errors import UsageError
from dspy_proact.runs import Case, select_cases

_FEW = 3


class Triggers:
    """The triggers of a corpus.

    Args:
        corpus: As `--corpus` takes it.

    Raises:
        CorpusError: There is no such corpus, or it is not valid.
    """

    def __init__(self, corpus: str):
        self._corpus, self._cases = corpus, cases_of(read_corpus(corpus))

    def named(self, keys: Sequence[str]) -> list[Case]:
        """Those of the keys, each once, in the order in which they are given; raises `UsageError` for an unknown."""
        known = {case.key: case for case in self._cases}
        for key in keys:
            if key not in known:
                raise UsageError(f"--trigger {key}: {self._corpus} has no such trigger{_nearest(key, list(known))}")
        return [known[key] for key in dict.fromkeys(keys)]

    def of(self, phases: Sequence[str], few: bool = True) -> list[Case]:
        """Those of some phases, all where none is named; raises `UsageError` where there are none.

        Args:
            phases: Their names.
            few: Take three, spread over scenarios and phases.
        """
        chosen = select_cases(self._cases, _FEW if few else None, phases)
        if not chosen:
            raise UsageError(f"{self._corpus}: has no trigger in {' or '.join(phases)}; name another --phase")
        return chosen


def _nearest(key: str, known: Sequence[str]) -> str:
    near = get_close_matches(key, known, n=1)
    meant = f"; did you mean {near[0]}?" if near else "."
    return f"{meant} `dspy-proact try --list` prints them all, with the same --corpus"
