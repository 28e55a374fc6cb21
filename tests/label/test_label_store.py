"""The file of a study: what is written once, what is never written twice, and what a full disk keeps."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from builders.studies import submission

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.people import Part
from dspy_proact.label.database import StoreError
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, Study, StudyItem, StudyRun

STUDY = Study("toy", (StudyRun("r1", "runs/one", "2-0-1a2b3c4d"),), Design(ratings=2, raters=3))


def item(key, text="An answer."):
    return StudyItem(key, "r1", f"case {key}", Part("", ("bad", "good")), (), (), (text,))


@pytest.fixture
def store(tmp_path, clock):
    store = Store.create(tmp_path / "study.db", STUDY, [item("a"), item("b"), item("c")], clock)
    yield store
    store.close()


@pytest.fixture
def ann(store):
    """A rater with the first two items on their slate."""
    rater = store.add_rater("Ann")
    store.assign(rater.number, lambda: [("a", False), ("b", False)])
    return rater.number


def states(store, rater):
    return [slot.state for slot in store.slate(rater)]


def test_a_study_is_read_as_it_was_declared(store, tmp_path):
    again = Store.open(tmp_path / "study.db")
    assert (again.study, again.id) == (STUDY, store.id)
    assert again.units() == (("a",), ("b",), ("c",))
    again.close()
    assert (tmp_path / "study.db").stat().st_mode & 0o777 == 0o600


def test_no_token_is_in_the_file(tmp_path):
    store = Store.create(tmp_path / "study.db", STUDY, [item("a")])
    assert not any(store.holds("", role) for role in ("owner", "entry"))
    owner, entry, token = "the owner's token", "the entry token", "a token of Ann's"
    store.set_tokens(owner, entry)
    rater = store.add_rater("Ann", token)
    held = [(one, role) for one in (owner, entry, token) for role in ("owner", "entry") if store.holds(one, role)]
    assert held == [(owner, "owner"), (entry, "entry")]
    assert store.rater_of(token) == rater
    assert store.rater_of(owner) is None
    store.close()
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not [one for one in (owner, entry, token) if one.encode() in written]


def test_new_tokens_end_the_old_ones(store):
    store.set_tokens("the owner's", "one")
    store.set_tokens("the owner's newer one", "another")
    assert (store.holds("the owner's", "owner"), store.holds("the owner's newer one", "owner")) == (False, True)


@pytest.mark.parametrize("name", ["", "  ", "x" * 61, "a\nb\x1b[31m", "a\u202eb"])
def test_a_pseudonym_can_be_printed(store, name):
    with pytest.raises(UsageError, match="pseudonym"):
        store.add_rater(name)


def test_a_pseudonym_is_of_one_person_in_whatever_form_it_is_written(store):
    store.add_rater("Zoe\u0308")
    with pytest.raises(UsageError, match="taken"):
        store.add_rater(" zo\u00eb ")


def test_one_key_is_one_row_and_an_item_has_one_rating_of_a_rater(store, ann):
    once = submission("a", "good")
    assert (store.give(ann, once), store.give(ann, once)) == (1, 0)
    with pytest.raises(UsageError, match="already"):
        store.give(ann, submission("a", "bad", 4))
    assert [rating.grade for rating in store.ratings()] == ["good"]


def test_of_several_that_are_given_at_once_all_are_kept_or_none(store, ann):
    with pytest.raises(UsageError, match="already"):
        store.give(ann, submission("a", "good", 4), submission("b", "good", 4), submission("b", "bad", 4))
    assert store.ratings() == ()


def test_what_is_undone_can_be_given_again_and_stays_in_the_log(store, ann):
    store.give(ann, submission("a", "good", 4))
    store.give(ann, submission("b", "", reason="a friend of mine"))
    assert states(store, ann) == ["rated", "skipped"]
    assert store.undo(ann, "u1").reason == "a friend of mine"
    assert store.undo(ann, "u1") is None, "the same click again"
    assert store.undo(ann, "u2").grade == "good"
    assert states(store, ann) == ["open", "open"]
    store.give(ann, submission("a", "bad", 2))
    assert [(rating.number, rating.grade) for rating in store.ratings()] == [(3, "bad")]


def test_whoever_is_idle_gives_the_rest_back(store, ann, clock):
    bob = store.add_rater("Bob")
    store.assign(bob.number, lambda: [("c", False)])
    store.give(ann, submission("a", "good", 4))
    clock.now += 100
    store.give(bob.number, submission("c", "good", 4))
    assert store.give_back(idle=50) == 1
    assert (states(store, ann), states(store, bob.number)) == (["rated", "returned"], ["rated"])


def test_the_last_grade_of_the_owner_counts_and_no_rating_changes(store, ann):
    store.give(ann, submission("a", "good", 4))
    last = submission("a", "bad", reason="Another reason.")
    for one in (submission("a", "good", reason="A reason."), last, replace(last, grade="good")):
        store.adjudicate(one)
    assert [(key, one.grade) for key, one in store.adjudications().items()] == [("a", "bad")]
    assert [rating.grade for rating in store.ratings()] == ["good"]


def test_on_a_full_disk_what_was_kept_stays_and_the_rest_is_refused(store, ann):
    store.give(ann, submission("a", "good", 4))
    (pages,) = store._db.row("PRAGMA page_count")
    store._db.row(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="the disk is full") as refused:
        store.give(ann, submission("b", "good", reason="x" * 100_000))
    assert refused.value.full
    with pytest.raises(StoreError, match="the disk is full"):
        store.give(ann, submission("b", "good", reason="x" * 100_000))
    assert [rating.item for rating in store.ratings()] == ["a"]
    store._db.row("PRAGMA max_page_count = 100000")
    assert store.give(ann, submission("b", "good", 4)) == 1


def test_an_item_with_another_text_is_not_the_one_that_was_rated(store):
    assert [one.key for one in store.chosen([item("c"), item("a"), item("b")])] == ["a", "b", "c"]
    with pytest.raises(UsageError, match="'case b' is with another text"):
        store.chosen([item("a"), item("b", "Another."), item("c")])


def test_a_file_of_something_else_is_refused(tmp_path):
    other = tmp_path / "other.db"
    other.write_text("no database " * 100)
    with pytest.raises(UsageError, match="no file of"):
        Store.open(other)
    with sqlite3.connect(tmp_path / "empty.db"):
        pass
    with pytest.raises(UsageError, match="no file of"):
        Store.open(tmp_path / "empty.db")
    with pytest.raises(UsageError, match="is a folder; name a file"):
        Store.open(tmp_path)
    with pytest.raises(UsageError, match="there is no such file"):
        Store.open(tmp_path / "none.db")


def test_a_database_of_something_else_is_refused_and_stays_as_it_was(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE mine (text TEXT)")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is no file of `label serve`"):
        Store.open(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["other.db"]


def test_a_study_is_made_whole_or_not_at_all(tmp_path, monkeypatch):
    """What is killed while it is made has no file yet, and one that another began meanwhile is not replaced."""
    path, other = tmp_path / "study.db", tmp_path / "other.db"
    Store.create(other, STUDY, [item("b")]).close()

    def begun_by_another(*_):
        assert not path.exists()
        other.rename(path)

    monkeypatch.setattr("os.fsync", begun_by_another)
    with pytest.raises(UsageError, match="exists"):
        Store.create(path, STUDY, [item("a")])
    store = Store.open(path)
    assert store.units() == (("b",),)
    store.close()
    assert [one.name for one in tmp_path.iterdir()] == ["study.db"]


def test_what_is_left_of_another_study_is_refused_by_name_and_stays(tmp_path):
    (tmp_path / "study.db-wal").write_text("ratings")
    with pytest.raises(UsageError, match="db-wal: holds the last ratings of a study that is not beside it"):
        Store.create(tmp_path / "study.db", STUDY, [item("a")])
    assert [one.name for one in tmp_path.iterdir()] == ["study.db-wal"]


def test_the_file_alone_holds_what_was_acknowledged_while_it_is_open(store, ann, tmp_path):
    store.give(ann, submission("a", "good", 4))
    assert [one.name for one in tmp_path.iterdir()] == ["study.db"]
    shutil.copy(store.path, tmp_path / "copy.db")
    copy = Store.open(tmp_path / "copy.db")
    assert copy.ratings() == store.ratings() != ()
    copy.close()


def test_a_file_of_an_earlier_version_gives_its_write_ahead_log_up(store, ann, tmp_path):
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    store.give(ann, submission("a", "good", 4))
    assert (tmp_path / "study.db-wal").exists()
    store.require_writable()
    assert [one.name for one in tmp_path.iterdir()] == ["study.db"]
    assert len(store.ratings()) == 1


def test_a_lock_is_a_lock_in_whatever_is_done(store, ann, monkeypatch):
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        store._db.execute("PRAGMA busy_timeout = 1")
        other.execute("BEGIN EXCLUSIVE")
        for does in (lambda: store.give(ann, submission("a", "good", 4)), store.ratings, store.raters):
            with pytest.raises(StoreError, match="another process has locked the file") as refused:
                does()
            assert not refused.value.full
        monkeypatch.setattr("dspy_proact.label.database._BUSY_SECONDS", 0.001)
        with pytest.raises(StoreError, match="another process has locked"):
            Store.open(store.path)
    assert store.give(ann, submission("a", "good", 4)) == 1


def test_a_reader_that_is_not_done_is_a_lock_for_what_is_written(store, ann):
    store._db.execute("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM study").fetchall()
        with pytest.raises(StoreError, match="locked"):
            store.give(ann, submission("a", "good", 4))
    assert store.ratings() == ()


def another(path):
    shutil.copy(path, path.with_name("other"))
    path.with_name("other").replace(path)


@pytest.mark.parametrize(
    ("act", "why", "where"),
    [
        (
            lambda path: path.rename(path.with_name("moved.db")),
            "was moved to .*moved.db; what was .* is in it",
            "moved.db",
        ),
        (lambda path: path.unlink(), "was removed; what .* is in .*study.rescued.db", "study.rescued.db"),
        (another, "was removed, and another file is in its place; .* is in .*rescued", "study.rescued.db"),
    ],
)
def test_nothing_is_kept_in_a_file_that_is_not_in_its_place(store, ann, tmp_path, act, why, where):
    store.give(ann, submission("a", "good", 4))
    act(store.path)
    for _ in range(2):
        with pytest.raises(StoreError, match=f"{why}.*; nothing more is kept until it is back in its place"):
            store.give(ann, submission("b", "good", 4))
    saved = Store.open(tmp_path / where)
    assert [rating.item for rating in saved.ratings()] == ["a"]
    saved.close()
    assert (tmp_path / where).stat().st_mode & 0o777 == 0o600
    assert len([*tmp_path.glob("*rescued*")]) == ("rescued" in where)
    (tmp_path / where).replace(store.path)
    if where == "moved.db":
        assert store.give(ann, submission("b", "good", 4)) == 1, "it is back"


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (lambda path: path.rename(path.with_name("moved.db")), "was moved to .*moved.db"),
        (lambda path: path.unlink(), "was removed; what was written before is in .*rescued"),
    ],
)
def test_what_is_moved_while_something_is_written_is_not_acknowledged(store, ann, act, why):
    def choose():
        act(store.path)
        return [("c", False)]

    with pytest.raises(StoreError, match=why):
        store.assign(ann, choose)


def test_a_file_that_can_only_be_read_is_read(store, ann, tmp_path, monkeypatch):
    """As a system without permission or a read-only disk opens it, whoever runs this test."""
    store.give(ann, submission("a", "good", 4))
    connect = sqlite3.connect
    monkeypatch.setattr("sqlite3.connect", lambda name, **more: connect(name.replace("mode=rw", "mode=ro"), **more))
    reading = Store.open(store.path)
    assert [rating.item for rating in reading.ratings()] == ["a"]
    for does in (reading.require_writable, lambda: reading.give(ann, submission("b", "good", 4))):
        with pytest.raises(StoreError, match="or its folder, cannot be opened or written"):
            does()
    reading.close()


def test_a_study_without_its_settings_is_refused_in_a_line(store):
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("UPDATE study SET settings = '{}'")
        db.commit()
    with pytest.raises(UsageError, match="is damaged") as refused:
        Store.open(store.path)
    assert "\n" not in str(refused.value)
