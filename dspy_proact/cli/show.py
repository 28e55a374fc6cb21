"""`dspy-proact show`: a run read case by case."""

import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.next_step import Next, Words, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import READ_BENCHMARK, BenchmarkChoice, require_phases
from dspy_proact.cli.options.scope import known_names, resolve_key, strata_options
from dspy_proact.cli.options.verb import Bundle, Heading, Section, first_typed, verb
from dspy_proact.cli.views.message import print_json, say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.cli.views.case_list import ShownRun
    from dspy_proact.runs import Outcome

_FEW = 30
"""Cases that are listed by default."""
_OF_LISTS = ("--grade", "--stratum", "--phase", "--unverified", "--unscored", "--disagree", "--search", "--limit")
"""Options that choose among cases."""
_COUNT = click.IntRange(1, 10**9)
_UNSCORED = "unscored"


@dataclass(frozen=True)
class _Choice:
    trigger: str | None
    grade: tuple[str, ...]
    strata: tuple[str, ...]
    phases: tuple[str, ...]
    unverified: bool
    unscored: bool
    disagree: bool
    search: str | None
    epoch: int | None
    beside: Path | None
    limit: int | None
    transcript: bool

    def among(self, run: "ShownRun", other: "ShownRun | None") -> "list[Outcome]":
        """The cases that apply, in the order of the run; raises `UsageError` where a name is none of the run's."""
        if self.phases:
            require_phases(run.nouns, run.path)
        labels = known_names("--grade", self.grade, (*run.labels, _UNSCORED))
        strata = known_names("--stratum", (*self.strata, *self.phases), run.strata)

        def differs(outcome: "Outcome") -> bool:
            if other is None:
                return outcome.split or outcome.key in run.differing_epochs
            there = other.placed.get((outcome.key, outcome.epoch))
            return there is not None and there.label != outcome.label

        matching = [
            outcome
            for outcome in run.outcomes
            if (not labels or outcome.label in labels or (_UNSCORED in labels and outcome.state == _UNSCORED))
            and (not strata or outcome.stratum in strata)
            and (self.epoch is None or outcome.epoch == self.epoch)
            and (not self.unverified or outcome.unverified)
            and (not self.unscored or outcome.state == _UNSCORED)
            and (not self.disagree or differs(outcome))
        ]
        if self.search is None:
            return matching
        sought = self.search.casefold()  # in any case of letters
        return [
            outcome
            for outcome in matching
            if any(sought in text.casefold() for text in (outcome.key, outcome.group, *run.reading(outcome).texts))
        ]


_CHOICE = Bundle(
    "choice",
    _Choice,
    Section(
        Heading.SHOWN,
        click.Option(
            ["--trigger", "--case", "trigger"],
            metavar="KEY",
            help="Show one case in full: its key, a unique beginning of it, or the key as listed.",
        ),
        option.text("--grade", "GRADE", "Only this grade, or `unscored`; repeatable.", several=True),
        *strata_options("Only this stratum, such as a phase; CONTROL for control cases; repeatable."),
        option.flag("--unverified", "Only cases with a verdict whose quotes are not in the response."),
        option.flag("--unscored", "Only cases that were tried and have no grade."),
        option.flag(
            "--disagree", "Only cases on which judges or epochs differ; with --beside, on which the runs differ."
        ),
        option.text("--search", "TEXT", "Only cases with this text in key, group, question, response or reasons."),
        option.number("--epoch", _COUNT, "Only this epoch. Default with --trigger: 1."),
        option.path("--beside", "Show another run or results file next to this one."),
        option.number("--limit", _COUNT, f"List at most N cases. Default: {_FEW}; with --json, all."),
        option.flag("--transcript", "With --trigger: every request, as it was sent, and every reply, as it came."),
    ),
)


@verb(
    "show",
    _CHOICE,
    READ_BENCHMARK,
    Section(Heading.OUTPUT, option.as_json("what is shown")),
    first="--trigger --transcript --grade --stratum --unverified --unscored --disagree --search --beside --limit "
    "--json",
    example="dspy-proact show runs/mine --grade fail",
    brief="Read a run case by case.",
)
@click.argument("run", type=click.Path(path_type=Path))
def show(run: Path, choice: _Choice, chosen: BenchmarkChoice, as_json: bool) -> None:
    """Read a run case by case; RUN is its folder, or a results file.

    Lists the cases. --trigger shows one in full: what was asked, the response with quoted words marked, and what each
    judge says of it; with --transcript, its calls.
    """
    from dspy_proact.cli.views.case_list import ShownRun

    if choice.trigger is not None and (flag := first_typed(_OF_LISTS)):
        raise UsageError(f"--trigger and {flag} are mutually exclusive")
    if choice.search is not None and not choice.search.strip():
        raise UsageError("--search: the text is empty")
    if choice.transcript and (choice.trigger is None or choice.beside):
        fault = "has no effect without --trigger" if choice.trigger is None else "and --beside are mutually exclusive"
        raise UsageError(f"--transcript{'' if fault.startswith('and') else ':'} {fault}")
    chosen.require(*filter(None, (run, choice.beside)))
    check = as_json or bool(choice.trigger or choice.beside)
    shown = ShownRun(run, check, chosen)
    other = ShownRun(choice.beside, check, chosen) if choice.beside else None
    if choice.trigger is None:
        _list(shown, other, choice, as_json)
    elif choice.transcript:
        _show_calls(shown, choice, chosen.benchmark, as_json)
    else:
        _show(shown, other, choice, as_json)


def _list(run: "ShownRun", other: "ShownRun | None", choice: _Choice, as_json: bool) -> None:
    from dspy_proact.cli.views.case_list import print_cases

    matching = choice.among(run, other)
    _say_stand_in(run, other, as_json)
    if other and choice.disagree and (rephrased := run.rephrased(matching, other)):
        more, matching = len(matching), [outcome for outcome in matching if outcome.key not in rephrased]
        more -= len(matching)
        verbs = ("differs but was", "is") if more == 1 else ("differ but were", "are")
        say(f"{more:,} more {verbs[0]} rephrased there, and {verbs[1]} left out.")
    if as_json:
        from dspy_proact.report.reading import outcome_document

        shown = matching[: choice.limit]
        rephrased = run.rephrased(shown, other) if other else ()
        ends = "["
        for outcome in shown:  # one by one: a large run in one text would take several times its size
            document = outcome_document(outcome, run.nouns)
            if other:
                there = other.placed.get((outcome.key, outcome.epoch))
                document["beside"] = outcome_document(there, other.nouns) if there else None
                document["rephrased"] = outcome.key in rephrased
            click.echo(ends + "\n" + json.dumps(document, indent=2, allow_nan=False), nl=False)
            ends = ","
        click.echo("\n]" if shown else "[]")
        return
    shown = matching[: choice.limit or _FEW]
    print_cases(run, shown, matching, shutil.get_terminal_size().columns, other, choice.search or "")
    if shown:
        beside = ["--beside", choice.beside] if choice.beside else []
        again = ["--epoch", str(shown[0].epoch)] if shown[0].epoch > 1 else []
        _say_next_case(run, shown[0].key, epoch=again, beside=beside)


def _say_next_case(run: "ShownRun", key: str, **words: Words) -> None:
    """Print the command that shows a case in full, by the option that its benchmark's word for a case makes."""
    case = "--trigger" if run.nouns.case == "trigger" else "--case"
    say_next(Next.CASES_SHOWN, "", run=run.path, case=case, key=key, **words)


def _show(run: "ShownRun", other: "ShownRun | None", choice: _Choice, as_json: bool) -> None:
    from dspy_proact.report import print_reading, reading_document

    key, epoch, of_key = _chosen(run, choice)
    reading = run.reading(run.placed[key, epoch])
    there = other.placed.get((key, epoch)) if other else None
    beside = other.reading(there) if other and there else None
    rephrased = bool(other and run.rephrased(of_key, other))
    _say_stand_in(run, other, as_json)
    if as_json:
        document = reading_document(reading, run.nouns)
        if other:
            document["beside"] = reading_document(beside, other.nouns) if beside else None
            document["rephrased"] = rephrased
        print_json(document)
        return
    named = [(run.name, reading)]
    if other:
        otherwise = ", rephrased" if rephrased else ""
        named = [(f"{run.name} in {run.path}", reading), (f"{other.name} in {other.path}{otherwise}", beside)]
    print_reading(named, run.labels_of[reading.outcome.stratum])
    if run.path.is_dir() and (reading.outcome.unread or reading.outcome.state == "unscored"):
        say("--transcript shows what was sent, and what came back.")
    if len(of_key) > 1:
        say(f"This is epoch {epoch} of {len(of_key)}; --epoch shows another.")
    if rest := run.keys[run.keys.index(key) + 1 :]:
        _say_next_case(run, rest[0], epoch=None, beside=["--beside", other.path] if other else None)


def _chosen(run: "ShownRun", choice: _Choice) -> "tuple[str, int, list[Outcome]]":
    """Key and epoch of the case that is shown, and its outcomes in every epoch."""
    key = resolve_key(choice.trigger or "", run.keys, run.nouns.case, str(run.path))
    epoch = choice.epoch or 1
    of_key = [outcome for outcome in run.outcomes if outcome.key == key]
    if (key, epoch) not in run.placed:
        raise UsageError(f"--epoch {epoch}: {run.path} has {len(of_key)}")
    return key, epoch, of_key


def _show_calls(run: "ShownRun", choice: _Choice, benchmark: str | None, as_json: bool) -> None:
    from dspy_proact.runs import RunFolder

    if not (folder := RunFolder(run.path)).exists:
        raise UsageError(f"{run.path}: a file has no calls; --transcript reads the folder of a run")
    key, epoch, _ = _chosen(run, choice)
    # DSPy, which all else here does without.
    from dspy_proact.cli.views.transcript import print_transcript, transcript_document
    from dspy_proact.evaluation.transcript import transcript

    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)  # it would warn once more of replies that were cut
    stages = transcript(folder, key, epoch, benchmark)
    _say_stand_in(run, None, as_json)
    if as_json:
        print_json(transcript_document(run.nouns.case, key, epoch, stages))
    else:
        print_transcript(stages)


def _say_stand_in(run: "ShownRun", other: "ShownRun | None", as_json: bool) -> None:
    """Say that a stand-in took part; on standard error with JSON."""
    if run.embedded or (other and other.embedded):
        from dspy_proact.stand_in import STAND_IN

        click.echo(STAND_IN, err=as_json)
