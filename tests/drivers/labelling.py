"""A study of made-up items that is served over HTTP."""

import os
import socket
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from support.visitor import Answer, Visitor, key

from drivers.child import command_line
from dspy_proact import Benchmark, Part, People
from dspy_proact.evaluation.reporting import PageSection
from dspy_proact.label.access import origins
from dspy_proact.label.app import Collection, application
from dspy_proact.label.serving import serve
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, Practice, Study, StudyItem, StudyRun

LEVELS = ("LOST", "CLOSE", "SOLVED")
PART = Part("", LEVELS)


class Riddles(Benchmark):
    """A benchmark of which nothing is known but how it is graded."""

    name = "riddles"
    labels = LEVELS[::-1]
    people = People(
        briefing="A riddle is solved when its answer is named.",
        parts=[Part("", LEVELS, criteria={"SOLVED": "It names the answer.", "LOST": "It names another."})],
    )


def item(number: int, text: str = "It is the moon.", part: Part = PART, run: str = "r1") -> StudyItem:
    """An item with its key in 16 digits."""
    sections = (PageSection("riddle", "chat", (("user", f"What is round, number {number}?"),)),)
    criteria = (("SOLVED", "It names the answer."), ("LOST", "It names another."))
    return StudyItem(f"{number:016x}", run, f"case {number}", part, sections, criteria, (text,))


def practice(*grades: str) -> tuple[Practice, ...]:
    """Practice items with these grades."""
    made = (item(number, f"Practice answer {number}.", run="") for number in range(900, 900 + len(grades)))
    return tuple(Practice(one, grade, f"Because of rule {grade}.") for one, grade in zip(made, grades, strict=True))


@dataclass(frozen=True)
class Served:
    """A study that is served."""

    port: int
    store: Store
    owner: str
    entry: str

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def collected(
    path: Path,
    items: Sequence[StudyItem],
    *practised: Practice,
    ratings: int = 2,
    raters: int = 2,
    repeated: float = 0.0,
) -> Collection:
    """A new study in a file."""
    kind = "pairs" if len(items[0].responses) > 1 else "grades"
    design = Design(ratings=ratings, raters=raters, repeated=repeated, kind=kind)
    study = Study("riddles", (StudyRun("r1", "runs/one"),), design)
    owner, entry = key(), key()
    store = Store.create(path, study, items, tokens=(owner, entry))
    return Collection(store, tuple(items), practised, Riddles(), {}, owner, entry)


@contextmanager
def serving(collection: Collection, requests: int = 10**6) -> Generator[Served]:
    """The study on a free port, in a thread."""
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # who comes before the server runs waits
        port = listening.getsockname()[1]
        app = application(collection, origins(port), requests)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield Served(port, collection.store, collection.owner, collection.entry)
        finally:
            server.should_exit = True
            thread.join()
            collection.store.close()


def joined(served: Served, name: str) -> Visitor:
    """A new rater who has read the briefing."""
    visitor = Visitor(served.port)
    answer = visitor.post("/join", {"token": served.entry, "name": name})
    assert (answer.status, answer.json) == (200, {"to": "/briefing"}), answer.text
    visitor.get("/briefing")
    return visitor


def rating(page: Answer, **changed: object) -> dict[str, object]:
    """What the form of a page would send."""
    shown = {"item": page.field("item"), "repeated": page.field("repeated")}
    return {**shown, "grade": "SOLVED", "confidence": 4, "reason": "", "spans": "[]", "seconds": 2.5, **changed}


def label_serve(output: str, *arguments: str) -> None:
    """What a child is for `dspy-proact label serve` that writes its standard output into a pipe."""
    os.dup2(os.open(output, os.O_WRONLY), 1)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - the old one takes the pipe for a file
    command_line("label", "serve", *arguments)


def serve_again(path: str, count: str, ready: str) -> None:
    """What a child is that serves a study of so many items; it writes its address into a pipe."""
    store = Store.open(Path(path))
    collection = Collection(store, store.chosen(item(number) for number in range(int(count))), (), Riddles(), {})

    def say(address: str) -> None:
        Path(ready).write_text(address, encoding="ascii")

    serve(collection, ready=say)
