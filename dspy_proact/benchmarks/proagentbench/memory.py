"""What is known of a person at a moment, from what they did before it and no model's word.

A moment is the begin of an event; its state is the event before it. `graph`: how often help was sought in an
application and with a word of a window's title, and for what, as the paper's graph has it. `rag`: the moments with help
that share most words with the state, by BM25, where the paper ranks by embeddings. `persona`: counts of the person's
habits, where the paper has a model write them up from clusters.
"""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from dspy_proact.benchmarks.proagentbench.moments import COMMONEST, Intention, Memory
from dspy_proact.benchmarks.proagentbench.screens import Screenshot
from dspy_proact.evaluation.text_ranking import WordRanking, ranked

_WORD = re.compile(r"[^\W_]{3,}")
_MOST_WORDS = 5
"""By which a title is known."""
_MOST_SIMILAR = 5
_LONGEST = 500
"""Characters of an earlier moment that are told."""


@dataclass(frozen=True)
class Event:
    """A stretch of a person's work in one window, as their database has it."""

    id: str
    start: datetime
    end: datetime
    app: str
    title: str
    summary: str
    is_help: bool
    """Whether the person used an AI assistant."""
    intention: Intention | None = None
    query: str = ""
    screenshot: Screenshot | None = None


class Past:
    """The moments of one person up to now, in their order."""

    def __init__(self) -> None:
        self._moments, self._help = Counter[str](), Counter[str]()
        self._intentions, self._next = Counter[tuple[str, Intention]](), Counter[tuple[str, str]]()
        self._help_texts, self._seconds, self._hours = list[str](), Counter[str](), Counter[int]()

    def observe(self, state: Event, event: Event) -> None:
        """Add the moment at which an event began while the person was in a state."""
        for key in ("", f"app {state.app}", *map("word {}".format, _words(state.title))):
            self._moments[key] += 1
            self._help[key] += event.is_help
        self._next[state.app, event.app] += 1
        self._seconds[state.app] += round((state.end - state.start).total_seconds())
        if event.is_help:
            self._hours[event.start.hour] += 1
            of = f" ({event.intention})" if event.intention else ""
            self._help_texts.append(f"In {state.app}, {state.title}: {event.query or 'help was sought'}{of}"[:_LONGEST])
        if event.is_help and event.intention:
            self._intentions[state.app, event.intention] += 1

    def acts(self, state: Event) -> bool:
        """Whether help was sought more often in the application than in all; never where it was not seen before."""
        app = f"app {state.app}"
        return self._help[app] * self._moments[""] > self._help[""] * self._moments[app]

    def intention(self, state: Event) -> Intention:
        """The commonest in the application, else of all, else of the published ones; of several the first."""
        of_app, of_all = Counter[Intention](), Counter[Intention]()
        for (app, name), count in self._intentions.items():
            of_all[name] += count
            of_app[name] += count if app == state.app else 0
        most = (+of_app or of_all).most_common(1)
        return most[0][0] if most else COMMONEST

    def text(self, memory: Memory, state: Event) -> str:
        """What a program is told; empty where nothing is known."""
        if memory == "none" or not self._moments[""]:
            return ""
        return self._persona() if memory == "persona" else {"graph": self._graph, "rag": self._similar}[memory](state)

    def _similar(self, state: Event) -> str:
        scores = WordRanking(self._help_texts).scores(f"{state.app} {state.title} {state.summary}")
        return "\n".join(self._help_texts[index] for index in ranked(scores)[:_MOST_SIMILAR])

    def _persona(self) -> str:
        of_all = Counter[str]()
        for (_, name), count in self._intentions.items():
            of_all[name] += count
        rows = {
            "Minutes by application": [(app, seconds // 60) for app, seconds in self._seconds.most_common(5)],
            "Help sought by hour of the day": sorted(self._hours.items()),
            "Help sought by intention": of_all.most_common(5),
        }
        lines = [f"{name}: {', '.join(f'{key} {n}' for key, n in counts)}." for name, counts in rows.items() if counts]
        return "\n".join([f"In all: {self._share('')}.", *lines])

    def _graph(self, state: Event) -> str:
        lines = [f"In all: {self._share('')}."]
        if self._moments[app := f"app {state.app}"]:
            lines.append(f"In {state.app}: {self._share(app)}.")
        words = [word for word in _words(state.title) if self._help[f"word {word}"]]
        lines += [f"With the word {word!r} in the title: {self._share(f'word {word}')}." for word in words]
        sought = Counter({name: count for (app, name), count in self._intentions.items() if app == state.app})
        if sought:
            lines.append(f"Sought in {state.app}: {', '.join(f'{n} {count}' for n, count in sought.most_common(3))}.")
        after = Counter({to: count for (app, to), count in self._next.items() if app == state.app})
        if after:
            lines.append(f"After {state.app} came: {', '.join(f'{n} {count}' for n, count in after.most_common(3))}.")
        return "\n".join(lines)

    def _share(self, key: str) -> str:
        help_, moments = self._help[key], self._moments[key]
        return f"help was sought at {help_} of {moments} earlier moments ({help_ / moments:.0%})"


def _words(title: str) -> list[str]:
    """The first words of a title, each once."""
    return list(dict.fromkeys(word.casefold() for word in _WORD.findall(title)))[:_MOST_WORDS]
