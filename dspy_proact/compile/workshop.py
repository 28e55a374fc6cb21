"""The folder in which one compile is done: claimed, locked, recorded, interruptible."""

import hashlib
import json
import signal
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import dspy

from dspy_proact.errors import Interrupted, RunError, UsageError
from dspy_proact.models import Gate, Model, Record
from dspy_proact.switch import Switch

COMPILES = Path("compiles")
"""Where compiles are done unless a person says otherwise."""
_CLAIM, _RECORD = "compile.json", "record.jsonl"


@contextmanager
def workshop(
    folder: Path, identity: Mapping[str, Any], gate: Gate, noted: Mapping[str, Any] | None = None
) -> Generator[Record]:
    """The record of the compile in a folder, for as long as it is done.

    Args:
        folder: Made if it is not there.
        identity: What must be equal for two commands to be the same compile; JSON.
        gate: Of all its models.
        noted: What is written down beside it and decides nothing.

    Raises:
        RunError: The folder holds another compile or something else, is in use, or cannot be written.
        Halt: It ended early; what was answered is kept.
    """
    _require_ours(folder)
    switch = Switch()
    gate.open(switch)
    with Record(folder / _RECORD) as record:
        _claim(folder / _CLAIM, json.loads(json.dumps(identity)), noted or {})
        with _own_cache(), _interrupts(switch):
            yield record
            switch.check()


def folder_of(program: str, identity: Mapping[str, Any]) -> Path:
    """`compiles/<program>--<8 hex of the identity>`."""
    told = json.dumps(identity, sort_keys=True)
    return COMPILES / f"{program}--{hashlib.sha256(told.encode()).hexdigest()[:8]}"


def who(model: Model) -> dict[str, Any]:
    """What decides the answers of a model."""
    return {"model": model.name, "endpoint": model.endpoint, "decoding": dict(model.decoding)}


def recorded(folder: Path, program: str) -> list[dict[str, Any]]:
    """What the compiles of a program have written down in a folder, or in the default folders where it is `compiles`.

    The newest first; what cannot be read is left out.
    """
    files = [folder / _CLAIM] if (folder / _CLAIM).exists() else list(folder.glob(f"{program}--*/{_CLAIM}"))
    kept: list[dict[str, Any]] = []
    for file in sorted(files, key=lambda file: -file.stat().st_mtime):
        with suppress(OSError, ValueError):
            value = json.loads(file.read_text(encoding="utf-8"))
            kept += [value] if isinstance(value, dict) else []
    return kept


def require_one_endpoint(models: Iterable[Model]) -> None:
    """Raise a `UsageError` where models of one role and name are served at two endpoints.

    DSPy's memory tells models apart by name, and two of one role are asked the same, so that one would answer for both.
    """
    at: dict[tuple[str, str], str | None] = {}
    for model in models:
        if at.setdefault((model.role.name, model.name), model.endpoint) != model.endpoint:
            raise UsageError(
                f"{model.name}: named at two endpoints; a compile tells judges apart by name: serve one of them under "
                "another name"
            )


def _require_ours(folder: Path) -> None:
    """Raise a `RunError` where there is something else than a compile."""
    left = {_RECORD, "lock", f"{_CLAIM}.new"}  # by one that was killed before it was begun
    try:
        names = {path.name for path in folder.iterdir()} if folder.exists() else set[str]()
    except OSError as error:
        raise RunError(f"{folder}: cannot be used: {error.strerror or error}") from error
    if names - left and _CLAIM not in names:
        raise RunError(f"{folder}: not empty and not a compile; name another folder with --out")


def _claim(file: Path, identity: Mapping[str, Any], noted: Mapping[str, Any]) -> None:
    """Write what is compiled here, or check that it is this."""
    try:
        if file.exists():
            kept = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(kept, dict):
                raise ValueError("not a compile of ours")
            if differing := [name for name in identity if kept.get(name) != identity[name]]:
                raise RunError(
                    f"{file.parent}: holds another compile, which differs in {', '.join(differing)}; "
                    "name another folder with --out, or leave --out away"
                )
            return
        temporary = file.with_name(f"{_CLAIM}.new")
        temporary.write_text(json.dumps({**noted, **identity}, indent=2) + "\n", encoding="utf-8")
        temporary.replace(file)
    except (OSError, ValueError) as error:
        raise RunError(f"{file}: cannot be used: {error}") from error


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
