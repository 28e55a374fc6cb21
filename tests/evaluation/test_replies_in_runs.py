"""What becomes of replies in a run of any benchmark, one's own included: thoughts, cuts, and endings that nobody knows.

That thoughts change nothing in a run of the package's benchmarks is tested beside what else holds of each of them.
"""

import io
from dataclasses import replace

import pytest
from builders.benchmarks import Contest, contestant
from drivers.client import spec
from fakes.server import Answer, healthy
from rich.console import Console

from dspy_proact import Evaluation, Gate, RunFolder, Scope, Trial, summarize
from dspy_proact.report import print_summary
from dspy_proact.report.page.method import method

SCOPE = Scope(limit=3)


def run(server, path, scope=SCOPE, **more):
    """A run of the contest, in which a program of DSPy's own asks twice a riddle."""
    gate = Gate(retries=0, concurrency=1)
    Evaluation("riddles", spec("hosted_vllm/any", server.assistant), benchmark=Contest(), gate=gate).run(path, scope)
    return summarize(path)


def report(summary):
    console = Console(file=io.StringIO(), width=400)
    print_summary(summary, console)
    return console.file.getvalue()


def test_thoughts_reach_nothing_in_a_benchmark_of_ones_own_and_are_counted(server, tmp_path):
    server.script = contestant
    plain = run(server, tmp_path / "plain")
    sent = [sent.wire for sent in server.sent]
    server.sent.clear()
    server.script = lambda sent: replace(contestant(sent), content=f"A canary.\n</think>\n{contestant(sent).content}")
    thinking = run(server, tmp_path / "thinking")
    assert [outcome.response for outcome in thinking.outcomes] == [outcome.response for outcome in plain.outcomes]
    assert [sent.wire for sent in server.sent] == sent
    sentence = "Thoughts were taken out of the text of 3 responses, where the server had left them."
    for text in (report(thinking), method(thinking)):
        assert sentence in text
    assert "Thoughts" not in report(plain)
    kept = [call.parts for call in RunFolder(tmp_path / "thinking").calls()]
    assert {parts[0]["type"] for parts in kept} == {"thinking"}


def test_an_answer_is_truncated_where_any_reply_that_it_is_made_of_was_cut(server, tmp_path):
    cut = {1, 6}  # the first reply about the first riddle, and the second one about the third
    server.script = lambda sent: replace(contestant(sent), finish_reason="length" if len(server.sent) in cut else "")
    summary = run(server, tmp_path / "run")
    assert (summary.truncated, len(summary.scored)) == (2, 2)
    assert "2 responses were truncated at the token limit and judged as they are." in report(summary)


def test_a_reply_that_ended_for_an_unknown_reason_is_used_and_flagged(server, tmp_path):
    server.script = lambda sent: replace(contestant(sent), finish_reason="abort" if len(server.sent) == 1 else "stop")
    summary = run(server, tmp_path / "run")
    assert summary.finishes == {"abort": 1}
    assert "Replies with an unknown finish reason, used as they are: 'abort' 1." in report(summary)


@pytest.mark.usefixtures("proactbench")
def test_a_cut_verdict_and_an_answer_that_is_all_thought_name_the_tokens(server, tmp_path):
    """The first answer thinks to its limit; the verdict on the second is cut; neither is asked for again."""

    def script(sent):
        if sent.role == "judge":
            return Answer('{"reasoning": "It', finish_reason="length")
        return Answer("<think>so", finish_reason="length") if len(server.sent) == 1 else healthy(sent)

    server.script = script
    models = (spec("hosted_vllm/any", base) for base in (server.assistant, server.judge))
    Evaluation("sample", *models, gate=Gate(retries=0, concurrency=1)).run(tmp_path / "run", Scope(limit=2))
    assert summarize(tmp_path / "run").unscored_reasons == {"response: cut": 1, "verdict: cut": 1}
    failures = [event.failure.detail for event in RunFolder(tmp_path / "run").events() if event.failure]
    assert failures == [
        "cut at 7 tokens before any text: thinking took them",
        "cut at 7 tokens in the middle of the answer",
    ]
    assert len(server.sent) == 3


@pytest.mark.usefixtures("proactbench")
def test_a_trial_shows_no_thoughts_and_says_what_was_cut(server):
    server.script_roles(assistant=lambda sent: Answer("<think>A canary.</think>You could", finish_reason="length"))
    models = [spec("hosted_vllm/any", base) for base in (server.assistant, server.judge)]
    trial = Trial(*models, gate=Gate(retries=0))
    case = trial._declared.read("sample", trial._declared.settings_type()).cases[0]
    (side,) = trial.run([case]).sides
    assert (side.answer.text, side.truncated) == ("You could", True)
    assert not any("canary" in sent.text for sent in server.sent)
