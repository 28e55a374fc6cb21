"""What a benchmark declares whose made corpora can be published, and what stands in the files of a publication."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dspy_proact.types import Frozen

PUBLICATION = "publication.json"
"""File that marks a published folder, a `PublicationRecord`."""
CANARY_FIELD, HELD_BACK_FIELD = "canary", "held_back"
"""In every row and document of data: the GUID, and true where it is of a held-back part."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class DataTable:
    """Files of one kind that hold a corpus: JSONL with a row a line, or JSON with one object a file."""

    name: str
    """Such as `dialogues`; the configuration of `datasets`."""
    files: str
    """Name, or a pattern of names such as `tasks/*.json`."""
    about: str
    """What a row is, a sentence."""
    key: Callable[[str, Row], str]
    """Name of the file and row: the key of the item that reviews and files name."""
    group: Callable[[str, Row], str]
    """Likewise: what items share, such as a persona; held back together."""
    slot: Callable[[str, Row], str] | None = None
    """Likewise: the key of what one slot made, as `items.jsonl` has it; that of `key` where None."""
    private: bool = False
    """Whether it is read for the description alone, and not published."""
    arrays: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Texts inside rows that Croissant describes: by name a column, and the path in its JSON."""

    @property
    def lines(self) -> bool:
        """Whether it is JSONL, which `datasets` and Croissant read."""
        return self.files.endswith(".jsonl")


@dataclass(frozen=True)
class PublicData:
    """What a description is written from: what the corpus was made from, and the rows that are published."""

    brief: Mapping[str, Any]
    """As JSON."""
    rows: Mapping[str, Sequence[Row]]
    """By table."""
    models: Mapping[str, Sequence[str]]
    """Names by role."""


@dataclass(frozen=True)
class Description:
    """What card, datasheet and metadata say of a corpus in its benchmark's words; every text is one paragraph."""

    title: str
    """May have words of the brief."""
    language: str
    """As the brief says it, such as `German`."""
    purpose: str
    instance: str
    """What an item is, what its labels are, and who is in it."""
    counts: Sequence[tuple[str, str]]
    """What there is, and how much of it."""
    method: str
    """How models wrote it."""
    proof: Sequence[str]
    """What was tested of the items that are published, a sentence each with its denominators."""
    uses: Sequence[str]
    """What it is for and what not, a sentence each."""
    limits: Sequence[str]
    attributions: Sequence[str]
    """Licences of what it was made from, a sentence each."""
    product: str = ""
    """The owner's own text that it is about; empty for none."""
    collected: str = ""
    """What people wrote of it, and for what; empty where models wrote all."""


@dataclass(frozen=True)
class Publishing:
    """How a benchmark's made corpora are published."""

    tables: Sequence[DataTable]
    """The first one holds the items; those of `further` are among them."""
    describe: Callable[[PublicData], Description]
    metric: str
    """Id of the number that ranks, such as `strict`."""
    items: tuple[str, str] = ("item", "items")
    """Noun of an item, and its plural."""
    groups: tuple[str, str] = ("group", "groups")
    """Likewise of what is held back together."""
    further: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda _: {}
    """Tables that loaders read more easily, by the name of their file, made of the files of a part."""

    notice: Callable[[Mapping[str, int]], str] = lambda _: ""
    """What must be done before it is published, by the number of rows of each table."""
    unhashed: Sequence[str] = ()
    """Stages whose prompts hold what is not published: by a hash of them others could try what stood there."""

    @property
    def private(self) -> set[str]:
        """Names of the tables that are not published."""
        return {table.name for table in self.tables if table.private}


class ReviewCounts(Frozen):
    """What people said of all items, published and held back."""

    reviewers: int
    items: int
    reviewed: int
    accepted: int
    edited: int
    rejected: int
    twice: int
    """Items that two people or more reviewed."""
    agreeing: int
    """Of these, the number on which all reviewers agreed, edits included, before the owner decided."""


class HeldBack(Frozen):
    """The part that is not published, so that no model can have learned it."""

    share: float
    """The share of groups that was asked for, in (0, 1)."""
    groups: int
    items: int
    sha256: str
    """Of its file SHA256SUMS, which has the hash of every other file."""


class PublicationRecord(Frozen):
    """`publication.json`."""

    format: Literal[1] = 1
    part: Literal["public", "held back"]
    title: str
    benchmark: str
    canary: str
    corpus: str
    """sha256 of all that decided how it was made."""
    licence: str
    rows: dict[str, int]
    """By table."""
    groups: int
    items: int
    held_back: HeldBack | None = None
    reviews: ReviewCounts | None = None
    """None where nobody has reviewed it."""
    dspy_proact: str
    """Version."""


class PublicAuthor(Frozen):
    """Who wrote one answer."""

    stage: str
    turn: int
    role: str
    model: str
    prompt: str | None
    """sha256 of the messages; None where they hold what is not published."""
    broke_rules: bool
    """Whether it broke a rule, so that it was not used as it is."""


class PublicItem(Frozen):
    """A line of the published `items.jsonl`: without prices, endpoints and what others were dropped for."""

    key: str
    seed: int
    attempt: int
    """That made it, counted from 1."""
    failed_attempts: int
    authors: tuple[PublicAuthor, ...]
    canary: str


class Edit(Frozen):
    """A line of `edits.jsonl`: what people changed, beside what models wrote."""

    item: str
    field: str
    before: str
    after: str
    canary: str


@dataclass(frozen=True)
class Owner:
    """What the owner of a corpus states of its publication."""

    licence: str = "unknown"
    """An identifier of the Hub's, such as `cc-by-4.0`."""
    name: str = ""
    """Of the corpus, in place of the benchmark's title."""
    contact: str = ""
    """Who publishes and maintains it."""
    url: str = ""
    """Where it will be found."""
    terms: str = ""
    """What the terms of the models' providers say of publishing their output."""
    date: str = ""
    """Of its publication, as YYYY-MM-DD."""
