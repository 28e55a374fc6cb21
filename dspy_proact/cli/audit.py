"""`dspy-proact audit`: what can be trusted in a corpus, before a score on it is."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import AUDIT_BENCHMARK, BenchmarkChoice
from dspy_proact.cli.options.models import EMBEDDED, GATE, ROLES, NamedModel, NamedRoles, model_options
from dspy_proact.cli.options.scope import limit_option
from dspy_proact.cli.options.verb import Heading, Section, first_typed, verb
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.models import Gate

_OF_ALL = ("--benchmark", "--html", "--explain", "--json")
"""Options that need no model."""


@verb(
    "audit",
    AUDIT_BENCHMARK,
    model_options("--model", "Model that tests the cases too, in every role without one of its own. Default: none."),
    model_options("--judge", "Judge of these tests. Default: that of --model."),
    ROLES,
    Section(
        Heading.CASES,
        limit_option("cases that a model tests"),
        option.number("--seed", click.IntRange(0, 2**31), "Seed of these tests.", default=0),
        option.choice(
            "--proof",
            ("full", "light", "none"),
            "How much to test: `light` takes one answer in place of three; `none` only audits rubrics or actions.",
        ),
    ),
    GATE,
    option.output("the models' answers. Default: audits/NAME--ID", "the audit, or the forecast,"),
    Section(
        Heading.OUTPUT,
        option.file("--html", "Write a page for a browser; - for standard output."),
        option.explain(),
    ),
    first="--benchmark --model --judge --limit --max-usd --html --out --dry-run --explain --json",
    example="dspy-proact audit corpora/mine runs/a runs/b --html audit.html",
    brief="Check what can be trusted in a corpus.",
)
@click.argument("corpus")
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path(path_type=Path))
def audit(
    corpus: str,
    runs: tuple[Path, ...],
    chosen: BenchmarkChoice,
    model: NamedModel,
    judge: NamedModel,
    roles: NamedRoles,
    limit: int | None,
    seed: int,
    proof: Any,
    gate: "Gate",
    output: option.Output,
    html: Path | None,
    explain: bool,
) -> int:
    """Check the items of CORPUS: what cannot be read, what repeats, what is missing, and what contradicts itself.

    CORPUS is `sample`, the name of a published corpus, or a file or folder as `eval --corpus` takes it. Findings do
    not change the exit status.

    With each RUN on the corpus it shows which items are too hard, too easy, or at odds with the others. With --model
    it tests whether a pass depends on what the user disclosed, or on all of the evidence; repeat it to resume.
    """
    from dspy_proact.cli.views.audit import audit_shown

    if html is not None and (flag := first_typed(("--json", "--explain", "--dry-run"))):
        raise UsageError(f"--html and {flag} are mutually exclusive")
    chosen.require(*runs)
    if not model.name:
        if flag := first_typed(but=_OF_ALL):
            raise UsageError(f"{flag}: has no effect without a model; name one with --model")
        return audit_shown(corpus, runs, chosen.benchmark, html, output, explain=explain)
    from dspy_proact.audit.testing import CorpusTests

    spec, *others = model.specs(EMBEDDED)
    if others:
        raise UsageError("--model: tests of a corpus take one model; name those of roles with --role")
    tests = CorpusTests(
        corpus,
        spec,
        {name: role.spec(spec) for name, role in roles.items()},
        judge.spec(spec) if judge != NamedModel(judge.flag) else None,
        limit=limit,
        seed=seed,
        proof=proof,
        gate=gate,
        benchmark=chosen.benchmark,
    )
    return audit_shown(corpus, runs, chosen.benchmark, html, output, explain=explain, tests=tests)
