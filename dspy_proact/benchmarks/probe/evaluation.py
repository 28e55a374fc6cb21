"""An evaluation on PROBE: its tasks, who answers and who grades. What `eval` and `rejudge` do, as values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.judges import open_judges
from dspy_proact.benchmarks.participant import Participant
from dspy_proact.benchmarks.probe.agents import AGENT, Bounds, make_agent
from dspy_proact.benchmarks.probe.baselines import Blind
from dspy_proact.benchmarks.probe.benchmark import Probe
from dspy_proact.benchmarks.probe.cases import Tasks, case_set_of
from dspy_proact.benchmarks.probe.embedded_judge import answer as judge_stand_in
from dspy_proact.benchmarks.probe.judging import ProbeJudge
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.solution import Agent
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import UsageError
from dspy_proact.models import EMBEDDED, Gate, Model, ModelSpec, Role, open_model

JUDGE = Role("judge", "--judge", "verdict", judge_stand_in)
BLIND = "blind"
"""Stands for the model of a baseline, which has none."""
Named = ModelSpec | str | Sequence[ModelSpec | str]


@dataclass(frozen=True)
class _Rule(Participant):
    """A baseline: what it does measures itself, and no parameter of it is anybody's."""

    @property
    def overridden(self) -> tuple[str, ...]:
        return ()


class ProbeEvaluation(Execution):
    """An agent on a model, its judges and a corpus; or a blind baseline, which asks neither.

    Args:
        tasks: As read by the settings, sanitized or not.
        model: By its name, or with all that is said of it.
        judge: Likewise; several grade every answer each.
        settings: The published setting where None.
        agent: The program under test; the settings' where None.
        gate: How calls are made; the usual way where None.

    Raises:
        UsageError: The models cannot be called as asked, or a baseline is given one, an agent or an oracle.
    """

    def __init__(
        self,
        tasks: Tasks,
        model: ModelSpec | str = EMBEDDED,
        judge: Named = EMBEDDED,
        *,
        settings: ProbeSettings | None = None,
        agent: Agent | None = None,
        gate: Gate | None = None,
    ):
        settings, gate, grader = settings or ProbeSettings(), gate or Gate(), ProbeJudge()
        case_set = case_set_of(tasks)
        if settings.baseline != "none":
            rule = Blind(settings.baseline, settings.take)
            _require_alone(settings, model, judge, agent)
            nobody = replace(open_model(EMBEDDED, AGENT, gate), name=BLIND)
            participant = _Rule(nobody, rule.name, rule.fingerprint())
            super().__init__(Probe(case_set, rule, None, grader, [], settings), participant, [], gate)
            return
        program = agent or _agent_of(settings)
        under_test, judges = open_model(model, AGENT, gate), open_judges(judge, JUDGE, gate)
        participant = Participant(under_test, program.name, program.fingerprint())
        benchmark = Probe(case_set, program, under_test, grader, judges, settings)
        super().__init__(benchmark, participant, _participants(judges, grader), gate)


class ProbeRejudging(Execution):
    """Judges for answers that exist, in a run of its own that names its parent.

    Args:
        responses: What is judged, of a run on PROBE.
        judge: As for a `ProbeEvaluation`.
        upstream_rule: By which rule; as in the run where None.
        gate: How calls are made.

    Raises:
        UsageError: The judges cannot be called as asked.
    """

    def __init__(
        self,
        responses: Responses,
        judge: Named = EMBEDDED,
        *,
        upstream_rule: bool | None = None,
        gate: Gate | None = None,
    ):
        gate, grader = gate or Gate(), ProbeJudge()
        settings = ProbeSettings.model_validate(responses.settings)
        if upstream_rule is not None:
            settings = settings.model_copy(update={"upstream_rule": upstream_rule})
        judges = open_judges(judge, JUDGE, gate)
        benchmark = Probe(responses.case_set, None, None, grader, judges, settings)
        super().__init__(benchmark, responses, _participants(judges, grader), gate)


def _agent_of(settings: ProbeSettings) -> Agent:
    bounds = Bounds(**{name: getattr(settings, name) for name in Bounds.model_fields})
    return make_agent(settings.agent, bounds)


def _participants(judges: Sequence[Model], grader: ProbeJudge) -> list[Participant]:
    return [Participant(judge, grader.name, grader.fingerprint()) for judge in judges]


def _require_alone(settings: ProbeSettings, model: ModelSpec | str, judge: Named, agent: Agent | None) -> None:
    """Raise a `UsageError` where a baseline is given what it does not ask."""
    named = f"--set baseline={settings.baseline}"
    specs = [judge] if isinstance(judge, ModelSpec | str) else judge
    if agent or any(ModelSpec.of(each).name != EMBEDDED for each in (model, *specs)):
        raise UsageError(f"{named}: a baseline asks no model; leave --model and --judge out")
    if settings.oracle != "none":
        raise UsageError(f"{named}: a baseline only searches, and an oracle gives that away; leave one of them out")
