"""`dspy-proact agree`: how far a judge agrees with people, and people among each other."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dspy_proact.cli.next_step import Next, Typed, command_line, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import RUN_BENCHMARK, BenchmarkChoice, judges_of
from dspy_proact.cli.options.labels import FILES, RATINGS, Labels, label_options
from dspy_proact.cli.options.models import JUDGING, LAZY_GATE, NamedModel, model_options
from dspy_proact.cli.options.paths import summary_of
from dspy_proact.cli.options.scope import VERDICTS
from dspy_proact.cli.options.verb import Bundle, Heading, Section, first_typed, flags_of, verb
from dspy_proact.cli.views.message import console, print_json, print_more, say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.models import Gate
    from dspy_proact.report.marked_words import MarkedWords
    from dspy_proact.report.study import Choices, RatingStudy
    from dspy_proact.runs import Scope, Settings

_JUDGE = model_options(
    "--judge",
    "Judge that grades the rated items now, a litellm name; repeat it for a jury. Default: the grades stored with the "
    "items.",
    Heading.JUDGE,
)


def _choices(consensus: Literal["published", "soft"], min_ratings: int, exclude: str | None) -> "Choices":
    from dspy_proact.report.study import Choices

    return Choices(consensus, min_ratings, exclude is not None)


_CHOICES = Bundle(
    "choices",
    _choices,
    Section(
        Heading.COMPARED,
        option.choice(
            "--consensus",
            ("published", "soft"),
            "What people say of an item: its commonest grade, or the share of each grade.",
        ),
        option.number(
            "--min-ratings",
            click.IntRange(1),
            "Compare the judge on items with N ratings or more; alpha keeps all.",
            default=1,
        ),
        click.Option(
            ["--exclude"],
            type=click.Choice(["published"]),
            help="As the paper did, exclude raters with 5 ratings or more whose kappa with the judge is below 0.10; "
            "this flatters the judge.",
        ),
    ),
)
_OF_JUDGE = (*flags_of(_JUDGE, JUDGING, VERDICTS, LAZY_GATE), "--out", "--dry-run")
"""Options that have an effect only where a judge is asked."""


@verb(
    "agree",
    RUN_BENCHMARK,
    _JUDGE,
    JUDGING,
    VERDICTS,
    label_options(
        "published",
        f"published|{RATINGS}",
        "Published ratings (bundled), those of the sample, the whole published study (fetched), or your own.",
    ),
    Section(
        Heading.CASES,
        option.text(
            "--pairs",
            "NAME|PATH",
            "Choices between two answers: the published ones of a benchmark, your own CSV, or a file of `label serve`.",
        ),
    ),
    _CHOICES,
    LAZY_GATE,
    Section(Heading.OUTPUT, option.explain()),
    option.output("the judge's grades. Default: runs/BENCHMARK--MODEL--JUDGE--ID", "the numbers"),
    first="--ratings --run --items --judge --judge-program --benchmark --dry-run --out --explain --json",
    example="dspy-proact agree --ratings ratings.csv --items items.jsonl \\\n    --judge openai/gpt-5.4 --dry-run",
    files=FILES,
    brief="Measure agreement between a judge and people.",
)
def agree(
    chosen: BenchmarkChoice,
    judge: NamedModel,
    judge_prompt: Literal["default", "official"],
    judge_program: Path | None,
    scope: "Scope",
    labels: Labels,
    pairs: str | None,
    choices: "Choices",
    gate: Callable[[], "Gate"],
    explain: bool,
    output: option.Output,
) -> int:
    """Measure agreement between a judge and people, and among people, by stratum and with intervals.

    By default on the published study: 275 ratings of 59 items by 18 people, judged by GPT-5.4. Your own ratings are of
    the cases of --run or the items of --items; `label sheet` writes a file for them. With --judge the items are graded
    now: every verdict is kept, and the same command again goes on where it stopped. --pairs asks
    which of two answers people prefer (--help-all).
    """
    if pairs is not None:
        _show_pairs(pairs, chosen, output.as_json, explain)
        return 0
    labels, chosen = labels.under(chosen)
    declared = chosen.declared(*([labels.run] if labels.run else []))
    settings = chosen.settings(declared, answers=False, run=labels.run)
    if labels.ratings == ("published",) and (labels.run or labels.items):
        flag = "--run" if labels.run else "--items"
        raise UsageError(f"{flag}: name ratings of it with --ratings FILE; `label sheet` writes a file to fill in")
    if name := min({name for name, _ in chosen.values} - declared.settings_type.of_ratings, default=None):
        raise UsageError(
            f"--set {name}: agree reads no setting of {declared.name}; the answers that people graded are shown to "
            "judges alike, whatever is set. Leave it out"
        )
    from dspy_proact.evaluation.benchmark import has_judge

    if not judge.name and has_judge(declared):  # else it grades by itself
        return _compare_stored(declared, settings, choices, labels, output, explain)
    from dspy_proact.cli.views.runs import run_all
    from dspy_proact.evaluation.evaluation import Rejudging
    from dspy_proact.evaluation.responses import Responses
    from dspy_proact.report.marked_words import marked_words
    from dspy_proact.report.study import studies

    ratings = labels.load(declared, settings)
    rejudging = Rejudging(
        Responses.of_ratings(ratings, declared, settings),
        judges_of(declared, judge, embedded=False),
        benchmark=declared,
        judge_prompt=judge_prompt,
        judge_program=judge_program,
        gate=gate(),
    )
    ending = run_all([(rejudging, output.out or rejudging.default_folder)], scope, output)
    if ending is None:
        return 0
    learned_on = rejudging.learned_by_judge()
    for graded in map(summary_of, ending.begun):
        if graded.verdicts:
            results = studies(ratings, choices, benchmark=declared, graded=graded, learned_on=learned_on)
            _show_studies(results, marked_words(graded, labels.marked), output.as_json, explain)
    return ending.close(declared)


def _show_pairs(named: str, chosen: BenchmarkChoice, as_json: bool, explain: bool) -> None:
    from dspy_proact.label.exchange import is_study, pair_study, runs_of
    from dspy_proact.report.pairs import load_pairs, pairs_document, print_pairs

    of_study = is_study(named)
    if flag := first_typed(but=("--pairs", "--json", "--explain", *(["--benchmark"] if of_study else []))):
        raise UsageError(f"{flag}: has no effect with --pairs; leave it out")
    if of_study:
        runs = runs_of(Path(named))
        study = pair_study(Path(named), chosen.known(*runs), list(map(summary_of, runs)))
    else:
        study = load_pairs(named)
    if as_json:
        print_json(pairs_document(study))
        return
    print_pairs(study, console(), explain)
    print_more(explain)


def _show_studies(
    results: "Sequence[RatingStudy]", words: "Sequence[MarkedWords]", as_json: bool, explain: bool
) -> None:
    from dspy_proact.report.marked_words import print_marked_words
    from dspy_proact.report.numbers import document
    from dspy_proact.report.study_text import leading, print_studies, studies_document

    if as_json:
        marked = {"marked_words": document(words)} if words else {}
        print_json(studies_document(results) | marked)
        return
    print_studies(results, console(), explain)
    if explain:
        print_marked_words(words, console())
        return
    differ = any(study.disagreements for study in leading(results))
    besides = ", and where judge and people differ most" if differ else ""
    print_more(besides=besides + (", and the words that raters marked" if words else ""))


def _compare_stored(
    declared: "Benchmark[Any, Any]",
    settings: "Settings",
    choices: "Choices",
    labels: Labels,
    output: option.Output,
    explain: bool,
) -> int:
    if flag := first_typed(_OF_JUDGE):
        raise UsageError(f"{flag}: has no effect without --judge")
    from dspy_proact.report.marked_words import marked_words
    from dspy_proact.report.study import studies

    ratings = labels.load(declared, settings)
    results = studies(ratings, choices, benchmark=declared, graded=labels.summary)
    words = marked_words(labels.summary, labels.marked) if labels.summary else ()
    _show_studies(results, words, output.as_json, explain)
    if output.as_json:
        return 0
    if labels.run is None and labels.items is None and labels.ratings == ("published",):
        say(f"To rate responses of your own: {command_line(Next.TO_BE_RATED)}")
    gradable = all(item.judgeable for item in ratings.rated) and any(study.pooled.enough for study in results)
    if any(study.pooled.compared for study in results) or not gradable:
        say_next(Next.AGREED, options=Typed().options(), more="--json" if explain else "--explain")
    else:
        message = "A judge can grade the items; estimate the cost first, then drop --dry-run to run."
        say_next(Next.GRADABLE, message, options=Typed().options())
    return 0
