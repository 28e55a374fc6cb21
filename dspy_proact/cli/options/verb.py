"""A command of the command line: options under headings, related options as one value, and two lengths of help.

`--help` shows what a first day needs, `--help-all` every option, the example and the forms of files.
"""

import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

from dspy_proact.cli.options.arguments import flags_in_hand, with_options
from dspy_proact.errors import Halt, ProactError
from dspy_proact.plain_text import printable

_TYPED, _ALL = f"{__name__}.typed", f"{__name__}.all"
_LONE_BYTE = re.compile("[\udc80-\udcff]")
"""A byte of an argument that is no text, as Python reads it."""
_NOT_IN_A_FILE = ("--config", "--help-all", "--help")


class Heading(StrEnum):
    """What options are about, in the order of the help."""

    MODELS = "Models"
    JUDGE = "Judge"
    CASES = "Cases"
    SHOWN = "Selection"
    RECIPE = "Compile"
    COMPARED = "Comparison"
    CALLS = "Calls"
    LIMITS = "Limits"
    SERVED = "Server"
    OUTPUT = "Output"


class Section:
    """Options under one heading, which a command gets one by one."""

    def __init__(self, heading: Heading, *options: click.Option):
        self.heading, self.options = heading, options

    @property
    def sections(self) -> tuple["Section", ...]:
        """This one alone."""
        return (self,)


class Bundle:
    """Options that a command gets as one value, which `value` makes of theirs by their names without the `prefix`."""

    def __init__(self, name: str, value: Callable[..., Any], *sections: Section, prefix: str = ""):
        self.name, self.value, self.sections, self.prefix = name, value, sections, prefix

    @property
    def options(self) -> tuple[click.Option, ...]:
        """The options of all sections."""
        return tuple(option for section in self.sections for option in section.options)


def flags_of(*parts: "Section | Bundle") -> list[str]:
    """The flags of all options of some parts."""
    return [option.opts[0] for part in parts for section in part.sections for option in section.options]


@dataclass(frozen=True)
class FileForm:
    """The format of an input file, with an example, as `--help-all` prints it."""

    name: str
    """What the file holds, and the option that takes it."""
    fields: str
    example: str
    """A whole file."""


class Verb(click.Command):
    """A command made by `verb`, which says what its parts are."""

    parts: Sequence[Section | Bundle]
    first: Sequence[str]
    example: str
    files: Sequence[FileForm]
    further: Sequence["Verb"] = ()
    """Verbs whose names follow this one's; it does something without them, so that it is no group."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> click.Context:
        """The context of the command, or of a further verb that the first argument names."""
        if further := next((verb for verb in self.further if args and args[0] == verb.name), None):
            return further.make_context(f"{info_name} {further.name}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, and keep the options as they were typed: values are made of them and cannot be undone.

        Raises a `click.UsageError` where an argument is no text, such as the name of a file that is no UTF-8, which no
        file of ours could keep; and where an option that takes one value is given twice: click would take the last.
        """
        for word in args:
            if _LONE_BYTE.search(word):
                raise click.UsageError(f"{printable(word)}: {_not_text()}", ctx)
        read, _, order = self.make_parser(ctx).parse_args(args=list(args))
        if path := read.get("config"):
            typed_flags = {param.opts[0] for param in order if isinstance(param, click.Option)}
            args = [*_configured(Path(path), self, typed_flags), *args]
            read, _, order = self.make_parser(ctx).parse_args(args=list(args))
            del read["config"]
        times = Counter(param for param in order if isinstance(param, click.Option))
        for option, count in times.items():
            if count > 1 and not option.multiple and not option.is_flag and not ctx.resilient_parsing:
                raise click.UsageError(f"{option.opts[0]}: given {count} times; it takes one value", ctx)
        options = [param for param in self.params if isinstance(param, click.Option) and param.name in read]
        values = {option.opts[0]: read[option.name or ""] for option in options}
        ctx.meta[_TYPED] = {
            flag: [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
            for flag, value in values.items()
        }
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command, with the value of each bundle in place of those of its options.

        What fails in it names options, as a person typed them, in place of arguments of the library.
        """
        try:
            for part in self.parts:
                if isinstance(part, Bundle):
                    values = {option.name: ctx.params.pop(option.name) for option in part.options if option.name}
                    named = {name.removeprefix(part.prefix): value for name, value in values.items()}
                    ctx.params[part.name] = part.value(**named)
            return super().invoke(ctx)
        except (ProactError, Halt) as failure:
            failure.args = (with_options(str(failure), flags_in_hand()),)
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of a first day in one list, or all of them under their headings."""
        sections = [section for part in self.parts for section in part.sections]
        listed = {
            str(heading): [option for section in sections if section.heading is heading for option in section.options]
            for heading in Heading
        }
        own = [option for options in listed.values() for option in options]
        rest = [param for param in self.get_params(ctx) if isinstance(param, click.Option) and param not in own]
        if ctx.meta.get(_ALL):
            listed |= {"Help": rest}
        else:
            listed = {"Options": [option for option in own if option.opts[0] in self.first] + rest}
        for heading, options in listed.items():
            if records := [record for option in options if (record := option.get_help_record(ctx))]:
                with formatter.section(heading):
                    formatter.write_dl(records, col_max=24)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the forms of files, which only the long help has, and the example, in lines that can be pasted."""
        if self.further:
            with formatter.section("Commands"):
                formatter.write_dl([(verb.name or "", verb.short_help or "") for verb in self.further])
        for form in self.files if ctx.meta.get(_ALL) else ():
            with formatter.section(form.name):
                formatter.write_text(form.fields)
                formatter.write_paragraph()
                _write_lines(formatter, form.example)
        with formatter.section("Example"):
            _write_lines(formatter, self.example)


def verb(
    name: str,
    *parts: Section | Bundle,
    first: str,
    example: str,
    brief: str,
    files: Sequence[FileForm] = (),
    further: Sequence[Verb] = (),
) -> Callable[[Callable[..., Any]], Verb]:
    """Make a function a command, which gets each option of a section, and one value for each bundle.

    Its `first` options, by flags with blanks between them, are those that `--help` shows. The `example` is a whole
    command; lines but the last end with a backslash. The list of commands has `brief`, `files` are forms of files of a
    person's own that it reads, and `further` verbs are called by their names after this one's.
    """

    def made(function: Callable[..., Any]) -> Verb:
        command = click.command(name, cls=Verb, short_help=brief)(function)
        command.parts, command.first, command.example, command.files = parts, first.split(), example, files
        command.further = further
        config = "TOML file of options, by their names without --; command-line options override it."
        command.params += [
            *(option for part in parts for section in part.sections for option in section.options),
            click.Option(["--config"], metavar="FILE.toml", expose_value=False, help=config),
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_print_all,
                help="Show all options and exit.",
            ),
        ]
        return command

    return made


def typed() -> dict[str, list[str]]:
    """The options of the command that runs as they were typed, by flag, in the help's order; no text for a flag."""
    return click.get_current_context().meta[_TYPED]


def first_typed(of: Collection[str] | None = None, but: Collection[str] = ()) -> str | None:
    """The flag of the first option that was typed, in the order of the help: one `of` these, and none `but` those."""
    return next((flag for flag in typed() if flag not in but and (of is None or flag in of)), None)


def _configured(path: Path, of: Verb, typed_flags: Collection[str]) -> list[str]:
    """The options of a TOML file as they would be typed, without those that are typed already.

    A list repeats an option, a table gives NAME=VALUE of each of its values, and a path is relative to the file. Raises
    a `click.UsageError` where the file cannot be read, or names what is no option of the command.
    """
    from dspy_proact.kept import open_to_read, read_contents

    try:
        with open_to_read(path) as file:
            configured = tomllib.loads(read_contents(file).decode("utf-8-sig"))  # editors mark UTF-8
    except OSError as error:
        raise click.UsageError(f"--config {path}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, or not TOML
        raise click.UsageError(f"--config {path}: {error}") from None
    options = {
        flag.removeprefix("--"): option
        for option in of.params
        if isinstance(option, click.Option)
        for flag in option.opts
        if flag not in _NOT_IN_A_FILE
    }
    words: list[str] = []
    for name, value in configured.items():
        option = options.get(name)
        if option is None:
            near = get_close_matches(name, options, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            fault = f"is no option of {of.name}{hint}"
            if f"--{name}" in _NOT_IN_A_FILE:
                fault = "is for the command line alone; leave it out"
            raise click.UsageError(f"--config {path}: {name!r} {fault}")
        if option.opts[0] in typed_flags:
            continue
        if option.is_flag:
            words += [option.opts[0]] if value else []
            continue
        pairs = [f"{key}={_as_typed(item)}" for key, item in value.items()] if isinstance(value, dict) else value
        for item in pairs if isinstance(pairs, list) else [pairs]:
            words += [option.opts[0], _placed(option, _as_typed(item), path.parent)]
    return words


def _not_text() -> str:
    encoding = sys.getfilesystemencoding()
    wider = "" if encoding == "utf-8" else ", or set a locale with more characters, such as LC_ALL=C.UTF-8"
    return f"is not text in the encoding {encoding}; write it so, or rename the file or folder that it names{wider}"


def _as_typed(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _placed(option: click.Option, text: str, folder: Path) -> str:
    """A path with the folder that it is relative to; anything else as it is.

    Where an option takes names too, a path is what exists and has a dot or a slash in it, as a name has not.
    """
    if isinstance(option.type, click.Path):
        return text if text == "-" else str(folder / text)
    kind = option.metavar or ""
    at, name = ("@", text[1:]) if text.startswith("@") else ("", text)
    named = re.search(r"[./]", name) and re.search("@FILE" if at else r"(?<!@)(FILE|PATH)", kind)
    with suppress(OSError, ValueError):
        if named and (folder / re.sub(r"(?<=\.py):\w+$", "", name)).exists():
            return f"{at}{folder / name}"
    return text


def _print_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _write_lines(formatter: click.HelpFormatter, text: str) -> None:
    for line in text.splitlines():
        formatter.write(f"{'':{formatter.current_indent}}{line}\n")
