"""`dspy-proact try`: a prompt on a handful of cases or on one's own conversation, beside the bare model."""

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.exit_status import exit_status
from dspy_proact.cli.next_step import CALLS, Next, Typed, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import BENCHMARK, BenchmarkChoice, corpus_of, corpus_option, judges_of
from dspy_proact.cli.options.models import (
    EMBEDDED,
    JUDGE_PROGRAM,
    PROGRAM,
    ROLES,
    TRY_GATE,
    NamedModel,
    NamedRoles,
    model_options,
    text_of,
)
from dspy_proact.cli.options.scope import known_names, resolve_key, strata_options
from dspy_proact.cli.options.verb import Bundle, Heading, Section, first_typed, flags_of, verb
from dspy_proact.cli.views.message import message_of, say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.models import Gate
    from dspy_proact.runs import Case, Settings

_FEW = 3
"""Cases that are tried where none is named."""
_OF_BENCHMARKS = ("--benchmark", "--set")
_OF_CASES = ("--case", "--stratum", "--phase", "--corpus", "--list")
"""Options about the cases of a corpus."""
_OF_LISTS = (*_OF_CASES, *_OF_BENCHMARKS, "--model", "--json")
"""Options that a list reads; of the model whether it is the stand-in."""
_OF_JUDGES = ("--judge", "--judge-api-base", "--judge-param", "--judge-price", "--judge-program", "--judge-cases")
"""Options that --judge-cases reads, besides those of the benchmark, of calls, limits and output."""
_LONGEST_REPEATED = 80
"""Characters of a prompt that the command to type next repeats."""


@dataclass(frozen=True)
class _Where:
    """Where a prompt is tried: on cases of a corpus, or in a conversation of the person's own."""

    corpus: str | None
    keys: tuple[str, ...]
    strata: tuple[str, ...]
    phases: tuple[str, ...]
    conversation: str | None
    listed: bool
    examined: bool

    def own(self, declared: "Benchmark[Any, Any]") -> "Case | None":
        """The person's own conversation; None where there is none."""
        from dspy_proact.files.rows import read_bytes
        from dspy_proact.kept import read_contents

        if self.conversation is None:
            return None
        if (read := declared.corpus.own_case) is None:
            raise UsageError(f"--conversation: {declared.name} takes cases of a corpus only; leave it out")
        if self.conversation != "-":
            data = read_bytes(self.conversation, "the path of a conversation, or - for standard input")
            return read(data, self.conversation)
        if sys.stdin.isatty():
            say("Type the conversation, and Ctrl-D on a line of its own to end it.")
        try:
            return read(read_contents(sys.stdin.buffer), "standard input")
        except OSError as error:
            raise UsageError(f"standard input: cannot be read: {error.strerror}") from error

    def cases(self, declared: "Benchmark[Any, Any]", settings: "Settings", embedded: bool) -> "list[Case]":
        """The cases that are named, or a few; for a list all of them.

        Raises a `CorpusError` where there is no such corpus, or it is not valid; a `UsageError` for no such case or
        stratum.
        """
        from dspy_proact.cli.views.runs import say_of_corpus
        from dspy_proact.evaluation.checks import checked
        from dspy_proact.runs import CONTROL, select_cases

        strata, corpus = (*self.strata, *self.phases), corpus_of(declared, self.corpus, embedded)
        chosen = known_names("--stratum", strata, declared.strata)
        read = checked(declared, "read", declared.read(corpus, settings))
        say_of_corpus(corpus, read.corpus)
        known = {case.key: case for case in read.cases if case.stratum != CONTROL}
        if self.keys:
            more = "`dspy-proact try --list` prints them all, with the same --corpus"
            keys = [resolve_key(key, list(known), "case", corpus, more) for key in self.keys]
            return [known[key] for key in dict.fromkeys(keys)]
        if not self.listed and not chosen and (tuning := declared.tuning(settings)):
            chosen = list(map(str, tuning.strata))
        cases = select_cases(list(known.values()), None if self.listed else _FEW, chosen)
        if not cases:
            none = f"no {declared.nouns.case} in {' or '.join(chosen)}; name another --stratum"
            raise UsageError(f"{corpus}: has {none if chosen else f'no {declared.nouns.cases}'}")
        return cases


_WHERE = Bundle(
    "where",
    _Where,
    corpus_option("Corpus of the cases. Default: the published one; the sample if embedded."),
    Section(
        Heading.CASES,
        click.Option(
            ["--case", "--trigger", "keys"],
            metavar="KEY",
            help="Try this case, by its key or a unique beginning of it; repeatable.",
            multiple=True,
        ),
        *strata_options("Three cases of this stratum, such as a phase; repeatable. Default: the benchmark's."),
        option.text("--conversation", "FILE|-", "Your own conversation, from a file or standard input."),
        option.flag("--list", "Print the keys of cases, and make no call.", "listed"),
        option.flag("--judge-cases", "Try the judge alone, on its worked cases.", "examined"),
    ),
)


@verb(
    "try",
    BENCHMARK,
    model_options("--model", "Model under test, a litellm name. Default: embedded."),
    Section(Heading.MODELS, PROGRAM),
    ROLES,
    model_options(
        "--judge",
        "Judge, a litellm name. Default: the benchmark's; embedded for an embedded model and for --judge-cases.",
        Heading.JUDGE,
    ),
    JUDGE_PROGRAM,
    _WHERE,
    TRY_GATE,
    Section(
        Heading.OUTPUT,
        option.flag("--whole", "Show all of a case, such as earlier turns and rubric.", "in_full"),
        option.flag("--show-prompt", "Print what each model is sent first about the first case, and make no call."),
        option.as_json("the responses and verdicts"),
    ),
    first="--model --program --judge --benchmark --corpus --case --stratum --conversation --list "
    "--judge-cases --whole --json",
    example='dspy-proact try "Offer one next step when the user is done."',
    brief="Try a system prompt, or a judge on worked cases.",
)
@click.argument("text", required=False, metavar="[TEXT|@FILE]")
def try_(
    text: str | None,
    chosen: BenchmarkChoice,
    model: NamedModel,
    program: Path | None,
    roles: NamedRoles,
    judge: NamedModel,
    judge_program: Path | None,
    where: _Where,
    gate: "Gate",
    in_full: bool,
    show_prompt: bool,
    as_json: bool,
) -> int:
    """Try a system prompt: responses with TEXT beside those without it, each with the judge's verdict.

    Without TEXT the bare model answers alone. A --conversation is JSON, JSON lines, or text in which `User:` and
    `Assistant:` begin a message; it ends with the user and is not graded. Nothing is written to disk.
    """
    _refuse_together(text, program, judge_program, where)
    declared = chosen.declared()
    settings, embedded = chosen.settings(declared), model.spec(EMBEDDED).name == EMBEDDED
    if where.examined:
        from dspy_proact.cli.views.trial import examine

        return examine(declared, settings, judge, judge_program, gate, in_full, as_json)
    if where.listed:
        from dspy_proact.cli.views.trial import print_cases

        listed = where.cases(declared, settings, embedded)
        print_cases(declared, listed, as_json)
        corpus = corpus_of(declared, where.corpus, embedded)
        say_next(Next.KEYS_LISTED, benchmark=chosen.words, corpus=corpus, key=listed[0].key)
        return 0
    from dspy_proact.cli.views.runs import say_of_card
    from dspy_proact.cli.views.trial import print_tried
    from dspy_proact.evaluation.trial import Trial
    from dspy_proact.report.numbers import counted

    # DSPy would log a line for every response cut at the token limit, which is shown beside it.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    own = where.own(declared)
    prompt = _prompt(text)
    if judge.name and own:
        say("A conversation of your own has no rubric; --judge is ignored.")
    judges, spec = () if own else judges_of(declared, judge, embedded), model.spec(EMBEDDED)
    grading = None if own else judge.spec(judges[0].name) if judges else EMBEDDED
    trial = Trial(
        spec,
        grading,
        benchmark=declared,
        settings=settings,
        program=program,
        system_prompt=prompt,
        gate=gate,
        roles=roles.specs(declared, embedded),
    )
    say_of_card("--program", getattr(trial.program, "card", None), "assistant", [spec.name])
    cases = [own] if own else where.cases(declared, settings, embedded)
    if show_prompt:
        from dspy_proact.cli.views.transcript import print_prompts

        print_prompts(trial.prompts(cases[0]), as_json)
        return 0
    count = counted(len(cases) * (1 if trial.program is None else 2), "response")
    say(f"Asking for {count}{'' if own else ' with a verdict on each'}.")
    tried = trial.run(cases)
    if tried.begun:
        prompted = "the program" if program else "the prompt"
        print_tried(declared, tried.pairs, trial.models, prompted, in_full, as_json)
    if tried.halt:
        say(f"Stopped: {message_of(tried.halt)}")
    else:
        _say_next(text, prompt, program, not own, trial.takes_prompt)
    return exit_status(tried.halt, unscored=tried.failed)


def _refuse_together(text: str | None, program: Path | None, judge_program: Path | None, where: _Where) -> None:
    if where.keys and (where.strata or where.phases):
        raise UsageError(f"--case and {first_typed(('--stratum', '--phase'))} are mutually exclusive")
    if where.conversation is not None and (flag := first_typed(_OF_CASES)):
        raise UsageError(f"--conversation and {flag} are mutually exclusive")
    typed_text = None if text is None else "TEXT"
    if where.examined:
        read = (*_OF_JUDGES, *_OF_BENCHMARKS, *flags_of(TRY_GATE), "--whole", "--json")
        if flag := typed_text or first_typed(but=read):
            raise UsageError(f"--judge-cases and {flag} are mutually exclusive")
    elif judge_program:
        raise UsageError("--judge-program: has no effect without --judge-cases")
    if where.listed and (flag := typed_text or first_typed(but=_OF_LISTS)):
        raise UsageError(f"--list and {flag} are mutually exclusive: a list makes no call")
    if text is not None and program:
        raise UsageError("TEXT and --program are mutually exclusive: a program has its own prompt")


def _prompt(text: str | None) -> str | None:
    """The prompt on trial; None without TEXT."""
    prompt = None if text is None else text_of(text) or ""
    if prompt is not None and not prompt.strip():
        raise UsageError(f"{text or 'TEXT'}: the prompt is empty; leave it out for the bare model")
    return prompt


def _say_next(text: str | None, prompt: str | None, program: Path | None, graded: bool, takes_prompt: bool) -> None:
    """Print the next command: an evaluation of what was tried, or `try` with a prompt where one can be tried."""
    typed = Typed()
    again = typed.options("--benchmark", "--set", *flags_of(ROLES))
    again += [*typed.model("--model"), *(typed.model("--judge") if graded else []), *typed.options("--corpus")]
    again += typed.options(*CALLS)
    if prompt is None and program is None and takes_prompt:
        say_next(Next.TRIED_BARE, "With a prompt of yours in FILE:", options=again)
        return
    shown = "A few cases are an impression, not a score." if graded else ""
    beginning: Sequence[str] = ["--program", str(program)]
    if program is None and prompt is None:
        beginning = []
    elif program is None:
        words = text or prompt or ""
        named = bool(text) and words.startswith("@")
        as_it_is = named or (len(words) <= _LONGEST_REPEATED and words.isprintable() and not words.startswith("@"))
        shown += "" if as_it_is else f"{' ' if shown else ''}With the prompt in FILE:"
        beginning = ["--system-prompt", words if as_it_is else "@FILE"]
    say_next(Next.TRIED, shown, prompt=beginning, options=again)
