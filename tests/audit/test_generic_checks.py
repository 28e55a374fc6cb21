"""The checks that serve any benchmark: each fails, or shows, what was planted, and passes without it."""

import pytest

from dspy_proact.audit.auditing import AuditedCorpus, Auditing, AuditItem
from dspy_proact.audit.check import Finding
from dspy_proact.audit.generic import generic_checks
from dspy_proact.stats.diversity import Coverage

AUDITING = Auditing(
    read=lambda *_: pytest.fail("nothing is read"),
    recognizes=lambda _: False,
    nouns=("letter", "letters"),
    beyond="whether anybody likes them",
    columns={"tone": ("kind", "stern"), "day": ()},
)
SENTENCES = (
    "the boat leaves the small harbour at nine",
    "a baker buys rye flour for the winter",
    "my aunt paints old doors",
)


def item(key, text, *, group="g", names=(), tone="kind", day="1", **changes):
    cells = [{"tone": tone, "day": day}]
    texts = {"texts": {"lines": [text]}, "compared": {"letters": [text]}}
    return AuditItem(key=key, group=group, names=names, **{**texts, "cells": cells, **changes})


def corpus(*items, **changes):
    return AuditedCorpus(
        name="letters.jsonl",
        items=items,
        rows=changes.pop("rows", len(items)),
        keys=frozenset(one.key for one in items),
        sha256="0" * 64,
        **changes,
    )


def checks(*items, **changes):
    return {check.name: check for check in generic_checks(corpus(*items, **changes), AUDITING)}


SOUND = tuple(item(f"k{number}", text) for number, text in enumerate(SENTENCES))


def test_a_sound_corpus_passes_every_check_that_can_fail():
    states = {name: check.state for name, check in checks(*SOUND).items()}
    assert states == {
        "schema": "passed",
        "empty texts": "passed",
        "near duplicates among letters": "passed",
        "names": "not tested",
        "length of lines": "reported",
        "coverage": "reported",
    }


def test_a_row_that_cannot_be_used_fails_the_schema_and_is_counted():
    bad = Finding(key="line 4", problem="The field turn is missing.")
    check = checks(*SOUND, rows=4, unusable=[bad])["schema"]
    assert (check.state, check.findings, check.tested) == ("failed", (bad,), 4)
    assert check.sentence == "3 of 4 rows can be used, as 3 letters."
    by_reason = checks(*SOUND, rows=5, left_out={"has no id": 2})["schema"]
    assert (by_reason.state, by_reason.sentence) == ("failed", "3 of 5 rows can be used, as 3 letters.")
    assert by_reason.findings[0].problem == "2 rows cannot be used: has no id."


def test_an_unknown_field_is_reported_and_no_fault():
    check = checks(*SOUND, ignored_fields={"mood": 3})["schema"]
    assert check.state == "reported"
    assert check.findings[0].problem == "The field mood is unknown and is not read; it occurs 3 times."


@pytest.mark.parametrize("text", ["", "  ", "...", "\n-\n"])
def test_a_text_without_a_word_fails(text):
    check = checks(*SOUND, item("bare", text))["empty texts"]
    assert (check.state, [finding.key for finding in check.findings]) == ("failed", ["bare"])
    assert check.sentence == "1 of 4 texts has no word."


def test_two_texts_that_share_half_of_their_runs_of_three_words_fail_and_a_pair_just_below_passes():
    # Six runs of eight words; with the last two replaced four of them stay: 4 of 8 in either, .5.
    alike = "the boat leaves the small harbour before dawn"
    check = checks(*SOUND, item("twin", alike))["near duplicates among letters"]
    assert (check.state, check.tested) == ("failed", 6)
    assert check.findings == (Finding(key="twin", problem="It shares 50% of its three-word sequences with k0."),)
    # With three replaced, three of six stay: 3 of 9.
    other = "the boat leaves the small house before dawn"
    assert checks(*SOUND, item("no twin", other))["near duplicates among letters"].state == "passed"


def test_one_text_has_no_duplicate_to_look_for():
    check = checks(SOUND[0])["near duplicates among letters"]
    assert (check.state, check.sentence) == ("not tested", "It takes two letters, and the corpus has 1.")


def test_a_name_in_three_groups_is_shown_and_one_of_a_single_group_is_not():
    letters = [item(f"k{n}", text, group=f"g{n}", names=("Ilse", f"Own{n}")) for n, text in enumerate(SENTENCES)]
    check = checks(*letters)["names"]
    assert (check.state, [finding.problem for finding in check.findings]) == (
        "reported",
        ["Ilse stands in 3 of 3 groups."],
    )
    assert check.sentence == "1 of 4 names stands in at least 3 of 3 groups."
    # Of 30 groups three are no more than a tenth.
    many = [item(f"k{n}", f"{n}", group=f"g{n}", names=("Ilse",) if n < 3 else (f"Own{n}",)) for n in range(30)]
    assert checks(*many)["names"].findings == ()


def test_lengths_are_in_words():
    check = checks(*SOUND)["length of lines"]
    # 8, 8 and 5 words: the quartiles of 5, 8, 8 are 6.5 and 8.
    assert check.sentence == "3 texts of 5 to 8 words; median 8, quartiles 6.5 and 8."


def test_coverage_names_values_that_no_case_has_and_no_table_that_could_not_be_full():
    letters = [item(f"k{n}", str(n), day=str(n)) for n in range(4)]
    check = checks(*letters)["coverage"]
    assert check.sentence == "4 cases with 1 of 2 values of tone and 4 of 4 values of day."
    # Two tones by four days are eight cells, more than there are cases.
    assert [finding.problem for finding in check.findings] == ["No case has tone stern."]
    letters += [item("more", "x", day="1", tone="stern"), *(item(f"m{n}", "y", day="1") for n in range(3))]
    assert [finding.problem for finding in checks(*letters)["coverage"].findings] == [
        "3 of 8 cells of tone and day have no case."
    ]


def test_of_a_corpus_of_copies_as_many_pairs_are_named_as_are_looked_for_and_no_more_are_denied():
    # 200 copies have 19,900 pairs.
    check = checks(*(item(f"k{number}", SENTENCES[0]) for number in range(200)))["near duplicates among letters"]
    assert check.sentence.startswith("At least 10,000 of 19,900 pairs share half or more of")
    assert (check.state, len(check.findings)) == ("failed", 10_000)


def test_a_table_of_more_cells_than_cases_is_not_even_counted(monkeypatch):
    monkeypatch.setattr(Coverage, "empty_cells", lambda *_: pytest.fail("10,000 values twice are 100,000,000 cells"))
    check = checks(*(item(f"k{n}", text, tone=f"t{n}", day=f"d{n}") for n, text in enumerate(SENTENCES)))["coverage"]
    assert check.sentence == "3 cases with 3 of 5 values of tone and 3 of 3 values of day."
