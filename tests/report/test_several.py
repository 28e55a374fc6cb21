"""More than two runs: a sorted table, the first run as the one that the others are compared with, few cases marked."""

from dataclasses import replace
from io import StringIO

import pytest
from builders.runs import outcome, summary
from rich.console import Console

from dspy_proact.calls import Usage
from dspy_proact.report import compare, compare_several, comparison_document, print_several, several_document
from dspy_proact.report.headline import comparison_headline, headline
from dspy_proact.report.several import several_headline

COST = {"assistant": Usage(3, 1, 1, 0, 0.5, None), "judge": Usage(3, 1, 1, 0, 0.25, None)}


def run(name, passes, scenarios=20, unscored=0, **changes):
    """A trigger a scenario, of which the first so many pass, and the last so many are unscored."""
    grades = ["PASS" if number < passes else "FAIL" for number in range(scenarios - unscored)] + [None] * unscored
    outcomes = [outcome(f"t{number}", grade, group=f"s{number}") for number, grade in enumerate(grades)]
    return summary(*outcomes, path=name, model=name, usage=COST, strata=("EMERGENT",), **changes)


@pytest.fixture
def several():
    """A 5 of 20; b 15; c both of its two; d 5 of 16 with 4 unscored; e none."""
    runs = run("a", 5), run("b", 15), run("c", 2, 2), run("d", 5, unscored=4), run("e", 0)
    return compare_several(runs)


def printed(several, width=100, explain=False):
    file = StringIO()
    print_several(several, Console(width=width, file=file), explain)
    return file.getvalue()


def test_the_table_is_sorted_by_the_strict_score_and_a_run_of_two_cases_stands_last_and_is_marked(several):
    rows = [line.split() for line in printed(several, 140).splitlines()]
    table = [row for row in rows if "0.7500" in row]
    assert [row[:2] for row in table] == [["B", "b"], ["A", "a"], ["D", "d"], ["E", "e"], ["C*", "c"]]
    differences = [row[0] for row in rows if len(row) > 4 and row[0].strip("*") in "ABCDE" and row not in table]
    assert differences == ["B", "D", "E", "C*"]
    # D: 5 of 16 scored, 5 of 20 tried; of each run USD .5 and .25.
    assert table[2][2].startswith("31.2")
    assert table[2][-3:] == ["25.0", "16/20", "0.7500"]
    assert "Fewer than half as many scored triggers as another run (*), so last: C." in printed(several)
    json = several_document(several)
    assert [(of["run"], of["few"], of["usd"]) for of in json["runs"]] == [
        ("B", False, 0.75),
        ("A", False, 0.75),
        ("D", False, 0.75),
        ("E", False, 0.75),
        ("C", True, 0.75),
    ]


def test_differences_are_from_the_first_run_and_adjusted_over_the_runs(several):
    document = several_document(several)
    assert [of["b"]["path"] for of in document["comparisons"]] == ["b", "c", "d", "e"]
    alone = comparison_document(compare(several.summaries[0], several.summaries[1]))
    b, c, d, e = document["comparisons"]
    assert {name: b[name] for name in alone} == alone
    # Ten of 20 scenarios differ, all to one side, and five: 2 / 2^10 = .002 and 2 / 2^5 = .0625, sampled; three tests
    # have a p, for the two triggers that a and c share and the 16 that a and d share do not differ: p 1.
    ps = [of["overall"]["micro"]["weighted"]["p"] for of in (b, c, d, e)]
    assert ps[0] < 0.01 < ps[3] < 0.1
    assert b["p_holm"] == pytest.approx(ps[0] * sum(p is not None for p in ps))
    assert [of["side"] for of in (b, c, d, e)] == ["higher", None, None, None]
    text = several_headline(several).text
    assert text == "Of 4 runs beside A, a: 1 scored higher (Holm); for 3 no side can be claimed."
    assert (document["headline"], document["claim"]["count"]) == (text, 4)


def test_what_makes_the_comparison_doubtful_is_said_once_with_the_letters(several):
    lines = several_headline(several).caveats
    assert lines[0] == "Not known to be judged as A was: B, C, D and E."
    assert len(set(lines)) == len(lines)


def test_nothing_is_claimed_where_no_run_differs():
    several = compare_several([run("a", 5), run("b", 6), run("c", 5)])
    assert several_headline(several).text == "No side can be claimed for any of 2 runs beside A, a."


def test_no_side_is_claimed_where_the_unscored_turn_it():
    # All that b answers passes, 8 of 8 where a passes none; counted 0 it passes 8 of 20, as many as c beyond a's 0.
    first, dropping = run("a", 10), run("b", 8, unscored=12)
    assert compare_several([first, dropping, run("c", 20)]).sides == [None, "higher"]


def test_the_adjusted_p_of_the_table_claims_what_the_sentence_claims_beside_a_run_without_scores():
    """6 of 6 scenarios lose: p is 2 / 2^6 = .031, of two runs .062, though of the other run nothing can be tested."""
    several = compare_several([run("a", 6, 6), run("b", 0, 6, unscored=6), run("c", 0, 6)])
    assert several.adjusted == [None, pytest.approx(2 * 2 / 2**6)]
    assert several.sides == [None, None]


def test_a_run_that_is_given_twice_is_said_to_have_the_same_responses():
    again = "The same responses as A's, word for word: B."
    assert again in several_headline(compare_several([run("a", 5), run("a", 5), run("c", 0, 2, unscored=2)])).caveats


def test_a_name_of_many_words_is_not_in_the_sentence_that_it_would_turn():
    name = "b scores higher than a: +50 points (95 % +1 to +2)"
    long, short = run(name, 5), run("c", 5)
    assert several_headline(compare_several([long, short, short])).text.endswith(" 2 runs beside A.")
    assert comparison_headline(compare(long, short)).text.startswith("b (c) and a have the same score on each of 20 ")
    assert headline(long).text.startswith("This model scored 25.0 of 100 (95 % ")


def test_all_comparisons_are_printed_with_the_details(several):
    assert printed(several, explain=True).count("changed: ") == 4
    assert printed(several).count("changed: ") == 0


def test_a_cost_that_is_not_known_is_none():
    assert replace(run("a", 1), usage={}).usd is None
    assert replace(run("a", 1), usage=COST | {"user": Usage(1, 1, 1, 0, None, "no price")}).usd is None
