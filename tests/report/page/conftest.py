"""A browser, and pages of runs in it."""

import pytest
from drivers.browser import chromium

from dspy_proact import Assistant, Evaluation, RunFolder, Scope, load_corpus, summarize
from dspy_proact.report.page import page


@pytest.fixture(scope="package")
def browser(runs):
    """One for this folder. Its loop runs in this thread while it is there, so that runs are made before."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Two runs of the stand-in on the sample, with control turns: without and with a system prompt."""
    folder = tmp_path_factory.mktemp("runs")
    assistants = {"plain": Assistant(), "told": Assistant("When the task is done, offer one next step.")}
    for name, assistant in assistants.items():
        evaluation = Evaluation(load_corpus("sample"), model="embedded", judge="embedded", program=assistant)
        evaluation.run(folder / name, Scope(controls=True))
    return [folder / name for name in assistants]


@pytest.fixture(scope="session")
def paged(tmp_path_factory):
    """Writes the page of runs, and says where it is."""

    def write(*folders):
        path = tmp_path_factory.mktemp("page") / "page.html"
        path.write_text(page([summarize(RunFolder(folder)) for folder in folders]), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def one(paged, runs):
    return paged(runs[0])


@pytest.fixture(scope="session")
def two(paged, runs):
    return paged(*runs)
