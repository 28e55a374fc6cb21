"""What each part of a compile sends, heard alone: without a record, so that all that is asked for it is sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from server import Sent, Server

from dspy_proact.compile.compile import Compile
from dspy_proact.compile.cross_fit import CrossFit
from dspy_proact.compile.folds import Fold
from dspy_proact.compile.forecast import CompileObserver, Progress
from dspy_proact.compile.optimizers import silenced


@dataclass(frozen=True)
class Parts:
    """The requests of each part."""

    before: Sequence[Sent]
    """Of the test of the start."""
    folds: Sequence[tuple[Fold[Any], Sequence[Sent]]]
    """Of tuning on all but a fold, and of testing on it."""
    whole: Sequence[Sent]
    """Of tuning on everything."""

    @classmethod
    def of(cls, compiling: Compile, server: Server) -> "Parts":
        """Those of a compile at a server which nobody else asks meanwhile."""

        def heard() -> list[Sent]:
            sent, server.sent = server.sent, []
            return sent

        heard()
        task = compiling.task(compiling.models)
        progress = Progress(CompileObserver(), compiling.forecast(), 0)
        fit: CrossFit[Any, Any, Any, Any] = CrossFit(task, compiling.recipe, 8, progress)
        results = fit._tested(task.start, task.items).results
        before, folds = heard(), list[tuple[Fold[Any], list[Sent]]]()
        with silenced():
            for number, fold in enumerate(task.folds):
                fit._fold(number, fold, results)
                folds.append((fold, heard()))
            fit._tuned(task.items, results, "all")
        return cls(before, folds, heard())

    @property
    def everything(self) -> list[Sent]:
        """All requests."""
        return [*self.before, *(sent for _, requests in self.folds for sent in requests), *self.whole]
