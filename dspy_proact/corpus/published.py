"""Figures of the published ProactBench study, with their source in NOTICE."""

from collections.abc import Mapping

HUMAN_ALPHA: Mapping[str, float] = {"EMERGENT": 0.17, "CRITICAL": 0.16, "RECOVERY": 0.28}
"""Krippendorff's ordinal alpha among the human raters of 60 responses, by phase: 1 is perfect agreement, 0 chance."""
