"""What a person's own benchmark is checked for: the declaration when it is loaded, and what its functions return."""

import ast
import inspect
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from dspy_proact.errors import SetupFault, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.controls import Controls
from dspy_proact.evaluation.people import HumanGrade, People, parts_of
from dspy_proact.evaluation.published import PublishedRow
from dspy_proact.evaluation.reporting import Reporting
from dspy_proact.runs import CONTROL, Case, CaseSet, Measure, Scored, Settings

Declared = Benchmark[Any, Any]
_PACKAGE = __name__.partition(".")[0]
Fault = tuple[str, str]
"""The member at fault, or an empty text for the class, and what is wrong with it."""
MEMBERS = tuple(dict.fromkeys(name for name in (*Benchmark.__annotations__, *vars(Benchmark)) if name[0] != "_"))
"""Everything that a benchmark may declare."""
REQUIRED = ("name", "labels", "answer_type", "read", "program", "grade")
_VALUES = {**Benchmark.__annotations__, "controls": Controls | None, "reporting": Reporting | None}
"""The type of each member that is a value."""
_NEAR = 0.8
"""How alike a name of a person's own and a member are, at least, that one is taken for the other misspelt."""
T = TypeVar("T")


def faults_of_declaration(declared: Declared) -> Iterator[Fault]:
    """What is missing, misspelt or wrong in a declaration, the worst first."""
    own = {name for kind in _classes(declared) for name in vars(kind) if not name.startswith("_")}
    for name in sorted(own - {*MEMBERS}):
        if near := get_close_matches(name, MEMBERS, n=1, cutoff=_NEAR):
            problem = f"is no member of a benchmark; did you mean `{near[0]}`? Begin a name of your own with _"
            yield name, f"`{name}` {problem}"
    lacking = [name for name in REQUIRED if getattr(type(declared), name, None) is getattr(Benchmark, name, None)]
    if lacking:
        yield "", f"does not declare {', '.join(lacking)}"
    for name in sorted(own & {*MEMBERS}):
        yield from ((name, fault) for fault in _faults_of_member(declared, name))
    yield from _faults_of_parts(declared)
    try:
        declared.settings_type()
    except ValidationError as error:
        where = error.errors()[0]["loc"][0]
        yield "settings_type", f"the setting {where!r} has no valid default; each needs one"


def file_of(declared: Declared) -> Path | None:
    """The file of a benchmark that is not of this package; None for one of it."""
    kind = type(declared)
    if kind.__module__.startswith(f"{_PACKAGE}."):
        return None
    return Path(getattr(sys.modules.get(kind.__module__), "__file__", None) or kind.__module__)


def line_of(declared: Declared, file: Path, member: str) -> str:
    """FILE:LINE at which a member is declared, or else the class; the file alone where that is not known."""
    try:
        tree = ast.parse(file.read_text("utf-8"))
    except (OSError, SyntaxError):
        return str(file)
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    nodes = [classes[kind.__name__] for kind in _classes(declared) if kind.__name__ in classes]
    for node in nodes:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [statement.name]
            else:
                inner = [name for name in ast.walk(statement) if isinstance(name, ast.Name)]
                names = [name.id for name in inner if isinstance(name.ctx, ast.Store)]
            if member in names:
                return f"{file}:{statement.lineno}"
    return f"{file}:{nodes[0].lineno}" if nodes else str(file)


def checked(declared: Declared, member: str, value: T) -> T:
    """The cases of `read`, grades of `people` or rows of `published`; a `UsageError` where a person's are not valid."""
    if file := file_of(declared):
        for fault in _FAULTS[member](declared, value):
            raise UsageError(f"{line_of(declared, file, member)}: `{member}`: {fault}")
    return value


def require_inputs(declared: Declared, program: Any, cases: Sequence[Case]) -> None:
    """Raise a `UsageError` where the inputs that a person's benchmark makes of its views do not fit the program."""
    file = file_of(declared)
    if file is None or program is None or not cases or type(declared).answer is not Benchmark.answer:
        return
    from dspy_proact.programs.asking import misfits

    names = declared.inputs(cases[0].view)
    if wrong := misfits(program, names):
        where = line_of(declared, file, "program")
        missing = [name for name in wrong if name not in names]
        problem = f"needs {missing[0]!r}" if missing else f"does not take {wrong[0]!r}"
        mend = "name the view's fields as its inputs, or declare `inputs`"
        raise UsageError(f"{where}: the program {problem}; it is given {', '.join(names)}: {mend}")


def require_answer(declared: Declared, answer: Any) -> None:
    """Raise a `SetupFault` where a person's `answer` returned something else than it declares."""
    if (file := file_of(declared)) and not isinstance(answer, declared.answer_type):
        wanted = declared.answer_type.__name__
        where = line_of(declared, file, "answer")
        raise SetupFault(f"{where}: `answer` returned {_typed(answer)} in place of {wanted}")


def require_grade(declared: Declared, case: Case, scored: Any) -> None:
    """Raise a `SetupFault` where a person's `grade` returned an undeclared label, or a score or part out of range."""
    if file := file_of(declared):
        labels = declared.controls.labels if declared.controls and case.stratum == CONTROL else declared.labels
        for fault in _faults_of_grade(labels, scored):
            raise SetupFault(f"{line_of(declared, file, 'grade')}: `grade` returned {fault} (case {case.key!r})")


def _classes(declared: Declared) -> list[type]:
    kinds = type(declared).__mro__
    return [kind for kind in kinds[: kinds.index(Benchmark)] if not kind.__module__.startswith(f"{_PACKAGE}.")]


def _faults_of_member(declared: Declared, name: str) -> Iterator[str]:
    value: Any = getattr(declared, name)
    usual: Any = getattr(Benchmark, name, None)
    if name in _PLAIN:
        if not _PLAIN[name][0](value):
            yield f"`{name}` takes {_PLAIN[name][1]}; it is {value!r}"
    elif name in _VALUES:
        if not isinstance(value, _VALUES[name]):
            kind, *_ = get_args(_VALUES[name]) or (_VALUES[name],)
            yield f"`{name}` takes {_article(kind.__name__)}; it is {_typed(value)}"
    elif not callable(value):
        yield f"`{name}` is a method; it is {_typed(value)}"
    else:
        if inspect.iscoroutinefunction(usual) and not inspect.iscoroutinefunction(value):
            yield f"`{name}` is awaited; declare it with `async def`"
        parameters, taken = [*inspect.signature(usual).parameters][1:], inspect.signature(value)
        try:
            taken.bind(*parameters)
        except TypeError:
            yield f"`{name}` is called with ({', '.join(parameters)}); it takes ({', '.join(taken.parameters)})"


def _is_texts(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and 0 < len(set(value)) == len(value)


def _are_roles(value: Any) -> bool:
    named = isinstance(value, Mapping) and not {"assistant", "judge", "embedder"} & {*value}
    return named and all(re.fullmatch("[a-z_]+", name) and isinstance(value[name], str | None) for name in value)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


_PLAIN: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("name", "about"), (lambda value: isinstance(value, str), "a text")),
    **dict.fromkeys(("labels", "strata"), (_is_texts, "different texts, from best to worst, as a tuple")),
    "roles": (
        _are_roles,
        "names in small letters, but for assistant, judge and embedder, each with a model or None",
    ),
    "measures": (lambda value: all(isinstance(measure, Measure) for measure in value), "a tuple of Measure"),
    "answer_type": (_is_model, "a pydantic model"),
    "view": (lambda value: value is None or _is_model(value), "a pydantic model"),
    "settings_type": (
        lambda value: _is_model(value) and issubclass(value, Settings),
        "a class derived from `dspy_proact.Settings`",
    ),
}
"""Members that are no values and no methods: what each must be, and in words."""


def _faults_of_parts(declared: Declared) -> Iterator[Fault]:
    parts = declared.people.parts if isinstance(declared.people, People) else ()
    if len({part.name for part in parts}) < len(parts):
        yield "people", "two of `parts` have one name"
    for part in parts:
        if len(part.levels) < 2 or len(set(part.levels)) < len(part.levels):
            yield "people", f"the levels of the part {part.name!r} are two different texts or more, not {part.levels!r}"
        if not part.name and tuple(part.levels) != tuple(reversed(declared.labels)):
            problem = f"has the `labels` as its levels, from worst to best, not {part.levels!r}"
            yield "people", f"the part without a name {problem}"


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


def _faults_of_grades(declared: Declared, grades: Sequence[Any]) -> Iterator[str]:
    levels = {part.name: part.levels for part in parts_of(declared)}
    answers, rated = dict[str, Any](), set[tuple[str, str, str]]()
    for row in grades:
        if not isinstance(row, HumanGrade):
            yield f"its grades have {_typed(row)} in place of a HumanGrade"
        elif row.part not in levels:
            yield f"the part {row.part!r} of case {row.case!r} is none of {', '.join(map(repr, levels))}"
        elif row.grade not in levels[row.part]:
            known = ", ".join(reversed(levels[row.part]))
            yield f"the grade {row.grade!r} of case {row.case!r} is none of {known}"
        elif not isinstance(row.answer, declared.answer_type):
            yield f"the answer of case {row.case!r} is {_typed(row.answer)} in place of {declared.answer_type.__name__}"
        elif answers.setdefault(row.key, row.answer) != row.answer:
            yield f"{row.key!r} is of two answers; give each of them an `item` of its own"
        elif (of := (row.key, row.part, row.rater)) in rated:
            yield f"{row.rater!r} grades {row.key!r} twice"
        else:
            rated.add(of)


def _faults_of_rows(declared: Declared, rows: Sequence[Any]) -> Iterator[str]:
    known = ["score", "strict", "macro", *declared.strata, *(measure.name for measure in declared.measures)]
    for row in rows:
        if not isinstance(row, PublishedRow):
            yield f"its rows have {_typed(row)} in place of a PublishedRow"
            return
        for name, value in row.scores.items():
            if name not in known:
                yield f"{name!r} of {row.name!r} is none of {', '.join(known)}"
            elif value is not None and not 0 <= value <= 1:
                yield f"{name} of {row.name!r} is {value!r}; scores are shares from 0 to 1"


_FAULTS: Mapping[str, Callable[[Declared, Any], Iterator[str]]] = {
    "read": _faults_of_cases,
    "people": _faults_of_grades,
    "published": _faults_of_rows,
}
"""By member, what is wrong with what it gave."""


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


def _typed(value: Any) -> str:
    return _article(type(value).__name__) if value is not None else "None"


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "AEIOU" else f"a {noun}"
