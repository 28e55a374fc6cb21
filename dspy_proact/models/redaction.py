"""Secrets hidden in what providers say, however a program has coded them."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from html import unescape
from urllib.parse import quote, quote_plus, unquote

_READ = 20_000
"""Characters of a message."""
_RUN = 12
"""Characters in a row that tell enough of a secret."""
_SHORTEST_SECRET = 6
"""Characters: shorter values are words, and hiding them would garble messages."""


@cache
def spellings(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Every form of each secret that no message may repeat, coded once or twice: programs encode what they quote."""
    once = {form for secret in secrets if len(secret) >= _SHORTEST_SECRET for form in _forms(secret)}
    return tuple(sorted(once | {twice for form in once for twice in _forms(form)}))


def redacted(text: str, secrets: tuple[str, ...]) -> str:
    """The beginning of a text without these, in upper or lower case, and without any run of twelve characters of one.

    Where a secret appears only when the text is decoded, as it does when a part of it is coded, all of it is hidden.
    """
    short = "|".join(re.escape(secret) for secret in secrets if len(secret) < _RUN)
    text = re.sub(short, "[key]", text[:_READ], flags=re.IGNORECASE) if short else text[:_READ]
    starts, pieces, end = _run_starts(text, secrets), list[str](), 0
    for start in starts:
        if start >= end:
            pieces += [text[end:start], "[key]"]
        end = start + _RUN
    shown = "".join(pieces) + text[end:]
    return "[a message that repeats a key]" if any(_run_starts(view, secrets) for view in _decoded(shown)) else shown


def _run_starts(text: str, secrets: tuple[str, ...]) -> list[int]:
    runs = _runs(secrets)
    lower = "".join(small if len(small := char.lower()) == 1 else char for char in text)
    return [start for start in range(len(lower) - _RUN + 1) if lower[start : start + _RUN] in runs]


@cache
def _runs(secrets: tuple[str, ...]) -> frozenset[str]:
    """Every run of so many characters of a secret."""
    return frozenset(
        secret[start : start + _RUN].lower() for secret in secrets for start in range(len(secret) - _RUN + 1)
    )


def _decoded(text: str) -> Iterator[str]:
    """A text as programs could read it: without escapes, line breaks and what stands between numbers."""
    for _ in range(3):
        text = re.sub(
            r"\\(?:x|u00|u\{00)([0-9a-fA-F]{2})\}?", lambda match: chr(int(match[1], 16)), unquote(unescape(text))
        )
        yield text
    yield re.sub(r"\\[nrt]|[\s\\]", "", text)
    yield "".join(chr(int(number)) for number in re.findall(r"\b\d{2,3}\b", text))
    yield re.sub(r"0x|[^0-9a-zA-Z]", "", text)


def _forms(secret: str) -> Iterable[str]:
    plain = secret.encode("utf-8", "surrogatepass")
    yield from (secret, quote(plain), quote(plain, safe=""), quote_plus(plain), json.dumps(secret)[1:-1])
    yield from (plain.hex(), plain.hex(" "), "".join(f"%{byte:02x}" for byte in plain))
    for before in range(3):
        # In base64, after text of any length, the bytes of a secret fall into groups of three in one of three ways;
        # characters that it shares with a neighbour are left out.
        coded = base64.b64encode(b"\0" * before + plain).rstrip(b"=").decode()
        shared = -(-before * 8 // 6)
        own = coded[shared : (before + len(plain)) * 8 // 6]
        yield from (own, own.translate(str.maketrans("+/", "-_")))
