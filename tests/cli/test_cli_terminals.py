"""Every command that prints numbers, on a narrow terminal and on one that has few characters."""

import re

import pytest
from child import Child, command_line_in
from tuning import artefact

from dspy_proact.programs.artefact import write_artefact

COMMANDS = {
    "report": ("report", "run", "--by", "life_domain"),
    "compare": ("compare", "run", "run"),
    "leaderboard": ("leaderboard", "run"),
    "agree": ("agree",),
    "show": ("optimize", "show", "judge.json"),
}
EACH = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
MORE = "Details"
"""Begins the line that says how to read what a report leaves out."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of the stand-in, and a compiled judge."""
    folder = tmp_path_factory.mktemp("terminals")
    write_artefact(folder / "judge.json", artefact())
    assert told(folder, "eval", "--out", "run").returncode == 0
    return folder


def told(folder, *command, encoding="utf-8", **environment):
    """What a command prints in a process of its own."""
    return Child(command_line_in, encoding, *command, folder=folder, **{"COLUMNS": "80"} | environment).ended()


@pytest.mark.parametrize("command", [COMMANDS["compare"], COMMANDS["show"]])
def test_a_character_that_a_terminal_lacks_is_replaced(folder, command):
    done = told(folder, *command, encoding="ascii")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert "---" in done.stdout
    done.stdout.encode("utf-8", "surrogateescape").decode("ascii")


@pytest.mark.parametrize(("encoding", "before", "after"), [("latin-1", "»", "«"), ("ascii", ">>", "<<")])
def test_dashes_and_marks_that_a_terminal_lacks_are_spelled(folder, encoding, before, after):
    done = told(folder, "report", "run", encoding=encoding)
    assert re.search(r"\[\d+\.\d-\d+\.\d\]", done.stdout)
    keys = re.findall(r"^\S+__t\d+(?= )", told(folder, "show", "run", COLUMNS="200").stdout, re.MULTILINE)
    shown = told(folder, "show", "run", "--trigger", keys[0], encoding=encoding)
    text = shown.stdout.encode("utf-8", "surrogateescape").decode(encoding)
    assert before in text
    assert after in text


@pytest.fixture
def shown(proact, folder, monkeypatch):
    """What a command prints at a width, in this process."""
    monkeypatch.chdir(folder)

    def call(columns, *command, **environment):
        for name, value in {"COLUMNS": str(columns), **environment}.items():
            monkeypatch.setenv(name, value)
        status, out, err = proact(*command)
        assert status == 0, err
        for name in environment:
            monkeypatch.delenv(name)
        return out

    return call


@EACH
def test_a_report_begins_with_a_sentence_is_cut_at_no_width_and_says_how_to_read_more(shown, command):
    narrow, usual, wide = (shown(columns, *command) for columns in (60, 80, 120))
    assert max(map(len, narrow.splitlines())) <= 60
    assert "…" not in narrow
    headings = [above for above, below in zip(wide.splitlines(), wide.splitlines()[1:], strict=False) if "───" in below]
    assert headings
    assert {word for line in headings for word in line.split()} <= set(narrow.split())
    assert max(map(len, usual.splitlines())) <= 80
    above, rule, _ = usual.partition("───")
    assert (bool(rule), ". " in " ".join(above.split()), MORE in above) == (True, True, False)
    assert MORE in " ".join(usual.splitlines()[-2:])


@EACH
def test_explained_it_begins_alike_goes_on_and_fits_sixty_columns(shown, command):
    short, whole = (shown(60, *command, *more) for more in ([], ["--explain"]))
    left_out = short.rpartition(MORE)[0]
    assert whole.startswith(left_out)
    assert len(whole) > len(left_out)
    assert MORE not in whole
    assert max(map(len, whole.splitlines())) <= 60


@EACH
def test_without_colour_nothing_is_lost(shown, command):
    plain, coloured = (shown(80, *command, **{name: "1", "TERM": "xterm"}) for name in ("NO_COLOR", "FORCE_COLOR"))
    assert "\x1b" not in plain
    assert "\x1b" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_a_bar_that_is_forced_on_a_pipe_ends_in_order(folder):
    few = ("--folds", "2", "--trials", "1", "--max-demos", "1")
    done = told(folder, "optimize", "judge", "--optimizer", "labeled", *few, FORCE_COLOR="1")
    assert done.returncode == 0
    assert "so far" in done.stderr
    assert "closed file" not in done.stderr
