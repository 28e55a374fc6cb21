"""A study from its runs, on this machine: its file is made or opened again, and its pages are served until Ctrl-C."""

import socket
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.label.access import origins
from dspy_proact.label.app import Collection, application
from dspy_proact.label.assignment import design_study
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, practice_of, rated_of
from dspy_proact.report.summary import Summary


def open_study(file: Path, declared: Benchmark[Any, Any], summaries: Sequence[Summary], design: Design) -> Collection:
    """A study in its file, which is made of the runs where it is not there.

    The tokens of the owner and for joining stand beside it in a file that only its user may read, so that links stay
    good when it is served again; without that file they are new ones. Raises a `UsageError` where the file cannot be
    made or is of other runs, or the runs or the design do not fit, and a `RunError` where a case cannot be read.
    """
    if file.exists():
        store = Store.open(file)
        if store.study.benchmark != declared.name:
            raise UsageError(f"{file}: rates {store.study.benchmark}, and the runs are of {declared.name}")
        items = store.chosen(rated_of(declared, summaries, store.study.design.kind))
    else:
        study, items = design_study(declared, summaries, design)
        store = Store.create(file, study, items)
    links, (owner, entry) = file.with_suffix(".links"), ("", "")
    with suppress(OSError, ValueError):
        owner, entry = links.read_text().split()
    if not (store.holds(owner, "owner") and store.holds(entry, "entry")):
        owner, entry = store.new_tokens()
        links.touch(0o600)
        links.write_text(f"{owner}\n{entry}\n")
    practice = practice_of(declared, store.study.design.seed) if store.study.design.kind == "grades" else ()
    groups = {outcome.key: outcome.group for summary in summaries for outcome in summary.outcomes}
    return Collection(store, items, practice, declared, groups, owner, entry)


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
    the URL is not one.
    """
    import uvicorn

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
            limit_concurrency=500,
            timeout_graceful_shutdown=5,
        )
        listening.listen(128)
        name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        ready(url.rstrip("/") if url else f"http://{name}:{number}")
        with suppress(KeyboardInterrupt):  # uvicorn has ended in order, and raises the signal again
            uvicorn.Server(config).run(sockets=[listening])
