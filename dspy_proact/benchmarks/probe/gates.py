"""Checks of a corpus of PROBE that ask no model: whether the evidence can be told without reading it.

*Gates* are tests whose null hypothesis is that nothing tells the evidence, or the right action, from the rest: a
classifier of metadata, by one aspect at a time and by all together, one of actions by their own list, and rules that
take the first, the longest or the newest items. They are one family: their p values are adjusted together (Holm), so
that at most one corpus in twenty that leaks nothing is accused of anything. Rules that read, such as BM25, may honestly
succeed; they are reported. Faults that code can see in a single file are counted beside them.

Tasks are taken as their files hold them, not sanitized.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from dspy_proact.audit.check import AuditCheck
from dspy_proact.benchmarks.probe.agents.tools import ToolRow
from dspy_proact.benchmarks.probe.baselines import by_rule, world_text
from dspy_proact.benchmarks.probe.file_checks import FileChecks
from dspy_proact.benchmarks.probe.generation.corpus import FEWEST_PERSONAS
from dspy_proact.benchmarks.probe.metadata import Aspect, Traces, moment, pools_of
from dspy_proact.benchmarks.probe.scoring import search_scores
from dspy_proact.benchmarks.probe.settings import BaselineName
from dspy_proact.benchmarks.probe.task import ProbeView
from dspy_proact.report.numbers import counted, points_of, probability, share
from dspy_proact.runs import Case
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.paired import LEVEL, excludes_zero, holm, paired_difference
from dspy_proact.stats.separation import CHANCE, separation

ENOUGH_TASKS, ENOUGH_PEOPLE = 100, 10
"""With fewer, no gate is tested: a leak of the usual size would pass."""
TAKE = 5
"""Items that a rule names, as baselines do by default."""
Rule = Callable[[ProbeView], Sequence[str]]
"""From a task to ids of its items."""


def gates_of(tasks: Sequence[Case]) -> list[AuditCheck]:
    """What the checks show of tasks as their files hold them, each of which is read once."""
    files, gates = FileChecks(), _Gates()
    for case in tasks:
        view = case.view_as(ProbeView)
        files.add(case, view)
        gates.add(case, view)
    return [*files.checks(), *gates.checks()]


def newest(view: ProbeView) -> Sequence[str]:
    """The items with the latest times, their own or else those of the file; never one without any."""
    timed = list[tuple[float, str]]()
    for item in view.items:
        if time := moment(ToolRow.of(item).time) or moment((item.stamps or {}).get("created_at")):
            timed.append((time.timestamp(), item.id))
    return [id_ for _, id_ in sorted(timed, key=lambda pair: -pair[0])[:TAKE]]


def overlapping(view: ProbeView) -> Sequence[str]:
    """The items with the largest share of different words that also describe the person's work and people."""
    known = _words(world_text(view.world))
    own = {item.id: _words(ToolRow.of(item).words) for item in view.items}
    shares = {id_: len(held & known) / len(held) for id_, held in own.items() if held}
    return sorted(shares, key=lambda id_: -shares[id_])[:TAKE]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _baseline(rule: BaselineName) -> Rule:
    return lambda view: by_rule(view.task, rule, TAKE).evidence


BLIND: Mapping[str, tuple[str, Rule]] = {
    "first items": ("first items", _baseline("first")),
    "longest items": ("longest items", _baseline("longest")),
    "newest items": ("newest items", newest),
}
"""Rules that read nothing: what they name, by their names."""
READING: Mapping[str, tuple[str, Rule]] = {
    "BM25": ("items nearest to the person's world by BM25", _baseline("bm25")),
    "shared words": ("items with the largest share of words of the person's world", overlapping),
    "urgent words": ("items with most words of urgency", _baseline("urgent")),
}
"""Rules that read, and may honestly succeed."""
RULES = {**BLIND, **READING}
_ASPECTS: Mapping[Aspect, str] = {
    "ids": "ids",
    "order": "the order of items",
    "times": "times",
    "lengths": "lengths",
    "types": "types",
    "fields": "which fields are filled",
}
"""What a classifier of an aspect sees."""
_TOGETHER, ACTIONS = "ids, order, times, lengths, types and fields together", "actions alone"
METADATA = {f"metadata: {aspect}": f"only {seen}" for aspect, seen in _ASPECTS.items()} | {"all metadata": _TOGETHER}
"""What a classifier sees, by the name of its gate."""


@dataclass(frozen=True)
class _Gate:
    """What a gate measured, before p values are adjusted together."""

    name: str
    sentence: str
    """What it measured, without what follows from it."""
    estimate: Estimate | None = None
    beats: bool = False
    """Whether the interval lies above chance."""
    p: float | None = None
    """One-sided; None where there is nothing by which it could tell."""

    def concluded(self, p: float | None, tasks: int) -> AuditCheck:
        """With what follows from it by its adjusted p value."""
        shown = p is not None and p <= LEVEL and self.beats
        verdict = (
            "" if p is None else f": better than chance (p {probability(p)})" if shown else ": not shown to beat chance"
        )
        state, sentence = "failed" if shown else "passed", f"{self.sentence}{verdict}."
        return AuditCheck(name=self.name, state=state, sentence=sentence, tested=tasks, estimate=self.estimate, p=p)


class _Gates:
    """The gates of tasks that are added one at a time, so that no more than one is held."""

    def __init__(self) -> None:
        self._people = list[str]()
        self._items, self._actions = list[Traces](), list[Traces]()
        self._scores = {name: list[tuple[float, float]]() for name in RULES}
        """By rule, of each task its F1 and that of as many items at random."""

    def add(self, case: Case, view: ProbeView) -> None:
        """Measure a task."""
        self._people.append(case.group)
        self._items.append(Traces.of_items(case.group, view))
        self._actions.append(Traces.of_actions(case.group, view))
        for name, (_, rule) in RULES.items():
            taken, gold = rule(view), view.gold.evidence
            # F1 is linear in the hits, so that its mean at random follows from theirs.
            chance = 2 * len(taken) * len(gold) / len(view.items) / (len(taken) + len(gold))
            self._scores[name].append((search_scores(gold, taken).f1, chance))

    def checks(self) -> Iterator[AuditCheck]:
        """What they show of the tasks that were added."""
        tasks, people = len(self._people), len(set(self._people))
        if tasks >= ENOUGH_TASKS and people >= ENOUGH_PEOPLE:
            gates = [*self._classified(), *(self._ruled(name) for name in BLIND)]
            adjusted = holm([gate.p for gate in gates])
            yield from (gate.concluded(p, tasks) for gate, p in zip(gates, adjusted, strict=True))
        else:
            few = f"a test takes {ENOUGH_TASKS} tasks of {ENOUGH_PEOPLE} people; there are {tasks:,} of {people:,}"
            for name in (*METADATA, ACTIONS):
                yield AuditCheck.not_tested(name, few)
            for name in BLIND if tasks else ():
                sentence = f"{self._ruled(name).sentence}; {few}."
                yield AuditCheck(name=name, state="not tested", sentence=sentence, tested=tasks)
        for gate in map(self._ruled, READING if tasks else ()):
            sentence = f"{gate.sentence}; a rule that reads items may succeed."
            yield AuditCheck(name=gate.name, state="reported", sentence=sentence, tested=tasks, estimate=gate.estimate)

    def _classified(self) -> Iterator[_Gate]:
        """What classifiers of metadata reach, by one aspect of items and by all of them, and one of actions."""
        pools, aspects = pools_of(self._items, shared=True)
        columns = [[index for index, one in enumerate(aspects) if one == aspect] for aspect in _ASPECTS]
        over = f"over {counted(len(self._people), 'task')} of {counted(len(set(self._people)), 'person', 'people')}"
        for (name, what), seen in zip(METADATA.items(), [*columns, range(len(aspects))], strict=True):
            if (measured := separation(pools, seen)) is None:
                yield _Gate(name, f"Nothing to tell by: a classifier that sees {what} sees no difference")
                continue
            reached = f"{share(measured.share.value)} % of pairs ({_interval(measured.share)}; chance 50)"
            sentence = f"A classifier that sees {what} ranks evidence above another item in {reached}, {over}"
            yield _Gate(name, sentence, measured.share, (measured.share.low or 0) > CHANCE, measured.p)
        pools, aspects = pools_of(self._actions, shared=False)
        if (measured := separation(pools, range(len(aspects)))) is None:
            yield _Gate(ACTIONS, "Nothing to tell by: a classifier that sees only the actions sees no difference")
            return
        chance = mean(1 / len(one.picked) for one in self._actions)
        sentence = (
            f"A classifier that sees only the actions ranks the right one above another in "
            f"{share(measured.share.value)} % of pairs ({_interval(measured.share)}; chance 50), and first in "
            f"{share(measured.first)} % of tasks (chance {share(chance)}), {over}"
        )
        yield _Gate(ACTIONS, sentence, measured.share, (measured.share.low or 0) > CHANCE, measured.p)

    def _ruled(self, name: str) -> _Gate:
        """What a rule scores beside as many items at random."""
        scores, chance = zip(*self._scores[name], strict=True)
        paired = paired_difference(chance, scores, self._people)
        difference, p = paired.difference, paired.p
        few = len(set(self._people)) < FEWEST_PERSONAS
        if few:  # two or three people who happen to be alike would give an interval that looks sharp
            difference = Estimate(difference.value, reason=f"fewer than {FEWEST_PERSONAS} people")
        higher = (difference.value or 0) > 0
        sided = None if p is None else p / 2 if higher else 1 - p / 2
        reached = f"score F1 {share(mean(scores))}, and as many at random {share(mean(chance))}"
        sentence = f"The {TAKE} {RULES[name][0]} {reached}: {points_of(difference)} points"
        sentence += f" (no interval: {difference.reason})" if few else ""
        return _Gate(name, sentence, difference, higher and excludes_zero(difference), sided)


def _interval(estimate: Estimate) -> str:
    return f"95 % {share(estimate.low)} to {share(estimate.high)}" if estimate.low is not None else f"{estimate.reason}"
