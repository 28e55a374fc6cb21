"""A run takes over from another one what it need not pay for again, and says what, from where, and why not the rest."""

import json
import re
from dataclasses import replace
from importlib import import_module

import pytest
from builders.benchmarks import ERRAND_CALLS, Contest, Errands, contestant, errand, errands
from fakes.player import played
from fakes.server import Answer, healthy

from dspy_proact import Evaluation, Gate, Limits, ModelSpec, Rejudging, Responses, summarize, transcript
from dspy_proact.calls import Price
from dspy_proact.errors import RunError, UsageError
from dspy_proact.report import summary_document
from dspy_proact.report.page.method import method
from dspy_proact.runs import RunFolder, RunWriter, Scope

LOW, HIGH = 64, 128


def at(server, limit=LOW, judge_limit=None, model="openai/gpt-4o", calls=None, price=None, **more) -> Evaluation:
    """ProactBench's sample at a server; both limits of output are the same where one is given."""
    answering = ModelSpec(name=model, api_base=server.assistant, params={"max_tokens": limit}, price=price)
    params = {"max_tokens": judge_limit or limit}
    judge = ModelSpec(name="openai/gpt-4o", api_base=server.judge, params=params, price=price)
    gate = Gate(retries=0, backoff=0.0, concurrency=1, limits=Limits(calls))
    return Evaluation("sample", answering, judge, gate=gate, **more)


def cutting(server, *, response=2, verdict=3):
    """A script of four triggers, of which this response is cut, and this verdict."""
    seen: list[str] = []

    def script(sent):
        if sent.body["max_tokens"] != LOW:
            return healthy(sent)
        if sent.role == "assistant":
            seen.append(sent.role)
            return Answer("You could label the boxes today, and", "length") if len(seen) == response else healthy(sent)
        return Answer('{"reasoning": "I', "length") if len(seen) == verdict else healthy(sent)

    server.script = script


@pytest.fixture
def old(server, tmp_path, proactbench):
    """A run of four triggers: the second response is cut, and the third verdict too, asked for once."""
    cutting(server)
    assert at(server).run(tmp_path / "old", Scope(limit=4)).unscored == 1
    assert len(server.sent) == 8
    server.sent.clear()
    return tmp_path / "old"


def reusing(old, limit=4) -> Scope:
    return Scope(limit=limit, reuse=old)


def reused(path):
    of = summarize(path).reused
    assert of is not None
    return of


def graded(path):
    return {(outcome.key, outcome.response): outcome.label for outcome in summarize(path).outcomes}


def test_after_a_raised_limit_only_what_was_cut_or_failed_is_asked_again_and_the_report_says_so(server, tmp_path, old):
    """One response with its verdict, and one verdict; a limit of three calls covers them."""
    evaluation = at(server, HIGH, calls=3)
    forecast = evaluation.forecast(tmp_path / "new", reusing(old))
    assert (forecast.assistant.calls, forecast.judge.calls, server.sent) == (1, 2, [])
    evaluation.run(tmp_path / "new", reusing(old))
    assert sorted((sent.role, sent.body["max_tokens"]) for sent in server.sent) == [
        ("assistant", HIGH),
        ("judge", HIGH),
        ("judge", HIGH),
    ]
    at(server, HIGH).run(tmp_path / "whole", Scope(limit=4))
    assert graded(tmp_path / "new") == graded(tmp_path / "whole")
    document = summary_document(summarize(tmp_path / "new"))
    assert [document["usage"][role]["calls"] for role in ("assistant", "judge")] == [1, 2]
    stages = document["reused"]
    assert (stages["responses"], stages["verdicts"], stages["usage"]["calls"]) == (3, 2, 5)
    limits = {"there": LOW, "here": HIGH}
    assert [*stages["runs"][0].pop("prices")] == ["assistant", "openai/gpt-4o"]
    assert stages["runs"] == [
        {
            "path": str(old),
            "limits": {"assistant.decoding.max_tokens": limits, "judge.decoding.max_tokens": limits},
            "reason": "",
        }
    ]
    first, *limits = reused(tmp_path / "new").lines
    assert first.startswith(f"Reused from {old}: 3 responses and 2 verdicts, whose 5 calls cost USD 0.0")
    assert limits[0] == f"assistant.decoding.max_tokens is 64 in {old} and 128 here."
    assert first in method(summarize(tmp_path / "new"))
    # A third run takes over from the second what that has from the first.
    server.sent.clear()
    at(server, 2 * HIGH).run(tmp_path / "third", reusing(tmp_path / "new"))
    assert server.sent == []
    assert reused(tmp_path / "third").usage.calls == 8


def test_what_was_cut_at_a_limit_that_is_the_same_is_taken_over(server, tmp_path, old):
    """Only the judge's limit is raised: the cut response is as good as it was, and its verdict."""
    at(server, LOW, HIGH).run(tmp_path / "new", reusing(old))
    assert [sent.role for sent in server.sent] == ["judge"]
    assert summarize(tmp_path / "new").truncated == 1


@pytest.mark.parametrize(
    ("other", "calls", "reason"),
    [
        ({"system_prompt": "Be brief."}, (4, 4), r"Nothing of .*old is reused: .*assistant\.prompt"),
        ({"model": "openai/gpt-4o-mini"}, (4, 4), r"Nothing of .*old is reused: assistant\.model differs\.$"),
        ({"limit": LOW - 1, "judge_limit": LOW}, (4, 4), r"Nothing .*: assistant\.decoding\.max_tokens differs\.$"),
        ({"judge_limit": LOW - 1}, (0, 4), r"no verdict by another judge .*: judge\.decoding\.max_tokens differs\.$"),
    ],
)
def test_of_another_prompt_or_model_and_under_a_lower_limit_nothing_is_reused(
    server, tmp_path, old, other, calls, reason
):
    server.script = healthy
    at(server, **other).run(tmp_path / "new", reusing(old))
    assert tuple(len(server.of(role)) for role in ("assistant", "judge")) == calls
    (record,) = RunFolder(tmp_path / "new").manifest().reused
    assert re.search(reason, record.reason)


def test_a_kill_in_the_middle_of_copying_is_healed_by_the_same_command_and_without_the_other_run(server, tmp_path, old):
    """After every line of the log of calls; of the event of a stage all calls are there before it."""
    new = tmp_path / "new"
    at(server, HIGH).run(new, reusing(old))
    calls, events = ((new / name).read_bytes().splitlines(keepends=True) for name in ("calls.jsonl", "events.jsonl"))
    expected, sent = graded(new), len(server.sent)
    keys = [json.loads(line)["key"] for line in calls]
    for scope in (reusing(old), Scope(limit=4)):
        for count in (1, 2, 5):  # copied lines come first
            ended = [line for line in events if json.loads(line)["key"] in keys[: max(0, count - 1)]]
            (new / "calls.jsonl").write_bytes(b"".join(calls[:count]))
            (new / "events.jsonl").write_bytes(b"".join(ended))
            server.sent.clear()
            at(server, HIGH).run(new, scope)
            assert graded(new) == expected
            assert len(server.sent) == (sent if scope.reuse else sent + 5 - count)
            assert len((new / "calls.jsonl").read_bytes().splitlines()) == len(calls)


def test_a_rejudging_reuses_the_verdicts_of_the_run_itself_under_a_raised_limit(server, tmp_path, old):
    """Of four verdicts one could not be read."""
    judge = ModelSpec(name="openai/gpt-4o", api_base=server.judge, params={"max_tokens": HIGH})
    Rejudging(Responses.of_run(RunFolder(old)), judge, gate=Gate(retries=0)).run(tmp_path / "new", reusing(old))
    assert [sent.role for sent in server.sent] == ["judge"]
    first, *_ = reused(tmp_path / "new").lines
    assert first.startswith(f"Reused from {old}: 0 responses and 3 verdicts, whose 3 calls cost")


def test_a_log_that_was_edited_is_refused_and_nothing_is_begun(server, tmp_path, old):
    path = old / "calls.jsonl"
    path.write_text(path.read_text("utf-8").replace("boxes today", "crates today", 1), "utf-8")
    with pytest.raises(RunError, match=r"old/calls\.jsonl, line \d: was changed"):
        at(server, HIGH).run(tmp_path / "new", reusing(old))
    assert (server.sent, (tmp_path / "new").exists()) == ([], False)


def test_a_run_cannot_reuse_itself_nor_a_folder_without_a_run(server, tmp_path, old):
    with pytest.raises(UsageError, match=r"`scope\.reuse=.*old`: is the folder of this very run; leave it out"):
        at(server).run(old, reusing(old))
    with pytest.raises(RunError, match="no run here"):
        at(server).check(tmp_path / "new", reusing(tmp_path / "nothing"))


def test_a_run_that_another_process_is_writing_is_reused_as_far_as_it_is(server, tmp_path, old):
    with RunWriter(old, RunFolder(old).manifest()):
        at(server, HIGH).run(tmp_path / "new", reusing(old))
    assert len(server.sent) == 3


def test_of_a_run_that_is_older_than_the_log_of_calls_nothing_is_reused(server, tmp_path, old):
    (old / "calls.jsonl").unlink()
    manifest = old / "manifest.json"
    manifest.write_text(RunFolder(old).manifest().model_copy(update={"keeps_calls": False}).model_dump_json(), "utf-8")
    at(server, HIGH).run(tmp_path / "new", reusing(old))
    assert len(server.sent) == 8
    assert "has no calls.jsonl" in reused(tmp_path / "new").lines[-1]


def test_a_run_whose_log_of_calls_is_lost_is_refused_and_not_called_an_old_one(server, tmp_path, old):
    (old / "calls.jsonl").unlink()
    with pytest.raises(RunError, match=r"old/calls\.jsonl: is missing; restore it"):
        at(server, HIGH).check(tmp_path / "new", reusing(old))
    (old / "calls.jsonl").mkdir()
    assert at(server, HIGH).reused(reusing(old)).reason == ""
    with pytest.raises(RunError, match=r"old/calls\.jsonl: cannot be read"):
        at(server, HIGH).run(tmp_path / "new", reusing(old))
    assert (server.sent, (tmp_path / "new").exists()) == ([], False)


def test_what_was_reused_had_cost_what_the_run_paid_that_made_it(server, tmp_path):
    """A call has 11 tokens in and 7 out; two cases are four calls, at USD 1 a token 72, at USD 2 they would be 144."""

    def cost(name, dollars, limit, reuse=None):
        price = Price(prompt=dollars, completion=dollars)
        at(server, limit, price=price).run(tmp_path / name, Scope(limit=2, reuse=reuse))
        usage = reused(tmp_path / name).usage if reuse else None
        return usage and (usage.calls, usage.usd, usage.reason)

    cost("first", 1.0, LOW)
    assert cost("second", 2.0, HIGH, tmp_path / "first") == (4, 72.0, None)
    assert cost("equal", 1.0, HIGH, tmp_path / "first") == (4, 72.0, None)
    assert cost("third", 3.0, 2 * HIGH, tmp_path / "equal") == (4, 72.0, None)
    unknown = "the runs that paid for them had different prices"
    assert cost("fourth", 3.0, 2 * HIGH, tmp_path / "second") == (4, None, unknown)


def test_a_run_that_reuses_a_rejudging_names_the_reason_why_no_response_is_reused(server, tmp_path, old):
    judge = ModelSpec(name="openai/gpt-4o", api_base=server.judge, params={"max_tokens": LOW})
    Rejudging(Responses.of_run(RunFolder(old)), judge, gate=Gate(retries=0)).run(tmp_path / "again", Scope(limit=4))
    server.sent.clear()
    at(server, HIGH).run(tmp_path / "new", reusing(tmp_path / "again"))
    assert len(server.sent) == 8
    first, *_, reason = reused(tmp_path / "new").lines
    assert first == f"Reused from {tmp_path / 'again'}: 0 responses and 0 verdicts."
    assert reason.startswith(f"No response of {tmp_path / 'again'} is reused, nor a verdict on one that is made anew: ")


def test_a_transcript_says_that_thoughts_of_reused_replies_may_be_missing(server, tmp_path):
    server.script = contestant
    model, cases = ModelSpec(name="openai/any", api_base=server.assistant), Contest().read("sample", None)
    private = replace(cases, corpus=cases.corpus.model_copy(update={"private": True}))

    def left_out(name, keep, **scope):
        Evaluation(private, model, benchmark=Contest(), keep_inputs=keep).run(tmp_path / name, Scope(limit=1, **scope))
        folder = RunFolder(tmp_path / name)
        return {stage.left_out for stage in transcript(folder, next(folder.cases()).key, benchmark=Contest())}

    (note,) = left_out("old", False)
    assert note.endswith("`keep_inputs` keeps them in a new run without `scope.reuse`")
    assert left_out("new", True, reuse=tmp_path / "old") == {
        "thoughts of reused replies are here only if the run that made them kept them"
    }
    assert left_out("fresh", True) == {""}


def test_a_stage_of_several_calls_is_asked_again_from_its_first_where_one_was_cut(server, tmp_path, probe):
    """PROBE's agent `stages` asks three times a case; in one of two cases the last reply is cut, and used."""
    settings = import_module("dspy_proact.benchmarks.probe.settings").ProbeSettings(agent="stages")

    def run(path, limit, **scope):
        spec = ModelSpec(name="openai/gpt-4o", api_base=server.assistant, params={"max_tokens": limit})
        judge = ModelSpec(name="openai/gpt-4o", api_base=server.judge)
        gate = Gate(retries=0, backoff=0.0, concurrency=1)
        Evaluation("sample", spec, judge, benchmark="probe", settings=settings, gate=gate).run(
            path, Scope(limit=2, **scope)
        )
        return [sent.role for sent in server.sent]

    def script(sent):
        answer = played(sent)
        cut = sent.role == "assistant" and sent.body["max_tokens"] == LOW and len(server.of("assistant")) == 2
        return Answer(answer.content, "length") if cut else answer

    server.script = script
    roles = run(tmp_path / "old", LOW)
    one = roles.count("assistant") // 2
    server.sent.clear()
    assert run(tmp_path / "new", HIGH, reuse=tmp_path / "old").count("assistant") == one


def test_a_further_roles_limit_decides_like_the_assistants(server, tmp_path):
    """Two errands of eight calls; in the first a reply of the user is cut, in the second none."""

    def run(name, limit, model="hosted_vllm/user", **scope):
        user = ModelSpec(name=model, api_base=server.base("user"), params={"max_tokens": limit})
        server.sent.clear()
        errands(server, user=user).run(tmp_path / name, Scope(limit=2, **scope))
        return tuple(sent.role for sent in server.sent)

    server.script = lambda sent: replace(errand(sent), finish_reason="length" if len(server.sent) == 1 else "stop")
    assert run("old", LOW) == ERRAND_CALLS * 2
    assert run("new", HIGH, reuse=tmp_path / "old") == ERRAND_CALLS
    assert [*reused(tmp_path / "new").runs[0].limits] == ["roles.user.decoding.max_tokens"]
    for case in RunFolder(tmp_path / "new").cases():  # messages of copied calls are kept as others are
        for stage in transcript(RunFolder(tmp_path / "new"), case.key, benchmark=Errands()):
            assert (stage.problem, None in [exchange.request for exchange in stage.exchanges]) == ("", False)
    assert run("other", LOW, model="hosted_vllm/other", reuse=tmp_path / "old") == ERRAND_CALLS * 2
    assert reused(tmp_path / "other").lines[-1] == f"Nothing of {tmp_path / 'old'} is reused: roles.user.model differs."
