"""People's votes: the official counts and defects, rows that contradict themselves, and the split that is refused."""

import json
from collections import Counter, defaultdict

import pytest

from dspy_proact.benchmarks.proactiveagent.votes import Vote, Votes, load_votes
from dspy_proact.errors import CorpusError
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
    cases = [[(float(gold), float(said))] for gold, said in pairs]
    groups = [str(number) for number in range(len(pairs))]
    kappa = classification_estimate(cases, groups, "kappa").value
    return (tp + tn) / len(pairs), 2 * tp / (2 * tp + fp + fn) if tp else 0.0, kappa


def test_a_look_up_without_any_text_beats_the_published_judge(votes):
    """It reads from the training part whether help is needed in the context, and knows nothing else."""
    needed = {vote.turn: vote.help_needed for vote in of(votes, TRAIN)}
    pairs = [(vote.valid, needed[vote.turn] == bool(vote.proposal)) for vote in of(votes, TEST)]
    accuracy, f1, kappa = scores(pairs)
    assert (round(accuracy, 3), round(f1, 3), round(kappa, 2)) == (0.925, 0.93, 0.85)
    right = Counter(vote.category for vote, (gold, said) in zip(of(votes, TEST), pairs, strict=True) if gold == said)
    assert sorted(right.values()) == [21, 30, 30, 30]
    assert right["False-Alarm (FA)"] == 21


def test_constant_judges_on_the_official_test_part(votes):
    accept = scores([(vote.valid, True) for vote in of(votes, TEST)])
    assert accept == pytest.approx((0.5, 2 / 3, 0.0))
    assert scores([(vote.valid, False) for vote in of(votes, TEST)]) == pytest.approx((0.5, 0.0, 0.0))


def test_labels_of_silence_contradict_the_votes(votes):
    silent = [vote for vote in of(votes, TRAIN) if not vote.proposal and vote.valid]
    majority = Counter((vote.share > 0.5) - (vote.share < 0.5) for vote in silent)
    assert (len(silent), majority[-1], majority[0], majority[1]) == (149, 126, 19, 4)
    of_test = [vote for vote in of(votes, TEST) if not vote.proposal and vote.valid]
    assert {sum(vote.votes) for vote in of_test} <= {2}


def test_help_is_needed_where_a_proposal_is_ticked_by_all(votes):
    ticked = defaultdict(bool)
    for vote in votes.rows:
        ticked[vote.turn] |= bool(vote.proposal) and all(vote.votes)
    assert all(ticked[vote.turn] == vote.help_needed for vote in votes.rows)


def test_turns_with_three_votes_have_no_reliable_need(votes):
    """How many of three people ticked something: 3, 34, 110 and 113 turns for nobody, one, two and all."""
    wanted = defaultdict(list)
    for vote in votes.rows:
        if vote.proposal and len(vote.votes) == 3:
            wanted[vote.turn].append(vote.votes)
    counts = Counter(sum(any(each) for each in zip(*rows, strict=True)) for rows in wanted.values())
    assert [counts[number] for number in range(4)] == [3, 34, 110, 113]


def test_one_person_against_the_other_two_where_they_agree(votes):
    pairs = [
        (others[0], vote.votes[place])
        for vote in votes.rows
        if vote.proposal and len(vote.votes) == 3
        for place in range(3)
        if len(set(others := vote.votes[:place] + vote.votes[place + 1 :])) == 1
    ]
    accuracy, _, kappa = scores(pairs)
    assert (len(pairs), round(accuracy, 3), round(kappa, 3)) == (2315, 0.658, 0.272)


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
