"""Everything in the README that can run is run, and what it shows is what comes out."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from drivers.script import ROOT
from fakes.local import LOCAL_SERVERS

from dspy_proact import leaderboard
from dspy_proact.report.leaderboard import own_name

README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(
    r"(?:^<!-- (?P<marker>.+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
FENCES = [(match["marker"] or "", match["language"], match["text"]) for match in FENCE.finditer(README)]
MARKERS = {"sh": r"command: (run|page|test)|run", "": r"output: run|tree"}
"""What may stand above a block of each language; whatever it is, a test below does it."""
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


@pytest.mark.parametrize("text", COMMANDS, ids=lambda text: text.splitlines()[-1][:40])
def test_the_commands_run(done, proactbench, server, text):
    """Those that call a server call one here; those of a real model end with `--dry-run`, and need no key."""
    LOCAL_SERVERS["vLLM"].play(server)
    here = text.replace("\\\n", " ").replace("http://localhost:8000/v1", server.base("local"))
    for line in here.splitlines():
        first, *words = shlex.split(line)
        assert first == "dspy-proact", text
        done(*words)
    assert bool(server.sent) == ("http://localhost" in text)


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


def test_the_published_result_is_the_leaderboards():
    for entry in leaderboard().entries[:5]:
        low, high = entry.rank_range
        scores = (f"{100 * entry.scores[name].value:.1f}" for name in ("strict", "score", "RECOVERY"))
        tried = f"{entry.tried.scored}/{entry.cases}"
        row = (entry.rank, f"{low}–{high}", own_name(entry.name), tried, *scores)
        assert f"| {' | '.join(map(str, row))} |\n" in README


def test_links_into_a_page_name_a_heading_of_it():
    """In docs/ the build of the site sees to that."""
    links = re.findall(r"\]\(([\w/.-]+\.md)#([\w-]+)\)", README)
    assert links
    for path, heading in links:
        titles = re.findall(r"^#+ (.+)$", (ROOT / path).read_text("utf-8"), re.MULTILINE)
        assert heading in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, path
