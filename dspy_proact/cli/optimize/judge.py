"""`dspy-proact optimize judge`: tune the judge to agree with people."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.benchmark import BENCHMARK, Chosen
from dspy_proact.cli.options.kinds import Output, number_option, output_options, path_option
from dspy_proact.cli.options.labels import FILES, RATINGS, Labels, label_options
from dspy_proact.cli.options.models import EMBEDDED, GATE, NamedModel, model_options, recipe_options
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import Typed, say

if TYPE_CHECKING:
    from dspy_proact.models import Gate
    from dspy_proact.programs import Recipe

_TUNED = Section(
    Heading.RECIPE,
    path_option("--start", "Compiled judge to start from."),
    number_option("--votes", click.IntRange(1, 100), "Verdicts on each response.", default=1),
    click.Option(
        ["--guard", "guards"],
        multiple=True,
        type=click.Choice(["cases"], case_sensitive=False),
        help="`cases`: keep each worked case that the start gets right (see `try --judge-cases`).",
    ),
)


@verb(
    "judge",
    BENCHMARK,
    model_options("--judge", "Judge to tune, a litellm name. Default: embedded."),
    model_options("--proposer", "Model that writes instructions. Default: the judge's."),
    label_options("sample", RATINGS, "Ratings of the sample, of the published study (fetched), or your own."),
    recipe_options(("labeled", "bootstrap", "miprov2", "gepa", "search")),
    _TUNED,
    GATE,
    output_options("the compile. Default: compiles/NAME--ID", "the card"),
    first="--judge --ratings --run --items --benchmark --optimizer --trials --max-usd --out --dry-run --json",
    example="dspy-proact optimize judge --judge openai/gpt-4o \\\n    --ratings ratings.csv --run runs/mine --dry-run",
    files=FILES,
    brief="Tune the judge to agree with people.",
)
def judge(
    chosen: Chosen,
    judge: NamedModel,
    proposer: NamedModel,
    labels: Labels,
    recipe: "Recipe",
    start: Path | None,
    votes: int,
    guards: tuple[str, ...],
    gate: "Gate",
    output: Output,
) -> int:
    """Tune the judge to agree with people, and test it on items that it was not tuned on.

    By default the embedded stand-in is tuned to the sample's ratings, which only shows how this works. Repeat the
    command to resume: answers in the record are not paid for again.
    """
    from dspy_proact.cli.views.compilation import compile_shown
    from dspy_proact.compile.judge_compile import JudgeCompile

    declared, tuned = chosen.declared(), judge.spec(EMBEDDED)
    own = declared.own_study()
    compiling = JudgeCompile(
        labels.load(own) if own else None,
        tuned,
        proposer.spec(tuned),
        benchmark=declared if own else labels.rated(declared),
        settings=chosen.settings(declared),
        recipe=recipe,
        votes=votes,
        start=start,
        guards=guards,
        gate=gate,
    )
    if guards and tuned.name == EMBEDDED:
        say("--guard cases: the embedded stand-in reads no rules, so that the cases measure nothing of it.")
    typed = Typed()
    named = typed.options("--benchmark", "--set")
    judging = [*typed.model("--judge", EMBEDDED), *typed.calls(), "--judge-program"]
    if labels.run is not None:
        return compile_shown(compiling, recipe, output, ["rejudge", *named, labels.run, *judging])
    corpus = declared.published_corpus if labels.ratings == (declared.published_corpus,) else "sample"
    note = "" if tuned.name == EMBEDDED else "Name a model of your own in place of the stand-in."
    use = ["eval", *named, "--model", EMBEDDED, "--corpus", corpus, *judging]
    return compile_shown(compiling, recipe, output, use, note)
