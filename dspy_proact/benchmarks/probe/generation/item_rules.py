"""Rules in code over the items of a person: plan, evidence, parameters, distractors; a sentence for each broken one.

As in `rules`, a reviewer's answer has rules of its own, and findings against what is reviewed.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from dspy_proact.benchmarks.probe.generation.rules import (
    dates_in,
    day_of,
    digits_in,
    names_of,
    same_name,
    same_value,
    states,
    states_day,
    unknown_ids,
)
from dspy_proact.benchmarks.probe.generation.values import (
    DistractorReview,
    DraftAction,
    DraftBottleneck,
    DraftItem,
    DraftWorld,
    EvidenceReview,
    FilledParameter,
    ItemKind,
    LedgerEntry,
    Parameter,
    PlannedItem,
    StatedValue,
    WrittenEvidence,
)
from dspy_proact.benchmarks.probe.scoring import ESSENTIAL
from dspy_proact.evidence import words_of
from dspy_proact.programs.wording import advised, holds, misquoted, stands, word_count

_BAND, _SLACK = 0.3, 20
"""Share of the words asked for, and words, by which a text may miss them."""
_HEADER = re.compile(r"^\s*(?:subject|from|to|cc|date|sent)\s*:", re.IGNORECASE | re.MULTILINE)
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Bounds:
    """What all items of a person keep to."""

    world: DraftWorld
    window: tuple[date, date]
    """First and last day on which items are written."""

    def of_item(self, item: DraftItem, kind: ItemKind, words: int) -> list[str]:
        """What is wrong with an item of a kind and of about so many words."""
        if not item.title.strip() or not words_of(item.text):
            return ["`title` or `text` is blank; write it."]
        names, people = names_of(self.world), [item.author, *item.people]
        reasons = [
            f"{name!r} is nobody of the world; take full names of it, or say in lower case which group or office it is."
            for name in people
            if not (is_group(name) or any(same_name(name, known) for known in names))
        ]
        is_named = any(same_name(name, names[0]) for name in people) or any(map(is_group, item.people))
        count, most_off = word_count(item.text), max(_BAND * words, _SLACK)
        flags = {
            "A document has no `people`; leave them out.": kind == "document" and item.people,
            "An e-mail has addressees; name them in `people`.": kind == "email" and not item.people,
            f"{names[0]} is neither its `author` nor among its `people`; it is in their {kind}s.": (
                kind != "document" and not is_named
            ),
            "Only an event has a `location`; leave it empty.": kind != "event" and item.location.strip(),
            f"The text has {count} words; write {words}, give or take {int(most_off)}.": abs(count - words) > most_off,
            "The text has a line of a header; leave subject, date and addressees out of it.": _HEADER.search(item.text),
        }
        reasons += [reason for reason, broken in flags.items() if broken]
        start, end = self.window
        days = [day for day in dict.fromkeys(dates_in(text_of(item), end)) if start <= day <= end]
        return reasons + [f"It names {day}, a day between {start} and {end}; name none of these." for day in days]


@dataclass(frozen=True)
class Matter:
    """What a task is about."""

    bottleneck: DraftBottleneck
    action: DraftAction
    """The one that resolves it."""

    @property
    def facets(self) -> list[str]:
        """Names of those that apply."""
        return [name for name, text in self.bottleneck.facets.model_dump().items() if text is not None]

    @property
    def parameters(self) -> list[str]:
        """Names of those of the action."""
        return [parameter.name for parameter in self.action.parameters]


def is_group(name: str) -> bool:
    """Whether a name is that of a group or an office, such as `all staff`, which stands in lower case."""
    return bool(words_of(name)) and not name.strip()[0].isupper()


def text_of(item: DraftItem) -> str:
    """Title and text, in which quotes stand."""
    return f"{item.title}\n{item.text}"


def plan_rules(items: Sequence[PlannedItem], kinds: Sequence[ItemKind], matter: Matter) -> list[str]:
    """What is wrong with the plan of the evidence of a bottleneck."""
    if [(item.number, item.kind) for item in items] != list(enumerate(kinds, start=1)):
        return [f"Plan {len(kinds)} items, numbered from 1, of these kinds in this order: {', '.join(kinds)}."]
    facets, parameters = matter.facets, matter.parameters
    essential, stated = set(facets).intersection(ESSENTIAL), [{*item.facets, *item.parameters} for item in items]
    reasons = unknown_ids([name for item in items for name in item.facets], facets, "facet")
    reasons += unknown_ids([name for item in items for name in item.parameters], parameters, "parameter")
    missing = [name for name in (*facets, *parameters) if not any(name in of_item for of_item in stated)]
    reasons += [f"No item states {name}; let one do so." for name in missing]
    for item, of_item in zip(items, stated, strict=True):
        if essential <= of_item:
            names = ", ".join(sorted(essential))
            reasons.append(f"Item {item.number} states {names} alone; leave one of them to another item.")
        if not of_item - {name for other in stated if other is not of_item for name in other}:
            reasons.append(f"Item {item.number} states nothing that no other item states; give it something alone.")
        if not item.role.strip() or not item.states.strip():
            reasons.append(f"Item {item.number}: `role` or `states` is blank; write it.")
    return reasons


def evidence_rules(
    written: WrittenEvidence, planned: PlannedItem, words: int, bounds: Bounds, matter: Matter
) -> list[str]:
    """What is wrong with an item of the evidence, of about so many words."""
    reasons, text = bounds.of_item(written.item, planned.kind, words), text_of(written.item)
    ledger = {entry.id: entry for entry in matter.bottleneck.ledger}
    known = [*matter.facets, *matter.parameters, *ledger]
    reasons += unknown_ids([one.what for one in written.stated], known, "facet, parameter or entry")
    missing = {*planned.facets, *planned.parameters} - {one.what for one in written.stated}
    reasons += [f"`stated` has no passage for {name}; state it, and quote the passage." for name in sorted(missing)]
    for one in written.stated:
        if not stands(one.quote, text):
            reasons.append(misquoted(one.quote, "the text or the title"))
        elif (entry := ledger.get(one.what)) and not states(entry, one.quote):
            reasons.append(f"{one.quote!r} does not give {entry.id} as {entry.value}; write that value.")
    return reasons


def parameter_rules(
    filled: Sequence[FilledParameter], action: DraftAction, items: Mapping[int, DraftItem]
) -> list[str]:
    """What is wrong with the values of an action's parameters; items by number."""
    kinds = {parameter.name: parameter for parameter in action.parameters}
    names = [one.name for one in filled]
    reasons = unknown_ids(names, list(kinds), "parameter")
    reasons += [f"Give {name} once." for name in kinds if names.count(name) != 1]
    for one in filled:
        parameter, item = kinds.get(one.name), items.get(one.item)
        if parameter is None:
            continue
        if item is None:
            reasons.append(f"{one.name}: there is no item {one.item}; the numbers are {', '.join(map(str, items))}.")
        elif not stands(one.quote, text_of(item)):
            reasons.append(f"{one.name}: {misquoted(one.quote, f'item {one.item}')}")
        elif wrong := _value_fault(parameter, one.value, one.quote, text_of(item)):
            reasons.append(f"{one.name}: {wrong}")
    return reasons


def _value_fault(parameter: Parameter, value: str | float | list[str], quote: str, text: str) -> str:
    """What is wrong with the value of a parameter; empty where nothing is."""
    match parameter.kind, value:
        case "text", str():
            return "" if holds(quote, value) else f"{value!r} does not stand in the quote; take its words."
        case "texts", list():
            if not value:
                return "the list is empty; name what it takes."
            missing = next((one for one in value if not holds(text, one)), None)
            return "" if missing is None else f"{missing!r} does not stand in the item; take its words."
        case "date", str() if day := day_of(value):
            return (
                "" if states_day(day, quote) else f"the quote does not name {value}; quote the day, or mend the value."
            )
        case "number", float() | int():
            shown = re.sub(r"\D", "", f"{value:.10g}")
            return (
                "" if shown in digits_in(quote) else f"the quote has no number {value:g}; quote it, or mend the value."
            )
        case _:
            forms = {"text": "a text", "texts": "a list of texts", "date": "a day as YYYY-MM-DD", "number": "a number"}
            return f"the value must be {forms[parameter.kind]}."


def review_rules(review: EvidenceReview, items: Mapping[int, DraftItem], matter: Matter) -> list[str]:
    """Whether a review of evidence can be believed."""
    reasons = _numbers([*review.sufficient_alone, *review.other_problems, *review.unnatural], items)
    reasons += _quotes([(one.item, one.quote) for one in (*review.shown, *review.values)], items)
    reasons += unknown_ids([one.facet for one in review.shown], matter.facets, "facet")
    return reasons + _values(review.values, matter.bottleneck.ledger)


def review_findings(review: EvidenceReview, matter: Matter) -> list[str]:
    """What a review finds wrong with the evidence of a bottleneck."""
    shown = {one.facet for one in review.shown}
    missing = [name for name in matter.facets if name not in shown]
    reasons = [f"No item states {name}; let one do so." for name in missing]
    reasons += [f"Item {number} alone is enough; let it state less." for number in review.sufficient_alone]
    reasons += [f"Item {number} shows other work that stands still; settle it." for number in review.other_problems]
    reasons += [f"Item {number} is not natural; write it as people do." for number in review.unnatural]
    reasons += [
        f"Item {one.item}: {reason}" for one, reason in _contradictions(review.values, matter.bottleneck.ledger)
    ]
    return advised(reasons, review.advice)


def distractor_fault(item: DraftItem, golden: Iterable[tuple[DraftAction, Sequence[FilledParameter]]]) -> str:
    """Of an item that should be no evidence, whether it gives all values that some action needs; empty where not."""
    text = text_of(item)
    for action, filled in golden:
        kinds = {parameter.name: parameter for parameter in action.parameters}
        if len(filled) > 1 and not any(_value_fault(kinds[one.name], one.value, text, text) for one in filled):
            return f"It has every value that {action.id} needs; leave them out."
    return ""


def distractor_review_rules(
    review: DistractorReview,
    items: Mapping[int, DraftItem],
    bottlenecks: Collection[str],
    ledger: Sequence[LedgerEntry],
) -> list[str]:
    """Whether a review of items that should be no evidence can be believed."""
    reasons = _numbers(review.unnatural, items)
    reasons += _quotes([(one.item, one.quote) for one in (*review.faults, *review.values)], items)
    reasons += unknown_ids([one.bottleneck for one in review.faults if one.bottleneck], bottlenecks, "bottleneck")
    for fault in review.faults:
        if (fault.kind == "new") != (fault.bottleneck is None):
            reasons.append("`bottleneck` is null where a fault is `new`, and else its id.")
    return reasons + _values(review.values, ledger)


def distractor_findings(review: DistractorReview, ledger: Sequence[LedgerEntry]) -> dict[int, list[str]]:
    """What a review finds wrong with items, by their numbers."""
    verbs = {"new": "shows other work that stands still; settle it in the item"}
    findings = dict[int, list[str]]()
    for fault in review.faults:
        text = f"{fault.quote!r} {verbs.get(fault.kind, f'{fault.kind} {fault.bottleneck}; write of another object')}."
        findings.setdefault(fault.item, []).append(text)
    for number in review.unnatural:
        findings.setdefault(number, []).append("It is not natural; write it as people do.")
    for one, reason in _contradictions(review.values, ledger):
        findings.setdefault(one.item, []).append(reason)
    return findings


def _numbers(numbers: Iterable[int], items: Collection[int]) -> list[str]:
    known = ", ".join(map(str, items))
    return [f"There is no item {n}; the numbers are {known}." for n in dict.fromkeys(numbers) if n not in items]


def _quotes(quotes: Sequence[tuple[int, str]], items: Mapping[int, DraftItem]) -> list[str]:
    reasons = _numbers([number for number, _ in quotes], items)
    return reasons + [
        misquoted(quote, f"item {number}")
        for number, quote in quotes
        if number in items and not stands(quote, text_of(items[number]))
    ]


def _values(values: Sequence[StatedValue], ledger: Sequence[LedgerEntry]) -> list[str]:
    entries = {entry.id: entry for entry in ledger}
    reasons = unknown_ids([one.entry for one in values], list(entries), "entry of the ledger")
    for one in values:
        entry = entries.get(one.entry)
        if entry and (day_of(one.value) is None if entry.kind == "date" else not _DECIMAL.search(one.value)):
            form = "a day as YYYY-MM-DD" if entry.kind == "date" else "a number and its unit"
            reasons.append(f"The value {one.value!r} of {one.entry} is not {form}.")
    return reasons


def _contradictions(values: Iterable[StatedValue], ledger: Sequence[LedgerEntry]) -> list[tuple[StatedValue, str]]:
    entries = {entry.id: entry for entry in ledger}
    return [
        (one, f"{one.quote!r} gives {one.value} where {one.entry} is {entries[one.entry].value}; write that value.")
        for one in values
        if not same_value(entries[one.entry], one.value)
    ]
