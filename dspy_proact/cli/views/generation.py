"""The making of a corpus on the terminal: its forecast and progress, what came of it, and a drafted brief."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from dspy_proact.cli.exit_status import exit_status
from dspy_proact.cli.next_step import CALLS, Next, Typed, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.views.message import console, print_json, say, say_stopped
from dspy_proact.cli.views.progress import ProgressOnStderr
from dspy_proact.cli.views.runs import exceeded, sent_line
from dspy_proact.errors import ContentError, Halt, ProviderDown, ProviderError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.corpus_forecast import CorpusForecast
from dspy_proact.evaluation.forecast import SECONDS
from dspy_proact.generation.draft import Draft, draft_brief
from dspy_proact.generation.generation import Generated, Generation
from dspy_proact.generation.progress import CorpusObserver, CorpusStand
from dspy_proact.kept import refuse_overwrite, write_file
from dspy_proact.models import EMBEDDED, Gate, Limits, ModelSpec
from dspy_proact.plain_text import duration, printable, shortened
from dspy_proact.report.numbers import counted
from dspy_proact.report.terminal import show, table
from dspy_proact.stand_in import stand_in_note

_SECONDS = 30.0
"""Between two lines."""
_FEWEST = 20
"""Calls from which on the time that is left is worth showing."""
_MOST_REASONS = 8
"""That are shown; all stand in the files of the corpus."""


class CorpusShown(ProgressOnStderr, CorpusObserver):
    """Shows calls, items, whose plural noun is `items`, cost and time."""

    def __init__(self, folder: Path, limits: Limits, items: str, kind: str = "corpus"):
        super().__init__("left about")
        self._folder, self._limits, self._items, self._kind = folder, limits, items, kind
        self._last_line = time.monotonic()
        self.last: CorpusStand | None = None

    def started(self, forecast: CorpusForecast, stand: CorpusStand) -> None:
        """Say what it will take."""
        for line in _forecast_text(forecast, self._limits):
            self._say(line)
        self._say(f"The {self._kind} is in {self._folder}; answers that are in it already are not paid for again.")
        self.last = stand
        self._begin(self._items, stand.wanted)

    def changed(self, stand: CorpusStand) -> None:
        """Show how far it is."""
        self.last = stand
        self._move(stand.kept + stand.dropped, _stand_text(stand))
        if not self._bar and time.monotonic() - self._last_line >= _SECONDS:
            self._last_line = time.monotonic()
            self._say(_stand_text(stand))


def _stand_text(stand: CorpusStand) -> str:
    """Items, calls, cost and time left, in a line."""
    parts = [f"{stand.kept:,} of {stand.wanted:,} made", f"{stand.paid:,} of about {stand.calls:,} calls"]
    parts += [f"{counted(stand.failed, 'attempt')} failed"] if stand.failed else []
    parts += [f"USD {stand.usd:.2f}"] if stand.usd else []
    if stand.paid >= _FEWEST and (ahead := stand.calls - stand.paid) > 0:
        parts.append(f"about {duration(ahead * stand.seconds / stand.paid)} left")
    return "; ".join(parts)


def _forecast_text(forecast: CorpusForecast, limits: Limits) -> list[str]:
    """Calls, tokens, price and time, and which limit may stop it."""
    price = "price unknown" if forecast.usd is None else f"USD {forecast.usd:.2f}"
    tokens = forecast.prompt_tokens + forecast.completion_tokens
    low, high = (duration(seconds) for seconds in forecast.seconds)
    return [
        f"About {forecast.calls:,} calls, {forecast.prompt_tokens:,} tokens in and {forecast.completion_tokens:,} out, "
        f"{price}; answers that are asked for again are not counted.",
        f"Time: {low} to {high}, {forecast.concurrency} calls in flight, if a call takes {SECONDS[0]:g} to "
        f"{SECONDS[1]:g} seconds.",
        *exceeded(limits, forecast.calls, tokens, forecast.usd or 0.0),
    ]


def generation_shown(generation: Generation, output: option.Output) -> int:
    """Make a corpus and say what came of it, or only what it will take; the exit status."""
    if output.dry_run:
        print_forecast(generation, output.as_json)
        return 0
    folder = output.out or generation.default_folder
    generated = run_shown(generation, folder)
    if isinstance(generated, int):
        return generated
    _print_made(generation, generated, output.as_json)
    return exit_status(unscored=bool(generated.made.missing))


def run_shown(generation: Generation, folder: Path) -> Generated | int:
    """What came of a corpus, or of tests of one, in a folder; where it was stopped, which is said, the exit status."""
    progress = CorpusShown(folder, generation.gate.limits, generation.making.items, generation.kind)
    try:
        with progress:
            return generation.run(folder, progress)
    except Halt as halt:
        if progress.last:
            say(f"Stopped: {_stand_text(progress.last)}.")
        say_stopped(halt, folder, has_answers=bool(progress.last and progress.last.answered))
        return exit_status(halt)


def _note(generation: Generation) -> str:
    """What is said where the stand-in takes part; else empty."""
    return stand_in_note((role, model.name) for role, models in generation.models.items() for model in models)


def print_forecast(generation: Generation, as_json: bool) -> None:
    """Print what it will take, stage by stage."""
    forecast, making, note = generation.forecast(), generation.making, _note(generation)
    if as_json:
        stages = [
            {
                "stage": cost.stage,
                "role": cost.role,
                "models": [model.name for model in generation.models[cost.role]],
                "calls": round(cost.calls, 1),
                "prompt_tokens": cost.prompt_tokens,
                "completion_tokens": cost.completion_tokens,
                "usd": cost.usd,
            }
            for cost in forecast.stages
        ]
        totals = ("calls", "prompt_tokens", "completion_tokens", "usd")
        document: dict[str, Any] = {name: getattr(forecast, name) for name in totals}
        document |= {"seconds": list(forecast.seconds), "concurrency": forecast.concurrency}
        print_json({"stages": stages, "items": generation.items, **document, "stand_in": note or None})
        return
    rows = [
        [
            cost.stage,
            cost.role,
            f"{cost.calls:,.0f}",
            f"{cost.prompt_tokens:,}",
            f"{cost.completion_tokens:,}",
            "-" if cost.usd is None else f"{cost.usd:.2f}",
        ]
        for cost in forecast.stages
    ]
    usd = "-" if forecast.usd is None else f"{forecast.usd:.2f}"
    total = ["total", "", f"{forecast.calls:,}", f"{forecast.prompt_tokens:,}", f"{forecast.completion_tokens:,}", usd]
    heads = ("stage", "role", "calls", "tokens in", "tokens out", "USD")
    show(
        console(),
        f"{counted(generation.items, making.item, making.items)}, proof {generation.proof}:",
        table(heads, rows, [total], fold=False),
        *_forecast_text(forecast, generation.gate.limits),
        *_sent(generation),
        *([f"{note}."] if note else []),
        "Dry run: no calls were made.",
    )


def _sent(generation: Generation) -> list[str]:
    """Which parameters models are sent, a line for each that is called in several roles."""
    lines = dict[str, list[str]]()
    for role, models in generation.models.items():
        for model in models:
            if not model.embedded:
                lines.setdefault(sent_line(model.name, model), []).append(role)
    return [f"{', '.join(roles)}: {line}" for line, roles in lines.items()]


def _print_made(generation: Generation, generated: Generated, as_json: bool) -> None:
    made, headline, note = generated.made, generation.maker.headline(generated.made), _note(generation)
    reasons = Counter((attempt.stage, shortened(" ".join(attempt.reasons))) for attempt in made.dropped)
    files = sorted(
        f"{path.name}/" if path.is_dir() else path.name for path in generated.path.iterdir() if path.name != "lock"
    )
    if as_json:
        print_json(
            {
                "headline": headline.text,
                "claim": headline.claim,
                "out": str(generated.path),
                "wanted": made.wanted,
                "made": len(made.kept),
                "failed_attempts": [
                    {"slot": attempt.slot, "attempt": attempt.attempt, "stage": attempt.stage}
                    | {"reasons": list(attempt.reasons)}
                    for attempt in made.dropped
                ],
                "calls": generated.paid,
                "models": {role: [model.name for model in models] for role, models in generation.models.items()},
                "files": files,
                "stand_in": note or None,
            }
        )
    else:
        lines = list(headline.lines)
        if made.dropped:
            lines.append(f"{counted(len(made.dropped), 'attempt')} failed:")
            lines += [
                f"  {count} at {stage}: {reason}" for (stage, reason), count in reasons.most_common(_MOST_REASONS)
            ]
            lines += [f"  and {more} further reasons" for more in [len(reasons) - _MOST_REASONS] if more > 0]
        show(console(), *lines)
    if generated.paid == 0:
        say("Nothing to do: every answer is in the record; no calls were made.")
    say(f"In {generated.path}: {', '.join(files)}.")
    if made.missing and not generation.logs:
        flag = next((flag for flag in ("--dialogues", "--people") if flag == f"--{generation.making.items}"), "--items")
        say(f"For those that are missing: repeat with more {flag}, or with a wider brief in another folder.")
    page = next((name for name in files if name.endswith(".html")), None)
    look = f"Look at {generated.path / page} first. " if page else ""
    typed = Typed()
    named = typed.options("--benchmark")
    if generation.logs and not headline.count:
        more = "another finder (--role finder=MODEL), more conversations or another seed may show a need"
        say(f"{look}There is nothing to evaluate; {more}.")
        texts = {flag: texts for flag, texts in typed.texts.items() if flag not in ("--out", "--json", "--seed")}
        say_next(Next.LOGS_WITHOUT_NEED, options=Typed(texts).options(), seed=str(generation.seed + 1))
        return
    if not made.kept:
        return
    if generation.logs:
        judge = typed.beside("--judge", "--model").model("--judge", EMBEDDED)
        step, options = Next.LOGS_READ, [*judge, *typed.options(*CALLS)]
    else:
        models = [*typed.model("--model", EMBEDDED), *typed.model("--judge")]
        step, options = Next.CORPUS_MADE, [*models, *typed.options(*CALLS)]
    say_next(step, look.strip(), benchmark=named, options=options, corpus=generated.path)


# A brief


def draft_shown(declared: Benchmark[Any, Any], model: ModelSpec, page: Path, gate: Gate, out: Path | None) -> int:
    """Draft a brief and write it to a file that does not exist yet, or to standard output; the exit status."""
    if out is not None and out != option.STANDARD_OUTPUT:
        if out.exists():
            raise UsageError(f"--out {out}: exists already; name another file, or delete it first")
        refuse_overwrite(out, page)
    try:
        draft: Draft = draft_brief(declared, page, model, gate)
    except ProviderError as error:
        raise ProviderDown(str(error)) from error
    except ContentError as error:
        raise UsageError(f"{model.name}: no brief can be made of its answer ({error}); name another model") from error
    for note in draft.notes:
        say(note)
    if model.name == EMBEDDED:
        say("The embedded stand-in copies sentences of the page; name a model with --model for a draft worth editing.")
    if out is None or out == option.STANDARD_OUTPUT:
        click.echo(printable(draft.text) if console().is_terminal else draft.text, nl=False)
        return 0
    write_file(out, draft.text)
    typed = Typed()
    options = [*typed.options("--benchmark"), *typed.model("--model", "MODEL"), *typed.options(*CALLS)]
    say_next(Next.BRIEF_DRAFTED, f"Read and edit {out}.", file=out, options=options)
    return 0
