"""Markdown of texts that others wrote: as code on one line or in a block, which nothing in them leaves; and tables."""

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence

from dspy_proact.plain_text import encodable, printable
from dspy_proact.report.page.scatter import clipped

LONGEST = 160
"""Characters of a text of others that a line quotes."""
_ENDS = re.compile(r"[|`]")
"""What ends code, or a cell of a table."""
_ROUND = str.maketrans("[]", "()")
"""Of an interval, which has to be read as one; square ones begin a link."""
_MARKUP = re.compile(r"[|`<>&\[\]*_\\#]")


def canary_of(identity: str, part: str = "") -> str:
    """A GUID of one corpus alone, by which it can be found in training data; a part may have one of its own."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{identity}{part}"))


def code(text: str, longest: int = LONGEST) -> str:
    """A text of others as code on one line, its middle left out where it is long."""
    return f"`{_ENDS.sub(' ', clipped(encodable(text), longest)).strip() or '-'}`"


def unmarked(text: str) -> str:
    """A text of others as words of a line, without what Markdown reads."""
    return _MARKUP.sub(" ", " ".join(printable(encodable(text)).split()).translate(_ROUND))


def block(text: str) -> str:
    """A text of others as a block of code, by indentation, which nothing in it can end."""
    return "\n".join(f"    {line}" for line in printable(encodable(text)).split("\n"))


def table_lines(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A table, line by line; cells are Markdown."""
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    yield from (f"| {' | '.join(map(str, row))} |" for row in rows)
