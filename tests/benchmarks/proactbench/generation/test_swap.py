"""What a swap must keep to, and who asks for it again."""

from collections.abc import Callable
from typing import Any

import pytest
from builders.made_dialogues import (
    EMERGENT,
    made_dialogue,
)
from builders.scripted_proof import Script, proof_of, reasons, swap_without

from dspy_proact.benchmarks.proactbench.generation import swap
from dspy_proact.benchmarks.proactbench.generation.values import Swap, SwapAudit, SwappedTurn


def turn_of(number: int, **changes: Any) -> Callable[..., Swap]:
    """A swap that is as it should be but for one turn."""

    def written(turns: list[SwappedTurn], names: list[str]) -> Swap:
        made = swap_without(turns, names)
        new = [turn.model_copy(update=changes) if turn.turn == number else turn for turn in made.turns]
        return made.model_copy(update={"turns": new})

    return written


ORIGINAL = made_dialogue(EMERGENT).before(2)
USER = swap_without(ORIGINAL, ["a1"]).turns[1].user


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (turn_of(2, user=USER.replace("dad", "dad of the STAIRS")), "Turn 2 still holds 'stairs'"),
        (turn_of(1, assistant="Ten, by the stairs."), "Turn 1 still holds 'stairs'"),
        (turn_of(2, user=USER.replace("?", ".")), "In turn 2 the user's message has 0 questions and had 1"),
        (turn_of(1, user="Good morning? How many books may I take out at once?"), "In turn 1 the user's message has 2"),
        (turn_of(2, user="No.", assistant=None), "Keep the length within 30%"),
        (turn_of(2, user=f"{USER} {'Also this. ' * 8}"), "Keep the length within 30%"),
        (turn_of(2, assistant="Upstairs."), "Turn 2 awaits its response: leave its assistant null."),
        (turn_of(1, assistant=None), "No message may be empty"),
        (turn_of(1, user=" "), "No message may be empty"),
        (turn_of(1, turn=3), "Return exactly the turns 1 to 2"),
        (lambda turns, *_: Swap(turns=swap_without(turns, ["a1"]).turns[1:], removed=["a1"]), "exactly the turns 1 to"),
        (lambda turns, *_: Swap(turns=swap_without(turns, ["a1"]).turns, removed=[]), "In `removed` list exactly a1."),
        (
            turn_of(
                2, user="My son came along because of a cold and is bored. Where do comics stand in this building?"
            ),
            "Change less:",
        ),
    ],
)
def test_what_a_swap_must_keep_to_is_asked_for_again_with_the_reason(written, message):
    """Twice, since its writer does not mend it."""
    script = Script(swaps=written)
    failure = reasons(script)
    assert "No version of the conversation without its facts could stand." in failure
    assert message in failure
    first, *again = script.requests("WriteSwap")
    assert message not in first
    assert len(again) == 2
    assert all(message in request for request in again)


def test_a_careful_swap_breaks_no_rule():
    for names in (["a1"], ["a2"], ["a3"], ["a1", "a2", "a3"]):
        original = made_dialogue(EMERGENT).before(5)
        anchors = [made_dialogue(EMERGENT).scenario.anchor(name) for name in names]
        assert swap.misfits(original, anchors, swap_without(original, names)) == []


def test_likeness_asks_less_of_a_user_of_few_words():
    few = [SwappedTurn(turn=1, user="Due when?", assistant=None)]
    many = [SwappedTurn(turn=1, user="word " * 40, assistant=None)]
    assert (swap.least_likeness(few), swap.least_likeness(many)) == (0.55, 0.85)
    assert swap.likeness(few, few) == 1
    # Of 2 and 3 words one is the same: 2 * 1 / 5.
    assert swap.likeness(few, [SwappedTurn(turn=1, user="Until then?", assistant=None)]) == pytest.approx(0)
    assert swap.likeness(few, [SwappedTurn(turn=1, user="And when? Due", assistant=None)]) == pytest.approx(0.4)


def test_in_japanese_a_swap_of_a_few_characters_is_a_small_change():
    old = [SwappedTurn(turn=1, user="来週リスボンに行きます。本は何冊借りられますか。", assistant=None)]
    new = [SwappedTurn(turn=1, user="来週はお茶を飲みます。本は何冊借りられますか。", assistant=None)]
    anchor = made_dialogue(EMERGENT).scenario.anchor("a1").model_copy(update={"keys": ["リスボン"]})
    rewritten = swap.Swap(turns=new, removed=[anchor.id])
    assert swap.least_likeness(old) == 0.55
    assert swap.misfits(old, [anchor], rewritten) == []


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"implied": True}, "The removed fact can still be inferred"),
        ({"other_reason": True}, "Something else in the conversation still calls for the act"),
        ({"realism": 0.5}, "realism below 0.6"),
    ],
)
def test_a_swap_that_its_auditor_rejects_is_written_again_with_the_advice(fault, message):
    audit = SwapAudit(**{"implied": False, "other_reason": False, "realism": 1.0, "advice": "Advice-7."} | fault)
    script = Script(audits=lambda *_: audit)
    failure = reasons(script)
    assert message in failure
    first, *again = script.requests("WriteSwap")
    assert "Advice-7." not in first
    assert ["Advice-7." in request for request in again] == [True, True]
    assert not script.requests("Reply"), "what has no swap is not answered"


def test_a_swap_that_is_mended_stands():
    audits = iter([SwapAudit(implied=True, other_reason=False, realism=1, advice="Say less.")])
    fine = SwapAudit(implied=False, other_reason=False, realism=1, advice="")
    assert proof_of(Script(audits=lambda *_: next(audits, fine))).proof.kept
