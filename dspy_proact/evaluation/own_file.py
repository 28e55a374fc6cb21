"""A benchmark of a person's own: its file is loaded, and a fault in it is a sentence that names file and line."""

import asyncio
import functools
import importlib.util
import math
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ValidationError

from dspy_proact.errors import ProactError, SetupFault, UsageError
from dspy_proact.evaluation.benchmark import Benchmark, HumanGrade
from dspy_proact.evaluation.published import PublishedRow
from dspy_proact.runs import CONTROL, Case, CaseSet, Scored, Settings

Declared = Benchmark[Any, Any]
_ASK = str(Path(__file__).with_name("ask.py"))
_PACKAGE = __name__.partition(".")[0]
_BEFORE_CALLS = (
    *("read", "strata_of", "mark", "program", "judge", "stand_in", "companions", "settled", "unasked"),
    *("judged", "require", "human_grades", "published"),
    *("differences", "ratings", "items_of_text"),
)
"""Methods that verbs call before the first call to a model, so that a fault in one is a `UsageError`."""


def load_file(path: Path) -> ModuleType:
    """The module of a Python file; raises a `UsageError` where it cannot be imported."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file; `benchmark` takes a name or the path of a Python file")
    name = f"{_PACKAGE}_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec, "a path that ends in .py"
    assert spec.loader, "likewise"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pydantic looks up annotations there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"{error.filename}:{error.lineno}: {error.msg}") from error
    except Exception as error:
        raise UsageError(f"{_place(str(path), error)}: {_described(error)}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def adopted(declared: Declared) -> Declared:
    """A declaration that is not of this package, checked once, whose faults name file and line from now on.

    Raises:
        UsageError: What every benchmark must declare is missing or wrong.
    """
    kind = type(declared)
    if kind.__module__.startswith(f"{_PACKAGE}.") or declared.file is not None:
        return declared
    lacking = [name for name in ("name", "labels", "answer_type") if not hasattr(declared, name)]
    lacking += [name for name in ("read", "program", "grade") if getattr(kind, name) is getattr(Benchmark, name)]
    file = next((code.co_filename for each in vars(kind).values() if (code := getattr(each, "__code__", None))), "")
    where = file or kind.__module__
    if lacking:
        raise UsageError(f"{where}: {kind.__name__} does not declare {', '.join(lacking)}")
    declared.file = Path(where)
    for fault in _faults(declared):
        raise UsageError(f"{where}: {kind.__name__}: {fault}")
    for name in _BEFORE_CALLS:
        if getattr(kind, name) is not getattr(Benchmark, name):
            setattr(declared, name, _guarded(declared, name, getattr(declared, name)))
    return declared


@contextmanager
def located(declared: Declared, what: str, fault: type[BaseException] = SetupFault) -> Generator[None]:
    """Raise a fault of a person's file as a sentence that names file and line.

    Other exceptions pass: those of this project, those of the package's own benchmarks, and what DSPy raised below a
    question to a model, which is the fault of one case.
    """
    try:
        yield
    except (ProactError, asyncio.CancelledError):
        raise
    except Exception as error:
        place = declared.file and _place(str(declared.file), error)
        if not place:
            raise
        raise fault(f"{place}: `{what}` failed: {_described(error)}") from error


def require_answer(declared: Declared, answer: Any) -> None:
    """Raise a `SetupFault` where a person's `answer` returned something else than it declares."""
    if declared.file is not None and not isinstance(answer, declared.answer_type):
        wanted = declared.answer_type.__name__
        raise SetupFault(f"{_line_of(declared, 'answer')}: `answer` returned {_typed(answer)} in place of {wanted}")


def require_grade(declared: Declared, case: Case, scored: Any) -> None:
    """Raise a `SetupFault` where a person's `grade` returned an undeclared label, or a score or part out of range."""
    if declared.file is not None:
        labels = declared.controls.labels if declared.controls and case.stratum == CONTROL else declared.labels
        for fault in _faults_of_grade(labels, scored):
            raise SetupFault(f"{_line_of(declared, 'grade')}: `grade` returned {fault} (case {case.key!r})")


def _faults_of_grade(labels: Sequence[str], scored: Any) -> Iterator[str]:
    if not isinstance(scored, Scored):
        yield f"{_typed(scored)} in place of Scored"
        return
    if scored.label not in labels:
        yield f"the label {scored.label!r}, which is none of {', '.join(labels)}"
    if not (isinstance(scored.score, int | float) and 0 <= scored.score <= 1):
        yield f"the score {scored.score!r}, which is not a number from 0 to 1"
    if not isinstance(scored.detail, BaseModel):
        yield f"{_typed(scored.detail)} as the detail, which takes a pydantic model"
    for name, value in scored.parts.items():
        if not (isinstance(value, int | float) and math.isfinite(value)):
            yield f"the part {name}={value!r}, which is not a finite number"


def _guarded(declared: Declared, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with located(declared, name, UsageError):
            result = method(*args, **kwargs)
            if name in ("human_grades", "published"):
                result = tuple(result)  # a generator runs here
        check = {"read": _faults_of_cases, "human_grades": _faults_of_people, "published": _faults_of_rows}.get(name)
        for fault in check(declared, result) if check else ():
            raise UsageError(f"{_line_of(declared, name)}: `{name}`: {fault}")
        return result

    return guarded


def _faults(declared: Declared) -> Iterator[str]:
    """What is wrong with what is declared without a method."""
    for name in ("labels", "strata"):
        values = getattr(declared, name)
        if isinstance(values, str) or len(set(values)) < len(values) or not values:
            yield f"`{name}` takes different texts, from best to worst, as a tuple; it is {values!r}"
    if len({part.name for part in declared.parts}) < len(declared.parts):
        yield "two of `parts` have one name"
    for part in declared.parts:
        if len(part.levels) < 2 or len(set(part.levels)) < len(part.levels):
            yield f"the levels of the part {part.name!r} are two different texts or more, not {part.levels!r}"
        if not part.name and tuple(part.levels) != tuple(reversed(declared.labels)):
            yield f"the part without a name has the `labels` as its levels, from worst to best, not {part.levels!r}"
    if not _is_model(declared.answer_type):
        yield f"`answer_type` takes a pydantic model; it is {declared.answer_type!r}"
    if not (_is_model(declared.settings_type) and issubclass(declared.settings_type, Settings)):
        yield "`settings_type` takes a class derived from `dspy_proact.Settings`"
        return
    try:
        declared.settings_type()
    except ValidationError as error:
        yield f"the setting {error.errors()[0]['loc'][0]!r} has no valid default; each needs one"


def _faults_of_cases(declared: Declared, cases: Any) -> Iterator[str]:
    if not isinstance(cases, CaseSet):
        yield f"returned {_typed(cases)} in place of a CaseSet; CaseSet.of(NAME, CASES) makes one"
        return
    if not cases.cases:
        yield "returned no cases"
    for key, count in Counter(case.key for case in cases.cases).items():
        if count > 1:
            yield f"the key {key!r} is that of {count} cases; keys are unique"
    chains = {case.chain: (case.group, case.stratum) for case in cases.cases if case.chain}
    strata = [*declared.strata, *([CONTROL] if declared.controls else [])]
    for case in cases.cases:
        if case.stratum not in strata:
            yield f"the case {case.key!r} has the stratum {case.stratum!r}, which is none of {', '.join(strata)}"
        if case.chain and chains[case.chain] != (case.group, case.stratum):
            yield f"the chain {case.chain!r} has cases of several groups or strata; {case.key!r} is one of them"
        if not isinstance(case.view, BaseModel):
            yield f"the view of the case {case.key!r} is {_typed(case.view)}; it takes a pydantic model"


def _faults_of_people(declared: Declared, grades: Sequence[Any]) -> Iterator[str]:
    levels = {part.name: part.levels for part in declared.parts} or {"": tuple(declared.labels)}
    answers, rated = dict[str, Any](), set[tuple[str, str, str]]()
    for row in grades:
        if not isinstance(row, HumanGrade):
            yield f"returned {_typed(row)} in place of a HumanGrade"
        elif row.part not in levels:
            yield f"the part {row.part!r} of case {row.case!r} is none of {', '.join(map(repr, levels))}"
        elif row.grade not in levels[row.part]:
            yield f"the grade {row.grade!r} of case {row.case!r} is none of {', '.join(levels[row.part])}"
        elif not isinstance(row.answer, declared.answer_type):
            yield f"the answer of case {row.case!r} is {_typed(row.answer)} in place of {declared.answer_type.__name__}"
        elif answers.setdefault(row.key, row.answer) != row.answer:
            yield f"{row.key!r} is of two answers; give each of them an `item` of its own"
        elif (of := (row.key, row.part, row.rater)) in rated:
            yield f"{row.rater!r} grades {row.key!r} twice"
        else:
            rated.add(of)


def _faults_of_rows(declared: Declared, rows: Sequence[Any]) -> Iterator[str]:
    known = ["score", *declared.strata, *(measure.name for measure in declared.measures)]
    for row in rows:
        if not isinstance(row, PublishedRow):
            yield f"returned {_typed(row)} in place of a PublishedRow"
            return
        for name, value in row.scores.items():
            if name not in known:
                yield f"{name!r} of {row.name!r} is none of {', '.join(known)}"
            elif value is not None and not 0 <= value <= 1:
                yield f"{name} of {row.name!r} is {value!r}; scores are shares from 0 to 1"


def _place(file: str, error: Exception) -> str:
    """FILE:LINE of the fault; empty where it lies below a question to a model and not in the file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = max((index for index, frame in enumerate(frames) if frame.filename == file), default=-1)
    asked = max((index for index, frame in enumerate(frames) if frame.filename == _ASK), default=-1)
    if asked > own:
        return ""
    return f"{file}:{frames[own].lineno}" if own >= 0 else file


def _line_of(declared: Declared, method: str) -> str:
    """FILE:LINE at which a method is declared."""
    code = getattr(getattr(type(declared), method), "__code__", None)
    if code is None or code.co_filename != str(declared.file):
        return str(declared.file)
    return f"{declared.file}:{code.co_firstlineno}"


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _typed(value: Any) -> str:
    return f"a {type(value).__name__}" if value is not None else "None"


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
