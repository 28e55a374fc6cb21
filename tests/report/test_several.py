"""More than two runs: a sorted table, the first run as the one that the others are compared with, few cases marked."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from builders.runs import manifest, outcome, summary
from rich.console import Console

from dspy_proact.calls import Usage
from dspy_proact.report import Controls, compare, compare_several, comparison_document, print_several, several_document
from dspy_proact.report.headline import comparison_headline, headline
from dspy_proact.report.measured import ControlCases
from dspy_proact.report.several import Matrix, best_line, several_headline
from dspy_proact.stats import holm

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
    assert table[2][-4:] == ["25.0", "16/20", "0.7500", "31.2"]  # the last: EMERGENT, its only phase
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
    assert text == "Of 4 runs compared with A, a: 1 scores higher and 3 are not shown to differ (Holm)."
    assert (document["headline"], document["claim"]["count"]) == (text, 4)


def test_what_makes_the_comparison_doubtful_is_said_once_with_the_letters(several):
    lines = several_headline(several).caveats
    assert lines[0] == "Not known to be judged as A was: B, C, D and E."
    assert len(set(lines)) == len(lines)


def test_nothing_is_claimed_where_no_run_differs():
    several = compare_several([run("a", 5), run("b", 6), run("c", 5)])
    text = "Of 2 runs compared with A, a: none is shown to score higher or lower (Holm)."
    assert several_headline(several).text == text


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
    assert several_headline(compare_several([long, short, short])).text.startswith("Of 2 runs compared with A: ")
    assert comparison_headline(compare(long, short)).text.startswith("b (c) and a have the same score on each of 20 ")
    assert headline(long).text.startswith("This model scored 25.0 of 100 (95 % ")


def test_all_comparisons_are_printed_with_the_details(several):
    assert printed(several, explain=True).count("changed: ") == 4
    assert printed(several).count("changed: ") == 0


def test_a_cost_that_is_not_known_is_none():
    assert replace(run("a", 1), usage={}).usd is None
    assert replace(run("a", 1), usage=COST | {"user": Usage(1, 1, 1, 0, None, "no price")}).usd is None


# The best of several


def alike(seed, runs=6, scenarios=24):
    """Runs that pass each scenario with the same chance: what one scores above another is luck."""
    rng = np.random.default_rng(seed)
    drawn = [
        summary(
            *(
                outcome(f"t{number}", "PASS" if rng.random() < 0.4 else "FAIL", group=f"s{number}")
                for number in range(scenarios)
            ),
            path=f"r{which}",
            model=f"m{which}",
            strata=("EMERGENT",),
        )
        for which in range(runs)
    ]
    return compare_several(drawn)


@pytest.mark.parametrize("seed", [22, 50, 70])
def test_the_best_of_six_equal_runs_is_not_said_to_be_better_than_any(seed):
    """Of 150 such tables the highest run is "better" than another in 25 by an unadjusted p, in 4 by Holm over 5 tests.

    These are three of the four. In one of the 150 it is by p over all 15 pairs.
    """
    several = alike(seed)
    best = several.best
    beside = [compare(several.summaries[run], several.summaries[best.run]) for run in several.order[1:]]
    tests = [of.lenient.overall.weighted for of in beside]
    assert min(filter(None, holm([test.p for test in tests]))) <= 0.05
    assert (best.below, len(best.open), best.pairs) == ((), 5, 15)
    assert "No other run is shown to score lower than " in best_line(several)


def test_a_run_that_is_better_than_each_other_is_called_so():
    several = compare_several([run("a", 4), run("b", 20), run("c", 3)])
    # 16 and 17 of 20 scenarios differ, all to one side: p is at most 1 in 9,999 swaps and the data, of three pairs.
    assert (several.best.run, several.best.below, several.best.open) == (1, (0, 2), ())
    assert best_line(several) == (
        "B, b, has the highest strict score, 100.0. B scores higher than each other run (p adjusted over all 3 pairs)."
    )


def test_runs_that_may_be_as_good_as_the_highest_are_named():
    several = compare_several([run("a", 19), run("b", 20), run("c", 3)])
    assert (several.best.below, several.best.open) == ((2,), (0,))
    assert "has the highest strict score, 100.0. Whether B is better than A is open" in best_line(several)
    assert several_document(several)["best"]["open"] == ["A"]


def test_equal_scores_are_shared_and_a_run_of_few_cases_is_not_the_best():
    several = compare_several([run("a", 5), run("b", 5), run("c", 2, 2)])
    assert best_line(several).startswith(
        "Of runs with enough scored cases A, a, shares the highest strict score, 25.0, with B."
    )
    assert (several.best.equals, several_document(several)["best"]["equals"]) == ((1,), ["B"])
    many = compare_several([run(name, 5) for name in "abcdef"])
    assert best_line(many).startswith("A, a, shares the highest strict score, 25.0, with 5 other runs.")


def test_what_is_shown_beside_the_first_run_and_not_over_all_pairs_is_no_contradiction():
    """Eight of 20 scenarios differ, all to one side: p is 2 / 2^8 = .008, of 5 tests .04, of 15 pairs .12."""
    names = "abcdef"
    several = compare_several([run(name, 12 if name == "f" else 4) for name in names])
    assert several.sides == [*([None] * 4), "higher"]
    assert several_headline(several).text == (
        "Of 5 runs compared with A, a: 1 scores higher and 4 are not shown to differ (Holm)."
    )
    why = "; with so many pairs it takes a larger difference than beside A alone)."
    assert best_line(several) == (
        "F, f, has the highest strict score, 60.0. "
        f"No other run is shown to score lower than F (p adjusted over all 15 pairs{why}"
    )
    # The first is the highest: what is shown to be lower beside it is open over all pairs likewise.
    assert best_line(compare_several([run("a", 12), *(run(name, 4) for name in "bc"), run("d", 12)])).endswith(
        "Whether A is better than D is open (p adjusted over all 6 pairs)."
    )
    falling = compare_several([*(run(name, 12) for name in "abcde"), run("f", 4)])
    assert falling.sides == [*([None] * 4), "lower"]
    assert best_line(falling).endswith(f"is shown to score lower than A (p adjusted over all 15 pairs{why}")
    # Where nothing is shown beside the first run, there is nothing to explain.
    assert why not in best_line(compare_several([run(name, 12) for name in "abc"]))


def test_that_others_leave_their_failures_unscored_shows_nothing():
    """Counted 0 the second is 12 of 20 below; left out, it is equal."""
    several = compare_several([run("a", 20), run("b", 8, unscored=12), run("c", 20)])
    assert 1 in several.best.open


# Models by prompts


def variant(model, prompt, passes, digest=None):
    named = {"program": "prompt", "prompt": digest or f"hash of {prompt}"} if prompt else {}
    beside = manifest(model=model, variant=prompt, assistant=named)
    return replace(run(model, passes), path=f"{model} {prompt}", manifest=beside)


def test_every_model_with_every_prompt_is_a_matrix_and_one_missing_is_none():
    ways = [(model, prompt) for model in ("x/ann", "x/ben") for prompt in (None, "a/b", "long")]
    runs = [variant(*way, passes) for passes, way in enumerate(ways)]
    several = compare_several(runs)
    assert several.matrix == Matrix(("x/ann", "x/ben"), ("bare", "a/b", "long"), ((0, 1, 2), (3, 4, 5)))
    text = printed(several, 80)
    rows = [line.split() for line in text.splitlines()]
    assert rows.index(["score", "bare", "a/b", "long"]) + 3 == rows.index(
        ["ben", "D", "15.0", "E", "20.0", "F", "25.0"]
    )
    assert ["A", "ann", "0.0"] in [row[:3] for row in rows]
    assert max(map(len, text.splitlines())) <= 80
    alike = [variant(model, "short", 5, digest) for model in ("ann", "ben") for digest in ("0123456789", "9876543210")]
    matrix = compare_several(alike).matrix
    assert matrix
    assert matrix.variants == ("short, prompt 01234567", "short, prompt 98765432")
    assert compare_several(runs[:5]).matrix is None
    assert compare_several([*runs, runs[0]]).matrix is None
    assert compare_several(runs[:3]).matrix is None
    assert several_document(compare_several(runs[:3]))["matrix"] is None


def test_runs_of_one_model_are_called_by_their_prompts_in_tables():
    several = compare_several([variant("x/ann", prompt, 5) for prompt in (None, "short", "long")])
    rows = [line.split()[:2] for line in printed(several).splitlines()]
    assert [["A", "bare"] in rows, ["B", "short"] in rows, ["C", "long"] in rows] == [True] * 3
    assert "B: x/ann (short) judged by j" in " ".join(printed(several).split())


def test_prompts_of_one_name_are_told_from_each_other_by_their_hashes():
    runs = variant("ann", "short", 5), variant("ann", "short", 6, "0123456789"), variant("ann", None, 7)
    assert compare_several(runs).names == ["ann (short, prompt hash of )", "ann (short, prompt 01234567)", "ann"]
    assert compare_several([runs[0], runs[0], runs[2]]).names == ["ann (short)", "ann (short)", "ann"]


def test_two_versions_of_a_prompt_are_told_from_each_other_in_a_comparison_of_two():
    comparison = compare(variant("ann", "short", 5, "0123456789"), variant("ann", "short", 15, "9876543210"))
    text = comparison_headline(comparison).text
    assert text.startswith("b (ann, short, prompt 98765432) is better than a (ann, short, prompt 01234567): +50.0")


def with_controls(of, unwanted):
    """Ten control cases more, of which so many got an offer that nobody wanted."""
    one = outcome("c", "PASS", stratum="CONTROL")
    labels = ["UNWANTED" if number < unwanted else "HELD_BACK" for number in range(10)]
    cases = tuple(replace(one, key=f"c{n}", group=f"s{n}", label=label) for n, label in enumerate(labels))
    return replace(of, controls=ControlCases(cases, None, worst="UNWANTED", declared=Controls(rate="unwanted offers")))


def test_what_a_prompt_costs_at_control_cases_stands_beside_its_score():
    runs = with_controls(run("a", 5), 1), with_controls(run("b", 15), 4), run("c", 3)
    several = compare_several(runs)
    text = printed(several, 140)
    rows = [line.split() for line in text.splitlines()]
    assert [row[-1] for row in rows if "0.7500" in row] == ["40.0", "10.0", "-"]  # B, A, and C without such cases
    assert "unwanted offers: in % of control cases; lower is better." in text
    rates = [of.get("unwanted_offers", {}).get("value") for of in several_document(several)["runs"]]
    assert rates == [0.4, 0.1, None]
    assert "unwanted" not in printed(compare_several([run("a", 5), run("b", 6), run("c", 7)]))


def test_what_is_not_complete_is_said():
    half = replace(run("b", 5), outcomes=(*run("b", 5).outcomes, outcome("t99", None, state="pending", reason=None)))
    assert "Not complete, so that numbers will change: B." in printed(compare_several([run("a", 5), half, run("c", 4)]))


def test_two_runs_have_the_sentence_of_two():
    assert several_headline(compare_several([run("a", 5), run("b", 15)])).text.startswith("B (b) scores higher than A")
    assert "highest" not in printed(compare_several([run("a", 5), run("b", 15)]))
