"""A path that is something else than was asked for: every verb says what it is and what to do."""

import json
from pathlib import Path

import assistants
import pytest
import tuning
from proact_run import run_of, trigger

from dspy_proact.benchmarks.compiled import load_assistant
from dspy_proact.errors import UsageError
from dspy_proact.programs.artefact import read_judge, write_artefact
from dspy_proact.runs import RunFolder

TAKES_A_RUN = {
    "report": ["report"],
    "rejudge": ["rejudge"],
    "compare": ["compare", "runs/a"],
    "leaderboard": ["leaderboard"],
    "export": ["export", "--format", "csv"],
    "label": ["label", "sheet"],
    "optimize judge": ["optimize", "judge", "--ratings", "ratings.csv", "--run"],
}
TAKES_A_PROGRAM = {
    "show": ["optimize", "show"],
    "eval, of the assistant": ["eval", "--dry-run", "--program"],
    "eval, of the judge": ["eval", "--dry-run", "--judge-program"],
    "rejudge": ["rejudge", "runs/a", "--judge-program"],
    "try": ["try", "--program"],
    "optimize judge": ["optimize", "judge", "--start"],
    "optimize assistant": ["optimize", "assistant", "--start"],
}
OTHERS = {
    "nothing": ("elsewhere", "no such file or folder; give the "),
    "a misspelt name": ("runs/aa", "no such file or folder; did you mean runs/a?"),
    "an empty folder": ("empty", "a folder without a run or a compile in it; give the "),
    "a table": ("a.csv", "a table written by `export`; give the "),
    "another table": ("a.parquet", "a table written by `export`; give the "),
    "a file of a compile": ("C/compile.json", "a file inside the folder of a run or a compile; name the folder: C"),
    "a file of a run": (
        "runs/a/manifest.json",
        "a file inside the folder of a run or a compile; name the folder: runs/a",
    ),
}
NO_RUNS = OTHERS | {
    "a parent": ("runs", "a folder of runs; name one of them: runs/a, runs/b"),
    "a parent of parents": (".", "a folder of runs; name one of them: runs/a, runs/b"),
    "a compile": (
        "C",
        "the folder of a compile; `dspy-proact optimize show C` prints its card; give the folder of a",
    ),
    "a parent of compiles": ("compiles", "a folder of compiles; give the folder of a run"),
    "a program": ("judge.json", "a compiled program; `dspy-proact optimize show judge.json` prints its card; give"),
}
NO_PROGRAMS = OTHERS | {
    "a run": ("runs/a", "the folder of a run; `dspy-proact report runs/a` prints its scores; give the file of a"),
    "runs": ("runs", "a folder of runs; give the file of a compiled program, or the folder of its compile"),
    "compiles": ("compiles", "a folder of compiles; name one of them: compiles/unfinished"),
    "a compile that goes on": (
        "compiles/unfinished",
        "the folder of a compile that has not finished; repeat the command that started it",
    ),
}


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Two runs, their tables, and compiles."""
    for name in "ab":
        run_of(tmp_path / "runs" / name, [(trigger(name), "PASS")])
    for folder in ("C", "A", "compiles/unfinished", "empty"):
        (tmp_path / folder).mkdir(parents=True)
    for claimed in ("C", "A", "compiles/unfinished"):
        (tmp_path / claimed / "compile.json").write_text("{}")
    write_artefact(tmp_path / "C" / "judge.json", tuning.artefact())
    write_artefact(tmp_path / "A" / "assistant.json", assistants.artefact())
    write_artefact(tmp_path / "judge.json", tuning.artefact())
    (tmp_path / "a.csv").write_text("key,grade\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    (tmp_path / "ratings.csv").write_text("item,annotator,grade,confidence,reason\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("verb", TAKES_A_RUN)
def test_what_is_no_run_is_told_with_what_to_do(proact, verb):
    for path, told in NO_RUNS.values():
        status, out, err = proact(*TAKES_A_RUN[verb], path)
        assert (status, out) == (2, ""), path
        assert err.startswith(f"Error: {path}: no run here"), err
        assert told in err
        assert err.count("\n") == 1


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("verb", TAKES_A_PROGRAM)
def test_what_is_no_program_is_told_with_what_to_do(proact, verb):
    for path, told in NO_PROGRAMS.values():
        status, out, err = proact(*TAKES_A_PROGRAM[verb], path)
        assert (status, out) == (2, ""), path
        assert err.startswith(f"Error: {path}: cannot be read: "), err
        assert told in err
        assert err.count("\n") == 1


@pytest.mark.usefixtures("world")
def test_a_corpus_is_no_matter_where_there_is_no_results_file(proact):
    status, _, err = proact("report", "results.jsonl", "--corpus", "sample")
    assert status == 2
    assert "results.jsonl: no run here and no results file: no such file or folder" in err
    assert "--corpus" not in err


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
def test_a_compile_of_the_other_program_is_told(proact):
    assert "A/assistant.json: a compiled assistant, where a judge is" in proact("eval", "--judge-program", "A")[2]
    assert "C/judge.json: a compiled judge, where an assistant is" in proact("eval", "--program", "C")[2]


@pytest.mark.usefixtures("world")
def test_many_runs_are_named_as_far_as_a_person_reads(proact):
    for number in range(15):
        Path("many", f"{number:02}").mkdir(parents=True)
        Path("many", f"{number:02}", "manifest.json").write_text("{}")
    err = proact("report", "many")[2]
    assert "name one of them: many/00, many/01" in err
    assert err.rstrip().endswith("many/11 and 3 more")


@pytest.mark.usefixtures("world")
def test_a_folder_where_a_file_is_asked_for_is_told(proact):
    ratings = ["agree", "--ratings", "ratings.csv", "--items"]
    assert "runs/a: the folder of a run" in proact(*ratings, "runs/a")[2]
    assert "runs/a: the folder of a run" in proact("eval", "--corpus", "runs/a")[2]
    assert "empty: a folder, not a file; give the path of the file in it" in proact("eval", "--corpus", "empty")[2]


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("made", [{"format": 0}, {"format": 1}, {"format": 0, "state": {"anything": "else"}}], ids=str)
@pytest.mark.parametrize("verb", TAKES_A_PROGRAM)
def test_a_program_of_another_version_is_told_as_one(proact, verb, made):
    content = json.loads(Path("judge.json").read_text(encoding="utf-8"))
    Path("old.json").write_text(json.dumps(content | made), encoding="utf-8")
    status, out, err = proact(*TAKES_A_PROGRAM[verb], "old.json")
    assert (status, out) == (2, "")
    told = f"old.json: a compiled program of format {made['format']}, made by another version of dspy-proact"
    assert told in err
    assert "Compile it again, or use it with that version" in err


@pytest.mark.usefixtures("world")
def test_in_python_it_is_told_alike():
    with pytest.raises(
        UsageError, match=r"runs: no run here \(no manifest.json\): a folder of runs; name one of them: runs/a, runs/b"
    ):
        RunFolder("runs").manifest()
    with pytest.raises(UsageError, match="runs: cannot be read: a folder of runs; give the file of a compiled program"):
        load_assistant("runs")
