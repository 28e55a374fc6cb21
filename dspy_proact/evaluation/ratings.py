"""What people thought of answers of any benchmark: items, rated or not, and grades; nothing here says who is right."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any, Self

from pydantic import BaseModel, Field

from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.checks import checked, file_of
from dspy_proact.evaluation.people import HumanGrade, Part, People, parts_of
from dspy_proact.files.labels import Label, LabelFile, counted_words
from dspy_proact.plain_text import encodable
from dspy_proact.plain_text import shown as quoted
from dspy_proact.runs import Case, Nouns, Settings, answer_text, seeded_order
from dspy_proact.types import Frozen


class Draw(Frozen):
    """How items of a sheet were drawn from a run, to draw them again; as `count-seed-mark` it tells a rater nothing."""

    count: int = Field(ge=1)
    """Items that were asked for."""
    seed: int = Field(ge=0)
    mark: str = Field(pattern=r"^[0-9a-f]{8}$")
    """Of the cases and grades that they were drawn from."""

    def __str__(self) -> str:
        return f"{self.count}-{self.seed}-{self.mark}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The draw of a text; None where it is none."""
        match = re.fullmatch(r"([1-9]\d{0,8})-(\d{1,9})-([0-9a-f]{8})", text.strip())
        return match and cls(count=int(match[1]), seed=int(match[2]), mark=match[3])


@dataclass(frozen=True)
class RatedItem:
    """One answer that people rated, or were asked to."""

    key: str
    """What ratings refer to; unique in a study."""
    group: str
    """The unit of clustering; empty where it is not known."""
    stratum: str
    text: str | None = None
    """The answer as people read it; None where only labels are known, or where a run has none."""
    view: BaseModel | None = None
    """What a judge sees beside the answer; None where that is not known."""
    answer: BaseModel | None = None
    """What a judge grades; None where there is nothing to grade."""
    judged: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """A judge's level of each part of the grading, by name, as far as it is known."""
    meta: Mapping[str, str | int] = field(default_factory=dict[str, str | int], hash=False)
    grades: Mapping[str, Sequence[HumanGrade]] = field(default_factory=dict[str, Sequence[HumanGrade]], hash=False)
    """People's grades by part, at least one each, where the item is one of `Ratings.rated`."""

    def consensus(self, part: Part) -> str:
        """People's commonest level of a part; ties go as `Part.ties` has it."""
        return max(part.ties, key=[grade.grade for grade in self.grades[part.name]].count)

    @property
    def case(self) -> Case:
        """The case of an item that can be judged."""
        assert self.view is not None, "asked of items that can be judged only"
        return Case(self.key, self.group, self.stratum, self.view, self.meta)

    @property
    def judgeable(self) -> bool:
        """Whether a judge can grade it."""
        return self.view is not None and self.answer is not None

    @property
    def ratable(self) -> bool:
        """Whether there is an answer that people can rate, or may be one where only labels are known."""
        return self.view is None or self.text is not None

    @property
    def seen(self) -> list[Any]:
        """Everything that is known of it but the judge's grade, as JSON."""
        parts = (part and part.model_dump(mode="json") for part in (self.view, self.answer))
        return [self.key, self.group, self.stratum, self.text, *parts, dict(self.meta)]


_NOTHING = Frozen()
"""In place of the view of an item that may have none."""


class RatingsSource(Frozen):
    """What a study was read from."""

    origin: str
    """A path, or the address of a repository."""
    commit: str | None = None
    """Of the repository; None for files, which have none."""
    files: Mapping[str, str]
    """64 hex digits over the bytes of each file that was read, by its name."""

    @classmethod
    def of(cls, origin: str, contents: Mapping[str, bytes]) -> Self:
        """The source that these contents came from."""
        return cls(origin=origin, files={name: hashlib.sha256(data).hexdigest() for name, data in contents.items()})


@dataclass(frozen=True)
class Ratings:
    """A study: answers, and people's grades of them. What was left out in reading is counted."""

    name: str
    """What the person asked for: a name, or a path."""
    benchmark: str
    items: tuple[RatedItem, ...]
    """In the order of their file, rated or not; no two have one key."""
    grades: tuple[HumanGrade, ...]
    """In the order of their file, at least one; nobody grades a part of an item twice."""
    source: RatingsSource = field(hash=False)
    judge: str = ""
    """Whose grades stand with the items, by name; empty where it is not known."""
    agents: bool = False
    """Whether the raters are language-model agents, and not people."""
    about: tuple[str, ...] = ()
    """What must be known of the raters and the items, in sentences."""
    ungraded: int = 0
    """Lines whose grade was left empty."""
    left_out: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    """Answers that a labelling tool does not count, by its word for them."""
    ignored_fields: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    """How often each field occurred that the format does not know, by dotted name."""
    draws: frozenset[Draw] = frozenset()
    """How rated items were chosen, as far as their lines say it."""

    def __repr__(self) -> str:
        count = f"{len(self.grades):,} ratings of {len(self.items):,} items by {len(self.raters):,} raters"
        return f"Ratings({self.name!r}, {count})"

    @classmethod
    def of(
        cls,
        name: str,
        declared: Benchmark[Any, Any],
        items: Sequence[RatedItem],
        files: Sequence[LabelFile],
        *,
        source: RatingsSource,
        shown: Callable[[str], str] = str,
    ) -> Self:
        """Join the labels of files with the items that they are of.

        `shown` is how the text of an answer is shown to raters. Raises a `CorpusError` where two items have one key,
        there is no grade, a grade is of no item, of no part, of no level of its part or of another answer, or somebody
        grades a part of an item twice.
        """
        by_key = {item.key.strip(): item for item in items}
        if len(by_key) < len(items):
            ((key, count),) = Counter(item.key.strip() for item in items).most_common(1)
            raise CorpusError(f"{count} items have the key {quoted(key)}; a key is of one item", source=name)
        labels, ungraded = [label for file in files for label in file.labels], sum(file.ungraded for file in files)
        if not labels:
            left = f": the grade is empty on {ungraded} lines; fill it in" if ungraded else ""
            raise CorpusError(f"there is no rating in it{left}", source=name)
        _require_single(labels, by_key)
        levels = {part.name: part.levels for part in parts_of(declared)}
        ignored, left_out = (
            dict(sorted(sum(map(Counter[str], counts), Counter[str]()).items()))
            for counts in ([file.ignored for file in files], [file.left_out for file in files])
        )
        return cls(
            name=name,
            benchmark=declared.name,
            items=tuple(items),
            grades=tuple(_grade(label, by_key[label.item], levels, shown) for label in labels),
            source=source,
            ungraded=ungraded,
            left_out=left_out,
            ignored_fields=ignored,
            draws=frozenset(draw for draw in map(_draw, labels) if draw),
        )

    @classmethod
    def of_human_grades(
        cls, name: str, declared: Benchmark[Any, Any], grades: Sequence[HumanGrade], cases: Iterable[Case]
    ) -> Self:
        """Grades of answers that a benchmark declares, with their cases; a `UsageError` for one of none of these."""
        by_key, items = {case.key: case for case in cases}, dict[str, RatedItem]()
        for grade in grades:
            if (case := by_key.get(grade.case)) is None:
                problem = f"a human grade is of the case {grade.case!r}, which the sample lacks"
                raise UsageError(f"{declared.name}: {problem}")
            assert grade.answer is not None, "a benchmark declares grades of answers"
            text, meta = answer_text(grade.answer.model_dump(mode="json")), {**case.meta, "case": case.key}
            item = RatedItem(grade.key, case.group, case.stratum, text, case.view, grade.answer, meta=meta)
            items.setdefault(grade.key, item)
        source, about = RatingsSource(origin=name, files={}), declared.people.about if declared.people else ""
        return cls(name, declared.name, tuple(items.values()), tuple(grades), source, about=(about,) if about else ())

    def among(self, items: Sequence[RatedItem]) -> Self:
        """The same grades, of the items of a run that have these keys.

        Raises a `CorpusError` where an item that somebody graded is none of them, or has another text there.
        """
        by_key = {item.key: item for item in items}
        for item in self.rated:
            if item.key not in by_key:
                raise CorpusError(f"{quoted(item.key)} is none of the {len(by_key)} items of the run", source=self.name)
            if by_key[item.key].text != item.text:
                problem = f"{quoted(item.key)} has another response in the run; name ratings of the run's own responses"
                raise CorpusError(problem, source=self.name)
        return replace(self, items=tuple(items))

    @cached_property
    def by_item(self) -> Mapping[str, tuple[HumanGrade, ...]]:
        """The grades of every item, by key in item order; none for an item without a grade."""
        rows = defaultdict[str, list[HumanGrade]](list)
        for row in self.grades:
            rows[row.key].append(row)
        return {item.key: tuple(rows[item.key]) for item in self.items}

    @cached_property
    def rated(self) -> tuple[RatedItem, ...]:
        """Items that somebody graded, with their grades."""
        by_part = {
            key: {part: [row for row in rows if row.part == part] for part in dict.fromkeys(row.part for row in rows)}
            for key, rows in self.by_item.items()
        }
        return tuple(replace(item, grades=by_part[item.key]) for item in self.items if by_part[item.key])

    def limited(self, limit: int | None) -> "Ratings":
        """Its first rated items, in the order that a run's limit goes by, with their grades; itself if it has no more.

        Raises a `UsageError` for a limit below 1.
        """
        if limit is not None and limit < 1:
            raise UsageError(f"`limit={limit}`: must be 1 or more")
        rated = {item.key for item in self.rated}
        if limit is None or limit >= len(rated):
            return self
        order = seeded_order([Case(item.key, item.group, item.stratum, _NOTHING) for item in self.rated])
        taken = {case.key for case in order[:limit]}
        items, grades = ((one for one in several if one.key in taken) for several in (self.items, self.grades))
        return replace(self, items=tuple(items), grades=tuple(grades))

    @property
    def raters(self) -> tuple[str, ...]:
        """Everyone who gave a grade, in the order of their first ones."""
        return tuple(dict.fromkeys(row.rater for row in self.grades))

    @property
    def seconds(self) -> float | None:
        """Mean time of a rating, as far as times were recorded; None where none was."""
        times = [row.seconds for row in self.grades if row.seconds]
        return fmean(times) if times else None

    @cached_property
    def sha256(self) -> str:
        """64 hex digits over items, grades and their order; where and in which form they were kept does not matter."""
        rows = [[row.key, row.part, row.grade, row.rater, row.reason, row.confidence] for row in self.grades]
        return digest([[[*item.seen, dict(item.judged)] for item in self.items], rows])

    def notes(self, nouns: Nouns) -> tuple[str, ...]:
        """What a person should know before believing a figure, a sentence each; nothing where all is well."""
        counts = [len({row.rater for row in rows}) for rows in self.by_item.values()]
        strata = dict.fromkeys(item.stratum for item in self.items)
        silent = [stratum for stratum in strata if stratum not in {item.stratum for item in self.rated}]
        unknown = sum(not item.group for item in self.items)
        ignored = counted_words({repr(name): count for name, count in self.ignored_fields.items()})
        consequence = f"so that nobody knows which belong together: {unknown}"
        notes = (
            (counts.count(0), f"items without a rating: {counts.count(0)} of {len(counts)}"),
            (counts.count(1), f"items with one rater (not usable for agreement): {counts.count(1)}"),
            (len(silent), f"{nouns.strata} without a rating: {', '.join(silent)}"),
            (self.ungraded, f"lines without a grade, left out: {self.ungraded}"),
            (len(self.left_out), f"answers that the labelling tool does not count: {counted_words(self.left_out)}"),
            (unknown, f"items without a {nouns.group}, {consequence}"),
            (len(self.ignored_fields), f"ignored fields that the format does not know: {ignored}"),
        )
        return tuple(note for count, note in notes if count)


def ratings_named(declared: Benchmark[Any, Any], name: str, settings: Settings) -> Ratings | None:
    """Ratings that a benchmark knows by a name, or in a form of its own; None for another, such as a file of labels.

    By default `sample` and `published` are its declared grades, which are called `your ratings` where a person's own
    file declares them, else `sample`: they are of its sample, and nobody published them. Raises a `CorpusError` where
    there are no such ratings or they are not valid, and a `UsageError` where the benchmark declares no human grades.
    """
    people = declared.people or People()
    if people.ratings:
        return people.ratings(declared, name, settings)
    if name not in ("sample", "published"):
        return None
    if people.grades is None or not (grades := tuple(people.grades())):
        raise UsageError(
            f"{declared.name}: there are no people's ratings to agree with; declare `grades` of its `people`"
        )
    sample = checked(declared, "read", declared.read("sample", declared.settings_type()))
    called = "your ratings" if file_of(declared) else "sample"
    return Ratings.of_human_grades(called, declared, checked(declared, "people", grades), sample.cases)


def items_in(declared: Benchmark[Any, Any], data: bytes, source: str) -> Sequence[RatedItem]:
    """The items to be rated in a file; raises a `UsageError` where the benchmark has no form of items."""
    if declared.people is None or declared.people.layout is None:
        raise UsageError(f"`items`: {declared.name} has no form of items; name the run that is rated")
    return declared.people.layout.items(data, source)


def _require_single(labels: Sequence[Label], items: Mapping[str, RatedItem]) -> None:
    """Raise a `CorpusError` where a label is of none of the items, or somebody grades a part of one twice."""
    if unknown := [label for label in labels if label.item not in items]:
        others = f", and {len(unknown) - 1} more ratings are of items that are not" if len(unknown) > 1 else ""
        problem = f"{quoted(unknown[0].item)} is none of the {len(items)} items{others}"
        raise unknown[0].error(f"{problem}; give the run or the items that these ratings were made for", "item")
    firsts = dict[tuple[str, str, str], Label]()
    for label in labels:
        first = firsts.setdefault((label.rater, label.item, label.part), label)
        if first is not label:
            elsewhere = f" of {first.line.source}" if first.line.source != label.line.source else ""
            problem = f"{quoted(label.rater)} rated {quoted(label.item)} {first.line.position}{elsewhere} already"
            raise label.error(f"{problem}; keep one of the two", "item")


def _grade(
    label: Label, item: RatedItem, levels: Mapping[str, tuple[str, ...]], shown: Callable[[str], str]
) -> HumanGrade:
    """A label as a grade of its item; raises a `CorpusError` where it is of no level, or of another answer."""
    if label.part not in levels:
        known = ", ".join(filter(None, levels))
        mend = f"; the parts are {known}" if known else ", which has none: leave the column out"
        raise label.error(f"{quoted(label.part)} is no part of the grading{mend}", "part")
    if not item.ratable:
        raise label.error("there is no response to this item, so nothing that could be rated", "item")
    label.require_response(shown(item.text or ""))
    own = {level.casefold(): level for level in levels[label.part]}
    if label.grade.casefold() not in own:
        *most, last = reversed(levels[label.part])
        raise label.error(f"a grade is {', '.join(most)} or {last}, not {quoted(label.grade)}", "grade")
    return HumanGrade(
        item.key,
        item.answer,
        own[label.grade.casefold()],
        label.rater,
        part=label.part,
        reason=label.reason,
        confidence=label.confidence,
        seconds=label.seconds,
    )


def _draw(label: Label) -> Draw | None:
    """How the item of a label was chosen; raises a `CorpusError` where its draw is none."""
    if not label.draw:
        return None
    if draw := Draw.read(label.draw):
        return draw
    problem = f"a draw is what the sheet was printed with, such as 60-0-1a2b3c4d, not {quoted(label.draw)}"
    raise label.error(problem, "draw")


def folded(text: str) -> str:
    """The text as it comes back from a spreadsheet, which changes the ends of lines."""
    return encodable(text).replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")


def digest(values: object) -> str:
    """64 hex digits of sha256 over values as JSON."""
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
