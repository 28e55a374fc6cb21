"""What a model was trained on, as rows that `export` writes and folders of rewards say."""

import asyncio
import json

import pytest

from dspy_proact import Evaluation, Scope, reward, summarize
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.split import split_of, units_of
from dspy_proact.exchange.training_rows import export_rl, export_sft
from dspy_proact.trained.trained_on import TrainedOn

pytestmark = pytest.mark.usefixtures("proactbench")


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def written(path, *rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    Evaluation("sample").run(folder / "bare")
    Evaluation("sample", system_prompt="Be proactive.").run(folder / "more", Scope(epochs=2))
    return [summarize(folder / name) for name in ("bare", "more")]


def test_exported_rows_say_who_was_trained_on_and_who_graded(runs, tmp_path):
    export_sft(runs, tmp_path / "sft.jsonl")
    rows = lines(tmp_path / "sft.jsonl")
    known = TrainedOn.of([tmp_path / "sft.jsonl"])
    assert (known.rows, known.judges, known.judged) == (len(rows), ("embedded",), True)
    assert {row[field] for row in rows for field in ("key", "group", "unit")} == known.names
    assert not known.without_unit


def test_rows_for_grpo_name_no_judge_and_their_test_rows_are_taken_as_not_used(runs, tmp_path):
    export_rl(runs[:1], tmp_path / "rl.jsonl")
    rows = lines(tmp_path / "rl.jsonl")
    known = TrainedOn.of([tmp_path / "rl.jsonl"])
    assert known.rows == sum(row["split"] == "train" for row in rows)
    assert known.reserved == len(rows) - known.rows > 0
    assert not known.judged
    assert not known.names & {row["unit"] for row in rows if row["split"] == "test"}
    named = TrainedOn.of([tmp_path / "rl.jsonl"], ["openai/gpt-5.4"])
    assert (named.judged, named.judges) == (True, ("openai/gpt-5.4",))


def test_the_folder_of_a_reward_says_both(runs, tmp_path):
    rewarding = reward("proactbench", out=tmp_path / "rewards")
    keys = [*rewarding.cases][:3]
    asyncio.run(rewarding(prompts=[], completions=["That is done."] * 4, key=[*keys, keys[0]]))
    rewarding.close()
    known = TrainedOn.of([tmp_path / "rewards"])
    # The same completion to the same case is one answer; cases that were never completed are not trained on.
    assert (known.rows, known.judges, known.judged) == (3, ("embedded",), True)
    units = units_of(rewarding.grading._declared, rewarding.cases.values())
    assert {*keys, *(units[key] for key in keys)} <= known.names
    assert all(split_of(units[key]) == "train" for key in keys)
    assert not {key for key in rewarding.cases if key not in keys} & known.names
    # With it, rows that name no judge are known to be rewarded.
    export_rl(runs[:1], tmp_path / "rl.jsonl")
    prompts = written(tmp_path / "some.jsonl", *(row for row in lines(tmp_path / "rl.jsonl") if row["key"] in keys))
    known = TrainedOn.of([prompts, tmp_path / "rewards"])
    assert (known.judged, known.judges) == (True, ("embedded",))


def test_a_folder_says_nothing_of_who_rewarded_rows_of_other_people(runs, tmp_path):
    rewarding = reward("proactbench", out=tmp_path / "rewards")
    key = next(iter(rewarding.cases))
    asyncio.run(rewarding(prompts=[], completions=["That is done."], key=[key]))
    rewarding.close()
    row = {"key": "elsewhere__t1", "unit": "somebody else"}
    for sources in (
        [written(tmp_path / "rows.jsonl", row), tmp_path / "rewards"],
        [tmp_path / "rewards", tmp_path / "rows.jsonl"],
    ):
        assert not TrainedOn.of(sources).judged
        assert TrainedOn.of(sources, ["openai/gpt-5.4"]).judged


def test_rows_of_others_say_what_they_can(tmp_path):
    path = written(tmp_path / "rows.jsonl", {"prompt": []}, {"key": "a__t1", "x": 1}, {"unit": "p", "judges": ["j"]})
    known = TrainedOn.of([path])
    assert (known.rows, known.judges, known.judged) == (3, ("j",), False)
    assert known.without_unit == {"": 1, "a__t1": 1}
    assert (known.unknown([]), known.unknown(["a__t1"])) == (2, 1)


def test_what_is_no_file_of_rows_is_refused_by_its_place(tmp_path):
    with pytest.raises(CorpusError, match=r"rows.jsonl, line 2, field 'judges'"):
        TrainedOn.of([written(tmp_path / "rows.jsonl", {"judges": []}, {"judges": "j"})])
    with pytest.raises(CorpusError, match="no such file"):
        TrainedOn.of([tmp_path / "gone.jsonl"])
    (tmp_path / "rows.jsonl").write_text("")
    empty = TrainedOn.of([tmp_path / "rows.jsonl"], ["openai/j"])
    assert (empty.rows, empty.judged) == (0, False)
