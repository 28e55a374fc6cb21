"""A run of the sample, whose responses are rated."""

from dataclasses import replace

import pytest

from dspy_proact import RunFolder, summarize


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A run of the sample by the stand-in."""
    proact = pytest.importorskip("dspy_proact")
    folder = tmp_path_factory.mktemp("labelled") / "run"
    proact.Evaluation(proact.load_corpus("sample"), model="embedded", judge="embedded").run(folder)
    return summarize(RunFolder(folder))


@pytest.fixture
def declared(proactbench):
    from dspy_proact.evaluation.registry import benchmark_named

    return benchmark_named("proactbench")


@pytest.fixture
def other(run):
    """A run of the same cases whose responses are longer, but for the first."""
    longer = tuple(replace(outcome, response=f"{outcome.response} More.") for outcome in run.outcomes[1:])
    identity = run.manifest.identity.model_copy(update={"benchmark": "other"})
    manifest = run.manifest.model_copy(update={"identity": identity})
    return replace(run, path="other", outcomes=(run.outcomes[0], *longer), manifest=manifest)


@pytest.fixture
def clock():
    """A clock that stands still until a test moves it on."""

    class Clock:
        now = 1000.0

        def __call__(self):
            return self.now

    return Clock()
