"""Control turns in a run, over real HTTP: who is asked what, what is paid for, and what is judged again."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import corpus, record, row, trigger_point
from builders.judges import artefact, compiled_judge
from drivers.client import spec
from fakes.server import Answer, Sent, Server, is_about_offers, offers, verdict

from dspy_proact import Assistant, Corpus, Evaluation, Gate, Limits, OfferDetector, ProactBench, Rejudging, Responses
from dspy_proact.benchmarks.proactbench.cases import controls_of
from dspy_proact.benchmarks.proactbench.types import AssistantView, ControlView
from dspy_proact.errors import LimitReached, UsageError
from dspy_proact.programs.artefact import Artefact
from dspy_proact.report import Summary, summarize, summary_document
from dspy_proact.runs import CONTROL, RunFolder, Scope

OFFER = "label the boxes today"


def dialogue(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A dialogue of its own scenario, with a trigger at turn 2 of 4, so that turn 4 alone is a control turn."""
    changes = {"turn_records": [record(turn) for turn in range(1, 5)], "trigger_points": [trigger_point(2)]} | changes
    return row(unique_id_eval=f"d{number}", scenario_id=f"TRAVEL_{number:02d}", **changes)


def dialogues(folder: Path, count: int = 3) -> Corpus:
    return corpus(folder, *map(dialogue, range(count)))


def evaluation(server: Server, read: Corpus, program: Artefact | None = None, **calls: Any) -> Evaluation:
    model, judge = spec("hosted_vllm/any", server.assistant), spec("openai/kind", server.judge)
    return Evaluation(read, model, judge, judge_program=program, gate=Gate(retries=0, **calls))


def summary_of(path: Path) -> Summary:
    return summarize(RunFolder(path))


def counts(server: Server) -> tuple[int, int, int]:
    """Requests for responses, for grades and for offers."""
    about = sum(is_about_offers(sent) for sent in server.of("judge"))
    return len(server.of("assistant")), len(server.of("judge")) - about, about


def finding(unwanted: bool) -> Any:
    """A script for a judge that passes every trigger, and finds an unwanted offer or none at control turns."""

    def script(sent: Sent) -> Answer:
        return Answer(offers(*[OFFER][: int(unwanted)])) if is_about_offers(sent) else Answer(verdict("PASS", [OFFER]))

    return script


def labels(path: Path) -> list[str | None]:
    return [outcome.label for outcome in summary_of(path).controls.outcomes]


def test_a_control_turn_is_answered_like_a_trigger_and_looked_at_for_offers(server: Server, tmp_path: Path):
    read = dialogues(tmp_path, 1)
    server.script_roles(
        assistant=lambda sent: Answer("one\ntwo"),
        judge=lambda sent: Answer(offers("two") if is_about_offers(sent) else verdict("PASS", ["one"])),
    )
    evaluation(server, read).run(tmp_path / "run", Scope(controls=True))
    (case,) = controls_of(read)
    assert RunFolder(tmp_path / "run").manifest().controls == OfferDetector().fingerprint()
    assert isinstance(case.view, ControlView)
    sent = max(server.of("assistant"), key=lambda sent: len(sent.messages))
    assert sent.messages == Assistant().messages(AssistantView.of(case.view.conversation).inputs)
    (seen,) = [item for item in server.of("judge") if is_about_offers(item)]
    assert seen.messages == OfferDetector().messages(case.view.inputs("one\ntwo"))
    (event,) = [item for item in RunFolder(tmp_path / "run").events() if item.key.case == case.key and item.grade]
    assert event.grade is not None
    assert (event.grade.label, event.grade.score, event.grade.verified) == ("UNWANTED", 0.0, True)
    assert event.grade.detail["offers"] == [
        {"quote": {"text": "two", "start": 4, "end": 7, "short": False}, "grounded": False, "asked_for": False}
    ]


def test_a_limit_allows_as_many_control_turns_as_triggers_and_a_larger_one_goes_on(server: Server, tmp_path: Path):
    read = dialogues(tmp_path, 5)
    for limit, requests in ((2, (4, 2, 2)), (3, (6, 3, 3)), (None, (10, 5, 5))):
        evaluation(server, read).run(tmp_path / "run", Scope(limit=limit, controls=True))
        assert counts(server) == requests


def test_a_run_that_a_limit_stops_has_triggers_first_and_pays_for_nothing_twice(server: Server, tmp_path: Path):
    read, path = dialogues(tmp_path), tmp_path / "run"
    with pytest.raises(LimitReached):
        evaluation(server, read, limits=Limits(9), concurrency=1).run(path, Scope(controls=True))
    assert counts(server) == (4, 3, 1)  # of 9 calls 1 is left, and the next control turn takes 2
    evaluation(server, read).run(path, Scope(controls=True))
    assert counts(server) == (6, 3, 3)
    assert summary_of(path).complete


def test_phases_are_of_triggers_and_drop_no_control_turn(server: Server, tmp_path: Path):
    read = corpus(tmp_path, dialogue(0), dialogue(1, trigger_points=[trigger_point(2, "CRITICAL")]))
    evaluation(server, read).run(tmp_path / "run", Scope(strata=("CRITICAL",), controls=True))
    assert counts(server) == (3, 1, 2)
    with pytest.raises(UsageError, match=r"`scope.strata=CONTROL`: is none of EMERGENT, CRITICAL"):
        evaluation(server, read).run(tmp_path / "run", Scope(strata=(CONTROL,), controls=True))


def test_a_compiled_judge_with_votes_and_cuts_grades_triggers_and_its_model_finds_offers(
    server: Server, tmp_path: Path
):
    count: Counter[str] = Counter()

    def script(sent: Sent) -> Answer:
        count[json.dumps(sent.messages)] += 1
        again = count[json.dumps(sent.messages)]
        # PASS once and FAIL twice is a mean level of .67, which these cuts make a PASS; one offer of three is none.
        result = offers(*[OFFER][: int(again == 1)])
        return Answer(result if is_about_offers(sent) else verdict("PASS" if again == 1 else "FAIL", [OFFER]))

    server.script_roles(judge=script)
    program = compiled_judge(artefact(votes=3, cuts=(0.2, 0.5)))
    evaluation(server, dialogues(tmp_path, 1), program=program).run(tmp_path / "run", Scope(controls=True))
    assert counts(server) == (2, 3, 3)
    summary = summary_of(tmp_path / "run")
    assert [outcome.label for outcome in summary.outcomes] == ["PASS"]
    assert [(outcome.label, outcome.score) for outcome in summary.controls.outcomes] == [
        ("HELD_BACK", pytest.approx(2 / 3))
    ]


def test_a_plan_counts_control_turns_until_they_are_done(tmp_path: Path):
    embedded, path = Evaluation(dialogues(tmp_path)), tmp_path / "run"
    plan = embedded.forecast(path, Scope(controls=True, epochs=2, judge_epochs=3))
    assert (plan.assistant.calls, plan.judge.calls) == (12, 36)  # 6 turns x 2; 12 responses x 3
    assert embedded.forecast(path, Scope(controls=True, limit=1)).calls == 4
    embedded.run(path)
    plan = embedded.forecast(path, Scope(controls=True))
    assert (plan.assistant.calls, plan.judge.calls, plan.assistant.prompt_tokens > 0) == (3, 3, True)
    embedded.run(path, Scope(controls=True))
    assert (embedded.forecast(path, Scope(controls=True)).calls, embedded.forecast(path).calls) == (0, 0)


# Judged again.


def rejudging(server: Server, path: Path) -> Rejudging:
    responses = Responses.of_run(RunFolder(path), ProactBench())
    return Rejudging(responses, spec("openai/strict", server.judge), gate=Gate(retries=0))


@pytest.fixture
def parent(server: Server, tmp_path: Path) -> Path:
    """A run of three triggers and three control turns, in none of which something unwanted was found."""
    server.script_roles(judge=finding(unwanted=False))
    evaluation(server, dialogues(tmp_path)).run(tmp_path / "parent", Scope(controls=True))
    server.sent.clear()
    return tmp_path / "parent"


def test_control_turns_are_copied_and_looked_at_anew(server: Server, tmp_path: Path, parent: Path):
    server.script_roles(judge=finding(unwanted=True))
    rejudging(server, parent).run(tmp_path / "child", Scope(controls=True))
    assert counts(server) == (0, 3, 3)
    assert labels(parent) == ["HELD_BACK"] * 3
    assert labels(tmp_path / "child") == ["UNWANTED"] * 3
    message, again = (summary_of(path).controls.outcomes for path in (parent, tmp_path / "child"))
    assert [(item.key, item.response) for item in message] == [(item.key, item.response) for item in again]


def test_only_triggers_are_judged_again_where_no_more_is_asked_for(server: Server, tmp_path: Path, parent: Path):
    rejudging(server, parent).run(tmp_path / "child")
    assert counts(server) == (0, 3, 0)
    assert "were not asked for" in summary_document(summary_of(tmp_path / "child"))["controls_reason"]
    rejudging(server, parent).run(tmp_path / "child", Scope(controls=True))
    assert counts(server) == (0, 3, 3)
    assert rejudging(server, parent).forecast(tmp_path / "child", Scope(controls=True)).calls == 0


def test_where_the_parent_has_none_it_is_refused_before_a_call(server: Server, tmp_path: Path):
    evaluation(server, dialogues(tmp_path)).run(tmp_path / "parent")
    server.sent.clear()
    again = rejudging(server, tmp_path / "parent")
    for refused in (again.run, again.forecast):
        with pytest.raises(UsageError, match=r"`scope.controls`: among these responses is none at"):
            refused(tmp_path / "child", Scope(controls=True))
    assert not server.sent
    assert not (tmp_path / "child").exists()
