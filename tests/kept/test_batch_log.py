"""The log of a run's batches: what the next command reads in it, and what it refuses."""

import pytest

from dspy_proact.errors import RunError
from dspy_proact.kept import BATCHES, BatchLog, read_batches


@pytest.fixture
def log(tmp_path):
    return BatchLog(tmp_path)


def test_a_request_is_held_by_its_last_batch_until_its_result_is_used(log, tmp_path):
    first = log.prepare("judge", "m", ["a", "b", "c"], "file-1", None)
    log.created(first, "batch_1")
    log.ended(first)
    log.collected(first, ["a"])
    second = log.prepare("judge", "m", ["b"], "file-2", None)
    for known in (log, BatchLog(tmp_path)):
        holders = [known.holding(name) for name in "abcd"]
        assert [holder and holder.number for holder in holders] == [None, 2, 1, None]
    assert [(batch.id, batch.file, batch.is_running) for batch in read_batches(tmp_path)] == [
        ("batch_1", "file-1", False),
        (None, "file-2", True),
    ]
    log.collected(second, second.requests)
    assert log.holding("b") is None


def test_a_further_batch_has_a_number_of_its_own_also_where_lines_were_deleted(log, tmp_path):
    for name in "abc":
        log.prepare("judge", "m", [name], None, None)
    path = tmp_path / BATCHES
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    assert BatchLog(tmp_path).prepare("judge", "m", ["d"], None, None).number == 4


def test_files_of_a_killed_command_are_deleted_and_never_what_a_link_leads_to(log, tmp_path):
    log.new_file().write_bytes(b"{}")
    BatchLog(tmp_path)
    assert not (tmp_path / "batches").exists()
    (tmp_path / "precious").mkdir()
    (tmp_path / "batches").symlink_to(tmp_path / "precious")
    with pytest.raises(RunError, match="is a link, and what it leads to would be deleted; remove the link"):
        BatchLog(tmp_path)
    assert (tmp_path / "precious").exists()


def test_a_log_without_the_first_line_of_a_batch_is_refused_by_its_line(log, tmp_path):
    log.created(log.prepare("judge", "m", ["a"], None, None), "batch_1")
    path = tmp_path / BATCHES
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    with pytest.raises(RunError, match=r"batches.jsonl, line 1: the first line of batch 1 is missing"):
        BatchLog(tmp_path)
