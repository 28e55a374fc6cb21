"""A table in HTML, for a notebook: whatever its texts hold is shown, and nothing of it obeyed."""

from collections.abc import Iterable, Sequence
from html import escape

from dspy_proact.plain_text import printable

_LONGEST = 2000
"""Characters of a text that are shown."""


def html_table(headings: Sequence[str], *sections: Iterable[Sequence[str]], above: Iterable[str] = ()) -> str:
    """Rows below headings, and lines above them; without styles, scripts and links.

    Args:
        headings: Of the columns; none for a table without them.
        sections: Rows of a name and what is said of it, of the same width.
        above: Lines of text.
    """
    lines = "".join(f"<p>{_shown(line)}</p>" for line in above)
    head = f"<thead><tr>{''.join(f'<th>{_shown(each)}</th>' for each in headings)}</tr></thead>" if headings else ""
    bodies = "".join(f"<tbody>{''.join(map(_row, section))}</tbody>" for section in sections)
    return f"<div>{lines}<table>{head}{bodies}</table></div>"


def _row(row: Sequence[str]) -> str:
    name, *rest = map(_shown, row)
    return f"<tr><th>{name}</th>{''.join(f'<td>{each}</td>' for each in rest)}</tr>"


def _shown(text: str) -> str:
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return escape(printable(cut)).replace("\n", "<br>")
