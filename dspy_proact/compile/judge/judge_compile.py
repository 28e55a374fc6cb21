"""`dspy-proact optimize judge`, as a value: checked before the first call, kept in a folder, resumed by the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dspy_proact.compile.compile import VERSIONED, Compile
from dspy_proact.compile.judge.carding import Made, make_card
from dspy_proact.compile.judge.compiling import Plan, Start, compile_judge
from dspy_proact.compile.judge.cutting import PLAIN
from dspy_proact.compile.judge.estimate import CompileEstimate, estimate
from dspy_proact.compile.judge.labels import labelled
from dspy_proact.compile.workshop import who
from dspy_proact.corpus import Ratings
from dspy_proact.errors import UsageError
from dspy_proact.models import EMBEDDED, Gate, Model, ModelSpec, Record, open_model
from dspy_proact.programs import (
    JUDGE,
    PROPOSER,
    GradeResponse,
    Judge,
    JudgeArtefact,
    compiled_judge,
    predictor_state,
    read_judge,
    signature_hash,
)
from dspy_proact.provenance import now, versions


class JudgeCompile(Compile[JudgeArtefact]):
    """A judge, ratings, and how the one is tuned to the other.

    Args:
        ratings: With conversations and responses.
        judge: By its name, or with all that is said of it.
        proposer: Who writes instructions; the judge's model where None.
        plan: Optimizer, folds and votes.
        start: An artefact to go on from; our judge as it is where None.
        gate: How calls are made; the usual way where None.

    Raises:
        UsageError: The ratings cannot be learned from, the models cannot be called as asked, or the start is refused.
    """

    program = "judge"

    def __init__(
        self,
        ratings: Ratings,
        judge: ModelSpec | str = EMBEDDED,
        proposer: ModelSpec | str | None = None,
        *,
        plan: Plan,
        start: Path | None = None,
        gate: Gate | None = None,
    ):
        self.ratings, self.plan = ratings, plan
        self.items = labelled(ratings)
        self._artefact = self._checked(read_judge(start), start) if start else None
        self._gate = gate or Gate()
        self._judge = ModelSpec.of(judge)
        self._proposer = self._judge if proposer is None else ModelSpec.of(proposer)
        self._open(None)

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal for two commands to be the same compile."""
        judge, proposer = self._models
        effort = self.plan.effort
        return {
            "judge": who(judge),
            "proposer": who(proposer),
            "optimizer": {
                "name": effort.optimizer,
                "trials": effort.trials,
                "max_demos": effort.max_demos,
                "seed": effort.seed,
                "folds": self.plan.folds,
                "votes": self.plan.votes,
            },
            "ratings": self.ratings.sha256,
            "start": self._artefact.digest if self._artefact else Judge(ask_quote_again=False).fingerprint(),
        }

    def estimate(self) -> CompileEstimate:
        """What `run` takes at most; no call is made and nothing is written."""
        return estimate(self._models[0], self.items, self.plan, self._start().judge)

    def _compiled(self, record: Record, folder: Path, told: Callable[[str], None]) -> JudgeArtefact:
        judge, proposer = self._open(record)
        compiled = compile_judge(
            self._start(),
            self.items,
            self.plan,
            judge_lm=judge.lm,
            proposer_lm=proposer.lm,
            journals=folder,
            told=told,
        )
        return JudgeArtefact(
            signature=signature_hash(GradeResponse),
            state=predictor_state(compiled.judge.grade, GradeResponse),
            votes=self.plan.votes,
            cuts=dict(compiled.cuts),
            card=make_card(self.items, compiled, self._made(), self.plan.effort.seed),
        )

    def _checked(self, artefact: JudgeArtefact, path: Path) -> JudgeArtefact:
        """The start; raises a `UsageError` where it has seen what is to be tested, or asks for other votes."""
        seen = artefact.card.learned_from & {item.dialogue for item in self.items}
        if seen:
            raise UsageError(
                f"{path}: was compiled on {len(seen)} of the conversations that these ratings are of, so that no "
                "program that never saw them could be tested on them; start from one that was compiled on others, or "
                "leave --start out"
            )
        if artefact.votes != self.plan.votes:
            raise UsageError(f"{path}: asks for {artefact.votes} verdicts a response; give --votes {artefact.votes}")
        return artefact

    def _open(self, record: Record | None) -> tuple[Model, Model]:
        judge = open_model(self._judge, JUDGE, self._gate, record=record)
        proposer = open_model(self._proposer, PROPOSER, self._gate, record=record)
        self._models = (judge, proposer)
        return self._models

    def _start(self) -> Start:
        if self._artefact is None:
            return Start(Judge(ask_quote_again=False), PLAIN)
        return Start(compiled_judge(self._artefact, ask_quote_again=False), {**PLAIN, **self._artefact.cuts})

    def _made(self) -> Made:
        judge, proposer = self._models
        source = self.ratings.source
        return Made(
            judge=who(judge),
            proposer=proposer.name,
            optimizer=self.identity["optimizer"],
            ratings={
                "name": self.ratings.name,
                "sha256": self.ratings.sha256,
                "commit": source.commit,
                "files": dict(source.files),
                "dialogues": sorted({item.dialogue for item in self.items}),
            },
            embedded=judge.embedded or proposer.embedded,
            versions=versions(*VERSIONED),
            created=now(),
            price=judge.price,
        )
