"""Secrets in what others say: a key comes back as it is, and in the forms in which programs write one another."""

import base64
import json
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

_SHORTEST = 6
"""Characters: shorter values are words, and hiding them would garble messages."""


def spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Every form of each secret that no message may repeat, the longest first."""
    forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def redacted(text: str, secrets: Iterable[str]) -> str:
    """A text without any of these; the longest come first."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    return text


def _forms(secret: str) -> Iterable[str]:
    plain = secret.encode("utf-8", "surrogatepass")
    yield from (secret, quote(plain), quote(plain, safe=""), quote_plus(plain), json.dumps(secret)[1:-1], plain.hex())
    for before in range(3):
        # Behind text of any length the bytes of a secret fall into groups of three in one of three ways; characters
        # that it shares with a neighbour are left out.
        coded = base64.b64encode(b"\0" * before + plain).rstrip(b"=").decode()
        shared = -(-before * 8 // 6)
        own = coded[shared : (before + len(plain)) * 8 // 6]
        yield from (own, own.translate(str.maketrans("+/", "-_")))
