"""`dspy-proact eval`: score a model on a corpus."""

import json
import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.errors import Halt

if TYPE_CHECKING:
    from dspy_proact.models import Price

_PAPER_JUDGE = "openai/gpt-5.4"
_HUB = "proactbench"


class Params(click.ParamType):
    """NAME=VALUE, the value read as JSON where it is JSON; `none` leaves the parameter out."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        """The name and the value."""
        name, equals, text = str(value).partition("=")
        if not equals or not name.strip().isidentifier():
            self.fail(f"{value!r} is not NAME=VALUE, such as temperature=0 or top_p=none", param, ctx)
        if text.strip().lower() == "none":
            return name.strip(), None
        try:
            return name.strip(), json.loads(
                text, parse_constant=lambda _: self.fail(f"{text} is no number", param, ctx)
            )
        except ValueError:
            return name.strip(), text


class Positive(click.FloatRange):
    """A finite number above zero."""

    def __init__(self, most: float = 1e9) -> None:
        super().__init__(min=0, max=most, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; `nan` passes every comparison of a range, so it is refused here."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class PerMillion(click.ParamType):
    """IN,OUT: US dollars per million tokens of the prompt and of the answer."""

    name = "IN,OUT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Dollars per token."""
        try:
            prompt, completion = (float(part) / 1e6 for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not IN,OUT, such as 2.5,15", param, ctx)
        if not all(math.isfinite(price) and price >= 0 for price in (prompt, completion)):
            self.fail(f"{value!r} is not a price", param, ctx)
        return prompt, completion


@click.command("eval")
@click.option("--model", help="Model under test, a litellm name. Default: the embedded stand-in.")
@click.option("--judge", help=f"Judge. Default: {_PAPER_JUDGE}, the paper's; the stand-in when the model is embedded.")
@click.option("--model-api-base", metavar="URL", help="Endpoint of the model, such as http://localhost:8000/v1.")
@click.option("--judge-api-base", metavar="URL", help="Endpoint of the judge.")
@click.option("--backend", type=click.Choice(["auto", "litellm"]), default="auto", help="`litellm` forces its client.")
@click.option(
    "--corpus", metavar="sample|proactbench[@REV]|FILE", help="Default: proactbench; the sample when embedded."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run. Default: runs/MODEL--JUDGE--ID.")
@click.option("--limit", type=click.IntRange(1, 10**9), help="The most triggers, spread over scenarios and phases.")
@click.option(
    "--phase",
    "phases",
    multiple=True,
    type=click.Choice(["EMERGENT", "CRITICAL", "RECOVERY"], case_sensitive=False),
    help="Only this phase; may be repeated.",
)
@click.option("--epochs", type=click.IntRange(1, 1000), default=1, show_default=True, help="Answers per trigger.")
@click.option(
    "--concurrency", type=click.IntRange(1, 4096), default=32, show_default=True, help="Requests in flight, both roles."
)
@click.option("--timeout", type=Positive(86400), default=600, show_default=True, help="Seconds for one attempt.")
@click.option("--retries", type=click.IntRange(0, 100), default=5, show_default=True, help="Further attempts a call.")
@click.option("--model-param", "model_params", type=Params(), multiple=True, help="Overrides the preset; repeatable.")
@click.option(
    "--judge-param",
    "judge_params",
    type=Params(),
    multiple=True,
    help="Likewise; response_format=none sends no schema.",
)
@click.option("--retry-unscored", is_flag=True, help="Try again also what failed for its content.")
@click.option("--dry-run", is_flag=True, help="Say what it will take, and make no call.")
@click.option("--max-calls", type=click.IntRange(1), help="The most calls of this command, retries included.")
@click.option("--max-tokens", type=click.IntRange(1), help="The most tokens of this command, prompts and answers.")
@click.option("--max-usd", type=Positive(), help="The most US dollars of this command.")
@click.option("--model-price", type=PerMillion(), help="US dollars per million tokens, where litellm knows none.")
@click.option("--judge-price", type=PerMillion(), help="Likewise for the judge.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def evaluate(
    model: str | None,
    judge: str | None,
    model_api_base: str | None,
    judge_api_base: str | None,
    backend: Any,
    corpus: str | None,
    out: Path | None,
    limit: int | None,
    phases: tuple[str, ...],
    epochs: int,
    concurrency: int,
    timeout: float,
    retries: int,
    model_params: tuple[tuple[str, Any], ...],
    judge_params: tuple[tuple[str, Any], ...],
    retry_unscored: bool,
    dry_run: bool,
    max_calls: int | None,
    max_tokens: int | None,
    max_usd: float | None,
    model_price: tuple[float, float] | None,
    judge_price: tuple[float, float] | None,
    as_json: bool,
) -> int:
    """Score a model on ProactBench: the assistant answers at every trigger, the judge grades by its rubric.

    Every answer and verdict is kept as it comes; the same command again goes on where it stopped and pays for nothing
    twice. With no --model, an embedded stand-in is run on the bundled sample.
    """
    # DSPy would log a line for every response cut at the token limit; the report counts them.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    from dspy_proact.benchmarks import Evaluation
    from dspy_proact.cli.planning import show_plan
    from dspy_proact.cli.progress import Progress
    from dspy_proact.cli.report import show
    from dspy_proact.cli.saying import say
    from dspy_proact.corpus import load_corpus
    from dspy_proact.models import Limits
    from dspy_proact.report import summarize
    from dspy_proact.runs import RunFolder

    model = model or "embedded"
    judge = judge or ("embedded" if model == "embedded" else _PAPER_JUDGE)
    corpus = corpus or ("sample" if model == "embedded" else _HUB)
    loaded = load_corpus(corpus, _recorded_revision(corpus, model, judge, out))
    if loaded.ignored_note:
        say(f"{corpus}: {loaded.ignored_note}")
    evaluation = Evaluation(
        loaded,
        model,
        judge,
        model_api_base=model_api_base,
        judge_api_base=judge_api_base,
        model_params=dict(model_params),
        judge_params=dict(judge_params),
        backend=backend,
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        limits=Limits(max_calls, max_tokens, max_usd),
        model_price=_price(model_price),
        judge_price=_price(judge_price),
    )
    path = out or evaluation.default_folder
    asked: dict[str, Any] = {"limit": limit, "phases": phases, "epochs": epochs, "retry_unscored": retry_unscored}
    if dry_run:
        show_plan(evaluation.plan(path, **asked), evaluation.limits, as_json)
        return 0
    try:
        with Progress() as progress:
            finished = evaluation.run(path, **asked, observer=progress)
    except Halt as halt:
        say(f"{halt}\nWhat is done is kept in {path}. The same command goes on.")
        return halt.exit_status
    show(summarize(RunFolder(path)), as_json)
    if finished.stages == 0:
        say("Nothing was left to do: every result was on disk, and no call was made.")
    say(f"The run is in {path}. Next: dspy-proact report {path} --json")
    return 3 if finished.unscored else 0


def _recorded_revision(corpus: str, model: str, judge: str, out: Path | None) -> str | None:
    """The dataset's revision that a run of these models has recorded, so that resuming does not move on to a newer."""
    from dspy_proact.benchmarks import folder_name
    from dspy_proact.runs import RunFolder

    if corpus != _HUB:
        return None
    paths = [out] if out else sorted(Path("runs").glob(f"{folder_name(model)}--{folder_name(judge)}--*"))
    manifests = [folder.manifest() for folder in map(RunFolder, paths) if folder.exists]
    recorded = [manifest for manifest in manifests if manifest.corpus.name == _HUB]
    return max(recorded, key=lambda manifest: manifest.created).corpus.revision if recorded else None


def _price(per_token: tuple[float, float] | None) -> "Price | None":
    """The price that a person gave."""
    from dspy_proact.models import Price

    return (
        Price(prompt=per_token[0], completion=per_token[1], reason="given on the command line") if per_token else None
    )
