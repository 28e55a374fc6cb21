"""A run against a provider that fails in every way: every trigger is accounted for, and the run goes on."""

import pytest
from rows import jsonl, row
from specs import spec
from support.provider import FAULTS, SimulatedProvider, healthy

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.proactbench.corpus import read_jsonl
from dspy_proact.models import Gate
from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder

# What becomes of a trigger whose every response fails so: scored, or the reason. The judge is healthy.
OUTCOMES = {
    "rate limit": "rate_limit",
    "rate limit, retry at once": "rate_limit",
    "rate limit, retry tomorrow": "rate_limit",
    "rate limit, retry at a date": "rate_limit",
    "server error": "server",
    "bad gateway in HTML": "server",
    "reset before the headers": "network",
    "reset in the headers": "network",
    "reset in the body": "network",
    "stalled body": "timeout",
    "slow drip": "timeout",
    "truncated JSON": "server",
    "wrong content type": "server",
    "no choices": "empty",
    "null content": "empty",
    "empty content": "empty",
    "cut at the limit": None,
    "content filter": "filtered",
    "no usage": None,
    "absurd usage": None,
    "unicode garbage": "server",
    "half a surrogate pair": None,
    "ten megabytes": "oversized",
}


@pytest.fixture
def provider():
    with SimulatedProvider(healthy) as running:
        yield running


def evaluation(provider, folder, backend, timeout=30.0):
    path = folder / "corpus.jsonl"
    path.write_text(jsonl(row()), encoding="utf-8")
    model, judge = spec("hosted_vllm/any", provider.base("assistant")), spec("openai/any", provider.base("judge"))
    return Evaluation(read_jsonl(path), model, judge, gate=Gate(timeout=timeout, retries=0, backend=backend))


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory):
    """Clients load slow modules at their first call, which no time limit of a test is to hold."""
    with SimulatedProvider(healthy) as running:
        for backend in ("auto", "litellm"):
            folder = tmp_path_factory.mktemp(backend)
            evaluation(running, folder, backend).run(folder / "run")


def test_every_fault_has_its_outcome():
    assert OUTCOMES.keys() == FAULTS.keys()


@pytest.mark.parametrize("backend", ["auto", "litellm"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_one_trigger_costs_that_trigger_and_no_other(provider, tmp_path, backend, name):
    def script(received):
        hit = received.role == "assistant" and len(received.body["messages"]) == 3  # the trigger at turn 2
        return FAULTS[name] if hit else healthy(received)

    provider.script = script
    hangs = OUTCOMES[name] == "timeout"
    evaluation(provider, tmp_path, backend, timeout=2.0 if hangs else 30.0).run(tmp_path / "run")
    summary = summarize(RunFolder(tmp_path / "run"))
    reason = OUTCOMES[name]
    assert summary.complete
    assert summary.unscored_reasons == ({f"response: {reason}": 1} if reason else {})
    assert summary.count("scored") == (2 if reason else 3)
    provider.script = healthy
    evaluation(provider, tmp_path, backend).run(tmp_path / "run")
    healed = summarize(RunFolder(tmp_path / "run"))
    kept = reason in ("empty", "filtered", "oversized")  # the model's own answer, not the provider's failure
    assert (healed.count("scored"), healed.count("unscored")) == ((2, 1) if kept else (3, 0))
