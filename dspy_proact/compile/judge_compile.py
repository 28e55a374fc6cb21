"""The judge of any benchmark, tuned to people's grades and tested out of fold."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import dspy

from dspy_proact.benchmarks.benchmark import Benchmark, Start, WorkedCase
from dspy_proact.benchmarks.compiled import compiled_program
from dspy_proact.benchmarks.evaluation import role_of
from dspy_proact.benchmarks.participant import fingerprint_of
from dspy_proact.benchmarks.registry import benchmark_named
from dspy_proact.compile.agreement import Agreement, Votes, fitted_cuts, is_cut, level_of, plain_cuts
from dspy_proact.compile.compile import Compile, models_of, require_unseen, suited
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.folds import Fold, balanced_folds, split
from dspy_proact.compile.forecast import Forecast, RoleForecast, answers_at_most, guarded_at_most, mean_tokens
from dspy_proact.compile.judge_card import make_card
from dspy_proact.compile.proposer import SHOWN, Excerpts
from dspy_proact.compile.training import Chosen, Training, side_by_side
from dspy_proact.compile.tuning import GradedAnswer, Tuning, Verdict, tamed
from dspy_proact.errors import ContentError, StageError, UsageError
from dspy_proact.models import Gate, Model, ModelSpec
from dspy_proact.programs import DataSource, Provenance, Recipe
from dspy_proact.programs.artefact import Artefact, Cuts, read_artefact
from dspy_proact.programs.asking import ours
from dspy_proact.runs import Case, Settings
from dspy_proact.stats import smallest_gain


class JudgeCompile(Compile):
    """A judge, people's grades, and how the one is tuned to the other.

    Args:
        ratings: People's grades in a form of the benchmark's own; None for those that it declares.
        judge: Is tuned.
        proposer: Writes instructions; the judge where None.
        benchmark: By its name, the path of its file, or itself.
        settings: Of the benchmark; its defaults where None.
        recipe: Optimizer, folds and seed; no more folds are made than there are units.
        votes: Verdicts on each answer.
        start: An artefact to go on from; the benchmark's judge as it is where None.
        guards: What the start gets right and no candidate may lose: `cases`, the worked cases of the judge's rules.
        gate: How calls are made, and what they may cost.

    Raises:
        UsageError: The grades cannot be learned from, the models cannot be called as asked, or the start is refused.
    """

    role = "judge"

    def __init__(
        self,
        ratings: Any = None,
        judge: ModelSpec | str = "embedded",
        proposer: ModelSpec | str | None = None,
        *,
        benchmark: "Benchmark[Any, Any] | str | None" = None,
        settings: Settings | None = None,
        recipe: Recipe | None = None,
        votes: int = 1,
        start: Path | None = None,
        guards: Collection[str] = (),
        gate: Gate | None = None,
    ):
        declared = benchmark_named(benchmark)
        self.declared, self.settings, self.votes = declared, settings or declared.settings_type(), votes
        self.tuning = declared.tuning(self.settings) or Tuning(declared, self.settings)
        if declared.judge(self.settings, Start()) is None:
            raise UsageError(f"{declared.name} is graded without a judge; there is none to tune")
        self.tuning.require("judge")
        self.graded = self.tuning.graded(ratings)
        self.items = self.graded.items
        if wrong := [guard for guard in guards if guard != "cases"]:
            raise UsageError(f"--guard {wrong[0]}: a judge is guarded by its worked cases alone: --guard cases")
        self._guarded = tuple(declared.worked_cases()) if guards else ()
        if guards and not self._guarded:
            raise UsageError(f"--guard cases: {declared.name} declares no worked cases; leave it out")
        recipe = suited(recipe or Recipe(), self.tuning, self.items, "judge")
        self._folds = balanced_folds(self.items, self.items, recipe.folds, recipe.seed, declared.nouns)
        self._artefact = self._checked(start) if start else None
        self._start = self.tuning.student(compiled_program(declared, self.settings, Start(file=start), "judge"))
        spec = ModelSpec.of(judge)
        super().__init__(models_of({"judge": (spec, role_of(declared, "judge"))}, proposer or spec), recipe, gate)

    def _checked(self, path: Path) -> Artefact:
        """The start; raises a `UsageError` where it has seen what is to be tested, or asks for other votes."""
        artefact = read_artefact(path, "judge")
        require_unseen(path, artefact.card, self.data.rows, f"the {self.declared.nouns.rows} of these grades")
        if artefact.votes != self.votes:
            raise UsageError(f"{path}: asks for {artefact.votes} verdicts an answer; give --votes {artefact.votes}")
        return artefact

    @property
    def data(self) -> DataSource:
        """The grades."""
        return self.graded.source

    @property
    def start(self) -> str:
        """Of what the start says, and how its verdicts are read."""
        return self._artefact.digest if self._artefact else fingerprint_of(self._start)

    @property
    def identity_settings(self) -> dict[str, Any]:
        """Verdicts on each answer, and the guard where there is one."""
        told = "\n".join(f"{case.name} {case.answer.model_dump_json()} {case.label}" for case in self._guarded)
        guards = {"guards": {"cases": hashlib.sha256(told.encode()).hexdigest()}} if self._guarded else {}
        return {
            "benchmark": self.declared.name,
            "settings": self.settings.model_dump(mode="json"),
            "votes": self.votes,
            **guards,
        }

    def task(self, models: Mapping[str, Model]) -> "JudgeTask":
        """The judge, tuned to the graded answers."""
        cut = self._artefact.cuts if self._artefact else {}
        return JudgeTask(
            CutJudge(self._start, {**plain_cuts(self.declared), **cut}),
            self.items,
            self.recipe,
            self._folds,
            Asker(self.declared, self.tuning, models["judge"].lm, self.votes, self._gate.concurrency),
            models["proposer"].lm,
            self._guarded,
        )

    def forecast(self) -> Forecast:
        """What `run` takes at most; no call is made and nothing is written."""
        recipe, calls = self.recipe, 2 * len(self.items) * self.votes
        for train in [*(fold.train for fold in self._folds), self.items]:
            learn, compare = map(len, split(train, recipe.seed))
            calls += answers_at_most(recipe, learn, compare) + compare * (self.votes - 1)
            calls += guarded_at_most(recipe, len(self._guarded) * self.votes)
        judge, program = self.models["judge"], self._start
        asked = [
            call
            for item in self.items
            for call in self.declared.grade_calls(item.case, item.answer, program, self.settings) or ()
        ]
        prompt = partial(mean_tokens, judge, [list(call.messages) for call in asked]) if asked else float
        longest = max((call.tokens[1] for call in asked), default=0)
        predictors = len(program.predictors())
        roles = {
            "judge": RoleForecast(calls, prompt, longest, judge.price),
            "proposer": RoleForecast.of_proposer(self.models["proposer"], recipe, predictors),
        }
        groups = len({item.group for item in self.items})
        gain = smallest_gain(len(self.items), groups, self.graded.raters) if is_cut(self.declared) else None
        return Forecast(roles, self._gate.concurrency, len(self.items), groups, gain, groups=self.declared.nouns.groups)

    def artefact(self, task: "JudgeTask", compiled: Compiled[Any, Any, Any], made: Provenance) -> Artefact:
        """The judge compiled on all items, and its card."""
        del task
        tuned: CutJudge = compiled.tuned
        card = make_card(self, compiled, made, self.models["judge"].price)
        return self.artefact_of(tuned.judge, card, votes=self.votes, cuts=dict(tuned.cuts))


@dataclass(frozen=True)
class CutJudge:
    """A judge, and from where on the mean level of its verdicts is the middle label and the best one, by stratum."""

    judge: Any
    cuts: Mapping[str, Cuts]
    cases: tuple[int, int, int] | None = None
    """Worked cases right before and after, and candidates that lost one; None without the guard."""


@dataclass(frozen=True)
class Asker:
    """A model under judges, and how often it is asked about an answer."""

    declared: Benchmark[Any, Any]
    tuning: Tuning
    lm: dspy.LM
    votes: int = 1
    width: int = 1
    """Answers at once."""

    def vote(self, judge: Any, case: Case, answer: Any) -> Votes:
        """A judge's verdicts on an answer, each under a rollout of its own."""
        lms = self.lm, *(self.lm.copy(rollout_id=number) for number in range(1, self.votes))
        return Votes(tuple(self._verdict(judge, case, answer, lm) for lm in lms))

    def vote_all(self, judge: Any, asked: Sequence[GradedAnswer | WorkedCase]) -> list[Votes]:
        """Those on several answers, in their order."""
        return side_by_side([partial(self.vote, judge, each.case, each.answer) for each in asked], self.width)

    def _verdict(self, judge: Any, case: Case, answer: Any, lm: dspy.LM) -> Verdict | None:
        try:
            with dspy.context(lm=lm, trace=None), ours():
                prediction = judge(**self.tuning.judge_inputs(case, answer))
                return Verdict(prediction, self.tuning.verdict(case, answer, prediction))
        except ContentError:
            return None


@dataclass(frozen=True)
class Graded:
    """What a judge made of one answer."""

    votes: Votes
    levels: Mapping[str, int]
    """By part that people graded, by the cuts; empty where no verdict could be read."""


@dataclass(frozen=True)
class JudgeTask:
    """How a judge is tuned to people's grades.

    Args:
        start: Where tuning starts.
        items: Graded answers.
        recipe: Folds, seed and optimizer.
        folds: Of whole units.
        asker: Asks the model under the judge.
        proposer_lm: Writes instructions.
        guarded: Worked cases of which none that the start gets right may be lost; empty for no guard.
    """

    start: CutJudge
    items: Sequence[GradedAnswer]
    recipe: Recipe
    folds: Sequence[Fold[GradedAnswer]]
    asker: Asker
    proposer_lm: dspy.LM
    guarded: Sequence[WorkedCase] = ()
    role: str = "judge"
    excerpts: Excerpts = field(default_factory=lambda: Excerpts(SHOWN))

    def training(self, train: Sequence[GradedAnswer], before: Mapping[str, Graded]) -> "JudgeTraining":
        """A third of the units, about, is compared on; answers shown rest on the start's verdicts on the others."""
        learn, compare = split(train, self.recipe.seed)
        items, tuning = [*learn, *compare], self.asker.tuning
        examples = {item.key: self.example(item) for item in items}
        firsts = {item.key: next(iter(before[item.key].votes.read), None) for item in learn}
        worked = [tuning.worked(item, self.example(item), firsts[item.key]) for item in learn]
        return JudgeTraining(
            student=self.start.judge.deepcopy(),
            learn=[examples[item.key] for item in learn],
            compare=[examples[item.key] for item in compare],
            groups={item.key: item.group for item in items},
            task_lm=self.asker.lm,
            proposer_lm=self.proposer_lm,
            proposal=tuning.proposal("judge"),
            width=self.asker.width,
            excerpts=self.excerpts,
            items={item.key: item for item in items},
            metric=Agreement(self.asker.declared, items),
            answers=[each for each in worked if each is not None],
            cuts=self.start.cuts,
            asker=self.asker,
            guarded=self.guarded,
        )

    def example(self, item: GradedAnswer) -> dspy.Example:
        """The inputs of the judge, and the key."""
        asked = self.asker.tuning.judge_inputs(item.case, item.answer)
        inputs = {name: tamed(value) for name, value in asked.items()}
        return dspy.Example(key=item.key, **inputs).with_inputs(*inputs)

    def finished(self, chosen: Chosen[Any], training: "JudgeTraining") -> CutJudge:
        """The judge with the cuts that its verdicts call for, on answers of which none is shown in it.

        They are the ones that candidates were compared on: their verdicts are there already. In a stratum where they
        would lose a guarded case the start's cuts stay.
        """
        judge, cuts = chosen.program, dict(self.start.cuts)
        if cuts:
            items = [training.items[example.key] for example in training.compare]
            votes = self.asker.vote_all(judge, items)
            cuts = fitted_cuts(self.asker.declared, items, votes, self.recipe.seed)
        if not self.guarded:
            return CutJudge(judge, cuts)
        given, before = training.given(judge), training.right_at_start
        lost = before - training.right(given, cuts)
        losing = {case.case.stratum for case in self.guarded if case.name in lost}
        kept = {stratum: self.start.cuts[stratum] if stratum in losing else cut for stratum, cut in cuts.items()}
        dropped = sum(bool(guards) for guards in chosen.broken.values())
        return CutJudge(judge, kept, (len(before), len(training.right(given, kept)), dropped))

    def test(self, tuned: CutJudge, item: GradedAnswer) -> Graded:
        """A judge's verdicts on an answer, and their levels by its cuts."""
        votes = self.asker.vote(tuned.judge, item.case, item.answer)
        levels = {
            part.name: level
            for part in self.asker.declared.graded_by_people
            if part.name in item.grades
            and (level := level_of(self.asker.declared, votes, part, tuned.cuts.get(item.case.stratum))) is not None
        }
        return Graded(votes, levels)

    def score(self, results: Mapping[str, Graded], items: Sequence[GradedAnswer]) -> float | None:
        """Mean metric by the labels of these items; what could not be read scores 0."""
        metric = Agreement(self.asker.declared, items)
        return fmean(metric.score(item, results[item.key].levels) for item in items)


@dataclass(frozen=True)
class JudgeTraining(Training[Any]):
    """Graded answers to learn from and to compare on."""

    items: Mapping[str, GradedAnswer]
    """The training set, by key."""
    metric: Agreement
    """By its labels."""
    answers: Sequence[dspy.Example]
    """Examples to learn from, as a judge that agrees with people would have answered them."""
    cuts: Mapping[str, Cuts]
    """Of the start."""
    asker: Asker
    guarded: Sequence[WorkedCase] = ()

    @property
    def labelled(self) -> Sequence[dspy.Example]:
        """By people's grades."""
        return self.answers

    @cached_property
    def right_at_start(self) -> frozenset[str]:
        """Worked cases that the student gets right."""
        return self.right(self.given(self.student), self.cuts)

    def given(self, judge: Any) -> Mapping[str, Votes]:
        """A judge's verdicts on each worked case, by name."""
        votes = self.asker.vote_all(judge, self.guarded)
        return {case.name: each for case, each in zip(self.guarded, votes, strict=True)}

    def right(self, given: Mapping[str, Votes], cuts: Mapping[str, Cuts]) -> frozenset[str]:
        """Names of the cases whose label is that of the rules, by these cuts."""
        declared = self.asker.declared
        part = declared.graded_by_people[0]
        return frozenset(
            case.name
            for case in self.guarded
            if (level := level_of(declared, given[case.name], part, cuts.get(case.case.stratum))) is not None
            and part.levels[level] == case.label
        )

    def broken(self, program: Any) -> tuple[str, ...]:
        """The guard, where the program loses a worked case that the student gets right."""
        if not self.guarded:
            return ()
        return ("cases",) if self.right_at_start - self.right(self.given(program), self.cuts) else ()

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """Agreement with people beyond what a constant answer earns."""
        item, verdict = self.items[example.key], self._verdict(example, prediction)
        if verdict is None:
            return 0.0
        declared, votes = self.asker.declared, Votes((verdict,))
        levels = {part.name: level_of(declared, votes, part) for part in declared.graded_by_people}
        return self.metric.score(item, {name: level for name, level in levels.items() if level is not None})

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        """Whether the verdict is nearer to its own label than to those of others."""
        return self.score(example, prediction) > 0.5

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What people said of an answer, and what the judge said."""
        verdict = self._verdict(example, prediction)
        return self.asker.tuning.judge_feedback(self.items[example.key], verdict) if verdict else "It cannot be read."

    def shortfall(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """The answer with what may be told of its verdict."""
        verdict, told = self._verdict(example, prediction), self.feedback(example, prediction)
        return self.asker.tuning.judge_shortfall(self.items[example.key], verdict, told) if verdict else told

    def _verdict(self, example: dspy.Example, prediction: dspy.Prediction) -> Verdict | None:
        item = self.items[example.key]
        try:
            return Verdict(prediction, self.asker.tuning.verdict(item.case, item.answer, prediction))
        except StageError:
            return None
