"""What is kept as a task and what is not, over HTTP: solver and adversary of one rule, the stand-in as the judge."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from builders.made_people import DAYS, HOLDERS, kept_proof, made_person, made_task
from builders.pool_roles import honest, shown, solution
from fakes.server import Answer, Sent, Server, error, shuffled

from dspy_proact.benchmarks.probe.generation.proof import Prover, weakness
from dspy_proact.benchmarks.probe.stand_in import judge_answer
from dspy_proact.errors import ProviderError
from dspy_proact.generation.attempt import Attempt
from dspy_proact.models import Gate, ModelSpec, Role, open_model
from dspy_proact.programs import Direct

ROLES = ("solver", "tester", "judge", "adversary")
SECRET = " zq7secret"
"""Stands in everything that is hidden; a judge who counts words passes answers without it."""


def proved(server: Server, task: Any = None, level: Any = "full", **person: Any) -> tuple[Any, Attempt]:
    """The proof of a task of a person of two, and the attempt that made it."""
    owner = made_person(1, task or made_task(1), made_task(2), **person)

    async def run():
        gate = Gate(retries=0, backoff=0.001)
        roles = {name: Role(name, name, "response", judge_answer) for name in ROLES}
        specs = {name: ModelSpec(name="hosted_vllm/any", api_base=server.base(name)) for name in ROLES}
        models = {name: open_model(specs[name], roles[name], gate) for name in ROLES}
        attempt = Attempt(0, 1, 1, {name: Direct(models[name].lm) for name in ROLES}, dict.fromkeys(ROLES, "any"))
        try:
            return (await Prover(level).proved(attempt, owner, owner.tasks[0])).proof, attempt
        finally:
            for model in models.values():
                await model.aclose()

    return asyncio.run(run())


@pytest.fixture
def server():
    with Server(honest) as served:
        yield served


def first_of(server: Server, script: Any) -> None:
    """Script what some requests get, by `script`; where that is None they get what a sound task gets."""
    server.script = lambda sent: script(sent) or honest(sent)


# What is kept


def test_a_task_that_all_its_evidence_solves_and_nothing_less_is_kept_and_answered_afresh(server):
    proof, _ = proved(server)
    assert (proof.kept, proof.reason) == (True, "")
    assert proof.directed == proof.fresh == (True, True, True)
    assert proof.without == proof.alone == {f"item_1{number}aa": (False,) for number in range(3)}
    assert proof.shortcut is False
    assert proof.repeats == 3  # the script answers word for word the same
    # The solver: 3 from everything, 3 without an item, 3 from one alone; the tester 3. The judges: two of each solved
    # answer, 12; of others only where the action is right, which one item names: two without the item of the day, whose
    # absence a judge who counts words sees in the parameters, one without that of the holder, one of that item alone.
    assert Counter(sent.role for sent in server.sent) == {"solver": 9, "tester": 3, "judge": 16, "adversary": 1}


def test_a_task_of_one_item_is_answered_from_no_item_and_of_two_each_is_without_the_other(server):
    one = proved(server, made_task(1, items=1))[0]
    assert one.without == {}  # it was not solved from its one item, which has no day
    two = proved(server, made_task(1, items=2))[0]
    assert (two.alone, two.kept) == ({}, False)

    server.script = lambda sent: honest(sent) if sent.role == "judge" else everything(sent)
    alone = proved(server, made_task(1, items=1))[0]
    assert alone.without == {"item_10aa": (False,)}
    assert alone.alone == {}
    assert alone.kept


def everything(sent: Sent) -> Answer:
    """Knows what stands in no item, once it sees one."""
    if sent.role == "adversary" or shown(sent)["documents"].strip() == "[]":
        return honest(sent)
    text = (
        f"lies with {HOLDERS[0]}, last day to send papers is {DAYS[0]}, cannot begin without the water report. hall 1"
    )
    answer = solution(text) | {"evidence": ["item_10aa"]}
    return Answer(json.dumps(answer))


def test_a_facet_that_no_item_states_makes_a_task_that_is_not_kept(server):
    task = made_task(1)
    facets = task.bottleneck.facets.model_copy(update={"impact_scope": "bankruptcy proceedings"})
    changed = task.model_copy(update={"bottleneck": task.bottleneck.model_copy(update={"facets": facets})})
    proof, _ = proved(server, changed)
    assert not proof.kept
    assert proof.reason == "From all its evidence, 0 of 3 answers solve it."
    assert (proof.without, proof.fresh, proof.shortcut) == ({}, (), None)  # nothing further was paid for
    assert {sent.role for sent in server.sent} == {"solver", "judge"}


def test_a_parameter_that_no_item_states_makes_a_task_that_is_not_kept(server):
    task = made_task(1)
    filled = task.parameters[0].model_copy(update={"value": "Nobody Known"})
    proof, _ = proved(server, task.model_copy(update={"parameters": (filled, task.parameters[1])}))
    assert (proof.kept, proof.directed) == (False, (False, False, False))


def test_an_item_that_can_be_spared_is_named_after_two_more_answers(server):
    server.script = lambda sent: (
        honest(sent) if sent.role in ("judge", "adversary") else honest(sent, spared="water report")
    )
    proof, _ = proved(server)
    assert not proof.kept
    assert proof.without["item_10aa"] == (True, True, True)
    assert proof.without["item_11aa"] == (False,)
    assert proof.reason == "Without item_10aa, 3 of 3 answers solve it: not all its evidence is needed."
    assert proof.fresh == ()


def test_an_item_that_is_enough_alone_is_named(server):
    proof = kept_proof(alone={"item_10aa": (True, False, True), "item_11aa": (False,)})
    assert weakness(proof) == "From item_10aa alone, 2 of 3 answers solve it: one item is enough."


def test_an_adversary_who_names_action_and_bottleneck_without_any_text_drops_the_task(server):
    def finds(sent: Sent):
        if sent.role != "adversary":
            return None
        known = {
            "evidence": [],
            "bottleneck": "Eva Lund waits for Rolf Dahl: inspection of hall 1, water report not requested",
            "action": "request_water_report",
            "reason": "The times.",
        }
        return Answer(json.dumps({"shortcut": known}))

    first_of(server, finds)
    proof, _ = proved(server)
    assert (proof.kept, proof.shortcut) == (False, True)
    assert proof.reason == "The adversary finds action and bottleneck without any text."
    assert proof.fresh == (True, True, True)


def test_an_adversary_who_only_guesses_the_action_has_not_solved_it(server):
    guess = {"evidence": [], "bottleneck": "A pump.", "action": "request_water_report", "reason": ""}
    first_of(server, lambda sent: Answer(json.dumps({"shortcut": guess})) if sent.role == "adversary" else None)
    assert proved(server)[0].shortcut is False


# What cannot be graded


@pytest.mark.parametrize("role", ["solver", "judge"])
def test_answers_and_verdicts_that_cannot_be_read_count_against_the_task(server, role):
    first_of(server, lambda sent: Answer("no JSON") if sent.role == role else None)
    proof, _ = proved(server)
    assert proof.directed == (None, None, None)
    assert proof.reason == "From all its evidence, 0 of 3 answers solve it; 3 could not be graded."


def test_an_answer_from_less_that_cannot_be_read_may_have_solved_it(server):
    first_of(server, lambda sent: Answer("no JSON") if sent.role == "solver" and len(documents(sent)) == 2 else None)
    proof, _ = proved(server)
    assert proof.without == {f"item_1{number}aa": (None, None, None) for number in range(3)}
    assert "Without item_10aa, 0 of 3 answers solve it; 3 could not be graded" in proof.reason


def test_an_adversary_who_answers_nothing_of_use_counts_against_the_task(server):
    first_of(server, lambda sent: Answer("no JSON") if sent.role == "adversary" else None)
    proof, _ = proved(server)
    assert (proof.kept, proof.shortcut) == (False, None)
    assert proof.reason == "Whether the adversary solves it without any text could not be graded."


def test_fresh_answers_decide_nothing(server):
    first_of(server, lambda sent: Answer("no JSON") if sent.role == "tester" else None)
    proof, _ = proved(server)
    assert (proof.kept, proof.fresh, proof.repeats) == (True, (None, None, None), 0)


def test_a_provider_that_fails_drops_nothing(server):
    first_of(server, lambda sent: error(503) if sent.role == "solver" else None)
    with pytest.raises(ProviderError):
        proved(server)


# How much is asked


def test_light_asks_once_and_none_asks_nothing(server):
    proof, _ = proved(server, level="light")
    assert (proof.kept, proof.directed, proof.fresh) == (True, (True,), (True,))
    assert all(answers == (False,) for answers in (*proof.without.values(), *proof.alone.values()))
    before = len(server.sent)
    assert proved(server, level="none")[0] is None
    assert len(server.sent) == before


def test_a_light_proof_drops_by_one_answer(server):
    assert weakness(kept_proof(directed=(True,), without={"a": (False,)}, alone={})) == ""
    assert "Without a, 1 of 1 answers" in weakness(kept_proof(directed=(True,), without={"a": (True,)}, alone={}))
    assert "0 of 1 answers solve it." in weakness(kept_proof(directed=(False,)))


@pytest.mark.parametrize(
    ("full", "directed", "spared", "kept"),
    [
        # Two or three of three: .9^3 + 3 * .9^2 * .1 = .972; of an item from which 1 in 20 solve, the first and one of
        # two more: .05 * (1 - .95^2) = .004875, six of them .9711; no shortcut .98: .925.
        (True, 0.9, 0.05, 0.925),
        (True, 0.3, 0.05, 0.206),
        # .85 * (1 - .15^2) = .8309 of a spared one: .972 * .1691 * .9951^5 * .98.
        (True, 0.9, 0.85, 0.157),
        (False, 0.9, 0.05, 0.648),
        (False, 0.3, 0.05, 0.216),
        (False, 0.9, 0.85, 0.102),
    ],
)
def test_the_rule_keeps_as_many_sound_and_unsound_tasks_as_it_is_described(full, directed, spared, kept):
    def passes(chance: float, of: Any) -> float:
        """The chance that so many answers of this chance are kept, by the rule itself."""
        count = 3 if full else 1
        share = 0.0
        for answers in product((True, False), repeat=count):
            weight = 1.0
            for answer in answers:
                weight *= chance if answer else 1 - chance
            share += weight * (weakness(of(answers)) == "")
        return share

    def less(answers: tuple[bool, ...]):
        return kept_proof(without={"a": answers if answers[0] else (False,)}, alone={})

    share = passes(directed, lambda answers: kept_proof(directed=answers))
    share *= passes(spared, less) * passes(0.05, less) ** 5 * 0.98
    assert share == pytest.approx(kept, abs=0.0006)


# What the roles see

SHOWN = re.compile(
    r"world\.(?!systems).*|actions\.(?!resolves).*|tasks\.(action|parameters\.name)|(tasks\.evidence|distractors)\.(id|kind|time|end|item\..*)"
    r"|today|language|difficulty"
)
"""Fields of a person that a solver or an adversary may see, by their path."""
WORDS = re.compile(
    r"tasks\.(plan\.(kind|facets)|bottleneck\.ledger\.kind|review\.shown\.facet)|distractors\.order\.kind"
)
"""Hidden fields in which only a word of a list may stand."""


def texts_of(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Texts in a value with the path of each, without numbers of lists."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from texts_of(inner, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner, path)
    elif isinstance(value, str) and value:
        yield path, value


def test_the_secret_is_planted_in_every_field_that_is_hidden_and_in_no_other():
    review = made_task(1, secret=SECRET).review.model_dump()
    person = made_person(1, made_task(1, secret=SECRET), made_task(2, secret=SECRET), secret=SECRET)
    assert {*review} - {"shown", "advice"} == {"sufficient_alone", "other_problems", "values", "unnatural"}
    planted = {path for path, text in texts_of(person.model_dump(mode="json")) if SECRET in text}
    bare = {path for path, text in texts_of(person.model_dump(mode="json")) if SECRET not in text}
    assert [path for path in planted if SHOWN.fullmatch(path)] == []
    assert [path for path in bare - planted if not SHOWN.fullmatch(path) and not WORDS.fullmatch(path)] == []


def documents(sent: Sent) -> list[Any]:
    return json.loads(shown(sent)["documents"])


def test_no_solver_request_holds_anything_hidden_and_the_adversary_sees_no_text(server):
    person = made_person(1, made_task(1, secret=SECRET), made_task(2, secret=SECRET), secret=SECRET)
    proof, _ = proved(server, person.tasks[0], secret=SECRET)
    assert proof.kept
    solving = [sent for sent in server.sent if sent.role in ("solver", "tester")]
    assert len(solving) == 12
    assert person.model_dump_json().count(SECRET) > 50
    assert not [sent for sent in solving if SECRET.strip() in sent.text]
    sibling = made_task(2)
    hidden = [sibling.bottleneck.description, *(item.item.text for item in sibling.evidence), HOLDERS[0] + " has"]
    assert not [text for text in hidden for sent in solving if text in sent.text]
    # Which action resolves what, and what distractors are, is in no request either.
    assert not [sent for sent in solving if "resolves" in shown(sent)["actions"] or "why_not" in sent.text]


def test_a_solver_sees_world_actions_and_the_items_in_question_and_nothing_else(server):
    proved(server)
    solving = [sent for sent in server.sent if sent.role in ("solver", "tester")]
    assert {frozenset(shown(sent)) for sent in solving} == {frozenset({"world", "actions", "documents"})}
    ids = Counter(tuple(item["id"][:7] for item in documents(sent)) for sent in solving)
    every = tuple(f"item_1{number}" for number in range(3))
    assert ids.pop(every) == 6
    assert set(ids) == {(one,) for one in every} | {tuple(one for one in every if one != out) for out in every}


def test_the_adversary_sees_ids_kinds_times_and_lengths_of_all_items_and_no_text(server):
    proved(server, made_task(1, secret=SECRET))
    (adversary,) = [sent for sent in server.sent if sent.role == "adversary"]
    assert {*shown(adversary)} == {"world", "actions", "items"}
    items = json.loads(shown(adversary)["items"])
    assert {*items[0]} == {"id", "kind", "time", "words", "people"}
    person = made_person(1)
    assert [item["id"] for item in items] == [item.id for item in person.items_of(person.tasks[0])]
    assert len(items) == len(person.distractors) + 3
    for item in (*person.distractors, *person.tasks[0].evidence):
        assert item.item.text not in adversary.text
        assert item.item.title not in adversary.text
    assert '"resolves"' not in shown(adversary)["actions"]
    assert SECRET.strip() not in adversary.text


def test_an_item_is_listed_by_words_and_people():
    mail = made_person(1).distractors[0]
    assert (mail.listed.words, mail.listed.people) == (6, 3)  # The canteen has a new menu. Ole, Eva and Ida.


# The order of arrival


def test_no_order_of_arrival_changes_what_is_asked_or_what_is_shown(server):
    proof, attempt = proved(server)
    order = sorted(attempt.authors, key=lambda author: author.order)
    for seed in range(3):
        server.script = shuffled(honest, seed)
        again, other = proved(server)
        assert again == proof
        assert sorted(other.authors, key=lambda author: author.order) == order
    assert {author.turn for author in order} == {1}
    assert {author.stage for author in order} >= {"directed", "without 2", "alone 3", "fresh", "verdict, without 3"}
    numbers = [(author.stage, author.sample, author.repeat) for author in order]
    assert len(set(numbers)) == len(numbers)


def test_the_forecast_is_of_the_calls_that_a_sound_task_takes(server):
    proved(server)
    calls = Counter(sent.role for sent in server.sent)
    forecast = dict.fromkeys(ROLES, 0.0)
    for stage in Prover("full").forecast(1, 3):
        forecast[stage.role] += stage.calls
    assert sum(forecast.values()) == pytest.approx(sum(calls.values()), rel=0.3)
    assert forecast["solver"] == calls["solver"]
    assert Prover("none").forecast(2, 3) == []
