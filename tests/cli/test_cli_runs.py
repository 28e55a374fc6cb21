"""`dspy-proact runs`: runs of a folder and below it, by their tags, notes and commits; the page that lists them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest
from builders.benchmarks import write_mine
from builders.runs import run_of, trigger
from drivers.terminal import unwrapped

from dspy_proact.runs import CorpusRecord, RunFolder

pytestmark = pytest.mark.usefixtures("proactbench")


@pytest.fixture
def listed(done):
    """The JSON of a list."""

    def call(*arguments):
        out = done("runs", *arguments, "--json")[0]
        return json.loads(out)

    return call


def test_runs_are_listed_the_latest_first_and_a_damaged_one_says_so(proact):
    proact("eval", "--limit", 3)
    proact("eval", "--benchmark", write_mine(Path()))
    run_of(Path("runs", "zero"), [(trigger(), "FAIL")])
    broken = Path("runs", "broken")
    broken.mkdir()
    (broken / "manifest.json").write_text("{", encoding="utf-8")
    listed = json.loads(proact("runs", "--json")[1])
    assert sorted(row["benchmark"] or "" for row in listed) == ["", "next-step", "proactbench", "proactbench"]
    assert (listed[-1]["state"], "manifest.json" in listed[-1]["reason"]) == ("cannot be read", True)
    (mine,) = [row for row in listed if row["model"] == "embedded" and row["benchmark"] == "proactbench"]
    assert (mine["state"], Path(mine["path"]).name.partition("--")[0]) == ("complete", "proactbench")
    assert mine["score"] == round(
        100 * json.loads(proact("report", mine["path"], "--json")[1])["overall"]["micro"]["weighted"]["value"], 1
    )
    _, text, err = proact("runs")
    assert (err.count("manifest.json"), err.count("broken")) == (1, 1)
    assert all(word in text for word in ("proactbench", "next-step", "complete"))
    ids = [Path(row["path"]).name.rpartition("--")[2] for row in listed]
    assert re.search(r"zero +proactbench +openai/m +openai/j +0\.0 +1 of 1", unwrapped(text))
    for part in text.split("\n\n"):  # too wide for 80 columns: several tables, each with the ids of the runs
        assert [line.split()[0] for line in part.splitlines()[2:]] == ids
    assert proact("runs", "nowhere")[0] == 2


def test_runs_are_found_below_folders_and_count_the_cases_of_the_whole_corpus(listed, proact, tmp_path):
    corpus = CorpusRecord(name="c.jsonl", revision=None, rows=300, cases=624, ignored_fields={})
    graded = [(trigger("d1", scenario="a"), "PASS"), (trigger("d2", scenario="b"), "FAIL"), (trigger("d3"), None)]
    deep = run_of(tmp_path / "runs" / "week 1" / "mine", graded, corpus=corpus).path
    run_of(tmp_path / "runs" / ".trash" / "old", graded)
    run_of(tmp_path / "elsewhere" / "far", graded)
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere" / "far")
    (tmp_path / "runs" / "others").symlink_to(tmp_path / "elsewhere")
    rows = {row["path"]: row for row in listed()}
    assert list(rows) == ["runs/linked", "runs/week 1/mine"]
    mine = rows["runs/week 1/mine"]
    assert (mine["scored"], mine["cases"], mine["state"]) == (2, 624, "1 unscored")
    assert (mine["score"], mine["low"] < 50 < mine["high"]) == (50.0, True)
    assert "2 of 624" in proact("runs")[1]
    assert [row["path"] for row in listed(deep)] == [str(deep)], "a run itself is a list of one"


def test_what_may_not_be_read_hides_no_other_run(listed, tmp_path, monkeypatch):
    """The test may run as a user who may read everything: the system's refusal is played."""
    for name in ("a", "locked", "z"):
        run_of(tmp_path / "runs" / name, [(trigger(), "PASS")])
    is_file = Path.is_file

    def refused_in_locked(path):
        if path.parent.name == "locked":
            raise PermissionError(13, "Permission denied")
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refused_in_locked)
    assert sorted(row["path"] for row in listed()) == ["runs/a", "runs/z"]


def test_folders_nested_deeper_than_calls_are_walked(listed, tmp_path):
    deepest = tmp_path / "runs"
    deepest.mkdir()
    for _ in range(1100):
        deepest /= "d"
        deepest.mkdir()
    try:
        run_of(deepest / "mine", [(trigger(), "PASS")])
        assert [Path(row["path"]).name for row in listed()] == ["mine"]
    finally:  # what clears the folders of tests calls itself for each of them
        shutil.rmtree(deepest / "mine")
        os.removedirs(deepest)


def test_tags_note_and_commit_are_kept_and_choose_runs_and_change_no_identity(listed, proact, refused, tmp_path):
    def git(*command):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        return subprocess.run(["git", *who, *command], cwd=tmp_path, capture_output=True, check=True, text=True).stdout

    eval_ = ("eval", "--limit", 2)
    assert proact(*eval_, "--tag", "prompt=short", "--tag", "team=search", "--note", "First try")[0] == 0
    (first,) = listed()
    assert (first["tags"], first["note"], first["commit"]) == (
        {"prompt": "short", "team": "search"},
        "First try",
        None,
    )
    manifest = Path(first["path"], "manifest.json").read_text(encoding="utf-8")

    git("init", "-q")
    assert RunFolder(first["path"]).manifest().commit is None
    (tmp_path / "prompt.txt").write_text("a", encoding="utf-8")
    git("add", "prompt.txt")
    git("commit", "-qm", "begun")
    commit = git("rev-parse", "HEAD").strip()
    # The same command with another label goes on with the same run, which keeps the commit it was begun at: none.
    status, _, err = proact(*eval_, "--tag", "prompt=long")
    assert (status, "Nothing to do" in err) == (0, True)
    (again,) = listed()
    assert (again["path"], again["tags"]["prompt"], again["tags"]["team"]) == (first["path"], "long", "search")
    assert (again["note"], again["commit"]) == ("First try", None)
    assert '"commit"' not in manifest

    assert proact(*eval_, "--out", "runs/clean")[0] == 0
    (tmp_path / "prompt.txt").write_text("b", encoding="utf-8")
    assert proact(*eval_, "--out", "runs/changed", "--note", "Changed")[0] == 0
    assert [row["commit"] for row in listed("runs/clean")] == [commit]
    assert [row["commit"] for row in listed("runs/changed")] == [f"{commit}-dirty"]
    shown = {"runs/clean": commit[:12], "runs/changed": f"{commit[:12]}-dirty"}
    for run, digits in shown.items():
        assert re.search(rf" {digits} ", unwrapped(proact("runs", run)[1])), "a changed run looks like no clean one"
        assert proact("runs", run, "--html", "list.html")[0] == 0
        assert f">commit {digits}<" in (tmp_path / "list.html").read_text(encoding="utf-8")
    report = json.loads(proact("report", "runs/changed", "--json")[1])["run"]
    assert (report["note"], report["commit"], "tags" in report) == ("Changed", f"{commit}-dirty", False)

    def names(*filters):
        return sorted(Path(row["path"]).name for row in listed(*filters))

    assert names("--tag", "prompt=long") == [Path(first["path"]).name]
    assert names("--tag", "prompt=short") == names("--tag", "prompt=long", "--note", "changed") == []
    assert names("--note", "CHANGED") == ["changed"]
    assert names("--commit", commit[:8]) == ["changed", "clean"]
    assert "runs: no such run in it." in proact("runs", "--note", "never")[2]
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "manifest.json").write_text("{", encoding="utf-8")
    assert names("--note", "CHANGED") == ["changed"]
    err = proact("runs", "--note", "CHANGED")[2]
    assert err.startswith("What cannot be read is left out: 1 run; repeat the command without --tag")
    assert "--tag prompt: has two values" in refused(*eval_, "--tag", "prompt=a", "--tag", "prompt=b")


def test_an_index_links_every_run_to_its_page(proact, refused, tmp_path):
    for path, tags in (("runs/a b/übung #1", {"prompt": "<b>"}), ("runs/c", {})):
        run_of(tmp_path / path, [(trigger(), "PASS")], tags=tags)
    broken = tmp_path / "runs" / "broken"
    broken.mkdir()
    (broken / "manifest.json").write_text("{", encoding="utf-8")
    (tmp_path / "out").mkdir()
    status, out, err = proact("runs", "--html", "out/all.html")
    assert (status, out, err) == (0, "", "The page is in out/all.html; open it in a browser.\n")
    text = (tmp_path / "out" / "all.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', text)
    assert sorted(map(unquote, links)) == ["all-pages/a b/übung #1.html", "all-pages/c.html"]
    for link in links:
        assert "<h1" in (tmp_path / "out" / unquote(link)).read_text(encoding="utf-8")
    assert ("prompt</bdi>=<bdi>&lt;b&gt;" in text, "manifest.json: Invalid JSON" in text) == (True, True)
    assert "Embedded stand-in" not in text
    assert proact("runs", "--html", "out/all.html")[0] == 0, "a page is written anew"
    shutil.copy(tmp_path / "runs" / "c" / "cases.jsonl", tmp_path / "notes.html")
    assert "notes.html: exists and is not a page" in refused("runs", "--html", "notes.html")
    assert "--html and --json are mutually exclusive" in refused("runs", "--html", "x.html", "--json")
    for name in ("-", "out"):
        assert f"--html {name}: name a file" in refused("runs", "--html", name)
    assert not (tmp_path / "--pages").exists()


def test_a_page_of_a_run_replaces_no_other_file_and_follows_no_link(proact, refused, tmp_path):
    for name in ("one", "two/far"):
        run_of(tmp_path / "runs" / name, [(trigger(), "PASS")])
    pages, others = tmp_path / "idx-pages", tmp_path / "others"
    pages.mkdir()
    others.mkdir()
    (pages / "one.html").write_text("mine", encoding="utf-8")
    (pages / "two").symlink_to(others)
    status, _, err = proact("runs", "--html", "idx.html")
    assert (status, "href=" in (tmp_path / "idx.html").read_text(encoding="utf-8")) == (0, False)
    assert "runs/one: has no page: idx-pages/one.html: exists and is not a page" in err
    assert "runs/two/far: has no page: idx-pages/two: leads through a link" in err
    assert ((pages / "one.html").read_text(encoding="utf-8"), [*others.iterdir()]) == ("mine", [])
    (tmp_path / "all-pages").symlink_to(others)
    assert "all-pages: is a link" in refused("runs", "--html", "all.html")
    assert ((tmp_path / "all.html").exists(), [*others.iterdir()]) == (False, [])


def test_a_run_whose_page_cannot_be_written_stands_in_the_index_without_a_link(proact, tmp_path):
    for name in ("n" * 251, "one", "one.html/two", "z"):
        run_of(tmp_path / "runs" / name, [(trigger(), "PASS")])
    status, _, err = proact("runs", "--html", "all.html")
    text = (tmp_path / "all.html").read_text(encoding="utf-8")
    lines = [line for line in err.splitlines() if "has no page" in line]
    assert (status, len(lines), text.count('<th scope="row">')) == (0, 2, 4)
    assert all(line.startswith("runs/") and ".html: " in line for line in lines)
    assert "all-pages/z.html" in re.findall(r'href="([^"]+)"', text)
    assert "all-pages/nn" not in text
