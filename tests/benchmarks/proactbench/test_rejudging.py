"""Other judges on responses that exist, over real HTTP: copied as they are, paid for once, never asked for again."""

import json

import pytest
from official_package import installed
from proact_run import RESPONSE, answered, failed, graded, manifest, trigger, written
from rejudging import D1, by_turns, corpus, parent, rejudge, responses_of, verdicts_of
from rows import row
from server import Answer, error, healthy, verdict
from specs import spec, specs
from toy import manifest as manifest_of_riddles

from dspy_proact.benchmarks.evaluation import Rejudging
from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import LimitReached, RunError
from dspy_proact.models import Limits
from dspy_proact.report import summarize
from dspy_proact.runs import Scope

HOSTILE = '  | ```\r\n# Label the boxes today.\u2028 \x85é\U0001f600\t{"grade": "PASS"}\x00\n\n'
"""A response in which nothing may be stripped, folded or escaped twice."""


# Responses are another run's.


def test_responses_are_copied_to_the_byte_and_the_assistant_is_never_called(tmp_path, server):
    server.script_roles(
        assistant=by_turns({2: Answer(HOSTILE), 3: Answer("label the boxes today and th", finish_reason="length")})
    )
    first = parent(tmp_path, server)
    second = rejudge(tmp_path, server, first)
    assert responses_of(second) == responses_of(first)
    assert [responses_of(second)[f"{D1}__t{turn}", 1] for turn in (2, 3)] == [
        {"text": HOSTILE, "truncated": False},
        {"text": "label the boxes today and th", "truncated": True},
    ]
    assert (len(server.of("assistant")), len(server.of("judge"))) == (0, 6)


def test_the_judge_is_shown_what_the_first_one_was_shown(tmp_path, server):
    first = parent(tmp_path, server)
    rejudge(tmp_path, server, first)
    again = {sent.messages[-1]["content"] for sent in server.sent}
    server.sent.clear()
    rejudge(tmp_path, server, first, "same", judge="hosted_vllm/first")
    assert {sent.messages[-1]["content"] for sent in server.sent} == again
    assert len(again) == 6  # 2 dialogues x 3 triggers, each a message of its own


def test_the_first_judges_words_reach_nobody(tmp_path, server):
    server.script_roles(judge=lambda sent: Answer(verdict("FAIL", ["label the boxes"], "canary-0001-wren")))
    first = parent(tmp_path, server)
    rejudge(tmp_path, server, first)
    assert not any("canary-0001-wren" in sent.text for sent in server.sent)


def test_the_run_names_its_parent_and_whose_responses_they_are(tmp_path, server):
    first = parent(tmp_path, server)
    second = rejudge(tmp_path, server, first).manifest()
    theirs = first.manifest()
    assert second.identity.parent == theirs.identity.digest()
    assert second.identity.assistant == theirs.identity.assistant
    assert (second.identity.corpus, second.corpus) == (theirs.identity.corpus, theirs.corpus)
    assert [judge.model for judge in second.identity.judges] == ["hosted_vllm/second"]
    assert theirs.identity.parent is None


def test_copied_responses_cost_nothing_and_the_verdicts_are_counted(tmp_path, server):
    summary = summarize(rejudge(tmp_path, server, parent(tmp_path, server)))
    assistant, judge = summary.usage["assistant"], summary.usage["judge"]
    assert (assistant.calls, assistant.prompt_tokens, assistant.usd) == (0, 0, 0.0)
    assert (judge.calls, judge.prompt_tokens, judge.completion_tokens) == (6, 66, 42)  # 6 x 11 and 6 x 7 tokens


def test_the_parent_is_left_as_it_was(tmp_path, server):
    first = parent(tmp_path, server)
    before = {path.name: path.read_bytes() for path in first.path.iterdir()}
    rejudge(tmp_path, server, first)
    assert {path.name: path.read_bytes() for path in first.path.iterdir()} == before


def test_a_run_cannot_be_rejudged_into_its_own_folder(tmp_path, server):
    first = parent(tmp_path, server)
    with pytest.raises(RunError, match="parent"):
        rejudge(tmp_path, server, first, "parent")
    assert not server.sent


def test_responses_of_another_run_do_not_come_into_the_same_folder(tmp_path, server):
    rejudge(tmp_path, server, parent(tmp_path, server))
    other = parent(tmp_path, server, "other", corpus(tmp_path, row(unique_id_eval="third")))
    with pytest.raises(RunError, match="differs in corpus, parent"):
        rejudge(tmp_path, server, other)
    assert not server.sent


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"judge": "hosted_vllm/third"}, "judge.model"),
        ({"params": {"temperature": 0.1}}, "judge.decoding.temperature"),
        ({"judge": ["hosted_vllm/second", "hosted_vllm/third"]}, "judges"),
    ],
)
def test_another_judge_is_another_run(tmp_path, server, change, named):
    first = parent(tmp_path, server)
    rejudge(tmp_path, server, first)
    server.sent.clear()
    with pytest.raises(RunError, match=f"differs in .*{named}"):
        rejudge(tmp_path, server, first, **change)
    assert not server.sent


def test_the_default_folder_names_the_model_and_the_new_judge(tmp_path, server):
    responses = Responses.of_run(parent(tmp_path, server), ProactBench())
    one, other = (Rejudging(responses, spec(judge, server.judge)) for judge in ("openai/a", "openai/b"))
    assert one.default_folder.name.startswith("proactbench--hosted_vllm_any--openai_a--")
    assert one.default_folder != other.default_folder


@pytest.mark.parametrize(
    ("model", "judge", "embedded"),
    [
        ("embedded", "hosted_vllm/second", True),
        ("hosted_vllm/any", "embedded", True),
        ("hosted_vllm/any", "openai/j", False),
    ],
)
def test_a_stand_in_in_either_role_is_said(tmp_path, server, model, judge, embedded):
    first = written(tmp_path / "parent", manifest(model=model), [trigger()], [answered(trigger())])
    made = Rejudging(Responses.of_run(first, ProactBench()), spec(judge, server.judge)).manifest
    assert made.embedded is embedded


# What was done is not done again.


def test_the_same_rejudging_again_makes_no_call_and_changes_nothing(tmp_path, server):
    first = parent(tmp_path, server)
    events = list(rejudge(tmp_path, server, first).events())
    server.sent.clear()
    assert list(rejudge(tmp_path, server, first).events()) == events
    assert not server.sent


def test_a_rejudging_that_was_stopped_goes_on_and_pays_for_nothing_twice(tmp_path, server):
    first = parent(tmp_path, server)
    with pytest.raises(LimitReached):
        rejudge(tmp_path, server, first, limits=Limits(calls=4), concurrency=1)
    assert len(server.sent) == 4
    second = rejudge(tmp_path, server, first)
    assert len(server.sent) == 6
    assert len({sent.text for sent in server.sent}) == 6
    assert (summarize(second).count("scored"), len(responses_of(second))) == (6, 6)


def test_a_torn_copy_is_made_whole_and_nothing_is_copied_twice(tmp_path, server):
    first = parent(tmp_path, server)
    whole = (rejudge(tmp_path, server, first).path / "events.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "child" / "events.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:50])  # killed while copying
    server.sent.clear()
    second = rejudge(tmp_path, server, first)
    copied = [event.key for event in second.events() if event.key.stage == "response"]
    assert (len(copied), len(set(copied)), len(server.sent)) == (6, 6, 6)
    assert responses_of(second) == responses_of(first)


def test_a_parent_that_has_grown_hands_over_its_new_responses(tmp_path, server):
    read = corpus(tmp_path)
    rejudge(tmp_path, server, parent(tmp_path, server, of=read, limit=2))
    assert len(server.sent) == 2
    first = parent(tmp_path, server, of=read)
    second = rejudge(tmp_path, server, first)
    assert len(server.sent) == 4  # 6 triggers less the 2 that are judged already
    assert responses_of(second) == responses_of(first)
    assert summarize(second).count("scored") == 6


def test_a_parent_with_a_further_epoch_hands_it_over(tmp_path, server):
    read = corpus(tmp_path, row())
    rejudge(tmp_path, server, parent(tmp_path, server, of=read))
    second = rejudge(tmp_path, server, parent(tmp_path, server, of=read, epochs=2))
    assert (second.manifest().epochs, summarize(second).count("scored")) == (2, 6)  # 3 triggers x 2 epochs


def test_what_the_parent_has_mended_is_judged_now(tmp_path, server):
    read = corpus(tmp_path, row())
    server.script_roles(assistant=by_turns({3: error(500)}))
    child = rejudge(tmp_path, server, parent(tmp_path, server, of=read))
    assert summarize(child).unscored_reasons == {"response: server": 1}
    server.script = healthy
    first = parent(tmp_path, server, of=read)
    child = rejudge(tmp_path, server, first)
    assert (len(server.sent), summarize(child).count("scored")) == (1, 3)
    assert responses_of(child) == responses_of(first)


def test_what_the_parent_still_owes_is_pending_and_then_done(tmp_path, server):
    one, other = trigger("a"), trigger("b")
    first = written(tmp_path / "parent", manifest(), [one, other], [answered(one)])
    second = rejudge(tmp_path, server, first)
    assert (summarize(second).count("scored"), summarize(second).count("pending")) == (1, 1)
    written(first.path, manifest(), [], [answered(other)])
    assert summarize(rejudge(tmp_path, server, first)).count("scored") == 2
    assert len(server.sent) == 2


# What failed stays unscored.


@pytest.mark.parametrize("retry_unscored", [False, True])
def test_responses_that_failed_are_copied_and_stay_unscored(tmp_path, server, retry_unscored):
    server.script_roles(assistant=by_turns({2: Answer(""), 3: error(500)}))
    first = parent(tmp_path, server, of=corpus(tmp_path, row()))
    server.script = healthy
    for _ in range(2):
        second = rejudge(tmp_path, server, first, retry_unscored=retry_unscored)
    assert (len(server.of("assistant")), len(server.of("judge"))) == (0, 1)
    assert summarize(second).unscored_reasons == {"response: empty": 1, "response: server": 1}
    assert responses_of(second) == responses_of(first)


def test_the_first_judges_failures_are_no_failures_of_the_second(tmp_path, server):
    case = trigger()
    first = written(
        tmp_path / "parent", manifest(), [case], [answered(case), failed(case, "unreadable", judge="openai/j")]
    )
    assert summarize(rejudge(tmp_path, server, first)).count("scored") == 1


# How much is judged, and by whom.


def test_a_rejudging_can_be_rejudged(tmp_path, server):
    first = parent(tmp_path, server)
    second = rejudge(tmp_path, server, first)
    third = rejudge(tmp_path, server, second, "grandchild", judge="hosted_vllm/third")
    assert responses_of(third) == responses_of(first)
    assert third.manifest().identity.parent == second.manifest().identity.digest()
    assert third.manifest().identity.assistant == first.manifest().identity.assistant
    assert not server.of("assistant")


def test_two_judges_grade_every_response_as_often_as_asked(tmp_path, server):
    first = parent(tmp_path, server, of=corpus(tmp_path, row()), epochs=2)
    judges = ["hosted_vllm/one", "hosted_vllm/two"]
    second = rejudge(tmp_path, server, first, judge=judges, judge_epochs=2)
    assert len(server.sent) == 24  # 3 triggers x 2 epochs x 2 judges x 2 verdicts
    names = [sent.body["model"] for sent in server.sent]
    assert (names.count("one"), names.count("two")) == (12, 12)
    asked = {(event.key.case, event.key.epoch, event.key.judge, event.key.judge_epoch) for event in verdicts_of(second)}
    assert len(asked) == 24
    summary = summarize(second)
    assert (summary.judges, summary.judged_again[0]) == (tuple(judges), 6)


def test_a_limit_judges_a_part_and_without_it_the_rest_is_judged(tmp_path, server):
    first = parent(tmp_path, server)
    second = rejudge(tmp_path, server, first, limit=2)
    assert (len(server.sent), len(list(second.cases())), len(responses_of(second))) == (2, 2, 2)
    rejudge(tmp_path, server, first, strata=["CRITICAL"])
    rejudge(tmp_path, server, first)
    assert (len(server.sent), summarize(second).count("scored")) == (6, 6)


def test_a_plan_counts_the_verdicts_on_responses_that_are_there_and_calls_nobody(tmp_path, server):
    cases = [trigger(name) for name in "abcd"]
    events = [answered(cases[0]), graded(cases[0]), answered(cases[1]), failed(cases[2], "empty")]
    responses = Responses.of_run(written(tmp_path / "parent", manifest(), cases, events), ProactBench())
    made = Rejudging(responses, specs(["hosted_vllm/one", "hosted_vllm/two"], server.judge))
    plan = made.forecast(tmp_path / "child", Scope(judge_epochs=3))
    assert (plan.assistant.calls, plan.judge.calls) == (0, 12)  # 2 responses x 2 judges x 3; d is pending, c failed
    assert not (tmp_path / "child").exists()
    assert not server.sent


def test_the_official_judge_can_rejudge_what_ours_has_judged(tmp_path, server):
    first = written(tmp_path / "parent", manifest(), [trigger()], [answered(trigger()), graded(trigger(), "FAIL")])
    result = {"status": "EVALUATED", "score": "Pass", "rationale": "r", "evidence": "label the boxes"}
    server.script = lambda sent: Answer(json.dumps({"evaluation_result": result}))
    with installed(tmp_path / "package"):
        second = rejudge(tmp_path, server, first, judge_prompt="official")
    assert RESPONSE in server.sent[0].messages[1]["content"]
    assert second.manifest().identity.judges[0].program == "official"
    (only,) = verdicts_of(second)
    assert (only.grade.label, only.grade.verified) == ("PASS", True)


# What cannot be rejudged.


def test_a_run_of_another_benchmark_is_refused(tmp_path):
    with pytest.raises(RunError, match="a run of 'riddles'"):
        Responses.of_run(written(tmp_path / "run", manifest_of_riddles()), ProactBench())


def test_a_run_without_a_response_is_refused(tmp_path):
    with pytest.raises(RunError, match="no response in it yet"):
        Responses.of_run(written(tmp_path / "run", manifest(), [trigger()]), ProactBench())
