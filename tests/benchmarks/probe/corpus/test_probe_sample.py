"""The bundled tasks are what their description says, and no blind rule solves them."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import date
from statistics import mean

import bm25s
import pytest

from dspy_proact.benchmarks.probe.corpus import DATA, load_tasks
from dspy_proact.benchmarks.probe.graded import sample_graded_descriptions, sample_graded_parameters
from dspy_proact.benchmarks.probe.scoring import ESSENTIAL, FURTHER
from dspy_proact.benchmarks.probe.task import Item, Task
from dspy_proact.files.rows import csv_rows

DISTRACTORS, EVIDENCE_NOTES = (list(csv_rows(DATA / "sample" / f"{name}.csv")) for name in ("distractors", "evidence"))
FILES = load_tasks("sample", sanitize=False)
TASKS = tuple(FILES)
CLEAN = tuple(load_tasks("sample"))
ITEMS = {item.id: item for task in TASKS for item in task.items}
EVIDENCE = {each for task in TASKS for each in task.gold.evidence}
NAMED_STRATEGIES = {
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


def body(item: Item) -> str:
    return {"email": "body", "event": "description", "document": "content"}[item.kind]


def text(item: Item) -> str:
    return getattr(item, body(item))


def whole(item: Item) -> str:
    return " ".join(str(value) for value in item.model_dump(exclude={"id", "stamps"}).values())


def test_it_has_three_people_with_two_tasks_each():
    assert Counter(task.person for task in TASKS) == dict.fromkeys(FILES.persons, 2)
    assert len(FILES.persons) == 3
    assert [task.difficulty for task in TASKS] == ["easy", "hard", "easy", "medium", "easy", "hard"]
    assert [len(task.gold.evidence) for task in TASKS] == [2, 4, 2, 3, 2, 4]
    assert FILES.ignored_fields == {}


def test_each_person_has_fifteen_other_items_in_both_tasks():
    notes = defaultdict(list)
    for each in DISTRACTORS:
        notes[each["person"]].append(each["item"])
    for task in TASKS:
        others = {item.id for item in task.items} - set(task.gold.evidence)
        assert others == set(notes[task.person])
        assert Counter(ITEMS[each].kind for each in others) == {"email": 8, "document": 4, "event": 3}


def test_every_kind_of_item_is_evidence_four_times_or_more():
    assert Counter(ITEMS[each].kind for each in EVIDENCE) == {"email": 6, "document": 6, "event": 5}
    assert {ITEMS[each].kind for each in TASKS[0].gold.evidence} == {"event"}  # the clash
    assert [ITEMS[each].kind for each in TASKS[3].gold.evidence] == ["document"] * 3  # the trend


def test_each_strategy_occurs_once_a_person():
    people = defaultdict(list)
    for each in DISTRACTORS:
        people[each["strategy"]].append(each["person"])
        assert len(each["why"].split()) >= 2
    assert people.keys() >= NAMED_STRATEGIES
    assert all(sorted(people[name]) == sorted(FILES.persons) for name in NAMED_STRATEGIES)


def test_each_person_has_twelve_actions_of_which_one_resolves_each_task():
    for task in TASKS:
        assert len(task.actions) == 12
        taken = next(action for action in task.actions if action.id == task.gold.action)
        assert set(taken.required) == set(task.gold.parameters)
        others = {name for action in task.actions if action.id != taken.id for name in action.required}
        assert set(taken.required) & others, "wrong actions ask for some of the same"
    assert len({(task.person, task.gold.action) for task in TASKS}) == 6


def ways_to_say(value: str) -> list[str]:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return [value]
    day = date.fromisoformat(value)
    return [value, f"{day.day} {day:%B}", f"{day:%A} the {day.day}th"]


def test_every_right_value_can_be_read_in_the_item_that_supports_it():
    for task in TASKS:
        assert task.gold.supported_by
        assert task.gold.supported_by.keys() == task.gold.parameters.keys()
        for name, item in task.gold.supported_by.items():
            assert item in task.gold.evidence
            assert any(said in whole(ITEMS[item]) for said in ways_to_say(task.gold.parameters[name])), (task.key, name)


def test_no_item_tells_all_essential_facets_and_all_items_together_do():
    told = defaultdict(set)
    for note in EVIDENCE_NOTES:
        assert note["item"] in next(task for task in TASKS if task.key == note["task"]).gold.evidence
        told[note["task"]].update(note["facets"].split())
        assert not told.keys() - {task.key for task in TASKS}
    for task in TASKS:
        assert task.gold.facets
        apply = {name for name, value in task.gold.facets.model_dump().items() if value is not None}
        assert told[task.key] == apply
        for note in EVIDENCE_NOTES:
            if note["task"] == task.key:
                assert not set(note["facets"].split()) >= apply & set(ESSENTIAL), note["item"]


def test_one_bottleneck_has_nobody_in_the_way():
    facets = [task.gold.facets for task in TASKS if task.gold.facets]
    assert [each.who_blocker is None for each in facets] == [False, False, False, True, False, False]


def test_the_clash_is_of_two_events_at_one_time():
    one, other = (ITEMS[each] for each in TASKS[0].gold.evidence)
    assert one.kind == other.kind == "event"
    assert one.start_time < other.end_time
    assert other.start_time < one.end_time


def test_the_trend_needs_three_documents():
    # Vials left: 64, 48, 23; each document tells one of them.
    told = [text(ITEMS[each]) for each in TASKS[3].gold.evidence]
    left = ["sixty-four", "forty-eight", "twenty-three"]
    assert [[word in each for word in left] for each in told] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]


# What could tell evidence without being read


def test_texts_have_the_length_that_is_said_and_no_two_are_alike():
    assert all(80 <= len(text(item).split()) <= 160 for item in ITEMS.values())
    assert len({text(item)[:40] for item in ITEMS.values()}) == len(ITEMS) == 62


def test_lengths_and_dates_of_evidence_lie_among_the_others():
    for value in (lambda item: len(text(item)), lambda item: item.stamps["created_at"]):
        told, others = (
            [value(item) for key, item in ITEMS.items() if (key in EVIDENCE) is is_evidence]
            for is_evidence in (True, False)
        )
        assert min(others) < min(told) < max(told) <= max(others)
    lengths = [[len(text(item)) for key, item in ITEMS.items() if (key in EVIDENCE) is each] for each in (True, False)]
    assert mean(lengths[0]) / mean(lengths[1]) == pytest.approx(1, abs=0.1)


def test_nothing_but_the_text_differs_in_form():
    assert len({(*sorted(item.stamps or ()), *sorted((item.stamps or {})["tags"])) for item in ITEMS.values()}) == 1
    prefixes = {"email": "email_", "event": "calendar_", "document": "document_"}
    assert all(re.fullmatch(f"{prefixes[item.kind]}[0-9a-f]{{8}}", key) for key, item in ITEMS.items())


def f1(task: Task, named: Sequence[str]) -> float:
    hits = len(set(named) & set(task.gold.evidence))
    return 2 * hits / (len(named) + len(task.gold.evidence)) if hits else 0.0


def ranked(items: Sequence[Item], score: Callable[[Item], float]) -> list[str]:
    return [item.id for item in sorted(items, key=score, reverse=True)]


URGENT = re.compile(
    r"urgent|immediate|asap|deadline|overdue|delay|stuck|wait|pending|late\b|cannot|blocked", re.IGNORECASE
)
RULES: dict[str, Callable[[Task], list[str]]] = {
    "first": lambda task: [item.id for item in task.items],
    "longest": lambda task: ranked(task.items, lambda item: len(text(item))),
    "shortest": lambda task: ranked(task.items, lambda item: -len(text(item))),
    "urgent": lambda task: ranked(task.items, lambda item: len(URGENT.findall(whole(item)))),
    "latest": lambda task: ranked(task.items, lambda item: float(re.sub(r"\D", "", time(item))[:12] or 0)),
}


def time(item: Item) -> str:
    return str(getattr(item, "timestamp", getattr(item, "start_time", "")))


def bm25(task: Task, query: str) -> list[str]:
    index = bm25s.BM25()
    index.index(bm25s.tokenize([whole(item) for item in task.items], show_progress=False), show_progress=False)
    asked = bm25s.tokenize([query], show_progress=False)
    found, _ = index.retrieve(asked, k=len(task.items), show_progress=False)
    return [task.items[int(place)].id for place in found[0]]


def test_no_range_of_lengths_does():
    by_length = [ranked(task.items, lambda item: len(text(item))) for task in CLEAN]
    for first in range(15):
        for last in range(first + 1, 16):
            named = zip(CLEAN, by_length, strict=True)
            assert mean(f1(task, order[first:last]) for task, order in named) < 0.5, (first, last)


@pytest.mark.parametrize("sanitize", [True, False])
@pytest.mark.parametrize("rule", RULES)
def test_no_blind_rule_finds_half_of_it(rule: str, sanitize: bool):
    tasks = CLEAN if sanitize else TASKS
    for count in range(1, 8):
        assert mean(f1(task, RULES[rule](task)[:count]) for task in tasks) < 0.5, count


def test_neither_a_kind_nor_everything_does():
    for kind in ("email", "event", "document"):
        assert mean(f1(task, [item.id for item in task.items if item.kind == kind]) for task in CLEAN) < 0.5
    assert mean(f1(task, [item.id for item in task.items]) for task in CLEAN) < 0.5


def test_nor_does_bm25_on_what_is_known_of_the_person():
    for query in (
        lambda task: task.world.model_dump_json(),
        lambda task: " ".join((*task.world.current_priorities, *task.world.pain_points)),
        lambda task: " ".join(f"{action.id} {action.description}" for action in task.actions),
    ):
        for count in range(1, 8):
            assert mean(f1(task, bm25(task, query(task))[:count]) for task in CLEAN) < 0.5, count


# The answers that are graded by hand


def test_each_task_has_four_descriptions_and_four_sets_of_parameters():
    for graded in (sample_graded_descriptions(), sample_graded_parameters()):
        qualities = defaultdict(list)
        for each in graded:
            qualities[each.task].append(each.quality)
        assert list(qualities) == [task.key for task in TASKS]
        assert len({tuple(each) for each in qualities.values()}) == 1
        assert len({each.key for each in graded}) == 24


def test_a_facet_does_not_apply_where_gold_has_none_unless_something_is_made_up():
    facets = {task.key: task.gold.facets for task in TASKS}
    for each in sample_graded_descriptions():
        expected = facets[each.task]
        assert expected
        for name, word in each.verdict.facets.model_dump().items():
            if getattr(expected, name) is None:
                assert word in {"n/a", "incorrect"}, (each.key, name)
            else:
                assert word != "n/a", (each.key, name)


def test_words_on_the_whole_follow_the_two_tiers():
    for each in sample_graded_descriptions():
        facets = each.verdict.facets.model_dump()
        right = all(facets[name] in {"correct", "n/a"} for name in ESSENTIAL)
        complete = all(facets[name] in {"correct", "n/a"} for name in FURTHER)
        expected = "INCORRECT" if not right else "CORRECT" if complete else "PARTIALLY_CORRECT"
        assert each.verdict.judgment == expected, each.key
        wanted = {"full": "CORRECT", "detail missing": "PARTIALLY_CORRECT"}.get(each.quality, "INCORRECT")
        assert expected == wanted, each.key


def test_a_wrong_blocker_is_wrong_in_that():
    for each in sample_graded_descriptions():
        if each.quality == "wrong blocker":
            assert each.verdict.facets.who_blocker == "incorrect"
            assert each.verdict.facets.what_task == "correct"


def test_parameters_are_graded_by_what_they_hold():
    gold = {task.key: task.gold.parameters for task in TASKS}
    for each in sample_graded_parameters():
        expected, verdict = gold[each.task], each.verdict
        same = {name for name, value in each.parameters.items() if expected[name] == value}
        assert set(verdict.missing) == expected.keys() - each.parameters.keys(), each.key
        assert set(verdict.incorrect) | set(verdict.semantic_matches) == each.parameters.keys() - same, each.key
        assert not set(verdict.incorrect) & set(verdict.semantic_matches)
        word, would = {
            "good": ("CORRECT", "yes"),
            "paraphrase": ("CORRECT", "yes"),
            "partial": ("PARTIALLY_CORRECT", "partially"),
            "wrong": ("INCORRECT", "no"),
        }[each.quality]
        assert (verdict.judgment, verdict.would_resolve) == (word, would)


def test_no_description_copies_the_right_one():
    right = {task.key: task.gold.description for task in TASKS}
    for each in sample_graded_descriptions():
        assert not runs(each.description) & runs(right[each.task]), each.key


def runs(description: str, length: int = 10) -> set[tuple[str, ...]]:
    words = re.findall(r"[\w:]+", description.lower())
    return {tuple(words[place : place + length]) for place in range(len(words) - length + 1)}
