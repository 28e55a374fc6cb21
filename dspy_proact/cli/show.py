"""`dspy-proact show`: a run, read case by case."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.kinds import number_option, path_option
from dspy_proact.cli.options.output import json_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section, first_typed, verb
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.cli.views.beside import Beside
    from dspy_proact.cli.views.looked import Looked
    from dspy_proact.report import Reading
    from dspy_proact.runs import Glance

_FEW = 30
"""Cases that are listed where nobody says how many."""
_OF_LISTS = ("--grade", "--phase", "--unverified", "--unscored", "--disagree", "--search", "--limit")
"""Options that choose among cases."""
_COUNT = click.IntRange(1, 10**9)


@dataclass(frozen=True)
class _Choice:
    """Which cases a person looks at."""

    trigger: str | None
    grade: tuple[str, ...]
    phase: tuple[str, ...]
    unverified: bool
    unscored: bool
    disagree: bool
    search: str | None
    epoch: int | None
    beside: Path | None
    limit: int | None

    def require_one_kind(self) -> None:
        """Raise a `UsageError` where one case is named and others are looked for."""
        if self.trigger is not None and (flag := first_typed(_OF_LISTS)):
            raise UsageError(f"--trigger names what is shown; leave {flag} out")
        if self.search is not None and not self.search.strip():
            raise UsageError("--search: there is no text to look for")

    def among(self, looked: "Looked", beside: "Beside | None") -> "tuple[list[Glance], int]":
        """Those that apply, in the order of the run, and how many that differ were asked in other words beside.

        Raises:
            UsageError: A name is none of the run's.
        """
        from dspy_proact.runs import Sought

        if any(name.casefold() == "unscored" for name in self.grade):
            raise UsageError("--grade unscored: is no grade; --unscored lists what has none")
        sought = Sought(
            labels=_known("--grade", self.grade, looked.labels),
            strata=_known("--phase", self.phase, looked.strata),
            epoch=self.epoch,
            unverified=self.unverified,
            unscored=self.unscored,
            differing=self.disagree,
        )
        found = looked.holding(sought.among(looked.glances, beside.placed if beside else None))
        if not (beside and self.disagree):
            return found, 0
        otherwise = beside.otherwise(found)
        kept = [glance for glance in found if glance.key not in otherwise]
        return kept, len(found) - len(kept)


_CHOICE = Bundle(
    "choice",
    (
        Section(
            Heading.SHOWN,
            (
                click.Option(
                    ["--trigger"],
                    metavar="KEY",
                    help="Show this one whole: its key, the beginning of it, or as it is listed.",
                ),
                click.Option(["--grade"], multiple=True, metavar="GRADE", help="Only this grade; may be repeated."),
                click.Option(
                    ["--phase"],
                    multiple=True,
                    metavar="PHASE",
                    help="Only this phase (of PROBE difficulty), or CONTROL; may be repeated.",
                ),
                click.Option(
                    ["--unverified"],
                    is_flag=True,
                    help="Only where a verdict quotes what is not in the response, or too little.",
                ),
                click.Option(["--unscored"], is_flag=True, help="Only what was tried and has no grade."),
                click.Option(
                    ["--disagree"],
                    is_flag=True,
                    help="Only where judges or epochs differ; with --beside, where the two runs do.",
                ),
                click.Option(
                    ["--search"],
                    metavar="TEXT",
                    help="Only with this text, in any case: in key, group, what was asked, response or reasons.",
                ),
                number_option("--epoch", _COUNT, "Only this epoch. With --trigger: the first where none is named."),
                path_option("--beside", "Another run or results file, to read beside."),
                number_option("--limit", _COUNT, f"The most that are listed. Default: {_FEW}, with --json all."),
            ),
        ),
    ),
    _Choice,
)


@verb(
    "show",
    _CHOICE,
    Section(Heading.OUTPUT, (json_option("what is shown"),)),
    example="dspy-proact show runs/mine --grade fail --phase recovery",
    brief="Read a run case by case.",
)
@click.argument("run", type=click.Path(path_type=Path))
def show(run: Path, choice: _Choice, as_json: bool) -> None:
    """Read RUN, the folder of a run or a results file, case by case.

    Lists its cases, and with --trigger shows one whole: what was asked (of ProactBench conversation and rubric), the
    response with the quoted words marked, and what each judge says of it.
    """
    from dspy_proact.cli.views.beside import Beside
    from dspy_proact.cli.views.looked import Looked

    choice.require_one_kind()
    looked = Looked(run, choice.search)
    beside = Beside(looked, Looked(choice.beside)) if choice.beside else None
    if choice.trigger is None:
        _list(looked, beside, choice, as_json)
    else:
        _show(looked, beside, looked.key(choice.trigger), choice.epoch or 1, as_json)


def _list(looked: "Looked", beside: "Beside | None", choice: _Choice, as_json: bool) -> None:
    from dspy_proact.cli.views.case_list import CaseList
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import say_next

    found, otherwise = choice.among(looked, beside)
    _say_stand_in(looked, beside, as_json)
    if otherwise:
        more = f"{otherwise:,} more {'differs but was' if otherwise == 1 else 'differ but were'}"
        say(f"{more} asked in other words there, and {'is' if otherwise == 1 else 'are'} left out.")
    if as_json:
        _print_list(looked, beside, found[: choice.limit])
        return
    shown = found[: choice.limit or _FEW]
    CaseList(looked, shutil.get_terminal_size().columns, beside, choice.search).print(shown, found)
    if shown:
        other = ["--beside", choice.beside] if choice.beside else []
        again = ["--epoch", str(shown[0].epoch)] if shown[0].epoch > 1 else []
        say_next("show", looked.path, "--trigger", shown[0].key, *again, *other)


def _print_list(looked: "Looked", beside: "Beside | None", shown: "Sequence[Glance]") -> None:
    from dspy_proact.report import outcome_document

    pairs = [(glance, beside.of(glance) if beside else None) for glance in shown]
    theirs = beside.other.outcomes([other for _, other in pairs if other]) if beside else iter(())
    otherwise = beside.otherwise(shown) if beside else ()
    ends = "["
    for (glance, other), outcome in zip(pairs, looked.outcomes(shown), strict=True):
        told = outcome_document(outcome, looked.nouns)
        if beside:
            told["beside"] = outcome_document(next(theirs), beside.other.nouns) if other else None
            told["worded_otherwise"] = glance.key in otherwise
        click.echo(ends + "\n" + json.dumps(told, indent=2, allow_nan=False), nl=False)
        ends = ","
    click.echo("\n]" if pairs else "[]")


def _show(looked: "Looked", beside: "Beside | None", key: str, epoch: int, as_json: bool) -> None:
    from rich.console import Console

    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.report import print_reading, reading_document

    reading = _reading(looked, key, epoch)
    epochs = [glance.epoch for glance in looked.glances if glance.key == key]
    if reading is None:
        raise UsageError(f"--epoch {epoch}: {looked.path} has {len(epochs)}")
    other = _reading(beside.other, key, epoch) if beside else None
    otherwise = bool(beside and beside.otherwise(glance for glance in looked.glances if glance.key == key))
    _say_stand_in(looked, beside, as_json)
    if as_json:
        told = reading_document(reading, looked.nouns)
        if beside:
            told["beside"] = reading_document(other, beside.other.nouns) if other else None
            told["worded_otherwise"] = otherwise
        click.echo(json.dumps(told, indent=2, allow_nan=False))
        return
    named = [(looked.name, reading)]
    if beside:
        there = f"{beside.other.name} in {beside.other.path}{', asked in other words' if otherwise else ''}"
        named = [(f"{looked.name} in {looked.path}", reading), (there, other)]
    print_reading(Console(), named, looked.labels_of(reading.outcome.stratum))
    if len(epochs) > 1:
        say(f"This is epoch {epoch} of {len(epochs)}; --epoch shows another.")
    if after := looked.after(key):
        say_next("show", looked.path, "--trigger", after, *(["--beside", beside.other.path] if beside else []))


def _reading(looked: "Looked", key: str, epoch: int) -> "Reading | None":
    from dspy_proact.report import Reading

    glances = [glance for glance in looked.glances if (glance.key, glance.epoch) == (key, epoch)]
    return next((Reading.of(outcome, looked.benchmark) for outcome in looked.outcomes(glances)), None)


def _say_stand_in(looked: "Looked", beside: "Beside | None", as_json: bool) -> None:
    """Say it where a stand-in took part: beside JSON on standard error."""
    if looked.embedded or (beside and beside.other.embedded):
        from dspy_proact.report import STAND_IN

        click.echo(STAND_IN, err=as_json)


def _known(flag: str, named: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names as they are known, in any case of letters; raises a `UsageError` for one that is none of them."""
    spelled = {name.casefold(): str(name) for name in known}
    for name in named:
        if name.casefold() not in spelled:
            raise UsageError(f"{flag} {name}: is none of {', '.join(spelled.values())}")
    return [spelled[name.casefold()] for name in named]
