"""The cases of a run or of a results file as `show` lists them, a line each."""

import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len, set_cell_size

from dspy_proact.cli.options.arguments import with_options_of_models
from dspy_proact.cli.options.benchmark import BenchmarkChoice
from dspy_proact.cli.options.paths import is_results
from dspy_proact.cli.options.scope import LEFT_OUT
from dspy_proact.evaluation.inspect_run import run_at
from dspy_proact.plain_text import printable
from dspy_proact.runs import CONTROL, Outcome, cause_lines, causes_of, controls_of, read_run

if TYPE_CHECKING:
    from dspy_proact.evaluation.reporting import Reporting
    from dspy_proact.report import Reading

_LEAST_KEY = 28
"""Columns of a key at least, and so many that an excerpt has room."""
_EXCERPT = 40
_LONGEST = 2000
"""Characters of a response that may end up in a line: no window is wider."""
_BEFORE = 20
"""Characters before the text that was searched for."""
_TAILS = 5, 9, 13
"""Characters that are kept of the end of a key, as many as it takes."""
_REPHRASED = "rephrased"
"""Mark of a case that the other run words differently."""


class ShownRun:
    """The run or results file that `show` reads; a `ProactError` where there is neither, or it is damaged.

    To `check` the verdicts for damage takes the benchmark. Outcomes are of every case in every epoch, case by case.
    Labels go from best to worst, those of control cases after the others.
    """

    def __init__(self, path: Path, check: bool, chosen: BenchmarkChoice):
        self.path = path
        if is_results(path):
            source = chosen.summary(path)
            self.benchmark, self.name, manifest = source.benchmark, source.model_name, None
            outcomes = (*source.outcomes, *source.controls.outcomes)
        else:
            folder = run_at(path)
            source = manifest = folder.manifest()
            self.benchmark, self.name = manifest.identity.benchmark, manifest.model_name
            outcomes = read_run(folder, *([self._reporting.detail] if check else []), usage=False).outcomes
        self.nouns, self.embedded = source.nouns, source.embedded
        self.strata = [*source.strata, *(controls_of(manifest) if manifest else [])]
        self.labels_of = dict.fromkeys(source.strata, source.labels)
        self.labels_of[CONTROL] = manifest.control_labels if manifest else ()
        self.labels = [*source.labels, *self.labels_of[CONTROL]]
        order = {key: index for index, key in enumerate(dict.fromkeys(outcome.key for outcome in outcomes))}
        self.outcomes = sorted(outcomes, key=lambda outcome: order[outcome.key])  # stable: epochs stay in order

    @property
    def _reporting(self) -> "Reporting":
        from dspy_proact.evaluation.registry import reporting_of  # takes longer than to read ten thousand cases

        return reporting_of(self.benchmark)

    @cached_property
    def keys(self) -> list[str]:
        """The keys of its cases, without repetition."""
        return list(dict.fromkeys(outcome.key for outcome in self.outcomes))

    @cached_property
    def placed(self) -> dict[tuple[str, int], Outcome]:
        """Every outcome by key and epoch."""
        return {(outcome.key, outcome.epoch): outcome for outcome in self.outcomes}

    def reading(self, outcome: Outcome) -> "Reading":
        """An outcome, to be read."""
        from dspy_proact.report import Reading

        return Reading.of(outcome, self.benchmark)

    def rephrased(self, outcomes: Iterable[Outcome], other: "ShownRun") -> set[str]:
        """Keys of those of these cases that another run words differently: they cannot be compared."""
        pairs = [(outcome, other.placed.get((outcome.key, outcome.epoch))) for outcome in outcomes]
        alike = self._reporting.alike
        return {one.key for one, there in pairs if there and not alike(one, there)}

    @cached_property
    def differing_epochs(self) -> set[str]:
        """Keys of the cases whose grades differ from epoch to epoch."""
        labels = defaultdict[str, set[str]](set)
        for outcome in self.outcomes:
            if outcome.label is not None:
                labels[outcome.key].add(outcome.label)
        return {key for key, known in labels.items() if len(known) > 1}

    def answer(self, outcome: Outcome) -> str:
        """The response as text; empty where there is none."""
        kept = outcome.response or ""
        return self._reporting.answer(kept) if kept.startswith("{") else kept

    def abridged(self, keys: Sequence[str], width: int) -> list[str]:
        """Some of its keys in so many characters, which tell them from all others where that suffices."""
        shown = list(keys)
        for tail in _TAILS:
            head = width - len(LEFT_OUT) - tail
            shown = [key if len(key) <= width else f"{key[:head]}{LEFT_OUT}{key[-tail:]}" for key in keys]
            ends = {(key[:head], key[-tail:]) for key in keys}
            if sum((key[:head], key[-tail:]) in ends for key in self.keys) == len(set(keys)):
                break
        return shown


def print_cases(
    run: ShownRun, shown: Sequence[Outcome], matching: Sequence[Outcome], width: int, other: ShownRun | None, text: str
) -> None:
    """Print the cases that are shown, in so many columns, and how many match and are there.

    `other` is the run beside it, and `text` what was searched for, empty for nothing.
    """
    several, nouns = run.outcomes and run.outcomes[-1].epoch > 1, run.nouns
    rephrased = run.rephrased(shown, other) if other else set[str]()
    for line in _lines(run, shown, width, other, rephrased, text) if shown else ():
        click.echo(line)
    if shown:
        click.echo()
    counts: list[str] = []
    for controls, plural in ((False, nouns.cases), (True, nouns.controls)):
        some, total = (
            sum((outcome.stratum == CONTROL) is controls for outcome in of) for of in (matching, run.outcomes)
        )
        if total or not controls:
            counts.append(f"{some:,} of {total:,} {plural}")
    note = ", each epoch counted" if several else ""
    left = f", {len(shown):,} of them above; --limit {len(matching)} lists all" if len(shown) < len(matching) else ""
    click.echo(textwrap.fill(printable(f"{' and '.join(counts)}{note}{left}."), width))
    for line in cause_lines(causes_of(failure for outcome in matching for failure in outcome.failures)):
        click.echo(textwrap.fill(printable(with_options_of_models(line)), width))
    if rephrased:
        note = f"[{_REPHRASED}]: the other run words this case differently; the two cannot be compared."
        click.echo(textwrap.fill(note, width))


def _lines(
    run: ShownRun, shown: Sequence[Outcome], width: int, other: ShownRun | None, rephrased: Collection[str], text: str
) -> Iterator[str]:
    columns = [
        [run.nouns.stratum, *(printable(outcome.stratum) for outcome in shown)],
        ["grade", *(printable(outcome.label or outcome.state) for outcome in shown)],
    ]
    if run.outcomes[-1].epoch > 1:
        columns.insert(0, ["epoch", *(str(outcome.epoch) for outcome in shown)])
    if other:
        pairs = (other.placed.get((outcome.key, outcome.epoch)) for outcome in shown)
        columns.append(["beside", *(printable(there.label or there.state) if there else "-" for there in pairs)])
    widths = [max(map(cell_len, column)) for column in columns]
    longest = max(len(run.nouns.case), *(len(outcome.key) for outcome in shown))
    room = min(longest, max(_LEAST_KEY, width - sum(widths) - len(widths) - 1 - _EXCERPT))
    keys = [run.nouns.case, *map(printable, run.abridged([outcome.key for outcome in shown], room))]
    responses = [run.answer(outcome) for outcome in shown if outcome.response]
    begin = commonprefix(responses)  # noqa: RUF071 - characters are meant, not parts of a path
    # With which different responses all begin, in whole words: it tells no case from another.
    alike = begin.rfind(" ") + 1 if len(set(responses)) > 1 else 0
    notes = ["response", *(_note(run, outcome, rephrased, text, alike) for outcome in shown)]
    for key, note, *cells in zip(keys, notes, *columns, strict=True):
        parts = [set_cell_size(cell, size) for cell, size in zip([key, *cells], [room, *widths], strict=True)]
        line = " ".join([*parts, note])
        yield line.rstrip() if cell_len(line) <= width else set_cell_size(line, width).rstrip()


def _note(run: ShownRun, outcome: Outcome, rephrased: Collection[str], text: str, alike: int) -> str:
    """Marks of a case, and an excerpt of the response, from the text that is searched for or where responses differ."""
    marks = [
        *(["unverified"] if outcome.unverified else []),
        *(["verdicts differ"] if outcome.split else []),
        *(["epochs differ"] if outcome.key in run.differing_epochs else []),
        *([_REPHRASED] if outcome.key in rephrased else []),
        *([outcome.reason] if outcome.reason else []),
    ]
    response = run.answer(outcome)
    start = max(0, response.casefold().find(text.casefold()) - _BEFORE) if text else alike
    excerpt = " ".join(response[start : start + _LONGEST].split())
    marked = f"[{', '.join(marks)}] " if marks else ""
    return printable(f"{marked}{'...' if start else ''}{excerpt}")
