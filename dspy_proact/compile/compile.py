"""A compile as a value: checked before the first call, run in a folder, and resumed by the same call."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import dspy

from dspy_proact.calls import Call, LoggedCall, Usage, collect_calls, is_final
from dspy_proact.compile.folds import Fold, balanced_folds
from dspy_proact.compile.forecast import (
    CompileBar,
    CompileObserver,
    Forecast,
    Progress,
    nothing_proposed,
    selectable,
)
from dspy_proact.compile.guards import choose
from dspy_proact.compile.optimizers import silenced
from dspy_proact.compile.proposer import Proposer
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.target import TOKENS, OutOfFold, Target, Tested, Tuned, tokens_of_call
from dspy_proact.compile.training import Choice, Training
from dspy_proact.errors import Halt, Interrupted, RunError, UsageError
from dspy_proact.evaluation.rendered import assumption_of
from dspy_proact.kept import CALLS, CallLog, Claim, Claimed, Identified, now, versions
from dspy_proact.kept import COMPILE_CLAIM as CLAIM
from dspy_proact.models import AllowedModels, Gate, Model, open_model, wait_for
from dspy_proact.optimizer_names import optimizers_of
from dspy_proact.programs.artefact import Artefact, Learned, signature_of, states_of, write_artefact
from dspy_proact.programs.asking import image_inputs
from dspy_proact.programs.card import CandidateCard, Card, DataSource, Provenance
from dspy_proact.recipe import Recipe
from dspy_proact.runs import orderly_interrupt, watching
from dspy_proact.runs.interrupt import signals_handled
from dspy_proact.switch import Switch
from dspy_proact.types import RoleIdentity

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
    """Requests that this command sent; the others were in the log of calls."""


class Compile:
    """A target, and how it is tuned.

    Raises a `UsageError` where there is too little to learn from, the optimizer works by worked examples that nobody
    has, or the models cannot be called as asked.

    Args:
        target: What is tuned: an `AssistantTarget` or a `JudgeTarget`.
        recipe: Optimizer, folds and seed; no more folds are made than there are units.
        gate: How calls are made, and what they may cost.
    """

    def __init__(self, target: Target, recipe: Recipe | None = None, gate: Gate | None = None):
        self.gate, recipe = gate or Gate(), recipe or Recipe()
        declared, demos = target.declared, target.proposal.demos and not image_inputs(target.start.program)
        possible, why = optimizers_of(target.role, demos), "nobody has written the answers that it would show"
        if not demos:  # images would have to be in the file, and in every request
            whose = "a program that is shown images" if target.proposal.demos else declared.name
            why = f"{whose} has no worked examples, by which it works"
        if recipe.optimizer not in possible:
            raise UsageError(f"`recipe.optimizer={recipe.optimizer}`: {why}; choose among {', '.join(possible)}")
        if recipe.optimizer in ("labeled", "bootstrap") and not recipe.max_demos:
            what = f"{recipe.optimizer} changes nothing but worked examples"
            raise UsageError(f"`recipe.max_demos=0`: {what}; allow 1 or more, or choose another optimizer")
        chosen = target.chosen(target.items)
        folds = max(2, min(recipe.folds, len({target.units[item.key] for item in chosen})))
        self.recipe = recipe.model_copy(update={"folds": folds} if demos else {"folds": folds, "max_demos": 0})
        self.folds = balanced_folds(
            target.items, chosen, target.units, count=folds, seed=recipe.seed, nouns=declared.nouns
        )
        self.target = self._opened(target, None)
        self.proposer = Proposer(self.models["proposer"].lm)

    def __repr__(self) -> str:
        models = ", ".join(f"{role}={model.name}" for role, model in self.models.items())
        return f"Compile({self.target.role}, {self.recipe.optimizer!r}, {self.target.data.name!r}, {models})"

    def _opened(self, target: Target, log: CallLog | None) -> Target:
        models = {name: open_model(spec, role, self.gate, log=log) for name, (spec, role) in target.specs.items()}
        return target.opened(models, self.gate.concurrency)

    @property
    def models(self) -> Mapping[str, Model]:
        """By what each is asked for."""
        return self.target.models

    @property
    def same_judge(self) -> bool:
        """Whether one model tunes and reports."""
        return "report_judge" in self.models and self.models["judge"].name == self.models["report_judge"].name

    def forecast(self) -> Forecast:
        """The most that `run` takes, without repairs; no call is made and nothing is written."""
        target, trains = self.target, [*(fold.train for fold in self.folds), self.target.items]
        roles = target.roles(self.recipe, sum(target.tuned_at_most(self.recipe, train) for train in trains))
        chosen, width = target.chosen(target.items), self.gate.concurrency
        sizes = tuple(Counter(item.group for item in chosen).values())
        assumption = assumption_of(target.declared) if target.role == "assistant" else None
        hints, tips = target.proposal.hints, target.proposal.tips
        return Forecast(
            roles,
            width,
            sizes,
            target.detectable_gain,
            target.in_kappa,
            candidates=selectable(self.recipe, len(hints), len(tips), len(target.start.program.predictors())),
            compared=round(len(chosen) * (1 - 1 / self.recipe.folds)),
            nouns=target.declared.nouns,
            warning=nothing_proposed(self.recipe),
            assumption=assumption,
        )

    @cached_property
    def identity(self) -> CompileIdentity:
        """What must be equal for two commands to be the same compile."""
        target = self.target
        settings = {"benchmark": target.declared.name, "settings": target.settings.model_dump(mode="json")}
        return CompileIdentity(
            program=target.role,
            models={name: model.identity for name, model in self.models.items()},
            recipe=self.recipe,
            settings={**settings, **target.identity},
            data=target.data.sha256,
            start=target.start_hash,
        )

    @property
    def default_folder(self) -> Path:
        """`compiles/<role>--<8 hex of the identity>`."""
        return COMPILES / f"{self.target.role}--{self.identity.digest()[:8]}"

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
        with watching(observer, CompileObserver(), CompileBar()) as watcher:
            return self._run(out, watcher, Switch())

    async def arun(self, out: str | Path | None = None, observer: CompileObserver | None = None) -> Finished:
        """Async version of `run`, in its own threads. When cancelled, it drops what is in flight, then ends."""
        switch = Switch()
        with (
            watching(observer, CompileObserver(), CompileBar()) as watcher,
            orderly_interrupt(switch, watcher.interrupted),
        ):
            compiling = asyncio.create_task(asyncio.to_thread(self._run, out, watcher, switch))
            try:
                return await asyncio.shield(compiling)
            except asyncio.CancelledError:
                switch.pull(Interrupted("cancelled"))
                self.gate.slots.drop()
                await asyncio.gather(compiling, return_exceptions=True)
                raise

    def _run(self, out: str | Path | None, observer: CompileObserver, switch: Switch) -> Finished:
        def interrupted() -> None:
            """The first Ctrl-C lets the calls in flight end, the second drops them."""
            if switch.halt is not None:
                self.gate.slots.drop()
                return
            switch.pull(Interrupted("interrupted"))
            observer.interrupted()

        for model in self.models.values():
            model.require_key()
        folder = Path(out or self.default_folder)
        claim = Claim(folder, CLAIM, CompileClaim, "compile")
        self.gate.open(switch, observer=observer)
        with claim.held(self.identity) as claimed:
            if claimed is None:
                claim.write(CompileClaim(identity=self.identity, data=self.target.data))
            log = CallLog(folder / CALLS, self.identity.digest(), is_final)
            try:
                with log, signals_handled(otherwise=interrupted), silenced():
                    artefact = self._logged(log, folder, observer)
                    switch.check()
            except Halt:
                if claimed is None and not log.replies:
                    claim.leave(*folder.glob("*"))  # none where the folder was removed
                raise
            path = folder / f"{self.target.role}.json"
            write_artefact(path, artefact)
            return Finished(path, artefact, log.paid)

    def _logged(self, log: CallLog, folder: Path, observer: CompileObserver) -> Artefact:
        """What comes of a copy of this compile whose calls are logged."""
        progress = Progress(observer, self.forecast(), len(log.replies))
        task = copy(self)
        task.target = self._opened(self.target, log)
        task.proposer = Proposer(task.models["proposer"].lm)
        prices = {model.role.name: model.price for model in task.models.values()}

        def count(call: LoggedCall) -> None:
            spent = [Usage.of([attempt], prices[call.role]).usd or 0.0 for attempt in call.attempts]
            progress.count_paid(sum(spent))

        log.on_call = count
        allowed = AllowedModels(model.lm for model in task.models.values())
        try:
            with dspy.context(callbacks=[*dspy.settings.callbacks, allowed]):
                return task._cross_fit(progress, folder)
        finally:
            wait_for(log.settled())
            for model in task.models.values():
                wait_for(model.aclose())

    def _cross_fit(self, progress: Progress, folder: Path) -> Artefact:
        """Test the start; then, side by side, tune on all but each fold and test on it, and tune on everything."""
        items = self.target.items
        before = self.tested(self.target.start, items)

        def in_fold(fold: Fold[Any], journal: Path) -> Tested:
            return self.tested(self.tuned(fold.train, before, progress, journal)[0], fold.test)

        def ending_all(part: Callable[[], Any]) -> Any:
            """A failure ends the other parts before they pay on for nothing."""
            try:
                return part()
            except Exception:
                self.gate.switch.pull(Interrupted("another part of the compile failed"))
                raise

        parts: list[Callable[[], Any]] = [
            partial(in_fold, fold, folder / f"study-fold-{number}.log") for number, fold in enumerate(self.folds, 1)
        ]
        parts.append(partial(self.tuned, items, before, progress, folder / "study-all.log"))
        *tests, (tuned, choice) = side_by_side([partial(ending_all, part) for part in parts], len(parts))
        results = {key: result for tested in tests for key, result in tested.results.items()}
        calls = {key: own for tested in tests for key, own in tested.calls.items()}
        after = Tested({item.key: results[item.key] for item in items}, calls)
        folds = {item.key: number for number, fold in enumerate(self.folds) for item in fold.test}
        states, begun = states_of(tuned.program), self.target.start
        start = Learned(states=states_of(begun.program), cuts=dict(begun.cuts))
        unchanged = Learned(states=states, cuts=dict(tuned.cuts)) == start
        return Artefact(
            signature=signature_of(tuned.program, states),
            benchmark=self.target.declared.name,
            role=self.target.role,
            program=type(tuned.program).__name__,
            settings=self.target.settings.model_dump(mode="json"),
            states=states,
            start=start,
            card=self._card(
                tuned, choice, OutOfFold(before, after, folds), unchanged=unchanged, compiles=self._on_same_data(folder)
            ),
            votes=self.target.votes,
            cuts=dict(tuned.cuts),
        )

    def training(self, train: Sequence[Any], before: Tested) -> Training:
        """One training set, with the test results of its items before; no other item is in reach."""
        results = {item.key: before.results[item.key] for item in train}
        return Training(self.target, train, results, self.proposer, self.recipe.seed)

    def tuned(
        self, train: Sequence[Any], before: Tested, progress: Progress, journal: Path | None = None
    ) -> tuple[Tuned, Choice]:
        """What comes of a training set, and the candidates among which it was chosen; `journal` keeps a search's study.

        Of `before`, the start's test results, those of other items are not read.
        """
        training = self.training(train, before)
        choice = choose(training, self.recipe, journal, progress)
        return self.target.finished(choice.tried[choice.index].program, training), choice

    def tested(self, tuned: Tuned, items: Sequence[Any]) -> Tested:
        """Test items side by side."""

        def test(item: Any) -> tuple[Any, list[Call]]:
            with collect_calls() as calls:
                return self.target.test(tuned, item), calls

        tests = side_by_side([partial(test, item) for item in items], self.gate.concurrency)
        results = {item.key: result for item, (result, _) in zip(items, tests, strict=True)}
        role = self.target.role
        calls = {
            item.key: [call for call in calls if call.role == role and (call.error is None or tokens_of_call(call))]
            for item, (_, calls) in zip(items, tests, strict=True)
        }
        return Tested(results, calls)

    def _on_same_data(self, folder: Path) -> int:
        """Finished compiles of this kind on the same data, this one among them: beside its folder and in `compiles`."""
        known = {self.identity.digest()}
        for file in {*folder.parent.glob(f"*/{CLAIM}"), *COMPILES.glob(f"*/{CLAIM}")}:
            if (file.parent / f"{self.target.role}.json").is_file():
                with suppress(RunError):  # damaged, or of another version
                    other = Claim(file.parent, CLAIM, CompileClaim, "compile").read().identity
                    own = self.target.declared.name, self.target.role, self.target.data.sha256
                    if (other.settings.get("benchmark"), other.program, other.data) == own:
                        known.add(other.digest())
        return len(known)

    def _card(self, tuned: Tuned, choice: Choice, tests: OutOfFold, *, unchanged: bool, compiles: int) -> Card:
        """What the compile showed, out of fold, of the program tuned on all items."""
        target = self.target
        made = Provenance(
            models=self.identity.models,
            recipe=self.recipe,
            start=target.start_hash,
            data=target.data,
            embedded=any(model.embedded for model in self.models.values()),
            versions=versions("optuna", "gepa"),  # which decide the outcome, beside the packages of every run
            created=now(),
            learned_before=tuple(sorted(target.learned_before)),
        )
        fields: dict[str, Any] = target.card(tuned, tests)
        warnings = [*filter(None, [nothing_proposed(self.recipe)])]
        counted = any(map(any, fields["item_scores"].calls_before))
        if {"tokens", TOKENS} & fields["guards"].keys() and not counted:
            warnings.insert(0, "the provider counted no tokens, so that the guard on tokens had no effect")
        if self.same_judge:
            preferred = "the gain may only reflect its preferences; report by another judge"
            warnings.insert(0, f"one model tunes and reports, so that {preferred}")
        if self.recipe.optimizer == "search" and len(choice.tried) < self.recipe.trials:
            fields["notes"] += (f"{len(choice.tried)} candidates of {self.recipe.trials} trials: there were no more",)
        return Card(
            **fields,
            unchanged=unchanged,
            compiles=compiles,
            nouns=target.nouns,
            candidates=tuple(
                CandidateCard(
                    score=candidate.score,
                    share=candidate.share,
                    harm=candidate.harm,
                    broken=choice.broken.get(index, ()),
                    chosen=index == choice.index,
                )
                for index, candidate in enumerate(choice.tried)
            ),
            proposals=self.proposer.counts,
            warnings=tuple(warnings),
            price=self.models[target.role].price,
            provenance=made,
        )
