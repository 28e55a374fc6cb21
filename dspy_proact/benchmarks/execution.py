"""A benchmark bound to the cases and models of one run, and the run: checked before the first call, resumable."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dspy_proact.benchmarks.ask import Ask
from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.benchmarks.forecast import RoleCalls, RunForecast
from dspy_proact.benchmarks.own_file import located, require_answer, require_grade
from dspy_proact.benchmarks.participant import Participant, run_name
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import Halt, ProviderDown, UsageError
from dspy_proact.kept import now, versions
from dspy_proact.models import Cost, Gate, Limits
from dspy_proact.runs import (
    CONTROL,
    MOST_EPOCHS,
    Case,
    CaseSet,
    Event,
    ExpectedCall,
    Grading,
    Identity,
    Ledger,
    Manifest,
    Observer,
    RunBar,
    RunFolder,
    Runner,
    RunWriter,
    Scope,
    Scored,
    Settings,
    Work,
    in_notebook,
    latest,
    orderly_interrupt,
    run_to_end,
    seeded_order,
    select_cases,
)
from dspy_proact.switch import Switch


@dataclass(frozen=True)
class Bound:
    """A declaration with the cases, programs and models of a run."""

    declared: Benchmark[Any, Any]
    case_set: CaseSet
    settings: Settings
    under_test: Ask | None
    """The program under test; None where answers exist already."""
    judges: Mapping[str, Ask]
    """The judge's program on each model, by the model's name; empty where no judge grades."""
    judge: Any = None
    """The judge's program; None where answers are graded without a model."""

    @property
    def answer_type(self) -> type[BaseModel]:
        """As what answers are read from disk."""
        return self.declared.answer_type

    @property
    def strata(self) -> Sequence[str]:
        """Those that reports give, in their order."""
        return self.declared.strata_of(self.case_set)

    async def answer(self, case: Case) -> BaseModel:
        """Call the program under test; raises a `StageError` when there is no answer."""
        assert self.under_test is not None, "answers that exist are not asked for"
        with located(self.declared, "answer"):
            answer = await self.declared.answer(case, self.under_test)
        require_answer(self.declared, answer)
        return answer

    async def grade(self, case: Case, answer: Any, judge: str | None) -> Scored[Any]:
        """Grade an answer by one of the judges, or without one; raises a `StageError` when there is no grade."""
        ask = self.judges[judge] if judge else Ask.in_run(None, None, self.settings)
        with located(self.declared, "grade"):
            scored = await self.declared.grade(case, answer, ask)
        require_grade(self.declared, case, scored)
        return scored


@dataclass(frozen=True)
class Completed:
    """How a run ended that came to its end."""

    path: Path
    stages: int
    """Responses and verdicts that this command got or failed to get; 0 when all was on disk already."""
    unscored: int
    """Of what this command asked for: tried and without a grade."""


class Execution:
    """A benchmark with the models and programs that answer and grade."""

    def __init__(
        self,
        benchmark: Bound,
        answering: Participant | Responses,
        judges: Sequence[Participant],
        gate: Gate,
    ):
        assert [judge.model.name for judge in judges] == list(benchmark.judges), "a judge is known by its model's name"
        self._benchmark, self._judges, self._gate = benchmark, judges, gate
        self._assistant = answering if isinstance(answering, Participant) else None
        self._copied = answering if isinstance(answering, Responses) else None
        self.manifest = self._begun(answering)

    def __repr__(self) -> str:
        identity, count = self.manifest.identity, len(self._benchmark.case_set.cases)
        judges = " + ".join(judge.name for judge in identity.judges)
        graded = f" judged by {judges}" if judges else ""
        return f"{type(self).__name__}({identity.assistant.name}{graded}, {count:,} cases of {identity.benchmark})"

    @property
    def limits(self) -> Limits:
        """The most that one run of this may spend."""
        return self._gate.limits

    @property
    def spent(self) -> Cost:
        """What counts against the limits, after a run."""
        return self._gate.budget.spent

    @property
    def default_folder(self) -> Path:
        """`runs/<benchmark>--<model>--<judge>--<8 hex of the identity>`."""
        identity, answering = self.manifest.identity, self.manifest.identity.assistant
        program = "" if answering.is_plain else answering.program
        named = run_name(identity.benchmark, answering.model, list(self._benchmark.judges), program)
        return Path("runs", f"{named}--{identity.digest()[:8]}")

    def compiled(self) -> Iterator[tuple[str, str, Sequence[Participant]]]:
        """The option, the role and the participants of each compiled program that takes part."""
        if self._assistant and self._assistant.program_card:
            yield "--program", "assistant", [self._assistant]
        if self._judges and self._judges[0].program_card:
            yield "--judge-program", "judge", self._judges

    def learned_by_judge(self) -> int:
        """Cases that the judge's program was compiled on; 0 where it is not compiled."""
        card = self._judges[0].program_card if self._judges else None
        declared, cases = self._benchmark.declared, self._benchmark.case_set.cases
        return sum(declared.mark(case.view) in card.learned_from for case in cases) if card else 0

    def check(self, out: str | Path | None = None, scope: Scope = Scope()) -> None:
        """Raise a `UsageError` where `run` could not begin; nothing is written."""
        self._check(out, scope)
        for participant in self._participants:
            participant.model.require_key()

    def run(
        self,
        out: str | Path | None = None,
        scope: Scope = Scope(),
        observer: Observer | None = None,
        spent: Cost | None = None,
    ) -> Completed:
        """Do what has no result yet, and return when all of it has ended.

        Args:
            out: The folder; `default_folder` when None.
            scope: How much is asked for.
            observer: Notified of what happens; where None, a notebook shows a progress bar.
            spent: What counts against the limits already, such as by another run of the same command.

        Raises:
            UsageError: There is nothing to do in this scope, or a key is missing.
            RunError: The folder cannot be used.
            Halt: The run ended early; what is on disk is kept, and the same call goes on. Where nothing was answered at
                all, the folder is left as it was found.
        """
        return run_to_end(self.arun(out, scope, observer, spent))

    async def arun(
        self,
        out: str | Path | None = None,
        scope: Scope = Scope(),
        observer: Observer | None = None,
        spent: Cost | None = None,
    ) -> Completed:
        """Async version of `run`; a cancelled one drops what is in flight and keeps what is on disk."""
        folder = Path(out or self.default_folder)
        self.check(folder, scope)
        cases, switch, bar = self._selected(scope), Switch(), RunBar() if in_notebook() and not observer else None
        observer = bar or observer or Observer()
        self._gate.open(switch, spent, observer)
        try:
            return await self._run(folder, cases, scope, observer, switch)
        finally:
            if bar:
                bar.close()

    def forecast(self, out: str | Path | None = None, scope: Scope = Scope()) -> RunForecast:
        """What `run` would do with the same arguments; no call is made, no key is needed and nothing is written."""
        self._check(out, scope)
        folder = RunFolder(out or self.default_folder)
        ledger = self._ledger(chain(folder.events(), self._to_copy(folder.events())), scope)
        epochs = self._asked(scope).epochs
        stages = [
            (work, key)
            for work in ledger.open_work(self._selected(scope), epochs)
            for key in ledger.stages(work)
            # A response that is still to be written will be graded, so its verdicts count as open.
            if ledger.is_open(key) or (key.judge and ledger.is_open(ledger.stages(work)[0]))
        ]
        bound, tested = self._benchmark, self._benchmark.under_test
        answers = (
            bound.declared.answer_calls(work.case, tested and tested.program, bound.settings)
            for work, key in stages
            if key.stage == "response"
        )
        judges = [
            RoleCalls.of(
                judge.model, (self._grade_calls(ledger, work) for work, key in stages if key.judge == judge.model.name)
            )
            for judge in self._judges
        ]
        return RunForecast.of(
            RoleCalls.together([RoleCalls.of(self._assistant.model, answers)] if self._assistant else []),
            RoleCalls.together(judges),
            self._gate.concurrency,
            self._benchmark.declared.assumption,
        )

    @property
    def _participants(self) -> list[Participant]:
        return [*filter(None, [self._assistant]), *self._judges]

    def _check(self, out: str | Path | None, scope: Scope) -> None:
        """Raise a `UsageError` where nothing is asked for, or the folder holds something else."""
        self._selected(scope)
        RunFolder(out or self.default_folder).check(self._asked(scope))

    def _grade_calls(self, ledger: Ledger, work: Work) -> Sequence[ExpectedCall] | None:
        kept = ledger.answer(work)
        bound = self._benchmark
        answer = bound.answer_type.model_validate(kept) if kept else None
        return bound.declared.grade_calls(work.case, answer, bound.judge, bound.settings)

    def _begun(self, answering: Participant | Responses) -> Manifest:
        benchmark, judges = self._benchmark, self._judges
        # The judges of a run have one program.
        cards = ("assistant", answering.card), ("judge", judges[0].card if judges else None)
        return Manifest(
            identity=Identity(
                benchmark=benchmark.declared.name,
                assistant=answering.identity,
                judges=tuple(judge.identity for judge in judges),
                settings=benchmark.settings.model_dump(mode="json"),
                corpus=benchmark.case_set.sha256,
                parent=self._copied and self._copied.parent,
            ),
            strata=tuple(benchmark.strata),
            labels=tuple(benchmark.declared.labels),
            control_labels=tuple(benchmark.declared.control_labels),
            nouns=benchmark.declared.nouns,
            measures=tuple(benchmark.declared.measures),
            system_prompt=answering.system_prompt,
            learned_on=answering.learned_on,
            cards={role: card for role, card in cards if card},
            embedded=any(each.embedded for each in (answering, *judges)),
            epochs=self._copied.epochs if self._copied else 1,
            judge_epochs=max((judge.votes for judge in judges), default=1),
            corpus=benchmark.case_set.corpus,
            assistant_price=answering.price,
            judge_prices={judge.model.name: judge.price for judge in judges},
            further_prices=dict(self._assistant.further_prices) if self._assistant else {},
            overrides={
                "assistant": answering.overridden,
                "judge": tuple(sorted({name for judge in judges for name in judge.overridden})),
            },
            backend=self._gate.backend,
            versions=versions("pydantic"),
            created=now(),
        )

    def _asked(self, scope: Scope) -> Manifest:
        """The manifest of a command with this scope."""
        begun = self.manifest
        judge_epochs = begun.judge_epochs if scope.judge_epochs is None else scope.judge_epochs
        if not self._judges and judge_epochs != begun.judge_epochs:
            raise UsageError(f"{self._benchmark.declared.name} is graded without a judge, and once; leave --votes out")
        if any(judge.cuts for judge in begun.identity.judges) and judge_epochs != begun.judge_epochs:
            asked = f"{begun.judge_epochs} verdicts on each response"
            raise UsageError(f"the judge's program asks for {asked}; leave --votes out")
        epochs = begun.epochs if scope.epochs is None else scope.epochs
        controls = self._benchmark.declared.control_prompt() if scope.controls else None
        return begun.model_copy(update={"epochs": epochs, "judge_epochs": judge_epochs, "controls": controls})

    def _selected(self, scope: Scope) -> list[Case]:
        """The cases that are asked for, control cases last; raises `UsageError` where there is nothing to do."""
        benchmark, asked = self._benchmark, self._asked(scope)
        known = {stratum.casefold(): stratum for stratum in benchmark.strata}
        for stratum in scope.strata:
            if stratum.casefold() not in known:
                raise UsageError(f"--stratum {stratum}: is none of {', '.join(benchmark.strata)}")
        times = {asked.epochs, asked.judge_epochs} <= set(range(1, MOST_EPOCHS + 1))
        if not times or (scope.limit is not None and scope.limit < 1):
            raise UsageError(f"limit must be 1 or more, epochs and votes 1 to {MOST_EPOCHS}")
        strata = [known[stratum.casefold()] for stratum in scope.strata]
        cases = benchmark.case_set.cases
        chosen = select_cases([case for case in cases if case.stratum != CONTROL], scope.limit, strata)
        if not scope.controls:
            return chosen
        nouns = benchmark.declared.nouns
        if benchmark.declared.control_prompt() is None:
            raise UsageError(f"--controls: {benchmark.declared.name} has no {nouns.controls}; leave it out")
        controls = select_cases([case for case in cases if case.stratum == CONTROL], scope.limit)
        if self._copied and not controls:
            raise UsageError(
                f"--controls: among these responses is none at a {nouns.control}; a model is asked for them by "
                "`eval --controls`, where its corpus has them"
            )
        return [*chosen, *controls]

    async def _run(
        self, out: Path, cases: Sequence[Case], scope: Scope, observer: Observer, switch: Switch
    ) -> Completed:
        asked = self._asked(scope)
        with RunWriter(out, asked) as folder, orderly_interrupt(switch, observer.interrupted):
            folder.add_cases(cases)
            for event in self._to_copy(folder.events(), {case.key for case in cases}):
                folder.record(event)
            ledger = self._ledger(folder.events(), scope)
            runner = Runner(self._benchmark, folder, ledger, switch, observer)
            # Control cases after all others: a run that stops early has scores first.
            parts = ([case for case in cases if (case.stratum == CONTROL) is control] for control in (False, True))
            order = [case for part in parts for case in seeded_order(part)]
            try:
                await runner.run(order, asked.epochs, self._gate.concurrency)
                if silent := self._gate.silent():
                    raise switch.halt or ProviderDown(silent)
            except Halt:
                folder.leave_nothing_unanswered()
                raise
            finally:
                for participant in self._participants:
                    await participant.model.aclose()
            return Completed(out, runner.stages, ledger.unscored(cases, asked.epochs))

    def _ledger(self, events: Iterable[Event], scope: Scope) -> Ledger:
        grading = Grading(list(self._benchmark.judges), self._asked(scope).judge_epochs)
        return Ledger(events, grading, scope.retry_unscored, copied=self._copied is not None)

    def _to_copy(self, events: Iterable[Event], keys: Collection[str] | None = None) -> list[Event]:
        """The copied responses that are not here yet, or stand here as failures that the other run has mended."""
        if self._copied is None:
            return []
        here = latest(events)
        return [
            event
            for event in self._copied.stages
            if (keys is None or event.key.case in keys)
            and ((kept := here.get(event.key)) is None or (kept.answer is None and event.answer is not None))
        ]
