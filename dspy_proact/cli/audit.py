"""`dspy-proact audit`: what can be trusted in a corpus, before a score on it is."""

from pathlib import Path

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.benchmark import AUDIT_BENCHMARK, BenchmarkChoice
from dspy_proact.cli.options.verb import Heading, Section, first_typed, verb
from dspy_proact.errors import UsageError


@verb(
    "audit",
    AUDIT_BENCHMARK,
    Section(
        Heading.OUTPUT,
        option.file("--html", "Write a page for a browser; - for standard output."),
        option.explain(),
        option.as_json("the audit"),
    ),
    first="--benchmark --html --explain --json",
    example="dspy-proact audit corpora/mine runs/a runs/b --html audit.html",
    brief="Check what can be trusted in a corpus.",
)
@click.argument("corpus")
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path(path_type=Path))
def audit(
    corpus: str,
    runs: tuple[Path, ...],
    chosen: BenchmarkChoice,
    html: Path | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Check the items of CORPUS: what cannot be read, what repeats, what is missing, and what contradicts itself.

    CORPUS is `sample`, the name of a published corpus, or a file or folder as `eval --corpus` takes it. A check that
    finds something is no error of the command.

    With each RUN on the corpus it shows which items are too hard, too easy, or at odds with the others.
    """
    from dspy_proact.audit.audit import Audit
    from dspy_proact.cli.views.audit import audit_shown

    if html is not None and (flag := first_typed(("--json", "--explain"))):
        raise UsageError(f"--html and {flag} are mutually exclusive")
    chosen.require(*runs)
    audit_shown(Audit(corpus, runs, chosen.benchmark), html, explain=explain, as_json=as_json)
