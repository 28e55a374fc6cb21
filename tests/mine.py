"""The benchmark of docs/benchmarks.md: its file as it stands there."""

from pathlib import Path

from script import ROOT

TEXT = (ROOT / "docs" / "benchmarks.md").read_text("utf-8").partition("<!-- file: mine.py -->\n```python\n")[2]
TEXT = TEXT.partition("```\n")[0]


def write_mine(folder: Path, was: str = "", becomes: str = "") -> Path:
    """Write it, with one thing changed."""
    assert TEXT.count(was) == 1 or not was, was
    path = folder / "mine.py"
    path.write_text(TEXT.replace(was, becomes) if was else TEXT, encoding="utf-8")
    return path


def line_of(path: Path, text: str) -> int:
    """The line, counted from 1, in which a text stands first."""
    return next(n for n, line in enumerate(path.read_text("utf-8").splitlines(), start=1) if text in line)
