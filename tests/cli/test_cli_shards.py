"""`eval --shard` and `merge`: shards at once and merged are the run of one process, and each report says its part."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from drivers.child import Child, command_line
from drivers.terminal import unwrapped
from support.every_run import command, reply
from support.probe_tasks import Size, write_synthetic
from support.provider import SimulatedProvider

from dspy_proact.kept import read_requests
from dspy_proact.runs import RunFolder, read_run


def stages(path: Path) -> dict[str, list[str]]:
    """What a run has, without times, marks and order."""
    folder, seen = RunFolder(path), dict[str, list[str]]()
    seen["cases"] = sorted(case.model_dump_json() for case in folder.cases())
    seen["events"] = sorted(event.model_copy(update={"time": 0.0}).model_dump_json() for event in folder.events())
    plain = {"attempts": (), "mark": ""}
    seen["calls"] = sorted(call.model_copy(update=plain).model_dump_json() for call in folder.calls())
    attempts = chain.from_iterable(call.attempts for call in folder.calls())
    untimed = {"started": 0.0, "latency": 0.0}
    seen["attempts"] = sorted(attempt.model_copy(update=untimed).model_dump_json() for attempt in attempts)
    stored = [call.messages for call in folder.calls() if call.messages]
    seen["requests"] = sorted(json.dumps(one) for one in read_requests(path / "messages.jsonl", stored))
    return seen


def numbers(document: dict[str, Any]) -> dict[str, Any]:
    """A report without its path and its times; of numbers 12 digits, since sums depend on their order."""
    run = document["run"]
    kept = {name: run[name] for name in run if name not in ("path", "created", "seconds", "commit")}
    return json.loads(json.dumps(document | {"run": kept}), parse_float=lambda text: f"{float(text):.12g}")


@pytest.mark.parametrize(
    ("name", "limit", "count"),
    [("proactbench", 24, 8), ("proactiveagent history", 9, 3), ("errands", 9, 3), ("probe embedder", 9, 3)],
)
def test_shards_at_once_and_merged_are_the_run_of_one_process(proact, tmp_path, name, limit, count):
    """On a server that answers equal requests alike: cases, events, calls, messages, usage, price and report.

    Cases of a chain are together, since each is asked with the answers before it; an agent's calls are many.
    """
    (tmp_path / "tasks").mkdir()
    write_synthetic(tmp_path / "tasks", 1, limit, Size(items=10, words=20, actions=4))
    with SimulatedProvider(reply) as provider:
        run = [Child(command_line, *command(name, tmp_path / "one", provider, limit, 4))]
        paths = [tmp_path / f"shard-{number}" for number in range(1, count + 1)]
        for number, path in enumerate(paths, start=1):
            words = command(name, path, provider, limit, 2)
            run.append(Child(command_line, *words, "--shard", f"{number}/{count}"))
        endings = [child.ended() for child in run]
        assert {ended.returncode for ended in endings} <= {0, 3}, [ended.stderr for ended in endings]
        sent = provider.received.total()
        keys = [{case.key for case in RunFolder(path).cases()} for path in paths]
        assert sum(map(len, keys)) == len(set().union(*keys)) == len(list(RunFolder(tmp_path / "one").cases()))
        status, out, _ = proact("merge", *paths, "--out", "all", "--json")
        assert (status, json.loads(out)["remarks"]) == (0, [])
        assert stages(tmp_path / "all") == stages(tmp_path / "one")
        reports = [json.loads(proact("report", path, "--json")[1]) for path in ("all", "one")]
        assert numbers(reports[0]) == numbers(reports[1])
        status, _, err = proact(*command(name, tmp_path / "all", provider, limit, 4))
        assert "Nothing to do" in err
        assert provider.received.total() == sent  # the merged run has all


@pytest.fixture
def shard(done, proactbench):
    """Evaluate the stand-in on a shard of the sample, in the default folder; the folder and standard output."""

    def call(text, *more):
        out = done("eval", "--shard", text, *more)[0]
        number, _, count = text.partition("/")
        (folder,) = Path("runs").glob(f"*-{number}-of-{count}")
        return folder, unwrapped(out)

    return call


def test_a_shard_does_not_depend_on_the_limit_and_all_of_a_limit_are_its_cases(shard, proact):
    few = {case.key for n in (1, 2, 3) for case in RunFolder(shard(f"{n}/3", "--limit", 12)[0]).cases()}
    first = {case.key for case in RunFolder(shard("1/3")[0]).cases()}
    proact("eval", "--limit", 12, "--out", "one")
    assert few == {case.key for case in RunFolder("one").cases()}
    assert len(few) == 12
    assert {case.key for case in RunFolder(shard("1/3", "--limit", 12)[0]).cases()} == first  # a run is never narrowed
    assert len(first & few) < len(first)


def test_the_report_and_the_list_of_a_shard_say_that_it_is_a_part(shard, proact):
    folder, out = shard("2/3")
    count = len(list(RunFolder(folder).cases()))
    assert f"A part of a run: shard 2/3, which has {count} of the 49 cases." in out
    document = json.loads(proact("report", folder, "--json")[1])
    assert document["run"]["shards"] == {"count": 3, "numbers": [2], "cases": [16, 16, 17]}
    (listed,) = json.loads(proact("runs", "--json")[1])
    assert listed["state"] == "complete, shard 2/3"
    proact("report", folder, "--html", "page.html")
    assert "A part of a run: shard 2/3" in Path("page.html").read_text("utf-8")


def test_a_part_that_was_asked_for_by_strata_one_after_another_claims_no_number_of_cases(shard, proact):
    """The 16 of EMERGENT and the 14 of RECOVERY are 30, which no command has asked for."""
    for phase in ("emergent", "RECOVERY"):
        folder, out = shard("1/2", "--phase", phase)
    assert "A part of a run: shard 1/2.\n" in proact("report", folder)[1]
    assert "which has" not in out
    paths = [folder, shard("2/2", "--phase", "EMERGENT")[0]]
    status, _, err = proact("merge", *paths, "--out", "all")
    assert (status, "The shards were asked for different cases" in err) == (0, True)


def test_a_shard_without_a_case_is_done_and_merged(shard, proact):
    """One case is in one of two shards; the other has none, and its run is there all the same."""
    folders = [shard(f"{number}/2", "--limit", 1) for number in (1, 2)]
    (empty,) = [(folder, out) for folder, out in folders if not list(RunFolder(folder).cases())]
    assert "has no score, with 0 triggers" in empty[1]
    assert "Without a score" not in empty[1]
    status, out, err = proact("merge", *(folder for folder, _ in folders), "--out", "all")
    assert (status, out) == (0, "2 runs: 1 case, 2 events and 2 calls added to all.\n")
    assert "Next: dspy-proact report all --html page.html" in err
    assert RunFolder("all").manifest().shards is None
    for number, (folder, _) in enumerate(folders):
        assert proact("rejudge", folder, "--out", f"graded-{number}")[0] == 0
    assert json.loads(proact("merge", "graded-0", "graded-1", "--out", "graded", "--json")[1])["cases"] == 1
    shown = [proact("eval", "--shard", f"{n}/2", "--limit", 1, "--dry-run", "--show-prompt") for n in (1, 2)]
    assert {status for status, _, _ in shown} == {0}
    assert sorted("is sent first" in out for _, out, _ in shown) == [False, True]


def test_a_missing_shard_is_named_with_its_cases_and_filled_in_by_an_evaluation(shard, proact, refused):
    paths = [shard(f"{number}/3")[0] for number in (1, 2)]
    message = "shard 3/3 is missing: 17 cases; name the runs of all shards, or merge without them by --partial"
    assert message in unwrapped(refused("merge", *paths, "--out", "all"))
    status, _, err = proact("merge", *paths, "--out", "all", "--partial")
    assert (status, "shard 3/3 is missing: 17 cases." in err) == (0, True)
    assert "shards 1-2/3, which have 32 of the 49 cases" in unwrapped(proact("report", "all")[1])
    assert "Nothing to do" not in proact("eval", "--out", "all", "--shard", "3/3")[2]
    proact("eval", "--out", "one")
    assert stages(Path("all")) == stages(Path("one"))
    assert RunFolder("all").manifest().shards is None


def test_shards_of_one_folder_at_a_time_are_one_run_and_parts_of_another_size_are_refused(shard, proact, refused):
    for number in (1, 2):
        assert proact("eval", "--shard", f"{number}/2", "--out", "both")[0] == 0
    assert RunFolder("both").manifest().shards is None
    proact("eval", "--shard", "1/3", "--out", "third")
    err = refused("eval", "--shard", "1/2", "--out", "third")
    assert "third: shards of 2 and of 3 do not fit together" in unwrapped(err)


def test_a_rejudging_has_the_shards_of_its_responses_or_makes_its_own(shard, proact, refused):
    paths = [shard(f"{number}/2")[0] for number in (1, 2)]
    for number, path in enumerate(paths, start=1):
        assert proact("rejudge", path, "--out", f"graded-{number}")[0] == 0
        shards = RunFolder(f"graded-{number}").manifest().shards
        assert shards
        assert (shards.numbers, shards.cases) == ((number,), ())  # how many the other has is not known here
        assert f"A part of a run: shard {number}/2.\n" in proact("report", f"graded-{number}")[1]
    assert "has shard 1/2 alone" in unwrapped(refused("rejudge", paths[0], "--shard", "2/2", "--out", "no"))
    proact("merge", *paths, "--out", "all")
    for number in (1, 2):
        assert proact("rejudge", "all", "--shard", f"{number}/2", "--out", f"own-{number}")[0] == 0
    for name in ("graded", "own"):
        assert proact("merge", f"{name}-1", f"{name}-2", "--out", name)[0] == 0
    proact("rejudge", "all", "--out", "one")
    assert stages(Path("graded"))["calls"] == stages(Path("own"))["calls"] == stages(Path("one"))["calls"]
    outcomes = [
        {(o.key, o.label, o.response) for o in read_run(RunFolder(name)).outcomes} for name in ("graded", "own", "one")
    ]
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_existing_answers_are_graded_in_shards(proact, proactbench):
    proact("eval", "--out", "run")
    proact("export", "run", "--format", "csv", "--out", "answers.csv")
    for number in (1, 2):
        words = ["--answers", "answers.csv", "--as", "openai/m", "--corpus", "sample", "--judge", "embedded"]
        assert proact("eval", *words, "--shard", f"{number}/2", "--out", f"part-{number}")[0] == 0
    status, out, _ = proact("merge", "part-1", "part-2", "--out", "all")
    assert (status, "49 cases" in out) == (0, True)


def test_control_cases_and_epochs_are_in_the_shards_too(shard, proact):
    options = ("--controls", "--epochs", 2, "--limit", 10)
    paths = [shard(f"{number}/3", *options)[0] for number in (1, 2, 3)]
    proact("merge", *paths, "--out", "all")
    proact("eval", "--out", "one", *options)
    assert stages(Path("all")) == stages(Path("one"))


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "3/0", "a/b"])
def test_what_is_no_shard_is_refused(refused, text):
    assert "'--shard': is not I/N, a shard of N, such as 1/8 to 8/8" in unwrapped(refused("eval", "--shard", text))


def test_a_dry_run_is_of_the_shard_and_merging_needs_a_folder(proact, proactbench, refused):
    calls = [json.loads(proact("eval", "--shard", f"{n}/3", "--dry-run", "--json")[1])["calls"] for n in (1, 2, 3)]
    assert sum(calls) == 98
    assert len(set(calls)) > 1
    assert "--out: name the folder of the merged run" in refused("merge", "runs/a")
    assert "no such file or folder" in refused("merge", "runs/a", "--out", "all")
