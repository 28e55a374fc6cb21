"""Which benchmark a command is about, and what it is set to."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.verb import Bundle, Heading, Section, typed
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.cli.entries import Entry
    from dspy_proact.runs import Settings


class SettingText(click.ParamType):
    """NAME=VALUE, which is read when the benchmark is known."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The name and the text of the value."""
        name, equals, text = str(value).partition("=")
        if not equals or not name.strip():
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name.strip(), text


@dataclass(frozen=True)
class Chosen:
    """The benchmark that a person names, if any, and what it is set to."""

    benchmark: str | None
    given: tuple[tuple[str, str], ...] = ()
    """Names and values, as they were typed."""

    @property
    def words(self) -> list[str]:
        """As it was named."""
        return ["--benchmark", self.benchmark] if self.benchmark else []

    def require(self, *paths: Path) -> None:
        """Raise a `UsageError` where one of these runs is of another benchmark than the one that is named."""
        if self.benchmark:
            self.known(*paths)

    def known(self, *paths: Path) -> "Entry":
        """The benchmark: the one that is named, or that of the runs, or else the default.

        Raises:
            UsageError: There is none of that name, or one of the runs is of another.
        """
        from dspy_proact.cli.entries import DEFAULT, entry_of

        named = entry_of(self.benchmark).name if self.benchmark else None
        recorded = {path: benchmark for path in paths if (benchmark := _recorded(path))}
        for path, benchmark in recorded.items():
            if named and benchmark != named:
                raise UsageError(f"--benchmark {named}: {path} is of {benchmark}; leave it out, or name another run")
        return entry_of(named or next(iter(recorded.values()), DEFAULT))

    def entry(self, *paths: Path) -> "Entry":
        """The same, which has all that the options of the command are about; raises `UsageError` where it has not."""
        entry = self.known(*paths)
        entry.require(list(typed(click.get_current_context())))
        return entry

    def settings(self, entry: "Entry") -> "Settings":
        """What the benchmark is set to; raises `UsageError` where it cannot be set so."""
        from dspy_proact.cli.options.settings import read_settings

        return read_settings(entry.settings(), self.given, entry.name)

    def settings_of_answers(self, entry: "Entry") -> "Settings":
        """The same where answers are made; raises likewise, and where what is set decides nothing."""
        from dspy_proact.cli.options.settings import require_deciding

        settings = self.settings(entry)
        require_deciding(settings, [name for name, _ in self.given])
        return settings

    def settings_of_grading(self, entry: "Entry", before: Mapping[str, Any]) -> "Settings":
        """What it is set to where the answers are there already, by the settings that they were made with.

        Raises:
            UsageError: It cannot be set so, or what is set decides answers, or nothing.
        """
        from dspy_proact.cli.options.settings import plain, read_settings, require_deciding

        settings, usual = read_settings(entry.settings(), self.given, entry.name, before), entry.settings()()
        for name, _ in self.given:
            if name not in entry.of_grading and plain(settings, name) != before.get(name, plain(usual, name)):
                free = f", but {', '.join(sorted(entry.of_grading))} may change" if entry.of_grading else ""
                raise UsageError(f"--set {name}: decides answers, which are there already{free}; leave it out")
        require_deciding(settings, [name for name, _ in self.given if name in entry.of_grading])
        return settings


def _recorded(path: Path) -> str | None:
    """The benchmark of a run, or of a results file; None of what is neither, which its reader refuses."""
    from dspy_proact.cli.entries import DEFAULT
    from dspy_proact.runs import RunFolder

    folder = RunFolder(path)
    if folder.exists:
        return folder.manifest().identity.benchmark
    return DEFAULT if path.is_file() else None


def _names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Those that a shell may complete a word to."""
    from dspy_proact.cli.entries import entries

    return [entry.name for entry in entries() if entry.name.startswith(incomplete)]


_BENCHMARK = click.Option(
    ["--benchmark"],
    metavar="NAME",
    help="Benchmark, see `dspy-proact benchmarks`. Default: that of RUN, else proactbench.",
    shell_complete=_names,
)
_SET = click.Option(
    ["--set", "given"], type=SettingText(), multiple=True, help="Setting of the benchmark, listed there; repeatable."
)
BENCHMARK = Bundle("chosen", (Section(Heading.CASES, (_BENCHMARK, _SET)),), Chosen)
READ_BENCHMARK = Bundle("chosen", (Section(Heading.CASES, (_BENCHMARK,)),), Chosen)
"""The same for a command that reads runs, whose settings are recorded."""
