"""What a benchmark declares whose corpora can be audited, and a corpus as an audit reads it.

A benchmark says what an item of a corpus is: its texts by what they are, what it shares with others, and the cells of a
table that it fills. Checks that serve any benchmark need no more; a benchmark adds its own. One that declares nothing
is read by its cases, of which the texts of their views are known.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.report.numbers import counted
from dspy_proact.runs import CONTROL, CaseSet
from dspy_proact.stand_in import stand_in_note

Texts = Mapping[str, Sequence[str]]
"""Texts by what they are, in the plural, such as `user messages`."""


@dataclass(frozen=True)
class AuditItem:
    """One item of a corpus, such as a dialogue or a task."""

    key: str
    """As files name it."""
    group: str
    """What items share that may have texts and names in common, such as a person."""
    texts: Texts = field(default_factory=dict[str, Sequence[str]])
    """Whose lengths are counted, one by one."""
    compared: Texts = field(default_factory=dict[str, Sequence[str]])
    """That no other item should have in much the same words."""
    names: Sequence[str] = ()
    """Of people and firms in it."""
    cells: Sequence[Mapping[str, str]] = ()
    """Of each case in it, its value in each column of the table of coverage."""


@dataclass(frozen=True)
class AuditedCorpus:
    """A corpus as an audit reads it: a row that cannot be used is a finding in it, and no error."""

    name: str
    """As a person named it."""
    items: Sequence[AuditItem]
    """In the order of the corpus."""
    rows: int
    """Those that cannot be used among them."""
    keys: frozenset[str]
    """Of all cases, control cases among them."""
    sha256: str
    """Of its cases, as runs record it."""
    content: Any = None
    """What the benchmark's own checks read."""
    revision: str | None = None
    """Of a published corpus; None for files."""
    unusable: Sequence[Finding] = ()
    """Rows that are left out, with the reason."""
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many rows are left out, by the reason, where their keys are not known."""
    ignored_fields: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often each field occurs that the format does not know."""

    @classmethod
    def of(
        cls, cases: CaseSet, items: Sequence[AuditItem], content: Any = None, unusable: Sequence[Finding] = ()
    ) -> "AuditedCorpus":
        """That of cases, which were read by the benchmark's own reader."""
        record = cases.corpus
        return cls(
            name=record.name,
            items=items,
            rows=record.rows + len(unusable),
            keys=frozenset(case.key for case in cases.cases),
            sha256=cases.sha256,
            content=cases if content is None else content,
            revision=record.revision,
            unusable=unusable,
            left_out=record.left_out,
            ignored_fields=record.ignored_fields,
        )


def part_of(part: int, count: int, nouns: tuple[str, str], verbs: tuple[str, str] = ("has", "have")) -> str:
    """How a sentence begins that is about a part of what was tested, such as `None of 16 dialogues has`."""
    return f"{f'{part:,}' if part else 'None'} of {counted(count, *nouns)} {verbs[part > 1]}"


def no_checks(_: AuditedCorpus) -> Sequence[AuditCheck]:
    """Of a benchmark without checks of its own."""
    return ()


@dataclass(frozen=True)
class ModelTests:
    """What tests by models showed of a corpus."""

    checks: Sequence[AuditCheck]
    shown: str = ""
    """What a headline may say of them, a clause with its interval; empty where nothing was shown."""
    reach: str = ""
    """Of how many cases the tests are, and what is not known of the others: a sentence below the headline."""
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    """Their names, by role."""

    @property
    def stand_in(self) -> bool:
        """Whether a stand-in that measures nothing took part."""
        return bool(stand_in_note(self.models.items()))

    @property
    def bounded(self) -> "ModelTests":
        """Itself; of a stand-in without a claim, and its checks without a bar."""
        if not self.stand_in:
            return self
        states = ("failed", "passed")
        checks = [one.model_copy(update={"state": "reported"}) if one.state in states else one for one in self.checks]
        return replace(self, checks=checks, shown="")


@dataclass(frozen=True)
class Auditing:
    """What a benchmark declares whose corpora can be audited."""

    read: Callable[[str, str | None], AuditedCorpus]
    """The corpus that a person names, of a revision where one is named; raises a `CorpusError` where nothing of it can
    be used."""
    recognizes: Callable[[Path], bool]
    """Whether a file or a folder looks like a corpus of the benchmark, by the names of files and their first line."""
    nouns: tuple[str, str]
    """What an item and several are called, such as `dialogue` and `dialogues`."""
    beyond: str
    """What no check of a corpus without models tests, after `not`, such as `whether a pass depends on the facts`."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Columns of the table of coverage, each with the values that items should have; with none for those that occur."""
    checks: Callable[[AuditedCorpus], Iterable[AuditCheck]] = no_checks
    """Its own, which ask no model."""
    testing: Callable[[AuditedCorpus], Any] | None = None
    """How models test its cases, a `generation.maker.Making` whose maker gives `ModelTests`; None where none do."""


def plain_auditing(declared: Benchmark[Any, Any]) -> Auditing:
    """How a benchmark is audited that declares nothing: an item is a case, its texts are those of its view."""

    def read(spec: str, revision: str | None) -> AuditedCorpus:
        cases = declared.read(spec, declared.settings_type(), revision)
        items = [
            AuditItem(
                key=case.key,
                group=case.group,
                texts={"texts": texts},
                compared={"cases": ("\n".join(texts),)},
                cells=({declared.nouns.stratum: case.stratum},),
            )
            for case in cases.cases
            if case.stratum != CONTROL
            for texts in [list(_texts(case.view))]
        ]
        return AuditedCorpus.of(cases, items)

    return Auditing(
        read=read,
        recognizes=lambda _: False,
        nouns=(declared.nouns.case, declared.nouns.cases),
        beyond="whether an answer that earns a score is one that people would want",
        columns={declared.nouns.stratum: declared.strata},
    )


def _texts(value: Any) -> Iterator[str]:
    """The texts in a view, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _texts(getattr(value, name))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
