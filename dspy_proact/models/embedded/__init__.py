"""The embedded model: deterministic stand-ins for an assistant and a judge, for a machine without a key."""

from dspy_proact.models.embedded.engine import EMBEDDED, EmbeddedEngine, embedded_engine

__all__ = ["EMBEDDED", "EmbeddedEngine", "embedded_engine"]
