"""The authors' archive of outputs: 15 agents, the word null, and the counts of the published results files."""

import csv
import json
import zipfile
from collections import Counter

import pytest
from watched import row

from dspy_proact.benchmarks.proactiveagent.outputs import OFFICIAL, assistance_of, read_outputs
from dspy_proact.benchmarks.proactiveagent.report import published_rows
from dspy_proact.benchmarks.proactiveagent.turns import Assistance, Verdict, graded
from dspy_proact.errors import CorpusError

WRITTEN_NULLS = {
    "claude-3-sonnet-20240229": 67,
    "deepseek-7b-chat": 36,
    "llama3.1-8b": 26,
    "gpt-3.5-turbo": 24,
    "gpt-4o": 10,
    "llama3-8b": 7,
    "qwen2-72b-instruct": 7,
    "llama3.1-70b": 5,
    "qwen2-7b": 2,
    "gpt-4o-mini": 1,
    "llama3-70b": 1,
}
"""Proposals that are the word null or None, of 227 turns."""
UNANSWERED = {"claude-3-5-sonnet": 21}
"""Turns with the corpus's own candidates in place of an output."""


def test_the_archive_has_15_agents_whose_silence_gives_the_published_counts(data):
    """The evaluator counted each written null, and each turn without an output, as a proposal."""
    agents = read_outputs(data / "proactiveagent" / "traces.zip")
    published = {row.name: row for row in published_rows()}
    assert len(agents) == 15
    assert len({agent.case_set.sha256 for agent in agents}) == 1
    for agent in agents:
        name = agent.identity.model
        proposing = sum(bool(stage.answer and stage.answer["proposals"]) for stage in agent.stages)
        failed = sum(stage.failure is not None for stage in agent.stages)
        assert (len(agent.stages), failed) == (227, UNANSWERED.get(name, 0))
        counted = proposing + failed + WRITTEN_NULLS.get(name, 0)
        assert published[name].scores["acted"] == pytest.approx(counted / 227)
    assert {row.name for row in published_rows()} - {agent.identity.model for agent in agents} == {"activenoagent"}


def test_by_the_upstream_rule_all_15_agents_propose_as_often_as_their_published_rows(data):
    from dspy_proact.benchmarks.proactiveagent.report import published_counts
    from dspy_proact.benchmarks.proactiveagent.turns import ProactiveAgentSettings

    archive, rule = data / "proactiveagent" / "traces.zip", ProactiveAgentSettings(upstream_rule=True)
    for agent in read_outputs(archive, settings=rule):
        kinds = {case.key: case.stratum for case in agent.case_set.cases}
        acted = Counter((kinds[stage.key.case], bool(stage.answer["proposals"])) for stage in agent.stages)
        for kind, (tp, fp, tn, fn) in published_counts()[agent.identity.model].items():
            assert (acted[kind, True], acted[kind, False]) == (tp + fp, tn + fn)
        assert agent.settings["upstream_rule"] is True


def test_a_judge_that_repeats_the_published_verdicts_gives_the_published_results_files(data):
    """Of each file the counts are known, so that a judge can be told how often to accept what: the sixteen files."""
    from dspy_proact.benchmarks.proactiveagent.report import published_counts

    measures = {"Recall": "recall", "Precision": "precision", "Accuracy": "accuracy", "F1-Score": "f1"}
    for name, kinds in published_counts().items():
        with (data / "proactiveagent" / "results" / f"{name}.csv").open() as file:
            official = {line["Category"]: line for line in csv.DictReader(file)}
        both = {"real_coding": [kinds["coding"]], "real_writing": [kinds["writing"]], "real_average": [*kinds.values()]}
        for category, cells in both.items():
            tp, fp, tn, fn = (sum(item) for item in zip(*cells, strict=True))
            result = totals(tp, fp, tn, fn)
            line = official[category]
            assert int(line["Total Events"]) == tp + fp + tn + fn
            for title, measure in measures.items():
                assert float(line[title]) == pytest.approx(result[measure], abs=1e-6)
            assert float(line["False-Alarm"]) == pytest.approx(result["false_alarm"], abs=1e-6)
            assert float(line["Accept Rate"]) == pytest.approx(result["accept_rate"], abs=1e-6)


def totals(tp, fp, tn, fn):
    """Measures of grades that are made as in a run."""

    def turns(count, proposals, accepted):
        verdict = Verdict(reason="", accepted=accepted, confidence=0.5)
        return [graded(Assistance(proposals=proposals), (verdict,), cost=1.0)] * count

    grades = [*turns(tp, ("x",), True), *turns(fp, ("x",), False), *turns(tn, (), True), *turns(fn, (), False)]
    parts = [grade.parts for grade in grades]
    table = Counter((part["wanted"], part["acted"]) for part in parts)
    hit, alarm, missed = table[1, 1], table[0, 1], table[1, 0]
    acted = [part for part in parts if part["acted"]]
    return {
        "recall": hit / (hit + missed),
        "precision": hit / (hit + alarm),
        "f1": 2 * hit / (2 * hit + alarm + missed),
        "accuracy": sum(grade.score for grade in grades) / len(grades),
        "false_alarm": sum(part["false_alarm"] for part in acted) / len(acted),
        "accept_rate": sum(part["accept_rate"] for part in acted) / len(acted),
    }


def test_published_rows_are_in_order_and_say_where_the_readme_differs():
    rows = published_rows()
    assert [row.name for row in rows][:2] == ["qwen2-72b-instruct", "claude-3-sonnet-20240229"]
    assert rows[0].scores["score"] == pytest.approx(145 / 227)
    assert [row.cases for row in rows] == [227] * 16
    by_name = {row.name: row for row in rows}
    assert by_name["gpt-4o"].scores["recall"] == 1
    assert by_name["gpt-4o"].notes == ("the README has recall 98.11, precision 48.15, accuracy 49.78, f1 64.6",)
    # qwen2-7b always proposes: its F1 is the closed form of its precision.
    always = by_name["qwen2-7b"].scores
    assert (always["acted"], always["f1"]) == (1, pytest.approx(2 * always["precision"] / (1 + always["precision"])))


# Archives of a test


def archive(path, agent="any", without=(), **rows):
    with zipfile.ZipFile(path, "w") as made:
        for name in OFFICIAL:
            if name not in without:
                message = rows.get(name.removesuffix(".json"), [row("one", agent_response=["Do it."])])
                made.writestr(
                    f"eval/traces_new/{agent}/{name}", message if isinstance(message, str) else json.dumps(message)
                )
        made.writestr("eval/traces_new/any/code_3.json", "of no published score")
    return path


def test_what_an_agent_did_is_read_as_a_proposal_as_silence_or_as_nothing(tmp_path):
    from dspy_proact.benchmarks.proactiveagent.corpus import Row

    other = {"other_infomation": {"Purpose": "to work", "Response": "Shall I?", "Thoughts": "none of ours"}}
    null, task = Assistance(proposals=("null",)), Assistance(proposals=("candidate_task",))
    for inputs, read in ((["null"], null), ([None], Assistance()), ({"candidate_task": ["Do it."]}, task)):
        assert assistance_of(Row.model_validate(row("one", agent_response=inputs)), upstream=True) == read
    for inputs, read in (
        ([], Assistance()),
        (["null"], Assistance()),
        ([None], Assistance()),
        ([" Do it. "], Assistance(proposals=("Do it.",))),
        ([{"Operation": "search"}], Assistance(proposals=('{"Operation": "search"}',))),
        ({"candidate_task": ["Do it."]}, None),
        ("Do it.", None),
    ):
        assert assistance_of(Row.model_validate(row("one", agent_response=inputs))) == read
    message = assistance_of(Row.model_validate(row("one", agent_response=["Do it."], **other)))
    assert (message.purpose, message.message) == ("to work", "Shall I?")


def test_archives_that_cannot_be_used_are_refused(tmp_path):
    path = tmp_path / "traces.zip"
    path.write_bytes(b"PK none")
    faults = [(path, "not a complete zip")]
    faults.append((tmp_path / "nowhere.zip", "there is no such file"))
    faults.append((archive(tmp_path / "few.zip", without=["writing_16.json"]), "lacks writing_16.json"))
    faults.append((archive(tmp_path / "cut.zip", code_11='[{"observation"'), "code_11.json, line 1: not JSON"))
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as made:
        made.writestr("eval/code_11.txt", "nothing")
    faults.append((tmp_path / "empty.zip", "holds no outputs of an agent"))
    content = archive(tmp_path / "whole.zip").read_bytes()
    (tmp_path / "half.zip").write_bytes(content[: len(content) // 2])
    faults.append((tmp_path / "half.zip", "not a complete zip"))
    (tmp_path / "name.zip").write_bytes(
        archive(tmp_path / "e.zip", agent="é").read_bytes().replace(b"\xc3\xa9", b"\xff\xff")
    )
    faults.append((tmp_path / "name.zip", "not a complete zip"))
    with zipfile.ZipFile(archive(tmp_path / "twice.zip"), "a") as made:
        made.writestr("eval/traces_old/any/code_11.json", "[]")
    faults.append((tmp_path / "twice.zip", "an agent of this name has such a file already"))
    for location, problem in faults:
        with pytest.raises(CorpusError) as refused:
            read_outputs(location)
        assert problem in str(refused.value)


def test_every_agent_of_an_archive_makes_a_run_of_its_own(proact, tmp_path):
    path = archive(tmp_path / "traces.zip", agent="one", code_11=[row("one", agent_response={"candidate_task": []})])
    with zipfile.ZipFile(path, "a") as made:
        for name in OFFICIAL:
            made.writestr(f"eval/traces_new/other/{name}", json.dumps([row("one", agent_response=["null"])]))
    of = ("--benchmark", "proactiveagent", "--judge", "embedded")
    status, out, _ = proact("rejudge", path, *of, "--out", "all", "--json")
    runs = json.loads(out)
    assert (status, [run["run"]["model"] for run in runs]) == (3, ["one", "other"])  # no output at one turn of one
    assert runs[0]["turns"]["unscored_reasons"] == {"response: missing": 1}
    assert [run["overall"]["measures"]["acted"]["value"] for run in runs] == [1, 0]
    paths = [run["run"]["path"] for run in runs]
    board = json.loads(proact("leaderboard", *paths, "--benchmark", "proactiveagent", "--json")[1])
    assert len(board["rows"]) == 18
    (alike,) = board["runs_alike"]
    assert {row["path"] for row in alike} == set(paths)
    assert [row["rank"] for row in alike] == sorted(row["rank"] for row in alike)
    assert all(low <= row["rank"] <= high for row in alike for low, high in [row["rank_range"]])
    message = proact("leaderboard", *paths, "--benchmark", "proactiveagent", "--explain")[1]
    assert "runs judged by embedded" in " ".join(message.split())
    assert proact("rejudge", path, *of, "--out", "all", "--json")[0] == 3
    status, out, _ = proact("rejudge", path, *of, "--set", "upstream_rule=true", "--out", "published", "--json")
    assert (status, [run["overall"]["measures"]["acted"]["value"] for run in json.loads(out)]) == (0, [1, 1])
    for verb in (("rejudge", paths[0]), ("eval",)):  # the answers of a run were read already
        assert "--set upstream_rule" in proact(*verb, *of, "--set", "upstream_rule=true")[2]
    assert "holds a run" in proact("rejudge", path, *of, "--out", paths[0])[2]
    assert "--corpus" in proact("rejudge", path, *of, "--corpus", "sample")[2]
