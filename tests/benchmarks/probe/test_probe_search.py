"""Agents that search by meaning, with an embedder over HTTP."""

import dspy
from embedding import vectors
from probe_desk import FINISH, SOLVED, opened, says, solved, step, steps_of, task_of
from server import error

from dspy_proact.benchmarks.probe.agents import make_agent
from dspy_proact.models import Gate, ModelSpec, open_embedder


def embedder(server):
    spec = ModelSpec(name="openai/any", api_base=server.assistant)
    return open_embedder(spec, Gate(backoff=0.001), "--set embedder")


def test_an_agent_searches_by_meaning_where_an_embedder_is_named(server):
    says(server, step("search", "permit"), FINISH, {"reasoning": "so", **SOLVED})
    chat = server.script
    server.script = lambda sent: vectors(sent) if "input" in sent.body else chat(sent)
    solution = solved(server, "react", embedder=embedder(server))
    assert solution.touched[:2] == ("a1", "b2")
    assert solution.turns == 3
    embeddings = [sent.body["input"] for sent in server.sent if "input" in sent.body]
    assert [len(texts) for texts in embeddings] == [3, 1]


def test_a_query_that_the_embedder_refuses_is_told_to_the_agent(server):
    says(server, step("search", "permit"), FINISH, {"reasoning": "so", **SOLVED})
    chat = server.script
    server.script = lambda sent: error(400, "too odd") if "input" in sent.body else chat(sent)
    assert solved(server, "react", embedder=embedder(server)).action == "act1"
    (seen,) = steps_of(server.sent[-1])
    assert seen["observation"].startswith("The search failed: refused")


def test_an_agent_with_an_embedder_searches_in_a_compile_too_and_can_be_copied(server):
    says(server, step("search", "permit"), FINISH, {"reasoning": "so", **SOLVED})
    chat, task = server.script, task_of()
    server.script = lambda sent: vectors(sent) if "input" in sent.body else chat(sent)
    agent = make_agent("react", embedder=embedder(server)).deepcopy()
    with dspy.context(lm=opened(server).lm):
        said = agent(world=task.world, documents=list(task.items), actions=list(task.actions))
    assert said.touched[:2] == ("a1", "b2")
