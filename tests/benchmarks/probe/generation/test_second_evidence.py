"""Other evidence for a task whose proof failed: when there is any, and what its planner and writers learn."""

import asyncio
from typing import Any

import pytest
from builders.made_people import kept_proof

from dspy_proact.benchmarks.probe.generation.brief import brief_of
from dspy_proact.benchmarks.probe.generation.made import MadePerson, MadeTask
from dspy_proact.benchmarks.probe.generation.making import ROLES, ProbeMaker
from dspy_proact.generation.attempt import Attempt, RuleError
from dspy_proact.models import Gate, open_model
from dspy_proact.programs import Direct
from dspy_proact.programs.asking import rendered


class Prover:
    """Drops every task for one reason, in which `{}` is the id of the second item of its evidence."""

    def __init__(self, reason: str, **proof: Any):
        self.reason, self.proof = reason, proof

    async def proved(self, attempt: Attempt, person: MadePerson, task: MadeTask) -> MadeTask:
        proof = kept_proof(kept=False, reason=self.reason.format(task.evidence[1].id), **self.proof)
        return task.model_copy(update={"proof": proof})


def notes_of(prover: Any) -> tuple[list[tuple[str, str]], Attempt]:
    """Role and note of each request that is sent again for a person of one task, and the attempt."""
    brief = brief_of(None)
    tasks = brief.tasks.model_copy(update={"difficulty": "easy", "per_person": 1, "distractors": 10})
    maker = ProbeMaker(brief.model_copy(update={"tasks": tasks}), "light")
    maker.prover = prover
    lms = {name: open_model("embedded", role, Gate()).lm for name, role in ROLES.items()}
    notes = list[tuple[str, str]]()

    def listening(role: str) -> Any:
        answer = Direct(lms[role])

        async def ask(predictor: Any, adapter: Any, **inputs: Any) -> Any:
            text = str(rendered(predictor, adapter, inputs)[-1]["content"])
            notes.append((role, text.partition("did not measure what it should. ")[2]))
            return await answer(predictor, adapter, **inputs)

        return ask

    attempt = Attempt(0, 1, 1, {name: listening(name) for name in ROLES}, dict.fromkeys(ROLES, "x"))

    async def made() -> None:
        await maker.finish(attempt, await maker.begin(attempt))

    with pytest.raises(RuleError):
        asyncio.run(made())
    return [(role, note.splitlines()[0]) for role, note in notes if note], attempt


def test_what_is_against_an_item_names_its_number_and_each_writer_learns_which_is_its_own():
    notes, attempt = notes_of(Prover("Without {}, 1 of 1 answers solve it."))
    assert [mend.stage for mend in attempt.mends if mend.stage == "proof"] == ["proof"]
    assert notes[0] == ("planner", "Without item 2, 1 of 1 answers solve it.")
    yours = "Your item is item {}; what is against another item leaves it as it is."
    written = [note for role, note in notes if role == "writer"]
    assert [note for note in written if "Your item is" in note] == written
    assert {f"Without item 2, 1 of 1 answers solve it. {yours.format(n)}" for n in (1, 2)} <= set(written)


def test_a_task_that_is_solved_without_any_text_gets_no_other_evidence():
    notes, attempt = notes_of(Prover("The adversary finds action and bottleneck without any text.", shortcut=True))
    assert notes == []
    assert [mend.stage for mend in attempt.mends if mend.stage == "proof"] == []
