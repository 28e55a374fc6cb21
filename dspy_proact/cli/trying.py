"""`dspy-proact try`: a prompt on a handful of triggers or on one's own conversation, beside the bare model."""

import json
import logging
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dspy_proact.cli.options import PHASES, Params, PerMillion, Positive, spec
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import printable

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench import Jury, Tried
    from dspy_proact.models import Gate, Model
    from dspy_proact.programs import Assistant
    from dspy_proact.runs import Case
    from dspy_proact.types import Turn

_DEFAULT_PHASES = ("RECOVERY",)
_LONGEST_REPEATED = 80
"""Characters of a prompt that the command to type next repeats."""


@dataclass(frozen=True)
class _Asked:
    """What the person asked for."""

    text: str | None
    triggers: tuple[str, ...]
    conversation: str | None
    listed: bool
    model: str
    model_api_base: str | None
    model_params: tuple[tuple[str, Any], ...]
    model_price: tuple[float, float] | None
    judge: str | None
    judge_api_base: str | None
    judge_params: tuple[tuple[str, Any], ...]
    judge_price: tuple[float, float] | None
    corpus: str | None
    phases: tuple[str, ...]
    program: Path | None
    backend: Literal["auto", "litellm"]
    timeout: float
    retries: int
    max_calls: int | None
    max_tokens: int | None
    max_usd: float | None
    as_json: bool

    @property
    def embedded(self) -> bool:
        """Whether the model under test is the stand-in, so that sample and judge go with it."""
        return self.model == "embedded"

    def require_one_kind(self) -> None:
        """Raise a `UsageError` where two conversations or two assistants are asked for."""
        if self.text is not None and self.program:
            raise UsageError("--program has a prompt of its own; leave TEXT out")
        if self.triggers and self.phases:
            raise UsageError("--trigger names the triggers; leave --phase out")
        chosen = {"--trigger": self.triggers, "--phase": self.phases, "--corpus": self.corpus, "--list": self.listed}
        if self.conversation is not None and (flag := next((flag for flag, given in chosen.items() if given), None)):
            raise UsageError(f"{flag} is about the triggers of a corpus; leave it out, or leave --conversation out")


@click.command("try")
@click.argument("text", required=False, metavar="[TEXT|@FILE]")
@click.option("--trigger", "triggers", multiple=True, metavar="KEY", help="Try this trigger; repeatable.")
@click.option("--conversation", metavar="FILE|-", help="Your own conversation, from a file or standard input.")
@click.option("--list", "listed", is_flag=True, help="Print the keys of triggers, and make no call.")
@click.option("--model", default="embedded", show_default=True, help="Model under test, a litellm name.")
@click.option("--model-api-base", metavar="URL", help="Endpoint of the model, such as http://localhost:8000/v1.")
@click.option("--model-param", "model_params", type=Params(), multiple=True, help="Overrides the preset; repeatable.")
@click.option("--judge", help="Judge, a litellm name. Default: openai/gpt-5.4; embedded for the embedded model.")
@click.option("--judge-api-base", metavar="URL", help="Endpoint of the judge.")
@click.option("--judge-param", "judge_params", type=Params(), multiple=True, help="Overrides its preset; repeatable.")
@click.option(
    "--corpus", metavar="sample|proactbench[@REV]|FILE", help="Default: proactbench; the sample when embedded."
)
@click.option(
    "--phase",
    "phases",
    multiple=True,
    type=click.Choice(PHASES, case_sensitive=False),
    help="Three triggers of this phase; may be repeated. Default: RECOVERY.",
)
@click.option(
    "--program",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A compiled assistant in place of TEXT, as `optimize assistant` writes it.",
)
@click.option("--backend", type=click.Choice(["auto", "litellm"]), default="auto", help="`litellm` forces its client.")
@click.option("--timeout", type=Positive(86400), default=600, show_default=True, help="Seconds for one attempt.")
@click.option("--retries", type=click.IntRange(0, 100), default=5, show_default=True, help="Further attempts a call.")
@click.option("--max-calls", type=click.IntRange(1), help="The most calls of this command, retries included.")
@click.option("--max-tokens", type=click.IntRange(1), help="The most tokens of this command, prompts and answers.")
@click.option("--max-usd", type=Positive(), help="The most US dollars of this command.")
@click.option("--model-price", type=PerMillion(), help="US dollars per million tokens, where litellm knows none.")
@click.option("--judge-price", type=PerMillion(), help="Likewise for the judge.")
@click.option("--json", "as_json", is_flag=True, help="Print the responses and verdicts as JSON.")
def try_(**given: Any) -> int:
    """Try a system prompt: responses with TEXT beside those without it, and what the judge thinks of both.

    By default at three RECOVERY triggers of the sample with an embedded stand-in; without TEXT the bare model alone.
    A --conversation is JSON (a list of chat messages, or of turns with user and assistant) or a text in which `User:`
    and `Assistant:` begin a message; it ends with the user, and nobody grades it. Nothing is written to disk.
    """
    asked = _Asked(**given)
    asked.require_one_kind()
    return _list(asked) if asked.listed else _try(asked)


def _list(asked: _Asked) -> int:
    from dspy_proact.cli.saying import say
    from dspy_proact.cli.triggers import Triggers, print_triggers

    triggers = Triggers(_corpus(asked))
    print_triggers(
        triggers.named(asked.triggers) if asked.triggers else triggers.of(asked.phases, few=False), asked.as_json
    )
    say("Next: dspy-proact try TEXT --trigger KEY")
    return 0


def _try(asked: _Asked) -> int:
    from dspy_proact.benchmarks.proactbench import Trial
    from dspy_proact.cli.saying import say
    from dspy_proact.models import Gate, Limits

    # DSPy would log a line for every response cut at the token limit, which is shown beside it.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    assistant, conversation = _assistant(asked), _conversation(asked)
    limits = Limits(asked.max_calls, asked.max_tokens, asked.max_usd)
    gate = Gate(timeout=asked.timeout, retries=asked.retries, limits=limits, backend=asked.backend)
    model, jury = _model(asked, gate), None if conversation else _jury(asked, gate)
    cases = _cases(asked, conversation)
    say(_waiting(cases, assistant, jury))
    tried = Trial(assistant, model, jury, gate).run(cases)
    if tried.begun:
        _show(tried, model, jury, asked)
    if tried.halt:
        say(f"Stopped: {tried.halt}")
    else:
        say(_next(asked, model, jury))
    return tried.exit_status


def _assistant(asked: _Asked) -> "Assistant | None":
    """The assistant on trial; None where only the bare model is asked."""
    from dspy_proact.cli.prompting import assistant_of, text_of

    if asked.text is None:
        return assistant_of(None, asked.program) if asked.program else None
    prompt = text_of(asked.text) or ""
    if not prompt.strip():
        raise UsageError(f"{asked.text or 'TEXT'}: the prompt is empty; leave it out for the bare model")
    if any("\ud800" <= char <= "\udfff" for char in prompt):
        raise UsageError("TEXT: the prompt holds a lone surrogate, or bytes that are not UTF-8; save it in a file")
    return assistant_of(prompt)


def _conversation(asked: _Asked) -> "tuple[Turn, ...] | None":
    """The person's own conversation, if it is about one."""
    from dspy_proact.cli.saying import say
    from dspy_proact.corpus import parse_transcript, read_transcript

    if asked.conversation is None:
        return None
    if asked.judge:
        say("A conversation of your own has no rubric, so that --judge is not asked.")
    if asked.conversation != "-":
        return read_transcript(asked.conversation)
    if sys.stdin.isatty():
        say("Type the conversation, and Ctrl-D on a line of its own to end it.")
    return parse_transcript(sys.stdin.buffer.read(), "standard input")


def _model(asked: _Asked, gate: "Gate") -> "Model":
    from dspy_proact.models import open_model
    from dspy_proact.programs import ASSISTANT

    named = spec(asked.model, asked.model_api_base, asked.model_params, asked.model_price)
    return open_model(named, ASSISTANT, gate)


def _jury(asked: _Asked, gate: "Gate") -> "Jury":
    from dspy_proact.benchmarks.proactbench import open_jury
    from dspy_proact.cli.eval import PAPER_JUDGE

    name = asked.judge or ("embedded" if asked.embedded else PAPER_JUDGE)
    return open_jury(spec(name, asked.judge_api_base, asked.judge_params, asked.judge_price), gate)


def _corpus(asked: _Asked) -> str:
    return asked.corpus or ("sample" if asked.embedded else "proactbench")


def _cases(asked: _Asked, conversation: "Sequence[Turn] | None") -> "list[Case]":
    from dspy_proact.benchmarks.proactbench import conversation_case
    from dspy_proact.cli.triggers import Triggers

    if conversation:
        return [conversation_case(conversation)]
    triggers = Triggers(_corpus(asked))
    return triggers.named(asked.triggers) if asked.triggers else triggers.of(asked.phases or _DEFAULT_PHASES, few=True)


def _waiting(cases: "Sequence[Case]", assistant: "Assistant | None", jury: "Jury | None") -> str:
    from dspy_proact.report.numbers import counted

    count = len(cases) * (2 if assistant else 1)
    graded = " with a verdict on each" if jury else ""
    return f"Asking for {counted(count, 'response')}{graded}."


def _show(tried: "Tried", model: "Model", jury: "Jury | None", asked: _Asked) -> None:
    from rich.console import Console

    from dspy_proact.cli.saying import say
    from dspy_proact.cli.side_by_side import SideBySide
    from dspy_proact.cli.trial_document import Spending, pair_document
    from dspy_proact.report import STAND_IN

    judge = jury.models[0] if jury else None
    spending, embedded = Spending(model, judge), model.embedded or (judge is not None and judge.embedded)
    if asked.as_json:
        if embedded:
            say(STAND_IN)
        click.echo(json.dumps([pair_document(pair, spending) for pair in tried.pairs], indent=2, allow_nan=False))
        return
    click.echo(printable(f"{model.name} judged by {judge.name}" if judge else model.name))
    if embedded:
        click.echo(STAND_IN)
    click.echo()
    view = SideBySide(Console(), "the program" if asked.program else "the prompt")
    for pair in tried.pairs:
        view.show(pair)
    for line in spending.lines(tried.pairs):
        click.echo(printable(line))


def _next(asked: _Asked, model: "Model", jury: "Jury | None") -> str:
    """What to type next: with an assistant a whole evaluation, which is what shows anything; without one a prompt."""
    again = list(_again(asked, model, jury))
    if asked.text is None and asked.program is None:
        return f"Next: {' '.join(['dspy-proact try @FILE', *again])}, with a prompt in FILE"
    shown = "" if asked.conversation else "A few triggers show how it reads and no more. "
    return f"{shown}Next: {' '.join(['dspy-proact eval', *_prompt(asked), *again])}"


def _prompt(asked: _Asked) -> Iterator[str]:
    if asked.program:
        yield f"--program {shlex.quote(str(asked.program))}"
        return
    text = asked.text or ""
    short = len(text) <= _LONGEST_REPEATED and text.isprintable()
    yield f"--system-prompt {shlex.quote(text) if short else '@FILE'}"


def _again(asked: _Asked, model: "Model", jury: "Jury | None") -> Iterator[str]:
    """The flags that decide the same models, without user, password and query of an endpoint."""
    if not asked.embedded:
        yield f"--model {shlex.quote(model.name)}"
    if asked.model_api_base:
        yield f"--model-api-base {shlex.quote(model.endpoint or '')}"
    if asked.judge and jury:
        yield f"--judge {shlex.quote(asked.judge)}"
    if asked.judge_api_base and jury:
        yield f"--judge-api-base {shlex.quote(jury.models[0].endpoint or '')}"
    if asked.corpus:
        yield f"--corpus {shlex.quote(asked.corpus)}"
