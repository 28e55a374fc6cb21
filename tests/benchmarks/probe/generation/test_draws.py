"""What code draws: alike for evidence and for other items, by seed and slot alone."""

from collections import Counter
from datetime import date, datetime

import pytest
from builders.made_people import made_task

from dspy_proact.benchmarks.probe.generation.brief import bundled_brief
from dspy_proact.benchmarks.probe.generation.draws import (
    DAYS,
    EVIDENCE,
    OFFICE,
    SHARES,
    STRATEGIES,
    TEMPLATES,
    WORDS,
    PersonSetting,
)
from dspy_proact.files.toml import with_fields

BRIEF = bundled_brief()


def setting(slot: int = 1, seed: int = 0, attempt: int = 1, difficulty: str = "mixed") -> PersonSetting:
    return PersonSetting.of(with_fields(BRIEF, {"tasks.difficulty": difficulty}, "brief"), seed, slot, attempt)


def test_people_take_turns_through_personas_roles_and_difficulties():
    people = [setting(slot) for slot in range(1, 13)]
    assert len({person.persona.key for person in people}) == 12
    assert Counter(person.roles[0] for person in people) == dict.fromkeys(BRIEF.work.roles, 2)
    assert Counter(person.difficulty for person in people) == {"easy": 4, "medium": 4, "hard": 4}
    assert all(sorted(person.roles) == sorted(BRIEF.work.roles) for person in people)
    assert len({person.today for person in people}) > 6
    assert {setting(slot, difficulty="hard").difficulty for slot in range(1, 9)} == {"hard"}


def test_a_further_attempt_has_other_initials_and_is_otherwise_the_same():
    first, second = setting(), setting(attempt=2)
    assert first.initials != second.initials
    assert len(set(first.initials.split(", "))) == 8
    assert (first.persona, first.today, first.stamps("email", 1)) == (
        second.persona,
        second.today,
        second.stamps("email", 1),
    )
    assert setting(seed=1).stamps("email", 1) != first.stamps("email", 1)


def test_today_is_a_weekday_and_times_lie_in_the_working_hours_of_28_days():
    for slot in range(1, 40):
        person = setting(slot)
        start, end = person.window
        assert person.today.weekday() < 5
        assert (end - start).days == DAYS - 1
        for number in range(20):
            stamps = person.stamps("event", "x", number)
            begins, ends = (datetime.fromisoformat(stamps[name]) for name in ("time", "end"))
            assert start <= begins.date() <= end
            assert begins.weekday() < 5
            assert 8 <= begins.hour < 18
            assert begins.minute % 15 == 0
            assert 30 <= (ends - begins).total_seconds() / 60 <= 90
    assert setting().stamps("email", 1)["end"] == ""


@pytest.mark.parametrize("name", ["evidence", "distractor"])
def test_kinds_and_lengths_come_from_one_distribution_for_all_items(name):
    kinds, count = Counter[str](), 4000
    for number in range(count):
        person = setting(1 + number % 50, difficulty="medium")
        kind = person.kind(name, number)
        kinds[kind] += 1
        fewest, most = WORDS["medium"][kind]
        assert fewest <= person.words(kind, name, number) <= most
    for kind, share in SHARES.items():
        # Of 4,000 items a share of one half has a standard error of .008, and no other a larger one; 4 of them.
        assert kinds[kind] / count == pytest.approx(share / 10, abs=0.032)


def test_a_task_has_as_much_evidence_as_its_difficulty_says():
    for difficulty, (fewest, most) in EVIDENCE.items():
        counts = {len(setting(slot, difficulty=difficulty).evidence_kinds(1)) for slot in range(1, 60)}
        assert counts == set(range(fewest, most + 1))


def test_strategies_bottlenecks_and_templates_take_turns():
    tasks = [made_task(1), made_task(2)]
    evidence = [item for task in tasks for item in task.evidence]
    orders = setting().orders(160, tasks)
    assert [order.number for order in orders] == list(range(1, 161))
    names = Counter(order.strategy.partition(":")[0] for order in orders)
    # Evidence has all three kinds, so that each of the 16 strategies has its turn in every 16.
    assert names == dict.fromkeys(STRATEGIES, 10)
    for order in orders:
        name, _, text = order.strategy.partition(": ")
        assert text == STRATEGIES[name]
        assert (order.template is not None) == (name in TEMPLATES)
        assert (order.near is None) == (name == OFFICE)
        if order.template:
            assert evidence[order.template - 1].kind == order.kind
            assert order.near == tasks[(order.template - 1) // 3].bottleneck.id
    plain = Counter(order.near for order in orders if order.near and not order.template)
    assert plain == {"b1": 50, "b2": 50}


def test_without_evidence_of_a_kind_no_item_of_it_has_a_template():
    task = made_task(1, items=2)  # an e-mail and an event
    orders = setting().orders(100, [task])
    documents = [order for order in orders if order.kind == "document"]
    assert documents
    assert not [order for order in documents if order.template]
    assert {order.template for order in orders} == {None, 1, 2}


def test_days_are_drawn_over_a_year_of_work():
    days = {setting(slot).today for slot in range(1, 300)}
    assert min(days) >= date(2026, 1, 5)
    assert max(days) <= date(2027, 1, 1)
    assert len(days) > 150
