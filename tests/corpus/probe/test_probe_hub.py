"""The official dataset, from a hub that is played by a server in the layout that its README describes."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from child import Child, code
from probe_files import files, in_zips

COMMIT = "c0ffee" + "0" * 34
API = "/api/datasets/gilfastino/PROBE"


class Hub(BaseHTTPRequestHandler):
    """One repository with a branch `main` and two zips."""

    contents: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.asked.append(path)
        name = path.rpartition("/")[2]
        tree = [{"type": "file", "path": each, "size": len(data), "oid": "b" * 40} for each, data in self.files()]
        if path in {API, f"{API}/revision/main", f"{API}/revision/{COMMIT}"}:
            told = {
                "id": "gilfastino/PROBE",
                "sha": COMMIT,
                "siblings": [{"rfilename": each} for each, _ in self.files()],
            }
            self.answer(json.dumps(told).encode())
        elif path == f"{API}/tree/{COMMIT}":
            self.answer(json.dumps(tree).encode())
        elif path == f"/datasets/gilfastino/PROBE/resolve/{COMMIT}/{name}" and name in self.contents:
            self.answer(self.contents[name], ETag=f'"{name}"', **{"X-Repo-Commit": COMMIT})
        else:
            self.answer(b"{}", 404, **{"X-Error-Code": "RevisionNotFound"})

    def do_HEAD(self):
        self.do_GET()

    def files(self):
        return sorted(self.contents.items())

    def answer(self, body: bytes, status: int = 200, **headers: str):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object):  # noqa: A002 - the name is the library's
        pass


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "hub"
    folder.mkdir()
    in_zips(folder, files(key="a") | files(key="b"))
    Hub.contents = {path.name: path.read_bytes() for path in folder.iterdir()} | {"README.md": b"not wanted"}
    Hub.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


LOAD = """
import sys
from dspy_proact.corpus.probe import load_tasks
from dspy_proact.errors import CorpusError
for spec in sys.argv[1:]:
    try:
        corpus = load_tasks(spec)
        print(corpus.name, corpus.revision, [entry.key for entry in corpus.entries])
    except CorpusError as error:
        print("CorpusError", error)
"""


def loaded(folder: Path, *specs: str, **environment: str) -> list[str]:
    """One line a spec, from a process in a folder of its own with a cache of its own."""
    outer: dict[str, str | None] = {name: None for name in os.environ if name.startswith("HF_")}
    ours = {"HF_HOME": str(folder / "cache"), "NO_PROXY": "127.0.0.1", "TQDM_POSITION": "-1"}
    done = Child(code, LOAD, *specs, folder=folder, **(outer | ours | environment)).ended()
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_zips_are_fetched_at_the_commit_that_is_recorded(tmp_path: Path, hub: str):
    expected = f"probe {COMMIT} ['a', 'b']"
    assert loaded(tmp_path, "probe", "probe@main", HF_ENDPOINT=hub) == [expected] * 2
    fetched = [path for path in Hub.asked if path.startswith("/datasets/")]
    assert fetched
    assert all(COMMIT in path and path.endswith(".zip") for path in fetched)


def test_what_cannot_be_reached_is_told_with_what_to_do_instead(tmp_path: Path, hub: str):
    (gone,) = loaded(tmp_path, "probe@gone", HF_ENDPOINT=hub)
    assert gone.startswith("CorpusError gilfastino/PROBE@gone: cannot be read (RevisionNotFoundError: ")
    assert gone.endswith("; try again, or download its two zips and give the path of their folder")
    (offline,) = loaded(tmp_path, "probe", HF_HUB_OFFLINE="1")
    assert offline.startswith("CorpusError gilfastino/PROBE: cannot be read (OfflineModeIsEnabled: ")
