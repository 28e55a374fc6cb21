"""The calls that a benchmark forecasts, or else those that its programs make: each predictor rendered once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import dspy

from dspy_proact.evaluation.ask import first_inputs
from dspy_proact.evaluation.benchmark import Benchmark, has_judge, unknown
from dspy_proact.evaluation.replay import assumed_answer, assumed_value
from dspy_proact.programs.asking import rendered
from dspy_proact.programs.program import Program
from dspy_proact.runs import Case, ExpectedCall, Settings

_WORDS = 100
_ASSUMED = " ".join(["word"] * _WORDS)
"""Stands where a text is not known yet."""
_TOKENS = (50, 500)
"""Of a reply: assumed."""


def answer_calls(
    declared: Benchmark[Any, Any], case: Case, program: Any, settings: Settings
) -> Sequence[ExpectedCall] | None:
    """The calls of an answer; None where they are not known in advance."""
    if declared.forecast.answers is not unknown:
        return declared.forecast.answers(case, program, settings)
    if type(declared).answer is not Benchmark.answer:
        return None
    return _if_rendered(lambda: _calls(program, declared.inputs(case.view)))


def require_taken(
    require: Callable[[Sequence[Any]], None],
    declared: Benchmark[Any, Any],
    cases: Sequence[Case],
    program: Any,
    settings: Settings,
) -> None:
    """Raise what `require` raises for the messages of any call of an answer, as far as they are known in advance."""
    for case in cases:
        for call in answer_calls(declared, case, program, settings) or ():
            if call.role is None:
                require(call.messages)


def grade_calls(
    declared: Benchmark[Any, Any], case: Case, answer: Any, judge: Any, settings: Settings
) -> Sequence[ExpectedCall] | None:
    """The calls of a grade, where `answer` is None of an assumed answer; None where they are not known in advance.

    `grade` is called up to its first question to the judge, and is assumed to have no other.
    """
    if declared.forecast.grades is not unknown:
        return declared.forecast.grades(case, answer, judge, settings)
    answer = assumed_answer(declared.answer_type, _ASSUMED) if answer is None else answer
    if judge is None or answer is None:
        return None if judge else []

    def render() -> list[ExpectedCall]:
        inputs = first_inputs(declared, case, answer, settings)
        return [] if inputs is None else _calls(judge, inputs)

    return _if_rendered(render)


def assumption_of(declared: Benchmark[Any, Any], answering: bool = True) -> str | None:
    """What the calls assume, in sentences; None where nothing is assumed. `answering` says if any answer is to come."""
    forecast = declared.forecast
    answers = answering and forecast.answers is unknown and type(declared).answer is Benchmark.answer
    grades = forecast.grades is unknown and has_judge(declared)
    programs = " and ".join(name for name, used in (("program", answers), ("judge", grades)) if used)
    assumed = programs and (
        f"Of the {programs}, each predictor is counted once a case, with {_WORDS} words for a text that is not "
        f"known yet and {_TOKENS[0]} to {_TOKENS[1]} tokens for a reply."
    )
    return " ".join(filter(None, [forecast.assumption if answering else None, assumed])) or None


def _if_rendered(render: Callable[[], list[ExpectedCall]]) -> list[ExpectedCall] | None:
    """The calls; None where a person's code, or a type in a signature, takes no assumed value."""
    try:
        return render()
    except Exception:  # a person's code may raise anything at values that are assumed; then calls are not known
        return None


def _calls(program: Any, inputs: Mapping[str, Any]) -> list[ExpectedCall]:
    """A call of each predictor, with an assumed value for an input that is not among these."""
    calls = list[ExpectedCall]()
    for predictor in program.predictors():
        fields = cast("type[dspy.Signature]", predictor.signature).input_fields
        values = {
            name: assumed_value(field.annotation, _ASSUMED) for name, field in fields.items() if name not in inputs
        }
        adapter = program.wording() if isinstance(program, Program) else dspy.settings.adapter or dspy.ChatAdapter()
        calls.append(ExpectedCall(rendered(predictor, adapter, {**values, **inputs}), _TOKENS))
    return calls
