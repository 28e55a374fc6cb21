"""`dspy-proact optimize judge`, as a value: checked before the first call, kept in a folder, resumed by the same."""

import hashlib
import json
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy

from dspy_proact.compile.carding import Made, make_card
from dspy_proact.compile.compiling import Plan, Start, compile_judge
from dspy_proact.compile.cutting import PLAIN
from dspy_proact.compile.estimate import CompileEstimate, estimate
from dspy_proact.compile.labels import labelled
from dspy_proact.corpus import Ratings
from dspy_proact.errors import Interrupted, RunError, UsageError
from dspy_proact.models import Backend, Gate, Limits, Model, Price, Record, open_model
from dspy_proact.programs import (
    Artefact,
    GradeResponse,
    Judge,
    compiled_judge,
    judge_state,
    read_artefact,
    signature_hash,
    write_artefact,
)
from dspy_proact.switch import Switch


@dataclass(frozen=True)
class Finished:
    """How a compile ended."""

    path: Path
    """The artefact."""
    artefact: Artefact
    paid: int
    """Requests that were sent by this command; the rest stood in the record."""


class JudgeCompile:
    """A judge, ratings, and how the one is tuned to the other.

    Args:
        ratings: With conversations and responses.
        judge: A litellm name, or `embedded` for the stand-in.
        proposer: Who writes instructions; the judge's model where None.
        plan: Optimizer, folds and votes.
        start: An artefact to go on from; our judge as it is where None.
        judge_api_base: Another endpoint than the provider's own.
        proposer_api_base: Likewise.
        judge_params: Decoding parameters that override the preset; None leaves one out.
        backend: `litellm` forces litellm's client.
        timeout: Seconds for one attempt.
        retries: Further attempts after a failure that may heal.
        limits: The most that one command may spend.
        judge_price: Instead of the list price.
        proposer_price: Likewise.

    Raises:
        UsageError: The ratings cannot be learned from, the models cannot be called as asked, or the start is refused.
    """

    def __init__(
        self,
        ratings: Ratings,
        judge: str = "embedded",
        proposer: str | None = None,
        *,
        plan: Plan,
        start: Path | None = None,
        judge_api_base: str | None = None,
        proposer_api_base: str | None = None,
        judge_params: Mapping[str, Any] | None = None,
        backend: Backend = "auto",
        timeout: float = 600.0,
        retries: int = 5,
        limits: Limits | None = None,
        judge_price: Price | None = None,
        proposer_price: Price | None = None,
    ):
        self.ratings, self.plan = ratings, plan
        self.items = labelled(ratings)
        self._artefact = self._checked(read_artefact(start), start) if start else None
        if proposer is None and proposer_api_base is not None:
            raise UsageError("--proposer-api-base: name the model that is there with --proposer")
        self._gate = Gate(retries=retries, timeout=timeout, limits=limits)
        self._judge = {"name": judge, "api_base": judge_api_base, "params": judge_params, "price": judge_price}
        self._proposer = {
            "name": proposer or judge,
            "api_base": proposer_api_base if proposer else judge_api_base,
            "price": proposer_price or (None if proposer else judge_price),
        }
        self._backend: Backend = backend
        self._open(None)

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal for two commands to be the same compile."""
        judge, proposer = self._models
        effort = self.plan.effort
        return {
            "judge": _who(judge),
            "proposer": _who(proposer),
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

    @property
    def default_folder(self) -> Path:
        """`compiles/judge--<8 hex of the identity>`."""
        told = json.dumps(self.identity, sort_keys=True)
        return Path("compiles", f"judge--{hashlib.sha256(told.encode()).hexdigest()[:8]}")

    def estimate(self) -> CompileEstimate:
        """What `run` takes at most; no call is made and nothing is written."""
        return estimate(self._models[0], self.items, self.plan, self._start().judge)

    def run(self, out: str | Path | None = None, told: Callable[[str], None] = lambda _: None) -> Finished:
        """Compile, or go on with the compile in the folder, and write the artefact.

        Args:
            out: The folder; `default_folder` when None.
            told: Is given a line now and then.

        Raises:
            RunError: The folder holds another compile, is in use, or cannot be written.
            Halt: It ended early; what was answered is kept, and the same call goes on.
        """
        folder = Path(out or self.default_folder)
        self._claim(folder)
        switch = Switch()
        self._gate.open(switch)
        with Record(folder / "record.jsonl") as record, _own_cache(), _interrupts(switch):
            judge, proposer = self._open(record)
            compiled = compile_judge(
                self._start(), self.items, self.plan, judge_lm=judge.lm, proposer_lm=proposer.lm, told=told
            )
            switch.check()
        artefact = Artefact(
            program="judge",
            signature=signature_hash(GradeResponse),
            state=judge_state(compiled.judge),
            votes=self.plan.votes,
            cuts=dict(compiled.cuts),
            card=make_card(self.items, compiled, self._made(), self.plan.effort.seed),
        )
        path = folder / "judge.json"
        write_artefact(path, artefact)
        return Finished(path, artefact, record.paid)

    def _checked(self, artefact: Artefact, path: Path) -> Artefact:
        """The start; raises a `UsageError` where it has seen what is to be tested, or asks for other votes."""
        seen = set(artefact.card.ratings.get("dialogues", ())) & {item.dialogue for item in self.items}
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
        shared = {"backend": self._backend, "record": record, "connections": 1}
        judge = open_model(role="judge", gate=self._gate, **self._judge, **shared)
        proposer = open_model(role="proposer", gate=self._gate, **self._proposer, **shared)
        self._models = (judge, proposer)
        return self._models

    def _start(self) -> Start:
        if self._artefact is None:
            return Start(Judge(ask_quote_again=False), PLAIN)
        return Start(compiled_judge(self._artefact, ask_quote_again=False), {**PLAIN, **self._artefact.cuts})

    def _claim(self, folder: Path) -> None:
        """Write what is compiled here, or check that it is this."""
        file = folder / "compile.json"
        identity = json.loads(json.dumps(self.identity))
        try:
            if file.exists():
                kept = json.loads(file.read_text(encoding="utf-8"))
                if not isinstance(kept, dict):
                    raise ValueError("not a compile of ours")
                if differing := [name for name in identity if kept.get(name) != identity[name]]:
                    raise RunError(
                        f"{folder}: holds another compile, which differs in {', '.join(differing)}; "
                        "name another folder with --out, or leave --out away"
                    )
                return
            folder.mkdir(parents=True, exist_ok=True)
            temporary = file.with_name("compile.json.new")
            temporary.write_text(json.dumps(identity, indent=2) + "\n", encoding="utf-8")
            temporary.replace(file)
        except (OSError, ValueError) as error:
            raise RunError(f"{file}: cannot be used: {error}") from error

    def _made(self) -> Made:
        judge, proposer = self._models
        source = self.ratings.source
        return Made(
            judge=_who(judge),
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
            versions={name: version(name) for name in ("dspy-proact", "dspy", "litellm", "optuna", "gepa")},
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            price=judge.price,
        )


def _who(model: Model) -> dict[str, Any]:
    return {"model": model.name, "endpoint": model.endpoint, "decoding": dict(model.decoding)}


@contextmanager
def _own_cache() -> Generator[None]:
    """DSPy's memory, empty, and nothing on its disk; afterwards as it was."""
    library: Any = dspy  # which declares no `cache`, and has one
    before = library.cache
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
    try:
        yield
    finally:
        library.cache = before


@contextmanager
def _interrupts(switch: Switch) -> Generator[None]:
    """The first Ctrl-C lets the call in flight end, the second drops it."""

    def interrupted(*_: object) -> None:
        if switch.halt is not None:
            raise KeyboardInterrupt
        switch.pull(Interrupted("interrupted"))

    try:
        before = signal.signal(signal.SIGINT, interrupted)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted twice: what was in flight is dropped") from None
    finally:
        signal.signal(signal.SIGINT, before)
