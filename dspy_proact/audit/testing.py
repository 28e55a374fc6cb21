"""Tests by models of a corpus that exists: the engine that makes corpora, with one case of the corpus in each slot.

What it needs is the same: roles whose calls are logged before they are used, a folder that one process claims, a
forecast, limits, and resuming without paying twice.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dspy_proact.audit.audit import auditing_of, benchmark_of_corpus, read_corpus
from dspy_proact.audit.auditing import AuditedCorpus, ModelTests
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.generation.generation import Generation, Several
from dspy_proact.generation.maker import Maker, Making, Proof
from dspy_proact.kept import AUDIT_CLAIM
from dspy_proact.models import EMBEDDED, Gate, ModelSpec
from dspy_proact.types import Frozen

AUDITS = Path("audits")
"""Default parent of the folders of tests."""
TESTS = "tests.jsonl"
"""What the tests of each case showed, a value of its benchmark's a line."""


class TestedCorpus(Frozen):
    """The corpus under test, in place of a brief."""

    __test__ = False  # no test of pytest's
    corpus: str
    sha256: str
    """Of its cases."""


class CaseAtSlot(Frozen):
    """What a slot is about."""

    key: str


def likeness_text(key: str) -> str:
    """One word of the case's own, so that no two are alike: duplicates are found by a check in code."""
    return hashlib.sha256(key.encode()).hexdigest()


def tests_of(corpus: AuditedCorpus, maker: Callable[[Proof], Maker], nouns: tuple[str, str], number: int) -> Making:
    """How models test a corpus.

    Args:
        corpus: As an audit reads it.
        maker: Its items are cases with what was shown of them.
        nouns: Of a case, and of several.
        number: Of cases that it can test.
    """
    brief = TestedCorpus(corpus=corpus.name, sha256=corpus.sha256)
    return Making(
        read=lambda *_: brief,
        maker=lambda _, proof: maker(proof),
        item=nouns[0],
        items=nouns[1],
        number=number,
        number_of_stand_in=number,
    )


class CorpusTests(Generation):
    """Tests by models of the cases of a corpus.

    Args:
        corpus: As `Audit` takes it.
        model: Of all roles that are not named.
        roles: Models by role, in place of `model`.
        judge: The same as `roles` with `judge`.
        limit: The most cases, spread over groups and strata; None for all. A folder may go on with more.
        seed: Of every request.
        proof: How far they are tested: `full`, `light` with one response in place of three, or `none` for audits alone.
        gate: How calls are made, and what they may cost.
        benchmark: As `Audit` takes it.

    Raises:
        UsageError: Models cannot be called as asked, or test no corpora of the benchmark.
        CorpusError: There is no such corpus, or nothing of it can be used.
    """

    claim_file, kind, parent = AUDIT_CLAIM, "audit", AUDITS

    def __init__(
        self,
        corpus: str | Path,
        model: Several = EMBEDDED,
        roles: Mapping[str, ModelSpec | str] | None = None,
        judge: ModelSpec | str | None = None,
        *,
        limit: int | None = None,
        seed: int = 0,
        proof: Proof = "full",
        gate: Gate | None = None,
        benchmark: Benchmark[Any, Any] | str | None = None,
    ):
        declared = benchmark_of_corpus(str(corpus), (), benchmark)
        self.auditing = auditing_of(declared)
        if self.auditing.testing is None:
            raise UsageError(f"{declared.name}: its corpora are audited without a model; leave `model` out")
        if limit is not None and limit < 1:
            raise UsageError(f"`limit={limit}`: must be 1 or more")
        self.corpus = read_corpus(self.auditing, declared, str(corpus))
        super().__init__(None, model, roles, judge, items=limit, seed=seed, proof=proof, gate=gate, benchmark=declared)
        self.items = min(self.items, self.making.number)

    def making_of(self, declared: Benchmark[Any, Any]) -> Making:  # noqa: ARG002 - its auditing was read before
        """How cases of the corpus are tested."""
        assert self.auditing.testing, "refused before"
        return self.auditing.testing(self.corpus)

    def tests(self, made: Any) -> ModelTests:
        """What was shown, for an `Audit` of the corpus."""
        names = {role: ", ".join(model.name for model in models) for role, models in self.models.items()}
        maker: Any = self.maker
        return replace(maker.tests(made, names), models=names).bounded
