"""`dspy-proact optimize`: compile the judge or the assistant, and show what came of it."""

import json
import math
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.effort import Effortful, with_effort
from dspy_proact.cli.options import PHASES, Params, PerMillion, spec
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.compile import AssistantCompile, JudgeCompile
    from dspy_proact.models import ModelSpec


@click.group()
def optimize() -> None:
    """Compile the judge or the assistant, and see what it bought."""


@optimize.command()
@click.option("--judge", default="embedded", show_default=True, help="Judge to tune, a litellm name.")
@click.option("--judge-api-base", metavar="URL", help="Endpoint of the judge.")
@click.option("--judge-param", "judge_params", type=Params(), multiple=True, help="Overrides the preset; repeatable.")
@click.option("--judge-price", type=PerMillion(), help="US dollars per million tokens, where litellm knows none.")
@click.option("--proposer", help="Model that writes instructions. Default: the judge's.")
@click.option("--proposer-api-base", metavar="URL", help="Endpoint of the proposer.")
@click.option("--proposer-param", "proposer_params", type=Params(), multiple=True, help="Likewise for the proposer.")
@click.option("--proposer-price", type=PerMillion(), help="Likewise for the proposer.")
@click.option("--ratings", default="sample", show_default=True, metavar="sample|proactbench|PATH", help="Labels.")
@click.option("--run", type=click.Path(path_type=Path), help="Run whose responses a file of ratings is of.")
@click.option("--items", type=click.Path(path_type=Path), help="File of the items that a file of ratings is of.")
@click.option(
    "--optimizer",
    type=click.Choice(["labeled", "bootstrap", "miprov2", "gepa", "search"]),
    default="search",
    show_default=True,
)
@click.option("--start", type=click.Path(path_type=Path, dir_okay=False), help="Compiled judge to go on from.")
@click.option("--votes", type=click.IntRange(1, 100), default=1, show_default=True, help="Verdicts on each response.")
@with_effort
def judge(
    judge: str,
    judge_api_base: str | None,
    judge_params: tuple[tuple[str, Any], ...],
    judge_price: tuple[float, float] | None,
    proposer: str | None,
    proposer_api_base: str | None,
    proposer_params: tuple[tuple[str, Any], ...],
    proposer_price: tuple[float, float] | None,
    ratings: str,
    run: Path | None,
    items: Path | None,
    optimizer: Any,
    start: Path | None,
    votes: int,
    effort: Effortful,
) -> int:
    """Tune the judge to agree with people, and test it on labels that it has not seen.

    Every answer is kept; the same command again goes on where it stopped and pays only for what was in flight. By
    default the embedded stand-in is tuned to the sample's author ratings, which shows how this works and nothing else.
    """
    from dspy_proact.cli.cards import print_card, show_compile_plan
    from dspy_proact.cli.labels import load
    from dspy_proact.cli.report import summary_of
    from dspy_proact.compile import Effort, JudgeCompile, Plan

    tuned = spec(judge, judge_api_base, judge_params, judge_price)
    compiling = JudgeCompile(
        load(ratings, summary_of(run) if run else None, items),
        tuned,
        _proposer(proposer, proposer_api_base, proposer_params, proposer_price, tuned),
        plan=Plan(Effort(optimizer, effort.trials, effort.max_demos, effort.seed), effort.folds, votes),
        start=start,
        gate=effort.gate,
    )
    if effort.dry_run:
        show_compile_plan(compiling.estimate(), effort.as_json)
        return 0
    use = f"--judge {shlex.quote(judge)} --judge-program"
    return _finish(compiling, effort, print_card, use, lambda card: card.unread)


class Guards(click.ParamType):
    """NAME or NAME=MARGIN."""

    name = "offers|length|phases[=margin]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """The guard and its margin, the usual one where none is given."""
        from dspy_proact.compile import MARGINS

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


@optimize.command()
@click.option("--model", default="embedded", show_default=True, help="Assistant to tune, a litellm name.")
@click.option("--judge", help="Judge whose grades it is tuned by. Default: embedded, with an embedded model.")
@click.option("--report-judge", help="Another judge, which tests what came of it. Default likewise.")
@click.option("--proposer", help="Model that writes prompts. Default: the tuning judge's.")
@click.option("--system-prompt", metavar="TEXT|@FILE", help="What the assistant is told at the start.")
@click.option("--start", type=click.Path(path_type=Path, dir_okay=False), help="Compiled assistant to go on from.")
@click.option("--corpus", metavar="sample|proactbench[@REV]|FILE", help="Default: proactbench; the sample if embedded.")
@click.option(
    "--phase",
    "phases",
    multiple=True,
    type=click.Choice(PHASES, case_sensitive=False),
    help="Phase to tune for; may be repeated. Default: RECOVERY.",
)
@click.option("--guard", "guards", multiple=True, type=Guards(), help="What must not be paid with; repeatable.")
@click.option("--model-api-base", metavar="URL", help="Endpoint of the model.")
@click.option("--judge-api-base", metavar="URL", help="Endpoint of the tuning judge.")
@click.option("--report-judge-api-base", metavar="URL", help="Endpoint of the reporting judge.")
@click.option("--proposer-api-base", metavar="URL", help="Endpoint of the proposer.")
@click.option("--model-param", "model_params", type=Params(), multiple=True, help="Overrides the preset; repeatable.")
@click.option("--judge-param", "judge_params", type=Params(), multiple=True, help="Likewise for the tuning judge.")
@click.option(
    "--report-judge-param",
    "report_judge_params",
    type=Params(),
    multiple=True,
    help="Likewise for the reporting judge.",
)
@click.option("--model-price", type=PerMillion(), help="US dollars per million tokens, where litellm knows none.")
@click.option("--judge-price", type=PerMillion(), help="Likewise for the tuning judge.")
@click.option("--report-judge-price", type=PerMillion(), help="Likewise for the reporting judge.")
@click.option("--proposer-param", "proposer_params", type=Params(), multiple=True, help="Likewise for the proposer.")
@click.option("--proposer-price", type=PerMillion(), help="Likewise for the proposer.")
@click.option(
    "--optimizer", type=click.Choice(["bootstrap", "miprov2", "gepa", "search"]), default="search", show_default=True
)
@with_effort
def assistant(
    model: str,
    judge: str | None,
    report_judge: str | None,
    proposer: str | None,
    system_prompt: str | None,
    start: Path | None,
    corpus: str | None,
    phases: tuple[str, ...],
    guards: tuple[tuple[Any, float], ...],
    model_params: tuple[tuple[str, Any], ...],
    judge_params: tuple[tuple[str, Any], ...],
    report_judge_params: tuple[tuple[str, Any], ...],
    proposer_params: tuple[tuple[str, Any], ...],
    model_price: tuple[float, float] | None,
    judge_price: tuple[float, float] | None,
    report_judge_price: tuple[float, float] | None,
    proposer_price: tuple[float, float] | None,
    optimizer: Any,
    effort: Effortful,
    **api_bases: str | None,
) -> int:
    """Tune the assistant to score on Recovery, and see what it bought and what it cost.

    Tested on scenarios that it has not seen, by a judge that did not tune it: beside the gain stand the other phases,
    unwanted offers at control turns and the length of responses. The same command again goes on where it stopped.
    """
    from dspy_proact.cli.assistant_cards import print_assistant_card, show_assistant_plan
    from dspy_proact.cli.prompting import text_of
    from dspy_proact.cli.saying import say
    from dspy_proact.compile import AssistantCompile, AssistantPlan, Effort
    from dspy_proact.corpus import load_corpus
    from dspy_proact.types import Phase

    if model != "embedded" and None in {judge, report_judge}:
        raise UsageError(
            "name a judge to tune by, --judge, and another one to report, --report-judge; one name for both is "
            "allowed, and the card warns of it"
        )
    named = corpus or ("sample" if model == "embedded" else "proactbench")
    loaded = load_corpus(named, _recorded_revision(named, effort.out))
    if loaded.ignored_note:
        say(f"{named}: {loaded.ignored_note}")
    tuning = spec(judge or "embedded", api_bases["judge_api_base"], judge_params, judge_price)
    compiling = AssistantCompile(
        loaded,
        spec(model, api_bases["model_api_base"], model_params, model_price),
        tuning,
        spec(report_judge, api_bases["report_judge_api_base"], report_judge_params, report_judge_price)
        if report_judge
        else None,
        _proposer(proposer, api_bases["proposer_api_base"], proposer_params, proposer_price, tuning),
        plan=AssistantPlan(
            Effort(optimizer, effort.trials, effort.max_demos, effort.seed),
            effort.folds,
            tuple(phase for phase in Phase if phase in phases) or (Phase.RECOVERY,),
            dict(guards),
        ),
        system_prompt=text_of(system_prompt),
        start=start,
        gate=effort.gate,
    )
    if effort.dry_run:
        show_assistant_plan(compiling.estimate(), effort.as_json)
        return 0
    if compiling.same_judge:
        say("One model tunes and reports; the card warns of it. Name another one with --report-judge.")
    use = f"--model {shlex.quote(model)} --program"
    return _finish(compiling, effort, print_assistant_card, use, lambda card: card.unscored)


def _proposer(
    name: str | None,
    api_base: str | None,
    params: tuple[tuple[str, Any], ...],
    per_token: tuple[float, float] | None,
    judge: "ModelSpec",
) -> "ModelSpec":
    """Who proposes: the tuning judge's model where none is named, with what is said of it here."""
    if name is None and api_base is not None:
        raise UsageError("--proposer-api-base: name the model that is there with --proposer")
    named = spec(name or judge.name, api_base, params, per_token)
    return named if name else named.beside(judge)


def _recorded_revision(corpus: str, out: Path | None) -> str | None:
    """The dataset's revision that a compile has recorded, so that resuming does not move on to a newer."""
    from dspy_proact.compile.workshop import COMPILES, recorded

    if corpus != "proactbench":
        return None
    known = [
        kept.get("revision") for kept in recorded(out or COMPILES, "assistant") if kept.get("corpus_name") == corpus
    ]
    return next(iter(known), None)


def _finish(
    compiling: "JudgeCompile | AssistantCompile",
    effort: Effortful,
    printed: Callable[[Any], None],
    use: str,
    unscored: Callable[[Any], int],
) -> int:
    """Do a compile and say how it ended; the exit status."""
    from dspy_proact.cli.assistant_cards import draw_front
    from dspy_proact.cli.saying import say
    from dspy_proact.errors import Halt
    from dspy_proact.programs import AssistantArtefact

    folder = effort.out or compiling.default_folder
    try:
        finished = compiling.run(folder, say)
    except Halt as halt:
        say(f"{halt}\nWhat was answered is kept in {folder}. The same command goes on.")
        return halt.exit_status
    if effort.as_json:
        click.echo(json.dumps(finished.artefact.card.model_dump(mode="json"), indent=2, allow_nan=False))
    else:
        printed(finished.artefact)
    if finished.paid == 0:
        say("Nothing was left to do: every answer stood in the record, and no call was made.")
    if isinstance(finished.artefact, AssistantArtefact) and (
        picture := draw_front(finished.path, finished.artefact.card)
    ):
        say(f"The candidates are drawn in {picture}.")
    say(f"The program is in {finished.path}. Next: dspy-proact eval {use} {finished.path}")
    return 3 if unscored(finished.artefact.card) else 0


@optimize.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--as-prompt", is_flag=True, help="Print a system prompt to paste anywhere, and nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def show(file: Path, as_prompt: bool, as_json: bool) -> None:
    """Print the card of a compiled program: what was shown, on which data, with what it was made."""
    from dspy_proact.cli.assistant_cards import print_assistant_card
    from dspy_proact.cli.cards import print_card
    from dspy_proact.cli.saying import say
    from dspy_proact.plain_text import printable
    from dspy_proact.programs import JudgeArtefact, compiled_assistant, read_artefact

    artefact = read_artefact(file)
    if as_prompt:
        if isinstance(artefact, JudgeArtefact):
            raise UsageError(f"{file}: a compiled judge, which is no system prompt; use it with --judge-program")
        prompt = compiled_assistant(artefact).system_prompt
        if not prompt:
            raise UsageError(f"{file}: says nothing to its model; the compile kept the bare chat")
        terminal = sys.stdout.isatty()
        click.echo(printable(prompt) if terminal else prompt)
        if terminal and printable(prompt) != prompt:
            say("Characters that a terminal would obey are shown as escapes; piped into a file they are as they are.")
    elif as_json:
        click.echo(json.dumps(artefact.card.model_dump(mode="json"), indent=2, allow_nan=False))
    elif isinstance(artefact, JudgeArtefact):
        print_card(artefact)
    else:
        print_assistant_card(artefact)
