"""What PROBE can be set to."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from dspy_proact.evaluation.embedding import OF_EMBEDDER, EmbedderSettings
from dspy_proact.evaluation.ruled import Baseline
from dspy_proact.runs import Settings

AgentName = Literal["single", "stages", "react", "reflexion", "rewoo"]
OracleName = Literal["none", "evidence", "bottleneck"]
BaselineName = Literal["none", "first", "longest", "kind", "id", "urgent", "bm25", "everything"]
_NUMBERED = ("first", "longest", "urgent", "bm25")
"""Baselines that name a number of items."""
_OF_TRIALS = ("trials", "threshold")
_OF_TOOLS = ("turns", "observation", "hits", "rows", *_OF_TRIALS, "embedder", *OF_EMBEDDER)
_UNUSED = {"single": _OF_TOOLS, "stages": _OF_TOOLS, "react": _OF_TRIALS, "reflexion": (), "rewoo": _OF_TRIALS}
"""Settings that have no effect with an agent."""
_BESIDE_EVIDENCE = (*_OF_TOOLS, "calls", "agent", "upstream_rule", "oracle")
"""Settings that have no effect with a baseline, which names evidence alone."""


class ProbeSettings(EmbedderSettings, Baseline, Settings):
    """The settings of PROBE; the defaults are the published setting, mended."""

    of_grading: ClassVar[frozenset[str]] = frozenset({"upstream_rule"})
    of_rule: ClassVar[frozenset[str]] = frozenset({"baseline", "take"})
    agent: AgentName = "single"
    """The program under test; single is one call that sees everything, as published."""
    sanitize: bool = True
    """Opaque ids, items reduced to their content, a seeded order; false shows what the files leak."""
    upstream_rule: bool = False
    """Grade by the published rule: who, what and why are never n/a, even without one, and the rest always may be; the
    right action is judged even without parameters; ids and actions with blanks around them are wrong, a text
    in place of a list of ids counts as its letters, and null evidence as an answer that cannot be read."""
    strict: bool = Field(default=False, exclude=True)
    """Refuse a corpus with a task whose files cannot be used; otherwise it is left out and counted."""
    embedder: str | None = None
    """Model that embeds items for search, a litellm name; BM25 without one."""
    oracle: OracleName = "none"
    """What the agent is given, and so scores full: evidence, only the right items; bottleneck, also its description."""
    baseline: BaselineName = "none"  # pyright: ignore[reportIncompatibleVariableOverride] - frozen
    """A rule in place of the agent; it makes no call and names evidence only."""
    take: int = Field(default=5, ge=1, le=1000)
    """Number of items that a baseline names, where its rule leaves the number open."""
    seed: int = Field(default=0, ge=0)
    """Seed of the ids and the order of sanitized items."""

    turns: int = Field(default=20, ge=1, le=200)
    """Tool calls of an agent, over all trials together."""
    observation: int = Field(default=5000, ge=200, le=100_000)
    """Characters of one tool result, and of one argument."""
    calls: int = Field(default=50, ge=1, le=1000)
    """Requests to the model, repairs included."""
    hits: int = Field(default=5, ge=1, le=50)
    """Items that one search returns."""
    rows: int = Field(default=50, ge=1, le=1000)
    """Rows that one SQL query returns."""
    trials: int = Field(default=2, ge=1, le=10)
    """Trials of `reflexion`."""
    threshold: float = Field(default=0.8, ge=0, le=1)
    """Score that `reflexion` gives itself from which it stops trying."""

    @property
    def without_effect(self) -> Mapping[str, str]:
        """Settings without effect, each with the setting that makes it so."""
        baseline, unused = f"baseline={self.baseline}", dict[str, str]()
        if self.embedder is None:
            unused |= dict.fromkeys(OF_EMBEDDER, "embedder=none")
        if self.oracle == "bottleneck":
            unused["upstream_rule"] = "oracle=bottleneck"
        if not self.sanitize:
            unused["seed"] = "sanitize=false"
        if self.baseline not in _NUMBERED:
            unused["take"] = baseline
        if self.baseline != "none":
            return unused | dict.fromkeys(_BESIDE_EVIDENCE, baseline)
        return unused | dict.fromkeys(_UNUSED[self.agent], f"agent={self.agent}")
