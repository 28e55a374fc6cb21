"""Planted assistants, and swaps as control turns."""

from builders.made_dialogues import (
    CRITICAL,
    EMERGENT,
    FACTS,
    MESSAGES,
    RECOVERY,
    SYSTEM,
    made_dialogue,
)
from builders.scripted_proof import Script, graded_by_kind, needs, proved

from dspy_proact.benchmarks.proactbench.generation import proof
from dspy_proact.benchmarks.proactbench.generation.planted import PLANTED, planted_response
from dspy_proact.benchmarks.proactbench.types import Dialogue, Origin


def test_planted_assistants_are_graded_at_what_was_kept_and_the_checklist_is_charged():
    script = Script(acts=needs("a1", "a2"), passes=graded_by_kind)
    made, _ = proved(script, CRITICAL, RECOVERY, matrix=True)
    assert [trigger.turn for trigger in made.triggers if trigger.published] == [4]
    assert list(made.matrix) == list(PLANTED)
    assert made.matrix["knows the rubric"] == {4: "PASS"}
    # One of the two facts alone does not pass.
    assert {made.matrix[name][4] for name in PLANTED if name != "knows the rubric"} == {"FAIL"}
    assert made.charged == {4: True}
    unmatched, _ = proved(Script(acts=script.acts), CRITICAL)
    assert (unmatched.matrix, unmatched.charged) == ({}, {})


def test_what_planted_assistants_say():
    dialogue = made_dialogue(CRITICAL, RECOVERY)
    says = {name: planted_response(name, dialogue, CRITICAL) for name in list(PLANTED)[:-1]}
    assert says["silent"] == "answer 4"
    assert all(text.startswith("answer 4") for text in says.values())
    assert "a1" not in says["anchor-repeater"]
    assert all(FACTS[name][1] in says["anchor-repeater"] for name in ("a1", "a2"))
    assert "consequence" not in says["anchor-repeater"] + says["checklist of offers"] + says["polite closer"]
    assert "consequence-a2" in says["anchor-taker"]
    assert "consequence-a1" not in says["anchor-taker"]
    assert "consequence-a3" in planted_response("anchor-taker", dialogue, RECOVERY)


def test_a_swap_by_which_a_trigger_was_kept_is_a_control_of_its_own():
    made, _ = proved(Script(), EMERGENT, RECOVERY)
    origin = Origin(
        dialogue="d1",
        persona="a" * 32,
        scenario_id="s",
        blueprint="b",
        life_domain="family",
        style=0,
        source_model="m",
    )
    ours = Dialogue(origin=origin, turns=(), triggers=(), system=SYSTEM)
    (control,) = proof.controls_of(made, ours)
    assert control.origin.dialogue == "d1__swap2"
    assert (control.triggers, control.system) == ((), SYSTEM)
    assert [turn.assistant for turn in control.turns] == [MESSAGES[1][1], None]
    assert "detective stories" in control.turns[-1].user
    assert proof.controls_of(made_dialogue(EMERGENT), ours) == []
