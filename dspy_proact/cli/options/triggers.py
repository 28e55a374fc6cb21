"""Which triggers of a corpus a person tries: those that are named, or a few that look like the whole."""

from collections.abc import Sequence

from dspy_proact.cli.options.corpus import read_corpus
from dspy_proact.cli.options.meant_key import meant_key
from dspy_proact.errors import UsageError
from dspy_proact.runs import Case, select_cases

_LISTED = "`dspy-proact try --list` prints them all, with the same --corpus"


def named_triggers(corpus: str, keys: Sequence[str]) -> list[Case]:
    """Those of the keys, which may be beginnings, each once, in the order in which they are given.

    Raises:
        CorpusError: There is no such corpus, or it is not valid.
        UsageError: It has no such trigger, or several begin so.
    """
    from dspy_proact.benchmarks.proactbench.cases import cases_of

    known = {case.key: case for case in cases_of(read_corpus(corpus))}
    meant = [meant_key(key, list(known), "trigger", corpus, _LISTED) for key in keys]
    return [known[key] for key in dict.fromkeys(meant)]


def triggers_of(corpus: str, phases: Sequence[str], most: int | None) -> list[Case]:
    """Those of some phases, all where none is named, spread over scenarios and phases; raises as `named_triggers`."""
    from dspy_proact.benchmarks.proactbench.cases import cases_of

    chosen = select_cases(cases_of(read_corpus(corpus)), most, phases)
    if not chosen:
        raise UsageError(f"{corpus}: has no trigger in {' or '.join(phases)}; name another --phase")
    return chosen
