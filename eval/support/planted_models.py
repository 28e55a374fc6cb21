"""A provider of planted tasks: models that follow rules, and a proposer that picks the rule that fits what it is shown.

Each is a function of the text of one request; none knows which rule is hidden.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

from support.planted_rules import LEVELS, RULES, Rule, chance, judgement, response, rules_in
from support.provider import Received, Scripted

Fault = Literal["", "lenient", "strict", "lacking", "adding"]
"""What is wrong with an output; empty for a success."""
_FORM = re.compile(r"Respond with (?P<json>a JSON object)?.*\Z", re.DOTALL)
_ITEM = re.compile(
    r"^Answer \d+[^\n:]*: [A-Z ]+(?: \((?P<error>[^\n]*)\))?\nIt was given:\n(?P<inputs>.*?)^It answered:\n"
    r"(?P<outputs>.*?)^(?:What was right or wrong|How it was graded):$",
    re.DOTALL | re.MULTILINE,
)
"""An item of a brief, of which lines that were written by others begin with `| `."""
_QUOTED = re.compile(r"^\| (.*)$", re.MULTILINE)
_FAULTS: Mapping[str, Fault] = {
    "too lenient": "lenient",
    "too strict": "strict",
    "LACKING": "lacking",
    "BUSY": "adding",
}
_INSTRUCTION = re.compile(
    r"^(?:\[\[ ?## instruction ## ?\]\]|INSTRUCTION)\n(.*?)\n\n(?=\[\[|ANSWERS)", re.DOTALL | re.MULTILINE
)
_FIELD = re.compile(r"`(?:\[\[ ## )?(\w+)(?: ## \]\])?`")


@dataclass(frozen=True)
class ShownItem:
    """An item as a proposer is shown it."""

    inputs: str
    output: str
    """A grade, or a reply."""
    fault: Fault


def fit(rule: Rule, items: Sequence[ShownItem]) -> int:
    """How many faults a rule would mend, less the outputs that it would change without need."""
    mended = {-1: "lenient", 1: "strict", 0: "lacking"}[rule.step]
    changed = [item for item in items if rule.after(item.inputs, item.output) != item.output]
    return sum(1 if item.fault == mended else -1 for item in changed)


def best_rule(rules: Sequence[Rule], items: Sequence[ShownItem], request: str) -> Rule:
    """The rule that fits best; of those that fit alike the one that a hash of the request draws."""
    fits = [fit(rule, items) for rule in rules]
    best = [rule for rule, value in zip(rules, fits, strict=True) if value == max(fits)]
    return best[chance(request)[1] % len(best)]


@dataclass
class PlantedModels:
    """What the provider of a compile replies; `blind` takes the inputs of items out of what the proposer is sent."""

    blind: bool = False
    picks: dict[str, tuple[Rule, Sequence[Rule]]] = field(default_factory=dict[str, tuple[Rule, Sequence[Rule]]])
    """By the request, the rule that the proposer picked, and those that the instruction had."""
    _turn: Lock = field(default_factory=Lock, repr=False)

    def __call__(self, received: Received) -> Scripted:
        """The reply to a request, by its text and the role that is asked."""
        messages = received.body["messages"]
        system = "\n".join(message["content"] for message in messages if message["role"] == "system")
        last, request = messages[-1]["content"], json.dumps(messages)
        if received.role == "judge":
            return in_form(last, {"grade": judgement(system, last, request)})
        if received.role == "assistant":
            return in_form(last, {"reply": response(system, last, request)})
        return in_form(last, dict.fromkeys(fields_of(last), self._proposed(f"{system}\n{last}", request)))

    def _proposed(self, text: str, request: str) -> str:
        """The instruction in a request with the sentence of the rule that fits best, and is not in it yet."""
        text = without_inputs(text) if self.blind else text
        instruction, items = instruction_in(text), items_in(text)
        assert items, "a request of another form than the one that is read here"
        role = "judge" if all(item.output in LEVELS for item in items) else "assistant"
        known = rules_in(instruction, role)
        rule = best_rule([rule for rule in RULES[role] if rule not in known], items, request)
        with self._turn:
            self.picks[request] = rule, known
        return f"{instruction}\n{rule.sentence}".strip()


def items_in(text: str) -> list[ShownItem]:
    """The items of a request to a proposer."""
    items = list[ShownItem]()
    for shown in _ITEM.finditer(text):
        output = " ".join(line for line in _QUOTED.findall(shown["outputs"]) if line)
        faults: list[Fault] = [fault for words, fault in _FAULTS.items() if words in (shown["error"] or "")]
        items.append(ShownItem(" ".join(_QUOTED.findall(shown["inputs"])), output, faults[0] if faults else ""))
    return items


def without_inputs(text: str) -> str:
    """A request whose items have no inputs."""
    return _ITEM.sub(lambda shown: shown[0].replace(shown["inputs"], "| (taken out)\n", 1), text)


def instruction_in(text: str) -> str:
    """The present instruction of a request; empty where it has none."""
    shown = _INSTRUCTION.search(text)
    return shown[1].strip() if shown and not shown[1].startswith("(none") else ""


def fields_of(message: str) -> list[str]:
    """The output fields for which DSPy's last message asks."""
    form = _FORM.search(message)
    return [name for name in _FIELD.findall(form[0] if form else "") if name != "completed"]


def in_form(message: str, fields: Mapping[str, str]) -> Scripted:
    """Output fields in the form for which DSPy's last message asks."""
    form = _FORM.search(message)
    if form and form["json"]:
        return Scripted(json.dumps(dict(fields)))
    sections = [f"[[ ## {name} ## ]]\n{text}" for name, text in fields.items()]
    return Scripted("\n\n".join([*sections, "[[ ## completed ## ]]"]))
