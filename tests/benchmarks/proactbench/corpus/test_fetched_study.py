"""A folder of a repository, such as the published study: fetched once, kept, and checked on every reading."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from builders.dialogues import jsonl, refusal, rubric, without
from fakes.github import Repository, github_of, tree

from dspy_proact import ProactBench, Ratings, load_ratings
from dspy_proact.benchmarks.proactbench.corpus.rated_items import fetched_study
from dspy_proact.files import github as module
from dspy_proact.files.github import RepositoryFolder

COMMIT, OLDER = "c0ffee" + "0" * 34, "0dd" + "1" * 37
STUDY = "dataset/human_eval"
ITEM = {
    "item_id": "0123__TRAVEL_07__s3__Model-1__t1",
    "trigger_type": "EMERGENT",
    "turn_index": 1,
    "evaluated_model": "Model-1",
    "judge_score": "Fail",
    "dialogue_history": [{"role": "user", "content": "Which path?"}],
    "user_message": "Which path?",
    "model_response": "The one along the cliff.",
    "rubric": without(rubric("EMERGENT"), "type"),
}


def rating(annotator: str) -> bytes:
    return jsonl({"annotator_id": annotator, "item_id": ITEM["item_id"], "score": "Pass", "confidence": 4}).encode()


def files() -> dict[str, bytes]:
    """What the repository holds at a commit."""
    return {
        f"{STUDY}/sample_items.json": json.dumps([ITEM]).encode(),
        f"{STUDY}/results/A01.jsonl": rating("A01"),
        f"{STUDY}/results/A02.jsonl": rating("A02"),
        f"{STUDY}/results/notes.txt": b"none of ours",
        f"{STUDY}/pairwise/sample_items.json": b"none of ours",
        f"{STUDY}/pairwise/results/P01.jsonl": b"none of ours",
        "README.md": b"none of ours",
    }


@pytest.fixture
def repository() -> Iterator[Repository]:
    with github_of("boson-ai/ProactBench", {COMMIT: files()}) as known:
        yield known


def fetched(cache: Path) -> Ratings:
    return fetched_study(ProactBench(), cache)


def kept(cache: Path) -> Path:
    (folder,) = cache.iterdir()
    return folder


def test_it_is_fetched_at_the_commit_that_is_resolved_then(tmp_path: Path, repository: Repository):
    study = fetched(tmp_path / "a" / "cache")
    assert (study.name, study.raters, [item.key for item in study.items]) == (
        "proactbench",
        ("A01", "A02"),
        ["0123__TRAVEL_07__s3__Model-1__t1"],
    )
    held = repository.commits[COMMIT]
    assert (study.source.commit, study.source.origin) == (
        COMMIT,
        f"{repository.base}/raw/boson-ai/ProactBench/{COMMIT}/{STUDY}",
    )
    assert study.source.files == {
        name: hashlib.sha256(held[f"{STUDY}/{name}"]).hexdigest()
        for name in ("results/A01.jsonl", "results/A02.jsonl", "sample_items.json")
    }
    assert len(repository.paths) == 5
    record = json.loads((kept(tmp_path / "a" / "cache") / "source.json").read_text(encoding="utf-8"))
    assert datetime.fromisoformat(record.pop("time")).utcoffset() is not None
    assert record == {
        "repository": "github.com/boson-ai/ProactBench",
        "commit": COMMIT,
        "url": study.source.origin,
        "files": dict(study.source.files),
    }


def test_the_second_reading_asks_nobody_and_is_the_same(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
):
    first = fetched(tmp_path / "dspy-proact")
    repository.paths.clear()
    repository.commits = {}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    again = load_ratings("proactbench")
    assert (again, again.source, again.sha256) == (first, first.source, first.sha256)
    assert repository.paths == []
    by_path = load_ratings(str(kept(tmp_path / "dspy-proact")))
    assert (by_path.sha256, by_path.source.commit) == (first.sha256, None)


def test_a_study_that_the_newest_commit_took_away_is_read_as_it_was_last(tmp_path: Path, repository: Repository):
    repository.commits = {COMMIT: {"README.md": b"moved"}, OLDER: files()}
    assert fetched(tmp_path).source.commit == OLDER


def test_redirects_are_followed(tmp_path: Path, repository: Repository):
    repository.answers["/results/A02.jsonl"] = (302, f"{repository.base}/moved".encode())
    repository.answers["/moved"] = (200, rating("A02"))
    assert fetched(tmp_path).raters == ("A01", "A02")


# What goes wrong on the way


@pytest.mark.parametrize(
    ("end", "answer", "problem"),
    [
        ("/commits", (500, b"sorry"), "answered 500"),
        ("/commits", (403, b"{}"), "answered 403"),
        ("/commits", (200, b"<html>"), "answered something else than GitHub does"),
        ("/commits", (200, b'[{"sha": "main/../.."}]'), "answered something else than GitHub does"),
        ("/commits", (200, b"[]"), f"no commit of it holds {STUDY}/sample_items.json with results/*.jsonl"),
        (f"/trees/{COMMIT}", (404, b"{}"), "answered 404"),
        (f"/trees/{COMMIT}", (200, b'{"tree": [], "truncated": true}'), "the list of its files is cut short"),
        (f"/trees/{COMMIT}", (200, tree({"README.md": b""})), f"no commit of it holds {STUDY}/sample_items.json"),
        ("/sample_items.json", (404, b""), "answered 404"),
        ("/A02.jsonl", (500, b""), "answered 500"),
        ("/A02.jsonl", (200, rating("A02")[:-9]), "is not the file that the commit holds"),
    ],
)
def test_a_fault_of_the_server_is_told_with_the_mend_and_keeps_nothing(
    tmp_path: Path, repository: Repository, end: str, answer: tuple[int, bytes], problem: str
):
    repository.answers[end] = answer
    error = refusal(lambda: fetched(tmp_path))
    assert problem in str(error)
    assert str(error).startswith("github.com/boson-ai/ProactBench: cannot be fetched (")
    assert str(error).endswith(
        "); try again, or download its folder dataset/human_eval, from any commit that has it, "
        "and give the path of that folder"
    )
    assert list(tmp_path.iterdir()) == []
    repository.answers.clear()
    assert len(fetched(tmp_path).grades) == 2


def test_a_server_that_does_not_answer_is_given_up(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
):
    repository.silent = True
    monkeypatch.setattr(module, "_TIMEOUT", 0.2)
    error = refusal(lambda: fetched(tmp_path))
    assert "cannot be fetched (ReadTimeout: 'timed out'); try again, or download" in str(error)


# What goes wrong with what was kept


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("results/A01.jsonl", rating("A01") + b"\n", "changed since it was fetched"),
        ("results/A03.jsonl", rating("A03"), "added since it was fetched"),
        ("sample_items.json", None, "removed since it was fetched"),
        ("source.json", None, "no record of what was fetched can be read"),
        ("source.json", b'{"commit": "c0ffee"}', "no record of what was fetched can be read"),
    ],
)
def test_what_was_kept_is_refused_once_it_is_another(
    tmp_path: Path, repository: Repository, name: str, content: bytes | None, problem: str
):
    fetched(tmp_path)
    folder = kept(tmp_path)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    repository.paths.clear()
    error = refusal(lambda: fetched(tmp_path))
    assert error.source == str(folder / name)
    assert str(error).endswith(f"{problem}; delete {str(folder)!r} to fetch it again")
    assert repository.paths == []


@pytest.mark.usefixtures("repository")
def test_a_cache_is_needed_that_can_be_written(tmp_path: Path):
    (tmp_path / "file").touch()
    error = str(refusal(lambda: fetched(tmp_path / "file")))
    assert "cannot be written" in error
    assert "name another cache folder" in error


def test_of_two_that_fetch_at_once_the_first_one_stays(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
):
    keep = module._keep

    def kept_by_another_before(folder: Path, contents: dict[str, bytes]) -> None:
        record = json.loads(contents["source.json"]) | {"time": "earlier"}
        keep(folder, {**contents, "source.json": json.dumps(record).encode()})
        keep(folder, contents)

    monkeypatch.setattr(module, "_keep", kept_by_another_before)
    assert len(fetched(tmp_path).grades) == 2
    assert json.loads((kept(tmp_path) / "source.json").read_text(encoding="utf-8"))["time"] == "earlier"


def test_a_pinned_commit_is_fetched_and_no_other_is_taken_for_it(tmp_path: Path, repository: Repository):
    repository.commits = {COMMIT: files(), OLDER: files()}
    pinned = RepositoryFolder("boson-ai/ProactBench", STUDY, ("results/*.jsonl",), OLDER)
    assert pinned.fetched(tmp_path / "study")[0].commit == OLDER
    error = refusal(lambda: replace(pinned, commit=COMMIT).fetched(tmp_path / "study"))
    assert f"of commit {OLDER}, not {COMMIT}; delete" in str(error)
