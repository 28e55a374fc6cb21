"""A compile as a value: checked before the first call, done in a folder, and gone on with by the same."""

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.calls import Usage
from dspy_proact.compile.cross_fit import Compiled, CrossFit, Task
from dspy_proact.compile.folds import Grouped
from dspy_proact.compile.forecast import CompileObserver, Forecast, Progress
from dspy_proact.compile.optimizers import silenced
from dspy_proact.compile.tuning import Tuning
from dspy_proact.errors import Halt, Interrupted, UsageError
from dspy_proact.kept import COMPILE_CLAIM as CLAIM
from dspy_proact.kept import Claim, Claimed, Identified, now, versions
from dspy_proact.models import Answered, Gate, Model, ModelIdentity, ModelSpec, Record, Role, open_model, wait_for
from dspy_proact.programs import OPTIMIZERS, Card, DataSource, Provenance, Recipe
from dspy_proact.programs.artefact import Artefact, ProgramRole, signature_of, states_of, write_artefact
from dspy_proact.programs.embedded import proposer
from dspy_proact.runs import Settings, orderly_interrupt
from dspy_proact.switch import Switch

PROPOSER = Role("proposer", "--proposer", "verdict", proposer.answer)
"""Who writes instructions for a compile."""
Named = Mapping[str, tuple[ModelSpec, Role]]
"""The models of a compile by what each is asked for, with their roles; the one under tuning stands first."""
COMPILES = Path("compiles")
"""Where compiles are done unless a person says otherwise."""
_RECORD = "record.jsonl"
_VERSIONED = ("optuna", "gepa")
"""Packages that decide what a compile ends in, beside those of every run."""


class CompileIdentity(Identified):
    """What must be equal for two commands to be the same compile."""

    program: str
    models: dict[str, ModelIdentity]
    recipe: Recipe
    settings: dict[str, Any]
    """Of what is compiled alone, as JSON."""
    data: str
    """sha256."""
    start: str
    """Hash of what the start is."""


class CompileClaim(Claimed[CompileIdentity]):
    """`compile.json`: whose the folder is, and which data were meant, so that resuming does not move on to newer."""

    data: DataSource


@dataclass(frozen=True)
class Finished:
    """How a compile ended."""

    path: Path
    """The artefact."""
    artefact: Artefact
    paid: int
    """Requests that were sent by this command; the rest stood in the record."""


class Compile(ABC):
    """What the compiles of all programs have in common.

    Args:
        models: By what each is asked for, the one under tuning first.
        recipe: How it is done.
        gate: Of all its models.

    Raises:
        UsageError: The models cannot be called as asked.
    """

    role: ClassVar[ProgramRole]
    """Of what is compiled: the name of folder and file."""
    declared: Benchmark[Any, Any]
    settings: Settings
    """Of the benchmark."""

    def __init__(self, models: Named, recipe: Recipe, gate: Gate | None):
        self.recipe, self._named, self._gate = recipe, models, gate or Gate()
        self.models = self._open(None)

    @property
    def same_judge(self) -> bool:
        """Whether one model tunes and reports."""
        return "report_judge" in self.models and self.models["judge"].name == self.models["report_judge"].name

    @property
    @abstractmethod
    def data(self) -> DataSource:
        """What is learned from."""

    @property
    @abstractmethod
    def start(self) -> str:
        """Hash of where tuning starts."""

    @property
    def identity_settings(self) -> dict[str, Any]:
        """What decides this compile beside models, recipe, data and start; JSON."""
        return {}

    @abstractmethod
    def task(self, models: Mapping[str, Model]) -> Task[Any, Any, Any, Any]:
        """What is tuned, by these models."""

    @abstractmethod
    def forecast(self) -> Forecast:
        """What `run` takes at most; no call is made and nothing is written."""

    @abstractmethod
    def artefact(self, task: Any, compiled: Compiled[Any, Any, Any], made: Provenance) -> Artefact:
        """What is written of what came of a task, with what it was made."""

    def artefact_of(self, program: Any, card: Card, **reading: Any) -> Artefact:
        """The file of a program that was compiled, with its card and how its verdicts are read."""
        states = states_of(program)
        return Artefact(
            signature=signature_of(program, states),
            benchmark=self.declared.name,
            role=self.role,
            program=type(program).__name__,
            settings=self.settings.model_dump(mode="json"),
            states=states,
            card=card,
            **reading,
        )

    @cached_property
    def identity(self) -> CompileIdentity:
        """What must be equal for two commands to be the same compile."""
        return CompileIdentity(
            program=self.role,
            models={name: model.identity for name, model in self.models.items()},
            recipe=self.recipe,
            settings=self.identity_settings,
            data=self.data.sha256,
            start=self.start,
        )

    @property
    def default_folder(self) -> Path:
        """`compiles/<role>--<8 hex of the identity>`."""
        return COMPILES / f"{self.role}--{self.identity.digest()[:8]}"

    def run(self, out: str | Path | None = None, observer: CompileObserver | None = None) -> Finished:
        """Compile, or go on with the compile in the folder, and write the artefact.

        Args:
            out: The folder; `default_folder` when None.
            observer: Told of what happens.

        Raises:
            RunError: The folder holds another compile, is in use, or cannot be written.
            UsageError: A key is missing.
            Halt: It ended early; what was answered is kept, and the same call goes on. Where nothing was answered at
                all, the folder is left as it was found.
        """
        return self._run(out, observer or CompileObserver(), Switch())

    async def arun(self, out: str | Path | None = None, observer: CompileObserver | None = None) -> Finished:
        """Async version of `run`, in threads of its own. Cancelled, it drops what is in flight, then ends."""
        observer, switch = observer or CompileObserver(), Switch()
        compiling = asyncio.create_task(asyncio.to_thread(self._run, out, observer, switch))
        with orderly_interrupt(switch, observer.interrupted):
            try:
                return await asyncio.shield(compiling)
            except asyncio.CancelledError:
                switch.pull(Interrupted("cancelled"))
                self._gate.slots.drop()
                await asyncio.gather(compiling, return_exceptions=True)
                raise

    def _run(self, out: str | Path | None, observer: CompileObserver, switch: Switch) -> Finished:
        for model in self.models.values():
            model.require_key()
        folder = Path(out or self.default_folder)
        claim = Claim(folder, CLAIM, CompileClaim, "compile")
        self._gate.open(switch, observer=observer)
        with claim.held(self.identity) as claimed:
            if claimed is None:
                claim.write(CompileClaim(identity=self.identity, data=self.data))
            record = Record(folder / _RECORD)
            try:
                with record, self._interruptible(switch, observer), silenced():
                    task, compiled = self._compiled(record, folder, observer)
                    switch.check()
            except Halt:
                if claimed is None and not record.answers:
                    claim.leave(*folder.iterdir())
                raise
            artefact = self.artefact(task, compiled, self._provenance())
            path = folder / f"{self.role}.json"
            write_artefact(path, artefact)
            return Finished(path, artefact, record.paid)

    def _compiled(
        self, record: Record, folder: Path, observer: CompileObserver
    ) -> tuple[Task[Any, Any, Any, Any], Compiled[Any, Any, Any]]:
        progress = Progress(observer, self.forecast(), len(record.answers))
        models = self._open(record)
        prices = {model.role.name: model.price for model in models.values()}

        def count(answered: Answered) -> None:
            spent = [Usage.of([call], prices[call.role]).usd or 0.0 for call in answered.calls]
            progress.answered(sum(spent))

        record.on_answer = count
        try:
            task, gate = self.task(models), self._gate
            return task, CrossFit(task, self.recipe, gate.concurrency, progress, folder, gate.switch).compiled()
        finally:
            wait_for(record.settled())
            for model in models.values():
                wait_for(model.aclose())

    def _open(self, record: Record | None) -> dict[str, Model]:
        return {name: open_model(spec, role, self._gate, record=record) for name, (spec, role) in self._named.items()}

    def _provenance(self) -> Provenance:
        return Provenance(
            models=self.identity.models,
            recipe=self.recipe,
            start=self.start,
            data=self.data,
            embedded=any(model.embedded for model in self.models.values()),
            versions=versions(*_VERSIONED),
            created=now(),
        )

    @contextmanager
    def _interruptible(self, switch: Switch, observer: CompileObserver) -> Generator[None]:
        """The first Ctrl-C lets the calls in flight end, the second drops them."""

        def interrupted(*_: object) -> None:
            if switch.halt is not None:
                self._gate.slots.drop()
                return
            switch.pull(Interrupted("interrupted"))
            observer.interrupted()

        try:
            before = signal.signal(signal.SIGINT, interrupted)
        except ValueError:  # not the main thread
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def models_of(named: Named, proposed_by: ModelSpec | str) -> Named:
    """The models of a compile, with the one that writes instructions."""
    return {**named, "proposer": (ModelSpec.of(proposed_by), PROPOSER)}


def suited(recipe: Recipe, tuning: Tuning, items: Sequence[Grouped], role: ProgramRole) -> Recipe:
    """The recipe with no more folds than there are units, and without worked examples where there are none.

    Raises:
        UsageError: The optimizer works by worked examples that nobody has.
    """
    possible = OPTIMIZERS if role == "judge" else tuple(name for name in OPTIMIZERS if name != "labeled")
    why = "nobody has written the answers that it would show"
    if not tuning.demos:
        possible, why = ("search", "gepa"), f"{tuning.declared.name} has no worked examples, by which it works"
    if recipe.optimizer not in possible:
        raise UsageError(f"--optimizer {recipe.optimizer}: {why}; choose among {', '.join(possible)}")
    units = len({item.unit for item in items})
    folds = {"folds": max(2, min(recipe.folds, units))}
    return recipe.model_copy(update=folds if tuning.demos else {**folds, "max_demos": 0})


def require_unseen(start: Path, card: Card, marks: Collection[str], what: str) -> None:
    """Raise a `UsageError` where the program to start from has seen rows of the corpus that are to be tested."""
    if seen := card.learned_from.intersection(marks):
        raise UsageError(
            f"{start}: was compiled on {len(seen)} of {what}, so that no program that never saw them could be tested "
            "on them; start from one that was compiled on others, or leave --start out"
        )
