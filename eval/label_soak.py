"""Studies of `label serve` lose nothing that was acknowledged, and every refusal names its cause.

    python eval/label_soak.py --kills 50

A study is begun on the command line and killed (SIGKILL) within 50 ms of its file's appearing, or of any file's; it is
begun again, rated over HTTP, and killed with a rating on its way. Then its disk is full, at the start and while it is
served; its file is moved, removed or replaced under the server, locked by another process, or can only be read; and 510
connections say nothing. A rating is lost when it was answered with 200 and is in no file that the last message names.
"""

import argparse
import os
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import run
from urllib.parse import urlencode

from support.forks import FORKS, PRELOADED, Command
from support.visitor import Answer, Visitor, key

from dspy_proact import Evaluation
from dspy_proact.errors import UsageError
from dspy_proact.label.store import Store

SEED = 20261129
DESIGN = ("--each", "1", "--raters", "1", "--repeated", "0")
READY, SILENT = "Stop with Ctrl-C", 510
ROOM = (0, 4_096, 12_288, 40_960)
"""Bytes that a full disk has left."""
LIMITS = (4_096, 20_000)
"""Bytes of a file, where no disk can be filled."""


@dataclass
class Server:
    """`label serve` of a study, on a port of its own."""

    study: Path
    design: Sequence[str] = DESIGN
    most_bytes: int = resource.RLIM_INFINITY
    acknowledged: list[str] = field(default_factory=list)
    """Items whose rating was answered with 200."""

    def __post_init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        handle, name = tempfile.mkstemp(dir=RUN.parent)
        os.close(handle)
        self.messages = Path(name)
        arguments = ["label", "serve", str(RUN), "--db", str(self.study), "--port", str(self.port), "--no-browser"]
        self.process = Command([*arguments, *self.design], self.messages, self.most_bytes)

    @property
    def message(self) -> str:
        """What it printed, in one line."""
        return " ".join(self.messages.read_text("utf-8").split())

    def await_ready(self) -> "Server":
        """Wait until it serves."""
        while READY not in self.message:
            assert self.process.poll() is None, f"it ended: {self.message}"
            time.sleep(0.02)
        return self

    def refused(self, why: str) -> None:
        """It ended by itself, and its last sentence holds this."""
        while self.process.poll() is None:
            if READY in self.message:
                self.process.kill()
            time.sleep(0.02)
        status = self.process.wait()
        assert (status, why in self.message, "bug" in self.message) == (2, True, False), f"{status}: {self.message}"

    def stopped(self) -> int:
        """Stop it as Ctrl-C does; its exit status."""
        os.kill(self.process.pid, signal.SIGINT)
        return self.process.wait()

    def join(self) -> Visitor:
        """A new rater who has practised."""
        visitor = Visitor(self.port)
        _, entry = self.study.with_suffix(".links").read_text("ascii").split()
        assert visitor.post("/join", {"token": entry, "name": f"rater {key()[:6]}"}).status == 200
        while "data-practice" in (page := visitor.get("/rate")).text:
            assert visitor.post("/practice", form(page)).status == 200
        return visitor

    def rate(self, visitor: Visitor, rating: dict[str, object] | None = None) -> Answer:
        """Rate what is next, or give this rating."""
        rating = rating or form(visitor.get("/rate"))
        if (answer := visitor.post("/rate", rating)).status == 200:
            self.acknowledged.append(str(rating["item"]))
        return answer

    def require_kept(self, study: Path | None = None) -> int:
        """How many ratings its file has; an `AssertionError` where an acknowledged one is missing."""
        items = kept(study or self.study)
        missing = [item for item in self.acknowledged if items.count(item) != 1]
        assert not missing, f"{len(missing)} of {len(self.acknowledged)} acknowledged ratings are lost"
        return len(items)


def form(page: Answer) -> dict[str, object]:
    """A rating as the form of a page sends it."""
    shown: dict[str, object] = {"item": page.field("item"), "repeated": page.field("repeated"), "key": key()}
    return shown | {"grade": "PASS", "confidence": 4, "reason": "x" * 4000, "spans": "[]", "seconds": 2.5}


def kept(study: Path) -> list[str]:
    """Items that have a rating."""
    with closing(Store.open(study)) as store:
        return [rating.item for rating in store.ratings()]


def ended(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """How another command ended, and what it printed on standard error, in one line."""
    messages = folder.with_name("messages")
    messages.write_text("")
    status = Command(command, messages).wait()
    return status, " ".join(messages.read_text("utf-8").split())


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A disk of 2 MiB at a folder, and whether the system lets this process have one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]
    mounted = bool(shutil.which("mount")) and run(mount, check=False, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            run(["umount", folder], check=True)


def fill(folder: Path, room: int) -> Path:
    """Fill the disk of a folder up to so many bytes; the file that fills it."""
    filler = folder / "filler"
    with suppress(OSError), filler.open("wb", 0) as file:
        while file.write(b"x" * 4_096):
            pass
    os.truncate(filler, filler.stat().st_size - room)
    return filler


def killed(folder: Path, kills: int, moment: random.Random) -> str:
    """Kill studies within 50 ms of their beginning, and again with a rating on its way."""
    answered = there = begun = 0
    for number in range(kills):
        study = folder / str(number) / "study.db"
        study.parent.mkdir()
        server = Server(study)
        while not (study.exists() if number % 2 else [*study.parent.iterdir()]):
            assert server.process.poll() is None, f"it ended: {server.message}"
            time.sleep(0.001)
        time.sleep(moment.uniform(0, 0.05))
        server.process.kill()
        server.process.wait()
        if exists := study.exists():
            assert kept(study) == [], "it cannot be read"
        there += exists
        begun += READY in server.message
        server = Server(study, () if exists else DESIGN).await_ready()
        assert not [*study.parent.glob("*.new")], "something is left over"
        visitor = server.join()
        for _ in range(moment.randint(1, 4)):
            assert server.rate(visitor).status == 200
        visitor.send("POST", "/rate", urlencode(form(visitor.get("/rate")) | {"csrf": visitor.csrf}))
        time.sleep(moment.uniform(0, 0.01))
        server.process.kill()
        server.process.wait()
        server.require_kept()
        answered += len(server.acknowledged)
    return f"{there} had a file, {begun} of them were served; none was half; {answered} acknowledged and kept"


def full_at_start(folder: Path) -> str:
    """Begin studies on a full disk, and again once there is room."""
    with small_disk(disk := folder / "disk") as mounted:
        for room in ROOM if mounted else LIMITS:
            study = disk / str(room) / "study.db"
            filler = fill(disk, room) if mounted else disk / "none"
            Server(study, most_bytes=resource.RLIM_INFINITY if mounted else room).refused("free some")
            assert not [*disk.rglob("study*")], "something is left over"
            filler.unlink(missing_ok=True)
            server = Server(study).await_ready()
            assert server.stopped() == 0, server.message
            if mounted:
                filler = fill(disk, 0)
                Server(study, ()).refused("the disk is full")
                filler.unlink()
            shutil.rmtree(study.parent)
    return f"refused with status 2 and the cause at {len(ROOM if mounted else LIMITS)} sizes, and nothing was left"


def full_in_the_middle(folder: Path) -> str:
    """Fill the disk while a study is rated."""
    with small_disk(disk := folder / "disk") as mounted:
        server = Server(disk / "study.db").await_ready()
        visitor = server.join()
        assert server.rate(visitor).status == 200
        size = server.study.stat().st_size
        filler = fill(disk, 8_192) if mounted else disk / "none"
        if not mounted:
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        rating = form(visitor.get("/rate"))
        while (answer := server.rate(visitor, rating)).status == 200:
            rating = form(visitor.get("/rate"))
        assert (answer.status, "the disk is full" in answer.text) == (507, True), answer.text
        full = len(server.acknowledged)
        server.require_kept()
        filler.unlink(missing_ok=True)
        if not mounted:
            resource.prlimit(
                server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
        assert server.rate(visitor, rating).status == 200, "there is room again"
        assert (server.stopped(), "every rating is kept" in server.message) == (0, True), server.message
        return f"{full} acknowledged before, the same click after it was emptied; {server.require_kept()} kept"


def replace(study: Path) -> None:
    """Another study takes the place of one."""
    shutil.copy(study, study.with_name("other"))
    study.with_name("other").replace(study)


def rename_folder(study: Path) -> None:
    """The folder of a study gets another name."""
    study.parent.rename(study.parent.with_name(f"{study.parent.name} of before"))


DISPLACED: dict[str, tuple[Callable[[Path], object], str]] = {
    "moved": (lambda study: study.rename(study.with_name("elsewhere.db")), r"was moved to (.*?); what"),
    "its folder renamed": (rename_folder, r"was moved to (.*?); what"),
    "removed": (Path.unlink, r"was removed; what was written before is in (.*?);"),
    "replaced": (replace, r"was removed, and another file is in its place; what was written before is in (.*?);"),
}


def displaced(folder: Path, way: str) -> str:
    """Take a study away while it is served."""
    act, where = DISPLACED[way]
    server = Server(folder / way / "study.db").await_ready()
    visitor = server.join()
    assert [server.rate(visitor).status for _ in range(3)] == [200] * 3
    rating = form(visitor.get("/rate"))
    act(server.study)
    for _ in range(3):
        answer = server.rate(visitor, rating)
        assert (answer.status, "was moved, removed or replaced" in answer.text) == (503, True), answer.text
    assert "was moved, removed or replaced" in visitor.get("/rate").text
    status = server.stopped()
    paths = re.findall(where, server.message)
    assert (status, bool(paths)) == (2, True), f"{status}: {server.message}"
    count = server.require_kept(study := Path(paths[-1]))
    assert Server(study, ()).await_ready().stopped() == 0, "it cannot be served from there"
    return f"3 of 3 refused; {count} of 3 acknowledged are where the last message says"


def moved_back(folder: Path) -> str:
    """Move a study away and back."""
    server = Server(folder / "study.db").await_ready()
    visitor = server.join()
    rating = form(visitor.get("/rate"))
    server.study.rename(aside := folder / "aside.db")
    assert server.rate(visitor, rating).status == 503
    aside.rename(server.study)
    assert server.rate(visitor, rating).status == 200
    assert (server.stopped(), "every rating is kept" in server.message) == (0, True), server.message
    return f"refused meanwhile, and kept afterwards: {server.require_kept()}"


def locked(folder: Path) -> str:
    """Another process holds a lock while a study is rated and read."""
    server = Server(folder / "study.db").await_ready()
    visitor = server.join()
    rating = form(visitor.get("/rate"))
    with closing(sqlite3.connect(server.study, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        answer = server.rate(visitor, rating)
        assert (answer.status, "another process has locked" in answer.text) == (503, True), answer.text
        status, message = ended(["agree", "--ratings", str(server.study)], folder)
        assert (status, "another process has locked" in message) == (2, True), message
    visitor.connection.close()  # which was idle for too long
    assert server.rate(visitor, rating).status == 200, "the lock is gone"
    assert server.stopped() == 0, server.message
    return f"told as a lock by the page and by agree; kept once it was gone: {server.require_kept()}"


def read_only(folder: Path) -> str:
    """Read a study where nothing can be written."""
    with small_disk(disk := folder / "disk") as mounted:
        server = Server(disk / "study.db").await_ready()
        visitor = server.join()
        assert [server.rate(visitor).status for _ in range(3)] == [200] * 3
        server.process.kill()
        server.process.wait()
        server.study.chmod(0o400)
        disk.chmod(0o500)
        if mounted:
            run(["mount", "-o", "remount,ro", disk], check=True)
        if os.access(disk, os.W_OK):
            return "not tried: nothing is read-only for this user"
        try:
            for command in (
                ["agree", "--ratings"],
                ["label", "export", "--out", "-"],
                ["report", str(RUN), "--ratings"],
            ):
                status, message = ended([*command, str(server.study)], folder)
                assert (status, message.startswith("Error")) == (0, False), message
            Server(server.study, ()).refused("cannot be opened or written")
            return f"{server.require_kept()} of 3 are read; `label serve` is refused with the cause"
        finally:
            if not mounted:
                disk.chmod(0o700)  # so that it can be removed


def silent(folder: Path) -> str:
    """Rate while others are connected and say nothing, or half a request."""
    server = Server(folder / "study.db").await_ready()
    with ExitStack() as connections:
        for number in range(SILENT):
            connection = connections.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            if number % 2:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        visitor = server.join()
        assert [server.rate(visitor).status for _ in range(5)] == [200] * 5
    assert server.stopped() == 0, server.message
    return f"{server.require_kept()} of 5 are kept beside {SILENT} silent connections"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="three kills")
    options = parser.parse_args()
    kills, moment, faults = 3 if options.quick else options.kills, random.Random(SEED), 0
    parts: dict[str, Callable[[Path], str]] = {
        f"{kills} kills within 50 ms of the beginning": lambda folder: killed(folder, kills, moment),
        "full disk at the start": full_at_start,
        "full disk in the middle": full_in_the_middle,
        **{f"file {way}": lambda folder, way=way: displaced(folder, way) for way in DISPLACED},
        "file moved and moved back": moved_back,
        "file locked": locked,
        "read-only folder": read_only,
        "silent connections": silent,
    }
    FORKS.set_forkserver_preload([*PRELOADED, "dspy_proact.label.serving"])
    print("| what | what came of it |\n| --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        global RUN  # noqa: PLW0603 - of every study
        RUN = Path(name, "run")
        Evaluation("sample").run(RUN)
        for number, (what, part) in enumerate(parts.items()):
            (folder := Path(name, str(number))).mkdir()
            try:
                print(f"| {what} | {part(folder)} |", flush=True)
            except (AssertionError, UsageError, OSError) as error:
                faults += 1
                print(f"| {what} | FAULT: {error} |", flush=True)
    print(f"{faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
