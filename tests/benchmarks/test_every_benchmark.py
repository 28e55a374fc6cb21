"""What holds of a run of every benchmark of the package: limits, faults, and that nothing is paid for twice.

The server answers whatever is asked for, by the request alone.
"""

from functools import cache

import pytest
from golden_player import played
from server import Server, error
from toy import outcomes

from dspy_proact import Benchmark, Evaluation, Gate, ModelSpec
from dspy_proact.benchmarks.registry import benchmarks
from dspy_proact.errors import LimitReached
from dspy_proact.models import Limits
from dspy_proact.runs import RunFolder, Scope

SCOPE = Scope(limit=6)
EVERY = pytest.mark.parametrize("name", [name for name, each in benchmarks().items() if each.file is None])


def at(server: Server, name: str, **gate):
    models = [ModelSpec(name="openai/any", api_base=base) for base in (server.assistant, server.judge)]
    if type(benchmarks()[name]).judge is Benchmark.judge:  # it is graded without one
        del models[1]
    return Evaluation("sample", *models, benchmark=name, gate=Gate(retries=0, concurrency=1, **gate))


@cache
def whole(name: str, folder) -> dict:
    """What an uninterrupted run comes to, and how many calls it takes."""
    with Server(played) as server:
        at(server, name).run(folder / name, SCOPE)
        return {"outcomes": outcomes(folder / name), "calls": len(server.sent)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return lambda name: whole(name, folder)


@EVERY
def test_a_run_that_stops_at_a_limit_again_and_again_ends_as_one_that_does_not(server, tmp_path, undisturbed, name):
    server.script = played
    run, stops = tmp_path / "run", 0
    while True:
        try:
            at(server, name, limits=Limits(calls=3)).run(run, SCOPE)
            break
        except LimitReached:
            stops += 1
    assert stops
    assert outcomes(run) == undisturbed(name)["outcomes"]
    assert len(server.sent) <= undisturbed(name)["calls"] + stops  # a stage of two calls begins anew
    sent = len(server.sent)
    assert at(server, name).run(run, SCOPE).stages == 0
    assert len(server.sent) == sent


@EVERY
def test_what_a_provider_refuses_is_unscored_and_mended_by_the_same_command(server, tmp_path, undisturbed, name):
    server.script = lambda sent: error(500) if len(server.sent) % 4 == 0 else played(sent)
    assert at(server, name).run(tmp_path / "run", SCOPE).unscored > 0
    failed = [event.failure for event in RunFolder(tmp_path / "run").events() if event.failure]
    assert {failure.kind for failure in failed} <= {"provider", "content"}
    server.script = played
    at(server, name).run(tmp_path / "run", SCOPE)
    assert outcomes(tmp_path / "run") == undisturbed(name)["outcomes"]
