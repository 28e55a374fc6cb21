"""Files of a folder that are written anew from what they must hold, and never over what a person made of them."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from dspy_proact.errors import RunError
from dspy_proact.kept.claim import AUDIT_CLAIM, CALLS, CORPUS_CLAIM, LOCK
from dspy_proact.kept.log import write_file

_OWN = (CALLS, CORPUS_CLAIM, AUDIT_CLAIM, LOCK)
"""Names that no benchmark may give to a file: those of the engine."""
Hashes = dict[str, tuple[str, ...]]
"""sha256 of what was written into each file by its name, in hexadecimal; two while it is written anew."""


def write_known(
    folder: Path, texts: Mapping[str, str], known: Mapping[str, tuple[str, ...]], record: Callable[[Hashes], None]
) -> Hashes:
    """Write the files that are not what they must be, and delete those that are no more; the hashes of all there are.

    A command that is killed in between goes on, since what is to be written is recorded first.

    Args:
        folder: Of all files.
        texts: What files must hold, by name; a name may have folders.
        known: Hashes of what was written before.
        record: Keeps the hashes of what is there and of what is to be written, and is called before that.

    Raises:
        RunError: A person has changed a file that was written before, or one would lie outside of the folder.
    """
    changed, hashes = dict[Path, bytes | None](), Hashes()
    for name in (*texts, *(known.keys() - texts.keys())):
        path, before, text = folder / name, known.get(name, ()), texts.get(name)
        if not path.resolve().is_relative_to(folder.resolve()) or name in _OWN:
            raise RunError(f"{path}: no file of a corpus can be called {name!r}")
        data = None if text is None else text.encode("utf-8", "replace")
        wanted = None if data is None else hashlib.sha256(data).hexdigest()
        there = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        if there not in (None, *before, wanted) and before:
            raise RunError(f"{path}: was changed since it was written; move it away and repeat, which costs nothing")
        if wanted:
            hashes[name] = (wanted,)
        if there != wanted:
            changed[path] = data
    if changed:
        files = {**known, **hashes}
        record({name: tuple(dict.fromkeys((*known.get(name, ()), *own))) for name, own in files.items()})
    for path, data in changed.items():
        if data is None:
            path.unlink(missing_ok=True)
        else:
            with suppress(OSError):  # writing says what is wrong
                path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, data)
    return hashes
