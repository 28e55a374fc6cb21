"""Damaged and forged runs are refused by a merge, by file and line, and nothing is written."""

import os
import shutil
from pathlib import Path

import pytest
from builders.riddle_runs import both, made, of_shard
from builders.riddles import case, cases

from dspy_proact.errors import RunError
from dspy_proact.runs import merge_runs


def change(path: Path, name: str, old: str, new: str) -> None:
    text = (path / name).read_text("utf-8")
    assert old in text
    (path / name).write_text(text.replace(old, new, 1), "utf-8")


HOSTILE = {
    "a call that was changed": (
        lambda path: change(path, "calls.jsonl", "hm", "hmm"),
        "calls.jsonl, line 1: was changed",
    ),
    "a case that was changed": (
        lambda path: change(path, "cases.jsonl", "What is", "Who is"),
        "cases.jsonl, line 1: was",
    ),
    "a case that is missing": (lambda path: (path / "cases.jsonl").write_text(""), "2 of the cases .* are not in it"),
    "no log of calls": (lambda path: (path / "calls.jsonl").unlink(), "calls.jsonl: is missing"),
    "an event in two": (
        lambda path: change(path, "events.jsonl", '"key"', '\n"key"'),
        "events.jsonl, line 1: .*restore",
    ),
    "events that are a folder": (
        lambda path: ((path / "events.jsonl").unlink(), (path / "events.jsonl").mkdir()),
        "events.jsonl: cannot be read: not a regular file",
    ),
    "a message that was changed": (
        lambda path: change(path, "messages.jsonl", '"content":"a"', '"content":"A"'),
        "messages.jsonl, line 2: was changed; restore it",
    ),
    "calls that are a pipe": (
        lambda path: ((path / "calls.jsonl").unlink(), os.mkfifo(path / "calls.jsonl")),
        "calls.jsonl: cannot be read: not a regular file",
    ),
    "no manifest": (lambda path: (path / "manifest.json").unlink(), "no run here"),
    "shards that cannot be": (
        lambda path: change(path, "manifest.json", '"count": 3', '"count": 1000000000'),
        "manifest.json: field 'shards.count'",
    ),
    "sizes that are none": (
        lambda path: change(path, "manifest.json", '"numbers": [', '"numbers": [7,'),
        "manifest.json: field 'shards': shards are numbered from 1 to 3",
    ),
    "an event of another case": (
        lambda path: change(path, "events.jsonl", '"case":"a"', '"case":"z"'),
        "1 of the cases that were answered are not in it, such as 'z'",
    ),
    "no folder": (lambda path: (shutil.rmtree(path), path.write_text("x")), "no run here .*: a file; give the folder"),
    "a lock that is a folder": (
        lambda path: ((path / "lock").unlink(missing_ok=True), (path / "lock").mkdir()),
        None,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_run_that_is_damaged_is_refused_by_file_and_line_and_the_others_are_not_merged(tmp_path: Path, name: str):
    of = [of_shard(number, stored=("assistant", "judge")) for number in (1, 2)]
    first = made(tmp_path / "1", cases("a", "b"), [*both("a"), *both("b")], of[0])
    second = made(tmp_path / "2", cases("c"), both("c"), of[1])
    damage, message = HOSTILE[name]
    damage(first)
    if message is None:
        assert merge_runs([second, first], tmp_path / "all").events == 6
        return
    with pytest.raises(RunError, match=message):
        merge_runs([second, first], tmp_path / "all")


def test_two_cases_of_one_key_are_refused_and_nothing_is_written(tmp_path: Path):
    """A forger can mark a case of his own, though the corpus is the same."""
    paths = [made(tmp_path / name, [case("a", group=name)], both("a")) for name in ("1", "2")]
    with pytest.raises(
        RunError, match=r"2: has another case 'a' than .*1, by another version or since one was changed"
    ):
        merge_runs(paths, tmp_path / "all")
    assert not (tmp_path / "all").exists()
