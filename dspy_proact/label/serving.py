"""A study from its runs, on this machine: its file is made or opened again, and its pages are served until Ctrl-C."""

import asyncio
import glob
import resource
import secrets
import socket
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.kept import replacing
from dspy_proact.label.access import origins
from dspy_proact.label.app import Collection, application
from dspy_proact.label.assignment import design_study
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, StoredItem, Study, practice_of, rated_of
from dspy_proact.report.summary import Summary

AnyStore = TypeVar("AnyStore", bound=Store)
Item = TypeVar("Item", bound=StoredItem)
_MOST_CONNECTIONS = 500
"""Open at once, if the system lets a process have twice as many files."""


def open_study(file: Path, declared: Benchmark[Any, Any], summaries: Sequence[Summary], design: Design) -> Collection:
    """A study in its file, made of the runs and the design where it is not there; one that is there keeps its design.

    Raises as `open_store` does, where the runs or the design do not fit, and a `RunError` where a case cannot be read.
    """
    store, items, owner, entry = open_store(
        file,
        Store,
        declared.name,
        lambda: design_study(declared, summaries, design),
        lambda study: rated_of(declared, summaries, study.design.kind),
    )
    practice = practice_of(declared, store.study.design.seed) if store.study.design.kind == "grades" else ()
    groups = {outcome.key: outcome.group for summary in summaries for outcome in summary.outcomes}
    return Collection(store, items, practice, declared, groups, owner, entry)


def open_store(
    file: Path,
    kind: type[AnyStore],
    benchmark: str,
    begin: Callable[[], tuple[Study, tuple[Item, ...]]],
    items_now: Callable[[Study], Iterable[Item]],
) -> tuple[AnyStore, tuple[Item, ...], str, str]:
    """The store of a file, begun where it is not there, its items, and the tokens of the owner and for joining.

    The tokens stand beside it in a file that only its user may read, so that links stay good when it is served again;
    without that file they are new ones. Raises a `UsageError` where the file cannot be made, or is of another kind,
    benchmark or items, and a `StoreError` where nothing can be written into it.
    """
    store = kind.open(file) if file.exists() else None
    links, (owner, entry) = file.with_suffix(".links"), ("", "")
    for path in (file, links):  # what a kill left of one that was being made
        for left in file.parent.glob(f"{glob.escape(path.name)}.[0-9]*.new"):
            left.unlink(missing_ok=True)
    if store:
        if store.study.benchmark != benchmark:
            what, are = (
                ("reviews", "the corpus is") if store.study.design.kind == "reviews" else ("rates", "the runs are")
            )
            raise UsageError(f"{file}: {what} {store.study.benchmark}, and {are} of {benchmark}")
        items = store.chosen(items_now(store.study))
        store.require_writable()
        with suppress(OSError, ValueError):
            owner, entry = links.read_text().split()
        if not (store.holds(owner, "owner") and store.holds(entry, "entry")):
            with _new_tokens(links) as (owner, entry):
                store.set_tokens(owner, entry)
    else:
        study, items = begin()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{file}: cannot be made: {error.strerror}; name another file with `db`") from error
        with _new_tokens(links) as (owner, entry):
            store = kind.create(file, study, items, tokens=(owner, entry))
    return store, items, owner, entry


@contextmanager
def _new_tokens(links: Path) -> Generator[tuple[str, str]]:
    """New tokens of the owner and for joining, which are in their file once what is done with them inside is done."""
    owner, entry = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
    with replacing(links) as temporary:
        temporary.chmod(0o600)
        temporary.write_text(f"{owner}\n{entry}\n")
        yield owner, entry


class _Connection(H11Protocol):
    """A connection of a client's. Where there are too many, the one that was silent longest is closed.

    So neither connections that send nothing nor halves of requests keep others out.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.heard = self.loop.time()
        most = min(_MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        if len(self.connections) > most:
            silent = min((one for one in self.connections if isinstance(one, _Connection)), key=lambda one: one.heard)
            self.connections.discard(silent)
            silent.transport.abort()

    def data_received(self, data: bytes) -> None:
        self.heard = self.loop.time()
        super().data_received(data)


def serve(
    collection: Collection,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    url: str | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the pages of a study that `open_study` gave until Ctrl-C, and close its file.

    Beyond loopback, put a proxy with TLS before `host` and `port` (0 for any that is free), which `url` names. `ready`
    is called with the address of the pages when they are served. Raises a `UsageError` where the port cannot be had, or
    the URL is not one, and in the end a `StoreError` where the file was moved, removed or replaced meanwhile.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named: asyncio leaves Nagle's algorithm on for any other, which is 40 ms a click.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    with closing(collection.store), listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise UsageError(f"`port={port}`: cannot be used at {host}: {error.strerror}; use another") from error
        number = listening.getsockname()[1]
        app = application(collection, origins(number, host, url))
        # Requests are in no log: a log of who rated when is none of the server's business.
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            proxy_headers=url is not None,
            http=_Connection,
            timeout_graceful_shutdown=5,
        )
        listening.listen(128)
        name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        with suppress(KeyboardInterrupt):  # uvicorn has ended in order, and raises the signal again
            ready(url.rstrip("/") if url else f"http://{name}:{number}")
            uvicorn.Server(config).run(sockets=[listening])
        collection.store.require_unmoved()
