"""Text of others, made safe to send, to keep and to show."""

import unicodedata


def encodable(text: str) -> str:
    """The text with halves of surrogate pairs joined, and lone ones replaced, so that it can be sent and written."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def printable(text: str) -> str:
    """The text with control and format characters shown as escapes, so that no terminal obeys them."""
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    hidden = unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") and char != "\n"
    return char.encode("unicode_escape").decode() if hidden else char
