"""How a person's tasks come about, over HTTP: stand-ins play all roles, and one answer at a time is spoilt."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from fakes.server import Answer, Sent, Server, shuffled

from dspy_proact.benchmarks.probe.generation.brief import bundled_brief
from dspy_proact.benchmarks.probe.generation.made import MadePerson
from dspy_proact.benchmarks.probe.generation.making import ROLES, ProbeMaker
from dspy_proact.benchmarks.probe.generation.roles import programs
from dspy_proact.files.toml import with_fields
from dspy_proact.generation.attempt import Attempt, RuleError
from dspy_proact.models import Gate, ModelSpec, open_model
from dspy_proact.programs import Direct
from dspy_proact.programs.embedded.fields import fields_of

STAGES = {program.instruction: stage for stage, program in programs().items()}
SMALL = {"tasks.difficulty": "easy", "tasks.per_person": 2, "tasks.distractors": 10}


def stage_of(sent: Sent) -> str:
    """What a request is about; empty for a solver's or a judge's."""
    text = sent.messages[0]["content"]
    plain = " ".join(text.split())
    return next((stage for words, stage in STAGES.items() if " ".join(words.split()) in plain), "")


def inputs_of(sent: Sent) -> dict[str, str]:
    return fields_of(str(sent.messages[-1]["content"]).partition("\n\nRespond with a JSON object")[0])


def usual(sent: Sent) -> Answer:
    stand_in = ROLES[sent.role].stand_in
    assert stand_in
    rows = [(row["role"], row["content"]) for row in sent.messages[1:]]
    return Answer(stand_in(sent.messages[0]["content"], rows))


def made(server: Server, slot: int = 1, proof: Any = "none", **tasks: Any) -> tuple[MadePerson, Attempt]:
    """A person of a slot, whose roles the server plays, and the attempt."""
    maker = ProbeMaker(with_fields(bundled_brief(), SMALL | tasks, "brief"), proof)

    async def run() -> tuple[MadePerson, Attempt]:
        gate = Gate(retries=0, backoff=0.001)
        specs = {name: ModelSpec(name="hosted_vllm/any", api_base=server.base(name)) for name in ROLES}
        models = {name: open_model(specs[name], role, gate) for name, role in ROLES.items()}
        attempt = Attempt(0, slot, 1, {name: Direct(models[name].lm) for name in ROLES}, dict.fromkeys(ROLES, "any"))
        try:
            return await maker.finish(attempt, await maker.begin(attempt)), attempt
        finally:
            for model in models.values():
                await model.aclose()

    return asyncio.run(run())


@pytest.fixture
def server():
    with Server(usual) as served:
        yield served


class Spoilt:
    """Changes the answers to a stage, by a function of the request and of its number; all others are as usual."""

    def __init__(self, server: Server, stage: str, change: Any, times: int = 1):
        self.stage, self.change, self.left = stage, change, times
        server.script = self

    def __call__(self, sent: Sent) -> Answer:
        answer = usual(sent)
        if stage_of(sent) == self.stage and self.left:
            document = json.loads(answer.content or "")
            if (changed := self.change(inputs_of(sent), document)) is not None:
                self.left -= 1
                return Answer(json.dumps(changed))
        return answer


def broken(attempt: Attempt, stage: str) -> list[str]:
    """The reasons for which answers of a stage were asked for again."""
    return [reason for author in attempt.authors if author.stage.startswith(stage) for reason in author.broken]


def test_a_person_has_the_tasks_that_were_ordered_and_shares_the_other_items(server):
    person, attempt = made(server)
    assert [task.number for task in person.tasks] == [1, 2]
    assert len(person.distractors) == 10
    assert person.lost == ()
    assert attempt.mends == []
    one, other = (person.items_of(task) for task in person.tasks)
    shared = [item.id for item in person.distractors]
    assert [item.id for item in one if item.id in shared] == [item.id for item in other if item.id in shared] == shared
    assert len({item.id for item in (*one, *other)}) == 10 + 2 + 2
    assert not {item.id for item in person.tasks[0].evidence} & {item.id for item in other}
    # One request for what is of the person, one a task or an item for the rest, and two batches of five.
    questions = Counter(author.stage.rstrip(" 0123456789") for author in attempt.authors if not author.broken)
    assert questions == {
        **dict.fromkeys(("world", "bottlenecks", "audit of bottlenecks", "actions"), 1),
        **dict.fromkeys(("audit of actions", "plan", "parameters", "review of evidence"), 2),
        **dict.fromkeys(("distractors", "review of distractors"), 2),
        "evidence": 4,
    }


def test_no_order_of_arrival_decides_anything(server):
    first, _ = made(server, proof="light")
    for seed in (1, 2):
        server.script = shuffled(usual, seed)
        again, _ = made(server, proof="light")
        assert again == first


def test_no_role_sees_what_its_view_leaves_out(server):
    person, _ = made(server)
    seen = {stage: [sent for sent in server.sent if stage_of(sent) == stage] for stage in STAGES.values()}
    hidden = [action.description for action in person.actions]
    for stage in ("distractors", "review of distractors"):
        assert not [text for sent in seen[stage] for text in hidden if text in sent.text]
    assert not [sent for sent in seen["audit of actions"] if '"resolves"' in sent.messages[-1]["content"]]
    offered = [json.loads(inputs_of(sent)["actions"]) for sent in seen["audit of actions"]]
    orders = [[action["id"] for action in actions] for actions in offered]
    assert orders[0] != orders[1], "each audit has an order of its own"
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(action.id for action in person.actions)
    for sent in seen["evidence"]:
        number = json.loads(inputs_of(sent)["planned"])["number"]
        assert [one["number"] for one in json.loads(inputs_of(sent)["others"])] == [3 - number]


def test_a_second_action_that_resolves_a_bottleneck_sends_the_actions_back(server):
    def two(inputs, answer):
        others = [action["id"] for action in json.loads(inputs["actions"])]
        right = answer["audit"]["resolving"]
        return {"audit": {"resolving": [*right, next(id_ for id_ in others if id_ not in right)], "reason": "Both do."}}

    Spoilt(server, "audit of actions", two)
    person, attempt = made(server)
    (reason,) = broken(attempt, "actions")
    assert "would resolve it, too (Both do.)" in reason
    assert len(person.tasks) == 2
    again = [sent for sent in server.sent if stage_of(sent) == "actions"][1]
    assert reason in again.messages[-1]["content"]


def test_a_facet_that_cannot_be_met_sends_the_bottlenecks_back(server):
    unmet = {"bottleneck": "b1", "facet": "what_task", "why": "nobody would write it"}
    Spoilt(server, "audit of bottlenecks", lambda _, answer: {"audit": answer["audit"] | {"unmet": [unmet]}})
    _, attempt = made(server)
    assert broken(attempt, "bottlenecks") == [
        "b1: the facet what_task cannot be met (nobody would write it); mend it, or make it null."
    ]


def test_evidence_that_a_review_finds_insufficient_is_planned_and_written_once_more(server):
    Spoilt(server, "review of evidence", lambda _, answer: {"review": answer["review"] | {"sufficient_alone": [1]}})
    person, attempt = made(server)
    assert len(person.tasks) == 2
    assert [(mend.stage, mend.reasons[0]) for mend in attempt.mends] == [
        ("review of evidence", "Item 1 alone is enough; let it state less.")
    ]
    plans = [sent for sent in server.sent if stage_of(sent) == "plan"]
    assert len(plans) == 3
    assert "Item 1 alone is enough" in plans[-1].messages[-1]["content"]


def test_a_task_whose_evidence_is_insufficient_again_is_lost_with_its_reason_and_the_others_stay(server):
    def first_alone(inputs, answer):
        is_first = json.loads(inputs["bottleneck"])["id"] == "b1"
        return {"review": answer["review"] | {"sufficient_alone": [1]}} if is_first else None

    Spoilt(server, "review of evidence", first_alone, times=9)
    person, _ = made(server)
    assert [task.number for task in person.tasks] == [2]
    (lost,) = person.lost
    assert (lost.number, lost.stage, lost.reasons[0]) == (
        1,
        "review of evidence",
        "Item 1 alone is enough; let it state less.",
    )


def test_a_person_without_a_task_fails_with_all_reasons(server):
    Spoilt(server, "review of evidence", lambda _, a: {"review": a["review"] | {"sufficient_alone": [1]}}, times=9)
    with pytest.raises(RuleError, match=r"review of evidence: Task 1: Item 1 alone is enough.* Task 2: Item 1 alone"):
        made(server)


def test_a_parameter_whose_value_no_item_states_is_asked_for_again(server):
    def invented(_, answer):
        return {"parameters": [one | {"quote": "as everybody knows"} for one in answer["parameters"]]}

    Spoilt(server, "parameters", invented)
    person, attempt = made(server)
    assert len(person.tasks) == 2
    assert broken(attempt, "parameters")
    assert all("'as everybody knows' does not stand in item" in reason for reason in broken(attempt, "parameters"))


def test_an_item_that_is_evidence_after_all_is_made_again_alone(server):
    def shows(inputs, answer):
        item = json.loads(inputs["items"])[2]
        quote = " ".join(item["item"]["text"].split()[:6])
        fault = {"item": item["number"], "bottleneck": "b1", "kind": "shows", "quote": quote}
        return {"review": answer["review"] | {"faults": [fault]}}

    Spoilt(server, "review of distractors", shows)
    person, _ = made(server)
    assert len(person.distractors) == 10
    sent = [sent for sent in server.sent if stage_of(sent) == "distractors"]
    assert [len(json.loads(inputs_of(one)["orders"])) for one in sent] == [5, 5, 1]
    assert "shows b1; write of another object." in sent[-1].text


def test_items_that_cannot_be_made_are_left_out_up_to_a_tenth_and_fail_the_person_beyond(server):
    def unnatural(*numbers):
        def change(inputs, answer):
            known = [item["number"] for item in json.loads(inputs["items"])]
            return {"review": answer["review"] | {"unnatural": [n for n in numbers if n in known]}}

        return change

    Spoilt(server, "review of distractors", unnatural(3), times=99)
    person, _ = made(server)
    assert sorted(item.order.number for item in person.distractors) == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    Spoilt(server, "review of distractors", unnatural(3, 7), times=99)
    with pytest.raises(RuleError, match=r"distractors: Item 3: It is not natural; .* Item 7: It is not"):
        made(server)


def test_a_task_that_its_proof_does_not_keep_gets_other_evidence_once_and_is_dropped_then(server):
    def wrong(sent: Sent) -> Answer:
        """No solver knows an answer to the first task."""
        answer = usual(sent)
        if (
            sent.role in ("solver", "tester")
            and person.tasks[0].bottleneck.ledger[0].value[:4] in sent.text
            and first(sent)
        ):
            answer = Answer(json.dumps(json.loads(answer.content or "") | {"action": "none"}))
        return answer

    person, _ = made(server)
    texts = [item.item.text[:40] for item in person.tasks[0].evidence]

    def first(sent: Sent) -> bool:
        return any(json.dumps(text)[1:-1] in sent.messages[-1]["content"] for text in texts)

    server.script = wrong
    proved, attempt = made(server, proof="light")
    mends = [mend for mend in attempt.mends if mend.stage == "proof"]
    assert [mend.reasons for mend in mends] == [("From all its evidence, 0 of 1 answers solve it.",)]
    task = proved.tasks[0]
    assert task.earlier
    assert not task.earlier[0].kept
    assert proved.tasks[1].published
    assert proved.tasks[1].earlier == ()


def test_the_calls_of_a_person_are_as_expected(server):
    maker = ProbeMaker(with_fields(bundled_brief(), SMALL, "brief"), "light")
    _, attempt = made(server, proof="light")
    stages = Counter(author.stage.rstrip(" 0123456789") for author in attempt.authors if not author.broken)
    making = {one.stage: one.calls for one in maker.forecast() if one.stage in STAGES.values()}
    assert {stage: stages[stage] for stage in making} == making
    mixed = ProbeMaker(with_fields(bundled_brief(), SMALL | {"tasks.difficulty": "mixed"}, "brief"), "none")
    # Evidence of a task: 2, 2 to 3 or 3 to 5 items; of two tasks in the mean (4 + 5 + 8) / 3.
    assert {one.stage: one.calls for one in mixed.forecast()}["evidence"] == pytest.approx(17 / 3)


def test_an_answer_with_a_character_that_no_file_may_have_is_asked_for_again(server):
    """A text about one is none."""
    mark = "\\u0000"
    Spoilt(server, "world", lambda _, answer: {"world": answer["world"] | {"about": f"Keeps notes on {mark}."}})
    person, attempt = made(server)
    assert person.world.about == f"Keeps notes on {mark}."
    assert broken(attempt, "world") == []
    Spoilt(server, "world", lambda _, answer: {"world": answer["world"] | {"about": "Keeps\0notes."}})
    person, attempt = made(server)
    assert "\0" not in person.world.about
    assert broken(attempt, "world") == ["It holds a NUL character, which no file may have; leave it out."]


@pytest.mark.parametrize("char", ["\u200b", "\x1b", "\n"])
def test_a_name_that_readers_of_files_would_refuse_is_asked_for_again(server, char):
    Spoilt(server, "world", lambda _, answer: {"world": answer["world"] | {"full_name": f"Silvan{char} Hollander"}})
    _, attempt = made(server)
    (reason,) = broken(attempt, "world")
    assert reason.endswith("has a character that is not shown; leave it out.")
