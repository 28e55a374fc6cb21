"""`dspy-proact optimize`: compile a program against people's labels, and show what came of it."""

import json
from pathlib import Path
from typing import Any

import click

from dspy_proact.cli.options import Params, PerMillion, Positive, price


@click.group()
def optimize() -> None:
    """Compile a program against labels, and see what it bought."""


@optimize.command()
@click.option("--judge", default="embedded", show_default=True, help="Judge to tune, a litellm name.")
@click.option("--judge-api-base", metavar="URL", help="Endpoint of the judge.")
@click.option("--judge-param", "judge_params", type=Params(), multiple=True, help="Overrides the preset; repeatable.")
@click.option("--judge-price", type=PerMillion(), help="US dollars per million tokens, where litellm knows none.")
@click.option("--proposer", help="Model that writes instructions. Default: the judge's.")
@click.option("--proposer-api-base", metavar="URL", help="Endpoint of the proposer.")
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
@click.option("--trials", type=click.IntRange(1, 10000), default=20, show_default=True, help="Candidates to try.")
@click.option("--max-demos", type=click.IntRange(0, 64), default=4, show_default=True, help="Worked examples at most.")
@click.option("--votes", type=click.IntRange(1, 100), default=1, show_default=True, help="Verdicts on each response.")
@click.option("--folds", type=click.IntRange(2, 100), default=5, show_default=True, help="Folds of whole personas.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
@click.option("--backend", type=click.Choice(["auto", "litellm"]), default="auto", help="`litellm` forces its client.")
@click.option("--timeout", type=Positive(86400), default=600, show_default=True, help="Seconds for one attempt.")
@click.option("--retries", type=click.IntRange(0, 100), default=5, show_default=True, help="Further attempts a call.")
@click.option("--max-calls", type=click.IntRange(1), help="The most calls of this command, retries included.")
@click.option("--max-tokens", type=click.IntRange(1), help="The most tokens of this command, prompts and answers.")
@click.option("--max-usd", type=Positive(), help="The most US dollars of this command.")
@click.option("--dry-run", is_flag=True, help="Say what it will take, and make no call.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the compile. Default: compiles/judge--ID.")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def judge(
    judge: str,
    judge_api_base: str | None,
    judge_params: tuple[tuple[str, Any], ...],
    judge_price: tuple[float, float] | None,
    proposer: str | None,
    proposer_api_base: str | None,
    proposer_price: tuple[float, float] | None,
    ratings: str,
    run: Path | None,
    items: Path | None,
    optimizer: Any,
    start: Path | None,
    trials: int,
    max_demos: int,
    votes: int,
    folds: int,
    seed: int,
    backend: Any,
    timeout: float,
    retries: int,
    max_calls: int | None,
    max_tokens: int | None,
    max_usd: float | None,
    dry_run: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    """Tune the judge to agree with people, and test it on labels that it has not seen.

    Every answer is kept; the same command again goes on where it stopped and pays only for what was in flight. By
    default the embedded stand-in is tuned to the sample's author ratings, which shows how this works and nothing else.
    """
    from dspy_proact.cli.cards import print_card, show_compile_plan
    from dspy_proact.cli.labels import load
    from dspy_proact.cli.report import summary_of
    from dspy_proact.cli.saying import say
    from dspy_proact.compile import Effort, JudgeCompile, Plan
    from dspy_proact.errors import Halt
    from dspy_proact.models import Limits

    compiling = JudgeCompile(
        load(ratings, summary_of(run) if run else None, items),
        judge,
        proposer,
        plan=Plan(Effort(optimizer, trials, max_demos, seed), folds, votes),
        start=start,
        judge_api_base=judge_api_base,
        proposer_api_base=proposer_api_base,
        judge_params=dict(judge_params),
        backend=backend,
        timeout=timeout,
        retries=retries,
        limits=Limits(max_calls, max_tokens, max_usd),
        judge_price=price(judge_price),
        proposer_price=price(proposer_price),
    )
    folder = out or compiling.default_folder
    if dry_run:
        show_compile_plan(compiling.estimate(), as_json)
        return 0
    try:
        finished = compiling.run(folder, say)
    except Halt as halt:
        say(f"{halt}\nWhat was answered is kept in {folder}. The same command goes on.")
        return halt.exit_status
    if as_json:
        click.echo(json.dumps(finished.artefact.card.model_dump(mode="json"), indent=2, allow_nan=False))
    else:
        print_card(finished.artefact)
    if finished.paid == 0:
        say("Nothing was left to do: every answer stood in the record, and no call was made.")
    say(f"The program is in {finished.path}. Next: dspy-proact eval --judge-program {finished.path}")
    return 0


@optimize.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def show(file: Path, as_json: bool) -> None:
    """Print the card of a compiled program: what was shown, on which labels, with what it was made."""
    from dspy_proact.cli.cards import print_card
    from dspy_proact.programs import read_artefact

    artefact = read_artefact(file)
    if as_json:
        click.echo(json.dumps(artefact.card.model_dump(mode="json"), indent=2, allow_nan=False))
        return
    print_card(artefact)
