"""Runs on PROBE: graded, resumed, killed, limited, rejudged and reported; agents, baselines and oracles."""

import json
from io import StringIO
from typing import get_args

import dspy
import pytest
from builders.riddles import outcomes
from drivers.terminal import means
from fakes.server import Answer, vectors
from probe_desk import inputs_of
from probe_task import (
    CORPUS,
    DESCRIPTION,
    GOOD,
    ITEMS,
    PARAMETERS,
    SECRET,
    Scripted,
    corpus_of,
    planted,
    played,
    scripted_run,
    task,
    token,
)
from rich.console import Console
from support.player import play
from support.probe_tasks import Size, write_synthetic
from support.provider import Faulty, SimulatedProvider, refusal
from support.provider import Scripted as Reply

from dspy_proact import Evaluation, Gate, Limits, ModelSpec, Reading, Responses, RunFolder, print_summary, summarize
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.settings import AgentName, ProbeSettings
from dspy_proact.benchmarks.probe.task import Solution, TaskView
from dspy_proact.calls import Price
from dspy_proact.errors import ContentError, LimitReached, UsageError
from dspy_proact.evaluation.evaluation import Rejudging

AGENT = pytest.mark.parametrize("agent", get_args(AgentName))
SMALL = Size(items=10, words=30, actions=4)


def evaluation(tasks=CORPUS, *models, **options):
    return Evaluation(tasks, *models, **options, benchmark="probe")


def at(server, agent, tasks=None, of_search=None, **limits):
    """An agent and a judge at a server; with limits."""
    models = (ModelSpec(name="hosted_vllm/any", api_base=base) for base in (server.assistant, server.judge))
    gate = Gate(retries=0, concurrency=2, limits=Limits(**limits))
    settings = ProbeSettings(agent=agent, **(of_search or {}))
    return evaluation(tasks or planted(), *models, settings=settings, gate=gate)


def judge_at(server):
    return ModelSpec(name="hosted_vllm/any", api_base=server.judge)


# Grading


def test_a_whole_answer_is_solved_and_is_read_in_every_report(tmp_path):
    summary, agent = scripted_run(tmp_path / "run")
    assert [outcome.label for outcome in summary.outcomes] == ["SOLVED"] * 4
    measured = means(summary)
    assert [measured[name] for name in ("f1", "identification", "task", "overall", "end_to_end")] == [1] * 5
    assert measured["touched_f1"] == pytest.approx(4 / 7)  # 2 of 5 that it touched: 2 x .4 / 1.4
    assert (summary.strata, summary.group_count, summary.nouns.groups) == (("easy", "hard"), 3, "people")
    # An agent never sees gold.
    assert {type(seen) for seen in agent.seen} == {TaskView}
    assert not any(DESCRIPTION in seen.model_dump_json() for seen in agent.seen)
    text = StringIO()
    print_summary(summary, Console(file=text, width=100))
    assert "4 tasks in 3 people" in text.getvalue()
    reading = Reading.of(summary.outcomes[0], "probe")
    assert str([section.items for section in reading.sections]).count("item_") >= len(ITEMS)


def test_an_answer_that_cannot_be_read_counts_0_and_one_that_was_withheld_is_unscored(tmp_path):
    summary, _ = scripted_run(tmp_path / "run", ContentError("unreadable", "no JSON"), GOOD)
    assert [outcome.state for outcome in summary.outcomes] == ["scored"] * 4
    measured = means(summary)
    assert (measured["task"], measured["read_task"], measured["faulty"]) == (0.75, 1, 0.25)
    assert summary.micro.weighted.value == pytest.approx(0.75)
    withheld, _ = scripted_run(tmp_path / "withheld", ContentError("filtered", "no"), GOOD)
    assert withheld.unscored_reasons == {"response: filtered": 1}


def test_a_judge_is_asked_where_there_is_something_to_judge_and_leaves_what_it_cannot_say_unscored(server, tmp_path):
    server.script = lambda sent: Answer("I would say it is right.")
    options = {"corpus": corpus_of(task()), "judge": judge_at(server)}
    answer = Solution(evidence=("item_a1",), action="send_note", parameters={"to": "Tom"})
    summary, _ = scripted_run(tmp_path / "run", answer, **options)
    assert (server.sent, summary.outcomes[0].label) == ([], "PARTIAL")
    summary, _ = scripted_run(tmp_path / "unread", **options)
    assert summary.unscored_reasons == {"verdict: unreadable": 1}
    assert means(summary)["task"] is None


UNFILLED = ({"parameters": {}}, {"parameters": None}, {"parameters": "Tom"}, {})
FILLED = ({"parameters": PARAMETERS}, {"parameters": json.dumps(PARAMETERS)})


@pytest.mark.parametrize(
    ("inputs", "upstream", "judged"),
    [
        *((inputs, True, '{"raw_parameters": "Tom"}' if "Tom" in inputs.values() else "{}") for inputs in UNFILLED),
        *((inputs, False, None) for inputs in UNFILLED),
        *((inputs, upstream, json.dumps(PARAMETERS)) for inputs in FILLED for upstream in (True, False)),
    ],
)
def test_parameters_of_the_right_action_are_judged_and_empty_ones_by_the_published_rule(
    server, tmp_path, inputs, upstream, judged
):
    answer = {"reasoning": "so", "evidence": ["item_a1"], "bottleneck": "", "action": "request_key", **inputs}
    server.script = lambda sent: Answer(json.dumps(answer)) if sent.role == "assistant" else played(sent)
    at(server, "single", corpus_of(task()), {"upstream_rule": upstream}).run(tmp_path / "run")
    assert [inputs_of(sent)["given"] for sent in server.of("judge")] == ([f"| {judged}"] if judged else [])
    assert means(summarize(RunFolder(tmp_path / "run")))["task"] == (1 if inputs in FILLED else 0)


@pytest.mark.parametrize(
    ("inputs", "ours", "published"),
    [
        # Evidence and action as they are written: F1 and task by our rule and by the published one, None: left out.
        ({}, (1, 1), (1, 1)),
        ({"evidence": "item_a1"}, (2 / 3, 1), (0, 1)),  # one of two, against letters
        ({"evidence": ["item_a1", " item_b2 "]}, (1, 1), (0.5, 1)),  # one of two, and one that is none
        ({"evidence": {"item_a1": "it", "item_b2": "too"}}, (0, 1), (1, 1)),
        ({"evidence": None}, (0, 1), None),
        ({"evidence": [{"id": "item_a1"}]}, (0, 1), None),
        ({"evidence": [1, "item_a1"]}, (0, 1), (0.5, 1)),
        ({"evidence": []}, (0, 1), (0, 1)),
        ({"action": " request_key "}, (1, 1), (1, 0)),
    ],
)
def test_an_answer_is_read_by_either_rule_when_it_is_graded(server, tmp_path, inputs, ours, published):
    answer = {"reasoning": "so", "evidence": ["item_a1", "item_b2"], "bottleneck": "", "action": "request_key"}
    answer |= {"parameters": PARAMETERS, **inputs}
    server.script = lambda sent: Answer(json.dumps(answer)) if sent.role == "assistant" else played(sent)
    at(server, "single", corpus_of(task())).run(tmp_path / "run")
    rule = ProbeSettings(upstream_rule=True)
    Rejudging(Responses.of_run(RunFolder(tmp_path / "run")), judge_at(server), settings=rule).run(tmp_path / "again")
    for folder, wanted in (("run", ours), ("again", published)):
        measured = means(summarize(RunFolder(tmp_path / folder)))
        assert (measured["f1"], measured["task"]) == pytest.approx(wanted or (0, 0))
        assert measured["read_task"] == (None if wanted is None else wanted[1])


# Settings


SEARCHING, BLIND = {"agent": "react"}, {"baseline": "first"}
OPENAI = {"embedder": "openai/text-embedding-3-small"}


@pytest.mark.parametrize(
    ("inputs", "options", "problem"),
    [
        (SEARCHING | {"embedder": "openai/any", "embedder_api_base": "http://a:b@c/v1"}, {}, "a user or password"),
        (SEARCHING | OPENAI, {}, "OPENAI_API_KEY"),
        (BLIND | {"oracle": "evidence"}, {}, "baseline=first"),
        (BLIND | OPENAI, {}, "baseline=first"),
        (BLIND, {"model": "openai/gpt-4o"}, "baseline=first"),
        (BLIND, {"judge": "openai/gpt-4o"}, "baseline=first"),
        (BLIND, {"program": "agent.json"}, "baseline=first"),
    ],
)
def test_settings_that_do_not_go_together_are_refused_before_anything_is_asked(inputs, options, problem, tmp_path):
    with pytest.raises(UsageError, match=problem):
        evaluation(settings=ProbeSettings(**inputs), **options).run(tmp_path / "run")
    assert not (tmp_path / "run").exists()


# Oracles and baselines


class Overwhelmed(Scripted):
    """An agent that knows what is the matter among few items, and what to do where it is told what is the matter."""

    async def acall(self, **inputs):
        task = self.shown(inputs)
        message = any(DESCRIPTION in item.model_dump_json() for item in task.items)
        done = {"action": GOOD.action, "parameters": GOOD.parameters} if message else {}
        bottleneck = DESCRIPTION if len(task.items) < 4 else ""
        return dspy.Prediction(**Solution(bottleneck=bottleneck, **done).model_dump())


@pytest.mark.parametrize(
    ("oracle", "scores", "items"),
    [
        ("none", (0, 0, 0), {item.id for item in ITEMS}),
        ("evidence", (1, 1, 0), {"item_a1", "item_b2"}),
        ("bottleneck", (1, 1, 1), {"item_a1", "item_b2", "known-matter"}),
    ],
)
def test_an_oracle_lifts_the_stages_after_what_it_gives_and_gives_nothing_else(oracle, scores, items, tmp_path):
    agent = Overwhelmed()
    evaluation(program=agent, settings=ProbeSettings(oracle=oracle)).run(tmp_path / "run")
    measured = means(summarize(RunFolder(tmp_path / "run")))
    assert (measured["f1"], measured["identification"], measured["task"]) == scores
    assert {item.id for item in agent.seen[0].items} == items
    seen = agent.seen[0].model_dump_json()
    assert (DESCRIPTION in seen, "2025-03-12" in seen) == (oracle == "bottleneck", False)


def test_a_judge_is_not_asked_about_a_bottleneck_that_an_oracle_gave_away(server, tmp_path):
    oracle = ProbeSettings(oracle="bottleneck")
    scripted_run(tmp_path / "run", Solution(), settings=oracle, judge=judge_at(server))
    assert server.sent == []


# Agents over HTTP


@AGENT
def test_nothing_that_tells_the_answer_reaches_an_agent(server, tmp_path, agent):
    server.script = played
    at(server, agent).run(tmp_path / "run")
    assert all(outcome.state == "scored" for outcome in summarize(RunFolder(tmp_path / "run")).outcomes)
    texts = [sent.text for sent in server.of("assistant")]
    assert all(any(token(person) in text for text in texts) for person in range(4))
    assert not [text for text in texts if SECRET in text]
    server.sent.clear()
    write_synthetic(tmp_path, 0, 4, SMALL, leaks=True)
    raw = load_tasks(str(tmp_path), sanitize=False)
    with pytest.raises(UsageError, match="sanitize is True in the settings, and the cases were read with False"):
        at(server, agent, raw)
    at(server, agent, load_tasks(str(tmp_path))).run(tmp_path / "leaks")
    texts = "".join(sent.text for sent in server.of("assistant"))
    leaks = {item.id for case in raw.cases for item in case.view.items} | {"created_at", "updated_at"}
    assert not [leak for leak in leaks if leak in texts]


def test_what_one_call_takes_is_forecast_and_what_several_take_is_not(tmp_path):
    single = evaluation(program=Scripted()).forecast(tmp_path / "run")
    assert (single.assistant.calls, single.assistant.prompt_tokens, single.judge.calls) == (4, 500, 8)
    assert single.assistant.completion_tokens == (600, 16_000)  # 4 x 150 to 4 x 4,000
    react = evaluation(settings=ProbeSettings(agent="react"), program=Scripted())
    assert react.forecast(tmp_path / "run").assistant.unknown == 4
    assert evaluation(settings=ProbeSettings(baseline="first")).forecast(tmp_path / "run").calls == 0


PRICE = Price(prompt=1e-6, completion=4e-6)
OFTEN = [(refusal(429, Retry_After="0"), 0.1), (Reply(cut=60), 0.05)]


@pytest.mark.parametrize(("unit", "limit"), [("calls", 160), ("tokens", 60_000), ("usd", 0.25)])
def test_agents_of_several_calls_exceed_no_limit_at_full_width_and_end_what_they_began(tmp_path, unit, limit):
    write_synthetic(tmp_path, 0, 64, SMALL)
    script = Faulty(lambda received: Reply(play(received.body)), dict.fromkeys(("assistant", "judge"), OFTEN), seed=3)
    with SimulatedProvider(script) as provider:
        bases = map(provider.base, ("assistant", "judge"))
        models = [ModelSpec(name="hosted_vllm/any", api_base=base, price=PRICE) for base in bases]
        gate = Gate(retries=2, backoff=0.0, concurrency=64, limits=Limits(**{unit: limit}))
        settings = ProbeSettings(agent="react", turns=3)
        with pytest.raises(LimitReached):
            evaluation(load_tasks(str(tmp_path)), *models, settings=settings, gate=gate).run(tmp_path / "run")
    # A reply costs 200 x 1e-6 + 50 x 4e-6 = 4e-4 dollars for 250 tokens.
    spent = {"calls": provider.received.total(), "tokens": provider.tokens, "usd": provider.tokens / 250 * 4e-4}
    assert 0 < spent[unit] <= limit
    begun = {call.key.case for call in RunFolder(tmp_path / "run").call_usage() if call.key}
    assert len(begun) / 2 < summarize(tmp_path / "run").count("scored")


def test_vectors_that_were_paid_for_are_kept_by_a_run_that_a_limit_stops_after_them(server, tmp_path):
    server.script = lambda sent: vectors(sent) if "input" in sent.body else played(sent)
    search = {"embedder": "hosted_vllm/any", "embedder_api_base": server.assistant}
    at(server, "react", corpus_of(task()), of_search=search).run(tmp_path / "whole")
    sent, run = len(server.sent), tmp_path / "run"
    for _ in range(sent - 1):
        with pytest.raises(LimitReached):
            at(server, "react", corpus_of(task()), of_search=search, calls=1).run(run)
    at(server, "react", corpus_of(task()), of_search=search, calls=1).run(run)
    assert (len(server.sent), outcomes(run)) == (2 * sent, outcomes(tmp_path / "whole"))


def test_what_an_embedder_used_is_told_and_its_price_is_no_part_of_the_identity(server, tmp_path, monkeypatch):
    server.script = lambda sent: vectors(sent) if "input" in sent.body else played(sent)
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.assistant)
    search = {"embedder": "hosted_vllm/any"}
    at(server, "react", of_search=search).run(tmp_path / "run")
    usage = summarize(RunFolder(tmp_path / "run")).usage
    assert RunFolder(tmp_path / "run").manifest().identity.settings["embedder_api_base"] == server.assistant
    requests = [sent for sent in server.sent if "input" in sent.body]
    assert (list(usage), usage["embedder"].calls) == (["assistant", "judge", "embedder"], len(requests))
    # 7 tokens a request of texts, as the server counts them.
    assert (usage["embedder"].prompt_tokens, usage["embedder"].usd) == (7 * len(requests), None)
    monkeypatch.delenv("HOSTED_VLLM_API_BASE")
    search |= {"embedder_api_base": server.assistant}
    at(server, "react", of_search=search | {"embedder_price": 2.0}).run(tmp_path / "priced")
    used = summarize(RunFolder(tmp_path / "priced")).usage["embedder"]
    assert used.usd == pytest.approx(2e-6 * used.prompt_tokens)
    before = len(server.sent)
    at(server, "react", of_search=search | {"embedder_price": 3.0}).run(tmp_path / "priced")
    assert len(server.sent) == before
    with pytest.raises(UsageError, match=r"give `settings.embedder_price=N`"):
        at(server, "react", of_search=search, usd=1.0)
