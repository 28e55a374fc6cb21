"""What is kept as a trigger and what is not, by scripted roles: assistants of known conduct, a judge of one rule."""

import asyncio
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import dspy
import pytest
from builders.made_dialogues import (
    AUDIT,
    CRITICAL,
    EMERGENT,
    FACTS,
    MESSAGES,
    RECOVERY,
    SYSTEM,
    made_dialogue,
    made_trigger,
    rubric,
)

from dspy_proact.benchmarks.proactbench.generation import proof, swap
from dspy_proact.benchmarks.proactbench.generation.planted import PLANTED, planted_response
from dspy_proact.benchmarks.proactbench.generation.values import UNSCORED, Sampled, Swap, SwapAudit, SwappedTurn
from dspy_proact.benchmarks.proactbench.programs.offers import DetectedOffer
from dspy_proact.benchmarks.proactbench.types import Dialogue, Origin
from dspy_proact.errors import ContentError, ProviderError
from dspy_proact.generation.attempt import Attempt, RuleError
from dspy_proact.programs.answer import Answer
from dspy_proact.programs.asking import rendered

SEPARATE = {
    "a1": ("can't climb stairs any more", "likes detective stories"),
    "a2": ("Before we fly to Portugal on the 9th", "Before my dentist's appointment on the 9th"),
    "a3": ("sat on his glasses", "sits in his new armchair"),
}
"""By anchor, how the dialogue says it and how a swap does."""


def swap_without(turns: list[SwappedTurn], names: list[str]) -> Swap:
    """The rewriting of a careful planner."""

    def text(old: str) -> str:
        for name in names:
            old = old.replace(*SEPARATE[name])
        return old

    new = [turn.model_copy(update={"user": text(turn.user)}) for turn in turns]
    return Swap(turns=new, removed=names)


def states(messages: list[dict[str, Any]]) -> set[str]:
    """The anchors that a request to an assistant states."""
    text = "\n".join(message["content"] for message in messages)
    return {name for name, (key, *_) in FACTS.items() if key in text}


QUESTIONS = {
    "WriteSwap": {"replacements"},
    "AuditSwap": {"removed_facts"},
    "Reply": {"user_message"},
    "GradeResponse": {"rubric", "conversation"},
    "DetectOffers": {"response", "conversation"},
}
"""By a name, inputs that no other question has together."""


@dataclass
class Script:
    """Roles that answer as they are scripted to, and what they were sent."""

    acts: Callable[[set[str], bool], bool] = lambda stated, looks: looks and "a1" in stated
    """Whether an assistant acts, by the anchors that its request states and whether it is told to look."""
    swaps: Callable[[list[SwappedTurn], list[str]], Swap] = swap_without
    audits: Callable[[Swap | list[SwappedTurn], str], SwapAudit] = lambda *_: SwapAudit(
        implied=False, other_reason=False, realism=1, advice=""
    )
    passes: Callable[[str, Any], bool] = lambda response, _: "acts" in response
    """The judge, by response and rubric."""
    naming: bool = False
    """Whether who acts names what is stated."""
    unreadable: set[str] = field(default_factory=set)
    """Roles whose answers cannot be used."""
    chance: random.Random | None = None
    """By which answers come late."""
    sent: list[tuple[str, str, list[dict[str, Any]]]] = field(default_factory=list)
    """Role, question and messages of each request."""

    def attempt(self) -> Attempt:
        roles = ("planner", "user", "assistant", "auditor", "judge", "tester")
        return Attempt(0, 1, 1, {role: self.asking(role) for role in roles}, {role: f"model-{role}" for role in roles})

    def asking(self, role: str):
        async def ask(predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
            fields = {*inputs}
            question = next(name for name, some in QUESTIONS.items() if some <= fields)
            messages = rendered(predictor, adapter, inputs)
            self.sent.append((role, question, messages))
            for _ in range(self.chance.randrange(9) if self.chance else 0):
                await asyncio.sleep(0)
            if role in self.unreadable:
                raise ContentError("refused", "no")
            return Answer(dspy.Prediction(**self.answer(question, messages, inputs)), truncated=False)

        return ask

    def answer(self, question: str, messages: list[dict[str, Any]], inputs: dict[str, Any]) -> dict[str, Any]:
        if question == "WriteSwap":
            names = [item.id for item in inputs["replacements"]]
            return {"swap": self.swaps(inputs["conversation"], names)}
        if question == "AuditSwap":
            return {"audit": self.audits(inputs["conversation"], inputs["act"])}
        if question == "Reply":
            system = messages[0]["content"]
            knows = "PASS:" in system
            stated = states(messages)
            acts = f"It acts{' '.join(['', *sorted(stated)]) * self.naming}."
            return {"response": acts if knows or self.acts(stated, proof.LOOK in system) else "Sure."}
        if question == "DetectOffers":
            return {"reasoning": "", "offers": [DetectedOffer(quote="set a reminder", grounded=False, asked_for=False)]}
        passed = self.passes(inputs["response"], inputs["rubric"])
        return {"reasoning": "", "evidence": [inputs["response"]], "grade": "PASS" if passed else "FAIL"}

    def requests(self, *questions: str) -> list[str]:
        """The texts of requests, by question."""
        return [
            "\n".join(message["content"] for message in messages)
            for _, question, messages in self.sent
            if question in questions
        ]


async def no_rewriting(*_: Any) -> Any:
    raise RuleError("rubric", ["No rubric fits."])


async def rewriting(attempt: Attempt, dialogue: Any, turn: int, anchor: str):
    return rubric("EMERGENT", anchor), AUDIT


def proved(script: Script, *triggers: Any, level: Any = "full", matrix: bool = False, rewrite: Any = no_rewriting):
    prover, attempt = proof.Prover(level, rewrite), script.attempt()
    made = asyncio.run(prover.proved(attempt, made_dialogue(*triggers), style="", matrix=matrix))
    return made, attempt


def proof_of(script: Script, trigger: Any = EMERGENT, **options: Any) -> Any:
    """The only trigger of a dialogue, with its proof."""
    made, _ = proved(script, trigger, **options)
    return made.triggers[0]


def reasons(script: Script, trigger: Any = EMERGENT, **options: Any) -> str:
    """Why the only trigger of a dialogue is not kept, which fails its attempt."""
    with pytest.raises(RuleError) as caught:
        proved(script, trigger, **options)
    assert caught.value.stage == "anchor test"
    return str(caught.value)


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


# Swaps


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


# Leave-one-out


def needs(*names: str):
    """An assistant told to look that acts only where all these anchors are stated."""
    return lambda stated, looks: looks and {*names} <= stated


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


# Planted assistants and controls


def named(response: str, criteria: Any) -> bool:
    """A judge who passes what names every anchor of the rubric."""
    return all(name in response for name in criteria.pass_criteria.removeprefix("does act-").split("-"))


def graded_by_kind(response: str, criteria: Any) -> bool:
    """A judge who passes what takes up every fact of the rubric, or acts."""
    names = criteria.pass_criteria.removeprefix("does act-").split("-")
    return "acts" in response or all(f"consequence-{name}" in response for name in names)


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
