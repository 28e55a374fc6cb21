"""The program under test of any benchmark, compiled: tuned by one judge, tested out of fold by another."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any

import dspy

from dspy_proact.benchmarks.benchmark import Benchmark, Start
from dspy_proact.benchmarks.compiled import compiled_program
from dspy_proact.benchmarks.evaluation import role_of
from dspy_proact.benchmarks.participant import fingerprint_of
from dspy_proact.benchmarks.registry import benchmark_named
from dspy_proact.compile.assistant_card import make_card
from dspy_proact.compile.compile import Compile, models_of, require_unseen, suited
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.folds import Fold, balanced_folds, split
from dspy_proact.compile.forecast import Forecast, RoleForecast, answers_at_most, guarded_at_most, mean_tokens
from dspy_proact.compile.measured import Examined, Examiner, Item, Measured, guarded, is_control, mean_of, measured_of
from dspy_proact.compile.proposer import SHOWN, Excerpts
from dspy_proact.compile.training import Chosen, Training
from dspy_proact.compile.tuning import Tuning, tamed
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, Model, ModelSpec
from dspy_proact.programs import DataSource, Provenance, Recipe
from dspy_proact.programs.artefact import Artefact, read_artefact
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
        declared = benchmark_named(benchmark)
        self.declared, self.settings = declared, settings or declared.settings_type()
        self.tuning = declared.tuning(self.settings) or Tuning(declared, self.settings)
        self.tuning.require("assistant")
        self.case_set = corpus if isinstance(corpus, CaseSet) else declared.read(corpus, self.settings, revision)
        units = self.tuning.units(self.case_set.cases)
        self.items = tuple(Item(case, units[case.key]) for case in self.case_set.cases)
        self.strata = _strata(declared, self.tuning, strata, self.items)
        chosen = [item for item in self.items if item.case.stratum in self.strata]
        recipe = suited(recipe or Recipe(), self.tuning, chosen, "assistant")
        self._folds = balanced_folds(self.items, chosen, recipe.folds, recipe.seed, declared.nouns)
        self.measured = measured_of(declared, self.tuning, self.items, self.strata)
        self.guards = guarded(self.measured, margins or {}, self.items)
        self._started = self._program(system_prompt, start)
        self._begun = read_artefact(start).digest if start else None
        self._judge = declared.judge(self.settings, Start())
        spec, tested = ModelSpec.of(model), ModelSpec.of(judge)
        named = {"assistant": (spec, role_of(declared, "assistant"))}
        if self._judge is not None:
            named["judge"] = tested, role_of(declared, "judge")
            reporting = ModelSpec.of(report_judge).beside(tested)
            named["report_judge"] = reporting, role_of(declared, "judge", "--report-judge")
        super().__init__(models_of(named, proposer or (spec if self._judge is None else tested)), recipe, gate)

    def _program(self, system_prompt: str | None, start: Path | None) -> Any:
        """Where tuning starts; raises a `UsageError` where it has seen what is to be tested."""
        if start is not None and system_prompt is not None:
            raise UsageError("--start has a prompt of its own; leave --system-prompt out")
        program = compiled_program(self.declared, self.settings, Start(system_prompt, start), "assistant")
        if start is not None:
            require_unseen(start, program.card, self._marks, f"these {self.declared.nouns.rows}")
        return self.tuning.student(program)

    @cached_property
    def _marks(self) -> frozenset[str]:
        return frozenset(self.declared.mark(item.case.view) for item in self.items)

    @property
    def data(self) -> DataSource:
        """The corpus."""
        corpus = self.case_set.corpus
        marks = tuple(sorted(self._marks))
        return DataSource(name=corpus.name, sha256=self.case_set.sha256, revision=corpus.revision, rows=marks)

    @property
    def start(self) -> str:
        """Of what the start says."""
        return self._begun or fingerprint_of(self._started)

    @property
    def identity_settings(self) -> dict[str, Any]:
        """What is tuned for, what is kept, and the words of those who judge."""
        judging = [fingerprint_of(self._judge)] if self._judge is not None else []
        return {
            "benchmark": self.declared.name,
            "settings": self.settings.model_dump(mode="json"),
            "strata": list(map(str, self.strata)),
            "guards": {guard.name: margin for guard, margin in self.guards},
            "judging": [*judging, self.declared.control_prompt()],
        }

    def task(self, models: Mapping[str, Model]) -> "AssistantTask":
        """The program, tuned by one judge and tested by another."""
        width = self._gate.concurrency

        def examiner(name: str, judge: Any) -> Examiner:
            lm = models[name].lm if judge is not None else None
            return Examiner(self.declared, self.tuning, self.settings, models["assistant"].lm, lm, judge, width)

        once = None if self._judge is None else self.tuning.student(self.declared.judge(self.settings, Start()))
        return AssistantTask(
            self._started,
            self.items,
            self.recipe,
            self.strata,
            self._folds,
            self.guards,
            tuning=examiner("judge", once),
            reporting=examiner("report_judge", self._judge),
            proposer_lm=models["proposer"].lm,
        )

    def forecast(self) -> Forecast:
        """What `run` takes at most, repairs and second questions apart; no call is made and nothing is written."""
        answers = sum(map(self._tuned_at_most, [*(fold.train for fold in self._folds), self.items]))
        reported, recipe = 2 * len(self.items), self.recipe
        program, declared, cases = self._started, self.declared, [item.case for item in self.items]
        asked = [self.tuning.calls(program, case) for case in cases]
        known = [call for calls in asked for call in calls or ()]
        questions = max(len(program.predictors()), *(len(calls or ()) for calls in asked))

        def prompt() -> float:
            bare = mean_tokens(self.models["assistant"], [list(call.messages) for call in known]) if known else 0.0
            return bare + recipe.max_demos * (bare + _ASSUMED_WORDS)  # a demo is a case and its answer

        longest = max((call.tokens[1] for call in known), default=_ASSUMED_WORDS)
        roles = {
            "assistant": RoleForecast(questions * (answers + reported), prompt, longest, self.models["assistant"].price)
        }
        if self._judge is not None:
            graded = [declared.grade_calls(case, None, self._judge, self.settings) or () for case in cases]
            calls = [call for each in graded for call in each]
            for name, count in (("judge", answers), ("report_judge", reported)):
                model, each = self.models[name], max(1, round(len(calls) / len(cases)))
                told = partial(mean_tokens, model, [list(call.messages) for call in calls]) if calls else float
                roles[name] = RoleForecast(
                    each * count, told, max((call.tokens[1] for call in calls), default=0), model.price
                )
        shown = partial(min, prompt(), SHOWN / 3) if recipe.optimizer == "gepa" else float
        roles["proposer"] = RoleForecast.of_proposer(self.models["proposer"], recipe, len(program.predictors()), shown)
        chosen = [item for item in self.items if item.case.stratum in self.strata]
        groups = len({item.group for item in chosen})
        return Forecast(roles, self._gate.concurrency, len(chosen), groups, groups=declared.nouns.groups)

    def _tuned_at_most(self, train: Sequence[Item]) -> int:
        """Answers that an optimizer and the guards ask for at most on one training set."""
        learn, compare = map(len, split([item for item in train if item.case.stratum in self.strata], self.recipe.seed))
        controls = sum(is_control(item) for item in train)
        looked_at = {item.key for guard, _ in self.guards for item in guard.guarded(train)}
        # A search looks at control cases in every trial, and asks a teacher beside the student.
        searched = self.recipe.trials * controls + learn * self.tuning.demos if self.recipe.optimizer == "search" else 0
        return answers_at_most(self.recipe, learn, compare) + searched + guarded_at_most(self.recipe, len(looked_at))

    def artefact(self, task: "AssistantTask", compiled: Compiled[Any, Any, Any], made: Provenance) -> Artefact:
        """The program compiled on everything, and its card."""
        card = make_card(self, task, compiled, made, self.models["assistant"].price)
        return self.artefact_of(compiled.tuned, card)


@dataclass(frozen=True)
class AssistantTask:
    """How a program is tuned to a corpus.

    Args:
        start: Where tuning starts.
        items: Every case of the corpus, control cases among them.
        recipe: Folds, seed and optimizer.
        strata: Whose cases it is tuned on.
        folds: Balanced by the cases that it is tuned on; what else a unit has goes with them.
        guards: That are asked for, each with its margin.
        tuning: Whose judge optimizers see.
        reporting: Whose judge tests.
        proposer_lm: Writes instructions.
    """

    start: Any
    items: Sequence[Item]
    recipe: Recipe
    strata: Collection[str]
    folds: Sequence[Fold[Item]]
    guards: Sequence[tuple[Measured, float]]
    tuning: Examiner
    reporting: Examiner
    proposer_lm: dspy.LM
    role: str = "assistant"
    excerpts: Excerpts = field(default_factory=lambda: Excerpts(SHOWN))

    def chosen(self, items: Sequence[Item]) -> list[Item]:
        """Those that it is tuned on."""
        return [item for item in items if item.case.stratum in self.strata]

    def training(self, train: Sequence[Item], before: Mapping[str, Examined]) -> "AssistantTraining":
        """The cases of the chosen strata in two parts; what the reporting judge found before is not looked at."""
        del before
        learn, compare = split(self.chosen(train), self.recipe.seed)
        units = {item.unit for item in compare}
        controls = [item for item in train if is_control(item) and item.unit in units]
        items = [*learn, *compare, *controls]
        return AssistantTraining(
            student=self.start.deepcopy(),
            learn=[self.example(item) for item in learn],
            compare=[self.example(item) for item in compare],
            groups={item.key: item.group for item in items},
            task_lm=self.tuning.assistant_lm,
            proposer_lm=self.proposer_lm,
            proposal=self.tuning.tuning.proposal("assistant"),
            width=self.tuning.width,
            excerpts=self.excerpts,
            items={item.key: item for item in items},
            train=train,
            controls=[self.example(item) for item in controls],
            examiner=self.tuning,
            guards=self.guards,
        )

    def example(self, item: Item) -> dspy.Example:
        """The inputs of the program, and the key."""
        inputs = {name: tamed(value) for name, value in self.tuning.declared.inputs(item.case.view).items()}
        return dspy.Example(key=item.key, **inputs).with_inputs(*inputs)

    def finished(self, chosen: Chosen[Any], training: Any) -> Any:
        """The program that was chosen."""
        del training
        return chosen.program

    def test(self, tuned: Any, item: Item) -> Examined:
        """What the reporting judge finds."""
        return self.reporting.examine(tuned, item)

    def score(self, results: Mapping[str, Examined], items: Sequence[Item]) -> float | None:
        """Mean score at cases of the chosen strata."""
        return mean_of([results[item.key].score for item in self.chosen(items)])


@dataclass(frozen=True)
class AssistantTraining(Training[Any]):
    """Cases to learn from and to compare on, and control cases of the units that are compared on."""

    items: Mapping[str, Item]
    """All of these, by key; what is hidden of any other case is out of reach."""
    train: Sequence[Item]
    """What guards look at."""
    controls: Sequence[dspy.Example]
    examiner: Examiner
    """With the tuning judge."""
    guards: Sequence[tuple[Measured, float]]
    _graded: dict[tuple[str, str], Scored[Any] | None] = field(default_factory=dict, repr=False, compare=False)
    _turn: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def teacher(self) -> Any:
        """Whose answers are shown."""
        return self.examiner.tuning.teacher(self.student)

    def pool(self) -> Sequence[dspy.Example]:
        """Answers of the teacher that are a full pass, of programs that ask one question.

        As many cases are tried at once as examples are missing, so that none is tried in vain.
        """
        teacher, examples = self.teacher or self.student, list[dspy.Example]()
        left, best = [self.items[each.key] for each in self.learn], self.examiner.declared.labels[0]
        (signature, *further) = (each.signature for each in teacher.predictors())
        asked = {each.key: each for each in self.learn}
        while not further and left and len(examples) < _POOL:
            tried, left = left[: _POOL - len(examples)], left[_POOL - len(examples) :]
            examined = self.examiner.examine_all(teacher, tried)
            for item in tried:
                found = examined[item.key]
                if found.scored and found.scored.label == best and found.prediction is not None:
                    said = {name: found.prediction[name] for name in signature.output_fields}
                    examples.append(dspy.Example(augmented=True, **asked[item.key].inputs().toDict(), **said))
        return examples

    @property
    def watched(self) -> Sequence[dspy.Example]:
        """The control cases."""
        return self.controls

    def harm(self, example: dspy.Example, prediction: dspy.Prediction) -> float | None:
        """What an answer to a control case lacks of a full score."""
        scored = self._scored(example, prediction)
        return scored and 1 - scored.score

    def broken(self, program: Any) -> tuple[str, ...]:
        """Guards that it does not keep against the student; what cannot be measured is kept."""
        if not self.guards:
            return ()
        before, after = self._at_start, self._examined(program)
        return tuple(guard.name for guard, margin in self.guards if guard.is_broken(self.train, before, after, margin))

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """The tuning judge's, in [0, 1], higher is better."""
        scored = self._scored(example, prediction)
        return scored.score if scored else NO_VERDICT

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        """Whether it is a full pass."""
        scored = self._scored(example, prediction)
        return scored is not None and scored.label == self.examiner.declared.labels[0]

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What may be told of the answer."""
        scored, tuning = self._scored(example, prediction), self.examiner.tuning
        if scored is None:
            return tuning.unread
        answer = self.examiner.declared.answer_of(prediction)
        return tuning.feedback(self.items[example.key].case, answer, scored)

    def shortfall(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """The answer with what may be told of it."""
        answer, told = self.examiner.declared.answer_of(prediction), self.feedback(example, prediction)
        return self.examiner.tuning.shortfall(self.items[example.key].case, answer, told)

    @cached_property
    def _at_start(self) -> Mapping[str, Examined]:
        return self._examined(self.student)

    def _examined(self, program: Any) -> Mapping[str, Examined]:
        """A program at every case that a guard looks at."""
        keys = {item.key for guard, _ in self.guards for item in guard.guarded(self.train)}
        return self.examiner.examine_all(program, [item for item in self.train if item.key in keys])

    def _scored(self, example: dspy.Example, prediction: dspy.Prediction) -> Scored[Any] | None:
        """Graded once, for score and feedback."""
        answer = self.examiner.declared.answer_of(prediction)
        place = example.key, answer.model_dump_json()
        with self._turn:
            if place in self._graded:
                return self._graded[place]
        found = self.examiner.grade(self.items[example.key], answer)
        with self._turn:
            self._graded[place] = found
        return found


def _strata(
    declared: Benchmark[Any, Any], tuning: Tuning, named: Sequence[str], items: Sequence[Item]
) -> tuple[str, ...]:
    """Those that it is tuned for, in the order of reports; raises a `UsageError` for one that there is not."""
    if wrong := [each for each in named if each not in declared.strata]:
        raise UsageError(f"{wrong[0]!r} is no {declared.nouns.stratum}; they are {', '.join(declared.strata)}")
    there = {item.case.stratum for item in items}
    return tuple(each for each in declared.strata if each in (named or tuning.strata or there))
