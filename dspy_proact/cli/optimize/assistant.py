"""`dspy-proact optimize assistant`: tune the assistant to score on Recovery."""

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.benchmarks.tuning import AssistantTuning
from dspy_proact.cli.options.benchmark import BENCHMARK, Chosen, corpus_of
from dspy_proact.cli.options.corpus import CORPUS
from dspy_proact.cli.options.gate import GATE
from dspy_proact.cli.options.kinds import path_option
from dspy_proact.cli.options.model import EMBEDDED, NamedModel, model_options
from dspy_proact.cli.options.output import Output, output_options
from dspy_proact.cli.options.prompt import SYSTEM_PROMPT, text_of
from dspy_proact.cli.options.recipe import recipe_options
from dspy_proact.cli.options.scope import phase_option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.errors import RunError, UsageError

if TYPE_CHECKING:
    from dspy_proact.models import Gate
    from dspy_proact.programs import Recipe


class Margin(click.ParamType):
    """NAME or NAME=MARGIN."""

    name = "offers|length|tokens|phases[=margin]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """The guard and its margin, the usual one where none is given."""
        from dspy_proact.benchmarks.proactbench.compile.assistant.guards import MARGINS

        name, equals, text = str(value).lower().partition("=")
        usual = {str(guard): margin for guard, margin in MARGINS.items()}
        if name not in usual:
            self.fail(f"{name!r} is no guard; they are {', '.join(usual)}", param, ctx)
        if not equals:
            return name, usual[name]
        try:
            margin = float(text)
        except ValueError:
            margin = math.nan
        if not 0 <= margin <= 100:
            self.fail(f"{text!r} is no margin, such as {name}={usual[name]:g}", param, ctx)
        return name, margin


_PHASES = Section(Heading.ASKED, (phase_option("Phase to tune for; may be repeated. Default: RECOVERY."),))
_TUNED = Section(
    Heading.RECIPE,
    (
        SYSTEM_PROMPT,
        path_option("--start", "Compiled assistant to go on from instead."),
        click.Option(
            ["--guard", "guards"],
            multiple=True,
            type=Margin(),
            help="What must not be paid with, against the start; repeatable. Unwanted offers may rise by .05, words of "
            "a response by .20 of what they were, tokens of prompt and response by .50, other phases fall by .05, or "
            "by a MARGIN of yours.",
        ),
    ),
)


@verb(
    "assistant",
    BENCHMARK,
    model_options("--model", "Assistant to tune, a litellm name. Default: embedded."),
    model_options("--judge", "Judge whose grades it is tuned by. Default: embedded, with an embedded model."),
    model_options(
        "--report-judge",
        "Another judge, which tests what came of it. Default: the one of --judge, with an embedded model.",
    ),
    model_options("--proposer", "Model that writes prompts. Default: the tuning judge's."),
    CORPUS,
    _PHASES,
    recipe_options(("bootstrap", "miprov2", "gepa", "search")),
    _TUNED,
    GATE,
    output_options("the compile. Default: compiles/assistant--ID, of PROBE agent--ID", "the card"),
    example="dspy-proact optimize assistant --model openai/gpt-4o \\\n"
    "    --judge openai/gpt-5.4 --report-judge anthropic/claude-opus-4-7 --dry-run",
    brief="Tune the assistant, and see what it bought and what it cost.",
)
def assistant(
    chosen: Chosen,
    model: NamedModel,
    judge: NamedModel,
    report_judge: NamedModel,
    proposer: NamedModel,
    corpus: str | None,
    phases: tuple[str, ...],
    recipe: "Recipe",
    system_prompt: str | None,
    start: Path | None,
    guards: tuple[tuple[Any, float], ...],
    gate: "Gate",
    output: Output,
) -> int:
    """Tune the assistant, of ProactBench to score on Recovery, and see what it bought and what it cost.

    Tested on scenarios that it has not seen, by a judge that did not tune it: beside the gain stand the other phases,
    unwanted offers at control turns and the length of responses. Of PROBE it is tested on people whose tasks it has not
    seen, stage by stage. The same command again goes on where it stopped.
    """
    from dspy_proact.cli.views.compilation import compile_shown
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import Typed

    declared, tested = chosen.declared(), model.spec(EMBEDDED)
    settings = chosen.settings_of_answers(declared)
    if tested.name != EMBEDDED and not (judge.name and report_judge.name):
        raise UsageError(
            "name a judge to tune by, --judge, and another one to report, --report-judge; one name for both is "
            "allowed, and the card warns of it"
        )
    tuning, named = judge.spec(EMBEDDED), corpus_of(declared, corpus, tested.name == EMBEDDED)
    compiling = declared.assistant_compile(
        AssistantTuning(
            model=tested,
            judge=tuning,
            report_judge=report_judge.spec(tuning),
            proposer=proposer.spec(tuning),
            corpus=named,
            revision=_recorded_revision(named, output.out) if named == declared.published_corpus else None,
            settings=settings,
            recipe=recipe,
            start=start,
            gate=gate,
            system_prompt=text_of(system_prompt),
            strata=phases,
            margins=dict(guards),
        )
    )
    if (folds := compiling.recipe.folds) < recipe.folds:
        say(f"{named}: {folds} people make {folds} folds.")
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
    return compile_shown(compiling, output, use)


def _recorded_revision(corpus: str, out: Path | None) -> str | None:
    """The dataset's revision that a compile has recorded, so that resuming does not move on to a newer."""
    from dspy_proact.compile.compile import CLAIM, COMPILES, CompileClaim
    from dspy_proact.kept import Claim

    folders = [out] if out else [*COMPILES.glob("assistant--*"), *COMPILES.glob("agent--*")]
    claims = [Claim(folder, CLAIM, CompileClaim, "compile") for folder in folders]
    for claim in sorted((each for each in claims if each.exists), key=lambda each: -each.file.stat().st_mtime):
        with suppress(RunError):  # what cannot be read is no compile to go on with; it is refused later
            if (data := claim.read().data).name == corpus:
                return data.revision
    return None
