"""A benchmark is one folder: without it and its tests everything else imports, runs and passes its tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from script import ROOT

import dspy_proact

HOUSE = Path(dspy_proact.__file__).parent
EACH = sorted(path.parent.name for path in HOUSE.glob("benchmarks/*/benchmark.py"))
PROGRAM = """
import importlib, json, pathlib, sys
import pytest
import dspy_proact
from dspy_proact import cli

def run(*words):
    sys.argv = ["dspy-proact", *words]
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert not end.value.code, words

here, other = pathlib.Path.cwd(), sys.argv[1]
house = pathlib.Path(dspy_proact.__file__).parent
assert house.parent == here
for file in sorted(house.rglob("*.py")):
    name = ".".join(file.relative_to(here).with_suffix("").parts)
    name.endswith("__main__") or importlib.import_module(name)
run("benchmarks", "--json")
run("eval", "--benchmark", other, "--limit", "3", "--out", "run")
run("report", "run", "--html", "run.html")
# Who imports whom, words of benchmarks, and a run that is reported, compared, exported and rejudged.
some = ["test_layering.py", "test_neutral_rooms.py", "benchmarks/test_any_benchmark.py", "runs/test_folder.py"]
files = [f"tests/{name}" for name in some]
sys.exit(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", "-k", "not killed", *files]))
"""
"""In one process, since most of its time goes into imports."""


@pytest.mark.parametrize("gone", EACH)
def test_without_one_everything_else_imports_runs_and_passes_its_tests(gone, tmp_path):
    """Some tests here; `rm -r` of the two folders and `pytest` run all: what needs the benchmark is skipped."""
    if len(EACH) < 2:
        pytest.skip("no other benchmark is there")
    other = next(name for name in reversed(EACH) if name != gone)
    # With compiled files, which spares the compiler, but for those that another worker is about to rename.
    ignored = shutil.ignore_patterns("golden", "*.pyc.*")
    for folder in ("dspy_proact", "docs", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in ("dspy_proact", "tests"):
        shutil.rmtree(tmp_path / folder / "benchmarks" / gone)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM, other]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f'"name": "{other}"' in done.stdout
    assert f'"name": "{gone}"' not in done.stdout
    assert " passed" in done.stdout
    assert " skipped" not in done.stdout
