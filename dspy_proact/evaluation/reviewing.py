"""What people say of the items of a corpus: accept, edit or reject, and what becomes of the corpus by it.

A benchmark declares a `Reviewing`, which shows its corpus item by item and writes its files anew. `label` collects
reviews and knows no benchmark; what publishes a corpus applies them. An edit stands beside the original: the files of
the corpus stay as they are, and `Reviewing.apply` gives new ones.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from pydantic import Field

from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.reporting import PageSection, text_of
from dspy_proact.evidence import Passage
from dspy_proact.files.rows import json_of
from dspy_proact.plain_text import encodable, shortened
from dspy_proact.types import Frozen

ReviewVerdict = Literal["accept", "edit", "reject"]
VERDICTS: tuple[ReviewVerdict, ...] = get_args(ReviewVerdict)
Realism = Literal["yes", "perhaps", "no"]
REALISM_QUESTIONS = {"happens": "Could this happen?", "reads_like_test": "Does it read like a test?"}
"""By the field of a review that holds the answer."""
OWNER = "owner"
"""The reviewer of a decision."""
_LONGEST_TEXT = 4_000
"""Characters of an edited text whose original has fewer than half of it."""


class Review(Frozen):
    """What one person says of one item, or what the owner of the corpus decided where two differ."""

    reviewer: str
    """Pseudonym; `owner` for a decision."""
    item: str
    """Key of the item."""
    mark: str
    """Of the item as it was read, `ReviewItem.mark`."""
    verdict: ReviewVerdict
    edits: dict[str, str] = Field(default_factory=dict[str, str])
    """By name, the new text of each field that differs; empty but for the verdict `edit`."""
    reason: str = ""
    """Empty where none is given; a rejection has one."""
    happens: Realism | None = None
    """Whether this could happen; None for a decision."""
    reads_like_test: Realism | None = None
    """Whether it reads like a test; None for a decision."""
    seconds: float = Field(default=0.0, ge=0)
    """Time taken, without pauses; 0 where it is not known."""
    time: float = Field(default=0.0, ge=0)
    """When it was given, in seconds since the epoch."""
    decision: bool = False
    """Whether the owner gave it, to settle what reviewers decided differently."""

    @property
    def outcome(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What it makes of the item: two reviews with the same outcome agree."""
        return self.verdict, tuple(sorted(self.edits.items()))


@dataclass(frozen=True)
class KeptQuote:
    """Words that an edit has to leave in their text, since something else in the corpus quotes them."""

    quote: str
    why: str
    """What quotes them, such as `the right answer`."""


@dataclass(frozen=True)
class ReviewField:
    """A text of an item that a reviewer may change."""

    name: str
    """Unique in its item, and the same whenever the corpus is read."""
    label: str
    text: str
    heading: str = ""
    """Under which fields stand together, such as `turn 3`; empty for none."""
    kind: Literal["line", "text", "value"] = "text"
    """One line, several, or a value of JSON whose type stays."""
    followed_by: tuple[tuple[str, str], ...] = ()
    """What is read below it and is not edited: who says it or what it is, and the text."""
    required: bool = True
    """Whether it may not be left blank."""
    keeps: tuple[KeptQuote, ...] = ()
    """Of these, those that stand in its text must stay in it."""
    stated_in: tuple[str, ...] = ()
    """Names of fields of which one has to state what this one has, where one does so now."""
    passage: str = ""
    """What has to state it in place of fields, where it does so now."""
    states: Callable[[object, str], bool] = lambda value, text: _stands(text_of(value), text)
    """Whether a text states a value: that of JSON where it is one, else the text of the field."""

    @property
    def longest(self) -> int:
        """The most characters of its text."""
        return max(_LONGEST_TEXT, 2 * len(self.text))

    @property
    def quotes(self) -> list[KeptQuote]:
        """Those that must stay."""
        return [kept for kept in self.keeps if _stands(kept.quote, self.text)]

    def value(self, text: str) -> object:
        """What a text that fits here says: the value of JSON that it is, or itself."""
        return json_of(text, self.name) if self.kind == "value" else text

    def misfit(self, text: str) -> str | None:
        """Why a text cannot stand here, a sentence; None where it can."""
        problem = None
        if len(text) > self.longest:
            problem = f"has {len(text):,} characters, and may have {self.longest:,}."
        elif self.required and not text.strip():
            problem = "is empty; reject the item where it cannot be mended."
        elif text != encodable(text) or any(ord(char) < 32 and char not in "\n\t" for char in text):
            problem = "holds characters that are no text."
        elif self.kind == "line" and "\n" in text:
            problem = "is one line."
        elif self.kind == "value" and not _same_type(text, self.text):
            problem = f"is a value of JSON of the same type as {self.text}."
        elif lost := [kept for kept in self.quotes if not _stands(kept.quote, text)]:
            problem = f"must still have the words “{shortened(lost[0].quote)}”: {lost[0].why} quotes them."
        return None if problem is None else f"{self.label} {problem}"


@dataclass(frozen=True)
class ReviewItem:
    """What a reviewer accepts, edits or rejects as one."""

    key: str
    """As files of the corpus name it."""
    title: str
    sections: tuple[PageSection, ...]
    """What is read and not edited."""
    fields: tuple[ReviewField, ...]
    group: str = ""
    """What items share, such as a person, which intervals allow for; empty for the item alone."""

    @property
    def mark(self) -> str:
        """16 hex digits over everything that a reviewer reads: a review of another text is none of this item."""
        fields = [(field.name, field.heading, field.label, field.text, field.followed_by) for field in self.fields]
        read = (self.title, self.sections, fields)
        return hashlib.sha256(repr(read).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def differing(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Those of some texts by field that differ from the item's, with plain ends of lines; unknown names stay."""
        now = {field.name: field.text for field in self.fields}
        plain = {name: text.replace("\r\n", "\n").replace("\r", "\n") for name, text in texts.items()}
        return {name: text for name, text in plain.items() if text != now.get(name)}

    def misfit(self, review: Review) -> str | None:
        """Why a review cannot be one of this item, a sentence; None where it can."""
        by_name, edits = {field.name: field for field in self.fields}, review.edits
        if unknown := next((name for name in edits if name not in by_name), None):
            return f"There is no field {unknown!r} in this item."
        if review.verdict == "edit" and not edits:
            return "Nothing was changed; accept it, or reject it."
        if edits != (self.differing(edits) if review.verdict == "edit" else {}):
            return "What was sent as changed is not."
        if review.verdict == "reject" and not review.reason.strip():
            return "A rejection has a reason."
        problems = (by_name[name].misfit(text) for name, text in edits.items())
        return next(filter(None, problems), None) or self._unstated(edits)

    def _unstated(self, edits: Mapping[str, str]) -> str | None:
        """Which value no text states any more after some edits, though one did before; None where all are stated."""
        before = {field.name: field.text for field in self.fields}
        after = {**before, **edits}
        labels = {field.name: field.label for field in self.fields}
        for field in self.fields:
            if {field.name, *field.stated_in}.isdisjoint(edits):
                continue

            def stated(texts: Mapping[str, str], field: ReviewField = field) -> bool:
                value = field.value(texts[field.name])
                return any(field.states(value, text) for text in (field.passage, *(texts[n] for n in field.stated_in)))

            if stated(before) and not stated(after):
                there = (
                    f"“{shortened(field.passage)}”"
                    if field.passage
                    else " or ".join(labels[name] for name in field.stated_in)
                )
                value = shortened(after[field.name])
                return f"{field.label} is {value}, which must be stated in what supports it: {there}."
        return None


class Reviewing(Protocol):
    """How the corpora of a benchmark are reviewed by people."""

    def items(self, corpus: Path) -> tuple[ReviewItem, ...]:
        """The items of a corpus, in the order of its files; raises a `CorpusError` where it cannot be read."""
        ...

    def apply(self, corpus: Path, reviews: Sequence[Review]) -> Mapping[str, str]:
        """The files of the corpus that reviews change, by name: without rejected items, and with edits applied.

        Files that no review can change are not among them. Raises a `UsageError` as `settle` does, where an item is
        unresolved, and where nothing would be left.
        """
        ...


@dataclass(frozen=True)
class Settled:
    """What becomes of the items of a corpus, each key in the order of the corpus."""

    accepted: tuple[str, ...]
    """As they are."""
    edited: Mapping[str, Mapping[str, str]]
    """By key, the new text of each changed field by name."""
    rejected: tuple[str, ...]
    unresolved: tuple[str, ...]
    """Reviewers decided differently, and the owner has not decided yet."""
    unreviewed: tuple[str, ...]
    """No review; they stay as they are."""

    def require_resolved(self, items: int) -> None:
        """Raise a `UsageError` where an item is unresolved, or none of so many would be left."""
        for key in self.unresolved[:1]:
            more = len(self.unresolved) - 1
            raise UsageError(
                f"reviewers decided differently on {key!r}{f' and {more} more' if more else ''}; decide on "
                "the owner's page of their study, and give the same command again"
            )
        if len(self.rejected) == items:
            raise UsageError("reviewers rejected every item, so that no corpus would be left")


def settle(items: Sequence[ReviewItem], reviews: Iterable[Review], source: str) -> Settled:
    """What reviews make of the items of a corpus, of which `source` is the name.

    The owner's last decision on an item counts; without one, all its reviews must have the same verdict and the same
    edits. Raises a `CorpusError` where a review is of no item, of another text, or could not have been given.
    """
    by_key, of_item = {item.key: item for item in items}, defaultdict[str, list[Review]](list)
    for review in reviews:
        if (item := by_key.get(review.item)) is None:
            raise CorpusError(f"a review is of {review.item!r}, which is none of its items", source=source)
        if review.mark != item.mark:
            problem = f"{review.item!r} has another text than what {review.reviewer} reviewed; have it reviewed again"
            raise CorpusError(problem, source=source)
        if misfit := item.misfit(review):
            raise CorpusError(f"the review of {review.item!r} by {review.reviewer} is no such: {misfit}", source=source)
        of_item[review.item].append(review)
    kinds: dict[str, list[str]] = {name: [] for name in ("accept", "reject", "unresolved", "unreviewed")}
    edited = dict[str, Mapping[str, str]]()
    for key in by_key:
        own = of_item[key]
        counted = [review for review in own if review.decision][-1:] or own
        if not counted or any(review.outcome != counted[0].outcome for review in counted):
            kinds["unresolved" if counted else "unreviewed"].append(key)
        elif counted[0].verdict == "edit":
            edited[key] = counted[0].edits
        else:
            kinds[counted[0].verdict].append(key)
    lists = {name: tuple(keys) for name, keys in kinds.items()}
    return Settled(lists["accept"], edited, lists["reject"], lists["unresolved"], lists["unreviewed"])


def value_text(value: Any) -> str:
    """A value of JSON as a field of the kind `value` has it."""
    return json.dumps(value, ensure_ascii=False)


def _same_type(text: str, other: str) -> bool:
    """Whether a text is JSON of the type of another one; numbers have one type, and null may become any."""
    with suppress(CorpusError):
        value, before = json_of(text, ""), json_of(other, "")
        kinds = [float if type(one) is int else type(one) for one in (value, before)]
        return kinds[0] is kinds[1] or before is None
    return False


def _stands(quote: str, text: str) -> bool:
    return Passage(text).quote(quote).start is not None
