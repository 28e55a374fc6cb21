"""`dspy-proact generate`: a corpus of one's own from a brief, and a brief from a product's page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import MAKING_BENCHMARK, BenchmarkChoice
from dspy_proact.cli.options.models import EMBEDDED, GATE, ROLES, NamedModel, NamedRoles, model_options
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.publish import publish
from dspy_proact.cli.views.message import say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.models import Gate, ModelSpec

_NUMBER = click.IntRange(1, 100_000)


@verb(
    "brief",
    MAKING_BENCHMARK,
    model_options("--model", "Model that drafts it, a litellm name. Default: embedded."),
    Section(Heading.CASES, option.path("--about", "Page about the product: text or Markdown.")),
    GATE,
    Section(Heading.OUTPUT, option.file("--out", "File of the brief. Default: standard output.")),
    first="--about --model --benchmark --max-usd --out",
    example="dspy-proact generate brief --about product.md \\\n    --model openai/gpt-5.4 --out brief.toml",
    brief="Draft a brief from a page about a product.",
)
def brief(chosen: BenchmarkChoice, model: NamedModel, about: Path | None, gate: "Gate", out: Path | None) -> int:
    """Draft a brief from a page about a product: its rules, who comes, what may be planted and what never offered.

    Read it and edit it: a corpus is only as right as its brief.
    """
    from dspy_proact.cli.views.generation import draft_shown

    if about is None:
        raise UsageError("--about: name the page about your product, a text or Markdown file")
    return draft_shown(chosen.known(), model.spec(EMBEDDED), about, gate, out)


@verb(
    "generate",
    MAKING_BENCHMARK,
    model_options("--model", "Model of every role without one of its own; several take turns. Default: embedded."),
    model_options("--judge", "Judge of the proof. Default: that of --model."),
    ROLES,
    Section(
        Heading.CASES,
        option.path("--brief", "Brief in TOML. Default: a bundled one."),
        option.path("--logs", "Logs of your assistant, or `sample`."),
        option.number("--items", _NUMBER, "How many to make. Default: 20, fewer if embedded."),
        option.number("--dialogues", _NUMBER, "The same as --items, for benchmarks that make dialogues."),
        option.number("--people", _NUMBER, "The same as --items, for benchmarks that make people."),
        option.text("--language", "NAME", "Language of what is made, in place of the brief's."),
        option.text(
            "--set",
            "SECTION.NAME=VALUE",
            "Field of the brief, in place of its own; repeatable.",
            "settings",
            several=True,
            read=option.name_value,
        ),
        option.number("--seed", click.IntRange(0, 2**31), "Seed of personas and requests.", default=0),
        option.choice(
            "--proof",
            ("full", "light", "none"),
            "Test that each item measures something: `light` with one sample each; `none` makes drafts.",
        ),
    ),
    GATE,
    option.output("the corpus. Default: corpora/NAME--ID", "the forecast, or what was made,"),
    first="--benchmark --brief --logs --model --role --judge --items --set --proof --max-usd --out --dry-run",
    example="dspy-proact generate --brief brief.toml --model openai/gpt-5.4 \\\n"
    "    --role assistant=openai/gpt-4o --dry-run",
    brief="Make a corpus of your own, with proof.",
    further=(brief, publish),
)
def generate(
    chosen: BenchmarkChoice,
    model: NamedModel,
    judge: NamedModel,
    roles: NamedRoles,
    brief: Path | None,
    logs: Path | None,
    items: int | None,
    dialogues: int | None,
    people: int | None,
    language: str | None,
    settings: tuple[tuple[str, str], ...],
    seed: int,
    proof: Any,
    gate: "Gate",
    output: option.Output,
) -> int:
    """Make a corpus from a brief or logs, and prove that it measures something.

    Repeat the command to resume, or with more --items to go on. Without a brief and a model the embedded stand-in
    shows how it works; it measures nothing. `generate brief` drafts a brief.
    """
    from dspy_proact.cli.views.generation import generation_shown
    from dspy_proact.files.toml import toml_value
    from dspy_proact.generation.generation import Generation

    declared, models = chosen.known(), model.specs(EMBEDDED)
    if len({name for name, _ in settings}) < len(settings):
        raise UsageError("--set: names a field twice; give each once")
    if brief is None and logs is None and not all(spec.name == EMBEDDED for spec in models):
        say("No --brief is named; the bundled one is used.")
    generation = Generation(
        brief,
        models,
        {name: _spec(role, models) for name, role in roles.items()},
        _spec(judge, models) if judge != NamedModel(judge.flag) else None,
        items=_items(declared, {"--items": items, "--dialogues": dialogues, "--people": people}, of_logs=bool(logs)),
        seed=seed,
        proof=proof,
        language=language,
        settings={name: toml_value(value) for name, value in settings},
        gate=gate,
        benchmark=declared,
        logs=logs,
    )
    return generation_shown(generation, output)


def _items(declared: "Benchmark[Any, Any]", numbers: Mapping[str, int | None], of_logs: bool) -> int | None:
    """How many are to be made, by whatever option says so; None where none does."""
    named = {flag: number for flag, number in numbers.items() if number}
    if of_logs and (wrong := next((flag for flag in named if flag != "--items"), None)):
        raise UsageError(f"{wrong}: with --logs use --items, the most conversations to read")
    making = declared.corpus.making and declared.corpus.making()
    if making and (wrong := next((flag for flag in named if flag not in ("--items", f"--{making.items}")), None)):
        noun = wrong.removeprefix("--")
        raise UsageError(f"{wrong}: {declared.name} makes no {noun}; use --items, the number of its {making.items}")
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are the same; give one")
    return next(iter(named.values()), None)


def _spec(named: NamedModel, models: "Sequence[ModelSpec]") -> "ModelSpec":
    """A role's own model; where only something is said of it, that beside the one of `--model`."""
    if not named.name and len(models) > 1:
        raise UsageError(f"{named.flag}: name its model, since --model names {len(models)}")
    return named.spec(models[0])
