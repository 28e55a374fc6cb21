"""Dialogues: a row becomes one in our words, and a file or dataset a corpus."""

import json
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import (
    HIDDEN_FIELDS,
    jsonl,
    plant_canaries,
    record,
    refusal,
    row,
    rubric,
    trigger_point,
    without,
)
from fakes.hub import COMMIT, Hub, hub_of, printed

from dspy_proact.benchmarks.proactbench.corpus.dialogues import Row, load_corpus, read_jsonl, sample_path
from dspy_proact.benchmarks.proactbench.types import Origin, Phase, Rubric, Turn
from dspy_proact.files.rows import Line


def parsed(raw: dict[str, Any]) -> Row:
    return Row.of(Line("corpus.jsonl", 7, json.dumps(raw)))


def named(key: str, **changes: Any) -> dict[str, Any]:
    return row(unique_id_eval=key, **changes)


def written(folder: Path, content: str | bytes, name: str = "final_dialogues.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


# A row


def test_a_row_becomes_a_dialogue_in_our_words():
    dialogue = parsed(row()).dialogue()
    assert dialogue.origin == Origin(
        dialogue="BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef",
        persona="0123456789abcdef0123456789abcdef",
        scenario_id="TRAVEL_07",
        blueprint="BP_TRAVEL_07_EVA",
        life_domain="travel",
        style=3,
        source_model="curator-1",
    )
    assert len(dialogue.turns) == 5
    assert dialogue.turns[1] == Turn(
        user="Question 2: which path leads to the lighthouse?", assistant="Answer 2: the one along the cliff."
    )
    assert [trigger.turn for trigger in dialogue.triggers] == [2, 3, 5]
    assert dialogue.triggers[2].rubric == Rubric(
        phase=Phase.RECOVERY,
        pass_criteria="Says that the last boat leaves early (RECOVERY).",
        partial_criteria="Mentions boats (RECOVERY).",
        fail_criteria="Says nothing of boats (RECOVERY).",
    )


def test_triggers_are_put_in_turn_order():
    raw = row(trigger_points=[trigger_point(5, "RECOVERY"), trigger_point(1), trigger_point(4, "CRITICAL")])
    dialogue = parsed(raw).dialogue()
    assert [(trigger.turn, trigger.rubric.phase.value) for trigger in dialogue.triggers] == [
        (1, "EMERGENT"),
        (4, "CRITICAL"),
        (5, "RECOVERY"),
    ]


def test_hidden_fields_may_be_left_out():
    lean = row()
    for name in (*HIDDEN_FIELDS, "num_turns_completed"):
        del lean[name]
    lean["turn_records"] = [without(turn, "planner") for turn in lean["turn_records"]]
    lean["trigger_points"] = [without(point, "evaluation_result") for point in lean["trigger_points"]]
    assert parsed(lean).dialogue() == parsed(row()).dialogue()


def test_a_real_dialogue_is_read(data: Path):
    raw = json.loads((data / "proactbench_dialogue.jsonl").read_text(encoding="utf-8"))
    real = parsed(raw)
    dialogue = real.dialogue()
    assert real.unknown_fields() == {}
    assert raw["category_key"] == f"{dialogue.origin.life_domain}_persona"
    assert [trigger.turn for trigger in dialogue.triggers] == [1, 4, 8]
    assert len(dialogue.turns) == len(raw["turn_records"]) == 9


GONE = "the field is missing"
REQUIRED = (
    "unique_id_eval",
    "uuid",
    "scenario_id",
    "blueprint_id",
    "category_key",
    "style_combination_index",
    "evaluated_model",
    "trigger_points",
    "turn_records",
)


def point(**changes: Any) -> dict[str, Any]:
    return row(trigger_points=[trigger_point(1) | changes])


def turn(**changes: Any) -> dict[str, Any]:
    return row(turn_records=[record(1) | changes], trigger_points=[])


WRONG: list[tuple[dict[str, Any], str, str]] = [
    *((without(row(), name), name, GONE) for name in REQUIRED),
    *(
        (
            point(evaluation_rubric=without(rubric("CRITICAL"), name)),
            f"trigger_points[0].evaluation_rubric.{name}",
            GONE,
        )
        for name in ("type", "pass_criteria", "partial_criteria", "fail_criteria")
    ),
    (row(uuid=17), "uuid", "input should be a valid string, not 17"),
    (row(style_combination_index="3"), "style_combination_index", "input should be a valid integer, not '3'"),
    (row(turn_records=[]), "turn_records", "the list should not be empty"),
    (
        point(evaluation_rubric=rubric("LATE")),
        "trigger_points[0].evaluation_rubric.type",
        "input should be 'EMERGENT', 'CRITICAL' or 'RECOVERY', not 'LATE'",
    ),
    (
        point(evaluation_rubric=rubric("EMERGENT", fail_criteria=" \n")),
        "trigger_points[0].evaluation_rubric.fail_criteria",
        "input should not be blank, not ' \\n'",
    ),
    (turn(user_message=""), "turn_records[0].user_message", "input should not be blank, not ''"),
    (
        row(turn_records=[record(1, assistant_response=" \n"), record(2, assistant_response="")]),
        "turn_records[0].assistant_response",
        "empty, and providers refuse a conversation with an empty message; leave the dialogue out",
    ),
    (turn(assistant_response=None), "turn_records[0].assistant_response", "input should be a valid string, not null"),
    (row(trigger_points=[trigger_point(6)]), "trigger_points[0].turn", "there is no turn 6: the last one is 5"),
    (row(trigger_points=[trigger_point(0)]), "trigger_points[0].turn", "there is no turn 0: the last one is 5"),
    (
        row(trigger_points=[trigger_point(2), trigger_point(4), trigger_point(2, "CRITICAL")]),
        "trigger_points[2].turn",
        "turn 2 has a trigger already: one a turn",
    ),
    (
        row(turn_records=[record(1), record(3), record(2)]),
        "turn_records[1].turn",
        "turns must be in order: 2 expected, not 3",
    ),
    (row(turn_records=[record(0), record(1)]), "turn_records[0].turn", "turns must be in order: 1 expected, not 0"),
    (row(num_turns_completed=4), "num_turns_completed", "4 disagrees with turn_records, which has 5"),
]


@pytest.mark.parametrize(("raw", "field", "problem"), WRONG)
def test_a_wrong_field_or_turns_that_do_not_fit_are_refused_by_name(raw: dict[str, Any], field: str, problem: str):
    assert str(refusal(lambda: parsed(raw))) == f"corpus.jsonl, line 7, field '{field}': {problem}"


# A corpus


def test_the_hash_is_of_the_dialogues_and_not_of_the_file(tmp_path: Path):
    raw = [named("a"), named("b")]
    plain = read_jsonl(written(tmp_path, jsonl(*raw), "plain.jsonl"))
    planted = [plant_canaries({key: item[key] for key in sorted(item)})[0] for item in raw]
    spaced = "\n\n".join(json.dumps(item, ensure_ascii=True, separators=(" ,  ", ":  ")) for item in planted)
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


def test_the_hash_of_a_large_corpus_takes_the_memory_of_a_row(tmp_path):
    path = written(tmp_path, jsonl(*(named(str(number)) for number in range(2000))))
    corpus = read_jsonl(path)
    tracemalloc.start()
    assert corpus.sha256
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < path.stat().st_size / 20


def test_ignored_fields_are_counted_over_all_rows(tmp_path: Path):
    raw = [named("a", mood="calm", **{"odd\nname": 1}), named("b", mood="cross"), named("c", mood=None)]
    corpus = read_jsonl(written(tmp_path, jsonl(*raw)))
    assert corpus.ignored_fields == {"mood": 2, "odd\nname": 1}
    assert "calm" not in repr(corpus)


@pytest.mark.parametrize(
    ("content", "line", "field", "problem"),
    [
        (b"", None, None, "empty: there is no dialogue in it"),
        ("\ufeff\n  \n\n", None, None, "empty: there is no dialogue in it"),
        (jsonl(named("a", trigger_points=[])), None, None, "no dialogue has a trigger, so there is nothing to measure"),
        (jsonl(named("a")) + "{oops\n", 2, None, "not JSON: Expecting property name enclosed in double quotes"),
        (jsonl(named("a"), named("b"), named("a")), 3, "unique_id_eval", "the same key stands on line 1; keep one of"),
        (
            jsonl(named("a")) + "\n\n" + jsonl(named("b", turn_records=[record(2)])),
            4,
            "turn_records[0].turn",
            "turns must be in order: 1 expected, not 2",
        ),
    ],
)
def test_a_bad_file_is_refused_with_file_line_and_field(
    tmp_path: Path, content: str | bytes, line: int | None, field: str | None, problem: str
):
    file = written(tmp_path, content)
    error = refusal(lambda: read_jsonl(file))
    assert (error.source, error.line, error.field) == (str(file), line, field)
    assert problem in str(error)


def test_a_missing_file_is_refused_with_what_could_be_given_instead(tmp_path: Path):
    error = refusal(lambda: load_corpus(str(tmp_path / "none.jsonl")))
    assert str(error) == (
        f"{tmp_path / 'none.jsonl'}: there is no such file; "
        "give sample, proactbench, proactbench@REVISION or the path of a JSONL file"
    )


def test_importing_the_corpus_imports_no_slow_library():
    slow = {"datasets", "dspy", "httpx", "huggingface_hub", "litellm", "pandas", "pyarrow"}
    code = f"import sys, dspy_proact.benchmarks.proactbench.corpus.bundled; print({slow} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# The dataset of the hub, which a server plays


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_of("bosonai/proactbench", {"final_dialogues.jsonl": jsonl(named("from the hub")).encode()}) as hub:
        yield hub


LOAD = """
import sys
from dspy_proact.benchmarks.proactbench.corpus.dialogues import load_corpus
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
    # A folder that happens to have the official name does not stand in for the dataset.
    written(tmp_path / "bosonai" / "proactbench", jsonl(named("from a folder")))
    assert loaded(tmp_path, "proactbench", HF_ENDPOINT=hub.url) == [f"proactbench {COMMIT} ['from the hub']"]
    assert hub.paths.count("/api/datasets/bosonai/proactbench") == 1
    assert not [path for path in hub.fetched if COMMIT not in path]
    assert not [path for path in hub.paths if path.endswith("/main")]


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


def test_a_hub_that_cannot_be_reached_is_reported_with_what_to_do_instead(tmp_path: Path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        (refused,) = loaded(tmp_path, "proactbench", HF_ENDPOINT=f"http://127.0.0.1:{unused.getsockname()[1]}")
    (offline,) = loaded(tmp_path, "proactbench", HF_HUB_OFFLINE="1")
    for message, problem in ((refused, "Connect"), (offline, "OfflineModeIsEnabled: ")):
        assert message.startswith(f"CorpusError bosonai/proactbench: cannot be read ({problem}")
        assert message.endswith("; try again, or download final_dialogues.jsonl and give its path")


def test_only_the_dataset_has_revisions():
    assert "the revision after @ is empty" in str(refusal(lambda: load_corpus("proactbench@")))
    for spec in ("sample", "corpus.jsonl"):
        problem = f"{spec}: only proactbench has revisions; leave the revision out"
        assert str(refusal(lambda spec=spec: load_corpus(spec, "main"))) == problem


def test_the_sample_is_a_corpus_of_its_own_name():
    assert load_corpus("sample") == replace(read_jsonl(sample_path()), name="sample")
