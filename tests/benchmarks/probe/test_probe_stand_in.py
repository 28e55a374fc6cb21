"""The embedded stand-in as an agent: rules that an instruction or a worked example changes."""

import asyncio

import pytest
from probe_desk import ACTIONS, AGENT, ITEMS, NOTICE, WORLD, task_of

from dspy_proact.benchmarks.probe.agents import AGENTS, make_agent
from dspy_proact.models import EMBEDDED, Gate, open_model
from dspy_proact.programs import Direct

LOUD = [
    NOTICE.model_copy(update={"id": f"n{number}", "title": f"Palm house {number}", "content": "URGENT! Reopen! Now!"})
    for number in range(4)
]
TASK = task_of(*LOUD, *ITEMS)


def solved(agent, task=TASK):
    async def run():
        return await agent.solve(task, Direct(open_model(EMBEDDED, AGENT, Gate()).lm))

    return asyncio.run(run())


def told(rule):
    """The search of the stages with a rule more."""
    agent = make_agent("stages")
    signature = agent.search.signature
    agent.search.signature = signature.with_instructions(f"{signature.instructions}\n\n{rule}")
    return solved(agent).evidence


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_comes_to_a_whole_solution_always_the_same(name):
    solution = solved(make_agent(name), task_of())
    assert solved(make_agent(name), task_of()) == solution
    assert not solution.faults
    assert set(solution.evidence) <= {item.id for item in ITEMS}
    assert solution.action in {action.id for action in ACTIONS}
    assert solution.bottleneck.startswith(WORLD.person)


def test_an_instruction_changes_which_items_it_takes():
    loud = told("")
    assert set(loud) < {NOTICE.id, *(item.id for item in LOUD)}
    assert told("Be polite.") == loud
    assert told("Look for what is waiting.")[0] == "a1"
    assert set(told("Look for what is waiting. Cross-check.")[:2]) == {"a1", "b2"}
    assert len(told("Take few items.")) < len(loud)


def test_a_rule_that_speaks_of_waiting_makes_it_search_for_what_waits():
    agent = make_agent("react")
    for predictor in agent.predictors():
        predictor.signature = predictor.signature.with_instructions(f"{predictor.signature.instructions} It waits.")
    assert solved(make_agent("react")).touched[0] != "a1"
    assert solved(agent).touched[0] == "a1"
