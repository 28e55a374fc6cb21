"""The making of one dialogue by scripted roles: what each sees, what is mended by whom, and what holds in the end."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from builders.scripted_making import (
    CLEAN,
    ScriptedRoles,
    clean_message,
    clean_message_audit,
    clean_plan,
    clean_rubric_audit,
    clean_scenario,
    clean_steps,
    library_brief,
    served,
)

from dspy_proact.benchmarks.proactbench.generation.dialogue import dialogue_rules
from dspy_proact.benchmarks.proactbench.generation.made import MadeDialogue
from dspy_proact.benchmarks.proactbench.generation.making import ProactMaker
from dspy_proact.benchmarks.proactbench.generation.styles import COMBINATIONS, NONE, STYLES, styles_of
from dspy_proact.generation.attempt import Attempt, RuleError, cycled


def made(roles: ScriptedRoles, attempt: Attempt | None = None, **dialogue: Any) -> MadeDialogue:
    maker, attempt = ProactMaker(library_brief(**dialogue), "none"), attempt or roles.attempt()

    async def making() -> MadeDialogue:
        return await maker.finish(attempt, await maker.begin(attempt))

    return asyncio.run(making())


def questions(roles: ScriptedRoles) -> Counter[str]:
    return Counter(question for _, question, _ in roles.sent)


def text_of(messages: list[dict[str, Any]]) -> str:
    return "\n".join(message["content"] for message in messages)


def test_a_clean_writer_is_accused_of_nothing():
    """In 20 seeds, whatever persona, style and length follow from them."""
    for seed in range(20):
        roles = ScriptedRoles()
        attempt = roles.attempt(seed=seed, slot=seed % 7 + 1)
        dialogue = made(roles, attempt)
        assert [author.broken for author in attempt.authors if author.broken] == []
        assert attempt.mends == dialogue.lost == dialogue.notes == []
        assert [made.turn for made in dialogue.triggers] == [2, 5, 8]
        assert [one.anchor for one in dialogue.disclosures] == ["a1", "a2", "a3", "a4"]
        assert dialogue_rules(dialogue) == []


def test_the_planner_is_asked_at_a_trigger_and_at_the_turn_after():
    roles = ScriptedRoles()
    made(roles)
    # Triggers at 2, 5 and 8; the turns after are 3 and 6.
    assert questions(roles)["PlanTurn"] == 5
    assert questions(roles)["WriteRubric"] == questions(roles)["AuditRubric"] == 3
    assert questions(roles)["AuditUptake"] == questions(roles)["AuditMessage"] == questions(roles)["Reply"] == 8


# Who may see which hidden text, by question; all others may not.
SCENARIO_READERS = {"AuditScenario", "WriteBlueprint", "AuditBlueprint", "PlanTurn"}
ANCHOR_READERS = SCENARIO_READERS | {"WriteRubric", "AuditMessage", "AuditRubric", "AuditUptake"}
CANARIES = {
    "goal-canary": SCENARIO_READERS,
    "title-canary": SCENARIO_READERS,
    "request-canary": SCENARIO_READERS,
    "consequence-canary": ANCHOR_READERS,
    "neutral-canary": ANCHOR_READERS,
    "resolved-canary": ANCHOR_READERS,
    "forbidden-canary": SCENARIO_READERS | {"WriteRubric", "AuditRubric"},
    "expects-canary": {"AuditBlueprint", "PlanTurn", "WriteRubric", "AuditRubric"},  # as the rubric's words
    "pass-canary": {"AuditRubric"},
    "system-canary": SCENARIO_READERS | {"WriteRubric", "AuditRubric", "Reply"},
    "persona-canary": SCENARIO_READERS | {"WriteMessage", "AuditMessage"},
    "colour-canary": SCENARIO_READERS | {"WriteMessage", "AuditMessage"},
    "person-canary": {"WriteScenario"},
    "style-canary": {"WriteMessage"},
    "product-canary": {"WriteScenario", "AuditScenario", "AuditBlueprint", "WriteRubric", "AuditRubric"},
    "who-canary": {"WriteScenario"},
    "plant-canary": {"WriteScenario"},
    "offer-canary": {"WriteScenario", *SCENARIO_READERS, "WriteRubric", "AuditRubric"},
    "advice-canary": set[str](),
    "audit-canary": set[str](),
}


def scenario_with_canaries(_: Any) -> dict[str, Any]:
    scenario = clean_scenario()
    marks = {name: f"{getattr(scenario, name)} {name}-canary" for name in ("title", "request", "persona", "system")}
    anchors = [
        anchor.model_copy(
            update={name: f"{getattr(anchor, name)} {name}-canary" for name in ("consequence", "neutral", "resolved")}
        )
        for anchor in scenario.anchors
    ]
    more = {"hidden_goal": f"{scenario.hidden_goal} goal-canary", "colour": [*scenario.colour, "colour-canary"]}
    return {
        "scenario": scenario.model_copy(update={**marks, **more, "anchors": anchors, "forbidden": ["forbidden-canary"]})
    }


def test_no_role_sees_what_it_must_not_know(monkeypatch):
    style = STYLES[0].model_copy(update={"text": "style-canary"})
    monkeypatch.setattr("dspy_proact.benchmarks.proactbench.generation.making.styles_of", lambda _: [style])
    roles = ScriptedRoles()

    def rubric(inputs: Any) -> dict[str, Any]:
        (draft,) = CLEAN["WriteRubric"](inputs).values()
        return {"rubric": draft.model_copy(update={"pass_criteria": f"{draft.pass_criteria} pass-canary"})}

    def steps(_: Any) -> dict[str, Any]:
        def marked(step: Any) -> Any:
            return step.model_copy(update={"expects": step.expects and f"{step.expects} expects-canary"})

        return {"steps": [marked(step) for step in clean_steps()]}

    def audit(inputs: Any) -> dict[str, Any]:
        return {"audit": clean_message_audit(inputs).model_copy(update={"advice": "advice-canary"})}

    def verdict(inputs: Any) -> dict[str, Any]:
        return {"audit": clean_rubric_audit(inputs).model_copy(update={"advice": "audit-canary"})}

    roles.answers = {
        "WriteScenario": scenario_with_canaries,
        "WriteBlueprint": steps,
        "WriteRubric": rubric,
        "AuditMessage": audit,
        "AuditRubric": verdict,
    }
    brief = library_brief().model_dump()
    brief["product"]["text"] += " product-canary"
    brief["users"] |= {"who": "who-canary", "personas": ["Ida, person-canary"]}
    brief["plant"]["may"] = ["plant-canary"]
    brief["never"]["offers"] = ["offer-canary"]
    maker, attempt = ProactMaker(library_brief().model_validate(brief), "none"), roles.attempt()

    async def making() -> MadeDialogue:
        return await maker.finish(attempt, await maker.begin(attempt))

    dialogue = asyncio.run(making())
    assert len(dialogue.triggers) == 3
    seen = {canary: {question for _, question, sent in roles.sent if canary in text_of(sent)} for canary in CANARIES}
    leaks = {canary: readers - CANARIES[canary] for canary, readers in seen.items() if readers - CANARIES[canary]}
    assert leaks == {}
    unseen = {canary for canary, readers in seen.items() if not readers}
    assert unseen == {canary for canary, readers in CANARIES.items() if not readers}, "the others test something"


def test_the_user_and_the_assistant_see_a_fact_only_from_its_turn_on():
    roles = ScriptedRoles()
    made(roles)
    requests = [text_of(sent) for _, question, sent in roles.sent if question == "WriteMessage"]
    assert ["magnifier" in request for request in requests] == [False] * 4 + [True] * 4
    replies = [text_of(sent) for _, question, sent in roles.sent if question == "Reply"]
    assert ["magnifier" in request for request in replies] == [False] * 4 + [True] * 4
    rubrics = [text_of(sent) for _, question, sent in roles.sent if question in ("WriteRubric", "AuditRubric")]
    assert ["toddler" in request for request in rubrics] == [False] * 4 + [True] * 2  # two of each


def test_a_person_is_unknown_to_the_user_until_a_fact_speaks_of_them():
    scenario = clean_scenario()
    anchors = [
        a.model_copy(update={"fact": "Uncle Bo reads with a magnifier."}) if a.id == "a3" else a
        for a in scenario.anchors
    ]
    roles = ScriptedRoles({"WriteScenario": lambda _: {"scenario": scenario.model_copy(update={"anchors": anchors})}})
    made(roles)
    requests = [text_of(sent) for _, question, sent in roles.sent if question == "WriteMessage"]
    assert ['"name": "Bo"' in request for request in requests] == [False] * 4 + [True] * 4


def test_an_answer_that_breaks_a_rule_is_asked_again_with_the_reason_and_itself():
    tries = iter(["Ask me about Lisbon, and mind the toddler?"])

    def message(inputs: Any) -> dict[str, Any]:
        written = clean_message(inputs)
        changed = next(tries, None) if inputs["order"].reveal else None
        return {"written": written.model_copy(update={"message": changed or written.message})}

    roles = ScriptedRoles({"WriteMessage": message})
    attempt = roles.attempt()
    assert len(made(roles, attempt).triggers) == 3
    again = [
        text_of(sent)
        for _, question, sent in roles.sent
        if question == "WriteMessage" and "cannot be used" in text_of(sent)
    ]
    (request,) = again
    assert "- The message says 'toddler', which is in no order; leave it out." in request
    assert '| {"written": {"message": "Ask me about Lisbon, and mind the toddler?"' in request
    assert sum(bool(author.broken) for author in attempt.authors) == 1


def test_a_message_that_cannot_be_mended_is_planned_anew_and_then_fails():
    def joined(inputs: Any) -> dict[str, Any]:
        return {"audit": clean_message_audit(inputs).model_copy(update={"joined": "magnifier" in inputs["message"]})}

    roles = ScriptedRoles({"AuditMessage": joined})
    attempt = roles.attempt()
    with pytest.raises(RuleError, match="links facts") as error:
        made(roles, attempt)
    assert error.value.stage == "message"
    assert [mend.stage for mend in attempt.mends] == ["message"]
    assert questions(roles)["WriteMessage"] == 4 + 3 + 3  # three answers to each of two plans of turn 5
    plans = [text_of(sent) for _, question, sent in roles.sent if question == "PlanTurn"]
    assert "What was made of it fails. The message links facts" in plans[-1]


def test_a_rubric_that_cannot_be_mended_makes_its_turn_an_ordinary_one():
    def unfair(inputs: Any) -> dict[str, Any]:
        critical = inputs["rubric"].type == "CRITICAL"
        return {"audit": clean_rubric_audit(inputs).model_copy(update={"asked_for": critical})}

    roles = ScriptedRoles({"AuditRubric": unfair})
    dialogue = made(roles)
    assert [made.turn for made in dialogue.triggers] == [2, 8]
    ((turn, reason),) = [(lost.turn, lost.reason) for lost in dialogue.lost]
    assert turn == 5
    assert "asks for the act, so that any answer passes" in reason
    assert len(dialogue.turns) == 8
    assert dialogue_rules(dialogue) == []


def test_a_rubric_is_mended_without_another_message():
    verdicts = iter([True])

    def once_unfair(inputs: Any) -> dict[str, Any]:
        return {"audit": clean_rubric_audit(inputs).model_copy(update={"one_artefact": next(verdicts, False)})}

    roles = ScriptedRoles({"AuditRubric": once_unfair})
    assert len(made(roles).triggers) == 3
    assert questions(roles)["WriteRubric"] == questions(roles)["AuditRubric"] == 4
    assert questions(roles)["WriteMessage"] == 8
    assert len([sent for _, _, sent in roles.sent if "Only one thing or wording could pass" in text_of(sent)]) == 1


def test_an_anchor_that_a_reply_acted_on_is_no_trigger():
    """An echo: the reply to turn 7 already gives what follows from the fact that RECOVERY rests on."""

    def uptake(inputs: Any) -> dict[str, Any]:
        last = inputs["conversation"][-1].turn == 7
        return served("a4", inputs["response"]) if last else CLEAN["AuditUptake"](inputs)

    dialogue = made(ScriptedRoles({"AuditUptake": uptake}))
    assert [made.turn for made in dialogue.triggers] == [2, 5]
    assert [(lost.turn, lost.reason) for lost in dialogue.lost] == [(8, "The assistant acted on its facts before.")]
    assert dialogue.turns[6].served == ["a4"]


def test_a_trigger_that_was_taken_up_is_reported_to_the_planner():
    def uptake(inputs: Any) -> dict[str, Any]:
        last = inputs["conversation"][-1].turn == 2
        return served("a1", inputs["response"]) if last else CLEAN["AuditUptake"](inputs)

    roles = ScriptedRoles({"AuditUptake": uptake})
    dialogue = made(roles)
    assert [made.taken_up for made in dialogue.triggers] == [True, False, False]
    plans = [text_of(sent) for _, question, sent in roles.sent if question == "PlanTurn"]
    assert ['"taken_up": true' in plan for plan in plans] == [False, True, True, True, True]


def test_what_the_assistant_did_before_is_no_trigger():
    def plan(inputs: Any) -> dict[str, Any]:
        done = inputs["step"].turn == 5
        return {"plan": clean_plan(inputs).model_copy(update={"already_done": done})}

    dialogue = made(ScriptedRoles({"PlanTurn": plan}))
    assert [made.turn for made in dialogue.triggers] == [2, 8]
    assert [lost.turn for lost in dialogue.lost] == [5]


def test_a_message_that_asks_for_what_was_answered_is_planned_anew():
    def audit(inputs: Any) -> dict[str, Any]:
        before = "second" in inputs["order"].intent
        return {"audit": clean_message_audit(inputs).model_copy(update={"already_answered": before})}

    def plan(inputs: Any) -> dict[str, Any]:
        intent = {"intent": "Ask for a third novel."} if inputs["step"].turn == 4 else {}
        return {"plan": clean_plan(inputs).model_copy(update=intent)}

    roles = ScriptedRoles({"AuditMessage": audit, "PlanTurn": plan})
    attempt = roles.attempt()
    dialogue = made(roles, attempt)
    assert dialogue.turns[3].message.message == "So question 4: for a third novel?"
    assert [mend.reasons for mend in attempt.mends] == [
        ("An earlier response answers it already; let the user go on.",)
    ]


def test_a_scenario_is_mended_by_its_audit_and_a_blueprint_by_another_scenario():
    audits = iter([True])

    def faulty(inputs: Any) -> dict[str, Any]:
        (clean,) = CLEAN["AuditScenario"](inputs).values()
        return {"audit": clean.model_copy(update={"goal_in_system": next(audits, False)})}

    def forced(inputs: Any) -> dict[str, Any]:
        (clean,) = CLEAN["AuditBlueprint"](inputs).values()
        return {"audit": clean.model_copy(update={"forced_pairs": [5]})}

    roles = ScriptedRoles({"AuditScenario": faulty, "AuditBlueprint": forced})
    attempt = roles.attempt()
    with pytest.raises(RuleError, match="Turn 5: one of its anchors alone") as error:
        made(roles, attempt)
    assert error.value.stage == "blueprint"
    # Twice at the beginning, once more for the blueprint, which is written three times for either.
    assert questions(roles)["WriteScenario"] == 3
    assert questions(roles)["WriteBlueprint"] == 6
    assert [mend.stage for mend in attempt.mends] == ["blueprint"]


def test_a_dialogue_without_a_trigger_fails():
    def unfair(inputs: Any) -> dict[str, Any]:
        return {"audit": clean_rubric_audit(inputs).model_copy(update={"solvable": False})}

    with pytest.raises(RuleError, match=r"No trigger is left: turn 2: .* turn 5: .* turn 8: ") as error:
        made(ScriptedRoles({"AuditRubric": unfair}))
    assert error.value.stage == "dialogue"


def test_the_rubric_stands_in_the_chain_before_the_reply_and_no_entry_can_change():
    dialogue = made(ScriptedRoles())
    assert [link.kind for link in dialogue.chain if link.turn == 5] == ["plan", "rubric", "message", "audit", "reply"]
    broken = ["The hash chain does not hold: something was changed, or came after the response."]
    first = dialogue.triggers[0]
    other = first.model_copy(update={"rubric": first.rubric.model_copy(update={"pass_criteria": "Written later."})})
    turn = dialogue.turns[2].model_copy(update={"reply": "Another one."})
    changes: list[dict[str, Any]] = [
        {"triggers": [other, *dialogue.triggers[1:]]},
        {"turns": [*dialogue.turns[:2], turn, *dialogue.turns[3:]]},
        {"chain": [*dialogue.chain[:5], dialogue.chain[6], dialogue.chain[5], *dialogue.chain[7:]]},
    ]
    for change in changes:
        assert dialogue_rules(dialogue.model_copy(update=change)) == broken


def test_a_rubric_rests_on_what_was_disclosed_once():
    dialogue = made(ScriptedRoles())
    late = [one.model_copy(update={"turn": 6}) if one.anchor == "a3" else one for one in dialogue.disclosures]
    reasons = dialogue_rules(dialogue.model_copy(update={"disclosures": late}))
    assert reasons == ["Turn 5: the rubric rests on a3, not disclosed up to there."]
    twice = [*dialogue.disclosures, dialogue.disclosures[0].model_copy(update={"turn": 7})]
    assert dialogue_rules(dialogue.model_copy(update={"disclosures": twice})) == ["a1 is disclosed twice."]
    assert "It has 4 turns; 5 are needed." in dialogue_rules(dialogue.model_copy(update={"turns": dialogue.turns[:4]}))


def test_slots_take_turns_through_what_a_brief_lists():
    values = ["a", "b", "c"]
    for seed in range(3):
        slots = [cycled(values, seed, slot, "style") for slot in range(1, 10)]
        assert [sorted(slots[start : start + 3]) for start in (0, 3, 6)] == [values] * 3
    assert len({tuple(cycled(values, seed, slot, "style") for slot in (1, 2, 3)) for seed in range(40)}) == 6

    class Large:
        __hash__ = None

        def __eq__(self, other: object) -> bool:
            raise AssertionError("to look thousands of personas up by comparing them takes minutes a slot")

    assert isinstance(cycled([Large(), Large()], 0, 2, "persona"), Large)
    maker = ProactMaker(library_brief(styles=[3, 24]), "none")
    settings = [maker.setting(7, slot) for slot in range(1, 5)]
    assert settings == [maker.setting(7, slot) for slot in range(1, 5)]
    assert sorted(setting.style.number for setting in settings) == [3, 3, 24, 24]
    assert {setting.turns for setting in settings} == {8, 9}


def test_styles_are_those_of_the_official_corpus():
    """Numbers and traits as `style_combination_index` has them."""
    expected = "|IM|Em|Q|Q+IM|Q+Em|VA|VA+Em|VA+Q|VA+Q+Em|P|P+IM|P+Q|P+Q+IM|E|E+IM|E+Em|E+Q|E+Q+IM|E+Q+Em"
    expected += "|E+VA|E+VA+Em|E+VA+Q|E+VA+Q+Em"
    assert ["+".join(traits) for traits in COMBINATIONS] == expected.split("|")
    assert [style.most_words for style in STYLES] == [25] * 14 + [100] * 10
    assert len({style.text for style in STYLES}) == 24
    assert styles_of("none") == [NONE]
    assert [style.number for style in styles_of([24, 1])] == [24, 1]
