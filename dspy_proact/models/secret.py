"""Secrets in what others say: a key comes back as it is, and in the forms in which programs write one another."""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

_SHORTEST = 6
"""Characters: shorter values are words, and hiding them would garble messages."""


def spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Every form of each secret that no message may repeat, the longest first."""
    forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def redacted(text: str, secrets: Iterable[str]) -> str:
    """A text without any of these, in whatever case; the longest come first."""
    pattern = "|".join(map(re.escape, secrets))
    return re.sub(pattern, "[key]", text, flags=re.IGNORECASE) if pattern else text


def _forms(secret: str) -> Iterable[str]:
    plain = secret.encode("utf-8", "surrogatepass")
    yield from (secret, quote(plain), quote(plain, safe=""), quote_plus(plain), json.dumps(secret)[1:-1])
    yield from (plain.hex(), plain.hex(" "), "".join(f"%{byte:02x}" for byte in plain))
    for before in range(3):
        # Behind text of any length the bytes of a secret fall into groups of three in one of three ways; characters
        # that it shares with a neighbour are left out.
        coded = base64.b64encode(b"\0" * before + plain).rstrip(b"=").decode()
        shared = -(-before * 8 // 6)
        own = coded[shared : (before + len(plain)) * 8 // 6]
        yield from (own, own.translate(str.maketrans("+/", "-_")))
