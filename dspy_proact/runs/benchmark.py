"""What the runner asks of a benchmark, and the values that pass between them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from pydantic import BaseModel

from dspy_proact.errors import UsageError
from dspy_proact.runs.manifest import CorpusRecord
from dspy_proact.runs.shard import Shard
from dspy_proact.types import Frozen

CONTROL = "CONTROL"
"""The stratum of control cases, where nothing was to be gained: reported beside the strata and never among them."""
HELD_BACK = "held_back"
"""In the `meta` of a case, true where it is of the part of a corpus that is not published."""
Kind = TypeVar("Kind", bound=BaseModel)
Detail_co = TypeVar("Detail_co", bound=BaseModel, covariant=True)


class Settings(Frozen):
    """What a benchmark can be set to, as part of a run's identity; this one has nothing to set.

    Each field of one that is derived from this has a default, and a line under it that tells of it.
    """

    of_grading: ClassVar[frozenset[str]] = frozenset()
    """Names of those that affect grades but no answer, so that a rejudging may change them."""
    of_ratings: ClassVar[frozenset[str]] = frozenset()
    """Names of those that affect which people's ratings are read."""

    @classmethod
    def of(cls, settings: "Settings") -> Self:
        """The settings as the ones of this kind that they are."""
        assert isinstance(settings, cls), "settings are of the benchmark's own kind"
        return settings

    @property
    def without_effect(self) -> Mapping[str, str]:
        """Settings that another setting leaves without effect, with that one as NAME=VALUE."""
        return {}

    def applied_to(self, declared: Any) -> Any:
        """A benchmark as these settings make it: a copy where its labels follow from them, else itself."""
        return declared

    def require_effect(self, names: Iterable[str]) -> None:
        """Raise a `UsageError` where one of these settings has no effect beside the others."""
        unused = self.without_effect
        for name in names:
            if name in unused:
                others = ", ".join(other for other in type(self).model_fields if other not in unused)
                raise UsageError(f"`settings.{name}`: has no effect with {unused[name]}; these do: {others}")


# For those derived from it; of its own source, which has no such line, pydantic would make a tree at each start.
Settings.model_config["use_attribute_docstrings"] = True


@dataclass(frozen=True)
class Case:
    """One thing to answer and to grade."""

    key: str
    """Unique in the benchmark."""
    group: str
    """What cases share that are not independent: the unit of clustering."""
    stratum: str
    """What scores are reported by."""
    view: BaseModel
    meta: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    """What no program sees, such as the right answer: for grading, grouping, export, `show` and raters."""
    chain: str = ""
    """Cases of one chain, which share group and stratum, are answered one after another in the order of the benchmark,
    each with the answers before it; empty for a case that needs no other's answer."""

    def view_as(self, kind: type[Kind]) -> Kind:
        """The view as the one of a kind that it is."""
        assert isinstance(self.view, kind), "a benchmark makes its own cases"
        return self.view

    def __repr__(self) -> str:
        return f"Case({self.key!r}, group={self.group!r}, stratum={self.stratum!r})"


@dataclass(frozen=True)
class CaseSet:
    """Every case of a benchmark, and the corpus that they were read from."""

    cases: tuple[Case, ...]
    """In a fixed order, with unique keys; control cases among them."""
    corpus: CorpusRecord
    sha256: str
    """Of the validated cases: equal for equal ones."""
    read_with: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """Settings of the benchmark that decided how they were read, by name."""

    def require(self, settings: Settings) -> None:
        """Raises a `UsageError` where a run by these settings would say that the cases were read otherwise."""
        for name, before in self.read_with.items():
            if (value := getattr(settings, name)) != before:
                raise UsageError(f"{name} is {value!r} in the settings, and the cases were read with {before!r}")

    def __repr__(self) -> str:
        return f"CaseSet({self.corpus.name!r}, {len(self.cases):,} cases)"

    @classmethod
    def of(
        cls,
        name: str,
        cases: Iterable[Case],
        revision: str | None = None,
        rows: int | None = None,
        ignored_fields: Mapping[str, int] | None = None,
    ) -> Self:
        """The cases of a corpus of this name, each of which is a row of it where `rows` does not say otherwise."""
        cases, digest = tuple(cases), hashlib.sha256()
        for case in cases:
            # What is no model is refused later, with the place where it was made.
            dumped = getattr(case.view, "model_dump_json", str)()
            row = [case.key, case.group, case.stratum, dumped, dict(case.meta)]
            digest.update(json.dumps(row, sort_keys=True).encode() + b"\n")
        of_scores = sum(case.stratum != CONTROL for case in cases)
        rows, ignored = len(cases) if rows is None else rows, dict(ignored_fields or {})
        record = CorpusRecord(name=name, revision=revision, rows=rows, cases=of_scores, ignored_fields=ignored)
        return cls(cases, record, digest.hexdigest())


@dataclass(frozen=True)
class Scored(Generic[Detail_co]):
    """What a grader returns, with the benchmark's own detail; a `VerdictRecord` is what is kept of it, as JSON."""

    score: float
    """In [0, 1], higher is better."""
    label: str
    detail: Detail_co
    """The benchmark's own frozen model of the grading."""
    verified: bool | None = None
    """Whether what the grader quotes stands in the answer; None where there is nothing to check."""
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    """Named finite numbers beside the score, of which measures are made."""


@dataclass(frozen=True)
class ExpectedCall:
    """A call to a model that a stage will make, as far as it can be told before."""

    messages: Sequence[Mapping[str, Any]]
    tokens: tuple[int, int]
    """Fewest and most that its answer is expected to have."""
    images: Sequence[tuple[int, int]] = ()
    """Width and height, in pixels as sent, of the images beside the messages; of those in them nothing is counted."""
    role: str | None = None
    """The further role that is asked; None for the stage's own model."""


class Runnable(Protocol):
    """A benchmark that is bound to the cases and models of a run: what the runner asks of it."""

    @property
    def answer_type(self) -> type[BaseModel]:
        """As what answers are read from disk."""
        ...

    def admitted(self, case: Case, judges: Sequence[str | None], answer: Any) -> AbstractAsyncContextManager[None]:
        """Inside, a case is answered, unless it has an `answer`, and graded by these judges.

        Entering it waits, or raises a `Halt`, where the limits do not allow that.
        """
        ...

    async def answer(self, case: Case, earlier: Sequence[Any]) -> BaseModel:
        """Call the program under test; raises a `StageError` when there is no answer.

        `earlier` has the answers to the cases before it in its chain, None for one that could not be used.
        """
        ...

    async def grade(self, case: Case, answer: Any, judge: str | None) -> Scored[Any]:
        """Grade an answer by a judge, or without one where judge is None; raises a `StageError` without a grade."""
        ...


class Scope(Frozen):
    """How much of a benchmark a command asks for, and how its run is labelled.

    None of it is part of a run's identity, so that a run can be widened, and labelled later.
    """

    limit: int | None = None
    """The most cases, spread over groups and strata, 1 or more; None for all. As many control cases are added."""
    strata: tuple[str, ...] = ()
    """Only these, in any case of letters; empty for all."""
    epochs: int | None = None
    """How often each case is answered, 1 or more; None for once, or as often as copied responses are."""
    judge_epochs: int | None = None
    """How often each judge grades each response, 1 or more; None for once, or as often as its program asks."""
    retry_unscored: bool = False
    """Also retry stages that failed because of their content; the report counts them."""
    keep_going: bool = False
    """Go on although none of the first ten cases can be scored, or the first requests are refused alike."""
    reuse: Path | None = None
    """Folder of another run: its stages are copied whose requests are equal, or differ in a raised limit of output."""
    controls: bool = False
    shard: Shard | None = None
    """Only the cases of this part of what is asked for otherwise; None for all."""
    tags: Mapping[str, str] = {}
    """Labels by name, for lists of runs; they replace those of the same names that the run has already."""
    note: str | None = None
    """A note on the run, likewise."""


def require_public(name: str, held_back: bool) -> None:
    """Raise a `UsageError` where a program is to be tuned on what is held back of a corpus."""
    if held_back:
        raise UsageError(
            f"{name}: is held back, so that nothing has learned it, and no program is tuned on it; name the part that "
            "is published"
        )
