"""Arguments of Python in messages of the library, as the options of the command line that set them.

The library names an argument in backticks, with its value if it has one: `judge_prompt`, `limits.usd=5`,
`settings.history=3`, `roles.user`. What stands in quotes is a person's or a provider's, and what stands in the line of
a Python file is about that file: neither is changed.
"""

import re
from collections.abc import Collection

import click

_NAMED = re.compile(r"(?<!\w)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?!\w)|`([a-z_]+(?:\.[a-z_]+)*)(?:=([^`]*))?`")
"""A text in quotes, or an argument with its value."""
_OF_ROLE = re.compile(r"`roles\.([a-z_]+)((?:\.[a-z_]+)?)(=[^`]*)?`( (?=[\w./-]+[:,; =]))?")
"""The model of a further role, or something of it, with what follows: a name of a model, or of a parameter."""
_LINE_OF_FILE = re.compile(r"\.py:\d+: ")
_OTHERWISE = {
    "limits.calls": "--max-calls",
    "limits.tokens": "--max-tokens",
    "limits.usd": "--max-usd",
    "scope.strata": "--stratum",
    "strata": "--stratum",
    "settings": "--set",
    "columns": "--map",
    "settings.columns": "--map",
    "settings.scale": "--scale",
    "settings.nominal": "--nominal",
    "settings.criteria": "--criteria",
    "scope.judge_epochs": "--votes",
    "guards": "--guard",
    "margins": "--guard",
}
"""Options that are not called like their arguments."""
_OF_OTHER_COMMANDS = ("--keep-inputs", "--program", "--judge-program", "--pairs", "--ratings", "--reuse")
"""Options that a message of any command may send a person to."""


def flags_in_hand() -> Collection[str]:
    """The options of the command that runs; none where none does."""
    context = click.get_current_context(silent=True)
    return [flag for param in context.command.params for flag in param.opts] if context else []


def with_options(message: str, flags: Collection[str]) -> str:
    """A message of the library with its arguments as options, where the command has one of these flags."""
    if _LINE_OF_FILE.search(message):
        return message
    message = _OF_ROLE.sub(_role_option, message) if "--role" in flags else message
    return _NAMED.sub(lambda named: _option(named[1], named[2], flags) or named[0], message)


def with_options_of_models(message: str) -> str:
    """A message about a run, in which parameters of models are options of the command that began it."""
    return with_options(message, ("--model-param", "--judge-param", "--role", "--role-param"))


def words_of(argument: str, value: str) -> list[str]:
    """An argument and its value as they are typed, such as `settings.history` and `3`."""
    if argument.startswith("settings."):
        return ["--set", f"{argument.removeprefix('settings.')}={value}"]
    return [_flag(argument), value]


def _role_option(named: re.Match[str]) -> str:
    """Such as `--role user=NAME`."""
    role, of, value, space = named[1], named[2], named[3] or "", named[4] or ""
    if space and not value:
        space = {"": "=", ".params": "."}.get(of, space)
    return f"{_flag(f'role{of}')} {role}{value}{space}"


def _option(argument: str | None, value: str | None, flags: Collection[str]) -> str | None:
    """An option as it is typed; None for what is no argument of the command."""
    if argument is None:
        return None
    if argument.startswith("settings.") and _OTHERWISE.get(argument) not in flags:
        return f"--set {argument.removeprefix('settings.')}" + ("" if value is None else f"={value}")
    flag = _flag(argument)
    if flag not in (*flags, *_OF_OTHER_COMMANDS):
        return None
    return flag if value is None else f"{flag} {value}"


def _flag(argument: str) -> str:
    name = re.sub(r"^(gate|recipe|scope)\.|(?<=\.param)s$", "", argument)
    return _OTHERWISE.get(argument, f"--{re.sub('[._]', '-', name)}")
