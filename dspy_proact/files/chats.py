"""Conversations of a product, read from the logs that it or a tool has kept.

A log of any length takes the memory of one conversation: its records wait in a database on disk that has no name and
goes with the process. `chat_records` reads a record in each of the forms, `chat_messages` a message; here the records
of one conversation are joined in time order. Samples of Inspect are read as messages, by `inspect_log`.

A call to a model often repeats all messages before it. Where one record of a conversation has two turns of the user or
more, all of them are taken to repeat: what a record has beyond the turns before it is added, an answer that was made
anew replaces the one before it, and a record that holds nothing new adds nothing. Else each record adds its turns.
"""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Literal

from dspy_proact.errors import CorpusError
from dspy_proact.files.chat_messages import ATTACHMENT, IMAGE, LoggedMessage, Node, Role
from dspy_proact.files.chat_records import ChatRecord, Nearness, record_of, records_in
from dspy_proact.files.inspect_log import samples_in
from dspy_proact.files.rows import JsonFile, opened, read_bytes, text_of
from dspy_proact.files.tables import rows_in, tables_of
from dspy_proact.kept import Kind, content_of

WANTED = "a log of conversations, such as a file with one JSON object a line"
LONGEST_TURN, MOST_TURNS = 100_000, 400
"""Characters of a turn and turns of a conversation that are read; longer ones are no chats of people."""
_START = 65_536
"""Bytes of a first line: a longer one is a record of its own, and so is one that ends with its object."""
_KEY = 16
"""Characters of a key, in hexadecimal."""
_SCHEMA = """
create table pieces (ordinal integer primary key, conversation text, trace text, step integer, moment real, own text,
                     before text, source text, problem text, messages text, name text);
create index piece_of_trace on pieces (trace);
create index piece_of_own on pieces (own);
create table chats (ordinal integer primary key, key text unique, chat text);
"""


@dataclass(frozen=True)
class LoggedTurn:
    """What the user or the assistant wrote at one turn; messages in a row of one of them are one turn."""

    role: Literal["user", "assistant"]
    text: str
    """Never blank; an image stands in it as `[image]`, any other attachment as `[attachment]`."""
    images: int = 0
    tools: tuple[str, ...] = ()
    """Names of the tools that the assistant called before it wrote this, in their order; their results are not read."""
    speakers: tuple[str, ...] = ()
    """Names of those who wrote it, where the log has them."""


@dataclass(frozen=True)
class LoggedChat:
    """One conversation, ready to be redacted: nothing in it has been taken out yet."""

    key: str
    """16 hexadecimal characters of a sha256: of the conversation's own identifier, else of its turns."""
    turns: tuple[LoggedTurn, ...]
    """User and assistant in turn, the user first; the last may be the user's, whom nobody has answered."""
    time: datetime | None
    """When it began, in UTC; None where the log does not say."""
    source: str
    """File and line, for the owner."""
    system: str = ""
    """What the assistant was set up with, where the log has it."""

    @property
    def answered(self) -> int:
        """How many turns of the user have an answer."""
        return len(self.turns) // 2


@dataclass(frozen=True)
class ChatNote:
    """Something that is true of some conversations of a log, with how many."""

    reason: str
    """A sentence without its subject."""
    count: int
    first: str
    """File and line of the first."""

    def __str__(self) -> str:
        noun = "conversation" if self.count == 1 else "conversations"
        return f"{self.count:,} {noun}: {self.reason} (first: {self.first})."


class ChatFile:
    """The conversations of a log, in the order in which they first stand in it; it can be iterated several times."""

    def __init__(self, database: sqlite3.Connection, left_out: Iterable[ChatNote], notes: Iterable[ChatNote]):
        self._database = database
        self.left_out, self.notes = tuple(left_out), tuple(notes)
        """What cannot be used and why, and what was changed in what can be; the most frequent first."""

    def __del__(self):
        self._database.close()

    def __len__(self) -> int:
        return self._database.execute("select count(*) from chats").fetchone()[0]

    def __iter__(self) -> Iterator[LoggedChat]:
        for (text,) in self._database.execute("select chat from chats order by ordinal"):
            key, turns, seconds, source, system = json.loads(text)
            time = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
            yield LoggedChat(key, tuple(_turn(*turn) for turn in turns), time, source, system)


def _turn(role: Literal["user", "assistant"], text: str, images: int, tools: list[str], who: list[str]) -> LoggedTurn:
    return LoggedTurn(role, text, images, tuple(tools), tuple(who))


def chats_in(path: Path) -> ChatFile:
    """Read a log: a file or a folder of files, each in one of the forms that `chat_records` lists.

    Raises a `CorpusError`, which names file, line and field, where a file is none of these or a field has another type
    than its form; what is well formed and of no use is left out and counted.
    """
    database = sqlite3.connect("", check_same_thread=False)  # on disk, without a name, and only for this process
    database.row_factory = sqlite3.Row
    try:
        return _read(path, database)
    except BaseException as error:
        database.close()
        if isinstance(error, sqlite3.Error):
            problem = f"its records cannot wait in the folder for temporary files: {error}; make room there"
            raise CorpusError(problem, source=str(path)) from None
        raise


def _read(path: Path, database: sqlite3.Connection) -> ChatFile:
    database.executescript(_SCHEMA)
    for source, record in _records(path):
        _keep(database, record, source)
    left_out, notes = _Notes(), _Notes()
    for ordinal, source, identity, records in _conversations(database):
        reasons = list[str]()
        spoken, system = _joined(records, reasons)
        turns, problem = _turns_of(spoken, reasons)
        if problem:
            unread = next((one.problem for one in records if one.problem), "")
            left_out.add(problem if spoken or not unread else unread, source)
            continue
        written = [(turn.role, turn.text, turn.images, turn.tools, turn.speakers) for turn in turns]
        key = hashlib.sha256((identity or json.dumps(written)).encode()).hexdigest()[:_KEY]
        moment = min((one.moment for one in records if one.moment is not None), default=None)
        row = (ordinal, key, json.dumps((key, written, moment, source, system)))
        if database.execute("insert or ignore into chats values (?, ?, ?)", row).rowcount:
            notes.add_all(reasons, source)
        else:
            left_out.add("the same conversation stands in the log before", source)
    database.execute("drop table pieces")
    return ChatFile(database, left_out.sorted(), notes.sorted())


class _Notes:
    """Counts reasons, and remembers where each was first met."""

    def __init__(self):
        self._counts, self._first = Counter[str](), dict[str, str]()

    def add(self, reason: str, source: str) -> None:
        self._counts[reason] += 1
        self._first.setdefault(reason, source)

    def add_all(self, reasons: Iterable[str], source: str) -> None:
        for reason in dict.fromkeys(reasons):
            self.add(reason, source)

    def sorted(self) -> list[ChatNote]:
        return [ChatNote(reason, count, self._first[reason]) for reason, count in self._counts.most_common()]


def _records(path: Path) -> Iterator[tuple[str, ChatRecord]]:
    """What the records of a log hold, each with its file and line."""
    files = [path]
    if content_of(path).kind is Kind.FOLDER:
        logs = sorted(file for file in path.iterdir() if file.suffix == ".eval" and file.name[0] not in "._")
        with suppress(CorpusError) if logs else nullcontext():  # of a folder with logs of Inspect alone
            logs += tables_of(path, WANTED)
        files = logs
    for file in files:
        kind = content_of(file).kind
        if kind is Kind.LOG:
            for sample in samples_in(file):
                line = JsonFile(sample.source, 1, "", {"messages": sample.messages})
                yield sample.source, record_of(Node(line, "", line.fields))
            continue
        wrapper = _one_object(file) if kind in (Kind.TABLE, Kind.FILE) else None
        for line in [wrapper] if wrapper else rows_in(file, WANTED):
            for record in records_in(Node(line, "", line.parse())):
                yield f"{line.source} {line.position}", record_of(record)


def _one_object(path: Path) -> JsonFile | None:
    """A file that is one JSON object over several lines, as tools export a trace or a session; None for others."""
    with opened(str(path), WANTED) as file:
        start = file.readline(_START).removeprefix(b"\xef\xbb\xbf").strip()
    if not start.startswith(b"{") or len(start) > _START - 9 or start.endswith(b"}"):
        return None
    return JsonFile.of(str(path), text_of(read_bytes(str(path), WANTED), str(path)))


def _keep(database: sqlite3.Connection, record: ChatRecord, source: str) -> None:
    """Add a record to the records that wait."""
    messages = [(one.role, one.text, one.images, one.tools, one.speaker) for one in record.messages]
    fields = (record.conversation, record.trace, record.step, record.moment, record.own, record.before)
    database.execute(
        "insert into pieces (conversation, trace, step, moment, own, before, source, problem, messages)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*fields, source, record.problem, json.dumps(messages)),
    )


def _conversations(database: sqlite3.Connection) -> Iterator[tuple[int, str, str | None, list[ChatRecord]]]:
    """Of every conversation the number and the source of its first record, its identifier if any, and its records."""
    # A record that was exported twice counts once; a step of a trace is of the conversation of the trace.
    database.executescript("""
        delete from pieces where own is not null
            and ordinal not in (select min(ordinal) from pieces where own is not null group by own, step);
        create temp table traces as select trace, max(conversation) as conversation from pieces
            where trace is not null group by trace having max(conversation) is not null;
        create unique index temp.trace on traces (trace);
        update pieces set conversation = (select conversation from traces where traces.trace = pieces.trace)
            where conversation is null and trace is not null;
        update pieces set conversation = trace where conversation is null;
    """)
    before = dict[str, str](database.execute("select own, before from pieces where before is not null"))
    for own in before:
        first, seen = own, {own}
        while (first := before.get(first, first)) not in seen:
            seen.add(first)
        database.execute("update pieces set conversation = ? where own = ? and conversation is null", (first, own))
    database.executescript("""
        update pieces set conversation = own where conversation is null;
        update pieces set name = coalesce('conversation ' || conversation, 'record ' || ordinal);
        create index piece_of_name on pieces (name);
        create temp table firsts as select name, min(ordinal) as first from pieces group by name;
    """)
    rows = database.execute("select firsts.first, pieces.* from firsts join pieces using (name) order by 1, ordinal")
    for first, group in groupby(rows, lambda row: row["first"]):
        pieces = list(group)
        yield first, pieces[0]["source"], pieces[0]["conversation"], [_record(piece) for piece in pieces]


def _record(piece: sqlite3.Row) -> ChatRecord:
    messages = tuple(_message(*one) for one in json.loads(piece["messages"]))
    step = Nearness(piece["step"])
    return ChatRecord(messages, piece["problem"], moment=piece["moment"], trace=piece["trace"], step=step)


def _message(role: Role, text: str, images: int, tools: list[str], speaker: str) -> LoggedMessage:
    return LoggedMessage(role, text, images, tuple(tools), speaker)


_SKIPPED = "a record of it was passed over: "


def _joined(records: list[ChatRecord], reasons: list[str]) -> tuple[list[LoggedMessage], str]:
    """What was written in a conversation, in time order, and the system's text; adds to the reasons what was changed.

    Of every trace that is the record nearest to what the user saw; of several steps as near, the last.
    """
    if all(one.moment is not None for one in records):
        records = sorted(records, key=lambda one: one.moment or 0)
    best = dict[str, ChatRecord]()
    for record in records:
        if record.trace is not None:
            known = best.get(record.trace)
            if known is None or not known.messages or (record.messages and record.step <= known.step):
                best[record.trace] = record if record.messages or known is None else known
    chosen = [one for one in records if one.trace is None or best[one.trace] is one]
    reasons += [f"{_SKIPPED}{one.problem}" for one in chosen if one.problem]
    spoken, system = list[LoggedMessage](), ""
    if any(sum(one.role == "user" for one in record.messages) > 1 for record in chosen):
        for record in chosen:
            spoken = _extended(spoken, _spoken(record.messages), reasons)
    else:
        spoken = _spoken(message for record in chosen for message in record.messages)
    for one in chosen:
        texts = dict.fromkeys(message.text for message in one.messages if message.role == "system" and message.text)
        system = "\n\n".join(texts) or system
    return spoken, system


def _spoken(messages: Iterable[LoggedMessage]) -> list[LoggedMessage]:
    """The messages with a text of user and assistant; calls of tools go to the next text of the assistant."""
    spoken, tools = list[LoggedMessage](), tuple[str, ...]()
    for message in messages:
        if message.role == "assistant":
            tools += message.tools
        if message.role in ("user", "assistant") and message.text.strip():
            text = message.text.strip()
            spoken.append(replace(message, text=text, tools=tools if message.role == "assistant" else ()))
            tools = () if message.role == "assistant" else tools
    return spoken


def _extended(spoken: list[LoggedMessage], record: list[LoggedMessage], reasons: list[str]) -> list[LoggedMessage]:
    """A conversation with what a record that repeats its history has beyond it."""
    before, after = ([(one.role, one.text) for one in some] for some in (spoken, record))
    alike = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
    alike = min(len(before), len(after)) if alike is None else alike
    if alike == len(after):
        return spoken  # nothing new: the request was sent twice, or the record is older
    if alike and (alike == len(before) or len(after) >= len(before)):
        if alike < len(before):
            reasons.append("an answer was made anew, or a message changed; what came last is read")
        return spoken[:alike] + record[alike:]
    if alike:
        reasons.append(f"{_SKIPPED}it goes back to an earlier turn")
        return spoken
    # The history may have been cut at its beginning: the last two messages are looked for, so that "yes" is not enough.
    for end in range(len(after) - 1, 0, -1):
        if before and after[max(0, end - 2) : end] == before[-min(2, end) :]:
            return spoken + record[end:]
    return spoken + record


def _turns_of(spoken: list[LoggedMessage], reasons: list[str]) -> tuple[list[LoggedTurn], str]:
    """The turns of a conversation, and why it cannot be used, if so; adds to the reasons what was changed."""
    turns = list[LoggedTurn]()
    for message in spoken:
        role, who = ("user" if message.role == "user" else "assistant"), (message.speaker,) if message.speaker else ()
        if turns and turns[-1].role == role:
            last = turns[-1]
            text, speakers = f"{last.text}\n\n{message.text}", tuple(dict.fromkeys((*last.speakers, *who)))
            images, tools = last.images + message.images, last.tools + message.tools
            turns[-1] = LoggedTurn(role, text, images, tools, speakers)
        else:
            turns.append(LoggedTurn(role, message.text, message.images, message.tools, who))
    roles = {turn.role for turn in turns}
    begins = len(roles) == 2 and turns[0].role == "assistant"
    turns = turns[1:] if begins else turns
    problems = {
        "no message of it has a text": not roles,
        f"only the {''.join(roles)} speaks in it": len(roles) == 1,
        "the assistant answers nothing in it": len(turns) == 1,
        f"has more than {MOST_TURNS} turns": len(turns) > MOST_TURNS,
        f"has a turn of more than {LONGEST_TURN:,} characters": any(len(turn.text) > LONGEST_TURN for turn in turns),
    }
    names = {name for turn in turns if turn.role == "assistant" for name in turn.speakers}
    changes = {
        "begins with the assistant, whose first turn is not read": begins,
        "ends with the user, whose last turn has no answer": bool(turns) and turns[-1].role == "user",
        f"holds images, which are not read; {IMAGE} stands for them": any(turn.images for turn in turns),
        f"holds attachments, which are not read; {ATTACHMENT} stands for them": any(
            ATTACHMENT in turn.text for turn in turns
        ),
        "the assistant calls tools; their names are kept, what they returned is not read": any(
            turn.tools for turn in turns
        ),
        "several assistants of different names answer; they are read as one": len(names) > 1,
    }
    reasons += [reason for reason, holds in changes.items() if holds]
    return turns, next((problem for problem, holds in problems.items() if holds), "")
