import csv
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hub import COMMIT, Hub, hub_of, printed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rows import jsonl, plant_canaries, record, row, rows, rubric, trigger_point

from dspy_proact.benchmarks.proactbench.corpus import (
    SampleResponse,
    load_corpus,
    read_dataset,
    read_jsonl,
    sample,
    sample_path,
    sample_ratings,
    sample_responses,
)
from dspy_proact.benchmarks.proactbench.types import Grade, Rating
from dspy_proact.errors import CorpusError


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for `datasets` that is thrown away; the person's own stays as it is."""
    import datasets.config

    cache = tmp_path / "cache"
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    return cache


def written(folder: Path, content: str | bytes, name: str = "final_dialogues.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def named(key: str, **changes: Any) -> dict[str, Any]:
    return row(unique_id_eval=key, **changes)


def refusal(read: Callable[[], object]) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        read()
    return caught.value


def test_a_file_is_read_in_its_order(tmp_path: Path):
    file = written(tmp_path, jsonl(named("b"), named("a", trigger_points=[])))
    corpus = read_jsonl(file)
    assert corpus.name == str(file)
    assert corpus.revision is None
    assert [dialogue.origin.dialogue for dialogue in corpus.dialogues] == ["b", "a"]
    assert corpus.trigger_count == 3
    assert corpus.ignored_fields == {}
    assert corpus.ignored_note == ""


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path):
    plain = read_jsonl(written(tmp_path, jsonl(named("a"), named("b")), "plain.jsonl"))
    lines = jsonl(named("a"), named("b")).splitlines()
    odd = "\ufeff\r\n" + lines[0] + "\r\n \t\r\n\r\n" + lines[1]
    assert read_jsonl(written(tmp_path, odd, "odd.jsonl")).dialogues == plain.dialogues
    marked = "\ufeff" + jsonl(named("a"), named("b"))
    assert read_jsonl(written(tmp_path, marked, "marked.jsonl")).dialogues == plain.dialogues


def test_line_numbers_count_blank_lines(tmp_path: Path):
    error = refusal(lambda: read_jsonl(written(tmp_path, "\n" + jsonl(named("a")) + "\n{}\n")))
    assert error.line == 4


def test_the_hash_is_of_the_dialogues_and_not_of_the_file(tmp_path: Path):
    raw = [named("a"), named("b")]
    plain = read_jsonl(written(tmp_path, jsonl(*raw), "plain.jsonl"))
    planted = [plant_canaries({key: each[key] for key in sorted(each)})[0] for each in raw]
    spaced = "\n\n".join(json.dumps(each, ensure_ascii=True, separators=(" ,  ", ":  ")) for each in planted)
    same = read_jsonl(written(tmp_path, spaced, "spaced.jsonl"))
    assert same.sha256 == plain.sha256
    assert len(plain.sha256) == 64


@pytest.mark.parametrize(
    "changed",
    [
        [named("b"), named("a")],
        [named("a")],
        [named("a"), named("b", uuid="other")],
        [named("a"), named("b", turn_records=[*(record(n) for n in range(1, 5)), record(5, user_message="x")])],
        [named("a"), named("b", trigger_points=[trigger_point(5)])],
        [named("a"), named("b", trigger_points=[trigger_point(5, evaluation_rubric=rubric("CRITICAL"))])],
    ],
)
def test_the_hash_changes_with_order_texts_ids_and_triggers(tmp_path: Path, changed: list[dict[str, Any]]):
    plain = read_jsonl(written(tmp_path, jsonl(named("a"), named("b")), "plain.jsonl"))
    assert read_jsonl(written(tmp_path, jsonl(*changed), "changed.jsonl")).sha256 != plain.sha256


def test_ignored_fields_are_counted_over_all_rows_and_told_in_one_line(tmp_path: Path):
    raw = [named("a", mood="calm", **{"odd\nname": 1}), named("b", mood="cross"), named("c", mood=None)]
    corpus = read_jsonl(written(tmp_path, jsonl(*raw)))
    assert corpus.ignored_fields == {"mood": 2, "odd\nname": 1}
    assert corpus.ignored_note == "ignored fields that the format does not know: 'mood' (2), 'odd\\nname' (1)"
    assert "calm" not in repr(corpus)


def test_the_note_on_ignored_fields_stays_short(tmp_path: Path):
    corpus = read_jsonl(
        written(tmp_path, jsonl(named("a", **{f"field{number}" + "x" * 999: 1 for number in range(9)})))
    )
    assert corpus.ignored_note.endswith(" and 4 more")
    assert len(corpus.ignored_note) < 500


def test_a_corpus_cannot_be_changed(tmp_path: Path):
    corpus = read_jsonl(written(tmp_path, jsonl(row())))
    with pytest.raises(AttributeError):
        corpus.name = "other"  # pyright: ignore[reportAttributeAccessIssue]
    assert hash(corpus) == hash(read_jsonl(corpus.name))


BadFile = tuple[str | bytes, int | None, str | None, str]
"""Content, line, field and problem."""
BAD_FILES: list[BadFile] = [
    (b"", None, None, "empty: there is no dialogue in it"),
    ("\ufeff\n  \n\n", None, None, "empty: there is no dialogue in it"),
    (jsonl(named("a", trigger_points=[])), None, None, "no dialogue has a trigger, so there is nothing to measure"),
    (jsonl(row()).encode() + b'{"uuid": "caf\xe9"}\n', 2, None, "not UTF-8: invalid continuation byte; save the file"),
    (jsonl(row()).encode("utf-16"), 1, None, "not UTF-8: invalid start byte; save the file"),
    (jsonl(named("a")) + "{oops\n", 2, None, "not JSON: Expecting property name enclosed in double quotes, at column"),
    (json.dumps(row(), indent=1), 1, None, "not JSON: "),
    (json.dumps([row()]), 1, None, "a line must hold one dialogue as a JSON object, not a list"),
    (
        jsonl(named("a"), named("b"), named("a")),
        3,
        "unique_id_eval",
        "the same key stands on line 1; keep one of the two rows",
    ),
    (
        jsonl(named("a")) + "\n\n" + jsonl(named("b", turn_records=[record(2)])),
        4,
        "turn_records[0].turn",
        "turns must be in order: 1 expected, not 2",
    ),
]


@pytest.mark.parametrize("bad", BAD_FILES)
def test_a_bad_file_is_refused_with_file_line_and_field(tmp_path: Path, bad: BadFile):
    content, line, field, problem = bad
    file = written(tmp_path, content)
    error = refusal(lambda: read_jsonl(file))
    assert (error.source, error.line, error.field) == (str(file), line, field)
    assert str(error).startswith(str(file))
    assert problem in str(error)


def test_a_missing_file_is_refused_with_what_could_be_given_instead(tmp_path: Path):
    error = refusal(lambda: load_corpus(str(tmp_path / "none.jsonl")))
    assert str(error) == (
        f"{tmp_path / 'none.jsonl'}: there is no such file; "
        "give sample, proactbench, proactbench@REVISION or the path of a JSONL file"
    )


def test_a_folder_is_refused_as_a_file(tmp_path: Path):
    error = refusal(lambda: load_corpus(str(tmp_path)))
    assert str(error) == f"{tmp_path}: a folder, not a file; give the path of the file in it"


def test_a_file_below_a_file_is_refused(tmp_path: Path):
    file = written(tmp_path, jsonl(row()))
    assert "cannot be read: Not a directory" in str(refusal(lambda: load_corpus(f"{file}/x")))


def test_a_path_that_cannot_be_one_is_refused():
    assert "not a path: embedded null byte" in str(refusal(lambda: load_corpus("a\0b")))


def test_a_row_is_never_followed_as_a_path(tmp_path: Path):
    secret = written(tmp_path, "hidden heron", "secret.txt")
    address = f"@{secret}"
    records = [record(1, user_message=address, assistant_response=str(secret))]
    raw = row(turn_records=records, trigger_points=[trigger_point(1)], file_path=str(secret), data_files=str(secret))
    corpus = read_jsonl(written(tmp_path, jsonl(raw)))
    assert corpus.dialogues[0].turns[0].user == address
    assert "heron" not in repr(corpus)


# Both ways of reading


TWO_WAYS: list[list[dict[str, Any]]] = [
    [row()],
    # `datasets`' own reader would make timestamps of these.
    [row(turn_records=[record(number, user_message="2024-01-01") for number in range(1, 6)])],
    [named("a", uuid="2024-01-01T10:00:00Z", scenario_id="2024-01-01 10:00:00"), named("b", uuid="12:30")],
    # Fields that only some rows have, and of types that differ from row to row.
    [named("a", mood="calm", extra={"b": [1]}), named("b", extra=[]), named("c", extra="x", mood=None), named("d")],
    [named("a", token_usage={}, trigger_stats=[]), named("b", token_usage=None, trigger_points=[])],
    [named("a", turn_records=[record(1, planner=None, pace=1.5)], trigger_points=[trigger_point(1)]), named("b")],
    [
        named(
            "a", turn_records=[record(1, user_message="\u2028\x85\x1c\x0b \U0001f6a2 e\u0301\r\n")], trigger_points=[]
        ),
        row(),
    ],
    # Longer than the chunks that `datasets` reads, with a field that comes late.
    [*(named(f"{number}", note="x" * 1_000_000) for number in range(12)), named("late", mood="calm")],
]


@pytest.mark.parametrize("raw", TWO_WAYS)
def test_a_dataset_gives_the_same_dialogues_hash_and_counts_as_the_file(
    tmp_path: Path, hub_cache: Path, raw: list[dict[str, Any]]
):
    folder = tmp_path / "dataset"
    from_file = read_jsonl(written(folder, jsonl(*raw)))
    from_dataset = read_dataset(str(folder))
    assert from_dataset.dialogues == from_file.dialogues
    assert from_dataset.sha256 == from_file.sha256
    assert from_dataset.ignored_fields == from_file.ignored_fields
    assert (from_dataset.name, from_dataset.revision) == (str(folder), None)


def test_lines_end_alike_either_way(tmp_path: Path, hub_cache: Path):
    lines = jsonl(named("a"), named("b"), named("c"), named("d")).splitlines()
    folder = tmp_path / "dataset"
    from_file = read_jsonl(written(folder, f"{lines[0]}\r{lines[1]}\r\n{lines[2]}\n\r{lines[3]}"))
    from_dataset = read_dataset(folder)
    assert len(from_file.dialogues) == 4
    assert from_dataset.sha256 == from_file.sha256


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    raw=st.lists(rows(), min_size=1, max_size=4, unique_by=lambda each: each["unique_id_eval"]), planted=st.booleans()
)
def test_any_valid_rows_are_the_same_either_way(
    tmp_path_factory: pytest.TempPathFactory, hub_cache: Path, raw: list[dict[str, Any]], planted: bool
):
    folder = tmp_path_factory.mktemp("dataset")
    from_file = read_jsonl(written(folder, jsonl(*(plant_canaries(each)[0] if planted else each for each in raw))))
    from_dataset = read_dataset(folder)
    assert from_dataset.dialogues == from_file.dialogues
    assert from_dataset.sha256 == from_file.sha256
    assert from_dataset.ignored_fields == from_file.ignored_fields


@pytest.mark.parametrize("bad", BAD_FILES)
def test_a_bad_dataset_is_refused_as_the_file_is(tmp_path: Path, hub_cache: Path, bad: BadFile):
    content, line, field, problem = bad
    folder = tmp_path / "dataset"
    file = written(folder, content)
    error = refusal(lambda: read_dataset(folder))
    assert problem in str(error)
    # `datasets` does not tell on which line it stopped being UTF-8.
    expected_line = None if "not UTF-8" in problem else line
    assert (error.source, error.line, error.field) == (str(file), expected_line, field)


def test_a_folder_with_signs_of_a_pattern_in_its_name_is_read(tmp_path: Path, hub_cache: Path):
    folder = tmp_path / "a[b]*c? d"
    written(tmp_path / "ab", jsonl(named("wrong")))
    written(folder, jsonl(named("right")))
    assert read_dataset(folder).dialogues[0].origin.dialogue == "right"


def test_a_folder_without_the_file_is_refused(tmp_path: Path, hub_cache: Path):
    assert (
        str(refusal(lambda: read_dataset(tmp_path))) == f"{tmp_path}: there is no final_dialogues.jsonl in this folder"
    )


def test_a_folder_has_no_revision(tmp_path: Path):
    written(tmp_path, jsonl(row()))
    assert "a folder has no revisions" in str(refusal(lambda: read_dataset(tmp_path, revision="main")))


@pytest.mark.parametrize("disabled", [False, True])
def test_progress_bars_are_off_while_reading_and_as_before_afterwards(
    tmp_path: Path,
    hub_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    disabled: bool,
):
    bars = sys.modules["datasets.utils.tqdm"]
    monkeypatch.setattr(bars, "HF_DATASETS_DISABLE_PROGRESS_BARS", None)
    monkeypatch.setattr(bars, "_hf_datasets_progress_bars_disabled", disabled)
    written(tmp_path / "one", jsonl(row()))
    read_dataset(tmp_path / "one")
    assert bars.are_progress_bars_disabled() == disabled
    assert capfd.readouterr() == ("", "")


def test_importing_the_corpus_imports_no_slow_library():
    slow = {"datasets", "dspy", "httpx", "huggingface_hub", "litellm", "pandas", "pyarrow"}
    code = f"import sys, dspy_proact.benchmarks.proactbench.corpus; print({slow} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# The hub, played by a server


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_of("bosonai/proactbench", {"final_dialogues.jsonl": jsonl(named("from the hub")).encode()}) as hub:
        yield hub


LOAD = """
import sys
from dspy_proact.benchmarks.proactbench.corpus import load_corpus
from dspy_proact.errors import CorpusError
for argument in sys.argv[1:]:
    spec, _, revision = argument.partition(" ")
    try:
        corpus = load_corpus(spec, revision or None)
        print(corpus.name, corpus.revision, [dialogue.origin.dialogue for dialogue in corpus.dialogues])
    except CorpusError as error:
        print("CorpusError", error)
"""


loaded = partial(printed, LOAD)
"""One line for each "spec" or "spec revision"."""


def test_the_revision_is_resolved_once_to_the_commit_that_is_read(tmp_path: Path, hub: Hub):
    assert loaded(tmp_path, "proactbench", HF_ENDPOINT=hub.url) == [f"proactbench {COMMIT} ['from the hub']"]
    assert hub.asked.count("/api/datasets/bosonai/proactbench") == 1
    assert not [path for path in hub.fetched if COMMIT not in path]
    assert not [path for path in hub.asked if path.endswith("/main")]


def test_a_revision_is_pinned_by_the_spec_or_else_by_the_argument(tmp_path: Path, hub: Hub):
    expected = f"proactbench {COMMIT} ['from the hub']"
    got = loaded(
        tmp_path,
        "proactbench@main",
        f"proactbench {COMMIT}",
        "proactbench@main gone",
        "proactbench gone",
        HF_ENDPOINT=hub.url,
    )
    assert got[:3] == [expected] * 3
    assert got[3].startswith("CorpusError bosonai/proactbench@gone: cannot be read (RevisionNotFoundError: ")
    assert got[3].endswith("; try again, or download final_dialogues.jsonl and give its path")


def test_a_hub_that_cannot_be_reached_is_told_with_what_to_do_instead(tmp_path: Path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        (told,) = loaded(tmp_path, "proactbench", HF_ENDPOINT=f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert told.startswith("CorpusError bosonai/proactbench: cannot be read (Connect")
    assert told.endswith("; try again, or download final_dialogues.jsonl and give its path")


def test_offline_mode_is_told_with_what_to_do_instead(tmp_path: Path):
    (told,) = loaded(tmp_path, "proactbench", HF_HUB_OFFLINE="1")
    assert told.startswith("CorpusError bosonai/proactbench: cannot be read (OfflineModeIsEnabled: ")
    assert told.endswith("; try again, or download final_dialogues.jsonl and give its path")


def test_a_name_that_is_neither_folder_nor_dataset_is_refused(tmp_path: Path):
    assert "cannot be read (HFValidationError: " in str(refusal(lambda: read_dataset(tmp_path / "none")))


def test_a_folder_with_the_official_name_does_not_stand_in_for_the_dataset(tmp_path: Path, hub: Hub):
    written(tmp_path / "bosonai" / "proactbench", jsonl(named("from a folder")))
    assert loaded(tmp_path, "proactbench", HF_ENDPOINT=hub.url) == [f"proactbench {COMMIT} ['from the hub']"]


# What can be asked for


def test_an_empty_revision_is_refused():
    assert "the revision after @ is empty" in str(refusal(lambda: load_corpus("proactbench@")))


@pytest.mark.parametrize("spec", ["sample", "corpus.jsonl"])
def test_a_revision_of_what_has_none_is_refused(spec: str):
    assert str(refusal(lambda: load_corpus(spec, "main"))) == (
        f"{spec}: only proactbench has revisions; leave the revision out"
    )


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the sample's folder."""
    monkeypatch.setattr(sample, "_FOLDER", tmp_path)
    return tmp_path


def test_the_sample_is_a_corpus_of_its_own_name(bundled: Path):
    written(bundled, jsonl(row()), "dialogues.jsonl")
    corpus = load_corpus("sample")
    assert (corpus.name, corpus.revision) == ("sample", None)
    assert corpus.dialogues == read_jsonl(sample_path()).dialogues


def test_the_sample_lies_in_the_package():
    assert sample_path().parts[-5:] == ("benchmarks", "proactbench", "data", "sample", "dialogues.jsonl")


def test_sample_responses_keep_their_text(bundled: Path):
    first = {"item": "i1", "case": "a__t2", "text": "Take\u2028the \x85 boat.\nNow."}
    second = {"item": "i2", "case": "a__t3", "text": ""}
    written(bundled, jsonl(first, second), "responses.jsonl")
    assert sample_responses() == (SampleResponse(**first), SampleResponse(**second))


def test_author_ratings_are_read_with_quoted_commas_and_line_breaks(bundled: Path):
    reason = 'Names the boat, "late",\nbut not\u2028the day.'
    with (bundled / "ratings.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "annotator", "grade", "confidence", "reason"])
        writer.writerow(["i1", "author-1", "PARTIAL", "4", reason])
        writer.writerow(["i2", "author-2", "FAIL", "5", ""])
    assert sample_ratings() == (
        Rating(item="i1", annotator="author-1", grade=Grade.PARTIAL, confidence=4, reason=reason),
        Rating(item="i2", annotator="author-2", grade=Grade.FAIL, confidence=5),
    )
