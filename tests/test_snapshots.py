"""What a person reads at the command line: a snapshot for each verb, tests/snapshots/VERB.txt, compared line by line.

Wording is pinned here alone. The commands of a verb are those that its snapshot shows as `$ dspy-proact COMMAND`, on
fixed inputs in a folder of their own; times, hashes, versions and paths are masked. A command is added as such a line.
To record anew after that or a change of wording (name verbs to record only those):

    python tests/test_snapshots.py --record [VERB...]
"""

import difflib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from builders.assistants import artefact as assistant_artefact
from builders.dialogues import row
from builders.judges import artefact as judge_artefact
from builders.results import corpus_with, file_with
from builders.riddles import written
from builders.runs import answered, failed, graded, manifest, run_of, spread, trigger
from builders.studies import filled, rows_of

from dspy_proact import cli
from dspy_proact.programs.artefact import write_artefact

RECORD = "DSPY_PROACT_RECORD_SNAPSHOTS"
SNAPSHOTS = Path(__file__).parent / "snapshots"
LONGEST = 120
"""Lines of a command that are kept."""
PROMPT = "$ dspy-proact "


def build(folder):
    """The inputs: runs of models that were never asked, a results file with its corpus, ratings, compiled programs."""
    cases = spread(12)
    grades = ["PASS", "PARTIAL", "FAIL", "FAIL"] * 9
    run_of(folder / "a", zip(cases, grades, strict=True))
    run_of(folder / "b", zip(cases, ["PASS"] * 27 + [None] + ["FAIL"] * 8, strict=True), model="openai/n")
    run_of(folder / "other", [(trigger("elsewhere"), "PASS")])
    short = {"variant": "short", "assistant": {"program": "prompt", "prompt": "0123456789abcdef"}}
    for name, model, passes in (("c", "openai/m", 30), ("d", "openai/n", 20)):
        labels = ["PASS"] * passes + ["FAIL"] * (36 - passes)
        run_of(folder / name, zip(cases, labels, strict=True), model=model, **short)
    both = ("openai/j", "openai/k")
    events = [event for case in cases[:6] for event in (answered(case), *(graded(case, judge=name) for name in both))]
    written(folder / "jury", manifest(*both), cases[:6], [*events[:-1], graded(cases[5], "FAIL", judge=both[1])])
    events = [
        answered(cases[0]),
        graded(cases[0], evidence=["Not in it."]),
        answered(cases[1]),
        failed(cases[2], "empty"),
    ]
    written(folder / "open", manifest(), cases, [*events, failed(cases[1], "unreadable", judge=both[0])])
    file_with(folder)
    corpus_with(folder, row())
    write_artefact(folder / "judge.json", judge_artefact(votes=3, demos=2))
    write_artefact(folder / "assistant.json", assistant_artefact())
    (folder / "asked.txt").write_text("User: I move on Friday.\nAssistant: Good luck.\nUser: Thanks. Any boxes?\n")
    (folder / "pairs.csv").write_text("item,annotator,grade\n")


def masked(text):
    """Without what another day, machine or version changes."""
    for pattern, mask in (
        (r"/\S*/test_\w+/", "/"),
        (r"python -m pytest\.", ""),
        (r"(?<![-\w])\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?(\+00:00)?)?", "DATE"),
        (r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}\b", "HASH"),
        (r"\b\d+(\.\d+)? (s|ms|min|h|seconds|minutes)\b", "TIME"),
        (r"(?m)^(\d+ of \d+ \w+; verdicts: |  control turns: ).*\n", ""),  # progress
    ):
        text = re.sub(pattern, mask, text)
    lines = [line.rstrip() for line in text.splitlines()]
    more = [f"... and {len(lines) - LONGEST} lines more"] * (len(lines) > LONGEST)
    return "".join(f"{line}\n" for line in lines[:LONGEST] + more)


def transcript(proact, recorded):
    """Each command of a snapshot with what it prints, on standard error after a mark, and its exit status."""
    for command in [line.removeprefix(PROMPT) for line in recorded.splitlines() if line.startswith(PROMPT)]:
        status, out, err = proact(*shlex.split(command))
        error = "".join(f"! {line}\n" for line in masked(err).splitlines())
        yield f"{PROMPT}{command}\n{masked(out)}{error}[exit {status or 0}]\n"


@pytest.fixture
def world(proact, proactbench, tmp_path):
    build(tmp_path)
    for name in "ab":
        assert proact("label", "sheet", name, "--out", f"{name}.csv")[0] == 0
        filled(tmp_path / f"{name}.csv", rows_of(tmp_path / f"{name}.csv"), raters=6)


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("path", sorted(SNAPSHOTS.glob("*.txt")), ids=lambda path: path.stem)
def test_a_verb_says_what_was_recorded(proact, path):
    recorded = path.read_text(encoding="utf-8")
    text = "\n".join(transcript(proact, recorded))
    if os.environ.get(RECORD):
        path.write_text(recorded := text, encoding="utf-8")
    changes = difflib.unified_diff(recorded.splitlines(), text.splitlines(), "recorded", "now", lineterm="", n=1)
    assert text == recorded, "\n".join(["record anew if this is meant:", *changes])


def test_each_verb_has_a_snapshot():
    assert {path.stem for path in SNAPSHOTS.glob("*.txt")} == set(cli.proact.commands)


if __name__ == "__main__":
    named = " or ".join(f"[{verb}]" for verb in sys.argv[1:] if verb != "--record")
    # A process of its own: pytest rewrites no module that is imported before it, and says so by an error.
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", __file__, "-k", named]
    sys.exit(subprocess.run(command, env={**os.environ, RECORD: "1"}, check=False).returncode)
