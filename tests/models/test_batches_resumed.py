"""Runs in batches that were stopped or killed, or done in parts: they go on, are merged, and pay for nothing twice."""

import asyncio
import gc
import re
from dataclasses import replace

import pytest
from drivers.batch_runs import ANTHROPIC, NAMES, PRICE, QUICK, at, halted, plain, results
from drivers.child import Child
from dspy import lm15
from fakes.server import error

from dspy_proact import Evaluation, Gate, ModelSpec, RunFolder, Scope, Shard, merge_runs, summarize
from dspy_proact.errors import Interrupted, RunError
from dspy_proact.kept import read_batches
from dspy_proact.models.batch.batcher import Batcher
from dspy_proact.models.faults import Caller
from dspy_proact.runs import Observer
from dspy_proact.switch import Switch

pytestmark = pytest.mark.usefixtures("proactbench")


def run_here(folder, assistant, judge, name, requests):
    """What a child does: a run in batches of so many requests."""
    from dspy_proact.benchmarks import proactbench  # noqa: F401

    models = [
        ModelSpec(name=name, api_base=base, params={"max_tokens": 50}, price=PRICE) for base in (assistant, judge)
    ]
    gate = Gate(retries=3, backoff=0.0, batch=replace(QUICK, requests=int(requests)))
    Evaluation("sample", *models, gate=gate).run(folder)


@NAMES
@pytest.mark.parametrize(
    ("event", "number"),
    [("upload", 1), ("create", 1), ("create", 3), ("poll", 1), ("results", 1), ("results", 3), ("poll", 6)],
)
def test_a_driver_that_is_killed_at_any_state_goes_on_and_pays_for_nothing_twice(
    batches, name, event, number, tmp_path
):
    """Batches of 20: three of answers, three of verdicts."""
    if (name, event) == (ANTHROPIC, "upload"):
        pytest.skip("its requests are sent with the creation")
    counted = []

    def kill(happened, _):
        counted.append(happened)
        if counted.count(event) == number and happened == event:
            child.kill()

    batches.event = kill
    child = Child(run_here, tmp_path / "run", batches.assistant, batches.judge, name, 20)
    assert child.wait() == -9
    batches.event = lambda *_: None
    run_here(tmp_path / "run", batches.assistant, batches.judge, name, 20)
    assert (batches.billed, sum(batches.sizes)) == (98, 98)
    assert results(tmp_path / "run") == plain(batches, tmp_path / "plain", name)
    assert not any(batch.is_running for batch in read_batches(tmp_path / "run"))


class Stopping(Observer):
    """Presses Ctrl-C once the first batch is submitted."""

    def __init__(self, evaluation):
        self.notices, self._evaluation = [], evaluation

    def batched(self, progress, news):
        self.notices.append(str(progress))
        self._evaluation._gate.switch.pull(Interrupted("interrupted"))


def test_ctrl_c_leaves_the_batches_to_the_provider_and_the_folder_goes_on_anywhere(batches, tmp_path):
    batches.polls = lambda batch: 10_000
    evaluation = at(batches)
    halt = halted(evaluation, tmp_path / "run", observer=(stopping := Stopping(evaluation)))
    assert isinstance(halt, Interrupted)
    assert stopping.notices[0] == "1 batch with 49 requests submitted"
    (left,) = read_batches(tmp_path / "run")
    assert (left.id, left.is_running, batches.billed) == ("batch_1", True, 0)
    batches.polls = lambda batch: batch.polls
    (tmp_path / "run").rename(tmp_path / "other machine")
    at(batches).run(tmp_path / "other machine")
    assert (batches.sizes, batches.billed) == ([49, 49], 98)


def test_a_creation_that_fails_once_the_run_has_ended_leaves_no_loose_end(tmp_path):
    """Nobody awaits it by then: what waited for it is cancelled, and the batches are not closed yet."""
    loose = []

    class Service:
        most_requests, most_bytes = 10, 1000

        def __init__(self, *_):
            self.begun, self.fails = asyncio.Event(), asyncio.Event()

        def line(self, name, body):
            return body

        async def upload(self, path):
            pass

        async def create(self, path, file):
            self.begun.set()
            await self.fails.wait()
            raise lm15.ServerError("down")

        async def aclose(self):
            pass

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: loose.append(context["message"]))
        gate, service = Gate(batch=QUICK, backoff=0.0), Service()
        gate.open(Switch(), folder=tmp_path)
        batcher = Batcher(gate, Caller("judge", "judge", "m"), lambda *_: service)
        request = asyncio.create_task(batcher.ask("a", "http://x", (), b"{}"))
        await service.begun.wait()
        gate.switch.pull(Interrupted("interrupted"))
        assert isinstance((await asyncio.gather(request, return_exceptions=True))[0], Interrupted)
        service.fails.set()
        while batcher._creating:
            await asyncio.sleep(0)
        gc.collect()
        await batcher.aclose()

    asyncio.run(run())
    gc.collect()
    assert loose == []


def test_what_a_narrower_command_did_not_use_of_a_batch_is_used_by_the_next(batches, tmp_path):
    """49 answers are submitted; a command for 5 of them waits for the batch, and one for all pays for none twice."""
    batches.polls = lambda batch: 10_000
    evaluation = at(batches)
    halted(evaluation, tmp_path / "run", observer=Stopping(evaluation))
    batches.polls = lambda batch: batch.polls
    at(batches).run(tmp_path / "run", Scope(limit=5))
    assert batches.sizes == [49, 5]
    at(batches).run(tmp_path / "run")
    assert (batches.sizes, batches.billed) == ([49, 5, 44], 98)


def test_failures_that_were_used_are_not_used_again_by_the_next_command(batches, tmp_path):
    """Without retries each command gets one answer to each request that has none."""
    batches.fate = lambda batch, line, sent: "expired" if (batch.number, line) == (1, 0) else "answered"
    assert at(batches, retries=0).run(tmp_path / "run", Scope(limit=3)).unscored == 1
    assert at(batches, retries=0).run(tmp_path / "run", Scope(limit=3)).unscored == 0
    assert batches.sizes == [3, 2, 1, 1]


def test_a_batch_of_another_run_that_looks_like_ours_is_none_of_ours(batches, tmp_path):
    """Anthropic's batches have no name. Two runs ask the same 5 answers; the second one's creation fails."""
    at(batches, ANTHROPIC).run(tmp_path / "other", Scope(limit=5))
    batches.failing = [("POST", "messages/batches", error(502))]
    at(batches, ANTHROPIC).run(tmp_path / "run", Scope(limit=5))
    assert (batches.sizes, batches.billed) == ([5, 5, 5, 5], 20)
    # Its first batch may have been created all the same: 5 attempts that are lost.
    assert summarize(tmp_path / "run").usage["assistant"].calls == 10
    # The batch that was taken for ours, by its time and size, is in the log, and was dropped.
    assert len([*read_batches(tmp_path / "run")]) == 3
    assert not any(batch.is_running for batch in read_batches(tmp_path / "run"))


def test_nothing_on_disk_holds_a_key_or_an_address(batches, monkeypatch, tmp_path):
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "sk-secret-of-the-tests")
    at(batches).run(tmp_path / "run", Scope(limit=2))
    assert batches.keys == {"Bearer sk-secret-of-the-tests"}
    log = (tmp_path / "run" / "batches.jsonl").read_text("utf-8")
    assert not re.search("secret|http", log)


# Shards


def test_shards_in_batches_and_merged_are_the_plain_run_of_one_process(batches, tmp_path):
    for number in (1, 2, 3):
        at(batches).run(tmp_path / str(number), Scope(shard=Shard(number=number, count=3)))
    merged = merge_runs([tmp_path / str(number) for number in (1, 2, 3)], tmp_path / "all")
    assert (merged.remarks, merged.shards, batches.billed, (merged.path / "batches.jsonl").exists()) == (
        (),
        None,
        98,
        False,
    )
    assert results(merged.path) == plain(batches, tmp_path / "plain")
    at(batches).run(merged.path)  # it is a run in batches, and has all
    assert (sum(batches.sizes), RunFolder(merged.path).manifest().in_batches) == (98, True)


def test_a_shard_that_waits_for_batches_is_merged_once_they_are_used_and_before_only_as_a_part(batches, tmp_path):
    """Of the second of two shards the answers are submitted, and it is stopped; the first is killed at its very end."""
    shards = [Scope(shard=Shard(number=number, count=2)) for number in (1, 2)]
    paths = [tmp_path / "1", tmp_path / "2"]
    at(batches).run(paths[0], shards[0])
    log = paths[0] / "batches.jsonl"
    log.write_bytes(b"".join(line for line in log.read_bytes().splitlines(True) if b"collected" not in line))
    batches.polls = lambda batch: 10_000
    stopped = at(batches)
    halted(stopped, paths[1], shards[1], Stopping(stopped))
    batches.polls = lambda batch: batch.polls
    waiting = batches.sizes[2]
    sentence = f"2: {waiting} requests are in batches whose results are not here yet (batch_3)"
    with pytest.raises(
        RunError, match=rf"{re.escape(sentence)}; give the command .*, or merge without them by `partial`"
    ):
        merge_runs(paths, tmp_path / "all")
    assert not (tmp_path / "all").exists()
    part = merge_runs(paths, tmp_path / "all", partial=True)
    assert part.remarks[-1].endswith(f"{sentence}: what they reply is not merged, and is billed all the same.")
    at(batches).run(paths[1], shards[1])
    assert merge_runs(paths, part.path).remarks == ()
    assert results(part.path) == plain(batches, tmp_path / "plain")
    assert (sum(batches.sizes), batches.billed) == (98, 98)


def test_a_merged_run_that_waits_for_batches_of_its_own_goes_on_with_them_after_a_further_merge(batches, tmp_path):
    """The shard that was begun first comes later: the names of the merged run's requests stay what they were."""
    first, second = tmp_path / "1", tmp_path / "2"
    at(batches).run(first, Scope(shard=Shard(number=1, count=2)))
    at(batches).run(second, Scope(shard=Shard(number=2, count=2), limit=10))
    manifest = second / "manifest.json"
    manifest.write_text(re.sub('"created": "....', '"created": "2999', manifest.read_text("utf-8")), "utf-8")
    merged = merge_runs([second], tmp_path / "all", partial=True).path
    before, evaluation = sum(batches.sizes), at(batches)
    batches.polls = lambda batch: 10_000
    halted(evaluation, merged, Scope(shard=Shard(number=2, count=2)), Stopping(evaluation))
    batches.polls = lambda batch: batch.polls
    submitted = sum(batches.sizes) - before
    merge_runs([first, second], merged)
    at(batches).run(merged)
    assert (submitted > 0, sum(batches.sizes), batches.billed) == (True, 98, 98)
