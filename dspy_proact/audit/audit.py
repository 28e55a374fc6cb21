"""An audit of a corpus: its checks, what runs show of its items, and what can be trusted, in one sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dspy_proact.audit.auditing import AuditedCorpus, Auditing, ModelTests, plain_auditing
from dspy_proact.audit.check import AuditCheck, State
from dspy_proact.audit.generic import generic_checks
from dspy_proact.audit.items import AnalysedItem, ItemAnalysis, item_analysis
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.inspect_run import run_at
from dspy_proact.evaluation.registry import benchmark_named, benchmarks
from dspy_proact.plain_text import encodable
from dspy_proact.report.numbers import counted, document, listed, name_or, percent
from dspy_proact.report.page.figures import PAGE, one_file, page_text, templates
from dspy_proact.report.page.scatter import clipped
from dspy_proact.report.summary import Summary, summarize
from dspy_proact.stats import Headline
from dspy_proact.stats.items import ENOUGH_MODELS

Declared = Benchmark[Any, Any]
SAMPLE = "sample"
ORDER: Sequence[State] = ("failed", "reported", "passed", "not tested")
"""The order of checks in reports."""
_HERE = "dspy_proact.audit"
_SHOWN = 25
"""Findings of a check that are open at once on a page."""
_NAMED = 2
"""Checks that the headline names."""
_UNTESTED = AuditCheck.not_tested(
    "tests by models", "they take a model that answers, and a judge that grades what it answers"
)


@dataclass(frozen=True, init=False, repr=False)
class Audit:
    """What can be trusted in a corpus, by checks that ask no model, and by what runs show of its items.

    Args:
        corpus: As `eval` takes it: `sample`, the name of a published one, or the path of a file or folder.
        runs: On the corpus: folders, or summaries. Without any, `items` is None.
        benchmark: By its name, the path of its file, or itself; None to find it by the runs, else by the corpus.
        tests: What tests by models showed, as `audit.testing.CorpusTests` makes them; None for none.

    Raises:
        UsageError: It is not clear which benchmark the corpus is of, or a run answers another corpus.
        CorpusError: There is no such corpus, or nothing of it can be used.
    """

    benchmark: Declared
    auditing: Auditing
    corpus: AuditedCorpus
    checks: Sequence[AuditCheck]
    """Failed ones first, then those without a bar, those that passed, and those that were not tested."""
    runs: Sequence[Summary]
    items: ItemAnalysis | None
    """What the runs show of each case; None without runs."""
    tests: ModelTests | None

    def __init__(
        self,
        corpus: str | Path,
        runs: Sequence[str | Path | Summary] = (),
        benchmark: Declared | str | None = None,
        tests: ModelTests | None = None,
    ):
        summaries = [run if isinstance(run, Summary) else summarize(run_at(run)) for run in runs]
        declared = benchmark_of_corpus(str(corpus), summaries, benchmark)
        auditing = auditing_of(declared)
        read = read_corpus(auditing, declared, str(corpus))
        for summary in summaries:
            _require_answers(summary, declared, read)
        items = item_analysis(summaries) if summaries else None
        checks = [*generic_checks(read, auditing), *auditing.checks(read), *(items.checks if items else ())]
        if tests or auditing.testing:
            checks += tests.checks if tests else [_UNTESTED]
        checks.sort(key=lambda check: ORDER.index(check.state))
        vars(self).update(benchmark=declared, auditing=auditing, corpus=read, checks=checks)
        vars(self).update(runs=summaries, items=items, tests=tests)

    def __repr__(self) -> str:
        return f"Audit({self.corpus.name!r}, {self.benchmark.name!r}: {self.headline.text})"

    def of_state(self, state: State) -> list[AuditCheck]:
        """The checks of a state, in their order."""
        return [check for check in self.checks if check.state == state]

    @property
    def stand_in(self) -> bool:
        """Whether a stand-in that measures nothing took part."""
        return any(run.embedded for run in self.runs) or bool(self.tests and self.tests.stand_in)

    @property
    def suspects(self) -> list[AnalysedItem]:
        """The cases of the runs, the most suspect first: by their flags, then by their correlation with the rest."""

        def order(item: AnalysedItem) -> tuple[int, float]:
            rest = item.figures.rest.value
            return -len(item.figures.flags), 2.0 if rest is None else rest

        return sorted(self.items.items, key=order) if self.items else []

    @cached_property
    def headline(self) -> Headline:
        """What can be trusted, and no more than the checks carry."""
        failed, passed = self.of_state("failed"), self.of_state("passed")
        name, bars = name_or(self.corpus.name, "this corpus"), len(failed) + len(passed)
        if not bars:
            text = f"Nothing can be concluded about {name}: no check that can fail was possible."
        elif failed:
            names, more = [check.name for check in failed[:_NAMED]], len(failed) - _NAMED
            names += [f"{more} more"] if more > 0 else []
            of = f"{len(failed)} of {bars} checks" if bars > 1 else "The only check that can fail"
            text = f"{of} {'fails' if len(failed) == 1 else 'fail'} on {name}: {listed(names)}."
        else:
            of = f"all {bars} checks" if bars > 1 else "the only check"
            text = f"{name} passes {of} that can fail; {self._beyond}."
            text = text[0].upper() + text[1:] if name != self.corpus.name else text
        items, cases = len(self.corpus.items), len(self.corpus.keys)
        size = f"{counted(items, *self.auditing.nouns)} of {self.benchmark.name}"
        with_cases = f", with {counted(cases, 'case')}" if cases != items else ""
        caveats = [f"Checked: {size}{with_cases}."]
        if failed:
            caveats.append(f"{self._beyond[0].upper()}{self._beyond[1:]}.")
        if self.tests and self.tests.reach:
            caveats.append(self.tests.reach)
        caveats += self._of_runs()
        if self.stand_in:
            caveats.append("The embedded stand-in took part: its figures measure no real model.")
        return Headline(text, test="checks in code that ask no model", count=bars, caveats=tuple(caveats))

    @property
    def _beyond(self) -> str:
        """What tests by models showed, or that they showed nothing or were not made: a clause."""
        if self.tests and self.tests.shown:
            return self.tests.shown
        return f"{self.auditing.beyond} is {'not shown' if self.tests else 'not tested'}"

    def _of_runs(self) -> Iterator[str]:
        """Caveats of the headline where there are runs."""
        if self.items is None:
            return
        nouns, flagged, count = self.items.nouns, len(self.items.flagged), len(self.items.items)
        models = counted(len(self.items.models), "model")
        few = len(self.items.models) < ENOUGH_MODELS
        after = ": read them; dropping them because of their results can flatter" if flagged else ""
        after = after or (f"; a correlation with the rest takes {ENOUGH_MODELS} models" if few else "")
        yield (f"The answers of {models} flag {flagged or 'none'} of {counted(count, nouns.case, nouns.cases)}{after}.")
        others = [run.path for run in self.runs if run.manifest and run.manifest.identity.corpus != self.corpus.sha256]
        if others:
            yield f"Made on another text of the corpus, or read with other settings: {listed(others)}."

    @cached_property
    def document(self) -> dict[str, Any]:
        """All of it as JSON."""
        corpus, headline = self.corpus, self.headline
        return {
            "headline": headline.text,
            "claim": headline.claim,
            "benchmark": self.benchmark.name,
            "corpus": {
                "name": corpus.name,
                "revision": corpus.revision,
                "sha256": corpus.sha256,
                "rows": corpus.rows,
                "items": len(corpus.items),
                "cases": len(corpus.keys),
            },
            "runs": [run.path for run in self.runs],
            "models": dict(self.tests.models) if self.tests else {},
            "checks": [
                {
                    "name": check.name,
                    "state": check.state,
                    "sentence": check.sentence,
                    "tested": check.tested,
                    "findings": [{"key": finding.key, "problem": finding.problem} for finding in check.findings],
                    "estimate": check.estimate and document(check.estimate),
                    "p": check.p,
                }
                for check in self.checks
            ],
            "items": self._items_document(),
        }

    def _items_document(self) -> dict[str, Any] | None:
        """What runs show of the cases, the most suspect first, as JSON; its checks stand with the others."""
        if self.items is None:
            return None
        of_items = document(self.items)
        del of_items["checks"], of_items["benchmark"]
        of_items["items"] = [
            {"key": item.key, "stratum": item.stratum, "group": item.group, **document(item.figures)}
            for item in self.suspects
        ]
        return of_items

    def to_html(self) -> str:
        """One page for a browser that needs no other file."""
        style = page_text(PAGE, "page.css") + page_text(_HERE, "audit.css")
        title = f"{clipped(encodable(self.corpus.name), 60)}: audit"
        shown = {"audit": self, "title": title, "counted": counted, "percent": percent, "most": _SHOWN}
        return encodable(one_file(templates(_HERE).get_template("audit.html"), style, "", **shown))


def auditing_of(declared: Declared) -> Auditing:
    """How a benchmark is audited: as it declares, or by its cases."""
    return declared.corpus.auditing() if declared.corpus.auditing else plain_auditing(declared)


def benchmark_of_corpus(corpus: str, runs: Sequence[Summary] = (), named: Declared | str | None = None) -> Declared:
    """The benchmark that is named, else that of the runs, of the name of the corpus, or of its files.

    The sample of no named benchmark is the default's. Raises a `UsageError` where none or several come into question.
    """
    if named is not None or corpus == SAMPLE or runs:
        return benchmark_named(named if named is not None or not runs else runs[0].benchmark)
    known = benchmarks()
    name = corpus.partition("@")[0]
    if own := [declared for declared in known.values() if name in (declared.name, declared.corpus.name)]:
        return own[0]
    path = Path(corpus)
    if "\0" in corpus or not path.exists():
        raise UsageError(
            f"{corpus!r}: no such file or folder, and no corpus of that name; there are {listed([*known])}, and "
            "`sample`, that of the benchmark named with `benchmark`"
        )
    likely = [declared for declared in known.values() if auditing_of(declared).recognizes(path)]
    if len(likely) == 1:
        return likely[0]
    of = f"may be of {listed([declared.name for declared in likely])}" if likely else "is of no known benchmark"
    raise UsageError(f"{corpus}: {of}, judging by its files; name its benchmark with `benchmark`")


def read_corpus(auditing: Auditing, declared: Declared, corpus: str) -> AuditedCorpus:
    """The corpus; where it is a published one that cannot be read, the error names what can be audited instead."""
    published = corpus.partition("@")[0] in {declared.name, declared.corpus.name} and not Path(corpus).exists()
    instead = f"audit its sample instead: `sample` with `benchmark={declared.name}`"
    if published and declared.corpus.name is None:
        raise UsageError(
            f"{declared.name} has no published corpus that can be fetched; name a file or folder, or {instead}"
        )
    try:
        return auditing.read(corpus, None)
    except CorpusError as error:
        raise (UsageError(f"{error}; {instead}") if published else error) from None


def _require_answers(summary: Summary, declared: Declared, corpus: AuditedCorpus) -> None:
    """Raise a `UsageError` where a run is of another benchmark or has cases that the corpus has not."""
    if summary.benchmark != declared.name:
        raise UsageError(f"{summary.path}: a run of {summary.benchmark}, and the corpus is of {declared.name}")
    strange = [outcome.key for outcome in summary.outcomes if outcome.key not in corpus.keys]
    if strange:
        raise UsageError(
            f"{summary.path}: {len(strange)} of its {counted(summary.case_count, 'case')} are not in the corpus "
            f"{corpus.name}, the first is {strange[0]!r}; name the corpus that it answers"
        )
