"""What one command tests: variants, each a model with a system prompt or a compiled program, or with neither.

An application in the place of a model has its own prompts and programs.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dspy_proact.apps import App
from dspy_proact.errors import UsageError
from dspy_proact.models import ModelSpec
from dspy_proact.plain_text import shortened

_LONGEST_LABEL = 24
"""Characters of the beginning of a prompt that name it."""


@dataclass(frozen=True)
class Wording:
    """How a model is asked: by a system prompt, by a compiled program, or as it is where neither is named."""

    label: str | None = None
    """Its name for people; None for the bare model."""
    system_prompt: str | None = None
    program: Path | None = None


BARE = Wording()


@dataclass(frozen=True)
class Variant:
    """A model, and how it is asked."""

    model: ModelSpec | App
    wording: Wording = BARE

    @property
    def name(self) -> str:
        """The model, and in brackets what names the prompt or the program."""
        return f"{self.model.name} ({self.wording.label})" if self.wording.label else self.model.name


def wordings_of(
    prompts: Sequence[tuple[str, str]], programs: Sequence[Path], bare: bool = False
) -> tuple[Wording, ...]:
    """The bare model, prompts and programs, in this order; the bare model alone where nothing is named.

    `prompts` are each as a person typed it, TEXT or @FILE, with its text. A prompt is labelled by its file, or by its
    first words, and a program by its file; where two labels are equal, by all of what was typed.

    Raises:
        UsageError: A prompt or a program is named twice, or `bare` is without effect.
    """
    if bare and not prompts and not programs:
        raise UsageError("`bare`: has no effect without `system_prompt` or `program`")
    if len(prompts) > 1 and not all(text.strip() for _, text in prompts):
        raise UsageError("`system_prompt`: one of several is empty; `bare` tests the model without one")
    _once("system_prompt", [(text, typed) for typed, text in prompts])
    _once("program", [(str(path.resolve()), str(path)) for path in programs])
    named = [(_label(typed), typed, Wording(system_prompt=text)) for typed, text in prompts]
    named += [(path.stem, str(path), Wording(program=path)) for path in programs]
    times = Counter(label for label, _, _ in named)
    wordings = (
        Wording(label if times[label] == 1 else typed, wording.system_prompt, wording.program)
        for label, typed, wording in named
    )
    return (*([BARE] if bare or not named else []), *wordings)


def variants_of(models: Iterable[ModelSpec | App], wordings: Sequence[Wording]) -> list[Variant]:
    """Every model or application with every wording, one by one; raises a `UsageError` where one is named twice."""
    models = list(models)
    if len({spec.name for spec in models}) < len(models):
        argument, noun = ("model", "model") if isinstance(models[0], ModelSpec) else ("app", "application")
        raise UsageError(f"`{argument}`: each {noun} is named once; `scope.epochs=N` has it answer every case N times")
    return [Variant(spec, wording) for spec in models for wording in wordings]


def _label(typed: str) -> str:
    """The name of a prompt's file without its ending, or the first words of its text."""
    if typed.startswith("@"):
        return Path(typed[1:]).stem
    text = " ".join(typed.split())
    words = text[: _LONGEST_LABEL + 1].rpartition(" ")[0] or text[:_LONGEST_LABEL]  # not every script has blanks
    return text if len(text) <= _LONGEST_LABEL else f"{words}…"


def _once(argument: str, named: Sequence[tuple[str, str]]) -> None:
    """Raise a `UsageError` where two of some have one content; each is its content, and what was typed."""
    typed_of: dict[str, str] = {}
    for content, typed in named:
        if before := typed_of.get(content):
            names = shortened(before), shortened(typed)
            twice = f"{names[0]!r} is named twice" if before == typed else "{!r} and {!r} are the same".format(*names)
            raise UsageError(f"`{argument}`: {twice}; name each once")
        typed_of[content] = typed
