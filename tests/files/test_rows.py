"""Rows of files and of datasets: read strictly, alike whichever way, and refused with file, line and field."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from builders.dialogues import jsonl, record, refusal, row

from dspy_proact.files.hub import text_lines
from dspy_proact.files.rows import FileReader, Id, Line, RawPart, Text, lines_in, lines_of, read_bytes
from dspy_proact.kept import log


class Stop(RawPart):
    harbour: Text
    minutes: int = 0


class Ferry(RawPart):
    name: Id
    stops: list[Stop]
    days: dict[str, Stop]


FERRY = {"name": "Heron", "stops": [{"harbour": "Cliff", "minutes": 5}], "days": {}}


def read(text: str) -> Ferry:
    return Ferry.of(Line("ferries.jsonl", 7, text))


def spliced(old: str, new: str) -> str:
    complete = json.dumps(FERRY)
    assert old in complete
    return complete.replace(old, new, 1)


NOT_ROWS = [
    ("{oops}", None, "not JSON: Expecting property name enclosed in double quotes, at column 2"),
    (json.dumps(FERRY)[:-1], None, "not JSON: "),
    (json.dumps(FERRY) * 2, None, "not JSON: Extra data, at column "),
    (json.dumps([FERRY]), None, "a line must hold one JSON object, not a list"),
    ('"text"', None, "a line must hold one JSON object, not 'text'"),
    ("null", None, "a line must hold one JSON object, not null"),
    (spliced('"name":', '"name": "x", "name":'), "name", "the key is given twice in one object"),
    (spliced('"minutes": 5', '"minutes": 5, "minutes": 5'), "stops[0].minutes", "the key is given twice"),
    (spliced('"minutes": 5', '"minutes": NaN'), "stops[0].minutes", "NaN is not JSON"),
    (spliced('"minutes": 5', '"other": -Infinity'), "stops[0].other", "-Infinity is not JSON"),
    (spliced("5", "9" * 5000), "stops[0].minutes", "an integer may have at most 19 digits, not 5000"),
    (spliced("5", str(2**63)), "stops[0].minutes", "an integer must fit 64 bits"),
    (spliced("Cliff", "Cl\\ud83dff"), "stops[0].harbour", "holds the lone surrogate '\\ud83d', at character 3"),
    (spliced('"minutes"', '"\\udc00"'), "stops[0]", "a key in it holds the lone surrogate '\\udc00'"),
    (spliced("Cliff", "Cliff\\u00002"), "stops[0].harbour", "holds a NUL character, at character 6"),
    (spliced("5", f"{'[' * 200}{']' * 200}"), "stops[0].minutes[0]", "nested more than 64"),
    (spliced("5", f"{'[' * 200_000}{']' * 200_000}"), None, "nested more than 64 levels deep"),
    (spliced('"name"', '"nome"'), "name", "the field is missing"),
    (spliced('"Heron"', '" "'), "name", "input should not be blank, not ' '"),
    (spliced("Heron", "a\\u001b[2Jb"), "name", "input should have no control characters, not 'a\\x1b[2Jb'"),
    (spliced("5", '"5"'), "stops[0].minutes", "input should be a valid integer, not '5'"),
    (spliced("5", "5.0"), "stops[0].minutes", "input should be a valid integer, not 5.0"),
    (spliced("5", "true"), "stops[0].minutes", "input should be a valid integer, not true"),
    (json.dumps({**FERRY, "stops": {}}), "stops", "input should be a valid list, not an object"),
    (json.dumps({**FERRY, "stops": ["a"]}), "stops[0]", "input should be an object, not 'a'"),
    (json.dumps({**FERRY, "stops": None}), "stops", "input should be a valid list, not null"),
]


@pytest.mark.parametrize(("text", "field", "problem"), NOT_ROWS)
def test_a_line_that_is_no_well_formed_row_is_refused_without_coercion(text: str, field: str | None, problem: str):
    error = refusal(lambda: read(text))
    assert (error.source, error.line) == ("ferries.jsonl", 7)
    assert (error.field or "").startswith(field or "")
    assert (error.field is None) == (field is None)
    assert problem in str(error)


def test_surrogates_in_pairs_are_a_character_and_text_is_taken_over_to_the_last_one():
    assert read(spliced("Cliff", "\\ud83d\\udea2")).stops[0].harbour == "\U0001f6a2"
    text = " \u2028 a\r\n\t\u00e9 e\u0301 \U0001f6a2 \x85 </s> {x} 2024-01-01 "
    assert read(json.dumps({**FERRY, "stops": [{"harbour": text}]})).stops[0].harbour == text


def test_unknown_fields_are_counted_by_dotted_name_and_nulls_are_not():
    stops = [{"harbour": "a", "pace": "slow"}, {"harbour": "b", "pace": {"deep": 1}}, {"harbour": "c", "pace": None}]
    days = {"Friday": {"harbour": "d", "mood": 1}}
    # `pace` is given at two of three stops and null at the third; what is inside it is not looked at.
    assert read(json.dumps({**FERRY, "stops": stops, "days": days, "x": 1, "y": None})).unknown_fields() == {
        "x": 1,
        "stops.pace": 2,
        "days.Friday.mood": 1,
    }


HOSTILE = "\x1b]0;owned\x07\u202e\n" + "A" * 100_000


@pytest.mark.parametrize(
    "changes",
    [{"name": HOSTILE}, {"stops": HOSTILE}, {"stops": [HOSTILE]}, {"days": {HOSTILE: 1}}, {"x": {HOSTILE: "\0"}}],
)
def test_a_message_shows_hostile_text_short_and_escaped(changes: dict[str, object]):
    message = str(refusal(lambda: read(json.dumps({**FERRY, **changes}))))
    assert message.isprintable()
    assert len(message) < 500
    assert "\\x1b]0;owned\\x07\\u202e\\n" in message


def test_blank_lines_a_byte_order_mark_and_ends_of_lines_do_not_matter():
    for text in ("a\nb\n", "\ufeff\r\na\r\n \t\r\n\nb", "a\rb\r", "\ufeffa\n\n\nb"):
        lines = list(lines_in(lines_of(text.encode(), "f"), "f"))
        assert [line.text.strip() for line in lines] == ["a", "b"]
    assert [line.number for line in lines_in(["\n", "a\n", "\n", "b"], "f")] == [2, 4]
    assert [line.text for line in lines_in(["a\u2028b\x85c"], "f")] == ["a\u2028b\x85c"]


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (
            b'{}\n"caf\xe9"\n',
            2,
            "not UTF-8: invalid continuation byte, which in Windows-1252 is '\xe9'; save the file as UTF-8, which "
            "spreadsheets call CSV UTF-8",
        ),
        ("{}".encode("utf-16"), 1, "not UTF-8: UTF-16; save the file as UTF-8, which spreadsheets call CSV UTF-8"),
    ],
)
def test_a_file_that_is_not_utf_8_is_refused_with_its_line(content: bytes, line: int, problem: str):
    error = refusal(lambda: list(lines_of(content, "f")))
    assert (error.source, error.line, str(error).partition(": ")[2]) == ("f", line, problem)


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (gzip.compress(b"{}\n", mtime=0), "packed by gzip; unpack it first"),
        (b"PK\x03\x04...", "a zip, as spreadsheets are too"),
        (b"PAR1\x15\x04{}", "Parquet; save its rows as text"),
    ],
)
def test_a_packed_file_is_refused_by_its_form(content: bytes, form: str):
    assert str(refusal(lambda: list(lines_of(content, "f")))).startswith(f"f: not text: it is {form}")


def test_what_is_no_file_is_refused_with_what_to_give(tmp_path: Path):
    def problem(path: object) -> str:
        return str(refusal(lambda: read_bytes(str(path), "the path of a ferry")))

    (tmp_path / "file").touch()
    assert problem(tmp_path / "none") == f"{tmp_path / 'none'}: there is no such file; give the path of a ferry"
    assert problem(tmp_path) == f"{tmp_path}: a folder, not a file; give the path of the file in it"
    assert "cannot be read: Not a directory" in problem(tmp_path / "file" / "x")
    assert "not a path: embedded null byte" in problem("a\0b")
    assert problem("b\udcff") == "b\\udcff: its name is not UTF-8; rename it"


def test_a_pipe_is_read_and_one_that_sends_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen("echo row > pipe", shell=True, cwd=tmp_path):
        assert read_bytes(str(tmp_path / "pipe"), "a ferry") == b"row\n"
    monkeypatch.setattr(log, "_PATIENCE", 0.01)
    error = refusal(lambda: read_bytes(str(tmp_path / "pipe"), "a ferry"))
    assert str(error) == f"{tmp_path / 'pipe'}: cannot be read: a pipe that sent nothing in 0.01 seconds"


def test_many_files_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log, "_LONGEST", 10)
    (tmp_path / "six").write_bytes(b"x" * 6)
    reader = FileReader()
    reader.read(tmp_path / "six", "ferries")
    error = refusal(lambda: reader.read(tmp_path / "six", "ferries"))
    assert "six: cannot be read: with the files before it larger than" in str(error)


# By way of `datasets`, whose own JSON reader would infer types.

TWO_WAYS = [
    [row(turn_records=[record(number, user_message="2024-01-01") for number in range(1, 6)])],
    [row(uuid="2024-01-01T10:00:00Z", scenario_id="2024-01-01 10:00:00"), row(uuid="12:30")],
    # Fields that only some rows have, and of types that differ from row to row.
    [row(mood="calm", extra={"b": [1]}), row(extra=[]), row(extra="x", mood=None), row()],
    [row(turn_records=[record(1, user_message="\u2028\x85\x1c\x0b \U0001f6a2 e\u0301\r\n")]), row()],
    # Longer than the chunks that `datasets` reads, with a field that comes late.
    [*(row(note="x" * 1_000_000) for _ in range(12)), row(mood="calm")],
]


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A cache for `datasets` that is thrown away; the person's own stays as it is."""
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def both_ways(file: Path, text: str) -> tuple[list[object], list[object]]:
    """What the lines of a file hold, read by `datasets` and by us."""
    file.write_bytes(text.encode())
    ways = text_lines(str(file), "a dataset", "download it"), lines_of(file.read_bytes(), str(file))
    one, other = ([json.loads(line.text) for line in lines_in(lines, "f")] for lines in ways)
    return one, other


@pytest.mark.parametrize("raw", TWO_WAYS)
@pytest.mark.usefixtures("hub_cache")
def test_a_dataset_gives_the_same_rows_as_the_file(tmp_path: Path, raw: list[dict[str, object]]):
    assert both_ways(tmp_path / "rows", jsonl(*raw)) == (raw, raw)


@pytest.mark.usefixtures("hub_cache")
def test_lines_end_alike_either_way(tmp_path: Path):
    assert both_ways(tmp_path / "rows", "1\r2\r\n3\n\r4") == ([1, 2, 3, 4], [1, 2, 3, 4])


@pytest.mark.usefixtures("hub_cache")
def test_a_dataset_that_cannot_be_read_is_refused_with_what_to_do(tmp_path: Path):
    (tmp_path / "rows").write_bytes(b'{"uuid": "caf\xe9"}\n')
    error = refusal(lambda: text_lines(str(tmp_path / "rows"), "a dataset", "download it"))
    # `datasets` does not tell on which line it stopped being UTF-8.
    assert str(error) == "a dataset: not UTF-8: invalid continuation byte; save the file as UTF-8"
    missing = str(refusal(lambda: text_lines(str(tmp_path / "none"), "a dataset", "download it")))
    assert missing.startswith("a dataset: cannot be read (FileNotFoundError: ")
    assert missing.endswith("; try again, or download it")


@pytest.mark.parametrize("disabled", [False, True])
@pytest.mark.usefixtures("hub_cache")
def test_progress_bars_are_off_while_reading_and_as_before_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], disabled: bool
):
    import datasets

    bars = sys.modules[f"{datasets.__name__}.utils.tqdm"]
    monkeypatch.setattr(bars, "HF_DATASETS_DISABLE_PROGRESS_BARS", None)
    monkeypatch.setattr(bars, "_hf_datasets_progress_bars_disabled", disabled)
    both_ways(tmp_path / "rows", "1\n")
    assert bars.are_progress_bars_disabled() == disabled
    assert capfd.readouterr() == ("", "")
