"""One file that lists runs, each with a link to its page; no script."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dspy_proact.plain_text import encodable
from dspy_proact.report.numbers import counted, share
from dspy_proact.report.page.figures import PAGE, one_file, page_text, templates
from dspy_proact.report.run_list import ListedRun


def runs_page(runs: Sequence[ListedRun], pages: Mapping[Path, str]) -> str:
    """The page of a list of runs, as HTML that needs no other file; `pages` are addresses by the paths of runs."""
    only_stand_in = {run.embedded for run in runs if run.reason is None} == {True}
    template = templates().get_template("runs.html")
    title = counted(len(runs), "run")
    shown = {"runs": runs, "pages": pages, "title": title, "stand_in": only_stand_in, "share": share}
    return encodable(one_file(template, page_text(PAGE, "page.css"), "", "", **shown))
