"""An audit on the terminal, as JSON, or as a page."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from dspy_proact.audit.audit import Audit
from dspy_proact.audit.check import AuditCheck
from dspy_proact.cli.next_step import Next, say_next
from dspy_proact.cli.options.option import Output
from dspy_proact.cli.views.message import console, print_json, print_more
from dspy_proact.cli.views.pages import write_page
from dspy_proact.evaluation import DEFAULT_BENCHMARK
from dspy_proact.plain_text import printable, shortened
from dspy_proact.report.terminal import show

if TYPE_CHECKING:
    from dspy_proact.audit.testing import CorpusTests

_FIRST = 3
"""Findings of a check that are shown without --explain."""


def audit_shown(
    corpus: str,
    runs: Sequence[Path],
    benchmark: str | None,
    html: Path | None,
    output: Output,
    *,
    explain: bool,
    tests: "CorpusTests | None" = None,
) -> int:
    """Print an audit, or write its page, after its tests by models, if any, and say what to type next; exit status."""
    shown = None
    if tests:
        from dspy_proact.cli.views.generation import print_forecast, run_shown

        if output.dry_run:
            print_forecast(tests, output.as_json)
            return 0
        folder = output.out or tests.default_folder
        generated = run_shown(tests, folder)
        if isinstance(generated, int):
            return generated
        shown = tests.tests(generated.made)
    audit = Audit(corpus, runs, benchmark, shown)
    if html is not None:
        if not write_page(html, [Path(audit.corpus.name), *runs], audit.to_html):
            return 0
    elif output.as_json:
        print_json(audit.document)
        return 0
    else:
        _print(audit, explain)
    named = [] if audit.benchmark.name == DEFAULT_BENCHMARK else ["--benchmark", benchmark or audit.benchmark.name]
    if audit.items and (flagged := [item for item in audit.suspects if item.figures.flags]):
        words = {"case": "--case", "key": flagged[0].key, "epoch": None, "beside": None}
        say_next(Next.CASES_SHOWN, run=runs[0], **words)
    elif audit.runs:
        say_next(Next.PAGE_WRITTEN, run=runs[0])
    else:
        say_next(Next.AUDITED, benchmark=named, corpus=audit.corpus.name)
    return 0


def _print(audit: Audit, explain: bool) -> None:
    show(console(), *audit.headline.lines)
    for state, checks in groupby(audit.checks, key=lambda check: check.state):
        alike = [list(group) for _, group in groupby(checks, key=lambda check: (check.sentence, check.findings))]
        show(console(), "", f"{state}:", *(line for group in alike for line in _lines(group, explain)))
    if not explain and any(len(check.findings) > _FIRST for check in audit.checks):
        print_more()


def _lines(alike: Sequence[AuditCheck], explain: bool) -> Iterator[str]:
    """Names and the sentence of checks that say the same, and what they found, as lines of the terminal's width."""
    width, check = console().width, alike[0]

    def wrapped(text: str, mark: str) -> list[str]:
        after = " " * len(mark)
        return wrap(
            printable(text),
            width,
            initial_indent=mark,
            subsequent_indent=after,
            break_long_words=False,
            break_on_hyphens=False,
        )

    yield from wrapped(f"{', '.join(one.name for one in alike)}: {check.sentence}", "  ")
    shown = check.findings if explain else check.findings[:_FIRST]
    for finding in shown:
        key = f"{shortened(finding.key)}: " if finding.key else ""
        yield from wrapped(f"{key}{finding.problem}", "    - ")
    if more := len(check.findings) - len(shown):
        yield f"      and {more} more"
