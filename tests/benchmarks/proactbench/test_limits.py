"""What a run may spend, and what it says beforehand that it will. Over real HTTP, by the provider's own count."""

import pytest
from rows import jsonl, row
from specs import spec
from support.provider import Faulty, Scripted, SimulatedProvider, healthy, refusal

from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.proactbench.corpus import load_corpus, read_jsonl
from dspy_proact.calls import Price
from dspy_proact.errors import LimitReached, ProviderDown, UsageError
from dspy_proact.models import Gate, Limits
from dspy_proact.models.clients import import_litellm
from dspy_proact.report import summarize
from dspy_proact.runs import RunFolder, Scope

FAULTS = [(refusal(429, Retry_After="0"), 0.1), (refusal(500), 0.05), (Scripted(cut=60), 0.05)]
SHARES = {"assistant": [*FAULTS, (Scripted(""), 0.03)], "judge": [*FAULTS, (Scripted("prose"), 0.1)]}
PRICE = Price(prompt=1e-6, completion=4e-6)


@pytest.fixture
def provider():
    with SimulatedProvider(Faulty(healthy, SHARES, seed=3)) as running:
        yield running


def evaluation(provider, corpus, limits=None, calls=None, **said):
    model = spec("hosted_vllm/any", provider.base("assistant"), **({"price": PRICE} | said))
    judge = spec("openai/any", provider.base("judge"), price=PRICE)
    gate = Gate(**({"retries": 2, "concurrency": 64} | (calls or {})), limits=limits)
    return Evaluation(corpus, model, judge, gate=gate)


def corpus(folder, dialogues):
    path = folder / "corpus.jsonl"
    path.write_text(jsonl(*(row(unique_id_eval=f"d{number}") for number in range(dialogues))), encoding="utf-8")
    return read_jsonl(path)


def resumes(provider, folder, read):
    """The same run without a limit, on a healthy provider, ends with nothing pending."""
    provider.script = healthy
    evaluation(provider, read).run(folder)
    summary = summarize(RunFolder(folder))
    return summary.complete and not any("network" in reason for reason in summary.unscored_reasons)


def test_a_limit_of_calls_is_never_exceeded_and_the_run_resumes(provider, tmp_path):
    read = corpus(tmp_path, 60)
    with pytest.raises(LimitReached, match="--max-calls 100") as end:
        evaluation(provider, read, Limits(calls=100)).run(tmp_path / "run")
    assert end.value.exit_status == 4
    assert provider.received.total() == 100
    assert not summarize(RunFolder(tmp_path / "run")).complete
    assert resumes(provider, tmp_path / "run", read)


def test_a_run_that_stopped_at_a_limit_has_a_sample_of_the_whole(provider, tmp_path):
    """Of 26 calls 13 triggers are answered and graded: the first 13 that `--limit` takes, one of each scenario."""
    provider.script, sample = healthy, load_corpus("sample")
    with pytest.raises(LimitReached):
        evaluation(provider, sample, Limits(calls=26), {"concurrency": 1}).run(tmp_path / "run")
    summary = summarize(RunFolder(tmp_path / "run"))
    asked = {outcome.key for outcome in summary.scored}
    assert (len(asked), summary.groups_reached, summary.group_count) == (13, 13, 13)
    evaluation(provider, sample).run(tmp_path / "limited", Scope(limit=13))
    assert asked == {outcome.key for outcome in summarize(RunFolder(tmp_path / "limited")).outcomes}


def test_a_limit_of_tokens_is_never_exceeded_and_the_run_resumes(provider, tmp_path):
    read = corpus(tmp_path, 60)
    with pytest.raises(LimitReached, match="--max-tokens 120000"):
        evaluation(provider, read, Limits(tokens=120_000)).run(tmp_path / "run")
    assert 0 < provider.tokens <= 120_000
    assert resumes(provider, tmp_path / "run", read)


def test_a_limit_of_tokens_is_used_up_to_what_the_last_call_might_write(provider, tmp_path):
    provider.script = healthy
    with pytest.raises(LimitReached):
        evaluation(provider, corpus(tmp_path, 100), Limits(tokens=120_000)).run(tmp_path / "run")
    # A reply counts 250 tokens; a verdict may be of 32,768 and its prompt of some 8,000 bytes.
    assert 120_000 - 45_000 < provider.tokens <= 120_000


def test_a_limit_of_money_is_never_exceeded(provider, tmp_path):
    read = corpus(tmp_path, 60)
    with pytest.raises(LimitReached, match=r"--max-usd 0\.2"):
        evaluation(provider, read, Limits(usd=0.2)).run(tmp_path / "run")
    # A healthy reply costs 200 x 1e-6 + 50 x 4e-6 = 4e-4 dollars for 250 tokens.
    assert 0 < provider.tokens / 250 * 4e-4 <= 0.2
    assert resumes(provider, tmp_path / "run", read)


def test_a_limit_of_money_without_a_price_is_a_usage_error(provider, tmp_path):
    with pytest.raises(UsageError, match="--max-usd needs a price for --model hosted_vllm/any"):
        evaluation(provider, corpus(tmp_path, 1), Limits(usd=1), price=None)


def test_a_limit_of_tokens_needs_a_bound_on_answers(provider, tmp_path):
    with pytest.raises(UsageError, match="need a completion limit"):
        evaluation(provider, corpus(tmp_path, 1), Limits(tokens=1), params={"max_tokens": None})


def test_a_provider_that_goes_down_ends_the_run_and_is_waited_for(provider, tmp_path):
    read = corpus(tmp_path, 60)
    provider.script = lambda received: healthy(received) if received.number < 80 else refusal(503)
    with pytest.raises(ProviderDown, match="calls in a row failed after all retries") as end:
        evaluation(provider, read, calls={"retries": 0, "concurrency": 8}).run(tmp_path / "run")
    assert end.value.exit_status == 5
    assert provider.received.total() <= 80 + 10 + 8 + 10  # the patience of each role, and what was in flight
    provider.script = healthy
    evaluation(provider, read).run(tmp_path / "run")
    summary = summarize(RunFolder(tmp_path / "run"))
    assert (summary.count("scored"), summary.complete) == (180, True)


def test_rate_limits_and_errors_now_and_then_do_not_end_a_run(provider, tmp_path):
    read = corpus(tmp_path, 60)
    evaluation(provider, read, calls={"retries": 1}).run(tmp_path / "run")
    assert summarize(RunFolder(tmp_path / "run")).complete


@pytest.mark.parametrize("name", ["sample", "real"])
def test_a_dry_run_predicts_calls_and_prompt_tokens_exactly(provider, tmp_path, request, name):
    spec = "sample" if name == "sample" else str(request.getfixturevalue("data") / "proactbench_dialogue.jsonl")
    run = evaluation(provider, load_corpus(spec))
    plan = run.forecast(tmp_path / "run")
    assert provider.received.total() == 0
    assert not (tmp_path / "run").exists()
    sent = []

    def script(received):
        sent.append(received)
        return healthy(received)

    provider.script = script
    run.run(tmp_path / "run")
    assert plan.assistant.calls == provider.received["assistant"]
    assert plan.judge.calls == provider.received["judge"]
    asked = [received.body["messages"] for received in sent if received.role == "assistant"]
    counted = sum(import_litellm().token_counter(model="hosted_vllm/any", messages=messages) for messages in asked)
    assert plan.assistant.prompt_tokens == counted
    assert run.forecast(tmp_path / "run").calls == 0


def test_a_dry_run_of_a_begun_run_counts_what_is_left(provider, tmp_path):
    provider.script = healthy
    run = evaluation(provider, load_corpus("sample"))
    run.run(tmp_path / "run", Scope(limit=10))
    assert run.forecast(tmp_path / "run", Scope(limit=12)).calls == 4
    assert run.forecast(tmp_path / "run", Scope(limit=10, epochs=2)).calls == 20
