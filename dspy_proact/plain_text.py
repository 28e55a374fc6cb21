"""Untrusted text, made safe to send, to keep and to show."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, cast

_LONGEST_SHOWN = 60
"""Characters of a text that a message shows."""
_LONGEST_CELL = 2000
"""Characters of a text that a cell of a notebook's table shows."""
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode categories that a terminal obeys or does not show."""
_MOST_MARKS = 8
"""Combining marks in a row; no script stacks more, and a heap of them covers the lines above."""
_NOT_PLAIN = re.compile(r"[^\n -~]+")
_MARKER = re.compile(r"<<\s*(CUSTOM-TYPE-(?:START|END)-IDENTIFIER)\s*>>")
_VARYING = re.compile(r"\b(?=[\w-]*\d)[\w-]{8,}|\d[\d.,:]*")
"""Identifiers, which are long and have a digit, and numbers."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
    "|[\U000e0000-\U000e007f]"
)
"""Controls, marks of direction, soft hyphens, blanks without width, and tags, in which texts can be hidden.

Joiners stay: Persian, the scripts of India, and pictures are spelled with them.
"""
_SPELLED = {"–": "-", "»": ">>", "«": "<<"}


def encodable(text: str) -> str:
    """The text with halves of surrogate pairs joined and lone ones replaced, so that it can be sent and written."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encodable_all(value: Any) -> Any:
    """A JSON value with every text made `encodable`; one that needs no change is given back as it is."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return map_texts(value, encodable)
    return value


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value, or one of models, with every text changed; names stay."""
    if isinstance(value, dict):
        return {name: map_texts(inner, change) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        changed = [map_texts(inner, change) for inner in cast("list[Any]", value)]
        return tuple(changed) if isinstance(value, tuple) else changed
    if names := getattr(cast("type[Any]", type(value)), "model_fields", ()):  # of pydantic, which help does not import
        texts = {name: new for name in names if (new := map_texts(old := getattr(value, name), change)) != old}
        return value.model_copy(update=texts) if texts else value
    return change(value) if isinstance(value, str) else value


def tame(text: str) -> str:
    """The text with a blank in DSPy's markers of images and files, which it would fetch or fail at in any prompt."""
    return _MARKER.sub(lambda match: f"<< {match.group(1)} >>", text)


def printable(text: str) -> str:
    """The text with control and format characters, and combining marks from the ninth in a row on, as escapes.

    So no terminal obeys them, and nothing is drawn over other lines.
    """
    return _NOT_PLAIN.sub(lambda match: _escaped(match.group()), text)  # most text is plain: only the rest is walked


def _escaped(text: str) -> str:
    pieces, marks = list[str](), 0
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category[0] == "M" else 0
        hidden = (category in _HIDDEN and char != "\n") or marks > _MOST_MARKS
        pieces.append(char.encode("unicode_escape").decode() if hidden else char)
    return "".join(pieces)


def cleaned(text: str) -> str:
    """A stranger's text without what no reader sees and a model or a terminal may obey; line breaks are plain.

    For texts that are kept, in NFC: `printable` is for those that are shown, and makes such characters visible.
    """
    text = re.sub("\r\n?|[\u2028\u2029]", "\n", encodable(text))
    return unicodedata.normalize("NFC", _UNSEEN.sub("", text))


def spelled(error: UnicodeError) -> tuple[str, int]:
    """An error handler for encodings that lack characters: `?` for all but a few of ours."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_SPELLED.get(char, "?") for char in error.object[error.start : error.end]), error.end


def folded(text: str) -> str:
    """The text without numbers and identifiers: equal for sentences that differ in these alone."""
    return _VARYING.sub("#", text)


def shown(value: object) -> str:
    """A value, of JSON above all, for a message: short, and safe to print."""
    if isinstance(value, str):
        return repr(shortened(value))
    if isinstance(value, bool | int | float):
        return str(value).lower()
    named = {dict: "an object", list: "a list", type(None): "null"}
    return named.get(cast("type[Any]", type(value)), f"a {type(value).__name__}")


def shortened(text: str) -> str:
    """As much of a text as a message shows."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def duration(seconds: float) -> str:
    """A time in its largest unit that gives two or more, such as `2 hours`."""
    for unit, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"


def html_table(headings: Sequence[str], *sections: Iterable[Sequence[str]], above: Iterable[str] = ()) -> str:
    """A table in HTML for a notebook, with every text escaped; without styles, scripts and links."""
    lines = "".join(f"<p>{_cell(line)}</p>" for line in above)
    head = f"<thead><tr>{''.join(f'<th>{_cell(text)}</th>' for text in headings)}</tr></thead>" if headings else ""
    bodies = ""
    for section in sections:
        cells = ((_cell(name), "".join(f"<td>{_cell(text)}</td>" for text in rest)) for name, *rest in section)
        bodies += f"<tbody>{''.join(f'<tr><th>{name}</th>{rest}</tr>' for name, rest in cells)}</tbody>"
    return f"<div>{lines}<table>{head}{bodies}</table></div>"


def _cell(text: str) -> str:
    cut = text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}..."
    return escape(printable(cut)).replace("\n", "<br>")
