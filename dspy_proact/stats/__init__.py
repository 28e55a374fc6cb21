"""Estimates with honest intervals: functions of scores and their scenarios, without I/O."""

from dspy_proact.stats.cluster import cluster_mean, macro_mean
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.student import t_quantile

__all__ = ["Estimate", "cluster_mean", "macro_mean", "t_quantile"]
