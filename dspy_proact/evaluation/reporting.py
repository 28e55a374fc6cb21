"""How reports show a benchmark's cases, answers and verdicts (`Reporting`), on the terminal as on the page."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.runs import Manifest, Outcome, VerdictRecord
from dspy_proact.types import Quote

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class PageSection:
    """Something that stood there before the answer."""

    title: str
    kind: Literal["chat", "terms"]
    """Messages one after another, or names with what each means."""
    items: tuple[tuple[str, str], ...]
    """Who says it or what is named, and the text."""
    hidden: bool = field(default=False, repr=False)  # marks of rated items are made of the rest
    """Whether the program under test did not see it, such as the right answer."""

    @property
    def as_text(self) -> str:
        """The title, and below it each item in a line or more."""
        return "\n".join([self.title.upper(), *(f"{name}: {text}" for name, text in self.items)])


@dataclass(frozen=True)
class Grounds:
    """What a verdict rests on."""

    reasons: str
    quotes: tuple[Quote, ...] = ()
    """Of the response."""
    points: tuple[tuple[str, str], ...] = ()
    """What else it says, by name."""


@dataclass(frozen=True)
class Thumbnail:
    """An image that was shown to the model."""

    caption: str
    """Stands for it where it is not seen."""
    load: Callable[[], str]
    """A data URI; raises a `CorpusError` where the image cannot be read any more."""


def quoted(quotes: Iterable[Quote]) -> list[tuple[int, int]]:
    """Where quotes stand in the text that they are of, in order; those that overlap or touch are one."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted((q.start, q.end) for q in quotes if q.start is not None and q.end is not None):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], end)
        else:
            spans.append((start, end))
    return spans


View = Mapping[str, Any]
"""What the programs saw of a case, as JSON."""
_EMPTY: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Column:
    """A column of an exported table."""

    name: str
    kind: Literal["string", "int64", "float64", "bool"]
    of: Callable[[Outcome, VerdictRecord | None], Any]
    """Its value for an outcome and one of its verdicts; None where there is nothing."""
    of_verdict: bool = False
    """Whether it stands among those of verdicts, after the response."""
    optional: bool = False
    """Whether a table leaves it out in which no case has a value of it."""


@dataclass(frozen=True)
class Addition:
    """What a benchmark adds to a report."""

    document: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further keys of its JSON."""
    details: "Iterable[RenderableType]" = ()
    """Further tables and sentences, with `--explain`."""
    lines: Sequence[str] = ()
    """Further sentences of every report; control cases have some."""


def text_of(value: Any) -> str:
    """A value from JSON as people read it: objects line by line, and what is empty left out."""
    if isinstance(value, str):
        return value
    if _is(dict, value):
        return "\n".join(f"{name}: {text}" for name, text in terms_of(value))
    if _is(list, value):
        return ("\n\n" if _has_objects(value) else ", ").join(map(text_of, value))
    return f"{round(value, 3):.12g}" if isinstance(value, float) else json.dumps(value)


def terms_of(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Names with what each has, those without anything left out."""
    return tuple((name.replace("_", " "), text_of(value)) for name, value in fields.items() if value not in _EMPTY)


def _has_objects(value: Any) -> bool:
    return _is(list, value) and all(_is(dict, item) for item in value)


def sections_of(view: View) -> Iterator[PageSection]:
    """Plain values, and then each object and each list of objects, whose first field names them, by itself."""
    objects = [name for name, value in view.items() if value and (_is(dict, value) or _has_objects(value))]
    if plain := terms_of({name: value for name, value in view.items() if name not in objects}):
        yield PageSection("case", "terms", plain)
    for name in objects:
        if _is(dict, view[name]):
            yield PageSection(name, "terms", terms_of(view[name]))
        else:
            named = filter(None, map(terms_of, view[name]))
            yield PageSection(name, "terms", tuple((first[1], text_of(dict(rest))) for first, *rest in named))


def _is(kind: type, value: Any) -> bool:
    return isinstance(value, kind)


def _answer(kept: str) -> str:
    """The only text of an answer; the whole answer where it has several values."""
    try:
        values = list(json.loads(kept).values())
    except (ValueError, AttributeError):
        return kept
    return values[0] if len(values) == 1 and isinstance(values[0], str) else kept


@dataclass(frozen=True)
class Reporting:
    """How reports show a benchmark; the defaults serve any."""

    about_case: str = ""
    """What a case is, in a sentence or two for a reader who meets the word first."""
    beside: str | None = None
    """Name of a measure without which the score is misleading; the headline gives it too."""
    foremost: frozenset[str] | None = None
    """Names of the measures that every report shows, the others with `--explain` only; None for all."""
    notes: tuple[str, ...] = ()
    """References of every summary, in sentences."""
    meta: frozenset[str] | None = None
    """Keys of a case's `meta` that `show` prints and raters read; None for all."""
    ungrouped: frozenset[str] = frozenset()
    """Keys of a case that are text and no group."""
    breakdowns: tuple[str, ...] = ()
    """Keys of a case by which differences are broken down."""
    alike: Callable[[Outcome, Outcome], bool] = lambda one, other: one.view == other.view
    """Whether two outcomes of one key are of the same case, whatever settings show of it: they may be compared then."""
    columns: tuple[Column, ...] | None = None
    """Columns of an exported table for a case and a verdict; None for one each key of a case, and the detail."""
    detail: Callable[[str], type[BaseModel] | None] = lambda _: None
    """What the detail of a verdict in a stratum is; None where that is not known."""
    answer: Callable[[str], str] = _answer
    """What there is to read of an answer, which is kept as text or as JSON."""
    sections: Callable[[View], Iterable[PageSection]] = sections_of
    """What there is to read of a case."""
    grounds: Callable[[VerdictRecord], Grounds] = lambda verdict: Grounds("", points=terms_of(verdict.detail))
    """What there is to read of a verdict."""
    thumbnails: Callable[[Manifest, Outcome], Iterable[Thumbnail]] = lambda _, __: ()
    """Images that a page shows beside an answer of a run; raises a `CorpusError` likewise."""
    run: Callable[[MeasuredRun], Addition] = lambda _: Addition()
    """What it adds to the report of a run."""
    leaderboard: Callable[[Sequence[MeasuredRun]], Addition] = lambda _: Addition()
    """What it adds to a leaderboard, of the runs on it."""
    agreement: Callable[[Any], Addition] = lambda _: Addition()
    """What it adds to a `report.study.RatingStudy` of a part of the grading."""
    citation: str = ""
    """What to cite, as a BibTeX entry."""

    def details(self, meta: Mapping[str, str | int]) -> tuple[PageSection, ...]:
        """What a case declares in `meta`, for `show` and raters: one section, or none."""
        terms = terms_of({key: value for key, value in meta.items() if self.meta is None or key in self.meta})
        return (PageSection("details", "terms", terms),) if terms else ()
