"""`dspy-proact eval`: score models on a corpus."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options import Params, PerMillion, Settings, spec, with_settings
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench import Evaluation
    from dspy_proact.runs import Manifest

PAPER_JUDGE = "openai/gpt-5.4"
_HUB = "proactbench"


@click.command("eval")
@click.option("--model", "models", multiple=True, help="Model under test, a litellm name; each makes a run.")
@click.option("--model-api-base", metavar="URL", help="Endpoint of the models, such as http://localhost:8000/v1.")
@click.option(
    "--corpus", metavar="sample|proactbench[@REV]|FILE", help="Default: proactbench; the sample when embedded."
)
@click.option("--system-prompt", metavar="TEXT|@FILE", help="What the assistant is told. Default: nothing.")
@click.option(
    "--program",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A compiled assistant, as `optimize assistant` writes it.",
)
@click.option("--epochs", type=click.IntRange(1, 1000), default=1, show_default=True, help="Answers per trigger.")
@click.option("--model-param", "model_params", type=Params(), multiple=True, help="Overrides the preset; repeatable.")
@click.option("--model-price", type=PerMillion(), help="US dollars per million tokens, where litellm knows none.")
@click.option(
    "--min-kappa", type=click.FloatRange(-1, 1), help="Refuse a --judge-program whose card promises less in any phase."
)
@with_settings
def evaluate(
    models: tuple[str, ...],
    model_api_base: str | None,
    corpus: str | None,
    system_prompt: str | None,
    program: Path | None,
    epochs: int,
    model_params: tuple[tuple[str, Any], ...],
    model_price: tuple[float, float] | None,
    min_kappa: float | None,
    settings: Settings,
) -> int:
    """Score a model on ProactBench: the assistant answers at every trigger, the judge grades by its rubric.

    Every answer and verdict is kept as it comes; the same command again goes on where it stopped and pays for nothing
    twice. With no --model, an embedded stand-in is run on the bundled sample. With no --judge, a real model is judged
    by the paper's, openai/gpt-5.4. Several --model make a run each, in folders under --out.
    """
    from dspy_proact.benchmarks.proactbench import Evaluation
    from dspy_proact.cli.executing import execute, show_forecasts
    from dspy_proact.cli.prompting import assistant_of
    from dspy_proact.cli.report import show, summary_of
    from dspy_proact.cli.saying import say
    from dspy_proact.corpus import load_corpus

    if min_kappa is not None:
        _require_kappa(settings.judge_program, min_kappa)
    models, assistant = models or ("embedded",), assistant_of(system_prompt, program)
    if len(set(models)) < len(models):
        raise UsageError("name each --model once; --epochs N has it answer every trigger N times")
    judges = settings.judges or (("embedded",) if set(models) == {"embedded"} else (PAPER_JUDGE,))
    corpus = corpus or ("sample" if set(models) == {"embedded"} else _HUB)
    loaded = load_corpus(corpus, _recorded_revision(corpus, models, judges, settings.out))
    if loaded.ignored_note:
        say(f"{corpus}: {loaded.ignored_note}")
    evaluations = [
        Evaluation(
            loaded,
            spec(model, model_api_base, model_params, model_price),
            assistant=assistant,
            gate=settings.gate,
            **settings.calling(judges),
        )
        for model in models
    ]
    paths = [_path(evaluation, settings.out, alone=len(models) == 1) for evaluation in evaluations]
    pairs = list(zip(evaluations, paths, strict=True))
    if settings.dry_run:
        show_forecasts(pairs, epochs, settings)
        return 0
    ended = execute(pairs, epochs, settings)
    show([summary_of(path) for path in paths[: len(ended.finished)]], settings.as_json, alone=len(models) == 1)
    return ended.close()


def _require_kappa(program: Path | None, least: float) -> None:
    """Raise a `UsageError` where a compiled judge's card does not promise a kappa."""
    from dspy_proact.programs import read_judge

    if program is None:
        raise UsageError("--min-kappa is read from the card of a compiled judge: name one with --judge-program")
    card = read_judge(program).card
    for phase, gain in card.phases.items():
        low = gain.after.low
        if low is None or low < least:
            told = gain.after.reason or "no lower bound" if low is None else f"at least {low:.2f}"
            raise UsageError(
                f"{program}: --min-kappa {least:g} is not met in {phase}: quadratic kappa out of fold, against the "
                f"shares of people's grades in {card.ratings.get('name')!r}, is {told} at 95 %"
            )


def _path(evaluation: "Evaluation", out: Path | None, alone: bool) -> Path:
    """The folder of a run: `--out` itself, or below it when several models make a run each."""
    from dspy_proact.runs import RunFolder

    default = evaluation.default_folder
    if alone:
        return out or default
    if out and RunFolder(out).exists:
        raise UsageError(f"{out}: holds a run; several models make a run each, so name a folder for all of them")
    return (out or default.parent) / default.name


def _recorded_revision(corpus: str, models: tuple[str, ...], judges: tuple[str, ...], out: Path | None) -> str | None:
    """The dataset's revision that a run of these models has recorded, so that resuming does not move on to a newer."""
    from dspy_proact.benchmarks import run_name
    from dspy_proact.errors import RunError
    from dspy_proact.runs import RunFolder

    if corpus != _HUB:
        return None
    paths = [out] if out else []
    for model in models:
        paths += sorted((out or Path("runs")).glob(f"{run_name(model, judges)}--*"))
    recorded: list[Manifest] = []
    for folder in map(RunFolder, paths):
        with suppress(RunError):  # what cannot be read is no run to go on with; if it is asked for, it is refused later
            recorded += [manifest] if (manifest := folder.manifest()).corpus.name == _HUB else []
    return max(recorded, key=lambda manifest: manifest.created).corpus.revision if recorded else None
