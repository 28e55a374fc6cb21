"""`dspy-proact try`: a prompt on a handful of triggers or on one's own conversation, beside the bare model."""

import json
import logging
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.corpus import TRIED_CORPUS, default_corpus
from dspy_proact.cli.options.gate import GATE
from dspy_proact.cli.options.judging import JUDGE_PROGRAM, Judging
from dspy_proact.cli.options.model import EMBEDDED, NamedModel, default_judge, model_options
from dspy_proact.cli.options.output import json_option
from dspy_proact.cli.options.prompt import PROGRAM, assistant_of, text_of
from dspy_proact.cli.options.scope import phase_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section, first_typed, verb
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.conversation import Conversation
    from dspy_proact.benchmarks.proactbench.jury import Jury
    from dspy_proact.benchmarks.proactbench.programs import Assistant
    from dspy_proact.benchmarks.proactbench.trial import Tried
    from dspy_proact.models import Gate, Model
    from dspy_proact.runs import Case

_DEFAULT_PHASES = ("RECOVERY",)
_FEW = 3
"""Triggers that are tried where none is named."""
_OF_TRIGGERS = ("--trigger", "--phase", "--corpus", "--list")
"""Options about the triggers of a corpus."""
_OF_LISTS = ("--list", "--trigger", "--phase", "--corpus", "--model", "--json")
"""Options that a list reads; of the model whether it is the stand-in."""
_LONGEST_REPEATED = 80
"""Characters of a prompt that the command to type next repeats."""


@dataclass(frozen=True)
class _Place:
    """Where an assistant is tried: at triggers of a corpus, or in a conversation of the person's own."""

    corpus: str | None
    triggers: tuple[str, ...]
    phases: tuple[str, ...]
    conversation: str | None
    listed: bool
    examined: bool

    def require_one_kind(self) -> None:
        """Raise a `UsageError` where two conversations are asked for."""
        if self.triggers and self.phases:
            raise UsageError("--trigger names the triggers; leave --phase out")
        if self.conversation is not None and (flag := first_typed(_OF_TRIGGERS)):
            raise UsageError(f"{flag} is about the triggers of a corpus; leave it out, or leave --conversation out")

    @cached_property
    def said(self) -> "Conversation | None":
        """The person's own conversation, if it is about one."""
        from dspy_proact.benchmarks.proactbench.conversation import parse_transcript, read_transcript
        from dspy_proact.cli.views.message import say

        if self.conversation is None:
            return None
        if self.conversation != "-":
            return read_transcript(self.conversation)
        if sys.stdin.isatty():
            say("Type the conversation, and Ctrl-D on a line of its own to end it.")
        return parse_transcript(sys.stdin.buffer.read(), "standard input")

    def cases(self, embedded: bool) -> "list[Case]":
        """What is asked: the conversation, the triggers that are named, or a few; all of them for a list."""
        from dspy_proact.benchmarks.proactbench.cases import conversation_case
        from dspy_proact.cli.options.triggers import named_triggers, triggers_of

        if self.said:
            return [conversation_case(self.said.turns)]
        corpus = self.corpus or default_corpus(embedded)
        if self.triggers:
            return named_triggers(corpus, self.triggers)
        if self.listed:
            return triggers_of(corpus, self.phases, None)
        return triggers_of(corpus, self.phases or _DEFAULT_PHASES, _FEW)


_PLACE = Section(
    Heading.ASKED,
    (
        click.Option(
            ["--trigger", "triggers"],
            multiple=True,
            metavar="KEY",
            help="Try this trigger, named by its key or the beginning of it; repeatable.",
        ),
        phase_option("Three triggers of this phase; may be repeated. Default: RECOVERY."),
        click.Option(
            ["--conversation"], metavar="FILE|-", help="Your own conversation, from a file or standard input."
        ),
        click.Option(["--list", "listed"], is_flag=True, help="Print the keys of triggers, and make no call."),
        click.Option(
            ["--judge-cases", "examined"],
            is_flag=True,
            help="Try the judge alone, on 40 worked cases of its rules.",
        ),
    ),
)


@dataclass(frozen=True)
class _Trial:
    """Who is tried, by which models."""

    text: str | None
    program: Path | None
    model: NamedModel
    judge: NamedModel
    said: "Conversation | None" = None
    """The person's own conversation, whose system message is the prompt where there is no other."""

    @property
    def embedded(self) -> bool:
        """Whether the model under test is the stand-in, so that sample and judge go with it."""
        return self.model.spec(EMBEDDED).name == EMBEDDED

    @cached_property
    def prompt(self) -> str | None:
        """What the assistant is told: TEXT, or the system message of the conversation."""
        if self.text is None:
            return self.said.system if self.said and not self.program else None
        prompt = text_of(self.text) or ""
        if not prompt.strip():
            raise UsageError(f"{self.text or 'TEXT'}: the prompt is empty; leave it out for the bare model")
        return prompt

    @cached_property
    def assistant(self) -> "Assistant | None":
        """The assistant on trial; None where only the bare model is asked."""
        from dspy_proact.benchmarks.proactbench.programs import Assistant

        if self.text is not None and self.program:
            raise UsageError("--program has a prompt of its own; leave TEXT out")
        if self.program:
            return assistant_of(None, self.program)
        return None if self.prompt is None else Assistant(self.prompt)

    @property
    def system_message(self) -> str | None:
        """What becomes of the system message of the conversation, for the person; None where there is none."""
        if self.said is None or self.said.system is None:
            return None
        if self.text is None and self.program is None:
            return "The system message of the conversation is the prompt."
        return f"The system message of the conversation is left out: {'--program' if self.program else 'TEXT'} is used."


@verb(
    "try",
    model_options("--model", "Model under test, a litellm name. Default: embedded."),
    Section(Heading.MODELS, (PROGRAM,)),
    model_options(
        "--judge",
        "Judge, a litellm name. Default: openai/gpt-5.4; embedded for the embedded model and for --judge-cases.",
        Heading.JUDGE,
    ),
    JUDGE_PROGRAM,
    Bundle("place", (TRIED_CORPUS, _PLACE), _Place),
    GATE,
    Section(
        Heading.OUTPUT,
        (
            click.Option(
                ["--whole"],
                is_flag=True,
                help="Show the earlier turns and the rubric too; of --judge-cases those of the cases that it misses.",
            ),
            json_option("the responses and verdicts"),
        ),
    ),
    example='dspy-proact try "Offer one next step when the user is done." --phase recovery',
    brief="Try a system prompt, or a judge on worked cases.",
)
@click.argument("text", required=False, metavar="[TEXT|@FILE]")
def try_(
    text: str | None,
    model: NamedModel,
    program: Path | None,
    judge: NamedModel,
    judging: Judging,
    place: _Place,
    gate: "Gate",
    whole: bool,
    as_json: bool,
) -> int:
    """Try a system prompt: responses with TEXT beside those without it, and what the judge thinks of both.

    By default at three RECOVERY triggers of the sample with an embedded stand-in; without TEXT the bare model alone.
    A --conversation is JSON or JSON lines (chat messages, turns with user and assistant, or a log with `messages`) or a
    text in which `User:` and `Assistant:` begin a message; it ends with the user, and nobody grades it. Its system
    message is the prompt where TEXT is not given. Nothing is written to disk.

    With --judge-cases a judge is tried instead, ours or a compiled one: which cases it gets right, and of the others
    what the rule says and what the judge said.
    """
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.cli.views.triggers_text import print_triggers

    place.require_one_kind()
    if place.examined:
        from dspy_proact.cli.views.examination import examine

        return examine(judge.spec(EMBEDDED), judging, gate, whole=whole, as_json=as_json)
    if judging.file:
        raise UsageError("--judge-program: is tried on cases of its rules; name --judge-cases too, or leave it out")
    trial = _Trial(text, program, model, judge, place.said)
    if not place.listed:
        return _try(trial, place, gate, whole, as_json)
    if flag := "TEXT" if text is not None else first_typed(but=_OF_LISTS):
        raise UsageError(f"--list prints triggers and makes no call; leave {flag} out")
    listed = place.cases(trial.embedded)
    print_triggers(listed, as_json)
    say_next("try", "--corpus", place.corpus or default_corpus(trial.embedded), "--trigger", listed[0].key)
    return 0


def _try(trial: _Trial, place: _Place, gate: "Gate", whole: bool, as_json: bool) -> int:
    from dspy_proact.benchmarks.proactbench.jury import open_jury
    from dspy_proact.benchmarks.proactbench.programs import ASSISTANT
    from dspy_proact.benchmarks.proactbench.trial import Trial
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.program_notes import say_of_card
    from dspy_proact.models import open_model
    from dspy_proact.report import counted

    # DSPy would log a line for every response cut at the token limit, which is shown beside it.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    assistant, graded = trial.assistant, not place.said
    if trial.judge.name and not graded:
        say("A conversation of your own has no rubric, so that --judge is not asked.")
    if told := trial.system_message:
        say(told)
    if assistant:
        say_of_card("--program", assistant.card, "assistant", [trial.model.spec(EMBEDDED).name])
    model = open_model(trial.model.spec(EMBEDDED), ASSISTANT, gate)
    jury = open_jury(trial.judge.spec(default_judge(trial.embedded)), gate) if graded else None
    cases = place.cases(trial.embedded)
    count = counted(len(cases) * (2 if assistant else 1), "response")
    say(f"Asking for {count}{' with a verdict on each' if graded else ''}.")
    tried = Trial(assistant, model, jury, gate).run(cases)
    if tried.begun:
        _show(tried, model, jury, "the program" if trial.program else "the prompt", whole, as_json)
    if tried.halt:
        say(f"Stopped: {tried.halt}")
    else:
        _say_next(trial, place, graded)
    return tried.exit_status


def _show(tried: "Tried", model: "Model", jury: "Jury | None", prompted: str, whole: bool, as_json: bool) -> None:
    from rich.console import Console

    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.trial_document import Spending, pair_document
    from dspy_proact.cli.views.trial_text import SideBySide
    from dspy_proact.report import STAND_IN

    judge = jury.models[0] if jury else None
    spending, embedded = Spending(model, judge), model.embedded or (judge is not None and judge.embedded)
    if as_json:
        if embedded:
            say(STAND_IN)
        click.echo(
            json.dumps([pair_document(pair, spending, whole) for pair in tried.pairs], indent=2, allow_nan=False)
        )
        return
    click.echo(printable(f"{model.name} judged by {judge.name}" if judge else model.name))
    if embedded:
        click.echo(STAND_IN)
    click.echo()
    view = SideBySide(Console(), prompted, whole)
    for pair in tried.pairs:
        view.show(pair)
    for line in spending.lines(call for pair in tried.pairs for call in pair.calls):
        click.echo(printable(line))


def _say_next(trial: _Trial, place: _Place, graded: bool) -> None:
    """What to type next: with an assistant a whole evaluation, which is what shows anything; without one a prompt."""
    from dspy_proact.cli.views.next import Typed, say_next

    typed = Typed()
    again = [*typed.model("--model"), *(typed.model("--judge") if graded else []), *typed.options("--corpus")]
    again += typed.calls()
    if trial.assistant is None:
        say_next("try", "@FILE", *again, before="With a prompt of yours in FILE:")
        return
    shown = "" if place.conversation else "A few triggers show how it reads and no more."
    prompt, text = ["--program", str(trial.program)], trial.text or trial.prompt or ""
    if trial.program is None:
        named = bool(trial.text) and text.startswith("@")
        whole = named or (len(text) <= _LONGEST_REPEATED and text.isprintable() and not text.startswith("@"))
        shown += "" if whole else f"{' ' if shown else ''}With the prompt in FILE:"
        prompt = ["--system-prompt", text if whole else "@FILE"]
    say_next("eval", *prompt, *again, before=shown)
