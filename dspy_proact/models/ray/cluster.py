"""The workers of a gate on the nodes of a Ray cluster: begun at the first call, watched, and replaced.

Ray is connected to, or started on this machine, at the first call, so that a dry run starts nothing. Workers take no
CPUs of the cluster. One that ends is begun again by Ray on its node; Ray sends no request a second time.
"""

import asyncio
import logging
import os
import socket
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dspy.lm15 import Request, Response

from dspy_proact.call_observer import CallObserver
from dspy_proact.errors import SetupFault, UsageError
from dspy_proact.models.clients import CONNECT
from dspy_proact.models.faults import Fault
from dspy_proact.models.ray.worker import RayWorker, RemoteModel, Versions
from dspy_proact.switch import Bell, Switch

_PER_NODE = 4
"""Workers on a node at most, one for each of its CPUs: one sends several hundred requests a second."""
_TO_BEGIN, _FURTHER = 180.0, 10.0
"""Seconds in which the first worker begins, and then all others; those that come later are used then."""
_LOOK = 30.0
"""Seconds between two looks at which nodes there are."""
_TICK, _PAUSE = 0.05, 1.0
_SPARE = 8
"""Calls of a worker beside those of the gate, such as whether it is there."""


class LostWorkerError(Exception):
    """A worker ended while it had a request, or could not be reached."""


@cache
def import_ray() -> Any:
    """Ray, whose types are known only where it is installed; it begins only by `start_ray`."""
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")  # else to ask a worker as the process ends starts a cluster
    ray = import_module("ray")
    import_module("ray.util.scheduling_strategies")
    return ray


def start_ray(**options: Any) -> None:
    """Connect this process to Ray, which reports nothing to its makers and prints nothing."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Where the head of the cluster is away for a minute, Ray would end this process; a run ends in good order.
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "3600")
    ray = import_ray()
    logging.getLogger("ray").setLevel(logging.ERROR)
    # What it says of workers that end would go to standard output, into the middle of a result.
    inner = ray._private.worker
    listen, inner.listen_error_messages = inner.listen_error_messages, lambda *_: None
    try:
        ray.init(log_to_driver=False, logging_level="ERROR", **options)
    finally:
        inner.listen_error_messages = listen


@dataclass(eq=False)
class WorkerHandle:
    """One worker, as the driver sees it."""

    actor: Any
    node: str
    """The id of its node."""
    address: str
    up: bool = False
    """Whether it is there, as far as is known."""

    async def answer(self, model: RemoteModel, request: Request) -> Response | Fault:
        """What `RayWorker.answer` returns; cancelled here, it is cancelled there.

        Raises `LostWorkerError` where the worker ended or cannot be reached: it may have sent the request.
        """
        ray = import_ray()
        reference = self.actor.answer.remote(model, request)
        try:
            return await reference
        except asyncio.CancelledError:
            with suppress(ray.exceptions.RayError):  # the process ends, and the connection is closed
                ray.cancel(reference, recursive=False)
            raise
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError as error:
            raise LostWorkerError(f"the worker on node {self.address} ended or cannot be reached") from error


class RayCluster:
    """The workers of one gate.

    Args:
        engine: As a person names it: `ray`, or `ray=ADDRESS` for a cluster that runs, such as `ray=auto`.
        concurrency: Requests that a worker may be sent at a time.

    Raises:
        UsageError: It is named otherwise, or Ray is not installed.
    """

    def __init__(self, engine: str, concurrency: int):
        name, equals, address = engine.partition("=")
        if name != "ray" or bool(equals) != bool(address.strip()):
            raise UsageError(f"`gate.engine` {engine!r}: must be ray, or ray=ADDRESS of a cluster")
        if address.startswith("ray://"):
            raise UsageError(
                f"`gate.engine` {engine!r}: Ray's client is not supported; run the command on a machine of the "
                "cluster with ray=auto, such as by `ray job submit`"
            )
        if find_spec("ray") is None:
            raise UsageError(f"`gate.engine` {engine!r}: Ray is not installed: pip install 'ray>=2.60'")
        self.name, self._address, self._concurrency = engine, address or None, concurrency
        self.workers = list[WorkerHandle]()
        """Those that are there, or may come back."""
        self._changed = Bell()
        self._begun: Future[None] | None = None
        self._lock = threading.Lock()
        """Of what several threads change: `_begun` and `workers`."""
        self._listed = 0.0
        self._nodes = set[str]()
        """Ids of the nodes on which workers were begun."""

    async def ready(self, switch: Switch, observer: CallObserver) -> None:
        """Wait until there are workers; raises the `Halt` that comes first, a `SetupFault` where there are none."""
        with self._lock:
            if first := self._begun is None:
                self._begun = Future()
                threading.Thread(target=self._begin, args=(self._begun,), name="dspy-proact ray", daemon=True).start()
        while not self._begun.done():
            await switch.pause(_TICK)
        if error := self._begun.exception():
            assert isinstance(error, SetupFault), error
            switch.pull(error)
            raise error
        if first:
            observer.cluster_ready(len(self.workers), len({worker.node for worker in self.workers}))
        self._look_now_and_then()

    async def change(self) -> None:
        """Wait until a worker comes or leaves, at most a second."""
        self._look_now_and_then()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE):
                await self._changed.wait()

    def lost(self, worker: WorkerHandle) -> None:
        """A worker did not answer: it is asked nothing until it says that it is there."""
        if worker.up:
            worker.up = False
            self._await(worker)

    def _begin(self, begun: "Future[None]") -> None:
        try:
            connected = Future[None]()
            threading.Thread(target=_connect, args=(self._address, connected), name="ray", daemon=True).start()
            connected.result()
            self._start_workers()
        except SetupFault as fault:
            begun.set_exception(fault)
        except (
            BaseException
        ) as error:  # whatever Ray raises, the end of the process too: else a run would wait for ever
            begun.set_exception(SetupFault(f"`gate.engine` {self.name}: {_last_line(error)}"))
        else:
            begun.set_result(None)

    def _start_workers(self) -> None:
        ray = import_ray()
        self._listed = time.monotonic()
        workers, refused = self._on_new_nodes(), ""
        if not workers:
            raise SetupFault(f"`gate.engine` {self.name}: no node of the cluster has a CPU, and a worker needs one")
        hellos = {worker.actor.hello.remote(): worker for worker in workers}
        waiting, end = list(hellos), time.monotonic() + _TO_BEGIN
        while waiting and time.monotonic() < end:
            ready, waiting = ray.wait(waiting, timeout=_PAUSE)
            for hello in ready:
                try:
                    self._admit(hellos[hello], ray.get(hello))
                    end = min(end, time.monotonic() + _FURTHER)
                except ray.exceptions.RayError as error:
                    refused = f" (node {hellos[hello].address}: {_last_line(error)})"
        if not self.workers:
            mend = "install dspy-proact on every node in the version of this process"
            raise SetupFault(f"`gate.engine` {self.name}: no worker could begin{refused}; {mend}")
        for hello in waiting:
            self._await(hellos[hello])

    def _on_new_nodes(self) -> list[WorkerHandle]:
        """Workers on the nodes that have none."""
        ray = import_ray()
        kind = ray.remote(RayWorker)
        workers = list[WorkerHandle]()
        for node in ray.nodes():
            if not node["Alive"] or node["NodeID"] in self._nodes:
                continue
            self._nodes.add(node["NodeID"])
            count = min(_PER_NODE, int(node["Resources"].get("CPU", 0)))
            here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            options = kind.options(
                num_cpus=0,
                max_restarts=-1,
                max_task_retries=0,
                max_concurrency=self._concurrency + _SPARE,
                scheduling_strategy=here,
            )
            address = node["NodeManagerAddress"]
            workers += [WorkerHandle(options.remote(address), node["NodeID"], address) for _ in range(count)]
        return workers

    def _admit(self, worker: WorkerHandle, versions: Versions) -> None:
        """A worker said that it is there; raises a `SetupFault` where it has other versions."""
        if versions != (here := Versions.here()):
            raise SetupFault(
                f"`gate.engine` {self.name}: node {worker.address} has {versions}, and this process {here}; install "
                "the same on every node"
            )
        worker.up = True
        with self._lock:
            if worker not in self.workers:
                self.workers = [*self.workers, worker]
        self._changed.ring()

    def _await(self, worker: WorkerHandle) -> None:
        """Ask a worker whether it is there: Ray answers when it has begun, or when it never will."""
        if import_ray().is_initialized():  # until the process ends
            worker.actor.hello.remote().future().add_done_callback(lambda reply: self._heard(worker, reply))

    def _heard(self, worker: WorkerHandle, reply: "Future[Versions]") -> None:
        ray = import_ray()
        try:
            self._admit(worker, reply.result())
        except ray.exceptions.ActorUnavailableError:
            again = threading.Timer(_PAUSE, self._await, (worker,))
            again.daemon = True
            again.start()
        except (ray.exceptions.RayError, SetupFault):  # its node has left, or it joined with other versions
            worker.up = False
            with self._lock:
                self.workers = [other for other in self.workers if other is not worker]
            self._changed.ring()

    def _look_now_and_then(self) -> None:
        if time.monotonic() - self._listed > _LOOK:
            self._listed = time.monotonic()
            threading.Thread(target=self._look, name="dspy-proact ray nodes", daemon=True).start()

    def _look(self) -> None:
        """Have workers on the nodes that have joined."""
        try:
            for worker in self._on_new_nodes():
                self._await(worker)
        except Exception:  # the head of the cluster may be away, which those at work need not notice
            return


def _connect(address: str | None, connected: "Future[None]") -> None:
    """Connect this process to a cluster, or start one: the connection ends with its thread, which never does."""
    named = address or os.environ.get("RAY_ADDRESS") or ""
    try:
        host, colon, port = named.rpartition(":")
        if colon:  # Ray would try for minutes
            with socket.create_connection((host.strip("[]"), int(port)), CONNECT):
                pass
        ray = import_ray()
        if begins := not ray.is_initialized():
            start_ray(address=address, **({} if named else {"include_dashboard": False}))
        elif address not in (None, "auto"):
            # Ray calls this machine by its address in the network, however a person names it.
            there = ray._private.services.canonicalize_bootstrap_address(address)
            if there != ray.get_runtime_context().gcs_address:
                raise SetupFault(f"`gate.engine` ray={address}: this process is connected to another cluster")
    except OSError as error:
        token = "; if it asks for a token, set RAY_AUTH_TOKEN" if ":" in named else ""
        connected.set_exception(
            SetupFault(f"`gate.engine`: no cluster of Ray can be reached at {named}: {error}{token}")
        )
        return
    except BaseException as error:
        connected.set_exception(error)
        return
    connected.set_result(None)
    if begins:
        threading.Event().wait()


def _last_line(error: BaseException) -> str:
    """What an error of Ray says, without its traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
