"""The programs that work a task of PROBE.

agent       calls                     looks by
single      1                         everything at once: the published setting
stages      3                         search, identify, resolve
react       up to turns + 1           tools, one by one
reflexion   up to turns + 2 a trial   the same, judging itself and trying again
rewoo       2                         tools, all planned beforehand
"""

from collections.abc import Mapping
from typing import get_args

from dspy_proact.benchmarks.probe.agents.programs import AgentModule, ReAct, Reflexion, ReWOO, Single, Stages
from dspy_proact.benchmarks.probe.agents.stand_in import AGENT
from dspy_proact.benchmarks.probe.settings import AgentName, Bounds
from dspy_proact.models import Embedder

AGENTS: tuple[AgentName, ...] = get_args(AgentName)
"""Every agent's name."""
_KINDS: Mapping[str, type[AgentModule]] = {kind.name: kind for kind in (Single, Stages, ReAct, Reflexion, ReWOO)}


def make_agent(name: AgentName, bounds: Bounds | None = None, embedder: Embedder | None = None) -> AgentModule:
    """The agent of a name; raises `KeyError` for any other.

    Args:
        name: One of `AGENTS`.
        bounds: How far it may go.
        embedder: By which its tools search; None searches by words.
    """
    return _KINDS[name](bounds, embedder)


__all__ = ["AGENT", "AGENTS", "AgentModule", "make_agent"]
