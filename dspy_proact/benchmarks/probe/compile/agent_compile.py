"""`dspy-proact optimize assistant --benchmark probe`, as a value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.probe.agents import AGENT, make_agent
from dspy_proact.benchmarks.probe.benchmark import SOLUTION_TOKENS, VERDICT_TOKENS
from dspy_proact.benchmarks.probe.compile.card import make_card
from dspy_proact.benchmarks.probe.compile.grader import Grader
from dspy_proact.benchmarks.probe.compile.people import people_of, suited, tuned_at_most
from dspy_proact.benchmarks.probe.compile.task import SHOWN, AgentTask, items_of
from dspy_proact.benchmarks.probe.compiled import BENCHMARK, load_agent, signature_of, states_of
from dspy_proact.benchmarks.probe.corpus import TaskCorpus
from dspy_proact.benchmarks.probe.embedded_judge import JUDGE, REPORT_JUDGE
from dspy_proact.benchmarks.probe.judging import ProbeJudge
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import Solution
from dspy_proact.compile.compile import Compile, require_unseen
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.forecast import Forecast, RoleForecast, mean_tokens
from dspy_proact.compile.named import two_judges
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, Model, ModelSpec
from dspy_proact.programs import DataSource, Optimizer, Provenance, Recipe
from dspy_proact.programs.artefact import AgentArtefact

AGENT_OPTIMIZERS: tuple[Optimizer, ...] = ("search", "gepa")
"""Those that work by instructions alone: a worked example would be a whole mailbox."""
TUNED = ("single", "stages")
"""Agents whose calls are known beforehand."""
_SHOWN_TOKENS = SHOWN / 3
"""Of the inputs of a task, as a proposer is shown them: assumed."""
_FIXED: Mapping[str, Any] = {
    "oracle": "none",
    "baseline": "none",
    "embedder": None,
    "embedder_api_base": None,
    "embedder_price": None,
}


class AgentCompile(Compile[AgentArtefact]):
    """An agent, tasks, and how the one is tuned on the other.

    Args:
        tasks: As read by the settings.
        model: Under the agent.
        judge: Whose verdicts optimizers see.
        report_judge: Who tests out of fold; with what is said of the tuning judge where it is the same model.
        proposer: Who writes instructions; the tuning judge where None.
        settings: Which agent, and by which rule it is graded.
        recipe: Optimizer, folds and seed; no more folds are made than there are people, and no worked examples.
        start: An artefact to go on from.
        gate: How calls are made, and what they may cost.

    Raises:
        UsageError: There is too little to learn from, the models cannot be called as asked, or the start is refused.
    """

    program = "agent"

    def __init__(
        self,
        tasks: TaskCorpus,
        model: ModelSpec | str = "embedded",
        judge: ModelSpec | str = "embedded",
        report_judge: ModelSpec | str = "embedded",
        proposer: ModelSpec | str | None = None,
        *,
        settings: ProbeSettings | None = None,
        recipe: Recipe | None = None,
        start: Path | None = None,
        gate: Gate | None = None,
    ):
        self.tasks, self.probe = tasks, settings or ProbeSettings(agent="stages")
        recipe = recipe or Recipe()
        _require_tunable(self.probe, recipe)
        self.items = items_of(tasks)
        recipe = suited(recipe, self.items)
        self._started = make_agent(self.probe.agent, self.probe)
        if start is not None:
            card = load_agent(start, self._started).card
            require_unseen(start, card, {item.mark for item in self.items}, "these tasks")
        models = two_judges((model, AGENT), (judge, JUDGE), (report_judge, REPORT_JUDGE), proposer)
        super().__init__(models, recipe, gate)

    @property
    def data(self) -> DataSource:
        """The corpus."""
        tasks, marks = self.tasks, tuple(sorted({item.mark for item in self.items}))
        return DataSource(name=tasks.name, sha256=tasks.sha256, revision=tasks.revision, dialogues=marks)

    @property
    def start(self) -> str:
        """Of what the start says."""
        return self._started.fingerprint()

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the benchmark, and the words of the judges."""
        return {"benchmark": BENCHMARK, **self.probe.model_dump(mode="json"), "judging": ProbeJudge().fingerprint()}

    def task(self, models: Mapping[str, Model]) -> AgentTask:
        """The agent, tuned by one judge and tested by another."""
        tuning, reporting = (Grader(models[name].lm, ProbeJudge(), self.probe) for name in ("judge", "report_judge"))
        return AgentTask(
            self._started,
            self.items,
            self.recipe,
            models["assistant"].lm,
            tuning,
            reporting,
            models["proposer"].lm,
            self._gate.concurrency,
        )

    def forecast(self) -> Forecast:
        """What `run` takes at most, repairs apart; no call is made and nothing is written."""
        tuning, reporting = tuned_at_most(self.items, self.recipe), 2 * len(self.items)
        questions = len(self._started.predictors())
        agent, proposer = self.models["assistant"], self.models["proposer"]

        def prompt() -> float:
            return mean_tokens(
                agent, [[dict(each) for each in self._started.expected(item.view.task)] for item in self.items]
            )

        def graded(judge: Model, answers: int) -> RoleForecast:
            return RoleForecast(2 * answers, lambda: mean_tokens(judge, self._graded()), VERDICT_TOKENS[1], judge.price)

        roles = {
            "assistant": RoleForecast(questions * (tuning + reporting), prompt, SOLUTION_TOKENS[1], agent.price),
            "judge": graded(self.models["judge"], tuning),
            "report_judge": graded(self.models["report_judge"], reporting),
            "proposer": RoleForecast.of_proposer(
                proposer, self.recipe, questions, lambda: min(prompt(), _SHOWN_TOKENS)
            ),
        }
        return Forecast(roles, self._gate.concurrency, len(self.items), people_of(self.items), groups="people")

    def artefact(self, task: AgentTask, compiled: Compiled[Any, Any, Any], made: Provenance) -> AgentArtefact:
        """The agent compiled on everything, and its card."""
        return AgentArtefact(
            signature=signature_of(compiled.tuned),
            benchmark=BENCHMARK,
            agent=compiled.tuned.name,
            states=dict(states_of(compiled.tuned)),
            card=make_card(task, compiled, made, self.models["assistant"].price),
        )

    def _graded(self) -> list[list[dict[str, Any]]]:
        """What both judges are asked about an answer of the usual length."""
        judge, words = ProbeJudge(), Solution(bottleneck="word " * 60).bottleneck
        asked = ([judge.identification.messages(item.view, words)] for item in self.items)
        filled = ([judge.resolution.messages(item.view, item.view.gold.parameters)] for item in self.items)
        return [messages for both in zip(asked, filled, strict=True) for (messages,) in both]


def require_instructed(recipe: Recipe) -> None:
    """Raise a `UsageError` for an optimizer that works by worked examples."""
    if recipe.optimizer not in AGENT_OPTIMIZERS:
        raise UsageError(
            f"--optimizer {recipe.optimizer}: works by worked examples, and one of PROBE is a whole mailbox or what is "
            f"right of one; choose among {', '.join(AGENT_OPTIMIZERS)}"
        )


def _require_tunable(settings: ProbeSettings, recipe: Recipe) -> None:
    """Raise a `UsageError` where what is set cannot be tuned."""
    require_instructed(recipe)
    if settings.agent not in TUNED:
        raise UsageError(f"--set agent={settings.agent}: what it asks depends on answers; tune {' or '.join(TUNED)}")
    for name, usual in _FIXED.items():
        if (value := getattr(settings, name)) != usual:
            raise UsageError(f"--set {name}={value}: is nothing that is tuned; leave it out")
