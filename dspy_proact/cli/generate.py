"""`dspy-proact generate`: a corpus of one's own from a brief, and a brief from a product's page."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import MAKING_BENCHMARK, BenchmarkChoice
from dspy_proact.cli.options.models import EMBEDDED, GATE, ROLES, NamedModel, NamedRoles, model_options
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.models import Gate, ModelSpec

_ITEMS, _ITEMS_OF_STAND_IN = 20, 6


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
        option.path("--brief", "Brief in TOML, as `generate brief` drafts it. Default: a bundled one."),
        option.number(
            "--dialogues",
            click.IntRange(1, 100_000),
            f"Dialogues to make. Default: {_ITEMS}; {_ITEMS_OF_STAND_IN} if embedded.",
        ),
        option.text("--language", "NAME", "Language of the dialogues, in place of the brief's."),
        option.number("--seed", click.IntRange(0, 2**31), "Seed of personas and requests.", default=0),
        option.choice(
            "--proof",
            ("full", "light", "none"),
            "Test that a pass depends on the planted facts: `light` with one sample each; `none` makes drafts.",
        ),
    ),
    GATE,
    option.output("the corpus. Default: corpora/NAME--ID", "the forecast, or what was made,"),
    first="--brief --model --role --judge --dialogues --language --proof --max-usd --out --dry-run --json",
    example="dspy-proact generate --brief brief.toml --model openai/gpt-5.4 \\\n"
    "    --role assistant=openai/gpt-4o --dry-run",
    brief="Make a corpus of your own, with proof.",
    further=(brief,),
)
def generate(
    chosen: BenchmarkChoice,
    model: NamedModel,
    judge: NamedModel,
    roles: NamedRoles,
    brief: Path | None,
    dialogues: int | None,
    language: str | None,
    seed: int,
    proof: Any,
    gate: "Gate",
    output: option.Output,
) -> int:
    """Make a corpus from a brief, and prove that it measures something.

    Repeat the command to resume, or with more --dialogues to go on. Without a brief and a model the embedded stand-in
    shows how it works; it measures nothing. `generate brief` drafts a brief.
    """
    from dspy_proact.cli.views.generation import generation_shown
    from dspy_proact.generation.generation import Generation

    models = model.specs(EMBEDDED)
    embedded = all(spec.name == EMBEDDED for spec in models)
    named = {name: _spec(role, models) for name, role in roles.items()}
    if embedded and all(spec.name == EMBEDDED for spec in named.values()) and (brief is not None or language):
        flag = "--language" if brief is None else "--brief"
        raise UsageError(f"{flag}: the stand-in writes from its bundled brief alone; name a model with --model")
    if brief is None and not embedded:
        say("No --brief is named; the bundled one is used, of an invented lending library.")
    generation = Generation(
        brief,
        models,
        named,
        _spec(judge, models) if judge != NamedModel(judge.flag) else None,
        dialogues=dialogues or (_ITEMS_OF_STAND_IN if embedded else _ITEMS),
        seed=seed,
        proof=proof,
        language=language,
        gate=gate,
        benchmark=chosen.known(),
    )
    return generation_shown(generation, output)


def _spec(named: NamedModel, models: "Sequence[ModelSpec]") -> "ModelSpec":
    """A role's own model; where only something is said of it, that beside the one of `--model`."""
    if not named.name and len(models) > 1:
        raise UsageError(f"{named.flag}: name its model, since --model names {len(models)}")
    return named.spec(models[0])
