"""What the command line costs before it works, and that it does only what works."""

import json
import subprocess
import sys

import pytest
from rows import jsonl, row

from dspy_proact.benchmarks.proactbench import Evaluation
from dspy_proact.corpus import read_jsonl

SLOW = {"dspy", "litellm", "datasets", "optuna", "huggingface_hub"}
CODE = """
import sys, json, dspy_proact.cli as c
sys.argv = ['dspy-proact', *{arguments!r}]
try: c.main()
finally: print(json.dumps(sorted(sys.modules)))
"""


def modules(*arguments):
    code = CODE.format(arguments=list(map(str, arguments)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], *([verb, "--help"] for verb in ("eval", "rejudge", "report", "compare", "export"))],
)
def test_help_imports_nothing_slow(arguments):
    assert not modules(*arguments) & (SLOW | {"numpy", "pydantic"})


def test_report_imports_neither_dspy_nor_litellm(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(jsonl(row()), encoding="utf-8")
    Evaluation(read_jsonl(path)).run(tmp_path / "run")
    assert not modules("report", tmp_path / "run") & SLOW
    assert not modules("report", tmp_path / "run", "--json") & SLOW


def test_importing_the_package_imports_nothing_slow():
    code = "import sys, json, dspy_proact; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(json.loads(done.stdout)) & (SLOW | {"numpy", "pydantic"})
