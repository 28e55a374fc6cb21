"""The program under test of any benchmark as what is compiled: tuned by one judge, tested by another."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import dspy
from pydantic import BaseModel

from dspy_proact.calls import collect_calls, uncollected
from dspy_proact.compile.chains import ChainAnswers, in_turns
from dspy_proact.compile.folds import split
from dspy_proact.compile.forecast import RoleForecast, answers_at_most, guarded_at_most
from dspy_proact.compile.measured import Examined, columns_of, guards_of, measured_of, tokens_of
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.target import PROPOSER, OutOfFold, Target, Tuned
from dspy_proact.errors import ContentError, UsageError
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import NO_ROLES, Benchmark, Start
from dspy_proact.evaluation.checks import checked, require_inputs
from dspy_proact.evaluation.participant import Roles, fingerprint_of, further_specs, role_of
from dspy_proact.evaluation.rendered import answer_calls, grade_calls
from dspy_proact.evaluation.tuning import Feedback
from dspy_proact.models import EMBEDDED, AllowedModels, Model, ModelSpec
from dspy_proact.programs.asking import run_here
from dspy_proact.programs.card import DataSource, overlap, texts_in
from dspy_proact.recipe import Recipe
from dspy_proact.runs import CONTROL, Case, CaseSet, Scored, Settings, as_kept, limited, require_public


class AssistantTarget(Target):
    """A program under test, and the cases that it is tuned and tested on.

    Raises a `UsageError` where there is nothing to tune or to guard, or the start is refused.

    Args:
        corpus: As the benchmark reads it: `sample`, the published one's name, a path, or cases that were read.
        model: Under the program.
        judge: Whose grades optimizers see.
        report_judge: Who tests out of fold; the card says so where it is the same model as the tuning judge.
        proposer: Who writes instructions; the tuning judge where None.
        benchmark: By its name, the path of its file, or itself.
        settings: Of the benchmark; its defaults where None.
        strata: Whose cases it is tuned on; those that the benchmark names where none are given.
        margins: Of the guards that are asked for, by the names of rows of the card; None for the usual one. The name
            `none` lifts those that apply by default: on other strata, and on completion tokens.
        system_prompt: What the program is told at the start; its own where None.
        start: An artefact to go on from instead.
        revision: Of the published corpus.
        roles: The model of each further role of the answers; as in `Evaluation`.
        limit: The most cases, the same that `Scope(limit=...)` takes, and as many control cases; None for all.
    """

    role = "assistant"
    taught = True
    items: Sequence[Case]
    _chains: ChainAnswers
    _graded: dict[tuple[str, str], Scored[Any] | None]
    """Of one training set, grades by case and answer; None for a verdict that could not be read."""

    def __init__(
        self,
        corpus: Any = "sample",
        model: ModelSpec | str = "embedded",
        judge: ModelSpec | str = "embedded",
        report_judge: ModelSpec | str = "embedded",
        proposer: ModelSpec | str | None = None,
        *,
        benchmark: Benchmark[Any, Any] | str | None = None,
        settings: Settings | None = None,
        strata: Sequence[str] = (),
        margins: Mapping[str, float | None] | None = None,
        system_prompt: str | None = None,
        start: Path | None = None,
        revision: str | None = None,
        roles: Roles = NO_ROLES,
        limit: int | None = None,
    ):
        super().__init__(benchmark, settings)
        declared = self.declared
        if not isinstance(corpus, CaseSet):
            corpus = checked(declared, "read", declared.read(corpus, self.settings, revision))
        corpus.require(self.settings)
        require_public(corpus.corpus.name, corpus.corpus.held_back)
        self.case_set = limited(corpus, limit)
        self._read(in_turns(self.case_set.cases), self.case_set.cases)
        if wrong := [name for name in strata if name not in declared.strata]:
            raise UsageError(f"{wrong[0]!r} is no {declared.nouns.stratum}; they are {', '.join(declared.strata)}")
        wanted = strata or self.tuning.strata or {case.stratum for case in self.items}
        self.strata = tuple(name for name in declared.strata if name in wanted)
        if not self.chosen(self.items):
            raise UsageError(
                f"none of the {len(self.items)} {declared.nouns.cases} is of {' or '.join(map(str, self.strata))}, for "
                f"which it would be tuned; bring some, or name another {declared.nouns.stratum} with `strata`"
            )
        if start is not None and system_prompt is not None:
            raise UsageError("`start` has a prompt of its own; leave `system_prompt` out")
        source, rows = self.case_set.corpus, tuple(sorted({declared.mark(case.view) for case in self.items}))
        self.data = DataSource(name=source.name, sha256=self.case_set.sha256, revision=source.revision, rows=rows)
        spec, tuned_by = ModelSpec.of(model), ModelSpec.of(judge)
        self.further = further_specs(declared, self.settings, roles, spec.name == EMBEDDED)
        for name in self.further.keys() & {"proposer", "report_judge"}:
            raise UsageError(f"`roles.{name}`: a compile has a {name.replace('_', ' ')} of its own; rename the role")
        self._begin(Start(system_prompt, start), f"these {declared.nouns.rows}")
        require_inputs(declared, self.start.program, self.items)
        self.measured = measured_of(declared, self.tuning.rows, self.items, self.strata)
        names = dict(margins or {})
        self.guarded_by_default = "none" not in names
        if names.pop("none", None) is not None:
            raise UsageError("`margins=none`: lifts the guards that apply by default and has no margin")
        self.guards = guards_of(self.measured, names, self.items)
        rest = {stratum.lower() for stratum in declared.strata if stratum not in self.strata}
        self.others = [row for row in self.measured if row.name in rest] if self.guarded_by_default else []
        models, self.judges = {"assistant": (spec, role_of(declared, "assistant"))} | self.further, dict[str, Any]()
        if (reporting := declared.judge(self.settings, Start())) is not None:
            tuning = self.tuning.student(declared.judge(self.settings, Start()))
            AllowedModels().require(reporting)
            self.judges = {"judge": tuning, "report_judge": reporting}
            reported_by = ModelSpec.of(report_judge).beside(tuned_by)
            models["judge"] = tuned_by, role_of(declared, "judge")
            models["report_judge"] = reported_by, role_of(declared, "judge", "report_judge")
        proposed_by = ModelSpec.of(proposer or (tuned_by if self.judges else spec))
        self.specs = {**models, "proposer": (proposed_by, PROPOSER)}
        judging = [fingerprint_of(reporting)] if self.judges else []
        self.identity = {
            "strata": list(map(str, self.strata)),
            "guards": {guard.name: margin for guard, margin in self.guards},
            "guarded_by_default": self.guarded_by_default,
            "judging": [*judging, declared.controls and declared.controls.prompt()],
        }

    def opened(self, models: Mapping[str, Model], width: int) -> Self:
        """A copy that asks these models, so many cases at once, and remembers its answers in chains."""
        made = super().opened(models, width)
        made._chains = ChainAnswers(made.items)
        return made

    def learning_from(self, items: Sequence[Case]) -> Self:
        """A copy that knows these cases alone, and remembers their grades."""
        made = super().learning_from(items)
        made._graded, made._chains = {}, ChainAnswers(items)
        return made

    def chosen(self, items: Sequence[Case]) -> list[Case]:
        """The cases of the strata that it is tuned for."""
        return [case for case in items if case.stratum in self.strata]

    # How an answer is graded

    def answer(self, program: Any, item: Case) -> dspy.Prediction:
        """The benchmark's answer to a case, as `answer` of the prediction; in a chain those before it come first."""
        ask = Ask.in_compile(program, self.models["assistant"].lm, self.settings, self.handles)

        def answered(case: Case, earlier: Sequence[Any]) -> BaseModel:
            kept = as_kept(run_here(replace(ask, earlier=earlier).answer(self.declared, case)))
            return self.declared.answer_type.model_validate(kept)  # as a run grades it

        def before(case: Case, earlier: Sequence[Any]) -> BaseModel | None:
            with uncollected(), dspy.context(trace=None), suppress(ContentError):
                return answered(case, earlier)
            return None

        return dspy.Prediction(answer=answered(item, self._chains.before(program, item, before)))

    def examine(self, program: Any, case: Case, judge: str = "judge") -> Examined:
        """A program's answer at a case with the grade of a judge."""
        words = None
        with collect_calls() as calls:
            try:
                with dspy.context(trace=None):
                    answer = self.answer(program, case).answer
                words = sum(len(text.split()) for text in answer.model_dump().values() if isinstance(text, str))
            except ContentError:
                answer = None
        scored = None if answer is None else self.grade(case, answer, judge)
        return Examined(answer, scored, tokens_of([call for call in calls if call.role == self.role]), words)

    def examine_all(self, program: Any, cases: Sequence[Case]) -> dict[str, Examined]:
        """A program at cases side by side, graded by the tuning judge; by key, in their order."""
        examined = side_by_side([partial(self.examine, program, case) for case in cases], self.width)
        return {case.key: result for case, result in zip(cases, examined, strict=True)}

    def grade(self, case: Case, answer: Any, judge: str = "judge") -> Scored[Any] | None:
        """The grade of an answer; None where the verdict cannot be read."""
        lm = self.models[judge].lm if judge in self.models else None
        ask = Ask.in_compile(self.judges.get(judge), lm, self.settings)
        try:
            with dspy.context(trace=None):  # grading is no step of the program
                return run_here(ask.grade(self.declared, case, answer))
        except ContentError:
            return None

    def _scored(self, case: Case, prediction: dspy.Prediction) -> tuple[Any, Scored[Any] | None]:
        """An answer, and its grade by the tuning judge; graded once, for score and feedback."""
        answer = prediction.answer
        key = case.key, answer.model_dump_json()
        if key not in self._graded:
            self._graded[key] = self.grade(case, answer)
        return answer, self._graded[key]

    # What it learns from

    def feedback(self, item: Case, prediction: dspy.Prediction) -> Feedback:
        """That of the tuning on the tuning judge's grade."""
        return self.tuning.feedback(item, *self._scored(item, prediction))

    def is_worth_showing(self, item: Case, prediction: dspy.Prediction) -> bool:
        """Whether it is a full pass."""
        _, scored = self._scored(item, prediction)
        return scored is not None and scored.label == self.declared.labels[0]

    def watched(self, compared: Sequence[Case]) -> list[Case]:
        """The control cases of the units that candidates are compared on."""
        units = {self.units[case.key] for case in compared}
        return [case for case in self.items if case.stratum == CONTROL and self.units[case.key] in units]

    def harm(self, item: Case, prediction: dspy.Prediction) -> float | None:
        """What an answer to a control case lacks of a full score."""
        _, scored = self._scored(item, prediction)
        return scored and 1 - scored.score

    def _of_guards(self, cases: Sequence[Case]) -> list[Case]:
        """The cases that a guard looks at."""
        keys = {case.key for guard, _ in self.guards for case in guard.guarded(cases)}
        keys |= {case.key for row in self.others for case in row.cases(cases)}
        return [case for case in cases if case.key in keys]

    def guarded(self, program: Any) -> Mapping[str, Examined]:
        """A program at the cases that guards look at."""
        return self.examine_all(program, self._of_guards(self.items))

    def broken(self, before: Mapping[str, Examined], after: Mapping[str, Examined]) -> tuple[str, ...]:
        """Guards that a program breaks, and strata where it is shown worse; what cannot be measured breaks none."""
        broken = [guard.name for guard, margin in self.guards if guard.is_broken(self.items, before, after, margin)]
        worse = [row.name for row in self.others if row.is_shown_worse(self.items, before, after)]
        return tuple(dict.fromkeys([*broken, *worse]))

    # What is tested

    def test(self, tuned: Tuned, item: Case) -> Examined:
        """The answer with the reporting judge's grade; a failure of content is a result."""
        return self.examine(tuned.program, item, "report_judge")

    def card(self, tuned: Tuned, tests: OutOfFold) -> dict[str, Any]:
        """By the reporting judge: the score of every case, and what else is measured of it."""
        declared, strata = self.declared, self.strata_there
        shown, hidden = list[str](), list[str]()
        for case in self.items:
            seen = texts_in(declared.inputs(case.view))
            shown += seen
            hidden += [text for text in texts_in(case.view) if text not in {*seen}]
        demos = max(len(predictor.demos) for predictor in tuned.program.predictors())
        titles = " or ".join(row.title for row in self.others)
        worse = titles and f"shown worse in {titles} on the training items (one-sided 90 %)"
        return {
            "item_scores": self.item_scores(
                tests,
                tuned_for=tuple(index for index, stratum in enumerate(strata) if stratum in self.strata),
                columns=columns_of(self.measured, self.items, tests),
            ),
            "notes": (*self.tuning.notes(demos, ()), *([f"no candidate was taken that is {worse}"] if worse else [])),
            "guards": {guard.name: margin for guard, margin in self.guards} | self.default_guards,
            "overlap": {
                "hidden texts": overlap(tuned.instruction, hidden),
                "shown texts": overlap(tuned.instruction, shown),
            },
        }

    # What it takes

    def tuned_at_most(self, recipe: Recipe, train: Sequence[Case]) -> int:
        """The most answers that an optimizer and the guards ask for on one training set."""
        learn, compare = map(len, split(self.chosen(train), self.units, recipe.seed))
        controls = sum(case.stratum == CONTROL for case in train)
        chain = max(Counter(case.chain or case.key for case in train).values())
        # Candidates are asked about control cases too, and the demos of a search are a teacher's answers.
        taught = learn * self.proposal.demos if recipe.optimizer == "search" else 0
        others = guarded_at_most(recipe, controls + len(self._of_guards(train)))
        return answers_at_most(recipe, learn, compare, chain) + taught + others

    def roles(self, recipe: Recipe, tuned: int) -> Mapping[str, RoleForecast]:
        """What each model is asked, without repairs and second questions."""
        declared, program, tested = self.declared, self.start.program, 2 * len(self.items)
        stages = [answer_calls(declared, case, program, self.settings) for case in self.items]
        predictors = len(program.predictors())
        roles = {name: RoleForecast.of_stages(self.models[name], tuned + tested, stages, name) for name in self.further}
        own = RoleForecast.of_stages(
            self.models["assistant"], tuned + tested, stages, least=predictors, demos=recipe.max_demos
        )
        roles = {"assistant": own} | roles
        if self.judges:
            judge = self.judges["report_judge"]
            grading = [grade_calls(declared, case, None, judge, self.settings) for case in self.items]
            for name, count in (("judge", tuned), ("report_judge", tested)):
                roles[name] = RoleForecast.of_stages(self.models[name], count, grading)
        tips = len(self.proposal.tips)
        roles["proposer"] = RoleForecast.of_proposer(self.models["proposer"], recipe, predictors, tips)
        return roles
