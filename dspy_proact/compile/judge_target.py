"""The judge of any benchmark as what is compiled: tuned to people's grades, and tested on them."""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import dspy

from dspy_proact.compile.agreement import (
    Agreement,
    Voted,
    Votes,
    feedback_on,
    fitted_cuts,
    graded_parts,
    level_of,
    levels_of,
    plain_cuts,
)
from dspy_proact.compile.folds import split
from dspy_proact.compile.forecast import RoleForecast, answers_at_most, guarded_at_most
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.target import PROPOSER, OutOfFold, Target, Tuned
from dspy_proact.errors import ContentError, StageError, UsageError
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark, Start
from dspy_proact.evaluation.participant import role_of
from dspy_proact.evaluation.people import WorkedCase, is_cut, is_kappa, parts_of, worked_cases_of
from dspy_proact.evaluation.ratings import RatedItem, Ratings, ratings_named
from dspy_proact.evaluation.rendered import grade_calls
from dspy_proact.evaluation.tuning import Feedback, ScoredPrediction
from dspy_proact.models import ModelSpec
from dspy_proact.plain_text import map_texts, tame
from dspy_proact.programs.artefact import Cuts
from dspy_proact.programs.asking import run_here
from dspy_proact.programs.card import DataSource, overlap, texts_in
from dspy_proact.programs.card_rows import numbers_of
from dspy_proact.recipe import Recipe
from dspy_proact.runs import HELD_BACK, Nouns, Settings, require_public
from dspy_proact.stats import detectable_gain

if TYPE_CHECKING:
    from dspy_proact.compile.training import Training

_ENOUGH = 200
"""Items from which on gains that are worth having can be shown, by simulation (eval/README.md)."""
_WIDE, _RATERS = 25, 8
"""Groups and raters that such a study should have."""


class JudgeTarget(Target):
    """A judge, and people's grades that it is tuned to and tested on.

    Raises a `UsageError` where there is no judge, the grades cannot be learned from, or the start is refused.

    Args:
        ratings: People's grades; None for those that the benchmark declares, of its sample.
        judge: Model under the judge.
        proposer: Who writes instructions; the judge where None.
        benchmark: By its name, the path of its file, or itself.
        settings: Of the benchmark; its defaults where None.
        votes: Verdicts on each answer.
        start: An artefact to go on from; the benchmark's judge as it is where None.
        guards: `cases`, the worked cases of the judge's rules, of which no candidate may lose one that the start gets
            right; `none` to allow for longer verdicts.
        limit: The most rated answers, in the order in which `Scope(limit=...)` takes cases; None for all.
    """

    role = "judge"
    items: Sequence[RatedItem]
    _agreement: Agreement
    """By the grades of one training set."""

    def __init__(
        self,
        ratings: Ratings | None = None,
        judge: ModelSpec | str = "embedded",
        proposer: ModelSpec | str | None = None,
        *,
        benchmark: Benchmark[Any, Any] | str | None = None,
        settings: Settings | None = None,
        votes: int = 1,
        start: Path | None = None,
        guards: Collection[str] = (),
        limit: int | None = None,
    ):
        super().__init__(benchmark or (ratings and ratings.benchmark), settings)
        declared, self.votes = self.declared, votes
        if ratings and ratings.benchmark != declared.name:
            raise UsageError(f"{ratings.name}: ratings of {ratings.benchmark}, and the judge is {declared.name}'s")
        if declared.judge(self.settings, Start()) is None:
            raise UsageError(f"{declared.name} is graded without a judge; there is none to tune")
        read = ratings or ratings_named(declared, "sample", self.settings)
        assert read is not None, "the sample is a name of ratings"
        self.ratings = read = read.limited(limit)
        items = self._graded(read)
        require_public(read.name, any(item.case.meta.get(HELD_BACK) for item in items))
        self._read(items, [item.case for item in items])
        self.data = DataSource(
            name=read.name,
            sha256=read.sha256,
            revision=read.source.commit,
            files=dict(read.source.files),
            rows=tuple(sorted({declared.mark(item.case.view) for item in items})),
        )
        if wrong := [guard for guard in guards if guard not in ("cases", "none")]:
            raise UsageError(f"`guards={wrong[0]}`: a judge is guarded by its worked cases, `guards=cases`, or `none`")
        self.guarded_by_default = "none" not in guards
        self.worked = tuple(worked_cases_of(declared)) if "cases" in guards else ()
        if "cases" in guards and not self.worked:
            raise UsageError(f"`guards=cases`: {declared.name} declares no worked cases; leave it out")
        artefact, cuts = self._begin(Start(file=start), f"the {declared.nouns.rows} of these grades"), {}
        if artefact:
            cuts = artefact.cuts
            if artefact.votes != votes:
                asks = f"asks for {artefact.votes} verdicts an answer"
                raise UsageError(f"{start}: {asks}; give `votes={artefact.votes}`")
        self.start = Tuned(self.start.program, plain_cuts(declared) | cuts)
        self.identity = {"votes": votes, "guarded_by_default": self.guarded_by_default}
        if self.worked:
            worked = "\n".join(f"{case.name} {case.answer.model_dump_json()} {case.label}" for case in self.worked)
            self.identity["guards"] = {"cases": hashlib.sha256(worked.encode()).hexdigest()}
        spec = ModelSpec.of(judge)
        models = {"judge": (spec, role_of(declared, "judge"))}
        self.specs = {**models, "proposer": (ModelSpec.of(proposer or spec), PROPOSER)}

    def _graded(self, ratings: Ratings) -> list[RatedItem]:
        """Rated answers as the judge is asked about them, with grades of tuned parts; a `UsageError` without any."""
        if any(not item.judgeable for item in ratings.rated):
            raise UsageError(
                f"{ratings.name}: has ratings without conversations and responses, so that no judge can be tuned to "
                "it; name ratings that come with what was rated, with `ratings`"
            )
        parts = [part.name for part in parts_of(self.declared) if part.tuned]
        graded = [
            replace(item, grades=grades)
            for item in ratings.rated
            if (grades := {part: item.grades[part] for part in parts if part in item.grades})
        ]
        if not graded:
            raise UsageError(f"{ratings.name}: nobody has graded anything in it to which the judge is tuned")
        return [question for item in graded for question in self.tuning.judge_items(item)]

    @property
    def raters(self) -> int:
        """How many people graded the items."""
        grades = [grade for item in self.items for own in item.grades.values() for grade in own]
        return len({grade.rater for grade in grades})

    def learning_from(self, items: Sequence[RatedItem]) -> Self:
        """A copy that knows the grades of these answers alone."""
        made = super().learning_from(items)
        made._agreement = Agreement(self.declared, items)
        return made

    def inputs(self, item: RatedItem) -> Mapping[str, Any]:
        """Inputs of the judge on an answer."""
        return self.tuning.question(item.case, item.answer).inputs

    def answer(self, program: Any, item: RatedItem) -> dspy.Prediction:
        """A judge's verdict on an answer."""
        return self._verdict(program, self.models["judge"].lm, self.inputs(item))

    def _verdict(self, judge: Any, lm: Any, inputs: Mapping[str, Any]) -> dspy.Prediction:
        return run_here(Ask.in_compile(judge, lm, self.settings)(**inputs))

    def vote(self, judge: Any, item: RatedItem | WorkedCase) -> Votes:
        """A judge's verdicts on an answer, each under a rollout of its own; those that could be read."""
        lm = self.models["judge"].lm
        verdicts, question = list[ScoredPrediction](), self.tuning.question(item.case, item.answer)
        for rollout in (lm, *(lm.copy(rollout_id=number) for number in range(1, self.votes))):
            with suppress(ContentError), dspy.context(trace=None):
                prediction = self._verdict(judge, rollout, question.inputs)
                verdicts.append(ScoredPrediction(prediction, question.read(prediction)))
        return verdicts

    def vote_all(self, judge: Any, items: Sequence[RatedItem | WorkedCase]) -> list[Votes]:
        """Those on several answers, in their order."""
        return side_by_side([partial(self.vote, judge, item) for item in items], self.width)

    # What it learns from

    def example(self, item: RatedItem) -> dspy.Example:
        """The inputs of the judge at an item, as a worked example shows them, and its key."""
        inputs = {name: map_texts(value, tame) for name, value in self.inputs(item).items()}
        return dspy.Example(key=item.key, **inputs).with_inputs(*inputs)

    def labelled(self, items: Sequence[RatedItem], before: Mapping[str, Voted]) -> list[dspy.Example]:
        """The answers with what a judge that agrees with people would say, as far as the tuning knows it."""
        firsts = [next(iter(before[item.key].votes), None) for item in items]
        worked = [
            self.tuning.worked(item, self.example(item), first) for item, first in zip(items, firsts, strict=True)
        ]
        return [example for example in worked if example is not None]

    def feedback(self, item: RatedItem, prediction: dspy.Prediction) -> Feedback:
        """GEPA's feedback: agreement with people beyond what a constant answer earns, and what differs from them."""
        try:
            scored = self.tuning.question(item.case, item.answer).read(prediction)
        except StageError:
            return Feedback("It cannot be read.", self._agreement.score(item, {}), "unreadable")
        judgement = ScoredPrediction(prediction, scored)
        score = self._agreement.score(item, levels_of(self.declared, [judgement]))
        return replace(feedback_on(self.declared, item, judgement), score=score)

    def is_worth_showing(self, item: RatedItem, prediction: dspy.Prediction) -> bool:
        """Whether the verdict is nearer to its own label than to those of others."""
        return (self.feedback(item, prediction).score or 0.0) > 0.5

    def guarded(self, program: Any) -> Mapping[str, Votes]:
        """A judge's verdicts on each worked case, by name."""
        votes = self.vote_all(program, self.worked)
        return {case.name: verdicts for case, verdicts in zip(self.worked, votes, strict=True)}

    def broken(self, before: Mapping[str, Votes], after: Mapping[str, Votes]) -> tuple[str, ...]:
        """The guard, where a worked case is lost that the start gets right."""
        cuts = self.start.cuts
        return ("cases",) if self.right(before, cuts) - self.right(after, cuts) else ()

    def right(self, votes: Mapping[str, Votes], cuts: Mapping[str, Cuts]) -> frozenset[str]:
        """Names of the worked cases whose label is that of the rules, by these cuts."""
        part = parts_of(self.declared)[0]
        levels = {
            case.name: level_of(self.declared, votes[case.name], part, cuts.get(case.case.stratum))
            for case in self.worked
        }
        labels = {name: None if level is None else part.levels[level] for name, level in levels.items()}
        return frozenset(case.name for case in self.worked if labels[case.name] == case.label)

    def finished(self, program: Any, training: "Training") -> Tuned:
        """The judge with the cuts that its verdicts call for, on answers of which none is shown in it.

        Their first verdicts are there already, from the race. In a stratum where the cuts would lose a guarded case
        those of the start stay.
        """
        cuts, shown = dict(self.start.cuts), training.shown_in(program)
        if cuts:
            unseen = [item for item in training.chosen if item.key not in shown]
            cuts = fitted_cuts(self.declared, unseen, self.units, self.vote_all(program, unseen), training.seed)
        if not self.worked:
            return Tuned(program, cuts)
        votes, right = self.guarded(program), self.right(training.guarded_at_start, self.start.cuts)
        lost = right - self.right(votes, cuts)
        losing = {case.case.stratum for case in self.worked if case.name in lost}
        kept = {stratum: self.start.cuts[stratum] if stratum in losing else cut for stratum, cut in cuts.items()}
        return Tuned(program, kept, (len(right), len(self.right(votes, kept))))

    # What is tested

    def test(self, tuned: Tuned, item: RatedItem) -> Voted:
        """A judge's verdicts on an answer, as far as they could be read, and their levels by its cuts."""
        votes = self.vote(tuned.program, item)
        return Voted(votes, levels_of(self.declared, votes, tuned.cuts.get(item.stratum)))

    @property
    def nouns(self) -> Nouns:
        """Its items are answers."""
        return self.declared.nouns.model_copy(update={"case": "graded answer", "cases": "graded answers"})

    def card(self, tuned: Tuned, tests: OutOfFold) -> dict[str, Any]:
        """People's grades, the judge's levels before and after, and whether its quotes stand in the answers."""
        items = self.items
        before, after = (
            [[check.scored.verified for check in tested.results[item.key].votes] for item in items]
            for tested in (tests.before, tests.after)
        )
        scores = self.item_scores(
            tests,
            parts=graded_parts(self.declared, items, tests),
            evidence_before=tuple(tuple(check for check in own if check is not None) for own in before),
            evidence_after=tuple(tuple(check for check in own if check is not None) for own in after),
        )
        counts: dict[str, tuple[int, int]] = {}
        if tuned.worked:
            count = len(worked_cases_of(self.declared))
            counts = {"cases before": (tuned.worked[0], count), "cases after": (tuned.worked[1], count)}
        demos = max(len(predictor.demos) for predictor in tuned.program.predictors())
        cuts = {f"{stratum} {cut.partial:g}/{cut.full:g}" for stratum, cut in tuned.cuts.items()}
        notes = [f"{demos} worked examples, cuts on the mean level: {', '.join(sorted(cuts)) or 'none'}"]
        if is_cut(self.declared) and not numbers_of(scores, self.nouns).change.shown:
            notes.insert(0, self._advice())
        texts = [text for item in items for text in texts_in(self.inputs(item))]
        texts += [grade.reason for item in items for grades in item.grades.values() for grade in grades]
        return {
            "item_scores": scores,
            "notes": (*notes, *self.tuning.notes(0, self.ratings.about)),
            "guards": ({"cases": 0.0} if tuned.worked else {}) | self.default_guards,
            "further_counts": counts,
            "overlap": {"items": overlap(tuned.instruction, texts)},
        }

    def _advice(self) -> str:
        """Which answers people should grade next."""
        groups = self.declared.nouns.groups
        counts = {stratum: sum(item.stratum == stratum for item in self.items) for stratum in self.declared.strata}
        fewest, more = min(counts, key=lambda stratum: counts[stratum]), max(_ENOUGH, 2 * len(self.items))
        gain = detectable_gain((more / _WIDE,) * _WIDE, _RATERS)
        assert gain, "enough for a claim"
        return (
            f"To show an improvement, have answers of further {groups} graded, {fewest} first (it has "
            f"{counts[fewest]}): {more} answers, as many in each of {_WIDE} {groups}, by {_RATERS} raters, have 80 % "
            f"power to detect a gain in kappa of {gain[0]:.2f} to {gain[1]:.2f}, nearer the lower end if both judges "
            "err alike"
        )

    # What it takes

    def tuned_at_most(self, recipe: Recipe, train: Sequence[RatedItem]) -> int:
        """The most verdicts that an optimizer, the fitting of cuts and the guard ask for on one training set."""
        learn, compare = map(len, split(train, self.units, recipe.seed))
        answers = answers_at_most(recipe, learn, compare) + (learn + compare) * (self.votes - 1)
        return answers + guarded_at_most(recipe, len(self.worked) * self.votes)

    def roles(self, recipe: Recipe, tuned: int) -> Mapping[str, RoleForecast]:
        """What judge and proposer are asked."""
        judge, declared = self.start.program, self.declared
        stages = [grade_calls(declared, item.case, item.answer, judge, self.settings) for item in self.items]
        one = [stage and stage[:1] for stage in stages]  # a verdict is one question
        count, predictors = 2 * len(self.items) * self.votes + tuned, len(judge.predictors())
        return {
            "judge": RoleForecast.of_stages(self.models["judge"], count, one, least=1),
            "proposer": RoleForecast.of_proposer(self.models["proposer"], recipe, predictors, len(self.proposal.tips)),
        }

    @property
    def in_kappa(self) -> bool:
        """Where people grade answers as a whole, on more than two levels."""
        return is_kappa(self.declared)

    @property
    def detectable_gain(self) -> tuple[float, float] | None:
        """None where all grades are alike, of which there is no kappa, and on scales that no simulation was made of."""
        if not self.in_kappa:
            return super().detectable_gain
        if not is_cut(self.declared):
            return None
        grades = {grade.grade for item in self.items for own in item.grades.values() for grade in own}
        sizes = Counter(item.group for item in self.items).values()
        return detectable_gain([*sizes], self.raters) if len(grades) > 1 else None
