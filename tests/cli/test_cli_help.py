"""The command line before it works: help in 80 columns, what it imports, narrow terminals and few characters."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import click
import pytest
from builders.assistants import ASSISTANT_OPTIMIZERS
from builders.dialogues import jsonl, row
from builders.judges import artefact
from builders.results import result_row
from builders.runs import run_of, trigger
from drivers.child import Child, command_line_in
from drivers.script import ROOT

from dspy_proact import Evaluation, Gate, ModelSpec, Recipe, RunFolder
from dspy_proact.benchmarks.proactbench.corpus.dialogues import read_jsonl
from dspy_proact.cli import proact as command_line
from dspy_proact.cli.options.models import EMBEDDED
from dspy_proact.cli.options.verb import Bundle, Verb
from dspy_proact.models import EMBEDDED as NAME_OF_THE_STAND_IN
from dspy_proact.optimizer_names import OPTIMIZERS
from dspy_proact.programs.artefact import write_artefact

OF_ONE_BENCHMARK = ("PROBE", "ProactBench", "--phase", "--judge-prompt")
"""Of which help for a first day does not speak."""


def walked(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from walked(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command
            yield from ((f"{before}{name} {further.name}", further) for further in command.further)


VERBS = dict(walked(command_line))
EVERY_VERB = pytest.mark.parametrize("name", VERBS)


def options(name: str) -> dict[str, click.Option]:
    return {param.opts[0]: param for param in VERBS[name].params if isinstance(param, click.Option)}


def bundle(name: str, of: str) -> Bundle:
    (result,) = [part for part in VERBS[name].parts if isinstance(part, Bundle) and part.name == of]
    return result


# Help


@pytest.mark.parametrize("words", [[], ["label"], ["optimize"]])
def test_a_list_of_commands_has_whole_sentences(proact, words):
    listed = proact(*words, "--help")[1].partition("Commands:\n")[2].splitlines()
    assert listed
    assert all(line.endswith(".") and not line.endswith("...") for line in listed), listed


def test_the_first_page_names_proactbench_and_explains_its_words(proact):
    first = " ".join(proact("--help")[1].partition("Options:")[0].split())
    assert [
        word
        for word in ("ProactBench", "A case is", "a trigger:", "A stratum is", "a phase:", "An epoch is")
        if word not in first
    ] == []


@EVERY_VERB
def test_help_fits_a_screen_and_speaks_of_no_single_benchmark(proact, name):
    lines = proact(*name.split(), "--help")[1].splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert "--help-all" in " ".join(lines)
    assert not [word for word in OF_ONE_BENCHMARK if word in " ".join(lines)]


@EVERY_VERB
def test_everything_is_in_help_all_with_an_example_that_parses(proact, name):
    verb = VERBS[name]
    assert isinstance(verb, Verb)
    out = proact(*name.split(), "--help-all")[1]
    words = set(out.replace(",", " ").split())
    for flag, option in options(name).items():
        assert flag in words
        assert option.help
    pasted = {line for form in verb.files for line in form.example.splitlines()}  # as in a file, and so not broken
    assert max(len(line) for line in out.splitlines() if line.strip() not in pasted) <= 80
    assert out.rstrip().endswith(verb.example.splitlines()[-1])
    example = shlex.split(verb.example.replace("\\\n", " "))
    begin = ["dspy-proact", *name.split()]
    assert example[: len(begin)] == begin
    assert verb.make_context(name, example[len(begin) :])
    assert set(verb.first) <= set(options(name))


# What is typed


def test_an_option_of_one_value_is_given_once(refused):
    for flag, *words in (
        ("--out", "eval", "--out", "a", "--out", "b"),
        ("--limit", "eval", "--limit", "1", "--limit=2", "--help"),
        ("--draw", "label", "sheet", "a", "--draw", "1", "--draw", "2"),
    ):
        assert f"Error: {flag}: given 2 times; it takes one value" in refused(*words)


def test_options_that_take_several_values_are_merged_and_flags_may_be_repeated(proact):
    words = ["--stratum", "recovery", "--phase", "Critical", "--stratum", "RECOVERY", "--limit", "2", "--controls"]
    status, out, _ = proact("eval", *words, "--controls", "--dry-run", "--json", "--json")
    assert (status, '"calls": 8' in out) == (0, True)  # two triggers and two control turns, each answered and graded


# What several verbs share


def test_defaults_and_choices_are_those_of_the_library():
    usual, gate = Gate(), bundle("optimize judge", "gate")
    # --timeout has none, and of a run --concurrency: those of a gate depend on the tier.
    values = {
        option.name: option.default for option in gate.options if option.name in ("concurrency", "retries", "backend")
    }
    assert values == {name: getattr(usual, name) for name in values}
    recipe = {option.name: option.default for option in bundle("optimize judge", "recipe").options}
    assert Recipe(**recipe) == Recipe()
    assert EMBEDDED == NAME_OF_THE_STAND_IN == ModelSpec().name
    for name, known in (("optimize judge", OPTIMIZERS), ("optimize assistant", ASSISTANT_OPTIMIZERS)):
        assert tuple(options(name)["--optimizer"].type.choices) == known


# What it imports

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
    document = json.loads(done.stdout)
    assert [status for status, _ in document] == [0] * len(commands), done.stderr
    return [set(modules) for _, modules in document]


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
        ["report", "results.jsonl", "--corpus", "corpus.jsonl"],
        ["compare", "run", "run"],
        ["export", "run", "--format", "official"],
        ["export", "run", "--format", "csv"],
        ["leaderboard", "run"],
        ["benchmarks"],
        ["agree", "--json"],
    ]
    for command, modules in zip(commands, imported(tmp_path, *commands), strict=True):
        assert not modules & (SLOW | {"openai", "httpx"}), command


def test_a_dry_run_of_models_of_dspys_own_client_imports_no_litellm_and_no_numpy(tmp_path):
    models = ["--model", "openai/gpt-4o", "--judge", "anthropic/claude-opus-4-8"]
    (modules,) = imported(tmp_path, ["eval", *models, "--corpus", "sample", "--dry-run"])
    assert "dspy" in modules
    assert not modules & {"litellm", "openai", "numpy"}


def test_a_reader_that_has_enough_is_no_fault(tmp_path):
    """`dspy-proact show RUN | head -1`, at its worst: nobody reads at all."""
    run_of(tmp_path / "runs" / "a", [(trigger(), "PASS")])
    commands = [["show", "runs/a"], ["report", "runs/a"]]
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


# Terminals

COMMANDS = {
    "report": ("report", "run", "--by", "life_domain"),
    "compare": ("compare", "run", "run"),
    "leaderboard": ("leaderboard", "run"),
    "agree": ("agree",),
    "show": ("optimize", "show", "judge.json"),
}
TABLES = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
MORE = "Details"
"""Begins the line that says how to read what a report leaves out."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of the stand-in, and a compiled judge."""
    folder = tmp_path_factory.mktemp("terminals")
    write_artefact(folder / "judge.json", artefact())
    assert ran(folder, "eval", "--out", "run").returncode == 0
    return folder


def ran(folder, *command, encoding="utf-8", **environment):
    """What a command prints in a process of its own."""
    return Child(command_line_in, encoding, *command, folder=folder, **{"COLUMNS": "80"} | environment).ended()


@pytest.mark.parametrize("command", [COMMANDS["compare"], COMMANDS["show"]])
def test_a_character_that_a_terminal_lacks_is_replaced(folder, command):
    done = ran(folder, *command, encoding="ascii")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert "---" in done.stdout
    done.stdout.encode("utf-8", "surrogateescape").decode("ascii")


def test_dashes_and_marks_that_a_terminal_lacks_are_spelled(folder):
    done = ran(folder, "report", "run", encoding="latin-1")
    assert re.search(r"\[\d+\.\d-\d+\.\d\]", done.stdout)
    key = next(RunFolder(folder / "run").cases()).key
    shown = ran(folder, "show", "run", "--trigger", key, encoding="ascii").stdout
    assert (">>" in shown, "<<" in shown) == (True, True)


def test_an_ascii_locale_is_written_in_and_does_not_read_other_names(folder):
    """What Python makes of streams and arguments in such a locale, only an interpreter that begins in it shows."""
    locale = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def begun(*command):
        command = [sys.executable, "-m", "dspy_proact", *command]
        return subprocess.run(command, cwd=folder, env={**os.environ, **locale}, capture_output=True, check=False)

    done = begun("report", "run")
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert re.search(r"\[\d+\.\d-\d+\.\d\]", done.stdout.decode("ascii"))
    done = begun("eval", "--out", "l\xe4ufe".encode())
    assert (done.returncode, done.stdout, (folder / "l\xe4ufe").exists()) == (2, b"", False)
    assert (
        b"is not text in the encoding ascii; write it so, or rename the file or folder that it names, or set a locale"
        in done.stderr
    )


def test_a_name_that_is_no_utf_8_is_refused_and_no_folder_is_left(refused, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for option in ("--corpus", "--reuse"):
        err = refused("eval", option, "bad\udcff.jsonl", "--out", "made")
        assert "Error: bad\\udcff.jsonl: is not text in the encoding utf-8; write it so, or rename" in err
    assert not (folder / "made").exists()


def test_no_width_is_eighty_columns(shown):
    assert shown(0, "report", "run") == shown(80, "report", "run")


@pytest.fixture
def shown(done, folder, monkeypatch):
    """What a command prints at a width, in this process."""
    monkeypatch.chdir(folder)

    def call(columns, *command, **environment):
        for name, value in {"COLUMNS": str(columns), **environment}.items():
            monkeypatch.setenv(name, value)
        out = done(*command)[0]
        for name in environment:
            monkeypatch.delenv(name)
        return out

    return call


@TABLES
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
    # Explained it begins alike, goes on, and fits too.
    begin, complete = narrow.rpartition(MORE)[0], shown(60, *command, "--explain")
    assert (complete.startswith(begin), len(complete) > len(begin), MORE in complete) == (True, True, False)
    assert max(map(len, complete.splitlines())) <= 60


@TABLES
def test_without_colour_nothing_is_lost(shown, command):
    plain, coloured = (shown(80, *command, **{name: "1", "TERM": "xterm"}) for name in ("NO_COLOR", "FORCE_COLOR"))
    assert "\x1b" not in plain
    assert "\x1b" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_a_bar_that_is_forced_on_a_pipe_ends_in_order(folder):
    few = ("--folds", "2", "--trials", "1", "--max-demos", "1")
    done = ran(folder, "optimize", "judge", "--optimizer", "labeled", *few, FORCE_COLOR="1")
    assert done.returncode == 0
    assert "so far" in done.stderr
    assert "closed file" not in done.stderr
