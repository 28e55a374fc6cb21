"""People's votes: the official counts and defects, rows that contradict themselves, and the split that is refused."""

import json
from collections import Counter
from pathlib import Path

import pytest
from builders.studies import rows_of, sheet_with
from fakes.server import Answer
from watched import inputs_of, judging

from dspy_proact.benchmarks.proactiveagent.votes import Vote, Votes, load_votes
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.people import parts_of
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.report.voted import voted_rows
from dspy_proact.stats import classification_estimate

TRAIN, TEST = "train_data.jsonl", "test_data.jsonl"


@pytest.fixture(scope="module")
def votes(request) -> Votes:
    import os
    from pathlib import Path

    if not (folder := os.environ.get("DSPY_PROACT_DATA")):
        pytest.skip("needs the public data: set DSPY_PROACT_DATA")
    return load_votes(str(Path(folder) / "proactiveagent"), window=50)


def of(votes: Votes, part: str) -> list[Vote]:
    return [vote for vote in votes.rows if vote.part == part]


def test_the_official_counts(votes):
    train, test = of(votes, TRAIN), of(votes, TEST)
    assert (len(train), len(test), len(votes.turns.cases)) == (1629, 120, 313)
    assert Counter(vote.category for vote in train) == {
        "Correct-Detection (CD)": 474,
        "False-Alarm (FA)": 913,
        "Missed-Need (MN)": 93,
        "Correct-Rejection (CR)": 149,
    }
    assert set(Counter(vote.category for vote in test).values()) == {30}
    assert [sum(vote.valid for vote in part) for part in (train, test)] == [623, 60]
    assert Counter(len(vote.votes) for vote in train) == {3: 1436, 2: 193}
    assert Counter(len(vote.votes) for vote in test) == {3: 120}
    proposals = [vote for vote in votes.rows if vote.proposal]
    assert (len(proposals), len({vote.proposal for vote in proposals})) == (1447, 1443)
    assert len({case.group for case in votes.turns.cases}) == 16
    of_turn = Counter(vote.turn for vote in proposals)
    assert sum(count == 5 for count in of_turn.values()) == 268


def test_the_official_split_holds_out_no_context(votes):
    train, test = ({vote.turn for vote in of(votes, part)} for part in (TRAIN, TEST))
    assert sum(vote.turn in train for vote in of(votes, TEST)) == 120
    assert test <= train


def confusion(pairs):
    count = Counter(pairs)
    return count[True, True], count[False, True], count[True, False], count[False, False]


def scores(pairs):
    """Accuracy, F1 and kappa of (gold, said)."""
    tp, fp, fn, tn = confusion(pairs)
    cases = [[(float(gold), float(counts))] for gold, counts in pairs]
    groups = [str(number) for number in range(len(pairs))]
    kappa = classification_estimate(cases, groups, "kappa").value
    return (tp + tn) / len(pairs), 2 * tp / (2 * tp + fp + fn) if tp else 0.0, kappa


def test_a_look_up_without_any_text_beats_the_published_judge(votes):
    """It reads from the training part whether help is needed in the context, and knows nothing else."""
    needed = {vote.turn: vote.help_needed for vote in of(votes, TRAIN)}
    pairs = [(vote.valid, needed[vote.turn] == bool(vote.proposal)) for vote in of(votes, TEST)]
    accuracy, f1, kappa = scores(pairs)
    assert (round(accuracy, 3), round(f1, 3), round(kappa, 2)) == (0.925, 0.93, 0.85)
    right = Counter(
        vote.category for vote, (gold, counts) in zip(of(votes, TEST), pairs, strict=True) if gold == counts
    )
    assert sorted(right.values()) == [21, 30, 30, 30]
    assert right["False-Alarm (FA)"] == 21


def test_labels_of_silence_contradict_the_votes(votes):
    silent = [vote for vote in of(votes, TRAIN) if not vote.proposal and vote.valid]
    majority = Counter((vote.share > 0.5) - (vote.share < 0.5) for vote in silent)
    assert (len(silent), majority[-1], majority[0], majority[1]) == (149, 126, 19, 4)
    of_test = [vote for vote in of(votes, TEST) if not vote.proposal and vote.valid]
    assert {sum(vote.votes) for vote in of_test} <= {2}


def test_a_judge_that_votes_as_one_annotator_has_the_leave_one_out_figures(votes):
    """As `agree` counts them: one of three votes is the judge's, the other two are people's; and as its own row."""
    grades = [row for row in votes.rows if row.proposal]
    part, groups = parts_of(benchmark_named("proactiveagent"))[0], {}
    values, counts, everybody = {}, {}, {}
    for number, row in enumerate(grades):
        words = ["ACCEPTED" if vote else "REJECTED" for vote in row.votes]
        everybody[f"{number}"] = words
        for index in range(len(words)) if len(words) == 3 else ():
            key = f"{number}/{index}"
            values[key], counts[key] = [*words[:index], *words[index + 1 :]], words[index]
    groups = {key: grades[int(key.partition("/")[0])].turn.partition("/")[0] for key in [*values, *everybody]}
    judge = voted_rows("judge", part, 3, grades=values, levels=counts, likely={}, groups=groups)[0]
    *_, person = voted_rows("x", part, 3, grades=everybody, levels=everybody_says(everybody), likely={}, groups=groups)
    for row in (judge, person):
        assert (row.votes or row.answers, round(row.share.value, 3), round(row.kappa.value, 3)) == (2315, 0.658, 0.272)


def everybody_says(everybody):
    return dict.fromkeys(everybody, "ACCEPTED")


def test_votes_become_grades_without_those_on_silence_unless_asked_for(votes):
    grades = votes.human_grades(silence=False)
    assert len(grades) == sum(len(vote.votes) for vote in votes.rows if vote.proposal)
    assert all(grade.answer.proposals for grade in grades)
    assert {grade.rater for grade in grades} == {"annotator 1", "annotator 2", "annotator 3"}
    assert len(votes.human_grades(silence=True)) == sum(len(vote.votes) for vote in votes.rows)


# Rows that cannot be used

EVENTS = [{"time": "1", "event": "one"}, {"time": "2", "event": "two"}]
GOOD = {
    "obs": EVENTS,
    "pred_task": "Do it.",
    "annotation": [True, True, False],
    "valid": True,
    "help_needed": False,
    "category": "Correct-Detection (CD)",
}
SILENT = {**GOOD, "pred_task": None, "category": "Correct-Rejection (CR)"}


def written(folder, *rows, name="votes.jsonl"):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder)


def test_rows_are_read_with_the_word_null_as_silence(tmp_path):
    read = load_votes(written(tmp_path, GOOD, {**SILENT, "pred_task": "null"}), window=1)
    assert [(vote.proposal, vote.share) for vote in read.rows] == [("Do it.", 2 / 3), ("", 2 / 3)]
    (case,) = read.turns.cases
    assert [event.event for event in case.view.events] == ["two"]


BAD = {
    "valid against the votes": ([{**GOOD, "valid": False}], "line 1, field 'valid': is false, and 2 of 3 votes accept"),
    "a tie that is valid": ([{**GOOD, "annotation": [True, False]}], "'valid': is true, and 1 of 2 votes accept"),
    "silence against need": ([{**SILENT, "help_needed": True}], "'valid': is true, and silence is right where no help"),
    "another category": ([{**GOOD, "category": "False-Alarm (FA)"}], "the row is a Correct-Detection (CD)"),
    "no category": ([{**GOOD, "category": "Good"}], "line 1, field 'category'"),
    "no votes": ([{**GOOD, "annotation": []}], "field 'annotation': the list should not be empty"),
    "a vote of 1": ([{**GOOD, "annotation": [1, 1, 0]}], "field 'annotation[0]'"),
    "no events": ([{**GOOD, "obs": []}], "field 'obs'"),
    "need of one turn": ([GOOD, {**GOOD, "pred_task": "Else.", "help_needed": True}], "line 2, field 'help_needed'"),
    "twice": ([GOOD, GOOD], "line 2, field 'pred_task': line 1 has votes on it already"),
    "no chain": (
        [GOOD, {**GOOD, "obs": [EVENTS[0], {"time": "2", "event": "else"}]}],
        "line 2, field 'obs': its events are not those of the trace",
    ),
    "long": ([{**GOOD, "obs": [{"time": "1", "event": "x" * 10**6}]}], "1,000,001 characters"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_row_that_contradicts_itself_or_another_is_one_sentence_with_its_line(tmp_path, fault):
    rows, problem = BAD[fault]
    with pytest.raises(CorpusError) as refused:
        load_votes(written(tmp_path, *rows), window=50)
    assert problem in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("name", [TRAIN, TEST])
def test_half_of_the_official_split_is_refused(tmp_path, name):
    written(tmp_path, GOOD, name=name)
    for spec in (tmp_path, tmp_path / name):
        with pytest.raises(CorpusError, match="half of the official split: every context of its test part stands"):
            load_votes(str(spec), window=50)


def test_where_there_are_no_votes_what_would_be_some_is_said(tmp_path):
    with pytest.raises(CorpusError, match=r"there are no votes in it; give the folder that holds train_data\.jsonl"):
        load_votes(str(tmp_path), window=50)


def test_sheets_of_a_run_are_read_in_every_form_and_are_no_votes(proact, done, tmp_path):
    assert proact("eval", "--benchmark", "proactiveagent", "--limit", 4, "--out", "run")[0] == 0
    assert proact("label", "sheet", "run", "--out", "sheets/ann.csv")[0] == 0
    keys = [row["item"] for row in rows_of(Path("sheets/ann.csv"))]
    rows = [{"item": key, "annotator": "ann", "grade": "ACCEPTED"} for key in keys]
    Path("sheet.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    sheet_with(Path("sheets/ann.csv"), rows)
    for named in ("sheet.jsonl", "sheets"):
        out, err = done("report", "run", "--ratings", named, "--json")
        assert json.loads(out)["corrected"]["overall"]["micro"]["rated"] == 4
        status, out, err = proact("agree", "--run", "run", "--ratings", named, "--json")
        assert (status, json.loads(out)["ratings"]["ratings"]) == (0, 4), err


def test_agree_sets_the_judge_beside_the_votes_of_a_folder(proact, server, tmp_path):
    """The judge accepts "good" and is sure of it by .8, else by .3: shares of votes 1, 1/3 and 0 on three turns."""
    obs = [{"time": "1", "event": f"event {number}"} for number in range(3)]
    lines = [("good", [True] * 3), ("good one", [True, False, False]), ("bad", [False] * 3)]
    rows = [
        {**GOOD, "obs": obs[: number + 1], "pred_task": text, "annotation": votes, "valid": votes[1]}
        for number, (text, votes) in enumerate(lines)
    ]
    silent = {**SILENT, "obs": obs[:1]}
    for row in rows:
        row["category"] = "Correct-Detection (CD)" if row["valid"] else "False-Alarm (FA)"
    folder = written(tmp_path, *rows, silent)

    def answer(sent):
        good = "good" in inputs_of(sent)["proposal"]
        return Answer(judging(good, 0.8 if good else 0.3))

    server.script = answer
    models = ("--judge", "hosted_vllm/any", "--judge-api-base", server.judge)
    of = ("agree", "--benchmark", "proactiveagent", "--ratings", folder, *models)
    status, out, err = proact(*of, "--json")
    document = json.loads(out)
    assert (status, len(server.sent), document["ratings"]["raters"]) == (0, 3, 3), err
    values = {row["name"]: row for row in document["voted"]}
    assert (values["hosted_vllm/any"]["answers"], values["hosted_vllm/any"]["share"]["value"]) == (
        3,
        pytest.approx(2 / 3),
    )
    assert values["hosted_vllm/any"]["brier"]["value"] == pytest.approx((0.04 + (0.8 - 1 / 3) ** 2 + 0.09) / 3)
    assert set(values) == {"hosted_vllm/any", "always ACCEPTED", "always REJECTED", "one person"}
    shown = "".join(str(sent.messages[-1]).lower() for sent in server.sent)
    assert not [word for word in ("annotation", "help_needed", "correct-", "false-alarm", "trace-") if word in shown]
    assert proact(*of)[0] == 0
    assert len(server.sent) == 3
    assert proact(*of, "--set", "silence=true")[0] == 0
    assert len(server.sent) == 7
    assert "agree reads no setting of proactiveagent" in proact(*of, "--set", "cost=2")[2]
