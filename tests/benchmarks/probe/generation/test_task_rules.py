"""Rules over what is planned for a person: a clean answer breaks none, and every planted fault is named."""

from datetime import date

import pytest
from builders.clean_tasks import ACTION_AUDIT, ACTIONS, BOTTLENECK_AUDIT, BOTTLENECKS, PARCEL, ROOM, SIGN, WINDOW, WORLD

from dspy_proact.benchmarks.probe.generation import rules
from dspy_proact.benchmarks.probe.generation.values import LedgerEntry, UnmetFacet
from dspy_proact.types import Frozen

NAMES = rules.names_of(WORLD)
TODAY = WINDOW[1]


def changed(before: Frozen, **changes):
    return before.model_copy(update=changes)


def test_days_are_found_as_people_write_them_and_no_other_words_are():
    text = "2027-01-02, 14 May, May 3rd, 2027, the 5th of Sept. 2025; Wednesday 20 Dec. May I come? 31 February."
    days = rules.dates_in(text, date(2026, 3, 2))
    # Without a year the nearest one: 14 May 2026, and 20 December 2025, which is 72 days away, not 293.
    assert sorted(days) == [
        date(2025, 9, 5),
        date(2025, 12, 20),
        date(2026, 5, 14),
        date(2027, 1, 2),
        date(2027, 5, 3),
    ]
    assert rules.states_day(date(2026, 5, 20), "am 20. Mai")
    assert not rules.states_day(date(2026, 5, 20), "am 20. März")
    assert rules.states_day(date(2026, 5, 20), "5月20日")
    assert rules.states_day(date(2026, 5, 14), "on 14 and 15 May")
    assert not rules.states_day(date(2026, 5, 20), "20 June 2026")
    assert not rules.states_day(date(2026, 5, 20), "on 2 May, 200 of them")
    # A sentence that ends in a number is no date in English; one of another language has the point before the month.
    assert rules.dates_in("on page 3. May I come?", date(2026, 3, 2)) == []
    others = "14. Mai 2027, 1er août, 2 de junio de 2026, 3 maart, 04.05.2026, 4 luglio"
    assert [f"{day:%d.%m.%y}" for day in sorted(rules.dates_in(others, date(2026, 3, 2)))] == [
        "03.03.26",
        "04.05.26",
        "02.06.26",
        "04.07.26",
        "01.08.26",
        "14.05.27",
    ]
    # A number of four digits after a day is a year only where it can be one.
    assert rules.dates_in("by 14 May 1200 pupils", date(2026, 3, 2)) == [date(2026, 5, 14)]


def test_numbers_are_compared_by_their_digits_however_thousands_stand_apart():
    entry = LedgerEntry(id="f1", what="sum", kind="amount", value="1200 EUR")
    assert all(rules.states(entry, text) for text in ("1200 EUR", "1,200 euros", "1.200 Euro", "a sum of 1 200"))
    assert not rules.states(entry, "1201 EUR and 12")
    assert rules.same_value(entry, "1,200 euros")
    assert not rules.same_value(entry, "some euros")


def test_a_clean_world_breaks_no_rule():
    assert rules.world_rules(WORLD, "easy", "A, B, C, D") == []
    assert rules.world_rules(changed(WORLD, full_name="王伟"), "easy", "B, C, D") == []


FIRST = WORLD.relationships[0]
WORLDS = [
    ({"relationships": WORLD.relationships[:2]}, "Give 3 to 5 relationships, not 2."),
    ({"team_size": 6}, "`team_size` is 3 to 5, not 6."),
    (
        {"reporting_to": "Somebody Else"},
        "`reporting_to` is the name of one of the relationships; give that of the manager.",
    ),
    ({"about": " "}, "`about` is blank; write it."),
    ({"full_name": "Bodil Lund"}, "Two people are called 'bodil'; no two share a given name."),
    ({"full_name": "Xaver Lind"}, "The name 'Xaver Lind' begins with none of A, B, C, D; take one that does."),
    ({"full_name": "..."}, "The name '...' has no word; give the person one."),
]


@pytest.mark.parametrize(("changes", "reason"), WORLDS)
def test_a_fault_of_a_world_is_named(changes, reason):
    assert rules.world_rules(changed(WORLD, **changes), "easy", "A, B, C, D") == [reason]


def test_clean_bottlenecks_break_no_rule():
    assert rules.bottleneck_rules(BOTTLENECKS, 2, WINDOW) == []


F1, F2 = PARCEL.ledger
PARCELS = [
    ({"resolution": " "}, "b1: `resolution` is blank; write it."),
    (
        {"facets": changed(PARCEL.facets, where_system="")},
        "b1: `where_system` is blank; write it, or make it null.",
    ),
    (
        {"ledger": [*PARCEL.ledger, changed(F1, id="f9", value="20 March")]},
        "b1: the date '20 March' of f9 is not of the form YYYY-MM-DD.",
    ),
    (
        {"ledger": [F1, changed(F2, value="many")]},
        "b1: the amount 'many' of f2 is not a number in plain digits and its unit.",
    ),
    ({"ledger": [F1]}, None),
    ({"ledger": [F2]}, "b1: it names 2026-03-20, which is no date of its ledger; enter it, or write the ledger's."),
    (
        {"ledger": [F1, changed(F2, value="85 samples")]},
        "b1: f2 (85 samples) occurs in no facet, description or resolution; state it or drop it.",
    ),
    ({"ledger": [F1, changed(F2, id="amount")]}, "Ids of the ledger are f1, f2 and so on, not 'amount'."),
    ({"ledger": [F1, changed(F2, id="f1")]}, "Two entries of the ledger have the id 'f1'."),
    (
        {"resolution": "Do it on 1 June 2026."},
        "b1: it names 2026-06-01, which is no date of its ledger; enter it, or write the",
    ),
]


@pytest.mark.parametrize(("changes", "reason"), PARCELS)
def test_a_fault_of_a_bottleneck_is_named(changes, reason):
    reasons = rules.bottleneck_rules([changed(PARCEL, **changes), ROOM], 2, WINDOW)
    assert len(reasons) == (reason is not None), reasons
    assert all(one.startswith(str(reason)) for one in reasons)


def test_a_date_in_the_days_in_which_items_are_written_is_a_fault():
    entries = [changed(F1, value="2026-03-10"), F2]
    texts = {name: getattr(PARCEL, name).replace("20 March", "10 March") for name in ("description", "resolution")}
    facets = changed(PARCEL.facets, when_deadline="10 March 2026")
    one = changed(PARCEL, ledger=entries, facets=facets, **texts)
    assert rules.bottleneck_rules([one, ROOM], 2, WINDOW) == [
        "b1: the date of f1 lies between 2026-02-14 and 2026-03-13; take one before or after."
    ]


def test_too_few_bottlenecks_and_one_twice_are_faults():
    assert rules.bottleneck_rules([PARCEL], 2, WINDOW) == ["Write exactly 2, with the ids b1, b2."]
    ledger = [changed(entry, id=f"f{number}") for number, entry in enumerate(PARCEL.ledger, start=7)]
    again = changed(PARCEL, id="b2", ledger=ledger)
    assert rules.bottleneck_rules([PARCEL, again], 2, WINDOW) == ["b2 is b1 once more; invent another."]


def test_an_audit_of_bottlenecks_is_believed_only_of_what_there_is():
    audit = changed(
        BOTTLENECK_AUDIT, revealed=["b7"], unmet=[UnmetFacet(bottleneck="b1", facet="where_system", why="?")]
    )
    assert rules.bottleneck_audit_rules(BOTTLENECK_AUDIT, BOTTLENECKS) == []
    assert rules.bottleneck_audit_rules(audit, BOTTLENECKS) == [
        "There is no bottleneck 'b7' here; the ids are b1, b2.",
        "The facet where_system of b1 is null: it cannot be unmet.",
    ]


def test_a_facet_that_cannot_be_met_and_what_else_an_audit_finds_go_back_with_its_advice():
    unmet = [UnmetFacet(bottleneck="b1", facet="who_blocker", why="nobody blocks")]
    audit = changed(
        BOTTLENECK_AUDIT, unmet=unmet, revealed=["b2"], alike=["b2"], unresolvable=["b1"], advice="Mend b1."
    )
    assert rules.bottleneck_findings(BOTTLENECK_AUDIT) == []
    assert rules.bottleneck_findings(audit) == [
        "b1: the facet who_blocker cannot be met (nobody blocks); mend it, or make it null.",
        "b2 can be read out of the world; take another.",
        "b2 is too near to another one; take another.",
        "b1 is not resolved by one action of the person; take another.",
        "Mend b1.",
    ]


def test_the_number_of_actions_leaves_at_least_so_many_that_resolve_nothing():
    # easy: 12, or n + 5; hard: 25, or n + 10.
    assert [rules.action_count("easy", n) for n in (3, 7, 8)] == [12, 12, 13]
    assert [rules.action_count("hard", n) for n in (6, 16)] == [25, 26]


def test_clean_actions_break_no_rule():
    assert rules.action_rules(ACTIONS, BOTTLENECKS, NAMES, 12) == []


TWO = SIGN.parameters[:2]
SIGNATURES = [
    ({"resolves": None}, ["b1 is resolved by 0 actions; exactly one resolves it."]),
    (
        {"resolves": "b2"},
        [
            "b1 is resolved by 0 actions; exactly one resolves it.",
            "b2 is resolved by 2 actions; exactly one resolves it.",
        ],
    ),
    ({"resolves": "b9"}, ["There is no bottleneck 'b9' here", "b1 is resolved by 0"]),
    ({"id": "other_1"}, ["Two actions have the id 'other_1'."]),
    ({"id": "requestSignature"}, ["'requestSignature' is not in lower case with underscores."]),
    ({"description": "Ask Bodil Krag."}, ["request_signature names 'Bodil Krag'; what is particular"]),
    ({"id": "ask_bodil_krag"}, ["ask_bodil_krag names 'Bodil Krag'; what is particular is the value of a parameter."]),
    ({"constraints": ["By 20 March"]}, ["request_signature names a date"]),
    ({"description": "Send 84 samples."}, ["request_signature names '84 samples'"]),
    (
        {"parameters": TWO},
        ["request_signature has 2 parameters, others 3 to 3; give it as many as others have, or give others as many."],
    ),
    ({"parameters": [*TWO, TWO[0]]}, ["request_signature: two parameters are called 'signer'."]),
    (
        {"type": "make_phone_call"},
        ["No other action has the type make_phone_call of request_signature; give it to some."],
    ),
]


@pytest.mark.parametrize(("changes", "expected"), SIGNATURES)
def test_a_fault_of_an_action_is_named(changes, expected):
    reasons = rules.action_rules([changed(SIGN, **changes), *ACTIONS[1:]], BOTTLENECKS, NAMES, 12)
    assert len(reasons) == len(expected), reasons
    assert all(reason.startswith(start) for reason, start in zip(reasons, expected, strict=True))


def test_another_number_of_actions_than_ordered_is_a_fault():
    assert rules.action_rules(ACTIONS, BOTTLENECKS, NAMES, 13) == ["Write exactly 13 actions, not 12."]


def test_exactly_the_action_that_was_made_for_a_bottleneck_resolves_it():
    def findings(*resolving):
        return rules.action_findings(changed(ACTION_AUDIT, resolving=list(resolving), reason="So."), "b1", SIGN.id)

    assert findings("request_signature") == findings("request_signature", "request_signature") == []
    assert findings("request_signature", "other_1") == [
        "b1: other_1 would resolve it, too (So.); put others in place of these, and keep request_signature."
    ]
    missed = ["b1: request_signature does not resolve it (So.); write one that does by itself."]
    assert findings() == findings("other_1") == missed
    unknown = changed(ACTION_AUDIT, resolving=["none"])
    assert rules.action_audit_rules(ACTION_AUDIT, ACTIONS) == []
    assert rules.action_audit_rules(unknown, ACTIONS)[0].startswith(
        "There is no action 'none' here; the ids are request_"
    )


def test_what_looks_like_a_day_and_is_none_is_no_day():
    """As a model may write them: neither a month nor a day 0, nor one that the month lacks."""
    assert rules.dates_in("0000-00-00, 2026-00-12, 2026-13-01, 30 February 2026, 00.00.2026", date(2026, 3, 2)) == []
    assert rules.dates_in("31 December", date(9999, 12, 31)) == [date(9999, 12, 31)]
