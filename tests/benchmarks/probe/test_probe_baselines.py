"""What each blind rule names of five small items, and of items whose ids tell."""

import asyncio
from typing import get_args

import pytest
from probe_task import view

from dspy_proact.benchmarks.probe.baselines import Blind
from dspy_proact.benchmarks.probe.settings import BaselineName


def named(rule, take=2, task=None):
    return asyncio.run(Blind(rule, take).solve(task or view().task)).evidence


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("first", ("item_a1", "item_b2")),
        ("longest", ("item_e5", "item_b2")),  # 20 sentences; then 57 characters of text, more than of any other
        ("kind", ("item_b2",)),  # three e-mails, one document, one event: of equally rare ones the first
        ("id", ()),
        ("urgent", ("item_d4", "item_a1")),  # urgent, today, asap; then "waiting"; no other has any
        ("bm25", ("item_a1", "item_b2")),  # maps are of her world, and so are keys
        ("everything", ("item_a1", "item_b2", "item_c3", "item_d4", "item_e5")),
    ],
)
def test_a_rule_names_what_it_says(rule, expected):
    assert named(rule) == expected


def test_words_of_urgency_name_no_item_without_any():
    assert named("urgent", take=5) == ("item_d4", "item_a1")


def test_an_id_of_another_kind_tells_where_ids_are_not_opaque():
    task = view().task
    ids = ("document_1", "document_2", "calendar_3", "email_4", "email_5")
    items = tuple(item.model_copy(update={"id": id_}) for item, id_ in zip(task.items, ids, strict=True))
    assert named("id", task=task.model_copy(update={"items": items})) == ("document_1",)  # an e-mail by its kind


def test_a_rule_names_nothing_where_there_is_nothing():
    empty = view().task.model_copy(update={"items": ()})
    assert all(named(rule, task=empty) == () for rule in get_args(BaselineName) if rule != "none")


def test_how_many_are_taken_is_part_of_what_a_rule_is():
    assert Blind("first", 2).fingerprint() != Blind("first", 3).fingerprint()
