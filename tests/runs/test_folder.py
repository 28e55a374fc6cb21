"""A run on disk: what is written is read again, whatever kills the writer."""

import hashlib
import json
from pathlib import Path

import pytest
from builders.riddles import (
    CONTROL_LABELS,
    Riddle,
    answered,
    call,
    case,
    cases,
    failed,
    failed_call,
    graded,
    manifest,
    written,
)

from dspy_proact.errors import RunError
from dspy_proact.runs import CONTROL, Case, RunFolder, RunWriter, StoredView

AWKWARD = 'line\nfeed, "quotes", \u2028, \x00, \x1b[31m, 漢字 and 🦉'
"""Text that would break a format that is careless about line ends and escapes."""
EVENTS = (
    answered("a", call(cached_tokens=3), words=AWKWARD),
    graded("a", "CLOSE", call("judge"), verified=False),
    failed("b", "response", "provider", "rate_limit", failed_call(error="rate_limit"), failed_call()),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with two cases and three events."""
    return written(tmp_path / "run", manifest(), cases("a", "b"), EVENTS).path


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_cases_and_events_are_read_as_they_were_written(tmp_path: Path):
    listed = [case("a", group="g", stratum="NUMBER", page=3, author="Anon"), case(AWKWARD)]
    read = written(tmp_path / "deep" / "run", manifest(), listed, EVENTS)
    first, second = read.cases()
    assert (first.key, first.group, first.stratum) == ("a", "g", "NUMBER")
    assert first.view == {"text": "What is a?"}
    assert first.meta == {"page": 3, "author": "Anon"}
    assert (second.key, second.meta) == (AWKWARD, {})
    assert tuple(read.events()) == EVENTS
    assert read.manifest() == manifest()
    assert read.exists


def test_a_view_stays_on_disk_until_it_is_looked_at(tmp_path: Path):
    tricky = Riddle(text='word","meta":{}, {"view":1}, ,"view":{"text":"no"},"meta":{"page":2} ' * 9)
    listed = [case("a"), Case('k,"view":', "g", "RHYME", tricky), case("c"), case("d")]
    first, second, third, fourth = written(tmp_path / "run", manifest(), listed, EVENTS).cases_of(set())
    assert type(first.view) is type(second.view) is StoredView
    assert (dict(first.view), dict(second.view)) == ({"text": "What is a?"}, {"text": tricky.text})
    kept = tmp_path / "run" / "cases.jsonl"
    kept.write_text(kept.read_text(encoding="utf-8").replace("What is c", "What is x") + " ", encoding="utf-8")
    with pytest.raises(RunError, match="line 3: was changed while it was read"):
        third.view["text"]
    kept.write_text("  " + kept.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(RunError, match="line 4: was changed while it was read"):
        fourth.view["text"]


def test_views_of_two_runs_are_equal_by_their_text_and_by_what_they_say(tmp_path: Path):
    runs = [written(tmp_path / name, manifest(), cases("a", "b")) for name in ("one", "same", "formatted")]
    kept = tmp_path / "formatted" / "cases.jsonl"
    kept.write_text(kept.read_text(encoding="utf-8").replace(":", ": "), encoding="utf-8")
    (one, another), (same, _), (formatted, _) = (run.cases() for run in runs)
    assert one.view == same.view == formatted.view == {"text": "What is a?"} != another.view
    digests = [view.digest for view in (one.view, same.view, another.view) if isinstance(view, StoredView)]
    assert digests[0] == digests[1] != digests[2]


def test_a_run_with_marks_as_they_were_made_at_first_is_read_and_its_changes_are_seen(folder: Path):
    lines = [json.loads(line) for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in lines:
        del line["mark"]
        rest = json.dumps([manifest().identity.corpus, line], sort_keys=True, ensure_ascii=False)
        line["mark"] = hashlib.sha256(rest.encode()).hexdigest()[:32]
    (folder / "cases.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert [dict(case.view) for case in RunFolder(folder).cases()] == [{"text": "What is a?"}, {"text": "What is b?"}]
    lines[1]["view"]["text"] = "What is c?"
    (folder / "cases.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    with pytest.raises(RunError, match="line 2: was changed after the run wrote it"):
        list(RunFolder(folder).cases())


@pytest.mark.parametrize("name", ["epochs", "judge_epochs"])
@pytest.mark.parametrize(("first", "second", "kept"), [(1, 3, 3), (3, 1, 3), (2, 2, 2)])
def test_epochs_widen_and_never_shrink(tmp_path: Path, name: str, first: int, second: int, kept: int):
    for epochs in (first, second):
        written(tmp_path / "run", manifest(**{name: epochs}))
    assert RunFolder(tmp_path / "run").manifest() == manifest(**{name: kept})


def test_only_new_cases_are_added_in_the_order_of_asking(folder: Path):
    before = (folder / "cases.jsonl").read_bytes()
    with RunWriter(folder, manifest()) as writer:
        writer.add_cases(cases("c", "b", "a", "d"))
        writer.add_cases(cases("d", "c"))
    assert [record.key for record in RunFolder(folder).cases()] == ["a", "b", "c", "d"]
    assert (folder / "cases.jsonl").read_bytes().startswith(before)


@pytest.mark.parametrize(
    ("first", "second", "kept"), [(None, "ab", "ab"), ("ab", None, "ab"), ("ab", "ab", "ab"), (None, None, None)]
)
def test_the_prompt_of_control_cases_is_kept_once_they_are_asked_for(
    tmp_path: Path, first: str | None, second: str | None, kept: str | None
):
    for controls in (first, second):
        written(tmp_path / "run", manifest(controls=controls))
    assert RunFolder(tmp_path / "run").manifest() == manifest(controls=kept)


def test_another_prompt_of_control_cases_is_refused_with_the_mend_and_nothing_is_touched(tmp_path: Path):
    path = written(tmp_path / "run", manifest(controls="ab"), [case("c", stratum=CONTROL)], [answered("c")]).path
    before = contents(path)
    with pytest.raises(RunError, match=r"leave `scope.controls` out, or name another folder with `out`"):
        RunWriter(path, manifest(controls="cd", epochs=3))
    assert contents(path) == before
    written(path, manifest(controls=None), [], [graded("c", "CHATTY")])  # neither the lock nor the way out is lost


def test_a_run_without_control_cases_is_widened_by_them_with_their_labels(tmp_path: Path):
    written(tmp_path, manifest(), cases("a"))
    written(tmp_path, manifest(controls="ab", control_labels=CONTROL_LABELS), [case("c", stratum=CONTROL)])
    assert RunFolder(tmp_path).manifest().control_labels == CONTROL_LABELS
