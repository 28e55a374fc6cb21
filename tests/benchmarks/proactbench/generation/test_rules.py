"""Every rule in code: what breaks it is named in a sentence, and its clean neighbour is accused of nothing."""

from typing import Any

import pytest
from builders.made import rubric_audit
from builders.scripted_making import (
    PRODUCT,
    RULES,
    clean_message_audit,
    clean_plan,
    clean_rubric,
    clean_scenario,
    clean_steps,
)

from dspy_proact.benchmarks.proactbench.generation import plan_rules, turn_rules
from dspy_proact.benchmarks.proactbench.generation.values import (
    BlueprintAudit,
    Contradiction,
    Ground,
    MessageFault,
    Order,
    Reveal,
    ScenarioAudit,
    ServedAnchor,
    StatedFact,
    Uptake,
    UserMessage,
)
from dspy_proact.programs import wording

SOURCE = "\n".join((PRODUCT, *RULES))
SCENARIO = clean_scenario().model_copy(update={"forbidden": ["waive the fee"]})
STEPS = clean_steps()
FACT = SCENARIO.anchor("a1").fact
ORDER = Order(
    intent="Ask how many books may be taken.", facts=[], reveal=Reveal(fact=FACT, keys=["Lisbon"]), directive=""
)
MESSAGE = UserMessage(message=f"{FACT} So how many may I take?", quote="I fly to Lisbon")


def changed(value: Any, **changes: Any) -> Any:
    return value.model_copy(update=changes)


def with_anchor(**changes: Any) -> Any:
    first, *others = SCENARIO.anchors
    return changed(SCENARIO, anchors=[changed(first, **changes), *others])


def with_step(turn: int, **changes: Any) -> Any:
    return [changed(step, **changes) if step.turn == turn else step for step in STEPS]


def test_clean_values_break_no_rule():
    assert plan_rules.scenario_rules(SCENARIO, SOURCE) == []
    assert plan_rules.blueprint_rules(STEPS, SCENARIO, 8) == []
    assert plan_rules.blueprint_notes(STEPS, SCENARIO) == []
    assert message_faults(MESSAGE) == []


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (changed(SCENARIO, request=" "), "`request` is blank"),
        (with_anchor(id="a2"), "Two anchors have the id 'a2'"),
        (changed(SCENARIO, cast=SCENARIO.cast[1:]), "Exactly one person of the cast is the user"),
        (
            changed(SCENARIO, cast=[SCENARIO.cast[0], SCENARIO.cast[1].model_copy(update={"name": "."})]),
            "The name '.' in the cast has no word",
        ),
        (changed(SCENARIO, cast=[*SCENARIO.cast, SCENARIO.cast[1]]), "Two persons of the cast have the name 'bo'"),
        (changed(SCENARIO, system=f"Goal: {SCENARIO.hidden_goal}"), "`system` gives the hidden goal away"),
        (changed(SCENARIO, system="The member flies to LISBON."), "its key 'Lisbon' stands in `system`"),
        (changed(SCENARIO, request="Books for Lisbon"), "its key 'Lisbon' stands in `request`"),
        (changed(SCENARIO, persona="Ida from Lisbon"), "its key 'Lisbon' stands in `persona`"),
        (changed(SCENARIO, colour=["Lisbon", "b", "c", "d"]), "its key 'Lisbon' stands in `colour`"),
        (with_anchor(keys=["toddler"]), "none of its keys stands in its fact"),
        (with_anchor(keys=["toddler", "Lisbon"]), "its key 'toddler' stands in the fact of a4"),
        (with_anchor(keys=["--"]), "the key '--' has no word"),
        (with_anchor(neutral="I came back from Lisbon."), "`neutral` has the key 'Lisbon'"),
        (with_anchor(basis_quote="Loans last four weeks"), "its `basis_quote` does not stand in the product's text"),
        (with_anchor(basis_quote=None), "its `basis_quote` does not stand in the product's text"),
        (with_anchor(basis="general"), "make `basis_quote` null"),
        (with_anchor(consequence="Waive the whole fee."), "its consequence is forbidden ('waive the fee')"),
        (
            changed(SCENARIO, request="Renew it: the loan ends while she is away: renew it before."),
            "the request asks for its consequence",
        ),
    ],
)
def test_a_scenario_that_breaks_a_rule(scenario, reason):
    assert [line for line in plan_rules.scenario_rules(scenario, SOURCE) if reason in line]


@pytest.mark.parametrize(
    ("name", "persona", "broken"),
    [("Ida", "", True), ("Kim", "", False), ("Ida", "Ida, 52, gardener.", False), ("Öyküm", "", False)],
)
def test_the_name_of_a_user_begins_with_an_initial_of_its_slot(name, persona, broken):
    """Else writers give the same name again and again; one of the persona, or of another script, is let be."""
    scenario = changed(SCENARIO, cast=[changed(SCENARIO.cast[0], name=name), *SCENARIO.cast[1:]])
    reasons = plan_rules.scenario_rules(scenario, SOURCE, "K, L", persona)
    assert reasons == (
        ["The user's name begins with none of K, L; take one that does, so that none repeats."] if broken else []
    )


def test_a_key_is_seen_as_words_only():
    """`Lisbons` is another word than `Lisbon`."""
    assert plan_rules.scenario_rules(changed(SCENARIO, persona="Ida likes lisbonish tiles."), SOURCE) == []


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([changed(step, turn=step.turn + 1) for step in STEPS], "Number the turns from 1"),
        (STEPS[:4], "Plan 5 to 8 turns, not 4"),
        (with_step(3, reveal="a9"), "There is no anchor 'a9'"),
        (with_step(3, reveal="a1"), "Two turns reveal 'a1'"),
        (with_step(2, needs=["a1", "a2"]), "Turn 2: it needs a2, not revealed up to there"),
        (with_step(5, needs=["a3"]), "a CRITICAL trigger needs two anchors or more, not 1"),
        (with_step(5, trigger="EMERGENT"), "an EMERGENT trigger needs exactly one anchor, not 2"),
        (with_step(8, needs=[]), "a RECOVERY trigger names the anchors"),
        (with_step(8, reveal="a4"), "a RECOVERY trigger reveals nothing new"),
        (with_step(8, expects=""), "Turn 8: `expects` is blank"),
        (with_step(8, request=STEPS[7].expects), "`request` asks for what is expected"),
        (with_step(1, request="Ask before the trip to Lisbon."), "`request` gives a1 away ('Lisbon')"),
        (with_step(1, request=""), "`request` is blank"),
        (with_step(8, trigger=None), "Plan a RECOVERY trigger"),
        (with_step(8, trigger=None), "Plan 3 to 6 triggers, not 2"),
        (with_step(2, trigger="RECOVERY", reveal=None), "RECOVERY triggers come after all others"),
        (with_step(3, trigger="EMERGENT", needs=["a1"], expects="x"), "Two triggers need the same: 'a1'"),
    ],
)
def test_a_blueprint_that_breaks_a_rule(steps, reason):
    assert [line for line in plan_rules.blueprint_rules(steps, SCENARIO, 8) if reason in line]


def test_three_triggers_of_a_phase_are_too_many():
    steps = with_step(3, trigger="EMERGENT", needs=["a2"], expects="brings books home")
    assert plan_rules.blueprint_rules(steps, SCENARIO, 8) == []
    more = [changed(step, trigger="EMERGENT", needs=["a3"], expects="x") if step.turn == 5 else step for step in steps]
    assert "Plan 2 EMERGENT triggers at most, not 3." in plan_rules.blueprint_rules(more, SCENARIO, 8)


def test_windows_are_targets():
    """Outside its window a trigger is noted and breaks no rule."""
    steps = [*STEPS[:4], changed(STEPS[5], turn=5, request="Ask when the library opens."), *STEPS[6:]]
    moved = [changed(step, turn=turn) for turn, step in enumerate(steps, start=1)]
    moved[3] = changed(STEPS[4], turn=4)
    assert plan_rules.blueprint_rules(moved, SCENARIO, 8) == []
    assert plan_rules.blueprint_notes(moved, SCENARIO) == ["Turn 7: outside the usual turns of RECOVERY (8 to 10)."]


def test_a_plan():
    step = STEPS[1]
    plan = clean_plan({"step": step, "disclosed": []})

    def faults(changes: dict[str, Any], disclosed: Any = (), ahead: bool = True) -> list[str]:
        return plan_rules.plan_rules(changed(plan, **changes), step, SCENARIO, disclosed, ahead)

    assert faults({}) == []
    assert faults({"stop": True}) == ["Go on: a trigger of the plan is still to come."]
    assert faults({"stop": True}, ahead=False) == []
    assert faults({"reveal": "a2"}) == ["`reveal` is `a1` at this turn."]
    assert faults({}, disclosed=["a1"]) == ["`reveal` is null at this turn."]
    assert faults({"payload": ["her uncle's crutches"]})[0].startswith("The order gives a2 away ('crutches')")
    assert faults({"directive": step.expects})[0].startswith("The order asks for what a good response does")
    assert faults({"intent": ""})[0].startswith("`intent` is blank")


def message_faults(written: UserMessage, order: Order = ORDER, **changes: Any) -> list[str]:
    hidden = [anchor for anchor in SCENARIO.anchors if anchor.id != "a1"]
    settings: dict[str, Any] = {"hidden": hidden, "withheld": ["Bo"], "most_words": 25, "earlier": ["Hello there"]}
    return turn_rules.message_rules(written, order, **(settings | changes))


@pytest.mark.parametrize(
    ("message", "quote", "reason"),
    [
        (" ", None, "The message is blank"),
        (f"{MESSAGE.message} {'more ' * 25}", "I fly to Lisbon", "write 25 at most"),
        (f"User: {MESSAGE.message}", "I fly to Lisbon", "Write the bare message"),
        ('{"message": "I fly to Lisbon."}', "I fly to Lisbon", "Write the bare message"),
        (f"<think>hm</think> {MESSAGE.message}", "I fly to Lisbon", "Write the bare message"),
        ("hello, THERE!", None, "The message was sent before"),
        (f"{MESSAGE.message} My uncle's crutches.", "I fly to Lisbon", "The message says 'crutches'"),
        (f"{MESSAGE.message} Bo waits.", "I fly to Lisbon", "The message names Bo"),
        (MESSAGE.message, None, "`quote` repeats words of the message exactly"),
        (MESSAGE.message, "I travel to Lisbon", "`quote` repeats words of the message exactly"),
        (MESSAGE.message, "on the ninth", "have none of the keys ('Lisbon')"),
        ("As I fly to Lisbon on the ninth, how many may I take?", "I fly to Lisbon", "stands in a question"),
    ],
)
def test_a_message_that_breaks_a_rule(message, quote, reason):
    assert [line for line in message_faults(UserMessage(message=message, quote=quote)) if reason in line]


def test_a_message_without_a_fact_has_no_quote():
    order = changed(ORDER, reveal=None)
    plain = UserMessage(message="How many may I take?", quote=None)
    assert message_faults(plain, order) == []
    assert message_faults(changed(plain, quote="How many"), order) == [
        "Nothing was to be mentioned in passing: make `quote` null."
    ]


def test_words_of_a_script_without_blanks_are_counted():
    assert wording.word_count("明日リスボンに行きます") == 5  # 11 characters, two a word
    assert wording.word_count("It's two words, no: five.") == 5


def message_audit(**changes: Any) -> Any:
    inputs = {"order": ORDER, "message": MESSAGE.message, "anchors": SCENARIO.anchors}
    return changed(clean_message_audit(inputs), **changes)


def test_an_audit_of_a_message_that_cannot_be_believed():
    ids = [anchor.id for anchor in SCENARIO.anchors]

    def faults(**changes: Any) -> list[str]:
        return turn_rules.message_audit_rules(message_audit(**changes), MESSAGE.message, "a1", ids)

    assert faults() == []
    stated = message_audit().facts
    assert faults(facts=[]) == [
        "The message mentions a1 and your facts do not; list it, or read the message once more."
    ], "one that passes everything"
    assert "does not stand in the message" in faults(facts=[*stated, changed(stated[0], quote="to Rome")])[0]
    assert "has the anchor's id" in faults(facts=[*stated, changed(stated[0], anchor=None)])[0]
    assert "There is no anchor 'a9'" in faults(facts=[*stated, changed(stated[0], anchor="a9")])[0]
    fault = MessageFault(quote="not there", kind="contradicts")
    assert "does not stand in the message" in faults(faults=[fault])[0]


NEW = StatedFact(quote="So how many", kind="new", anchor=None)
EARLY = StatedFact(quote="So how many", kind="anchor", anchor="a3")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"facts": [NEW]}, "'So how many' is invented"),
        ({"facts": [EARLY]}, "'So how many' tells something whose turn has not come"),
        ({"faults": [MessageFault(quote="So", kind="speaks as the assistant")]}, "is what the assistant would say"),
        ({"faults": [MessageFault(quote="So", kind="tells its instructions")]}, "talks about instructions"),
        ({"faults": [MessageFault(quote="So", kind="contradicts")]}, "contradicts what was said"),
        ({"faults": [MessageFault(quote="So", kind="overacts its style")]}, "is overdone"),
        ({"reply_must_hold": ["Renews the loan before the trip"]}, "asks for what a good response does unasked"),
        ({"anchor_requested": True}, "asks about a fact"),
        ({"joined": True}, "links facts or draws a conclusion"),
        ({"realism": 0.59}, "realism 0.59; at least 0.6 is needed"),
    ],
)
def test_what_an_audit_finds_in_a_message(changes, reason):
    def findings(audit: Any) -> list[str]:
        act = "renews the loan before the trip"
        return turn_rules.message_findings(audit, "a1", disclosed=["a2"], known="a green bag", closing=False, act=act)

    assert findings(message_audit()) == []
    assert findings(message_audit(realism=0.6)) == []
    broken = findings(message_audit(**changes, advice="Be brief."))
    assert [line for line in broken if reason in line], broken
    assert broken[-1] == "Be brief."


def test_what_is_known_is_not_invented_and_what_was_disclosed_is_not_early():
    facts = [NEW, changed(EARLY, anchor="a2")]
    known = "So how many books"
    assert (
        turn_rules.message_findings(message_audit(facts=facts), "a1", disclosed=["a2"], known=known, closing=False)
        == []
    )


def test_who_closes_asks_nothing():
    asking = turn_rules.message_findings(message_audit(act="asks"), "a1", disclosed=[], known="", closing=True)
    assert asking == ["The message asks for something; here it only reports or closes."]
    for act in ("reports", "closes"):
        assert turn_rules.message_findings(message_audit(act=act), "a1", disclosed=[], known="", closing=True) == []


RUBRIC = clean_rubric({"step": STEPS[4]})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"type": "EMERGENT"}, "`type` is CRITICAL here"),
        ({"anchors": ["a2"]}, "`anchors` are a2, a3 here"),
        ({"anchors": ["a2", "a3", "a3"]}, "`anchors` are a2, a3 here, each once"),
        ({"fail_criteria": ""}, "are all needed"),
        ({"partial_criteria": RUBRIC.pass_criteria}, "must differ"),
        ({"act": "waive the late fee"}, "The act is forbidden ('waive the fee')"),
    ],
)
def test_a_rubric_that_breaks_a_rule(changes, reason):
    assert turn_rules.rubric_rules(RUBRIC, STEPS[4], SCENARIO.forbidden) == []
    assert [
        line
        for line in turn_rules.rubric_rules(changed(RUBRIC, **changes), STEPS[4], SCENARIO.forbidden)
        if reason in line
    ]


GROUNDS = [
    Ground(anchor="a2", quote="walks on crutches", turn=3),
    Ground(anchor="a3", quote="reads with a magnifier", turn=5),
]
FAIR = rubric_audit(grounds=GROUNDS, consequence_true="unsure")
SPOKEN = {3: "My uncle walks on crutches.", 5: "My uncle reads with a magnifier. Put it aside."}


def test_an_audit_of_a_rubric_that_cannot_be_believed():
    assert turn_rules.rubric_audit_rules(FAIR, RUBRIC, SPOKEN) == []
    early = changed(FAIR, grounds=[changed(GROUNDS[1], turn=3)])
    assert "does not stand in the user's message of turn 3" in turn_rules.rubric_audit_rules(early, RUBRIC, SPOKEN)[0]
    late = changed(FAIR, grounds=[changed(GROUNDS[1], turn=6)])
    assert "does not stand in the user's message of turn 6" in turn_rules.rubric_audit_rules(late, RUBRIC, SPOKEN)[0]
    other = changed(FAIR, grounds=[changed(GROUNDS[1], anchor="a1")])
    assert "There is no anchor 'a1' here" in turn_rules.rubric_audit_rules(other, RUBRIC, SPOKEN)[0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"grounds": GROUNDS[:1]}, "No user message states a3"),
        ({"solvable": False}, "Nobody could come to the act"),
        ({"asked_for": True}, "The user's message asks for the act"),
        ({"one_artefact": True}, "Only one thing or wording could pass"),
        ({"forbidden": True}, "A pass needs what is forbidden"),
        ({"partial_distinct": False}, "Partial is not distinct"),
        ({"consequence_true": "no"}, "The act does not follow"),
    ],
)
def test_what_an_audit_finds_in_a_rubric(changes, reason):
    assert turn_rules.rubric_findings(FAIR, RUBRIC) == []
    assert [line for line in turn_rules.rubric_findings(changed(FAIR, **changes), RUBRIC) if reason in line]


def test_an_audit_of_a_scenario():
    clean = ScenarioAudit(
        contradictions=[],
        consequence_in_request=[],
        goal_in_system=False,
        anchors_in_system=[],
        false_consequences=[],
        advice="Nothing.",
    )
    assert plan_rules.scenario_audit_rules(clean, SCENARIO, SOURCE) == []
    assert plan_rules.scenario_findings(clean) == []
    shown = Contradiction(quote="Two novels by Ishiguro are in", against="lends ten books at once")
    faulty = changed(
        clean,
        contradictions=[shown],
        consequence_in_request=["a1"],
        goal_in_system=True,
        anchors_in_system=["a2"],
        false_consequences=["a3"],
    )
    assert plan_rules.scenario_audit_rules(faulty, SCENARIO, SOURCE) == []
    assert len(plan_rules.scenario_findings(faulty)) == 6  # five faults and the advice
    invented = changed(clean, contradictions=[Contradiction(quote="no such words", against="nor these")])
    assert len(plan_rules.scenario_audit_rules(invented, SCENARIO, SOURCE)) == 2
    unknown = changed(clean, false_consequences=["a7"])
    assert "There is no anchor 'a7'" in plan_rules.scenario_audit_rules(unknown, SCENARIO, SOURCE)[0]


def test_an_audit_of_a_blueprint():
    clean = BlueprintAudit(forced_pairs=[], asked_for=[], unsolvable=[], open_recovery=[], advice="")
    assert plan_rules.blueprint_audit_rules(clean, STEPS) == plan_rules.blueprint_findings(clean) == []
    faulty = changed(clean, forced_pairs=[5], asked_for=[2], unsolvable=[5], open_recovery=[8])
    assert plan_rules.blueprint_audit_rules(faulty, STEPS) == []
    assert len(plan_rules.blueprint_findings(faulty)) == 4
    assert plan_rules.blueprint_audit_rules(changed(clean, asked_for=[1]), STEPS) == [
        "Turn 1 is no trigger; list turns of triggers only."
    ]
    assert plan_rules.blueprint_audit_rules(changed(clean, open_recovery=[2]), STEPS) == [
        "Turn 2 is no RECOVERY; leave it out of `open_recovery`."
    ]


def test_a_reply_and_its_audit():
    assert turn_rules.reply_rules("Ten at once.") == []
    assert turn_rules.reply_rules(" \n") == ["The response is blank."]
    assert turn_rules.reply_rules("Ten.\nUser: and how long?") == [
        "Write the assistant's response only, no message of the user."
    ]
    right = Uptake(served=[ServedAnchor(anchor="a1", quote="renew it before you fly")])
    assert turn_rules.uptake_rules(right, "Shall I renew it before you fly?", ["a1"]) == []
    assert "does not stand in the response" in turn_rules.uptake_rules(right, "Ten.", ["a1"])[0]
    assert "There is no anchor 'a1'" in turn_rules.uptake_rules(right, "Shall I renew it before you fly?", ["a2"])[0]


def test_a_key_may_stand_in_a_rule_of_the_product_that_the_system_text_repeats():
    """Were it not so, no fact could rest on a rule that names the thing, such as "pianos are moved on Tuesdays"."""
    product, own = "Pianos are moved on Tuesdays only.", {"basis": "general", "basis_quote": None}
    scenario = with_anchor(fact="There are two pianos.", keys=["pianos"], **own)
    scenario = changed(scenario, system=f"Today is Monday. {product}")
    reason = "Anchor a1: its key 'pianos' stands in `system`; take it out there, or take another key."
    assert reason in plan_rules.scenario_rules(scenario, SOURCE)
    assert reason not in plan_rules.scenario_rules(scenario, f"{SOURCE}\n{product}")
