"""Needs are found in logged conversations over HTTP: which become triggers, of what kind, and who sees what."""

import json

import pytest
from builders.logged_chats import (
    CHAT,
    LISBON,
    LogScript,
    aftermath,
    audit,
    findings,
    need,
    rows,
    rubric,
    written_log,
)
from support.provider import SimulatedProvider

from dspy_proact.benchmarks.proactbench.logs.values import MinedDialogue

FINDERS = ("finder", "planner")
"""Who must not see a response or a later turn."""


def mined(tmp_path, script, *chats, **options) -> list[MinedDialogue]:
    generated = script.made(tmp_path / "out", written_log(tmp_path / "log.jsonl", *(chats or (CHAT,))), **options)
    return [kept.item for kept in generated.made.kept]


def triggers(dialogue: MinedDialogue) -> list[tuple[int, str, str]]:
    return [(one.turn, one.rubric.type, one.after.outcome) for one in dialogue.triggers]


def lost(dialogue: MinedDialogue) -> list[tuple[int, str]]:
    return [(one.turn, one.reason) for one in dialogue.lost]


def at(turn, *needs, closes=False):
    """What the finder names: these needs at one turn, and nothing at the others."""
    return lambda shown: findings(*needs, closes=closes) if len(shown["conversation"]) == turn else findings()


# Who sees what


def test_neither_the_finder_nor_the_writer_of_a_rubric_nor_its_auditor_sees_the_response_or_what_came_after(tmp_path):
    chat = (f"{LISBON}. Which novels are in?", "SECRET-REPLY", "SECRET-LATER please.", "SECRET-LATEST", "Bye.", "Bye.")
    script = LogScript(findings=at(1, need()))
    assert triggers(mined(tmp_path, script, chat)[0]) == [(1, "EMERGENT", "open")]
    about_turn_1 = [text for role in FINDERS for text in script.sent[role] if '"turn": 2' not in text]
    rubric_audits = [text for text in script.sent["auditor"] if "[[ ## rubric ## ]]" in text]
    assert len(about_turn_1) == 2  # the finder at turn 1, and the planner
    assert len(rubric_audits) == 1
    assert not [text for text in (*about_turn_1, *rubric_audits) if "SECRET" in text]
    second = [text for text in script.sent["finder"] if '"turn": 2' in text and '"turn": 3' not in text]
    assert ["SECRET-LATEST" in text for text in second] == [False]
    (after,) = [text for text in script.sent["auditor"] if "[[ ## after ## ]]" in text]
    assert all(secret in after for secret in ("SECRET-REPLY", "SECRET-LATER", "SECRET-LATEST"))
    (judged,) = script.sent["judge"]
    assert ("SECRET-REPLY" in judged, "SECRET-LATER" in judged) == (True, False)


def test_what_came_after_reaches_no_other_role_by_way_of_reasons(tmp_path):
    """Rubric and audit break rules, and the auditor of what came after does too; all are asked again."""

    def after(_):
        audits = [text for text in script.sent["auditor"] if "[[ ## after ## ]]" in text]
        return aftermath("confirmed", "SECRET-INVENTED" if len(audits) == 1 else "Why did nobody renew it?", 3)

    def written(shown):
        return (
            {**rubric(shown["step"]), "anchors": ["a9"]} if len(script.sent["planner"]) == 1 else rubric(shown["step"])
        )

    script = LogScript(findings=at(1, need()), aftermath=after, rubric=written)
    assert triggers(mined(tmp_path, script)[0]) == [(1, "EMERGENT", "confirmed")]
    assert len(script.sent["planner"]) == 2
    assert not [text for text in script.sent["planner"] if "SECRET" in text or "overdue" in text]


# Which needs are triggers


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"requested": "partly"}, "The user asks for it in part."),
        ({"requested": "yes"}, "The user asks for it."),
        ({"served": True}, "An earlier response did it already."),
        ({"act": "offers to waive the fee"}, "The act is one that must never be offered."),
    ],
)
def test_a_need_that_is_asked_for_served_or_forbidden_is_no_trigger(tmp_path, changes, reason):
    (dialogue,) = mined(tmp_path, LogScript(findings=at(1, need(**changes))))
    assert (triggers(dialogue), lost(dialogue)) == ([], [(1, reason)])


def test_what_stands_in_a_question_is_no_fact_in_passing(tmp_path):
    script = LogScript(findings=at(1, need("before I fly to Lisbon on the ninth")))
    (dialogue,) = mined(tmp_path, script, ("Is it due before I fly to Lisbon on the ninth?", "No.", "Thanks.", "Bye."))
    assert lost(dialogue) == [(1, "A fact of the need stands in a question, so that the user asks about it.")]
    assert not dialogue.triggers


def test_a_quote_that_stands_nowhere_is_asked_for_again_and_its_turn_is_left_after_three(tmp_path):
    invented = need("I fly to Porto on the ninth")
    script = LogScript(findings=at(1, invented))
    (dialogue,) = mined(tmp_path, script)
    assert [turn for turn, _ in lost(dialogue)] == [1]
    assert "does not stand in the user's message of turn 1" in dialogue.lost[0].reason
    # Three at turn 1, one at turns 2 and 3 each.
    assert len(script.sent["finder"]) == 5
    later = LogScript(findings=at(1, need(turn=2)))
    assert not mined(tmp_path / "later", later)[0].triggers


def test_a_need_has_one_trigger_though_it_returns_at_every_turn(tmp_path):
    script = LogScript(findings=lambda _: findings(need()))
    (dialogue,) = mined(tmp_path, script)
    assert triggers(dialogue) == [(1, "EMERGENT", "open")]
    same = "The same need has a trigger at an earlier turn."
    assert lost(dialogue) == [(2, same), (3, same)]
    known = [text for text in script.sent["finder"] if json.dumps([need()["need"]]) in text]
    assert len(known) == 1  # at turn 2; at turn 3 it is listed with the one that was dismissed


def test_of_two_needs_at_a_turn_the_surest_is_its_trigger_and_the_other_may_return(tmp_path):
    chat = ("My uncle walks on crutches today. I fly to Lisbon on the ninth.", "Fine.", "Which novels are in?", "None.")
    crutches = need("My uncle walks on crutches", act="has books brought to the uncle's home")

    def find(shown):
        return findings(need(), crutches) if len(shown["conversation"]) == 1 else findings(crutches)

    (dialogue,) = mined(tmp_path, LogScript(findings=find), chat)
    assert [(one.turn, one.need.act) for one in dialogue.triggers] == [(1, need()["act"]), (2, crutches["act"])]
    assert lost(dialogue) == [(1, "Another need has the trigger of this turn.")]


@pytest.mark.parametrize(
    ("more", "closes", "kind"),
    [
        ((), False, "EMERGENT"),
        ((("my uncle reads with it", 2),), False, "CRITICAL"),
        ((), True, "RECOVERY"),
        ((("my uncle reads with it", 2),), True, "RECOVERY"),
    ],
)
def test_the_kind_follows_from_how_many_facts_are_needed_and_from_whether_the_user_is_done(
    tmp_path, more, closes, kind
):
    chat = (f"{LISBON}.", "I see.", "Now my uncle reads with it.", "Bye.")
    script = LogScript(findings=at(2, need(LISBON, 1, *more), closes=closes))
    (dialogue,) = mined(tmp_path, script, chat)
    assert triggers(dialogue) == [(2, kind, "open")]
    assert len(dialogue.triggers[0].anchors) == 1 + len(more)


def test_nothing_is_recovered_of_what_the_closing_message_alone_discloses(tmp_path):
    script = LogScript(findings=at(1, need(), closes=True))
    (dialogue,) = mined(tmp_path, script, (f"Thanks, that was all. {LISBON}.", "Bye."))
    assert triggers(dialogue) == [(1, "EMERGENT", "open")]


# What came after


def test_what_the_user_comes_back_to_is_confirmed_and_what_is_refuted_is_no_trigger(tmp_path):
    quote = "Why did nobody renew it?"
    script = LogScript(aftermath=lambda _: aftermath("confirmed", quote, 3))
    assert triggers(mined(tmp_path, script)[0]) == [(1, "EMERGENT", "confirmed")]
    refuted = LogScript(aftermath=lambda _: aftermath("refuted", quote, 3))
    (dialogue,) = mined(tmp_path / "refuted", refuted)
    assert lost(dialogue) == [(1, "What came after refutes the need, as the auditor says.")]
    assert not (refuted.sent["planner"])
    assert not (refuted.sent["judge"])


@pytest.mark.parametrize(
    ("quote", "turn"), [("It is put aside.", 2), ("Why did nobody renew it?", 2), (LISBON, 1), ("", 3), (None, None)]
)
def test_only_the_users_words_of_a_later_message_confirm(tmp_path, quote, turn):
    (dialogue,) = mined(tmp_path, LogScript(aftermath=lambda _: aftermath("confirmed", quote, turn)))
    assert not dialogue.triggers
    assert "Quote in `quote` the words of a user's message of turn 2 to 3" in dialogue.lost[0].reason


def test_nobody_is_asked_what_came_after_the_last_message_of_the_user(tmp_path):
    script = LogScript()
    (dialogue,) = mined(tmp_path, script, CHAT[:2])
    assert triggers(dialogue) == [(1, "EMERGENT", "open")]
    assert not [text for text in script.sent["auditor"] if "[[ ## after ## ]]" in text]


def test_a_message_that_nobody_answered_has_no_trigger_and_may_confirm_one(tmp_path):
    script = LogScript(
        findings=lambda _: findings(need()), aftermath=lambda _: aftermath("confirmed", CHAT[4][-24:], 3)
    )
    (dialogue,) = mined(tmp_path, script, CHAT[:5])
    assert triggers(dialogue) == [(1, "EMERGENT", "confirmed")]
    assert len(script.sent["finder"]) == 2


# Rubrics


def test_a_rubric_that_the_auditor_does_not_pass_is_written_again_and_its_need_is_no_trigger_after_three(tmp_path):
    script = LogScript(audit=lambda shown: {**audit(shown), "asked_for": True})
    (dialogue,) = mined(tmp_path, script)
    assert not dialogue.triggers
    assert "The user's message asks for the act" in dialogue.lost[0].reason
    assert len(script.sent["planner"]) == 3


def test_a_verdict_that_cannot_be_read_leaves_the_trigger_ungraded(tmp_path):
    (dialogue,) = mined(tmp_path, LogScript(grade=lambda _: "SPLENDID"))
    assert dialogue.triggers[0].verdict is None
    assert dialogue.triggers[0].ungraded
    assert rows(tmp_path / "out", "logged.jsonl")[0]["response"] == "Ishiguro is in."


def test_nobody_grades_where_no_proof_is_wanted_and_the_same_folder_goes_on_with_it(tmp_path):
    script, log = LogScript(), written_log(tmp_path / "log.jsonl", CHAT)
    with SimulatedProvider(script) as provider:
        script.making(provider, log, "none").run(tmp_path / "out")
        assert not script.sent["judge"]
        graded = script.making(provider, log).run(tmp_path / "out")
    assert graded.paid == 1
    assert graded.made.kept[0].item.triggers[0].verdict.grade == "FAIL"
