"""Runs as one page to be looked at: a file of its own, which asks nothing of any network; and its scatter plot."""

from dspy_proact.report.page.leaderboard_page import leaderboard_page
from dspy_proact.report.page.page import page
from dspy_proact.report.page.scatter import ScatterPoint, scatter_svg

__all__ = ["ScatterPoint", "leaderboard_page", "page", "scatter_svg"]
