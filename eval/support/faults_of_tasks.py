"""Faults in what is written of PROBE's tasks, as code may see them, and in other words."""

import re
from collections import defaultdict
from collections.abc import Callable

from dspy_proact.programs.embedded.words import sentences
from support.faulty_task_writers import Planting, TaskFault, TaskQuestion, Value

GHOST, CALL = "Grainger and Sons", "As Grainger said on the phone, that is settled"
MOON, EITHER, MILD = "the phase of the moon", "Either of the two will do", "The weather was mild and nobody wondered"


def _parameter(kind: str, name: str, value: str) -> Planting:
    """Has the first parameter of a kind filled in otherwise."""

    def plant(question: TaskQuestion, answer: Value) -> bool:
        kinds = {one["name"]: one["kind"] for one in question.value("action")["parameters"]}
        own = [one for one in answer["parameters"] if kinds[one["name"]] == kind]
        for one in own[:1]:
            one[name] = value
        return bool(own)

    return plant


def _marked_twice(_: TaskQuestion, answer: Value) -> bool:
    """Another action is made for the same bottleneck."""
    resolving = [action for action in answer["actions"] if action["resolves"]]
    other = next(action for action in answer["actions"] if not action["resolves"])
    other |= {"resolves": resolving[0]["resolves"], "description": f"{other['description']} {EITHER}."}
    return True


def _does_the_same(_: TaskQuestion, answer: Value) -> bool:
    """Another action, made for none, does what the first resolving one does."""
    first = next(action for action in answer["actions"] if action["resolves"])
    other = next(action for action in answer["actions"] if not action["resolves"])
    other["description"] = f"{first['description']} {EITHER}."
    return True


def _both_named(question: TaskQuestion, answer: Value) -> None:
    """The auditor names whatever does what one does that resolves the bottleneck."""
    audit, actions = answer["audit"], question.value("actions")
    own = [action["description"] for action in actions if action["id"] in audit["resolving"]]
    same = [
        one["id"] for one in actions if EITHER in one["description"] and any(map(one["description"].startswith, own))
    ]
    audit["resolving"] = sorted({*audit["resolving"], *same})


def _own_type(_: TaskQuestion, answer: Value) -> bool:
    """The right action has a type that no other has."""
    types = [action["type"] for action in answer["actions"]]
    resolving = next(action for action in answer["actions"] if action["resolves"])
    free = next(name for name in ("conduct_review", "make_phone_call", "reply_email") if name not in types)
    resolving |= {"type": free, "description": f"{resolving['description']} {EITHER}."}
    return True


def _unplanned(_: TaskQuestion, answer: Value) -> bool:
    """No item is to state the root cause."""
    for item in answer["items"]:
        item["facets"] = [name for name in item["facets"] if name != "why_root_cause"]
        item["states"] = f"{item['states']} {MILD}."
    return True


def _all_in_one(question: TaskQuestion, answer: Value) -> bool:
    """One item is to state everything."""
    facets = [name for name, text in question.value("bottleneck")["facets"].items() if text]
    answer["items"][0] |= {"facets": facets, "states": f"{answer['items'][0]['states']} {MILD}."}
    return True


def _unstated(_: TaskQuestion, answer: Value) -> bool:
    """The item says nowhere where it states what it had to."""
    written = answer["written"]
    written["item"]["title"] = f"{written['item']['title']}, {MILD}"
    written["stated"] = []
    return True


def _silent(quoted: bool) -> Planting:
    """A passage that states one facet and no value is another one, quoted as it was or as it is now."""

    def plant(question: TaskQuestion, answer: Value) -> bool:
        written, facets = answer["written"], question.value("bottleneck")["facets"]
        of_quotes = defaultdict[str, list[str]](list)
        for one in written["stated"]:
            of_quotes[one["quote"]].append(one["what"])
        alone = [(quote, names[0]) for quote, names in of_quotes.items() if len(names) == 1 and names[0] in facets]
        for quote, name in alone[:1]:
            after = _as_long(f"{MILD} ({name}).", quote)
            written["item"]["text"] = written["item"]["text"].replace(quote, after)
            for one in written["stated"]:
                one["quote"] = after if quoted and one["quote"] == quote else one["quote"]
        return bool(alone)

    return plant


def _as_long(text: str, other: str) -> str:
    """A text that is repeated until it has as many words as the other."""
    return " ".join([text] * max(1, round(len(other.split()) / len(text.split()))))


def _reviewed(change: Callable[[Value, list[Value]], None]) -> Callable[[TaskQuestion, Value], None]:
    """A review that is changed where items have the mark."""

    def audit(question: TaskQuestion, answer: Value) -> None:
        marked = [item for item in question.value("items") if MILD in item["item"]["text"]]
        if marked:
            change(answer["review"], marked)

    return audit


def _replaced(marked: list[Value]) -> list[tuple[str, int]]:
    """Facets whose passages are others, and the items in which they were."""
    return [
        (name, item["number"]) for item in marked for name in re.findall(rf"{MILD} \((\w+)\)", item["item"]["text"])
    ]


def _not_shown(review: Value, marked: list[Value]) -> None:
    names = {name for name, _ in _replaced(marked)}
    review["shown"] = [one for one in review["shown"] if one["facet"] not in names]


def _shown_all_the_same(review: Value, marked: list[Value]) -> None:
    _not_shown(review, marked)
    review["shown"] += [{"facet": name, "item": item, "quote": MILD} for name, item in _replaced(marked)]


def _says_all(question: TaskQuestion, answer: Value) -> bool:
    """An item describes the bottleneck as a whole."""
    item, stated = answer["written"]["item"], answer["written"]["stated"]
    added = f"{MILD}. {question.value('bottleneck')['description']}"
    lines, over = sentences(item["text"]), len(added.split())
    needed = [line for line in lines if any(one["quote"] in line or line in one["quote"] for one in stated)]
    for line in [line for line in lines if line not in needed]:
        if over > 0:
            over -= len(line.split())
            lines.remove(line)
    item["text"] = " ".join([*lines, added])
    return True


def _enough(review: Value, marked: list[Value]) -> None:
    review["sufficient_alone"] = [item["number"] for item in marked]


def _blank(_: TaskQuestion, answer: Value) -> bool:
    """A facet is a blank."""
    answer["bottlenecks"][0]["facets"]["how_mechanism"] = " "
    answer["bottlenecks"][0]["resolution"] += f" {MILD}."
    return True


def _moon(_: TaskQuestion, answer: Value) -> bool:
    """A facet is what nobody could know."""
    answer["bottlenecks"][0]["facets"]["how_mechanism"] = f"It follows from {MOON} over the harbour"
    return True


def _unmet(question: TaskQuestion, answer: Value) -> None:
    own = [one["id"] for one in question.value("bottlenecks") if MOON in (one["facets"]["how_mechanism"] or "")]
    unmet = [one for one in answer["audit"]["unmet"] if one["facet"] != "how_mechanism" or one["bottleneck"] not in own]
    new = [{"bottleneck": id_, "facet": "how_mechanism", "why": "Nobody can know it."} for id_ in own]
    answer["audit"]["unmet"] = [*unmet, *new]


def _other_value(question: TaskQuestion, answer: Value) -> bool:
    """A date of the ledger is another one in the item, and is quoted so."""
    written, days = (
        answer["written"],
        {one["id"] for one in question.value("bottleneck")["ledger"] if one["kind"] == "date"},
    )
    quotes = {one["quote"] for one in written["stated"] if one["what"] in days}
    for quote in quotes:
        after = re.sub(r"\b\d{1,2} (?=[A-Z][a-z]+)", "1 ", quote)
        written["item"]["text"] = written["item"]["text"].replace(quote, after)
        written["item"]["title"] = f"{written['item']['title']}, {MILD}"
        for one in written["stated"]:
            one["quote"] = after if one["quote"] == quote else one["quote"]
    return bool(quotes)


def _long(_: TaskQuestion, answer: Value) -> bool:
    """An item of the evidence is half as long again as it was to be."""
    item = answer["written"]["item"]
    item["text"] = f"{item['text']} {_as_long(f'{MILD}.', item['text'][: len(item['text']) // 2])}"
    return True


def _longer(_: TaskQuestion, answer: Value) -> bool:
    """An item of the evidence is a fifth longer than it was to be, as an item may be."""
    item = answer["written"]["item"]
    item["text"] = f"{item['text']} {_as_long(f'{MILD}.', item['text'][: len(item['text']) // 5])}"
    return True


def _header(_: TaskQuestion, answer: Value) -> bool:
    """An item of the evidence has a line that says when it was sent."""
    answer["written"]["item"]["text"] = f"Sent: yesterday, {MILD}\n{answer['written']['item']['text']}"
    return True


def _shows(*named: str) -> Planting:
    """An item that is no evidence says what a bottleneck's fields say."""

    def plant(question: TaskQuestion, answer: Value) -> bool:
        item, bottleneck = answer["distractors"][0]["item"], question.value("bottlenecks")[0]
        known, lines = {**bottleneck, **bottleneck["facets"]}, sentences(item["text"])
        text = ". ".join([MILD, *(known[name].rstrip(".") for name in named)])
        while len(lines) > 1 and sum(map(_words, (*lines, text))) > _words(item["text"]):
            lines.pop()
        item["text"] = f"{' '.join([*lines, text])}."
        return True

    return plant


def _words(text: str) -> int:
    return len(text.split())


def _named_as_showing(question: TaskQuestion, answer: Value) -> None:
    marked = [item for item in question.value("items") if MILD in item["item"]["text"]]
    id_ = question.value("bottlenecks")[0]["id"]
    faults = [{"item": item["number"], "bottleneck": id_, "kind": "shows", "quote": MILD} for item in marked]
    kept = [one for one in answer["review"]["faults"] if one["item"] not in {item["number"] for item in marked}]
    answer["review"]["faults"] = [*kept, *faults]


PARAMETERS, TWO, EVIDENCE, FACET, DISTRACTOR = (
    "parameters not in the documents",
    "two resolving actions",
    "insufficient evidence",
    "a facet that cannot be met",
    "a distractor that is evidence",
)
_REVIEW, _ACTIONS, _BOTTLENECKS = "review of evidence", "audit of actions", "audit of bottlenecks"
TASK_FAULTS = [
    TaskFault(
        PARAMETERS,
        "a value that its quote does not have",
        "rule",
        "parameters",
        _parameter("text", "value", GHOST),
        "does not stand in the quote",
        GHOST,
    ),
    TaskFault(
        PARAMETERS,
        "a quote that is in no document",
        "rule",
        "parameters",
        _parameter("text", "quote", CALL),
        f"{CALL}.* does not stand in item",
        CALL,
    ),
    TaskFault(
        PARAMETERS,
        "a day that its quote does not name",
        "rule",
        "parameters",
        _parameter("date", "value", "2031-07-01"),
        "the quote does not name 2031-07-01",
        "2031-07-01",
    ),
    TaskFault(
        TWO, "two are made for one bottleneck", "rule", "actions", _marked_twice, "is resolved by 2 actions", EITHER
    ),
    TaskFault(
        TWO,
        "another one does the same, and is made for none",
        "auditor",
        "actions",
        _does_the_same,
        "would resolve it, too",
        EITHER,
        _ACTIONS,
        _both_named,
    ),
    TaskFault(
        "action by its type",
        "the right one has a type of its own",
        "rule",
        "actions",
        _own_type,
        "No other action has the type",
        EITHER,
    ),
    TaskFault(
        EVIDENCE,
        "no item is to state the root cause",
        "rule",
        "items",
        _unplanned,
        "No item states why_root_cause",
        MILD,
    ),
    TaskFault(
        EVIDENCE,
        "an item does not say where it states what it had to",
        "rule",
        "written",
        _unstated,
        "`stated` has no passage",
        MILD,
    ),
    TaskFault(
        EVIDENCE,
        "a facet is quoted and not in the text",
        "rule",
        "written",
        _silent(quoted=False),
        "does not stand in the text",
        MILD,
    ),
    TaskFault(
        EVIDENCE,
        "something else is quoted for a facet",
        "auditor",
        "written",
        _silent(quoted=True),
        r"No item states \w+; let one",
        MILD,
        _REVIEW,
        _reviewed(_not_shown),
    ),
    TaskFault(
        EVIDENCE,
        "the same, and the auditor takes it for shown",
        "proof",
        "written",
        _silent(quoted=True),
        "From all its evidence, 0 of",
        MILD,
        _REVIEW,
        _reviewed(_shown_all_the_same),
    ),
    TaskFault(
        "one item is enough",
        "it is to state everything",
        "rule",
        "items",
        _all_in_one,
        "states .* alone; leave one",
        MILD,
    ),
    TaskFault(
        "one item is enough",
        "it describes the bottleneck",
        "auditor",
        "written",
        _says_all,
        "alone is enough",
        MILD,
        _REVIEW,
        _reviewed(_enough),
    ),
    TaskFault(FACET, "it is a blank", "rule", "bottlenecks", _blank, "`how_mechanism` is blank", MILD),
    TaskFault(
        FACET, "nobody could know it", "auditor", "bottlenecks", _moon, "cannot be met", MOON, _BOTTLENECKS, _unmet
    ),
    TaskFault(
        "another date",
        "in the evidence, quoted as it stands there",
        "rule",
        "written",
        _other_value,
        "does not give f",
        MILD,
    ),
    TaskFault(
        "length",
        "evidence is half as long again as asked for",
        "rule",
        "written",
        _long,
        r"The text has \d+ words",
        MILD,
    ),
    TaskFault("time", "evidence says when it was sent", "rule", "written", _header, "a line of a header", MILD),
    TaskFault(
        DISTRACTOR,
        "it describes a bottleneck",
        "rule",
        "distractors",
        _shows("description"),
        "It has every value that",
        MILD,
    ),
    TaskFault(
        DISTRACTOR,
        "it says what stands still and why, without a value",
        "auditor",
        "distractors",
        _shows("what_task", "why_root_cause"),
        "shows b1",
        MILD,
        "review of distractors",
        _named_as_showing,
    ),
]
LONGER = TaskFault("length", "evidence is a fifth longer than asked for", "gate", "written", _longer, "", MILD)
"""What no rule refuses, since any item may be so long: only many tasks show it."""
