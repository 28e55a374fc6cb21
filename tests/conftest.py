"""What every test may use."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "eval"))  # programs there import `support`
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"

from fakes.server import Server

MEMORY = Path("/dev/shm")
"""Where there is room, files of tests are here: a disk takes milliseconds to make a line safe, and runs await each."""
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None  # which was asked for already

settings.register_profile("house", max_examples=20, deadline=None)
settings.load_profile("house")

# A shell that starts a job in the background has it ignore Ctrl-C, and every process that a test starts inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)
gc.set_threshold(200_000, 10, 10)  # what is imported is much, and to look through it for garbage takes long
sys.dont_write_bytecode = False  # a machine that forbids it has each worker and child compile all tests anew


NAMES = ("proactbench", "proactiveagent", "proactivebench", "proagentbench", "probe", "rows")
BENCHMARKS = {f"dspy_proact.benchmarks.{name}" for name in NAMES}


class AbsentBenchmarks:
    """Skips a test, or a file of tests, that imports a benchmark whose folder was removed; last in `sys.meta_path`."""

    def find_spec(self, name, path=None, target=None):
        if name in BENCHMARKS:
            pytest.skip(f"needs {name}", allow_module_level=True)


sys.meta_path.append(AbsentBenchmarks())


def needed(name):
    """A test that asks for a benchmark uses it, and is skipped where its folder was removed."""
    return pytest.fixture(name=name)(lambda: import_module(f"dspy_proact.benchmarks.{name}"))


proactbench, proactiveagent, proactivebench, proagentbench, probe, rows = map(needed, NAMES)


@pytest.fixture
def server():
    """A local server that speaks OpenAI's chat protocol, one for each test."""
    from dspy_proact.models.server import _documents

    _documents.cache_clear()  # an earlier server may have had the port of this one
    with Server() as running:
        yield running


@pytest.fixture
def batches():
    """A local server that speaks the batch protocols too."""
    from fakes.batches import BatchServer

    from dspy_proact.models.server import _documents

    _documents.cache_clear()
    with BatchServer() as running:
        yield running


@pytest.fixture
def proact(monkeypatch, capsys, tmp_path):
    """Run the command line in an empty folder, 80 columns wide: exit status, standard output, standard error."""
    from dspy_proact import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dspy-proact", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return end.value.code, out, err

    return call


@pytest.fixture
def done(proact):
    """What a command prints that ends with 0, on standard output and on standard error."""

    def call(*arguments):
        status, out, err = proact(*arguments)
        assert status == 0, err
        return out, err

    return call


@pytest.fixture
def refused(proact):
    """What a command says that cannot be done: it ends with 2, and prints nothing but this."""

    def call(*arguments):
        status, out, err = proact(*arguments)
        assert (status, out) == (2, ""), err
        return err

    return call


@pytest.fixture(scope="module")
def browser():
    """A browser for a file of tests; these skip where there is none."""
    from drivers.browser import chromium

    with chromium() as running:
        yield running


@pytest.fixture
def data():
    """The folder of public data; a test that asks for it skips where DSPY_PROACT_DATA does not name it."""
    folder = os.environ.get("DSPY_PROACT_DATA")
    if not folder:
        pytest.skip("needs the public data: set DSPY_PROACT_DATA")
    return Path(folder)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """No test reads a key or an endpoint of the machine."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")):
            monkeypatch.delenv(name)


def pytest_xdist_auto_num_workers():
    """One worker more than there are processors: a third of the time, tests wait for servers, timers and a browser."""
    return (os.cpu_count() or 1) + 1


LONG = {"test_docs", "test_families", "test_golden", "test_notebook"}
"""Files with tests of many seconds."""


def pytest_collection_modifyitems(items):
    """Files that fork come first, so that one worker has them all; long tests come first in the second worker's part.

    What children are forked from takes seconds to start, in each worker that starts one. A long test that begins when
    the others are done leaves the other workers without work.
    """
    items.sort(key=lambda item: not {"Child", "child", "hub_of"} & vars(item.module).keys())
    long = [item for item in items if item.module.__name__ in LONG]
    short = [item for item in items if item.module.__name__ not in LONG]
    first = len(items) // pytest_xdist_auto_num_workers()
    items[:] = [*short[:first], *long, *short[first:]]


def pytest_collection_finish():
    """What has been imported is not looked through for garbage again, at the end least of all."""
    gc.freeze()
