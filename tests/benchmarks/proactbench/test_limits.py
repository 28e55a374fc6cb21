"""A provider that fails in every way, and what a run may spend: over real HTTP, by the provider's own count."""

import pytest
from builders.dialogues import corpus, record, row, trigger_point
from drivers.client import spec
from support.provider import FAULTS, Faulty, Scripted, SimulatedProvider, healthy, refusal

from dspy_proact import Evaluation, Gate, Limits, RunFolder, Scope, load_corpus, summarize
from dspy_proact.calls import Price
from dspy_proact.cli.exit_status import exit_status
from dspy_proact.errors import LimitReached, UsageError
from dspy_proact.models.clients import import_litellm

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
OFTEN = [(refusal(429, Retry_After="0"), 0.1), (refusal(500), 0.05), (Scripted(cut=60), 0.05)]
SHARES = {"assistant": [*OFTEN, (Scripted(""), 0.03)], "judge": [*OFTEN, (Scripted("prose"), 0.1)]}
PRICE = Price(prompt=1e-6, completion=4e-6)


@pytest.fixture
def provider():
    """Fails now and then."""
    with SimulatedProvider(Faulty(healthy, SHARES, seed=3)) as running:
        yield running


def evaluation(provider, corpus, limits=None, calls=None, **text):
    model = spec("hosted_vllm/any", provider.base("assistant"), **({"price": PRICE} | text))
    judge = spec("openai/any", provider.base("judge"), price=PRICE)
    gate = Gate(**({"retries": 2, "concurrency": 64} | (calls or {})), limits=limits)
    return Evaluation(corpus, model, judge, gate=gate)


def dialogues(folder, count):
    """A corpus of dialogues with three triggers each."""
    return corpus(folder, *(row(unique_id_eval=f"d{number}") for number in range(count)))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Clients load slow modules at their first call, which no time limit of a test is to hold."""
    with SimulatedProvider(healthy) as running:
        folder = tmp_path_factory.mktemp("loaded")
        evaluation(running, dialogues(folder, 1)).run(folder / "run")


@pytest.mark.parametrize("slow", [False, True])
def test_a_fault_of_one_trigger_costs_that_trigger_and_no_other(provider, loaded, tmp_path, monkeypatch, slow):
    """A dialogue a fault, which its messages name, and one that is answered well."""
    monkeypatch.setattr("dspy_proact.models.gate._LONGEST_WAIT", 0.1)  # one fault asks for the longest
    names = [name for name, reason in OUTCOMES.items() if (reason == "timeout") == slow]

    def dialogue(name):
        records = [record(turn, user_message=f"[{name}] Question {turn}?") for turn in (1, 2)]
        return row(unique_id_eval=name, turn_records=records, trigger_points=[trigger_point(2)], num_turns_completed=2)

    def script(received):
        prompt = received.body["messages"][0]["content"]
        hit = [FAULTS[name] for name in names if received.role == "assistant" and f"[{name}]" in prompt]
        return hit[0] if hit else healthy(received)

    provider.script, read = script, corpus(tmp_path, *map(dialogue, [*names, "none"]))
    calls = {"retries": 0, "patience": 1000, "timeout": 1.0 if slow else 30.0}
    evaluation(provider, read, calls=calls).run(tmp_path / "run")
    first = summarize(RunFolder(tmp_path / "run"))
    assert first.complete
    assert {outcome.key.removesuffix("__t2"): outcome.reason for outcome in first.outcomes} == {
        name: f"response: {OUTCOMES[name]}" if OUTCOMES.get(name) else None for name in [*names, "none"]
    }
    provider.script = healthy
    evaluation(provider, read, calls=calls | {"timeout": 30.0}).run(tmp_path / "run")
    healed = summarize(RunFolder(tmp_path / "run"))
    # What is left is the model's own answer, and not the provider's failure.
    left = {outcome.key.removesuffix("__t2") for outcome in healed.outcomes if outcome.state == "unscored"}
    assert left == {name for name in names if OUTCOMES[name] in ("empty", "filtered", "oversized")}


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(calls=100), "`limits.calls=100`"),
        (Limits(tokens=120_000), "`limits.tokens=120000`"),
        (Limits(usd=0.2), r"`limits\.usd=0\.2`"),
    ],
    ids=["calls", "tokens", "money"],
)
def test_a_limit_is_never_exceeded_and_the_run_resumes(provider, tmp_path, limits, text):
    read = dialogues(tmp_path, 60)
    with pytest.raises(LimitReached, match=text) as end:
        evaluation(provider, read, limits).run(tmp_path / "run")
    assert exit_status(end.value) == 4
    assert provider.received.total() == 100 or limits.calls is None
    assert 0 < provider.tokens <= (limits.tokens or 120_000)
    # A healthy reply costs 200 x 1e-6 + 50 x 4e-6 = 4e-4 dollars for 250 tokens.
    assert provider.tokens / 250 * 4e-4 <= (limits.usd or 1)
    assert not summarize(RunFolder(tmp_path / "run")).complete
    provider.script = healthy
    evaluation(provider, read).run(tmp_path / "run")
    summary = summarize(RunFolder(tmp_path / "run"))
    assert summary.complete
    assert not any("network" in reason for reason in summary.unscored_reasons)


def test_a_run_that_stopped_at_a_limit_has_a_sample_of_the_whole(provider, tmp_path):
    """Of 26 calls 13 triggers are answered and graded: the first 13 that `--limit` takes, one of each scenario."""
    provider.script, sample = healthy, load_corpus("sample")
    with pytest.raises(LimitReached):
        evaluation(provider, sample, Limits(calls=26), {"concurrency": 1}).run(tmp_path / "run")
    summary = summarize(RunFolder(tmp_path / "run"))
    keys = {outcome.key for outcome in summary.scored}
    assert (len(keys), summary.groups_reached, summary.group_count) == (13, 13, 13)
    evaluation(provider, sample).run(tmp_path / "limited", Scope(limit=13))
    assert keys == {outcome.key for outcome in summarize(RunFolder(tmp_path / "limited")).outcomes}


def test_a_limit_of_tokens_is_used_up_to_what_the_next_trigger_might_take(provider, tmp_path):
    provider.script = healthy
    with pytest.raises(LimitReached):
        evaluation(provider, dialogues(tmp_path, 100), Limits(tokens=120_000)).run(tmp_path / "run")
    # A reply counts 250 tokens; a response may be of 8,192, a verdict of 32,768, and both prompts of some 10,000 bytes.
    assert 120_000 - 51_000 < provider.tokens <= 120_000


def test_a_limit_of_tokens_without_a_bound_on_an_answer_is_refused(provider, tmp_path):
    with pytest.raises(UsageError, match="need a completion limit"):
        evaluation(provider, dialogues(tmp_path, 1), Limits(tokens=1), params={"max_tokens": None})


@pytest.mark.parametrize("name", ["sample", "real"])
def test_a_dry_run_predicts_calls_and_prompt_tokens_exactly(provider, tmp_path, request, name):
    path = "sample" if name == "sample" else str(request.getfixturevalue("data") / "proactbench_dialogue.jsonl")
    run, sent = evaluation(provider, load_corpus(path)), []
    plan = run.forecast(tmp_path / "run")
    assert (provider.received.total(), (tmp_path / "run").exists()) == (0, False)
    provider.script = lambda received: sent.append(received) or healthy(received)
    run.run(tmp_path / "run", Scope(limit=10))
    left = run.forecast(tmp_path / "run", Scope(limit=12))
    assert left.calls == min(4, plan.calls - len(sent))  # of a begun run what is left
    run.run(tmp_path / "run")
    requests = [received.body["messages"] for received in sent if received.role == "assistant"]
    assert (plan.assistant.calls, plan.judge.calls) == (len(requests), len(sent) - len(requests))
    counted = sum(import_litellm().token_counter(model="hosted_vllm/any", messages=messages) for messages in requests)
    assert plan.assistant.prompt_tokens == counted
    assert run.forecast(tmp_path / "run").calls == 0
