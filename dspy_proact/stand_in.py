"""What is said of numbers in which the embedded stand-in took part, and which roles it played."""

from collections.abc import Iterable

STAND_IN = "embedded stand-in: shows how this works, measures no real model"
DEMONSTRATION = "Demonstration with the embedded stand-in, no real model: "


def demonstration(roles: Iterable[tuple[str, str]]) -> str:
    """How a sentence begins about numbers of models, each with its role; empty where the stand-in is none of them."""
    played, alone = _played(roles)
    return DEMONSTRATION if alone else played and f"Demonstration with the embedded stand-in as {played}: "


def stand_in_note(roles: Iterable[tuple[str, str]]) -> str:
    """A line of its own beside such numbers; empty likewise."""
    played, alone = _played(roles)
    return STAND_IN if alone else played and f"embedded stand-in as {played}: shows how this works, measures nothing"


def _played(roles: Iterable[tuple[str, str]]) -> tuple[str, bool]:
    """The roles of the stand-in in words, and whether there is no other model."""
    models = list(roles)
    played = dict.fromkeys(role for role, model in models if model == "embedded")
    return " and ".join(played), bool(played) and all(model == "embedded" for _, model in models)
