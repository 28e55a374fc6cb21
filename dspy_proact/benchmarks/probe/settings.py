"""What PROBE can be set to."""

from typing import Literal

from pydantic import Field

from dspy_proact.runs import Settings

AgentName = Literal["single", "stages", "react", "reflexion", "rewoo"]
OracleName = Literal["none", "evidence", "bottleneck"]
BaselineName = Literal["none", "first", "longest", "kind", "id", "urgent", "bm25", "everything"]


class ProbeSettings(Settings):
    """The settings of PROBE, all part of a run's identity; the defaults are the published setting, mended."""

    agent: AgentName = Field(
        "single", description="the program under test; single is one call that sees everything, as published"
    )
    sanitize: bool = Field(
        True, description="opaque ids, items cut to what they hold, a seeded order; off, the files' own leaks are shown"
    )
    upstream_rule: bool = Field(
        False, description="grade by the published rule, which has no n/a for who, what and why, even where gold has"
    )
    embedder: str | None = Field(None, description="litellm name of a model that embeds for search; BM25 without one")
    turns: int = Field(20, ge=1, le=200, description="most uses of a tool, of all trials together")
    observation: int = Field(5000, ge=200, le=100_000, description="most characters that one use of a tool shows")
    calls: int = Field(50, ge=1, le=1000, description="most requests of an agent at one task, repairs among them")
    hits: int = Field(5, ge=1, le=50, description="items of one search")
    rows: int = Field(50, ge=1, le=1000, description="most rows of one query in SQL")
    trials: int = Field(2, ge=1, le=10, description="most trials of reflexion")
    threshold: float = Field(0.8, ge=0, le=1, description="its own score at which reflexion makes no further trial")
    oracle: OracleName = Field(
        "none",
        description="what is given away, and so scores full: evidence, the right items alone; bottleneck, these and "
        "what is the matter",
    )
    baseline: BaselineName = Field(
        "none", description="a rule in place of the agent, which makes no call and names evidence only"
    )
    take: int = Field(5, ge=1, le=1000, description="items that a baseline names which names a number of them")
    seed: int = Field(42, ge=0, description="of the order of items")
