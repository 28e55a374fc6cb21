"""What runs on a node of a cluster: sends requests by a provider's client; failures are classified there.

It imports nothing of Ray, which pickles what travels.
"""

import os
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from dspy.lm15 import Request, Response

from dspy_proact.models.endpoint import NODE, EngineSetup, Route
from dspy_proact.models.faults import Caller, Fault, understand
from dspy_proact.models.redaction import spellings


@dataclass(frozen=True)
class RemoteModel:
    """All that a worker must know of a model to send requests to it, as it travels with each of them."""

    id: str
    """By which a worker keeps its engine."""
    route: Route
    setup: EngineSetup
    caller: Caller
    """Without secrets, which are many spellings of each."""
    secrets: tuple[str, ...] = field(repr=False)
    """What is sent and no message may repeat."""
    environment: tuple[tuple[str, str], ...] = field(repr=False)
    """The driver's variables that clients read for the provider, by name."""

    @classmethod
    def of(cls, route: Route, setup: EngineSetup, caller: Caller, secrets: tuple[str, ...]) -> "RemoteModel":
        """A model as the driver asks it; `secrets` are those among its parameters."""
        environment = {name: value for name, value in os.environ.items() if route.is_variable(name)}
        keys = [value for value in (setup.key, *environment.values()) if value and value in route.secrets]
        bare = replace(caller, secrets=())
        return cls(uuid4().hex, route, setup, bare, (*secrets, *keys), tuple(environment.items()))

    def opened(self, node: str) -> tuple[Any, Caller]:
        """An engine on a node with this address, and the caller with what no message may repeat.

        The process has the driver's settings of the provider from then on, and none that its node has.
        """
        for name in [name for name in os.environ if self.route.is_variable(name)]:
            del os.environ[name]
        os.environ.update(self.environment)
        setup = self.setup
        if setup.api_base:
            host = f"[{node}]" if ":" in node else node
            setup = replace(setup, api_base=setup.api_base.replace(NODE, host))
        return setup.engine(), replace(self.caller, secrets=spellings(self.secrets))


@dataclass(frozen=True)
class Versions:
    """What driver and worker must have alike, since each reads what the other writes."""

    package: str
    """Of dspy-proact."""
    dspy: str

    @classmethod
    def here(cls) -> "Versions":
        """Those of this process."""
        return cls(version("dspy-proact"), version("dspy"))

    def __str__(self) -> str:
        return f"dspy-proact {self.package} with DSPy {self.dspy}"


class RayWorker:
    """An actor that sends requests from its node.

    Args:
        node: The address of the node, which stands for `{node}`.
    """

    def __init__(self, node: str):
        self._node = node
        self._models = dict[str, tuple[Any, Caller]]()

    async def hello(self) -> Versions:
        """Its versions, once it is there."""
        return Versions.here()

    async def answer(self, model: RemoteModel, request: Request) -> Response | Fault:
        """The response to a request, or the fault.

        No error of a provider leaves it: one may hold a key, or be of a class that cannot travel.
        """
        caller = replace(model.caller, secrets=model.secrets)
        try:
            if model.id not in self._models:
                self._models[model.id] = model.opened(self._node)
            engine, caller = self._models[model.id]
            return await engine.complete(request)
        except Exception as error:
            return understand(error, caller)
