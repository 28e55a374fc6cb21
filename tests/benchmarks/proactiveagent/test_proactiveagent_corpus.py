"""ProactiveAgent's traces: the official ones, a fetch, the bundled sample, and files that cannot be used."""

import hashlib
import json
from pathlib import Path

import pytest
from fakes.github import github_of
from watched import row, traces_in

from dspy_proact.benchmarks.proactiveagent import corpus as module
from dspy_proact.benchmarks.proactiveagent.corpus import COMMIT, SHA256, load_corpus, load_traces
from dspy_proact.errors import CorpusError


def test_the_official_traces_are_read_from_every_folder_of_their_layout(data, tmp_path):
    cases = load_corpus(str(data / "proactiveagent" / "test_data"), window=50)
    assert (len(cases.cases), cases.corpus.rows, cases.corpus.ignored_fields) == (233, 12, {})
    of_kind = [sum(case.stratum == kind for case in cases.cases) for kind in ("coding", "writing")]
    assert of_kind == [112, 121]
    assert {len(case.view.events) for case in cases.cases} == set(range(1, 22))
    above = load_corpus(str(data / "proactiveagent"), window=50)
    (tmp_path / "dataset").symlink_to(data / "proactiveagent")
    assert cases.sha256 == above.sha256 == load_corpus(str(tmp_path), window=50).sha256
    few = load_corpus(str(data / "proactiveagent"), window=4)
    assert max(len(case.view.events) for case in few.cases) == 4
    # In three traces a time is earlier than the one before; the order is that of the file, as for the authors.
    traces, _, _ = load_traces(str(data / "proactiveagent"))
    times = {name: [float(event.time) for event in trace.events] for name, trace in traces.items()}
    assert [name for name, time in times.items() if time != sorted(time)] == ["writing_11", "writing_12", "writing_14"]


def digest(contents: dict[str, bytes]) -> str:
    lines = (f"{name} {hashlib.sha256(contents[name]).hexdigest()}\n" for name in sorted(contents))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def test_the_pinned_hashes_are_those_of_the_official_files(data):
    folder = data / "proactiveagent"
    assert (
        digest({path.name: path.read_bytes() for path in (folder / "test_data").iterdir()})
        == (SHA256["dataset/test_data"])
    )
    votes = {name: (folder / name).read_bytes() for name in ("train_data.jsonl", "test_data.jsonl")}
    assert digest(votes) == SHA256["dataset/reward_data"]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """GitHub with the pinned commit."""
    folder = traces_in(tmp_path / "theirs", code_a=[row("one", "1"), row("two", "2")], writing_b=[row("three")])
    held = {f"dataset/test_data/{path.name}": path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with github_of("thunlp/ProactiveAgent", {COMMIT: held}) as known:
        yield known


def test_the_corpus_is_fetched_once_at_the_pinned_commit_and_checked_by_sha256(repository, monkeypatch):
    with pytest.raises(CorpusError, match="not the files of the pinned commit, by their sha256; delete"):
        load_corpus("proactiveagent", window=50)
    fetched = len(repository.paths)
    contents = {name.rpartition("/")[2]: item for name, item in repository.commits[COMMIT].items()}
    monkeypatch.setitem(module.SHA256, "dataset/test_data", digest(contents))
    cases = load_corpus("proactiveagent", window=50)
    assert ([case.key for case in cases.cases], cases.corpus.revision, len(repository.paths)) == (
        ["code_a/01", "code_a/02", "writing_b/01"],
        COMMIT,
        fetched,
    )
    with pytest.raises(CorpusError, match="only proactiveagent has revisions"):
        load_corpus("sample", 50, COMMIT)


ROWS = [row("one", "1"), row("two", "2")]
BROKEN = {
    "cut": ('[{"observation": {"time": "1", "event": "on', "code_a.json, line 1: not JSON: Unterminated string"),
    "no list": ('{"observation": 1}', "code_a.json: a list of items is expected, not an object"),
    "empty": ("[]", "code_a.json: 0 events; a trace has 1 to 10,000"),
    "no event": ('[{"observation": {"time": "1"}}]', "field '[0].observation.event': the field is missing"),
    "blank": ('[{"observation": {"time": "1", "event": " "}}]', "field '[0].observation.event': input should not be"),
    "number": ('[{"observation": {"time": 1, "event": "x"}}]', "field '[0].observation.time': input should be a valid"),
    "control": ('[{"observation": {"time": "1\\u001b[2J", "event": "x"}}]', "field '[0].observation.time'"),
    "long": (json.dumps([row("x" * 1_000_000)]), "[0].observation.event': 1,000,001 characters; an event has at most"),
    "deep": ("[" * 200, "code_a.json"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_trace_that_cannot_be_used_is_one_sentence_with_file_and_row(tmp_path, fault):
    text, problem = BROKEN[fault]
    folder = traces_in(tmp_path, code_a=ROWS, writing_b=ROWS)
    (folder / "code_a.json").write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError) as refused:
        load_corpus(str(folder), window=50)
    assert problem.lower() in str(refused.value).lower()
    assert str(folder / "code_a.json") in str(refused.value)
    assert len(str(refused.value)) < 400


SPLITS = {
    "[]": "an object is expected, not a list",
    '{"real_coding": {"files": []}}': "the split real_writing is missing",
    '{"real_coding": {"files": []}, "real_writing": {"files": []}}': "names no traces",
    '{"real_coding": {"files": ["../../etc/passwd"]}, "real_writing": {"files": []}}': "which is not there",
    '{"real_coding": {"files": "code_a.json"}, "real_writing": {"files": []}}': "field 'files'",
}


@pytest.mark.parametrize("text", SPLITS)
def test_splits_that_cannot_be_used_are_refused(tmp_path, text):
    folder = traces_in(tmp_path, code_a=ROWS, writing_b=ROWS)
    (folder / "splits.json").write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=r"splits\.json") as refused:
        load_corpus(str(folder), window=50)
    assert SPLITS[text] in str(refused.value)


@pytest.mark.parametrize("spec", ["nowhere", "a\0b", "proactive"])
def test_what_is_no_corpus_is_refused_with_what_would_be_one(spec):
    with pytest.raises(CorpusError, match=r"splits\.json|not a path"):
        load_corpus(spec, window=50)


def test_unknown_fields_are_counted_and_reach_nothing(tmp_path):
    folder = traces_in(tmp_path, code_a=[row("one", more=1), row("two", more=2)], writing_b=ROWS)
    cases = load_corpus(str(folder), window=50)
    assert cases.corpus.ignored_fields == {"more": 2}
    assert Path(folder).name not in cases.cases[0].view.model_dump_json()
