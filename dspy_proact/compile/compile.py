"""A compile as a value: checked before the first call, run in a folder, and resumed by the same call."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import dspy

from dspy_proact.calls import Call, Usage, collect_calls
from dspy_proact.compile.folds import Fold, balanced_folds
from dspy_proact.compile.forecast import CompileObserver, Forecast, Progress, watching
from dspy_proact.compile.guards import choose
from dspy_proact.compile.optimizers import silenced
from dspy_proact.compile.proposer import SHOWN, Excerpts
from dspy_proact.compile.training import Chosen, Compiled, Tested, Training, side_by_side
from dspy_proact.compile.tuning import Tuning, tamed
from dspy_proact.errors import Halt, Interrupted, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.kept import COMPILE_CLAIM as CLAIM
from dspy_proact.kept import Claim, Claimed, Identified, now, versions
from dspy_proact.models import (
    Gate,
    Limits,
    Model,
    ModelSpec,
    Record,
    RecordedAnswer,
    Role,
    open_model,
    wait_for,
)
from dspy_proact.programs import OPTIMIZERS, Card, DataSource, Provenance, Recipe
from dspy_proact.programs.artefact import Artefact, ProgramRole, signature_of, states_of, write_artefact
from dspy_proact.programs.asking import image_inputs
from dspy_proact.programs.embedded import proposer
from dspy_proact.runs import Settings, orderly_interrupt
from dspy_proact.runs.interrupt import signals_handled
from dspy_proact.switch import Switch
from dspy_proact.types import RoleIdentity

PROPOSER = Role("proposer", "proposer", "verdict", proposer.answer)
"""Who writes instructions for a compile."""
COMPILES = Path("compiles")
"""Default parent of the folders of compiles."""


class CompileIdentity(Identified):
    """What must be equal for two commands to be the same compile."""

    program: str
    models: dict[str, RoleIdentity]
    recipe: Recipe
    settings: dict[str, Any]
    """Of the kind of compile, as JSON."""
    data: str
    """sha256."""
    start: str
    """Hash of the start."""


class CompileClaim(Claimed[CompileIdentity]):
    """`compile.json`: whose the folder is, and its data, so that resuming does not move on to newer ones."""

    data: DataSource


@dataclass(frozen=True)
class Finished:
    """How a compile ended."""

    path: Path
    """The artefact."""
    artefact: Artefact
    paid: int
    """Requests that this command sent; the others were in the record."""


class Compile(ABC):
    """What the compiles of all programs have in common.

    A subclass sets the attributes below, and calls `_divide` and `_name_models`.

    Args:
        benchmark: By its name, the path of its file, or itself.
        settings: Of the benchmark; its defaults where None.
        gate: Of all its models.
    """

    role: ClassVar[ProgramRole]
    """Of the program that is compiled; the name of its model, its folder and its file."""
    items: Sequence[Any]
    """To learn from and to test on."""
    program: Any
    """Where tuning starts, and what is tested before; it is never changed."""
    start: str
    """Hash of the start."""
    data: DataSource
    """What is learned from."""
    learned_before: frozenset[str] = frozenset()
    """Marks of the rows that the start has learned from."""
    identity_settings: Mapping[str, Any]
    """What else decides this compile, as JSON."""

    def __init__(self, benchmark: Benchmark[Any, Any] | str | None, settings: Settings | None, gate: Gate | None):
        self.declared = benchmark_named(benchmark)
        self.settings = settings or self.declared.settings_type()
        self.tuning: Tuning = self.declared.tuning(self.settings) or Tuning(self.declared, self.settings)
        self._gate, self.excerpts = gate or Gate(), Excerpts(SHOWN)

    def _divide(self, recipe: Recipe | None, chosen: Sequence[Any], program: Any) -> None:
        """Set the folds, balanced by the chosen items, and the recipe: no more folds than units, no demos without any.

        A program that is shown images has no demos: their images would have to be in its file, and in every request.

        Raises:
            UsageError: There are too few units, or the optimizer works by worked examples that nobody has.
        """
        recipe, demos = recipe or Recipe(), self.tuning.demos and not image_inputs(program)
        possible = OPTIMIZERS if self.role == "judge" else tuple(name for name in OPTIMIZERS if name != "labeled")
        why = "nobody has written the answers that it would show"
        if not demos:
            whose = "a program that is shown images" if self.tuning.demos else self.declared.name
            possible, why = ("search", "gepa"), f"{whose} has no worked examples, by which it works"
        if recipe.optimizer not in possible:
            raise UsageError(f"`recipe.optimizer={recipe.optimizer}`: {why}; choose among {', '.join(possible)}")
        folds = max(2, min(recipe.folds, len({item.unit for item in chosen})))
        self.recipe = recipe.model_copy(update={"folds": folds} if demos else {"folds": folds, "max_demos": 0})
        self.folds = balanced_folds(self.items, chosen, folds, recipe.seed, self.declared.nouns)

    def _name_models(self, models: Mapping[str, tuple[ModelSpec, Role]], proposed_by: ModelSpec | str) -> None:
        """Set the models, by what each is asked for; raises a `UsageError` where they cannot be called as asked."""
        self._named = {**models, "proposer": (ModelSpec.of(proposed_by), PROPOSER)}
        self.models = self._open(None)

    def __repr__(self) -> str:
        named = ", ".join(f"{role}={model.name}" for role, model in self.models.items())
        return f"{type(self).__name__}({self.recipe.optimizer!r}, {self.data.name!r}, {named})"

    def _open(self, record: Record | None) -> Mapping[str, Model]:
        return {name: open_model(spec, role, self._gate, record=record) for name, (spec, role) in self._named.items()}

    @property
    def same_judge(self) -> bool:
        """Whether one model tunes and reports."""
        return "report_judge" in self.models and self.models["judge"].name == self.models["report_judge"].name

    @property
    def width(self) -> int:
        """Items at once."""
        return self._gate.concurrency

    @property
    def limits(self) -> Limits:
        """The most that it may spend."""
        return self._gate.limits

    @abstractmethod
    def forecast(self) -> Forecast:
        """The most that `run` takes; no call is made and nothing is written."""

    @abstractmethod
    def inputs(self, item: Any) -> Mapping[str, Any]:
        """Inputs of the program at an item."""

    @abstractmethod
    def training(self, train: Sequence[Any], before: Mapping[str, Any]) -> Training:
        """One training set, with the test results of its items before; no other item is in reach."""

    def finished(self, chosen: Chosen, training: Any) -> Any:  # noqa: ARG002 - for those that fit cuts on it
        """What is shipped and tested, made of the program that was chosen on a training set."""
        return chosen.program

    @abstractmethod
    def test(self, tuned: Any, item: Any) -> Any:
        """Test result of an item; a failure of content is a result."""

    @abstractmethod
    def score(self, results: Mapping[str, Any], items: Sequence[Any]) -> float | None:
        """Mean score of a fold's test items, in [0, 1], higher is better; None without any."""

    @abstractmethod
    def artefact(self, compiled: Compiled, made: Provenance) -> Artefact:
        """The file of what was compiled."""

    def example(self, item: Any) -> dspy.Example:
        """The inputs of the program, and the key."""
        inputs = {name: tamed(value) for name, value in self.inputs(item).items()}
        return dspy.Example(key=item.key, **inputs).with_inputs(*inputs)

    def artefact_of(self, program: Any, card: Card, **reading: Any) -> Artefact:
        """The file of a compiled program, with its card and how its verdicts are read."""
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
        settings = {"benchmark": self.declared.name, "settings": self.settings.model_dump(mode="json")}
        return CompileIdentity(
            program=self.role,
            models={name: model.identity for name, model in self.models.items()},
            recipe=self.recipe,
            settings={**settings, **self.identity_settings},
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
            observer: Told of what happens; where None, a notebook shows a progress bar.

        Raises:
            RunError: The folder holds another compile, is in use, or cannot be written.
            UsageError: A key is missing.
            Halt: It ended early; what was answered is kept, and the same call goes on. Where nothing was answered at
                all, the folder is left as it was found.
        """
        with watching(observer) as watcher:
            return self._run(out, watcher, Switch())

    async def arun(self, out: str | Path | None = None, observer: CompileObserver | None = None) -> Finished:
        """Async version of `run`, in its own threads. When cancelled, it drops what is in flight, then ends."""
        switch = Switch()
        with watching(observer) as watcher, orderly_interrupt(switch, watcher.interrupted):
            compiling = asyncio.create_task(asyncio.to_thread(self._run, out, watcher, switch))
            try:
                return await asyncio.shield(compiling)
            except asyncio.CancelledError:
                switch.pull(Interrupted("cancelled"))
                self._gate.slots.drop()
                await asyncio.gather(compiling, return_exceptions=True)
                raise

    def _run(self, out: str | Path | None, observer: CompileObserver, switch: Switch) -> Finished:
        def interrupted() -> None:
            """The first Ctrl-C lets the calls in flight end, the second drops them."""
            if switch.halt is not None:
                self._gate.slots.drop()
                return
            switch.pull(Interrupted("interrupted"))
            observer.interrupted()

        for model in self.models.values():
            model.require_key()
        folder = Path(out or self.default_folder)
        claim = Claim(folder, CLAIM, CompileClaim, "compile")
        self._gate.open(switch, observer=observer)
        with claim.held(self.identity) as claimed:
            if claimed is None:
                claim.write(CompileClaim(identity=self.identity, data=self.data))
            record = Record(folder / "record.jsonl")
            try:
                with record, signals_handled(otherwise=interrupted), silenced():
                    task, compiled = self._recorded(record, folder, observer)
                    switch.check()
            except Halt:
                if claimed is None and not record.answers:
                    claim.leave(*folder.glob("*"))  # none where the folder was removed
                raise
            made = Provenance(
                models=self.identity.models,
                recipe=self.recipe,
                start=self.start,
                data=self.data,
                embedded=any(model.embedded for model in self.models.values()),
                versions=versions("optuna", "gepa"),  # which decide the outcome, beside the packages of every run
                created=now(),
                learned_before=tuple(sorted(self.learned_before)),
            )
            artefact = task.artefact(compiled, made)
            path = folder / f"{self.role}.json"
            write_artefact(path, artefact)
            return Finished(path, artefact, record.paid)

    def _recorded(self, record: Record, folder: Path, observer: CompileObserver) -> tuple[Self, Compiled]:
        """A copy of this compile whose models answer from a record, and its outcome."""
        progress = Progress(observer, self.forecast(), len(record.answers))
        task = copy(self)
        task.models, task.excerpts = self._open(record), Excerpts(SHOWN)
        prices = {model.role.name: model.price for model in task.models.values()}

        def count(recorded: RecordedAnswer) -> None:
            spent = [Usage.of([call], prices[call.role]).usd or 0.0 for call in recorded.calls]
            progress.count_paid(sum(spent))

        record.on_answer = count
        try:
            return task, task._cross_fit(progress, folder)
        finally:
            wait_for(record.settled())
            for model in task.models.values():
                wait_for(model.aclose())

    def _cross_fit(self, progress: Progress, folder: Path) -> Compiled:
        """Test the start; then, side by side, tune on all but each fold and test on it, and tune on everything."""
        before = self.tested(self.program, self.items)

        def in_fold(fold: Fold[Any], journal: Path) -> Tested:
            return self.tested(self.tuned(fold.train, before, progress, journal)[0], fold.test)

        def ending_all(part: Callable[[], Any]) -> Any:
            """A failure ends the other parts before they pay on for nothing."""
            try:
                return part()
            except Exception:
                self._gate.switch.pull(Interrupted("another part of the compile failed"))
                raise

        parts: list[Callable[[], Any]] = [
            partial(in_fold, fold, folder / f"study-fold-{number}.log") for number, fold in enumerate(self.folds, 1)
        ]
        parts.append(partial(self.tuned, self.items, before, progress, folder / "study-all.log"))
        found: list[Tested]
        *found, (tuned, chosen) = side_by_side([partial(ending_all, part) for part in parts], len(parts))
        results = {key: result for each in found for key, result in each.results.items()}
        after = Tested(
            {item.key: results[item.key] for item in self.items}, tuple(call for each in found for call in each.calls)
        )
        scores = (self.score(each.results, fold.test) for each, fold in zip(found, self.folds, strict=True))
        return Compiled(tuned, chosen, before, after, tuple(scores))

    def tuned(
        self, train: Sequence[Any], before: Tested, progress: Progress, journal: Path | None = None
    ) -> tuple[Any, Chosen]:
        """What comes of a training set, and the candidates among which it was chosen.

        Args:
            train: Its items.
            before: Test results of the start; those of other items are not read.
            progress: Is told of candidates.
            journal: File of a search's study; None for no file.
        """
        training = self.training(train, {item.key: before.results[item.key] for item in train})
        chosen = choose(training, self.recipe, journal, progress)
        return self.finished(chosen, training), chosen

    def tested(self, tuned: Any, items: Sequence[Any]) -> Tested:
        """Test items side by side."""

        def test(item: Any) -> tuple[Any, list[Call]]:
            with collect_calls() as calls:
                return self.test(tuned, item), calls

        found = side_by_side([partial(test, item) for item in items], self.width)
        results = {item.key: result for item, (result, _) in zip(items, found, strict=True)}
        return Tested(results, tuple(call for _, calls in found for call in calls if call.role == self.role))


def unseen(start: Path, card: Card, marks: Collection[str], what: str) -> frozenset[str]:
    """Marks of the rows that the program to start from has seen; a `UsageError` where some of them are to be tested."""
    if seen := card.learned_from.intersection(marks):
        raise UsageError(
            f"{start}: was compiled on {len(seen)} of {what}, so that no program that never saw them could be tested "
            "on them; start from one that was compiled on others, or leave `start` out"
        )
    return card.learned_from
