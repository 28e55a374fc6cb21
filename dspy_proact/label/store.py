"""Everything that raters did, in one SQLite file: who they are, what they are to rate, and a log of what they said.

    study           one row: what was declared at the beginning
    items           the key and mark of each item, in the order of the draw
    raters          pseudonym, digest of the token, when they were seen last
    practice        answers to practice items
    slates          places: an item that a rater is to rate, in order; a planned repeat is marked
    log             ratings and skips, which only grows; what was undone is marked, and stays
    adjudications   grades of the owner's, beside the ratings; the last of an item counts

Every method that writes is one transaction, which is on disk before it returns: WAL with `synchronous = FULL`. A write
that comes twice with one idempotency key is one row. Two processes may write at once.
"""

import hashlib
import hmac
import json
import secrets
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter

from dspy_proact.errors import StorageFault, UsageError
from dspy_proact.label.items import Item
from dspy_proact.label.study import LONGEST_NAME, Adjudication, Given, Place, PracticeGrade, Rater, Rating, Study

_FORMAT = 1
_BUSY_SECONDS = 30
_STUDY = TypeAdapter(Study)
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
    item TEXT NOT NULL REFERENCES items, repeated INTEGER NOT NULL, grade TEXT, confidence INTEGER,
    reason TEXT NOT NULL, spans TEXT NOT NULL, seconds REAL NOT NULL, time REAL NOT NULL, key TEXT NOT NULL,
    undone REAL, undoing TEXT UNIQUE, UNIQUE (rater, key));
CREATE UNIQUE INDEX once ON log (rater, item, repeated) WHERE undone IS NULL;
CREATE VIEW places AS SELECT s.*, CASE WHEN l.grade IS NOT NULL THEN 'rated' WHEN l.number IS NOT NULL THEN 'skipped'
    WHEN s.returned IS NULL THEN 'open' ELSE 'returned' END AS state FROM slates s LEFT JOIN log l
    ON l.rater = s.rater AND l.item = s.item AND l.repeated = s.repeated AND l.undone IS NULL;
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
    """The file of a study; made by `create`, opened by `open`. One thread uses it at a time.

    Attributes:
        path: Of the file.
        id: 16 hex digits of the study's own.
        study: What was declared.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, clock: Callable[[], float] = time.time):
        self.path, self._db, self._clock = path, connection, clock
        self.id, settings = self._row("SELECT id, settings FROM study")
        self.study = _STUDY.validate_json(settings)

    @classmethod
    def create(cls, path: Path, study: Study, items: Sequence[Item], clock: Callable[[], float] = time.time) -> Self:
        """Make the file of a new study, whose pages nobody can open before `new_tokens`.

        Items are in the order of the draw, the parts of a unit one after another.

        Raises:
            UsageError: There is a file, or it cannot be made.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("x").close()
        except OSError as error:
            raise UsageError(f"{path}: cannot be made: {error.strerror}; name another file with --db") from error
        path.chmod(0o600)
        db = _connected(path)
        db.execute("PRAGMA journal_mode = WAL")  # which the file keeps: one that is no study is opened unchanged
        with _written(db, path):
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)
            row = (secrets.token_hex(8), _FORMAT, _STUDY.dump_json(study).decode(), b"", b"")
            db.execute("INSERT INTO study VALUES (?, ?, ?, ?, ?)", row)
            db.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)",
                ((i.key, rank, i.run, i.case, i.part.name, i.mark) for rank, i in enumerate(items)),
            )
        return cls(db, path, clock)

    @classmethod
    def open(cls, path: Path, clock: Callable[[], float] = time.time) -> Self:
        """Open the file of a study; raises `UsageError` where it is none of this version, or damaged."""
        if not path.is_file():
            raise UsageError(f"{path}: there is no such file; `label serve RUN` makes one")
        try:
            db = _connected(path)
            (found,) = db.execute("SELECT format FROM study").fetchone() or (None,)
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{path}: is no file of `label serve`: {error}") from error
        if found != _FORMAT:
            raise UsageError(f"{path}: is of another version of dspy-proact (format {found}, not {_FORMAT})")
        with _undamaged(path):
            return cls(db, path, clock)

    def close(self) -> None:
        """Close the file; everything is in it."""
        self._db.close()

    # Items

    def units(self) -> tuple[tuple[str, ...], ...]:
        """Keys of the items of each unit, in the order of the draw."""
        rows = self._db.execute('SELECT run, "case", item FROM items ORDER BY rank')
        return tuple(tuple(item for *_, item in rows) for _, rows in groupby(rows, key=lambda row: row[:2]))

    def marks(self) -> dict[str, str]:
        """The mark of the text of each item that is rated, by its key, in the order of the draw."""
        return dict(self._db.execute("SELECT item, mark FROM items ORDER BY rank"))

    def current(self, items: Iterable[Item]) -> dict[str, Item]:
        """Those of some items that are rated, as far as their texts are still those, likewise."""
        given = {item.key: item for item in items}
        return {key: given[key] for key, mark in self.marks().items() if key in given and given[key].mark == mark}

    def chosen(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """All that are rated, in the order of the draw; raises `UsageError` where one is missing or has changed."""
        known = {item.key: item for item in items}
        current = self.current(known.values())
        for key, case in self._db.execute('SELECT item, "case" FROM items ORDER BY rank'):
            if key not in current:
                how = "with another text" if key in known else "in none"
                raise UsageError(f"{self.path}: {case!r} is {how} of the runs; name those that the study began with")
        return tuple(current.values())

    def swapped(self, rater: int, item: Item) -> bool:
        """Whether a rater sees the second response of a pair first: by chance, and always alike."""
        return len(item.responses) > 1 and hashlib.sha256(f"{self.id} {rater} {item.key}".encode()).digest()[0] % 2 == 1

    # Tokens and raters

    def is_owner(self, token: str) -> bool:
        """Whether a token is the owner's, compared in constant time."""
        return hmac.compare_digest(self._row("SELECT owner FROM study")[0], digest_of_token(token))

    def is_entry(self, token: str) -> bool:
        """Whether raters join by a token, compared in constant time."""
        return hmac.compare_digest(self._row("SELECT entry FROM study")[0], digest_of_token(token))

    def new_tokens(self) -> tuple[str, str]:
        """New tokens of the owner and for joining; those before are none any more. Raters keep theirs."""
        owner, entry = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        with self._transaction():
            self._db.execute("UPDATE study SET owner = ?, entry = ?", (digest_of_token(owner), digest_of_token(entry)))
        return owner, entry

    def add_rater(self, name: str, token: str = "", most: int | None = None) -> Rater:
        """A new rater.

        Args:
            name: Their pseudonym.
            token: By which they come in, of which the digest is kept; empty for who has no link.
            most: Raters that there may be.

        Raises:
            UsageError: The pseudonym is not valid or taken, or there are `most` raters already.
        """
        name = pseudonym(name)
        with self._transaction():
            if self._db.execute("SELECT 1 FROM raters WHERE name = ?", (name,)).fetchone():
                raise UsageError("this pseudonym is taken; choose another, or open the link that was given with it")
            if most is not None and self._row("SELECT count(*) FROM raters")[0] >= most:
                raise UsageError(f"there are {most} raters already; ask whoever invited you")
            row = (name, digest_of_token(token) if token else None, self._clock())
            number = self._db.execute("INSERT INTO raters (name, token, seen) VALUES (?, ?, ?)", row).lastrowid
        return Rater(int(number or 0), name)

    def rater_of(self, token: str) -> Rater | None:
        """Whose a token is. Found by its digest, so that no time tells how much of it is right."""
        return next(self._raters("WHERE token = ?", digest_of_token(token)), None)

    def rater_named(self, name: str) -> Rater | None:
        """Who has a pseudonym, which is as `pseudonym` gives it."""
        return next(self._raters("WHERE name = ?", name), None)

    def raters(self) -> tuple[Rater, ...]:
        """Everyone, in the order in which they came."""
        return tuple(self._raters("ORDER BY rater"))

    def _raters(self, which: str, *values: object) -> Iterator[Rater]:
        return (Rater(*row) for row in self._db.execute(f"SELECT rater, name FROM raters {which}", values))

    def practice(self, rater: int) -> tuple[PracticeGrade, ...]:
        """What a rater gave to practice items, in order."""
        rows = self._db.execute("SELECT item, grade, correct FROM practice WHERE rater = ? ORDER BY rowid", (rater,))
        return tuple(PracticeGrade(item, grade, bool(correct)) for item, grade, correct in rows)

    def practise(self, rater: int, item: str, grade: str, correct: bool) -> None:
        """Keep what a rater gave to a practice item; the first grade of an item counts."""
        with self._transaction():
            self._db.execute("INSERT OR IGNORE INTO practice VALUES (?, ?, ?, ?)", (rater, item, grade, correct))

    # Slates

    def slate(self, rater: int | None = None) -> tuple[Place, ...]:
        """All places of a rater, in order; of all raters, one after another, where none is named."""
        which, values = ("", ()) if rater is None else ("WHERE rater = ?", (rater,))
        wanted = f"SELECT rater, item, repeated, state FROM places {which} ORDER BY rater, place"
        rows = self._db.execute(wanted, values)
        return tuple(Place(whose, item, bool(repeated), state) for whose, item, repeated, state in rows)

    def assign(self, rater: int, choose: Callable[[], Iterable[tuple[str, bool]]]) -> int:
        """Add what is chosen, items and whether they are repeats, to a rater's slate; how many that are.

        `choose` reads the store within the transaction, so that no two raters are given the last place of an item.
        """
        with self._transaction():
            (last,) = self._row("SELECT coalesce(max(place), 0) FROM slates WHERE rater = ?", rater)
            rows = [(rater, place, item, again) for place, (item, again) in enumerate(choose(), start=last + 1)]
            # What a rater gave back and gets once more moves to its new place.
            self._db.executemany(
                "INSERT INTO slates VALUES (?, ?, ?, ?, NULL) ON CONFLICT (rater, item, repeated) DO UPDATE "
                "SET place = excluded.place, returned = NULL WHERE returned IS NOT NULL",
                rows,
            )
        return len(rows)

    def give_back(self, rater: int) -> int:
        """Give back every open place of a rater's; how many that were."""
        return self._return("rater = ?", rater)

    def give_back_idle(self, seconds: float) -> int:
        """Give back the open places of everyone who was not seen for so long; how many that were."""
        return self._return("rater IN (SELECT rater FROM raters WHERE seen < ?)", self._clock() - seconds)

    def waits(self, seconds: float) -> bool:
        """Whether less time has passed since the first rating, or there is none."""
        (first,) = self._row("SELECT MIN(time) FROM log")
        return first is None or self._clock() - first < seconds

    def _return(self, whose: str, value: float) -> int:
        with self._transaction():
            return self._db.execute(
                "UPDATE slates SET returned = ? WHERE (rater, place) IN "
                f"(SELECT rater, place FROM places WHERE state = 'open' AND {whose})",
                (self._clock(), value),
            ).rowcount

    # The log

    def give(self, rater: int, *given: Given) -> int:
        """Add ratings and skips of a rater to the log, all or none of them; how many are new.

        Raises:
            UsageError: An item is rated by the rater already, or is none of the study's.
            StorageFault: They cannot be kept, as on a full disk; nothing of them is.
        """
        now = self._clock()
        rows = [
            (
                *(rater, each.item, each.repeated, each.grade, each.confidence, each.reason),
                *(json.dumps(each.spans), each.seconds, each.time or now, each.key),
            )
            for each in given
        ]
        insert = f"INSERT INTO log VALUES (NULL, {'?, ' * 10}NULL, NULL) ON CONFLICT (rater, key) DO NOTHING"
        with self._transaction():
            try:
                new = self._db.executemany(insert, rows).rowcount
            except sqlite3.IntegrityError as error:
                if "FOREIGN" in str(error):
                    raise UsageError("this is no item of this study") from error
                raise UsageError("this item has a rating of yours already; undo that first") from error
            self._db.execute("UPDATE raters SET seen = ? WHERE rater = ?", (now, rater))
        return new

    def undo(self, rater: int, key: str) -> Given | None:
        """Undo a rater's last rating or skip, which stays in the log and is marked; what it was, None without one.

        The same idempotency key again undoes nothing more.
        """
        last = (
            "SELECT number, item, grade, key, confidence, reason, spans, seconds, repeated, time FROM log "
            "WHERE rater = ? AND undone IS NULL ORDER BY number DESC LIMIT 1"
        )
        with self._transaction():
            row = self._db.execute(last, (rater,)).fetchone()
            if row is None or self._db.execute("SELECT 1 FROM log WHERE undoing = ?", (key,)).fetchone():
                return None
            self._db.execute("UPDATE log SET undone = ?, undoing = ? WHERE number = ?", (self._clock(), key, row[0]))
            # A place that was given back while its rating stood is open again for whoever undoes it.
            self._db.execute(
                "UPDATE slates SET returned = NULL WHERE rater = ? AND item = ? AND repeated = ?",
                (rater, row[1], row[8]),
            )
        item, grade, before, confidence, reason, spans, seconds, repeated, at = row[1:]
        return Given(item, grade, before, confidence, reason, _spans(spans), seconds, bool(repeated), at)

    def ratings(self, repeats: bool = True) -> tuple[Rating, ...]:
        """Every rating that stands, in the order in which they were given; without `repeats`, no planned second one."""
        wanted = (
            'SELECT l.number, l.item, i.run, i."case", i.part, r.name, l.grade, l.confidence, l.reason, l.spans, '
            "l.seconds, l.time, l.repeated FROM log l JOIN raters r USING (rater) JOIN items i USING (item) "
            "WHERE l.undone IS NULL AND l.grade IS NOT NULL AND l.repeated <= ? ORDER BY l.number"
        )
        with _undamaged(self.path):
            return tuple(
                Rating(*first, spans=_spans(spans), seconds=seconds, time=at, repeated=bool(repeated))
                for *first, spans, seconds, at, repeated in self._db.execute(wanted, (repeats,))
            )

    def undone(self) -> int:
        """Ratings and skips that were undone."""
        return self._row("SELECT count(*) FROM log WHERE undone IS NOT NULL")[0]

    # The owner's grades

    def adjudicate(self, item: str, grade: str, reason: str, key: str) -> None:
        """Keep a grade of the owner's for an item, beside the ratings; the last of an item counts."""
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO adjudications (item, grade, reason, time, key) VALUES (?, ?, ?, ?, ?)",
                (item, grade, reason, self._clock(), key),
            )

    def adjudications(self) -> dict[str, Adjudication]:
        """The last of each item that has one, by its key."""
        rows = self._db.execute("SELECT item, grade, reason FROM adjudications ORDER BY number")
        return {item: Adjudication(grade, reason) for item, grade, reason in rows}

    def _row(self, statement: str, *values: object) -> tuple[Any, ...]:
        return self._db.execute(statement, values).fetchone()

    def _transaction(self) -> Any:
        return _written(self._db, self.path)


def _connected(path: Path) -> sqlite3.Connection:
    # The server's thread is not always the one that opened the file; it is one at a time.
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    for pragma in ("synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF"):
        db.execute(f"PRAGMA {pragma}")
    return db


@contextmanager
def _written(db: sqlite3.Connection, path: Path) -> Generator[None]:
    """What is written within is on disk afterwards, or nothing of it is.

    Raises:
        StorageFault: It cannot be kept, as on a full disk.
    """
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    except BaseException as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
            raise StorageFault(f"{path}: cannot be written: {error}; nothing of it was kept") from error
        raise


@contextmanager
def _undamaged(path: Path) -> Generator[None]:
    """Raises a `UsageError` where what is read of a file within is not what was written into it."""
    try:
        yield
    except (TypeError, ValueError, sqlite3.DatabaseError) as error:
        raise UsageError(f"{path}: is damaged: {str(error).splitlines()[0]}") from error


def _spans(text: str) -> tuple[tuple[int, int], ...]:
    return tuple((start, end) for start, end in json.loads(text))
