"""Recordings: read without a trace, moment by moment; what cannot be used is refused with file and row."""

import os
import sqlite3
from datetime import timedelta

import pytest
from recorded import BEGIN, event, person

from dspy_proact.benchmarks.proagentbench import corpus as module
from dspy_proact.benchmarks.proagentbench.corpus import DATABASE, load_corpus
from dspy_proact.benchmarks.proagentbench.memory import Event, Past
from dspy_proact.benchmarks.proagentbench.moments import COMMONEST, ProAgentBenchSettings
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.registry import benchmark_named


def loaded(spec, **settings):
    return load_corpus(str(spec), ProAgentBenchSettings(**settings))


def test_moments_of_the_sample_that_wanted_help_look_like_others():
    result = loaded("sample")
    assert all(case.view.truth.query and case.view.truth.intention for case in result.cases if case.meta["wanted"])
    for group in ("ines", "marek", "suda"):
        apps = [
            sorted(c.view.current.app for c in result.cases if c.group == group and c.meta["wanted"] == w)
            for w in (0, 1)
        ]
        assert len(apps[0]) == len(apps[1]) == 5
    everywhere = [sorted(c.view.current.app for c in result.cases if c.meta["wanted"] == w) for w in (0, 1)]
    assert everywhere[0] == everywhere[1]


def test_a_moment_shows_what_ended_before_it_within_the_window(tmp_path):
    rows = [event(number, number) for number in range(1, 9)] + [event(9, 9, help_="Why?")]
    folder = person(tmp_path, "ann", rows, e9="Knowledge Q&A")
    (case,) = [case for case in loaded(folder, window=130, negatives="all").cases if case.key == "ann/9"]
    # Minute 9 is now; events last 50 s: 8 ended 10 s ago, 7 70 s ago, 6 130 s ago, which is no longer in the window.
    assert [item.window_title for item in case.view.activity] == ["title 7", "title 8"]
    assert [item.seconds_ago for item in case.view.activity] == [120, 60]
    assert case.view.current.model_dump() == {
        "time": "Monday 09:09",
        "app": "Editor",
        "window_title": "title 8",
        "summary": "summary 8",
    }
    assert case.view.truth.model_dump() == {"wanted": True, "intention": "Knowledge Q&A", "query": "Why?"}
    assert loaded(folder, negatives="all").corpus.private


def test_after_a_pause_there_is_no_moment_and_parts_are_by_time(tmp_path):
    rows = [event(number, number) for number in range(1, 6)]
    rows += [event(6, 40, help_="after a pause"), event(7, 41), event(8, 42, help_="at once")]
    result = loaded(person(tmp_path, "ann", rows), negatives="all")
    # 2 to 5, 7 and 8: of six moments round(3.6) are earlier.
    assert [(case.key, case.stratum) for case in result.cases] == [
        ("ann/2", "earlier"),
        ("ann/3", "earlier"),
        ("ann/4", "earlier"),
        ("ann/5", "earlier"),
        ("ann/7", "later"),
        ("ann/8", "later"),
    ]


def test_matched_moments_are_the_nearest_in_the_same_application(tmp_path):
    """Help begins at minute 4.9 after Mail; other moments after Mail are at minutes 2 and 4, one after Editor at 3."""
    apps = ["Mail", "Editor", "Mail", "Mail"]
    rows = [event(number, number, app=app) for number, app in enumerate(apps, start=1)]
    result = loaded(person(tmp_path, "ann", [*rows, event(5, 4.9, help_="of Mail"), event(6, 6)]))
    assert [case.key for case in result.cases] == ["ann/4", "ann/5"]


def worked(number, app, help_=False, intention=None, title="letter draft"):
    start = BEGIN + timedelta(minutes=number)
    return Event(str(number), start, start, app, title, "", help_, intention)


def test_the_graph_counts_by_hand():
    """Mail: help at 1 of 2 moments; Editor: at 0 of 1; in all 1 of 3, so that Mail acts and Editor does not."""
    mail, editor = worked(1, "Mail"), worked(2, "Editor")
    past = Past()
    assert (past.acts(mail), past.intention(mail), past.text("graph", mail)) == (False, COMMONEST, "")
    past.observe(mail, worked(3, "Browser", True, "Translation"))
    past.observe(mail, editor)
    past.observe(editor, mail)
    assert (past.acts(mail), past.acts(editor), past.acts(worked(4, "Terminal"))) == (True, False, False)
    assert (past.intention(mail), past.intention(editor)) == ("Translation", "Translation")
    assert past.text("graph", mail).splitlines() == [
        "In all: help was sought at 1 of 3 earlier moments (33%).",
        "In Mail: help was sought at 1 of 2 earlier moments (50%).",
        "With the word 'letter' in the title: help was sought at 1 of 3 earlier moments (33%).",
        "With the word 'draft' in the title: help was sought at 1 of 3 earlier moments (33%).",
        "Sought in Mail: Translation 1.",
        "After Mail came: Browser 1, Editor 1.",
    ]
    assert past.text("none", mail) == ""
    assert past.text("rag", mail) == "In Mail, letter draft: help was sought (Translation)"
    assert past.text("rag", worked(5, "Terminal", title="tests")) == ""
    assert past.text("persona", mail).splitlines() == [
        "In all: help was sought at 1 of 3 earlier moments (33%).",
        "Minutes by application: Mail 0, Editor 0.",
        "Help sought by hour of the day: 9 1.",
        "Help sought by intention: Translation 1.",
    ]


# Bad input

GOOD = [event(1, 1), event(2, 2, help_="Why?"), event(3, 3)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (event(4, 4, end_time="2025-03-03 08:00:00"), "ends before it begins"),
        (event(4, 4, end_time=str(BEGIN + timedelta(minutes=4))), "has no length"),
        (event(4, 2.5), "begins before the event before it ends"),
        (event(4, 4, start_time="yesterday"), "has a time that is none"),
        (event(4, 4, start_time="0001-01-01T00:00:00+23:00"), "has a time that is none"),
        (event(4, 4, window_title="x" * 1_000_000), "window_title has more than 2,000 characters"),
        (event(4, 4, event_summary="a\0b"), "event_summary holds a NUL character"),
        (event(4, 4, app_name=b"\x00\x01"), "app_name is no text"),
        (event(4, 4, is_llm_event=2), "is_llm_event is neither 0 nor 1"),
        (event(2, 4), "has the id of another event"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_with_file_and_row_or_counted(tmp_path, row, message):
    folder = person(tmp_path, "ann", [*GOOD, row])
    with pytest.raises(CorpusError) as error:
        loaded(folder)
    assert f"ann/{DATABASE}, field 'events" in str(error.value)
    assert message in str(error.value)
    assert "x" * 100 not in str(error.value)
    assert loaded(folder, strict=False).corpus.left_out == {message: 1}


def test_an_unknown_intention_is_refused_with_its_line_or_counted(tmp_path):
    folder = person(tmp_path, "ann", GOOD, e2="Small Talk")
    with pytest.raises(CorpusError, match=r"ann/user_intention.jsonl, line 1, field 'user_intention': none of the 16"):
        loaded(folder)
    result = loaded(folder, strict=False)
    assert result.corpus.left_out == {"an unknown intention": 1}
    assert [case.view.truth.intention for case in result.cases if case.meta["wanted"]] == [None]


def test_a_database_that_is_none_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    folder = person(tmp_path / "corpus", "ann", GOOD)
    database = folder / "ann" / DATABASE
    full = database.read_bytes()
    for content, message in (
        (b"", "has no table events"),
        (b"no database" * 100, "cannot be read: file is not a database"),
        (full[:4096] + b"\xff" * (len(full) - 4096), "cannot be read: "),
    ):
        database.write_bytes(content)
        with pytest.raises(CorpusError, match=message):
            loaded(folder)
        assert [path.name for path in database.parent.iterdir()] == [DATABASE]
    database.write_bytes(full)
    monkeypatch.setattr(module, "_LARGEST", 100)
    with pytest.raises(CorpusError, match="bytes; a person's database has at most 100"):
        loaded(folder)
    monkeypatch.undo()
    database.with_name(f"{DATABASE}-wal").write_bytes(b"unsaved")
    with pytest.raises(CorpusError, match="was not closed"):
        loaded(folder)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER TABLE events RENAME TO others", "has no table events"),
        ("ALTER TABLE events RENAME COLUMN event_summary TO told", "the table has no column event_summary"),
        ("UPDATE events SET window_title = CAST(x'ff41' AS TEXT) WHERE id = 3", "holds text that is not UTF-8"),
        ("UPDATE events SET window_title = zeroblob(3000000) WHERE id = 3", "cannot be read: "),
        ("UPDATE events SET conversation = '{' WHERE id = 2", "not JSON"),
        ("DELETE FROM events WHERE id = 2", "holds no moment at which help was sought"),
        (
            "ALTER TABLE events RENAME TO others; CREATE VIEW events AS WITH RECURSIVE t(id) AS "
            "(SELECT 1 UNION ALL SELECT id + 1 FROM t) SELECT * FROM t",
            "has no table events",
        ),
    ],
)
def test_a_database_with_something_else_in_it_is_refused(tmp_path, statement, message):
    folder = person(tmp_path, "ann", GOOD)
    connection = sqlite3.connect(folder / "ann" / DATABASE)
    connection.executescript(statement)
    connection.close()
    with pytest.raises(CorpusError, match=message):
        loaded(folder)


def test_a_locked_database_is_read_and_not_touched(tmp_path):
    folder = person(tmp_path, "ann", GOOD)
    database = folder / "ann" / DATABASE
    holder = sqlite3.connect(database, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    before = database.stat()
    assert len(loaded(folder).cases) == 2
    holder.close()
    assert (database.stat().st_mtime_ns, database.stat().st_size) == (before.st_mtime_ns, before.st_size)


@pytest.mark.parametrize("spec", ["nowhere", "a\0b", "."])
def test_a_folder_without_recordings_is_refused(tmp_path, monkeypatch, spec):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError):
        loaded(spec)


@pytest.mark.parametrize("name", [b"an\xff", b"an\nn", b"an\x1b[31mn"])
def test_a_person_whose_name_cannot_be_printed_is_refused(tmp_path, name):
    with pytest.raises(CorpusError, match="the name of a person's folder is no printable text") as error:
        loaded(person(tmp_path, os.fsdecode(name), GOOD))
    assert str(error.value).isprintable()


def test_a_folder_has_no_revision():
    with pytest.raises(CorpusError, match="a folder has no revisions"):
        benchmark_named("proagentbench").read("sample", ProAgentBenchSettings(), "f00")
