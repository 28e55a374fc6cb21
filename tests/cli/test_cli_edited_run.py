"""A run whose files somebody changed: every command that reads it says so in a sentence, and grades nothing."""

import json

import pytest
from proact_run import PHASES, answered, graded, manifest, run_of, trigger, written

from dspy_proact.runs import RunWriter

READERS = {
    "report": ("report", "run"),
    "compare": ("compare", "whole", "run"),
    "rejudge": ("rejudge", "run", "--judge", "embedded"),
    "export": ("export", "run", "--format", "csv"),
    "export official": ("export", "run", "--format", "proactbench"),
    "label": ("label", "sheet", "run"),
    "leaderboard": ("leaderboard", "run"),
}
EACH = pytest.mark.parametrize("command", READERS.values(), ids=READERS)


def edited(folder, change, name="cases.jsonl", marked=True):
    """Change the second line of a file; without marks it is a run of before there were any."""
    lines = [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
    change(lines[1])
    for line in lines:
        if not marked:
            line.pop("mark", None)
    (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def run(tmp_path):
    """Two alike runs of a trigger a phase, one of them to be changed."""
    cases = [trigger(f"d{number}", phase, scenario=f"S{number}") for number, phase in enumerate(PHASES)]
    for name in ("whole", "run"):
        run_of(tmp_path / name, [(case, "PASS") for case in cases])
    return tmp_path / "run"


def harder(case):
    case["view"]["rubric"]["pass_criteria"] = "Impossible."


def moved(case):
    case["group"] = "another"


def strange(case):
    case["stratum"] = "WHAT"


@EACH
@pytest.mark.parametrize("change", [harder, moved, strange])
def test_a_changed_case_is_refused_by_its_line(proact, run, command, change):
    edited(run, change)
    status, out, err = proact(*command)
    assert (status, out) == (2, "")
    assert "cases.jsonl, line 2: was changed after the run wrote it" in err


@EACH
def test_a_phase_that_the_run_does_not_know_is_a_sentence_where_lines_have_no_marks(proact, run, command):
    edited(run, strange, marked=False)
    status, out, err = proact(*command)
    assert (status, out) == (2, "")
    assert "cases.jsonl, line 2: the phase 'WHAT' is none of the run's: EMERGENT, CRITICAL, RECOVERY" in err


@EACH
def test_a_case_that_was_taken_out_is_missed(proact, run, command):
    lines = (run / "cases.jsonl").read_bytes().splitlines(keepends=True)
    (run / "cases.jsonl").write_bytes(lines[0] + lines[2])
    status, out, err = proact(*command)
    assert (status, out) == (2, "")
    assert "cases.jsonl: 1 of the cases that were answered are not in it, such as 'd1__t2'; the command that" in err


@pytest.mark.parametrize("command", [each for name, each in READERS.items() if name != "rejudge"])
def test_a_grade_that_the_run_does_not_know_is_a_sentence(proact, run, command):
    case = trigger("d0")
    with RunWriter(run, manifest()) as writer:
        event = graded(case)
        writer.record(event.model_copy(update={"grade": event.grade.model_copy(update={"label": "SUPERB"})}))
    status, out, err = proact(*command)
    assert (status, out) == (2, "")
    assert "run: a verdict on 'd0__t2' has the label 'SUPERB', which is none of it" in err


@pytest.mark.parametrize("command", [each for name, each in READERS.items() if name != "rejudge"])
@pytest.mark.parametrize("damage", [{}, {"reasoning": 1}, {"evidence": "none"}], ids=repr)
def test_a_verdict_of_another_form_is_a_sentence(proact, run, command, damage):
    def damaged(event):
        event["grade"]["detail"] = damage and event["grade"]["detail"] | damage

    edited(run, damaged, "events.jsonl", marked=False)
    status, out, err = proact(*command)
    assert (status, out) == (2, "")
    assert "run: a verdict on 'd0__t2' is damaged: field '" in err


@pytest.mark.parametrize("tokens", [-1, 10**30])
def test_a_count_of_tokens_that_no_call_has_is_named_by_its_line(proact, run, tokens):
    spent = {"role": "assistant", "started": 1.0, "latency": 0.1, "prompt_tokens": tokens}
    edited(run, lambda event: event.update(calls=[spent]), "events.jsonl", marked=False)
    status, out, err = proact("report", "run")
    assert (status, out) == (2, "")
    assert "events.jsonl, line 2: field 'calls.0.prompt_tokens'" in err


def test_a_view_that_nobody_can_read_is_a_sentence_where_lines_have_no_marks(proact, run):
    edited(run, lambda case: case["view"].pop("rubric"), marked=False)
    status, out, err = proact(*READERS["rejudge"])
    assert (status, out) == (2, "")
    assert "run: the case 'd1__t2' is damaged at 'view.rubric'" in err


@EACH
def test_a_run_of_before_there_were_marks_is_read_as_it_was(proact, run, command):
    edited(run, lambda case: None, marked=False)
    assert proact(*command)[0] == 0


def test_a_run_that_was_limited_widened_and_taken_up_again_fits_its_marks(proact, tmp_path):
    for more in (["--limit", 3], ["--limit", 9, "--controls"], ["--epochs", 2, "--limit", 9]):
        assert proact("eval", "--out", "run", *more)[0] == 0
    assert proact("report", "run")[0] == 0
    assert proact("rejudge", "run", "--out", "child", "--limit", 2)[0] == 0
    assert proact("rejudge", "run", "--out", "child")[0] == 0
    assert proact("compare", "run", "child")[0] == 0


def test_a_line_that_was_taken_out_is_put_back_by_the_command_that_began_the_run(proact, tmp_path):
    proact("eval", "--out", "run", "--limit", 3)
    lines = (tmp_path / "run" / "cases.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run" / "cases.jsonl").write_bytes(b"".join(lines[1:]))
    assert proact("report", "run")[0] == 2
    assert proact("eval", "--out", "run", "--limit", 3)[0] == 0
    assert proact("report", "run")[0] == 0


def test_a_case_of_half_a_surrogate_pair_fits_its_mark(proact, tmp_path):
    case = trigger(user="half \ud83d of a pair")
    written(tmp_path / "run", manifest(), [case], [answered(case), graded(case)])
    assert proact("report", "run")[0] == 0
