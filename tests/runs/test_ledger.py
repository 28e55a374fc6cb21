"""What is still to do: every stage is open, done, given up or waiting, whatever is on disk in whatever order."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import answered, call, case, cases, failed, graded, halted, response_key, verdict_key

from dspy_proact.runs import Event, Grading, Ledger, StageKey, Work

JUDGES = ("sphinx", "oracle")
RESPONSE = response_key("a")
SPHINX, ORACLE, SPHINX_AGAIN, ORACLE_AGAIN = (
    verdict_key("a", judge=judge, judge_epoch=again) for again in (1, 2) for judge in JUDGES
)
KINDS = ("content", "provider")


def ended(key: StageKey, how: str) -> Event:
    """The event of a stage: `result`, `content`, `provider` or `halted`."""
    if how == "halted":
        return halted(key, call())
    named: dict[str, Any] = {"epoch": key.epoch}
    if key.judge:
        named |= {"judge": key.judge, "judge_epoch": key.judge_epoch}
    if how == "result":
        return graded(key.case, "CLOSE", **named) if key.judge else answered(key.case, **named)
    assert how in KINDS
    return failed(key.case, key.stage, how, "told_to", **named)


def ledger(*events: Event, judges: Sequence[str] = JUDGES, judge_epochs: int = 1, **options: bool) -> Ledger:
    return Ledger(events, Grading(judges, judge_epochs), **options)


def open_stages(of: Ledger, *keys: str, epochs: int = 1) -> list[StageKey]:
    """The open stages of some cases, in the order in which one worker does them."""
    works = [Work(each, epoch) for epoch in range(1, epochs + 1) for each in cases(*(keys or ("a",)))]
    return [key for work in works for key in of.stages(work) if of.is_open(key)]


def test_the_response_comes_first_then_every_judge_once_then_every_judge_again():
    assert ledger(judge_epochs=2).stages(Work(case("a"), 1)) == [
        RESPONSE,
        SPHINX,
        ORACLE,
        SPHINX_AGAIN,
        ORACLE_AGAIN,
    ]


def test_stages_are_those_of_their_case_and_epoch():
    assert ledger().stages(Work(case("b"), 3)) == [
        response_key("b", 3),
        verdict_key("b", 3, "sphinx"),
        verdict_key("b", 3, "oracle"),
    ]


def test_verdicts_wait_for_the_response():
    assert open_stages(ledger(judge_epochs=2)) == [RESPONSE]


def test_with_the_response_all_verdicts_are_open():
    assert open_stages(ledger(answered("a"), judge_epochs=2)) == [SPHINX, ORACLE, SPHINX_AGAIN, ORACLE_AGAIN]


def test_a_result_closes_its_own_stage_and_no_other():
    of = ledger(answered("a"), ended(ORACLE, "result"), judge_epochs=2)
    assert open_stages(of) == [SPHINX, SPHINX_AGAIN, ORACLE_AGAIN]


def test_a_verdict_of_another_judge_or_epoch_of_the_trigger_closes_nothing():
    strangers = [verdict_key("a", judge="delphi"), verdict_key("a", epoch=2, judge="sphinx"), verdict_key("b")]
    of = ledger(answered("a"), *(ended(key, "result") for key in strangers))
    assert open_stages(of) == [SPHINX, ORACLE]


@pytest.mark.parametrize("key", [RESPONSE, SPHINX, ORACLE_AGAIN], ids=["response", "first judge", "last verdict"])
@pytest.mark.parametrize(
    ("how", "retry_content", "is_open"),
    [
        ("result", False, False),
        ("result", True, False),
        ("provider", False, True),
        ("provider", True, True),
        ("content", False, False),
        ("content", True, True),
        ("halted", False, True),
        ("halted", True, True),
    ],
)
def test_what_is_open_again_after_a_stage_ended(key: StageKey, how: str, retry_content: bool, is_open: bool):
    response = [] if key == RESPONSE else [answered("a")]
    of = ledger(*response, ended(key, how), judge_epochs=2, retry_content=retry_content)
    assert of.is_open(key) is is_open
    assert of.has_result(key) is (how == "result")


@pytest.mark.parametrize("how", [*KINDS, "halted"])
@pytest.mark.parametrize("retry_content", [False, True])
def test_without_a_response_no_verdict_is_open_however_it_ended(how: str, retry_content: bool):
    of = ledger(ended(RESPONSE, how), ended(SPHINX, "provider"), retry_content=retry_content)
    assert not of.is_open(SPHINX)
    assert not of.is_open(ORACLE)


@pytest.mark.parametrize("how", ["result", *KINDS, "halted"])
@pytest.mark.parametrize("key", [RESPONSE, ORACLE], ids=["response", "verdict"])
def test_what_was_tried_in_this_process_is_not_open_again_in_it(key: StageKey, how: str):
    of = ledger(*([] if key == RESPONSE else [answered("a")]), retry_content=True)
    assert of.is_open(key)
    of.add(ended(key, how))
    assert not of.is_open(key)


def test_a_response_that_is_added_opens_its_verdicts():
    of = ledger()
    of.add(answered("a"))
    assert open_stages(of) == [SPHINX, ORACLE]
    assert of.answer(Work(case("a"), 1)) == answered("a").answer
    assert of.answer(Work(case("a"), 2)) is None


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


@pytest.mark.parametrize("how", [None, *KINDS, "halted"])
def test_copied_responses_are_never_open_though_they_are_absent_or_failed(how: str | None):
    events = [ended(RESPONSE, how)] if how else []
    of = ledger(*events, copied=True, retry_content=True)
    assert open_stages(of) == []
    assert of.open_work(cases("a"), epochs=1) == []


def test_verdicts_on_copied_responses_are_open_as_others_are():
    of = ledger(answered("a"), ended(SPHINX, "provider"), ended(ORACLE, "content"), judge_epochs=2, copied=True)
    assert open_stages(of) == [SPHINX, SPHINX_AGAIN, ORACLE_AGAIN]


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


def test_a_judge_who_fails_again_and_again_does_not_outvote_one_verdict_that_was_read():
    failing = [ended(key, "content") for key in (SPHINX, SPHINX_AGAIN, ORACLE)]
    of = ledger(answered("a"), *failing, ended(ORACLE_AGAIN, "result"), judge_epochs=2)
    assert of.unscored(cases("a"), epochs=1) == 0


def test_unscored_counts_the_asked_cases_and_epochs_each_for_itself():
    events = [ended(response_key(key, epoch), "content") for key, epoch in (("a", 1), ("a", 2), ("b", 2))]
    of = ledger(*events, answered("c"))
    assert [of.unscored(cases(*keys), epochs) for keys, epochs in (("abc", 1), ("abc", 2), ("bc", 2), ("c", 2))] == [
        1,  # a
        3,  # a in both epochs, b in the second
        1,  # b in the second
        0,
    ]


def test_widening_judge_epochs_opens_the_new_verdicts_and_nothing_else():
    done = [answered("a"), *(ended(key, "result") for key in (SPHINX, ORACLE))]
    assert open_stages(ledger(*done, judge_epochs=1)) == []
    assert open_stages(ledger(*done, judge_epochs=2)) == [SPHINX_AGAIN, ORACLE_AGAIN]


def test_narrowing_judge_epochs_leaves_out_what_is_open_in_the_later_ones():
    events = [answered("a"), *(ended(key, "result") for key in (SPHINX, ORACLE)), ended(SPHINX_AGAIN, "provider")]
    assert open_stages(ledger(*events, judge_epochs=2)) == [SPHINX_AGAIN, ORACLE_AGAIN]
    assert open_stages(ledger(*events, judge_epochs=1)) == []


def test_open_work_comes_epoch_by_epoch_in_the_order_of_the_cases():
    b, a = case("b"), case("a")
    of = ledger(answered("b"), *(ended(verdict_key("b", judge=judge), "result") for judge in JUDGES))
    assert of.open_work([b, a], epochs=2) == [Work(a, 1), Work(b, 2), Work(a, 2)]


Fate = Literal["result", "content", "provider", "halted"]
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


def asked(grading: Grading) -> list[StageKey]:
    """Every stage of the cases and epochs, in the order of one worker."""
    of = Ledger((), grading)
    return [key for epoch in (1, 2) for each in CASES for key in of.stages(Work(case(each), epoch))]


def events(disk: Iterable[tuple[StageKey, Fate]]) -> list[Event]:
    return [ended(key, how) for key, how in disk]


@given(disk=DISKS, grading=GRADINGS, retry=st.booleans(), copied=st.booleans(), data=st.data())
def test_every_stage_is_done_open_waiting_or_given_up_and_open_work_is_where_one_is_open(
    disk: dict[StageKey, Fate], grading: Grading, retry: bool, copied: bool, data: st.DataObject
):
    shuffled = data.draw(st.permutations(sorted(disk.items(), key=lambda item: item[0].model_dump_json())))
    of = Ledger(events(shuffled), grading, retry, copied)
    for key in asked(grading):
        response = response_key(key.case, key.epoch)
        done = disk.get(key) == "result"
        waiting = key.judge is not None and disk.get(response) != "result" and not done
        given_up = not done and not waiting and disk.get(key) == "content" and not retry
        anothers = key.judge is None and copied and not done
        assert of.has_result(key) is done
        assert of.is_open(key) is not (done or waiting or given_up or anothers)
    works = [Work(case(key), epoch) for epoch in (1, 2) for key in CASES]
    assert of.open_work(cases(*CASES), EPOCHS) == [work for work in works if any(map(of.is_open, of.stages(work)))]


@given(disk=DISKS, grading=GRADINGS, fates=st.lists(st.sampled_from(["result", *KINDS]), min_size=1, max_size=7))
def test_doing_what_is_open_until_nothing_is_does_every_stage_at_most_once_and_none_that_was_done(
    disk: dict[StageKey, Fate], grading: Grading, fates: list[Fate]
):
    of, begun = Ledger(events(disk.items()), grading), []
    for work in of.open_work(cases(*CASES), EPOCHS):
        for key in of.stages(work):
            if of.is_open(key):
                of.add(ended(key, fates[len(begun) % len(fates)]))
                begun.append(key)
    assert of.open_work(cases(*CASES), EPOCHS) == []
    assert len(set(begun)) == len(begun)
    assert not [key for key in begun if disk.get(key) in ("result", "content")]
    # What is left without a result was tried, or waits for a response that was.
    tried = {*begun, *(key for key, how in disk.items() if how == "content")}
    for key in asked(grading):
        response = response_key(key.case, key.epoch)
        assert of.has_result(key) or key in tried or (response in tried and not of.has_result(response))
