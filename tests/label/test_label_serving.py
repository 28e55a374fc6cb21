"""The server killed, under load, and ended in order."""

import errno
import gc
import os
import signal
import socket
import sqlite3
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from drivers.child import Child
from drivers.labelling import Riddles, collected, item, joined, rating, serve_again, serving
from support.visitor import Visitor, key

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.label.database import StoreError
from dspy_proact.label.serving import open_study
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design

RATERS, RATINGS = 20, 10


class Restarted:
    """A server that is killed and begun again on one file, and a rater who stays."""

    def __init__(self, folder, token, items):
        self.folder, self.cookie, self.token, self.items = folder, "", token, items
        os.mkfifo(folder / "ready")

    def __enter__(self):
        self.child = Child(serve_again, self.folder / "study.db", self.items, self.folder / "ready")
        port = int((self.folder / "ready").read_text().rpartition(":")[2])
        self.ann = Visitor(port, cookie=self.cookie)
        if not self.cookie:
            self.ann.post("/enter", {"token": self.token})
            self.cookie = self.ann.cookie
            self.ann.get("/briefing")
        return self

    def __exit__(self, *_):
        self.child.kill()
        assert self.child.wait() == -signal.SIGKILL


@pytest.mark.parametrize("clicks", [10, pytest.param(50, marks=pytest.mark.nightly)])
def test_no_rating_is_lost_or_doubled_when_the_server_is_killed_right_after_each_click(tmp_path, clicks):
    """Every other click is killed with its answer on the way, and is sent once more."""
    collection = collected(tmp_path / "study.db", [item(number) for number in range(clicks)], ratings=1, raters=1)
    collection.store.add_rater("Ann", token := key())
    collection.store.close()
    server, form = Restarted(tmp_path, token, clicks), {}
    for click in range(clicks):
        with server:
            if click % 2:
                assert server.ann.post("/rate", form).status == 200
            page = server.ann.get("/rate")
            assert f"{click} of {clicks}" in page.text
            form = rating(page) | {"key": key(), "csrf": server.ann.csrf}
            if click % 2:
                assert server.ann.post("/rate", form).status == 200
            else:
                server.ann.send("POST", "/rate", urlencode(form))
    store = Store.open(tmp_path / "study.db")
    assert Counter(rating.item for rating in store.ratings()) == Counter(key for unit in store.units() for key in unit)
    store.close()


def test_connections_that_say_nothing_keep_nobody_out(tmp_path):
    collection = collected(tmp_path / "study.db", [item(number) for number in range(3)], ratings=1, raters=1)
    collection.store.add_rater("Ann", token := key())
    collection.store.close()
    with Restarted(tmp_path, token, 3) as server, ExitStack() as silent:
        for number in range(510):
            connection = silent.enter_context(socket.create_connection(("127.0.0.1", server.ann.port)))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: " if number % 2 else b"")
        ann = Visitor(server.ann.port, cookie=server.cookie)
        for _ in range(3):
            assert ann.post("/rate", rating(ann.get("/rate"))).status == 200


@pytest.mark.parametrize("items", [40, pytest.param(200, marks=pytest.mark.nightly)])
def test_twenty_raters_at_once_lose_nothing_and_memory_stays_flat(tmp_path, items):
    every = [item(n) for n in range(items)]
    made = collected(tmp_path / "study.db", every, ratings=RATINGS, raters=RATERS, repeated=0.1)
    used = []

    def rate(served, number):
        visitor, count = joined(served, f"rater {number}"), 0
        while "article" in (page := visitor.get("/rate")).text:
            assert visitor.post("/rate", rating(page)).status == 200
            count += 1
            if number == 0 and count % (items // 8) == 0:
                gc.collect()
                used.append(sys.getallocatedblocks())
        return count

    with serving(made) as served, ThreadPoolExecutor(RATERS) as raters:
        counts = list(raters.map(lambda number: rate(served, number), range(RATERS)))
        first, all_of_them = served.store.ratings(repeats=False), served.store.ratings()
        slots = served.store.slate()
    assert len(first) == items * RATINGS
    assert len(all_of_them) == sum(counts) == len(slots)
    assert {*Counter(one.item for one in first).values()} == {RATINGS}
    assert len({(one.rater, one.item, one.repeated) for one in all_of_them}) == len(all_of_them)
    assert 0.075 <= sum(one.repeated for one in all_of_them) / len(first) <= 0.125, "a tenth comes again"
    # Blocks of memory. What is drawn of the items is kept, and nothing grows with the ratings.
    assert used[-1] - used[1] < 5_000, used


def test_links_stay_good_until_their_file_is_gone(run, tmp_path):
    design, file = Design(count=2, ratings=1, raters=1), tmp_path / "labels" / "study.db"
    links, opened = tmp_path / "labels" / "study.links", []
    for kept in (None, None, "other"):
        if kept is not None:
            links.write_text(kept)
        collection = open_study(file, benchmark_named("proactbench"), [run], design)
        assert (len(collection.items), len(collection.practice)) == (2, 6)
        assert collection.store.holds(collection.entry, "entry")
        assert collection.store.holds(collection.owner, "owner")
        collection.store.close()
        opened.append((collection.owner, collection.entry))
    assert opened[0] == opened[1] != opened[2]
    assert links.stat().st_mode & 0o777 == 0o600


def test_what_a_kill_left_is_cleaned_up_and_nothing_is_left_where_a_study_cannot_be_made(run, tmp_path, monkeypatch):
    design, file = Design(count=2, ratings=1, raters=1), tmp_path / "labels" / "study.db"
    file.parent.mkdir()
    for left in ("study.db.17.new", "study.links.17.new", "other.db.17.new"):
        (file.parent / left).write_text("half")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match="cannot be written: No space left on device; free some disk space"):
        open_study(file, benchmark_named("proactbench"), [run], design)
    assert [path.name for path in file.parent.iterdir()] == ["other.db.17.new"]
    monkeypatch.undo()
    open_study(file, benchmark_named("proactbench"), [run], design).store.close()
    assert {path.name for path in file.parent.iterdir()} == {"other.db.17.new", "study.db", "study.links"}


def test_a_study_that_cannot_be_written_is_not_served(run, tmp_path):
    design, file = Design(count=2, ratings=1, raters=1), tmp_path / "study.db"
    open_study(file, benchmark_named("proactbench"), [run], design).store.close()
    with closing(sqlite3.connect(file, isolation_level=None)) as other, pytest.MonkeyPatch.context() as patched:
        patched.setattr("dspy_proact.label.database._BUSY_SECONDS", 0.001)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process has locked the file of the study"):
            open_study(file, benchmark_named("proactbench"), [run], design)


def test_a_study_is_of_its_runs(run, tmp_path):
    open_study(tmp_path / "study.db", benchmark_named("proactbench"), [run], Design(count=2)).store.close()
    with pytest.raises(UsageError, match="rates proactbench, and the runs are of riddles"):
        open_study(tmp_path / "study.db", Riddles(), [run], Design())
    other = replace(run, outcomes=run.outcomes[:1])
    with pytest.raises(UsageError, match="in none of the runs"):
        open_study(tmp_path / "study.db", benchmark_named("proactbench"), [other], Design())


def test_what_was_decided_at_the_beginning_and_a_port_in_use_are_refused_with_the_mend(proact, run, tmp_path):
    open_study(tmp_path / "study.db", benchmark_named("proactbench"), [run], Design(count=2)).store.close()
    status, _, error = proact("label", "serve", run.path, "--db", "study.db", "--each", "3")
    assert (status, "--each: study.db was begun already" in error) == (2, True)
    status, _, error = proact("label", "serve", run.path, "--db", ".")
    assert (status, ".: is a folder; name a file" in error) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, _, error = proact("label", "serve", run.path, "--db", "study.db", "--port", port)
        assert (status, f"--port {port}: cannot be used at 127.0.0.1" in error) == (2, True)
        assert proact("label", "serve", run.path, "--db", "new/study.db", "--port", port)[0] == 2
    assert [*(tmp_path / "new").iterdir()] == [], "what nobody was let into is not begun"
    status, _, error = proact("label", "serve", run.path, "--db", "study.db", "--port", 0, "--url", "label.example.org")
    assert (status, "--url" in error) == (2, True)


def test_without_its_packages_the_command_says_what_to_install(proact, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    for name in ("app", "serving"):
        monkeypatch.delitem(sys.modules, f"dspy_proact.label.{name}", raising=False)
    status, _, error = proact("label", "serve", run.path)
    assert (status, "pip install starlette uvicorn" in error) == (2, True)
