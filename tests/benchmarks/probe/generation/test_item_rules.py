"""Rules over the items of a person: a clean answer breaks none, and every planted fault is named."""

import pytest
from builders.clean_tasks import (
    BOUNDS,
    DISTRACTOR_REVIEW,
    EMAIL,
    FILLED,
    FILLER,
    ITEMS,
    MATTER,
    MINUTES,
    PARCEL,
    PASSAGES,
    PLAN,
    REVIEW,
    SIGN,
    WORDS,
    WRITTEN,
)
from builders.made_people import made_actions, made_person, made_task

from dspy_proact.benchmarks.probe.generation import item_rules
from dspy_proact.benchmarks.probe.generation.distractors import clashes
from dspy_proact.benchmarks.probe.generation.item_rules import Matter
from dspy_proact.benchmarks.probe.generation.values import (
    DistractorFault,
    FilledParameter,
    Parameter,
    ShownFacet,
    Stated,
    StatedValue,
)
from dspy_proact.types import Frozen

KINDS = ["email", "document"]


def changed(before: Frozen, **changes):
    return before.model_copy(update=changes)


def begin(reasons, expected):
    assert len(reasons) == len(expected), reasons
    return all(reason.startswith(start) for reason, start in zip(reasons, expected, strict=True))


def test_clean_items_break_no_rule():
    assert BOUNDS.of_item(EMAIL, "email", WORDS) == BOUNDS.of_item(MINUTES, "document", WORDS) == []
    assert BOUNDS.of_item(changed(EMAIL, location="Visit room"), "event", WORDS) == []
    assert BOUNDS.of_item(changed(EMAIL, author="the front desk", people=["all staff"]), "email", WORDS) == []


FAULTS = [
    ({"title": " "}, "email", ["`title` or `text` is blank; write it."]),
    (
        {"author": "Cesar"},
        "email",
        ["'Cesar' is nobody of the world; take full names of it, or"],
    ),
    ({"author": " "}, "email", ["' ' is nobody of the world"]),
    ({}, "document", ["A document has no `people`; leave them out."]),
    ({"people": []}, "email", ["An e-mail has addressees; name them", "Asta Lind is neither its `author` nor"]),
    (
        {"people": ["Dina Roth"]},
        "event",
        ["Asta Lind is neither its `author` nor among its `people`; it is in their events."],
    ),
    ({"location": "Hall"}, "email", ["Only an event has a `location`; leave it empty."]),
    ({"text": f"Subject: tape\n{EMAIL.text}"}, "email", ["The text has a line of a header"]),
    (
        {"text": f"{EMAIL.text} We met on 2 March."},
        "email",
        ["It names 2026-03-02, a day between 2026-02-14 and 2026-03-13"],
    ),
    ({"title": "Round of 2026-02-14"}, "email", ["It names 2026-02-14, a day between"]),
    # 23 words, 20 of the passage and 23 once more; 40 are ordered, and 20 more or fewer are near enough.
    ({"text": f"{EMAIL.text} {FILLER}"}, "email", ["The text has 66 words; write 40, give or take 20."]),
    ({"text": "Cesar Olmo keeps it."}, "email", ["The text has 4 words; write 40, give or take 20."]),
]


@pytest.mark.parametrize(("changes", "kind", "expected"), FAULTS)
def test_a_fault_of_any_item_is_named(changes, kind, expected):
    assert begin(BOUNDS.of_item(changed(EMAIL, **changes), kind, WORDS), expected)


def test_a_clean_plan_breaks_no_rule():
    assert item_rules.plan_rules(PLAN, KINDS, MATTER) == []


ONE, TWO = PLAN
PLANS = [
    ([ONE], ["Plan 2 items, numbered from 1, of these kinds in this order: email, document."]),
    ([ONE, changed(TWO, kind="event")], ["Plan 2 items"]),
    ([ONE, changed(TWO, facets=["who_blocker"])], ["No item states why_root_cause; let one do so."]),
    ([ONE, changed(TWO, parameters=["signer"])], ["No item states paper; let one do so."]),
    (
        [ONE, changed(TWO, facets=[*TWO.facets, "where_system"])],
        ["There is no facet 'where_system' here; the ids are who_"],
    ),
    (
        [ONE, changed(TWO, parameters=[*TWO.parameters, "day"])],
        ["There is no parameter 'day' here; the ids are signer"],
    ),
    (
        [ONE, changed(TWO, facets=[*TWO.facets, "who_blocked", "what_task"])],
        ["Item 2 states what_task, who_blocked, who_blocker, why_root_cause alone; leave one of them to another item."],
    ),
    (
        [changed(ONE, facets=["who_blocked"], parameters=[]), changed(TWO, facets=["who_blocked", *TWO.facets])],
        [
            "No item states what_task",
            "No item states when_deadline",
            "No item states due",
            "Item 1 states nothing that no",
        ],
    ),
    ([ONE, changed(TWO, role=" ")], ["Item 2: `role` or `states` is blank; write it."]),
]


@pytest.mark.parametrize(("plan", "expected"), PLANS)
def test_a_fault_of_a_plan_is_named(plan, expected):
    assert begin(item_rules.plan_rules(plan, KINDS, MATTER), expected)


def test_where_nobody_blocks_no_item_states_the_task_and_its_cause_alone():
    facets = changed(PARCEL.facets, who_blocked=None, who_blocker=None)
    matter = Matter(changed(PARCEL, facets=facets), SIGN)
    plan = [changed(ONE, facets=["what_task", "when_deadline"]), changed(TWO, facets=["why_root_cause"])]
    assert item_rules.plan_rules(plan, KINDS, matter) == []
    plan[1] = changed(TWO, facets=["why_root_cause", "what_task"])
    assert item_rules.plan_rules(plan, KINDS, matter) == [
        "Item 2 states what_task, why_root_cause alone; leave one of them to another item."
    ]


def evidence_faults(written):
    return item_rules.evidence_rules(written, ONE, WORDS, BOUNDS, MATTER)


def test_clean_evidence_breaks_no_rule():
    assert evidence_faults(WRITTEN) == []


def test_what_is_planned_and_not_stated_is_named():
    assert evidence_faults(changed(WRITTEN, stated=WRITTEN.stated[1:])) == [
        "`stated` has no passage for who_blocked; state it, and quote the passage."
    ]


def test_a_quote_that_does_not_stand_there_an_unknown_name_and_another_value_are_faults():
    def more(what, quote):
        return evidence_faults(changed(WRITTEN, stated=[*WRITTEN.stated, Stated(what=what, quote=quote)]))

    assert begin(more("due", "21 March"), ["'21 March' does not stand in the text or the title; copy the words"])
    assert begin(more("budget", "84 samples"), ["There is no facet, parameter or entry 'budget' here"])
    assert more("f2", "Cesar Olmo keeps") == ["'Cesar Olmo keeps' does not give f2 as 84 samples; write that value."]
    other = changed(WRITTEN, item=changed(EMAIL, text=EMAIL.text.replace("20 March", "21 March")))
    stated = [Stated(what="f1", quote="until 21 March 2026"), *(one for one in WRITTEN.stated if "20" not in one.quote)]
    stated += [Stated(what=name, quote="21 March 2026") for name in ("when_deadline", "due")]
    assert evidence_faults(changed(other, stated=stated)) == [
        "'until 21 March 2026' does not give f1 as 2026-03-20; write that value."
    ]


def parameter_faults(filled, parameters=SIGN.parameters):
    return item_rules.parameter_rules(filled, changed(SIGN, parameters=list(parameters)), ITEMS)


def test_clean_parameters_break_no_rule():
    assert parameter_faults(FILLED) == []


SIGNER, PAPER, DUE = FILLED
VALUES = [
    ([SIGNER, PAPER], ["Give due once."]),
    ([*FILLED, DUE], ["Give due once."]),
    ([*FILLED, changed(DUE, name="day")], ["There is no parameter 'day' here; the ids are signer, paper, due."]),
    ([SIGNER, PAPER, changed(DUE, item=3)], ["due: there is no item 3; the numbers are 1, 2."]),
    ([SIGNER, PAPER, changed(DUE, item=2)], ["due: 'on the shelf until 20 March 2026' does not stand in item 2"]),
    ([SIGNER, PAPER, changed(DUE, value="2026-03-21")], ["due: the quote does not name 2026-03-21; quote the day"]),
    ([SIGNER, PAPER, changed(DUE, value="20 March 2026")], ["due: the value must be a day as YYYY-MM-DD."]),
    (
        [SIGNER, changed(PAPER, value="phytosanitary certificate"), DUE],
        ["paper: 'phytosanitary certificate' does not stand"],
    ),
    ([SIGNER, changed(PAPER, value=["plant certificate"]), DUE], ["paper: the value must be a text."]),
]


@pytest.mark.parametrize(("filled", "expected"), VALUES)
def test_a_fault_of_a_parameter_is_named(filled, expected):
    assert begin(parameter_faults(filled), expected)


def test_numbers_and_lists_follow_from_the_item():
    def faults(kind, value, quote="the parcel of 84 samples"):
        parameter = Parameter(name="it", kind=kind, description="")
        return parameter_faults([FilledParameter(name="it", value=value, item=1, quote=quote)], [parameter])

    assert faults("number", 84) == faults("texts", ["Cesar Olmo", "Norway"]) == []
    assert begin(faults("number", 85), ["it: the quote has no number 85; quote it, or mend the value."])
    assert faults("number", "84") == ["it: the value must be a number."]
    assert faults("texts", ["Cesar Olmo", "Sweden"]) == ["it: 'Sweden' does not stand in the item; take its words."]
    assert faults("texts", []) == ["it: the list is empty; name what it takes."]


def test_a_clean_review_is_believed_and_finds_nothing():
    assert item_rules.review_rules(REVIEW, ITEMS, MATTER) == item_rules.review_findings(REVIEW, MATTER) == []


UNBELIEVED = [
    ({"sufficient_alone": [3]}, "There is no item 3; the numbers are 1, 2."),
    (
        {"shown": [*REVIEW.shown, ShownFacet(facet="what_task", item=2, quote="Norway")]},
        "'Norway' does not stand in item 2",
    ),
    (
        {"shown": [*REVIEW.shown, ShownFacet(facet="how_mechanism", item=1, quote="Norway")]},
        "There is no facet 'how_mechan",
    ),
    ({"values": [StatedValue(entry="f9", item=1, value="1", quote="84")]}, "There is no entry of the ledger 'f9' here"),
    (
        {"values": [StatedValue(entry="f1", item=1, value="March", quote="March")]},
        "The value 'March' of f1 is not a day as",
    ),
    (
        {"values": [StatedValue(entry="f2", item=1, value="many", quote="84")]},
        "The value 'many' of f2 is not a number and",
    ),
]


@pytest.mark.parametrize(("changes", "reason"), UNBELIEVED)
def test_a_review_that_cannot_be_believed_is_asked_for_again(changes, reason):
    assert begin(item_rules.review_rules(changed(REVIEW, **changes), ITEMS, MATTER), [reason])


FINDINGS = [
    ({"shown": REVIEW.shown[1:]}, "No item states who_blocked; let one do so."),
    ({"sufficient_alone": [1]}, "Item 1 alone is enough; let it state less."),
    ({"other_problems": [2]}, "Item 2 shows other work that stands still; settle it."),
    ({"unnatural": [2]}, "Item 2 is not natural; write it as people do."),
    (
        {"values": [StatedValue(entry="f2", item=1, value="48 samples", quote="84 samples")]},
        "Item 1: '84 samples' gives 48 samples where f2 is 84 samples; write that value.",
    ),
]


@pytest.mark.parametrize(("changes", "reason"), FINDINGS)
def test_what_a_review_finds_is_a_reason_against_the_evidence(changes, reason):
    assert item_rules.review_findings(changed(REVIEW, **changes, advice="Mend it."), MATTER) == [reason, "Mend it."]


def test_an_item_that_has_every_value_of_an_action_is_no_distractor():
    golden = [(SIGN, FILLED)]
    assert item_rules.distractor_fault(EMAIL, golden) == item_rules.distractor_fault(MINUTES, golden) == ""
    both = changed(MINUTES, text=f"{PASSAGES[1]}. {PASSAGES[0]}.")
    assert (
        item_rules.distractor_fault(both, golden) == "It has every value that request_signature needs; leave them out."
    )
    assert item_rules.distractor_fault(both, [(SIGN, FILLED[:1])]) == "", "a single value says nothing"


def test_evidence_that_is_written_after_other_items_clashes_with_a_copy_and_with_one_that_has_its_values():
    task = made_task(1)
    (other, *_) = made_person(1).distractors
    action = made_actions(1)[0]
    copy, values = (
        changed(other, item=changed(other.item, title="", text=text))
        for text in (task.evidence[0].item.text, "Rolf Dahl must have it by 2026-03-20 at the latest.")
    )
    assert not clashes(task, action, [other])
    assert clashes(task, action, [copy])
    assert clashes(task, action, [other, values])
    assert not clashes(made_task(2), made_actions(2)[1], [other, values])


def test_reviews_of_distractors_are_believed_of_what_there_is_and_find_faults_by_item():
    fault = DistractorFault(item=1, bottleneck="b1", kind="shows", quote="the parcel of 84 samples")
    new = DistractorFault(item=2, bottleneck=None, kind="new", quote="Coffee was had")
    wrong = StatedValue(entry="f1", item=2, value="2026-03-21", quote="Coffee was had")

    def rules(**changes):
        review = changed(DISTRACTOR_REVIEW, **changes)
        return item_rules.distractor_review_rules(review, ITEMS, ["b1"], PARCEL.ledger)

    assert rules() == rules(faults=[fault, new], values=[wrong], unnatural=[2]) == []
    assert begin(rules(faults=[changed(fault, item=2)]), ["'the parcel of 84 samples' does not stand in item 2"])
    assert begin(rules(faults=[changed(fault, bottleneck="b4")]), ["There is no bottleneck 'b4' here"])
    assert begin(rules(faults=[changed(fault, kind="new")]), ["`bottleneck` is null where a fault is `new`"])
    assert begin(rules(unnatural=[7]), ["There is no item 7"])
    review = changed(DISTRACTOR_REVIEW, faults=[fault, new], values=[wrong], unnatural=[2])
    assert item_rules.distractor_findings(DISTRACTOR_REVIEW, PARCEL.ledger) == {}
    assert item_rules.distractor_findings(review, PARCEL.ledger) == {
        1: ["'the parcel of 84 samples' shows b1; write of another object."],
        2: [
            "'Coffee was had' shows other work that stands still; settle it in the item.",
            "It is not natural; write it as people do.",
            "'Coffee was had' gives 2026-03-21 where f1 is 2026-03-20; write that value.",
        ],
    }
