"""ProAgentBench's recordings: one SQLite database a person, read strictly and without a trace, moment by moment.

A folder holds a folder a person, with `lifetrace_privacy_processed.db` and, where intentions are known,
`user_intention.jsonl`. The schema is the published one; the published files themselves were not seen.

A moment is the begin of an event. Seen is what ended by then: the event itself shows, where help was sought, the window
of the assistant, and tells the answer. What follows a pause of more than five minutes is no moment. Screenshots, which
the database names, lie in a folder `screenshots` beside it.
"""

import calendar
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from dspy_proact.benchmarks.proagentbench.memory import Event, Past
from dspy_proact.benchmarks.proagentbench.moments import (
    INTENTIONS,
    Activity,
    Intention,
    MomentView,
    ProAgentBenchSettings,
    State,
    Truth,
)
from dspy_proact.benchmarks.proagentbench.screens import DRAWN, FOLDER, Screenshot
from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Id, RawPart, json_of, lines_in, lines_of, opened, read_bytes
from dspy_proact.images import measured
from dspy_proact.runs import Case, CaseSet

NAME = "proagentbench"
DATA = files("dspy_proact.benchmarks.proagentbench") / "data"
DATABASE, INTENTION_FILE = "lifetrace_privacy_processed.db", "user_intention.jsonl"
IDLE = timedelta(minutes=5)
"""After a longer pause an event begins no moment: nothing was seen."""
EARLIER = 0.6
"""Share of a person's moments, by time, that are in the first stratum."""
_WANTED = f"a folder that holds a folder a person, each with {DATABASE}"
_LARGEST, _MOST_ROWS = 4 << 30, 1_000_000
"""Bytes of a database, and rows of a table; 17 published people have 28,528 events and 167,423 screenshots."""
_LONGEST = {"app_name": 200, "window_title": 2_000, "event_summary": 20_000, "conversation": 1_000_000}
_LONGEST_VALUE = 2 << 20
"""Bytes of a value that SQLite reads at all."""
_LONGEST_SHOWN, _LONGEST_STATE = 500, 200
"""Characters of a summary among the activity, and of that of the current state, as published."""
_REQUIRED = ("id", "start_time", "end_time", "app_name", "window_title", "is_llm_event", "event_summary")
_OPTIONAL = ("conversation",)
_OF_SCREENSHOTS = ("event_id", "file_path", "created_at")
_LONGEST_PATH = 1_000


class _Labelled(RawPart):
    event_id: int | Id
    user_intention: Id


@dataclass(frozen=True, eq=False)
class _Moment:
    """The begin of an event."""

    index: int
    """Of the event, in the person's."""
    state: Event
    """The event before it."""
    event: Event


def load_corpus(spec: str, settings: ProAgentBenchSettings) -> CaseSet:
    """The moments of every person of `sample` or a folder, as the settings choose and show them.

    Raises a `CorpusError` where there is no such corpus, or, under `strict`, a row in it is not valid.
    """
    left_out, unseen, ignored = Counter[str](), Counter[str](), Counter[str]()
    cases, rows = list[Case](), 0
    for person, events in _people(spec, settings, left_out, ignored):
        rows += len(events)
        cases += _cases(person, events, settings, unseen)
    if not cases:
        raise CorpusError("holds no moment at which help was sought", source=spec)
    case_set = CaseSet.of(spec, cases, rows=rows + left_out.total(), ignored_fields=ignored)
    further = {"left_out": dict(left_out + unseen), "private": spec != "sample"}
    return replace(case_set, corpus=case_set.corpus.model_copy(update=further))


def _people(
    spec: str, settings: ProAgentBenchSettings, left_out: Counter[str], ignored: Counter[str]
) -> Iterator[tuple[str, Sequence[Event]]]:
    if spec == "sample":
        for file in sorted((DATA / "sample").iterdir(), key=lambda file: file.name):
            if file.name.endswith(".sql"):
                with closing(sqlite3.connect(":memory:")) as made:
                    made.executescript(file.read_text(encoding="utf-8"))
                    person, labels = file.name.removesuffix(".sql"), file.name.replace(".sql", ".jsonl")
                    reader = _Reader(file.name, person, None, settings, left_out, ignored)
                    yield person, reader.events(made, (DATA / "sample" / labels).read_bytes())
        return
    if "\0" in spec:
        raise CorpusError("not a path: it holds a NUL character", source=repr(spec))
    folder = Path(spec)
    databases = sorted(folder.glob(f"*/{DATABASE}")) if folder.is_dir() else []
    if not databases:
        raise CorpusError(f"holds no recordings; give {_WANTED}", source=spec)
    for database in databases:
        labels = database.with_name(INTENTION_FILE)
        person, images = database.parent.name, database.with_name(FOLDER)
        if not person.isprintable():
            raise CorpusError("the name of a person's folder is no printable text", source=ascii(str(database)))
        reader = _Reader(str(database), person, images, settings, left_out, ignored)
        data = read_bytes(str(labels), "the intentions") if labels.exists() else b""
        with closing(_opened(database)) as connection:
            yield person, reader.events(connection, data)


def _opened(database: Path) -> sqlite3.Connection:
    """The database for reading alone: no file beside it is made, and no lock is taken or waited for."""
    if not database.is_file():
        raise CorpusError("no regular file", source=str(database))
    if (size := database.stat().st_size) > _LARGEST:
        raise CorpusError(f"{size:,} bytes; a person's database has at most {_LARGEST:,}", source=str(database))
    for ending in ("-wal", "-journal"):
        beside = database.with_name(database.name + ending)
        if beside.exists() and beside.stat().st_size:
            problem = f"was not closed: changes are in {beside.name}; open and close it with sqlite3 on a copy"
            raise CorpusError(problem, source=str(database))
    return sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro&immutable=1", uri=True)


@dataclass
class _Reader:
    source: str
    """Its name in messages."""
    person: str
    images: Path | None
    """Where the screenshots lie; None where they are drawn."""
    settings: ProAgentBenchSettings
    left_out: Counter[str]
    """Counts rows that cannot be used, by the reason, where they are not refused."""
    ignored: Counter[str]
    """Counts unknown fields of the file of intentions."""
    _row: str = "events"

    def events(self, connection: sqlite3.Connection, labels: bytes) -> Sequence[Event]:
        """The events in the order of their time, none of which overlap."""
        try:
            intentions, rows = self._intentions(labels), self._rows(connection, "events", _REQUIRED, _OPTIONAL)
            usable = [event for row in rows if (event := self._usable(row, intentions))]
            taken = self._taken(connection, usable) if self.settings.screenshot else {}
        except UnicodeDecodeError:
            raise self._error("holds text that is not UTF-8") from None
        except sqlite3.Error as error:
            raise self._error(f"cannot be read: {error}") from None
        kept, ids = list[Event](), set[str]()
        for event in sorted(usable, key=lambda event: (event.start, event.end)):
            self._row = f"events {event.id}"
            if event.id in ids:
                self._leave_out("has the id of another event")
            elif kept and event.start < kept[-1].end:
                self._leave_out("begins before the event before it ends")
            else:
                kept.append(replace(event, screenshot=self._screenshot(event, taken.get(event.id))))
                ids.add(event.id)
        return kept

    def _rows(
        self, connection: sqlite3.Connection, table: str, required: Sequence[str], optional: Sequence[str] = ()
    ) -> Iterator[dict[str, Any]]:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        connection.text_factory = lambda data: data.decode("utf-8")
        self._row = table
        made = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        if made is None or made[0] != "table" or str(made[1]).upper().startswith("CREATE VIRTUAL"):
            raise self._error(f"has no table {table}")
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if missing := [name for name in required if name not in there]:
            raise self._error(f"the table has no column {missing[0]}")
        names = [*required, *(name for name in optional if name in there)]
        for count, row in enumerate(connection.execute(f"SELECT {', '.join(names)} FROM {table}"), start=1):
            if count > _MOST_ROWS:
                raise self._error(f"more than {_MOST_ROWS:,} rows")
            self._row = f"{table} {row[0]!r}"[:60]
            yield dict(zip(names, row, strict=True))
            self._row = f"the row after {self._row}"

    def _taken(self, connection: sqlite3.Connection, usable: Sequence[Event]) -> Mapping[str, str]:
        """The path of the last screenshot that was taken during an event, by the event's id."""
        events, last = {event.id: event for event in usable}, dict[str, tuple[datetime, str]]()
        for row in self._rows(connection, "screenshots", _OF_SCREENSHOTS):
            event, at, path = events.get(str(row["event_id"])), _time(row["created_at"]), row["file_path"]
            if event is None:
                continue
            if not isinstance(path, str) or "\0" in path or not 0 < len(path) <= _LONGEST_PATH:
                self._leave_out("file_path is no path")
            elif at is None:
                self._leave_out("has a time that is none")
            elif event.start <= at <= event.end:
                last[event.id] = max((at, path), last.get(event.id, (at, path)))
        return {id_: path for id_, (_, path) in last.items()}

    def _screenshot(self, event: Event, path: str | None) -> Screenshot | None:
        """What is known of a screenshot from the beginning of its file; None where there is none that can be used."""
        name = f"{self.person}/{event.id}"
        if path is None or self.images is None:
            return Screenshot(name=name, width=DRAWN[0], height=DRAWN[1]) if path else None
        # The path is that of the machine of the recording.
        file = self.images / re.split(r"[/\\]", path)[-1]
        try:
            with opened(str(file), f"the screenshot in the folder {FOLDER}") as image:
                width, height = measured(image, file.name, str(file))
        except CorpusError as error:
            self._leave_out("has a screenshot that cannot be used", f", {error}")
            return None
        return Screenshot(name=name, width=width, height=height, file=str(file))

    def _intentions(self, labels: bytes) -> Mapping[str, Intention]:
        source = f"{self.source.rpartition('/')[0]}/{INTENTION_FILE}".lstrip("/") if labels else ""
        intentions = dict[str, Intention]()
        for line in lines_in(lines_of(labels, source), source):
            labelled = _Labelled.of(line)
            self.ignored.update(labelled.unknown_fields())
            if labelled.user_intention not in INTENTIONS:
                if self.settings.strict:
                    raise line.error("none of the 16 published intentions", "user_intention")
                self.left_out["an unknown intention"] += 1
                continue
            intentions[str(labelled.event_id)] = cast("Intention", labelled.user_intention)
        return intentions

    def _usable(self, row: Mapping[str, Any], intentions: Mapping[str, Intention]) -> Event | None:
        """The event in a row; None where it is left out."""
        texts = {name: row[name] if row.get(name) is not None else "" for name in _LONGEST}
        times = [_time(row[name]) for name in ("start_time", "end_time")]
        start, end = times
        if not isinstance(row["id"], int | str) or not str(row["id"]).isprintable() or not str(row["id"]).strip():
            problem = "has no id"
        elif wrong := next((name for name, text in texts.items() if not isinstance(text, str)), None):
            problem = f"{wrong} is no text"
        elif nul := next((name for name, text in texts.items() if "\0" in text), None):
            problem = f"{nul} holds a NUL character"
        elif long := next((name for name, text in texts.items() if len(text) > _LONGEST[name]), None):
            problem = f"{long} has more than {_LONGEST[long]:,} characters"
        elif start is None or end is None:
            problem = "has a time that is none"
        elif end < start:
            problem = "ends before it begins"
        elif end == start:
            problem = "has no length"
        elif row["is_llm_event"] not in (0, 1):
            problem = "is_llm_event is neither 0 nor 1"
        else:
            is_help, id_ = bool(row["is_llm_event"]), str(row["id"])
            query = self._query(texts["conversation"]) if is_help else ""
            app, title, summary = (texts[name].strip() for name in ("app_name", "window_title", "event_summary"))
            intention = intentions.get(id_) if is_help else None
            return Event(id_, start, end, app or "unknown", title, summary, is_help, intention, query)
        self._leave_out(problem)
        return None

    def _query(self, conversation: str) -> str:
        """What the person asked first; empty where that is not recorded."""
        if not conversation.strip():
            return ""
        held = json_of(conversation, f"{self.source}, {self._row}.conversation")
        queries = held.get("user_queries") if isinstance(held, dict) else None
        texts = [query.strip() for query in queries if isinstance(query, str)] if isinstance(queries, list) else []
        return next(filter(None, texts), "")

    def _leave_out(self, problem: str, more: str = "") -> None:
        if self.settings.strict:
            raise self._error(f"{problem}{more}; `settings.strict=false` leaves such rows out and counts them")
        self.left_out[problem] += 1

    def _error(self, problem: str) -> CorpusError:
        return CorpusError(problem, source=self.source, field=self._row)


def _time(value: object) -> datetime | None:
    """A time of ISO 8601 of a century, without its zone; None where it is none."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if time is None or not 1970 < time.year < 2100:  # arithmetic beyond ends with an error
        return None
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _cases(
    person: str, events: Sequence[Event], settings: ProAgentBenchSettings, unseen: Counter[str]
) -> Iterator[Case]:
    moments = [
        _Moment(index, state, event)
        for index, (state, event) in enumerate(pairwise(events), start=1)
        if event.start - state.end <= IDLE
    ]
    seen_at = [moment for moment in moments if moment.state.screenshot or not settings.screenshot]
    unseen["follows an event without a screenshot"] += len(moments) - len(seen_at)
    chosen = {moment.index for moment in (seen_at if settings.negatives == "all" else matched(seen_at))}
    past, number, first = Past(), 0, round(EARLIER * len(chosen))
    for moment in moments:
        if moment.index in chosen:
            number += 1
            stratum = "earlier" if number <= first else "later"
            event, state = moment.event, moment.state
            meta: dict[str, str | int] = {
                "moment": number,
                "at": calendar.timegm(event.start.timetuple()),
                "wanted": int(event.is_help),
                "intention": event.intention or "",
                "graph": int(past.acts(state)),
                "graph_intention": past.intention(state),
            }
            seen = _seen(events, moment.index, settings.window)
            truth = Truth(wanted=event.is_help, intention=event.intention, query=event.query)
            summary = state.summary[:_LONGEST_STATE]
            view = MomentView(
                activity=tuple(_activity(other, event.start) for other in seen),
                current=State(time=f"{event.start:%A %H:%M}", app=state.app, window_title=state.title, summary=summary),
                screenshot=state.screenshot,
                memory=past.text(settings.memory, state),
                truth=truth,
            )
            yield Case(f"{person}/{event.id}", person, stratum, view, meta)
        past.observe(moment.state, moment.event)


def matched(moments: Sequence[_Moment]) -> list[_Moment]:
    """The moments with help, and to each one without: the nearest in time in the same application, else at all.

    A moment that follows one of help is matched with another such, as far as there are any.
    """
    wanted = [moment for moment in moments if moment.event.is_help]
    free = defaultdict[tuple[str, bool], list[_Moment]](list)
    for moment in moments:
        if not moment.event.is_help:
            free[moment.state.app, moment.state.is_help].append(moment)
    others = list[_Moment]()
    for moment in wanted:
        same = free[moment.state.app, moment.state.is_help]
        among = same or [other for moments in free.values() for other in moments]
        if among:
            nearest = min(among, key=lambda other: abs(other.event.start - moment.event.start))
            free[nearest.state.app, nearest.state.is_help].remove(nearest)
            others.append(nearest)
    return [*wanted, *others]


def _seen(events: Sequence[Event], index: int, window: int) -> Sequence[Event]:
    """The events before an index that ended within a window of seconds before it begins."""
    first, since = index, events[index].start - timedelta(seconds=window)
    while first and events[first - 1].end > since:
        first -= 1
    return events[first:index]


def _activity(event: Event, now: datetime) -> Activity:
    return Activity(
        seconds_ago=int((now - event.start).total_seconds()),
        seconds=round((event.end - event.start).total_seconds()),
        app=event.app,
        window_title=event.title,
        summary=event.summary[:_LONGEST_SHOWN],
    )
