"""Runs of the riddles on disk, with a call of each stage, and what their files have."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from builders.riddles import JUDGE, answered, call, failed_call, graded, manifest
from dspy_proact.calls import LoggedCall
from dspy_proact.runs import Case, Grading, Ledger, Manifest, RunWriter, Shards, StageEvent

LOGS = ("cases.jsonl", "calls.jsonl", "events.jsonl", "messages.jsonl")
ALL = manifest(keeps_calls=True)


def logged(event: StageEvent, text: str = "hm") -> LoggedCall:
    """The call of a stage that ended so."""
    role = "judge" if event.key.stage == "verdict" else "assistant"
    name = f"{event.key.model_dump_json()} {event.time} {text}"
    attempt = failed_call(role) if event.failure else call(role)
    reply = None if event.failure else {"message": {"parts": [{"type": "text", "text": text}]}}
    return LoggedCall(role=role, key=event.key, number=1, rollout=0, request=name, response=reply, attempts=(attempt,))


def made(
    path: Path, listed: Sequence[Case], events: Iterable[StageEvent], of: Manifest = ALL, *, calls: bool = True
) -> Path:
    """A run on disk, with a call of each of its stages."""
    with RunWriter(path, of) as folder:
        folder.add_cases(listed)
        with folder.call_log(Ledger((), Grading([JUDGE]))) as log:
            for event in events:
                if calls:
                    log.add(
                        logged(event), lambda event=event: {"model": "m", "messages": [{"content": event.key.case}]}
                    )
                folder.record(event)
    return path


def lines(path: Path) -> dict[str, Counter[bytes]]:
    """The lines of each log of a run that has any, whatever their order."""
    logs = [path / name for name in LOGS]
    return {log.name: Counter(log.read_bytes().splitlines()) for log in logs if log.exists() and log.stat().st_size}


def contents(path: Path) -> dict[str, bytes]:
    """Every file of a run but its lock."""
    return {file.name: file.read_bytes() for file in path.rglob("*") if file.is_file() and file.name != "lock"}


def both(key: str, label: str = "SOLVED", words: str = "a river", **options: Any) -> list[StageEvent]:
    """The answer to a case and its grade."""
    return [answered(key, words=words, **options), graded(key, label, **options)]


SHARDS = [Shards(count=3, numbers=(number,), cases=(2, 1, 0)) for number in (1, 2, 3)]


def of_shard(number: int, **changes: Any) -> Manifest:
    return ALL.model_copy(update={"shards": SHARDS[number - 1], **changes})
