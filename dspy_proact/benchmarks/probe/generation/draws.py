"""What code draws for a person: role, day and difficulty, and of every item its kind, length, id, time and position.

All of it follows from seed and slot and from what an item is, so that neither what is written nor the order in which it
comes decides anything. Evidence and other items are drawn from one distribution: nothing but their content tells which
is which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from dspy_proact.benchmarks.probe.generation.brief import ProbeBrief
from dspy_proact.benchmarks.probe.generation.made import MadeTask
from dspy_proact.benchmarks.probe.generation.values import DistractorOrder, ItemKind
from dspy_proact.benchmarks.probe.task import Difficulty
from dspy_proact.files.personas import Persona
from dspy_proact.generation.attempt import cycled, rollout_of

COMMON: Mapping[str, str] = {
    "proposal dismissed": "A remedy is proposed and turned down for a reason that stands.",
    "outdated": "A problem that held work up is shown as over by what the item itself states.",
    "awaiting approval": "Something waits for a decision that is due, in time and on its way.",
    "unaddressable": "A real nuisance that neither the person nor their assistant can do anything about.",
    "resolved": "A problem is mentioned together with what somebody has already done to end it.",
    "false similarity": "The words of a bottleneck, about another matter that is in order.",
    "delegated": "A matter that somebody else has taken over and answers for.",
    "contingency": "A plan for something that has not happened.",
    "historical": "What once went wrong, told as a lesson.",
    "scope mismatch": "A matter of another team, site or person that looks like one's own.",
}
TEMPLATES: Mapping[str, str] = {
    "counterfactual": "The template about another object, with the decisive circumstance turned around: all goes on.",
    "entity swap": "The template about another person, thing or place, where all is well.",
    "time scope": "Such a matter as the template's, of an earlier occasion, which has ended.",
    "template clone": "The form and the tone of the template, about something else.",
    "generic counterfactual": "A text of that kind about another object, with which such a bottleneck cannot occur.",
}
"""Strategies that take the form of an item of the evidence."""
OFFICE = "office life"
NOISE = "What people write in an office about nothing that matters here; it may sound urgent."
STRATEGIES: Mapping[str, str] = {**COMMON, **TEMPLATES, OFFICE: NOISE}
"""All of them, by name; each corpus takes turns through them."""


EVIDENCE: dict[Difficulty, tuple[int, int]] = {"easy": (2, 2), "medium": (2, 3), "hard": (3, 5)}
"""Items of a task's evidence, from the fewest to the most."""
SHARES: Mapping[ItemKind, int] = {"email": 5, "document": 3, "event": 2}
"""Of ten items, whatever they are for, as in the paper."""
WORDS: dict[Difficulty, dict[ItemKind, tuple[int, int]]] = {
    "easy": {"email": (100, 200), "document": (150, 300), "event": (60, 120)},
    "medium": {"email": (250, 400), "document": (400, 650), "event": (120, 220)},
    "hard": {"email": (400, 650), "document": (700, 1100), "event": (200, 350)},
}
"""Of an item's text, evidence or not, from the fewest to the most."""
DAYS = 28
"""In which the items of a person are written; the last is today."""
_OPENS, _CLOSES = 8 * 60, 18 * 60
"""Minutes of the day between which items are written and events begin."""
_LENGTHS = (30, 45, 60, 90)
"""Minutes of an event."""
_FIRST_MONDAY, _WORKDAYS = date(2026, 1, 5), 260
_ALPHABET, _INITIALS = "ABCDEFGHIJKLMNOPRSTVWYZ", 8


@dataclass(frozen=True)
class PersonSetting:
    """What follows from seed, slot and attempt for a person."""

    seed: int
    slot: int
    persona: Persona
    roles: Sequence[str]
    """Of the brief; the first is the person's."""
    difficulty: Difficulty
    today: date
    """A weekday."""
    initials: str
    """Of given names, which a model would repeat from person to person."""

    @classmethod
    def of(cls, brief: ProbeBrief, seed: int, slot: int, attempt: int = 1) -> "PersonSetting":
        """That of an attempt at a slot, both counted from 1: a further attempt has other initials."""
        roles, difficulty = brief.work.roles, brief.tasks.difficulty
        first = cycled(range(len(roles)), seed, slot, "role")
        mixed: Difficulty = cycled(("easy", "medium", "hard"), seed, slot, "difficulty")
        week, day = divmod(rollout_of(seed, slot, "today") % _WORKDAYS, 5)
        letters = sorted(_ALPHABET, key=lambda letter: rollout_of(seed, slot, attempt, "initial", letter))
        return cls(
            seed,
            slot,
            cycled(brief.personas(), seed, slot, "persona"),
            [*roles[first:], *roles[:first]],
            mixed if difficulty == "mixed" else difficulty,
            _FIRST_MONDAY + timedelta(days=7 * week + day),
            ", ".join(letters[:_INITIALS]),
        )

    @property
    def window(self) -> tuple[date, date]:
        """First and last day on which items are written."""
        return self.today - timedelta(days=DAYS - 1), self.today

    def draw(self, *what: object) -> int:
        """A number in [0, 2**62) for something of the person."""
        return rollout_of(self.seed, self.slot, *what)

    def between(self, bounds: tuple[int, int], *what: object) -> int:
        """A number from the first to the last of these, each as likely as another."""
        return bounds[0] + self.draw(*what) % (bounds[1] - bounds[0] + 1)

    def kind(self, *item: object) -> ItemKind:
        """Of an item, whatever it is for."""
        kinds: list[ItemKind] = [kind for kind, share in SHARES.items() for _ in range(share)]
        return kinds[self.draw("kind", *item) % len(kinds)]

    def words(self, kind: ItemKind, *item: object) -> int:
        """Of an item's text, about."""
        return self.between(WORDS[self.difficulty][kind], "words", *item)

    def evidence_kinds(self, task: int) -> list[ItemKind]:
        """Of the items of a task's evidence, by the task's number."""
        count = self.between(EVIDENCE[self.difficulty], "evidence", task)
        return [self.kind("evidence", task, number) for number in range(1, count + 1)]

    def stamps(self, kind: ItemKind, *item: object) -> dict[str, Any]:
        """Id, kind, time and end of an item, as `MadeItem` has them."""
        days = [self.today - timedelta(days=back) for back in range(DAYS)]
        days = [day for day in days if day.weekday() < 5]
        minute = self.between((_OPENS, _CLOSES - 1), "minute", *item)
        if kind == "event":
            minute -= minute % 15  # as calendars have them
        begins = datetime.combine(days[self.draw("day", *item) % len(days)], time(minute // 60, minute % 60))
        ends = begins + timedelta(minutes=_LENGTHS[self.draw("length", *item) % len(_LENGTHS)])
        id_ = f"item_{self.draw('id', *item) % 16**8:08x}"
        return {"id": id_, "kind": kind, "time": begins.isoformat(), "end": ends.isoformat() if kind == "event" else ""}

    def orders(self, count: int, tasks: Sequence[MadeTask]) -> list[DistractorOrder]:
        """What the items that are no evidence are to be: strategies, bottlenecks and templates take turns.

        A template is of the kind that was drawn; where no evidence is of it, another strategy of the turn stands in.
        `template` counts all evidence of the tasks, from 1.
        """
        evidence = [(task, item) for task in tasks for item in task.evidence]
        orders, turns = list[DistractorOrder](), dict[str, int]()
        for number in range(1, count + 1):
            kind, near, template = self.kind("distractor", number), None, None
            fitting = [index for index, (_, item) in enumerate(evidence) if item.kind == kind]
            known = [name for name in STRATEGIES if fitting or name not in TEMPLATES]
            name = cycled(known, self.draw("strategies"), number, "strategy")
            if name in TEMPLATES:
                turns[kind] = turns.get(kind, -1) + 1
                template = fitting[turns[kind] % len(fitting)]
                near = evidence[template][0].bottleneck.id
            elif name != OFFICE:
                turns[""] = turns.get("", -1) + 1
                near = tasks[turns[""] % len(tasks)].bottleneck.id
            orders.append(
                DistractorOrder(
                    number=number,
                    kind=kind,
                    strategy=f"{name}: {STRATEGIES[name]}",
                    near=near,
                    template=None if template is None else template + 1,
                    words=self.words(kind, "distractor", number),
                )
            )
        return orders
