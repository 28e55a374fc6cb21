"""A benchmark bound to the cases and models of one run, and the run: checked before the first call, resumable."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dspy_proact.calls import Call, Failure, StageKey
from dspy_proact.errors import Halt, ProviderDown, UsageError
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.checks import file_of, require_inputs
from dspy_proact.evaluation.forecast import RoleCalls, RunForecast
from dspy_proact.evaluation.mends import Completed, greater_limits, has_hope, unusable_content
from dspy_proact.evaluation.participant import Participant, run_name
from dspy_proact.evaluation.people import is_nominal
from dspy_proact.evaluation.rendered import answer_calls, assumption_of, grade_calls, require_taken
from dspy_proact.evaluation.replay import Prompt, prompts_of
from dspy_proact.evaluation.responses import Responses
from dspy_proact.evaluation.selection import Selection
from dspy_proact.kept import git_commit, now, versions
from dspy_proact.models import AnyModel, Cost, Gate, Limits, Model
from dspy_proact.models.faults import Caller
from dspy_proact.runs import (
    CONTROL,
    Case,
    CaseSet,
    ExpectedCall,
    Grading,
    Identity,
    Ledger,
    Manifest,
    Observer,
    ReusedRun,
    ReuseSource,
    RunBar,
    RunFolder,
    Runner,
    RunWriter,
    Scope,
    Scored,
    Settings,
    Shard,
    StageEvent,
    Work,
    orderly_interrupt,
    run_to_end,
    seeded_order,
    watching,
)
from dspy_proact.runs.chains import Chains
from dspy_proact.switch import Switch


class Execution:
    """A benchmark with its cases, and the models and programs that answer and grade."""

    def __init__(
        self,
        declared: Benchmark[Any, Any],
        case_set: CaseSet,
        settings: Settings,
        answering: Participant | Responses,
        judges: Sequence[Participant],
        *,
        gate: Gate,
        keep_inputs: bool = False,
    ):
        self._declared, self._case_set, self._settings = declared, case_set, settings
        self._judges, self._gate = {judge.model.name: judge for judge in judges}, gate
        self._assistant = answering if isinstance(answering, Participant) else None
        tested = self._assistant and self._assistant.ask.program
        declared.models.require(case_set.cases, tested, [judge.ask.program for judge in judges])
        require_inputs(declared, tested, case_set.cases)
        self._copied = answering if isinstance(answering, Responses) else None
        self._keeps_inputs = keep_inputs or not case_set.corpus.private
        self.manifest = self._begun(answering)

    def __repr__(self) -> str:
        identity, count = self.manifest.identity, len(self._case_set.cases)
        judges = " + ".join(judge.name for judge in identity.judges)
        graded = f" judged by {judges}" if judges else ""
        return f"{type(self).__name__}({self.manifest.model_name}{graded}, {count:,} cases of {identity.benchmark})"

    @property
    def case_set(self) -> CaseSet:
        """Its cases and their corpus."""
        return self._case_set

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
        named = run_name(identity.benchmark, answering.model, self._judges, program)
        return Path("runs", f"{named}--{identity.digest()[:8]}")

    def folder_of(self, shard: Shard | None) -> Path:
        """`default_folder`; of a shard one of its own beside it, whose name ends with `-3-of-8`."""
        folder = self.default_folder
        return folder.with_name(f"{folder.name}-{shard.number}-of-{shard.count}") if shard else folder

    def compiled(self) -> Iterator[tuple[str, str, Sequence[Participant]]]:
        """The argument, the role and the participants of each compiled program that takes part."""
        if self._assistant and self._assistant.program_card:
            yield "program", "assistant", [self._assistant]
        if self._judge_card:
            yield "judge_program", "judge", [*self._judges.values()]

    def learned_by_judge(self) -> int:
        """Cases that the judge's program was compiled on; 0 where it is not compiled."""
        card, mark = self._judge_card, self._declared.mark
        return sum(mark(case.view) in card.learned_from for case in self._case_set.cases) if card else 0

    @property
    def _judge_card(self) -> Any:
        """The card of the one program that all judges run; None if it is not compiled."""
        return next((judge.program_card for judge in self._judges.values()), None)

    def check(self, out: str | Path | None = None, scope: Scope = Scope()) -> None:
        """Raise a `UsageError` where `run` could not begin; nothing is written."""
        self._check(out, scope)
        for model in self.models:
            model.require_key()

    def run(
        self,
        out: str | Path | None = None,
        scope: Scope = Scope(),
        observer: Observer | None = None,
        spent: Cost | None = None,
    ) -> Completed:
        """Do what has no result yet into a folder, `default_folder` where None, and return when all of it has ended.

        A notebook shows a progress bar where no `observer` is notified of what happens. What is `spent` counts against
        the limits already, such as by another run of the same command. Raises a `UsageError` where there is nothing to
        do in this scope, or a key is missing, a `RunError` where the folder cannot be used, and a `Halt` where the run
        ended early; what is on disk is kept, and the same call goes on. Where nothing was answered at all, the folder
        is left as it was found.
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
        path = Path(out or self.folder_of(scope.shard))
        self.check(path, scope)
        selection, switch = self._selection(scope), Switch()
        manifest, cases = selection.with_shards, selection.cases
        if source := self._source(scope):
            manifest = manifest.model_copy(update={"reused": (source.record,)})
        if not RunFolder(path).exists:
            manifest = manifest.model_copy(update={"commit": await asyncio.to_thread(git_commit)})
        # Control cases after all others: a run that stops early has scores first.
        parts = ([case for case in cases if (case.stratum == CONTROL) is control] for control in (False, True))
        order = [case for part in parts for case in seeded_order(part)]
        with (
            watching(observer, Observer(), RunBar()) as watcher,
            RunWriter(path, manifest) as folder,
            orderly_interrupt(switch, watcher.interrupted),
        ):
            folder.add_cases(cases)
            for event in self._to_copy(folder.events(), {case.key for case in cases}):
                folder.record(event)
            ledger = self._ledger(folder.events(), scope)
            answered = [m.caller for m in self.models if isinstance(m, Model) and folder.has_reply(m.role.name, m.name)]
            going = {"answered": answered, "keep_going": scope.keep_going, "folder": path}
            self._gate.open(switch, spent, watcher, **going)
            give_up = None if scope.keep_going else self._give_up
            ways = {"source": source, "give_up": give_up, "together": self._gate.batch}
            runner = Runner(self, folder, ledger, switch, watcher, **ways)
            try:
                await runner.run(order, manifest.epochs, self._gate.concurrency)
                if silent := self._gate.silent():
                    raise switch.halt or ProviderDown(silent)
            except Halt:
                folder.leave_nothing_unanswered()
                raise
            finally:
                for model in self.models:
                    await model.aclose()
            every = cases, manifest.epochs
            unscored, pending = ledger.unscored(*every), ledger.pending(*every)
            retryable = ledger.retryable(*every) if has_hope(folder) else 0
            counts = unscored, retryable, ledger.by_content(*every) if retryable else 0, pending
            limits = greater_limits(folder, self.models) if unscored else {}
            return Completed(path, runner.stages, *counts, limits, ledger.labels_of_cases)

    def _give_up(self, key: StageKey, failures: Sequence[tuple[Failure, Sequence[Call]]]) -> Halt:
        judging = self._judges.get(key.judge or "") if key.stage == "verdict" else self._assistant
        return unusable_content(key, failures, judging and judging.model)

    def forecast(self, out: str | Path | None = None, scope: Scope = Scope()) -> RunForecast:
        """What `run` would do with the same arguments; no call is made, no key is needed and nothing is written."""
        self._check(out, scope)
        folder, declared = RunFolder(out or self.folder_of(scope.shard)), self._declared
        source, selection = self._source(scope), self._selection(scope)
        reused = source.results() if source else ()
        ledger = self._ledger(chain(reused, folder.events(), self._to_copy(folder.events())), scope)
        stages = [
            (work, key)
            for work in ledger.open_work(selection.cases, selection.manifest.epochs)
            for key in ledger.stages(work)
            # A response that is still to be written will be graded, so its verdicts count as open.
            if ledger.is_open(key) or (key.judge and ledger.is_open(ledger.stages(work)[0]))
        ]

        answers, roles = list[RoleCalls](), dict[str, RoleCalls]()
        if self._assistant:
            program, rule = self._assistant.ask.program, declared.rule(self._settings)
            unanswered = [work.case for work, key in stages if key.stage == "response"]

            def of_answers() -> Iterator[Sequence[ExpectedCall] | None]:
                for case in unanswered:
                    yield [] if rule else answer_calls(declared, case, program, self._settings)

            answers.append(RoleCalls.of(self._assistant.model, of_answers()))
            roles = {name: RoleCalls.of(model, of_answers(), name) for name, model in self._roles.items()}

        def of_grades(judge: str, program: Any) -> Iterator[Sequence[ExpectedCall] | None]:
            for work in (work for work, key in stages if key.judge == judge):
                kept = ledger.answer(work)
                answer = self.answer_type.model_validate(kept) if kept else None
                yield grade_calls(declared, work.case, answer, program, self._settings)

        judges = self._judges.items()
        grades = [RoleCalls.of(judge.model, of_grades(name, judge.ask.program)) for name, judge in judges]
        return RunForecast(
            RoleCalls.together(answers),
            RoleCalls.together(grades),
            self._gate.concurrency,
            assumption_of(declared, any(key.stage == "response" for _, key in stages)),
            max(Counter((work.case.chain, work.epoch) for work, _ in stages if work.case.chain).values(), default=0),
            roles,
            self._gate.batch,
        )

    def prompts(self, scope: Scope = Scope()) -> list[Prompt]:
        """What each model is sent first about the first case that needs no other's answer; no call is made.

        Nothing where a shard has no case.
        """
        cases = seeded_order(self._selection(scope).cases)
        if not cases:
            return []
        first = Chains(cases, [Work(case, 1) for case in cases], (), self.answer_type).ready[0].case
        answering = [(one.model, one.ask) for one in filter(None, [self._assistant]) if one.ask.lm]
        return prompts_of(self._declared, first, answering, [(one.model, one.ask) for one in self._judges.values()])

    # What the runner asks

    @property
    def answer_type(self) -> type[BaseModel]:
        """As what answers are read from disk."""
        return self._declared.answer_type

    def admitted(self, case: Case, judges: Sequence[str | None], answer: Any) -> AbstractAsyncContextManager[None]:
        """Inside, a case is answered, unless it has an answer, and graded; entered once the limits cover that."""
        calls = None if self._gate.limits == Limits() else self._expected(case, judges, answer)
        return self._gate.budget.case(calls, self._gate.switch)

    def _expected(
        self, case: Case, judges: Sequence[str | None], answer: Any
    ) -> Sequence[tuple[Caller | None, Cost]] | None:
        """Who makes each call on a case, and the most that it can cost, repairs apart; None where that is not known."""
        declared, settings = self._declared, self._settings
        stages = list[tuple[Model, Sequence[ExpectedCall] | None]]()
        if answer is None and self._assistant and declared.rule(settings) is None:
            program = self._assistant.ask.program
            stages.append((self._assistant.model, declared.forecast.answers(case, program, settings)))
        kept = self.answer_type.model_validate(answer) if answer else None
        for name in filter(None, judges):
            judge = self._judges[name]
            stages.append((judge.model, declared.forecast.grades(case, kept, judge.ask.program, settings)))
        if any(calls is None for _, calls in stages):
            return None
        called = [(self._roles[call.role] if call.role else own, call) for own, calls in stages for call in calls or ()]
        return [(model.caller, model.most(call.messages, call.images)) for model, call in called]

    async def answer(self, case: Case, earlier: Sequence[Any]) -> BaseModel:
        """Call the program under test; raises a `StageError` when there is no answer."""
        assert self._assistant is not None, "answers that exist are not asked for"
        ask = replace(self._assistant.ask, earlier=earlier)
        return await ask.answer(self._declared, case)

    async def grade(self, case: Case, answer: Any, judge: str | None) -> Scored[Any]:
        """Grade an answer by one of the judges, or without one; raises a `StageError` when there is no grade."""
        ask = self._judges[judge].ask if judge else Ask.in_run(None, None, self._settings)
        return await ask.grade(self._declared, case, answer)

    @property
    def models(self) -> list[AnyModel]:
        """All that are called: of the answers, and then of the judges."""
        return [model for participant in self._participants for model in participant.models]

    @property
    def _participants(self) -> list[Participant]:
        return [*filter(None, [self._assistant]), *self._judges.values()]

    @property
    def _roles(self) -> dict[str, Model]:
        """The models of the benchmark's further roles, by role."""
        further = self._assistant.further if self._assistant else {}
        return {name: model for name, model in further.items() if isinstance(model, Model)}

    def _check(self, out: str | Path | None, scope: Scope) -> None:
        """Raise a `UsageError` where nothing is asked for, the folder holds something else, or an app misses a part."""
        selection, path = self._selection(scope), Path(out or self.folder_of(scope.shard))
        cases, there = selection.cases, RunFolder(path)
        there.check(selection.with_shards)
        if there.exists and (batch := there.manifest().in_batches) != self._gate.batch:
            how, mend = ("in", "give `gate.batch`") if batch else ("without", "omit `gate.batch`")
            other = f"or name another folder with `out`, and take over what is here with `scope.reuse={path}`"
            raise UsageError(f"{path}: was begun {how} batches, which have another price; {mend} to go on, {other}")
        if (reused := self.reused(scope)) and Path(reused.path).resolve() == path.resolve():
            mend = "leave it out to go on with that run, or name another folder with `out`"
            raise UsageError(f"`scope.reuse={reused.path}`: is the folder of this very run; {mend}")
        if self._assistant and (require := self._assistant.require):
            require_taken(require, self._declared, cases, self._assistant.ask.program, self._settings)

    def reused(self, scope: Scope) -> ReusedRun | None:
        """The run whose stages are taken over, with what is not and why; None without one. Raises a `RunError`."""
        return RunFolder(scope.reuse).reused_by(self.manifest.identity) if scope.reuse else None

    def _source(self, scope: Scope) -> ReuseSource | None:
        return ReuseSource(RunFolder(scope.reuse), self.manifest.identity) if scope.reuse else None

    def _begun(self, answering: Participant | Responses) -> Manifest:
        declared, judges = self._declared, [*self._judges.values()]
        # The judges of a run have one program.
        strata = answering.strata if isinstance(answering, Responses) else ()
        there = {case.stratum for case in self._case_set.cases}
        speaking = [one for one in self._participants if one.stored or file_of(declared)]
        stored = [role for one in speaking for role in (one.model.role.name, *one.further)]
        cards = {"assistant": answering.card, "judge": judges[0].card if judges else None}
        return Manifest(
            identity=Identity(
                benchmark=declared.name,
                assistant=answering.identity,
                judges=tuple(judge.identity for judge in judges),
                settings=self._settings.model_dump(mode="json"),
                corpus=self._case_set.sha256,
                parent=self._copied and self._copied.parent,
                roles={name: model.identity for name, model in self._roles.items()},
            ),
            strata=strata or tuple(stratum for stratum in declared.strata if stratum in there),
            labels=tuple(declared.labels),
            ordered=not is_nominal(declared),
            control_labels=tuple(declared.controls.labels) if declared.controls else (),
            nouns=declared.nouns,
            about=declared.about,
            measures=tuple(measure.under(self._settings) for measure in declared.measures),
            system_prompt=answering.system_prompt,
            learned_on=answering.learned_on,
            variant=answering.variant,
            cards={role: card for role, card in cards.items() if card},
            embedded=any(role.embedded for role in (answering, *judges)),
            keeps_inputs=self._keeps_inputs,
            stored=tuple(dict.fromkeys(stored)),
            keeps_calls=True,
            answers=self._copied and self._copied.file,
            epochs=self._copied.epochs if self._copied else 1,
            judge_epochs=max((judge.votes for judge in judges), default=1),
            shards=self._copied and self._copied.shards and self._copied.shards.model_copy(update={"cases": ()}),
            corpus=self._case_set.corpus,
            assistant_price=answering.price,
            judge_prices={judge.model.name: judge.price for judge in judges},
            further_prices={name: m.price for name, m in self._assistant.further.items()} if self._assistant else {},
            overrides={
                **{name: model.overridden for name, model in self._roles.items()},
                "assistant": answering.overridden,
                "judge": tuple(sorted({name for judge in judges for name in judge.overridden})),
            },
            backend=self._gate.backend,
            versions=versions("pydantic"),
            salt=secrets.token_hex(8),
            created=now(),
        )

    def _selection(self, scope: Scope) -> Selection:
        return Selection(self._declared, self._case_set, self.manifest, self._copied, scope)

    def _ledger(self, events: Iterable[StageEvent], scope: Scope) -> Ledger:
        grading = Grading(list(self._judges), self._selection(scope).manifest.judge_epochs)
        return Ledger(events, grading, scope.retry_unscored, copied=self._copied is not None)

    def _to_copy(self, events: Iterable[StageEvent], keys: Collection[str] | None = None) -> list[StageEvent]:
        """The copied responses that are not here yet, or stand here as failures that the other run has mended."""
        copied = self._copied.new_beside(events) if self._copied else []
        return [event for event in copied if keys is None or event.key.case in keys]
