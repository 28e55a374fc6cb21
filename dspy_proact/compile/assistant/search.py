"""A search of ours in two directions: Recovery up, unwanted offers down.

An Optuna study over system prompts, and over which worked examples and how many. The prompts come from a proposer that
is shown where the assistant falls short, never a rubric. The study is seeded and asks no more than its trials; run
again with the same answers it ends in the same candidates.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import dspy
import optuna

from dspy_proact.compile.assistant.candidate import Candidate
from dspy_proact.compile.assistant.guards import offer_rate
from dspy_proact.compile.assistant.metric import InitiativeMetric
from dspy_proact.compile.assistant.panel import Panel, tuning_score
from dspy_proact.compile.assistant.probe import Probe
from dspy_proact.compile.assistant.teacher import worked_examples
from dspy_proact.compile.effort import Effort
from dspy_proact.compile.study import study_of
from dspy_proact.errors import StageError
from dspy_proact.programs import Assistant, ask_plainly

TIPS = (
    "Have it notice what the user mentioned and did not ask about, and turn it into one concrete next step.",
    "Have it do so only when the user is done or wraps up, and only answer while the user is in the middle of a task.",
    "Have it say when to hold back, and keep what it adds to one sentence.",
)
"""What each further candidate is to try."""
_DRAWS = 6
"""Random draws of worked examples to choose from."""
_EXAMPLES = 8
"""Worked examples to draw from, at most."""
_SHOWN = 6
"""Responses with the lowest scores that the proposer is shown."""
_BARE = "(none: the assistant is told nothing)"


class ProposePrompt(dspy.Signature):
    """Write a better system prompt for a chat assistant that is to be proactive without being pushy.

    Proactive: it takes up what the user disclosed and did not ask about, where that is of use to them. Pushy: it adds
    suggestions where the user wants an answer and nothing more. State principles; do not mention single conversations.
    """

    instruction: str = dspy.InputField(desc="the system prompt now")
    shortfalls: list[str] = dspy.InputField(desc="last messages, responses to them, and what a judge said")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField(desc="the system prompt alone")


def search(
    student: Assistant,
    *,
    learn: Sequence[Probe],
    compare: Sequence[Probe],
    controls: Sequence[Probe],
    panel: Panel,
    metric: InitiativeMetric,
    proposer_lm: dspy.LM,
    effort: Effort,
    journal: Path | None = None,
) -> list[Candidate]:
    """The candidates that the study tried, each once; the start is the first.

    Args:
        student: The start.
        learn: Triggers whose shortfalls the proposer is shown and from which worked examples are taken.
        compare: Triggers that candidates are compared on.
        controls: Control turns of the same units; where there are none, the second direction is flat.
        panel: With the tuning judge.
        metric: With feedback.
        proposer_lm: Writes prompts.
        effort: Trials (the start included), the most demos, and the seed.
        journal: Where the study is written down; it is never read.
    """
    prompts = _prompts(student, learn, panel, metric, proposer_lm)
    examples = worked_examples(student, learn, panel, _EXAMPLES) if effort.max_demos else []
    draws = [_draw(examples, effort.seed + place) for place in range(_DRAWS)]
    tried: dict[tuple[int, int, int], Candidate] = {}

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        prompt = trial.suggest_int("prompt", 0, len(prompts) - 1)
        count = trial.suggest_int("demos", 0, min(effort.max_demos, len(examples)))
        draw = trial.suggest_int("draw", 0, _DRAWS - 1) if count else 0
        choice = (prompt, draw, count)
        if choice not in tried:
            program = student.instructed(prompts[prompt]) if prompt else student.deepcopy()
            program.reply.demos = draws[draw][:count] or program.reply.demos
            tried[choice] = _measured(program, compare, controls, panel)
        return tried[choice].score, tried[choice].offers or 0.0

    study = study_of(["maximize", "minimize"], effort.seed, journal)
    study.enqueue_trial({"prompt": 0, "demos": 0})
    study.optimize(objective, n_trials=effort.trials)
    return list(tried.values())


def _measured(program: Assistant, compare: Sequence[Probe], controls: Sequence[Probe], panel: Panel) -> Candidate:
    played = panel.play(program, [*compare, *controls])
    return Candidate(program, fmean(tuning_score(played[probe.key]) for probe in compare), offer_rate(played, controls))


def _prompts(
    student: Assistant, learn: Sequence[Probe], panel: Panel, metric: InitiativeMetric, proposer_lm: dspy.LM
) -> list[str]:
    """The start's prompt, and one for each tip; what the proposer fails to word is left out."""
    shown = _shortfalls(student, learn, panel, metric)
    propose = dspy.Predict(ProposePrompt)
    worded = [student.instruction]
    for tip in TIPS:
        try:
            with dspy.context(lm=proposer_lm, trace=None):
                said = ask_plainly(propose, instruction=student.instruction or _BARE, shortfalls=shown, tip=tip)
        except StageError:
            continue
        if (text := said.improved_instruction.strip()) and text not in worded:
            worded.append(text)
    return worded


def _shortfalls(student: Assistant, learn: Sequence[Probe], panel: Panel, metric: InitiativeMetric) -> list[str]:
    """The responses with the lowest scores, each with its message and what may be told of the verdict."""
    played = panel.play(student, learn)
    rated = [(played[probe.key].score, probe, played[probe.key]) for probe in learn]
    lowest = sorted(((score, probe, each) for score, probe, each in rated if score is not None), key=lambda row: row[0])
    return [
        f"User: {probe.conversation[-1].user}\nAssistant: {each.response}\n"
        f"{metric.feedback(probe, each.response or '', each.verdict)}"
        for _, probe, each in lowest[:_SHOWN]
    ]


def _draw(examples: Sequence[dspy.Example], seed: int) -> list[dspy.Example]:
    order = list(examples)
    random.Random(seed).shuffle(order)
    return order
