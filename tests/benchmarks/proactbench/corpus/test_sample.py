"""The bundled sample is what its description says."""

import json
import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from dspy_proact.benchmarks.proactbench.corpus import (
    load_corpus,
    sample_path,
    sample_ratings,
    sample_responses,
    trigger_key,
)
from dspy_proact.benchmarks.proactbench.types import Phase

CORPUS = load_corpus("sample")
TRIGGERS = {
    trigger_key(dialogue.origin.dialogue, trigger.turn): trigger
    for dialogue in CORPUS.dialogues
    for trigger in dialogue.triggers
}


def test_it_has_the_dialogues_scenarios_and_triggers_that_are_said():
    scenarios = {dialogue.origin.scenario for dialogue in CORPUS.dialogues}
    personas = {dialogue.origin.persona for dialogue in CORPUS.dialogues}
    assert (len(CORPUS.dialogues), len(scenarios), len(personas), len(TRIGGERS)) == (16, 13, 12, 49)
    domains = {dialogue.origin.life_domain for dialogue in CORPUS.dialogues}
    assert domains == {"professional", "sports", "arts", "travel", "culinary"}
    phases = Counter(trigger.rubric.phase for trigger in TRIGGERS.values())
    assert phases == {Phase.EMERGENT: 16, Phase.CRITICAL: 19, Phase.RECOVERY: 14}


def test_a_scenario_id_repeats_over_personas():
    personas = defaultdict(set)
    for dialogue in CORPUS.dialogues:
        personas[dialogue.origin.scenario_id].add(dialogue.origin.persona)
    assert {name for name, each in personas.items() if len(each) > 1} == {"PROFESSIONAL_01", "ARTS_01", "SPORTS_01"}


def test_two_dialogues_close_without_a_recovery_trigger():
    closing = [{trigger.rubric.phase for trigger in dialogue.triggers} for dialogue in CORPUS.dialogues]
    assert sum(Phase.RECOVERY not in phases for phases in closing) == 2


def test_triggers_are_spaced_and_in_the_window_of_their_phase():
    windows = {Phase.EMERGENT: range(1, 4), Phase.CRITICAL: range(4, 8), Phase.RECOVERY: range(7, 11)}
    for dialogue in CORPUS.dialogues:
        turns = [trigger.turn for trigger in dialogue.triggers]
        assert all(later - earlier > 1 for earlier, later in pairwise(turns))
        assert all(trigger.turn in windows[trigger.rubric.phase] for trigger in dialogue.triggers)


def test_terse_users_are_terse_and_chatty_ones_are_not():
    for dialogue in CORPUS.dialogues:
        lengths = [len(turn.user.split()) for turn in dialogue.turns]
        low, high = (5, 25) if dialogue.origin.style < 15 else (40, 100)  # from style 15 on, users are expressive
        assert low <= min(lengths) <= max(lengths) <= high, dialogue.origin.dialogue


def test_it_is_in_the_official_format_and_nothing_in_it_is_unknown():
    rows = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()]
    assert not CORPUS.ignored_fields
    assert all(record["planner"]["tactical_order"]["intent"] for row in rows for record in row["turn_records"])
    assert all(re.fullmatch(r"[0-9a-f]{32}", row["uuid"]) for row in rows)


def test_every_trigger_has_three_responses_with_three_ratings_each():
    items = defaultdict(list)
    for response in sample_responses():
        items[response.case].append(response.item)
    assert items.keys() == TRIGGERS.keys()
    assert {len(each) for each in items.values()} == {3}
    raters = defaultdict(list)
    for rating in sample_ratings():
        raters[rating.item].append(rating.annotator)
    assert raters.keys() == {item for each in items.values() for item in each}
    assert all(sorted(each) == ["A", "B", "C"] for each in raters.values())


def test_ratings_differ_and_keep_their_reasons():
    grades = defaultdict(set)
    for rating in sample_ratings():
        grades[rating.item].add(rating.grade)
        assert len(rating.reason.split()) >= 5
    assert sum(len(each) > 1 for each in grades.values()) >= 30


def test_quality_cannot_be_read_from_the_length():
    scores = defaultdict(list)
    for rating in sample_ratings():
        scores[rating.item].append(rating.grade.score)
    lengths = {response.item: len(response.text) for response in sample_responses()}
    means = {item: sum(each) / len(each) for item, each in scores.items()}
    longer = [item for item in means if lengths[item] > sorted(lengths.values())[len(lengths) // 2]]
    long_mean, mean = (sum(means[item] for item in items) / len(items) for items in (longer, list(means)))
    assert long_mean == pytest.approx(mean, abs=0.15)
