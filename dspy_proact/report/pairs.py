"""Pairs: which of two answers to one case people choose, as a sentence, as JSON and on a terminal.

A share of choices leaves ties out; they are counted beside it. Its interval is over items and raters, because an item
is judged by several raters and a rater judges several items: the exact binomial interval, which many studies print,
takes every choice as independent. It stands beside ours so that a reader sees the difference.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any, Literal
from unicodedata import normalize

from pydantic import ConfigDict
from rich.console import Console

from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.labels import Confidence, Seconds
from dspy_proact.files.rows import Id, Line, Name, OwnPart, read_bytes, text_of
from dspy_proact.files.sheets import CsvSheet, csv_text
from dspy_proact.report.glossary import explained
from dspy_proact.report.measured import in_nouns
from dspy_proact.report.numbers import counted, document, fields_of, interval, percent, probability, share
from dspy_proact.report.terminal import reason_lines, show, table
from dspy_proact.runs import Nouns
from dspy_proact.stats import ENOUGH_RATERS, Binomial, Estimate, Headline, exact_binomial, preferred_share

_WANTED = "the name of a benchmark with a published study of pairs, or a CSV of choices"
_COLUMNS = ("annotator", "item", "chosen")


@dataclass(frozen=True)
class PairChoice:
    """One rater's choice between the two answers to an item."""

    rater: str
    item: str
    chosen: Literal["a", "b", "tie"]
    right: Literal["a", "b"] | None = None
    """Which of them stood on the right; None where that is not known."""
    confidence: int | None = None
    """From 1, a guess, to 5, certain."""
    seconds: float | None = None
    stratum: str = ""
    """What kind of item it is; empty where items are all of one kind."""


@dataclass(frozen=True)
class PublishedPairs:
    """A published study of pairs."""

    file: Path
    """A CSV of its choices."""
    about: str
    """What a and b are, and of what, in sentences."""
    figures: Mapping[str, tuple[Estimate, float]]
    """The share with its interval and the p-value as they were published, by name of the row."""
    method: str
    """How these were computed, a sentence."""
    faults: Sequence[str]
    """What is wrong with them, in sentences."""


@dataclass(frozen=True)
class Preferred:
    """How often b was chosen in some of the choices."""

    name: str
    a: int
    b: int
    ties: int
    share: Estimate
    """Of the choices that are no ties, over items and raters, in [0, 1]."""
    binomial: Binomial | None
    """The share as if all choices were independent; None if all are ties."""

    @classmethod
    def of(cls, name: str, choices: Sequence[PairChoice]) -> "Preferred":
        """Count some choices."""
        decided = [choice for choice in choices if choice.chosen != "tie"]
        hits = [choice.chosen == "b" for choice in decided]
        of_items = preferred_share(hits, [choice.item for choice in decided], [choice.rater for choice in decided])
        preferred = in_nouns(of_items, Nouns(group="item"))
        binomial = exact_binomial(sum(hits), len(hits)) if hits else None
        return cls(name, len(hits) - sum(hits), sum(hits), len(choices) - len(hits), preferred, binomial)

    @property
    def decided(self) -> int:
        """Choices that are no ties."""
        return self.a + self.b

    def for_json(self) -> dict[str, Any]:
        """The fields by name; the binomial interval and its p-value where there are any."""
        exact = self.binomial
        return document(self) | {"binomial": exact and document(exact.share) | {"p": exact.p}}


@dataclass(frozen=True)
class PairRater:
    """One rater's choices."""

    rater: str
    preferred: Preferred
    seconds: float | None
    """Median of a choice; None where no time is known."""
    without: float | None
    """Share of b among the others' choices; None where there are none."""


@dataclass(frozen=True)
class PairStudy:
    """Choices of raters between two answers to each of some items."""

    name: str
    names: tuple[str, str]
    """Of a and of b."""
    choices: Sequence[PairChoice] = field(repr=False)
    """At least one."""
    published: PublishedPairs | None = field(default=None, repr=False)

    @cached_property
    def overall(self) -> Preferred:
        """All choices."""
        return Preferred.of("all", self.choices)

    @cached_property
    def halves(self) -> float:
        """Share of b where a tie counts half for either, in [0, 1]."""
        return (self.overall.b + self.overall.ties / 2) / len(self.choices)

    @property
    def items(self) -> int:
        """Number of items."""
        return len({choice.item for choice in self.choices})

    @cached_property
    def strata(self) -> Sequence[Preferred]:
        """By stratum, where there are several."""
        return self._divided(lambda choice: choice.stratum or None)

    @cached_property
    def confidences(self) -> Sequence[Preferred]:
        """By confidence, where raters gave any."""
        return self._divided(lambda choice: None if choice.confidence is None else str(choice.confidence))

    @cached_property
    def right(self) -> tuple[int, int]:
        """How often the answer on the right was chosen, and of how many choices whose sides are known."""
        placed = [choice for choice in self.choices if choice.right and choice.chosen != "tie"]
        return sum(choice.chosen == choice.right for choice in placed), len(placed)

    @cached_property
    def raters(self) -> Sequence[PairRater]:
        """Each of them, by name."""
        own = defaultdict[str, list[PairChoice]](list)
        for choice in self.choices:
            own[choice.rater].append(choice)
        raters = list[PairRater]()
        for rater in sorted(own):
            preferred = Preferred.of(rater, own[rater])
            times = [choice.seconds for choice in own[rater] if choice.seconds is not None]
            a, b = self.overall.a - preferred.a, self.overall.b - preferred.b
            raters.append(PairRater(rater, preferred, median(times) if times else None, b / (a + b) if a + b else None))
        return raters

    def _divided(self, key: Callable[[PairChoice], str | None]) -> list[Preferred]:
        parts = defaultdict[str, list[PairChoice]](list)
        for choice in self.choices:
            if (name := key(choice)) is not None:
                parts[name].append(choice)
        return [Preferred.of(name, parts[name]) for name in sorted(parts)]


class PairRow(OwnPart):
    """A line of a CSV of choices; other columns are read past."""

    model_config = ConfigDict(extra="ignore", strict=False)

    annotator: Id
    item: Id
    chosen: Id
    confidence: Confidence = None
    seconds: Seconds = None
    stratum: Name = ""
    left: Name = ""
    right: Name = ""
    a: Name = ""
    b: Name = ""


def load_pairs(named: str | Path) -> PairStudy:
    """The published study of pairs of a benchmark, by its name, or a person's own choices, by the path of a CSV.

    Raises a `UsageError` where the benchmark has no such study, and as `read_pairs` does.
    """
    from dspy_proact.evaluation.registry import find_benchmark

    declared = find_benchmark(str(named))
    if declared is None:
        return read_pairs(str(named))
    published: PublishedPairs | None = declared.people.pairs() if declared.people and declared.people.pairs else None
    if published is None:
        raise UsageError(f"{declared.name} declares no `pairs`; give a CSV of choices")
    return read_pairs(str(published.file), declared.name, published)


def read_pairs(path: str, name: str | None = None, published: PublishedPairs | None = None) -> PairStudy:
    """The choices in a CSV.

    Columns left and right name the two answers as they stood, a and b as they are called; `chosen` is one of these
    names, the word of its column, or tie. Without either the answers are a and b. Raises a `CorpusError` where there is
    no such file, it is not valid, compares more than two answers, or a rater chose twice between two.
    """
    sheet = CsvSheet.of(StringIO(text_of(read_bytes(path, _WANTED), path)), path)
    lacking = [column for column in _COLUMNS if column not in sheet.columns]
    if sheet.head is None or lacking:
        problem = f"lacks the columns {', '.join(lacking)}; a choice needs {', '.join(_COLUMNS)}"
        raise CorpusError(problem, source=path, line=1)
    sides = next((pair for pair in (("left", "right"), ("a", "b")) if set(pair) & set(sheet.columns)), None)
    choices, lines, names = list[PairChoice](), dict[tuple[str, str], int](), list[str]()
    for line in sheet.rows(numbers=("confidence", "seconds")):
        row = PairRow.of(line)
        here = [getattr(row, side).strip() for side in sides] if sides else ["a", "b"]
        names = names or (sorted(here) if sides == ("left", "right") else here)
        choice = _choice(line, row, sides or ("a", "b"), here, names)
        if (before := lines.setdefault((choice.rater, choice.item), line.number)) != line.number:
            raise line.error(
                f"{choice.rater} chose on {choice.item} on line {before} already; keep one of the two", "item"
            )
        choices.append(choice)
    if not choices:
        raise CorpusError("no line has a choice", source=path)
    return PairStudy(name or path, (names[0], names[1]), choices, published)


def choices_sheet(study: PairStudy) -> str:
    """The choices as a CSV, which `read_pairs` reads."""
    rows = [
        (choice.rater, choice.item, *study.names, choice.chosen, choice.confidence, choice.seconds, choice.stratum)
        for choice in study.choices
    ]
    return csv_text([("annotator", "item", "a", "b", "chosen", "confidence", "seconds", "stratum"), *rows])


def _choice(line: Line, row: PairRow, sides: tuple[str, str], here: Sequence[str], names: Sequence[str]) -> PairChoice:
    """The choice on a line, between the answers `here` under the columns `sides`; a and b are called `names`."""
    if not all(here) or len(set(here)) < 2 or sorted(here) != sorted(names):
        raise line.error(f"{' and '.join(map(repr, here))} are not the two answers {' and '.join(names)}", sides[0])
    words = dict(zip(sides, here, strict=True)) | {name.casefold(): name for name in here}
    chosen = row.chosen.strip().casefold()
    if chosen not in {"tie", *words}:
        raise line.error(f"{row.chosen!r} is none of {', '.join(dict.fromkeys([*words, 'tie']))}", "chosen")
    of: dict[str, Literal["a", "b"]] = {names[0]: "a", names[1]: "b"}
    return PairChoice(
        normalize("NFC", row.annotator.strip()),
        row.item.strip(),
        "tie" if chosen == "tie" else of[words[chosen]],
        right=of[here[1]] if sides == ("left", "right") else None,
        confidence=row.confidence,
        seconds=row.seconds,
        stratum=row.stratum.strip(),
    )


def pairs_headline(study: PairStudy) -> Headline:
    """Which answer is preferred, where the interval over items and raters excludes one half; else that it is open."""
    (a, b), overall, raters = study.names, study.overall, len(study.raters)
    preferred = overall.share
    if preferred.value is None:
        return Headline(f"All {counted(len(study.choices), 'choice')} are ties.", count=0)
    who = "people" if raters >= ENOUGH_RATERS else f"these {raters} raters" if raters > 1 else "this rater"
    numbers = f"{overall.b} of {overall.decided} ({share(preferred.value)} %, {interval(preferred)})"
    low, high = preferred.low or 0, preferred.high or 1
    side = None if raters == 1 else "higher" if low > 0.5 else "lower" if high < 0.5 else None
    if side:
        better, worse = (b, a) if side == "higher" else (a, b)
        text = f"{who[0].upper()}{who[1:]} prefer {better} to {worse}: {b} is chosen in {numbers}."
    else:
        text = f"It is not shown which of {a} and {b} {who} prefer: {b} is chosen in {numbers}."
        if raters == 1:
            text = f"One rater is too few to claim a preference of people: {b} is chosen in {numbers}."
    below = (f"The interval: {preferred.reason}.",) if preferred.low is not None and preferred.reason else ()
    if overall.ties > overall.decided:
        below = (f"Most choices are ties: {overall.ties:,} of {len(study.choices):,}, which are left out.", *below)
    return Headline(text, side, preferred, "95 % interval", count=overall.decided, caveats=below)


def pairs_document(study: PairStudy) -> dict[str, Any]:
    """The document of `agree --pairs --json`."""
    published, first = study.published, pairs_headline(study)
    return {
        "headline": first.text,
        "claim": first.claim,
        "name": study.name,
        **dict(zip("ab", study.names, strict=True)),
        "choices": len(study.choices),
        "items": study.items,
        "raters": [rater.preferred.for_json() | fields_of(rater, "seconds", "without") for rater in study.raters],
        "all": study.overall.for_json() | {"with_ties_as_half": study.halves},
        "strata": [stratum.for_json() for stratum in study.strata],
        "confidence": [confidence.for_json() for confidence in study.confidences],
        "right": dict(zip(("chosen", "of"), study.right, strict=True)),
        "published": published
        and {
            "figures": {name: document(figure) | {"p": p} for name, (figure, p) in published.figures.items()},
            **fields_of(published, "method", "faults"),
        },
    }


def print_pairs(study: PairStudy, console: Console | None = None, explain: bool = False) -> None:
    """Print the headline, the shares and the raters; with `explain`, what the numbers are."""
    (a, b), published = study.names, study.published
    figures: Mapping[str, tuple[Estimate, float]] = published.figures if published else {}
    parts = [
        [study.overall],
        study.strata,
        [replace(confidence, name=f"confidence {confidence.name}") for confidence in study.confidences],
    ]
    sections = [
        [
            [row.name, f"{row.b}/{row.decided}", percent(row.share)]
            + [f"{percent(own.share).partition(' ')[2]} p {probability(own.p)}" if (own := row.binomial) else "-"]
            + ([percent(figures[row.name][0]) if row.name in figures else ""] if figures else [])
            for row in part
        ]
        for part in parts
        if part
    ]
    heads = (f"choose {b}", "n", "share, %", "binomial, %", *(["published, %"] if figures else []))
    show(console, *pairs_headline(study).lines, *([published.about] if published else []), table(heads, *sections))
    rows = [
        [
            *map(str, (rater.rater, rater.preferred.a, rater.preferred.b, rater.preferred.ties)),
            share(rater.preferred.share.value),
            "-" if rater.seconds is None else f"{rater.seconds:.0f}",
            share(rater.without),
        ]
        for rater in study.raters
    ]
    show(console, table(("rater", a, b, "tie", f"{b}, %", "seconds", "others, %"), rows))
    show(
        console,
        *_notes(study),
        *reason_lines((row.name, row.share.reason) for part in parts for row in part if row is not study.overall),
    )
    if published:
        show(console, f"Published: {published.method}", *(f"Fault: {fault}" for fault in published.faults))
    if explain:
        show(console, *(explained(Nouns(), term) for term in ("share", "binomial", "seconds", "others")))


def _notes(study: PairStudy) -> Iterator[str]:
    (_, b), overall = study.names, study.overall
    yield f"{counted(len(study.choices), 'choice')} of {counted(study.items, 'item')}."
    if overall.ties:
        halves = f"with a tie as half a choice for either, {b} has {share(study.halves)} %"
        yield f"{counted(overall.ties, 'tie')} left out of the shares; {halves}."
    if study.right[1]:
        yield f"The answer on the right was chosen in {study.right[0]} of {study.right[1]}."
