"""A run on disk: `manifest.json`, `cases.jsonl` and the append-only `events.jsonl`; one writes, anybody may read."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dspy_proact.errors import RunError
from dspy_proact.kept import RUN_CLAIM, Claim, Log, read_log
from dspy_proact.runs.benchmark import Case
from dspy_proact.runs.event import Event, StageKey
from dspy_proact.runs.manifest import Manifest
from dspy_proact.types import Frozen


class CaseRecord(Frozen):
    """One line of `cases.jsonl`."""

    key: str
    group: str
    stratum: str
    view: dict[str, Any]
    meta: dict[str, str | int]


class RunFolder:
    """Reads a run; `RunWriter` writes it."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._claim = Claim(self.path, RUN_CLAIM, Manifest, "run")
        self._cases, self._events = self.path / "cases.jsonl", self.path / "events.jsonl"

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self._claim.exists

    def manifest(self) -> Manifest:
        """The manifest; raises `RunError` when there is none or it is damaged."""
        return self._claim.read()

    def check(self, asked: Manifest) -> Manifest:
        """The manifest by what is asked for now; nothing is written.

        Raises:
            RunError: The folder holds another run, one whose control cases were graded in other words, or something
                else.
        """
        before = self._claim.check(asked.identity)
        return _widened(before, asked, self.path) if before else asked

    def cases(self) -> Iterator[CaseRecord]:
        """Every case that was ever asked for, in the order of asking."""
        return read_log(self._cases, CaseRecord)

    def events(self) -> Iterator[Event]:
        """Every stage that ended, in the order of ending."""
        return read_log(self._events, Event)


class RunWriter(RunFolder):
    """The one writer of a run; use as a context manager.

    Args:
        path: The folder; made if it is not there.
        manifest: Of the command that runs now.

    Raises:
        RunError: The folder holds another run, something else than a run, or is being written by another process.
    """

    def __init__(self, path: Path, manifest: Manifest):
        super().__init__(path)
        with ExitStack() as stack:
            before = stack.enter_context(self._claim.held(manifest.identity))
            self._claim.write(_widened(before, manifest, self.path) if before else manifest)
            self._case_log = stack.enter_context(Log(self._cases, CaseRecord))
            self._event_log = stack.enter_context(Log(self._events, Event))
            self._held = stack.pop_all()

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def add_cases(self, cases: Iterable[Case]) -> None:
        """Keep the cases that are not there yet; raises `RunError` when they cannot be."""
        known = {case.key for case in self.cases()}
        for case in cases:
            if case.key not in known:
                view = case.view.model_dump(mode="json")
                self._case_log.append(
                    CaseRecord(key=case.key, group=case.group, stratum=case.stratum, view=view, meta=dict(case.meta))
                )

    def record(self, event: Event) -> None:
        """Keep an event; raises `RunError` when it cannot be, and the record is as it was before."""
        self._event_log.append(event)


def _widened(before: Manifest, now: Manifest, path: Path) -> Manifest:
    """The manifest of a run that goes on, by what is asked for now; raises `RunError` where control cases differ."""
    if before.controls and now.controls and before.controls != now.controls:
        raise RunError(
            f"{path}: its {now.nouns.controls} were graded in other words, by another version; "
            "leave --controls out, or name another folder with --out"
        )
    most = {name: max(getattr(before, name), getattr(now, name)) for name in ("epochs", "judge_epochs")}
    asked = {"controls": before.controls or now.controls, "control_labels": now.control_labels}
    return before.model_copy(update=most | asked)


def latest(events: Iterable[Event]) -> dict[StageKey, Event]:
    """The event that counts for each stage: the last one."""
    return {event.key: event for event in events}
