"""An agent that a test plays is run on PROBE, graded, resumed, rejudged and reported; so are baselines and oracles."""

import json
from dataclasses import dataclass, field
from typing import get_args

import pytest
from probe_task import CORPUS, DESCRIPTION, GOOD, ITEMS, Tasks, task
from server import Answer

from dspy_proact.benchmarks.evaluation import Evaluation, Rejudging
from dspy_proact.benchmarks.probe.benchmark import Probe
from dspy_proact.benchmarks.probe.settings import AgentName, ProbeSettings
from dspy_proact.benchmarks.probe.task import Solution, TaskView
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import ContentError, RunError, UsageError
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.report import Reading, print_summary, summarize
from dspy_proact.runs import RunFolder, Scope


@dataclass
class Scripted:
    """An agent that gives answers one after another; the last one goes on."""

    given: list = field(default_factory=lambda: [GOOD])
    name: str = "scripted"
    seen: list = field(default_factory=list)

    def fingerprint(self):
        return "cc"

    def expected(self, task):
        return [{"role": "user", "content": "word " * 100}]

    async def solve(self, task, asking=None):
        self.seen.append(task)
        answer = self.given.pop(0) if len(self.given) > 1 else self.given[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def evaluated(path, *given, corpus=CORPUS, **options):
    """A run of an agent that gives these answers."""
    agent = Scripted([*given]) if given else Scripted()
    evaluation = Evaluation(corpus, program=agent, gate=Gate(concurrency=1), **options, benchmark="probe")
    evaluation.run(path)
    return summarize(RunFolder(path)), agent


def means(summary):
    return {name: estimate.value for name, estimate in summary.measured(summary.outcomes).items()}


def test_a_whole_answer_is_solved_and_every_measure_says_so(tmp_path):
    summary, _ = evaluated(tmp_path / "run")
    assert [outcome.label for outcome in summary.outcomes] == ["SOLVED"] * 4
    measured = means(summary)
    assert [measured[name] for name in ("f1", "identification", "task", "overall", "end_to_end")] == [1] * 5
    assert measured["touched_f1"] == pytest.approx(4 / 7)  # 2 of 5 that it touched: 2 x .4 / 1.4
    assert (summary.strata, summary.group_count, summary.nouns.groups) == (("easy", "hard"), 3, "people")


def test_an_answer_that_cannot_be_read_counts_0_and_is_counted(tmp_path):
    unread = ContentError("unreadable", "no JSON")
    summary, _ = evaluated(tmp_path / "run", unread, GOOD)
    assert [outcome.state for outcome in summary.outcomes] == ["scored"] * 4
    measured = means(summary)
    assert (measured["task"], measured["read_task"], measured["faulty"]) == (0.75, 1, 0.25)
    assert summary.micro.weighted.value == pytest.approx(0.75)


def test_what_a_provider_withheld_is_unscored(tmp_path):
    summary, _ = evaluated(tmp_path / "run", ContentError("filtered", "no"), GOOD)
    assert summary.unscored_reasons == {"response: filtered": 1}


def test_a_judge_that_cannot_be_read_leaves_its_task_unscored_with_the_reason(server, tmp_path):
    server.script = lambda sent: Answer("I would say it is right.")
    judge = ModelSpec(name="hosted_vllm/any", api_base=server.judge)
    summary, _ = evaluated(tmp_path / "run", corpus=Tasks((task(),)), judge=judge)
    assert summary.unscored_reasons == {"verdict: unreadable": 1}
    assert means(summary)["task"] is None


def test_a_wrong_action_or_nothing_described_asks_no_judge(server, tmp_path):
    judge = ModelSpec(name="hosted_vllm/any", api_base=server.judge)
    answer = Solution(evidence=("item_a1",), action="send_note", parameters={"to": "Tom"})
    summary, _ = evaluated(tmp_path / "run", answer, corpus=Tasks((task(),)), judge=judge)
    assert (server.sent, summary.outcomes[0].label) == ([], "PARTIAL")


def test_the_same_again_asks_nothing(tmp_path):
    evaluated(tmp_path / "run")
    _, agent = evaluated(tmp_path / "run")
    assert agent.seen == []


def test_settings_are_part_of_what_a_run_is(tmp_path):
    evaluated(tmp_path / "run")
    with pytest.raises(RunError, match="upstream_rule"):
        evaluated(tmp_path / "run", settings=ProbeSettings(upstream_rule=True))


@pytest.mark.parametrize("wrong", [{"agent": "swarm"}, {"turns": 0}, {"oracle": "all"}, {"speed": 3}])
def test_a_setting_that_there_is_not_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ProbeSettings(**wrong)


def test_tasks_that_were_read_otherwise_than_the_settings_say_are_refused():
    with pytest.raises(UsageError, match="read with sanitize=True and seed=0"):
        Evaluation(CORPUS, settings=ProbeSettings(sanitize=False), benchmark="probe")


def test_every_setting_says_what_it_is():
    assert all(each.description for each in ProbeSettings.model_fields.values())


def test_an_agent_never_sees_what_is_right(tmp_path):
    _, agent = evaluated(tmp_path / "run")
    assert {type(seen) for seen in agent.seen} == {TaskView}
    assert not any(DESCRIPTION in seen.model_dump_json() for seen in agent.seen)


def test_an_oracle_of_evidence_hands_on_the_right_items_and_nothing_else(tmp_path):
    empty = Solution(faults=("evidence", "bottleneck", "action", "parameters"))
    summary, agent = evaluated(tmp_path / "run", empty, settings=ProbeSettings(oracle="evidence"))
    assert {item.id for item in agent.seen[0].items} == {"item_a1", "item_b2"}
    assert DESCRIPTION not in agent.seen[0].model_dump_json()
    measured = means(summary)
    assert (measured["f1"], measured["identification"], measured["task"]) == (1, 0, 0)


def test_an_oracle_of_the_bottleneck_says_what_is_the_matter_and_not_what_to_do(server, tmp_path):
    judge = ModelSpec(name="hosted_vllm/any", api_base=server.judge)
    settings = ProbeSettings(oracle="bottleneck")
    summary, agent = evaluated(tmp_path / "run", Solution(), settings=settings, judge=judge)
    seen = agent.seen[0].model_dump_json()
    assert DESCRIPTION in seen
    assert "2025-03-12" not in seen
    assert (server.sent, means(summary)["identification"], means(summary)["task"]) == ([], 1, 0)


class Overwhelmed(Scripted):
    """An agent that knows what is the matter among few items, and what to do where it is told what is the matter."""

    async def solve(self, task, asking=None):
        told = any(DESCRIPTION in item.model_dump_json() for item in task.items)
        done = {"action": GOOD.action, "parameters": GOOD.parameters} if told else {}
        return Solution(bottleneck=DESCRIPTION if len(task.items) < 4 else "", **done)


@pytest.mark.parametrize(
    ("oracle", "scores"), [("none", (0, 0, 0)), ("evidence", (1, 1, 0)), ("bottleneck", (1, 1, 1))]
)
def test_an_oracle_lifts_the_stages_after_what_it_gives(oracle, scores, tmp_path):
    Evaluation(CORPUS, program=Overwhelmed(), settings=ProbeSettings(oracle=oracle), benchmark="probe").run(
        tmp_path / "run"
    )
    measured = means(summarize(RunFolder(tmp_path / "run")))
    assert (measured["f1"], measured["identification"], measured["task"]) == scores


@pytest.mark.parametrize("agent", get_args(AgentName))
def test_every_agent_is_run_and_graded_by_the_stand_in(agent, tmp_path):
    evaluation = Evaluation(CORPUS, settings=ProbeSettings(agent=agent), benchmark="probe")
    evaluation.run(tmp_path / "run")
    summary = summarize(RunFolder(tmp_path / "run"))
    assert [outcome.state for outcome in summary.outcomes] == ["scored"] * 4
    assert (summary.model_name, summary.embedded) == (f"embedded ({agent})", True)


def test_an_embedder_needs_its_key_before_anything_is_asked(tmp_path):
    settings = ProbeSettings(agent="react", embedder="openai/text-embedding-3-small")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        Evaluation(CORPUS, settings=settings, benchmark="probe").run(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"embedder": "openai/any"}, "agent=single is shown every item and searches for none"),
        ({"agent": "react", "embedder_api_base": "http://localhost:1/v1"}, "name it with --set embedder=NAME"),
        ({"agent": "react", "embedder_price": 1}, "name it with --set embedder=NAME"),
        ({"agent": "react", "embedder": "openai/any", "embedder_api_base": "http://a:b@c/v1"}, "a user or password"),
    ],
)
def test_an_embedder_that_is_half_named_or_not_asked_is_refused(given, told):
    with pytest.raises(UsageError, match=told):
        Evaluation(CORPUS, settings=ProbeSettings(**given), benchmark="probe")


def test_a_baseline_is_a_run_without_a_call_or_a_judge(tmp_path):
    Evaluation(CORPUS, settings=ProbeSettings(baseline="everything"), benchmark="probe").run(tmp_path / "run")
    summary = summarize(RunFolder(tmp_path / "run"))
    assert (summary.model_name, summary.judges, summary.embedded) == ("blind (everything)", (), False)
    assert not [event.calls for event in RunFolder(tmp_path / "run").events() if event.calls]
    measured = means(summary)
    assert (measured["recall"], measured["precision"], measured["task"]) == (1, 0.4, 0)


@pytest.mark.parametrize(
    "given",
    [
        {"model": "openai/gpt-4o"},
        {"judge": "openai/gpt-4o"},
        {"program": "agent.json"},
        {"settings": ProbeSettings(baseline="first", oracle="evidence")},
        {"settings": ProbeSettings(baseline="first", embedder="openai/text-embedding-3-small")},
    ],
)
def test_a_baseline_with_what_it_does_not_ask_is_refused(given):
    with pytest.raises(UsageError, match="baseline=first"):
        Evaluation(CORPUS, **{"settings": ProbeSettings(baseline="first")} | given, benchmark="probe")


def test_what_one_call_takes_is_forecast_and_what_several_take_is_not(tmp_path):
    single = Evaluation(CORPUS, program=Scripted(), benchmark="probe").forecast(tmp_path / "run")
    assert (single.assistant.calls, single.assistant.prompt_tokens, single.judge.calls) == (4, 500, 8)
    assert single.assistant.completion_tokens == (600, 16_000)  # 4 x 150 to 4 x 4,000
    settings = ProbeSettings(agent="react")
    assert (
        Evaluation(CORPUS, settings=settings, program=Scripted(), benchmark="probe")
        .forecast(tmp_path / "run")
        .assistant.untold
        == 4
    )
    blind = Evaluation(CORPUS, settings=ProbeSettings(baseline="first"), benchmark="probe").forecast(tmp_path / "run")
    assert blind.calls == 0


def test_answers_are_judged_again_by_the_rule_that_is_asked_for(tmp_path):
    facets = task().gold.facets.model_copy(update={"who_blocker": None})
    corpus = Tasks(tuple(task(f"t{number}", f"p{number}", facets=facets) for number in range(2)))
    evaluated(tmp_path / "run", corpus=corpus)
    responses = Responses.of_run(RunFolder(tmp_path / "run"), Probe())
    Rejudging(responses, settings=ProbeSettings(upstream_rule=True), benchmark="probe").run(tmp_path / "again")
    before, after = (means(summarize(RunFolder(tmp_path / name))) for name in ("run", "again"))
    assert (before["identification"], after["identification"]) == (1, 0)


def test_a_task_is_read_when_it_is_looked_at(tmp_path):
    read = []

    class Counting(Tasks):
        def task(self, key):
            read.append(key)
            return super().task(key)

    evaluation = Evaluation(Counting(CORPUS.held), program=Scripted(), benchmark="probe")
    assert read == []
    evaluation.run(tmp_path / "run", Scope(limit=1))
    assert len(read) == 1


def test_a_report_and_a_reading_are_made_of_it(tmp_path):
    from io import StringIO

    from rich.console import Console

    summary, _ = evaluated(tmp_path / "run")
    text = StringIO()
    print_summary(summary, Console(file=text, width=100))
    assert "4 tasks in 3 people" in text.getvalue()
    reading = Reading.of(summary.outcomes[0], "probe")
    assert json.dumps([section.items for section in reading.sections]).count("item_") >= len(ITEMS)
