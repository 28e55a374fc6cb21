"""What is still to do: every stage is open, done, given up or waiting, whatever is on disk in whatever order."""

import tracemalloc
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import pytest
from builders.riddles import answered, call, case, cases, failed, graded, halted, response_key, verdict_key
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.runs import Grading, Ledger, StageEvent, StageKey, Work, majority_label

JUDGES = ("sphinx", "oracle")
RESPONSE = response_key("a")
SPHINX, ORACLE, SPHINX_AGAIN, ORACLE_AGAIN = (
    verdict_key("a", judge=judge, judge_epoch=again) for again in (1, 2) for judge in JUDGES
)
KINDS = ("content", "provider", "app")


def ended(key: StageKey, how: str) -> StageEvent:
    """The event of a stage: `result`, `halted`, or of a failure its kind."""
    if how == "halted":
        return halted(key, call())
    named: dict[str, Any] = {"epoch": key.epoch}
    if key.judge:
        named |= {"judge": key.judge, "judge_epoch": key.judge_epoch}
    if how == "result":
        return graded(key.case, "CLOSE", **named) if key.judge else answered(key.case, **named)
    assert how in KINDS
    return failed(key.case, key.stage, how, "told_to", **named)


def ledger(*events: StageEvent, judges: Sequence[str] = JUDGES, judge_epochs: int = 1, **options: bool) -> Ledger:
    return Ledger(events, Grading(judges, judge_epochs), **options)


def open_stages(of: Ledger, *keys: str, epochs: int = 1) -> list[StageKey]:
    """The open stages of some cases, in the order in which one worker does them."""
    works = [Work(item, epoch) for epoch in range(1, epochs + 1) for item in cases(*(keys or ("a",)))]
    return [key for work in works for key in of.stages(work) if of.is_open(key)]


@pytest.mark.parametrize("how", ["result", *KINDS, "halted"])
@pytest.mark.parametrize("key", [RESPONSE, ORACLE], ids=["response", "verdict"])
def test_what_was_tried_in_this_process_is_not_open_again_in_it(key: StageKey, how: str):
    of = ledger(*([] if key == RESPONSE else [answered("a")]), retry_content=True)
    assert of.is_open(key)
    of.add(ended(key, how))
    assert not of.is_open(key)


def test_a_response_is_left_to_the_disk_when_everybody_has_graded_it():
    of = ledger(answered("a"), ended(SPHINX, "result"))
    assert of.answer(Work(case("a"), 1)) == answered("a").answer
    of.add(ended(ORACLE, "result"))
    assert of.answer(Work(case("a"), 1)) is None
    assert ledger(ended(ORACLE, "result"), ended(SPHINX, "result"), answered("a")).answer(Work(case("a"), 1)) is None


def test_the_last_event_of_a_stage_counts():
    again = [ended(SPHINX, "provider"), ended(SPHINX, "result")]
    assert open_stages(ledger(answered("a"), *again)) == [ORACLE]
    assert open_stages(ledger(answered("a"), ended(SPHINX, "provider"), ended(SPHINX, "content"))) == [ORACLE]


@pytest.mark.parametrize(
    ("response", "verdicts", "unscored"),
    [
        # Nothing was tried, or not all of it.
        (None, "", False),
        ("halted", "", False),
        ("result", "", False),
        # The response failed.
        ("content", "", True),
        ("provider", "", True),
        # At least one verdict was read.
        ("result", "result result", False),
        ("result", "result content", False),
        ("result", "provider result", False),
        # None was.
        ("result", "content content", True),
        ("result", "provider provider", True),
        ("result", "content provider", True),
    ],
)
def test_a_trigger_is_unscored_only_if_no_verdict_was_read(response: str | None, verdicts: str, unscored: bool):
    events = [ended(RESPONSE, response)] if response else []
    events += [ended(key, how) for key, how in zip((SPHINX, ORACLE), verdicts.split(), strict=False)]
    assert ledger(*events).unscored(cases("a"), epochs=1) == unscored
    # Of copied responses one that is missing stays so.
    copied = ledger(*events, copied=True)
    assert copied.retryable(cases("a"), epochs=1) == (unscored and response == "result")
    # What the provider failed to answer the next run asks for without being told.
    assert ledger(*events).by_content(cases("a"), epochs=1) == (unscored and "content" in f"{response} {verdicts}")
    assert copied.by_content(cases("a"), epochs=1) == (unscored and "content" in verdicts)


def test_counting_the_unscored_holds_the_stages_of_one_case_at_a_time():
    of, many = ledger(), cases(*map(str, range(2000)))
    tracemalloc.start()
    assert of.unscored(many, epochs=1) == of.retryable(many, epochs=1) == 0
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50 * len(many)  # bytes; the three keys of a case take over 1,000


Fate = Literal["result", "content", "provider", "app", "halted"]
CASES, EPOCHS = ("a", "b"), 2
GRADINGS = st.builds(Grading, st.sampled_from([("sphinx",), JUDGES, ("oracle", "sphinx")]), st.integers(1, 2))
STAGES = [
    *(response_key(key, epoch) for key in CASES for epoch in (1, 2)),
    *(
        verdict_key(key, epoch, judge, again)
        for key in CASES
        for epoch in (1, 2)
        for judge in JUDGES
        for again in (1, 2)
    ),
]
"""4 responses and 16 verdicts: more than some gradings ask for."""
DISKS = st.dictionaries(st.sampled_from(STAGES), st.sampled_from(["result", *KINDS, "halted"]))


def stages_of(grading: Grading) -> list[StageKey]:
    """Every stage of the cases and epochs, in the order of one worker."""
    of = Ledger((), grading)
    return [key for epoch in (1, 2) for item in CASES for key in of.stages(Work(case(item), epoch))]


def events(disk: Iterable[tuple[StageKey, Fate]]) -> list[StageEvent]:
    return [ended(key, how) for key, how in disk]


@given(disk=DISKS, grading=GRADINGS, retry=st.booleans(), copied=st.booleans(), data=st.data())
def test_every_stage_is_done_open_waiting_or_given_up_and_open_work_is_where_one_is_open(
    disk: dict[StageKey, Fate], grading: Grading, retry: bool, copied: bool, data: st.DataObject
):
    shuffled = data.draw(st.permutations(sorted(disk.items(), key=lambda item: item[0].model_dump_json())))
    of = Ledger(events(shuffled), grading, retry, copied)
    for key in stages_of(grading):
        response = response_key(key.case, key.epoch)
        done = disk.get(key) == "result"
        waiting = key.judge is not None and disk.get(response) != "result" and not done
        abandoned = not done and not waiting and disk.get(key) == "content" and not retry
        anothers = key.judge is None and copied and not done
        assert of.has_result(key) is done
        assert of.is_open(key) is not (done or waiting or abandoned or anothers)
    works = [Work(case(key), epoch) for epoch in (1, 2) for key in CASES]
    assert of.open_work(cases(*CASES), EPOCHS) == [work for work in works if any(map(of.is_open, of.stages(work)))]


ORDER = ("PASS", "PARTIAL", "FAIL")
INPUTS = st.lists(st.sampled_from(ORDER), min_size=1, max_size=9)


@given(inputs=INPUTS)
def test_no_grade_was_given_more_often_and_no_lower_one_as_often(inputs: list[str]):
    counts, grade = Counter(inputs), majority_label(inputs, ORDER)
    assert counts[grade] == max(counts.values())
    assert all(counts[lower] < counts[grade] for lower in ORDER[ORDER.index(grade) + 1 :])
