"""What the command line costs before it works, and that it does only what works."""

import json
import os
import subprocess
import sys
import tomllib

import pytest
from proact_run import run_of, trigger
from results_rows import result_row
from rows import jsonl, row
from script import ROOT

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.proactbench.corpus.dialogues import read_jsonl

SLOW = {"dspy", "litellm", "datasets", "optuna", "huggingface_hub"}
CODE = """
import contextlib, io, json, sys
from dspy_proact import cli
told = []
for arguments in json.loads(sys.stdin.read()):
    sys.argv = ['dspy-proact', *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            cli.main()
    except SystemExit as end:
        told.append((end.code, list(sys.modules)))
print(json.dumps(told))
"""


def imported(folder, *commands):
    """For each of the commands in turn what has been imported by its end, in a fresh process; each ends well."""
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        input=json.dumps(commands),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("Error")) == (0, 0), done.stderr
    told = json.loads(done.stdout)
    assert [status for status, _ in told] == [0] * len(commands), done.stderr
    return [set(modules) for _, modules in told]


def test_help_imports_nothing_slow(tmp_path):
    verbs = ("eval", "rejudge", "report", "compare", "export", "try", "agree", "leaderboard", "benchmarks", "optimize")
    commands = [["--version"], ["--help"], *([verb, "--help"] for verb in verbs)]
    for command, modules in zip(commands, imported(tmp_path, *commands), strict=True):
        assert not modules & (SLOW | {"numpy", "pydantic"}), command


def test_what_reads_a_run_or_a_file_imports_nothing_that_asks_a_model(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(jsonl(row()), encoding="utf-8")
    (tmp_path / "results.jsonl").write_text(jsonl(result_row()), encoding="utf-8")
    Evaluation(read_jsonl(path)).run(tmp_path / "run")
    commands = [
        ["report", "run"],
        ["report", "run", "--json", "--by", "turn"],
        ["report", "results.jsonl", "--corpus", "corpus.jsonl"],
        ["compare", "run", "run"],
        ["compare", "run", "run", "--json"],
        ["compare", "results.jsonl", "results.jsonl"],
        ["export", "run", "--format", "official"],
        ["export", "run", "--format", "csv"],
        ["leaderboard", "run"],
        ["benchmarks"],
        ["agree", "--json"],
    ]
    for command, modules in zip(commands, imported(tmp_path, *commands), strict=True):
        assert not modules & (SLOW | {"openai", "httpx"}), command


def test_a_reader_that_has_enough_is_no_fault(tmp_path):
    """`dspy-proact show RUN | head -1`, at its worst: nobody reads at all."""
    run_of(tmp_path / "runs" / "a", [(trigger(), "PASS")])
    commands = [["show", "runs/a"], ["report", "runs/a"], ["runs"], ["leaderboard", "runs/a"]]
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"stdout": writer, "stderr": subprocess.PIPE, "cwd": tmp_path, "text": True}
    started = [subprocess.Popen([sys.executable, "-m", "dspy_proact", *command], **streams) for command in commands]
    os.close(writer)
    ended = [(command.communicate()[1], command.returncode) for command in started]
    assert [(status, "Error" in err or "Traceback" in err) for err, status in ended] == [(0, False)] * len(commands)


INTERRUPTED = """
import os, signal
os.kill(os.getpid(), signal.SIGINT)
for _ in range(10**9):  # Python sees a signal between two of its instructions
    pass
"""
SCRIPT = "import sys, importlib; sys.argv[0] = 'dspy-proact'; sys.exit(importlib.import_module({!r}).{}())"


@pytest.mark.parametrize(("way", "module"), [("module", "click"), ("script", "click"), ("script", "numpy")])
def test_ctrl_c_while_it_imports_ends_it_as_ctrl_c_does(tmp_path, way, module):
    """The first is imported by every command, the other by the one that is given, when it runs."""
    (tmp_path / f"{module}.py").write_text(INTERRUPTED, encoding="utf-8")
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]["dspy-proact"]
    command = {"module": ["-m", "dspy_proact"], "script": ["-c", SCRIPT.format(*entry.split(":"))]}[way]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, *command, "leaderboard"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")
