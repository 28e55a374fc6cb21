"""What the card of published tasks says of their proofs, and no more than these show."""

from dspy_proact.benchmarks.probe.corpus_report.task_publishing import publishing
from dspy_proact.publish.publishing import PublicData


def audit_of(task, fresh, repeats=0):
    return {"task": task, "persona": "p", "person": "p-1", "proof": {"fresh": fresh, "repeats": repeats}}


def described(*audits):
    world = {"persona_id": "p-1", "context_difficulty": "easy", "available_actions": []}
    inputs = [{"world_model": world, "data_points": []} for _ in audits]
    rows = {"inputs": inputs, "outputs": [], "audits": audits, "tasks": [{"task": audit["task"]} for audit in audits]}
    brief = {"work": {"name": "W", "text": "T"}, "people": {"personas": "invented"}, "tasks": {"language": "English"}}
    return publishing().describe(PublicData(brief, rows, {})).proof


def test_fresh_answers_that_repeat_those_that_decided_are_counted_on_the_card():
    proof = described(audit_of("a", [True, True], 2), audit_of("b", [True, None]))
    assert proof[0].startswith("2 of 2 tasks have fresh answers from the evidence alone, which decided nothing: 3 of 3")
    assert proof[1] == "2 of 4 fresh answers repeat, word for word, one that decided."
    assert len(described(audit_of("a", [True, False]))) == 1


def test_fresh_answers_none_of_which_could_be_graded_show_nothing():
    (sentence,) = described(audit_of("a", [None, None]))
    assert sentence == "No fresh answer to these tasks could be graded: whether their evidence solves them is unknown."
