"""What ends a run early: refusals that every request meets, and first answers of no use; both are tried again."""

import json
from pathlib import Path

import pytest
from builders.dialogues import jsonl, row
from drivers.terminal import unwrapped
from fakes.server import Answer, error, healthy

from dspy_proact.runs import RunFolder

pytestmark = pytest.mark.usefixtures("proactbench")
CREDIT = "Your credit balance is too low to access the API."


@pytest.fixture
def evaluate(proact, server):
    """Evaluate on three triggers of each of so many dialogues, one call at a time, into one folder."""

    def call(*more, dialogues=12):
        Path("corpus.jsonl").write_text(
            jsonl(*(row(unique_id_eval=f"d{number}") for number in range(dialogues))), encoding="utf-8"
        )
        bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge, "--corpus", "corpus.jsonl"]
        named = ["eval", "--model", "hosted_vllm/m", "--judge", "hosted_vllm/j", *bases, "--out", "run"]
        server.sent.clear()
        return proact(*named, "--concurrency", 1, "--retries", 0, *more)

    return call


def on_disk():
    return [event.failure for event in RunFolder("run").events() if event.failure]


@pytest.mark.parametrize(
    ("refusal", "asked_for", "sentence"),
    [
        (error(400, CREDIT), 1, "the account cannot pay (HTTP 400)"),
        (error(400, "The stars are wrong."), 5, "5 requests were refused alike, and none was answered (refused)"),
    ],
    ids=["the account", "whatever it is"],
)
def test_a_judge_that_refuses_every_request_is_asked_a_handful_of_times_and_then_all_again(
    evaluate, server, refusal, asked_for, sentence
):
    server.script_roles(judge=lambda sent: refusal)
    status, _, err = evaluate()
    assert (status, len(server.of("judge"))) == (2, asked_for)
    assert sentence in unwrapped(err)
    server.script_roles()
    status, out, _ = evaluate()
    assert (status, "unscored" in out) == (0, False)


def test_prompts_that_are_flagged_end_neither_a_run_nor_its_resumption(evaluate, server):
    """Each is sent twice, as any answer that is filtered."""
    flagged = error(403, "Input was flagged for: self-harm.")
    server.script = lambda sent: (
        flagged if sent.role == "judge" and len(server.of("judge")) in (1, 2, 5, 6) else healthy(sent)
    )
    assert evaluate(dialogues=4)[0] == 3
    assert [failure.reason for failure in on_disk()] == ["filtered"] * 2
    server.script = lambda sent: flagged
    assert evaluate("--retry-unscored", dialogues=4)[0] == 3
    assert len(server.sent) == 4


CUT = Answer(None, finish_reason="length")


@pytest.mark.parametrize(
    ("role", "answer", "sentence", "change"),
    [
        ("assistant", CUT, "10 of them were cut at the limit of 8,192 tokens", "--model-param max_tokens=16384"),
        ("judge", Answer('{"reas', "length"), "were cut at the limit of 32,768", "--judge-param max_tokens=65536"),
        ("judge", Answer("Sure, that passes."), "The answers are no JSON of the form that is asked for", None),
    ],
    ids=["responses cut", "verdicts cut", "prose"],
)
def test_ten_first_cases_without_use_end_the_run_with_the_likely_cause_unless_it_keeps_going(
    evaluate, server, role, answer, sentence, change
):
    server.script = lambda sent: answer if sent.role == role else healthy(sent)
    status, _, err = evaluate()
    what = "responses" if role == "assistant" else "verdicts"
    assert status == 3
    assert f"the first 10 {what} cannot be used" in unwrapped(err)
    assert (sentence in unwrapped(err), "--keep-going goes on all the same" in unwrapped(err)) == (True, True)
    assert len({json.dumps(sent.messages[:2]) for sent in server.of(role)}) <= 20
    assert ("Next: " in err, change is None or change in unwrapped(err)) == (change is not None, True)
    assert (evaluate("--keep-going")[0], len(on_disk())) == (3, 10 + 36)
    server.script_roles()
    assert evaluate("--retry-unscored")[0] == 0
