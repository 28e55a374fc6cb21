"""Files that are written whole or not at all."""

import os
from pathlib import Path

import pytest
from limits import file_size_limit

from dspy_proact.errors import UsageError
from dspy_proact.kept import replacing, write_file


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        write_file(path, "new")
    return str(caught.value)


@pytest.mark.parametrize("content", ["", "text, 漢字 and 🦉\n", b"\xff\x00\r\n"])
def test_what_is_written_stands_there_alone(tmp_path: Path, content: str | bytes):
    (tmp_path / "file").write_text("what was there " * 100, encoding="utf-8")
    write_file(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names(tmp_path) == {"file"}


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), OSError(5, "broken")])
def test_whatever_goes_wrong_on_the_way_the_file_stays_as_it_was(tmp_path: Path, error: BaseException):
    (tmp_path / "file").write_text("old", encoding="utf-8")

    def write_half() -> None:
        with replacing(tmp_path / "file") as temporary:
            temporary.write_text("half of it", encoding="utf-8")
            assert (tmp_path / "file").read_text(encoding="utf-8") == "old"
            raise error

    with pytest.raises((type(error), UsageError)):
        write_half()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == {"file"}


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_stands_at_the_temporary_name_is_neither_followed_nor_kept(tmp_path: Path, kind: str):
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    temporary = tmp_path / f"file.{os.getpid()}.new"
    temporary.symlink_to("precious") if kind == "link" else temporary.write_text("left by one that was killed")
    write_file(tmp_path / "file", "new")
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "file").read_text(encoding="utf-8") == "new"
    assert names(tmp_path) == {"precious", "file"}


def test_a_place_that_cannot_be_written_is_refused_with_the_mend(tmp_path: Path):
    file = tmp_path / "file"
    file.touch()
    missing = tmp_path / "none" / "x"
    assert (
        refusal(missing) == f"{missing}: cannot be written: there is no folder {str(missing.parent)!r}; create it first"
    )
    assert "cannot be written: Not a directory" in refusal(file / "x")
    assert "cannot be written: Is a directory" in refusal(tmp_path)
    assert "not a path: embedded null byte" in refusal(Path("a\0b"))
    assert "not a path: " in refusal(Path())
    assert names(tmp_path) == {"file"}


def test_a_pipe_or_a_device_is_not_replaced(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file; name another" in refusal(tmp_path / "pipe")
    assert names(tmp_path) == {"pipe"}
    assert (tmp_path / "pipe").is_fifo()


def test_where_there_is_no_room_the_file_stays_as_it_was(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("old", encoding="utf-8")
    mend = "free some disk space and repeat the command"
    with file_size_limit(1000), pytest.raises(UsageError) as caught:
        write_file(file, "x" * 2000)
    assert str(caught.value) == f"{file}: cannot be written: File too large; {mend}"
    assert file.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == {"file"}
