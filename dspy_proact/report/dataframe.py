"""The table of a run, a row a verdict as in an export, as a data frame."""

from importlib import import_module
from typing import Any, Literal, get_args

from dspy_proact.errors import UsageError
from dspy_proact.report.export import columns, rows
from dspy_proact.report.summary import Summary

Backend = Literal["pandas", "polars"]
_KINDS = {
    "pandas": {"string": "string", "int64": "Int64", "float64": "float64", "bool": "boolean"},
    "polars": {"string": "String", "int64": "Int64", "float64": "Float64", "bool": "Boolean"},
}
"""What each library calls the kinds of columns; all of them can be missing."""


def data_frame(summary: Summary, backend: Backend = "pandas") -> Any:
    """A `pandas.DataFrame`, or a `polars.DataFrame`; text stands in it as it is.

    Raises:
        UsageError: The backend is not installed, or none of ours.
    """
    if backend not in get_args(Backend):
        raise UsageError(f"backend {backend!r}: choose among {', '.join(get_args(Backend))}")
    try:
        library: Any = import_module(backend)
    except ModuleNotFoundError as error:
        raise UsageError(f"{backend} is not installed: pip install 'dspy-proact[{backend}]'") from error
    table = list(rows(summary))
    kinds = {column.name: _KINDS[backend][column.kind] for column in columns(summary)}
    values = {name: [row[name] for row in table] for name in kinds}
    if backend == "polars":
        return library.DataFrame(values, schema={name: getattr(library, kind) for name, kind in kinds.items()})
    return library.DataFrame({name: library.Series(values[name], dtype=kind) for name, kind in kinds.items()})
