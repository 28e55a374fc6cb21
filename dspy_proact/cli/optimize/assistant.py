"""`dspy-proact optimize assistant`: tune the assistant to score on Recovery."""

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.benchmark import BENCHMARK, Chosen, corpus_of
from dspy_proact.cli.options.cases import CORPUS, known_names, strata_options
from dspy_proact.cli.options.kinds import Output, output_options, path_option
from dspy_proact.cli.options.models import (
    EMBEDDED,
    GATE,
    SYSTEM_PROMPT,
    NamedModel,
    model_options,
    recipe_options,
    text_of,
)
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import Typed, say
from dspy_proact.errors import RunError, UsageError

if TYPE_CHECKING:
    from dspy_proact.models import Gate
    from dspy_proact.programs import Recipe


class Margin(click.ParamType):
    """NAME or NAME=MARGIN."""

    name = "METRIC[=MARGIN]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float | None]:
        """The row of the card, and its margin; None for the usual one."""
        name, equals, text = str(value).lower().partition("=")
        if not equals:
            return name, None
        try:
            margin = float(text)
        except ValueError:
            margin = math.nan
        if not 0 <= margin <= 100:
            self.fail(f"{text!r} is not a margin, such as {name}=0.05", param, ctx)
        return name, margin


_STRATA = Section(Heading.CASES, *strata_options("Stratum to tune for; repeatable. Default: the benchmark's."))
_TUNED = Section(
    Heading.RECIPE,
    SYSTEM_PROMPT,
    path_option("--start", "Compiled assistant to start from."),
    click.Option(
        ["--guard", "guards"],
        multiple=True,
        type=Margin(),
        help="Metric that may not get worse than the starting program by more than MARGIN, such as offers, phases, "
        "length or tokens; repeatable.",
    ),
)


@verb(
    "assistant",
    BENCHMARK,
    model_options("--model", "Model to tune for, a litellm name. Default: embedded."),
    model_options(
        "--judge", "Judge whose grades guide the tuning. Default: embedded, for an embedded model; required otherwise."
    ),
    model_options(
        "--report-judge",
        "Another judge, which tests the result. Default: that of --judge, for an embedded model; required otherwise.",
    ),
    model_options("--proposer", "Model that writes prompts. Default: that of --judge."),
    CORPUS,
    _STRATA,
    recipe_options(("bootstrap", "miprov2", "gepa", "search")),
    _TUNED,
    GATE,
    output_options("the compile. Default: compiles/NAME--ID", "the card"),
    first="--model --judge --report-judge --benchmark --corpus --optimizer --trials --guard --max-usd --out "
    "--dry-run --json",
    example="dspy-proact optimize assistant --model openai/gpt-4o \\\n"
    "    --judge openai/gpt-5.4 --report-judge anthropic/claude-opus-4-7 --dry-run",
    brief="Tune the assistant, and show gains and regressions.",
)
def assistant(
    chosen: Chosen,
    model: NamedModel,
    judge: NamedModel,
    report_judge: NamedModel,
    proposer: NamedModel,
    corpus: str | None,
    strata: tuple[str, ...],
    phases: tuple[str, ...],
    recipe: "Recipe",
    system_prompt: str | None,
    start: Path | None,
    guards: tuple[tuple[str, float | None], ...],
    gate: "Gate",
    output: Output,
) -> int:
    """Tune the assistant, and show gains and regressions.

    It is tested on groups of cases, such as scenarios, that it was not tuned on, by a judge that did not tune it.
    Repeat the command to resume.
    """
    from dspy_proact.benchmarks.benchmark import Start
    from dspy_proact.cli.views.compilation import compile_shown
    from dspy_proact.compile.assistant_compile import AssistantCompile

    declared, tested = chosen.declared(), model.spec(EMBEDDED)
    settings = chosen.settings_of_answers(declared)
    judged = declared.judge(settings, Start()) is not None
    if judged and tested.name != EMBEDDED and not (judge.name and report_judge.name):
        raise UsageError(
            "name a judge to tune by, --judge, and another one to report, --report-judge; one name for both is "
            "allowed, and the card warns of it"
        )
    tuning, named = judge.spec(EMBEDDED), corpus_of(declared, corpus, tested.name == EMBEDDED)
    compiling = AssistantCompile(
        named,
        tested,
        tuning,
        report_judge.spec(tuning),
        proposer.spec(tuning if judged else tested),
        benchmark=declared,
        settings=settings,
        recipe=recipe,
        strata=known_names("--stratum", (*strata, *phases), declared.strata),
        margins=dict(guards),
        system_prompt=text_of(system_prompt),
        start=start,
        revision=_recorded_revision(named, output.out) if named == declared.published_corpus else None,
        gate=gate,
    )
    if compiling.same_judge and not output.dry_run:
        say("One model tunes and reports; the card warns of it. Name another one with --report-judge.")
    typed = Typed().beside("--report-judge", "--judge")
    answering, reporting = typed.model("--model", EMBEDDED), typed.model("--report-judge", EMBEDDED, as_flag="--judge")
    use = [
        "eval",
        *typed.options("--benchmark", "--set"),
        *answering,
        *reporting,
        "--corpus",
        named,
        *typed.calls(),
        "--program",
    ]
    return compile_shown(compiling, recipe, output, use)


def _recorded_revision(corpus: str, out: Path | None) -> str | None:
    """The dataset's revision that a compile has recorded, so that resuming does not move on to a newer."""
    from dspy_proact.compile.compile import CLAIM, COMPILES, CompileClaim
    from dspy_proact.kept import Claim

    folders = [out] if out else list(COMPILES.glob("assistant--*"))
    claims = [Claim(folder, CLAIM, CompileClaim, "compile") for folder in folders]
    for claim in sorted((each for each in claims if each.exists), key=lambda each: -each.file.stat().st_mtime):
        with suppress(RunError):  # what cannot be read is no compile to go on with; it is refused later
            if (data := claim.read().data).name == corpus:
                return data.revision
    return None
