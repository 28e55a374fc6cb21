"""The Hugging Face hub, played by a server for one dataset, and a corpus that a process of its own loads from it."""

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from drivers.child import Child, code

COMMIT = "c0ffee" + "0" * 34
"""Of its one branch, `main`."""


@dataclass(frozen=True)
class Hub:
    """A server with one dataset."""

    url: str
    paths: list[str] = field(default_factory=list[str])
    """Paths of the requests that it was sent, in their order."""

    @property
    def fetched(self) -> list[str]:
        """Those that ask for what is in a file."""
        return [path for path in self.paths if path.startswith("/datasets/")]


@contextmanager
def hub_of(dataset: str, files: Mapping[str, bytes]) -> Iterator[Hub]:
    """Play a hub that has these files, by name, of a dataset and knows no other."""
    api, requests = f"/api/datasets/{dataset}", list[str]()
    resolve = f"/datasets/{dataset}/resolve/{COMMIT}/"
    entries = [{"type": "file", "path": name, "size": len(files[name]), "oid": "b" * 40} for name in sorted(files)]
    fields = {"id": dataset, "sha": COMMIT, "siblings": [{"rfilename": name} for name in sorted(files)]}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.partition("?")[0]
            requests.append(path)
            if path in {api, f"{api}/revision/main", f"{api}/revision/{COMMIT}"}:
                self.answer(json.dumps(fields).encode())
            elif path == f"{api}/tree/{COMMIT}":
                self.answer(json.dumps(entries).encode())
            elif path.startswith(resolve) and (name := path.removeprefix(resolve)) in files:
                self.answer(files[name], ETag=f'"{name}"', **{"X-Repo-Commit": COMMIT})
            else:
                self.answer(b"{}", 404, **{"X-Error-Code": "RevisionNotFound"})

        def do_HEAD(self):
            self.do_GET()

        def answer(self, body: bytes, status: int = 200, **headers: str):
            self.send_response(status)
            usual = {"Content-Type": "application/json", "Content-Length": str(len(body))}
            for header, value in (usual | headers).items():
                self.send_header(header, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object):  # noqa: A002 - the name is the library's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Hub(f"http://127.0.0.1:{server.server_port}", requests)
        server.shutdown()
        thread.join()


def printed(program: str, folder: Path, *arguments: str, **environment: str) -> list[str]:
    """The lines that a program prints, in a process and a folder of its own with a cache of its own."""
    outer: dict[str, str | None] = {name: None for name in os.environ if name.startswith("HF_")}
    # TQDM_POSITION -1 makes the libraries draw their bars without a terminal too: none may be drawn.
    ours = {"HF_HOME": str(folder / "cache"), "NO_PROXY": "127.0.0.1", "TQDM_POSITION": "-1"}
    done = Child(code, program, *arguments, folder=folder, **(outer | ours | environment)).ended()
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()
