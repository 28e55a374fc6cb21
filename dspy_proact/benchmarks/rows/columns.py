"""Which column of a person's own table is what: as they name it, or by usual names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dspy_proact.errors import UsageError
from dspy_proact.files.columns import USUAL, columns_called, columns_listed, folded
from dspy_proact.files.rows import Line
from dspy_proact.report.numbers import listed

_ROLES = ("input", "response", "grade", "rater", "key", "group", "context")
_FURTHER = {"group": ("scenario",)}
"""Usual names that tables of other benchmarks have."""
_SEVERAL = ("grade", "context")
"""Roles of which there may be several columns."""
_PREFIXES = ("grade ", "label ", "rating ")
"""Of columns that hold the labels of one rater each, whose name follows."""


@dataclass(frozen=True)
class RowColumns:
    """Which column of a table is what."""

    names: tuple[str, ...]
    input: str = ""
    response: str = ""
    grades: Mapping[str, str] = field(default_factory=dict[str, str])
    """Columns with labels, each with the rater whom it is of where no column names raters."""
    rater: str = ""
    key: str = ""
    group: str = ""
    context: tuple[str, ...] = ()

    @classmethod
    def of(cls, line: Line, mapped: Sequence[tuple[str, str]], needed: Sequence[str]) -> "RowColumns":
        """Those of the first row, as a person names them, else by usual names.

        Raises a `CorpusError` where one that is needed is missing, and a `UsageError` where a name is no role.
        """
        names = tuple(line.parse())
        columns = _named(line, names, mapped)
        _find_usual(line, names, columns)
        if missing := [role for role in needed if role not in columns]:
            usual = ", nor ".join(map(_alternatives, missing))
            which = listed(
                [
                    "has the labels (or name one for each rater)" if role == "grade" else f"is the {role}"
                    for role in missing
                ]
            )
            mend = " ".join(f"`settings.columns={role}=COLUMN`" for role in missing)
            raise line.error(f"no column is called {usual}; {columns_listed(names)}; say which {which}: {mend}")
        one = {role: columns[0] for role, columns in columns.items() if role not in _SEVERAL}
        grades = {column: _rater_of(column) for column in columns.get("grade", ())}
        if len(grades) > 1 and "rater" in one:
            problem = f"labels in several columns, {', '.join(grades)}, and a column of raters, {one['rater']!r}"
            raise line.error(f"{problem}: name one column of labels, `settings.columns=grade={next(iter(grades))}`")
        return cls(names, **one, grades=grades, context=tuple(columns.get("context", ())))


def _named(line: Line, names: Sequence[str], mapped: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The columns by role, as a person names them."""
    columns = dict[str, list[str]]()
    for named, column in mapped:
        role = "grade" if named == "label" else named
        if role not in _ROLES:
            raise UsageError(f"`settings.columns={named}={column}`: a column is one of {', '.join(_ROLES)}")
        if column not in names:
            raise line.error(f"there is no column {column!r}, which is to be the {role}; {columns_listed(names)}")
        if column in columns.setdefault(role, []) or (columns[role] and role not in _SEVERAL):
            raise UsageError(f"`settings.columns={named}={column}`: the {role} is one column, named once")
        columns[role].append(column)
    return columns


def _find_usual(line: Line, names: Sequence[str], columns: dict[str, list[str]]) -> None:
    """Add the columns of roles that nobody named, by usual names; a `CorpusError` where there are several of one."""
    taken = {column for of_role in columns.values() for column in of_role}
    free = [name for name in names if name not in taken]
    for role in _ROLES:
        there = columns_called((*USUAL[role], *_FURTHER.get(role, ())), free)
        if role in columns or not there:
            continue
        if len(there) > 1:
            which = f"which column is the {role}, {' or '.join(map(repr, there))}?"
            raise line.error(f"{which} Name it: `settings.columns={role}={there[0]}`")
        columns[role] = there
    if "grade" not in columns and (raters := [name for name in free if folded(name).startswith(_PREFIXES)]):
        columns["grade"] = raters


def _alternatives(role: str) -> str:
    first, *others = USUAL[role][:4]
    return f"{', '.join([first, *others[:-1]])} or {others[-1]}"


def _rater_of(column: str) -> str:
    name = column.strip()
    prefix = next((prefix for prefix in _PREFIXES if folded(name).startswith(prefix)), "")
    return name[len(prefix) :].lstrip(" _-") or name
