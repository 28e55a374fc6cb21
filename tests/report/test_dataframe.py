"""A run as a data frame: the rows of the export, in kinds that hold what is missing."""

import sys
from pathlib import Path

import pytest
from attack import ATTACK
from proact_run import answered, failed, graded, manifest, trigger, written

from dspy_proact.errors import UsageError
from dspy_proact.report import Summary, summarize
from dspy_proact.report.export import columns, rows

BACKENDS = pytest.mark.parametrize("backend", ["pandas", "polars"])


def run(folder: Path) -> Summary:
    """Two triggers by two judges: one with both verdicts, one without a response."""
    first, second = trigger("d1"), trigger("d2", scenario="TRAVEL_08")
    events = [answered(first, ATTACK), graded(first, "PASS", judge="a"), graded(first, "FAIL", judge="b")]
    return summarize(written(folder, manifest("a", "b"), [first, second], [*events, failed(second, "empty")]))


def records(frame, backend: str) -> list[dict]:
    if backend == "polars":
        return frame.to_dicts()
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


@BACKENDS
def test_it_has_the_rows_of_the_export(tmp_path, backend):
    summary = run(tmp_path)
    frame = summary.to_dataframe(backend)
    assert records(frame, backend) == list(rows(summary))
    assert list(frame.columns) == [column.name for column in columns(summary)]
    # A row for each of two judges, and one for the case that has no verdict.
    assert [(row["key"], row["judge"], row["grade"]) for row in records(frame, backend)] == [
        ("d1__t2", "a", "PASS"),
        ("d1__t2", "b", "FAIL"),
        ("d2__t2", None, None),
    ]


@pytest.mark.parametrize(
    ("backend", "kinds"),
    [
        ("pandas", {"key": "string", "judge_epoch": "Int64", "score": "float64", "verified": "boolean"}),
        ("polars", {"key": "String", "judge_epoch": "Int64", "score": "Float64", "verified": "Boolean"}),
    ],
)
@pytest.mark.parametrize("cases", [0, 1])
def test_its_columns_have_their_kinds_also_where_there_is_nothing(tmp_path, backend, kinds, cases):
    summary = run(tmp_path) if cases else summarize(written(tmp_path, manifest("a", "b")))
    frame = summary.to_dataframe(backend)
    assert len(frame) == (3 if cases else 0)
    assert {name: str(frame[name].dtype) for name in kinds} == kinds


def test_pandas_is_the_backend_where_none_is_named(tmp_path):
    assert type(run(tmp_path).to_dataframe()).__module__.startswith("pandas")


@BACKENDS
def test_a_backend_that_is_not_installed_is_named_with_its_extra(tmp_path, monkeypatch, backend):
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(UsageError, match=rf"pip install 'dspy-proact\[{backend}\]'"):
        run(tmp_path).to_dataframe(backend)


def test_another_backend_is_refused(tmp_path):
    with pytest.raises(UsageError, match="choose among pandas, polars"):
        run(tmp_path).to_dataframe("os")
