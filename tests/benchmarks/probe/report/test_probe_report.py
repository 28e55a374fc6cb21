"""PROBE in reports: what is read of a case, failure modes, and runs beside the published rows."""

import asyncio
import csv
import json
import re
from dataclasses import replace
from io import StringIO

import pytest
from probe_task import CORPUS, GOOD, PARAMETERS, Tasks, facet_grades, task, view
from rich.console import Console

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.probe.report.failures import DOUBTS, failures, modes_of, published_failures, published_rows
from dspy_proact.benchmarks.probe.scoring import IdentificationVerdict, ParametersVerdict, graded
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import Solution
from dspy_proact.errors import UsageError
from dspy_proact.report import (
    Reading,
    compare,
    export_csv,
    leaderboard,
    leaderboard_document,
    print_leaderboard,
    summarize,
)
from dspy_proact.runs import RunFolder


class Given:
    """An agent that gives each person's tasks an answer."""

    name = "given"

    def __init__(self, *answers):
        self._answers = list(answers)

    def fingerprint(self):
        return "dd"

    def expected(self, task):
        return []

    async def solve(self, task, asking=None):
        await asyncio.sleep(0)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


WRONG = Solution(
    evidence=("item_c3", "ghost"),
    bottleneck=GOOD.bottleneck,
    action="send_note",
    parameters={"to": "Tom"},
    faults=("parameters",),
)


def run(path, *answers, corpus=CORPUS, **settings):
    """The folder of a run with these answers."""
    from dspy_proact.models import Gate

    agent = Given(*answers) if answers else None
    options = {"settings": ProbeSettings(**settings), "gate": Gate(concurrency=1)}
    Evaluation(corpus, program=agent, **options, benchmark="probe").run(path)
    return path


def grade(answer=GOOD, identified="CORRECT", resolved="CORRECT", missing=(), incorrect=(), oracle="none", **words):
    """A grade by what judges say."""
    settings = ProbeSettings(oracle=oracle)
    facets = facet_grades(**words)
    said = identified and IdentificationVerdict(facets=facets, judgment=identified, reasoning="")
    filled = resolved and ParametersVerdict(
        judgment=resolved,
        would_resolve="no",
        missing=missing,
        incorrect=incorrect,
        semantic_matches=(),
        reasoning="",
    )
    return graded(view(), answer, settings, said or None, filled or None)


def test_a_case_is_read_with_its_world_its_documents_its_actions_and_what_is_right(tmp_path):
    summary = summarize(RunFolder(run(tmp_path / "run", GOOD)))
    world, documents, actions, gold = Reading.of(summary.outcomes[0], "probe").sections
    assert world.items[0] == ("Mira Solberg", "archivist. keeps the town's maps")
    assert documents.items[0] == (
        "item_a1 (email, evidence)",
        "Maps\nsender: mira\ntimestamp: 2025-03-10T09:00:00\nThe maps are waiting.",
    )
    assert [name for name, _ in actions.items] == ["request_key", "send_note"]
    right = dict(gold.items)
    assert (right["who_blocker"], right["where_system"]) == ("Tom Brandt, facilities", "does not apply")
    assert right["to"] == '["Tom Brandt"]'


def test_a_case_of_the_official_files_is_read_without_facets(tmp_path):
    corpus = Tasks((task(facets=None),))
    summary = summarize(RunFolder(run(tmp_path / "run", GOOD, corpus=corpus)))
    *_, gold = Reading.of(summary.outcomes[0], "probe").sections
    assert "who_blocker" not in dict(gold.items)


def test_the_grounds_of_a_grade_say_what_was_found_and_how_it_fails(tmp_path):
    summary = summarize(RunFolder(run(tmp_path / "run", WRONG)))
    (grounds,) = Reading.of(summary.outcomes[0], "probe").grounds
    points = dict(grounds.points)
    assert points["search"] == "precision 0.0, recall 0.0, F1 0.0 %"
    assert (points["missed"], points["of no item"]) == ("item_a1, item_b2", "ghost")
    assert (points["action"], points["required and not given"]) == ("send_note: not request_key", "body")
    assert (points["its word"], points["faults"], points["fails by"]) == ("CORRECT", "parameters", "wrong action")


def test_an_export_has_a_column_a_score(tmp_path):
    summary = summarize(RunFolder(run(tmp_path / "run", GOOD, WRONG)))
    export_csv(summary, tmp_path / "out.csv")
    rows = {row["action"]: row for row in csv.DictReader(StringIO((tmp_path / "out.csv").read_text("utf-8")))}
    good, wrong = rows["request_key"], rows["send_note"]
    assert (good["f1"], good["judgment"], good["right_action"]) == ("1.0", "CORRECT", "request_key")
    assert len(set(header := (tmp_path / "out.csv").read_text("utf-8").splitlines()[0].split(","))) == len(header)
    assert (wrong["missed"], wrong["failure_modes"]) == ("item_a1 item_b2", "wrong_action")


@pytest.mark.parametrize(
    ("told", "modes"),
    [
        ({}, ()),
        (
            {"identified": "INCORRECT", "why_root_cause": "incorrect", "who_blocker": "incorrect"},
            ("root_cause", "person"),
        ),
        ({"identified": "INCORRECT", "why_root_cause": "missing", "who_blocked": "missing"}, ("general",)),
        ({"identified": "PARTIALLY_CORRECT", "when_deadline": "missing"}, ("deadline",)),
        ({"identified": "CORRECT", "when_deadline": "missing"}, ()),  # by the word, as the paper pools
        ({"resolved": "PARTIALLY_CORRECT", "missing": ("to",)}, ("parameters_missing",)),
        (
            {"resolved": "INCORRECT", "missing": ("to",), "incorrect": ("due",)},
            ("parameters_missing", "parameters_wrong"),
        ),
        ({"resolved": "INCORRECT"}, ("parameters_wrong",)),
        ({"identified": "INCORRECT", "who_blocked": "incorrect", "resolved": "INCORRECT"}, ("person",)),
        ({"answer": WRONG, "resolved": None}, ("wrong_action",)),
        ({"answer": GOOD.model_copy(update={"parameters": {}}), "resolved": None}, ("parameters_missing",)),
        ({"answer": Solution(), "identified": None, "resolved": None}, ("nothing",)),
        ({"answer": WRONG, "identified": None, "resolved": None, "oracle": "bottleneck"}, ("wrong_action",)),
    ],
)
def test_modes_of_failure_come_from_facets_ids_and_parameters(told, modes):
    assert modes_of(grade(**told)) == modes


def test_modes_are_counted_among_the_failures_of_their_kind(tmp_path):
    nothing = GOOD.model_copy(update={"bottleneck": ""})
    found = failures(summarize(RunFolder(run(tmp_path / "run", GOOD, WRONG, nothing, GOOD))))
    assert (found.descriptions, found.resolutions) == (1, 1)
    assert (found.share("nothing"), found.share("wrong_action"), found.share("root_cause")) == (1, 1, 0)
    assert [(each.recall, each.verdicts, each.correct) for each in found.by_recall] == [
        ("0", 1, 1),
        ("up to .25", 0, 0),
        ("between", 0, 0),
        ("from .75", 3, 2),
    ]
    assert found.modes["wrong_action"] == 1


def test_without_failures_there_is_no_share(tmp_path):
    found = failures(summarize(RunFolder(run(tmp_path / "run", GOOD))))
    assert found.share("person") is None


def test_the_published_rows_are_those_of_the_tables():
    rows = {row.name: row for row in published_rows()}
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
    assert {note for row in rows.values() for note in row.notes} == set(DOUBTS.values())
    assert published_failures()["GPT-5"]["deadline"] == 0.453


def test_runs_stand_beside_the_published_rows_with_intervals_by_person_and_what_differs(tmp_path):
    folder = run(tmp_path / "run", GOOD, WRONG, GOOD, GOOD)
    document = leaderboard_document(leaderboard([summarize(RunFolder(folder))]))
    own = document["rows"][-1]
    task = own["scores"]["task"]
    assert (own["cases"], own["groups"], task["value"], own["rank"]) == (4, 3, 0.75, None)
    assert task["low"] < 0.75 < task["high"]
    assert document["failures"][str(folder)]["shares"]["wrong_action"] == 1
    told = " ".join(own["differences"])
    assert all(word in told for word in ("stand-in", "sanitized", "our rule", "'made'", "names no judge"))
    json.dumps(document, allow_nan=False)


def test_a_run_made_as_published_differs_by_its_corpus_and_its_judge_only(tmp_path):
    corpus = replace(CORPUS, sanitize=False)
    folder = run(tmp_path / "run", GOOD, corpus=corpus, sanitize=False, upstream_rule=True)
    (own,) = leaderboard([summarize(RunFolder(folder))]).runs
    assert [each.split()[0] for each in own.differences] == ["embedded", "the", "the"]


def test_the_leaderboard_is_printed_with_what_its_rows_contradict(tmp_path):
    text = StringIO()
    blind = run(tmp_path / "blind", baseline="everything")
    board = leaderboard([summarize(RunFolder(each)) for each in (run(tmp_path / "run", GOOD, WRONG), blind)])
    print_leaderboard(board, Console(file=text, width=120), explain=True)
    printed = text.getvalue()
    assert re.search(r"^ *1 GPT-5 +73.0 59.0 65.0 +42.0 +40.0 +49.0 +-$", printed, re.MULTILINE)
    assert "blind (everything) [2]" in printed
    assert "a blind baseline, which only searches" in printed
    assert re.search(r"DeepSeek-R1, .*: identification at or near 0", " ".join(printed.split()))
    assert "49 for GPT-5" in printed
    assert "(3/3)" in printed  # of three wrong resolutions all by the action


def test_runs_on_sanitized_tasks_and_on_tasks_as_they_are_can_be_compared(tmp_path):
    ids = {item.id: f"document_{number}" for number, item in enumerate(CORPUS.held[0].items)}
    raw = tuple(
        each.model_copy(
            update={"items": tuple(item.model_copy(update={"id": ids[item.id]}) for item in each.items[::-1])}
        )
        for each in CORPUS.held
    )
    corpus = replace(CORPUS, held=raw, sanitize=False, sha256="cd" * 32)
    runs = run(tmp_path / "a", GOOD), run(tmp_path / "b", WRONG, corpus=corpus, sanitize=False)
    comparison = compare(*(summarize(RunFolder(each)) for each in runs))
    assert (len(comparison.pairs), comparison.otherwise) == (4, 0)


def test_a_run_twice_is_refused(tmp_path):
    summary = summarize(RunFolder(run(tmp_path / "run", GOOD)))
    with pytest.raises(UsageError, match="given twice"):
        leaderboard([summary, summary])


def test_parameters_of_the_right_action_are_what_a_stand_in_matches(tmp_path):
    half = GOOD.model_copy(update={"parameters": PARAMETERS | {"due": "2026-01-01"}})
    found = failures(summarize(RunFolder(run(tmp_path / "run", half))))
    assert (found.resolutions, found.share("parameters_wrong"), found.share("parameters_missing")) == (4, 1, 0)
