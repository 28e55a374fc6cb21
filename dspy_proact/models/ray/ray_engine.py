"""The engine that has the workers of a cluster send requests, and which of them gets one."""

import random
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from dspy.lm15 import Request, Response

from dspy_proact.errors import ProviderDown, ProviderError, SetupFault
from dspy_proact.models.dspy_internals import StreamEvent
from dspy_proact.models.endpoint import NODE
from dspy_proact.models.faults import ElsewhereError, Fault
from dspy_proact.models.ray.cluster import LostWorkerError, RayCluster, WorkerHandle
from dspy_proact.models.ray.worker import RemoteModel

_AWAY = 60.0
"""Seconds in which a worker comes back, or a node joins, where no worker is there."""
_FIRST_DOUBT, _LONGEST_DOUBT = 1.0, 60.0
"""Seconds without a request after a failure, doubled with each further one."""
_DOUBTED = ("network", "server", "timeout")


@dataclass
class _Standing:
    """How the requests to one worker fare."""

    in_flight: int = 0
    failures: int = 0
    """In a row, in which nothing was answered."""
    until: float = 0.0
    """Before that it gets none."""


class WorkerChoice:
    """Which worker gets a request: the one with the fewest in flight, by chance among equals.

    One at which requests fail gets one at a time, after a pause, until one is answered: its failures come sooner than
    the answers of others, so that it would draw all requests.

    Args:
        by_node: Whether those in flight on its whole node count first: each node has an endpoint of its own.
        clock: Seconds.
        seed: Of chance.
    """

    def __init__(self, by_node: bool, clock: Callable[[], float] = time.monotonic, seed: int | None = None):
        self._by_node, self._clock, self._draw = by_node, clock, random.Random(seed)
        self._standings = dict[WorkerHandle, _Standing]()

    def pick(self, workers: Sequence[WorkerHandle]) -> WorkerHandle | None:
        """The worker for one more request, which is then in flight; None where none is there."""
        there = {worker: self._standings.setdefault(worker, _Standing()) for worker in workers if worker.up}
        if not there:
            return None
        now, of_nodes = self._clock(), dict[str, int]()
        for worker, standing in there.items():
            of_nodes[worker.node] = of_nodes.get(worker.node, 0) + standing.in_flight * self._by_node
        trusted = [
            worker
            for worker, standing in there.items()
            if not standing.failures or (now >= standing.until and not standing.in_flight)
        ]
        fewest = min(
            trusted or there,
            key=lambda worker: (of_nodes[worker.node], there[worker].in_flight, self._draw.random()),
        )
        there[fewest].in_flight += 1
        return fewest

    def ended(self, worker: WorkerHandle, *, failed: bool | None) -> None:
        """A request to a worker ended, and whether it failed on the way; None where that is not known."""
        standing = self._standings[worker]
        standing.in_flight -= 1
        if failed:
            pause = min(_LONGEST_DOUBT, _FIRST_DOUBT * 2**standing.failures)
            standing.failures, standing.until = standing.failures + 1, self._clock() + pause
        elif failed is not None:
            standing.failures = 0


class RayEngine:
    """In place of a provider's client: answers a request by a worker of a cluster that is ready."""

    def __init__(self, cluster: RayCluster, model: RemoteModel):
        self._cluster, self._model = cluster, model
        self._choice = WorkerChoice(NODE in (model.setup.api_base or ""))

    async def complete(self, request: Request) -> Response:
        """The response; raises `ElsewhereError` with the fault that a worker says, or that it is lost."""
        worker, failed = await self._worker(), None
        try:
            reply = await worker.answer(self._model, request)
            failed = isinstance(reply, Fault) and reply.word in _DOUBTED
        except LostWorkerError as lost:
            failed = True
            self._cluster.lost(worker)
            fault = Fault("network", ProviderError("network", str(lost)), retry=True, may_be_billed=True)
            raise ElsewhereError(fault) from lost
        finally:
            self._choice.ended(worker, failed=failed)
        if isinstance(reply, Fault):
            raise ElsewhereError(reply)
        return reply

    async def _worker(self) -> WorkerHandle:
        """The worker for a request, once one is there."""
        end = time.monotonic() + _AWAY
        while (worker := self._choice.pick(self._cluster.workers)) is None:
            if time.monotonic() > end:
                down = ProviderDown(
                    f"`gate.engine` {self._cluster.name}: no worker has been there for {_AWAY:.0f} seconds"
                )
                raise ElsewhereError(Fault("network", down, retry=False))
            await self._cluster.change()
        return worker

    async def stream(self, _: Request) -> AsyncGenerator[StreamEvent]:
        """Refuses: a worker's answer comes at once."""
        fault = SetupFault("`gate.engine` ray: answers are not streamed from a cluster; omit it")
        raise ElsewhereError(Fault("setup", fault, retry=False))
        yield
