"""A cluster without Ray: its workers answer in this process, and what travels to and from them is pickled."""

import asyncio
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field

from dspy_proact import Gate
from dspy_proact.models.ray import cluster as ray_cluster
from dspy_proact.models.ray.cluster import LostWorkerError, WorkerHandle
from dspy_proact.models.ray.worker import RayWorker


def travelled(value):
    """A value as it arrives in another process."""
    return pickle.loads(pickle.dumps(value))


@dataclass(eq=False)
class LocalWorker(WorkerHandle):
    """A worker on a node of this machine.

    `fate` says of its calls, counted from 1, what becomes of each: `sent`, or `lost` once it was sent.
    """

    fate: Callable[[int], str] = lambda number: "sent"
    calls: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    actors: dict[asyncio.AbstractEventLoop, RayWorker] = field(default_factory=dict)

    async def answer(self, model, request):
        self.calls += 1
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        fate = self.fate(self.calls)
        try:
            loop = asyncio.get_running_loop()  # an actor has one for its life, and a test one for each question
            actor = self.actors.setdefault(loop, RayWorker(self.address))
            reply = await actor.answer(travelled(model), travelled(request))
            if fate == "lost":
                raise LostWorkerError(f"the worker on node {self.address} ended or cannot be reached")
            return travelled(reply)
        finally:
            self.in_flight -= 1


@dataclass
class LocalCluster:
    """In place of `RayCluster`; a worker that is lost is there again at once, or never."""

    workers: list[LocalWorker]
    comes_back: bool = True
    name: str = "ray"

    async def ready(self, switch, observer):
        switch.check()

    async def change(self):
        await asyncio.sleep(0)

    def lost(self, worker):
        if not self.comes_back:
            self.workers = [other for other in self.workers if other is not worker]


def worker(node="127.0.0.1", **options):
    return LocalWorker(None, node, node, up=True, **options)


def gate_of(monkeypatch, *workers, comes_back=True, **options):
    """A gate whose requests are sent by these workers, by two of this machine where none is given."""
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: name)
    gate = Gate(engine="ray", backoff=0.0, **options)
    gate.cluster = LocalCluster(list(workers) or [worker(), worker()], comes_back)
    return gate
