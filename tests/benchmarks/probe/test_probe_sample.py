"""The bundled tasks are what their README says, and no blind rule solves them."""

import json
import re
from datetime import date
from statistics import mean
from types import SimpleNamespace
from typing import get_args

import pytest

from dspy_proact.benchmarks.probe.baselines import by_rule
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.scoring import ESSENTIAL, FURTHER, search_scores
from dspy_proact.benchmarks.probe.settings import BaselineName
from dspy_proact.benchmarks.probe.task import DATA, ProbeView

DESCRIPTIONS, PARAMETERS = (
    [
        json.loads(line, object_hook=lambda held: SimpleNamespace(**held))
        for line in (DATA / "sample" / f"graded_{kind}.jsonl").read_text("utf-8").splitlines()
    ]
    for kind in ("descriptions", "parameters")
)
FILES, SANITIZED = (load_tasks("sample", sanitize=sanitize) for sanitize in (False, True))
TASKS, CLEAN = ({case.key: case.view_as(ProbeView) for case in tasks.cases} for tasks in (FILES, SANITIZED))
ITEMS = {item.id: item for task in TASKS.values() for item in task.items}
SUPPORT = {
    key: json.loads((DATA / "sample" / f"{key}_output.json").read_text("utf-8"))["checklist"]["required_steps"][-1][
        "success_criteria"
    ]["supported_by"]
    for key in TASKS
}
"""By task and right parameter, the item that tells its value; what no program reads."""
EVIDENCE = {id_ for task in TASKS.values() for id_ in task.gold.evidence}


def text(item):
    return getattr(item, {"email": "body", "event": "description", "document": "content"}[item.kind])


def ways_to_say(value):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return [value]
    day = date.fromisoformat(value)
    return [value, f"{day.day} {day:%B}", f"{day:%A} the {day.day}th"]


def test_every_right_value_can_be_read_in_the_item_that_supports_it():
    for key, task in TASKS.items():
        for name, item in SUPPORT[key].items():
            assert item in task.gold.evidence
            written, value = ITEMS[item].model_dump_json(exclude={"stamps"}), task.gold.parameters[name]
            assert any(message in written for message in ways_to_say(value)), (key, name)


CONDITIONS = {
    "move_yard_booking": ("Engineering must hear of it before the yard does", "Set up by Gareth Moyle"),  # its head
    "chase_purchase_order": ("Orders above 2,000 only", "PO-4471, occupational health, island practice, 3,150"),
    "request_countersignature": ("The first signature must be there", "| CR-118 | I. Fawley | 22 April | 24 April |"),
    "book_service_visit": ("On a day of the maker's round", "Emeric is in the house on Friday 16 May"),
    "complete_loan_form": ("The value must be documented", "the valuer, who was here on 3 March"),
    "confirm_site_decision": ("One decision a message", "I need to know which bank gets the viewing platform"),
}
"""By right action, its condition, and the words of an item by which it holds."""


def test_an_item_tells_that_the_condition_of_the_right_action_holds():
    for task in TASKS.values():
        condition, message = CONDITIONS[task.gold.action]
        assert [action.constraints for action in task.actions if action.id == task.gold.action] == [(condition,)]
        assert [id_ in task.gold.evidence for id_, item in ITEMS.items() if message in text(item)] == [True]


# What could tell evidence without being read


def test_only_the_text_of_evidence_differs_from_that_of_other_items():
    assert all(80 <= len(text(item).split()) <= 160 for item in ITEMS.values())
    assert len({text(item)[:40] for item in ITEMS.values()}) == len(ITEMS) == 62
    assert len({(*sorted(item.stamps), *sorted(item.stamps["tags"])) for item in ITEMS.values()}) == 1
    prefixes = {"email": "email_", "event": "calendar_", "document": "document_"}
    assert all(re.fullmatch(f"{prefixes[item.kind]}[0-9a-f]{{8}}", key) for key, item in ITEMS.items())
    sides = [[item for key, item in ITEMS.items() if (key in EVIDENCE) is is_evidence] for is_evidence in (True, False)]
    for value in (lambda item: len(text(item)), lambda item: item.stamps["created_at"]):
        message, others = ([value(item) for item in side] for side in sides)
        assert min(others) < min(message) < max(message) <= max(others)
    evidence, others = (mean(len(text(item)) for item in side) for side in sides)
    assert evidence / others == pytest.approx(1, abs=0.1)


def last(task, take):
    return [item.id for item in task.items[-take:]]


@pytest.mark.parametrize("tasks", [CLEAN.values(), TASKS.values()], ids=["sanitized", "as they are"])
@pytest.mark.parametrize("rule", [*get_args(BaselineName)[1:], last])
def test_no_blind_rule_finds_half_of_it(rule, tasks):
    def named(task, take):
        return last(task, take) if rule is last else by_rule(task, rule, take).evidence

    for take in range(1, 20):
        assert mean(search_scores(task.gold.evidence, named(task, take)).f1 for task in tasks) < 0.5, take


# The answers that are graded by hand


def test_descriptions_are_graded_by_what_they_were_written_to_be():
    gold = {key: task.gold for key, task in TASKS.items()}
    judgments = {"full": "CORRECT", "detail missing": "PARTIALLY_CORRECT"}
    for description in DESCRIPTIONS:
        expected, facets = gold[description.task], vars(description.grades)
        judgment = facets.pop("description")
        for name, word in facets.items():
            if getattr(expected.facets, name) is None:
                assert word in {"n/a", "incorrect"}, (description.key, name)
            else:
                assert word != "n/a", (description.key, name)
        right, complete = (all(facets[name] in {"correct", "n/a"} for name in tier) for tier in (ESSENTIAL, FURTHER))
        by_tiers = "INCORRECT" if not right else "CORRECT" if complete else "PARTIALLY_CORRECT"
        assert judgment == by_tiers == judgments.get(description.quality, "INCORRECT"), description.key


def test_parameters_are_graded_by_what_they_hold():
    gold = {key: task.gold.parameters for key, task in TASKS.items()}
    judgments = {"partial": ("PARTIALLY_CORRECT", "partially"), "wrong": ("INCORRECT", "no")}
    for parameter in PARAMETERS:
        expected, inputs, verdict = gold[parameter.task], vars(parameter.answer.parameters), parameter.verdict
        same = {name for name, value in inputs.items() if expected[name] == value}
        assert set(verdict.missing) == expected.keys() - inputs.keys(), parameter.key
        assert set(verdict.incorrect) | set(verdict.semantic_matches) == inputs.keys() - same, parameter.key
        assert not set(verdict.incorrect) & set(verdict.semantic_matches)
        message = (parameter.grades.parameters, parameter.grades.would_resolve)
        assert message == judgments.get(parameter.quality, ("CORRECT", "yes"))
