"""Existing responses, to be graded again."""

from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import ValidationError

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.benchmarks.registry import benchmark_named
from dspy_proact.calls import Price
from dspy_proact.errors import RunError
from dspy_proact.runs import Case, CaseRecord, CaseSet, Event, RoleIdentity, RunFolder, latest

_COPIED = Price(prompt=0.0, completion=0.0, cached=None, reason="responses were copied, no call was made")


@dataclass(frozen=True)
class Responses:
    """Responses of a run or of a file, of any benchmark."""

    name: str
    """Path of the run or file."""
    parent: str
    """Digest of the run's identity, or sha256 of the file."""
    identity: RoleIdentity
    """Whose responses they are."""
    case_set: CaseSet
    stages: tuple[Event, ...]
    """The response or failure of each case and epoch, without its calls, which were paid for by the first run."""
    embedded: bool
    """Whether they are the stand-in's."""
    benchmark: str | None = None
    """Name of the benchmark; None for the default one."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the benchmark, as JSON."""
    epochs: int = 1
    overridden: tuple[str, ...] = ()
    """Decoding parameters that were not the preset's."""
    system_prompt: str | None = None
    """None for none, or where it is not known."""
    card: str | None = None
    """What the card of its program says, where that was compiled."""
    learned_on: int = 0
    """Rows of the corpus that its program was compiled on."""
    price: Price = _COPIED

    @classmethod
    def of_run(cls, folder: RunFolder, benchmark: Benchmark[Any, Any] | str | None = None) -> Self:
        """The responses of a run; a benchmark of a person's own file must be named.

        Raises:
            UsageError: There is no such benchmark.
            RunError: There is no run, it is damaged, or it is of another benchmark.
        """
        manifest = folder.manifest()
        identity = manifest.identity
        declared = benchmark_named(benchmark or identity.benchmark)
        if identity.benchmark != declared.name:
            raise RunError(
                f"{folder.path}: a run of {identity.benchmark!r}, which cannot be rejudged as {declared.name}"
            )
        answered = (
            event.model_copy(update={"calls": ()}) for event in folder.events() if event.key.stage == "response"
        )
        stages = tuple(event for event in latest(answered).values() if event.answer or event.failure)
        if not stages:
            raise RunError(f"{folder.path}: no response in it yet; the command that began it goes on")
        cases = tuple(_case(declared, record, folder) for record in folder.cases_of({e.key.case for e in stages}))
        return cls(
            name=str(folder.path),
            parent=identity.digest(),
            identity=identity.assistant,
            case_set=CaseSet(cases, manifest.corpus, identity.corpus),
            stages=stages,
            embedded=identity.assistant.model == "embedded",
            benchmark=identity.benchmark,
            settings=identity.settings,
            epochs=manifest.epochs,
            overridden=manifest.overrides.get("assistant", ()),
            system_prompt=manifest.system_prompt,
            card=manifest.cards.get("assistant"),
            learned_on=manifest.learned_on,
        )


def _case(benchmark: Benchmark[Any, Any], record: CaseRecord, folder: RunFolder) -> Case:
    """A case as it was kept; raises `RunError` where what is to be seen of it is damaged."""
    try:
        view = benchmark.view_type(record.stratum).model_validate(record.view)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise RunError(f"{folder.path}: the case {record.key!r} is damaged at 'view.{where}'") from error
    return Case(key=record.key, group=record.group, stratum=record.stratum, view=view, meta=record.meta)
