"""Estimates with honest intervals: pure functions of scores, without seeds or scipy."""

from dspy_proact.stats.cluster import cluster_mean, macro_mean
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.student import t_quantile

__all__ = ["Estimate", "cluster_mean", "macro_mean", "t_quantile"]
