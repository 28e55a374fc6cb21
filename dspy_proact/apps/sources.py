"""What the file of an application imports from its own folder, as far as its text says so: nothing is run."""

import ast
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

_MOST_FILES = 2000
"""That are read; of further ones nothing is known."""


def hash_of_sources(file: Path, name: str) -> str:
    """sha256 of a file, of what it has under a name, and of the modules of its folder that it imports.

    A package is taken with all its modules. What is imported by a name that is made while the file runs, is installed,
    or is no Python is not in it. Raises an `OSError` where the file cannot be read.
    """
    sha256 = hashlib.sha256(file.read_bytes() + b"\0" + name.encode())
    for path in sorted(_imported(file)):
        content = _content(path)
        sha256.update(f"\0{path.relative_to(file.parent)}\0{len(content)}\0".encode(errors="surrogateescape") + content)
    return sha256.hexdigest()


def _imported(file: Path) -> set[Path]:
    """The modules that a file imports from its folder, and those that these import from there."""
    known, waiting = {file}, [file]
    while waiting:
        for name in _names_in(waiting.pop(0)):
            for path in _modules(file.parent, name):
                if path not in known and len(known) < _MOST_FILES:
                    known.add(path)
                    waiting.append(path)
    return known - {file}


def _names_in(path: Path) -> list[str]:
    """The first parts of the names that a module imports, in order; none where it is not Python."""
    try:
        tree = ast.parse(_content(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # whoever imports it sees why
        return []
    names = dict[str, None]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names[node.module.partition(".")[0]] = None
    return [*names]


def _modules(folder: Path, name: str) -> Iterator[Path]:
    """The module of this name in a folder, or all of the package."""
    if not (folder / name).is_dir():
        yield from [path] if (path := folder / f"{name}.py").is_file() else []
        return
    for root, folders, files in os.walk(folder / name):
        folders[:] = sorted(one for one in folders if not one.startswith((".", "__pycache__")))
        yield from (Path(root, one) for one in sorted(files) if one.endswith(".py"))


def _content(path: Path) -> bytes:
    """The bytes of a module; none where it cannot be read, so that nobody can import it."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
