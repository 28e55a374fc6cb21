"""Sheets of ratings that a spreadsheet has opened and saved: read, or refused by what it did."""

import csv
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from builders.dialogues import refusal
from builders.rated_paths import PATHS, cells, filled, item, read

from dspy_proact import rating_sheet
from dspy_proact.evaluation import registry


@pytest.fixture(autouse=True, scope="module")
def forgotten() -> Iterator[None]:
    """A process remembers the benchmarks that it was given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_OWN", {})
        yield


INDENTED = "if ready:\n" + f"{' ' * 12}pack('\U0001f4e6')\n" * 2000
"""Code of 44,010 characters, which a spreadsheet counts as 46,010; of 20,009 with one blank between words."""
LONG = "F\xfcr Ben: pack the lamp today \u2013 \u201csicher\u201d \U0001f4e6. " * 1000
"""44,000 characters."""


def spreadsheet(
    text: str, change: Callable[[str], str] = str, encoding: str = "utf-8-sig", delimiter: str = ","
) -> bytes:
    """A sheet after a spreadsheet has opened and saved it, which changes every cell."""
    out, before = StringIO(), csv.field_size_limit(10**9)
    csv.writer(out, delimiter=delimiter).writerows([change(cell) for cell in row] for row in cells(text))
    csv.field_size_limit(before)
    return out.getvalue().encode(encoding, "replace")


def cut(cell: str) -> str:
    """A cell as a spreadsheet keeps it, for which a picture is two characters."""
    return cell.encode("utf-16-le")[: 2 * 32_767].decode("utf-16-le", "ignore")


@pytest.mark.parametrize(
    "saved",
    [
        pytest.param(lambda text: spreadsheet(text, str.strip), id="blanks at the ends taken away"),
        pytest.param(lambda text: spreadsheet(text, encoding="utf-16", delimiter="\t"), id="as Unicode text"),
        pytest.param(lambda text: spreadsheet(text, delimiter=";"), id="with semicolons"),
    ],
)
def test_a_sheet_that_a_spreadsheet_has_saved_is_read(tmp_path: Path, saved: Callable[[str], bytes]):
    items = (item("a", LONG), item("b", "\n = x;\t1,5 \n"))
    assert len(read(tmp_path, saved(filled(rating_sheet(items, PATHS))), items).grades) == 2


MISREAD = "has other letters, because a spreadsheet read or saved it in another encoding than UTF-8; give the sheet"


@pytest.mark.parametrize(
    ("saved", "line", "field", "problem"),
    [
        pytest.param(
            lambda text: spreadsheet(text, cut),
            2,
            "response",
            "is cut after 32,767 characters; a cell of a spreadsheet holds 32,767; give the sheet as it was "
            "written, or take the column out",
            id="cut",
        ),
        pytest.param(
            lambda text: spreadsheet(text, encoding="cp1252", delimiter=";"),
            4,  # of the file: the cell before it has three
            None,
            "not UTF-8: invalid start byte, which in Windows-1252 is '\xfc'; save the file as UTF-8, which",
            id="saved in a code page",
        ),
        *(
            pytest.param(
                lambda text, page=page: spreadsheet(text.encode().decode(page, "replace")),
                2,
                "response",
                MISREAD,
                id=page,
            )
            for page in ("cp1252", "cp1250", "cp1251", "mac_roman")
        ),
        pytest.param(
            lambda text: spreadsheet(text, lambda cell: cell.encode("cp1252", "replace").decode("cp1252")),
            2,
            "response",
            MISREAD,
            id="letters lost in a code page",
        ),
        pytest.param(
            lambda text: f"\ufeff{text}".encode().decode("cp1252", "replace").encode(),
            1,
            None,
            "a spreadsheet read this file in another encoding than UTF-8, and saved other letters",
            id="its mark misread",
        ),
        pytest.param(
            lambda text: spreadsheet(text, lambda cell: cell.replace("\u2013", "-")),
            2,
            "response",
            "not the response of this item, so the rating is of another",
            id="words put right",
        ),
    ],
)
def test_a_sheet_that_a_spreadsheet_has_damaged_is_refused_by_what_happened(
    tmp_path: Path, saved: Callable[[str], bytes], line: int, field: str | None, problem: str
):
    items = (item("a", LONG),)
    error = refusal(lambda: read(tmp_path, saved(filled(rating_sheet(items, PATHS))), items))
    assert (error.line, error.field) == (line, field)
    assert problem in str(error)


def test_a_cut_response_is_recognised_by_the_characters_that_a_spreadsheet_counts(tmp_path: Path):
    """Of code, most of which may be blanks."""
    items = (item("a", INDENTED),)
    error = refusal(lambda: read(tmp_path, spreadsheet(filled(rating_sheet(items, PATHS)), cut), items))
    assert "field 'response': is cut after 32,767 characters; a cell" in str(error)
