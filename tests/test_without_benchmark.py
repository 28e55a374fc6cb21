"""A benchmark is one folder: without it and its tests everything else imports, runs and passes its tests."""

import json
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
SOME = ["test_layering.py", "test_neutral_rooms.py", "benchmarks/test_any_benchmark.py", "runs/test_folder.py"]
"""Who imports whom, words of benchmarks, and a run that is reported, compared, exported and rejudged."""
IMPORTED = """
import importlib, pathlib, sys
import dspy_proact
house, failed = pathlib.Path(dspy_proact.__file__).parent, []
for file in sorted(house.rglob("*.py")):
    name = ".".join(file.relative_to(house.parent).with_suffix("").parts)
    try:
        name.endswith("__main__") or importlib.import_module(name)
    except ImportError as error:
        failed.append(f"{name}: {error}")
sys.exit("\\n".join(failed)) if failed else print(house)
"""


@pytest.fixture(params=EACH)
def without(request, tmp_path):
    """Run Python on a copy of the package that lacks one benchmark: what it prints; and the name of the other one."""
    if len(EACH) < 2:
        pytest.skip("no other benchmark is there")
    (other,) = set(EACH) - {request.param}
    for folder in ("dspy_proact", "docs", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "golden"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in ("dspy_proact", "tests"):
        shutil.rmtree(tmp_path / folder / "benchmarks" / request.param)

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run, other


def test_without_one_everything_else_imports_and_the_other_runs_and_is_reported(without):
    run, other = without
    assert Path(run("-c", IMPORTED).strip()) != HOUSE
    listed = json.loads(run("-m", "dspy_proact", "benchmarks", "--json"))["benchmarks"]
    assert [each["name"] for each in listed] == [other]
    run("-m", "dspy_proact", "eval", "--benchmark", other, "--limit", "3", "--out", "run")
    run("-m", "dspy_proact", "report", "run", "--html", "run.html")


def test_without_one_the_other_tests_pass(without):
    """Some of them here; `rm -r` of the two folders and `pytest` run all: what needs the benchmark is skipped."""
    run, _ = without
    files = [f"tests/{name}" for name in SOME]
    said = run("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "not killed", *files)
    assert "passed" in said
    assert "skipped" not in said
