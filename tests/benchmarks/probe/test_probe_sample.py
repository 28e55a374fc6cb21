"""The bundled tasks are what their README says, and no blind rule solves them."""

import json
import re
from collections import Counter, defaultdict
from datetime import date
from statistics import mean
from types import SimpleNamespace

import pytest

from dspy_proact.benchmarks.probe.agents.tools import Record, WordRanking, ranked
from dspy_proact.benchmarks.probe.corpus import DATA, load_tasks
from dspy_proact.benchmarks.probe.scoring import ESSENTIAL, FURTHER, search_scores
from dspy_proact.files.rows import csv_rows

DISTRACTORS, NOTES = (list(csv_rows(DATA / "sample" / f"{name}.csv")) for name in ("distractors", "evidence"))
DESCRIPTIONS, PARAMETERS = (
    [
        json.loads(line, object_hook=lambda held: SimpleNamespace(**held))
        for line in (DATA / "sample" / f"graded_{kind}.jsonl").read_text("utf-8").splitlines()
    ]
    for kind in ("descriptions", "parameters")
)
FILES = load_tasks("sample", sanitize=False)
TASKS, CLEAN = tuple(FILES), tuple(load_tasks("sample"))
ITEMS = {item.id: item for task in TASKS for item in task.items}
EVIDENCE = {id_ for task in TASKS for id_ in task.gold.evidence}
STRATEGIES = {
    "proposal-dismissal",
    "outdated bottleneck",
    "awaiting approval",
    "unaddressable",
    "resolved-but-mentioned",
    "false-positive similarity",
    "delegation-complete",
    "contingency planning",
    "historical reference",
    "scope mismatch",
}


def text(item):
    return getattr(item, {"email": "body", "event": "description", "document": "content"}[item.kind])


def whole(item):
    return " ".join(str(value) for value in item.model_dump(exclude={"id", "stamps"}).values())


def test_it_has_three_people_with_two_tasks_each_and_fifteen_other_items():
    assert [task.person for task in TASKS] == [person for person in FILES.persons for _ in range(2)]
    assert [task.difficulty for task in TASKS] == ["easy", "hard", "easy", "medium", "easy", "hard"]
    assert [len(task.gold.evidence) for task in TASKS] == [2, 4, 2, 3, 2, 4]
    assert FILES.ignored_fields == {}
    notes, people = defaultdict(set), defaultdict(list)
    for row in DISTRACTORS:
        notes[row["person"]].add(row["item"])
        people[row["strategy"]].append(row["person"])
        assert len(row["why"].split()) >= 2
    assert all(sorted(people[name]) == sorted(FILES.persons) for name in STRATEGIES)
    for task in TASKS:
        others = {item.id for item in task.items} - set(task.gold.evidence)
        assert others == notes[task.person]
        assert Counter(ITEMS[id_].kind for id_ in others) == {"email": 8, "document": 4, "event": 3}
    assert Counter(ITEMS[id_].kind for id_ in EVIDENCE) == {"email": 6, "document": 6, "event": 5}
    for graded in (DESCRIPTIONS, PARAMETERS):
        qualities = defaultdict(list)
        for each in graded:
            qualities[each.task].append(each.quality)
        assert list(qualities) == [task.key for task in TASKS]
        assert len({tuple(each) for each in qualities.values()}) == 1
        assert len({each.key for each in graded}) == 24


def test_each_person_has_twelve_actions_of_which_one_resolves_each_task():
    for task in TASKS:
        taken = next(action for action in task.actions if action.id == task.gold.action)
        assert (len(task.actions), set(taken.required)) == (12, set(task.gold.parameters))
        others = {name for action in task.actions if action.id != taken.id for name in action.required}
        assert set(taken.required) & others, "wrong actions ask for some of the same"
    assert len({(task.person, task.gold.action) for task in TASKS}) == 6


def ways_to_say(value):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return [value]
    day = date.fromisoformat(value)
    return [value, f"{day.day} {day:%B}", f"{day:%A} the {day.day}th"]


def test_every_right_value_can_be_read_in_the_item_that_supports_it():
    for task in TASKS:
        assert task.gold.supported_by.keys() == task.gold.parameters.keys()
        for name, item in task.gold.supported_by.items():
            assert item in task.gold.evidence
            assert any(said in whole(ITEMS[item]) for said in ways_to_say(task.gold.parameters[name])), (task.key, name)


def test_no_item_tells_all_essential_facets_and_all_items_together_do():
    for task in TASKS:
        apply = {name for name, value in task.gold.facets.model_dump().items() if value is not None}
        told = {row["item"]: set(row["facets"].split()) for row in NOTES if row["task"] == task.key}
        assert told.keys() <= set(task.gold.evidence)
        assert set().union(*told.values()) == apply
        assert not [item for item, facets in told.items() if facets >= apply & set(ESSENTIAL)]
    blockers = [task.gold.facets.who_blocker is None for task in TASKS]  # one bottleneck has nobody in the way
    assert blockers == [False, False, False, True, False, False]


# What could tell evidence without being read


def test_only_the_text_of_evidence_differs_from_that_of_other_items():
    assert all(80 <= len(text(item).split()) <= 160 for item in ITEMS.values())
    assert len({text(item)[:40] for item in ITEMS.values()}) == len(ITEMS) == 62
    assert len({(*sorted(item.stamps), *sorted(item.stamps["tags"])) for item in ITEMS.values()}) == 1
    prefixes = {"email": "email_", "event": "calendar_", "document": "document_"}
    assert all(re.fullmatch(f"{prefixes[item.kind]}[0-9a-f]{{8}}", key) for key, item in ITEMS.items())
    sides = [[item for key, item in ITEMS.items() if (key in EVIDENCE) is is_evidence] for is_evidence in (True, False)]
    for value in (lambda item: len(text(item)), lambda item: item.stamps["created_at"]):
        told, others = ([value(item) for item in side] for side in sides)
        assert min(others) < min(told) < max(told) <= max(others)
    evidence, others = (mean(len(text(item)) for item in side) for side in sides)
    assert evidence / others == pytest.approx(1, abs=0.1)


URGENT = re.compile(
    r"urgent|immediate|asap|deadline|overdue|delay|stuck|wait|pending|late\b|cannot|blocked", re.IGNORECASE
)


def by(score):
    return lambda task: [item.id for item in sorted(task.items, key=score, reverse=True)]


def bm25(query):
    def order(task):
        scores = WordRanking([Record.of(item) for item in task.items]).scores(query(task))
        return [task.items[place].id for place in ranked(scores)]

    return order


def time(item):
    return float(re.sub(r"\D", "", str(getattr(item, "timestamp", getattr(item, "start_time", ""))))[:12] or 0)


RULES = {
    "first": lambda task: [item.id for item in task.items],
    "longest": by(lambda item: len(text(item))),
    "urgent": by(lambda item: len(URGENT.findall(whole(item)))),
    "latest": by(time),
    "kind": by(lambda item: item.kind),
    "world": bm25(lambda task: task.world.model_dump_json()),
    "cares": bm25(lambda task: " ".join((*task.world.current_priorities, *task.world.pain_points))),
    "actions": bm25(lambda task: " ".join(f"{action.id} {action.description}" for action in task.actions)),
}


@pytest.mark.parametrize("tasks", [CLEAN, TASKS], ids=["sanitized", "as they are"])
@pytest.mark.parametrize("rule", RULES)
def test_no_range_of_any_order_finds_half_of_it(rule, tasks):
    orders = [(RULES[rule](task), task.gold.evidence) for task in tasks]
    for first in range(15):
        for last in range(first + 1, 20):
            assert mean(search_scores(gold, order[first:last]).f1 for order, gold in orders) < 0.5, (first, last)


# The answers that are graded by hand


def test_descriptions_are_graded_by_what_they_were_written_to_be():
    gold = {task.key: task.gold for task in TASKS}
    judgments = {"full": "CORRECT", "detail missing": "PARTIALLY_CORRECT"}
    for each in DESCRIPTIONS:
        expected, facets = gold[each.task], vars(each.verdict.facets)
        for name, word in facets.items():
            if getattr(expected.facets, name) is None:
                assert word in {"n/a", "incorrect"}, (each.key, name)
            else:
                assert word != "n/a", (each.key, name)
        right, complete = (all(facets[name] in {"correct", "n/a"} for name in tier) for tier in (ESSENTIAL, FURTHER))
        by_tiers = "INCORRECT" if not right else "CORRECT" if complete else "PARTIALLY_CORRECT"
        assert each.verdict.judgment == by_tiers == judgments.get(each.quality, "INCORRECT"), each.key
        if each.quality == "wrong blocker":
            assert (facets["who_blocker"], facets["what_task"]) == ("incorrect", "correct")
        assert not runs(each.description) & runs(expected.description), f"{each.key} copies the right one"


def runs(description, length=10):
    words = re.findall(r"[\w:]+", description.lower())
    return {tuple(words[place : place + length]) for place in range(len(words) - length + 1)}


def test_parameters_are_graded_by_what_they_hold():
    gold = {task.key: task.gold.parameters for task in TASKS}
    judgments = {"partial": ("PARTIALLY_CORRECT", "partially"), "wrong": ("INCORRECT", "no")}
    for each in PARAMETERS:
        expected, verdict = gold[each.task], each.verdict
        same = {name for name, value in vars(each.parameters).items() if expected[name] == value}
        assert set(verdict.missing) == expected.keys() - vars(each.parameters).keys(), each.key
        assert set(verdict.incorrect) | set(verdict.semantic_matches) == vars(each.parameters).keys() - same, each.key
        assert not set(verdict.incorrect) & set(verdict.semantic_matches)
        assert (verdict.judgment, verdict.would_resolve) == judgments.get(each.quality, ("CORRECT", "yes"))
