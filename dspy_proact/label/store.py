"""Everything that raters did, in one SQLite file: who they are, what they are to rate, and a log of what they said.

    study           one row: what was declared at the beginning
    items           the key and mark of each item, in the order of the draw
    raters          pseudonym, digest of the token, when they were seen last
    practice        answers to practice items
    slates          places: an item that a rater is to rate, in order; a planned repeat is marked
    log             ratings and skips, which only grows; what was undone is marked, and stays
    reviews         of a study of a corpus: what a row of the log says of its item beside the verdict, its grade
    adjudications   grades of the owner's, beside the ratings; the last of an item counts

Every method that writes is one transaction, which is on disk before it returns. A write that comes twice with one
idempotency key is one row. Two processes may write at once.
"""

import hashlib
import hmac
import json
import math
import os
import secrets
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import TypeAdapter

from dspy_proact.errors import UsageError
from dspy_proact.kept import replacing
from dspy_proact.label.database import BESIDE, Database
from dspy_proact.label.study import LONGEST_NAME, Kind, Rater, Rating, Slot, StoredItem, Study, StudyItem, Submission

G = TypeVar("G", bound=Submission)
Item = TypeVar("Item", bound=StoredItem)
_FORMAT = 2
_STUDY, _RATINGS = TypeAdapter(Study), TypeAdapter(tuple[Rating, ...])
_SIDES = {"first": "second", "second": "first"}
_SCHEMA = """
CREATE TABLE study (id TEXT NOT NULL, format INTEGER NOT NULL, settings TEXT NOT NULL, owner BLOB NOT NULL,
    entry BLOB NOT NULL);
CREATE TABLE items (item TEXT PRIMARY KEY, rank INTEGER NOT NULL UNIQUE, run TEXT NOT NULL, "case" TEXT NOT NULL,
    part TEXT NOT NULL, mark TEXT NOT NULL);
CREATE TABLE raters (rater INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, token BLOB UNIQUE, seen REAL NOT NULL);
CREATE TABLE practice (rater INTEGER NOT NULL REFERENCES raters, item TEXT NOT NULL, grade TEXT NOT NULL,
    correct INTEGER NOT NULL, UNIQUE (rater, item));
CREATE TABLE slates (rater INTEGER NOT NULL REFERENCES raters, place INTEGER NOT NULL,
    item TEXT NOT NULL REFERENCES items, repeated INTEGER NOT NULL, returned REAL, PRIMARY KEY (rater, place),
    UNIQUE (rater, item, repeated));
CREATE TABLE log (number INTEGER PRIMARY KEY AUTOINCREMENT, rater INTEGER NOT NULL REFERENCES raters,
    item TEXT NOT NULL REFERENCES items, repeated INTEGER NOT NULL, grade TEXT NOT NULL, confidence INTEGER NOT NULL,
    reason TEXT NOT NULL, spans TEXT NOT NULL, seconds REAL NOT NULL, time REAL NOT NULL, key TEXT NOT NULL,
    undone REAL, undoing TEXT UNIQUE, UNIQUE (rater, key));
CREATE UNIQUE INDEX once ON log (rater, item, repeated) WHERE undone IS NULL;
CREATE VIEW places AS SELECT s.*, CASE WHEN l.grade <> '' THEN 'rated' WHEN l.number IS NOT NULL THEN 'skipped'
    WHEN s.returned IS NULL THEN 'open' ELSE 'returned' END AS state FROM slates s LEFT JOIN log l
    ON l.rater = s.rater AND l.item = s.item AND l.repeated = s.repeated AND l.undone IS NULL;
CREATE VIEW given AS SELECT number, name AS rater, run, "case", part, item, repeated, grade, confidence, reason, spans,
    seconds, time, key FROM log JOIN items USING (item) JOIN raters USING (rater) WHERE undone IS NULL;
CREATE TABLE reviews (number INTEGER PRIMARY KEY REFERENCES log, edits TEXT NOT NULL, happens TEXT NOT NULL,
    reads_like_test TEXT NOT NULL);
CREATE TABLE adjudications (number INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL REFERENCES items,
    grade TEXT NOT NULL, reason TEXT NOT NULL, time REAL NOT NULL, key TEXT NOT NULL UNIQUE);
"""


def digest_of_token(token: str) -> bytes:
    """What is kept of a token; a token of 128 random bits needs no salt."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def pseudonym(text: str) -> str:
    """A pseudonym in NFC with single blanks; raises `UsageError` where it is empty, too long or not printable."""
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise UsageError(f"a pseudonym has 1 to {LONGEST_NAME} characters that can be printed")
    return name


class Store:
    """The file of a study, made by `create`, opened by `open`, for one thread at a time; its `id` is 16 hex digits."""

    kinds: ClassVar[tuple[Kind, ...]] = ("grades", "pairs")
    """Of studies whose files these are."""
    source: ClassVar[str] = "of the runs; name those that the study began with"
    """Where items come from, in a message about one that is not there."""

    def __init__(self, path: Path, id: str, study: Study, clock: Callable[[], float]):  # noqa: A002
        self.path, self.id, self.study, self._clock = path, id, study, clock
        self._db = Database(path)

    @classmethod
    def create(
        cls,
        path: Path,
        study: Study,
        items: Sequence[StoredItem],
        clock: Callable[[], float] = time.time,
        tokens: tuple[str, str] = ("", ""),
    ) -> Self:
        """Make the file of a new study, whole or not at all.

        Items are in the order of the draw, the parts of a unit one after another. `tokens` are the owner's and that for
        joining; with empty ones nobody can open its pages. Raises a `UsageError` where there is a file, or a part of
        another one, or it cannot be made.
        """
        for rest in (path.with_name(path.name + suffix) for suffix in BESIDE):
            if rest.exists() and not path.exists():
                raise UsageError(
                    f"{rest}: holds the last ratings of a study that is not beside it any more: put that back, or "
                    "delete this file"
                )
        id_ = secrets.token_hex(8)
        digests = (digest_of_token(token) if token else b"" for token in tokens)
        row = (id_, _FORMAT, _STUDY.dump_json(study, by_alias=True).decode(), *digests)
        with closing(sqlite3.connect(":memory:")) as db:
            db.executescript(_SCHEMA)
            db.execute("INSERT INTO study VALUES (?, ?, ?, ?, ?)", row)
            db.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)",
                ((i.key, rank, i.run, i.case, i.part.name, i.mark) for rank, i in enumerate(items)),
            )
            db.commit()
            contents = db.serialize()
        with replacing(path) as temporary:
            temporary.chmod(0o600)
            with temporary.open("wb") as file:
                file.write(contents)
                file.flush()
                os.fsync(file.fileno())
            # Unlike a rename, a link replaces no study that another process began meanwhile. Not every disk has links.
            with suppress(PermissionError):
                os.link(temporary, path)
        return cls(path, id_, study, clock)

    @classmethod
    def open(cls, path: Path, clock: Callable[[], float] = time.time) -> Self:
        """Open the file of a study.

        Raises a `UsageError` where it is none of this version or of another kind, or damaged, and a `StoreError` where
        it cannot be read.
        """
        id_, study = _study_in(path)
        if study.design.kind not in cls.kinds:
            holds = "reviews of a corpus" if study.design.kind == "reviews" else "ratings of responses"
            raise UsageError(f"{path}: holds {holds}, which cannot be used here; name another file")
        return cls(path, id_, study, clock)

    def close(self) -> None:
        """Close the file; everything is in it."""
        self._db.close()

    def require_unmoved(self) -> None:
        """Raise a `StoreError` where the file was moved, removed or replaced, which says where what it held is."""
        self._db.require_unmoved()

    def require_writable(self) -> None:
        """Raise a `StoreError` where nothing can be written into the file."""
        self._db.row("PRAGMA journal_mode = DELETE")  # earlier versions had a write-ahead log
        with self._db.transaction():
            (times,) = self._db.row("PRAGMA user_version")
            self._db.execute(f"PRAGMA user_version = {(times + 1) % 2**31}")  # what stays as it is is not written

    # Items

    def units(self) -> tuple[tuple[str, ...], ...]:
        """Keys of the items of each unit, in the order of the draw."""
        rows = self._db.execute('SELECT run, "case", item FROM items ORDER BY rank')
        return tuple(tuple(item for *_, item in rows) for _, rows in groupby(rows, key=lambda row: row[:2]))

    def current(self, items: Iterable[Item]) -> dict[str, Item]:
        """Those of some items that are rated and have the texts that were, by key in the order of the draw."""
        by_key = {item.key: item for item in items}
        rows = self._db.execute("SELECT item, mark FROM items ORDER BY rank")
        return {key: by_key[key] for key, mark in rows if key in by_key and by_key[key].mark == mark}

    def chosen(self, items: Iterable[Item], *, complete: bool = True) -> tuple[Item, ...]:
        """Those of some items that are rated and have the texts that were, in the order of the draw.

        Raises a `UsageError` where there is none, or with `complete` one of the study's is not among them.
        """
        known = {item.key: item for item in items}
        current = self.current(known.values())
        for key, case in self._db.execute('SELECT item, "case" FROM items ORDER BY rank'):
            if key not in current and (complete or not current):
                how = "with another text" if key in known else "in none"
                raise UsageError(f"{self.path}: {case!r} is {how} {self.source}")
        return tuple(current.values())

    def swapped(self, rater: int, item: StudyItem) -> bool:
        """Whether a rater sees the second response of a pair first: by chance, and always alike."""
        return len(item.responses) > 1 and hashlib.sha256(f"{self.id} {rater} {item.key}".encode()).digest()[0] % 2 == 1

    def turned(self, rater: int, item: StudyItem, submission: G) -> G:
        """What a form says of an item as the order of the runs has it, whichever response it showed first; and back."""
        grade = _SIDES.get(submission.grade, submission.grade) if self.swapped(rater, item) else submission.grade
        return replace(submission, grade=grade)

    # Tokens and raters

    def holds(self, token: str, role: Literal["owner", "entry"]) -> bool:
        """Whether a token is the owner's, or the one by which raters join; compared in constant time."""
        return hmac.compare_digest(self._db.row("SELECT owner, entry FROM study")[role], digest_of_token(token))

    def set_tokens(self, owner: str, entry: str) -> None:
        """Give the owner and raters that join these tokens; those before are none any more. Raters keep theirs."""
        with self._db.transaction():
            self._db.execute("UPDATE study SET owner = ?, entry = ?", (digest_of_token(owner), digest_of_token(entry)))

    def add_rater(self, name: str, token: str = "", most: int | None = None) -> Rater:
        """A new rater, who comes in by a token, of which the digest is kept; it is empty for who has no link.

        Raises a `UsageError` where the pseudonym is not valid or taken, or there are `most` raters already.
        """
        name = pseudonym(name)
        with self._db.transaction():
            if self.rater_named(name):
                raise UsageError("this pseudonym is taken; choose another, or open the link that was given with it")
            if most is not None and self._db.row("SELECT count(*) FROM raters")[0] >= most:
                raise UsageError(f"there are {most} raters already; ask whoever invited you")
            row = (name, digest_of_token(token) if token else None, self._clock())
            self._db.execute("INSERT INTO raters (name, token, seen) VALUES (?, ?, ?)", row)
            (number,) = self._db.row("SELECT last_insert_rowid()")
        return Rater(number, name)

    def rater_of(self, token: str) -> Rater | None:
        """Whose a token is. Found by its digest, so that no time tells how much of it is right."""
        row = self._db.row("SELECT rater, name FROM raters WHERE token = ?", digest_of_token(token))
        return row and Rater(*row)

    def rater_named(self, name: str) -> Rater | None:
        """Who has a pseudonym, which is as `pseudonym` gives it; capitals make no other person."""
        return next((rater for rater in self.raters() if rater.name.casefold() == name.casefold()), None)

    def raters(self) -> tuple[Rater, ...]:
        """Everyone, in the order in which they came."""
        return tuple(Rater(*row) for row in self._db.execute("SELECT rater, name FROM raters ORDER BY rater"))

    def practice(self, rater: int) -> dict[str, bool]:
        """By practice item, in the order in which a rater graded them, whether the grade was right."""
        rows = self._db.execute("SELECT item, correct FROM practice WHERE rater = ? ORDER BY rowid", (rater,))
        return {item: bool(correct) for item, correct in rows}

    def practise(self, rater: int, item: str, grade: str, correct: bool) -> None:
        """Keep what a rater gave to a practice item; the first grade of an item counts."""
        with self._db.transaction():
            self._db.execute("INSERT OR IGNORE INTO practice VALUES (?, ?, ?, ?)", (rater, item, grade, correct))

    # Slates

    def slate(self, rater: int | None = None) -> tuple[Slot, ...]:
        """All places of a rater, in order; of all raters, one after another, where none is named."""
        which, values = ("", ()) if rater is None else ("WHERE rater = ?", (rater,))
        wanted = f"SELECT rater, item, repeated, state FROM places {which} ORDER BY rater, place"
        rows = self._db.execute(wanted, values)
        return tuple(Slot(whose, item, bool(repeated), state) for whose, item, repeated, state in rows)

    def assign(self, rater: int, choose: Callable[[], Iterable[tuple[str, bool]]]) -> int:
        """Add what is chosen, items and whether they are repeats, to a rater's slate; how many that are.

        `choose` reads the store within the transaction, so that no two raters are given the last place of an item.
        """
        with self._db.transaction():
            (last,) = self._db.row("SELECT coalesce(max(place), 0) FROM slates WHERE rater = ?", rater)
            # What a rater gave back and gets once more moves to its new place.
            self._db.executemany(
                "INSERT INTO slates VALUES (?, ?, ?, ?, NULL) ON CONFLICT (rater, item, repeated) DO UPDATE "
                "SET place = excluded.place, returned = NULL WHERE returned IS NOT NULL",
                rows := [(rater, number, item, again) for number, (item, again) in enumerate(choose(), start=last + 1)],
            )
        return len(rows)

    def give_back(self, rater: int = 0, idle: float = math.inf) -> int:
        """Give back the open places of a rater, and of everyone not seen for so many seconds; how many that were."""
        with self._db.transaction():
            return self._db.executemany(
                "UPDATE slates SET returned = ? WHERE (rater, place) IN (SELECT rater, place FROM places "
                "JOIN raters USING (rater) WHERE state = 'open' AND (rater = ? OR seen < ?))",
                [(self._clock(), rater, self._clock() - idle)],
            )

    def waits(self, seconds: float) -> bool:
        """Whether less time has passed since the first rating, or there is none."""
        (first,) = self._db.row("SELECT min(time) FROM log")
        return first is None or self._clock() - first < seconds

    # The log

    def give(self, rater: int, *submissions: Submission) -> int:
        """Add ratings and skips of a rater to the log, all or none of them; how many are new.

        Raises a `UsageError` where an item is rated by the rater already, and a `StoreError` where they cannot be kept.
        """
        now = self._clock()
        rows = [self._row(one) | {"rater": rater, "time": one.time or now} for one in submissions]
        insert = (
            "INSERT INTO log VALUES (NULL, :rater, :item, :repeated, :grade, :confidence, :reason, :spans, :seconds, "
            ":time, :key, NULL, NULL) ON CONFLICT (rater, key) DO NOTHING"
        )
        with self._db.transaction():
            try:
                new = self._db.executemany(insert, rows)
                if self._beside:
                    self._db.executemany(self._beside, rows)
            except sqlite3.IntegrityError as error:
                raise UsageError("this item has a rating of yours already; undo that first") from error
            self._db.execute("UPDATE raters SET seen = ? WHERE rater = ?", (now, rater))
        return new

    _beside: ClassVar[str] = ""
    """What is written beside each row of the log, from the same values; nothing where it is empty."""

    def _row(self, submission: Submission) -> dict[str, Any]:
        """The values of a row of the log, by name, without rater and time."""
        return asdict(submission) | {"spans": json.dumps(submission.spans)}

    def keys_of(self, rater: int) -> dict[str, tuple[str, bool]]:
        """The item, and whether it is a repeat, of each idempotency key in a rater's log; of what was undone too."""
        rows = self._db.execute("SELECT key, item, repeated FROM log WHERE rater = ?", (rater,))
        return {key: (item, bool(repeated)) for key, item, repeated in rows}

    def undo(self, rater: int, key: str) -> Rating | None:
        """Undo a rater's last rating or skip, which stays in the log and is marked; what it was, None without one.

        The same idempotency key again undoes nothing more.
        """
        last = "rater = (SELECT name FROM raters WHERE rater = ?) ORDER BY number DESC LIMIT 1"
        with self._db.transaction():
            (undone,) = self._ratings_where(last, rater) or (None,)
            if undone is None or self._db.row("SELECT 1 FROM log WHERE undoing = ?", key):
                return None
            undoing = (self._clock(), key, undone.number)
            self._db.execute("UPDATE log SET undone = ?, undoing = ? WHERE number = ?", undoing)
            # A slot that was given back while its rating stood is open again for whoever undoes it.
            slot = (rater, undone.item, undone.repeated)
            self._db.execute("UPDATE slates SET returned = NULL WHERE rater = ? AND item = ? AND repeated = ?", slot)
        return undone

    def ratings(self, repeats: bool = True) -> tuple[Rating, ...]:
        """Every rating that stands, in the order in which they were given; without `repeats`, no planned second one."""
        return self._ratings_where("grade <> '' AND repeated <= ? ORDER BY number", repeats)

    def _ratings_where(self, which: str, value: object) -> tuple[Rating, ...]:
        with undamaged(self.path):
            return _RATINGS.validate_python(
                [dict(row) for row in self._db.execute(f"SELECT * FROM given WHERE {which}", (value,))]
            )

    # The owner's grades

    def adjudicate(self, submission: Submission) -> None:
        """Keep a grade of the owner's for an item with its reason, beside the ratings; the last of an item counts."""
        row = (submission.item, submission.grade, submission.reason, self._clock(), submission.key)
        insert = "INSERT OR IGNORE INTO adjudications (item, grade, reason, time, key) VALUES (?, ?, ?, ?, ?)"
        with self._db.transaction():
            self._db.execute(insert, row)

    def adjudications(self) -> dict[str, Submission]:
        """The last of each item that has one, by its key."""
        rows = self._db.execute("SELECT item, grade, key, reason FROM adjudications ORDER BY number")
        return {item: Submission(item, grade, key, reason=reason) for item, grade, key, reason in rows}


def kind_of(path: Path) -> Kind:
    """What the file of a study holds; raises as `Store.open` does."""
    return _study_in(path)[1].design.kind


def _study_in(path: Path) -> tuple[str, Study]:
    """The id and the study of a file; raises as `Store.open` does."""
    if not path.is_file():
        what = "is a folder; name a file" if path.is_dir() else "there is no such file; `label serve` makes one"
        raise UsageError(f"{path}: {what}")
    with closing(Database(path)) as db:
        if not db.row("SELECT 1 FROM sqlite_master WHERE name = 'study'"):
            raise UsageError(f"{path}: is no file of `label serve`: it holds no study")
        row = db.row("SELECT id, format, settings FROM study")
    if row is None or row["format"] != _FORMAT:
        raise UsageError(f"{path}: is of another version of dspy-proact than this one")
    with undamaged(path):
        return row["id"], _STUDY.validate_json(row["settings"])


@contextmanager
def undamaged(path: Path) -> Generator[None]:
    """Raises a `UsageError` where what is read within is not what was written into a file."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise UsageError(f"{path}: is damaged: {str(error).splitlines()[0]}") from error
