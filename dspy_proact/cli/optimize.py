"""`dspy-proact optimize`: compile the judge or the assistant, and show what came of it."""

import math
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.next_step import CALLS, Next, Typed, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import BENCHMARK, CORPUS, ROW_FLAGS, BenchmarkChoice, corpus_of
from dspy_proact.cli.options.labels import FILES, RATINGS, Labels, label_options
from dspy_proact.cli.options.models import (
    EMBEDDED,
    GATE,
    ROLES,
    SYSTEM_PROMPT,
    NamedModel,
    NamedRoles,
    model_options,
    recipe_options,
    text_of,
)
from dspy_proact.cli.options.scope import known_names, limit_option, strata_options
from dspy_proact.cli.options.verb import Heading, Section, first_typed, flags_of, verb
from dspy_proact.cli.views.message import say
from dspy_proact.errors import RunError, UsageError
from dspy_proact.optimizer_names import optimizers_of

if TYPE_CHECKING:
    from dspy_proact.models import Gate
    from dspy_proact.programs.artefact import Artefact
    from dspy_proact.recipe import Recipe


@click.group(short_help="Compile the judge or the assistant.")
def optimize() -> None:
    """Compile the judge or the assistant, and show what a compile changed."""


# The assistant


def margin_of(text: str) -> tuple[str, float | None]:
    """The row of the card of METRIC[=MARGIN], and its margin; None for the usual one."""
    name, equals, number = text.lower().partition("=")
    if not equals:
        return name, None
    try:
        margin = float(number)
    except ValueError:
        margin = math.nan
    if not 0 <= margin <= 100:
        raise click.BadParameter(f"{number!r} is not a margin, such as {name}=0.05")
    return name, margin


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
    ROLES,
    CORPUS,
    Section(
        Heading.CASES,
        limit_option("cases"),
        *strata_options("Stratum to tune for; repeatable. Default: the benchmark's."),
    ),
    recipe_options(optimizers_of("assistant")),
    Section(
        Heading.RECIPE,
        SYSTEM_PROMPT,
        option.path("--start", "Compiled assistant to start from."),
        option.text(
            "--guard",
            "METRIC[=MARGIN]",
            "Metric, such as offers, phases, length or tokens, that may get worse by MARGIN at most; repeatable. "
            "`none` lifts the guards that apply by default.",
            "guards",
            several=True,
            read=margin_of,
        ),
    ),
    GATE,
    option.output("the compile. Default: compiles/NAME--ID", "the card"),
    first="--model --judge --report-judge --benchmark --corpus --optimizer --trials --guard --max-usd --out "
    "--dry-run --json",
    example="dspy-proact optimize assistant --model openai/gpt-4o \\\n"
    "    --judge openai/gpt-5.4 --report-judge anthropic/claude-opus-4-7 --dry-run",
    brief="Tune the assistant, and show gains and regressions.",
)
def assistant(
    chosen: BenchmarkChoice,
    model: NamedModel,
    judge: NamedModel,
    report_judge: NamedModel,
    proposer: NamedModel,
    roles: NamedRoles,
    corpus: str | None,
    limit: int | None,
    strata: tuple[str, ...],
    phases: tuple[str, ...],
    recipe: "Recipe",
    system_prompt: str | None,
    start: Path | None,
    guards: tuple[tuple[str, float | None], ...],
    gate: "Gate",
    output: option.Output,
) -> int:
    """Tune the assistant, and show gains and regressions.

    It is tested on groups of cases, such as scenarios, that it was not tuned on, by a judge that did not tune it.
    Repeat the command to resume.
    """
    from dspy_proact.cli.views.compilation import compile_shown
    from dspy_proact.compile.assistant_target import AssistantTarget
    from dspy_proact.compile.compile import Compile
    from dspy_proact.evaluation.benchmark import Start

    declared, tested = chosen.declared(), model.spec(EMBEDDED)
    settings = chosen.settings(declared)
    judged = declared.judge(settings, Start()) is not None
    if judged and tested.name != EMBEDDED and not (judge.name and report_judge.name):
        raise UsageError(
            "name a judge to tune by, --judge, and another one to report, --report-judge; one name for both is "
            "allowed, and the card warns of it"
        )
    tuning, named = judge.spec(EMBEDDED), corpus_of(declared, corpus, tested.name == EMBEDDED)
    target = AssistantTarget(
        named,
        tested,
        tuning,
        report_judge.spec(tuning),
        proposer.spec(tuning if judged else tested),
        benchmark=declared,
        settings=settings,
        strata=known_names("--stratum", (*strata, *phases), declared.strata),
        margins=dict(guards),
        system_prompt=text_of(system_prompt),
        start=start,
        revision=_recorded_revision(named, output.out) if named == declared.corpus.name else None,
        roles=roles.specs(declared, tested.name == EMBEDDED),
        limit=limit,
    )
    compiling = Compile(target, recipe, gate)
    if compiling.same_judge and not output.dry_run:
        say("One model tunes and reports; the card warns of it. Name another one with --report-judge.")
    typed = Typed().beside("--report-judge", "--judge")
    options = [*typed.options("--benchmark", "--set", *ROW_FLAGS), *typed.model("--model", EMBEDDED)]
    options += typed.model("--report-judge", EMBEDDED, as_flag="--judge") if target.judges else []
    options += ["--corpus", named, *typed.options(*flags_of(ROLES), *CALLS)]
    return compile_shown(compiling, recipe, output, partial(say_next, Next.ASSISTANT_COMPILED, options=options))


def _recorded_revision(corpus: str, out: Path | None) -> str | None:
    """The dataset's revision that a compile has recorded, so that resuming does not move on to a newer."""
    from dspy_proact.compile.compile import CLAIM, COMPILES, CompileClaim
    from dspy_proact.kept import Claim

    folders = [out] if out else list(COMPILES.glob("assistant--*"))
    claims = [Claim(folder, CLAIM, CompileClaim, "compile") for folder in folders]
    for claim in sorted((claim for claim in claims if claim.exists), key=lambda claim: -claim.file.stat().st_mtime):
        with suppress(RunError):  # what cannot be read is no compile to go on with; it is refused later
            if (data := claim.read().data).name == corpus:
                return data.revision
    return None


# The judge


@verb(
    "judge",
    BENCHMARK,
    model_options("--judge", "Judge to tune, a litellm name. Default: embedded."),
    model_options("--proposer", "Model that writes instructions. Default: the judge's."),
    label_options("sample", RATINGS, "Ratings of the sample, of the published study (fetched), or your own."),
    Section(Heading.CASES, limit_option("rated answers")),
    recipe_options(optimizers_of("judge")),
    Section(
        Heading.RECIPE,
        option.path("--start", "Compiled judge to start from."),
        option.number("--votes", click.IntRange(1, 100), "Verdicts on each response.", default=1),
        click.Option(
            ["--guard", "guards"],
            multiple=True,
            type=click.Choice(["cases", "none"], case_sensitive=False),
            help="`cases`: keep each worked case that the start gets right (see `try --judge-cases`). `none`: allow "
            "completion tokens to rise by more than half.",
        ),
    ),
    GATE,
    option.output("the compile. Default: compiles/NAME--ID", "the card"),
    first="--judge --ratings --run --items --benchmark --optimizer --trials --max-usd --out --dry-run --json",
    example="dspy-proact optimize judge --judge openai/gpt-4o \\\n    --ratings ratings.csv --run runs/mine --dry-run",
    files=FILES,
    brief="Tune the judge to agree with people.",
)
def judge(
    chosen: BenchmarkChoice,
    judge: NamedModel,
    proposer: NamedModel,
    labels: Labels,
    limit: int | None,
    recipe: "Recipe",
    start: Path | None,
    votes: int,
    guards: tuple[str, ...],
    gate: "Gate",
    output: option.Output,
) -> int:
    """Tune the judge to agree with people, and test it on items that it was not tuned on.

    By default the embedded stand-in is tuned to the sample's ratings, which only shows how this works. Repeat the
    command to resume: answers in the record are not paid for again.
    """
    from dspy_proact.cli.views.compilation import compile_shown
    from dspy_proact.compile.compile import Compile
    from dspy_proact.compile.judge_target import JudgeTarget

    labels, chosen = labels.under(chosen)
    declared, tuned = chosen.declared(), judge.spec(EMBEDDED)
    settings = chosen.settings(declared, answers=False, run=labels.run)
    from dspy_proact.evaluation.benchmark import has_judge

    if not has_judge(declared):
        raise UsageError(f"{declared.name} is graded without a judge; there is none to tune")
    target = JudgeTarget(
        labels.load(declared, settings),
        tuned,
        proposer.spec(tuned),
        benchmark=declared,
        settings=settings,
        votes=votes,
        start=start,
        guards=guards,
        limit=limit,
    )
    compiling = Compile(target, recipe, gate)
    if "cases" in guards and tuned.name == EMBEDDED:
        say("--guard cases: the embedded stand-in reads no rules, so the cases measure nothing.")
    typed = Typed()
    # Settings that say which ratings are read have no effect in what comes next.
    of_ratings = declared.settings_type.of_ratings
    texts = [text for text in typed.texts.get("--set", ()) if text.partition("=")[0].strip() not in of_ratings]
    kept = [*typed.options("--benchmark", *ROW_FLAGS), *(word for text in texts for word in ("--set", text))]
    following = partial(say_next, settings=kept, options=[*typed.model("--judge", EMBEDDED), *typed.options(*CALLS)])
    if labels.run is not None:
        following = partial(following, Next.JUDGE_COMPILED_ON_RUN, run=labels.run)
        return compile_shown(compiling, recipe, output, following)
    of_rows = first_typed(of=ROW_FLAGS) and len(labels.ratings) == 1  # whose inputs a model can answer
    corpus = labels.ratings[0] if of_rows or labels.ratings == (declared.corpus.name,) else "sample"
    note = "" if tuned.name == EMBEDDED else "Name a model of your own in place of the stand-in."
    return compile_shown(compiling, recipe, output, partial(following, Next.JUDGE_COMPILED, corpus=corpus), note)


# What came of it

_READ = {
    "--as-prompt": ("--no-demos",),
    "--diff": ("--json",),
    "": ("--explain", "--json"),
}
"""Options that each form reads; the card is asked for by none."""
_ABOUT = {
    "--no-demos": "the prompt that --as-prompt prints",
    "--explain": "the card",
    "--json": "the card, or what --diff prints",
}


@verb(
    "show",
    Section(
        Heading.OUTPUT,
        option.flag("--as-prompt", "Print only its system prompt, or one for each of its questions."),
        option.flag("--no-demos", "With --as-prompt: leave out its worked examples."),
        option.flag("--diff", "Print how its prompt differs from the one that the compile began with."),
        option.text("--benchmark", "FILE.py", "Your own benchmark, whose current signatures it is checked against."),
        option.explain(),
        option.as_json("the card, or with --diff both programs,"),
    ),
    first="--as-prompt --no-demos --diff --explain --json --benchmark",
    example="dspy-proact optimize show compiles/mine/assistant.json --as-prompt",
    brief="Print the card of a compiled program, or its prompt.",
)
@click.argument("file", type=click.Path(path_type=Path))
def show(
    file: Path,
    benchmark: str | None,
    as_prompt: bool,
    no_demos: bool,
    diff: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Print the card of a compiled program, by its FILE or the folder of its compile.

    With --diff, how the compile changed the instruction and worked examples of the program that it began with.
    """
    from dspy_proact.cli.views.compilation import print_card, print_diff
    from dspy_proact.evaluation.compiled import require_current
    from dspy_proact.evaluation.registry import benchmark_named
    from dspy_proact.plain_text import printable
    from dspy_proact.programs.artefact import read_artefact

    if diff and as_prompt:
        raise UsageError("--as-prompt prints the prompt and nothing else; leave it out, or leave --diff out")
    form = "--as-prompt" if as_prompt else "--diff" if diff else ""
    if flag := first_typed(but=("--benchmark", form, *_READ[form])):
        raise UsageError(
            f"{flag} is about {_ABOUT[flag]}; {'leave it out' if form else 'name that too, or leave it out'}"
        )
    artefact = read_artefact(file)
    if benchmark and (named := benchmark_named(benchmark).name) != artefact.benchmark:
        raise UsageError(f"--benchmark {named}: {file} was compiled for {artefact.benchmark}; leave it out")
    require_current(artefact, file)
    if diff:
        print_diff(artefact, as_json)
        return
    if not as_prompt:
        print_card(artefact, as_json, explain)
        return
    prompt = _prompt(artefact, no_demos, file)
    terminal = sys.stdout.isatty()
    click.echo(printable(prompt) if terminal else prompt)
    if terminal and printable(prompt) != prompt:
        say("Control characters are escaped on a terminal; a file gets them unchanged.")


def _prompt(artefact: "Artefact", no_demos: bool, file: Path) -> str:
    """The system prompt of a compiled assistant; raises a `UsageError` if there is none."""
    from dspy_proact.cli.views.compilation import lines_of
    from dspy_proact.evaluation.compiled import load_assistant

    if artefact.role == "judge":
        raise UsageError(f"{file}: a compiled judge, which is no system prompt; use it with --judge-program")
    try:
        program = load_assistant(file)
    except UsageError:  # of a person's own file, which a program does not name
        program = None
    if program is None or not hasattr(program, "system_prompt"):
        if no_demos and not artefact.demos:
            raise UsageError("--no-demos: it has no worked examples; leave it out")
        return "\n".join(lines_of(artefact.states, demos=not no_demos))
    prompt = program.instruction if no_demos else program.system_prompt
    if not prompt:
        kept = "says nothing beside its worked examples; leave --no-demos out"
        bare = "says nothing to its model; the compile kept the bare chat"
        raise UsageError(f"{file}: {kept if program.system_prompt else bare}")
    return prompt


for command in (judge, assistant, show):
    optimize.add_command(command)
