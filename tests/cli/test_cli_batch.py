"""`--batch` at the command line: what it says, what it refuses, and how it goes on."""

import asyncio
import signal
from pathlib import Path

import pytest
from drivers.child import Child, command_line
from drivers.terminal import unwrapped

from dspy_proact.kept import read_batches
from dspy_proact.models import gate as gates
from dspy_proact.models.batch import Batching

pytestmark = pytest.mark.usefixtures("proactbench")


def quickly():
    """Makes batches by a clock that runs 500 times as fast."""
    gates.Batching = lambda: Batching(sleep=lambda seconds: asyncio.sleep(seconds / 500))


def quick_command_line(*arguments):
    quickly()
    command_line(*arguments)


@pytest.fixture
def batches(monkeypatch, batches):
    monkeypatch.setattr(gates, "Batching", Batching)
    quickly()
    return batches


def evaluate(server, *more):
    bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge, "--corpus", "sample"]
    return ["eval", "--model", "hosted_vllm/m", "--judge", "hosted_vllm/j", *bases, "--batch", *more]


def test_a_run_says_what_is_submitted_and_when_it_was_last_looked_at(proact, batches, monkeypatch):
    """How long the rest takes it does not say: all results come at once."""
    monkeypatch.setattr("dspy_proact.cli.views.progress._WORTH_SAYING", 0.0)
    status, out, err = proact(*evaluate(batches, "--out", "run"))
    assert (status, batches.sizes) == (0, [49, 49])
    message = unwrapped(err)
    assert "--model hosted_vllm/m: 1 batch with 49 requests submitted." in message
    assert "--judge hosted_vllm/j: 1 batch with 49 requests submitted, 49 of them done at " in message
    assert ("45 of 49 triggers" in message, " left" in message) == (True, False)
    assert "49/49" in out


def test_the_bill_is_that_of_batches_and_says_so(proact, batches):
    """49 calls of 11 and 7 tokens at USD 1000 and 2000 a million are 49 x 0.025."""
    prices = ("--model-price", "1000,2000", "--judge-price", "1000,2000")
    _, out, _ = proact(*evaluate(batches, "--out", "run", *prices))
    assert unwrapped(out).count("USD 1.2250 in batches") == 2
    _, out, _ = proact(*(word for word in evaluate(batches, "--out", "plain", *prices) if word != "--batch"))
    assert (unwrapped(out).count("USD 1.2250"), "in batches" in out) == (2, False)


def test_rejudge_grades_in_batches(proact, batches):
    proact("eval", "--corpus", "sample", "--out", "run")
    named = ["--judge", "hosted_vllm/j", "--judge-api-base", batches.judge, "--out", "again", "--batch"]
    status, _, _ = proact("rejudge", "run", *named)
    # The stand-in's answers have no words that the judge quotes: it is asked for quotes once more.
    assert (status, batches.sizes[0], sum(batches.sizes)) == (0, 49, batches.billed)


def test_ctrl_c_says_what_goes_on_and_the_same_command_waits_for_it(proact, batches, tmp_path):
    batches.polls = lambda batch: 10_000
    batches.event = lambda name, batch: child.send_signal(signal.SIGINT) if name == "poll" else None
    child = Child(quick_command_line, *evaluate(batches, "--out", "run"))
    ended = child.ended()
    message = unwrapped(ended.stderr)
    assert ended.returncode == 130
    assert "Stopping: batches that are submitted go on at the provider." in message
    assert (
        "1 batch with 49 requests had not ended at the last look (batch_1): they go on at the provider, and are "
        "billed. The same command waits for them and pays for none of their requests twice, also on a copy of "
        "the folder."
    ) in message
    assert [batch.id for batch in read_batches(Path("run"))] == ["batch_1"]
    batches.polls, batches.event = (lambda batch: batch.polls), (lambda *_: None)
    status, _, err = proact(*evaluate(batches, "--out", "run"))
    assert (status, batches.sizes, batches.billed, "had not ended" in err) == (0, [49, 49], 98, False)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--batch"], "--model embedded: the stand-in answers at once and costs nothing; omit --batch"),
        (["--batch", "--flex", "--model", "openai/gpt-5.4"], "--flex and --batch are mutually exclusive"),
        (
            ["--batch", "--model", "deepseek/x", "--judge", "openai/gpt-4o"],
            "its batch API is not known here; omit --batch",
        ),
    ],
    ids=["embedded", "flex", "another provider"],
)
def test_what_takes_no_batch_is_refused(refused, more, sentence):
    assert sentence in unwrapped(refused("eval", "--corpus", "sample", *more))


def test_an_application_is_refused_with_the_command_that_grades_in_batches(refused):
    Path("mine.py").write_text("def answer(messages):\n    return 'Yes.'\n", encoding="utf-8")
    judge = ("--judge", "openai/gpt-4o", "--corpus", "sample", "--batch")
    message = unwrapped(refused("eval", "--app", "mine.py:answer", *judge))
    assert "is asked one request at a time; omit --batch; once its answers are there, `rejudge`" in message


def test_a_dry_run_prices_the_tiers_side_by_side(proact):
    """Of Claude no flex tier is known; half a price is half of what is printed, to the cent."""
    models = ("--model", "openai/gpt-5.4", "--judge", "openai/gpt-5.4", "--corpus", "sample", "--dry-run")
    plain, batch = (proact("eval", *models, *more)[1] for more in ([], ["--batch"]))
    line = next(line for line in plain.splitlines() if line.startswith("USD by tier"))
    assert line in batch.splitlines()
    words = line.removesuffix(".").split(", ")
    assert [word.rsplit(" ", 3)[0] for word in words] == ["USD by tier: plain", "--flex", "--batch"]
    (_, most), (_, flex), (_, half) = ([float(word.split()[at]) for at in (-3, -1)] for word in words)
    assert abs(2 * half - most) <= 0.02
    assert flex == half
    assert "Time: 2 rounds of batches, without repairs; providers promise each within 24 hours." in batch
    _, out, _ = proact("eval", *models[:2], "--judge", "anthropic/claude-opus-4-7", *models[4:])
    assert "--flex not known for every model" in out
