"""An audit on the terminal, as JSON, or as a page."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from dspy_proact.audit.audit import Audit
from dspy_proact.audit.check import AuditCheck
from dspy_proact.cli.next_step import Next, say_next
from dspy_proact.cli.report import write_page
from dspy_proact.cli.views.message import console, print_json, print_more
from dspy_proact.evaluation import DEFAULT_BENCHMARK
from dspy_proact.plain_text import printable, shortened
from dspy_proact.report.terminal import show

_FIRST = 3
"""Findings of a check that are shown without --explain."""


def audit_shown(audit: Audit, html: Path | None, *, explain: bool, as_json: bool) -> None:
    """Print an audit, or write its page, and say what to type next."""
    if html is not None:
        if not write_page(html, [Path(audit.corpus.name), *(Path(run.path) for run in audit.runs)], audit.to_html):
            return
    elif as_json:
        print_json(audit.document)
        return
    else:
        show(console(), *audit.headline.lines)
        for state, checks in groupby(audit.checks, key=lambda check: check.state):
            show(console(), "", f"{state}:", *(line for check in checks for line in _lines(check, explain)))
        if not explain and any(len(check.findings) > _FIRST for check in audit.checks):
            print_more()
    name = audit.benchmark.name
    benchmark = [] if name == DEFAULT_BENCHMARK else ["--benchmark", name]
    if audit.items and (flagged := [item for item in audit.suspects if item.figures.flags]):
        words = {"case": "--case", "key": flagged[0].key, "epoch": None, "beside": None}
        say_next(Next.CASES_SHOWN, run=audit.runs[0].path, **words)
    elif audit.runs:
        say_next(Next.PAGE_WRITTEN, run=audit.runs[0].path)
    else:
        say_next(Next.AUDITED, benchmark=benchmark, corpus=audit.corpus.name)


def _lines(check: AuditCheck, explain: bool) -> Iterator[str]:
    """Name and sentence of a check, and what it found, as lines of the terminal's width."""
    width = console().width

    def wrapped(text: str, mark: str) -> list[str]:
        indents = {"initial_indent": mark, "subsequent_indent": " " * len(mark)}
        return wrap(printable(text), width, **indents, break_long_words=False, break_on_hyphens=False)

    yield from wrapped(f"{check.name}: {check.sentence}", "  ")
    shown = check.findings if explain else check.findings[:_FIRST]
    for finding in shown:
        key = f"{shortened(finding.key)}: " if finding.key else ""
        yield from wrapped(f"{key}{finding.problem}", "    - ")
    if more := len(check.findings) - len(shown):
        yield f"      and {more} more"
