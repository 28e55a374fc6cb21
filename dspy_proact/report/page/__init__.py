"""Runs, and lists of them, as pages: each a file of its own, which asks nothing of any network; and a scatter plot."""

from dspy_proact.report.page.leaderboard_page import leaderboard_page
from dspy_proact.report.page.page import page, runs_page
from dspy_proact.report.page.scatter import ScatterPoint, scatter_svg

__all__ = ["ScatterPoint", "leaderboard_page", "page", "runs_page", "scatter_svg"]
