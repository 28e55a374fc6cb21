"""Tables on terminals of any width and encoding: what there is no room for stands in a part of its own."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from dspy_proact.plain_text import printable
from dspy_proact.report.terminal import show, table

HEADINGS = ("phase", "scored", "pass rate", "weighted", "strict")
ROWS = (
    ("EMERGENT", "213/213", "12.5 [2.4–45.8]", "21.9 [7.7–48.3]", "21.9"),
    ("RECOVERY", "13/213", "7.1 [0.7–46.7]", "10.7 [1.9–43.2]", "10.7"),
)


def printed(width: int, encoding: str = "utf-8", **options: bool) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace", newline="\n")
    show(Console(file=file, width=width), table(HEADINGS, ROWS, **options))
    file.seek(0)
    return file.read()


@pytest.mark.parametrize(
    "text", ["[red]x[/red]", "[/red]", "\x1b[31m", "\x1b]0;title\x07", "\u202eoof", ":smile:", "a\nb: 0"]
)
def test_nothing_in_a_line_a_heading_a_name_or_a_value_is_obeyed_or_begins_a_line(text: str):
    def shown(text: str) -> str:
        file = io.StringIO()
        console = Console(file=file, width=100, force_terminal=True, color_system="truecolor")
        show(console, f"line {text}", table(("", f"heading {text}"), [(f"name {text}", f"value {text}")]))
        return file.getvalue()

    out = shown(text)
    assert out.count("\x1b") == shown("x").count("\x1b"), "the table's own styles and no more"
    assert not any(sign in out for sign in ("\x07", "\u202e", "☺"))
    for part in ("line", "heading", "name", "value"):
        assert f"{part} {printable(text)}".replace("\n", "\\n") in out


@pytest.mark.parametrize("fold", [True, False])
@given(width=st.integers(26, 120))
def test_no_column_and_no_digit_is_lost_at_any_width(width: int, fold: bool):
    text = printed(width, fold=fold)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for value in (*HEADINGS, *(value for row in ROWS for value in row)):
        assert value in text


def test_where_there_is_room_it_is_one_table():
    text = printed(60)
    assert text.splitlines()[0].split() == ["phase", "scored", "pass", "rate", "weighted", "strict"]
    assert text.count("EMERGENT") == 1


def test_every_part_begins_with_the_names():
    text = printed(40)
    parts = text.split("\n\n")
    assert [part.split()[0] for part in parts] == ["phase", "phase"]
    assert [part.count("EMERGENT") for part in parts] == [1, 1]


def test_a_long_name_folds_rather_than_part_the_table_and_is_whole_where_that_does_not_do():
    long = "a-name-of-some-length"
    for width, parts in ((60, 1), (50, 2)):
        file = io.StringIO()
        show(Console(file=file, width=width), table(HEADINGS, [(long, *ROWS[0][1:])]))
        assert file.getvalue().count("phase") == parts
        assert (long in file.getvalue()) is (parts == 2)


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252", "utf-8"])
def test_lines_and_dashes_are_of_the_terminals_characters(encoding: str):
    text = printed(80, encoding)
    rule = text.splitlines()[1]
    assert set(rule.strip()) == ({"─"} if encoding == "utf-8" else {"-"})
    assert "2.4–45.8" in text if encoding in ("utf-8", "cp1252") else "2.4?45.8" in text
