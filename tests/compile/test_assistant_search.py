"""Our search: what the proposer is shown, which candidates are tried, and how they are measured."""

import json
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from builders.assistants import (
    DECLARED,
    PUSHY,
    TIMELY,
    artefact,
    at,
    few,
    items_of,
    obedient,
    of_phases,
    proposed,
    recipe,
    without_controls,
)
from fakes.server import Answer, Sent, Server, is_about_offers, verdict

from dspy_proact import Assistant, Phase
from dspy_proact.benchmarks.proactbench.tuning import HINT, PROPOSALS
from dspy_proact.compile.forecast import CompileObserver, Forecast, Progress
from dspy_proact.compile.proposer import Proposer
from dspy_proact.compile.search import search
from dspy_proact.compile.target import Tuned
from dspy_proact.compile.training import Candidate, Training
from dspy_proact.runs import CONTROL, Case, Settings

TIPS = PROPOSALS["assistant"].tips
TUNING: Any = DECLARED.tuning(Settings())


def training(
    server: Server,
    learn: Sequence[Case],
    compare: Sequence[Case],
    controls: Sequence[Case] = (),
    student: Assistant | None = None,
) -> Training:
    """A training set by hand; nothing is remembered."""
    target = at(server, few(), recipe()).target
    target.units = dict(TUNING.units([*learn, *compare, *controls]))
    if student:
        target.start = Tuned(student)
    with patch("dspy_proact.compile.training.split", return_value=(learn, compare)):
        return Training(target, [*learn, *compare, *controls], {}, Proposer(target.models["proposer"].lm), 0)


def raced(of: Training, journal=None, **how: Any) -> list[Candidate]:
    """Candidates of a search."""
    settings: dict[str, Any] = {"trials": 8, "max_demos": 0} | how
    progress = Progress(CompileObserver(), Forecast({}, 8, ()), 0)
    return search(of, recipe(**settings), journal, progress).candidates()


def searched(server: Server, probes: Sequence[Case], student: Assistant | None = None, journal=None, **how: Any):
    """Candidates of a search that learns from the first two triggers and compares on the others."""
    chosen = of_phases(probes, [Phase.RECOVERY])
    of = training(server, chosen[:2], chosen[2:], [item for item in probes if item.stratum == CONTROL][2:], student)
    return raced(of, journal, **how)


PROBES = items_of(few())


def test_the_start_is_the_first_candidate_and_each_is_tried_once(server):
    server.script = obedient(PUSHY, TIMELY, "Hold back.")
    tried = searched(server, PROBES, trials=12)
    assert tried[0].program.instruction == ""
    by_prompt = {item.program.instruction: (item.score, item.harm) for item in tried}
    assert by_prompt == {"": (0, 0), HINT: (1, 1), PUSHY: (1, 1), TIMELY: (1, 0), "Hold back.": (0, 0)}
    # There are no more combinations of twelve trials; each is asked about four triggers and two control turns, once.
    assert len(server.of("assistant")) == 6 * len(tried) == 30


def test_the_proposer_is_asked_once_for_each_tip_with_what_fell_short_and_the_prompt_now(server):
    server.script = obedient(PUSHY)
    searched(server, PROBES, Assistant("Be kind."), trials=2)
    lines = [str(sent.messages[-1]["content"]) for sent in server.of("proposer")]
    assert len(lines) == len(TIPS) == 3
    requests = sorted(lines, key=lambda entry: next(index for index, tip in enumerate(TIPS) if tip in entry))
    for tip, item in zip(TIPS, requests, strict=True):
        assert tip in item
        assert "Be kind." in item
        assert item.count("| Graded FAIL.") == 4
        assert "(none: nothing is told)" not in item
    server.sent.clear()
    searched(server, PROBES, trials=2)
    assert all("(none: nothing is told)" in sent.text for sent in server.of("proposer"))


def test_the_second_round_is_about_what_the_leader_of_the_first_got_wrong(server):
    """It is hinted at and fails with one of four, where the start fails with all; demos aside each is tried once."""
    proposing = obedient(PUSHY, TIMELY, "Hold back.")

    def script(sent: Sent) -> Answer:
        failing = sent.role == "judge" and not is_about_offers(sent) and "zebra3x" in str(sent.messages[-1]["content"])
        return Answer(verdict("FAIL")) if failing else proposing(sent)

    server.script = script
    tried = searched(server, PROBES, trials=12)
    first, second = server.of("proposer")[:3], server.of("proposer")[3:]
    assert [sent.text.count("| Graded FAIL.") for sent in first] == [4] * 3
    assert [sent.text.count("| Graded FAIL.") for sent in second] == [1] * 3
    assert [HINT in sent.text for sent in (*first, *second)] == [False] * 3 + [True] * 3
    assert len({item.program.instruction for item in tried}) == len(tried)


def test_prompts_that_say_the_same_are_one_and_blank_ones_none(server):
    server.script = obedient(PUSHY, PUSHY, PUSHY)
    assert {item.program.instruction for item in searched(server, PROBES)} == {"", HINT, PUSHY}
    blank = obedient(PUSHY)
    server.script = lambda sent: Answer(proposed(sent, "  ")) if sent.role == "proposer" else blank(sent)
    start, hinted = searched(server, PROBES)
    assert (start.program.instruction, hinted.program.instruction) == ("", HINT)
    assert {item.harm for item in searched(server, items_of(without_controls()))} == {None}


def test_demos_are_what_the_hinted_teacher_passed_with_and_the_student_is_not_hinted_at(server):
    server.script = obedient("Hold back.")
    tried = searched(server, PROBES, max_demos=2, trials=12)
    shown = [entry for entry in tried if entry.program.reply.demos]
    assert shown
    for item in shown:
        assert item.score == 1  # an offer that is shown is followed
        assert len(item.program.reply.demos) <= 2
        assert item.program.adapter.hint == ""
        assert (HINT in item.program.system_prompt) == (item.program.instruction == HINT)
        for demo in item.program.reply.demos:
            assert set(demo.keys()) == {"augmented", "history", "user_message", "response"}


def test_a_start_with_demos_keeps_them_where_none_are_drawn(server):
    server.script = obedient("Hold back.")
    start = artefact("Be kind.", demos=1).put_into(Assistant(), "a file")
    tried = searched(server, PROBES, start, max_demos=0)
    assert all(len(item.program.reply.demos) == 1 for item in tried)
    assert start.instruction == "Be kind."  # which stays as it is


def test_responses_that_fail_count_nothing_and_verdicts_that_fail_the_middle(server):
    requests = obedient(PUSHY)
    words = {probe.view.conversation[0].user for probe in PROBES}
    assert len(words) == 4

    def script(sent):
        last = str(sent.messages[-1]["content"])
        if sent.role == "assistant" and "zebra2x" in last:
            return Answer(" ")
        return Answer("no object") if sent.role == "judge" and "zebra3x" in last else requests(sent)

    server.script = script
    (start, *_) = searched(server, PROBES, trials=1)
    # Of four: 0 for two FAIL and for no response, .5 for no verdict; of two control turns none could be read.
    assert (start.score, start.harm) == (0.125, None)


def test_the_study_is_written_down_and_never_read(server, tmp_path):
    server.script = obedient(PUSHY, TIMELY)
    journal = tmp_path / "study.log"
    journal.write_text("not a journal", encoding="utf-8")
    first = searched(server, PROBES, journal=journal, trials=4)
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    assert lines
    again = searched(server, PROBES, journal=journal, trials=4)
    assert [(item.program.instruction, item.score) for item in again] == [
        (item.program.instruction, item.score) for item in first
    ]


# The teacher


def test_a_teacher_is_a_copy_with_a_hint_before_what_the_student_is_told():
    student = Assistant("Be kind.")
    teacher = PROPOSALS["assistant"].teacher(student)
    assert teacher.system_prompt == f"{HINT}\n\nBe kind."
    assert (student.system_prompt, student.adapter.hint) == ("Be kind.", "")
    assert PROPOSALS["assistant"].teacher(Assistant()).system_prompt == HINT


def test_worked_examples_are_passed_answers_without_key_or_rubric(server):
    server.script = obedient(PUSHY)
    chosen = of_phases(PROBES, [Phase.RECOVERY])
    examples = training(server, chosen, chosen[:1]).pool()
    assert len(examples) == len(server.of("assistant")) == len(chosen)
    assert all(set(example.keys()) == {"augmented", "history", "user_message", "response"} for example in examples)
