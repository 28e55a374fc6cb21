"""Rows of others stand below the line, as their source states them, and are never ranked."""

import json
from io import StringIO

import pytest
from builders.benchmarks import Contest
from builders.runs import manifest, outcome, summary
from rich.console import Console

from dspy_proact import PublishedRow
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.published import Counts, Published
from dspy_proact.report import leaderboard, leaderboard_document, print_leaderboard
from dspy_proact.report.page import leaderboard_page
from dspy_proact.runs import Measure, Nouns

MEASURES = (
    Measure(name="f1", title="F1", statistic="f1", parts=("a", "b")),
    Measure(name="kappa", title="kappa", statistic="kappa", parts=("a", "b")),
    Measure(name="offers", title="offers", parts=("c",), least=0),
)
ROW = {
    "model": "acme/nova",
    "scores": {"score": 0.8},
    "scored": 50,
    "total": 100,
    "judge": "openai/j",
    "source": "https://acme.example/nova",
    "date": "2026-11-01",
}


def declared(headline="score", columns=(), **scores):
    """A benchmark with one published row: .4 over 100 of 125, which is .32 over all, where no other is given."""
    counts = {} if scores else {"all": Counts(125, (40, 0, 60))}
    columns = columns or ({} if scores else {"score": "score", "all": "all"})
    row = PublishedRow("old", scores or {"score": 0.4}, counts=counts)
    published = Published(lambda: (row,), lambda _: (), headline, dict(columns))
    fields = {
        "strata": ("all",),
        "nouns": Nouns(),
        "measures": MEASURES,
        "labels": ("A", "B", "C"),
        "published": published,
    }
    return type("Scale", (Contest,), {"name": "scale", **fields})()


MEASURED = declared("f1", f1=0.4, kappa=0.1, offers=0.2)


@pytest.fixture
def board(tmp_path):
    def make(*rows, benchmark=None, runs=(), **options):
        file = tmp_path / "rows.json"
        file.write_text(json.dumps({"benchmark": "scale", "rows": [{**ROW, **row} for row in rows]}))
        return leaderboard(runs, benchmark or declared(), added=file, **options)

    return make


def printed(board):
    file = StringIO()
    print_leaderboard(board, Console(width=120, file=file))
    return file.getvalue()


def test_a_better_row_of_others_stands_below_without_a_rank_and_moves_none(board):
    # .8 over 50 of 100 is .4 over all; the other row's .9 over all 100 is .9.
    made = board({}, {"model": "acme/omni", "scores": {"score": 0.9}, "scored": 100})
    assert [(entry.name, entry.rank, entry.rank_range, entry.kind) for entry in made.entries] == [
        ("old", 1, (1, 1), "model"),
        ("acme/omni", None, None, "unverified"),
        ("acme/nova", None, None, "unverified"),
    ]
    assert [entry.scores["strict"].value for entry in made.entries] == pytest.approx([0.32, 0.9, 0.4])
    assert (made.runs, [entry.published for entry in made.entries]) == ((), [True, False, False])
    assert leaderboard_document(made)["headline"] == leaderboard_document(leaderboard((), declared()))["headline"]


def test_a_row_says_what_it_is_from_in_every_form(board):
    made = board({}, {"model": "acme/omni", "judge": None})
    text, page = printed(made), leaderboard_page(made)
    line = "unverified: 50 of 100 cases scored, judged by openai/j; https://acme.example/nova, 2026-11-01"
    assert line in page
    assert f"acme/nova, {line}" in text
    assert "acme/omni, unverified: 50 of 100 cases scored, without a judge;" in text
    assert page.count("nova</bdi> (unverified)") == 1
    assert "nova (unverified)" in text
    assert "nothing about it was checked here, and it is not ranked" in text
    first, *_, last = leaderboard_document(made)["rows"]
    assert first["origin"] is None
    assert last["origin"] == {"judge": None, "source": "https://acme.example/nova", "date": "2026-11-01"}
    assert (last["published"], last["rank"], last["scored"], last["cases"]) == (False, None, 50, 100)
    assert last["scores"]["score"] == {
        "value": 0.8,
        "low": None,
        "high": None,
        "reason": "unverified, without an interval",
    }


def test_runs_that_are_not_ranked_stand_above_rows_of_others(board):
    cases = [outcome(f"c{number}", "PASS", group=f"g{number}", stratum="all") for number in range(3)]
    run = summary(*cases, manifest=manifest(), benchmark="scale", strata=("all",), labels=("A", "B", "C"), path="run")
    made = board({}, runs=[run])
    assert [entry.kind for entry in made.entries] == ["model", "run", "unverified"]
    assert len(made.runs) == 1
    assert "1 published row" in leaderboard_document(made)["headline"]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"score": 0.8}, (0.4, 0.8)),  # of 50 of 100
        ({"strict": 0.4}, (0.4, 0.8)),
        ({"score": 0.8, "strict": 0.4009}, (0.4009, 0.8)),  # rounded to a tenth of a percent
        ({"score": 0.8, "all": 0.7}, (0.4, 0.8)),
    ],
)
def test_the_strict_score_follows_from_the_other_and_from_how_many_were_scored(board, scores, expected):
    (_, row) = board({"scores": scores}).entries
    assert (row.scores["strict"].value, row.scores["score"].value) == pytest.approx(expected)


def test_where_a_statistic_ranks_it_is_the_strict_one_too_and_of_a_mean_of_strata_it_is_not_known(board):
    (_, row) = board({"scores": {"f1": 0.5}}, benchmark=declared("f1", f1=0.4)).entries
    assert {name: score.value for name, score in row.scores.items()} == {"f1": 0.5}
    (_, row) = board({"scores": {"f1": 0.5, "kappa": -0.5, "offers": 3}}, benchmark=MEASURED).entries
    assert {name: score.value for name, score in row.scores.items()} == {"f1": 0.5, "kappa": -0.5, "offers": 3.0}
    with pytest.raises(CorpusError, match=r"from -1 to 1, not -1\.5"):
        board({"scores": {"f1": 0.5, "kappa": -1.5}}, benchmark=MEASURED)
    (_, row) = board({"scores": {"macro": 0.5}}, benchmark=declared("macro", macro=0.4)).entries
    assert {name: score.value for name, score in row.scores.items()} == {"macro": 0.5, "strict": None}


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        ({"scores": {"score": 80}}, "scores.score", "from 0 to 1, not 80; is it a percentage?"),
        ({"scores": {"score": -0.1}}, "scores.score", "from 0 to 1"),
        ({"scores": {"score": 0.8, "strict": 0.8}}, "scores.strict", "is 0.400 over all, not 0.8"),
        ({"scores": {"score": 0.8, "strict": 0.4011}}, "scores.strict", "is 0.400 over all"),
        ({"scores": {"scroe": 0.8}}, "scores.scroe", "did you mean score?"),
        ({"scores": {"all": 0.8}}, "scores", "neither score nor strict"),
        ({"scores": {}}, "scores", "should not be empty"),
        ({"scores": {"score": "0.8"}}, "scores.score", "valid number"),
        ({"scored": 101}, "scored", "of only 100"),
        ({"scored": 0}, "scored", "greater than or equal to 1"),
        ({"scores": {"strict": 0.502}}, "scores.strict", "is at most 0.500, since 50 of 100 have a score"),
        ({"model": "a" * 201}, "model", "at most 200 characters"),
        ({"scored": 50.5}, "scored", "valid integer"),
        ({"total": 0}, "total", "greater than or equal to 1"),
        ({"judge": ""}, "judge", "blank"),
        ({"model": "a\x1b[2J"}, "model", "control characters"),
        ({"source": "acme.example"}, "source", "no URL"),
        ({"source": "https://u:p@acme.example"}, "source", "no URL"),
        ({"source": "javascript:alert(1)"}, "source", "no URL"),
        ({"source": "https://acme.example/" + "a" * 200}, "source", "no URL"),
        ({"date": "2026-13-01"}, "date", "no day"),
        ({"date": "20261101"}, "date", "no day"),
        ({"rank": 1}, "rank", "no field of ours"),
    ],
)
def test_a_row_that_cannot_be_right_is_refused_by_its_field(board, change, field, problem):
    with pytest.raises(CorpusError) as raised:
        board({"model": "acme/omni"}, change)
    assert raised.value.field == f"rows[1].{field}"
    assert problem in raised.value.problem
    assert raised.value.source.endswith("rows.json")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"benchmark": "other", "rows": [{}]}', "the leaderboard is of 'scale'"),
        ('{"benchmark": "scale", "rows": []}', "should not be empty"),
        ('{"rows": [{}]}', "missing"),
        ("[]", "an object is expected"),
        ('{"benchmark": "scale", "rows": [{"scores": {"score": NaN}}]}', "NaN is not JSON"),
        ("{", "not JSON"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, text, problem):
    (tmp_path / "rows.json").write_text(text)
    with pytest.raises(CorpusError, match=problem):
        leaderboard((), declared(), added=tmp_path / "rows.json")


def test_a_row_that_stands_there_twice_and_rows_for_a_corpus_of_ones_own_are_refused(board):
    with pytest.raises(CorpusError, match=r"rows\[1\].model.*twice"):
        board({}, {})
    with pytest.raises(UsageError, match="mutually exclusive"):
        board({}, corpus="mine")


def test_hostile_names_reach_neither_a_terminal_nor_a_page_as_they_are(board):
    made = board({"model": "<script>x</script>", "judge": "<img src=x>[bold]"})
    assert "<script>x" not in leaderboard_page(made)
    assert "<img src=x>" not in leaderboard_page(made)
    assert "<img src=x>[bold]" in printed(made)
