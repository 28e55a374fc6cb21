"""`dspy-proact agree` and `label`: how far a judge agrees with people, and what people rate."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dspy_proact.cli.options.benchmark import READ_BENCHMARK, RUN_BENCHMARK, VERDICTS, Chosen, judges_of, summary_of
from dspy_proact.cli.options.kinds import (
    STANDARD_OUTPUT,
    Output,
    Positive,
    choice_option,
    explain_option,
    file_option,
    json_option,
    number_option,
    output_options,
    path_option,
    text_option,
)
from dspy_proact.cli.options.labels import FILES, RATINGS, Labels, default_study, label_options, ratings_of
from dspy_proact.cli.options.models import EMBEDDED, GATE_IF_ASKED, JUDGING, NamedModel, model_options
from dspy_proact.cli.options.verb import Heading, Section, first_typed, flags_of, verb
from dspy_proact.cli.views.message import Typed, console, print_json, print_more, say, say_next
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks.benchmark import Benchmark
    from dspy_proact.models import Gate
    from dspy_proact.report import Summary
    from dspy_proact.report.human_agreement import HumanAgreement
    from dspy_proact.runs import Scope

_JUDGE = model_options(
    "--judge",
    "Judge that grades the rated items now, a litellm name; repeat it for a jury. Default: the grades stored with the "
    "items.",
    Heading.JUDGE,
)
_OF_JUDGE = (*flags_of(_JUDGE, JUDGING, VERDICTS, GATE_IF_ASKED), "--out", "--dry-run")
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
        text_option(
            "--pairs", "NAME|PATH", "Choices between two answers: the published ones of a benchmark, or your own CSV."
        ),
    ),
    Section(
        Heading.COMPARED,
        choice_option(
            "--consensus",
            ("published", "soft"),
            "What people say of an item: its commonest grade, or the share of each grade.",
        ),
        number_option(
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
    GATE_IF_ASKED,
    Section(Heading.OUTPUT, explain_option()),
    output_options("the judge's grades. Default: runs/BENCHMARK--MODEL--JUDGE--ID", "the numbers"),
    first="--ratings --run --items --judge --judge-program --benchmark --dry-run --out --explain --json",
    example="dspy-proact agree --ratings ratings.csv --items items.jsonl \\\n    --judge openai/gpt-5.4 --dry-run",
    files=FILES,
    brief="Measure agreement between a judge and people.",
)
def agree(
    chosen: Chosen,
    judge: NamedModel,
    judge_prompt: Literal["default", "official"],
    judge_program: Path | None,
    scope: "Scope",
    labels: Labels,
    pairs: str | None,
    consensus: str,
    min_ratings: int,
    exclude: str | None,
    gate: Callable[[], "Gate"],
    explain: bool,
    output: Output,
) -> int:
    """Measure agreement between a judge and people, and among people, by stratum and with intervals.

    By default on the published study: 275 ratings of 59 items by 18 people, judged by GPT-5.4. Your own ratings are of
    the cases of --run or the items of --items; `label sheet` writes a file for them. With --judge the items are graded
    now: every verdict is kept, and the same command again goes on where it stopped. --pairs: which of two answers.
    """
    if pairs is not None:
        _show_pairs(pairs, output.as_json, explain)
        return 0
    declared = chosen.declared(*([labels.run] if labels.run else []))
    settings = chosen.settings(declared, answers=False)
    if labels.ratings == ("published",) and (labels.run or labels.items):
        flag = "--run" if labels.run else "--items"
        raise UsageError(f"{flag}: name ratings of it with --ratings FILE; `label sheet` writes a file to fill in")
    own = declared.own_study()
    choices = own and own.Choices(consensus, min_ratings, exclude is not None)
    if own and not judge.name:
        return _compare_stored(own, choices, labels, output, explain)
    from dspy_proact.benchmarks.evaluation import Rejudging
    from dspy_proact.benchmarks.responses import Responses
    from dspy_proact.cli.views.runs import run_all
    from dspy_proact.report.human_agreement import human_agreements

    if own:
        ratings = labels.load(own)
        answers, judges = own.responses(ratings), judge.specs(EMBEDDED)
    else:
        if name := min(settings.model_fields_set - declared.of_ratings, default=None):
            raise UsageError(
                f"--set {name}: agree reads no setting of {declared.name}; the answers that people graded are shown to "
                "judges alike, whatever is set. Leave it out"
            )
        declared, ratings = labels.rated(declared, settings), None
        judges = judges_of(declared, judge, embedded=not judge.name)
        answers = Responses.of_human_grades(declared)
    rejudging = Rejudging(
        answers, judges, benchmark=declared, judge_prompt=judge_prompt, judge_program=judge_program, gate=gate()
    )
    ending = run_all([(rejudging, output.out or rejudging.default_folder)], scope, output)
    if ending is None:
        return 0
    learned_on = rejudging.learned_by_judge()
    for graded in map(summary_of, ending.begun):
        if graded.verdicts and own:
            result = own.study(ratings, choices, graded=graded, learned_on=learned_on)
            _show_study(own, result, output.as_json, explain)
        elif graded.verdicts:
            _show_agreements(human_agreements(declared, graded, learned_on), output.as_json, explain)
    return ending.close(declared)


def _show_pairs(named: str, as_json: bool, explain: bool) -> None:
    from dspy_proact.report.pairs import load_pairs, pairs_document, print_pairs

    if flag := first_typed(but=("--pairs", "--json", "--explain")):
        raise UsageError(f"{flag}: has no effect with --pairs; leave it out")
    study = load_pairs(named)
    if as_json:
        print_json(pairs_document(study))
        return
    print_pairs(study, console(), explain)
    if not explain:
        print_more()


def _show_agreements(agreements: "Sequence[HumanAgreement]", as_json: bool, explain: bool) -> None:
    from dspy_proact.report.human_agreement import human_agreement_document, print_human_agreement

    if as_json:
        print_json({"judges": [human_agreement_document(agreement) for agreement in agreements]})
        return
    for agreement in agreements:
        print_human_agreement(agreement, console(), explain)
    if not explain:
        print_more()


def _show_study(own: Any, result: Any, as_json: bool, explain: bool) -> None:
    if as_json:
        print_json(own.study_document(result))
        return
    own.print_study(result, console(), explain)
    if not explain:
        print_more(besides=", and where judge and people differ most" if result.partings else "")


def _compare_stored(own: Any, choices: Any, labels: Labels, output: Output, explain: bool) -> int:
    """Compare people with the grades that are stored with the items, if any, and say what to type next."""
    if flag := first_typed(_OF_JUDGE):
        raise UsageError(f"{flag}: has no effect without --judge")
    result = own.study(labels.load(own), choices, graded=labels.summary)
    _show_study(own, result, output.as_json, explain)
    if output.as_json:
        return 0
    if labels.run is None and labels.items is None and labels.ratings == ("published",):
        say("To rate responses of your own: dspy-proact label sheet RUN")
    if result.pooled.compared:
        say_next("agree", *Typed().options(), "--json")
    else:
        message = "A judge can grade the items; estimate the cost first, then drop --dry-run to run."
        say_next("agree", *Typed().options(), "--judge", "MODEL", "--dry-run", before=message)
    return 0


# What people rate

_FOLDER = Path("labels")
"""Where a sheet goes that is not named."""
_MOST = 10**9
_MOST_POINTS = 49.0
"""Half of an interval over nearly the whole scale."""


def draw_of(text: str) -> tuple[int, str | None]:
    """The number of responses of N or of a draw, as the column `draw` of a sheet has it, and the draw if it is one."""
    count, _, rest = text.strip().partition("-")
    if not count.isdecimal() or not 1 <= int(count) <= _MOST or not re.fullmatch(r"(\d{1,9}-[0-9a-f]{8})?", rest):
        raise click.BadParameter(f"{text!r} is neither a number of responses nor a draw, such as 60-0-1a2b3c4d")
    return int(count), text.strip() if rest else None


@click.group(short_help="Plan what people rate, and write the sheets.")
def label() -> None:
    """Plan what people rate, and write the sheets that they fill in."""


@verb(
    "sheet",
    Section(
        Heading.CASES,
        path_option("--items", "File of items to be rated, in place of RUN."),
        click.Option(
            ["--draw"], type=draw_of, metavar="N|DRAW", help="Only N responses, balanced across phases and grades."
        ),
    ),
    Section(
        Heading.OUTPUT,
        file_option("--out", "The sheet; - for standard output. Default: a file in the folder labels."),
    ),
    READ_BENCHMARK,
    first="--items --draw --out --benchmark",
    example="dspy-proact label sheet runs/mine --draw 60",
    files=FILES[1:],
    brief="Write a sheet of responses for people to rate.",
)
@click.argument("run", required=False, type=click.Path(path_type=Path))
def sheet(
    run: Path | None,
    items: Path | None,
    draw: tuple[int, str | None] | None,
    out: Path | None,
    chosen: Chosen,
) -> None:
    """Write a CSV with a row for each response of RUN, or of --items, without the judge's grades.

    Each rater fills in annotator and grade in a copy of it. With --draw N it has N responses in random order, so that
    raters may split the rows, and `report --ratings` estimates what people would have given to all. The column draw
    identifies the draw: --draw with that value writes the same sheet again.
    """
    from dspy_proact.stats import FEWEST_RATED

    declared = chosen.known(*([run] if run else []))
    own = declared.own_study()
    if own is None:
        _write_plain_sheet(run, declared, chosen, out)
        return
    if (run is None) == (items is None):
        raise UsageError("label sheet takes what is to be rated: either RUN or --items FILE")
    drawn = enough = None
    if run is None:
        if draw is not None:
            raise UsageError("--draw and --items are mutually exclusive: a draw needs the grades of a RUN")
        assert items is not None, "one of them is given"
        text, name, of = own.rating_template(own.read_rated_items(items)), items.stem, ["--items", items]
    else:
        summary = summary_of(run)
        if summary.manifest is None:
            raise UsageError(f"{run}: a results file has no conversations, which a rater must read; give a run")
        rated = own.items_of(summary)
        if draw:
            count, again = draw
            drawn, rated = own.draw_of(summary, count, int(again.split("-")[1]) if again else 0)
            if again and str(drawn) != again:
                raise UsageError(f"--draw {again}: was drawn from other cases or grades than {run} has")
            enough = _enough(summary, drawn.seed)
        text, of = own.rating_template(rated, draw=drawn), ["--run", run]
        name = run.resolve().name + (f"--{drawn}" if drawn else "")
    file = _written(text, out, f"{name}.csv", *filter(None, (run, items)))
    message = f"Fill in annotator and grade in {file or 'FILE'}, a copy for each rater."
    if drawn and enough and enough <= drawn.count:
        say_next("report", run or "", "--ratings", file or "FILE", before=f"{message} Raters may split the rows.")
        return
    if drawn:
        mend = f"use --draw {enough} or more" if enough else "this run has fewer"
        say(f"A corrected score takes at least {FEWEST_RATED} rated triggers per phase; {mend}.")
    say_next("agree", *of, "--ratings", file or "FILE", before=message)


def _write_plain_sheet(run: Path | None, declared: "Benchmark[Any, Any]", chosen: Chosen, out: Path | None) -> None:
    """Write the sheet of any benchmark; raises `UsageError` for an option that it does not have."""
    from dspy_proact.report.rating_sheet import rating_sheet

    if flag := first_typed(("--items", "--draw")):
        raise UsageError(f"{flag}: {declared.name} has sheets of whole runs only; leave it out")
    if run is None:
        raise UsageError(f"{declared.name} has sheets of runs only; name a RUN")
    file = _written(rating_sheet(declared, summary_of(run)), out, f"{run.resolve().name}.csv", run)
    message = f"Fill in annotator and grade in {file or 'FILE'}, a copy for each rater."
    say_next("agree", *chosen.words, "--run", run, "--ratings", file or "FILE", before=message)


def _enough(summary: "Summary", seed: int) -> int | None:
    """Responses of the smallest draw with enough rated cases in every phase; None where there is none."""
    from dspy_proact.report.corrected import drawn_keys
    from dspy_proact.stats import FEWEST_RATED

    strata, rated = {outcome.key: outcome.stratum for outcome in summary.outcomes}, Counter[str]()
    for count, key in enumerate(drawn_keys(summary, seed), start=1):
        rated[strata[key]] += 1
        if all(rated[stratum] >= FEWEST_RATED for stratum in summary.strata):
            return count
    return None


def _written(text: str, out: Path | None, name: str, *inputs: Path) -> Path | None:
    """Write a sheet, and print where it is; None where it went to standard output.

    Raises:
        UsageError: It cannot be written, or there is a file with other contents, which a rater may have filled in.
    """
    from dspy_proact.kept import refuse_overwrite

    if out == STANDARD_OUTPUT:
        click.echo(text, nl=False)
        return None
    file = out or _FOLDER / name
    refuse_overwrite(file, *inputs)
    data = text.encode()
    try:
        if file.is_file() and file.read_bytes() != data:
            raise UsageError(f"{file}: exists, and may have been filled in; name another file with --out")
        if out is None:
            _FOLDER.mkdir(exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}; name another file with --out") from error
    click.echo(str(file))
    return file


@verb(
    "plan",
    Section(
        Heading.CASES,
        number_option("--width", Positive(_MOST_POINTS), "Half-width of the 95 % interval.", "POINTS", 10),
        text_option("--ratings", RATINGS, "Ratings of RUN, as a pilot study."),
    ),
    Section(Heading.OUTPUT, json_option("the plan")),
    first="--width --ratings --json",
    example="dspy-proact label plan runs/mine --width 8",
    brief="Plan how many people must rate how much.",
)
@click.argument("run", required=False, type=click.Path(path_type=Path))
def plan(run: Path | None, width: float, ratings: str | None, as_json: bool) -> None:
    """Plan how many people must rate how many responses to correct a score to within --width points of 100.

    Responses and grades are those of RUN, or of the published corpus. How much ratings vary is taken from --ratings,
    which must be of RUN, or from the published study.
    """
    if ratings is not None and run is None:
        raise UsageError("--ratings: give the RUN that these ratings are of")
    summary = None if run is None else summary_of(run)
    own = default_study()
    planned = own.labelling_plan(width / 100, summary, ratings_of(ratings, summary) if ratings and summary else None)
    if as_json:
        print_json(own.plan_document(planned))
        return
    own.print_plan(planned, console())
    if planned.best and run:
        say_next("label", "sheet", run, "--draw", str(planned.best.rated))


for command in (plan, sheet):
    label.add_command(command)
