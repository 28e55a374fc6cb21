"""Runs on one corpus are ranked among themselves where they are judged alike; no published row is among them."""

import json
from io import StringIO

import pytest
from builders.dialogues import jsonl, row
from builders.runs import run_of
from rich.console import Console

from dspy_proact import ProactBench
from dspy_proact.errors import UsageError
from dspy_proact.report import leaderboard, leaderboard_document, print_leaderboard, summarize
from dspy_proact.report.leaderboard_text import leaderboard_headline
from dspy_proact.report.page import leaderboard_page
from dspy_proact.runs import Settings

pytestmark = pytest.mark.usefixtures("proactbench")
BOTH = ("openai/j", "openai/k")


@pytest.fixture
def corpus(tmp_path):
    """Twelve dialogues of as many scenarios, each with a trigger of each phase."""
    path = tmp_path / "mine.jsonl"
    rows = (row(unique_id_eval=f"d{number}", scenario_id=f"S{number}", uuid=f"{number:032}") for number in range(12))
    path.write_text(jsonl(*rows), encoding="utf-8")
    return path


def run(corpus, name, grades, *judges, model="openai/m", sha256=None, **of):
    """A run on the corpus, whose triggers have these grades again and again."""
    cases = ProactBench().read(str(corpus), Settings())
    own = [case for case in cases.cases if case.stratum in ("EMERGENT", "CRITICAL", "RECOVERY")]
    graded = [(case, grades[number % len(grades)]) for number, case in enumerate(own)]
    of |= {"model": model, "corpus_sha256": sha256 or cases.sha256}
    return summarize(run_of(corpus.with_name(name), graded, *judges, **of))


def text(board, explain=True):
    out = StringIO()
    print_leaderboard(board, Console(file=out, width=300), explain)
    return " ".join(out.getvalue().split())


def test_runs_are_ranked_by_the_strict_score_and_no_published_row_is_there(corpus):
    best = ["PASS", "PASS", "PASS", "PASS", "FAIL"]
    runs = [run(corpus, "a", ["FAIL", "FAIL", "PASS", None]), run(corpus, "b", best, model="openai/best")]
    board = leaderboard(runs, corpus=corpus)
    assert [(entry.name, entry.rank) for entry in board.entries] == [("openai/best", 1), ("openai/m", None)]
    runs[0] = run(corpus, "c", ["FAIL", "FAIL", "FAIL", "FAIL", "FAIL", "FAIL", "PASS"])
    board = leaderboard(runs, corpus=corpus)
    # 36 triggers: the fifth of each five fails, which are 7, and the seventh of each seven passes, which are 5.
    assert [(entry.rank, entry.scores["strict"].value) for entry in board.entries if entry.rank] == [
        (1, pytest.approx(29 / 36)),
        (2, pytest.approx(5 / 36)),
    ]
    assert not any(entry.published for entry in board.entries)
    first = leaderboard_headline(board)
    assert first.text.startswith("openai/best ranks 1 of 2 runs on mine.jsonl (strict 80.6 %")
    assert first.text.endswith("no other rank is open.")
    printed, page = text(board), leaderboard_page(board)
    assert "no published score is of them." in printed
    for word in ("gpt-5.5", "as published", "arXiv", "have no published grade"):
        assert word not in printed
    assert "gpt-5.5" not in page
    assert leaderboard_document(board)["corpus"] == {"name": str(corpus), "cases": 36}


def test_runs_that_cannot_be_told_apart_are_said_to_be_open_and_equal_ones_tied(corpus):
    runs = [run(corpus, name, ["PASS", "FAIL"], model=f"openai/{name}") for name in "ab"]
    board = leaderboard(runs, corpus=corpus)
    assert "ranks 1 of 2 runs on mine.jsonl, tied with 1 more (" in leaderboard_headline(board).text
    assert "ranks 1 to 2 are open" in leaderboard_headline(board).text
    alone = leaderboard_headline(leaderboard(runs[:1], corpus=corpus)).text
    assert alone.startswith("openai/a ranks 1 of 1 runs on mine.jsonl (strict 50.0 %")
    assert " open" not in alone


def test_a_run_on_another_corpus_is_refused_by_its_name(corpus):
    runs = [run(corpus, "a", ["PASS"]), run(corpus, "b", ["PASS"], sha256="0" * 64)]
    with pytest.raises(UsageError, match=r"b: answers 'c.jsonl', whose cases are not those of .*mine.jsonl"):
        leaderboard(runs, corpus=corpus)
    other = corpus.with_name("other.jsonl")
    other.write_text(corpus.read_text("utf-8").replace("Label", "Tag", 1).replace("d3", "d33"), encoding="utf-8")
    with pytest.raises(UsageError, match="a: answers"):
        leaderboard(runs[:1], corpus=other)


def test_a_run_with_another_judge_or_prompt_is_not_ranked_and_says_why(corpus):
    first, other = run(corpus, "a", ["PASS"], BOTH[0]), run(corpus, "b", ["PASS"], BOTH[1])
    board = leaderboard([first, other], corpus=corpus)
    assert [entry.rank for entry in board.entries] == [1, None]
    assert "not ranked: judged by openai/k, and the first run by openai/j" in text(board)
    manifest = json.loads((corpus.with_name("b") / "manifest.json").read_text())
    manifest["identity"]["judges"][0] |= {"model": BOTH[0], "prompt": "another"}
    path = run_of(corpus.with_name("c"), [], BOTH[0]).path
    (path / "manifest.json").write_text(json.dumps(manifest))
    from dspy_proact.runs import RunFolder

    prompted = summarize(RunFolder(path))
    assert "its judge has another prompt, or other parameters" in text(leaderboard([first, prompted], corpus=corpus))


def test_stand_ins_are_ranked_among_themselves_with_a_warning_and_never_beside_a_real_model(corpus):
    stand_in = run(corpus, "a", ["PASS"], "embedded", model="embedded")
    board = leaderboard([stand_in], corpus=corpus)
    assert board.entries[0].rank == 1
    assert leaderboard_headline(board).text.startswith("Demonstration with the embedded stand-in, no real model: ")
    played = run(corpus, "b", ["PASS"], model="embedded")
    board = leaderboard([run(corpus, "c", ["FAIL"]), played], corpus=corpus)
    assert [(entry.name, entry.rank) for entry in board.entries] == [("openai/m", 1), ("embedded", None)]


def test_nothing_is_ranked_without_a_run_or_by_a_results_file(corpus):
    with pytest.raises(UsageError, match="`corpus`: name runs on it"):
        leaderboard((), corpus=corpus)
