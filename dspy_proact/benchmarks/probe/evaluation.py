"""An evaluation on PROBE: its tasks, who answers and who grades. What `eval` and `rejudge` do, as values."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.judges import open_judges
from dspy_proact.benchmarks.participant import Participant
from dspy_proact.benchmarks.probe.agents import AGENT, AgentModule, make_agent
from dspy_proact.benchmarks.probe.baselines import Blind
from dspy_proact.benchmarks.probe.benchmark import Probe
from dspy_proact.benchmarks.probe.cases import Tasks, case_set_of
from dspy_proact.benchmarks.probe.compiled import load_agent, load_judges, mark_of
from dspy_proact.benchmarks.probe.embedded_judge import answer as judge_stand_in
from dspy_proact.benchmarks.probe.judging import ProbeJudge
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.solution import Agent
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.models import EMBEDDED, EMBEDDER, Embedder, Gate, Model, ModelSpec, Role, open_embedder, open_model

JUDGE = Role("judge", "--judge", "verdict", judge_stand_in)
REPORT_JUDGE = Role("judge", "--report-judge", "verdict", judge_stand_in)
"""Who tests what another judge has tuned."""
_SHOWN_ALL = ("single", "stages")
"""Agents that use no tool."""
BLIND = "blind"
"""Stands for the model of a baseline, which has none."""
Named = ModelSpec | str | Sequence[ModelSpec | str]


@dataclass(frozen=True)
class _Rule(Participant):
    """A baseline: what it does measures itself, and no parameter of it is anybody's."""

    @property
    def overridden(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, kw_only=True)
class _WithEmbedder(Model):
    """A model whose agent searches by another one: both need their keys, and are closed together."""

    embedder: Embedder

    def require_key(self) -> None:
        super().require_key()
        self.embedder.require_key()

    async def aclose(self) -> None:
        await super().aclose()
        await self.embedder.aclose()


class ProbeEvaluation(Execution):
    """An agent on a model, its judges and a corpus; or a blind baseline, which asks neither.

    Args:
        tasks: As read by the settings, sanitized or not.
        model: By its name, or with all that is said of it.
        judge: Likewise; several grade every answer each.
        settings: The published setting where None.
        agent: The program under test; the settings' where None.
        program: File of a compiled agent instead, of the settings' kind.
        judge_program: File of compiled judges, in place of ours.
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
        program: Path | None = None,
        judge_program: Path | None = None,
        gate: Gate | None = None,
    ):
        settings, gate, grader = settings or ProbeSettings(), gate or Gate(), _judge_of(judge_program)
        _require_fitting(tasks, settings)
        if blind := settings.baseline != "none":
            _require_alone(settings, model, judge, agent or program)
        embedder = _embedder_of(settings, gate)
        if embedder:
            settings = settings.model_copy(update={"embedder_api_base": embedder.endpoint})
        answering, learned_on = agent or _program_of(settings, embedder), 0
        if program is not None:
            assert isinstance(answering, AgentModule), "a baseline is refused, and an agent has no file"
            card = load_agent(program, answering).card
            learned_on = sum(mark_of(tasks.task(each.key)) in card.learned_from for each in tasks.entries)
        participant = _participant(BLIND if blind else model, answering, gate, embedder)
        prices = {EMBEDDER: embedder.price} if embedder else {}
        participant = replace(participant, learned_on=learned_on, further_prices=prices)
        judges = [] if blind else open_judges(judge, JUDGE, gate)
        under_test = None if blind else participant.model
        benchmark = Probe(case_set_of(tasks), answering, under_test, grader, judges, settings=settings)
        super().__init__(benchmark, participant, _graders(judges, grader), gate)


class ProbeRejudging(Execution):
    """Judges for answers that exist, in a run of its own that names its parent.

    Args:
        responses: What is judged, of a run on PROBE.
        judge: As for a `ProbeEvaluation`.
        upstream_rule: By which rule; as in the run where None.
        judge_program: As for a `ProbeEvaluation`.
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
        judge_program: Path | None = None,
        gate: Gate | None = None,
    ):
        gate, grader = gate or Gate(), _judge_of(judge_program)
        settings = ProbeSettings.model_validate(responses.settings)
        if upstream_rule is not None:
            settings = settings.model_copy(update={"upstream_rule": upstream_rule})
        judges = open_judges(judge, JUDGE, gate)
        benchmark = Probe(responses.case_set, None, None, grader, judges, settings=settings)
        super().__init__(benchmark, responses, _graders(judges, grader), gate)


def _judge_of(program: Path | None) -> ProbeJudge:
    return ProbeJudge() if program is None else load_judges(program)[0]


def _embedder_of(settings: ProbeSettings, gate: Gate) -> Embedder | None:
    """Who embeds for search; raises a `UsageError` where nobody can be named so, or nothing is searched."""
    if settings.embedder is None:
        for name in ("embedder_api_base", "embedder_price"):
            if getattr(settings, name) is not None:
                raise UsageError(f"--set {name}: is said of an embedder; name it with --set embedder=NAME")
        return None
    if settings.agent in _SHOWN_ALL:
        told = f"agent={settings.agent} is shown every item and searches for none"
        raise UsageError(f"--set embedder={settings.embedder}: {told}; leave it out, or name another agent")
    price = settings.embedder_price
    given = None if price is None else Price(prompt=price / 1e6, completion=0.0, reason="given by --set embedder_price")
    spec = ModelSpec(name=settings.embedder, api_base=settings.embedder_api_base, price=given)
    return open_embedder(spec, gate, "--set embedder")


def _program_of(settings: ProbeSettings, embedder: Embedder | None) -> Agent:
    if settings.baseline != "none":
        return Blind(settings.baseline, settings.take)
    return make_agent(settings.agent, settings, embedder)


def _participant(model: ModelSpec | str, program: Agent, gate: Gate, embedder: Embedder | None) -> Participant:
    said = program.name, program.fingerprint()
    if model == BLIND:
        return _Rule(replace(open_model(EMBEDDED, AGENT, gate), name=BLIND), *said)
    opened = open_model(model, AGENT, gate)
    if embedder:
        opened = _WithEmbedder(**{each.name: getattr(opened, each.name) for each in fields(opened)}, embedder=embedder)
    return Participant(opened, *said)


def _graders(judges: Sequence[Model], grader: ProbeJudge) -> list[Participant]:
    return [Participant(judge, grader.name, grader.fingerprint()) for judge in judges]


def _require_fitting(tasks: Tasks, settings: ProbeSettings) -> None:
    """Raise a `UsageError` where tasks were read otherwise than the settings say."""
    if (tasks.sanitize, tasks.seed) != (settings.sanitize, settings.seed):
        read, asked = (f"sanitize={each.sanitize} and seed={each.seed}" for each in (tasks, settings))
        raise UsageError(f"{tasks.name}: read with {read}, and the settings say {asked}; read it by the settings")


def _require_alone(settings: ProbeSettings, model: ModelSpec | str, judge: Named, program: object) -> None:
    """Raise a `UsageError` where a baseline is given what it does not ask."""
    named = f"--set baseline={settings.baseline}"
    specs = [judge] if isinstance(judge, ModelSpec | str) else judge
    if program or any(ModelSpec.of(each).name != EMBEDDED for each in (model, *specs)):
        raise UsageError(f"{named}: a baseline asks no model; leave --model and --judge out")
    if settings.embedder:
        raise UsageError(f"{named}: a baseline asks no embedder; leave embedder out")
    if settings.oracle != "none":
        raise UsageError(f"{named}: a baseline only searches, and an oracle gives that away; leave one of them out")
