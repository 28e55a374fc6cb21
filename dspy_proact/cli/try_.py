"""`dspy-proact try`: a prompt on a handful of triggers or on one's own conversation, beside the bare model."""

import logging
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.benchmark import DEFAULT, corpus_of
from dspy_proact.cli.options.cases import corpus_option, known_names, meant_key, strata_options
from dspy_proact.cli.options.kinds import flag_option, json_option
from dspy_proact.cli.options.models import (
    EMBEDDED,
    GATE,
    JUDGE_PROGRAM,
    PROGRAM,
    NamedModel,
    default_judge,
    model_options,
    text_of,
)
from dspy_proact.cli.options.verb import Bundle, Heading, Section, first_typed, verb
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.conversation import Conversation
    from dspy_proact.benchmarks.proactbench.programs import Assistant
    from dspy_proact.models import Gate
    from dspy_proact.runs import Case

_DEFAULT_PHASE = "RECOVERY"
_FEW = 3
"""Triggers that are tried where none is named."""
_OF_TRIGGERS = ("--trigger", "--stratum", "--phase", "--corpus", "--list")
"""Options about the triggers of a corpus."""
_OF_LISTS = (*_OF_TRIGGERS, "--model", "--json")
"""Options that a list reads; of the model whether it is the stand-in."""
_OF_JUDGES = ("--judge", "--judge-api-base", "--judge-param", "--judge-price", "--judge-program", "--judge-cases")
"""Options that --judge-cases reads, besides those of calls, limits and output."""
_LONGEST_REPEATED = 80
"""Characters of a prompt that the command to type next repeats."""


@dataclass(frozen=True)
class _Place:
    """Where an assistant is tried: at triggers of a corpus, or in a conversation of the person's own."""

    corpus: str | None
    triggers: tuple[str, ...]
    strata: tuple[str, ...]
    phases: tuple[str, ...]
    conversation: str | None
    listed: bool
    examined: bool

    @cached_property
    def said(self) -> "Conversation | None":
        """The person's own conversation, if there is one."""
        from dspy_proact.benchmarks.proactbench.conversation import parse_transcript, read_transcript
        from dspy_proact.cli.views.message import say

        if self.conversation is None:
            return None
        if self.conversation != "-":
            return read_transcript(self.conversation)
        if sys.stdin.isatty():
            say("Type the conversation, and Ctrl-D on a line of its own to end it.")
        return parse_transcript(sys.stdin.buffer.read(), "standard input")

    def named(self, embedded: bool) -> str:
        """The corpus: where none is named, the stand-in's is the sample, a real model's the published one."""
        from dspy_proact.benchmarks.registry import benchmark_named

        return corpus_of(benchmark_named(DEFAULT), self.corpus, embedded)

    def cases(self, embedded: bool) -> "list[Case]":
        """The conversation, the triggers that are named, or a few; for a list all of them.

        Raises:
            CorpusError: There is no such corpus, or it is not valid.
            UsageError: It has no such trigger or phase.
        """
        from dspy_proact.benchmarks.proactbench.cases import cases_of, conversation_case
        from dspy_proact.benchmarks.proactbench.corpus import load_corpus
        from dspy_proact.benchmarks.proactbench.types import Phase
        from dspy_proact.cli.views.message import say
        from dspy_proact.runs import select_cases

        if self.said:
            return [conversation_case(self.said.turns)]
        phases = known_names("--stratum", (*self.strata, *self.phases), tuple(Phase))
        corpus = self.named(embedded)
        read = load_corpus(corpus)
        if read.ignored_note:
            say(f"{corpus}: {read.ignored_note}")
        known = {case.key: case for case in cases_of(read)}
        if self.triggers:
            more = "`dspy-proact try --list` prints them all, with the same --corpus"
            meant = [meant_key(key, list(known), "trigger", corpus, more) for key in self.triggers]
            return [known[key] for key in dict.fromkeys(meant)]
        chosen = phases or ([] if self.listed else [_DEFAULT_PHASE])
        cases = select_cases(list(known.values()), None if self.listed else _FEW, chosen)
        if not cases:
            raise UsageError(f"{corpus}: has no trigger in {' or '.join(chosen)}; name another --stratum")
        return cases


_PLACE = Bundle(
    "place",
    (
        corpus_option("Corpus of the triggers. Default: the published one; the sample if embedded."),
        Section(
            Heading.CASES,
            (
                click.Option(
                    ["--trigger", "triggers"],
                    multiple=True,
                    metavar="KEY",
                    help="Try this trigger, by its key or a unique beginning of it; repeatable.",
                ),
                *strata_options("Three triggers of this phase; repeatable. Default: RECOVERY."),
                click.Option(
                    ["--conversation"], metavar="FILE|-", help="Your own conversation, from a file or standard input."
                ),
                click.Option(["--list", "listed"], is_flag=True, help="Print the keys of triggers, and make no call."),
                click.Option(
                    ["--judge-cases", "examined"], is_flag=True, help="Try the judge alone, on 40 worked cases."
                ),
            ),
        ),
    ),
    _Place,
)


@dataclass(frozen=True)
class _Trial:
    """The prompt or program on trial, and the models."""

    text: str | None
    program: Path | None
    model: NamedModel
    judge: NamedModel
    said: "Conversation | None"
    """The person's own conversation, whose system message is the prompt where there is no other."""

    @property
    def embedded(self) -> bool:
        """Whether the model under test is the stand-in, so that sample and judge go with it."""
        return self.model.spec(EMBEDDED).name == EMBEDDED

    @cached_property
    def prompt(self) -> str | None:
        """The system prompt: TEXT, or the system message of the conversation."""
        if self.text is None:
            return self.said.system if self.said and not self.program else None
        prompt = text_of(self.text) or ""
        if not prompt.strip():
            raise UsageError(f"{self.text or 'TEXT'}: the prompt is empty; leave it out for the bare model")
        return prompt

    @cached_property
    def assistant(self) -> "Assistant | None":
        """The assistant on trial; None where only the bare model is asked."""
        from dspy_proact.benchmarks.compiled import load_assistant
        from dspy_proact.benchmarks.proactbench.programs import Assistant

        if self.text is not None and self.program:
            raise UsageError("TEXT and --program are mutually exclusive: a program has its own prompt")
        if self.program:
            return load_assistant(self.program)
        return None if self.prompt is None else Assistant(self.prompt)


@verb(
    "try",
    model_options("--model", "Model under test, a litellm name. Default: embedded."),
    Section(Heading.MODELS, (PROGRAM,)),
    model_options(
        "--judge",
        "Judge, a litellm name. Default: openai/gpt-5.4; embedded for an embedded model and for --judge-cases.",
        Heading.JUDGE,
    ),
    JUDGE_PROGRAM,
    _PLACE,
    GATE,
    Section(
        Heading.OUTPUT,
        (
            flag_option("--whole", "Show earlier turns and rubric too; with --judge-cases, those of missed cases."),
            json_option("the responses and verdicts"),
        ),
    ),
    first=(
        "--model",
        "--program",
        "--judge",
        "--corpus",
        "--trigger",
        "--stratum",
        "--conversation",
        "--list",
        "--judge-cases",
        "--whole",
        "--json",
    ),
    example='dspy-proact try "Offer one next step when the user is done."',
    brief="Try a system prompt, or a judge on worked cases.",
)
@click.argument("text", required=False, metavar="[TEXT|@FILE]")
def try_(
    text: str | None,
    model: NamedModel,
    program: Path | None,
    judge: NamedModel,
    judge_program: Path | None,
    place: _Place,
    gate: "Gate",
    whole: bool,
    as_json: bool,
) -> int:
    """Try a system prompt: responses with TEXT beside those without it, each with the judge's verdict.

    Without TEXT the bare model answers alone. A --conversation is JSON, JSON lines, or text in which `User:` and
    `Assistant:` begin a message; it ends with the user and is not graded. Nothing is written to disk.
    """
    from dspy_proact.cli.views.message import say_next

    if place.triggers and (place.strata or place.phases):
        raise UsageError(f"--trigger and {first_typed(('--stratum', '--phase'))} are mutually exclusive")
    if place.conversation is not None and (flag := first_typed(_OF_TRIGGERS)):
        raise UsageError(f"--conversation and {flag} are mutually exclusive")
    if place.examined:
        from dspy_proact.cli.views.trial import examine

        read = (*_OF_JUDGES, *(option.opts[0] for option in GATE.options), "--whole", "--json")
        if flag := "TEXT" if text is not None else first_typed(but=read):
            raise UsageError(f"--judge-cases and {flag} are mutually exclusive")
        return examine(judge.spec(EMBEDDED), judge_program, gate, whole=whole, as_json=as_json)
    if judge_program:
        raise UsageError("--judge-program: has no effect without --judge-cases")
    trial = _Trial(text, program, model, judge, place.said)
    if not place.listed:
        return _try(trial, place, gate, whole, as_json)
    from dspy_proact.cli.views.trial import print_triggers

    if flag := "TEXT" if text is not None else first_typed(but=_OF_LISTS):
        raise UsageError(f"--list and {flag} are mutually exclusive: a list makes no call")
    listed = place.cases(trial.embedded)
    print_triggers(listed, as_json)
    say_next("try", "--corpus", place.named(trial.embedded), "--trigger", listed[0].key)
    return 0


def _try(trial: _Trial, place: _Place, gate: "Gate", whole: bool, as_json: bool) -> int:
    """Ask, and show what came; the exit status."""
    from dspy_proact.benchmarks.proactbench.jury import open_jury
    from dspy_proact.benchmarks.proactbench.programs import ASSISTANT
    from dspy_proact.benchmarks.proactbench.trial import Trial
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.runs import say_of_card
    from dspy_proact.cli.views.trial import print_tried
    from dspy_proact.models import open_model
    from dspy_proact.report import counted

    # DSPy would log a line for every response cut at the token limit, which is shown beside it.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    assistant, graded = trial.assistant, not place.said
    if trial.judge.name and not graded:
        say("A conversation of your own has no rubric; --judge is not asked.")
    if place.said and place.said.system is not None:
        other = "TEXT" if trial.text is not None else "--program" if trial.program else None
        used = f"is left out: {other} is used" if other else "is the prompt"
        say(f"The system message of the conversation {used}.")
    if assistant:
        say_of_card("--program", assistant.card, "assistant", [trial.model.spec(EMBEDDED).name])
    model = open_model(trial.model.spec(EMBEDDED), ASSISTANT, gate)
    jury = open_jury(trial.judge.spec(default_judge(trial.embedded)), gate) if graded else None
    cases = place.cases(trial.embedded)
    count = counted(len(cases) * (2 if assistant else 1), "response")
    say(f"Asking for {count}{' with a verdict on each' if graded else ''}.")
    tried = Trial(assistant, model, jury, gate).run(cases)
    if tried.begun:
        prompted = "the program" if trial.program else "the prompt"
        print_tried(tried.pairs, model, jury.models[0] if jury else None, prompted, whole=whole, as_json=as_json)
    if tried.halt:
        say(f"Stopped: {tried.halt}")
    else:
        _say_next(trial, place, graded)
    return tried.exit_status


def _say_next(trial: _Trial, place: _Place, graded: bool) -> None:
    """What to type next: with an assistant a whole evaluation, which is what shows anything; without one a prompt."""
    from dspy_proact.cli.views.message import Typed, say_next

    typed = Typed()
    again = [*typed.model("--model"), *(typed.model("--judge") if graded else []), *typed.options("--corpus")]
    again += typed.calls()
    if trial.assistant is None:
        say_next("try", "@FILE", *again, before="With a prompt of yours in FILE:")
        return
    shown = "" if place.conversation else "A few triggers are an impression, not a score."
    prompt, text = ["--program", str(trial.program)], trial.text or trial.prompt or ""
    if trial.program is None:
        named = bool(trial.text) and text.startswith("@")
        whole = named or (len(text) <= _LONGEST_REPEATED and text.isprintable() and not text.startswith("@"))
        shown += "" if whole else f"{' ' if shown else ''}With the prompt in FILE:"
        prompt = ["--system-prompt", text if whole else "@FILE"]
    say_next("eval", *prompt, *again, before=shown)
