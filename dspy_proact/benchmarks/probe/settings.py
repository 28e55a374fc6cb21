"""What PROBE can be set to."""

from typing import Literal

from pydantic import Field

from dspy_proact.benchmarks.probe.bounds import Bounds
from dspy_proact.runs import Settings

AgentName = Literal["single", "stages", "react", "reflexion", "rewoo"]
OracleName = Literal["none", "evidence", "bottleneck"]
BaselineName = Literal["none", "first", "longest", "kind", "id", "urgent", "bm25", "everything"]


class ProbeSettings(Bounds, Settings):
    """The settings of PROBE, those of `Bounds` among them, all part of a run's identity.

    The defaults are the published setting, mended.
    """

    agent: AgentName = "single"
    """The program under test; single is one call that sees everything, as published."""
    sanitize: bool = True
    """Opaque ids, items cut to what they hold, a seeded order; off, what the files leak is shown."""
    upstream_rule: bool = False
    """Grade by the published rule: who, what and why are never n/a, even without one, and the rest always may be."""
    embedder: str | None = None
    """A litellm name of a model that embeds for search; BM25 without one."""
    oracle: OracleName = "none"
    """What is given away, and so scores full: evidence, the right items alone; bottleneck, also what is the matter."""
    baseline: BaselineName = "none"
    """A rule in place of the agent, which makes no call and names evidence only."""
    take: int = Field(default=5, ge=1, le=1000)
    """Items that a baseline names which names a number of them."""
    seed: int = Field(default=0, ge=0)
    """Of the ids and the order of items that are sanitized."""
