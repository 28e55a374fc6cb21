"""A small task of PROBE as an agent sees it, and servers that play an agent by script."""

import asyncio
import json

from fakes.server import Answer, Sent

from dspy_proact.benchmarks.probe.agents import AGENTS
from dspy_proact.benchmarks.probe.stand_in import agent_answer
from dspy_proact.benchmarks.probe.task import (
    Action,
    Document,
    Email,
    Event,
    Organisation,
    Relationship,
    Solution,
    TaskView,
    World,
)
from dspy_proact.models import Gate, ModelSpec, Role, open_model
from dspy_proact.programs import Direct
from dspy_proact.programs.embedded.fields import fields_of

AGENT = Role("assistant", "model", "response", agent_answer)
WORLD = World(
    person="Ida Brandt",
    occupation="head of a botanical garden",
    about="Runs the glasshouses.",
    relationships=(Relationship(name="Tomas Reyl", type="vendor", relationship_context="delivers the glass"),),
    current_priorities=("reopen the palm house in May",),
    pain_points=("permits that nobody signs",),
    organisation=Organisation(
        company_name="Garten am See", department="Glasshouses", team_size=4, reporting_to="Nils Ok"
    ),
)
MAIL = Email(
    id="a1",
    subject="Panes",
    sender="tomas@reyl.example",
    to=("ida@garten.example",),
    timestamp="2025-03-10T09:00:00",
    body="The panes for the palm house are still waiting for permit K7.",
)
MEETING = Event(
    id="b2",
    title="Scaffold",
    start_time="2025-04-01T08:00:00",
    end_time="2025-04-01T09:00:00",
    attendees=("Ida Brandt", "Nils Ok"),
    description="The scaffold goes up only with permit K7, which Nils Ok signs.",
)
NOTICE = Document(id="c3", title="Canteen", content="URGENT! New menu! Important: soup at once!")
ITEMS = (MAIL, MEETING, NOTICE)
ACTIONS = (
    Action(id="act1", type="request_approval", description="Ask for a permit", required=("approver", "deadline")),
    Action(id="act2", type="cancel_meeting", description="Call off an event", required=("title",)),
)
SOLVED = {
    "evidence": ["a1", "b2"],
    "bottleneck": "Ida Brandt waits for permit K7.",
    "action": "act1",
    "parameters": {"approver": "Nils Ok", "deadline": "2025-04-01"},
}
FINISH = {"thought": "enough", "tool": "finish", "argument": ""}
GOOD, POOR = {"lacking": "", "score": 0.9}, {"lacking": "Look at the scaffold.", "score": 0.2}


def task_of(*items):
    """What an agent is shown of a task."""
    return TaskView(world=WORLD, items=items or ITEMS, actions=ACTIONS)


def step(tool, argument):
    """What an agent answers that uses a tool."""
    return {"thought": f"{tool} it", "tool": tool, "argument": argument}


def planned(*steps):
    """What an agent answers that plans; each step is a name, a tool and an argument."""
    plan = [{"var": var, "tool": tool, "argument": argument} for var, tool, argument in steps]
    return {"reasoning": "so", "plan": plan}


def says(server, *answers):
    """Script the server's answers one after another, each a dict, a text or an `Answer`; the last one goes on."""
    pending = [
        answer if isinstance(answer, Answer) else Answer(answer if isinstance(answer, str) else json.dumps(answer))
        for answer in answers
    ]
    server.script = lambda sent: pending.pop(0) if len(pending) > 1 else pending[0]


def opened(server, name="hosted_vllm/any", **options):
    """The model of an agent that the server plays."""
    gate = Gate(retries=0, backoff=0.001, **options)
    return open_model(ModelSpec(name=name, api_base=server.assistant), AGENT, gate)


def solved(server, name, bounds=None, task=None, embedder=None):
    """The solution of an agent that the server plays, as a run asks for it."""
    return worked(opened(server), AGENTS[name](bounds, embedder), task or task_of())


def worked(model, agent, task):
    """The same of a model and an agent that are there."""

    async def run():
        try:
            text = await agent.answer_by(
                Direct(model.lm), world=task.world, documents=list(task.items), actions=list(task.actions)
            )
            return Solution(**text)
        finally:
            await model.aclose()

    return asyncio.run(run())


def inputs_of(sent: Sent):
    """The fields of a request's last message, as text by name."""
    content = str(sent.messages[-1]["content"]).partition("\n\nRespond with a JSON object")[0]
    return fields_of(content)


def steps_of(sent: Sent):
    """The steps that a request shows."""
    return json.loads(inputs_of(sent)["steps"])
