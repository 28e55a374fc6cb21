"""Rules in code over what is planned for a person: world, bottlenecks, actions; a sentence for each broken one.

Rules of a *writer's* answer are exact. Rules of an *auditor's* answer say whether it can be believed; what an audit
finds wrong (`..._findings`) is a reason against what was audited.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import date

from dspy_proact.benchmarks.probe.generation.values import (
    ActionAudit,
    BottleneckAudit,
    DraftAction,
    DraftBottleneck,
    DraftWorld,
    LedgerEntry,
)
from dspy_proact.benchmarks.probe.task import Difficulty
from dspy_proact.evidence import words_of
from dspy_proact.programs.wording import advised, holds
from dspy_proact.stats.likeness import near_duplicates

RELATIONSHIPS: dict[Difficulty, tuple[int, int]] = {"easy": (3, 5), "medium": (8, 12), "hard": (15, 20)}
TEAM: dict[Difficulty, tuple[int, int]] = {"easy": (3, 5), "medium": (5, 10), "hard": (10, 20)}
ACTIONS: dict[Difficulty, tuple[int, int]] = {"easy": (12, 5), "medium": (18, 8), "hard": (25, 10)}
"""The least, and how many there are at least beside those that resolve something."""
_ID = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_MONTH = rf"({'|'.join(_MONTHS)}|{'|'.join(month[:3] for month in _MONTHS)}|Sept)\b\.?"
_OTHER_MONTHS = {
    name: number
    for names in (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "januari februari maart april mei juni juli augustus september oktober november december",
    )
    for number, name in enumerate(names.split(), start=1)
}
"""Of German, French, Spanish, Italian, Portuguese and Dutch, as a date has them."""
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+((?:19|20)\d{2}))?\b"
_DATES = (
    (
        re.compile(
            rf"\b(\d{{1,2}})(?:\.|er|º)?\s+(?:de\s+)?({'|'.join(_OTHER_MONTHS)})\b(?:\s+(?:de\s+)?((?:19|20)\d{{2}}))?\b"
        ),
        "dmy",
    ),
    (re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.((?:19|20)\d{2})(?!\d)"), "dmy"),
    (re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)"), "ymd"),
    (re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}"), "dmy"),
    (re.compile(rf"\b{_MONTH}\s+{_DAY}\b{_YEAR}"), "mdy"),
)
_NUMERAL = re.compile(r"\d+(?:[.,'\u2019\u00a0\u202f ]\d+)*")
_AMOUNT = re.compile(r"\d+(?:\.\d+)?\s*[^\d\s].*")


def dates_in(text: str, near: date) -> list[date]:
    """Days that a text names; without a year that which is nearest.

    As YYYY-MM-DD or DD.MM.YYYY, or written out in English, German, French, Spanish, Italian, Portuguese or Dutch.
    """
    days = list[date]()
    for pattern, order in _DATES:
        for match in pattern.finditer(text):
            parts = dict(zip(order, match.groups(), strict=True))
            name = parts["m"]
            written = _OTHER_MONTHS.get(name) or next((n for n, of in enumerate(_MONTHS, 1) if of[:3] == name[:3]), 0)
            month = int(name) if name.isdigit() else written
            years = [int(parts["y"])] if parts["y"] else [near.year, near.year - 1, near.year + 1]
            candidates = list[date]()
            for year in years:
                with suppress(ValueError):
                    candidates.append(date(year, month, int(parts["d"])))
            days += [min(candidates, key=lambda day: abs(day - near))] if candidates else []
    return days


def digits_in(text: str) -> set[str]:
    """The numbers in a text, their digits alone: with and without what separates thousands."""
    joined = _NUMERAL.findall(text)
    return {re.sub(r"\D", "", run) for run in (*joined, *re.findall(r"\d+", text))}


def day_of(value: str) -> date | None:
    """A day as YYYY-MM-DD; None for anything else."""
    with suppress(ValueError):
        return date.fromisoformat(value.strip()) if len(value.strip()) == 10 else None
    return None


def states_day(day: date, passage: str) -> bool:
    """Whether a passage names a day, also as the first of several (14 and 15 May).

    In a language whose months are not known it is enough that the number of the day stands in it.
    """
    named = dates_in(passage, day)
    if day in named:
        return True
    is_month = not named or any((other.year, other.month) == (day.year, day.month) for other in named)
    return is_month and str(day.day) in {digits.lstrip("0") for digits in digits_in(passage)}


def states(entry: LedgerEntry, passage: str) -> bool:
    """Whether a passage gives the value of an entry."""
    if entry.kind == "date":
        day = day_of(entry.value)
        return day is not None and states_day(day, passage)
    number = _NUMERAL.search(entry.value)
    return number is not None and re.sub(r"\D", "", number[0]) in digits_in(passage)


def same_value(entry: LedgerEntry, value: str) -> bool:
    """Whether a value is that of an entry, whatever the unit's words; of an amount, by its first number."""
    if entry.kind == "date":
        return day_of(value) == day_of(entry.value)
    numbers = [re.sub(r"\D", "", run[0]) if (run := _NUMERAL.search(text)) else "" for text in (value, entry.value)]
    return bool(numbers[0]) and numbers[0] == numbers[1]


def names_of(world: DraftWorld) -> list[str]:
    """The names of the person and of the others, in their order."""
    return [world.full_name, *(one.name for one in world.relationships)]


def world_rules(world: DraftWorld, difficulty: Difficulty, initials: str = "") -> list[str]:
    """What is wrong with a world; given names in Latin letters begin with one of the `initials`."""
    names, (least, most) = names_of(world), RELATIONSHIPS[difficulty]
    texts = ("full_name", "occupation", "about", "company_name", "department", "work_style")
    reasons = [f"`{name}` is blank; write it." for name in texts if not getattr(world, name).strip()]
    if not least <= len(world.relationships) <= most:
        reasons.append(f"Give {least} to {most} relationships, not {len(world.relationships)}.")
    if not TEAM[difficulty][0] <= world.team_size <= TEAM[difficulty][1]:
        reasons.append(f"`team_size` is {TEAM[difficulty][0]} to {TEAM[difficulty][1]}, not {world.team_size}.")
    if not any(same_name(world.reporting_to, one.name) for one in world.relationships):
        reasons.append("`reporting_to` is the name of one of the relationships; give that of the manager.")
    reasons += [f"The name {name!r} has no word; give the person one." for name in names if not words_of(name)]
    # Files name people, and readers refuse what a terminal would obey or hide.
    reasons += [
        f"The name {name!r} has a character that is not shown; leave it out."
        for name in names
        if not name.isprintable()
    ]
    first = [name.split()[0].casefold() for name in names if name.split()]
    reasons += [f"Two people are called {name!r}; no two share a given name." for name in _repeated(first)]
    for name in names if initials else ():
        if "A" <= name.strip()[:1].upper() <= "Z" and name.strip()[0].upper() not in initials:
            reasons.append(f"The name {name!r} begins with none of {initials}; take one that does.")
    return reasons


def bottleneck_rules(bottlenecks: Sequence[DraftBottleneck], count: int, window: tuple[date, date]) -> list[str]:
    """What is wrong with the bottlenecks of a person; items are written in the `window`, whose last day is today."""
    if [one.id for one in bottlenecks] != [f"b{number}" for number in range(1, count + 1)]:
        return [f"Write exactly {count}, with the ids {', '.join(f'b{number}' for number in range(1, count + 1))}."]
    entries = [entry for one in bottlenecks for entry in one.ledger]
    reasons = [f"Two entries of the ledger have the id {id_!r}." for id_ in _repeated([entry.id for entry in entries])]
    if wrong := [entry.id for entry in entries if not re.fullmatch(r"f\d+", entry.id)]:
        reasons.append(f"Ids of the ledger are f1, f2 and so on, not {', '.join(map(repr, wrong))}.")
    for one in bottlenecks:
        reasons += [f"{one.id}: {reason}" for reason in _one_bottleneck(one, window)]
    texts = [f"{one.description} {one.resolution}" for one in bottlenecks]
    for pair in near_duplicates(texts):
        reasons.append(f"{bottlenecks[pair.second].id} is {bottlenecks[pair.first].id} once more; invent another.")
    return reasons


def _one_bottleneck(one: DraftBottleneck, window: tuple[date, date]) -> Iterable[str]:
    facets = one.facets.model_dump()
    for name, text in {"description": one.description, "resolution": one.resolution, **facets}.items():
        if text is not None and not text.strip():
            yield f"`{name}` is blank; write it{', or make it null' if name in facets else ''}."
    text = "\n".join([one.description, one.resolution, *filter(None, facets.values())])
    for entry in one.ledger:
        day = day_of(entry.value)
        if entry.kind == "date" and day is None:
            yield f"the date {entry.value!r} of {entry.id} is not of the form YYYY-MM-DD."
        elif entry.kind == "amount" and not _AMOUNT.fullmatch(entry.value.strip()):
            yield f"the amount {entry.value!r} of {entry.id} is not a number in plain digits and its unit."
        elif not states(entry, text):
            yield f"{entry.id} ({entry.value}) occurs in no facet, description or resolution; state it or drop it."
        elif entry.kind == "date" and day and window[0] <= day <= window[1]:
            yield f"the date of {entry.id} lies between {window[0]} and {window[1]}; take one before or after."
    days = {day_of(entry.value) for entry in one.ledger if entry.kind == "date"}
    for day in dict.fromkeys(dates_in(text, window[1])):
        if day not in days:
            yield f"it names {day}, which is no date of its ledger; enter it, or write the ledger's."


def bottleneck_audit_rules(audit: BottleneckAudit, bottlenecks: Sequence[DraftBottleneck]) -> list[str]:
    """Whether an audit of bottlenecks can be believed."""
    facets = {one.id: one.facets.model_dump() for one in bottlenecks}
    named = [*audit.revealed, *audit.alike, *audit.unresolvable, *(one.bottleneck for one in audit.unmet)]
    reasons = unknown_ids(named, facets, "bottleneck")
    for one in audit.unmet:
        if one.bottleneck in facets and facets[one.bottleneck][one.facet] is None:
            reasons.append(f"The facet {one.facet} of {one.bottleneck} is null: it cannot be unmet.")
    return reasons


def bottleneck_findings(audit: BottleneckAudit) -> list[str]:
    """What an audit finds wrong with bottlenecks."""
    reasons = [
        f"{one.bottleneck}: the facet {one.facet} cannot be met ({one.why.strip()}); mend it, or make it null."
        for one in audit.unmet
    ]
    reasons += [f"{id_} can be read out of the world; take another." for id_ in audit.revealed]
    reasons += [f"{id_} is too near to another one; take another." for id_ in audit.alike]
    reasons += [f"{id_} is not resolved by one action of the person; take another." for id_ in audit.unresolvable]
    return advised(reasons, audit.advice)


def action_count(difficulty: Difficulty, bottlenecks: int) -> int:
    """How many actions a person has."""
    least, beside = ACTIONS[difficulty]
    return max(least, bottlenecks + beside)


def action_rules(
    actions: Sequence[DraftAction], bottlenecks: Sequence[DraftBottleneck], names: Collection[str], count: int
) -> list[str]:
    """What is wrong with the actions of a person, among whose people are these names."""
    reasons = [f"Write exactly {count} actions, not {len(actions)}."] if len(actions) != count else []
    reasons += [f"Two actions have the id {id_!r}." for id_ in _repeated([action.id for action in actions])]
    ids = [one.id for one in bottlenecks]
    reasons += unknown_ids([action.resolves for action in actions if action.resolves], ids, "bottleneck")
    for id_ in ids:
        if (resolving := sum(action.resolves == id_ for action in actions)) != 1:
            reasons.append(f"{id_} is resolved by {resolving} actions; exactly one resolves it.")
    secrets = [*names, *(entry.value for one in bottlenecks for entry in one.ledger if entry.kind == "amount")]
    for action in actions:
        reasons += _one_action(action, secrets)
        others = [other for other in actions if other.resolves is None]
        if action.resolves and others:
            if action.type not in {other.type for other in others}:
                reasons.append(f"No other action has the type {action.type} of {action.id}; give it to some.")
            sizes, size = [len(other.parameters) for other in others], len(action.parameters)
            if not min(sizes) <= size <= max(sizes):
                reasons.append(
                    f"{action.id} has {size} parameters, others {min(sizes)} to {max(sizes)}; give it as many "
                    "as others have, or give others as many."
                )
    return reasons


def _one_action(action: DraftAction, secrets: Sequence[str]) -> Iterable[str]:
    parameters = [parameter.name for parameter in action.parameters]
    for name in (action.id, *parameters):
        if not _ID.fullmatch(name):
            yield f"{name!r} is not in lower case with underscores."
    yield from (f"{action.id}: two parameters are called {name!r}." for name in _repeated(parameters))
    about = [parameter.description for parameter in action.parameters]
    text = "\n".join([action.id, action.description, *action.constraints, *parameters, *about])
    yield from (
        f"{action.id} names {secret!r}; what is particular is the value of a parameter."
        for secret in secrets
        if holds(text, secret)
    )
    if dates_in(text, date.min.replace(year=2000)):
        yield f"{action.id} names a date; what is particular is the value of a parameter."


def action_audit_rules(audit: ActionAudit, actions: Sequence[DraftAction]) -> list[str]:
    """Whether an audit of actions can be believed."""
    return unknown_ids(audit.resolving, [action.id for action in actions], "action")


def action_findings(audit: ActionAudit, bottleneck: str, action: str) -> list[str]:
    """What an audit finds wrong with the actions for a bottleneck, which this one was made for."""
    resolving, reason = sorted(set(audit.resolving)), audit.reason.strip()
    if resolving == [action]:
        return []
    if action not in resolving:
        return [f"{bottleneck}: {action} does not resolve it ({reason}); write one that does by itself."]
    others = ", ".join(id_ for id_ in resolving if id_ != action)
    return [
        f"{bottleneck}: {others} would resolve it, too ({reason}); put others in place of these, and keep {action}."
    ]


def same_name(one: str, other: str) -> bool:
    """Whether two names have the same words, whatever their case; none has those of a blank one."""
    return bool(words_of(one)) and words_of(one) == words_of(other)


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def unknown_ids(names: Iterable[str], known: Collection[str], what: str) -> list[str]:
    """A sentence for each name that is no id of those known."""
    return [
        f"There is no {what} {name!r} here; the ids are {', '.join(known)}."
        for name in dict.fromkeys(names)
        if name not in known
    ]
