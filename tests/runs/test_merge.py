"""Runs put together: line for line the run that one process makes, whatever the parts and wherever it is killed."""

import json
import random
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from builders.riddle_runs import ALL, LOGS, SHARDS, both, contents, lines, logged, made, of_shard
from builders.riddles import (
    CONTROL_LABELS,
    JUDGE,
    answered,
    case,
    cases,
    failed,
    graded,
    halted,
    identity,
    manifest,
    price,
    response_key,
    verdict_key,
)
from drivers.child import Child, code
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.errors import RunError, UsageError
from dspy_proact.runs import (
    CONTROL,
    Grading,
    Ledger,
    RoleIdentity,
    RunFolder,
    RunWriter,
    Shards,
    StageEvent,
    merge_runs,
    read_run,
)

ENDINGS = {
    "graded": lambda key, epoch: both(key, epoch=epoch),
    "retried": lambda key, epoch: [
        failed(key, "response", "provider", "rate_limit", epoch=epoch),
        *both(key, "LOST", epoch=epoch),
    ],
    "unscored": lambda key, epoch: [failed(key, "response", "content", "empty", epoch=epoch)],
    "ungraded": lambda key, epoch: [
        answered(key, epoch=epoch),
        failed(key, "verdict", "provider", "server", epoch=epoch),
    ],
    "halted": lambda key, epoch: [answered(key, epoch=epoch), halted(verdict_key(key, epoch))],
    "pending": lambda key, epoch: [],
}


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(1, 2))
def test_any_partition_of_a_run_merges_to_the_run(data: st.DataObject, count: int, epochs: int):
    """Whatever became of each case, the logs have the same lines and reports read the same outcomes."""
    endings = data.draw(st.lists(st.sampled_from(sorted(ENDINGS)), min_size=1, max_size=8))
    parts = data.draw(st.lists(st.integers(1, count), min_size=len(endings), max_size=len(endings)))
    of = ALL.model_copy(update={"epochs": epochs, "stored": ("assistant",)})
    listed = [case(f"{number}é\u2028", group=f"g{number % 3}") for number in range(len(endings))]
    events = {
        one.key: [event for epoch in range(1, epochs + 1) for event in ENDINGS[ending](one.key, epoch)]
        for one, ending in zip(listed, endings, strict=True)
    }
    sizes = tuple(parts.count(number) for number in range(1, count + 1))
    with TemporaryDirectory() as name:
        one = made(Path(name, "one"), listed, [event for of_case in events.values() for event in of_case], of)
        shards = list[Path]()
        for number in range(1, count + 1):
            own = [item for item, part in zip(listed, parts, strict=True) if part == number]
            shard = Shards(count=count, numbers=(number,), cases=sizes) if count > 1 else None
            made_here = [event for item in own for event in events[item.key]]
            shards.append(made(Path(name, str(number)), own, made_here, of.model_copy(update={"shards": shard})))
        data.draw(st.randoms()).shuffle(shards)
        merged = merge_runs(shards, Path(name, "all"))
        assert lines(merged.path) == lines(one)
        assert (merged.runs, merged.cases, merged.shards, merged.remarks) == (count, len(listed), None, ())
        assert RunFolder(merged.path).manifest() == RunFolder(one).manifest()
        read = [{(o.key, o.epoch): o for o in read_run(RunFolder(path)).outcomes} for path in (merged.path, one)]
        assert read[0] == read[1]
        before = contents(merged.path)
        assert (again := merge_runs(shards, merged.path)).events == again.calls == again.cases == 0
        assert contents(merged.path) == before


@pytest.fixture
def pair(tmp_path: Path) -> list[Path]:
    """Two of three shards; the third has no case."""
    first = made(tmp_path / "1", cases("a", "b"), [*both("a"), *both("b", "LOST")], of_shard(1))
    return [first, made(tmp_path / "2", cases("c"), both("c"), of_shard(2))]


def test_an_empty_shard_need_not_be_named_and_may_be(pair: list[Path], tmp_path: Path):
    without, empty = merge_runs(pair, tmp_path / "all"), made(tmp_path / "3", [], [], of_shard(3))
    assert without.shards is None
    assert lines(merge_runs([*pair, empty], tmp_path / "more").path) == lines(without.path)
    assert RunFolder(tmp_path / "more").manifest().shards is None


def test_missing_shards_are_named_with_their_cases_and_a_merge_without_them_says_so(pair: list[Path], tmp_path: Path):
    with pytest.raises(
        UsageError, match=r"^shard 1/3 is missing: 2 cases; name .*, or merge without them by `partial`"
    ):
        merge_runs(pair[1:], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    part = merge_runs(pair[1:], tmp_path / "all", partial=True)
    assert part.remarks == ("shard 1/3 is missing: 2 cases.",)
    assert RunFolder(part.path).manifest().shards == SHARDS[1]
    assert merge_runs(pair[:1], part.path).shards is None  # what is there already is not missing
    assert lines(part.path) == lines(merge_runs(pair, tmp_path / "at once").path)


def test_a_run_that_is_no_shard_stands_for_none(pair: list[Path], tmp_path: Path):
    pilot = made(tmp_path / "pilot", cases("z"), both("z"))
    with pytest.raises(UsageError, match="shard 1/3 is missing"):
        merge_runs([pilot, pair[1]], tmp_path / "all")
    assert merge_runs([pilot, *pair], tmp_path / "all").cases == 4
    alone = merge_runs([pilot, made(tmp_path / "more", cases("y"), both("y"))], tmp_path / "two")
    assert (alone.cases, alone.shards) == (2, None)


OTHER = RoleIdentity(model="walker", prompt="aa", decoding={"temperature": 0.5})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"identity": identity(assistant=OTHER)}, 'differs in assistant.model ."traveller" there, "walker" here.'),
        ({"identity": identity(corpus="dd")}, "differs in corpus"),
        ({"labels": ("SOLVED", "LOST")}, "by another version, its labels are others"),
        ({"keeps_inputs": False}, "only one of them keeps the inputs"),
        ({"shards": Shards(count=2, numbers=(2,), cases=(1, 1))}, "shards of 2 and of 3 do not fit together"),
    ],
)
def test_what_is_of_another_run_is_refused_by_what_differs(
    pair: list[Path], tmp_path: Path, changes: dict[str, object], message: str
):
    other = made(tmp_path / "other", cases("d"), both("d"), of_shard(3, **changes))
    with pytest.raises(UsageError, match=message):
        merge_runs([*pair, other], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_control_cases_that_were_graded_in_other_words_are_refused(tmp_path: Path):
    paths = [
        made(
            tmp_path / words,
            [case(words, stratum=CONTROL)],
            [],
            manifest(controls=words, control_labels=CONTROL_LABELS),
        )
        for words in ("ab", "cd")
    ]
    with pytest.raises(RunError, match="were graded in other words, by another version"):
        merge_runs(paths, tmp_path / "all")


def test_equal_results_of_one_stage_count_once_with_the_calls_of_the_first(tmp_path: Path):
    one = made(tmp_path / "1", cases("a", "b"), both("a"))
    later = [event.model_copy(update={"time": 9.0}) for event in both("a")]
    two = made(tmp_path / "2", cases("a", "c"), [*later, *both("c")])
    merged = merge_runs([one, two], tmp_path / "all")
    assert merged.remarks == (
        "2 stages were done in several runs with equal results: one is kept, and the calls of the others not.",
    )
    assert (merged.cases, merged.events, merged.calls) == (3, 4, 4)
    assert lines(one)["events.jsonl"] <= lines(merged.path)["events.jsonl"]


@pytest.mark.parametrize(
    "other",
    [both("a", "LOST"), both("a", words="a road"), [failed("a", "response", "content", "empty")]],
    ids=["grade", "answer", "final failure"],
)
def test_two_results_of_one_stage_are_refused_and_nothing_is_written(tmp_path: Path, other: list[StageEvent]):
    one, two = made(tmp_path / "1", cases("a"), both("a")), made(tmp_path / "2", cases("a"), other)
    with pytest.raises(
        RunError, match=r"2: has another (verdict of sphinx|response) on the case 'a' in epoch 1 than .*1;"
    ):
        merge_runs([one, two], tmp_path / "all")
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize("order", [1, -1])
def test_a_stage_that_failed_in_one_run_has_the_result_of_another(tmp_path: Path, order: int):
    lost = made(tmp_path / "1", cases("a"), [failed("a", "response", "provider", "server")])
    done = made(tmp_path / "2", cases("a"), both("a"))
    merged = merge_runs([lost, done][::order], tmp_path / "all")
    assert {name: lines(merged.path)[name] for name in LOGS[:3]} == lines(done)


def test_a_copy_of_a_run_that_went_on_adds_nothing_of_its_own(pair: list[Path], tmp_path: Path):
    copied = tmp_path / "copied"
    shutil.copytree(pair[1], copied)
    made(pair[1], cases("c"), [graded("c", "LOST", judge_epoch=2)], of_shard(2, judge_epochs=2))
    for order in ([copied, *pair], [*pair, copied]):
        merged = merge_runs(order, tmp_path / f"after {order[0].name}")
        assert lines(merged.path)["events.jsonl"] == lines(pair[0])["events.jsonl"] + lines(pair[1])["events.jsonl"]


def test_shards_that_went_on_are_merged_into_what_is_there_and_what_it_did_itself_stays(tmp_path: Path):
    """Case b failed; the merged run answers it itself, and the shard answers c later, and d, which had failed too."""
    down = [failed(key, "response", "provider", "server") for key in "bd"]
    shard = made(tmp_path / "1", cases(*"abcd"), [*both("a"), *down])
    merged = merge_runs([shard], tmp_path / "all").path
    made(merged, [], both("b"))
    own = lines(merged)
    made(shard, [], [*both("c"), *both("d")])
    again = merge_runs([shard, merged], merged)  # the run itself among them, as `runs/*` names it
    assert (again.runs, again.cases, again.events, again.calls) == (1, 0, 4, 4)
    assert all(own[name] <= lines(merged)[name] for name in own)
    outcomes = {outcome.key: outcome.state for outcome in read_run(RunFolder(merged)).outcomes}
    assert outcomes == dict.fromkeys("abcd", "scored")
    made(shard, [], both("b", "LOST"), ALL.model_copy(update={"epochs": 2}))
    before = contents(merged)
    with pytest.raises(RunError, match="has another verdict of sphinx on the case 'b'"):
        merge_runs([shard], merged)
    assert contents(merged) == before


def test_other_epochs_votes_and_labels_are_widened_or_left_out_and_it_is_said(tmp_path: Path):
    of = [
        of_shard(1, epochs=2, tags={"who": "ann", "at": "home"}, note="first", commit="ab"),
        of_shard(2, judge_epochs=3, tags={"who": "ann", "at": "work"}, controls="ab", control_labels=CONTROL_LABELS),
    ]
    of[1] = of[1].model_copy(update={"shards": Shards(count=3, numbers=(2,), cases=(2, 2, 0))})
    paths = [
        made(tmp_path / str(at), cases(key), both(key), one) for at, (key, one) in enumerate(zip("ab", of, strict=True))
    ]
    merged = merge_runs(paths, tmp_path / "all")
    kept = RunFolder(merged.path).manifest()
    assert (kept.epochs, kept.judge_epochs, kept.controls, kept.tags, kept.note) == (
        2,
        3,
        "ab",
        {"who": "ann"},
        "first",
    )
    assert merged.remarks == (
        "The runs ask for 1 and 2 answers to each case: what the others lack of 2 is pending.",
        "The runs ask for 1 and 3 verdicts of each judge on an answer: what the others lack of 3 is pending.",
        "The shards were asked for different cases, by other limits, strata or control cases: some may be missing.",
        "Left out, since the runs have different ones: tag at.",
        "The runs differ in commit: recorded is that of the run that was begun first.",
    )
    made(merged.path, [], [], of[0].model_copy(update={"shards": None, "tags": {"at": "lab"}}))
    assert not [remark for remark in merge_runs(paths, merged.path).remarks if "Left out" in remark]
    assert RunFolder(merged.path).manifest().tags == {"who": "ann", "at": "lab"}


def test_a_cost_is_not_known_where_the_runs_had_different_prices(tmp_path: Path):
    same, other = price(1e-6, 2e-6, reason="a list"), price(1e-6, 3e-6, reason="a list")
    of = [of_shard(1, judge_prices={JUDGE: same}), of_shard(2, judge_prices={JUDGE: other})]
    of = [one.model_copy(update={"assistant_price": price(reason=f"list {at}")}) for at, one in enumerate(of)]
    merged = merge_runs([made(tmp_path / str(at), [], [], one) for at, one in enumerate(of)], tmp_path / "all")
    kept = RunFolder(merged.path).manifest()
    assert kept.judge_prices[JUDGE].reason == "the merged runs had different prices"
    assert (kept.judge_prices[JUDGE].prompt, kept.assistant_price) == (None, price(reason="list 0"))


def test_a_price_that_is_not_known_is_still_that_of_batches_where_all_runs_were_in_them(tmp_path: Path):
    batch = [price(cost, 2e-6).model_copy(update={"tier": "batch"}) for cost in (1e-6, 2e-6)]
    for second, in_batches in ((batch[1], True), (price(2e-6, 2e-6), False)):
        of = [of_shard(number, assistant_price=one) for number, one in ((1, batch[0]), (2, second))]
        paths = [made(tmp_path / f"{in_batches} {at}", [], [], one) for at, one in enumerate(of)]
        kept = RunFolder(merge_runs(paths, tmp_path / f"{in_batches} all").path).manifest()
        assert (kept.assistant_price.prompt, kept.in_batches) == (None, in_batches)


def test_a_run_that_is_being_written_is_refused_and_so_is_a_folder_that_is(pair: list[Path], tmp_path: Path):
    with RunWriter(pair[0], of_shard(1)), pytest.raises(RunError, match="1: another process is writing this run; wait"):
        merge_runs(pair, tmp_path / "all")
    merged = merge_runs(pair, tmp_path / "all").path
    with RunWriter(merged, ALL), pytest.raises(RunError, match="another process is writing this run"):
        merge_runs(pair, merged)
    assert merge_runs(pair, merged).events == 0  # no lock is left


def test_the_merged_runs_are_not_touched_and_need_not_be_writable(pair: list[Path], tmp_path: Path):
    before = {path: {file: file.stat().st_mtime_ns for file in path.iterdir()} for path in pair}
    for path in pair:
        path.chmod(0o500)
    try:
        merge_runs(pair, tmp_path / "all")
    finally:
        for path in pair:
            path.chmod(0o700)
    assert {path: {file: file.stat().st_mtime_ns for file in path.iterdir()} for path in pair} == before


def test_no_run_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="name the runs to merge"):
        merge_runs([tmp_path / "all"], tmp_path / "all")


def test_a_link_in_the_place_of_the_folder_of_open_stages_is_not_followed(pair: list[Path], tmp_path: Path):
    with RunWriter(pair[0], of_shard(1)) as folder, folder.call_log(Ledger((), Grading([JUDGE]))) as log:
        log.add(logged(answered("d"), "vector").model_copy(update={"role": "embedder"}), briefly=True)
    made(pair[0], cases("d"), [], of_shard(1))
    merged = merge_runs(pair[1:], tmp_path / "all", partial=True).path
    (tmp_path / "precious").mkdir()
    (merged / "open").symlink_to(tmp_path / "precious")
    with pytest.raises(RunError, match="open: is a link; remove it"):
        merge_runs(pair, merged)
    assert not [*(tmp_path / "precious").iterdir()]


def test_a_torn_last_line_is_passed_over_and_one_without_its_end_counts(pair: list[Path], tmp_path: Path):
    events = pair[0] / "events.jsonl"
    complete = merge_runs(pair, tmp_path / "all").path
    events.write_bytes(events.read_bytes().removesuffix(b"\n"))
    assert lines(merge_runs(pair, tmp_path / "unended").path) == lines(complete)
    events.write_bytes(events.read_bytes()[:-5])
    assert merge_runs(pair, tmp_path / "torn").events == 5


def test_replies_of_stages_that_are_open_are_copied_until_these_have_ended(pair: list[Path], tmp_path: Path):
    """A stage that was broken off is not paid for again by whoever goes on with the merged run."""
    key, done = response_key("b"), response_key("a")
    begun = made(tmp_path / "1 open", cases("a", "b"), both("a"), of_shard(1))
    with RunWriter(begun, of_shard(1)) as folder, folder.call_log(Ledger(folder.events(), Grading([JUDGE]))) as log:
        for of in (key, done):
            log.add(logged(answered(of.case), "vector").model_copy(update={"role": "embedder"}), briefly=True)
    merged = merge_runs([begun, pair[1]], tmp_path / "all").path
    assert [path.name for path in (merged / "open").iterdir()] != []
    with RunWriter(merged, ALL) as folder, folder.call_log(Ledger(folder.events(), Grading([JUDGE]))) as log:
        (reply,) = log.replies
        assert (reply.key, reply.parts[0]["text"]) == (key, "vector")
    before = contents(merged)
    assert merge_runs([begun, pair[1]], merged).calls == 0
    assert contents(merged) == before


KILLED = """
import os, signal, sys
from dspy_proact.kept import log
from dspy_proact.runs import merge_runs

left, write = int(sys.argv[1]), log.Log._write
def torn(self, line):
    global left
    left -= 1
    if not left:
        self._file.write(line[:len(line) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, line)
log.Log._write = torn
merge_runs(sys.argv[3:], sys.argv[2])
"""


def test_a_merge_that_is_killed_in_the_middle_of_a_line_ends_with_the_same_files(pair: list[Path], tmp_path: Path):
    """3 cases, 6 calls and 6 events are written; each kill is at a line that is still to come."""
    complete, folder, draw = merge_runs(pair, tmp_path / "whole").path, tmp_path / "all", random.Random(20261129)
    for round_ in range(3):
        left, killed = 15, 0
        while left > 0:
            at = draw.randint(1, min(left, 6))
            ended = Child(code, KILLED, at, folder, *pair).ended()
            assert ended.returncode == -9, ended.stderr
            left, killed = left - at + 1, killed + 1
            if killed == 1:
                shards = json.loads((folder / "manifest.json").read_text("utf-8"))["shards"]
                assert shards["numbers"] == []  # no reader takes it for done
            if killed == 3:
                break
        merge_runs(pair, folder)
        assert contents(folder) == contents(complete), f"round {round_}"
        shutil.rmtree(folder)
