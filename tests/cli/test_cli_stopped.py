"""What ends a run early: refusals that every request meets, and first answers of no use; both are tried again."""

import json
from pathlib import Path

import pytest
from builders.dialogues import jsonl, row
from drivers.terminal import next_of, unwrapped
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
        ("judge", Answer("Sure, that passes."), "The answers are not JSON of the requested form", None),
    ],
    ids=["responses cut", "verdicts cut", "prose"],
)
def test_ten_first_cases_without_use_end_the_run_with_the_likely_cause_unless_it_keeps_going(
    evaluate, proact, server, role, answer, sentence, change
):
    server.script = lambda sent: answer if sent.role == role else healthy(sent)
    status, _, err = evaluate()
    what = "responses" if role == "assistant" else "verdicts"
    assert status == 3
    assert f"the first 10 {what} cannot be used" in unwrapped(err)
    assert (sentence in unwrapped(err), "--keep-going goes on all the same" in unwrapped(err)) == (True, True)
    assert len({json.dumps(sent.messages[:2]) for sent in server.of(role)}) <= 20
    assert ("Next: " in err, change is None or change in unwrapped(err)) == (change is not None, True)
    (cause,) = json.loads(proact("report", "run", "--json")[1])["triggers"]["failure_causes"]
    assert (cause["count"] >= 10, f"{cause['count']} x {cause['reason']}" in proact("show", "run")[1]) == (True, True)
    assert (evaluate("--keep-going")[0], len(on_disk())) == (3, 10 + 36)
    server.script_roles()
    assert evaluate("--retry-unscored")[0] == 0


def test_verdicts_in_prose_to_requests_without_a_schema_end_with_the_option_that_sends_one(evaluate, server):
    server.script_roles(judge=lambda sent: Answer("Sure, that passes."))
    status, _, err = evaluate("--judge-param", "response_format=none")
    assert (status, "No JSON schema is sent with the requests: --judge-param" in unwrapped(err)) == (3, True)
    assert "--judge-param response_format=json_schema --reuse run" in unwrapped(err)


def test_a_parameter_that_is_refused_before_any_answer_is_changed_in_a_command_without_a_run_to_reuse(evaluate, server):
    server.script = lambda sent: error(400, "max_tokens must be less than or equal to `4096`")
    status, _, err = evaluate()
    words = next_of((status, "", err))
    assert (status, len(server.sent), "--reuse" in words, words[words.index("--out") + 1]) == (2, 1, False, "run")
    assert words[words.index("--model-param") + 1] == "max_tokens=4096"
    assert not Path("run").exists()


# Why, in everything that reads a run


def test_the_cause_stands_grouped_in_every_reader_of_a_run(evaluate, proact, server):
    """Sentences that differ in numbers and identifiers alone are one cause."""
    number = iter(range(100))
    server.script_roles(judge=lambda sent: error(500, f"Worker {next(number)} lost request req_0123abc"))
    assert evaluate(dialogues=2)[0] == 3
    line = "6 x verdict: server: 'Worker 0 lost request req_0123abc'"
    for command in ("report run", "show run"):
        assert line in unwrapped(proact(*command.split())[1]), command
    causes = json.loads(proact("report", "run", "--json")[1])["triggers"]["failure_causes"]
    assert [(cause["count"], cause["reason"]) for cause in causes] == [(6, "verdict: server")]
    assert proact("report", "run", "--html", "page.html")[0] == 0
    assert "verdict: server: &#39;Worker 0 lost request" in Path("page.html").read_text(encoding="utf-8")
    assert proact("export", "run", "--format", "csv", "--out", "run.csv")[0] == 0
    assert "Worker 5 lost request" in Path("run.csv").read_text(encoding="utf-8")
    assert "no verdict of hosted_vllm/j: server: 'Worker" in unwrapped(proact("show", "run", "--trigger", "d0__t2")[1])


def test_what_the_same_request_would_meet_again_is_not_offered_next(evaluate, server):
    """The first request of the judge is answered, all others are too long."""
    long = error(400, "This model's maximum context length is 100 tokens and your request has 200 input tokens.")
    server.script_roles(judge=lambda sent: long if len(server.of("judge")) > 1 else healthy(sent))
    status, out, err = evaluate(dialogues=2)
    assert (status, "--retry-unscored" in err) == (3, False)
    assert "5 x verdict: too_long: the context has 100 tokens and 200 were requested" in unwrapped(out)
