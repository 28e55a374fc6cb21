"""GEPA: programs improved from their own answers, by a minibatch at a time.

GEPA chooses parents, accepts, merges; what a program is, how it answers, and how instructions are proposed are ours. A
candidate is the instruction of each predictor, by the predictor's name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dspy
from gepa.api import optimize
from gepa.core.adapter import EvaluationBatch

from dspy_proact.compile.forecast import MINIBATCH
from dspy_proact.compile.proposals import proposals
from dspy_proact.compile.race import in_turns
from dspy_proact.compile.training import Answered, Training
from dspy_proact.recipe import Recipe

Instructions = dict[str, str]
_ALONE = 6
"""Examples of a minibatch that show a single predictor, each of them."""


class System:
    """A training set as GEPA sees it: an adapter of its, and when it stops."""

    def __init__(self, training: Training, trials: int):
        self.training, self.trials, self.proposals = training, trials, 0
        self.failure: Exception | None = None
        """What ended a proposal: GEPA would go on without it."""

    def program(self, candidate: Instructions) -> Any:
        """A copy of the student with these instructions."""
        made = self.training.student.deepcopy()
        for name, predictor in made.named_predictors():
            if candidate[name] != predictor.signature.instructions:
                predictor.signature = predictor.signature.with_instructions(candidate[name])
        return made

    def evaluate(
        self, batch: list[dspy.Example], candidate: Instructions, capture_traces: bool = False
    ) -> EvaluationBatch[Answered, Answered]:
        """The answers to examples, and their scores."""
        answers = self.training.answers(self.program(candidate), batch)
        return EvaluationBatch(answers, [answered.score for answered in answers], answers * capture_traces)

    def make_reflective_dataset(
        self,
        candidate: Instructions,  # noqa: ARG002 - GEPA gives it
        eval_batch: EvaluationBatch[Answered, Answered],
        components_to_update: list[str],
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The answers of a minibatch: which of them show what is chosen predictor by predictor by the brief."""
        shown = [{"answered": answered} for answered in eval_batch.outputs]
        return dict.fromkeys(components_to_update, shown)

    def propose_new_texts(
        self,
        candidate: Instructions,
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> Instructions:
        """New instructions, by the predictors for which there is one."""
        answers = [shown["answered"] for shown in reflective_dataset[components_to_update[0]]]
        try:
            proposed = proposals(self.training, self.program(candidate), answers, [self.proposals])
        except Exception as error:
            self.failure = error
            raise
        self.proposals += bool(proposed)
        return {name: text for name, (text,) in proposed.items() if text is not None}

    def stops(self, gepa_state: Any) -> bool:  # noqa: ARG002 - GEPA gives it
        """Whether all trials are done; the student's is one of them."""
        return self.proposals >= self.trials - 1


class Minibatches:
    """Examples in minibatches, in which those of different `turns`, by key, take turns."""

    def __init__(self, examples: Sequence[dspy.Example], turns: Mapping[str, str], size: int, seed: int):
        self._examples, self._turns, self._size, self._seed = examples, turns, size, seed
        self._left: list[int] = []

    def next_minibatch_ids(self, loader: Any, state: Any) -> list[int]:  # noqa: ARG002 - GEPA gives them
        """Indices of examples; none comes twice before all have come, except to fill a minibatch."""
        if len(self._left) < self._size:
            numbers = {example.key: number for number, example in enumerate(self._examples)}
            order = [numbers[example.key] for example in in_turns(self._examples, self._turns, self._seed)]
            self._left += [number for number in order if number not in self._left]
            self._seed += 1
        batch, self._left = self._left[: self._size], self._left[self._size :]
        return batch


def reflect(training: Training, recipe: Recipe) -> list[tuple[Any, float]]:
    """The programs that GEPA accepted, each with its mean score on all examples.

    Trials include the student: each further one is a proposal, for all predictors that the minibatch shows. Below two
    it proposes nothing.
    """
    system: Any = System(training, recipe.trials)
    several = len(training.student.predictors()) > 1
    size = min(MINIBATCH if several else _ALONE, len(training.learn))
    # Items of one stratum have a predictor of their own, if any have.
    turns = {key: item.stratum for key, item in training.items.items()} if several else training.groups
    result: Any = optimize(
        {name: predictor.signature.instructions for name, predictor in training.student.named_predictors()},
        list(training.learn),
        list(training.examples),
        system,
        batch_sampler=Minibatches(training.learn, turns, size, recipe.seed),
        module_selector="all",
        use_merge=several,  # of the instructions of one predictor there is nothing to merge
        merge_val_overlap_floor=1,
        stop_callbacks=system.stops,
        # Every trial's minibatch, before and after; all examples for the student, and for half of the proposals.
        max_metric_calls=(1 + recipe.trials // 2) * len(training.examples) + 2 * recipe.trials * size,
        track_best_outputs=False,
        seed=recipe.seed,
    )
    if system.failure:
        raise system.failure
    programs = [system.program(candidate) for candidate in result.candidates]
    return list(zip(programs, result.val_aggregate_scores, strict=True))
