"""The making of a corpus as a value: checked before the first call, run in a folder, and resumed by the same call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from dspy_proact.calls import is_final
from dspy_proact.errors import Halt, RunError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.corpus_forecast import CorpusForecast
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.files.toml import with_fields
from dspy_proact.generation.attempt import Attempt, rollout_of
from dspy_proact.generation.maker import PROOFS, Made, Maker, Making, Proof
from dspy_proact.generation.progress import CorpusBar, CorpusObserver, CorpusProgress
from dspy_proact.generation.slots import SlotWork
from dspy_proact.kept import CALLS, CORPUS_CLAIM, CallLog, Claim, Claimed, Identified, now, versions, write_known
from dspy_proact.kept.log import as_text
from dspy_proact.models import EMBEDDED, Gate, Model, ModelSpec, open_model
from dspy_proact.programs.direct import Direct
from dspy_proact.runs import orderly_interrupt, run_to_end, watching
from dspy_proact.switch import Switch
from dspy_proact.types import RoleIdentity

CORPORA = Path("corpora")
"""Default parent of the folders of corpora."""
ITEMS = "items.jsonl"
"""Who wrote what, an `ItemRecord` a line."""
Several = ModelSpec | str | Sequence[ModelSpec | str]
"""One model or several, each by its name or as a spec."""


class CorpusIdentity(Identified):
    """What must be equal for two commands to make the same corpus."""

    benchmark: str
    brief: dict[str, Any]
    """As JSON."""
    models: dict[str, tuple[RoleIdentity, ...]]
    """By role."""
    seed: int
    prompts: str
    """sha256 of what roles may be told."""


class CorpusClaim(Claimed[CorpusIdentity]):
    """`corpus.json`: whose the folder is, and what its files hold."""

    items: int = 0
    """How many were to be made when files were last written; 0 where they are not written yet."""
    proof: Proof = "none"
    """How far they are proved, likewise."""
    files: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """sha256 of what was written into each of them, in hexadecimal; two while they are written anew."""
    versions: dict[str, str]
    created: str


@dataclass(frozen=True)
class Generated:
    """How the making of a corpus ended."""

    path: Path
    """The folder."""
    made: Made
    paid: int
    """Calls that this command sent; the others were in the log of calls."""


class Generation:
    """A brief, the models that make a corpus of it, and how large that is.

    Args:
        brief: As the benchmark reads it: the path of a file, or one that was read; None for the bundled one.
        model: Of all roles that are not named; of several, slot and attempt decide.
        roles: Models by role, in place of `model`.
        judge: The same as `roles` with `judge`.
        items: How many are to be made; None for as many as the benchmark has by default. A folder may go on with more.
        seed: Of what is drawn, of the choice among models, and of every request.
        proof: How far it is proved that they measure something. A folder may go on with more.
        language: In place of the brief's.
        settings: Values of fields of the brief in place of its own, by dotted name, such as `dialogue.turns`.
        gate: How calls are made, and what they may cost.
        benchmark: By its name, the path of its file, or itself.
        logs: A file or folder of logged conversations, in which needs are looked for, in place of writing dialogues;
            `sample` for the bundled ones. A model other than the embedded one needs a `brief` of the product then.

    Raises:
        UsageError: The brief cannot be used, models cannot be called as asked, or the benchmark makes no corpora.
        CorpusError: No conversation of the logs can be used.

    Attributes:
        claim_file: Claims the folder.
        kind: What the folder holds, in messages.
        parent: Of the default folder.
    """

    claim_file, kind, parent = CORPUS_CLAIM, "corpus", CORPORA

    def __init__(
        self,
        brief: Any = None,
        model: Several = EMBEDDED,
        roles: Mapping[str, ModelSpec | str] | None = None,
        judge: ModelSpec | str | None = None,
        *,
        items: int | None = None,
        seed: int = 0,
        proof: Proof = "full",
        language: str | None = None,
        settings: Mapping[str, Any] | None = None,
        gate: Gate | None = None,
        benchmark: Benchmark[Any, Any] | str | None = None,
        logs: str | Path | None = None,
    ):
        if (items is not None and items < 1) or proof not in PROOFS:
            raise UsageError(f"`items` must be 1 or more, and `proof` one of {', '.join(PROOFS)}")
        self.declared, self.logs = benchmark_named(benchmark), Path(logs) if logs else None
        self.making = self.making_of(self.declared)
        self.brief = self.making.read(brief, language)
        if settings:
            self.brief = self.making.read(with_fields(self.brief, settings, "settings"), None)
        self.maker: Maker = self.making.maker(self.brief, proof)
        self.seed, self.proof, self.gate = seed, proof, gate or Gate()
        named = {**(roles or {}), **({"judge": judge} if judge is not None else {})}
        if judge is not None and roles and "judge" in roles:
            raise UsageError("`judge` and `roles.judge` are mutually exclusive")
        if unknown := named.keys() - self.maker.roles:
            known = f"{self.declared.name} has {', '.join(self.maker.roles)}"
            raise UsageError(f"`roles.{min(unknown)}`: no such role; {known}")
        arguments = {name: "judge" if name == "judge" and judge is not None else f"roles.{name}" for name in named}
        several = [model] if isinstance(model, ModelSpec | str) else model
        specs = sorted(map(ModelSpec.of, several), key=lambda spec: (spec.name, spec.api_base or ""))
        if not specs or len({(spec.name, spec.api_base) for spec in specs}) < len(specs):
            raise UsageError("`model`: name each model once")
        self._specs = {name: self._specs_of(name, named, arguments, specs) for name in self.maker.roles}
        self.models = self._opened(None)
        embedded = all(model.embedded for model in _all(self.models))
        usual = self.making.number_of_stand_in if embedded else self.making.number
        self.items = min(items or usual, self.making.most or items or usual)
        if self.logs and self.logs.exists() and brief is None and not embedded:  # and not the bundled ones
            mend = "`brief`: name that of your product, by which needs are found; `generate brief` drafts one"
            raise UsageError(f"{mend} of a page about it")
        if self.logs and self.logs.exists() and embedded:
            bundled = "the stand-in knows the bundled logs alone, `logs=sample`, and would find nothing in these"
            raise UsageError(f"{bundled}; name a `model`, and the `brief` of your product")
        if embedded and (field := self.making.beyond_stand_in(self.brief)):
            own = f"whose {field!r} is not that of the bundled one"
            raise UsageError(f"the stand-in cannot write from this brief, {own}; name a `model`")

    def __repr__(self) -> str:
        models = ", ".join(f"{role}={'|'.join(m.name for m in models)}" for role, models in self.models.items())
        return f"Generation({self.declared.name!r}, {models}, items={self.items}, seed={self.seed})"

    def making_of(self, declared: Benchmark[Any, Any]) -> Making:
        """How slots are filled; raises a `UsageError` where the benchmark makes no corpora."""
        if declared.corpus.making is None:
            raise UsageError(f"{declared.name}: no corpora can be made of it; name another `benchmark`")
        making: Making = declared.corpus.making()
        if self.logs is None:
            return making
        if making.logs is None:
            raise UsageError(f"{declared.name}: no corpora can be made of `logs`; leave them out")
        return making.logs.making(self.logs)

    def _specs_of(
        self, role: str, named: Mapping[str, ModelSpec | str], arguments: Mapping[str, str], specs: Sequence[ModelSpec]
    ) -> tuple[str, Sequence[ModelSpec]]:
        """The argument that names a role's models, and these: its own, those of the role that usually plays it."""
        for player in filter(None, (role, self.maker.usual.get(role))):
            if player in named:
                return arguments[player], [ModelSpec.of(named[player])]
        return "model", specs

    def _opened(self, log: CallLog | None) -> dict[str, list[Model]]:
        """The models of each role."""
        models = dict[str, list[Model]]()
        for name, role in self.maker.roles.items():
            argument, specs = self._specs[name]
            own = replace(role, argument=argument)
            models[name] = [open_model(spec, own, self.gate, log=log) for spec in specs]
        return models

    def forecast(self) -> CorpusForecast:
        """What a new corpus is expected to take, without repairs; no call is made and nothing is written."""
        prices = {role: [model.price for model in models] for role, models in self.models.items()}
        return CorpusForecast.of(self.maker.forecast(), self.items, prices, self.gate.concurrency)

    @cached_property
    def identity(self) -> CorpusIdentity:
        """What must be equal for two commands to make the same corpus."""
        return CorpusIdentity(
            benchmark=self.declared.name,
            brief=self.brief.model_dump(mode="json"),
            models={role: tuple(model.identity for model in models) for role, models in self.models.items()},
            seed=self.seed,
            prompts=self.maker.fingerprint(),
        )

    @property
    def default_folder(self) -> Path:
        """`corpora/<benchmark>--<8 hex of the identity>`, or below another `parent`."""
        return self.parent / f"{self.declared.name}--{self.identity.digest()[:8]}"

    def run(self, out: str | Path | None = None, observer: CorpusObserver | None = None) -> Generated:
        """Make the corpus, or go on with the one in the folder, and write its files.

        Args:
            out: The folder; `default_folder` when None.
            observer: Is notified of what happens; where None, a notebook shows a progress bar.

        Raises:
            RunError: The folder holds another corpus, or more than is asked for, is in use, or cannot be written.
            UsageError: A key is missing.
            Halt: It ended early; what was answered is kept, and the same call goes on. Where nothing was answered at
                all, the folder is left as it was found.
        """
        return run_to_end(self.arun(out, observer))

    async def arun(self, out: str | Path | None = None, observer: CorpusObserver | None = None) -> Generated:
        """Async version of `run`; a cancelled one drops what is in flight and keeps what is in the log."""
        for model in _all(self.models):
            model.require_key()
        folder, switch = Path(out or self.default_folder), Switch()
        claim = Claim(folder, self.claim_file, CorpusClaim, self.kind)
        with (
            watching(observer, CorpusObserver(), CorpusBar()) as watcher,
            claim.held(self.identity) as claimed,
            orderly_interrupt(switch, watcher.interrupted),
        ):
            begun = claimed or CorpusClaim(identity=self.identity, versions=versions(), created=now())
            self._require_growth(folder, begun)
            if claimed is None:
                claim.write(begun)
            self.gate.open(switch, observer=watcher)
            log = CallLog(folder / CALLS, self.identity.digest(), is_final, single_use=True)
            try:
                with log:
                    made = await self._made(log, watcher, switch)
            except Halt:
                if claimed is None and not log.answered:
                    claim.leave(*folder.glob("*"))
                raise
            records = "".join(f"{as_text(record)}\n" for record in made.records(self.maker.key))
            files = write_known(
                folder,
                {**self.maker.files(made), ITEMS: records},
                begun.files,
                lambda both: claim.write(begun.model_copy(update={"files": both})),
            )
            done = begun.model_copy(update={"items": self.items, "proof": self.proof, "files": files})
            if done != claimed:
                claim.write(done)
            return Generated(folder, made, log.paid)

    def _require_growth(self, folder: Path, begun: CorpusClaim) -> None:
        """Raise a `RunError` where files are written already that hold more than is asked for."""
        if begun.items > self.items or PROOFS.index(begun.proof) > PROOFS.index(self.proof):
            raise RunError(
                f"{folder}: holds {begun.items} {self.making.items} with `proof={begun.proof}`, and it may only grow; "
                "ask for as much or more, or name another folder with `out`"
            )

    async def _made(self, log: CallLog, observer: CorpusObserver, switch: Switch) -> Made:
        """What comes of all slots, by models whose calls are logged."""
        models = self._opened(log)
        priced = all(model.price.of(0, 0) is not None for players in models.values() for model in players)
        progress = CorpusProgress(observer, self.forecast(), self.items)
        log.on_call = lambda call: progress.paid(
            self.gate.budget.spent.usd if priced else None, answered=is_final(call)
        )
        asks = {role: [Direct(model.lm) for model in players] for role, players in models.items()}

        def new_attempt(slot: int, number: int) -> Attempt:
            drawn = rollout_of(self.seed, slot, number, "model")
            playing = {role: models[role][drawn % len(models[role])] for role in models}
            return Attempt(
                self.seed,
                slot,
                number,
                {role: players[drawn % len(players)] for role, players in asks.items()},
                {role: model.name for role, model in playing.items()},
                {role: model.price for role, model in playing.items()},
            )

        try:
            kept, dropped = await SlotWork(self.maker, new_attempt, progress, switch).run(self.items)
        finally:
            for model in _all(models):
                await model.aclose()
        return Made(kept, dropped, self.items, self.seed, self.identity.digest(), self.identity.models)


def _all(models: Mapping[str, Sequence[Model]]) -> list[Model]:
    return [model for players in models.values() for model in players]
