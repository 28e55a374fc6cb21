"""The program under test of any benchmark, compiled: tuned by one judge, tested out of fold by another."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import dspy

from dspy_proact.calls import collect_calls
from dspy_proact.compile.card import assistant_card
from dspy_proact.compile.compile import Compile, unseen
from dspy_proact.compile.folds import joined, split
from dspy_proact.compile.forecast import Forecast, RoleForecast, answers_at_most, guarded_at_most, mean_tokens
from dspy_proact.compile.measured import Examined, Item, guarded, mean_of, measured_of, tokens_of
from dspy_proact.compile.proposer import SHOWN
from dspy_proact.compile.training import Compiled, Training, side_by_side
from dspy_proact.errors import ContentError, UsageError
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark, Start
from dspy_proact.evaluation.compiled import compiled_program
from dspy_proact.evaluation.evaluation import role_of
from dspy_proact.evaluation.own_file import located
from dspy_proact.evaluation.participant import fingerprint_of
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.programs import DataSource, Provenance, Recipe
from dspy_proact.programs.artefact import Artefact, read_artefact
from dspy_proact.programs.asking import ask_now, run_now
from dspy_proact.runs import CaseSet, Scored, Settings

NO_VERDICT = 0.5
"""Score of an answer whose verdict cannot be read: the judge's failure is not the assistant's."""
_POOL = 8
"""Worked examples to draw from, at most."""
_ASSUMED_WORDS = 300
"""Tokens of an answer in a worked example: assumed."""


class AssistantCompile(Compile):
    """A program under test, a corpus, and how the one is tuned on the other.

    Args:
        corpus: As the benchmark reads it: `sample`, the published one's name, a path, or cases that were read.
        model: Under the program.
        judge: Whose grades optimizers see.
        report_judge: Who tests out of fold; with what is said of the tuning judge where it is the same model.
        proposer: Who writes instructions; the tuning judge where None.
        benchmark: By its name, the path of its file, or itself.
        settings: Of the benchmark; its defaults where None.
        recipe: Optimizer, folds and seed; no more folds are made than there are units.
        strata: Whose cases it is tuned on; those that the benchmark names where none are given.
        margins: Of the guards that are asked for, by the names of rows of the card; None for the usual one.
        system_prompt: What the program is told at the start; its own where None.
        start: An artefact to go on from instead.
        revision: Of the published corpus.
        gate: How calls are made, and what they may cost.

    Raises:
        UsageError: There is too little to learn from, the models cannot be called as asked, or the start is refused.
    """

    role = "assistant"

    def __init__(
        self,
        corpus: Any = "sample",
        model: ModelSpec | str = "embedded",
        judge: ModelSpec | str = "embedded",
        report_judge: ModelSpec | str = "embedded",
        proposer: ModelSpec | str | None = None,
        *,
        benchmark: "Benchmark[Any, Any] | str | None" = None,
        settings: Settings | None = None,
        recipe: Recipe | None = None,
        strata: Sequence[str] = (),
        margins: Mapping[str, float | None] | None = None,
        system_prompt: str | None = None,
        start: Path | None = None,
        revision: str | None = None,
        gate: Gate | None = None,
    ):
        super().__init__(benchmark, settings, gate)
        declared = self.declared
        self.tuning.require("assistant")
        self.case_set = corpus if isinstance(corpus, CaseSet) else declared.read(corpus, self.settings, revision)
        self.case_set.require(self.settings)
        units = joined(self.tuning.units(self.case_set.cases), {case.key: case.view for case in self.case_set.cases})
        self.items = tuple(Item(case, units[case.key]) for case in self.case_set.cases)
        if wrong := [each for each in strata if each not in declared.strata]:
            raise UsageError(f"{wrong[0]!r} is no {declared.nouns.stratum}; they are {', '.join(declared.strata)}")
        named = strata or self.tuning.strata or {item.case.stratum for item in self.items}
        self.strata = tuple(each for each in declared.strata if each in named)
        if start is not None and system_prompt is not None:
            raise UsageError("`start` has a prompt of its own; leave `system_prompt` out")
        program = compiled_program(declared, self.settings, Start(system_prompt, start), "assistant")
        self._divide(recipe, self.chosen(self.items), program)
        self.measured = measured_of(declared, self.tuning, self.items, self.strata)
        self.guards = guarded(self.measured, margins or {}, self.items)
        corpus, rows = self.case_set.corpus, tuple(sorted({declared.mark(item.case.view) for item in self.items}))
        if start is not None:
            self.learned_before = unseen(start, program.card, rows, f"these {declared.nouns.rows}")
        self.data = DataSource(name=corpus.name, sha256=self.case_set.sha256, revision=corpus.revision, rows=rows)
        self.program = self.tuning.student(program)
        self.start = read_artefact(start).digest if start else fingerprint_of(self.program)
        spec, tested = ModelSpec.of(model), ModelSpec.of(judge)
        models = {"assistant": (spec, role_of(declared, "assistant"))}
        self.judges = {"report_judge": declared.judge(self.settings, Start())}
        self.identity_settings = {
            "strata": list(map(str, self.strata)),
            "guards": {guard.name: margin for guard, margin in self.guards},
            "judging": [declared.controls and declared.controls.prompt()],
        }
        if self.judges["report_judge"] is not None:
            self.identity_settings["judging"].insert(0, fingerprint_of(self.judges["report_judge"]))
            self.judges["judge"] = self.tuning.student(declared.judge(self.settings, Start()))
            models["judge"] = tested, role_of(declared, "judge")
            models["report_judge"] = (
                ModelSpec.of(report_judge).beside(tested),
                role_of(declared, "judge", "report_judge"),
            )
        self._name_models(models, proposer or (tested if "judge" in models else spec))

    def chosen(self, items: Sequence[Item]) -> list[Item]:
        """The items that it is tuned on."""
        return [item for item in items if item.case.stratum in self.strata]

    def guarded(self, items: Sequence[Item]) -> list[Item]:
        """The items that a guard measures."""
        keys = {item.key for guard, _ in self.guards for item in guard.guarded(items)}
        return [item for item in items if item.key in keys]

    def inputs(self, item: Item) -> Mapping[str, Any]:
        """Inputs of the program at a case."""
        return self.declared.inputs(item.case.view)

    def training(self, train: Sequence[Item], before: Mapping[str, Examined]) -> "AssistantTraining":
        """The cases of the chosen strata in two parts; the reporting judge's results are not used."""
        del before
        return AssistantTraining(self, train)

    def test(self, tuned: Any, item: Item) -> Examined:
        """The answer with the reporting judge's grade."""
        return self.examine(tuned, item, "report_judge")

    def score(self, results: Mapping[str, Examined], items: Sequence[Item]) -> float | None:
        """Mean score at cases of the chosen strata."""
        return mean_of([results[item.key].score for item in self.chosen(items)])

    def examine(self, program: Any, item: Item, judge: str = "judge") -> Examined:
        """A program's answer at a case with the grade of a judge; `no_answer` of the tuning is graded likewise."""
        prediction = None
        with collect_calls() as calls:
            try:
                with dspy.context(trace=None, disable_history=True), located(self.declared, "program"):
                    ask = Ask(program, self.models["assistant"].lm, self.settings, ask_now)
                    prediction = run_now(ask(**self.inputs(item)))
                    answer = self.declared.answer_of(prediction)
            except ContentError:
                answer = self.tuning.no_answer
        scored = None if answer is None else self.grade(item, answer, judge)
        words = None
        if prediction is not None and answer is not None:
            words = sum(len(text.split()) for text in answer.model_dump().values() if isinstance(text, str))
        return Examined(answer, scored, tokens_of(calls), words, prediction)

    def examine_all(self, program: Any, items: Sequence[Item]) -> dict[str, Examined]:
        """A program at cases side by side, graded by the tuning judge; by key, in their order."""
        found = side_by_side([partial(self.examine, program, item) for item in items], self.width)
        return {item.key: each for item, each in zip(items, found, strict=True)}

    def grade(self, item: Item, answer: Any, judge: str = "judge") -> Scored[Any] | None:
        """The grade of an answer; None where the verdict cannot be read."""
        lm = self.models[judge].lm if judge in self.models else None
        ask = Ask(self.judges.get(judge), lm, self.settings, ask_now)
        try:
            # Grading is no step of the program, so it is in no trace.
            with dspy.context(lm=lm, trace=None), located(self.declared, "grade"):
                return run_now(self.declared.grade(item.case, answer, ask))
        except ContentError:
            return None

    def forecast(self) -> Forecast:
        """The most that `run` takes, without repairs and second questions; nothing is sent or written."""
        answers = sum(map(self._tuned_at_most, [*(fold.train for fold in self.folds), self.items]))
        reported, recipe, cases = 2 * len(self.items), self.recipe, [item.case for item in self.items]
        asked = [self.tuning.calls(self.program, case) for case in cases]
        known = [call for calls in asked for call in calls or ()]
        predictors = len(self.program.predictors())
        questions = max(predictors, *(len(calls or ()) for calls in asked))

        def prompt() -> float:
            bare = mean_tokens(self.models["assistant"], known)
            return bare + recipe.max_demos * (bare + _ASSUMED_WORDS)  # a demo is a case and its answer

        longest = max((call.tokens[1] for call in known), default=_ASSUMED_WORDS)
        price = self.models["assistant"].price
        roles = {"assistant": RoleForecast(questions * (answers + reported), prompt, longest, price)}
        judge = self.judges["report_judge"]
        if judge is not None:
            graded = [self.declared.forecast.grades(case, None, judge, self.settings) or () for case in cases]
            calls = [call for each in graded for call in each]
            longest, each = max((call.tokens[1] for call in calls), default=0), max(1, round(len(calls) / len(cases)))
            for name, count in (("judge", answers), ("report_judge", reported)):
                model = self.models[name]
                roles[name] = RoleForecast(each * count, partial(mean_tokens, model, calls), longest, model.price)
        shown = partial(min, prompt(), SHOWN / 3) if recipe.optimizer == "gepa" else float
        roles["proposer"] = RoleForecast.of_proposer(self.models["proposer"], recipe, predictors, shown)
        chosen = self.chosen(self.items)
        groups = len({item.group for item in chosen})
        return Forecast(roles, self.width, len(chosen), groups, groups=self.declared.nouns.groups)

    def _tuned_at_most(self, train: Sequence[Item]) -> int:
        """The most answers that an optimizer and the guards ask for on one training set."""
        learn, compare = map(len, split(self.chosen(train), self.recipe.seed))
        controls = sum(item.is_control for item in train)
        # A search looks at control cases in every trial, and asks a teacher beside the student.
        searched = self.recipe.trials * controls + learn * self.tuning.demos if self.recipe.optimizer == "search" else 0
        guarded = guarded_at_most(self.recipe, len(self.guarded(train)))
        return answers_at_most(self.recipe, learn, compare) + searched + guarded

    def artefact(self, compiled: Compiled, made: Provenance) -> Artefact:
        """The program compiled on everything, and its card."""
        return self.artefact_of(compiled.tuned, assistant_card(self, compiled, made))


class AssistantTraining(Training):
    """Cases to learn from and to compare on, and as watched examples the control cases of the units compared on.

    Args:
        compiling: Its judge that tunes is asked.
        train: Cases of a training set.
        parts: Those to learn from and to compare on; cases of the chosen strata in two parts where None.
    """

    def __init__(
        self,
        compiling: AssistantCompile,
        train: Sequence[Item],
        parts: tuple[Sequence[Item], Sequence[Item]] | None = None,
    ):
        learn, compare = parts or split(compiling.chosen(train), compiling.recipe.seed)
        units = {item.unit for item in compare}
        controls = [item for item in train if item.is_control and item.unit in units]
        super().__init__(compiling, compiling.program.deepcopy(), learn, compare, controls)
        self.compiling, self.train = compiling, train
        self.teacher = self.tuning.teacher(self.student)
        self.guarded = compiling.guarded(train)
        self._graded: dict[tuple[str, str], Scored[Any] | None] = {}

    def pool(self) -> Sequence[dspy.Example]:
        """Answers of the teacher that are a full pass, of programs that ask one question.

        As many cases are tried at once as examples are missing, so that none is tried in vain.
        """
        teacher, examples = self.teacher or self.student, list[dspy.Example]()
        left, best = list(self.learn), self.compiling.declared.labels[0]
        (signature, *further) = (each.signature for each in teacher.predictors())
        while not further and left and len(examples) < _POOL:
            tried, left = left[: _POOL - len(examples)], left[_POOL - len(examples) :]
            examined = self.compiling.examine_all(teacher, [self.items[example.key] for example in tried])
            for example in tried:
                found = examined[example.key]
                if found.scored and found.scored.label == best and found.prediction is not None:
                    said = {name: found.prediction[name] for name in signature.output_fields}
                    examples.append(dspy.Example(augmented=True, **example.inputs().toDict(), **said))
        return examples

    def harm(self, example: dspy.Example, prediction: dspy.Prediction) -> float | None:
        """What an answer to a control case lacks of a full score."""
        scored = self._scored(example, prediction)
        return scored and 1 - scored.score

    def broken(self, program: Any) -> tuple[str, ...]:
        """Guards that it breaks, compared with the student; what cannot be measured breaks none."""
        if not self.compiling.guards:
            return ()
        before, after = self._at_start, self.compiling.examine_all(program, self.guarded)
        guards = self.compiling.guards
        return tuple(guard.name for guard, margin in guards if guard.is_broken(self.train, before, after, margin))

    @cached_property
    def _at_start(self) -> Mapping[str, Examined]:
        return self.compiling.examine_all(self.student, self.guarded)

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """The tuning's metric of the tuning judge's grade, in [0, 1], higher is better."""
        scored = self._scored(example, prediction)
        return self.tuning.metric(scored) if scored else NO_VERDICT

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        """Whether it is a full pass."""
        scored = self._scored(example, prediction)
        return scored is not None and scored.label == self.compiling.declared.labels[0]

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What may be told of the answer."""
        scored = self._scored(example, prediction)
        if scored is None:
            return self.tuning.unread
        answer = self.compiling.declared.answer_of(prediction)
        return self.tuning.feedback(self.items[example.key].case, answer, scored)

    def shortfall(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """The answer with what may be told of it."""
        answer, feedback = self.compiling.declared.answer_of(prediction), self.feedback(example, prediction)
        return self.tuning.shortfall(self.items[example.key].case, answer, feedback)

    def _scored(self, example: dspy.Example, prediction: dspy.Prediction) -> Scored[Any] | None:
        """Graded once, for score and feedback."""
        answer = self.compiling.declared.answer_of(prediction)
        place = example.key, answer.model_dump_json()
        if place not in self._graded:
            self._graded[place] = self.compiling.grade(self.items[example.key], answer)
        return self._graded[place]
