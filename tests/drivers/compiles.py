"""What each part of a compile sends, heard alone: without a record, so that all that is asked for it is sent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fakes.server import Answer, Sent, Server

from dspy_proact.compile.compile import Compile, Finished
from dspy_proact.compile.folds import Fold
from dspy_proact.compile.forecast import CompileObserver, Progress
from dspy_proact.compile.optimizers import silenced


@dataclass(frozen=True)
class Parts:
    """The requests of each part."""

    before: Sequence[Sent]  # of the test of the start
    folds: Sequence[tuple[Fold[Any], Sequence[Sent]]]  # of tuning on all but a fold, and of testing on it
    everywhere: Sequence[Sent]  # of tuning on everything

    @classmethod
    def of(cls, compiling: Compile, server: Server) -> "Parts":
        """Those of a compile at a server which nobody else asks meanwhile."""

        def heard() -> list[Sent]:
            sent, server.sent = server.sent, []
            return sent

        heard()
        progress = Progress(CompileObserver(), compiling.forecast(), 0)
        start = compiling.tested(compiling.target.start, compiling.target.items)
        before, folds = heard(), list[tuple[Fold[Any], list[Sent]]]()
        with silenced():
            for fold in compiling.folds:
                compiling.tested(compiling.tuned(fold.train, start, progress)[0], fold.test)
                folds.append((fold, heard()))
            compiling.tuned(compiling.target.items, start, progress)
        return cls(before, folds, heard())

    @property
    def everything(self) -> list[Sent]:
        return [*self.before, *(sent for _, requests in self.folds for sent in requests), *self.everywhere]


@dataclass(frozen=True)
class Heard:
    """A whole compile, and what was sent for each part of it alone."""

    finished: Finished
    sent: Sequence[Sent]
    parts: Parts

    @classmethod
    def of(cls, script: Callable[[Sent], Answer], made: Callable[[Server], Compile], folder: Path) -> "Heard":
        """Compile at a server of its own, and then part by part."""
        with Server(script) as server:
            compiling = made(server)
            finished = compiling.run(folder)
            return cls(finished, list(server.sent), Parts.of(compiling, server))

    @property
    def optimizer(self) -> str:
        return self.finished.artefact.card.provenance.recipe.optimizer

    @cached_property
    def file(self) -> str:
        return self.finished.path.read_text(encoding="utf-8")

    def by(self, *roles: str) -> list[Sent]:
        return [sent for sent in self.sent if sent.role in roles]
