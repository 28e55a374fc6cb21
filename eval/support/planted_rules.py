"""Twenty rules a task, one of which is hidden: what they say, which items they are about, and models that follow them.

A customer's message mentions some of twenty things, and stands at one of three stages. A reply of the shop is graded by
how much of it is definite: it names a day, and a person. A rule of a judge moves its grades by one step, at a stage or
wherever a thing is mentioned; a rule of an assistant adds a sentence wherever a thing is mentioned. Models follow every
rule whose sentence stands in their system text, right or wrong, and whatever else stands there changes nothing but the
noise, which is a hash of the request.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

STAGES = ("ORDER", "DELIVERY", "RETURN")
LEVELS = ("POOR", "FAIR", "GOOD")
"""Grades of a reply in rising order."""
DAY, PERSON = "tomorrow", "Ms Okafor"
"""What makes a reply definite."""
THINGS: Mapping[str, tuple[str, str]] = {
    "a gift": ("It is meant as a gift.", "We can wrap it nicely."),
    "an allergy": ("My son has an allergy.", "All that is in it stands on the label."),
    "a journey": ("I leave on a journey on Friday.", "We can keep it until you are back."),
    "a lift": ("My house has no lift and five floors.", "Two people will carry it up."),
    "a dog": ("My dog bites whoever rings.", "The driver will knock."),
    "an invoice": ("My firm needs an invoice.", "The paper for your books comes by mail."),
    "a wheelchair": ("I use a wheelchair.", "The driver brings it to your table."),
    "a night shift": ("I work the night shift.", "We deliver after four in the afternoon."),
    "a party": ("It is for a party on Sunday.", "It arrives on Saturday."),
    "a battery": ("The old one ate a battery a week.", "This model has a plug."),
    "a second one": ("I own a second one since May.", "The parts of both fit."),
    "a phone": ("My phone is broken.", "We only write to you."),
    "a neighbour": ("My neighbour is always at home.", "Somebody next door may sign for it."),
    "a student": ("I am a student.", "You pay a tenth less until you graduate."),
    "a deposit": ("I left a deposit in the shop.", "What you paid is taken off."),
    "a sofa": ("Its colour must match my sofa.", "We send you a sample of the cloth."),
    "a bicycle": ("I come to the shop by bicycle.", "We pack it with straps."),
    "a garden": ("It will stand in the garden.", "A cover against rain is included."),
    "a voucher": ("I still have a voucher.", "It is valid until the end of the year."),
    "a child": ("A child will use it.", "We round off its corners."),
}
"""What messages mention: the sentence that mentions it, and the act that it may call for."""
NOISE = 0.08
"""Share of requests in which a model errs by chance."""
_OF_JUDGE = 7
"""Things about which judges have rules."""


@dataclass(frozen=True)
class Rule:
    """One rule of a task."""

    sentence: str
    """By which a model knows it."""
    mark: str
    """Stands in the inputs of the items that it is about."""
    step: int = 0
    """Of a judge's rule, by how many levels it moves a grade."""
    act: str = ""
    """Of an assistant's, what it adds to a reply."""

    def after(self, inputs: str, output: str) -> str:
        """The output, a grade or a reply, as it would be by this rule."""
        if self.mark not in inputs:
            return output
        if self.step:
            return moved(output, self.step)
        return output if self.act in output else f"{output} {self.act}"


def _grading(mark: str, where: str) -> list[Rule]:
    ways = {-1: "strictly", 1: "leniently"}
    return [Rule(f"{where}, grade one step more {way} than else.", mark, step) for step, way in ways.items()]


CUT_RULES = [rule for stage in STAGES for rule in _grading(stage, f"At the stage {stage}")]
KIND_RULES = [
    rule
    for thing, (mark, _) in [*THINGS.items()][:_OF_JUDGE]
    for rule in _grading(mark, f"Where the customer mentions {thing}")
]
ACT_RULES = [
    Rule(f'Where the customer mentions {thing}, add "{act}"', mark, act=act) for thing, (mark, act) in THINGS.items()
]
RULES: Mapping[str, Sequence[Rule]] = {"judge": [*CUT_RULES, *KIND_RULES], "assistant": ACT_RULES}
"""Twenty by the program that may follow them."""


def moved(grade: str, step: int) -> str:
    """A grade so many levels higher, or lower where the step is negative, as far as there are any."""
    return LEVELS[max(0, min(len(LEVELS) - 1, LEVELS.index(grade) + step))]


def graded(reply: str) -> str:
    """The grade of a reply without any rule."""
    return LEVELS[(DAY in reply) + (PERSON in reply)]


def rules_in(text: str, role: str) -> list[Rule]:
    """The rules of a program whose sentences stand in a text, in the order of all."""
    plain = " ".join(text.split())
    return [rule for rule in RULES[role] if rule.sentence in plain]


def chance(text: str) -> tuple[float, int]:
    """A number in [0, 1) and one of many choices, which follow from a text alone."""
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32, int.from_bytes(digest[4:8])


def judgement(system: str, inputs: str, request: str) -> str:
    """The grade of a judge by its system text of the reply in its inputs; in a share of requests one step off."""
    grade = graded(inputs)
    for rule in rules_in(system, "judge"):
        grade = rule.after(inputs, grade)
    draw, choice = chance(request)
    return moved(grade, (-1, 1)[choice % 2]) if draw < NOISE else grade


def response(system: str, inputs: str, request: str) -> str:
    """The reply of an assistant by its system text; in a share of requests it forgets all rules, or adds an act."""
    plain = reply = "Thank you for your message. We look into it."
    for rule in rules_in(system, "assistant"):
        reply = rule.after(inputs, reply)
    draw, choice = chance(request)
    if draw >= NOISE:
        return reply
    return plain if choice % 2 else f"{reply} {ACT_RULES[choice % len(ACT_RULES)].act}"


def acts_in(reply: str) -> set[str]:
    """The acts of a reply."""
    return {rule.act for rule in ACT_RULES if rule.act in reply}
