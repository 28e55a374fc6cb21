"""JSON in one compressed block of a page, in chunks that are opened when they are read.

    block  := head, chunk*     one line each: JSON, deflated, in base64
    head   := what is read first, and of each chunk the number of its first text
    chunk  := items, each with the texts that it is the first to hold

Texts are numbered over all chunks and stand once, however many items hold them.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from dspy_proact.plain_text import encodable

_CHUNK = 256 * 1024
"""Characters of JSON after which a chunk ends."""
Item = Mapping[str, Any]


class Texts:
    """Numbers of texts, in the order in which they are first met."""

    def __init__(self):
        self._numbers: dict[str, int] = {}
        self._new: list[str] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, text: str) -> int:
        """That of a text."""
        if text not in self._numbers:
            self._numbers[text] = len(self._numbers)
            self._new.append(text)
        return self._numbers[text]

    def taken(self) -> list[str]:
        """Those that were met since this was last asked."""
        new, self._new = self._new, []
        return new


class Block:
    """Items in chunks."""

    def __init__(self):
        self.texts = Texts()
        self._lines: list[str] = []
        self._firsts: list[int] = []
        self._items: list[str] = []
        self._size = self._first = 0

    def add(self, item: Item) -> tuple[int, int]:
        """Add an item whose texts were numbered just before; the number of its chunk, and its place in it."""
        told = _json({"texts": self.texts.taken(), **item})
        place = len(self._lines), len(self._items)
        self._items.append(told)
        self._size += len(told)
        if self._size > _CHUNK:
            self._end()
        return place

    def lines(self, head: Item) -> Iterable[str]:
        """The block; nothing can be added after that."""
        self._end()
        return [_packed(_json({**head, "firsts": self._firsts})), *self._lines]

    def _end(self) -> None:
        if not self._items:
            return
        self._lines.append(_packed(f"[{','.join(self._items)}]"))
        self._firsts.append(self._first)
        self._items, self._size, self._first = [], 0, len(self.texts)


def _json(value: Item) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(encodable(text).encode(), 9)).decode()
