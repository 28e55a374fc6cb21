"""A run on disk, of one writer: `manifest.json`, `cases.jsonl`, and the append-only `calls.jsonl`, `events.jsonl`."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from dspy_proact.calls import Call, CallUsage, LoggedCall, StageKey
from dspy_proact.errors import RunError, UsageError
from dspy_proact.kept import (
    BATCHES,
    CALLS,
    MESSAGES,
    OPEN_STAGES,
    RUN_CLAIM,
    CallLog,
    Claim,
    Log,
    LogLine,
    MessageLog,
    StoredMessage,
    marked_calls,
    open_stage_files,
    read_batches,
    read_calls,
    read_lines,
    read_log,
    read_messages,
    read_requests,
)
from dspy_proact.plain_text import html_table
from dspy_proact.runs.benchmark import CONTROL, Case
from dspy_proact.runs.case_record import CaseRecord, read_cases
from dspy_proact.runs.ledger import Ledger, StageEvent
from dspy_proact.runs.manifest import Identity, Manifest, ReusedRun
from dspy_proact.runs.shard import joined

Form = TypeVar("Form", bound=BaseModel)


class RunFolder:
    """Reads a run; `RunWriter` writes it."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._claim = Claim(self.path, RUN_CLAIM, Manifest, "run")
        self._cases, self._events, self._calls = (self.path / name for name in ("cases.jsonl", "events.jsonl", CALLS))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _repr_html_(self) -> str:
        try:
            manifest = self.manifest()
        except RunError as error:
            return html_table((), [("run", str(self.path)), ("cannot be read", str(error))])
        identity, nouns = manifest.identity, manifest.nouns
        rows = [
            ("run", str(self.path)),
            ("benchmark", f"{identity.benchmark}, {manifest.corpus.cases:,} {nouns.cases} of {manifest.corpus.name}"),
            ("model", manifest.model_name),
            *((name, role.model) for name, role in identity.roles.items()),
            *(("judge", judge.name) for judge in identity.judges),
            ("begun", manifest.created),
            *([("embedded stand-in", "measures no real model")] if manifest.embedded else []),
        ]
        return html_table((), rows)

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self._claim.exists

    def manifest(self) -> Manifest:
        """The manifest; raises `RunError` when there is none or it is damaged."""
        return self._claim.read()

    def check(self, wanted: Manifest) -> Manifest:
        """The manifest by what is asked for now, unwritten; raises a `RunError` where the folder holds another run."""
        before = self._claim.check(wanted.identity)
        return _widened(before, wanted, self.path) if before else wanted

    def cases(self) -> Iterator[CaseRecord]:
        """Every case that was ever asked for, in the order of asking; its view is read when it is looked at.

        Raises a `RunError` where a line is damaged or changed.
        """
        return (case for _, case in self._case_lines())

    def _case_lines(self) -> Iterator[tuple[LogLine, CaseRecord]]:
        manifest = self.manifest()
        strata = {*manifest.strata, *controls_of(manifest)}
        for line, case in read_cases(self._cases, manifest.identity.corpus):
            if case.stratum not in strata:
                known = ", ".join(manifest.strata)
                fault = f"the {manifest.nouns.stratum} {case.stratum!r} is none of the run's: {known}"
                raise RunError(f"{self._cases}, line {line.number}: {fault}")
            yield line, case

    def cases_of(self, keys: Set[str]) -> tuple[CaseRecord, ...]:
        """Every case, as `cases` gives them; raises a `RunError` where one with events, by these keys, is missing.

        Read the events first: a case is kept before its events.
        """
        cases = tuple(self.cases())
        self.require_cases({case.key for case in cases}, keys)
        return cases

    def require_cases(self, known: Set[str], keys: Set[str]) -> None:
        """Raise a `RunError` where cases with events, by these keys, are none of the known ones."""
        if missing := keys - known:
            fault = f"{len(missing)} of the cases that were answered are not in it, such as {min(missing)!r}"
            raise RunError(f"{self._cases}: {fault}; the command that began the run puts them back")

    def events(self) -> Iterator[StageEvent]:
        """Every stage that ended, in the order of ending."""
        return read_log(self._events, StageEvent)

    def calls(self) -> Iterator[LoggedCall]:
        """Every call, in the order of ending; none of a run that is older than `calls.jsonl`.

        Raises a `RunError` where a line was changed, or is of another run.
        """
        self._require_calls()
        return read_calls(self._calls, self.manifest().identity.digest())

    def requests(self, calls: Iterable[LoggedCall]) -> dict[str, Mapping[str, Any] | str]:
        """The requests of some calls, by their hashes, as far as they are kept in `messages.jsonl`.

        In place of one of which that lacks a message, or one was changed, stands a sentence that says so.
        """
        kept = {call.request: call.messages for call in calls if call.messages}
        return dict(zip(kept, read_requests(self.path / MESSAGES, kept.values()), strict=True))

    def reused_by(self, here: Identity) -> ReusedRun:
        """What the manifest of a run of this identity says of this one where it takes over its stages.

        Raises a `RunError` where this one is damaged, or its log of calls is missing.
        """
        self._require_calls()
        manifest = self.manifest()
        run = ReusedRun.of(str(self.path), manifest, here)
        if manifest.keeps_calls or self._calls.exists():
            return run
        reason = f"Nothing of {self.path} is reused: it has no {CALLS}, like every run of an older version."
        return run.model_copy(update={"reason": reason})

    def attempts(self) -> Iterator[tuple[StageKey, Sequence[Call]]]:
        """The attempts at every call with the stage that made it; those of an older run's stages come first."""
        yield from ((event.key, event.calls) for event in self.events())
        yield from ((call.key, call.attempts) for call in self.call_usage() if call.key)

    def has_reply(self, role: str, model: str) -> bool:
        """Whether a model in a role has answered any call; `model` tells judges apart."""
        return any(
            attempt.role == role and attempt.error is None
            for call in self.call_usage()
            if role != "judge" or (call.key and call.key.judge == model)
            for attempt in call.attempts
        )

    def call_usage(self) -> Iterator[CallUsage]:
        """What every call used, as `calls` gives them, without reading the replies.

        Only the first line is compared with its mark, which shows the log of another run.
        """
        self._require_calls()
        if self._calls.exists():
            next(self.calls(), None)
        return read_log(self._calls, CallUsage)

    # Lines, to be copied into another run of the same identity

    def unwritten(self) -> AbstractContextManager[None]:
        """Inside, no process writes the run; raises a `RunError` where one does. Nothing changes in its folder."""
        return self._claim.unwritten()

    def case_lines(self) -> Iterator[tuple[str, CaseRecord]]:
        """Every case, as `cases` checks them, with the text of its line."""
        return ((line.text, case) for line, case in self._case_lines())

    def event_lines(self, form: type[Form]) -> Iterator[tuple[str, Form]]:
        """Every event, read as this form of it, with the text of its line."""
        return ((line.text, line.record(form)) for line in read_lines(self._events, form))

    def call_lines(self) -> Iterator[tuple[str, LoggedCall]]:
        """Every call with the text of its line; raises as `calls` does."""
        self._require_calls()
        return self._marked(self._calls)

    def open_lines(self) -> Iterator[tuple[str, str, LoggedCall]]:
        """The replies that are kept for stages that have not ended, with the names of their files."""
        for path in sorted(open_stage_files(self._calls)):
            yield from ((path.name, line, call) for line, call in self._marked(path))

    def _marked(self, path: Path) -> Iterator[tuple[str, LoggedCall]]:
        return ((line.text, call) for line, call in marked_calls(path, self.manifest().identity.digest()))

    def messages(self) -> Iterator[StoredMessage]:
        """The messages of its requests, as far as they are kept; raises a `RunError` where one was changed."""
        return read_messages(self.path / MESSAGES)

    def _require_calls(self) -> None:
        """Raise a `RunError` where the log of calls is missing, and the run has made some."""
        if not self._calls.exists() and self.exists and self.manifest().keeps_calls and next(self.events(), None):
            mend = "restore it; with an empty file in its place the calls so far count as none, at an unknown cost"
            raise RunError(f"{self._calls}: is missing; {mend}")


class RunWriter(RunFolder):
    """The one writer of a run, a context manager; raises a `RunError` where the folder is not this run's, or in use."""

    def __init__(self, path: Path, manifest: Manifest):
        super().__init__(path)
        with ExitStack() as stack:
            before = stack.enter_context(self._claim.held(manifest.identity))
            self._claim.write(_widened(before, manifest, self.path) if before else manifest)
            self._case_log = stack.enter_context(Log(self._cases, CaseRecord))
            self._event_log = stack.enter_context(Log(self._events, StageEvent))
            if next(self.events(), None) is None:
                with Log(self._calls, LoggedCall):
                    pass  # from now on it is there, or was taken away
            self._held = stack.pop_all()
        self._new, self._empty = before is None, False

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()
        if self._empty:
            self._claim.leave(self._cases, self._events, self._calls, self.path / MESSAGES, self.path / BATCHES)

    def leave_nothing_unanswered(self) -> None:
        """On closing, remove what this writer made if the folder was new and holds no reply, no answer and no grade."""
        results = (event.answer is not None or event.grade for event in self.events())
        replies = (attempt.error is None for call in self.call_usage() for attempt in call.attempts)
        awaited = any(batch.is_open for batch in read_batches(self.path))
        self._empty = self._new and not any(results) and not any(replies) and not awaited

    def widen(self, wanted: Manifest) -> None:
        """Record what is asked for beyond what it was so far, such as further epochs; raises a `RunError`."""
        self._claim.write(_widened(self.manifest(), wanted, self.path))

    def add_cases(self, cases: Iterable[Case]) -> None:
        """Keep the cases that are not there yet; raises `RunError` when they cannot be."""
        known, manifest = {case.key for case in self.cases()}, self.manifest()
        for case in cases:
            if case.key not in known:
                view = case.view.model_dump(mode="json")
                if not manifest.keeps_inputs:
                    canonical = json.dumps(view, sort_keys=True, ensure_ascii=False)
                    view = {"sha256": hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()}
                record = CaseRecord(
                    key=case.key, group=case.group, stratum=case.stratum, view=view, meta=dict(case.meta)
                )
                self._case_log.append_text(record.line(manifest.identity.corpus))

    def copy_cases(self, lines: Iterable[tuple[str, CaseRecord]]) -> int:
        """Keep cases of another run of this corpus that are not there yet, as their lines are; how many they were."""
        known, manifest, count = {case.key for case in self.cases()}, self.manifest(), 0
        for line, case in lines:
            if case.key not in known:
                known.add(case.key)
                count += 1
                self._case_log.append_text(line if case.mark else case.line(manifest.identity.corpus))
        return count

    def copy_messages(self, messages: Iterable[StoredMessage]) -> None:
        """Keep messages of another run that are not there yet."""
        if (first := next(iterator := iter(messages), None)) is not None:
            with MessageLog(self.path / MESSAGES) as log:
                for message in chain([first], iterator):
                    log.keep(message)

    def copy_calls(self, lines: Iterable[str], name: str = "") -> int:
        """Keep calls of another run of this identity; of a stage that has not ended in its file. How many they were."""
        path = self._calls.with_name(OPEN_STAGES) / name if name else self._calls
        if path.parent.is_symlink() and name:
            raise RunError(f"{path.parent}: is a link; remove it")
        path.parent.mkdir(exist_ok=True)
        with Log(path, LoggedCall) as log:
            return _append(log, lines)

    def copy_events(self, lines: Iterable[str]) -> int:
        """Keep events of another run of this identity; how many they were."""
        return _append(self._event_log, lines)

    def restate(self, manifest: Manifest) -> None:
        """Write the manifest anew, with the same identity."""
        self._claim.write(manifest)

    def record(self, event: StageEvent) -> None:
        """Keep an event; raises `RunError` when it cannot be, and the log is as it was before."""
        self._event_log.append(event)

    def call_log(self, ledger: Ledger) -> CallLog:
        """The log of calls, to be entered: what was logged in a stage that is still open is replayed."""
        self._require_calls()
        manifest = self.manifest()

        def replays(call: LoggedCall) -> bool:
            key = call.key
            open_ = key is not None and not ledger.has_result(key) and call.begun == ledger.begun(key)
            return open_ and call.response is not None

        keeps = manifest.keeps_inputs
        stored = manifest.stored if keeps else ()
        return CallLog(
            self._calls,
            manifest.identity.digest(),
            replays,
            keeps_thoughts=keeps,
            stored=stored,
            salt=manifest.salt or manifest.created,
        )


def _append(log: Log[Any], lines: Iterable[str]) -> int:
    count = 0
    for line in lines:
        log.append_text(line)
        count += 1
    return count


def _widened(before: Manifest, now: Manifest, path: Path) -> Manifest:
    """The manifest of a run that goes on, by what is asked for now; raises `RunError` where control cases differ."""
    if before.controls and now.controls and before.controls != now.controls:
        raise RunError(
            f"{path}: its {now.nouns.controls} were graded in other words, by another version; "
            "leave `scope.controls` out, or name another folder with `out`"
        )
    if now.keeps_inputs and not before.keeps_inputs:
        raise RunError(f"{path}: was begun without `keep_inputs`; leave it out, or name another folder with `out`")
    most = {name: max(getattr(before, name), getattr(now, name)) for name in ("epochs", "judge_epochs")}
    latest = {"controls": before.controls or now.controls, "control_labels": now.control_labels}
    latest |= {"reused": (*before.reused, *(run for run in now.reused if run not in before.reused))}
    labels = {"tags": {**before.tags, **now.tags}, "note": now.note or before.note}
    labels |= {"variant": now.variant or before.variant}
    try:
        shards = joined([before.shards, now.shards])
    except UsageError as error:
        raise RunError(f"{path}: {error}: its cases are in other parts; name another folder with `out`") from None
    return before.model_copy(update=most | latest | labels | {"shards": shards})


def controls_of(manifest: Manifest) -> list[str]:
    """The stratum of control cases, where a run can have some."""
    return [CONTROL] if manifest.control_labels or manifest.controls else []
