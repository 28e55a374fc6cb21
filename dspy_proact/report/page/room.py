"""How long texts may be that a page holds, so that a browser opens it: tens of megabytes, and not hundreds."""

from collections.abc import Iterable

ROOM = 60_000_000
"""Characters of what stood before the answers; packed they are about 20 MB of a page."""


def even_length(lengths: Iterable[int], room: int) -> int | None:
    """The length to which texts are cut so that all of them have room, whatever their number.

    Args:
        lengths: Of the texts, in characters.
        room: Characters for all of them.

    Returns:
        At most this many characters of each are held; None where nothing need be cut.
    """
    ordered = sorted(lengths)
    for place, length in enumerate(ordered):
        share = room // (len(ordered) - place)
        if length > share:
            return share
        room -= length
    return None


def shortened(text: str, longest: int | None) -> str:
    """The text, or its beginning and how much is left out."""
    if longest is None or len(text) <= longest:
        return text
    return f"{text[:longest]}… [{len(text) - longest:,} more characters]"
