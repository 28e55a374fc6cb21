"""Files that are something else than was asked for, that somebody changed, or whose card promises nothing."""

import json
import os
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from builders import assistants, judges
from builders.runs import PHASES, RESPONSE, graded, manifest, run_of, trigger
from drivers.terminal import unwrapped
from fakes.server import Answer, verdict

from dspy_proact.evaluation.compiled import load_assistant
from dspy_proact.kept import log
from dspy_proact.programs.artefact import read_judge, write_artefact
from dspy_proact.runs import RunWriter

# Paths

TAKES_A_RUN = (
    *("rejudge", "compare runs/a", "leaderboard", "export --format csv", "label sheet"),
    "optimize judge --ratings ratings.csv --run",
)
TAKES_A_PROGRAM = (
    *("eval --dry-run --program", "eval --dry-run --judge-program", "rejudge runs/a --judge-program", "try --program"),
    *("optimize judge --start", "optimize assistant --start"),
)
A_PARENT = ("runs", "a folder of runs; name one of them: runs/a, runs/b")
A_RUN = ("runs/a", "the folder of a run; `dspy-proact report runs/a` prints its scores; give the file of a")
OTHERS = [
    ("elsewhere", "no such file or folder; give the "),
    ("runs/aa", "no such file or folder; did you mean runs/a?"),
    ("empty", "a folder without a run or a compile in it; give the "),
    ("K", "the folder of a corpus that was made; name it as the corpus of `dspy-proact eval`; give the "),
    ("a.csv", "a table; a table of answers can be named as the answers of `dspy-proact eval`; give the "),
    ("a.parquet", "a table; a table of answers can be named as the answers of `dspy-proact eval`; give the "),
    ("C/compile.json", "a file inside the folder of a run or a compile; name the folder: C"),
    ("runs/a/manifest.json", "a file inside the folder of a run or a compile; name the folder: runs/a"),
]
NO_RUNS = [
    *OTHERS,
    A_PARENT,
    (".", "a folder of runs; name one of them: runs/a, runs/b"),
    ("C", "the folder of a compile; `dspy-proact optimize show C` prints its card; give the folder of a"),
    ("compiles", "a folder of compiles; give the folder of a run"),
    ("judge.json", "a compiled program; `dspy-proact optimize show judge.json` prints its card; give"),
]
NO_PROGRAMS = [
    *OTHERS,
    A_RUN,
    ("runs", "a folder of runs; give the file of a compiled program, or the folder of its compile"),
    ("compiles", "a folder of compiles; name one of them: compiles/unfinished"),
    ("compiles/unfinished", "the folder of a compile that has not finished; repeat the command that started it"),
]


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Two runs, their tables, and compiles."""
    for name in "ab":
        run_of(tmp_path / "runs" / name, [(trigger(name), "PASS")])
    for folder in ("C", "A", "K", "compiles/unfinished", "empty"):
        (tmp_path / folder).mkdir(parents=True)
    for claimed in ("C", "A", "compiles/unfinished"):
        (tmp_path / claimed / "compile.json").write_text("{}")
    (tmp_path / "K" / "corpus.json").write_text("{}")
    (tmp_path / "K" / "items.jsonl").write_text("")
    write_artefact(tmp_path / "C" / "judge.json", judges.artefact())
    write_artefact(tmp_path / "A" / "assistant.json", assistants.artefact())
    write_artefact(tmp_path / "judge.json", judges.artefact())
    (tmp_path / "a.csv").write_text("key,grade\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    (tmp_path / "ratings.csv").write_text("item,annotator,grade,confidence,reason\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("command", "others", "begin"),
    [
        ("report", NO_RUNS, "no run here"),
        ("optimize show", NO_PROGRAMS, "cannot be read: "),
        *((command, [A_PARENT], "no run here") for command in TAKES_A_RUN),
        *((command, [A_RUN], "cannot be read: ") for command in TAKES_A_PROGRAM),
    ],
)
def test_what_was_not_asked_for_is_named_with_what_to_do(refused, command, others, begin):
    for path, message in others:
        err = refused(*command.split(), path)
        assert err.startswith(f"Error: {path}: {begin}"), err
        assert message in err
        assert err.count("\n") == 1
    if others is NO_PROGRAMS:
        content = json.loads(Path("judge.json").read_text(encoding="utf-8"))
        for version in (0, 1):
            Path("old.json").write_text(json.dumps(content | {"format": version}), encoding="utf-8")
            err = refused(*command.split(), "old.json")
            assert f"old.json: a compiled program of format {version}, made by another version of dspy-proact" in err
            assert "Compile it again, or use it with that version" in err


@pytest.mark.usefixtures("world")
def test_the_folder_of_a_compile_opens_its_program(proact):
    assert proact("optimize", "show", "C") == proact("optimize", "show", "C/judge.json")
    assert proact("optimize", "show", "A", "--as-prompt") == proact(
        "optimize", "show", "A/assistant.json", "--as-prompt"
    )
    assert proact("eval", "--judge-program", "C", "--program", "A", "--dry-run")[0] == 0
    assert read_judge(Path("C")) == read_judge(Path("C", "judge.json"))
    assert load_assistant("A").name == load_assistant("A/assistant.json").name


@pytest.mark.usefixtures("world")
def test_many_runs_are_named_as_far_as_a_person_reads(proact):
    for number in range(15):
        Path("many", f"{number:02}").mkdir(parents=True)
        Path("many", f"{number:02}", "manifest.json").write_text("{}")
    err = proact("report", "many")[2]
    assert "name one of them: many/00, many/01" in err
    assert err.rstrip().endswith("many/11 and 3 more")


@pytest.mark.parametrize(
    "command",
    [
        *("agree --run runs/a --ratings", "agree --ratings ratings.csv --items", "report"),
        *("eval --corpus", "try --conversation", "eval --system-prompt", "eval --config"),
    ],
)
@pytest.mark.usefixtures("world")
def test_a_file_without_an_end_and_a_pipe_that_sends_nothing_are_given_up(refused, monkeypatch, command):
    monkeypatch.setattr(log, "_LONGEST", 2**22)
    monkeypatch.setattr(log, "_PATIENCE", 0.01)
    os.mkfifo("pipe")
    before = "@" if command.endswith("--system-prompt") else ""
    endless, silent = (unwrapped(refused(*command.split(), f"{before}{path}")) for path in ("/dev/zero", "pipe"))
    assert re.search(r"/dev/zero\b.* (larger|more) than \d+ MiB, or (without an|no) end", endless)
    assert re.search(r"\bpipe: cannot be read: a pipe that sent nothing in 0\.01 seconds", silent)


@pytest.mark.parametrize("command", TAKES_A_PROGRAM)
@pytest.mark.usefixtures("world")
def test_a_pipe_is_no_program(refused, command):
    os.mkfifo("pipe")
    assert "pipe: cannot be read: a pipe or a device" in unwrapped(refused(*command.split(), "pipe"))


@pytest.mark.usefixtures("world")
def test_a_sheet_is_written_into_a_pipe_which_is_not_read_first(proact):
    os.mkfifo("pipe")
    end = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert proact("label", "sheet", "runs/a", "--out", "pipe")[0] == 0
    assert os.read(end, 5) == b"item,"
    os.close(end)


@pytest.mark.usefixtures("world")
def test_a_folder_where_a_file_is_asked_for_is_told(proact):
    ratings = ["agree", "--ratings", "ratings.csv", "--items"]
    assert "runs/a: the folder of a run" in proact(*ratings, "runs/a")[2]
    assert "runs/a: the folder of a run" in proact("eval", "--corpus", "runs/a")[2]
    assert "empty: a folder, not a file; give the path of the file in it" in proact("eval", "--corpus", "empty")[2]


# Runs that somebody changed

REJUDGE = "rejudge run --judge embedded"
READERS = (
    *("report run", "compare whole run", REJUDGE, "export run --format csv", "export run --format official"),
    *("label sheet run", "leaderboard run", "show run --trigger d1"),
)


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


def taken_out(folder):
    lines = (folder / "cases.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "cases.jsonl").write_bytes(lines[0] + lines[2])


def superb(folder):
    with RunWriter(folder, manifest()) as writer:
        event = graded(trigger("d0"))
        writer.record(event.model_copy(update={"grade": replace(event.grade, label="SUPERB")}))


def case(marked, **changed):
    """Change the second case of a run."""
    return lambda folder: edited(folder, lambda line: line.update(changed), marked=marked)


def harder(folder):
    edited(folder, lambda line: line["view"]["rubric"].update(pass_criteria="Impossible."))


def detail(damage):
    def damaged(event):
        event["grade"]["detail"] = damage and event["grade"]["detail"] | damage

    return lambda folder: edited(folder, damaged, "events.jsonl", marked=False)


CHANGED = "cases.jsonl, line 2: was changed after the run wrote it"
CHANGES = {
    "another rubric": (harder, CHANGED),
    "another phase": (case(True, stratum="WHAT"), CHANGED),
    "an unknown phase without marks": (
        case(False, stratum="WHAT"),
        "cases.jsonl, line 2: the phase 'WHAT' is none of the run's: EMERGENT, CRITICAL, RECOVERY",
    ),
    "a case less": (taken_out, "cases.jsonl: 1 of the cases that were answered are not in it, such as 'd1__t2'"),
    "an unknown grade": (superb, "run: a verdict on 'd0__t2' has the label 'SUPERB', which is none of it"),
    "no verdict": (detail({}), "run: a verdict on 'd0__t2' is damaged: field '"),
    "a number for reasons": (detail({"reasoning": 1}), "run: a verdict on 'd0__t2' is damaged: field '"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_run_that_somebody_changed_is_refused_with_the_place_by_every_reader(refused, run, name):
    change, message = CHANGES[name]
    change(run)
    for command in READERS:
        if "verdict on" not in message or command != REJUDGE:  # which reads no verdict
            assert message in refused(*command.split()), command


def test_what_one_reader_alone_would_see_is_refused_too(proact, run):
    edited(run, lambda line: line["view"].pop("rubric"), marked=False)
    assert "run: the case 'd1__t2' is damaged at 'view.rubric'" in proact(*REJUDGE.split())[2]
    for tokens in (-1, 10**30):
        spent = {"role": "assistant", "started": 1.0, "latency": 0.1, "prompt_tokens": tokens}
        edited(run, lambda event, spent=spent: event.update(calls=[spent]), "events.jsonl", marked=False)
        assert "events.jsonl, line 2: field 'calls.0.prompt_tokens'" in proact("report", "run")[2]


def test_a_response_that_somebody_made_another_value_is_shown_as_it_stands(proact, done):
    assert proact("eval", "--limit", 1, "--out", "run")[0] == 0
    lines = Path("run", "events.jsonl").read_text("utf-8").splitlines()
    first = json.loads(lines[0])
    first["answer"]["text"] = True
    Path("run", "events.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n", "utf-8")
    out = done("show", "run")[0]
    assert '"text": true' in out


def test_a_plan_for_answers_of_which_people_grade_parts_is_refused(probe, proact, refused):
    assert proact("eval", "--benchmark", "probe", "--limit", 3, "--out", "run")[0] == 0
    for of in (["run"], ["--benchmark", "probe"]):
        text = " ".join(refused("label", "plan", *of).split())
        assert "people grade parts of its answers (description, who_blocked" in text


def test_a_run_that_was_limited_widened_and_taken_up_again_fits_its_marks(proact, tmp_path):
    for more in (["--limit", 2], ["--limit", 3, "--controls"], ["--epochs", 2, "--limit", 3]):
        assert proact("eval", "--out", "run", *more)[0] == 0
    assert proact("report", "run")[0] == 0
    assert proact("rejudge", "run", "--out", "child", "--limit", 1)[0] == 0
    assert proact("rejudge", "run", "--out", "child")[0] == 0
    assert proact("compare", "run", "child")[0] == 0


def test_a_line_that_was_taken_out_is_put_back_by_the_command_that_began_the_run(proact, tmp_path):
    proact("eval", "--out", "run", "--limit", 3)
    lines = (tmp_path / "run" / "cases.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run" / "cases.jsonl").write_bytes(b"".join(lines[1:]))
    assert proact("report", "run")[0] == 2
    assert proact("eval", "--out", "run", "--limit", 3)[0] == 0
    assert proact("report", "run")[0] == 0


# Programs whose card promises nothing

NOTHING = "its card shows no improvement over the program that the compile began with."


@pytest.fixture
def rejudging(tmp_path, server):
    """A run to be rejudged, and the options of a judge at the server."""
    run_of(tmp_path / "run", [(trigger(), "PASS")])
    server.script_roles(judge=lambda sent: Answer(verdict("PASS", [RESPONSE[:20]])))
    return lambda judge: ["rejudge", "run", "--judge", judge, "--judge-api-base", server.judge, "--out", "child"]


def judge_program(folder, shown):
    write_artefact(folder / "judge.json", judges.artefact(better=shown))
    return ["--judge-program", "judge.json"]


@pytest.mark.parametrize(("judge", "shown"), [("openai/any", False), ("openai/another", True)])
def test_a_compiled_judge_without_a_gain_or_of_another_model_is_said_so(done, rejudging, tmp_path, judge, shown):
    err = done(*rejudging(judge), *judge_program(tmp_path, shown))[1]
    assert (f"--judge-program: {NOTHING}" in err) is not shown
    other = "--judge-program: was compiled for openai/any; its card says nothing about openai/another."
    assert (other in err) is (judge == "openai/another")


def test_a_run_keeps_what_both_cards_tell_and_its_page_says_it(proact, tmp_path):
    made = assistants.artefact(better=False)
    write_artefact(tmp_path / "assistant.json", made)
    programs = ["--program", "assistant.json", *judge_program(tmp_path, shown=True)]
    assert proact("eval", "--limit", 1, *programs, "--out", "run")[0] == 0
    assert proact("rejudge", "run", "--judge", "embedded", "--out", "child")[0] == 0
    cards = json.loads(proact("report", "run", "--json")[1])["run"]["cards"]
    assert cards["assistant"] == made.card.summary
    assert made.card.headline.text in cards["assistant"]
    assert cards["judge"] == judges.artefact().card.summary
    assert json.loads(proact("report", "child", "--json")[1])["run"]["cards"] == {"assistant": cards["assistant"]}
    proact("report", "run", "--html", "page.html")
    page = unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert f"The judge's program: {cards['judge']}" in page
