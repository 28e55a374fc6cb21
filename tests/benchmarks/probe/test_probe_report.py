"""PROBE in reports: what is read of a case, failure modes, and runs beside the published rows."""

import json
import re
from dataclasses import replace
from io import StringIO

import pytest
from drivers.terminal import printed
from probe_task import CORPUS, GOOD, PARAMETERS, corpus_of, identified, resolved, scripted_run, view
from rich.console import Console

from dspy_proact import Evaluation, RunFolder
from dspy_proact.benchmarks.probe.benchmark import Probe
from dspy_proact.benchmarks.probe.report import failures, modes_of, published_failures
from dspy_proact.benchmarks.probe.scoring import graded
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import PARTS, Solution
from dspy_proact.errors import UsageError
from dspy_proact.report import (
    Reading,
    compare,
    leaderboard,
    leaderboard_document,
    print_leaderboard,
    summarize,
    summary_document,
)

WRONG = Solution(
    evidence=("item_c3", "ghost"),
    bottleneck=GOOD.bottleneck,
    action="send_note",
    parameters={"to": "Tom"},
    faults=("parameters",),
)


def summary_of(path, *answers, corpus=CORPUS, **settings):
    return scripted_run(path / "run", *answers, corpus=corpus, settings=ProbeSettings(**settings))[0]


def test_a_case_is_read_with_its_world_its_documents_its_actions_and_what_is_right(tmp_path):
    summary = summary_of(tmp_path, GOOD)
    world, documents, actions, evidence, gold = Reading.of(summary.outcomes[0], "probe").sections
    assert world.items[:2] == (("person", "Mira Solberg"), ("occupation", "archivist"))
    email = "kind: email\nsubject: Maps\nsender: mira\ntimestamp: 2025-03-10T09:00:00\nbody: The maps are waiting."
    assert documents.items[0] == evidence.items[0] == ("item_a1", email)
    assert [name for name, _ in evidence.items] == ["item_a1", "item_b2"]
    assert [section.hidden for section in (world, documents, actions, evidence, gold)] == [False] * 3 + [True] * 2
    assert [name for name, _ in actions.items] == ["request_key", "send_note"]
    right = dict(gold.items)
    assert "who blocker: Tom Brandt, facilities\n" in right["facets"]
    assert right["parameters"].splitlines()[0] == "to: Tom Brandt"


def test_the_grounds_of_a_grade_say_what_was_found_and_how_it_fails(tmp_path):
    (grounds,) = Reading.of(summary_of(tmp_path, WRONG).outcomes[0], "probe").grounds
    points = dict(grounds.points)
    assert points["search"] == "precision: 0\nrecall: 0\nf1: 0"
    assert (points["missed"], points["unknown"]) == ("item_a1, item_b2", "ghost")
    assert (points["action"], points["expected action"]) == ("send_note", "request_key")
    assert points["identified"].endswith("judgment: CORRECT")
    assert (points["faults"], points["failure modes"]) == ("parameters", "wrong action")
    assert grounds.reasons.startswith("Every facet is there.")


COMPLETE, SOME, FAIL = resolved(), resolved("PARTIALLY_CORRECT", missing=("to",)), resolved("INCORRECT")


@pytest.mark.parametrize(
    ("description", "parameters", "modes"),
    [
        (identified(), COMPLETE, ()),
        (
            identified("INCORRECT", why_root_cause="incorrect", who_blocker="incorrect"),
            COMPLETE,
            ("root_cause", "person"),
        ),
        (identified("INCORRECT", why_root_cause="missing", who_blocked="missing"), COMPLETE, ("general",)),
        (identified("PARTIALLY_CORRECT", when_deadline="missing"), COMPLETE, ("deadline",)),
        (identified(when_deadline="missing"), COMPLETE, ()),  # by the judgment, as the paper pools
        (identified(), SOME, ("parameters_missing",)),
        (
            identified(),
            resolved("INCORRECT", missing=("to",), incorrect=("due",)),
            ("parameters_missing", "parameters_wrong"),
        ),
        (identified(), FAIL, ("parameters_wrong",)),
        (identified("INCORRECT", who_blocked="incorrect"), FAIL, ("person",)),
    ],
)
def test_modes_of_failure_come_from_facets_and_parameters(description, parameters, modes):
    assert modes_of(graded(view(), GOOD, ProbeSettings(), description, parameters).detail) == modes


@pytest.mark.parametrize(
    ("answer", "oracle", "modes"),
    [
        (WRONG, "none", ("wrong_action",)),
        (GOOD.model_copy(update={"parameters": {}}), "none", ("parameters_missing",)),
        (Solution(), "none", ("nothing",)),
        (WRONG, "bottleneck", ("wrong_action",)),
    ],
)
def test_modes_of_failure_come_from_ids_where_no_judge_was_asked(answer, oracle, modes):
    description = identified() if answer.bottleneck and oracle == "none" else None
    assert modes_of(graded(view(), answer, ProbeSettings(oracle=oracle), description, None).detail) == modes


def test_modes_are_counted_among_the_failures_of_their_kind(tmp_path):
    nothing = GOOD.model_copy(update={"bottleneck": ""})
    result = failures(summary_of(tmp_path, GOOD, WRONG, nothing, GOOD))
    assert (result["descriptions"], result["resolutions"]) == (1, 1)
    # An answer that describes nothing is no failed description of the paper's.
    assert (*(result["shares"][mode] for mode in ("nothing", "wrong_action", "root_cause")),) == (1, 1, None)
    assert result["shares_of_all"]["root_cause"] == 0
    assert [(*item.values(),) for item in result["by_recall"]] == [
        ("0", 1, 1, 1),
        ("up to .25", 0, 0, 0),
        ("between", 0, 0, 0),
        ("from .75", 3, 2, 2),
    ]


def test_modes_of_parameters_are_shares_of_the_failures_with_the_right_action(tmp_path):
    # Of three failed resolutions two have the right action; one of these lacks parameters, the other has a wrong one.
    lacking = GOOD.model_copy(update={"parameters": {}})
    wrong = GOOD.model_copy(update={"parameters": PARAMETERS | {"due": "2026-01-01"}})
    summary = summary_of(tmp_path, WRONG, lacking, wrong, GOOD)
    result = failures(summary)
    assert (result["resolutions"], result["with_right_action"]) == (3, 2)
    shares = {
        mode: (result["shares"][mode], result["shares_of_all"][mode]) for mode in ("wrong_action", "parameters_wrong")
    }
    assert shares == {"wrong_action": (1 / 3, 1 / 3), "parameters_wrong": (1 / 2, 1 / 3)}
    document = summary_document(summary)
    assert document["failures"]["shares"]["parameters_missing"] == 1 / 2
    assert document["failures"]["shares_of_all"]["parameters_missing"] == 1 / 3


def test_scores_of_readable_answers_as_published_stand_beside_those_of_all(tmp_path):
    unread = Solution(faults=PARTS)
    summary = summary_of(tmp_path, GOOD, WRONG, unread, GOOD)
    document = summary_document(summary)
    # Task scores 1, 0 and 1 of the answers that were read; the unreadable one counts 0 among all.
    assert document["readable"]["task"] == {"count": 3, "mean": 2 / 3, "median": 1, "sd": pytest.approx(3**-0.5)}
    assert document["all"]["task"] == {"count": 4, "mean": 0.5, "median": 0.5, "sd": pytest.approx(3**-0.5)}
    # F1 is 1, 0 and 1 of them; identification 1 three times; the search of the wrong one has recall 0.
    assert document["readable"]["identification"] == {"count": 3, "mean": 1, "median": 1, "sd": 0}
    rows = [line.split() for line in printed(summary, width=100).splitlines()]
    assert ["task", "3", "66.7", "100.0", "57.7", "4", "50.0", "50.0", "57.7"] in rows
    # RECALL of the search against identification: two searches find nothing, and one of these descriptions is CORRECT.
    assert ["0", "2", "1", "1"] in rows
    assert ["from", ".75", "2", "2", "2"] in rows


def test_the_published_rows_are_those_of_the_tables():
    rows = {row.name: row for row in Probe().published.rows()}
    best = {name: rows["GPT-5"].scores[name] for name in ("precision", "recall", "f1", "identification", "task")}
    assert [*best.values()] == [0.73, 0.59, 0.65, 0.42, 0.40]
    assert rows["GPT-5"].scores["overall"] == pytest.approx(0.49016)
    assert [row.kind for row in rows.values()] == ["model"] * 9 + ["agent"] * 3 + ["person"] * 4
    for scores in (row.scores for row in rows.values() if row.scores["precision"] is not None):
        harmonic = 2 * scores["precision"] * scores["recall"] / (scores["precision"] + scores["recall"])
        assert scores["f1"] <= harmonic + 0.005
    people = [row for row in rows.values() if row.kind == "person"][:3]
    average = rows["average"].scores["f1"]
    assert sum(row.cases * row.scores["f1"] for row in people) / 26 == pytest.approx(average, abs=5e-4)
    assert sum(row.scores["f1"] for row in people) / 3 == pytest.approx(0.3080, abs=5e-5)
    assert len({note for row in rows.values() for note in row.notes}) == 5
    assert published_failures()["GPT-5"]["deadline"] == 0.453


def test_runs_stand_beside_the_published_rows_with_intervals_by_person_and_what_differs(tmp_path):
    summary = summary_of(tmp_path, GOOD, WRONG, GOOD, GOOD)
    document = leaderboard_document(leaderboard([summary]))
    own = document["rows"][-1]
    task_score = own["scores"]["task"]
    assert (own["cases"], own["groups"], task_score["value"], own["rank"]) == (4, 3, 0.75, None)
    assert task_score["low"] < 0.75 < task_score["high"]
    assert document["failures"][summary.path]["shares"]["wrong_action"] == 1
    differences = " ".join(own["differences"])
    assert all(word in differences for word in ("stand-in", "sanitized", "our rule", "'made'", "names no judge"))
    json.dumps(document, allow_nan=False)
    with pytest.raises(UsageError, match="given twice"):
        leaderboard([summary, summary])
    published = summary_of(tmp_path / "as published", GOOD, sanitize=False, upstream_rule=True)
    (own,) = leaderboard([published]).runs
    assert [difference.split()[0] for difference in own.differences] == ["embedded", "the", "the"]


def test_the_leaderboard_is_printed_with_what_its_rows_contradict(tmp_path):
    text = StringIO()
    Evaluation(CORPUS, settings=ProbeSettings(baseline="everything"), benchmark="probe").run(tmp_path / "blind")
    board = leaderboard([summary_of(tmp_path, GOOD, WRONG), summarize(RunFolder(tmp_path / "blind"))])
    print_leaderboard(board, Console(file=text, width=120), explain=True)
    shown = text.getvalue()
    assert re.search(r"^ *1 GPT-5 +40.0 +73.0 59.0 65.0 +42.0 +49.0 +-$", shown, re.MULTILINE)
    assert re.search(r"DeepSeek-R1, .*: identification at or near 0", " ".join(shown.split()))
    expected = ("blind (everything) [2]", "a blind baseline, which only searches", "49 for GPT-5")
    assert all(part in shown for part in expected)
    assert "(3/3)" in shown  # of three wrong resolutions all by the action


def test_runs_on_sanitized_tasks_and_on_tasks_as_they_are_can_be_compared(tmp_path):
    def renamed(case):
        items = (item.model_copy(update={"id": f"document_{number}"}) for number, item in enumerate(case.view.items))
        return replace(case, view=case.view.model_copy(update={"items": tuple(items)[::-1]}))

    raw = corpus_of(*map(renamed, CORPUS.cases))
    other = summary_of(tmp_path / "other", WRONG, corpus=raw, sanitize=False)
    comparison = compare(summary_of(tmp_path, GOOD), other)
    assert (len(comparison.pairs), comparison.rephrased) == (4, 0)
