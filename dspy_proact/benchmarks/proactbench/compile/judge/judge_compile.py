"""`dspy-proact optimize judge`, as a value."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.proactbench.benchmark import VERDICT_TOKENS
from dspy_proact.benchmarks.proactbench.compile.judge.card import make_card
from dspy_proact.benchmarks.proactbench.compile.judge.case_guard import JudgeGuard, digest_of
from dspy_proact.benchmarks.proactbench.compile.judge.cuts import PLAIN
from dspy_proact.benchmarks.proactbench.compile.judge.labels import labelled, raters_of
from dspy_proact.benchmarks.proactbench.compile.judge.task import CutJudge, JudgeTask
from dspy_proact.benchmarks.proactbench.corpus import Ratings, judge_cases
from dspy_proact.benchmarks.proactbench.programs import JUDGE, GradeResponse, Judge
from dspy_proact.compile.compile import Compile, require_unseen
from dspy_proact.compile.cross_fit import Compiled
from dspy_proact.compile.folds import split, tested_folds
from dspy_proact.compile.forecast import Forecast, RoleForecast, answers_at_most, guarded_at_most, mean_tokens
from dspy_proact.compile.named import PROPOSER
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, Model, ModelSpec
from dspy_proact.programs import DataSource, Provenance, Recipe
from dspy_proact.programs.artefact import JudgeArtefact, compiled_judge, predictor_state, read_judge, signature_hash
from dspy_proact.stats import smallest_gain


class JudgeCompile(Compile[JudgeArtefact]):
    """A judge, ratings, and how the one is tuned to the other.

    Args:
        ratings: With conversations and responses.
        judge: Is tuned.
        proposer: Writes instructions; the judge where None.
        recipe: Optimizer, folds and seed.
        votes: Verdicts on each response.
        start: An artefact to go on from; our judge as it is where None.
        guards: What the start gets right and no candidate may lose: `cases`, the worked cases of the judge's rules.
        gate: How calls are made, and what they may cost.

    Raises:
        UsageError: The ratings cannot be learned from, the models cannot be called as asked, or the start is refused.
    """

    program = "judge"

    def __init__(
        self,
        ratings: Ratings,
        judge: ModelSpec | str = "embedded",
        proposer: ModelSpec | str | None = None,
        *,
        recipe: Recipe | None = None,
        votes: int = 1,
        start: Path | None = None,
        guards: Collection[JudgeGuard] = (),
        gate: Gate | None = None,
    ):
        self.ratings, self.votes, self.items = ratings, votes, labelled(ratings)
        self._guarded = judge_cases() if "cases" in guards else ()
        self._artefact = self._checked(start) if start else None
        spec = ModelSpec.of(judge)
        models = {"judge": (spec, JUDGE), "proposer": (ModelSpec.of(proposer or spec), PROPOSER)}
        super().__init__(models, recipe or Recipe(), gate)

    @property
    def data(self) -> DataSource:
        """The ratings."""
        source = self.ratings.source
        return DataSource(
            name=self.ratings.name,
            sha256=self.ratings.sha256,
            revision=source.commit,
            files=dict(source.files),
            dialogues=tuple(sorted({item.dialogue for item in self.items})),
        )

    @property
    def start(self) -> str:
        """Of what the start says, and how its verdicts are read."""
        return self._artefact.digest if self._artefact else Judge(ask_quote_again=False).fingerprint()

    @property
    def settings(self) -> dict[str, Any]:
        """Verdicts on each response, and the guard where there is one."""
        guards = {"guards": {"cases": digest_of(self._guarded)}} if self._guarded else {}
        return {"votes": self.votes, **guards}

    def task(self, models: Mapping[str, Model]) -> JudgeTask:
        """The judge, tuned to the rated items."""
        lms = models["judge"].lm, models["proposer"].lm
        width = self._gate.concurrency
        return JudgeTask(self._started(), self.items, self.recipe, *lms, self.votes, width, self._guarded)

    def forecast(self) -> Forecast:
        """What `run` takes at most; no call is made and nothing is written."""
        folds = tested_folds(self.items, self.recipe.folds, self.recipe.seed)
        calls = 2 * len(self.items) * self.votes
        for train in [*(fold.train for fold in folds), self.items]:
            learn, compare = (len(part) for part in split(train, self.recipe.seed))
            calls += answers_at_most(self.recipe, learn, compare) + compare * (self.votes - 1)
            calls += guarded_at_most(self.recipe, len(self._guarded) * self.votes)
        judge, start = self.models["judge"], self._started().judge

        def prompt() -> float:
            return mean_tokens(judge, [start.messages(item.view, item.response) for item in self.items])

        roles = {
            "judge": RoleForecast(calls, prompt, VERDICT_TOKENS[1], judge.price),
            "proposer": RoleForecast.of_proposer(self.models["proposer"], self.recipe),
        }
        scenarios = len({item.scenario for item in self.items})
        gain = smallest_gain(len(self.items), scenarios, raters_of(self.items))
        return Forecast(roles, self._gate.concurrency, len(self.items), scenarios, gain)

    def artefact(self, task: JudgeTask, compiled: Compiled[Any, Any, Any], made: Provenance) -> JudgeArtefact:
        """The judge compiled on all items, and its card."""
        tuned: CutJudge = compiled.tuned
        return JudgeArtefact(
            signature=signature_hash(GradeResponse),
            state=predictor_state(tuned.judge.grade, GradeResponse),
            votes=self.votes,
            cuts=dict(tuned.cuts),
            card=make_card(task.items, self.votes, compiled, made, self.models["judge"].price),
        )

    def _checked(self, path: Path) -> JudgeArtefact:
        """The start; raises a `UsageError` where it has seen what is to be tested, or asks for other votes."""
        artefact, dialogues = read_judge(path), {item.dialogue for item in self.items}
        require_unseen(path, artefact.card, dialogues, "the conversations that these ratings are of")
        if artefact.votes != self.votes:
            raise UsageError(f"{path}: asks for {artefact.votes} verdicts a response; give --votes {artefact.votes}")
        return artefact

    def _started(self) -> CutJudge:
        if self._artefact is None:
            return CutJudge(Judge(ask_quote_again=False))
        return CutJudge(compiled_judge(self._artefact, ask_quote_again=False), {**PLAIN, **self._artefact.cuts})
