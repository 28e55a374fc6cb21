"""The key that a person means, who need not type all of it."""

from collections.abc import Sequence
from itertools import takewhile

from dspy_proact.errors import UsageError

LEFT_OUT = "..."
"""In a key that is shown shortened, and may be given so."""
_MOST_NAMED = 3


def meant_key(named: str, keys: Sequence[str], noun: str, where: str, more: str = "") -> str:
    """One of the keys: the one that is given, or that alone begins so; its middle may be left out by three dots.

    Args:
        named: What the person gives.
        keys: All there are, each once.
        noun: What has a key; the option is called so.
        where: What has the keys.
        more: A sentence that is added to what is said where none is meant.

    Raises:
        UsageError: It is that of none, or of several.
    """
    if named in keys:
        return named
    head, _, tail = named.partition(LEFT_OUT)
    meant = [key for key in keys if key.startswith(head) and key[len(head) :].endswith(tail)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        others = f" and {len(meant) - _MOST_NAMED} more" if len(meant) > _MOST_NAMED else ""
        raise UsageError(f"--{noun} {named}: may be {', '.join(meant[:_MOST_NAMED])}{others}; say more of it")
    near = max(keys, key=lambda key: _alike(key, named), default=None)
    hint = f"; did you mean {near}?" if near and 2 * _alike(near, named) >= len(named) else "." if more else ""
    raise UsageError(f"--{noun} {named}: {where} has no such {noun}{hint}{f' {more}' if more else ''}")


def _alike(key: str, named: str) -> int:
    """Characters that two keys share at their beginnings and their ends."""
    first = _begun_alike(key, named)
    return first + _begun_alike(key[first:][::-1], named[first:][::-1])


def _begun_alike(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
