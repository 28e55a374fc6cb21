"""A run as a table of one row a verdict, with everything that was answered and graded.

It is CSV that a spreadsheet cannot be made to run, or Parquet.
"""

import csv
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.evaluation.reporting import Column
from dspy_proact.files.hub import without_progress_bars
from dspy_proact.files.sheets import BLANKS, ENCODING, RUN_SIGNS
from dspy_proact.kept import replacing
from dspy_proact.runs import Outcome, VerdictRecord

_BEGINS_FORMULA = re.compile(rf"(?:^|(?<=[;\t\r\n]))(?={BLANKS}[{RUN_SIGNS}]|[\t\r])")
"""Before what a spreadsheet runs: where a text begins, and where it would part it into cells by itself.

Where the comma is a decimal point, spreadsheets part by semicolons, and quotes in the middle of a cell end nothing.
"""


def export_csv(summary: MeasuredRun, path: Path) -> None:
    """Write the table as CSV: all is quoted, what a spreadsheet would run gets an apostrophe, NUL becomes U+FFFD.

    A byte order mark tells spreadsheets that it is UTF-8. Raises a `UsageError` where the file cannot be written.
    """
    with replacing(path) as temporary, temporary.open("w", encoding=ENCODING, newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(_safe(column.name) for column in columns(summary))
        writer.writerows(map(_safe, row.values()) for row in rows(summary))


def export_parquet(summary: MeasuredRun, path: Path) -> None:
    """Write the table as Parquet, with text as it is; raises a `UsageError` where the file cannot be written."""
    import datasets  # pyright: ignore[reportMissingTypeStubs] - it has none

    table = list(rows(summary))
    kinds = {column.name: column.kind for column in columns(summary)}
    features = datasets.Features({name: datasets.Value(kind) for name, kind in kinds.items()})
    by_column = {name: [row[name] for row in table] for name in kinds}
    dataset: Any = datasets.Dataset.from_dict(by_column, features=features)  # pyright: ignore[reportUnknownMemberType]
    with replacing(path) as temporary, without_progress_bars(datasets.utils):
        dataset.to_parquet(os.fspath(temporary))


def rows(summary: MeasuredRun) -> Iterator[dict[str, Any]]:
    """The table: a row a verdict, and one for each case and epoch that has none; None where there is nothing."""
    table = columns(summary)
    for outcome in summary.outcomes:
        for verdict in outcome.verdicts or (None,):
            yield {column.name: column.of(outcome, verdict) for column in table}


def columns(summary: MeasuredRun) -> list[Column]:
    """The columns of the table: of the case and its verdict, what the benchmark adds to both, and a column a part.

    A key of the cases or a part whose name is taken gets "case_" or "part_" before it.
    """
    nouns, manifest, columns = summary.nouns, summary.manifest, reporting_of(summary.benchmark).columns
    declared = (Column("detail", "string", _detail, of_verdict=True),) if columns is None else columns
    outcomes = summary.outcomes
    declared = [of for of in declared if not of.optional or any(of.of(one, None) is not None for one in outcomes)]
    program = manifest.identity.assistant.program if manifest else None
    judging = {judge.model: judge.program for judge in manifest.identity.judges} if manifest else {}
    table = [
        Column("key", "string", lambda outcome, _: outcome.key),
        Column(nouns.group, "string", lambda outcome, _: outcome.group),
        Column(nouns.stratum, "string", lambda outcome, _: outcome.stratum),
        *(column for column in declared if not column.of_verdict),
        Column("epoch", "int64", lambda outcome, _: outcome.epoch),
        Column("model", "string", lambda _, __: summary.model),
        Column("program", "string", lambda _, __: program),
        Column("judge", "string", lambda _, verdict: verdict.judge if verdict else None),
        Column("judge_program", "string", lambda _, verdict: judging.get(verdict.judge or "") if verdict else None),
        Column("judge_epoch", "int64", lambda _, verdict: verdict.judge_epoch if verdict else None),
        Column("state", "string", lambda outcome, _: outcome.state),
        Column("reason", "string", lambda outcome, _: outcome.reason),
        Column("cause", "string", lambda outcome, _: outcome.cause),
        Column("grade", "string", lambda _, verdict: verdict.label if verdict else None),
        Column("score", "float64", lambda _, verdict: verdict.score if verdict else None),
        Column("response", "string", lambda outcome, _: outcome.response),
        Column("truncated", "bool", lambda outcome, _: None if outcome.response is None else outcome.truncated),
        *(column for column in declared if column.of_verdict),
        Column("verified", "bool", lambda _, verdict: verdict.verified if verdict else None),
    ]
    keys = sorted({key for outcome in summary.outcomes for key in outcome.meta})
    own = [_of_key(key, summary) for key in keys] if columns is None else []
    of_measures = [part for measure in summary.measures for part in measure.parts]
    measured = [part for verdict in summary.verdicts for part in verdict.parts]
    parts = [_of_part(part) for part in dict.fromkeys([*of_measures, *measured])]
    for prefix, more in (("case", own), ("part", parts)):
        taken = {column.name for column in table}
        table += [
            replace(column, name=f"{prefix}_{column.name}") if column.name in taken else column for column in more
        ]
    return table


def _detail(_: Outcome, verdict: VerdictRecord | None) -> str | None:
    return json.dumps(verdict.detail, sort_keys=True, ensure_ascii=False) if verdict else None


def _of_key(key: str, summary: MeasuredRun) -> Column:
    """Whole numbers where all values of the key are, else text."""
    if all(isinstance(outcome.meta.get(key, 0), int) for outcome in summary.outcomes):
        return Column(key, "int64", lambda outcome, _: outcome.meta.get(key))
    return Column(key, "string", lambda outcome, _: str(outcome.meta[key]) if key in outcome.meta else None)


def _of_part(part: str) -> Column:
    return Column(part, "float64", lambda _, verdict: verdict.parts.get(part) if verdict else None)


def _safe(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _BEGINS_FORMULA.sub("'", value.replace("\0", "\ufffd"))


Backend = Literal["pandas", "polars"]
_KINDS = {
    "pandas": {"string": "string", "int64": "Int64", "float64": "float64", "bool": "boolean"},
    "polars": {"string": "String", "int64": "Int64", "float64": "Float64", "bool": "Boolean"},
}
"""What each library calls the kinds of columns; all of them can be missing."""


def data_frame(summary: MeasuredRun, backend: Backend = "pandas") -> Any:
    """A `pandas.DataFrame` or `polars.DataFrame`, with text as it is; raises as `Summary.to_dataframe` does."""
    if backend not in get_args(Backend):
        raise UsageError(f"backend {backend!r}: choose among {', '.join(get_args(Backend))}")
    try:
        library: Any = import_module(backend)
    except ModuleNotFoundError as error:
        raise UsageError(f"{backend} is not installed: pip install {backend}") from error
    table = list(rows(summary))
    kinds = {column.name: _KINDS[backend][column.kind] for column in columns(summary)}
    values = {name: [row[name] for row in table] for name in kinds}
    if backend == "polars":
        return library.DataFrame(values, schema={name: getattr(library, kind) for name, kind in kinds.items()})
    return library.DataFrame({name: library.Series(values[name], dtype=kind) for name, kind in kinds.items()})
