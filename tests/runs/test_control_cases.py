"""Control cases in a run: labels of their own, paid for once, and the manifest that says how they are graded."""

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import (
    CONTROL_LABELS,
    LABELS,
    Guess,
    Marking,
    Riddles,
    answered,
    case,
    cases,
    graded,
    guess,
    manifest,
    marked,
    outcomes,
    run,
    written,
)

from dspy_proact.errors import Interrupted, RunError
from dspy_proact.runs import CONTROL, Case, Failure, Manifest, RunFolder, RunWriter, Scored
from dspy_proact.switch import Switch

WORDS, OTHER_WORDS = "ab", "cd"


def control(key: str) -> Case:
    return case(key, stratum=CONTROL)


async def mark(asked: Case, answer: Guess) -> Scored[Marking]:
    """Riddles are solved; where none was put, the answer is chatty."""
    return marked("CHATTY" if asked.stratum == CONTROL else "SOLVED")


def riddles(*asked: Case, grade: Any = mark, **changes: Any) -> Riddles:
    return Riddles(asked, guess, grade, **changes)


def grading(label: str) -> Any:
    async def grade(asked: Case, answer: Guess) -> Scored[Marking]:
        return marked(label)

    return grade


def refused(label: str) -> Failure:
    said = f"ValueError: the label {label!r} is none of riddles"
    return Failure(kind="provider", reason="unexpected", detail=said)


@pytest.mark.parametrize("label", CONTROL_LABELS)
def test_a_control_case_is_kept_with_a_control_label(tmp_path: Path, label: str):
    run(riddles(control("a"), grade=grading(label)), tmp_path, controls=WORDS)
    assert outcomes(tmp_path)["a", 1, "verdict"].label == label


@pytest.mark.parametrize("label", LABELS)
def test_a_label_of_the_strata_is_refused_at_a_control_case(tmp_path: Path, label: str):
    run(riddles(control("a"), grade=grading(label)), tmp_path, controls=WORDS)
    assert outcomes(tmp_path)["a", 1, "verdict"] == refused(label)


@pytest.mark.parametrize("label", CONTROL_LABELS)
def test_a_control_label_is_refused_elsewhere(tmp_path: Path, label: str):
    run(riddles(case("a"), grade=grading(label)), tmp_path)
    assert outcomes(tmp_path)["a", 1, "verdict"] == refused(label)


def test_a_run_is_widened_by_its_control_cases_which_alone_are_paid_for(tmp_path: Path):
    run(riddles(*cases("a", "b")), tmp_path)
    wider = riddles(*cases("a", "b"), control("c"))
    run(wider, tmp_path, controls=WORDS)
    assert wider.begun == [("response", "c"), ("verdict", "c")]
    again = riddles(*cases("a", "b"), control("c"))
    runner = run(again, tmp_path, controls=WORDS)
    assert (again.begun, runner.stages) == ([], 0)
    assert [record.key for record in RunFolder(tmp_path).cases()] == ["a", "b", "c"]
    assert outcomes(tmp_path)["c", 1, "verdict"].label == "CHATTY"


def test_control_cases_are_asked_as_often_as_others(tmp_path: Path):
    benchmark = riddles(*cases("a"), control("c"), judges=("sphinx", "oracle"))
    runner = run(benchmark, tmp_path, epochs=2, judge_epochs=3, controls=WORDS)
    assert runner.stages == 28  # 2 cases x 2 epochs x (1 response + 2 judges x 3 verdicts)


class Stopping(Riddles):
    """Pulls a switch when it begins its n-th stage."""

    def __init__(self, asked: list[Case], at: int, switch: Switch):
        super().__init__(asked, guess, mark)
        self._at, self._switch = at, switch

    async def answer(self, case: Case) -> Guess:
        self._count()
        return await super().answer(case)

    async def grade(self, case: Case, answer: Guess, judge: str) -> Scored[Marking]:
        self._count()
        return await super().grade(case, answer, judge)

    def _count(self) -> None:
        if len(self.begun) + 1 == self._at:
            self._switch.pull(Interrupted("as the test asks"))


@given(kinds=st.lists(st.booleans(), min_size=1, max_size=4), data=st.data())
def test_a_resumed_run_with_control_cases_equals_an_uninterrupted_one(kinds: list[bool], data: st.DataObject):
    asked = [control(str(number)) if kind else case(str(number)) for number, kind in enumerate(kinds)]
    at = data.draw(st.integers(1, 2 * len(asked)))
    with TemporaryDirectory() as temporary:
        whole, stopped = Path(temporary, "whole"), Path(temporary, "stopped")
        run(riddles(*asked), whole, controls=WORDS)
        switch = Switch()
        first = Stopping(asked, at, switch)
        with pytest.raises(Interrupted) if at < 2 * len(asked) else nullcontext():  # then nothing is left to do
            run(first, stopped, switch=switch, controls=WORDS)
        rest = riddles(*asked)
        run(rest, stopped, controls=WORDS)
        assert outcomes(stopped) == outcomes(whole)
        assert len(first.begun) + len(rest.begun) == 2 * len(asked)


# The manifest.


@pytest.mark.parametrize(
    ("first", "second", "kept"), [(None, WORDS, WORDS), (WORDS, None, WORDS), (WORDS, WORDS, WORDS), (None, None, None)]
)
def test_the_words_for_control_cases_are_kept_once_they_are_asked_for(
    tmp_path: Path, first: str | None, second: str | None, kept: str | None
):
    for controls in (first, second):
        written(tmp_path / "run", manifest(controls=controls))
    assert RunFolder(tmp_path / "run").manifest() == manifest(controls=kept)


def test_other_words_are_refused_with_the_mend_and_nothing_is_touched(tmp_path: Path):
    path = written(tmp_path / "run", manifest(controls=WORDS), [control("c")], [answered("c")]).path
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(RunError) as caught:
        RunWriter(path, manifest(controls=OTHER_WORDS, epochs=3))
    assert str(caught.value) == (
        f"{path}: its control cases were graded in other words, by another version; "
        "leave --controls out, or name another folder with --out"
    )
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    written(path, manifest(controls=None), [], [graded("c", "CHATTY")])  # neither the lock nor the way out is lost


def test_control_cases_are_no_part_of_what_makes_a_run_another():
    with_, without = manifest(controls=WORDS, control_labels=CONTROL_LABELS), manifest()
    assert with_.identity.digest() == without.identity.digest()
    assert Manifest.model_validate_json(with_.model_dump_json()) == with_


def test_a_run_of_before_there_were_control_cases_is_read(tmp_path: Path):
    raw = manifest().model_dump(mode="json")
    for name in ("controls", "control_labels", "system_prompt"):
        del raw[name]
    of = Manifest.model_validate(raw)
    assert (of.controls, of.control_labels, of.system_prompt) == (None, (), None)


def test_a_run_of_before_there_were_control_cases_is_widened_by_them_with_their_labels(tmp_path: Path):
    written(tmp_path, manifest(), cases("a"))
    written(tmp_path, manifest(controls=WORDS, control_labels=CONTROL_LABELS), [control("c")])
    assert RunFolder(tmp_path).manifest().control_labels == CONTROL_LABELS
