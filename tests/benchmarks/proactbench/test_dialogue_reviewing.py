"""What people's reviews make of a corpus of dialogues: its files, read back as every other reader reads them."""

import json
from dataclasses import replace

import pytest
from builders.made import made_corpus

from dspy_proact.benchmarks.proactbench.corpus.bundled import DATA
from dspy_proact.benchmarks.proactbench.corpus.dialogues import load_corpus
from dspy_proact.benchmarks.proactbench.generation.files import files_of
from dspy_proact.benchmarks.proactbench.reviewing import reviewing
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.reviewing import Review

DIALOGUES, CONTROLS, AUDITS = "final_dialogues.jsonl", "controls.jsonl", "audits.jsonl"


@pytest.fixture
def corpus(tmp_path):
    """Three dialogues of eight turns, with facts at turns 1, 3 and 5 and triggers at 2, 5 and 8."""
    made = replace(made_corpus(3), keys={slot: f"invented-{slot}" for slot in (1, 2, 3)})
    for name, text in files_of(made).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def reviewed(corpus, **by_number):
    """Reviews by number of the dialogue, `d0` and so on: the edits of one, or None to reject it."""
    items = reviewing().items(corpus)
    for name, edits in by_number.items():
        item = items[int(name[1:])]
        verdict = "reject" if edits is None else "edit"
        yield Review(
            reviewer="ann", item=item.key, mark=item.mark, verdict=verdict, edits=edits or {}, reason="It cannot be."
        )


def applied(corpus, **by_number):
    """The files after these reviews, put on disk and read as a corpus."""
    texts = reviewing().apply(corpus, [*reviewed(corpus, **by_number)])
    for name, text in texts.items():
        (corpus / name).write_text(text, encoding="utf-8")
    return {name: rows(text) for name, text in texts.items()}, load_corpus(str(corpus))


def test_a_dialogue_is_read_from_top_to_bottom_with_its_rubrics_where_they_apply(corpus):
    item = reviewing().items(corpus)[0]
    names = [field.name for field in item.fields]
    assert names[:7] == [
        *("scenario.title", "scenario.request", "scenario.hidden_goal"),
        *("turns.1.user", "turns.2.user", "triggers.2.pass_criteria", "triggers.2.partial_criteria"),
    ]
    assert (len(names), item.fields[3].followed_by[0][0]) == (3 + 8 + 3 * 3, "assistant")
    assert [section.title for section in item.sections] == ["the assistant's system text", "planted facts"]


def test_nothing_reviewed_leaves_every_file_as_it_is(corpus):
    texts = reviewing().apply(corpus, [])
    assert {*texts} == {DIALOGUES, CONTROLS, AUDITS}
    assert all((corpus / name).read_text(encoding="utf-8") == text for name, text in texts.items())


def test_a_rejected_dialogue_takes_its_control_turns_and_audits_with_it(corpus):
    (first, *others), controls = rows((corpus / DIALOGUES).read_text()), rows((corpus / CONTROLS).read_text())
    files, read = applied(corpus, d0=None)
    assert [row["unique_id_eval"] for row in files[DIALOGUES]] == [row["unique_id_eval"] for row in others]
    assert first["unique_id_eval"] not in json.dumps(files)
    assert len(files[CONTROLS]) == len(read.controls) == len(controls) - 3, "one a trigger"


def test_an_edited_message_reaches_the_history_of_later_turns_and_of_control_turns(corpus):
    new = "And what about the second <b>loan</b>?"
    before = rows((corpus / CONTROLS).read_text())
    files, read = applied(corpus, d0={"turns.2.user": new})
    dialogue = read.dialogues[0]
    assert [turn.user for turn in dialogue.turns][1] == new
    key = dialogue.origin.dialogue
    controls = [row for row in files[CONTROLS] if row["unique_id_eval"].startswith(key)]
    assert len(controls) == len([row for row in before if row["unique_id_eval"].startswith(key)])
    assert {row["turn_records"][1]["user_message"] for row in controls} == {new}
    assert files[CONTROLS][len(controls) :] == before[len(controls) :], "others are not touched"


def test_a_rewriting_of_a_message_that_was_edited_is_left_out(corpus):
    # The swap at turn 2 has the message of turn 1 without its fact; those at 5 and 8 are judged by their own texts.
    old = rows((corpus / DIALOGUES).read_text())[0]["turn_records"][0]["user_message"]
    key = rows((corpus / DIALOGUES).read_text())[0]["unique_id_eval"]
    before = [row for row in rows((corpus / CONTROLS).read_text()) if row["unique_id_eval"].startswith(key)]
    rewritten = {row["unique_id_eval"] for row in before if row["turn_records"][0]["user_message"] != old}
    files, _ = applied(corpus, d0={"turns.1.user": f"Well. {old}"})
    left = {row["unique_id_eval"] for row in files[CONTROLS] if row["unique_id_eval"].startswith(key)}
    assert rewritten
    assert left == {row["unique_id_eval"] for row in before} - rewritten


def test_what_was_tested_of_another_text_goes_with_it_and_the_row_says_what_was_edited(corpus):
    files, read = applied(
        corpus, d0={"triggers.5.pass_criteria": "Moves both dates."}, d1={"turns.4.user": "And four?"}
    )
    first, second, third = files[DIALOGUES]
    assert [trigger.rubric.pass_criteria for trigger in read.dialogues[0].triggers][1] == "Moves both dates."
    assert first["turn_records"][4]["planner"]["evaluation_rubric"]["pass_criteria"] == "Moves both dates."
    assert [[proof["turn"] for proof in row["proof"]] for row in (first, second, third)] == [[2, 8], [2], [2, 5, 8]]
    assert [row.get("edited") for row in (first, second, third)] == [
        ["triggers.5.pass_criteria"],
        ["turns.4.user"],
        None,
    ]
    audits = files[AUDITS]
    assert [[one["turn"] for one in row["rubrics"]] for row in audits] == [[2, 8], [2], [2, 5, 8]]
    assert 4 not in [one["turn"] for one in audits[1]["messages"]]
    assert read.ignored_fields == {}, "no field is unknown to the reader"


def test_an_edit_keeps_the_words_by_which_a_fact_was_planted(corpus):
    item = reviewing().items(corpus)[0]
    (review,) = reviewed(corpus, d0={"turns.1.user": "Could you look at my loan?"})
    assert "must still have the words" in (problem := item.misfit(review) or "")
    assert "the planted fact" in problem
    with pytest.raises(CorpusError, match="is no such"):
        reviewing().apply(corpus, [review])


def test_what_two_people_decided_differently_is_published_only_after_the_owner_decided(corpus):
    (accept,) = reviewed(corpus, d0=None)
    other = accept.model_copy(update={"reviewer": "bob", "verdict": "accept"})
    with pytest.raises(UsageError, match="decided differently"):
        reviewing().apply(corpus, [accept, other])
    decided = other.model_copy(update={"reviewer": "owner", "decision": True})
    assert len(rows(reviewing().apply(corpus, [accept, other, decided])[DIALOGUES])) == 3


def test_a_published_file_without_scenarios_is_reviewed_as_what_it_has(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_bytes((DATA / "sample" / "dialogues.jsonl").read_bytes())
    items = reviewing().items(file)
    assert {field.name.partition(".")[0] for item in items for field in item.fields} == {"turns", "triggers"}
    texts = reviewing().apply(file, [*reviewed(file, d1=None)])
    assert {*texts} == {"mine.jsonl"}
    assert len(rows(texts["mine.jsonl"])) == len(items) - 1
