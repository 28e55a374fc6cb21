"""The judge of any benchmark, tuned to people's grades and tested out of fold."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import dspy

from dspy_proact.compile.agreement import Agreement, Votes, fitted_cuts, is_cut, level_of, levels_of, plain_cuts
from dspy_proact.compile.card import judge_card
from dspy_proact.compile.compile import Compile, unseen
from dspy_proact.compile.folds import joined, split
from dspy_proact.compile.forecast import Forecast, RoleForecast, answers_at_most, guarded_at_most, mean_tokens
from dspy_proact.compile.training import Chosen, Compiled, Training, side_by_side
from dspy_proact.compile.tuning import GradedAnswer, ScoredPrediction
from dspy_proact.errors import ContentError, StageError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark, Start, WorkedCase
from dspy_proact.evaluation.compiled import compiled_program
from dspy_proact.evaluation.evaluation import role_of
from dspy_proact.evaluation.participant import fingerprint_of
from dspy_proact.evaluation.ratings import Ratings
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.programs import Provenance, Recipe
from dspy_proact.programs.artefact import Artefact, Cuts, read_artefact
from dspy_proact.programs.asking import ours
from dspy_proact.runs import Case, Settings
from dspy_proact.stats import smallest_gain


@dataclass(frozen=True)
class CutJudge:
    """A judge, and the cuts on the mean level of its verdicts, by stratum."""

    judge: Any
    cuts: Mapping[str, Cuts]
    cases: tuple[int, int] | None = None
    """Worked cases right before and after; None without the guard."""


@dataclass(frozen=True)
class Graded:
    """Verdicts of a judge on one answer."""

    votes: Votes
    levels: Mapping[str, int]
    """By part, by the cuts; empty where no verdict could be read."""


class JudgeCompile(Compile):
    """A judge, people's grades, and how the one is tuned to the other.

    Args:
        ratings: People's grades; None for those that the benchmark declares, of its sample.
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
        ratings: Ratings | None = None,
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
        super().__init__(benchmark or (ratings and ratings.benchmark), settings, gate)
        declared, self.votes = self.declared, votes
        if ratings and ratings.benchmark != declared.name:
            raise UsageError(f"{ratings.name}: ratings of {ratings.benchmark}, and the judge is {declared.name}'s")
        if declared.judge(self.settings, Start()) is None:
            raise UsageError(f"{declared.name} is graded without a judge; there is none to tune")
        self.tuning.require("judge")
        self.graded = self.tuning.graded(ratings)
        views = {item.key: item.case.view for item in self.graded.items}
        units = joined({item.key: item.unit for item in self.graded.items}, views)
        self.items = tuple(replace(item, unit=units[item.key]) for item in self.graded.items)
        self.data = self.graded.source
        if wrong := [guard for guard in guards if guard != "cases"]:
            raise UsageError(f"`guards={wrong[0]}`: a judge is guarded by its worked cases alone: `guards=cases`")
        self.guarded = tuple(declared.worked_cases()) if guards else ()
        if guards and not self.guarded:
            raise UsageError(f"`guards=cases`: {declared.name} declares no worked cases; leave it out")
        program = self.tuning.student(compiled_program(declared, self.settings, Start(file=start), "judge"))
        self._divide(recipe, self.items, program)
        cuts, digest = plain_cuts(declared), None
        if start:
            artefact = read_artefact(start, "judge")
            self.learned_before = unseen(
                start, artefact.card, self.data.rows, f"the {declared.nouns.rows} of these grades"
            )
            if artefact.votes != votes:
                asks = f"asks for {artefact.votes} verdicts an answer"
                raise UsageError(f"{start}: {asks}; give `votes={artefact.votes}`")
            cuts, digest = cuts | artefact.cuts, artefact.digest
        self.program, self.start = CutJudge(program, cuts), digest or fingerprint_of(program)
        worked = "\n".join(f"{case.name} {case.answer.model_dump_json()} {case.label}" for case in self.guarded)
        guard = {"guards": {"cases": hashlib.sha256(worked.encode()).hexdigest()}} if guards else {}
        self.identity_settings = {"votes": votes, **guard}
        spec = ModelSpec.of(judge)
        self._name_models({"judge": (spec, role_of(declared, "judge"))}, proposer or spec)

    def inputs(self, item: GradedAnswer) -> Mapping[str, Any]:
        """Inputs of the judge on an answer."""
        return self.tuning.judge_inputs(item.case, item.answer)

    def vote(self, judge: Any, case: Case, answer: Any) -> Votes:
        """A judge's verdicts on an answer, each under a rollout of its own; those that could be read."""
        lm = self.models["judge"].lm
        lms = lm, *(lm.copy(rollout_id=number) for number in range(1, self.votes))
        verdicts: list[ScoredPrediction] = []
        for each in lms:
            with suppress(ContentError), dspy.context(lm=each, trace=None), ours():
                prediction = judge(**self.tuning.judge_inputs(case, answer))
                verdicts.append(ScoredPrediction(prediction, self.tuning.verdict(case, answer, prediction)))
        return verdicts

    def vote_all(self, judge: Any, asked: Sequence[GradedAnswer | WorkedCase]) -> list[Votes]:
        """Those on several answers, in their order."""
        return side_by_side([partial(self.vote, judge, each.case, each.answer) for each in asked], self.width)

    def training(self, train: Sequence[GradedAnswer], before: Mapping[str, Graded]) -> "JudgeTraining":
        """About a third of the units is compared on; demos rest on the start's verdicts on the others."""
        return JudgeTraining(self, train, before)

    def finished(self, chosen: Chosen, training: "JudgeTraining") -> CutJudge:
        """The judge with the cuts that its verdicts call for, on answers of which none is shown in it.

        They are the ones that candidates were compared on: their verdicts are there already. In a stratum where they
        would lose a guarded case the start's cuts stay.
        """
        judge, cuts = chosen.program, dict(self.program.cuts)
        if cuts:
            items = [training.items[example.key] for example in training.compare]
            cuts = fitted_cuts(self.declared, items, self.vote_all(judge, items), self.recipe.seed)
        if not self.guarded:
            return CutJudge(judge, cuts)
        given, before = training.given(judge), training.right_at_start
        lost = before - training.right(given, cuts)
        losing = {case.case.stratum for case in self.guarded if case.name in lost}
        kept = {stratum: self.program.cuts[stratum] if stratum in losing else cut for stratum, cut in cuts.items()}
        return CutJudge(judge, kept, (len(before), len(training.right(given, kept))))

    def test(self, tuned: CutJudge, item: GradedAnswer) -> Graded:
        """A judge's verdicts on an answer, and their levels by its cuts."""
        votes = self.vote(tuned.judge, item.case, item.answer)
        return Graded(votes, levels_of(self.declared, votes, tuned.cuts.get(item.case.stratum)))

    def score(self, results: Mapping[str, Graded], items: Sequence[GradedAnswer]) -> float | None:
        """Mean metric by the labels of these items; what could not be read scores 0."""
        metric = Agreement(self.declared, items)
        return fmean(metric.score(item, results[item.key].levels) for item in items)

    def forecast(self) -> Forecast:
        """The most that `run` takes; nothing is sent or written."""
        recipe, calls = self.recipe, 2 * len(self.items) * self.votes
        for train in [*(fold.train for fold in self.folds), self.items]:
            learn, compare = map(len, split(train, recipe.seed))
            calls += answers_at_most(recipe, learn, compare) + compare * (self.votes - 1)
            calls += guarded_at_most(recipe, len(self.guarded) * self.votes)
        model, judge = self.models["judge"], self.program.judge
        graded = (self.declared.forecast.grades(item.case, item.answer, judge, self.settings) for item in self.items)
        asked = [call for each in graded for call in each or ()]
        longest, predictors = max((call.tokens[1] for call in asked), default=0), len(judge.predictors())
        roles = {
            "judge": RoleForecast(calls, partial(mean_tokens, model, asked), longest, model.price),
            "proposer": RoleForecast.of_proposer(self.models["proposer"], recipe, predictors),
        }
        groups = len({item.group for item in self.items})
        gain = smallest_gain(len(self.items), groups, self.graded.raters) if is_cut(self.declared) else None
        return Forecast(roles, self.width, len(self.items), groups, gain, groups=self.declared.nouns.groups)

    def artefact(self, compiled: Compiled, made: Provenance) -> Artefact:
        """The judge compiled on all items, and its card."""
        tuned: CutJudge = compiled.tuned
        return self.artefact_of(tuned.judge, judge_card(self, compiled, made), votes=self.votes, cuts=dict(tuned.cuts))


class JudgeTraining(Training):
    """Graded answers to learn from and to compare on.

    Args:
        compiling: Its judge's model is asked.
        train: Graded answers of a training set.
        before: The start's verdicts on them.
    """

    def __init__(self, compiling: JudgeCompile, train: Sequence[GradedAnswer], before: Mapping[str, Graded]):
        learn, compare = split(train, compiling.recipe.seed)
        super().__init__(compiling, compiling.program.judge.deepcopy(), learn, compare)
        self.compiling, self.metric = compiling, Agreement(compiling.declared, [*learn, *compare])
        firsts = [next(iter(before[item.key].votes), None) for item in learn]
        shown = zip(learn, firsts, strict=True)
        worked = [self.tuning.worked(item, compiling.example(item), first) for item, first in shown]
        self.labelled = [each for each in worked if each is not None]

    @cached_property
    def right_at_start(self) -> frozenset[str]:
        """Worked cases that the student gets right."""
        return self.right(self.given(self.student), self.compiling.program.cuts)

    def given(self, judge: Any) -> Mapping[str, Votes]:
        """A judge's verdicts on each worked case, by name."""
        cases = self.compiling.guarded
        return {case.name: each for case, each in zip(cases, self.compiling.vote_all(judge, cases), strict=True)}

    def right(self, given: Mapping[str, Votes], cuts: Mapping[str, Cuts]) -> frozenset[str]:
        """Names of the cases whose label is that of the rules, by these cuts."""
        declared = self.compiling.declared
        part = declared.graded_by_people[0]
        return frozenset(
            case.name
            for case in self.compiling.guarded
            if (level := level_of(declared, given[case.name], part, cuts.get(case.case.stratum))) is not None
            and part.levels[level] == case.label
        )

    def broken(self, program: Any) -> tuple[str, ...]:
        """The guard, where the program loses a worked case that the student gets right."""
        if not self.compiling.guarded:
            return ()
        right = self.right(self.given(program), self.compiling.program.cuts)
        return ("cases",) if self.right_at_start - right else ()

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """Agreement with people beyond what a constant answer earns."""
        verdict = self._verdict(example, prediction)
        levels = levels_of(self.compiling.declared, [verdict]) if verdict else {}
        return self.metric.score(self.items[example.key], levels)

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        """Whether the verdict is nearer to its own label than to those of others."""
        return self.score(example, prediction) > 0.5

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What people said of an answer, and what the judge said."""
        verdict = self._verdict(example, prediction)
        return self.tuning.judge_feedback(self.items[example.key], verdict) if verdict else "It cannot be read."

    def shortfall(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """The answer with what may be told of its verdict."""
        verdict, feedback = self._verdict(example, prediction), self.feedback(example, prediction)
        return self.tuning.judge_shortfall(self.items[example.key], verdict, feedback) if verdict else feedback

    def _verdict(self, example: dspy.Example, prediction: dspy.Prediction) -> ScoredPrediction | None:
        item = self.items[example.key]
        try:
            return ScoredPrediction(prediction, self.tuning.verdict(item.case, item.answer, prediction))
        except StageError:
            return None
