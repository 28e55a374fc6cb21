"""Runs as one page to be looked at: a file of its own, which asks nothing of any network."""

from dspy_proact.report.page.page import page

__all__ = ["page"]
