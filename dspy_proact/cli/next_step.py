"""What to type next: for each situation one whole command that works when it is pasted, made of what a person typed."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Self

from dspy_proact.cli.options import option
from dspy_proact.cli.options.verb import typed
from dspy_proact.cli.views.message import say

Words = str | Path | Sequence[str | Path] | None
"""What stands for a name in a command: one word, several, or none."""


class Next(StrEnum):
    """A situation and its command; a name in braces stands for words that the situation gives."""

    BENCHMARKS_LISTED = "eval --benchmark {name}"
    RUN_FINISHED = "report {benchmark} {runs} --html page.html"
    RUN_FINISHED_BADLY = "show {benchmark} {run} --grade {grade}"
    MERGED = "report {run} --html page.html"
    RUNS_FINISHED = "compare {benchmark} {runs}"
    CASES_FAILED = "{verb} {arguments} {options}"
    CASES_UNSCORED = "{verb} {arguments} {options} --retry-unscored"
    PARAMETER_TO_CHANGE = "{verb} {arguments} {options} {reuse}"
    RESULTS_FILE_REPORTED = "rejudge {run} --corpus {corpus}"
    PAGE_WRITTEN = "show {run}"
    COMPARED = "show {benchmark} {a} --beside {b} --disagree"
    RANKED = "report {benchmark} {run}"
    PUBLISHED_RANKED = "eval {benchmark} --model openai/gpt-4o {conditions}"
    CASES_SHOWN = "show {run} {case} {key} {epoch} {beside}"
    EXPORTED = "report {file}"
    KEYS_LISTED = "try {benchmark} --corpus {corpus} --case {key}"
    TRIED_BARE = "try @FILE {options}"
    TRIED = "eval {prompt} {options}"
    JUDGE_TRIED = "agree {options}"
    ASSISTANT_COMPILED = "eval {options} --program {file}"
    JUDGE_COMPILED = "eval {settings} --model embedded --corpus {corpus} {options} --judge-program {file}"
    JUDGE_COMPILED_ON_RUN = "rejudge {settings} {run} {options} --judge-program {file}"
    AGREED = "agree {options} {more}"
    GRADABLE = "agree {options} --judge MODEL --dry-run"
    DRAWN = "report {benchmark} {run} --ratings {file}"
    SHEET_WRITTEN = "agree {benchmark} {items} --ratings {file}"
    TO_BE_RATED = "label sheet RUN"
    PLANNED_IN_A_SHEET = "label sheet {benchmark} {run} --draw {count}"
    PLANNED = "label serve {benchmark} {run} {design}"
    RATED = "agree {benchmark} {run} --ratings {file}"
    REVIEWED = "label export {file}"
    REVIEWS_EXPORTED = "generate publish {corpus} --reviews {file}"
    CHOSEN = "agree {benchmark} --pairs {file}"
    BRIEF_DRAFTED = "generate --brief {file} {options} --dry-run"
    CORPUS_MADE = "eval {benchmark} {options} --corpus {corpus}"
    LOGS_READ = "eval {benchmark} --corpus {corpus} --answers logged {options}"
    LOGS_WITHOUT_NEED = "generate {options} --seed {seed} --dry-run"
    AUDITED = "eval {benchmark} --corpus {corpus}"


def say_next(step: Next, before: str = "", **words: Words) -> None:
    """Print what to type next, after what is said before it in the same line, such as where the result is."""
    line = command_line(step, **words)
    missing = "Fill in what is [hidden] in it." if "[hidden " in line else ""
    say(" ".join(part for part in (before, missing, f"Next: {line}") if part))


def command_line(step: Next, **words: Words) -> str:
    """The whole command of a step, each word quoted for a shell."""
    parts: list[str | Path] = ["dspy-proact"]
    for part in step.split():
        named = re.fullmatch(r"\{(\w+)\}", part)
        value = words[named[1]] if named else part
        parts += [value] if isinstance(value, str | Path) else value or []
    # A path that begins like an option is named by its folder.
    return shlex.join(
        f"./{part}" if isinstance(part, Path) and str(part).startswith("-") else str(part) for part in parts
    )


# Options as they were typed

_MODEL = ("", "-api-base", "-param", "-price")
"""How the options of a role end."""
_OF_ONE_FOLDER = ("--out", "--retry-unscored", "--reuse")
CALLS = ("--concurrency", "--timeout", "--retries", "--backend", "--flex", "--batch", "--engine")
"""How calls are made; limits are those of one command."""


class Typed:
    """Options as they were typed, by flag: those of the command that runs, if none are given."""

    def __init__(self, texts: Mapping[str, Sequence[str]] | None = None):
        self.texts = typed() if texts is None else texts

    def options(self, *flags: str) -> list[str]:
        """The words of some options, of all where none is named."""
        chosen = {flag: texts for flag, texts in self.texts.items() if not flags or flag in flags}
        return [word for flag, texts in chosen.items() for word in _words(flag, texts) or [flag]]

    def with_parameter(self, argument: str, name: str, value: object, *, anew: bool = True) -> Self:
        """A copy with another request parameter of a model: of another run, in the default folder if `anew`."""
        kind, _, role = argument.partition(".")  # `roles.user`
        flag, name = ("--role-param", f"{role}.{name}") if role else (f"--{kind}-param", name)
        dropped = (flag, *(_OF_ONE_FOLDER if anew else ()))
        texts = {other: words for other, words in self.texts.items() if other not in dropped}
        names = (name, name.replace("max_tokens", "max_completion_tokens"))  # two names of one limit
        kept = [text for text in self.texts.get(flag, ()) if text.partition("=")[0].strip() not in names]
        return type(self)({**texts, flag: [*kept, f"{name}={value}"]})

    def model(self, flag: str, default: str | None = None, as_flag: str | None = None) -> list[str]:
        """The words that name the model of a role, the last of several, else by default, after `as_flag` if given."""
        parts = {end: list(self.texts.get(flag + end, ())) for end in _MODEL}
        parts[""] = parts[""][-1:] or ([default] if default else [])
        return [word for end, texts in parts.items() for word in _words((as_flag or flag) + end, texts)]

    def beside(self, flag: str, other: str) -> Self:
        """A copy in which `flag` takes over the options of `other` that it lacks, if both name the same model."""
        texts = dict(self.texts)
        own, named = texts.get(flag, ()), texts.get(other, ())
        if not own or own[-1:] == named[-1:]:
            texts |= {flag + end: texts.get(flag + end) or texts.get(other + end, ()) for end in _MODEL}
        return type(self)(texts)


def _words(flag: str, texts: Sequence[str]) -> list[str]:
    """A flag before each text as it was typed; of a secret parameter its mark."""
    words: list[str] = []
    for text in texts:
        shown = text
        if flag.endswith("-param"):
            from dspy_proact.models import without_secrets

            role, dot, rest = text.partition(".") if flag == "--role-param" else ("", "", text)
            name, value = option.parameter(rest)
            mark = without_secrets({name: value})[name]
            shown = text if mark == value else f"{role}{dot}{name}={json.dumps(mark)}"
        words += [flag, shown]
    return words
