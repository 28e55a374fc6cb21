"""Archives of strangers: what is read of them, and what is refused in a sentence."""

import stat
import threading
import tracemalloc
import zipfile

import pytest

from dspy_proact.errors import CorpusError
from dspy_proact.files.archives import Archive, ZippedFolder

DOCUMENT = {"a/one.txt": b"one " * 500, "two.txt": b"two " * 500}


def made(path, contents=DOCUMENT, how=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", how) as archive:
        archive.mkdir("empty")
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def refusal(path, name="a/one.txt", largest=10_000):
    with pytest.raises(CorpusError) as refused:
        Archive(path, "a zip").read(name, largest)
    return str(refused.value).replace(str(path), "ZIP")


def test_files_are_read_one_at_a_time_by_several_threads(tmp_path):
    archive = Archive(made(tmp_path / "all.zip"), "a zip")
    assert archive.sizes == {"a/one.txt": 2000, "two.txt": 2000}
    read = list[bytes]()
    threads = [
        threading.Thread(target=lambda: read.extend(archive.read(name, 2000) for name in [*DOCUMENT] * 50))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read) == sorted([*DOCUMENT.values()] * 400)
    assert [path.name for path in tmp_path.iterdir()] == ["all.zip"], "nothing is unpacked"


@pytest.mark.parametrize("size", [0, 10, 300, -1])
def test_an_archive_that_is_cut_is_refused(tmp_path, size):
    path = made(tmp_path / "cut.zip")
    path.write_bytes(path.read_bytes()[:size])
    assert refusal(path).startswith("ZIP: not a complete zip: ")
    assert refusal(path).endswith("; give a zip, and download a truncated one again")


def test_a_file_that_is_damaged_or_too_large_is_refused(tmp_path):
    path = made(tmp_path / "all.zip", how=zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"one one", b"one 0ne", 1))
    assert refusal(path).startswith("ZIP, a/one.txt: cannot be unpacked: Bad CRC-32")
    assert refusal(path, "two.txt", largest=1999) == "ZIP, two.txt: larger than 1,999 bytes when unpacked"


def test_a_bomb_that_lies_about_its_size_is_not_unpacked(tmp_path):
    path = made(tmp_path / "bomb.zip", {"a/one.txt": bytes(15 << 20)})
    path.write_bytes(path.read_bytes().replace((15 << 20).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    tracemalloc.start()
    why = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "cannot be unpacked: Bad CRC-32" in why
    assert peak < 4 << 20


@pytest.mark.parametrize("name", ["../one.txt", "/etc/one.txt", "a/../../one.txt", "one\x1b[2J/../x"])
def test_a_path_that_leads_out_of_the_archive_is_refused(tmp_path, name):
    why = refusal(made(tmp_path / "all.zip", DOCUMENT | {name: b"one"}))
    assert why.endswith(": its path leads out of the archive; take it out")
    assert why.isprintable()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_links_files_of_one_name_encryption_and_odd_compression_are_refused(tmp_path):
    link = zipfile.ZipInfo("a/link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    one = made(tmp_path / "link.zip")
    with zipfile.ZipFile(one, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert refusal(one) == "ZIP, a/link.txt: is a link; put the file in its place"
    one = made(tmp_path / "twice.zip")
    with zipfile.ZipFile(one, "a") as archive:
        archive.writestr("two.txt", "another")
    assert refusal(one) == "ZIP, two.txt: is in the archive twice"
    one = made(tmp_path / "secret.zip")
    content = one.read_bytes()
    flags = content.index(b"PK\1\2", content.index(b"PK\1\2") + 1) + 8
    one.write_bytes(content[:flags] + bytes([content[flags] | 1]) + content[flags + 1 :])
    assert refusal(one) == "ZIP, a/one.txt: is encrypted; make the zip without a password"
    odd = "ZIP, a/one.txt: is compressed in a way that is not read; make the zip with deflate"
    assert refusal(made(tmp_path / "odd.zip", how=zipfile.ZIP_LZMA)) == odd


def test_a_file_without_a_name_or_with_an_endless_one_does_no_harm(tmp_path):
    path = made(tmp_path / "odd.zip", DOCUMENT | {"n" * 60_000: b"one"})
    path.write_bytes(path.read_bytes().replace(b"two.txt", b"\0wo.txt"))  # zipfile ends a name at a NUL
    archive = Archive(path, "a zip")
    assert (archive.read("", 10_000), len(archive.source_of("n" * 60_000)) < 500) == (DOCUMENT["two.txt"], True)


def test_files_of_a_folder_are_read_from_its_zips_or_below_it(tmp_path):
    """Whether or not the name of the zip stands in its paths; nothing is read that lies elsewhere."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tmp_path / "inside" / "plain.txt").write_bytes(b"plain")
    (tmp_path / "inside" / "link.txt").symlink_to(tmp_path / "secret.txt")
    archive = Archive(made(tmp_path / "inside" / "all.zip", {"one.txt": b"one", "all/two.txt": b"two"}), "a zip")
    folder = ZippedFolder(tmp_path / "inside", [archive])

    def read(path, largest=10):
        with folder.opened(path, largest) as file:
            return file.read()

    paths = ("one.txt", "all/one.txt", "two.txt", "all/two.txt", "plain.txt")
    assert [read(path) for path in paths] == [b"one", b"one", b"two", b"two", b"plain"]
    assert folder.source_of("two.txt") == f"{tmp_path / 'inside' / 'all.zip'}, all/two.txt"
    for path, problem in (
        ("../secret.txt", "leads out of the folder"),
        (str(tmp_path / "secret.txt"), "leads out of the folder"),
        ("link.txt", "leads out of the folder"),
        ("gone.txt", "is missing"),
        ("n" * 5000, "cannot be read"),
    ):
        with pytest.raises(CorpusError, match=problem):
            read(path)
    for path in ("one.txt", "plain.txt"):
        with pytest.raises(CorpusError, match="larger than 2 bytes"):
            read(path, largest=2)
