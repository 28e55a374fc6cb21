"""A stand-in for the official package `proactbench`, in our own words, for tests of `--judge-prompt official`.

It has the names that are taken from the official package and nothing else of it. Written to a folder of its own and
imported from there, so that what a test changes in it is an installation that has changed.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RUNTIME = '''
import json

JUDGE_SYSTEM_TEMPLATE = """You weigh one answer by its rubric.
Write {"evaluation_result": {...}} and nothing else; 100 % of it is JSON."""


def build_judge_eval_message(trigger_point, history):
    rubric = json.dumps(trigger_point.evaluation_rubric.model_dump(), indent=2)
    said = "\\n\\n".join(f"<{each['role']}> {each['content']}" for each in history)
    return f"ACTIVE at {trigger_point.turn}\\n{rubric}\\n\\n{said}\\n\\nTHE END"
'''
TYPES = """
from pydantic import BaseModel, Field


class EvaluationRubric(BaseModel):
    type: str
    pass_criteria: str
    partial_criteria: str
    fail_criteria: str


class EvaluationResult(BaseModel):
    status: str = Field(description="EVALUATED, or the trigger is lost")
    score: str
    rationale: str
    evidence: str


class TriggerPoint(BaseModel):
    turn: int
    evaluation_rubric: EvaluationRubric
    evaluation_result: EvaluationResult | None = None


class JudgeOutput(BaseModel):
    evaluation_result: EvaluationResult
"""


@contextmanager
def installed(folder: Path, runtime: str = RUNTIME, types: str = TYPES) -> Iterator[Path]:
    """Inside, the package can be imported from the folder; afterwards nothing of it is left in this process."""
    write(folder, runtime, types)
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        _forget()


@contextmanager
def missing() -> Iterator[None]:
    """Inside, the package is not installed, whatever this machine has."""
    sys.meta_path.insert(0, finder := _Nowhere())
    _forget()
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _forget()


def write(folder: Path, runtime: str | None = RUNTIME, types: str | None = TYPES) -> None:
    """Write the package's modules below a folder; a module that is None is not there."""
    prompts = folder / "proactbench" / "prompts"
    prompts.mkdir(parents=True)
    for path in (prompts.parent, prompts):
        (path / "__init__.py").write_text("")
    for path, text in ((prompts / "runtime.py", runtime), (prompts.parent / "types.py", types)):
        if text is not None:
            path.write_text(text, encoding="utf-8")


class _Nowhere:
    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "proactbench":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "proactbench"]:
        del sys.modules[name]
