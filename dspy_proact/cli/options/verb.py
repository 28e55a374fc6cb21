"""A command whose help has headings and an example, and to which options that belong together come as one value."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import click
from click.core import ParameterSource

_TYPED = f"{__name__}.typed"


class Heading(StrEnum):
    """What options are about, in the order of the help."""

    MODELS = "Models"
    JUDGE = "Judge"
    ASKED = "What is asked"
    SHOWN = "What is shown"
    RECIPE = "How it is compiled"
    COMPARED = "How it is compared"
    CALLS = "How calls are made"
    LIMITS = "Limits"
    OUTPUT = "Output"


@dataclass(frozen=True)
class Section:
    """Options under one heading, which a command gets one by one."""

    heading: Heading
    options: tuple[click.Option, ...]

    @property
    def sections(self) -> tuple["Section", ...]:
        """This one alone."""
        return (self,)


@dataclass(frozen=True)
class Bundle:
    """Options that a command gets as one value."""

    name: str
    """Parameter of the command."""
    sections: tuple[Section, ...]
    value: Callable[..., Any]
    """Makes it of the values of the options, by their names without the prefix."""
    prefix: str = ""
    """Begins the name of every option."""

    @property
    def options(self) -> tuple[click.Option, ...]:
        """Those of all sections."""
        return tuple(option for section in self.sections for option in section.options)

    def gather(self, params: dict[str, Any]) -> None:
        """Put the value in place of those of the options."""
        given = {option.name: params.pop(option.name) for option in self.options if option.name}
        params[self.name] = self.value(**{name.removeprefix(self.prefix): each for name, each in given.items()})


@dataclass(frozen=True)
class FileForm:
    """What a file of a person's own looks like."""

    name: str
    """What it is, and by which option it is given."""
    told: str
    """Its fields."""
    example: str
    """A whole file."""


class Verb(click.Command):
    """A command of ours; made by `verb`."""

    def __init__(
        self,
        name: str | None,
        *,
        callback: Callable[..., Any],
        params: Sequence[click.Parameter],
        help: str | None,  # noqa: A002 - click's name of it
        short_help: str,
        parts: Sequence[Section | Bundle],
        example: str,
        files: Sequence[FileForm] = (),
    ):
        self.parts, self.example, self.files = parts, example, files
        self._sections = [section for part in parts for section in part.sections]
        options = [option for section in self._sections for option in section.options]
        super().__init__(name, callback=callback, params=[*params, *options], help=help, short_help=short_help)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, and keep the options as they were typed: values are made of them and cannot be undone."""
        read, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        options = [param for param in self.params if isinstance(param, click.Option) and param.name in read]
        ctx.meta[_TYPED] = {option.opts[0]: _texts(read[option.name or ""]) for option in options}
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command."""
        for part in self.parts:
            if isinstance(part, Bundle):
                part.gather(ctx.params)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        headed = {str(heading): self._headed(heading) for heading in Heading}
        own = [option for options in headed.values() for option in options]
        rest = [param for param in self.get_params(ctx) if isinstance(param, click.Option) and param not in own]
        for heading, options in {**headed, "Help": rest}.items():
            records = [record for option in options if (record := option.get_help_record(ctx))]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the forms of files, and the example, in lines that can be pasted."""
        for form in self.files:
            with formatter.section(form.name):
                formatter.write_text(form.told)
                formatter.write_paragraph()
                _write_lines(formatter, form.example)
        with formatter.section("Example"):
            _write_lines(formatter, self.example)

    def _headed(self, heading: Heading) -> list[click.Option]:
        return [option for section in self._sections if section.heading is heading for option in section.options]


def typed(ctx: click.Context) -> dict[str, list[str]]:
    """The options of a command of ours as they were typed, by flag; no text for a flag that takes none."""
    return ctx.meta[_TYPED]


def first_typed(of: Collection[str] | None = None, but: Collection[str] = ()) -> str | None:
    """The flag of the first option that was typed of the command that runs, in the order of its help; None for none.

    Args:
        of: Flags that are looked for; all where None.
        but: Flags that are passed over.
    """
    ctx = click.get_current_context()
    named = (param for param in ctx.command.params if isinstance(param, click.Option) and param.name)
    typed_now = (
        param.opts[0] for param in named if ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    )
    return next((flag for flag in typed_now if flag not in but and (of is None or flag in of)), None)


def _texts(read: Any) -> list[str]:
    return [read] if isinstance(read, str) else list(read) if isinstance(read, list | tuple) else []


def _write_lines(formatter: click.HelpFormatter, text: str) -> None:
    """As they are, so that they can be pasted."""
    for line in text.splitlines():
        formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def verb(
    name: str, *parts: Section | Bundle, example: str, brief: str, files: Sequence[FileForm] = ()
) -> Callable[[Callable[..., Any]], Verb]:
    """Make a function a command.

    Args:
        name: As a person types it.
        parts: Its options; the function gets each of a section, and one value for each bundle.
        example: A whole command; lines but the last end with a backslash.
        brief: What it does, a short sentence, in the list of commands.
        files: Forms of files of a person's own that it reads.
    """
    return click.command(name, cls=Verb, parts=parts, example=example, files=files, short_help=brief)
