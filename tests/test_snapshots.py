"""What a person reads at the command line: a snapshot for each verb, tests/snapshots/VERB.txt, compared line by line.

Wording is pinned here alone. Each verb runs some commands on fixed inputs in a folder of their own; times, hashes,
versions and paths are masked. To record anew after a change of wording (name verbs to record only those):

    python tests/test_snapshots.py --record [VERB...]
"""

import difflib
import os
import re
import shlex
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

from dspy_proact.programs.artefact import write_artefact

RECORD = "DSPY_PROACT_RECORD_SNAPSHOTS"
SNAPSHOTS = Path(__file__).parent / "snapshots"
LONGEST = 120
"""Lines of a command that are kept."""
MODELS = "--model openai/gpt-4o --judge openai/gpt-5.4"
PARTS = {"optimize": ("judge", "assistant", "show"), "label": ("plan", "sheet", "serve", "export", "import")}
COMMANDS = {
    "agree": """
        agree --explain
        agree --run a --ratings a.csv
        agree --ratings sample --judge openai/gpt-5.4 --dry-run
        agree --pairs pairs.csv
        agree --run gone --ratings a.csv
        agree --ratings a.csv
        agree --judge openai/gpt-5.4
    """,
    "benchmarks": """
        benchmarks
        eval --benchmark proactbnch
    """,
    "compare": """
        compare a b --explain
        compare a jury
        compare a a
        compare a b --ratings a.csv --ratings b.csv
        compare a b --ratings a.csv
        compare a other
    """,
    "eval": f"""
        eval --limit 6 --out run
        eval --limit 6 --out run
        eval --limit 9 --out run
        eval --limit 6 --controls --out controls
        eval {MODELS} --corpus sample --dry-run
        eval {MODELS} --corpus sample --limit 10 --votes 3 --max-usd 1 --dry-run
        eval {MODELS} --corpus sample
        eval --limit 6 --votes 2 --out run
        eval --limit 0
        eval --corpus gone.jsonl
        eval --stratum LATE
        eval --set colour=red
        eval --modle x
    """,
    "export": """
        export a --format csv
        export a --format official
        export a --format official --out a.csv
        export results.jsonl --format csv
    """,
    "label": """
        label plan a
        label plan a --width 1
        label plan a --ratings a.csv
        label sheet a --out sheet.csv
        label sheet a --draw 12 --out drawn.csv
        label sheet a --draw 12 --out drawn.csv
        label sheet a --out a.csv
        label sheet jury --disputed --draw 2 --out disputed.csv
        label export gone.db
        label serve gone
    """,
    "leaderboard": """
        leaderboard
        leaderboard a results.jsonl --explain
    """,
    "optimize": f"""
        optimize judge --ratings sample --dry-run
        optimize judge --ratings sample --judge openai/gpt-5.4 --optimizer gepa --dry-run
        optimize assistant {MODELS} --report-judge openai/gpt-4.1 --corpus sample --dry-run
        optimize assistant {MODELS} --corpus sample
        optimize judge --folds 1
        optimize show judge.json --explain
        optimize show judge.json --diff
        optimize show assistant.json
        optimize show assistant.json --diff
        optimize show assistant.json --as-prompt
        optimize show a
    """,
    "rejudge": """
        rejudge a --judge embedded --out again
        rejudge a --judge openai/gpt-5.4 --dry-run
        rejudge a
        rejudge results.jsonl --judge embedded
        rejudge gone
    """,
    "report": """
        report a --explain --by turn
        report a --ratings a.csv --explain
        report jury
        report open
        report results.jsonl
        report results.jsonl --corpus corpus.jsonl
        report a b --html page.html
        report a b
        report a --by colour
        report gone
        report probe
    """,
    "runs": """
        runs
        runs .
    """,
    "show": """
        show a --limit 4
        show a --grade PASS --limit 2
        show a --trigger d0__t1
        show jury --trigger d0__t1
        show a --beside b --disagree --limit 3
        show a --unscored
        show a --search nowhere
        show a --trigger d9
        show a --grade GOOD
    """,
    "try": """
        try 'When the task is done, offer one next step.' --model embedded
        try --model embedded --case gone
        try --conversation asked.txt --model embedded
        try --judge-cases
        try --conversation gone.txt
    """,
}


def build(folder):
    """The inputs: runs of models that were never asked, a results file with its corpus, ratings, compiled programs."""
    cases = spread(12)
    grades = ["PASS", "PARTIAL", "FAIL", "FAIL"] * 9
    run_of(folder / "a", zip(cases, grades, strict=True))
    run_of(folder / "b", zip(cases, ["PASS"] * 27 + [None] + ["FAIL"] * 8, strict=True), model="openai/n")
    run_of(folder / "other", [(trigger("elsewhere"), "PASS")])
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


def transcript(proact, commands):
    """Each command with what it prints, on standard error after a mark, and its exit status."""
    for command in commands:
        status, out, err = proact(*shlex.split(command))
        error = "".join(f"! {line}\n" for line in masked(err).splitlines())
        yield f"$ dspy-proact {command}\n{masked(out)}{error}[exit {status or 0}]\n"


@pytest.fixture
def world(proact, proactbench, tmp_path):
    build(tmp_path)
    for name in "ab":
        assert proact("label", "sheet", name, "--out", f"{name}.csv")[0] == 0
        filled(tmp_path / f"{name}.csv", rows_of(tmp_path / f"{name}.csv"), raters=6)


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_verb_says_what_was_recorded(proact, verb):
    commands = [line.strip() for line in COMMANDS[verb].strip().splitlines()]
    helps = [f"{verb} {part} --help-all" for part in PARTS[verb]] if verb in PARTS else [f"{verb} --help-all"]
    text = "\n".join(transcript(proact, [*helps, *commands]))
    path = SNAPSHOTS / f"{verb}.txt"
    if os.environ.get(RECORD):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    recorded = path.read_text(encoding="utf-8")
    changes = difflib.unified_diff(recorded.splitlines(), text.splitlines(), "recorded", "now", lineterm="", n=1)
    assert text == recorded, "\n".join(["record anew if this is meant:", *changes])


if __name__ == "__main__":
    os.environ[RECORD] = "1"
    named = [word for word in sys.argv[1:] if word != "--record"]
    sys.exit(pytest.main(["-q", "-n", "0", __file__, "-k", " or ".join(f"[{verb}]" for verb in named)]))
