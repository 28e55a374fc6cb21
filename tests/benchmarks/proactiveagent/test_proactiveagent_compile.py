"""ProactiveAgent's judge and agent are compiled: a hidden rule is found on whole traces, noise claims nothing."""

import hashlib
import json
from typing import Any

import pytest
from drivers.compiles import Parts
from fakes.server import Answer
from watched import inputs_of, judging, proposing, row, traces_in

from dspy_proact import AssistantTarget, Compile, Gate, JudgeTarget, ModelSpec, Recipe, read_artefact
from dspy_proact.benchmarks.proactiveagent.turns import (
    Assistance,
    ProactiveAgentSettings,
    StreamEvent,
    TurnView,
    Verdict,
    graded,
)
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.ratings import ratings_named
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.programs.embedded.fields import outputs_of
from dspy_proact.runs import Case

THINGS = ("invoice", "lamp", "rota", "survey", "recipe", "ticket", "garden", "ledger")
RULE = "Accept what names an object of the last events."
TRACES, TURNS = 12, 6


def voted(folder, dissent=True):
    """12 traces of 6 turns, a proposal each: half of them name the object of the last event, which people accept."""
    lines = []
    for number in range(TRACES):
        events = []
        for turn in range(TURNS):
            thing = THINGS[(number + 3 * turn) % len(THINGS)]
            events.append({"time": str(turn), "event": f"Person{number}x opens the {thing} {turn}."})
            named = (number + turn) % 2 == 0
            other = THINGS[(number + 3 * turn + 4) % len(THINGS)]
            votes = [named] * 3
            if dissent and turn == number % TURNS:
                votes[0] = not named
            lines.append(
                {
                    "obs": list(events),
                    "pred_task": f"Sort the {thing if named else other}.",
                    "annotation": votes,
                    "valid": named,
                    "help_needed": False,
                    "category": "Correct-Detection (CD)" if named else "False-Alarm (FA)",
                }
            )
    folder.mkdir(exist_ok=True)
    (folder / "votes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def coin(*message):
    return hashlib.sha256("/".join(map(str, message)).encode()).digest()[0] % 2 == 0


def ruled(sent):
    """A judge that follows the rule where it is told, else a coin; a proposer that tells it half of the time."""
    system = str(sent.messages[0]["content"])
    if sent.role == "proposer":
        rule = RULE if coin(sent.messages) else "Be fair."
        names = outputs_of(system)
        values = dict.fromkeys(names, f"Say whether a person would accept it. {rule}")
        return Answer(json.dumps(values) if names else f"```\n{rule}\n```")
    fields = inputs_of(sent)
    thing = fields["events"][-1]["event"].split()[-2]
    return Answer(judging(thing in fields["proposal"] if RULE in system else coin(sent.messages)))


def judge_at(server, folder, optimizer="search", settings=None, **recipe):
    named = {"openai/judge": server.judge, "openai/proposer": server.proposer}
    judge, proposer = (ModelSpec(name=name, api_base=base) for name, base in named.items())
    settings = settings or ProactiveAgentSettings()
    declared = benchmark_named("proactiveagent")
    votes = ratings_named(declared, str(folder), settings)
    how = Recipe(optimizer=optimizer, **{"trials": 6, "folds": 4, "max_demos": 0, **recipe})
    return Compile(JudgeTarget(votes, judge, proposer, benchmark=declared, settings=settings), how, Gate(retries=0))


def test_a_hidden_rule_is_found_and_shown_on_traces_that_were_left_out(server, tmp_path):
    server.script = ruled
    compiling = judge_at(server, voted(tmp_path / "votes"), folds=2, trials=4)
    for fold in compiling.folds:
        assert not {item.group for item in fold.train} & {item.group for item in fold.test}
    compiling.run(tmp_path / "made")
    artefact = read_artefact(tmp_path / "made")
    row = artefact.card.target
    assert artefact.card.shown, artefact.card.headline
    assert (row.count, row.total) == (72, 72)
    # Of each answer with one dissenter a third of the votes stays apart from the rule: 12 of 72, a third each.
    assert row.after.value == pytest.approx(1 - 12 / 3 / 72)
    assert 0.3 < row.before.value < 0.7
    assert RULE in next(iter(artefact.states.values())).signature.instructions
    sent = len(server.sent)
    judge_at(server, tmp_path / "votes", folds=2, trials=4).run(tmp_path / "made")
    assert len(server.sent) == sent


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_a_judge_of_noise_claims_nothing_in_forty_seeds(server, tmp_path):
    """Its verdicts are a coin of the whole request, so that each instruction is another coin."""

    def noise(sent):
        if sent.role == "proposer":
            names = outputs_of(str(sent.messages[0]["content"]))
            return Answer(json.dumps({name: f"Rule {coin(sent.messages)} {len(sent.wire)}" for name in names}))
        return Answer(judging(coin(sent.messages)))

    server.script = noise
    folder = voted(tmp_path / "votes")
    shown = 0
    for seed in range(40):
        judge_at(server, folder, trials=3, seed=seed).run(tmp_path / f"made{seed}")
        shown += read_artefact(tmp_path / f"made{seed}").card.shown
    assert shown == 0


def test_no_trace_that_is_tested_on_and_no_vote_is_in_any_request_of_tuning(server, tmp_path):
    server.script = ruled
    parts = Parts.of(judge_at(server, voted(tmp_path / "votes"), trials=3, folds=2), server)
    for fold, sent in parts.folds:
        unseen = {f"Person{item.group}" for item in fold.test}
        people = {item.view.events[0].event.split()[0] for item in fold.test}
        assert people
        assert not unseen & people
        texts = [item.text for item in sent if item.role == "proposer"]
        assert texts
        assert not any(name in text for text in texts for name in people)
        tested = sum(any(name in item.text for name in people) for item in sent if item.role == "judge")
        assert tested == len(fold.test)
    # Of the votes, only what a proposer is told of its own training set: how many of three accepted.
    assert not any("annotat" in item.text for item in parts.everything if item.role == "judge")


def test_votes_on_silence_are_left_out_unless_they_are_asked_for(server, tmp_path):
    folder = voted(tmp_path / "votes")
    lines = (folder / "votes.jsonl").read_text().splitlines()
    silent = json.loads(lines[0]) | {"pred_task": None, "valid": True, "category": "Correct-Rejection (CR)"}
    (folder / "votes.jsonl").write_text("\n".join([*lines, json.dumps(silent)]) + "\n")
    assert len(judge_at(server, folder).target.items) == 72
    assert len(judge_at(server, folder, settings=ProactiveAgentSettings(silence=True)).target.items) == 73
    with pytest.raises(UsageError, match=r"`settings.cost`: a compile of the judge reads silence and window only"):
        judge_at(server, folder, settings=ProactiveAgentSettings(cost=2))


def test_an_agent_finds_when_to_be_silent(server, tmp_path):
    """The judge wants help at every second event; the agent proposes at all of them until it is told which."""
    when = "Propose only where something fails."

    def answer(sent):
        system = str(sent.messages[0]["content"])
        if sent.role == "proposer":
            return Answer(
                json.dumps({name: when if coin(sent.messages) else "Be kind." for name in outputs_of(system)})
            )
        last = inputs_of(sent)["events"][-1]["event"]
        wanted = "fails" in last
        if sent.role == "judge":
            return Answer(judging(wanted != inputs_of(sent)["silent"]))
        return Answer(proposing(f"Mend {last}" if wanted or when not in system else None))

    traces = {
        f"{'code' if number % 2 else 'writing'}_{number}": [
            row(f"step {turn} of {number} {'fails' if coin(turn, number) else 'works'}", str(turn)) for turn in range(6)
        ]
        for number in range(12)
    }
    folder = traces_in(tmp_path / "traces", **traces)
    server.script = answer
    named = {"openai/agent": server.assistant, "openai/judge": server.judge, "openai/proposer": server.proposer}
    agent, judge, proposer = (ModelSpec(name=name, api_base=base) for name, base in named.items())
    settings, recipe = ProactiveAgentSettings(), Recipe(trials=3, folds=2, max_demos=0)
    named = {"benchmark": "proactiveagent", "settings": settings}
    target = AssistantTarget(str(folder), agent, judge, judge, proposer, **named)
    Compile(target, recipe, Gate(retries=0)).run(tmp_path / "made")
    card = read_artefact(tmp_path / "made").card
    rows = {item.name: item for item in card.rows}
    assert card.shown, card.headline
    failing = sum(coin(turn, number) for turn in range(6) for number in range(12)) / 72
    assert card.target.before.value == pytest.approx(failing)
    assert card.target.after.value > 0.8
    assert rows["acted"].before.value == 1
    assert rows["acted"].after.value < 0.75
    value = rows["value"]  # always proposing is worth 1 where something fails and -1 where it works
    assert (value.unit, value.before.value) == ("value", pytest.approx(2 * failing - 1))
    assert value.difference.value == pytest.approx(value.after.value - value.before.value)
    assert value.after.value > 0.3
    with pytest.raises(UsageError, match="there is nothing to tune"):
        AssistantTarget(
            str(folder), agent, judge, benchmark="proactiveagent", settings=ProactiveAgentSettings(baseline="always")
        )


def test_a_proposer_is_shown_the_last_events_and_told_which_decision_was_wrong():
    tuning: Any = benchmark_named("proactiveagent").tuning(ProactiveAgentSettings())
    events = [StreamEvent(time=str(number), event=f"Event {number}.") for number in range(10)]
    shown = tuning.excerpt({"events": events, "silent": True}, {})
    assert shown == {"events": ["(2 earlier events)", *events[2:]], "silent": True}
    case = Case("k", "trace", "coding", TurnView(events=tuple(events), origin="o"))
    rejected = (Verdict(reason="Too early.", accepted=False, confidence=0.2),)
    errors = {
        answer: tuning.feedback(case, answer, graded(answer, rejected, 1.0)).error
        for answer in (Assistance(proposals=("Sort it.",)), Assistance())
    }
    assert list(errors.values()) == ["proposed what is not accepted", "silent where help is wanted"]
    accepted = (Verdict(reason="Fits.", accepted=True, confidence=0.9),)
    assert tuning.feedback(case, Assistance(), graded(Assistance(), accepted, 1.0)).error == ""
