"""A run on disk: what is written is read again, whatever kills the writer."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import (
    Riddle,
    answered,
    as_format_one,
    call,
    case,
    cases,
    failed,
    failed_call,
    graded,
    identity,
    manifest,
    written,
)

from dspy_proact.errors import RunError
from dspy_proact.runs import Case, Event, RoleIdentity, RunFolder, RunWriter, latest
from dspy_proact.runs.folder import LongView

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


def hold(path: Path) -> None:
    """Write a run until somebody kills this process: what the child of a test does."""
    with RunWriter(path, manifest()) as folder:
        folder.add_cases(cases("a"))
        folder.record(EVENTS[0])
        print("held", flush=True)
        sys.stdin.read()


@contextmanager
def another_writer(path: Path) -> Generator[subprocess.Popen[str]]:
    """A process that is writing the run, from when it says so."""
    command = [sys.executable, __file__, str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_cases_and_events_are_read_as_they_were_written(tmp_path: Path):
    asked = [case("a", group="g", stratum="NUMBER", page=3, author="Anon"), case(AWKWARD)]
    read = written(tmp_path / "deep" / "run", manifest(), asked, EVENTS)
    first, second = read.cases()
    assert (first.key, first.group, first.stratum) == ("a", "g", "NUMBER")
    assert first.view == {"text": "What is a?"}
    assert first.meta == {"page": 3, "author": "Anon"}
    assert (second.key, second.meta) == (AWKWARD, {})
    assert tuple(read.events()) == EVENTS
    assert read.manifest() == manifest()
    assert read.exists


def test_a_long_view_stays_on_disk_until_it_is_looked_at(tmp_path: Path):
    long = Case("long", "g", "RHYME", Riddle(text="word " * 20_000))
    short, left = written(tmp_path / "run", manifest(), [case("a"), long], EVENTS).cases_of(set())
    assert (short.view, type(left.view)) == ({"text": "What is a?"}, LongView)
    assert dict(left.view) == {"text": "word " * 20_000}


def test_a_long_view_that_was_changed_since_is_told(tmp_path: Path):
    long = Case("long", "g", "RHYME", Riddle(text="word " * 20_000))
    (left,) = written(tmp_path / "run", manifest(), [long]).cases_of(set())
    assert left.mark
    kept = tmp_path / "run" / "cases.jsonl"
    kept.write_text(kept.read_text(encoding="utf-8").replace(left.mark, "0" * len(left.mark)), encoding="utf-8")
    with pytest.raises(RunError, match="line 1: was changed while it was read"):
        left.view["text"]


def test_one_line_is_one_case_or_event(folder: Path):
    assert (folder / "cases.jsonl").read_bytes().count(b"\n") == 2
    assert (folder / "events.jsonl").read_bytes().count(b"\n") == 3


def test_an_event_can_be_read_as_soon_as_it_is_recorded(tmp_path: Path):
    with RunWriter(tmp_path / "run", manifest()) as writer:
        for count, event in enumerate(EVENTS, start=1):
            writer.record(event)
            assert tuple(RunFolder(tmp_path / "run").events()) == EVENTS[:count]


def test_the_last_event_of_a_stage_is_the_one_that_counts():
    first, again, other = failed("b", "response", "provider", "server"), answered("b"), answered("b", epoch=2)
    assert latest([first, other, again]) == {again.key: again, other.key: other}


def test_where_no_run_was_begun_there_is_nothing_to_read(tmp_path: Path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "missing", tmp_path / "file", tmp_path / "file" / "below"):
        assert not RunFolder(path).exists
        with pytest.raises(RunError, match=r"no run here"):
            RunFolder(path).manifest()


@pytest.mark.parametrize("name", ["cases.jsonl", "events.jsonl"])
@pytest.mark.parametrize("torn", [b"{", b'{"key": "c"', b"\xf0\x9f", b"null"])
def test_a_torn_last_line_is_passed_over_by_readers_and_cut_by_the_writer(folder: Path, name: str, torn: bytes):
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole + torn)
    assert [record.key for record in RunFolder(folder).cases()] == ["a", "b"]
    assert tuple(RunFolder(folder).events()) == EVENTS
    with RunWriter(folder, manifest()) as writer:
        assert (folder / name).read_bytes() == whole
        writer.add_cases(cases("c"))
        writer.record(answered("c"))
    assert [record.key for record in RunFolder(folder).cases()] == ["a", "b", "c"]
    assert tuple(RunFolder(folder).events()) == (*EVENTS, answered("c"))


@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=5), data=st.data())
def test_any_prefix_of_the_events_loses_no_more_than_its_partial_last_line(words: list[str], data: st.DataObject):
    events = tuple(answered(f"case {number}", words=text) for number, text in enumerate(words))
    with TemporaryDirectory() as temporary:
        path = Path(temporary, "run")
        file = path / "events.jsonl"
        content = (written(path, manifest(), events=events).path / "events.jsonl").read_bytes()
        prefix = content[: data.draw(st.integers(0, len(content)))]
        file.write_bytes(prefix)
        # A line that lacks only its line feed is whole, and no event holds another one.
        lacks_its_feed = content[len(prefix) :].startswith(b"\n")
        kept = events[: prefix.count(b"\n") + lacks_its_feed]
        assert tuple(RunFolder(path).events()) == kept
        written(path, manifest(), events=[EVENTS[2]])
        assert tuple(RunFolder(path).events()) == (*kept, EVENTS[2])


@pytest.mark.parametrize("name", ["cases.jsonl", "events.jsonl"])
@pytest.mark.parametrize("damage", [b"{", b"", b"\xff\xfe", b"[1]", b"{}", b'{"key": 1, "colour": "red"}'])
def test_a_damaged_line_in_the_middle_is_named_by_file_and_line(folder: Path, name: str, damage: bytes):
    first, _, *rest = (folder / name).read_bytes().split(b"\n")
    (folder / name).write_bytes(b"\n".join([first, damage, *rest, b""]))
    with pytest.raises(RunError) as caught:
        _ = (*RunFolder(folder).cases(), *RunFolder(folder).events())
    assert str(caught.value).startswith(f"{folder / name}, line 2: ")


def test_a_damaged_field_is_named(folder: Path):
    content = (folder / "events.jsonl").read_text(encoding="utf-8")
    (folder / "events.jsonl").write_text(content.replace('"latency":0.5', '"latency":"slow"', 1), encoding="utf-8")
    with pytest.raises(RunError, match=r"events\.jsonl, line 1: field 'calls\.0\.latency': "):
        list(RunFolder(folder).events())


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"\xff"])
def test_a_damaged_manifest_is_named_and_the_run_not_begun_anew(folder: Path, content: bytes):
    (folder / "manifest.json").write_bytes(content)
    before = contents(folder)
    for use in (lambda: RunFolder(folder).manifest(), lambda: RunWriter(folder, manifest())):
        with pytest.raises(RunError, match=r"manifest\.json: "):
            use()
    assert contents(folder) == before


def test_a_run_of_an_older_format_is_refused_by_its_field_and_left_alone(folder: Path):
    raw = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(as_format_one(raw)), encoding="utf-8")
    before = contents(folder)
    for use in (lambda: RunFolder(folder).manifest(), lambda: RunWriter(folder, manifest())):
        with pytest.raises(RunError, match=r"manifest\.json: field 'format': "):
            use()
    assert contents(folder) == before


def test_a_run_of_another_identity_is_refused_naming_every_difference_and_touching_nothing(folder: Path):
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b'{"torn')
    before = contents(folder)
    other = identity(
        corpus="dd", assistant=RoleIdentity(model="traveller", prompt="zz", decoding={"temperature": 0.5, "seed": 1})
    )
    with pytest.raises(RunError) as caught:
        RunWriter(folder, manifest(identity=other))
    assert "differs in assistant.decoding.seed, assistant.prompt, corpus; name another" in str(caught.value)
    assert contents(folder) == before
    with RunWriter(folder, manifest()):  # the refusal did not keep the lock
        pass


def test_what_is_not_identity_may_change_and_the_first_record_of_it_is_kept(folder: Path):
    with RunWriter(folder, manifest(created="later", backend="litellm", versions={"python": "4"})):
        pass
    assert RunFolder(folder).manifest() == manifest()


@pytest.mark.parametrize("name", ["epochs", "judge_epochs"])
@pytest.mark.parametrize(("first", "second", "kept"), [(1, 3, 3), (3, 1, 3), (2, 2, 2)])
def test_epochs_widen_and_never_shrink(tmp_path: Path, name: str, first: int, second: int, kept: int):
    for epochs in (first, second):
        written(tmp_path / "run", manifest(**{name: epochs}))
    assert RunFolder(tmp_path / "run").manifest() == manifest(**{name: kept})


def test_epochs_and_judge_epochs_widen_each_for_itself(tmp_path: Path):
    written(tmp_path / "run", manifest(epochs=3, judge_epochs=1))
    written(tmp_path / "run", manifest(epochs=1, judge_epochs=2))
    assert RunFolder(tmp_path / "run").manifest() == manifest(epochs=3, judge_epochs=2)


def test_only_new_cases_are_added_in_the_order_of_asking(folder: Path):
    before = (folder / "cases.jsonl").read_bytes()
    with RunWriter(folder, manifest()) as writer:
        writer.add_cases(cases("c", "b", "a", "d"))
        writer.add_cases(cases("d", "c"))
    assert [record.key for record in RunFolder(folder).cases()] == ["a", "b", "c", "d"]
    assert (folder / "cases.jsonl").read_bytes().startswith(before)


def test_a_second_writer_is_refused_while_the_first_writes(tmp_path: Path):
    with RunWriter(tmp_path / "run", manifest()), pytest.raises(RunError, match="another process is writing"):
        RunWriter(tmp_path / "run", manifest())
    with RunWriter(tmp_path / "run", manifest()):
        pass


def test_a_killed_writer_leaves_the_run_free_and_readable(tmp_path: Path):
    path = tmp_path / "run"
    with another_writer(path) as other:
        with pytest.raises(RunError, match="another process is writing"):
            RunWriter(path, manifest())
        assert tuple(RunFolder(path).events()) == EVENTS[:1]  # reading needs no lock
        other.kill()  # SIGKILL
        other.wait()
        written(path, manifest(), events=EVENTS[1:])
    assert tuple(RunFolder(path).events()) == EVENTS


def test_a_writer_that_was_killed_before_its_manifest_leaves_a_folder_that_can_be_used(tmp_path: Path):
    for name in ("lock", "manifest.json.4711.new"):
        (tmp_path / name).touch()
    assert tuple(written(tmp_path, manifest(), events=EVENTS).events()) == EVENTS


@pytest.mark.parametrize("name", ["thesis.txt", ".hidden", "events.jsonl"])
def test_a_folder_with_anything_but_a_run_in_it_is_refused_and_left_alone(tmp_path: Path, name: str):
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match=r"not empty and not a run; name another folder with --out"):
        RunWriter(tmp_path, manifest())
    assert contents(tmp_path) == {name: b"mine"}


def test_a_file_called_lock_does_not_make_a_folder_a_run(tmp_path: Path):
    (tmp_path / "lock").touch()
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match="not a run"), RunWriter(tmp_path, manifest()):
        pass


def test_results_whose_manifest_is_lost_are_not_taken_for_those_of_another_run(folder: Path):
    (folder / "manifest.json").unlink()
    with pytest.raises(RunError), RunWriter(folder, manifest(identity=identity(corpus="dd"))):
        pass


def test_an_empty_folder_is_taken(tmp_path: Path):
    assert written(tmp_path, manifest(), cases("a")).exists


@pytest.mark.parametrize("below", [".", "run", "deep/run"])
def test_a_file_in_place_of_the_folder_or_above_it_is_named(tmp_path: Path, below: str):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    path = tmp_path / "file" / below
    with pytest.raises(RunError, match="cannot be written") as caught:
        RunWriter(path, manifest())
    assert str(caught.value).startswith(f"{path}: ")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["lock", "cases.jsonl", "events.jsonl"])
def test_a_folder_in_place_of_a_file_of_the_run_is_named(folder: Path, name: str):
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir()
    with pytest.raises(RunError) as caught:
        RunWriter(folder, manifest())
    assert str(caught.value).startswith(str(folder))
    (folder / name).rmdir()
    with RunWriter(folder, manifest()):  # the refusal did not keep the lock
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RunError, match="cannot be written"):
            RunWriter(tmp_path / "run", manifest())
    finally:
        tmp_path.chmod(0o700)


@contextmanager
def room(size: int) -> Generator[None]:
    """Let no file grow beyond a size, as a full disk would: the write that crosses it is cut short."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def recorded(writer: RunWriter, event: Event) -> bool:
    """Whether the writer says that it kept the event."""
    try:
        writer.record(event)
    except (OSError, RunError):
        return False
    return True


def test_an_event_for_which_the_disk_has_no_room_is_not_said_to_be_kept(folder: Path):
    with RunWriter(folder, manifest()) as writer:
        with room((folder / "events.jsonl").stat().st_size + 20):
            kept = recorded(writer, answered("b"))
        assert not kept
    assert tuple(RunFolder(folder).events()) == EVENTS


def test_events_after_one_for_which_the_disk_had_no_room_do_not_run_into_it(folder: Path):
    with RunWriter(folder, manifest()) as writer:
        with room((folder / "events.jsonl").stat().st_size + 20):
            recorded(writer, answered("b"))
        then = (answered("c"),) if recorded(writer, answered("c")) else ()
    assert tuple(RunFolder(folder).events()) == (*EVENTS, *then)


if __name__ == "__main__":
    hold(Path(sys.argv[1]))
