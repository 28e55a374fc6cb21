"""Tables of others: the same rows from every form, in little memory, or refused with file, row and column."""

import csv
import datetime
import json
import tracemalloc
from io import StringIO
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from builders.dialogues import refusal
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.files.sheets import csv_text
from dspy_proact.files.tables import rows_in

WHAT = "a table of answers"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fields(path: Path) -> list[dict[str, object]]:
    return [line.parse() for line in rows_in(path, WHAT)]


def parquet(path: Path, columns: dict[str, list[object]]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


ROWS = [{"key": "a:1", "response": 'Yes, "two" lines:\nand more; here'}, {"key": "b:2", "response": ""}]
TRAILING = ' key ,"response",,\na:1,"Yes, ""two"" lines:\nand more; here",,\nb:2,,,\n'
QUOTED = 'key,response\r\na:1,"Yes, ""two"" lines:\nand more; here"\r\nb:2,\r\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.csv", QUOTED),
        ("rows.csv", QUOTED.replace("\r\n", "\n")),
        ("rows.csv", QUOTED.replace("\r\n", "\r")),
        ("rows.csv", "\ufeff" + QUOTED),
        ("rows.csv", QUOTED.encode("utf-16")),
        ("rows.csv", "\n\n" + QUOTED + "\n,\n"),
        ("rows.csv", "sep=;\n" + QUOTED.replace("key,", "key;").replace("1,", "1;").replace("2,", "2;")),
        ("rows.tsv", QUOTED.replace("key,", "key\t").replace("1,", "1\t").replace("2,", "2\t")),
        ("rows.txt", QUOTED),
        ("rows.csv", TRAILING),
        ("rows.jsonl", "".join(f"{json.dumps(row)}\n" for row in ROWS)),
        ("rows.jsonl", "\ufeff" + "".join(f"\n{json.dumps(row)}\r\n" for row in ROWS)),
        ("rows.json", json.dumps(ROWS, indent=1)),
        ("rows.json", json.dumps(ROWS).encode("utf-16")),
    ],
)  # fmt: skip
def test_the_same_rows_are_read_from_every_form_of_text(tmp_path: Path, name: str, content: str | bytes):
    assert fields(write(tmp_path, name, content)) == ROWS


def test_a_table_of_which_one_row_is_read_is_closed_in_silence(tmp_path: Path):
    rows = rows_in(write(tmp_path, "rows.csv", QUOTED.encode("utf-16")), WHAT)
    assert next(rows).parse() == ROWS[0]  # and no more: what a generator raises as it is dropped is an error here


def test_columns_may_stand_in_any_order_and_the_index_of_pandas_has_no_name(tmp_path: Path):
    assert fields(write(tmp_path, "rows.csv", ",Response,Key\n0,x,a\n1,y,b\n")) == [
        {"Response": "x", "Key": "a"},
        {"Response": "y", "Key": "b"},
    ]


def test_parquet_gives_values_of_python_and_none_for_what_is_missing(tmp_path: Path):
    path = parquet(
        tmp_path / "rows.parquet",
        {
            "key": ["a", "b", "c"],
            "score": [1.5, float("nan"), None],
            "tokens": [2**62, 7, None],
            "turns": [[{"role": "user", "text": "hi"}], [], None],
            "at": [datetime.datetime(2026, 1, 2, 3, 4), None, None],
            "binary": [b"caf\xc3\xa9", b"", None],
        },
    )
    assert fields(path) == [
        {
            "key": "a",
            "score": 1.5,
            "tokens": 2**62,
            "turns": [{"role": "user", "text": "hi"}],
            "at": "2026-01-02T03:04:00",
            "binary": "café",
        },
        {"key": "b", "score": None, "tokens": 7, "turns": [], "at": None, "binary": ""},
        {"key": "c", "score": None, "tokens": None, "turns": None, "at": None, "binary": None},
    ]


def test_a_folder_is_read_by_the_names_of_its_files_and_other_files_are_left_alone(tmp_path: Path):
    write(tmp_path, "b.csv", "key\nb\n")
    write(tmp_path, "a.jsonl", '{"key": "a"}\n')
    parquet(tmp_path / "c.parquet", {"key": ["c"]})
    write(tmp_path, "README.md", "words")
    write(tmp_path, "._b.csv", b"\x00\x05\x16\x07")
    assert [row["key"] for row in fields(tmp_path)] == ["a", "b", "c"]
    lines = [*rows_in(tmp_path, WHAT)]
    assert [Path(line.source).name for line in lines] == ["a.jsonl", "b.csv", "c.parquet"]


REFUSED = [
    ("rows.csv", "key,response\na,b\nc,d,e\n", 3, None, "3 cells under 2 columns; put quotes around text with a comma"),
    ("rows.csv", "key,response\na,b\nc\n", 3, None, "1 cells under 2 columns; is the line cut?"),
    ("rows.csv", 'key,response\na,"b\nb"\nc,"d"e\n', 4, None, "not CSV: ',' expected after '\"'"),
    ("rows.csv", 'key,response\na,"b\n', 2, None, "not CSV: unexpected end of data"),
    ("rows.csv", "key,response\na,b\0\n", 2, "response", "holds a NUL character; take it out"),
    ("rows.csv", "key\0,response\na,b\n", 1, None, "holds a NUL character; take it out"),
    ("rows.csv", "key,key\na,b\n", 1, "key", "the column is given twice"),
    ("rows.csv", ",\na,b\n", 1, None, "the first line must name the columns"),
    ("rows.csv", b"key,response\na,caf\xe9\n", 2, None, "which in Windows-1252 is 'é'; save the file as UTF-8"),
    ("rows.csv", "key,response\n".encode("utf-16") + b"a", None, None, "not UTF-16: truncated data"),
    ("rows.csv", b"\x1f\x8b\x08\x00", None, None, "not text: it is packed by gzip; unpack it first"),
    ("rows.jsonl", '{"key": "a"}\n{"key": "b", "score": NaN}\n', 2, "score", "NaN is not JSON"),
    ("rows.jsonl", '{"key": "a"}\n{"key": "b", "score": 1e999}\n', 2, "score", "inf is no finite number"),
    ("rows.jsonl", '{"key": "a"}\n{"key": "b", "key": "c"}\n', 2, "key", "the key is given twice in one object"),
    ("rows.jsonl", '{"key": "a"}\n["b"]\n', 2, None, "a line must hold one JSON object, not a list"),
    ("rows.json", '[{"key": "a"}, {"key": "\\u0000"}]', None, "[1].key", "holds a NUL character, at character 1"),
    ("rows.json", '[{"key": "a"}, 5]', None, "[1]", "an object is expected, not 5"),
    ("rows.parquet", b"PAR1 and no more", None, None, "damaged Parquet, after row 0: "),
]


@pytest.mark.parametrize(("name", "content", "line", "field", "problem"), REFUSED)
def test_what_is_no_table_is_refused_by_file_row_and_column(
    tmp_path: Path, name: str, content: str | bytes, line: int | None, field: str | None, problem: str
):
    path = write(tmp_path, name, content)
    error = refusal(lambda: fields(path))
    assert (error.source, error.line, error.field) == (str(path), line, field)
    assert problem in error.problem


def test_a_row_of_parquet_that_json_cannot_hold_is_refused_by_row_and_column(tmp_path: Path):
    path = parquet(
        tmp_path / "rows.parquet", {"key": ["a", "b", "c"], "text": [{"of": "x"}, {"of": "y"}, {"of": "\0"}]}
    )
    error = refusal(lambda: fields(path))
    assert str(error) == f"{path}, row 3, field 'text.of': holds a NUL character, at character 1"
    binary = parquet(tmp_path / "binary.parquet", {"text": [b"ok", b"\xff"]})
    assert "row 2, field 'text': holds the lone surrogate" in str(refusal(lambda: fields(binary)))
    twice = tmp_path / "twice.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays([pyarrow.array(["a"])] * 2, names=["key", " key "]), twice)
    assert "field 'key': the column is given twice" in str(refusal(lambda: fields(twice)))


def test_what_is_no_file_or_folder_of_tables_is_refused_with_what_to_give(tmp_path: Path):
    assert "give a table of answers" in str(refusal(lambda: fields(tmp_path / "none.csv")))
    assert "a folder without a table; give a table of answers" in str(refusal(lambda: fields(tmp_path)))
    (tmp_path / "manifest.json").write_text("{}")
    assert "the folder of a run" in str(refusal(lambda: fields(tmp_path)))


def test_a_quote_that_is_never_closed_ends_the_reading_before_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dspy_proact.files.sheets._LONGEST_ROW", 1000)
    path = write(tmp_path, "rows.csv", 'key,response\na,b\nc,"' + "d\n" * 1000)
    error = refusal(lambda: fields(path))
    assert (error.line, error.problem) == (3, "a row of more than 0 Mi characters; is a quote not closed?")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_long_table_takes_the_memory_of_a_few_of_its_rows(tmp_path: Path, form: str):
    count, text = 20_000, "x" * 500  # 10 MB of text
    path = tmp_path / f"rows.{form}"
    if form == "parquet":
        pyarrow.parquet.write_table(pyarrow.table({"key": range(count), "text": [text] * count}), path)
    else:
        with path.open("w") as file:
            file.write("key,text\n" if form == "csv" else "")
            file.writelines(
                f"{i},{text}\n" if form == "csv" else f'{{"key": {i}, "text": "{text}"}}\n' for i in range(count)
            )
    next(iter(rows_in(path, WHAT)))  # imports what it needs
    tracemalloc.start()
    try:
        assert sum(1 for _ in rows_in(path, WHAT)) == count
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


CELLS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\r"), max_size=12)
NAMES = st.lists(
    st.text("abcdefgh _", min_size=1, max_size=5).map(str.strip).filter(bool), min_size=1, max_size=4, unique=True
)


@given(st.data(), NAMES)
def test_what_is_written_as_a_sheet_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, names: list[str]
):
    cells = st.lists(CELLS, min_size=len(names), max_size=len(names)).filter(
        lambda row: any(cell.strip() for cell in row)
    )
    rows = data.draw(st.lists(cells, max_size=4))
    path = write(tmp_path_factory.mktemp("sheets"), "rows.csv", csv_text([names, *rows]))
    assert fields(path) == [dict(zip(names, row, strict=True)) for row in rows]


@given(
    st.lists(st.lists(CELLS.filter(lambda cell: not cell.startswith("'")), min_size=3, max_size=3), max_size=4),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_every_way_to_write_csv_gives_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    delimiter: str,
    end: str,
    quoting: int,
    encoding: str,
):
    if any(set(cell) & {"\r", "\n"} for row in rows for cell in row):
        quoting = csv.QUOTE_ALL  # csv quotes no line end but that of its rows, and no reader knows which is which
    out = StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows([["a", "b", "c"], *rows])
    path = write(tmp_path_factory.mktemp("sheets"), "rows.csv", out.getvalue().encode(encoding))
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    assert fields(path) == [dict(zip("abc", row, strict=True)) for row in kept]
