"""What a tool returned."""

from dataclasses import dataclass

CUT = "... (cut)"
"""Stands at the end of a text that is not shown whole."""


@dataclass(frozen=True)
class Observation:
    """What an agent is shown of a tool's result."""

    text: str
    ids: tuple[str, ...] = ()
    """Of the items in it, each once."""


def cut(text: str, longest: int) -> str:
    """As much of a text as so many characters hold, the mark of the cut among them."""
    return text if len(text) <= longest else text[: max(0, longest - len(CUT))] + CUT
