"""What benchmarks can be set to; apart from the programs that are set, so that a list of settings imports none."""

from dspy_proact.settings.probe import AgentName, BaselineName, Bounds, OracleName, ProbeSettings

__all__ = ["AgentName", "BaselineName", "Bounds", "OracleName", "ProbeSettings"]
