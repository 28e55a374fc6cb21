"""What PROBE can be set to."""

from typing import Literal

from pydantic import ConfigDict, Field

from dspy_proact.runs import Settings

AgentName = Literal["single", "stages", "react", "reflexion", "rewoo"]
OracleName = Literal["none", "evidence", "bottleneck"]
BaselineName = Literal["none", "first", "longest", "kind", "id", "urgent", "bm25", "everything"]


class ProbeSettings(Settings):
    """The settings of PROBE, all part of a run's identity; the defaults are the published setting, mended."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    agent: AgentName = "single"
    """The program under test; single is one call that sees everything, as published."""
    sanitize: bool = True
    """Opaque ids, items cut to what they hold, a seeded order; off, what the files leak is shown."""
    upstream_rule: bool = False
    """Grade by the published rule, which knows no n/a for who, what and why, even where gold has none."""
    embedder: str | None = None
    """A litellm name of a model that embeds for search; BM25 without one."""
    turns: int = Field(default=20, ge=1, le=200)
    """Most uses of a tool, of all trials together."""
    observation: int = Field(default=5000, ge=200, le=100_000)
    """Most characters that one use of a tool shows."""
    calls: int = Field(default=50, ge=1, le=1000)
    """Most requests of an agent at one task, repairs among them."""
    hits: int = Field(default=5, ge=1, le=50)
    """Items of one search."""
    rows: int = Field(default=50, ge=1, le=1000)
    """Most rows of one query in SQL."""
    trials: int = Field(default=2, ge=1, le=10)
    """Most trials of reflexion."""
    threshold: float = Field(default=0.8, ge=0, le=1)
    """Its own score at which reflexion makes no further trial."""
    oracle: OracleName = "none"
    """What is given away, and so scores full: evidence, the right items alone; bottleneck, also what is the matter."""
    baseline: BaselineName = "none"
    """A rule in place of the agent, which makes no call and names evidence only."""
    take: int = Field(default=5, ge=1, le=1000)
    """Items that a baseline names which names a number of them."""
    seed: int = Field(default=0, ge=0)
    """Of the ids and the order of items that are sanitized."""
