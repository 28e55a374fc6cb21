"""`dspy-proact audit`: what it prints and writes, what it refuses, and the tests by models of the stand-in."""

import json
from pathlib import Path

import pytest
from builders.dialogues import jsonl, row
from drivers.terminal import unwrapped

pytestmark = pytest.mark.usefixtures("proactbench")


def test_findings_are_no_error_and_the_first_few_of_each_check_are_shown(proact, done):
    twins = [row(unique_id_eval=f"key{number}") for number in range(6)]
    Path("mine.jsonl").write_text(jsonl(*twins), encoding="utf-8")
    out, err = done("audit", "mine.jsonl")
    assert "checks fail on mine.jsonl: near duplicates among conversations, near duplicates among rubrics" in unwrapped(
        out
    )
    assert "and 12 more" in out  # of 15 pairs
    assert "Details: --explain" in out
    assert "Next: dspy-proact eval --corpus mine.jsonl" in err
    status, explained, _ = proact("audit", "mine.jsonl", "--explain")
    assert (status, "and 12 more" in explained, "Details" in explained) == (0, False, False)
    assert explained.count("key5: It shares") > out.count("key5: It shares")


def test_checks_that_say_the_same_are_one_entry(proact):
    text = unwrapped(proact("audit", "sample", "--benchmark", "probe")[1])
    assert text.count("A test takes 100 tasks of 10 people") == 1
    assert "metadata: ids, metadata: order, metadata: times" in text


def test_one_model_flags_nothing_and_the_audit_says_what_that_takes(proact):
    assert proact("eval", "--out", "run")[0] == 0
    text = unwrapped(proact("audit", "sample", "run")[1])
    assert "The answers of 1 model flag none of 49 triggers; a correlation with the rest takes 5 models." in text


def test_json_and_page_say_the_same(proact):
    status, out, _ = proact("audit", "sample", "--json")
    document = json.loads(out)
    assert (status, document["corpus"]["name"], document["items"]) == (0, "sample", None)
    status, _, err = proact("audit", "sample", "--html", "audit.html")
    assert (status, "The page is in audit.html" in err) == (0, True)
    page = Path("audit.html").read_text("utf-8")
    assert document["headline"] in page
    assert all(check["name"] in page for check in document["checks"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.jsonl"], "no such file or folder"),
        (["sample", "--limit", "3"], "--limit: has no effect without a model; name one with --model"),
        (["sample", "--judge", "openai/j"], "--judge: has no effect without a model"),
        (["sample", "--dry-run"], "--dry-run: has no effect without a model"),
        (["sample", "--html", "a.html", "--json"], "--html and --json are mutually exclusive"),
        (["sample", "--model", "a/b", "--model", "c/d"], "take one model"),
        (["sample", "--model", "embedded", "--role", "nobody=embedded"], "no such role"),
        (["sample", "--benchmark", "proactiveagent", "--model", "embedded"], "audited without a model"),
        (["proagentbench"], "no published corpus that can be fetched"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(proact, arguments, message):
    status, out, err = proact("audit", *arguments)
    assert (status, out) == (2, "")
    assert message in unwrapped(err)


def test_the_stand_in_tests_a_corpus_offline_resumes_and_decides_nothing(proact, done):
    out, err = done("audit", "sample", "--model", "embedded", "--limit", 3, "--out", "tests")
    assert "The audit is in tests" in err
    assert "its figures measure no real model" in unwrapped(out)
    assert "whether a pass depends on what the user disclosed is not shown" in unwrapped(out)
    assert "anchor test:" in out
    before = Path("tests/calls.jsonl").read_bytes()
    assert proact("audit", "sample", "--model", "embedded", "--limit", 3, "--out", "tests")[1] == out
    assert Path("tests/calls.jsonl").read_bytes() == before
    document = json.loads(proact("audit", "sample", "--model=embedded", "--limit=3", "--out=tests", "--json")[1])
    assert set(document["models"].values()) == {"embedded"}
    states = {check["name"]: check["state"] for check in document["checks"]}
    assert states["planted assistants"] == "reported"


def test_a_made_corpus_has_its_facts_in_its_rows(proact):
    assert proact("generate", "--items", 2, "--out", "made")[0] == 0
    assert proact("audit", "made", "--model", "embedded", "--proof", "light", "--out", "tests")[0] == 0
    stages = [json.loads(line) for line in Path("tests/items.jsonl").read_text("utf-8").splitlines()]
    recorded = {author["stage"] for item in stages for author in item["authors"]}
    assert {"audit of rubric", "swap", "looking with anchors"} <= recorded
    assert "facts of rubric" not in recorded


def test_the_forecast_costs_nothing_and_writes_nothing(proact):
    status, out, _ = proact("audit", "sample", "--model", "embedded", "--dry-run", "--json")
    document = json.loads(out)
    assert (status, document["items"], document["calls"] > 49) == (0, 49, True)
    assert list(Path().iterdir()) == []
