"""What can be known of a results file without a call: its scores, and what is wrong with it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from results_rows import DIALOGUE, result_point, result_record, result_row, result_triggers, stats
from rich.console import Console
from rich.text import Text
from rows import PHASES, jsonl, row

from dspy_proact.benchmarks.proactbench.corpus.dialogues import Corpus, read_jsonl
from dspy_proact.benchmarks.proactbench.corpus.results import Results, ResultTrigger, read_results, write_results
from dspy_proact.benchmarks.proactbench.report.results import (
    Check,
    check_document,
    check_lines,
    check_results,
    summarize_results,
)
from dspy_proact.report import cell, print_summary, summary_document

HOSTILE = ["[red]x[/red]", "[/red]", "[link=http://x]y[/link]", "\x1b[31m", "\x1b]0;title\x07", "\u202eoof", ":smile:"]
OBEYED = ("\x1b", "\x07", "\u202e")
"""What a terminal would obey."""


def read(folder: Path, *rows: dict[str, Any]) -> Results:
    """The results file of these rows; one official row unless any is given."""
    (folder / "results.jsonl").write_text(jsonl(*(rows or [result_row()])), encoding="utf-8")
    return read_results(folder / "results.jsonl")


def checked(folder: Path, *rows: dict[str, Any], of: Corpus | None = None) -> Check:
    return check_results(read(folder, *rows), of)


def corpus(folder: Path, *rows: dict[str, Any]) -> Corpus:
    (folder / "corpus.jsonl").write_text(jsonl(*rows), encoding="utf-8")
    return read_jsonl(folder / "corpus.jsonl")


def one(label: str = "PASS", evidence: Any = "the last boat leaves at four", **changes: Any) -> dict[str, Any]:
    """A row with one trigger, at turn 2; changes of its verdict, and `response` of its record."""
    record = {"assistant_response": changes.pop("response")} if "response" in changes else {}
    point = result_point(2, score=label, evidence=evidence, **changes)
    return result_row(trigger_points=[point], turn_records=[result_record(2, **record)])


def shown(folder: Path, *rows: dict[str, Any], width: int = 80) -> str:
    """Everything that `report` prints of a file."""
    results = read(folder, *rows)
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system="truecolor")
    print_summary(summarize_results(results), console, explain=True)
    for line in check_lines(check_results(results)):
        console.print(cell(line))
    return file.getvalue()


# Scores.


def test_scores_are_of_the_labels_and_the_unscored_stay_in_the_denominator(tmp_path):
    points = [
        result_point(1, "EMERGENT", score="PASS"),
        result_point(2, "EMERGENT", score="PARTIAL"),
        result_point(3, "CRITICAL", score="FAIL"),
        result_point(4, "CRITICAL", None),
        result_point(5, "RECOVERY", score="MAYBE"),
    ]
    read_in = read(tmp_path, result_row(trigger_points=points, turn_records=[*map(result_record, range(1, 6))]))
    report = summary_document(summarize_results(read_in))
    assert report["triggers"] == {
        "total": 5,
        "scored": 3,
        "unscored": 2,
        "pending": 0,
        "unscored_reasons": {"no_verdict": 1, "stray_label": 1},
    }
    emergent, critical, recovery = (report["phases"][phase] for phase in PHASES)
    assert (emergent["weighted"]["value"], emergent["strict_weighted"]["value"]) == (0.75, 0.75)  # (1 + 0.5) / 2
    assert (critical["weighted"]["value"], critical["total"], critical["unscored"]) == (0.0, 2, 1)
    assert (recovery["weighted"]["value"], recovery["weighted"]["reason"]) == (None, "no scores")
    micro = report["overall"]["micro"]
    assert (micro["weighted"]["value"], micro["strict_weighted"]["value"]) == (0.5, 0.3)  # 1.5 / 3 and 1.5 / 5
    assert micro["pass_rate"]["value"] == pytest.approx(1 / 3)
    assert report["overall"]["macro"]["weighted"]["value"] is None
    assert (report["run"]["model"], report["run"]["embedded"], report["scenarios"]) == ("vendor/model-1", False, 1)
    assert report["complete"] is True


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"response": None, "result": None}, "no_response"),
        ({"response": " ", "result": None}, "empty_response"),
        ({"response": "Yes.", "result": None}, "no_verdict"),
        ({"status": "SKIPPED"}, "not_evaluated"),
        ({"status": None, "label": "PASS"}, "not_evaluated"),
        ({"label": "EXCELLENT"}, "stray_label"),
        ({"label": ""}, "stray_label"),
    ],
)
def test_a_trigger_without_a_grade_says_why(tmp_path, changes, reason):
    summary = summarize_results(read(tmp_path, one(**changes)))
    assert (summary.count("unscored"), summary.unscored_reasons) == (1, {reason: 1})


@pytest.mark.parametrize("label", ["Pass", "pass", " PASS "])
def test_a_label_in_another_case_has_its_grade_and_is_named_as_stray(tmp_path, label):
    results = read(tmp_path, one(label))
    assert summarize_results(results).count("scored") == 1
    assert check_results(results).stray == {f"EVALUATED/{label}": 1}


def test_evidence_is_looked_up_in_the_response(tmp_path):
    row_of = one("PASS", "the LAST boat", response="Mind: the last\nboat leaves at four.")
    summary = summarize_results(read(tmp_path, row_of))
    assert (summary.evidence.checked, summary.evidence.verified) == (1, 1)


def test_groups_of_a_breakdown_are_those_of_the_file(tmp_path):
    rows = [result_row(), result_row(uuid="f" * 32, scenario_id="ARTS_01", category_key="arts_persona")]
    report = summary_document(summarize_results(read(tmp_path, *rows)), by=["life_domain"])
    assert {name: group["total"] for name, group in report["breakdowns"]["life_domain"].items()} == {
        "arts": 3,
        "travel": 3,
    }


# Dropped triggers.


def published(emergent: int, critical: int, recovery: int) -> list[dict[str, Any]]:
    """198 rows whose triggers are so many a phase, the n-th trigger of a phase in the n-th row."""
    totals = {"EMERGENT": emergent, "CRITICAL": critical, "RECOVERY": recovery}
    turns = [(phase, again) for again in (0, 1) for phase in PHASES]
    return [
        result_row(
            uuid=f"{number:032x}",
            trigger_points=[
                result_point(turn, phase)
                for turn, (phase, again) in enumerate(turns, start=1)
                if number + 198 * again < totals[phase]
            ],
            turn_records=[],
        )
        for number in range(198)
    ]


def test_in_a_file_with_all_published_dialogues_dropped_triggers_show_by_phase(tmp_path):
    # Of 201, 232 and 191: the counts of qwen3.5-9b, which lost 21, 47 and 35.
    check = checked(tmp_path, *published(180, 185, 156))
    assert check.dropped == {"EMERGENT": 21, "CRITICAL": 47, "RECOVERY": 35}
    assert check_document(check)["dropped"]["total"] == 103
    assert "taken for the published corpus" in check.against


def test_a_whole_published_file_has_dropped_nothing(tmp_path):
    check = checked(tmp_path, *published(201, 232, 191))
    assert check_lines(check)[0].startswith("dropped triggers: 0, taken for the published corpus, which has 624")


def test_more_triggers_of_a_phase_than_were_published_hide_no_other_that_is_dropped(tmp_path):
    assert sum(checked(tmp_path, *published(301, 232, 100)).dropped.values()) == 91  # 0 + 0 + (191 - 100)


def test_without_its_corpus_it_is_unknown_what_another_file_has_dropped(tmp_path):
    check = checked(tmp_path, *published(201, 232, 191)[:197])
    assert check.dropped is None
    assert "--corpus" in check.against
    said = check_document(check)["dropped"]
    assert (said["total"], said["by_phase"], bool(said["reason"])) == (None, None, True)


def test_with_its_corpus_what_was_dropped_is_exact(tmp_path):
    """Of two dialogues the file has one, and of that two of its three triggers."""
    of = corpus(tmp_path, row(), row(unique_id_eval="second"))
    kept = result_row(trigger_points=[result_point(2), result_point(3, "CRITICAL")])
    check = checked(tmp_path, kept, of=of)
    assert check.dropped == {"EMERGENT": 1, "CRITICAL": 1, "RECOVERY": 2}
    assert check.against == f"against the corpus {str(tmp_path / 'corpus.jsonl')!r}"


def test_a_trigger_without_a_response_is_not_dropped_but_missing(tmp_path):
    check = checked(tmp_path, result_row(turn_records=[]), of=corpus(tmp_path, row()))
    assert sum(check.dropped.values()) == 0
    assert check.faults["missing_responses"] == [f"{DIALOGUE}__t{turn}" for turn in (2, 3, 5)]


# Labels, counts, evidence, responses.


def test_stray_labels_are_counted_with_their_status_the_commonest_first(tmp_path):
    points = [
        result_point(1, score="Pass"),
        result_point(2, status="Evaluated"),
        result_point(3, score="Pass"),
        result_point(4, status="SKIPPED", score=None),
        result_point(5, result=None),
    ]
    check = checked(tmp_path, result_row(trigger_points=points, turn_records=[]))
    assert list(check.stray.items()) == [("EVALUATED/Pass", 2), ("Evaluated/PASS", 1)]


def test_counts_stated_are_held_against_those_of_the_labels(tmp_path):
    """The official evaluator counts a label as it stands, so that `Pass` is a new label and `Evaluated` is SKIPPED."""
    points = [
        result_point(1, score="PASS"),
        result_point(2, score="Pass"),
        result_point(3, status="Evaluated"),
        result_point(4, "RECOVERY", None),
    ]
    stated = {"EMERGENT": stats("PASS", "PASS", "PASS"), "RECOVERY": stats("FAIL")}
    check = checked(tmp_path, result_row(trigger_points=points, turn_records=[], trigger_stats=stated))
    assert check.counted == {"EMERGENT": {"PASS": 1, "Pass": 1, "SKIPPED": 1}, "RECOVERY": {"SKIPPED": 1}}
    assert check.results.stated["EMERGENT"]["PASS"] == 3
    assert check.misstated
    assert check_lines(check)[8] == (
        "counts stated in the rows: EMERGENT PASS 3, RECOVERY FAIL 1; "
        "by their own labels: EMERGENT PASS 1/Pass 1/SKIPPED 1, RECOVERY SKIPPED 1."
    )


def test_counts_that_the_official_evaluator_makes_are_no_fault(tmp_path):
    points = [result_point(1, score="PASS"), result_point(2, score="Pass"), result_point(3, result=None)]
    stated = {"EMERGENT": {"PASS": 1, "PARTIAL": 0, "FAIL": 0, "SKIPPED": 1, "Pass": 1}}
    check = checked(tmp_path, result_row(trigger_points=points, turn_records=[], trigger_stats=stated))
    assert not check.misstated
    assert check_lines(check)[8] == "counts stated in the rows agree with their labels."


def test_a_stray_label_is_in_our_scores_and_not_in_the_stated_count(tmp_path):
    points = [result_point(1, score="PASS"), result_point(2, score="Pass"), result_point(3, score="FAIL")]
    stated = {"EMERGENT": {"PASS": 1, "PARTIAL": 0, "FAIL": 1, "SKIPPED": 0, "Pass": 1}}
    results = read(tmp_path, result_row(trigger_points=points, trigger_stats=stated))
    assert check_document(check_results(results))["counts_stated"]["EMERGENT"]["PASS"] == 1
    emergent = summary_document(summarize_results(results))["phases"]["EMERGENT"]
    assert (emergent["pass"], emergent["weighted"]["value"]) == (2, pytest.approx(2 / 3))


def test_stated_counts_are_summed_over_the_rows(tmp_path):
    rows = [result_row(), result_row(uuid="f" * 32)]
    assert read(tmp_path, *rows).stated["EMERGENT"] == {"PASS": 2, "PARTIAL": 0, "FAIL": 0, "SKIPPED": 0}


@pytest.mark.parametrize(
    ("label", "evidence", "response", "faults"),
    [
        ("PASS", "the last boat", "The last boat leaves.", ([], [])),
        ("PARTIAL", "the last boat", "“The last — boat” leaves.", ([], [])),
        ("PASS", "the first boat", "The last boat leaves.", ([f"{DIALOGUE}__t2"], [])),
        ("PARTIAL", "the first boat", "The last boat leaves.", ([f"{DIALOGUE}__t2"], [])),
        ("PASS", '["the first boat", "the last boat"]', "The last boat leaves.", ([], [])),  # one of them stands there
        ("PASS", "the last", "The last boat leaves.", ([f"{DIALOGUE}__t2"], [])),  # too short to count as evidence
        ("PASS", "", "The last boat leaves.", ([], [f"{DIALOGUE}__t2"])),
        ("PASS", None, "The last boat leaves.", ([], [f"{DIALOGUE}__t2"])),
        ("PASS", "the last boat", None, ([f"{DIALOGUE}__t2"], [])),
        ("FAIL", "the first boat", "The last boat leaves.", ([], [])),  # a FAIL need not quote
        ("FAIL", "", "The last boat leaves.", ([], [])),
        ("MAYBE", "the first boat", "The last boat leaves.", ([], [])),  # no grade, nothing to verify
    ],
)
def test_credit_needs_evidence_that_stands_in_the_response(tmp_path, label, evidence, response, faults):
    check = checked(tmp_path, one(label, evidence, response=response))
    assert (check.faults["evidence_not_in_response"], check.faults["no_evidence"]) == faults


@pytest.mark.parametrize("response", ["", " ", "\n\t\u3000"])
def test_a_blank_response_is_empty_even_where_it_was_judged(tmp_path, response):
    faults = checked(tmp_path, one(response=response)).faults
    assert {name for name, keys in faults.items() if keys} == {"empty_responses", "evidence_not_in_response"}


LONG = "The last boat leaves at four in the afternoon"


@pytest.mark.parametrize(
    ("response", "cut"),
    [
        (f"{LONG} and then you", True),
        (f"# Boats\n\n{LONG} and then you  \n", True),
        (f"{LONG}.", False),
        (f"{LONG}!", False),
        (f"{LONG}:)", False),
        (f"{LONG} 4711", False),
        (f"{LONG}.\n\nYours\nAnn", False),  # a signature
        (f"Boats:\n- {LONG}", False),  # an item of a list
        (f"Boats:\n12. {LONG}", False),
        (f"Boats:\n> {LONG}", False),
        (f"| Boats |\n| {LONG}", False),
        ("Four", False),
        (f"{LONG[:-2]}あ", True),  # letters are letters in every script
    ],
)
def test_a_response_that_ends_within_a_sentence_may_have_been_cut(tmp_path, response, cut):
    faults = checked(tmp_path, one("FAIL", "", response=response)).faults
    assert bool(faults["responses_that_end_within_a_sentence"]) is cut


def test_a_response_without_a_trigger_is_named(tmp_path):
    check = checked(tmp_path, result_row(trigger_points=[result_point(2)]))
    assert check.faults["responses_without_a_trigger"] == [f"{DIALOGUE}__t3", f"{DIALOGUE}__t5"]


def test_fields_that_the_format_does_not_know_are_counted(tmp_path):
    assert check_document(checked(tmp_path, result_row(novelty=1)))["ignored_fields"] == {"novelty": 1}


def test_a_file_without_a_fault_says_so_of_each_kind(tmp_path):
    lines = check_lines(checked(tmp_path, of=corpus(tmp_path, row())))
    assert lines[0].startswith("dropped triggers: 0, against the corpus")
    assert [line for line in lines if line.endswith(": 0.")] == lines[1:8]
    assert lines[8:] == [
        "counts stated in the rows agree with their labels.",
        "weighted score by the stated counts: EMERGENT 100.0, CRITICAL 50.0, RECOVERY 0.0; "
        "recomputed: EMERGENT 100.0, CRITICAL 50.0, RECOVERY 0.0.",
    ]


def test_each_fault_names_its_first_trigger_and_how_many_more_there_are(tmp_path):
    points = [result_point(turn, evidence="the first boat") for turn in (2, 3, 5)]
    lines = check_lines(checked(tmp_path, result_row(trigger_points=points)))
    said = f"PASS or PARTIAL whose evidence is too short or not in the response: 3 ({DIALOGUE}__t2 and 2 more)."
    assert said in lines


# Safe to read, whatever is in it.


@settings(max_examples=40)
@given(triggers=result_triggers())
def test_every_file_has_a_report_without_a_nan(tmp_path_factory, triggers: list[ResultTrigger]):
    path = tmp_path_factory.mktemp("results") / "results.jsonl"
    write_results(path, "vendor/model-1", triggers)
    results = read_results(path)
    summary, check = summarize_results(results), check_results(results)
    text = json.dumps(summary_document(summary, by=["life_domain", "turn"]) | check_document(check), allow_nan=False)
    assert json.loads(text)["triggers"]["total"] == len(triggers)
    assert summary.count("scored") == sum(trigger.grade is not None for trigger in triggers)
    assert not check.misstated  # what we write states what it says
    assert not check.stray
    print_summary(summary, Console(file=io.StringIO()), by=["life_domain"])


@pytest.mark.parametrize("text", HOSTILE)
def test_no_terminal_obeys_what_stands_in_a_file(tmp_path, text):
    """Free text of the format: labels, status, phases of stated counts, quotes, responses."""
    point = result_point(2, score=text, status=text, rationale=text, evidence=text)
    stated = {text: {text: 2}}
    record = result_record(2, assistant_response=text, user_message=text)
    out = shown(tmp_path, result_row(trigger_points=[point], turn_records=[record], trigger_stats=stated))
    plain = shown(tmp_path, one("MAYBE"))
    assert out.count("\x1b") == plain.count("\x1b")  # the table's own styles and no more
    assert not any(sign in out for sign in OBEYED[1:])
    assert "☺" not in out
    if text.isprintable():
        assert text in out


def test_marks_of_a_library_in_a_models_name_are_shown_as_they_are(tmp_path):
    assert "[red]m[/red]" in shown(tmp_path, result_row(evaluated_model="[red]m[/red]"))


@pytest.mark.parametrize("width", [80, 100])
def test_a_report_with_long_names_fits_the_terminal(tmp_path, width):
    long = "vendor/" + "very-" * 30 + "long"
    out = shown(tmp_path, result_row(evaluated_model=long, blueprint_id="B" * 200), width=width)
    assert max(map(len, Text.from_ansi(out).plain.splitlines())) <= width
