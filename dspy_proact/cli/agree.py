"""`dspy-proact agree`: how far a judge agrees with people."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.benchmark import BENCHMARK, Chosen, judges_of
from dspy_proact.cli.options.gate import GATE, GATE_IF_ASKED
from dspy_proact.cli.options.judging import JUDGING, Judging
from dspy_proact.cli.options.kinds import choice_option, number_option
from dspy_proact.cli.options.labelling import LABELLING, Labelling
from dspy_proact.cli.options.labels import FILES, Labels, label_options
from dspy_proact.cli.options.model import EMBEDDED, NamedModel, model_options
from dspy_proact.cli.options.output import Output, explain_option, output_options
from dspy_proact.cli.options.scope import VERDICTS
from dspy_proact.cli.options.verb import Bundle, Heading, Section, first_typed, verb
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.corpus import Ratings
    from dspy_proact.benchmarks.proactbench.report import Choices, Study
    from dspy_proact.models import Gate
    from dspy_proact.runs import Scope


@dataclass(frozen=True)
class _Compared:
    """How it is compared."""

    consensus: Any
    min_ratings: int
    exclude: str | None

    @property
    def choices(self) -> "Choices":
        """As the study takes them."""
        from dspy_proact.benchmarks.proactbench.report import Choices

        return Choices(self.consensus, self.min_ratings, self.exclude is not None)


_COMPARED = Section(
    Heading.COMPARED,
    (
        choice_option(
            "--consensus",
            ("published", "soft"),
            "What people say of an item: its commonest grade, or the share of each.",
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
            help="Leave out raters who agree too little with the judge, as was published; that flatters it.",
        ),
    ),
)


_OF_JUDGE = (
    "--judge",
    "--judge-api-base",
    "--judge-param",
    "--judge-price",
    "--judge-program",
    "--judge-prompt",
    "--judge-epochs",
    "--retry-unscored",
    "--out",
    "--dry-run",
    *(option.opts[0] for section in GATE.sections for option in section.options),
)
"""Options that say something of a judge who is asked."""


@verb(
    "agree",
    BENCHMARK,
    model_options(
        "--judge",
        "Judge that grades the rated items now, a litellm name; several are a jury. Default: the known grades.",
        Heading.JUDGE,
    ),
    JUDGING,
    VERDICTS,
    label_options(
        "published",
        "published|sample|proactbench|PATH",
        "Bundled ratings, the bundled sample's, the published study in full (fetched), or your own.",
    ),
    Bundle("compared", (_COMPARED,), _Compared),
    GATE_IF_ASKED,
    Section(Heading.OUTPUT, (explain_option(),)),
    LABELLING,
    output_options("the judge's grades. Default: runs/MODEL--JUDGE--ID", "the numbers"),
    example="dspy-proact agree --ratings ratings.csv --items items.jsonl \\\n    --judge openai/gpt-5.4 --dry-run",
    files=FILES,
    brief="Say how far a judge agrees with people.",
)
def agree(
    chosen: Chosen,
    judge: NamedModel,
    judging: Judging,
    scope: "Scope",
    labels: Labels,
    compared: _Compared,
    gate: Callable[[], "Gate"],
    explain: bool,
    labelling: Labelling,
    output: Output,
) -> int:
    """Say how far the judge agrees with people, and people with each other, by phase and with intervals.

    By default on the published study: 275 ratings of 59 items by 18 people, judged by GPT-5.4. Ratings of your own are
    of the cases of --run or of the items of --items; the judge's grades are those that stand there, or with --judge
    those that it gives now: every verdict is kept as it comes, and the same command again goes on where it stopped.

    Before there are ratings: --plan says how many it takes, and --draw or --template prints the sheet to fill in.

    Of PROBE the judge, by default the stand-in, grades the 48 answers of the sample that its authors graded.
    """
    from dspy_proact.benchmarks.evaluation import Rejudging
    from dspy_proact.benchmarks.proactbench.report import study
    from dspy_proact.cli.views.labelling import print_labelling
    from dspy_proact.cli.views.probe_agreement import show_agreement
    from dspy_proact.cli.views.rejudged_run import rejudged

    declared = chosen.declared(*([labels.run] if labels.run else []))
    settings = chosen.settings(declared)
    if (responses := declared.graded_answers()) is not None:
        if name := min(settings.model_fields_set, default=None):
            raise UsageError(
                f"--set {name}: agree reads no setting of {declared.name}; the answers that people graded are shown to "
                "judges alike, whatever is set. Leave it out"
            )
        judges = judges_of(declared, judge, embedded=not judge.name)
        rejudging = Rejudging(responses, judges, benchmark=declared, judge_program=judging.file, gate=gate())
        ending = rejudged(rejudging, scope, output)
        if ending is None:
            return 0
        for path in ending.begun:
            show_agreement(declared, path, output.as_json, explain, rejudging.learned_by_judge())
        return ending.close()
    if labelling.draw_seed is not None and labelling.draw is None:
        raise UsageError("--draw-seed: is said of --draw; name it too, or leave it out")
    if labelling.flag:
        print_labelling(labelling, labels, output.as_json)
        return 0
    if labels.ratings == "published" and (labels.run or labels.items):
        flag = "--run" if labels.run else "--items"
        raise UsageError(f"{flag}: name the ratings of it with --ratings FILE, or print a sheet for them: --template")
    if judge.name:
        return _graded_now(labels.load(), judge, judging, gate(), scope, compared.choices, output, explain)
    if flag := first_typed(_OF_JUDGE):
        raise UsageError(f"{flag}: without --judge no model is asked; leave it out, or name a --judge")
    found = study(labels.load(), compared.choices, graded=labels.summary)
    _show(found, output.as_json, explain)
    _say_next(found, labels, output)
    return 0


def _graded_now(
    ratings: "Ratings",
    judge: NamedModel,
    judging: Judging,
    gate: "Gate",
    scope: "Scope",
    choices: "Choices",
    output: Output,
    explain: bool,
) -> int:
    """Have the judge grade the items, and compare; the exit status."""
    from dspy_proact.benchmarks.evaluation import Rejudging
    from dspy_proact.benchmarks.proactbench.rated import responses_of_ratings
    from dspy_proact.benchmarks.proactbench.report import study
    from dspy_proact.cli.views.program_notes import say_of_programs
    from dspy_proact.cli.views.rejudged_run import rejudged
    from dspy_proact.cli.views.summary import summary_of

    rejudging = Rejudging(
        responses_of_ratings(ratings),
        judge.specs(EMBEDDED),
        judge_prompt=judging.prompt,
        judge_program=judging.file,
        gate=gate,
    )
    say_of_programs(rejudging)
    ending = rejudged(rejudging, scope, output)
    if ending is None:
        return 0
    for graded in map(summary_of, ending.begun):
        if graded.verdicts:
            learned_on = rejudging.learned_by_judge()
            _show(study(ratings, choices, graded=graded, learned_on=learned_on), output.as_json, explain)
    return ending.close()


def _show(found: "Study", as_json: bool, explain: bool) -> None:
    from rich.console import Console

    from dspy_proact.benchmarks.proactbench.report import print_study, study_document
    from dspy_proact.cli.views.explain import print_more

    if as_json:
        click.echo(json.dumps(study_document(found), indent=2, allow_nan=False))
        return
    print_study(found, Console(soft_wrap=False), explain)
    if not explain:
        print_more(besides=", and where judge and people part" if found.partings else "")


def _say_next(found: "Study", labels: Labels, output: Output) -> None:
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import Typed, say_next

    if output.as_json:
        return
    if labels.run is None and labels.items is None and labels.ratings == "published":
        say("A sheet for raters of your own: --template with --run RUN.")
    if found.pooled.compared:
        say_next("agree", *Typed().options(), "--json")
    else:
        told = "A judge grades the items, and says first what that takes."
        say_next("agree", *Typed().options(), "--judge", "MODEL", "--dry-run", before=told)
