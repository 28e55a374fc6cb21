"""What a compile of the assistant will take at most, before a call is made."""

from collections.abc import Sequence
from dataclasses import dataclass

from dspy_proact.benchmarks.proactbench import ASSUMED_RESPONSE, ASSUMED_WORDS, RESPONSE_TOKENS, VERDICT_TOKENS
from dspy_proact.compile.assistant.cast import Cast
from dspy_proact.compile.assistant.compiling import AssistantPlan, dealt
from dspy_proact.compile.assistant.probe import Probe, controls_among, of_phases
from dspy_proact.compile.effort import PROPOSALS, Effort
from dspy_proact.compile.folds import split
from dspy_proact.models import count_tokens
from dspy_proact.programs import Assistant, Judge, OfferDetector
from dspy_proact.types import Phase
from dspy_proact.views import AssistantView, JudgeView


@dataclass(frozen=True)
class AssistantEstimate:
    """The most that a compile takes, repairs and second questions apart; what DSPy remembers is not asked again."""

    responses: int
    """Their prompts are counted with the most demos that a program may get, each of an assumed length."""
    verdicts: int
    """Of the tuning judge; detections of offers among them."""
    report_verdicts: int
    """Of the reporting judge, likewise."""
    proposer_calls: int
    usd: float | None
    """Without the proposer's; None where a price is not known."""
    triggers: int
    """Of the chosen phases."""
    scenarios: int
    """Of these."""


def estimate(cast: Cast, probes: Sequence[Probe], plan: AssistantPlan, start: Assistant) -> AssistantEstimate:
    """Count what each part of the compile asks."""
    folds = dealt(probes, plan)
    trains = [*(fold.train for fold in folds), probes]
    tuning = sum(_tuned(plan, train) for train in trains)
    reporting = 2 * len(probes)
    prompts = [count_tokens(cast.assistant.name, start.messages(AssistantView.of(p.conversation))) for p in probes]
    graded = [count_tokens(cast.judge.name, _graded(probe)) for probe in probes]
    bare, grading = sum(prompts) / len(prompts), sum(graded) / len(graded)
    prompt = bare + plan.effort.max_demos * (bare + ASSUMED_WORDS)  # a demo is a conversation and its response
    usd = [
        cast.assistant.price.of(round(prompt * (tuning + reporting)), RESPONSE_TOKENS[1] * (tuning + reporting)),
        cast.judge.price.of(round(grading * tuning), VERDICT_TOKENS[1] * tuning),
        cast.report_judge.price.of(round(grading * reporting), VERDICT_TOKENS[1] * reporting),
    ]
    known = [each for each in usd if each is not None]
    chosen = of_phases(probes, plan.phases)
    return AssistantEstimate(
        responses=tuning + reporting,
        verdicts=tuning,
        report_verdicts=reporting,
        proposer_calls=PROPOSALS[plan.effort.optimizer] * len(trains),
        usd=sum(known) if len(known) == len(usd) else None,
        triggers=len(chosen),
        scenarios=len({probe.scenario for probe in chosen}),
    )


def _tuned(plan: AssistantPlan, train: Sequence[Probe]) -> int:
    """Responses that an optimizer and the guards ask for at most on one training set."""
    chosen = of_phases(train, plan.phases)
    learn, compare = (len(part) for part in split(chosen, plan.effort.seed))
    controls = len(controls_among(train))
    others = len(of_phases(train, [phase for phase in Phase if phase not in plan.phases]))
    looked_at = {"offers": controls, "length": len(chosen), "phases": others}
    guarded = sum(looked_at[guard] for guard in plan.margins) * (_candidates(plan.effort) + 1)
    # A search looks at control turns in every trial, and asks a teacher beside the student.
    searched = plan.effort.trials * controls + learn if plan.effort.optimizer == "search" else 0
    return plan.effort.answers_at_most(learn, compare) + searched + compare + guarded


def _candidates(effort: Effort) -> int:
    return effort.trials + 3


def _graded(probe: Probe) -> list[dict[str, str]]:
    if isinstance(probe.view, JudgeView):
        return Judge().messages(probe.view, ASSUMED_RESPONSE)
    return OfferDetector().messages(probe.view, ASSUMED_RESPONSE)
