"""Batches of a provider that lies, loses and sends rubbish: no line ends a run, and none is paid for without end."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from drivers.batch_runs import ANTHROPIC, NAMES, OPENAI, at, halted, plain, results
from fakes.server import Answer

from dspy_proact import RunFolder, Scope
from dspy_proact.errors import ProviderDown, SetupFault, StorageFault
from dspy_proact.runs import Observer

pytestmark = pytest.mark.usefixtures("proactbench")
RESULTS = re.compile(r"GET (files/\S+/content|messages/batches/\S+/results)")


def results_by(change):
    """Changes files of results: each line of a list of lines."""

    def rewrite(path, body):
        return b"\n".join(change(body.splitlines())) if RESULTS.fullmatch(path) else body

    return rewrite


@NAMES
def test_results_of_requests_that_were_not_sent_are_lost_and_the_requests_are_not_sent_without_end(
    batches, name, tmp_path
):
    """With one retry each of 3 requests is in two batches, whatever these answer."""
    batches.rewrite = results_by(
        lambda lines: [re.sub(rb'"custom_id": "\w{4}', b'"custom_id": "0000', one) for one in lines]
    )
    halt = halted(at(batches, name, retries=1), tmp_path / "run", Scope(limit=3))
    assert "no answer. network: 'the batch ended without a result of this request" in str(halt)
    assert batches.sizes == [3, 3]


RUBBISH = [
    b"{",
    b"[" * 100_000,
    b"[]",
    b"null",
    b"   ",
    b"\xff\xfe\x00",
    b'{"custom_id": "\\ud800", "response": null, "result": {"type": "expired"}}',
    b'{"custom_id": ["a"], "response": {"status_code": 200}, "result": {"type": "succeeded", "message": {}}}',
    b'{"response": {"status_code": 200, "body": {}}, "result": {"type": "succeeded", "message": {}}}',
    b'{"custom_id": "/etc/passwd", "response": {"status_code": 200, "body": {}}, "result": {"type": "expired"}}',
    b'{"custom_id": "a", "response": {"status_code": 200, "body": "' + b"a" * 30_000 + b'"}}',
]


@NAMES
def test_lines_that_are_no_results_are_passed_over_and_a_long_one_is_not_read_at_once(
    batches, name, monkeypatch, tmp_path
):
    from dspy_proact.models.batch import batching

    monkeypatch.setattr(batching, "LONGEST", 10_000)
    batches.rewrite = results_by(lambda lines: [*RUBBISH, *lines, *RUBBISH, RUBBISH[0]])
    at(batches, name).run(tmp_path / "run", Scope(limit=3))
    assert (batches.sizes, batches.billed) == ([3, 3], 6)


@NAMES
def test_a_result_that_comes_twice_counts_once(batches, name, tmp_path):
    batches.rewrite = results_by(lambda lines: lines * 2)
    at(batches, name).run(tmp_path / "run")
    assert (batches.sizes, batches.billed) == ([49, 49], 98)
    assert results(tmp_path / "run") == plain(batches, tmp_path / "plain", name)


def test_a_status_that_no_answer_has_is_a_failure_of_the_server(batches, tmp_path):
    """Of 10 answers the first nine have such a status."""
    statuses = [True, 0, -5, 10**30, 302, 100, "200", None, 2.5]

    def rewrite(path, body):
        if path != "GET files/output-1/content":
            return body
        rows = [json.loads(line) for line in body.splitlines()]
        for row, status in zip(rows, statuses, strict=False):
            row["response"]["status_code"] = status
        return b"\n".join(json.dumps(row).encode() for row in rows)

    batches.rewrite = rewrite
    done = at(batches, retries=0).run(tmp_path / "run", Scope(limit=10))
    failures = [event.failure.reason for event in RunFolder(tmp_path / "run").events() if event.failure]
    assert (done.unscored, failures) == (9, ["server"] * 9)


@pytest.mark.parametrize(("name", "backend"), [(OPENAI, "auto"), (OPENAI, "litellm"), (ANTHROPIC, "auto")])
def test_a_lost_answer_counts_as_the_most_that_it_can_have_cost(batches, name, backend, tmp_path):
    """Of two answers one is lost, and answered in the next batch: 4 calls of USD 0.025, and one of 50 tokens or less.

    The limit of tokens is 50, at USD 0.002 each; the prompt, of which nothing is known, comes on top.
    """
    lost = re.compile(r"GET (files/output-1/content|messages/batches/batch_1/results)")
    batches.rewrite = lambda path, body: b"\n".join(body.splitlines()[1:]) if lost.fullmatch(path) else body
    evaluation = at(batches, name, backend=backend, usd=1000.0)
    assert evaluation.run(tmp_path / "run", Scope(limit=2)).unscored == 0
    assert (evaluation.spent.calls, sum(batches.sizes)) == (5, 5)
    assert evaluation.spent.usd > 4 * 0.025 + 50 * 0.002
    attempts = [attempt.error for call in RunFolder(tmp_path / "run").calls() for attempt in call.attempts]
    assert sorted(filter(None, attempts)) == ["network"]


def test_a_state_that_is_not_known_is_waited_for(batches, tmp_path):
    """Else the requests would be sent again while they are answered."""
    words = iter(["queued", "paused for now", "in_progress"])

    def rewrite(path, body):
        if re.fullmatch(r"GET batches/batch_1", path) and (word := next(words, None)):
            return json.dumps({"id": "batch_1", "status": word}).encode()
        return body

    batches.rewrite = rewrite
    at(batches).run(tmp_path / "run", Scope(limit=2))
    assert (batches.sizes, batches.billed) == ([2, 2], 4)


def test_another_id_and_false_counts_change_nothing(batches, tmp_path):
    notices = []

    class Noting(Observer):
        def batched(self, progress, news):
            notices.append(progress)

    def rewrite(path, body):
        if not path.startswith("GET batches/"):
            return body
        counts = {"total": -1, "completed": 10**12 if len(notices) % 2 else -(10**12), "failed": True}
        return json.dumps(json.loads(body) | {"id": "batch_9", "request_counts": counts}).encode()

    batches.rewrite, batches.polls = rewrite, lambda batch: 3
    at(batches).run(tmp_path / "run", Scope(limit=2), Noting())
    assert (batches.sizes, batches.billed) == ([2, 2], 4)
    assert {(progress.requests, progress.done) for progress in notices} == {(2, 0), (2, 2)}


def test_a_batch_that_failed_with_results_gives_them(batches, tmp_path):
    batches.rewrite = lambda path, body: (
        body.replace(b'"completed"', b'"failed"') if path.startswith("GET batches/") else body
    )
    at(batches).run(tmp_path / "run", Scope(limit=2))
    assert (batches.sizes, batches.billed) == ([2, 2], 4)


@NAMES
@pytest.mark.parametrize("identity", ["../../v1/models", "x\n\t?é\u202e#", "@elsewhere.invalid/"])
def test_an_id_is_one_part_of_an_address(batches, name, identity, tmp_path):
    """The server of the tests knows no such batch or file: what it was asked for was under its own path."""
    hidden = json.dumps(identity)[1:-1].encode()
    batches.rewrite = lambda path, body: body.replace(b"batch_1", hidden) if path.startswith("POST") else body
    halt = halted(at(batches, name), tmp_path / "run", Scope(limit=2))
    assert isinstance(halt, SetupFault)
    assert "does not know batch" in str(halt)
    assert not {"GET /assistant/v1/models", "GET /v1/models"} & {*batches.on_http}


@NAMES
@pytest.mark.parametrize("where", ["batches", "results"])
def test_a_redirect_is_not_followed(batches, name, where, tmp_path):
    path = "(messages/)?batches/batch_1" if where == "batches" else ".*(content|results)"
    batches.failing = [("GET", path, Answer(status=302, headers={"Location": batches.judge + "/batches/batch_1"}))]
    halt = halted(at(batches, name), tmp_path / "run", Scope(limit=2))
    assert "redirects are not followed" in str(halt)
    assert not [line for line in batches.on_http if "/judge/" in line]


def test_results_that_never_end_are_read_up_to_a_bound_also_while_they_are_unpacked(batches, monkeypatch, tmp_path):
    from dspy_proact.models.batch import batch_client

    monkeypatch.setattr(batch_client, "_LONGEST_RESULTS", 10_000)
    bomb = Answer(raw=gzip.compress(b" " * 10**7), headers={"Content-Encoding": "gzip"})
    batches.failing = [("GET", ".*content", bomb)] * 20
    halt = halted(at(batches), tmp_path / "run", Scope(limit=2))
    assert isinstance(halt, ProviderDown)
    assert "the results of batch batch_1 failed 11 times" in str(halt)
    assert "more than 0 MiB in one answer" in str(halt)


def test_a_full_disk_ends_the_run_at_once_and_says_so(batches, monkeypatch, tmp_path):
    """The results do not fit; once there is room, the same command reads them."""
    from dspy_proact.models.batch.batch_client import BatchClient

    download = BatchClient.download

    async def full(self, url, path, **options):
        await download(self, url, Path("/dev/full"), **options)

    monkeypatch.setattr(BatchClient, "download", full)
    halt = halted(at(batches), tmp_path / "run", Scope(limit=3))
    assert isinstance(halt, StorageFault)
    assert "No space left on device" in str(halt)
    monkeypatch.undo()
    at(batches).run(tmp_path / "run", Scope(limit=3))
    assert (batches.sizes, batches.billed) == ([3, 3], 6)


def test_a_file_in_the_place_of_the_folder_of_requests_ends_the_run(batches, tmp_path):
    def event(name, _):
        if name == "poll":
            shutil.rmtree(tmp_path / "run" / "batches")
            (tmp_path / "run" / "batches").write_text("")

    batches.event = event
    halt = halted(at(batches), tmp_path / "run", Scope(limit=3))
    assert isinstance(halt, StorageFault)
    assert "batches: cannot be written: File exists" in str(halt)
