"""Text that would do something where it was shown as it is, and a reader of HTML that says whether it could."""

import unicodedata
from html.parser import HTMLParser

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(1)>&lt;</td>\u202egnp\x00\"'"
"""Ends where an attribute would."""
VISIBLE = "<script>alert(1)</script><img src=x onerror=alert(1)>&lt;</td>\\u202egnp\\x00\"'"
"""The same as a person is to see it."""
_TAGS = {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "br"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _TAGS, tag
        assert not attrs, attrs
        if tag == "br":
            self.text += "\n"
        else:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.text += "\n"

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def harmless(html: str) -> str:
    """What a person sees of HTML that is tables and lines of text and nothing else; fails where it is more."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open, reader.open
    hidden = [char for char in reader.text if unicodedata.category(char) in ("Cc", "Cf") and char != "\n"]
    assert not hidden, hidden
    return reader.text
