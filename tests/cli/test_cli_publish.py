"""`dspy-proact generate publish`: what is written and said, what scores it, and what it refuses."""

import csv
import json
import shlex
import shutil
from pathlib import Path

import pytest
from builders.made_corpus import made_corpus, middle_share
from drivers.terminal import unwrapped

pytestmark = pytest.mark.usefixtures("proactbench")


@pytest.fixture
def mine(proact):
    """The folder of a corpus, where commands run."""
    shutil.copytree(made_corpus(), "mine")
    return Path("mine")


def test_the_published_folder_is_scored_and_the_held_back_one_as_well_and_neither_run_mixes_them(proact, mine):
    status, out, err = proact("generate", "publish", mine, "--held-back", middle_share(mine), "--licence", "CC-BY-4.0")
    assert (status, out) == (0, "")
    assert "In mine-published: " in err
    assert "In mine-published-held-back, never to be published: " in err
    assert "Nobody has reviewed it, and its card says so." in err
    assert "No licence is named" not in err
    assert "Next: dspy-proact eval --model embedded --corpus mine-published" in unwrapped(err)
    for name in ("mine-published", "mine-published-held-back"):
        assert proact("eval", "--corpus", name, "--out", f"run-of-{name}")[0] == 0
    _, _, err = proact("optimize", "assistant", "--corpus", "mine-published-held-back", "--dry-run")
    assert "mine-published-held-back: is held back, so that nothing has learned it" in unwrapped(err)
    assert proact("optimize", "assistant", "--corpus", "mine-published", "--dry-run")[0] == 0


def test_no_judge_is_tuned_on_a_run_of_what_is_held_back(proact, mine):
    assert proact("generate", "publish", mine, "--held-back", middle_share(mine))[0] == 0
    assert proact("eval", "--corpus", "mine-published-held-back", "--out", "run")[0] == 0
    assert proact("label", "sheet", "run", "--out", "sheet.csv")[0] == 0
    with Path("sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with Path("sheet.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "grade": "PASS", "annotator": "ann", "confidence": 4} for row in rows)
    status, _, err = proact("optimize", "judge", "--run", "run", "--ratings", "sheet.csv", "--dry-run")
    assert status == 2
    assert "sheet.csv: is held back, so that nothing has learned it" in unwrapped(err)


def test_what_was_published_is_printed_as_json(proact, mine):
    status, out, err = proact(
        "generate", "publish", mine, "--held-back", middle_share(mine), "--out", "public", "--json"
    )
    document = json.loads(out)
    assert (status, err) == (0, "")
    assert (document["out"], document["held_back_in"]) == ("public", "public-held-back")
    assert document["items"] + document["held_back"]["items"] == 8
    assert document["reviews"] is None
    assert json.loads(Path("public/publication.json").read_text())["canary"] == document["canary"]


REFUSED = {
    "mine --held-back 1": "1.0 is not in the range 0<x<1",
    "mine --held-back 0.0000001": "--held-back 1e-07: none of 8 personas would be held back, which a hash decides",
    "mine --licence 'my own'": "--licence 'my own': name it by an identifier of the Hub, such as cc-by-4.0",
    "mine --date 2026-02-30": "--date '2026-02-30': write it as YYYY-MM-DD",
    "mine --date today": "--date 'today': write it as YYYY-MM-DD",
    "mine --out mine": "--out mine: holds the folder of the corpus or lies in it; name one beside it",
    "mine --reviews none.jsonl": "none.jsonl: there is no such file; give a file of reviews",
    "mine --benchmark probe": "mine: of 'proactbench', whose corpora probe cannot publish",
    "none": "none: no corpus here (no corpus.json): no such file or folder",
    "": "Missing argument 'DIR'",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_fault_is_one_sentence_and_nothing_is_written(proact, mine, words):
    status, _, err = proact("generate", "publish", *shlex.split(words))
    assert status == 2
    assert REFUSED[words] in unwrapped(err)
    assert [path.name for path in Path().iterdir()] == ["mine"]
