"""Everything in the README that can run is run, and what it shows is what comes out."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from builders.judges import artefact
from drivers.script import ROOT, ended

from dspy_proact import RunFolder, leaderboard
from dspy_proact.benchmarks.proactbench.corpus.dialogues import read_jsonl, sample_path
from dspy_proact.evaluation.published import best_published
from dspy_proact.evaluation.registry import benchmarks
from dspy_proact.programs.artefact import write_artefact
from dspy_proact.report.leaderboard import own_name

README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(
    r"(?:^<!-- (?P<marker>.+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
FENCES = [(match["marker"] or "", match["language"], match["text"]) for match in FENCE.finditer(README)]
MARKERS = {"python": r"python(: \w+)?", "sh": r"command: (run|page|test)|run", "": r"output: \w+|tree"}
"""What may stand above a block of each language; whatever it is, a test below does it."""
PYTHON = [marker for marker, language, _ in FENCES if language == "python"]
COMMANDS = [text for marker, _, text in FENCES if marker == "run"]


def test_every_block_is_run_or_is_what_comes_out():
    for marker, language, text in FENCES:
        assert re.fullmatch(MARKERS[language], marker), text
    assert README.count("```") == 2 * len(FENCES)


def block(marker):
    """The fenced block after a marker."""
    result = re.search(rf"<!-- {marker} -->\n```\w*\n(.*?)```", README, re.DOTALL)
    assert result, marker
    return result.group(1)


def run(folder, *command):
    environment = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )


def stripped(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize("name", ["run", "test"])
def test_each_command_is_one_line_for_a_machine_with_python_and_pip(name):
    (line,) = block(f"command: {name}").splitlines()
    assert line.startswith("python3 -m pip install ")


def test_the_first_command_prints_what_is_shown_and_the_third_writes_the_page_of_its_run(tmp_path):
    command = block("command: run").partition("&& python3 ")[2].split()
    assert stripped(run(tmp_path, *command).stdout) == stripped(block("output: run"))
    program, *words = block("command: page").split()
    assert program == "python3"
    run(tmp_path, *(item for word in words for item in (map(str, tmp_path.glob(word)) if "*" in word else [word])))
    assert "embedded" in (tmp_path / "page.html").read_text(encoding="utf-8")


def printed(folder, marker):
    """What a block of Python prints, run in this process."""
    done = ended(lambda: exec(block(marker), {}), ROOT / "README.md", folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("marker", PYTHON)
def test_the_python_prints_what_is_shown(tmp_path, marker):
    (tmp_path / "optimize").symlink_to(ROOT / "optimize")
    assert stripped(printed(tmp_path, marker)) == stripped(block(f"output: {marker.removeprefix('python: ')}"))


@pytest.fixture
def at_work(proact, server, monkeypatch, tmp_path):
    """A folder with what the commands name, and a server behind every model: the hub's corpus is the sample here."""
    sample = replace(read_jsonl(sample_path()), name="proactbench", revision="0" * 40)
    reader = "dspy_proact.benchmarks.proactbench.corpus.dialogues.read_dataset"
    monkeypatch.setattr(reader, lambda revision=None: sample)
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "a key of this test")
        monkeypatch.setenv(f"{name}_BASE_URL", server.judge)
    (tmp_path / "optimize").symlink_to(ROOT / "optimize")
    assert proact("eval", "--out", "runs/RUN")[0] == 0
    assert proact("export", "runs/RUN", "--format", "official", "--out", "official_results.jsonl")[0] == 0
    keys = [case.key for case in RunFolder("runs/RUN").cases()]
    rows = ["item,annotator,grade,confidence,reason", *(f"{key},ann,PASS,4,it acts" for key in keys)]
    Path("ratings.csv").write_text("\n".join(rows), encoding="utf-8")
    write_artefact(Path("compiles/judge--ID/judge.json"), artefact())
    return proact


def lines(text, server):
    """The commands of a block as a shell would hand them over, with a server here in place of one there."""
    for line in text.replace("\\\n", " ").replace("http://localhost:8000/v1", server.assistant).splitlines():
        words = shlex.split(line)
        yield [item for word in words for item in (sorted(map(str, Path().glob(word))) if "*" in word else [word])]


@pytest.mark.parametrize("text", COMMANDS, ids=lambda text: text.splitlines()[-1][:40])
def test_the_commands_run(at_work, server, text):
    for first, *words in lines(text, server):
        if first == "export":
            continue
        assert first == "dspy-proact", text
        status, _, err = at_work(*words)
        assert status == 0, f"{shlex.join(words)}\n{err}"


def test_the_tree_is_true():
    shown, parent = set(), ""
    for line in block("tree").splitlines():
        name = line.split()[0]
        parent = "" if not line.startswith(" ") else parent
        shown.add(parent + name)
        parent = name if not line.startswith(" ") else parent
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    folders = {f"{path.split('/')[0]}/" for path in tracked if "/" in path and not path.startswith(".")}
    rooms = {"/".join(path.split("/")[:2]) + "/" for path in tracked if re.match(r"dspy_proact/\w+/", path)}
    assert shown == folders | rooms


def test_the_table_of_benchmarks_is_the_list(probe, proactiveagent, proactivebench, proagentbench):
    for entry in benchmarks().values():
        cells = (f"`{entry.name}`", entry.about, entry.corpus.size, entry.corpus.licence, best_published(entry))
        assert f"| {' | '.join(cells)} |\n" in README
    assert README.count("\n| `--benchmark`") == 1
    table = README.partition("| `--benchmark`")[2].partition("\n\n")[0]
    assert len(table.splitlines()) == 2 + len(benchmarks())


def test_the_published_result_is_the_leaderboards():
    for entry in leaderboard().entries[:5]:
        low, high = entry.rank_range
        scores = (f"{100 * entry.scores[name].value:.1f}" for name in ("strict", "score", "RECOVERY"))
        tried = f"{entry.tried.scored}/{entry.cases}"
        row = (entry.rank, f"{low}–{high}", own_name(entry.name), tried, *scores)
        assert f"| {' | '.join(map(str, row))} |\n" in README
