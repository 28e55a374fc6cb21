"""`dspy-proact optimize judge --benchmark probe`, as a value."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.probe.benchmark import VERDICT_TOKENS
from dspy_proact.benchmarks.probe.compile.agent_compile import require_instructed
from dspy_proact.benchmarks.probe.compile.card import card_of
from dspy_proact.benchmarks.probe.compile.judges_task import (
    AGREEMENT,
    DESCRIPTION_ROWS,
    PARAMETERS_ROWS,
    GradedItem,
    JudgesTask,
    Numbers,
)
from dspy_proact.benchmarks.probe.compile.people import people_of, suited, tuned_at_most
from dspy_proact.benchmarks.probe.compiled import BENCHMARK, load_judges, signature_of, states_of
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.embedded_judge import JUDGE
from dspy_proact.benchmarks.probe.graded import (
    GradedDescription,
    sample_graded_descriptions,
    sample_graded_parameters,
)
from dspy_proact.benchmarks.probe.judging import ProbeJudge
from dspy_proact.benchmarks.probe.task import ProbeView
from dspy_proact.calls import Price
from dspy_proact.compile.compile import Compile, require_unseen
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.forecast import Forecast, RoleForecast, mean_tokens
from dspy_proact.compile.named import PROPOSER
from dspy_proact.models import Gate, Model, ModelSpec
from dspy_proact.programs import AgentCard, DataSource, Provenance, Recipe
from dspy_proact.programs.artefact import JudgesArtefact
from dspy_proact.stats import ScoreChange, score_change


class JudgesCompile(Compile[JudgesArtefact]):
    """Both judges, and the graded answers that they are tuned to.

    Args:
        judge: Under both.
        proposer: Writes instructions; the judge where None.
        recipe: Optimizer, folds and seed; no more folds are made than there are people, and no worked examples.
        start: An artefact to go on from.
        gate: How calls are made, and what they may cost.

    Raises:
        UsageError: The models cannot be called as asked, or the start is refused.
    """

    program = "judges"

    def __init__(
        self,
        judge: ModelSpec | str = "embedded",
        proposer: ModelSpec | str | None = None,
        *,
        recipe: Recipe | None = None,
        start: Path | None = None,
        gate: Gate | None = None,
    ):
        recipe = recipe or Recipe()
        require_instructed(recipe)
        tasks = load_tasks("sample")
        read = {each.key: (each.person, ProbeView.of(tasks.task(each.key))) for each in tasks.entries}
        graded = [*sample_graded_descriptions(), *sample_graded_parameters()]
        self.items = tuple(GradedItem(each, *read[each.task]) for each in graded)
        recipe = suited(recipe, self.items)
        self._started = ProbeJudge()
        if start is not None:
            self._started, artefact = load_judges(start)
            require_unseen(start, artefact.card, {item.mark for item in self.items}, "the tasks of these answers")
        spec = ModelSpec.of(judge)
        models = {"judge": (spec, JUDGE), "proposer": (ModelSpec.of(proposer or spec), PROPOSER)}
        super().__init__(models, recipe, gate)

    @property
    def data(self) -> DataSource:
        """The graded answers."""
        told = [[item.graded.model_dump(mode="json"), item.view.model_dump(mode="json")] for item in self.items]
        sha256 = hashlib.sha256(json.dumps(told, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
        marks = tuple(sorted({item.mark for item in self.items}))
        return DataSource(name="graded answers", sha256=sha256, dialogues=marks)

    @property
    def start(self) -> str:
        """Of what the start says."""
        return self._started.fingerprint()

    @property
    def settings(self) -> dict[str, Any]:
        """The benchmark."""
        return {"benchmark": BENCHMARK}

    def task(self, models: Mapping[str, Model]) -> JudgesTask:
        """The judges, tuned to the graded answers."""
        lms = models["judge"].lm, models["proposer"].lm
        return JudgesTask(self._started, self.items, self.recipe, *lms, self._gate.concurrency)

    def forecast(self) -> Forecast:
        """What `run` takes at most, repairs apart; no call is made and nothing is written."""
        judge, calls = self.models["judge"], tuned_at_most(self.items, self.recipe) + 2 * len(self.items)
        roles = {
            "judge": RoleForecast(calls, lambda: mean_tokens(judge, self._asked()), VERDICT_TOKENS[1], judge.price),
            "proposer": RoleForecast.of_proposer(self.models["proposer"], self.recipe, 2),
        }
        return Forecast(roles, self._gate.concurrency, len(self.items), people_of(self.items), groups="people")

    def artefact(self, task: JudgesTask, compiled: Compiled[Any, Any, Any], made: Provenance) -> JudgesArtefact:
        """The judges compiled on all answers, and their card."""
        return JudgesArtefact(
            signature=signature_of(compiled.tuned),
            benchmark=BENCHMARK,
            states=dict(states_of(compiled.tuned)),
            card=_card(task, compiled, made, self.models["judge"].price),
        )

    def _asked(self) -> list[list[dict[str, Any]]]:
        judge = self._started
        return [
            judge.identification.messages(item.view, item.graded.description)
            if isinstance(item.graded, GradedDescription)
            else judge.resolution.messages(item.view, item.graded.parameters)
            for item in self.items
        ]


def _card(
    task: JudgesTask, compiled: Compiled[ProbeJudge, ProbeJudge, Numbers], made: Provenance, price: Price
) -> AgentCard:
    def compared(name: str) -> ScoreChange:
        asked = [item for item in task.items if name in (AGREEMENT, *item.rows)]
        before, after = compiled.numbers(asked, lambda numbers: numbers.get(name))
        return score_change(before, after, [item.unit for item in asked], seed=made.recipe.seed)

    return card_of(
        compiled,
        task.items,
        made,
        price,
        aim=AGREEMENT,
        case="answer",
        target=compared(AGREEMENT),
        stages={
            name: (compared(name), sum(name in item.rows for item in task.items))
            for name in (*DESCRIPTION_ROWS, *PARAMETERS_ROWS)
        },
        warnings=("people are the sample's authors, who are language-model agents",),
    )
