"""GitHub, played by a server for one repository."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dspy_proact.files import github


@dataclass
class Repository:
    """What GitHub says of one repository; `answers` go before that."""

    name: str
    commits: dict[str, dict[str, bytes]]
    """Files by commit, the newest commit first."""
    base: str = ""
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Status and body by the end of a path."""
    paths: list[str] = field(default_factory=list)
    silent: bool = False
    """Answers nothing until it ends."""
    ended: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str) -> tuple[int, bytes]:
        self.paths.append(path)
        if self.silent:
            self.ended.wait(30)
        for end, inputs in self.answers.items():
            if path.partition("?")[0].endswith(end):
                return inputs
        for commit, held in self.commits.items():
            if path == f"/api/repos/{self.name}/git/trees/{commit}?recursive=1":
                return 200, tree(held)
            name = path.removeprefix(f"/raw/{self.name}/{commit}/")
            if name in held:
                return 200, held[name]
        if path.startswith(f"/api/repos/{self.name}/commits?path=") and path.endswith("&per_page=5"):
            return 200, json.dumps([{"sha": commit, "commit": {}} for commit in self.commits]).encode()
        return 404, b"{}"


def tree(held: Mapping[str, bytes]) -> bytes:
    def git_hash(content: bytes) -> str:
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

    folders = [{"path": path.rpartition("/")[0], "type": "tree", "sha": "0" * 40} for path in held if "/" in path]
    blobs = [{"path": path, "type": "blob", "sha": git_hash(content)} for path, content in held.items()]
    return json.dumps({"sha": "1" * 40, "tree": folders + blobs, "truncated": False}).encode()


@contextmanager
def github_of(name: str, commits: dict[str, dict[str, bytes]]) -> Iterator[Repository]:
    """Play GitHub that has these files of a repository, by commit, and knows no other."""
    known = Repository(name, commits)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = known.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 302:
                self.send_header("Location", body.decode())
            self.end_headers()
            if not known.silent:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object):  # noqa: A002 - the name is the library's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, pytest.MonkeyPatch.context() as patch:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        known.base = f"http://127.0.0.1:{server.server_port}"
        patch.setattr(github, "API", f"{known.base}/api")
        patch.setattr(github, "RAW", f"{known.base}/raw")
        yield known
        known.ended.set()
        server.shutdown()
        thread.join()
