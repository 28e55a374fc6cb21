"""What is kept as a trigger and what is not, by scripted roles: assistants of known conduct, a judge of one rule."""

import itertools
import random
from typing import Any

import pytest
from builders.made_dialogues import (
    CRITICAL,
    EMERGENT,
    RECOVERY,
    SYSTEM,
    made_dialogue,
    made_trigger,
    rubric,
)
from builders.scripted_proof import (
    Script,
    named,
    needs,
    no_rewriting,
    proof_of,
    proved,
    reasons,
    rewriting,
    states,
    swap_without,
)

from dspy_proact.benchmarks.proactbench.generation import proof
from dspy_proact.benchmarks.proactbench.generation.made import UNSCORED, Sampled
from dspy_proact.benchmarks.proactbench.generation.values import SwapAudit
from dspy_proact.errors import ContentError, ProviderError

# The anchor test


def test_a_trigger_whose_pass_depends_on_the_fact_is_kept_and_answered_afresh():
    script = Script()
    kept = proof_of(script).proof
    assert kept.kept
    assert kept.reason == ""
    assert kept.looking == Sampled(with_anchors=["PASS"] * 3, without_anchors=["FAIL"] * 3)
    assert kept.bare == Sampled(with_anchors=["FAIL"] * 3, without_anchors=["FAIL"] * 3)
    assert kept.fresh == kept.looking
    assert kept.repeats == 6  # a script gives its answers again, word for word
    # Two assistants and then a tester, each three times in each arm; a judge for each response.
    roles = [role for role, _, _ in script.sent]
    assert {role: roles.count(role) for role in set(roles)} == {
        "planner": 1,
        "auditor": 1,
        "assistant": 12,
        "tester": 6,
        "judge": 18,
    }
    assert kept.swap.turns[1].user == "I am here for my dad, who likes detective stories. Which floor is fiction on?"


def test_what_the_bare_assistant_does_decides_nothing():
    assert proof_of(Script(acts=lambda stated, looks: "a1" in stated or not looks)).proof.kept


def test_a_trigger_that_passes_without_the_fact_is_not_kept():
    assert reasons(Script(acts=lambda *_: True)) == (
        "anchor test: Turn 2: Told to look, 3 of 3 responses pass with the facts and 3 of 3 without."
    )


def test_a_trigger_that_nobody_passes_is_not_kept():
    assert "0 of 3 responses pass with the facts and 0 of 3 without." in reasons(Script(acts=lambda *_: False))


@pytest.mark.parametrize(
    ("with_anchors", "without_anchors", "kept"),
    [
        ("PPP", "FFF", True),
        ("PPP", "PFF", True),
        ("PPF", "FFF", True),
        ("PPF", "PFF", False),
        ("PPP", "PPF", False),
        ("FFF", "FFF", False),
        ("PPU", "FFF", True),
        ("PUU", "FFF", False),
        # What could not be graded without the facts may have passed.
        ("PPF", "UFF", False),
        ("PPP", "UFF", True),
        ("P", "F", True),
        ("P", "P", False),
        ("P", "U", False),
        ("F", "F", False),
    ],
)
def test_passes_with_the_facts_less_passes_without_are_two_of_three(with_anchors, without_anchors, kept):
    words = {"P": "PASS", "F": "FAIL", "U": UNSCORED}
    arms = [[words[letter] for letter in letters] for letters in (with_anchors, without_anchors)]
    assert (proof.weakness(Sampled(with_anchors=arms[0], without_anchors=arms[1])) == "") == kept


def test_a_partial_is_no_pass():
    arms = Sampled(with_anchors=["PARTIAL"] * 3, without_anchors=["FAIL"] * 3)
    assert proof.weakness(arms) == "Told to look, 0 of 3 responses pass with the facts and 0 of 3 without."


def test_light_asks_once_in_each_arm_and_none_asks_nothing():
    script = Script()
    kept = proof_of(script, level="light").proof
    assert kept.kept
    assert kept.looking == kept.fresh == Sampled(with_anchors=["PASS"], without_anchors=["FAIL"])
    drafts = Script()
    made, _ = proved(drafts, EMERGENT, level="none", matrix=True)
    assert (made, drafts.sent) == (made_dialogue(EMERGENT), [])


def test_responses_and_verdicts_that_cannot_be_used_are_no_failures():
    for role in ("assistant", "judge"):
        message = reasons(Script(unreadable={role}))
        assert "0 of 3 responses pass with the facts and 0 of 3 without; 6 could not be scored." in message


def test_a_provider_that_fails_drops_nothing():
    class Down(Script):
        def answer(self, question, messages, inputs):
            if question == "Reply":
                raise ProviderError("timeout", "no answer")
            return super().answer(question, messages, inputs)

    with pytest.raises(ProviderError):
        proved(Down(), EMERGENT)


def test_one_trigger_of_a_dialogue_is_enough_and_the_others_stay_with_their_reasons():
    made, _ = proved(Script(), EMERGENT, RECOVERY)
    kept, other = made.triggers
    assert (kept.published, other.published) == (True, False)
    assert other.proof.fresh is None
    # The first anchor stays in the second's swap, so that the assistant acts in both arms.
    assert "3 of 3 responses pass with the facts and 3 of 3 without" in other.proof.reason


# What judges and others see


def test_the_judge_sees_the_original_conversation_in_both_arms_and_not_the_arm():
    """Responses are equal in both arms, and so are the requests that grade them."""
    script = Script(acts=lambda *_: True)
    reasons(script)
    graded = script.requests("GradeResponse")
    assert len(graded) == 12
    assert len(set(graded)) == 1
    assert "can't climb stairs" in graded[0]
    assert "detective" not in graded[0]


def test_each_role_sees_what_it_may():
    script = Script()
    proved(script, EMERGENT, CRITICAL, RECOVERY, matrix=True)
    canaries = {
        "WriteSwap": ["goal-canary", "plan-canary", "consequence-", "does act-", "forbidden-canary"],
        "AuditSwap": ["goal-canary", "plan-canary", "consequence-", "does act-", "forbidden-canary"],
        "Reply": ["goal-canary", "plan-canary", "consequence-", "forbidden-canary"],
        "GradeResponse": ["goal-canary", "plan-canary", "forbidden-canary", proof.LOOK, "armchair"],
        "DetectOffers": ["goal-canary", "plan-canary", "consequence-", "does act-", "forbidden-canary"],
    }
    for question, texts in canaries.items():
        requests = script.requests(question)
        assert requests
        assert not [text for text in texts for request in requests if text in request], question
    rubrics = [text for text in script.requests("Reply") if "does act-" in text]
    assert len(rubrics) == sum(role == "tester" and "PASS:" in str(sent) for role, _, sent in script.sent) > 0


def test_the_auditor_of_a_swap_sees_the_rewriting_alone():
    script = Script()
    proof_of(script)
    (request,) = script.requests("AuditSwap")
    assert "who likes detective stories" in request
    assert "can't climb stairs any more" not in request
    assert "Her father cannot climb stairs." in request
    assert "act-a1" in request


def test_an_assistant_has_one_system_message_with_the_dialogues_text_last():
    script = Script()
    proof_of(script)
    systems = {messages[0]["content"] for _, question, messages in script.sent if question == "Reply"}
    assert systems == {f"{proof.LOOK}\n\n{SYSTEM}", SYSTEM}


def test_judge_and_detector_see_the_dialogues_system_text():
    script = Script()
    proved(script, EMERGENT, matrix=True)
    for question in ("GradeResponse", "DetectOffers"):
        requests = script.requests(question)
        assert requests
        assert all(SYSTEM in request for request in requests)


def test_no_order_of_arrival_decides_which_request_is_which():
    def record(seed: int) -> list[tuple[str, int, int, str]]:
        script = Script(chance=random.Random(seed), acts=lambda stated, looks: looks and {"a1", "a2"} <= stated)
        _, attempt = proved(script, CRITICAL, made_trigger(3, "CRITICAL", "a1", "a2"), matrix=True)
        return sorted((author.stage, author.turn, author.sample, author.prompt) for author in attempt.authors)

    first = record(1)
    assert all(record(seed) == first for seed in range(2, 8))
    assert len({line[:3] for line in first}) == len(first)


# Leave-one-out


def test_a_critical_trigger_that_needs_all_its_facts_is_kept():
    kept = proof_of(Script(acts=needs("a1", "a2")), CRITICAL).proof
    assert kept.kept
    assert kept.leave_one_out == {"a1": ["FAIL"] * 3, "a2": ["FAIL"] * 3}
    assert kept.replaced is None


def test_another_anchor_that_stays_may_call_for_the_act_where_one_is_left_out():
    """The auditor says so of every swap in which the other one is still stated."""

    def audit(turns: Any, _: str) -> SwapAudit:
        other = any(text in str(turns) for text in ("stairs any", "Portugal"))
        return SwapAudit(implied=False, other_reason=other, realism=1, advice="")

    assert proof_of(Script(acts=needs("a1", "a2"), audits=audit), CRITICAL).proof.kept


def test_fresh_responses_that_were_not_given_before_repeat_nothing():
    script, numbers = Script(), itertools.count()
    plain = script.answer

    def numbered(question: str, *rest: Any) -> dict[str, Any]:
        answer = plain(question, *rest)
        return answer | ({"response": f"{answer['response']} {next(numbers)}"} if question == "Reply" else {})

    script.answer = numbered  # pyright: ignore[reportAttributeAccessIssue]
    kept = proof_of(script).proof
    assert (kept.kept, kept.repeats) == (True, 0)


def test_a_forced_pair_gets_an_emergent_rubric_of_its_own_which_is_tested_afresh():
    made = proof_of(Script(acts=needs("a2")), CRITICAL, rewrite=rewriting)
    assert made.rubric == rubric("EMERGENT", "a2")
    assert made.proof.kept
    assert made.proof.replaced == CRITICAL.rubric
    assert made.proof.leave_one_out == {"a1": ["PASS"] * 3, "a2": ["FAIL"] * 3}
    assert made.proof.swap.removed == ["a2"]
    assert made.proof.fresh.with_anchors == ["PASS"] * 3


def test_a_forced_pair_goes_where_no_rubric_stands_or_its_test_fails():
    forced = "Responses pass without a1: not all its facts are needed."
    assert f"{forced} No rubric for a2 alone could stand. No rubric fits." in reasons(
        Script(acts=needs("a2")), CRITICAL
    )
    either = Script(acts=lambda stated, looks: looks and bool({"a1", "a2"} & stated))
    failure = reasons(either, CRITICAL, rewrite=rewriting)
    assert "Responses pass without a1 and without a2: not all its facts are needed." in failure
    assert "With a rubric for a2 alone: Told to look, 3 of 3 responses pass with the facts and 3 of 3" in failure


def test_a_critical_trigger_goes_where_nobody_can_say_whether_it_needs_its_facts():
    class Silent(Script):
        def answer(self, question, messages, inputs):
            if question == "Reply" and states(messages) == {"a1"}:
                raise ContentError("refused", "no")
            return super().answer(question, messages, inputs)

    failure = reasons(Silent(acts=needs("a1", "a2")), CRITICAL)
    assert "Responses pass or could not be scored without a2: not all its facts are needed." in failure


def test_of_three_facts_with_one_to_spare_nothing_is_made():
    trigger = made_trigger(5, "CRITICAL", "a1", "a2", "a3")
    assert "Responses pass without a3: not all its facts are needed." in reasons(
        Script(acts=needs("a1", "a2")), trigger, rewrite=rewriting
    )


def test_a_critical_trigger_goes_where_one_of_its_facts_cannot_be_swapped_alone():
    script = Script(
        acts=needs("a1", "a2"),
        swaps=lambda turns, names: swap_without(turns, names if len(names) == 2 else []),
    )
    assert "No version without one of its facts alone could stand." in reasons(script, CRITICAL)


@pytest.mark.parametrize("level", ["full", "light", "none"])
def test_the_forecast_is_what_a_dialogue_with_three_triggers_takes(level):
    """Each passes where its response names all its anchors, so that all three are kept."""
    script = Script(acts=lambda _, looks: looks, naming=True, passes=named)
    critical, last = made_trigger(3, "CRITICAL", "a1", "a2"), made_trigger(5, "RECOVERY", "a1", "a2", "a3")
    stages = proof.Prover(level, no_rewriting).forecast(3)
    proved(script, EMERGENT, critical, last, level=level, matrix=level == "full")
    for role in ("planner", "auditor", "assistant", "tester", "judge"):
        counted = [sent for sent, _, _ in script.sent].count(role)
        assert sum(stage.calls for stage in stages if stage.role == role) == counted, role
