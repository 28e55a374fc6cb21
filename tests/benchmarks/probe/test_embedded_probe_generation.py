"""The stand-in of those who make PROBE's tasks: a bank that keeps the rules, roles that read their request alone."""

import asyncio
import json
import re
from collections import Counter
from datetime import date
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dspy_proact.benchmarks.probe.embedded_auditor import auditor
from dspy_proact.benchmarks.probe.embedded_generation import _bank, _chatter, _filled, _known, _slot, writer
from dspy_proact.benchmarks.probe.generation import rules
from dspy_proact.benchmarks.probe.generation.brief import brief_of
from dspy_proact.benchmarks.probe.generation.draws import STRATEGIES
from dspy_proact.benchmarks.probe.generation.made import MadePerson
from dspy_proact.benchmarks.probe.generation.making import ROLES, ProbeMaker
from dspy_proact.benchmarks.probe.generation.proof import Prover, weakness
from dspy_proact.benchmarks.probe.generation.roles import programs
from dspy_proact.generation.attempt import Attempt
from dspy_proact.models import Gate, open_model
from dspy_proact.programs import Direct
from dspy_proact.programs.embedded.fields import value_of
from dspy_proact.programs.embedded.words import content_words, sentences

PROGRAMS = programs()
BANK = _bank()
PATTERNS = {pattern["name"]: pattern for pattern in BANK["patterns"]}
ACTIONS = [
    {
        **pattern["action"],
        "id": f"{pattern['name']} {one}",
        "description": _filled(pattern["action"]["description"], {"object": one}),
    }
    for pattern in BANK["patterns"]
    for one in pattern["objects"]
]
WINDOW = ["2026-03-03", "2026-03-30"]


def attempt_of(slot: int) -> Attempt:
    models = {name: open_model("embedded", role, Gate()) for name, role in ROLES.items()}
    return Attempt(0, slot, 1, {name: Direct(model.lm) for name, model in models.items()}, dict.fromkeys(ROLES, "x"))


@cache
def made(slot: int, difficulty: str = "easy", distractors: int = 20) -> tuple[MadePerson, Attempt]:
    """What the stand-in makes of a slot, without a proof."""
    brief = brief_of(None)
    update = {"difficulty": difficulty, "distractors": distractors}
    maker = ProbeMaker(brief.model_copy(update={"tasks": brief.tasks.model_copy(update=update)}), "none")
    attempt = attempt_of(slot)

    async def person() -> MadePerson:
        return await maker.finish(attempt, await maker.begin(attempt))

    return asyncio.run(person()), attempt


def ask(role: Any, stage: str, **inputs: Any) -> Any:
    """What a role answers to a question of the making, given the same inputs twice; None for nothing."""
    system, *messages = PROGRAMS[stage].messages(inputs)
    request = system["content"], [(message["role"], message["content"]) for message in messages]
    answer = role(*request)
    assert role(*request) == answer
    return next(iter(json.loads(answer).values())) if answer else None


def slots_of(name: str, thing: str) -> dict[str, str]:
    pattern, today = PATTERNS[name], date.fromisoformat(WINDOW[1])
    fixed = {"a": "Eva Lund", "b": "Odo Park", "object": thing}
    specs = pattern["slots"].items()
    return {slot: fixed[slot] if slot in fixed else _slot(spec, pattern, today, slot) for slot, spec in specs}


def bottleneck_of(name: str, thing: str) -> dict[str, Any]:
    """A bottleneck of a pattern about an object, as its planner would write it, without a ledger."""
    pattern, slots = PATTERNS[name], slots_of(name, thing)
    return {
        "id": "b1",
        "description": _filled(pattern["descriptions"][0], slots),
        "facets": {facet: _filled(text, slots) for facet, text in pattern["facets"].items()},
        "ledger": [],
        "resolution": _filled(pattern["resolution"], slots),
    }


# The bank


@pytest.mark.parametrize("name", PATTERNS)
def test_what_was_drawn_is_read_out_of_either_description_and_every_facet_stands_in_it(name):
    pattern = PATTERNS[name]
    for thing, template in product(pattern["objects"], pattern["descriptions"]):
        slots = slots_of(name, thing)
        description = _filled(template, slots, thing)
        assert _known({"description": description}) == (pattern, slots)
        for facet, text in pattern["facets"].items():
            words = content_words(_filled(text, slots))
            assert len(words & content_words(description)) >= len(words) / 2, facet


@pytest.mark.parametrize("name", PATTERNS)
def test_one_of_all_actions_resolves_a_bottleneck_by_its_words(name):
    offered = [{key: action[key] for key in ("id", "type", "description")} for action in ACTIONS]
    for thing in PATTERNS[name]["objects"]:
        bottleneck = bottleneck_of(name, thing)
        audit = ask(auditor, "audit of actions", world={}, bottleneck=bottleneck, actions=offered)
        assert audit["resolving"] == [f"{name} {thing}"]


def test_what_is_written_about_nothing_gives_no_facet_no_name_and_no_parameter_away():
    chatter = _chatter("seed")
    text = " ".join(next(chatter) for _ in range(900))
    words = content_words(text)
    assert not any(content_words(name) & words for names in BANK["people"].values() for name in names)
    facets = [text for pattern in BANK["patterns"] for text in (*pattern["facets"].values(), *pattern["objects"])]
    known = [content_words(re.sub(r"\{\w+\}", "", text)) for text in facets]
    assert not [facet for facet in known if len(facet & words) > len(facet) / 2]


def test_every_strategy_has_texts():
    assert set(BANK["strategies"]) == set(STRATEGIES)


# Planner and writer


@pytest.mark.parametrize(("difficulty", "slots"), [("easy", (1, 2, 3, 4)), ("medium", (5, 6)), ("hard", (7,))])
def test_people_are_made_whose_tasks_one_finds_from_the_evidence_and_from_nothing_less(difficulty, slots):
    for slot in slots:
        person, _ = made(slot, difficulty)
        assert not person.lost
        assert len(person.tasks) == 3
        assert len(person.distractors) >= 18
        prover, proving = Prover("light"), attempt_of(slot)

        async def proved(prover: Prover = prover, proving: Attempt = proving, person: MadePerson = person) -> list[Any]:
            return [await prover.proved(proving, person, task) for task in person.tasks]

        assert [weakness(task.proof) for task in asyncio.run(proved())] == [""] * 3


def test_now_and_then_an_answer_breaks_a_rule_and_is_mended():
    broken = [reason for slot in range(1, 5) for author in made(slot)[1].authors for reason in author.broken]
    assert any(reason.startswith("`stated` has no passage for ") for reason in broken)
    assert not any(made(slot)[1].mends for slot in range(1, 5))


def test_evidence_and_other_items_are_as_long_as_asked_and_have_as_many_people():
    people = [made(slot)[0] for slot in range(1, 5)]
    others = [item for person in people for item in person.distractors]
    evidence = [item for person in people for task in person.tasks for item in task.evidence]
    off = [abs(len(item.item.text.split()) - item.order.words) for item in others]
    assert max(off) <= 20
    counts = [Counter(len(item.item.people) for item in items if item.kind == "email") for items in (evidence, others)]
    assert set(counts[0]) <= {1, 2, 3} >= set(counts[1])
    assert len(counts[1]) == 3


def test_no_two_people_of_twenty_are_near_duplicates():
    maker = ProbeMaker(brief_of(None), "none")
    inputs = [attempt_of(slot) for slot in range(1, 21)]
    worlds = [asyncio.run(maker.begin(attempt)) for attempt in inputs]
    assert not rules.near_duplicates([maker.text(world) for world in worlds])


def test_it_has_nothing_to_say_about_what_its_bank_does_not_know():
    bottleneck = {**bottleneck_of("order", "freeze dryer"), "description": "The moon is too bright."}
    inputs = {"world": {"full_name": "Ada Fox", "relationships": []}, "bottleneck": bottleneck, "action": {}}
    assert ask(writer, "plan", kinds=["email", "event"], **inputs) is None
    assert writer("Your objective is unknown.", [("user", "Hello")]) == "{}"


# The auditor


def test_a_second_action_with_the_words_of_the_resolution_is_listed():
    person, _ = made(1)
    task = person.tasks[0]
    right = next(action for action in person.actions if action.id == task.action)
    second = right.model_copy(update={"id": "do_it_otherwise", "description": f"Also: {right.description}"})
    offered = [action.model_dump(exclude={"resolves"}) for action in (*person.actions, second)]
    audit = ask(auditor, "audit of actions", world=person.world, bottleneck=task.bottleneck, actions=offered)
    assert set(audit["resolving"]) == {right.id, "do_it_otherwise"}


def test_a_facet_of_which_the_description_says_nothing_is_unmet_and_a_cause_in_the_world_revealed():
    person, _ = made(1)
    one, two, *_ = [task.bottleneck for task in person.tasks]
    odd = one.model_copy(update={"facets": one.facets.model_copy(update={"how_mechanism": "Moonlight on glaciers"})})
    world = person.world.model_copy(update={"about": f"It is known that {two.facets.why_root_cause}."})
    audit = ask(auditor, "audit of bottlenecks", work="", world=world, bottlenecks=[odd, two])
    assert [(facet["bottleneck"], facet["facet"]) for facet in audit["unmet"]] == [(one.id, "how_mechanism")]
    assert audit["revealed"] == [two.id]
    assert audit["alike"] == []
    again = ask(auditor, "audit of bottlenecks", work="", world=person.world, bottlenecks=[two, two])
    assert again["alike"] == [two.id]


def review_of(person: MadePerson, items: Any, number: int = 0) -> dict[str, Any]:
    task = person.tasks[number]
    action = next(action for action in person.actions if action.id == task.action)
    numbered = [{"number": n, "kind": "email", "item": item} for n, item in enumerate(items, start=1)]
    return ask(
        auditor, "review of evidence", world=person.world, bottleneck=task.bottleneck, action=action, items=numbered
    )


def test_a_facet_whose_sentence_is_taken_out_is_no_longer_shown():
    person, _ = made(1)
    task = person.tasks[0]
    items = [item.item.model_dump() for item in task.evidence]
    applying = {name for name, text in task.bottleneck.facets.model_dump().items() if text}
    assert {shown["facet"] for shown in review_of(person, items)["shown"]} == applying
    quote = next(one.quote for item in task.evidence for one in item.stated if one.what == "why_root_cause")
    cut = [{**item, "text": item["text"].replace(quote, "All is well.")} for item in items]
    assert applying - {shown["facet"] for shown in review_of(person, cut)["shown"]} == {"why_root_cause"}


def test_a_day_that_one_item_gives_otherwise_is_read_as_it_stands_there():
    person, _ = made(1)
    for number, task in enumerate(person.tasks):
        entry = next(entry for entry in task.bottleneck.ledger if entry.kind == "date")
        values = review_of(person, [item.item.model_dump() for item in task.evidence], number)["values"]
        assert {one["value"] for one in values if one["entry"] == entry.id} == {entry.value}
        line = f"Somebody has put the {entry.what} on Monday 2 November."
        values = review_of(person, [{"title": "x", "text": line}], number)["values"]
        assert {one["value"] for one in values if one["entry"] == entry.id} == {f"{entry.value[:4]}-11-02"}


def test_an_item_that_states_all_that_is_essential_is_evidence_after_all():
    person, _ = made(1)
    one = person.tasks[0].bottleneck
    items = [{"number": 1, "kind": "email", "item": {"title": "x", "text": one.description}}]
    items += [{"number": 2, "kind": "email", "item": person.distractors[0].item}]
    review = ask(auditor, "review of distractors", world=person.world, bottlenecks=[one], items=items)
    assert [(fault["item"], fault["bottleneck"]) for fault in review["faults"]] == [(1, one.id)]
    assert review["faults"][0]["quote"] in sentences(one.description)


def test_the_adversary_takes_the_longest_items():
    person, _ = made(1)
    items = [
        {"id": f"i{n}", "kind": "email", "time": "", "words": words, "people": 2}
        for n, words in enumerate((9, 80, 50, 70))
    ]
    offered = [action.model_dump(exclude={"resolves"}) for action in person.actions]
    shortcut = ask(auditor, "adversary", world=person.world, actions=offered, items=items)
    assert shortcut["evidence"] == ["i1", "i3", "i2"]
    assert shortcut["action"] in {action.id for action in person.actions}


def test_requests_that_differ_in_a_hidden_field_alone_are_answered_alike():
    """The writer of an item reads nothing of the reasons why others were rejected but that it is asked again."""
    person, _ = made(2)
    task = person.tasks[0]
    action = next(action for action in person.actions if action.id == task.action)
    inputs = {"world": person.world, "bottleneck": task.bottleneck, "action": action, "planned": task.plan[0]}
    inputs |= {"difficulty": "easy", "words": 120, "window": WINDOW, "language": "English"}
    assert ask(writer, "evidence", others=[], **inputs) == ask(writer, "evidence", others=[task.plan[1]], **inputs)
    assert value_of("[]", list[Any]()) == []


# All of it


def test_without_a_key_a_corpus_is_made_proved_and_scored_and_the_same_command_changes_nothing(proact, done):
    making = ("generate", "--benchmark", "probe", "--people", 2, "--set", "tasks.distractors=10", "--proof", "full")
    out = done(*making, "--out", "tasks")[0]
    assert "Demonstration with the embedded stand-in, no real model: 2 people, 6 tasks" in " ".join(out.split())
    files = {path: path.read_bytes() for path in Path("tasks").rglob("*") if path.is_file()}
    assert sum(path.name.endswith("_input.json") for path in files) == 6
    assert proact(*making, "--out", "tasks")[0] == 0
    assert {path: path.read_bytes() for path in files} == files
    assert proact("eval", "--benchmark", "probe", "--corpus", "tasks", "--out", "run")[0] == 0
    status, out, _ = proact("report", "run", "--json")
    assert (status, json.loads(out)["complete"]) == (0, True)
