"""What a corpus is published from: its files as they were made and reviewed, and the items of each part.

Groups are held back by a hash, so that one that is held back stays so when the corpus grows.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast

from pydantic import ValidationError

from dspy_proact.errors import CorpusError, RunError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.registry import benchmark_of
from dspy_proact.evaluation.reviewing import Review, Reviewing, ReviewItem, Settled, settle
from dspy_proact.files.rows import JsonFile, lines_in, lines_of, opened, read_bytes, text_of
from dspy_proact.generation.generation import ITEMS, CorpusClaim
from dspy_proact.generation.maker import ItemRecord, Making
from dspy_proact.kept import CORPUS_CLAIM, Claim
from dspy_proact.publish.markdown import canary_of
from dspy_proact.publish.publishing import (
    CANARY_FIELD,
    HELD_BACK_FIELD,
    DataTable,
    Edit,
    PublicAuthor,
    PublicItem,
    Publishing,
    ReviewCounts,
    Row,
)

EDITS = "edits.jsonl"
PartName = Literal["public", "held back"]
ReviewSource = str | Path | Sequence[Review]
"""Reviews, or the file of them."""
_FOLDERS = re.compile(r"[/~.]|[A-Za-z]:|.*\\")
"""The beginning of a path, by which local servers name their models."""


@dataclass(frozen=True)
class CorpusPart:
    """The items of one folder."""

    name: PartName
    canary: str
    texts: dict[str, str] = field(default_factory=dict[str, str])
    """Files of data by name, every row with its canary; none without a row."""
    rows: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    """By table, as read; of JSON files their objects."""
    keys: set[str] = field(default_factory=set[str])
    """Of the items."""
    slots: set[str] = field(default_factory=set[str])
    groups: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class Reviewed:
    """What people's reviews make of a corpus."""

    items: Sequence[ReviewItem]
    settled: Settled
    counts: ReviewCounts
    texts: Mapping[str, str]
    """Files with the reviews applied."""

    @classmethod
    def of(cls, declared: Benchmark[Any, Any], folder: Path, source: ReviewSource) -> "Reviewed | None":
        """What reviews decide; None where there are none. Raises as `read_reviews` and `settle` do."""
        reviews = read_reviews(source)
        if not reviews:
            return None
        if declared.corpus.reviewing is None:
            raise UsageError(f"{declared.name}: people do not review its corpora; leave `reviews` out")
        reviewing: Reviewing = declared.corpus.reviewing()
        items = reviewing.items(folder)
        settled = settle(items, reviews, str(source) if isinstance(source, str | Path) else "reviews")
        by_item = sorted((review for review in reviews if not review.decision), key=lambda review: review.item)
        of_item = [list(own) for _, own in groupby(by_item, key=lambda review: review.item)]
        twice = [own for own in of_item if len({review.reviewer for review in own}) > 1]
        counts = ReviewCounts(
            reviewers=len({review.reviewer for review in by_item}),
            items=len(items),
            reviewed=len(items) - len(settled.unreviewed),
            accepted=len(settled.accepted),
            edited=len(settled.edited),
            rejected=len(settled.rejected),
            twice=len(twice),
            agreeing=sum(len({review.outcome for review in own}) == 1 for own in twice),
        )
        return cls(items, settled, counts, reviewing.apply(folder, reviews))


@dataclass(frozen=True)
class Source:
    """A made corpus with its reviews."""

    declared: Benchmark[Any, Any]
    publishing: Publishing
    claim: CorpusClaim
    """What the folder says of how the corpus was made."""
    texts: Mapping[str, str]
    """Files of data by name."""
    records: Sequence[ItemRecord]
    """Who wrote what."""
    reviewed: Reviewed | None
    """None where nobody has reviewed it."""

    @classmethod
    def of(cls, folder: Path, reviews: ReviewSource, benchmark: Benchmark[Any, Any] | str | None) -> "Source":
        """The corpus in a folder; raises as `publish` says."""
        claim = Claim(folder, CORPUS_CLAIM, CorpusClaim, "corpus").read()
        if not claim.items:
            raise RunError(f"{folder}: is not finished; repeat the command that started it")
        declared = benchmark_of(claim.identity.benchmark, benchmark)
        making: Making | None = declared.corpus.making and declared.corpus.making()
        of = making and (making.logs if "logs" in claim.identity.brief else making)
        publishing: Publishing | None = of and of.publishing and of.publishing()
        if publishing is None or declared.name != claim.identity.benchmark:
            raise UsageError(f"{folder}: of {claim.identity.benchmark!r}, whose corpora {declared.name} cannot publish")
        texts = dict[str, str]()
        for name, hashes in claim.files.items():
            if name == ITEMS or table_of(name, publishing.tables):
                source = str(folder / name)
                if ".." in PurePosixPath(name).parts:  # it would be written outside of the published folder, too
                    raise RunError(f"{folder / CORPUS_CLAIM}: no file of a corpus can be called {name!r}")
                data = read_bytes(source, "a corpus that `generate` made")
                if (hashlib.sha256(data).hexdigest(),) != hashes:
                    problem = "was changed since it was made, or its making did not end; repeat its `generate`, and "
                    raise CorpusError(f"{problem}have people edit it in the browser", source=source)
                texts[name] = text_of(data, source)
        records = [*_records(texts.pop(ITEMS, ""), str(folder / ITEMS))]
        declared.read(str(folder), declared.settings_type(), None)  # what no run could read is not published
        reviewed = Reviewed.of(declared, folder, reviews)
        if reviewed:
            texts |= {name: text for name, text in reviewed.texts.items() if table_of(name, publishing.tables)}
        return cls(declared, publishing, claim, texts, records, reviewed)

    @property
    def models(self) -> dict[str, list[str]]:
        """Names that may be published, by role."""
        of_roles = self.claim.identity.models.items()
        return {role: [public_name(model.model) for model in models] for role, models in of_roles}

    @property
    def _model_names(self) -> set[str]:
        return {model.model for models in self.claim.identity.models.values() for model in models}

    def part(self, name: PartName, share: float) -> CorpusPart:
        """The items that are published, or that are held back where so large a share of the groups is."""
        held, digest = name == "held back", self.claim.identity.digest()
        part = CorpusPart(name, canary_of(digest, " held back" if held else ""))
        renamed = {name: own for name in self._model_names if (own := public_name(name)) != name}
        marks = {CANARY_FIELD: part.canary, **({HELD_BACK_FIELD: True} if held else {})}
        rejected = self.reviewed.settled.rejected if self.reviewed else ()
        for file, text in sorted(self.texts.items()):
            table, written = table_of(file, self.publishing.tables), list[str]()
            assert table, "only files of tables are read"
            for row, key, group in _keyed_rows(file, text, table):
                if key in rejected or (threshold_of(digest, group) < share) != held:
                    continue
                part.rows.setdefault(table.name, []).append(row)
                if table.private:
                    continue
                part.groups.add(group)
                part.slots.add(table.slot(file, row) if table.slot else key)
                part.keys.update([key] if table is self.publishing.tables[0] else [])
                marked = {**_renamed(row, renamed), **marks}
                written.append(json.dumps(marked, ensure_ascii=False, indent=None if table.lines else 2))
            if written:
                part.texts[file] = "".join(f"{line}\n" for line in written)
        for file, text in self.publishing.further(part.texts).items():
            part.texts[file] = text
            if table := table_of(file, self.publishing.tables):
                part.rows[table.name] = [row for row, _, _ in _keyed_rows(file, text, table)]
        return part

    def files(self, part: CorpusPart) -> dict[str, str]:
        """The files of a part: data, who wrote it, and what people changed."""
        items = [
            _public_item(record, part.canary, self.publishing.unhashed)
            for record in self.records
            if record.key in part.slots
        ]
        edits = [
            Edit(item=item.key, field=own.name, before=own.text, after=after, canary=part.canary)
            for item in (self.reviewed.items if self.reviewed else ())
            if self.reviewed and item.key in part.keys
            for own in item.fields
            if (after := self.reviewed.settled.edited.get(item.key, {}).get(own.name)) is not None
        ]
        files = {**part.texts, ITEMS: "".join(f"{item.model_dump_json()}\n" for item in items)}
        files |= {EDITS: "".join(f"{edit.model_dump_json()}\n" for edit in edits)} if edits else {}
        return files


def table_of(name: str, tables: Sequence[DataTable]) -> DataTable | None:
    """The table that a file is of; None for another file."""
    return next((table for table in tables if fnmatchcase(name, table.files)), None)


def _records(text: str, source: str) -> Iterator[ItemRecord]:
    """Who wrote what; raises a `CorpusError` at a line that does not say so."""
    for line in lines_in(text.split("\n"), source):  # str.splitlines splits within texts, too
        try:
            yield ItemRecord.model_validate_json(line.text)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise line.error(f"is no item: {fault['msg']}", ".".join(map(str, fault["loc"])) or None) from None


def _keyed_rows(file: str, text: str, table: DataTable) -> Iterator[tuple[Row, str, str]]:
    """Rows of a file, each with its key and its group; raises a `CorpusError` at one that is none of the table."""
    for line in lines_in(text.split("\n"), file) if table.lines else [JsonFile.of(file, text)]:
        row = line.parse()
        try:
            yield row, table.key(file, row), table.group(file, row)
        except (LookupError, TypeError):
            raise line.error("is no row of a corpus that `generate` made") from None


def threshold_of(corpus: str, group: str) -> float:
    """The share, in [0, 1), above which a group is held back: by a hash, so that no other group decides."""
    digest = hashlib.sha256(f"{corpus} {group}".encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:6]) / 2**48


def read_reviews(reviews: ReviewSource) -> Sequence[Review]:
    """Reviews, or those in a file, one a line; raises a `CorpusError` for a line that is none."""
    if not isinstance(reviews, str | Path):
        return reviews
    source, read = str(reviews), list[Review]()
    if Path(reviews).suffix == ".db":
        raise UsageError(f"{reviews}: is a study; name the file of reviews that `label export` writes of it")
    with opened(source, "a file of reviews, as `label export` writes one") as file:
        for line in lines_in(lines_of(file, source), source, "review"):
            try:
                read.append(Review.model_validate(line.parse()))
            except ValidationError as error:
                fault = error.errors(include_url=False)[0]
                raise line.error(f"is no review: {fault['msg']}", ".".join(map(str, fault["loc"])) or None) from None
    return read


def public_name(model: str) -> str:
    """A model's name without the local folders that a server may name it by."""
    provider, slash, name = model.partition("/")
    if not (slash and provider):
        return PurePosixPath(model.replace("\\", "/")).name
    if _FOLDERS.match(name):
        return f"{provider}/{PurePosixPath(name.replace(chr(92), '/')).name}"
    return model


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A copy of a JSON value in which texts that are one of these names are others; itself where there are none."""
    if isinstance(value, str) or not names:
        return names.get(value, value) if names else value
    if isinstance(value, Mapping):
        return {name: _renamed(inner, names) for name, inner in cast("Mapping[str, Any]", value).items()}
    return [_renamed(inner, names) for inner in cast("list[Any]", value)] if isinstance(value, list) else value


def _public_item(record: ItemRecord, canary: str, unhashed: Sequence[str]) -> PublicItem:
    assert record.key is not None, "an item of a part was made"
    assert record.attempt is not None, "likewise"
    authors = [
        PublicAuthor(
            stage=author.stage,
            turn=author.turn,
            role=author.role,
            model=public_name(author.model),
            prompt=None if author.stage in unhashed else author.prompt,
            broke_rules=bool(author.broken),
        )
        for author in record.authors
    ]
    return PublicItem(
        key=record.key,
        seed=record.seed,
        attempt=record.attempt,
        failed_attempts=len(record.failed),
        authors=tuple(authors),
        canary=canary,
    )
