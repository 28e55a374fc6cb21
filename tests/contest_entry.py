"""The contest on the command line: what is written of a benchmark so that the verbs know it."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Literal

import click
from contest import Contest, Rules

from dspy_proact import ASSISTANT, JUDGE, open_model
from dspy_proact.benchmarks.execution import Execution
from dspy_proact.benchmarks.participant import Participant
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.cli.entries import Agreeing, Answering, AssistantTuning, Entry, Graders
from dspy_proact.errors import UsageError
from dspy_proact.runs import Settings


class Terms(Rules):
    """Every kind of setting."""

    style: Literal["plain", "rhymed"] = "plain"
    """How it is asked."""
    fair: bool = True
    """Whether tricks are left
    out."""
    hint: str | None = None
    """What is told before."""
    bonus: float = 0.5
    """Points for a quick guess."""
    barred: tuple[str, ...] = ()
    """Words that nobody may say."""


class ContestEntry(Entry):
    """Riddles, which have a sample, settings and nothing else."""

    name = "contest"
    measures = "Whether riddles are seen through."
    size = "10 riddles in 5 places"
    licence = "none"
    data = "made by the tests"
    best = "9 of 10 (nobody, nowhere)"
    of_grading = frozenset({"longest"})

    def settings(self) -> type[Settings]:
        return Terms

    def benchmark(self) -> type[Contest]:
        return Contest

    def evaluations(self, answering: Answering, graders: Graders) -> list[Execution]:
        return [self._guessed(spec, graders) for spec in answering.models]

    def rejudging(self, responses: Responses, graders: Graders) -> Execution:
        judge, participants = self._referee(graders)
        return Execution(Contest(None, self._terms(graders), judge), responses, participants, graders.gate)

    def _guessed(self, spec: Any, graders: Graders) -> Execution:
        model, (judge, participants) = open_model(spec, ASSISTANT, graders.gate), self._referee(graders)
        contest = Contest(model, self._terms(graders), judge)
        return Execution(contest, Participant(model, "two steps", prompt="aa"), participants, graders.gate)

    def _referee(self, graders: Graders) -> Any:
        if not graders.models:
            return None, []
        judge = open_model(graders.models[0], JUDGE, graders.gate)
        return judge, [Participant(judge, "one question", prompt="bb")]

    def _terms(self, graders: Graders) -> Terms:
        assert isinstance(graders.settings, Terms)
        return graders.settings


class RatedContestEntry(ContestEntry):
    """The same, which people have rated and of which scores were published."""

    as_published = ("--set", "style=rhymed")

    def leaderboards(self) -> Any:
        def leaderboard(runs: Sequence[Any] = ()) -> list[str]:
            return ["the best", *(run.model for run in runs)]

        return SimpleNamespace(
            leaderboard=leaderboard,
            leaderboard_document=lambda board: {"guessers": board},
            print_leaderboard=lambda board, console, explain: console.print(", ".join(board)),
        )

    def assistant_compile(self, tuning: AssistantTuning) -> Any:
        style = tuning.settings.model_dump()["style"]
        raise UsageError(f"{style} guessing on {tuning.corpus} has too few riddles for {tuning.recipe.folds} folds")

    def agree(self, agreeing: Agreeing) -> int:
        click.echo(f"people agree on guesses of {agreeing.settings.model_dump()['longest']} words")
        return 3
