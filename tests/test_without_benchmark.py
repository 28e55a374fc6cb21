"""A benchmark is one folder: without it and its tests everything else imports, runs and passes its tests."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from drivers.child import Child
from drivers.script import ROOT

import dspy_proact

HOUSE = Path(dspy_proact.__file__).parent
EVERY = sorted(path.parent.name for path in HOUSE.glob("benchmarks/*/benchmark.py"))
SOME = ("evaluation/test_any_benchmark.py", "runs/test_folder.py")
"""A run that is reported, compared, exported and rejudged; every night all tests."""


def without(other: str) -> None:
    """In a child, whose folder is the copy: import all that is there, run another benchmark, and run some tests.

    Libraries are imported already. What was imported of this checkout is forgotten, so that the copy's is found.
    """
    here = Path.cwd()
    house = here / "dspy_proact"
    for name, module in list(sys.modules.items()):
        where = getattr(module, "__file__", None) or next(
            iter(getattr(module, "__path__", ())), ""
        )  # of a folder alone
        if str(where).startswith(f"{ROOT}/"):
            del sys.modules[name]
    # An environment may stand in the checkout, or beside it under a name that begins as its own.
    kept = (path for path in sys.path if "site-packages" in path or not Path(path).is_relative_to(ROOT))
    sys.path[:] = [str(here), *kept]
    for file in sorted(house.rglob("*.py")):
        if file.stem != "__main__":
            module = importlib.import_module(".".join(file.relative_to(here).with_suffix("").parts))
            assert Path(str(module.__file__)).is_relative_to(house)
    from dspy_proact import cli

    def run(*words: str) -> None:
        sys.argv = ["dspy-proact", *words]
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code, words

    run("benchmarks", "--json")
    run("eval", "--benchmark", other, "--limit", "3", "--out", "run")
    run("report", "run", "--html", "run.html")
    # pytest warns of plugins that it cannot rewrite, since they are imported already.
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
    sys.exit(pytest.main([*options, "-k", "not killed", *(f"tests/{name}" for name in SOME)]))


@pytest.fixture
def copy(tmp_path, gone):
    """A copy of the checkout in which the two folders of a benchmark are missing."""
    if len(EVERY) < 2:
        pytest.skip("no other benchmark is there")
    # With compiled files, which spares the compiler, but for those that another worker is about to rename.
    ignored = shutil.ignore_patterns("*.pyc.*")
    for folder in ("dspy_proact", "tests", "docs", "eval", "optimize"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for file in ("mkdocs.yml", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, tmp_path)
    for folder in ("dspy_proact", "tests"):
        shutil.rmtree(tmp_path / folder / "benchmarks" / gone)
    return tmp_path


@pytest.mark.parametrize("gone", [name for name in ("proactbench",) if name in EVERY])  # the default; all every night
def test_without_one_everything_else_imports_runs_and_passes_some_tests(gone, copy):
    other = next(name for name in reversed(EVERY) if name != gone)
    done = Child(without, other, folder=copy).ended()
    assert done.returncode == 0, done.stdout + done.stderr
    assert f'"name": "{other}"' in done.stdout
    assert f'"name": "{gone}"' not in done.stdout
    assert " passed" in done.stdout
    assert " skipped" not in done.stdout


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("gone", EVERY)
def test_without_one_all_tests_pass_or_are_skipped_since_they_need_it(gone, copy):
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    # One process, since others run beside it. The README's tree and links are of every benchmark.
    others = "not test_the_tree_is_true and not (test_links_lead_somewhere and README)"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-k", others]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
