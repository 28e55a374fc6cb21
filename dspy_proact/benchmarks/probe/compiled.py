"""A compiled program of PROBE: what an artefact keeps of its predictors, and the agent or the judges made of it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import dspy

from dspy_proact.benchmarks.probe.agents import AGENTS, AgentModule, make_agent
from dspy_proact.benchmarks.probe.judging import ProbeJudge
from dspy_proact.benchmarks.probe.settings import AgentName
from dspy_proact.benchmarks.probe.task import ProbeView
from dspy_proact.errors import UsageError
from dspy_proact.programs.artefact import (
    AgentArtefact,
    JudgesArtefact,
    PredictorState,
    SeveralArtefact,
    predictor_state,
    read_agent,
    read_judges,
    signature_hash,
)

BENCHMARK = "probe"


def states_of(program: dspy.Module) -> Mapping[str, PredictorState]:
    """What the predictors of a program learned, by their names."""
    return {
        name: predictor_state(predictor, cast("type[dspy.Signature]", predictor.signature))
        for name, predictor in program.named_predictors()
    }


def signature_of(program: dspy.Module) -> str:
    """sha256 over the declared signatures of its predictors."""
    named = program.named_predictors()
    hashes = {name: signature_hash(cast("type[dspy.Signature]", predictor.signature)) for name, predictor in named}
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()


def mark_of(task: ProbeView) -> str:
    """Identifies a task, whatever the ids and the order of its items."""
    content = [task.world.model_dump(mode="json"), task.gold.description]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def load_agent(path: str | Path, agent: AgentModule) -> AgentArtefact:
    """Load a compiled agent's instructions and demos into an uncompiled one.

    Args:
        path: Of an artefact, or of the folder of its compile.
        agent: Is changed.

    Returns:
        The artefact.

    Raises:
        UsageError: It cannot be read, or is of another agent, benchmark or signature.
    """
    artefact = read_agent(path)
    if artefact.agent != agent.name:
        raise UsageError(f"{path}: a compiled agent {artefact.agent!r}; name it with --set agent={artefact.agent}")
    _load(path, artefact, agent)
    agent.card, agent.learned_from = artefact.card, artefact.card.learned_from
    return artefact


def load_judges(path: str | Path) -> tuple[ProbeJudge, JudgesArtefact]:
    """The judges in a file, and the artefact; raises a `UsageError` as `load_agent` does."""
    artefact, judge = read_judges(path), ProbeJudge()
    _load(path, artefact, judge)
    judge.name, judge.card = f"compiled:{artefact.digest[:12]}", artefact.card
    return judge, artefact


def start_of(agent: str | None, start: str | Path | None = None) -> AgentModule | ProbeJudge:
    """What a compile began with: the agent of a name, or our judges where None; loaded from a file, or uncompiled.

    Raises:
        UsageError: There is no such agent, or as `load_agent` does.
    """
    if agent is None:
        return load_judges(start)[0] if start else ProbeJudge()
    name: AgentName | None = next((each for each in AGENTS if each == agent), None)
    if name is None:
        raise UsageError(f"{agent!r} is no agent; choose among {', '.join(AGENTS)}")
    program = make_agent(name)
    if start:
        load_agent(start, program)
    return program


def _load(path: str | Path, artefact: SeveralArtefact, program: dspy.Module) -> None:
    if artefact.benchmark != BENCHMARK:
        raise UsageError(f"{path}: of {artefact.benchmark!r}, not of {BENCHMARK!r}")
    predictors = dict(program.named_predictors())
    if artefact.signature != signature_of(program) or artefact.states.keys() != predictors.keys():
        raise UsageError(
            f"{path}: compiled for other signatures (names, order, types or descriptions of their fields have changed "
            "since); compile it again"
        )
    for name, state in artefact.states.items():
        predictors[name].load_state(state.model_dump(mode="json"))
