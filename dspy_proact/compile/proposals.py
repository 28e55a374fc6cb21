"""Instructions that a proposer writes for the predictors of a program, from the program's own answers."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dspy_proact.compile.brief import NOTHING, ProposeInstruction, brief_of
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.target import instructions_of
from dspy_proact.compile.training import Answered, Training
from dspy_proact.evaluation.tuning import UNREAD
from dspy_proact.plain_text import tame


def proposals(
    training: Training, program: Any, answers: Sequence[Answered], numbers: Sequence[int] | None = None
) -> Mapping[str, list[str | None]]:
    """By predictor that took part in a wrong answer, a new instruction for each number; None where there is none.

    A number is of a tip and, beyond the last tip, of other answers and another rollout; there is a number for each tip
    where none are given. All are asked for side by side.
    """
    tips = training.proposal.tips
    wanted = range(len(tips)) if numbers is None else numbers
    names = [name for name, _ in program.named_predictors()]
    wrong = [answered for answered in answers if answered.feedback.error not in ("", UNREAD)]
    # Of an answer that cannot be read it is not known whose it was.
    wanting = {name for answered in wrong for name in {step.predictor for step in answered.trace} or names}
    now = {name: text for name, text in zip(names, instructions_of(program), strict=True) if name in wanting}

    def propose(name: str, number: int) -> str | None:
        rollout, tip = divmod(number, len(tips))
        brief = brief_of(training, program, name, answers, draw=rollout)
        return training.proposer.ask(ProposeInstruction, rollout, **brief.inputs, tip=tips[tip])

    texts = side_by_side([partial(propose, name, number) for name in now for number in wanted], training.width)
    of = {name: texts[index * len(wanted) :][: len(wanted)] for index, name in enumerate(now)}
    # As a brief shows it: markers are tamed, and a line stands for none.
    shown = {name: tame(text).strip() or NOTHING for name, text in now.items()}
    return {name: training.proposer.new(shown[name], of[name]) for name in now}
