"""What a proposer is told of PROBE's programs: an excerpt of a mailbox, where an answer lacks most, and its parts."""

from typing import Any

import pytest

from dspy_proact.benchmarks.probe.benchmark import Probe
from dspy_proact.benchmarks.probe.scoring import graded
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import Solution
from dspy_proact.programs.card import texts_in

CASE: Any = Probe().read("sample", ProbeSettings()).cases[0]
TUNING = Probe().tuning(ProbeSettings())


def test_of_a_mailbox_named_items_are_shown_with_titles_of_others_and_nothing_of_gold():
    items = CASE.view.items
    named = [item.id for item in items[5:11]]
    action = CASE.view.actions[0]
    shown = TUNING.excerpt(CASE.view.task.inputs, {"evidence": named, "action": action.id})
    *mails, others = shown["documents"]
    assert [mail.partition(",")[0] for mail in mails] == named[:4]
    assert others.startswith(f"{len(items) - 4} others, such as ")
    assert shown["actions"][0] == f"{action.id} needs {', '.join(action.required)}"
    assert shown["world"].startswith(CASE.view.world.person)
    assert CASE.view.gold.description not in " ".join(texts_in(dict(shown)))
    unnamed = TUNING.excerpt(CASE.view.task.inputs, {})
    assert [mail.partition(",")[0] for mail in unnamed["documents"][:-1]] == [item.id for item in items[:4]]


def test_what_a_judge_is_shown_is_shown_as_it_is():
    inputs = {"workplace": "W", "expected": "E", "description": "D"}
    assert TUNING.excerpt(inputs, {"judgment": "CORRECT"}) == inputs


@pytest.mark.parametrize(
    ("named", "error"),
    # Of search, identification and task the first that is lowest: without evidence all are 0.
    [([], "search falls short"), (CASE.view.gold.evidence, "identification falls short")],
)
def test_the_error_is_the_stage_that_lacks_most(named, error):
    answer = Solution(evidence=tuple(named))
    scored = graded(CASE.view, answer, ProbeSettings(), None, None)
    feedback = TUNING.feedback(CASE, answer, scored)
    assert (feedback.error, feedback.score) == (error, scored.score)


def test_each_judge_is_told_of_its_own_parts():
    of_description, of_parameters = (
        TUNING.aim("judge", f"{name}.question", None, None).purpose for name in ("identification", "resolution")
    )
    assert "who_blocked" in of_description
    assert "parameters (Are" not in of_description
    assert "parameters (Are the parameters of the action right?" in of_parameters
    assert "who_blocked" not in of_parameters
    assert "would_resolve" not in of_parameters  # to which no judge is tuned
