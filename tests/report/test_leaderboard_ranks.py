"""The score that ranks is the strict one, as it is printed, on any scale; ranges say which design effect they take."""

from dataclasses import replace
from io import StringIO

import pytest
from builders.benchmarks import Contest
from builders.runs import manifest, outcome, summary
from rich.console import Console

from dspy_proact import PublishedRow
from dspy_proact.evaluation.people import People
from dspy_proact.evaluation.published import Counts, Published
from dspy_proact.report import leaderboard, leaderboard_document, print_leaderboard
from dspy_proact.report.leaderboard_text import leaderboard_headline
from dspy_proact.report.page import leaderboard_page
from dspy_proact.runs import Nouns

SCORES = {"A": 1.0, "B": 0.2, "C": 0.0}


def scale(*rows, labels=("A", "B", "C"), **declared):
    """A benchmark with these published rows and the stratum "all", whose runs are ranked."""
    published = Published(lambda: rows, lambda _: (), **declared.pop("of_published", {}))
    usual = {"strata": ("all",), "nouns": Nouns(), "measures": ()}
    return type("Scale", (Contest,), {"name": "scale", "labels": labels, "published": published, **usual, **declared})()


def row(name, score, total, *counts, **more):
    return PublishedRow(name, {"score": score, **more}, counts={"all": Counts(total, counts)})


def run(labels, path="run", per_group=1, scores=SCORES):
    """A run whose cases have these labels, so many in a row a group; a blank is unscored."""
    outcomes = []
    for number, label in enumerate(labels):
        case = outcome(f"c{number}", "PASS" if label != " " else None, group=f"g{number // per_group}", stratum="all")
        if label != " ":
            verdict = replace(case.verdicts[0], label=label, score=scores[label])
            case = replace(case, label=label, score=scores[label], verdicts=(verdict,))
        outcomes.append(case)
    known = {"benchmark": "scale", "strata": ("all",), "labels": tuple(scores), "path": path}
    return summary(*outcomes, manifest=manifest(), **known)


def headline_of(board):
    """Its text, which is one sentence of at most 30 words, made from the number and the count of the value."""
    first = leaderboard_headline(board)
    assert len(first.text.split()) <= 30
    assert first.claim == leaderboard_document(board)["claim"]
    return first


def printed(board, explain=False):
    file = StringIO()
    print_leaderboard(board, Console(width=100, file=file), explain)
    return " ".join(file.getvalue().split())


@pytest.mark.parametrize("people", [None, People(scores=SCORES)])
def test_a_run_of_20_percent_does_not_stand_above_a_published_40(people):
    # 40 A of 100 are .4; 100 B are .2 each, though counts alone would take each middle label for a half.
    board = leaderboard([run("B" * 100)], scale(row("old", 0.4, 100, 40, 0, 60), people=people))
    assert [(entry.name, entry.rank, entry.scores["score"].value) for entry in board.entries] == [
        ("old", 1, 0.4),
        ("openai/m", 2, pytest.approx(0.2)),
    ]
    assert headline_of(board).text.startswith("openai/m ranks 2 of 2 (score 20.0 %")


def test_a_row_of_counts_alone_has_the_score_that_the_labels_have():
    # 10 A, 50 B, 20 C and 20 unscored: (10 + 50 * .2) / 80 = .25, of all 100 .2.
    rows = PublishedRow("old", {}, counts={"all": Counts(100, (10, 50, 20))}), row("better", 0.26, 100, 10, 80, 10)
    board = leaderboard([], scale(*rows, people=People(scores=SCORES)))
    shown = {entry.name: [entry.scores[name].value for name in board.columns] for entry in board.entries}
    assert list(board.columns) == ["strict", "score"]
    assert shown == {"better": [0.26, 0.26], "old": [pytest.approx(0.2), 0.25]}


def test_the_unscored_of_any_row_count_nothing_in_the_score_that_ranks_and_is_printed_first():
    # Of 100 the one answers 60 at .5, strict .3; the other all at .4. The run: 97 of 100 at .4, strict .388.
    rows = row("half", 0.5, 60 + 40, 30, 0, 30), row("all", 0.4, 100, 40, 0, 60)
    own = run("A" * 38 + "B" * 4 + "C" * 55 + "   ")
    board = leaderboard([own], scale(*rows))
    assert [(entry.name, entry.rank, entry.lenient_rank) for entry in board.entries] == [
        ("all", 1, 2),
        ("openai/m", 2, 2),
        ("half", 3, 1),
    ]
    assert (board.ranking, list(board.columns)) == ("strict", ["strict", "score"])
    assert [entry.scores["strict"].value for entry in board.entries] == [0.4, pytest.approx(0.388), pytest.approx(0.3)]
    document = leaderboard_document(board)
    assert "ranks 2 of 3 (strict 38.8 %, 95 % " in document["headline"]
    assert "97 of 100 scored" in document["headline"]
    claim = document["claim"]
    assert (claim["side"], claim["value"], claim["count"]) == (None, pytest.approx(0.388), 100)
    assert claim["test"] == "tests of 3 pairs, Holm, design effect 2"
    assert "Ranks by score that strict scores move: half 1→3, all 2→1." in printed(board, explain=True)


def test_a_row_that_is_alone_or_equals_all_others_is_better_than_none():
    alone, both = row("old", 0.5, 100, 50, 0, 50), row("new", 0.5, 100, 50, 0, 50)
    for rows, text in (((alone,), "old ranks first of 1"), ((alone, both), "old and new rank first of 2")):
        result = headline_of(leaderboard([], scale(*rows)))
        assert (result.text, result.side) == (f"{text} (score 50.0 %).", None)


def test_four_labels_are_counted_each():
    scores = {"A": 1.0, "B": 0.9, "C": 0.1, "D": 0.0}
    board = leaderboard(
        [run("ABCD" * 10, scores=scores)], scale(row("old", 0.6, 40, 20, 0, 20, 0), labels=tuple("ABCD"))
    )
    assert [entry.rank for entry in board.entries] == [1, 2]
    counts = [entry["counts"]["all"] for entry in leaderboard_document(board)["rows"]]
    assert counts[1] == {"total": 40, "a": 10, "b": 10, "c": 10, "d": 10, "unscored": 0}
    # 20 A and 20 C about .6 by the run's scores: (20 * .4^2 + 20 * .5^2) / 40 = .205.
    assert board.entries[0].tested.variance == pytest.approx(0.2025)


def test_rows_of_means_alone_are_ranked_by_these_beside_the_strict_score_of_a_run():
    rows = PublishedRow("old", {"score": 0.39}), PublishedRow("other", {"score": 0.385})
    board = leaderboard([run("A" * 38 + "B" * 4 + "C" * 55 + "   ")], scale(*rows))
    assert [(entry.name, entry.rank) for entry in board.entries] == [("old", 1), ("openai/m", 2), ("other", 3)]
    assert "nothing is told from chance" in headline_of(board).text


def test_the_mean_of_strata_ranks_where_it_is_the_headline_and_counts_give_it_no_range():
    counts = {"X": Counts(90, (90, 0, 0)), "Y": Counts(10, (0, 0, 10))}
    rows = PublishedRow("old", {"macro": 0.5}, counts=counts), PublishedRow("new", {"macro": 0.6}, counts=counts)
    board = leaderboard([], scale(*rows, strata=("X", "Y"), of_published={"headline": "macro"}))
    assert [(entry.name, entry.rank, entry.rank_range) for entry in board.entries] == [
        ("new", 1, None),
        ("old", 2, None),
    ]
    # Half of X unscored: (.5 + 0) / 2 = .25 of the strata, strict.
    sparse = PublishedRow("sparse", {"macro": 0.7}, counts=counts | {"X": Counts(180, (90, 0, 0))})
    board = leaderboard([], scale(*rows, sparse, strata=("X", "Y"), of_published={"headline": "macro"}))
    assert [(entry.name, entry.rank, entry.lenient_rank) for entry in board.entries][-1] == ("sparse", 3, 1)


def test_the_design_effect_is_said_beside_the_table_and_is_the_larger_of_two_and_what_ranked_runs_show():
    declared = scale(row("old", 0.4, 100, 40, 0, 60))
    assumed = "with an assumed design effect of 2; if cases of one group are more alike, ranges are too narrow."
    assert assumed in printed(leaderboard([], declared))
    # Groups of ten alike: each case beyond the first of its group adds nothing, so that the effect is 10 * 10 / 9.
    alike = leaderboard([run("C" * 50 + "A" * 50, per_group=10)], declared)
    assert alike.design_effect == leaderboard_document(alike)["design_effect"] == pytest.approx(100 / 9)
    assert "with the design effect that [1] shows, 11.1, above the usual assumption of 2." in printed(alike)
    # Half of each group: no spread between groups, and the assumption stands.
    mixed = leaderboard([run("AC" * 40 + "AACA" * 5, per_group=20, path="b")], declared)
    assert mixed.design_effect == 2
    assert "with an assumed design effect of 2 ([1] shows " in printed(mixed)


def test_a_first_row_that_is_told_from_all_others_is_higher_and_one_that_is_not_has_no_side():
    # .9 and .5 of 100: SE^2 = 2 (.09 + .25) / 100 = .0068, z = 4.9. With .8: SE^2 = 2 (.09 + .16) / 100, z = 1.4.
    far, near = (
        scale(row("one", 0.9, 100, 90, 0, 10), row("two", *of)) for of in ((0.5, 100, 50, 0, 50), (0.8, 100, 80, 0, 20))
    )
    assert [headline_of(leaderboard([], declared)).side for declared in (far, near)] == ["higher", None]
    only = headline_of(leaderboard([], scale(row("one", 0.9, 100, 90, 0, 10))))
    assert (only.text, only.side) == ("one ranks first of 1 (score 90.0 %).", None)


def test_of_several_runs_the_headline_has_the_best_and_says_which_are_not_ranked():
    declared = scale(row("old", 0.4, 100, 40, 0, 60))
    pending = run("A" * 99 + "B", path="b")
    pending = replace(
        pending, outcomes=(*pending.outcomes[:-1], replace(pending.outcomes[-1], state="pending", label=None))
    )
    board = leaderboard([run("AC" * 50), pending, run("ACC" * 30, path="c")], declared)
    first = headline_of(board)
    assert first.text.startswith("openai/m ranks 1 of 3, the best of 2 runs (score 50.0 %")
    assert first.caveats == ("Measured otherwise, and not ranked: [2].",)
    assert first.test is not None
    # A sentence that ranks nothing rests on no test.
    assert headline_of(leaderboard([pending], declared)).test is None


def test_a_run_of_few_cases_beside_another_is_not_ranked_and_says_how_many_it_has():
    """Two cases of 100 that are passed would else stand first of all."""
    board = leaderboard([run("AC" * 20), run("AA", path="two")], scale(PublishedRow("old", {"score": 0.9})))
    assert [(entry.name, entry.rank, entry.few) for entry in board.entries] == [
        ("old", 1, False),
        ("openai/m", 2, False),
        ("openai/m", None, True),
    ]
    assert board.entries[-1].differences == ("2 scored cases, fewer than half of 40",)
    assert headline_of(board).text.startswith("openai/m ranks 2 of 2 (score 50.0 %")


def test_the_count_of_a_score_leaves_out_the_unscored_as_the_score_does():
    """20 of 40 cases have no score, so the run is not ranked, and its mean is of 20."""
    board = leaderboard([run("A" * 10 + "C" * 10 + " " * 20)], scale(PublishedRow("old", {"score": 0.9})))
    first = headline_of(board)
    assert first.text.startswith("openai/m (score 50.0 %, 95 % ")
    assert first.text.endswith(", 20 of 40 scored) was measured otherwise than the 1 published row, and is not ranked.")
    assert first.count == 20
    assert ": 40 cases of 40 groups, 20 scored, score 50.0 [" in printed(board)


def test_a_run_whose_score_another_run_shares_is_not_the_best_alone():
    board = leaderboard([run("AC" * 20), run("CA" * 20, path="b")], scale(PublishedRow("old", {"score": 0.9})))
    assert headline_of(board).text.startswith("openai/m ranks 2 of 3, tied best of 2 runs (score 50.0 %")


def test_a_run_whose_name_has_many_words_is_called_by_its_number():
    named = replace(run("AC" * 20), manifest=None, model="gpt ranks 1 of 9, better than all")
    board = leaderboard([named], scale(PublishedRow("old", {"score": 0.9})))
    assert headline_of(board).text.startswith("[1] (score 50.0 %, 95 % ")


def test_the_page_of_one_column_of_scores_has_its_bars():
    page = leaderboard_page(leaderboard([], scale(PublishedRow("old", {"score": 0.9}))))
    assert page.count('<rect width="90.0%"') == 1
