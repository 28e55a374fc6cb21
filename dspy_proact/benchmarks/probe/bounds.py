"""How far an agent may go."""

from pydantic import ConfigDict, Field

from dspy_proact.types import Frozen


class Bounds(Frozen):
    """The most that an agent may do at one task."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    turns: int = Field(default=20, ge=1, le=200)
    """Uses of a tool, of all trials together."""
    observation: int = Field(default=5000, ge=200, le=100_000)
    """Characters of what one use of a tool returns, and of what it is asked."""
    calls: int = Field(default=50, ge=1, le=1000)
    """Requests to the model, repairs among them."""
    hits: int = Field(default=5, ge=1, le=50)
    """Items of one search."""
    rows: int = Field(default=50, ge=1, le=1000)
    """Of one query in SQL."""
    trials: int = Field(default=2, ge=1, le=10)
    """Of `reflexion`."""
    threshold: float = Field(default=0.8, ge=0, le=1)
    """Its own score at which `reflexion` makes no further trial."""
