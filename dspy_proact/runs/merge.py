"""Runs of one identity, such as shards, put together: line for line the run that one process makes, but for the order.

The logs of a run are marked by its identity and not by its folder, so that lines are copied as they are. A stage is
taken from one run alone, with its calls. What the merged run has already, from an earlier merge or of its own, stays
and is not copied again: a merge that was killed goes on, and one of shards that went on since adds what is new.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from dspy_proact.calls import LoggedCall, Price, StageKey
from dspy_proact.errors import RunError, UsageError
from dspy_proact.kept import as_text, conversation_of, name_in_batch, read_batches
from dspy_proact.runs.folder import RunFolder, RunWriter
from dspy_proact.runs.ledger import StageEvent
from dspy_proact.runs.manifest import Manifest
from dspy_proact.runs.outcome import rare_collections
from dspy_proact.runs.shard import Shards, joined
from dspy_proact.types import Frozen

_Stage = tuple[str, int, str, str | None, int]
"""A stage's key, as a tuple, which takes a third of the memory."""


@dataclass(frozen=True)
class Merged:
    """What a merge did."""

    path: Path
    runs: int
    """That were merged, the folder itself not counted."""
    cases: int
    """That were added, as of the next."""
    events: int
    calls: int
    shards: Shards | None
    """What the run has of the shards, where some are missing."""
    remarks: tuple[str, ...]
    """What is not as in a run of one process, or was left out: sentences."""

    @property
    def document(self) -> dict[str, Any]:
        """As JSON."""
        shards = self.shards and self.shards.model_dump(mode="json")
        counts = {name: getattr(self, name) for name in ("runs", "cases", "events", "calls")}
        return {"path": str(self.path), **counts, "shards": shards, "remarks": [*self.remarks]}


@dataclass(slots=True)
class _History:
    """What a run has of a stage."""

    lines: set[bytes] = field(default_factory=set[bytes])
    """Hashes of the lines of its events and calls."""
    outcome: bytes | None = None
    """Hash of its answer, its grade, or the failure that is final; None where it is still to do."""


class _Source:
    """A run that is merged, as it was read: the histories of its stages."""

    def __init__(self, folder: RunFolder):
        self.folder, self.histories = folder, defaultdict[_Stage, _History](_History)
        known, self.marks = set[str](), dict[str, str]()
        for _, case in folder.case_lines():
            known.add(case.key)
            if case.mark:
                self.marks[case.key] = case.mark
        for line, event in folder.event_lines(StageEvent):
            history = self.histories[_stage(event.key)]
            history.lines.add(_hash(line))
            failed = event.failure is not None and event.failure.kind != "content"
            stopped = event.answer is None and event.grade is None and event.failure is None
            history.outcome = None if failed or stopped else _outcome(event)
        folder.require_cases(known, {case for case, *_ in self.histories})
        for line, call in folder.call_lines():
            if call.key:
                self.histories[_stage(call.key)].lines.add(_hash(line))


class _Keyed(Frozen):
    """What a line of either log says of its stage; the rest of it is passed over."""

    model_config = ConfigDict(extra="ignore")
    key: StageKey | None = None


def merge_runs(runs: Iterable[RunFolder | Path | str], out: Path | str, *, partial: bool = False) -> Merged:
    """Put runs of one identity together into a folder, a new one or one of that identity, which is added to.

    Where two runs have results of one stage that are equal, those of the first count, and only its calls; a stage that
    failed in one run and has a result in another has the result.

    Args:
        runs: Folders of runs, such as one of each shard; `out` itself among them is passed over.
        out: The folder; `Evaluation.run` goes on with it as with any run.
        partial: Whether shards, and replies of batches, may be missing; reports then say of shards that it is a part.

    Raises:
        UsageError: Shards are missing, or are parts of different numbers.
        RunError: A run is damaged, being written, or of another identity, it waits for batches, or two of them have
            different results of one stage. Nothing is written then, unless the disk is at fault.
    """
    out = Path(out)
    folders = [run if isinstance(run, RunFolder) else RunFolder(run) for run in runs]
    distinct = {folder.path.resolve(): folder for folder in folders}
    distinct.pop(out.resolve(), None)
    if not distinct:
        raise UsageError("name the runs to merge")
    with rare_collections(), ExitStack() as stack:
        for folder in distinct.values():
            stack.enter_context(folder.unwritten())
        manifests = [(str(folder.path), folder.manifest()) for folder in distinct.values()]
        _require_one_identity(manifests)
        awaited = _awaited(distinct.values(), partial)
        RunFolder(out).check(manifests[0][1])
        before = [RunFolder(out)] if RunFolder(out).exists else []
        own, others = [folder.manifest() for folder in before], [manifest for _, manifest in manifests]
        shards = _shards(others, own, partial)
        manifest, remarks = _manifest(others, own)
        manifest = manifest.model_copy(update={"shards": shards})
        sources = [_Source(folder) for folder in distinct.values()]
        _require_equal_cases(sources)
        _chosen([*map(_Source, before), *sources])  # where results differ, nothing is written
        begun = next((one.model_copy(update={"numbers": ()}) for _, m in manifests if (one := m.shards)), None)
        with RunWriter(out, manifest.model_copy(update={"shards": begun})) as writer:
            there = _Source(writer)  # read again: until now another process could write it
            chosen, twice = _chosen([there, *sources])
            counts = _copy(writer, there, sources, chosen)
            writer.restate(manifest)
    if twice:
        stages = "1 stage was" if twice == 1 else f"{twice:,} stages were"
        remarks += [f"{stages} done in several runs with equal results: one is kept, and the calls of the others not."]
    if shards:
        remarks += [_missing(shards)]
    remarks += [f"{sentence}: what they reply is not merged, and is billed all the same." for sentence in awaited]
    return Merged(out, len(distinct), *counts, shards, tuple(remarks))


def _require_one_identity(manifests: Sequence[tuple[str, Manifest]]) -> None:
    """Raise a `RunError` where runs could not be one."""
    first, like = manifests[0]
    for path, manifest in manifests[1:]:
        if differing := manifest.identity.differing(like.identity):
            raise RunError(f"{path}: cannot be merged with {first}, from which it differs in {differing}")
        if differing := [name for name in ("strata", "labels") if getattr(manifest, name) != getattr(like, name)]:
            raise RunError(f"{path}: cannot be merged with {first}: by another version, its {differing[0]} are others")
        if manifest.keeps_inputs != like.keeps_inputs:
            raise RunError(f"{path}: cannot be merged with {first}: only one of them keeps the inputs of its cases")
        if manifest.controls and like.controls and manifest.controls != like.controls:
            graded = f"their {like.nouns.controls} were graded in other words, by another version"
            raise RunError(f"{path}: cannot be merged with {first}: {graded}")


def _require_equal_cases(sources: Sequence["_Source"]) -> None:
    """Raise a `RunError` where two runs have different cases under one key."""
    marks = dict[str, tuple[str, Path]]()
    for source in sources:
        for key, mark in source.marks.items():
            before, path = marks.setdefault(key, (mark, source.folder.path))
            if mark != before:
                fault = f"has another case {key!r} than {path}, by another version or since one was changed"
                raise RunError(f"{source.folder.path}: {fault}; merge runs of one version")


def _awaited(folders: Iterable[RunFolder], partial: bool) -> list[str]:
    """Which runs have requests in batches whose results are not there yet: clauses.

    Raises a `RunError` for the first, unless that is allowed: whoever goes on with the merged run would pay for them
    again, since a batch is known to the run alone that submitted it.
    """
    clauses = list[str]()
    for folder in folders:
        names = dict[str, str]()
        for batch in read_batches(folder.path):
            names |= {name: batch.id or "of unknown id" for name in batch.requests if name not in batch.collected}
        if not names:
            continue
        manifest = folder.manifest()
        run = manifest.identity.digest(), manifest.salt or manifest.created
        for call in folder.calls():  # a command that was killed has kept replies of batches that it has not ticked off
            if call.key:
                names.pop(name_in_batch(conversation_of(*run, call.key, call.begun), call.request), None)
        if names:
            ids, count = sorted({*names.values()}), f"{len(names):,} requests are"
            more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
            what = f"{'a request is' if len(names) == 1 else count} in batches whose results are not here yet"
            clauses.append(f"{folder.path}: {what} ({', '.join(ids[:3])}{more})")
    if clauses and not partial:
        mend = "give the command of that run again, which waits for them, or merge without them by `partial`"
        raise RunError(f"{clauses[0]}; {mend}")
    return clauses


def _shards(manifests: Sequence[Manifest], before: Sequence[Manifest], partial: bool) -> Shards | None:
    """What the run has of the shards; None where that is all, or no run is a shard.

    A run that is no shard stands for none. Raises a `UsageError` where shards are missing, unless that is allowed.
    """
    known = [manifest.shards for manifest in manifests if manifest.shards]
    shards = joined([*known, *(manifest.shards for manifest in before)])
    if shards and not shards.missing:
        return None
    if shards and not partial:
        raise UsageError(f"{_missing(shards)[:-1]}; name the runs of all shards, or merge without them by `partial`")
    return shards


def _missing(shards: Shards) -> str:
    """Which shards are missing, and how many cases they have: a sentence."""
    cases = shards.size(shards.missing) if shards.cases else 0
    count = f": {cases:,} case{'' if cases == 1 else 's'}" if cases else ""
    return f"{shards.named(shards.missing)} {'is' if len(shards.missing) == 1 else 'are'} missing{count}."


def _manifest(others: Sequence[Manifest], own: Sequence[Manifest]) -> tuple[Manifest, list[str]]:
    """The manifest of runs together, that which was begun first but for what they add, and what is said of it.

    `own` is that of the run into which they are merged, if it is there: its labels stay.
    """
    manifests, remarks = [*own, *others], list[str]()
    first = min(manifests, key=lambda manifest: manifest.created)
    update = dict[str, object]()
    for name, noun in (("epochs", "answers to each case"), ("judge_epochs", "verdicts of each judge on an answer")):
        update[name] = max(numbers := sorted({getattr(manifest, name) for manifest in manifests}))
        if len(numbers) > 1:
            counts = " and ".join(map(str, numbers))
            remarks.append(f"The runs ask for {counts} {noun}: what the others lack of {numbers[-1]} is pending.")
    controls = next((manifest.controls for manifest in manifests if manifest.controls), None)
    known = next((manifest.control_labels for manifest in manifests if manifest.control_labels), ())
    update |= {"controls": controls, "control_labels": known}
    scopes = [
        one.model_copy(update={"numbers": ()}) for manifest in manifests if (one := manifest.shards) and one.numbers
    ]
    if any(scope != scopes[0] for scope in scopes):
        remarks.append(
            "The shards were asked for different cases, by other limits, strata or control cases: some may be missing."
        )
    labels, left_out = _labels(others, own)
    update |= labels
    if left_out:
        remarks.append(f"Left out, since the runs have different ones: {', '.join(left_out)}.")
    recorded = ("commit", "versions", "backend")
    if differing := [name for name in recorded if any(getattr(m, name) != getattr(first, name) for m in manifests)]:
        remarks.append(f"The runs differ in {', '.join(differing)}: recorded is that of the run that was begun first.")
    reused = [run for manifest in manifests for run in manifest.reused]
    update["reused"] = tuple(run for at, run in enumerate(reused) if run not in reused[:at])
    if own:
        update["salt"] = own[0].salt  # its own batches have names by it
    update["keeps_calls"] = any(manifest.keeps_calls for manifest in manifests)
    update["assistant_price"] = _price(manifest.assistant_price for manifest in manifests)
    for name in ("judge_prices", "further_prices"):
        prices: dict[str, Price] = getattr(first, name)
        update[name] = {who: _price(p for m in manifests if (p := getattr(m, name).get(who))) for who in prices}
    return first.model_copy(update=update), remarks


def _labels(others: Sequence[Manifest], own: Sequence[Manifest]) -> tuple[dict[str, object], list[str]]:
    """Tags, note and variant on which runs agree, or which the merged run has itself, and the names of the others."""

    def of(manifest: Manifest) -> dict[str, str]:
        named = {"note": manifest.note, "variant": manifest.variant}
        tags = {f"tag {name}": value for name, value in manifest.tags.items()}
        return {name: value for name, value in named.items() if value} | tags

    values = defaultdict[str, set[str]](set)
    for manifest in others:
        for name, value in of(manifest).items():
            values[name].add(value)
    values |= {name: {value} for manifest in own for name, value in of(manifest).items()}
    agreed = {name: next(iter(texts)) for name, texts in values.items() if len(texts) == 1}
    named = {name: agreed.pop(name, None) for name in ("note", "variant")}
    tags = {name.removeprefix("tag "): value for name, value in agreed.items()}
    return {**named, "tags": tags}, sorted(name for name, texts in values.items() if len(texts) > 1)


def _price(prices: Iterable[Price]) -> Price:
    """The price of a role in several runs; unknown where they had different ones."""
    first, *others = prices
    if any(price.model_copy(update={"reason": first.reason}) != first for price in others):
        tier = first.tier if all(price.tier == first.tier for price in others) else None
        return Price(reason="the merged runs had different prices", tier=tier)
    return first


def _chosen(sources: Sequence[_Source]) -> tuple[dict[_Stage, int], int]:
    """The index of the source from which each stage is taken, and how many were done twice with equal results.

    Of two of which one has all that the other has, such as an earlier copy, it is the longer one. Raises a `RunError`
    where two have different results.
    """
    chosen, twice = dict[_Stage, int](), 0
    for index, source in enumerate(sources):
        for stage, history in source.histories.items():
            if (before := chosen.setdefault(stage, index)) == index:
                continue
            other = sources[before].histories[stage]
            if history.lines <= other.lines:
                continue
            if other.lines < history.lines:
                chosen[stage] = index
            elif not (history.outcome and other.outcome):
                chosen[stage] = index if history.outcome else before
            elif history.outcome == other.outcome:
                twice += 1
            else:
                case, epoch, kind, judge, _ = stage
                what = f"{kind}{f' of {judge}' if judge else ''} on the case {case!r} in epoch {epoch}"
                where = f"{source.folder.path}: has another {what} than {sources[before].folder.path}"
                raise RunError(f"{where}; one run has one result of it: merge runs of different cases")
    return chosen, twice


def _copy(
    writer: RunWriter, there: _Source, sources: Sequence[_Source], chosen: dict[_Stage, int]
) -> tuple[int, int, int]:
    """Add what the run does not have yet; how many cases, events and calls it was.

    A case comes before its events, and a call before the event that was made of it: where a merge is killed, the run
    is one that can go on.
    """
    numbered = list(enumerate((source.folder for source in sources), start=1))  # 0 is what the run has itself
    cases = writer.copy_cases(chain.from_iterable(folder.case_lines() for _, folder in numbered))
    writer.copy_messages(chain.from_iterable(folder.messages() for _, folder in numbered))

    def new(read: Callable[[RunFolder], Iterator[tuple[str, _Keyed | LoggedCall]]]) -> Iterator[str]:
        for index, folder in numbered:
            for line, record in read(folder):
                if record.key and chosen.get(stage := _stage(record.key)) == index:
                    known, digest = there.histories[stage].lines, _hash(line)
                    if digest not in known:
                        known.add(digest)
                        yield line

    calls = writer.copy_calls(new(lambda folder: folder.call_lines()))
    kept = {line for _, line, _ in writer.open_lines()}
    for index, folder in numbered:
        for name, line, call in folder.open_lines():
            stage = call.key and _stage(call.key)
            if not stage or chosen.get(stage) != index or sources[index - 1].histories[stage].outcome:
                continue
            if line not in kept:
                writer.copy_calls([line], name)
    events = writer.copy_events(new(lambda folder: folder.event_lines(_Keyed)))
    return cases, events, calls


def _stage(key: StageKey) -> _Stage:
    return key.case, key.epoch, key.stage, key.judge, key.judge_epoch


def _hash(line: str) -> bytes:
    return hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=16).digest()


def _outcome(event: StageEvent) -> bytes:
    """Hash of the result of a stage, or of its final failure."""
    return _hash(as_text(event.model_copy(update={"time": 0.0, "calls": (), "attempts": 0})))
