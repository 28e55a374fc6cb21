"""A log: what was said to be kept is read again, whatever kills the writer and however full the disk is."""

import os
import signal
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from drivers.child import Child
from hypothesis import given
from hypothesis import strategies as st
from limits import file_size_limit

from dspy_proact.errors import RunError
from dspy_proact.kept import Log, read_log
from dspy_proact.types import Frozen

AWKWARD = 'line\nfeed, "quotes", \u2028, \x00, \x1b[31m, 漢字 and 🦉'
"""Text that would break a format that is careless about line ends and escapes."""
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


class Note(Frozen):
    text: str
    weight: float = 0.0


def notes(*texts: str) -> list[Note]:
    return [Note(text=text) for text in texts]


def kept(path: Path, *texts: str) -> Path:
    with Log(path, Note) as log:
        for note in notes(*texts):
            log.append(note)
    return path


def texts(path: Path) -> list[str]:
    return [note.text for note in read_log(path, Note)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.jsonl"


# What is kept.


def test_what_is_appended_is_read_in_its_order_a_line_a_record(path: Path):
    assert texts(path) == []
    assert texts(kept(path, "a", AWKWARD, "")) == ["a", AWKWARD, ""]
    assert path.read_bytes().count(b"\n") == 3
    assert texts(kept(path, "b")) == ["a", AWKWARD, "", "b"]


def test_half_a_surrogate_pair_is_kept_as_a_question_mark(path: Path):
    assert texts(kept(path, "a\ud83d")) == ["a?"]


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_what_no_json_holds_is_refused_and_nothing_of_it_kept(path: Path, weight: float):
    with Log(path, Note) as log, pytest.raises(ValueError, match="not JSON compliant"):
        log.append(Note.model_construct(text="a", weight=weight))
    assert path.read_bytes() == b""


def test_threads_append_whole_lines_and_lose_none(path: Path):
    def append(name: int) -> None:
        start.wait()
        for number in range(50):
            log.append(Note(text=f"{name} {number} " + "x" * 500))

    start = threading.Barrier(8)
    with Log(path, Note) as log:
        threads = [threading.Thread(target=append, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = [text.rsplit(" ", 1)[0] for text in texts(path)]
    assert sorted(lines) == sorted(f"{name} {number}" for name in range(8) for number in range(50))
    assert [text for text in lines if text.startswith("3 ")] == [f"3 {number}" for number in range(50)]


# Lines that are torn or damaged.


@given(written=st.lists(TEXTS, max_size=5), more=TEXTS, data=st.data())
def test_any_prefix_loses_no_more_than_its_partial_last_line(written: list[str], more: str, data: st.DataObject):
    with TemporaryDirectory() as folder:
        path = kept(Path(folder, "notes.jsonl"), *written)
        lines = path.read_bytes()
        cut = data.draw(st.integers(0, len(lines)))
        path.write_bytes(lines[:cut])
        # A line is whole when all of it is there, be it without its line feed.
        complete = written[: lines[: cut + 1].count(b"\n")]
        assert texts(path) == complete
        assert texts(kept(path, more)) == [*complete, more]


def test_a_link_in_the_place_of_a_log_is_refused_and_where_it_leads_is_left_as_it_is(path: Path):
    victim = path.with_name("victim")
    victim.write_bytes(b"first\nlast without its end")
    path.symlink_to(victim)
    with pytest.raises(RunError, match=str(path)):
        Log(path, Note)
    assert victim.read_bytes() == b"first\nlast without its end"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_what_is_no_file_is_refused_instead_of_read_for_ever(path: Path, make):
    make(path)
    with pytest.raises(RunError, match="cannot be read"):
        list(read_log(path, Note))


@pytest.mark.parametrize("torn", [b"{", b'{"text": "c"', b"\xf0\x9f", b"null", b"\0" * 70_000, b"x" * 200_000])
def test_a_torn_last_line_is_passed_over_by_readers_and_cut_by_the_writer(path: Path, torn: bytes):
    content = kept(path, "a", "b").read_bytes()
    path.write_bytes(content + torn)
    assert texts(path) == ["a", "b"]
    with Log(path, Note):
        assert path.read_bytes() == content


@pytest.mark.parametrize("damage", [b"{", b"", b"\xff\xfe", b"[1]", b"{}", b'{"text": "a"}{"text": "b"}'])
def test_a_damaged_line_before_the_last_is_named_with_the_mend(path: Path, damage: bytes):
    first, *rest = kept(path, "a", "b").read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([first, damage, *rest]))
    reading = read_log(path, Note)
    assert next(reading).text == "a"
    with pytest.raises(RunError) as caught:
        next(reading)
    assert str(caught.value).startswith(f"{path}, line 2: ")
    assert str(caught.value).endswith("; restore this line, or delete it to go on without it")


# Disks without room.


def appended(log: Log[Note], text: str) -> bool:
    """Whether the log says that it kept a note."""
    try:
        log.append(Note(text=text))
    except RunError as error:
        return "is full" not in str(error) and "disk space" not in str(error)
    return True


def test_a_limit_on_the_size_of_files_cuts_no_line_in_two(path: Path):
    # A line is 200 letters and 25 bytes around them, so that four fit into 1000 bytes.
    with Log(path, Note) as log:
        with file_size_limit(1000):
            kept = [letter for letter in "abcdefgh" if appended(log, letter * 200)]
        assert appended(log, "z" * 200)
    assert kept == [*"abcd"]
    assert texts(path) == [letter * 200 for letter in "abcdz"]


def test_a_log_that_is_removed_while_a_line_is_written_was_removed_and_not_moved(tmp_path, monkeypatch):
    path, write = tmp_path / "notes.jsonl", Log._write

    def removing(log: Log[Note], line: bytes) -> None:
        write(log, line)
        path.unlink()

    with Log(path, Note) as log:
        monkeypatch.setattr(Log, "_write", removing)
        with pytest.raises(RunError, match="was removed; nothing more can be kept in it"):
            log.append(Note(text="a"))


@pytest.mark.parametrize("gone", ["file", "folder"])
def test_a_log_that_was_removed_keeps_nothing_more(tmp_path: Path, gone: str):
    path = tmp_path / "below" / "notes.jsonl"
    path.parent.mkdir()
    with Log(path, Note) as log:
        log.append(Note(text="a"))
        path.unlink()
        if gone == "folder":
            path.parent.rmdir()
        with pytest.raises(RunError, match="was removed; nothing more can be kept in it"):
            log.append(Note(text="b"))
    assert not path.exists()


def test_a_log_that_was_moved_keeps_what_is_on_its_way_and_says_where(tmp_path: Path):
    path = tmp_path / "below" / "notes.jsonl"
    path.parent.mkdir()
    with Log(path, Note) as log:
        path.parent.rename(tmp_path / "moved")
        for text in "ab":
            with pytest.raises(RunError, match=f"was moved to {tmp_path}/moved/notes.jsonl; name its folder"):
                log.append(Note(text=text))
    assert texts(tmp_path / "moved" / "notes.jsonl") == ["a", "b"]


@pytest.mark.parametrize("content", [b"", b"somebody's line\n" * 9])
def test_a_log_that_somebody_else_changed_is_left_alone(path: Path, content: bytes):
    with Log(path, Note) as log:
        log.append(Note(text="a"))
        path.write_bytes(content)
        with pytest.raises(RunError, match="was changed by somebody else"):
            log.append(Note(text="b"))
    assert path.read_bytes() == content


@pytest.mark.parametrize("below", [".", "notes.jsonl"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, below: str):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for path in (tmp_path / "file" / below / "x", tmp_path / "none" / "x", tmp_path):
        with pytest.raises(RunError) as caught:
            Log(path, Note)
        assert str(caught.value).startswith(f"{path}: cannot be written: ")


# Two writers.


def write_and_die(path: str) -> None:
    """What the child of a test does."""
    with Log(Path(path), Note) as log:
        log.append(Note(text="theirs"))
        os.kill(os.getpid(), signal.SIGKILL)


def test_two_do_not_write_one_log_and_a_killed_one_leaves_it_free_and_whole(path: Path):
    with Log(path, Note) as log:
        log.append(Note(text="first"))
        for _ in range(2):
            with pytest.raises(RunError, match="another process is writing it"):
                Log(path, Note)
        assert texts(path) == ["first"]  # reading needs no lock
    assert Child(write_and_die, path).ended().returncode == -signal.SIGKILL
    assert texts(kept(path, "ours")) == ["first", "theirs", "ours"]
