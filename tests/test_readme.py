"""Everything in the README that can run is run, and what it shows is what comes out."""

import os
import re
import subprocess
import sys

import pytest
from script import ROOT, ended

README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(marker):
    """The fenced block after a marker."""
    found = re.search(rf"<!-- {marker} -->\n```\w*\n(.*?)```", README, re.DOTALL)
    assert found, marker
    return found.group(1)


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


def test_the_first_command_prints_what_is_shown(tmp_path):
    command = block("command: run").partition("&& python3 ")[2].split()
    assert stripped(run(tmp_path, *command).stdout) == stripped(block("output: run"))


def printed(folder, marker):
    """What a block of Python prints, run in this process."""
    done = ended(lambda: exec(block(marker), {}), ROOT / "README.md", folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_prints_what_is_shown(tmp_path):
    assert stripped(printed(tmp_path, "python")) == stripped(block("output: python"))


def test_the_three_ways_to_ask_a_compiled_assistant_print_what_is_shown():
    assert stripped(printed(ROOT, "python: assistant")) == stripped(block("output: assistant"))


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


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", README):
        assert (ROOT / target).exists(), target
