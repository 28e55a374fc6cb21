"""What there is to read of a case, in the words of its benchmark or without any."""

from dataclasses import replace

import pytest
from builders.riddles import answered as guessed
from builders.riddles import case as riddle
from builders.riddles import graded as marked
from builders.riddles import manifest as manifest_of_riddles
from builders.riddles import written as riddles
from builders.runs import QUOTE, RESPONSE, answered, graded, manifest, trigger, written

from dspy_proact.errors import RunError
from dspy_proact.evaluation.reporting import Reporting, quoted
from dspy_proact.report import Reading, summarize
from dspy_proact.types import Quote


def reading(folder):
    summary = summarize(folder)
    return Reading.of(summary.outcomes[0], summary.benchmark)


def test_a_trigger_is_read_as_a_chat_a_rubric_and_grounds(tmp_path):
    case = trigger(user="Any boxes?")
    read = reading(written(tmp_path, manifest(), [case], [answered(case), graded(case, reasoning="It plans.")]))
    chat, rubric = read.sections
    assert (chat.kind, chat.items[-2:]) == ("chat", (("assistant", "Good luck."), ("user", "Any boxes?")))
    assert [name for name, _ in rubric.items] == ["PASS", "PARTIAL", "FAIL"]
    (grounds,) = read.grounds
    assert grounds.reasons == "It plans."
    assert [RESPONSE[start:end] for start, end in quoted(grounds.quotes)] == [QUOTE.rstrip(".")]


def test_of_a_benchmark_that_says_nothing_the_fields_are_read(tmp_path):
    case = riddle("one")
    read = reading(riddles(tmp_path, manifest_of_riddles(), [case], [guessed("one"), marked("one", "SOLVED")]))
    (fields,) = read.sections
    assert dict(fields.items).keys() == case.view.model_dump().keys()
    assert [name for name, _ in read.grounds[0].points]


def test_a_verdict_of_another_form_is_named(tmp_path):
    case = trigger()
    event = graded(case)
    changed = event.model_copy(update={"grade": replace(event.grade, detail={"reasoning": "so"})})
    with pytest.raises(RunError, match="a verdict on 'd1__t2' is damaged: field 'evidence'"):
        reading(written(tmp_path, manifest(), [case], [answered(case), changed]))


def test_quotes_that_overlap_or_touch_are_one_span():
    quotes = [Quote(text="", start=s, end=e) for s, e in ((4, 6), (0, 2), (1, 4), (9, 12))] + [Quote(text="no")]
    assert quoted(quotes) == [(0, 6), (9, 12)]


def test_without_a_word_of_a_benchmark_plain_values_objects_and_lists_of_objects_are_sections_of_their_own():
    view = {
        "question": "Where?",
        "user": {"full_name": "Ida", "tags": ["a", "b"], "gone": None, "home": {"town": "Ulm"}},
        "items": [{"id": "i1", "text": "One.", "share": 1 / 3}, {"id": "i2", "sent": [{"to": "Bo"}, {"to": "Cy"}]}, {}],
    }
    case, user, items = Reporting().sections(view)
    assert (case.title, case.items) == ("case", (("question", "Where?"),))
    assert (user.title, user.items) == ("user", (("full name", "Ida"), ("tags", "a, b"), ("home", "town: Ulm")))
    assert (items.title, items.items) == (
        "items",
        (("i1", "text: One.\nshare: 0.333"), ("i2", "sent: to: Bo\n\nto: Cy")),
    )
