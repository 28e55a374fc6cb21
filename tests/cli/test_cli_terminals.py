"""Every command that prints numbers, on a narrow terminal and on one that has few characters."""

import os
import subprocess
import sys

import pytest
from tuning import artefact

from dspy_proact.programs import write_artefact

COMMANDS = {
    "report": ("report", "run", "--by", "life_domain"),
    "compare": ("compare", "run", "run"),
    "leaderboard": ("leaderboard", "run"),
    "agree": ("agree",),
    "show": ("optimize", "show", "judge.json"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of the stand-in, and a compiled judge."""
    folder = tmp_path_factory.mktemp("terminals")
    write_artefact(folder / "judge.json", artefact())
    assert told(folder, "eval", "--out", "run").returncode == 0
    return folder


def told(folder, *command, **environment):
    """What a command prints in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "dspy_proact", *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "80"} | environment,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_character_that_a_terminal_lacks_is_replaced(folder, command, encoding):
    done = told(folder, *command, PYTHONIOENCODING=encoding)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert b"---" in done.stdout
    done.stdout.decode(encoding)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_at_sixty_columns_nothing_is_cut_and_every_heading_is_there(folder, command):
    narrow, wide = (told(folder, *command, COLUMNS=columns).stdout.decode() for columns in ("60", "120"))
    assert max(map(len, narrow.splitlines())) <= 60
    assert "…" not in narrow
    headings = [above for above, below in zip(wide.splitlines(), wide.splitlines()[1:], strict=False) if "───" in below]
    assert headings
    assert {word for line in headings for word in line.split()} <= set(narrow.split())
