"""The tools of PROBE's agents: what they return, how much, and what no argument can do; and the blind rules."""

import asyncio
import resource
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_desk import ITEMS, MAIL, MEETING, NOTICE
from probe_task import view

from dspy_proact.benchmarks.probe.agents.sql import answer
from dspy_proact.benchmarks.probe.agents.tools import COLUMNS, Toolbox, ToolRow
from dspy_proact.benchmarks.probe.baselines import by_rule
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.evaluation.text_ranking import WordRanking, ranked


def used(tool, argument, items=ITEMS, **bounds):
    """What a tool returns, and the ids that count as touched."""
    tools = Toolbox(items, ProbeSettings(**bounds))
    observation = asyncio.run(tools.use(tool, argument))
    return observation.text, tools.touched


def answered(query):
    """What a query returns, without a process of its own."""
    return answer(COLUMNS, [astuple(ToolRow.of(item))[: len(COLUMNS)] for item in ITEMS], query, 50, 2000)


def test_a_search_returns_the_best_items_first_and_no_more_than_are_allowed():
    text, touched = used("search", "scaffold permit")
    assert touched == ("b2", "a1")
    assert text.startswith("id: b2\nkind: event\ntitle: Scaffold\npeople: Ida Brandt, Nils Ok\n")
    assert len(used("search", "permit", hits=1)[1]) == 1


@pytest.mark.parametrize("query", ["", "the of and", "zebra", "\x00", "\ud83d"])
def test_a_search_without_a_word_in_any_item_returns_none(query):
    assert used("search", query) == ("No item has any of these words.", ())


def test_items_are_found_by_their_words_people_and_place():
    there = MEETING.model_copy(update={"location": "Orangery"})
    assert used("search", "orangery", [MAIL, there])[1] == ("b2",)
    assert used("search", "Tomas")[1] == ("a1",)
    for text in ("", "the of"):
        empty = NOTICE.model_copy(update={"title": text, "content": text})
        assert used("search", "soup", [empty])[1] == ()
    twins = [NOTICE.model_copy(update={"id": f"n{number}"}) for number in range(20)]
    assert ranked(WordRanking([ToolRow.of(twin).words for twin in twins]).scores("soup")) == list(range(20))


def test_reading_returns_items_by_their_ids_and_says_which_do_not_exist():
    text, touched = used("read", "c3, zz a1")
    assert touched == ("c3", "a1")
    assert text.endswith("No such item: zz")
    assert used("read", "") == ("No such item.", ())
    odd = NOTICE.model_copy(update={"id": "my file"})
    assert used("read", " my file ", [odd])[1] == ("my file",)


def test_items_that_are_not_shown_are_not_touched():
    many = [MAIL.model_copy(update={"id": f"m{number}"}) for number in range(50)]
    _, touched = used("search", "panes", many, observation=400, hits=50)
    assert len(touched) == 4


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM items",
        "SELECT substr(time, 1, 7), group_concat(id) FROM items GROUP BY 1 ORDER BY 1",
        "WITH late AS (SELECT * FROM items WHERE time > '2025-03-15') SELECT upper(title) FROM late",
        "SELECT a.id FROM items a JOIN items b ON a.people LIKE '%' || b.people || '%'",
        "SELECT id, row_number() OVER (ORDER BY time) FROM items",
        "SELECT 1 UNION SELECT max(length(text)) FROM items",
    ],
)
def test_what_only_reads_is_allowed(query):
    assert "failed" not in answered(query)[0]


def test_a_query_returns_rows_under_their_names_and_no_more_than_are_allowed():
    text, touched = used("sql", "SELECT id, title FROM items WHERE kind = 'event'")
    assert (text, touched) == ('["id", "title"]\n["b2", "Scaffold"]', ("b2",))
    text, _ = used("sql", "SELECT CAST('ab' AS BLOB), NULL, 1.5, 9e999, -1")
    assert text.endswith('["2 bytes", null, 1.5, Infinity, -1]')
    text, touched = used("sql", "SELECT id FROM items ORDER BY id", rows=2)
    assert text == '["id"]\n["a1"]\n["b2"]\n... (further rows)'
    assert touched == ("a1", "b2")
    assert used("sql", "SELECT id FROM items WHERE 0") == ("No rows.", ())


ATTACKS = [
    "DROP TABLE items",
    "DELETE FROM items",
    "UPDATE items SET title = ''",
    "INSERT INTO items (id) VALUES ('zz')",
    "CREATE TABLE more (id)",
    "CREATE TEMP TABLE more AS SELECT * FROM items",
    "CREATE TRIGGER t AFTER INSERT ON items BEGIN SELECT 1; END",
    "ALTER TABLE items ADD COLUMN more",
    "ATTACH DATABASE 'FILE' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "VACUUM INTO 'FILE'",
    "PRAGMA writable_schema = 1",
    "PRAGMA database_list",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM pragma_table_info('items')",
    "SELECT * FROM sqlite_master",
    "SELECT name FROM sqlite_schema",
    "SELECT load_extension('evil')",
    "SELECT writefile('FILE', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT randomblob(1000000000)",
    "SELECT length(zeroblob(1000000000))",
    "SELECT printf('%.*c', 1000000000, 'x')",
    "SELECT * FROM json_each('[1]')",
    "BEGIN",
    "SAVEPOINT s",
    "ANALYZE",
    "SELECT 1; DROP TABLE items",
    "SELECT id FROM items; DELETE FROM items",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) FROM n",
    f"SELECT count(*) FROM {', '.join(f'items t{number}' for number in range(12))}",
    f"SELECT {'(' * 500}1{')' * 500}",
    "SELECT " + "replace(" * 12 + "text" + ", 'e', 'eeeeeeeeee')" * 12 + " FROM items",
    "SELECT text LIKE '" + "%a" * 2000 + "' FROM items",
    "SELECT '" + "x" * 20_000 + "'",
    "SELECT \x00",
    "SELECT '\ud83d'",
    "not sql",
    "SELECT nothing FROM items",
    "SELECT",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_query_that_does_more_than_read_fails_and_changes_nothing(attack, tmp_path):
    text, ids = answered(attack.replace("FILE", str(tmp_path / "file")))
    assert (text.startswith("The query failed: "), [*ids]) == (True, [])
    assert not list(tmp_path.iterdir())


HEAVY = {
    "values": f"SELECT {', '.join(['text||text||text'] * 50)} FROM items",
    "instr": "SELECT instr(text, substr(text, 1, 500000) || 'c') FROM items",
}


@pytest.mark.parametrize("query", HEAVY.values(), ids=HEAVY)
def test_a_heavy_query_is_stopped_and_takes_neither_the_loop_nor_memory(query):
    long = [NOTICE.model_copy(update={"id": f"n{number}", "content": "ab" * 500_000}) for number in range(4)]

    async def beside():
        tools, beats = Toolbox(long, ProbeSettings()), 0
        using = asyncio.create_task(tools.use("sql", query))
        while not using.done():
            await asyncio.sleep(0.005)
            beats += 1
        return using.result().text, beats

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text, beats = asyncio.run(beside())
    assert (text.startswith("The query failed: "), beats > 1) == (True, True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 200_000  # kilobytes


def test_an_id_that_is_cut_off_is_not_touched():
    long = MAIL.model_copy(update={"body": "x" * 1000})
    assert used("sql", "SELECT text, id FROM items", [long], observation=300)[1] == ()
    assert used("sql", "SELECT id, text FROM items", [long], observation=300)[1] == ("a1",)


def test_text_that_no_file_could_hold_is_searched_and_queried_all_the_same():
    odd = MAIL.model_copy(update={"body": "half \ud83d pair", "subject": "nul \x00"})
    assert used("sql", "SELECT id FROM items", [odd])[1] == ("a1",)
    assert used("search", "half", [odd])[1] == ("a1",)


@given(
    st.sampled_from(["search", "sql", "read"]),
    st.text(st.characters(categories=None)) | st.sampled_from(["a1 b2 c3 zz", "permit", "SELECT *, text FROM items"]),
    st.integers(200, 400),
)
def test_whatever_is_asked_a_tool_returns_so_many_characters_and_only_items_that_there_are(tool, argument, longest):
    text, touched = used(tool, argument, observation=longest)
    assert len(text) <= longest
    assert set(touched) <= {item.id for item in ITEMS}


def named(rule, take=2, task=None):
    return by_rule(task or view().task, rule, take).evidence


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("first", ("item_a1", "item_b2")),
        ("longest", ("item_e5", "item_b2")),  # 20 sentences; then 57 characters of text, more than of any other
        ("kind", ("item_b2",)),  # three e-mails, one document, one event: of equally rare ones the first
        ("id", ()),
        ("urgent", ("item_d4", "item_a1")),  # urgent, today, asap; then "waiting"; no other has any
        ("bm25", ("item_a1", "item_b2")),  # maps are of her world, and so are keys
        ("everything", ("item_a1", "item_b2", "item_c3", "item_d4", "item_e5")),
    ],
)
def test_a_blind_rule_names_what_it_says(rule, expected):
    assert named(rule) == expected
    task = view().task
    assert named(rule, task=task.model_copy(update={"items": ()})) == ()


def test_the_rule_by_ids_names_items_whose_id_is_of_another_kind():
    task, ids = view().task, ("document_1", "document_2", "calendar_3", "email_4", "email_5")
    items = tuple(item.model_copy(update={"id": id_}) for item, id_ in zip(task.items, ids, strict=True))
    assert named("id", task=task.model_copy(update={"items": items})) == ("document_1",)  # an e-mail by its kind
