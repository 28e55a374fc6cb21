"""Rows of the official results format for tests: one by hand, and a strategy for the triggers in a file."""

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from builders.dialogues import PHASES, Row, jsonl, row, rubric
from dspy_proact.benchmarks.proactbench.corpus.results import Results, ResultTrigger, read_results
from dspy_proact.benchmarks.proactbench.types import Grade, Origin, Rubric

DIALOGUE = "BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef"
OFFICIAL_KEYS = (
    "blueprint_id",
    "scenario_id",
    "uuid",
    "category_key",
    "style_combination_index",
    "evaluated_model",
    "source_evaluated_model",
    "num_trigger_points",
    "trigger_stats",
    "trigger_points",
    "turn_records",
    "token_usage",
)
"""In the order in which the official evaluator writes them."""


def file_with(folder: Path, *rows: Row, name: str = "results.jsonl") -> str:
    """The name of a results file in a folder, with these rows or a usual one."""
    (folder / name).write_text(jsonl(*(rows or [result_row()])), encoding="utf-8")
    return name


def corpus_with(folder: Path, *rows: Row) -> str:
    """The name of a corpus in a folder, with these rows or a usual one."""
    return file_with(folder, *(rows or [row()]), name="corpus.jsonl")


def result_row(**changes: Any) -> Row:
    """A row as the official evaluator writes it: a PASS, a PARTIAL and a FAIL at turns 2, 3 and 5; changes on top."""
    labels = dict(zip(PHASES, ("PASS", "PARTIAL", "FAIL"), strict=True))
    turns = dict(zip(PHASES, (2, 3, 5), strict=True))
    return {
        "blueprint_id": "BP_TRAVEL_07_EVA",
        "scenario_id": "TRAVEL_07",
        "uuid": "0123456789abcdef0123456789abcdef",
        "category_key": "travel_persona",
        "style_combination_index": 3,
        "evaluated_model": "vendor/model-1",
        "source_evaluated_model": "curator-1",
        "num_trigger_points": 3,
        "trigger_stats": {phase: stats(label) for phase, label in labels.items()},
        "trigger_points": [result_point(turns[phase], phase, score=label) for phase, label in labels.items()],
        "turn_records": [result_record(turn) for turn in turns.values()],
        "token_usage": {"assistant": used(900, 70, 3), "judge": used(2100, 210, 3)},
        **changes,
    }


def result_point(turn: int, phase: str = "EMERGENT", result: Any = ..., **verdict_changes: Any) -> Row:
    """One of `trigger_points`; a result in place of the verdict, or changes to it."""
    inputs = verdict(**verdict_changes) if result is ... else result
    return {"turn": turn, "evaluation_rubric": rubric(phase), "evaluation_result": inputs}


def verdict(**changes: Any) -> Row:
    """An `evaluation_result`."""
    return {
        "status": "EVALUATED",
        "score": "PASS",
        "rationale": "names the ferry",
        "evidence": "the last boat leaves at four",
        **changes,
    }


def result_record(turn: int, **changes: Any) -> Row:
    """One of `turn_records`."""
    return {
        "turn": turn,
        "user_message": f"Question {turn}: which path leads to the lighthouse?",
        "assistant_response": f"New answer {turn}: the last boat leaves at four.",
        "original_assistant_response": f"Answer {turn}: the one along the cliff.",
        **changes,
    }


def stats(*labels: str) -> dict[str, int]:
    """The `trigger_stats` of a phase with these labels."""
    return {name: labels.count(name) for name in ("PASS", "PARTIAL", "FAIL", "SKIPPED")}


def used(prompt_tokens: int, completion_tokens: int, calls: int) -> dict[str, int]:
    """The `token_usage` of a role."""
    return {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "calls": calls}


def result_trigger(turn: int = 2, **changes: Any) -> ResultTrigger:
    """A trigger with a PASS; changes on top."""
    dialogue = changes.pop("dialogue", DIALOGUE)
    origin = Origin(
        dialogue=dialogue,
        persona="0123456789abcdef0123456789abcdef",
        scenario_id="TRAVEL_07",
        blueprint="BP_TRAVEL_07_EVA",
        life_domain="travel",
        style=3,
        source_model="curator-1",
    )
    criteria = {name: text for name, text in rubric("EMERGENT").items() if name != "type"}
    fields = {
        "origin": origin,
        "turn": turn,
        "rubric": Rubric(phase=changes.pop("phase", "EMERGENT"), **criteria),
        "user_message": f"Question {turn}?",
        "response": f"New answer {turn}.",
        "curated_response": f"Answer {turn}.",
        "status": "EVALUATED",
        "label": "PASS",
        "reasoning": "names the ferry",
        "evidence": ("New answer",),
    }
    return ResultTrigger.model_validate(fields | changes)


UNSCORED: dict[str, Any] = {"status": None, "label": None, "reasoning": "", "evidence": ()}
"""What a trigger has that was tried and has no verdict."""

AS_JSON = ["", " ", "[]", '["a"]', '["a", "b"]', '["a", 1]', ' ["a"]', "[a]", "null", '"a"']
AS_FORMULA = ["=1+1", "\u2003\u3000=1+1", "\ufeff\v\f+1", '=HYPERLINK("http://x","y")', "-1", "@SUM(A1)", " =1"]
WITHIN = ["\t=1", "\r=1", "\n=1", "x;=1+1", "x\t@SUM(A1)", "a; b;- c", "\uff1d1", "1 - 2 = x", "'=1"]
ODD = ["\u2028x", "a\r\nb", "\ufeffx", 'a "quote", then\r\n"another"', "\u2028 \x85 \ufeff", "é\U0001f600 漢字 עברית"]
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
    st.sampled_from([*AS_JSON, *AS_FORMULA, *WITHIN, *ODD]),
    # An escape that only the list within the string makes a lone surrogate or a NUL.
    st.sampled_from(['["\\ud83d"]', '["\\u0000"]', "[" * 9, "9" * 5000, f"[{'9' * 5000}]"]),
)
"""Any text, and those that a format or a spreadsheet might take for something else."""


@st.composite
def result_triggers(draw: st.DrawFn) -> list[ResultTrigger]:
    """The triggers of one to three dialogues, together by dialogue, scored and not."""
    triggers: list[ResultTrigger] = []
    for number in range(draw(st.integers(1, 3))):
        turns = draw(st.lists(st.integers(1, 10), min_size=1, max_size=4, unique=True))
        triggers += [draw(_trigger(f"dialogue-{number}", turn)) for turn in turns]
    return triggers


@st.composite
def _trigger(draw: st.DrawFn, dialogue: str, turn: int) -> ResultTrigger:
    scored = {
        "status": "EVALUATED",
        "label": draw(st.sampled_from([grade.value for grade in Grade])),
        "reasoning": draw(TEXTS),
        "evidence": tuple(draw(st.lists(TEXTS, max_size=3))),
    }
    record = {
        "user_message": draw(TEXTS),
        "response": draw(st.none() | TEXTS.filter(str.strip)),
        "curated_response": draw(st.none() | TEXTS),
    }
    missing = {"user_message": None, "response": None, "curated_response": None}
    return result_trigger(
        turn,
        dialogue=dialogue,
        phase=draw(st.sampled_from(PHASES)),
        **draw(st.sampled_from([record, record, missing])),
        **draw(st.sampled_from([scored, scored, UNSCORED])),
    )


def written(folder: Path, content: str | bytes) -> Path:
    """A results file with this content."""
    file = folder / "results.jsonl"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def read(folder: Path, *rows: Row) -> Results:
    """What is read of a file of these rows."""
    return read_results(written(folder, jsonl(*rows)))


def only(folder: Path, point: dict[str, Any], **record: Any) -> ResultTrigger:
    """The trigger of a file that has no other; the point is at turn 2."""
    (trigger,) = read(folder, result_row(trigger_points=[point], turn_records=[result_record(2, **record)])).triggers
    return trigger
