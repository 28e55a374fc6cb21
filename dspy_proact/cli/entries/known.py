"""The benchmarks that there are, by their names."""

from difflib import get_close_matches

from dspy_proact.cli.entries.entry import Entry
from dspy_proact.cli.entries.proactbench import ProactBenchEntry
from dspy_proact.cli.entries.probe import ProbeEntry
from dspy_proact.errors import UsageError

DEFAULT = ProactBenchEntry.name
"""The benchmark where none is named."""
_ENTRIES: tuple[Entry, ...] = (ProactBenchEntry(), ProbeEntry())


def entries() -> tuple[Entry, ...]:
    """All of them, the default first."""
    return _ENTRIES


def entry_of(name: str) -> Entry:
    """The one of a name; raises `UsageError` where there is none, and says which there are."""
    known = {entry.name: entry for entry in entries()}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    meant = f"; did you mean {near[0]}?" if near else f"; there is {', '.join(known)}."
    raise UsageError(f"no benchmark is called {name!r}{meant} `dspy-proact benchmarks` tells of each")
