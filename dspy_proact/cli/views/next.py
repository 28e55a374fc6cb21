"""What to type next: whole commands, made of what a person typed, that do what they say when they are pasted."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import click

from dspy_proact.cli.options.kinds import Parameter
from dspy_proact.cli.options.verb import typed
from dspy_proact.cli.views.message import say

_MODEL = ("", "-api-base", "-param", "-price")
"""How the options of a role end."""
_CALLS = ("--concurrency", "--timeout", "--retries", "--backend")
"""How calls are made; limits are those of one command."""
_HIDDEN = "[hidden "


def say_next(*words: str | Path, before: str = "") -> None:
    """Tell the person what to type next.

    Args:
        words: Of the command, without the name of the program.
        before: What is said in the same line, such as where the result is.
    """
    line = command(*words)
    missing = "Fill in what is [hidden] in it." if _HIDDEN in line else ""
    say(" ".join(part for part in (before, missing, f"Next: {line}") if part))


def command(*words: str | Path) -> str:
    """A whole command, each word quoted for a shell."""
    return shlex.join(["dspy-proact", *(_word(word) for word in words)])


class Typed:
    """The options of the command that runs, as they were typed.

    Args:
        given: By flag; no text for a flag that takes none. Those of the command that runs where None.
    """

    def __init__(self, given: Mapping[str, Sequence[str]] | None = None):
        self.given = typed(click.get_current_context()) if given is None else given

    def options(self, *flags: str) -> list[str]:
        """The words of some options, of all where none is named."""
        chosen = {flag: texts for flag, texts in self.given.items() if not flags or flag in flags}
        return [word for flag, texts in chosen.items() for word in _words(flag, texts) or [flag]]

    def model(self, flag: str, default: str | None = None, as_flag: str | None = None) -> list[str]:
        """The words that name the model of a role as it was named, the last of several.

        Args:
            flag: Of the role.
            default: Who it is where nobody was named; nothing is said where None.
            as_flag: The role that it has next.
        """
        parts = {end: list(self.given.get(flag + end, ())) for end in _MODEL}
        parts[""] = parts[""][-1:] or ([default] if default else [])
        return [word for end, texts in parts.items() for word in _words((as_flag or flag) + end, texts)]

    def calls(self) -> list[str]:
        """The words that say how calls are made."""
        return self.options(*_CALLS)

    def beside(self, flag: str, other: str) -> Self:
        """The same, where a role that is another one's model has what was said of that and not of itself."""
        given = dict(self.given)
        own, named = given.get(flag, ()), given.get(other, ())
        if not own or own[-1:] == named[-1:]:
            given |= {flag + end: given.get(flag + end) or given.get(other + end, ()) for end in _MODEL}
        return type(self)(given)


def _words(flag: str, texts: Sequence[str]) -> list[str]:
    shown = map(_without_secrets, texts) if flag.endswith("-param") else texts
    return [word for text in shown for word in (flag, text)]


def _without_secrets(parameter: str) -> str:
    """NAME=VALUE as it was typed, of a secret its mark."""
    from dspy_proact.models import without_secrets

    name, value = Parameter().convert(parameter, None, None)
    told = without_secrets({name: value})[name]
    return parameter if told == value else f"{name}={json.dumps(told)}"


def _word(word: str | Path) -> str:
    """A path that begins like an option is named by its folder."""
    return f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word)
