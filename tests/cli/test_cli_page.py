"""`dspy-proact report RUN... --html FILE`: what it writes, what it says, and what it refuses."""

import base64
import json
import re
import zlib

import pytest
from proact_run import run_of, trigger

from dspy_proact.report.page import cases


@pytest.fixture
def pair(tmp_path):
    """Two runs of one trigger."""
    for name, grade in (("a", "PASS"), ("b", "FAIL")):
        run_of(tmp_path / name, [(trigger(), grade)], model=f"openai/{name}")


@pytest.mark.parametrize(
    ("runs", "following"),
    [
        (["a"], "Next: dspy-proact report a --json"),
        (["a", "b"], "Next: dspy-proact compare a b"),
    ],
)
def test_a_page_is_written_and_said_where(proact, pair, tmp_path, runs, following):
    status, out, err = proact("report", *runs, "--html", "page.html")
    assert (status, out) == (0, "")
    assert "The page is in page.html; open it in a browser." in err
    assert following in err
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert all(f"openai/{name}" in text for name in runs)


def test_a_dash_is_standard_output(proact, pair, tmp_path):
    before = sorted(tmp_path.iterdir())
    status, out, err = proact("report", "a", "--html", "-")
    assert (status, err, sorted(tmp_path.iterdir())) == (0, "", before)
    assert out.startswith("<!DOCTYPE html>")
    assert out.rstrip().endswith("</html>")


def test_further_breakdowns_stand_on_the_page_and_a_key_that_groups_nothing_is_refused(proact, pair, tmp_path):
    assert proact("report", "a", "--html", "page.html", "--by", "style")[0] == 0
    status, _, err = proact("report", "a", "--html", "other.html", "--by", "colour")
    assert (status, "nothing to group by 'colour'" in err) == (2, True)
    assert not (tmp_path / "other.html").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a", "b"], "2 RUNs are given; several are reported on a page: --html FILE"),
        (["a", "--html", "page.html", "--json"], "--html and --json are mutually exclusive"),
        (["a", "--html", "page.html", "--explain"], "--html and --explain are mutually exclusive"),
        (["a", "--html", "page.html", "--corpus", "sample"], "--html and --corpus are mutually exclusive"),
        (["a", "a", "--html", "page.html"], "a: given twice; name each run once"),
        (["a", "--html", "gone/page.html"], "there is no folder 'gone'; create it first"),
        (["a", "--html", "b"], "b: cannot be written"),
        (["c", "--html", "page.html"], "c: no run here"),
        (["a", "--html", "a/events.jsonl"], "a/events.jsonl: lies in the folder of a run or a compile"),
        (["a", "--html", "b/page.html"], "b/page.html: lies in the folder of a run or a compile"),
        (["a", "--html", "notes.txt"], "notes.txt: exists and is not a page; name another file"),
        (["results.jsonl", "--html", "./results.jsonl"], "results.jsonl: is the input; name another file"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(proact, pair, tmp_path, words, told):
    proact("export", "a", "--format", "proactbench", "--out", "results.jsonl")
    (tmp_path / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    status, out, err = proact("report", *words)
    assert (status, out) == (2, "")
    assert told in err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_page_that_cannot_be_made_leaves_the_old_one(proact, pair, tmp_path):
    assert proact("report", "a", "--html", "page.html")[0] == 0
    before = (tmp_path / "page.html").read_bytes()
    assert proact("report", "c", "--html", "page.html")[0] == 2
    assert (tmp_path / "page.html").read_bytes() == before


# What a page has room for

LONG = "A box. " * 100


@pytest.fixture
def asked(proact, tmp_path):
    """Write the page of a run with one long text among two triggers; the page, and every text that it holds."""

    def write():
        run_of(tmp_path / "run", [(trigger("d1"), "PASS"), (trigger("d2", user=LONG), "FAIL")])
        assert proact("report", "run", "--html", "page.html")[0] == 0
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        packed = re.search(r"<script[^>]*application/[^>]*>\s*(.*?)</script>", page, re.DOTALL)
        assert packed
        _, *chunks = (json.loads(zlib.decompress(base64.b64decode(line))) for line in packed[1].split())
        return page, {text for chunk in chunks for item in chunk for text in item["texts"]}

    return write


def test_a_page_holds_whole_what_it_has_room_for(asked):
    page, texts = asked()
    assert LONG in texts
    assert "would be too large" not in page


def test_a_page_that_would_be_too_large_holds_the_beginnings_of_long_texts_and_says_so(asked, monkeypatch):
    monkeypatch.setattr(cases, "ROOM", 400)
    page, texts = asked()
    (length,) = map(int, re.findall(r"searches, (\d+) characters at most", page))
    assert 100 < length < 400
    assert f"{LONG[:length]}… [{700 - length} more characters]" in texts
    assert "Any boxes?" in texts
    assert not any(LONG in text for text in texts)
    assert "dspy-proact show RUN</code> prints every trigger whole" in page
