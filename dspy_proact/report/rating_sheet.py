"""A sheet for raters of the answers of a run, of any benchmark: written without the judge's grades, and read again."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from io import StringIO
from pathlib import Path
from typing import Any
from unicodedata import normalize

from dspy_proact.benchmarks.benchmark import Benchmark, HumanGrade
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.rows import guarded, read_files, text_of, unguarded
from dspy_proact.plain_text import encodable
from dspy_proact.report.reading import Reading
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CaseSet, RunFolder, Settings

_FILLED = ("annotator", "item", "part", "grade", "reason")


def rating_sheet(declared: Benchmark[Any, Any], run: Summary) -> str:
    """A CSV with a row for each answer and part of the grading, in which a rater fills in annotator and grade.

    The judge's grade is left out, so that it sways nobody; so is the stratum. Text that a spreadsheet would run gets an
    apostrophe before it.
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*_FILLED, "grades", "case", "answer"))
    for reading in rated_readings(run):
        outcome, texts = reading.outcome, (item for section in reading.sections for item in section.items)
        shown = "\n\n".join(f"{name}: {text}" for name, text in texts)
        for part in declared.graded_by_people:
            cells = ("", outcome.key, part.name, "", "", " | ".join(part.levels), shown, reading.answer or "")
            writer.writerow(guarded(encodable(cell).replace("\0", "\ufffd")) for cell in cells)
    return out.getvalue()


def rated_readings(run: Summary) -> Iterator[Reading]:
    """What people rate of a run: the responses of the first epoch; raises as `Reading.of` does."""
    for outcome in run.outcomes:
        if outcome.epoch == 1 and outcome.response is not None:
            yield Reading.of(outcome, run.benchmark)


def read_rating_sheets(
    paths: Sequence[str | Path], declared: Benchmark[Any, Any], rated: Responses, texts: Mapping[str, str]
) -> tuple[HumanGrade, ...]:
    """The grades in sheets that raters filled in for these answers; rows without a grade are left out.

    Args:
        paths: Of the sheets.
        declared: The benchmark.
        rated: The answers.
        texts: CSV files that stand for ratings which are kept in another form, by path.

    Raises:
        CorpusError: A sheet is named twice, a column is missing, a row names no answer of the run or no grade of its
            part, a rater grades one twice, or all sheets together are larger than 256 MiB.
        UsageError: Nothing is graded.
    """
    answers = {
        event.key.case: declared.answer_type.model_validate(event.answer)
        for event in rated.stages
        if event.answer and event.key.epoch == 1
    }
    levels = {part.name: part.levels for part in declared.graded_by_people}
    grades, first = list[HumanGrade](), dict[tuple[str, ...], str]()
    sheets = list(map(str, paths))
    contents = read_files({sheet: sheet for sheet in sheets}, "a sheet of ratings", texts)
    if len(contents) < len(sheets):
        raise CorpusError("is named twice; name each file once", source=max(sheets, key=sheets.count))
    for path, (line, row) in ((sheet, each) for sheet in sheets for each in _rows(contents[sheet], sheet)):
        if not row["grade"]:
            continue
        key, name = row["item"], row.get("part", "")
        for field, known in (("item", answers), ("part", levels), ("grade", levels.get(name, ()))):
            if (value := row.get(field, "")) not in known:
                problem = f"{value!r} is none of {', '.join(map(repr, list(known)[:5]))}"
                raise CorpusError(problem, source=path, line=line, field=field)
        if not row["annotator"]:
            raise CorpusError("a grade without its rater", source=path, line=line, field="annotator")
        rater, reason = normalize("NFC", row["annotator"]), row.get("reason", "")
        here = f"line {line} of {path}"
        if (before := first.setdefault((rater, key, name), here)) != here:
            raise CorpusError(f"{rater} graded {key} on {before} already", source=path, line=line, field="item")
        grades.append(HumanGrade(key, answers[key], row["grade"], rater, part=name, reason=reason))
    if not grades:
        raise UsageError(f"{', '.join(sheets)}: no row has a grade; fill in annotator and grade")
    return tuple(grades)


def rated_benchmark(
    paths: Sequence[str | Path], declared: Benchmark[Any, Any], folder: RunFolder, texts: Mapping[str, str]
) -> Benchmark[Any, Any]:
    """The benchmark with the cases of a run, and the grades of sheets as its human grades; raises likewise."""
    rated = Responses.of_run(folder, declared)
    grades, found = read_rating_sheets(paths, declared, rated, texts), copy(declared)

    def read(corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        del corpus, settings, revision
        return rated.case_set

    found.human_grades, found.read, found.about_raters = (lambda: grades), read, ""
    return found


def _rows(data: bytes, source: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row by column, with the number of its last line."""
    reader = csv.DictReader(StringIO(text_of(data, source)), restval="")
    # The csv module refuses cells over 128 KiB, and a long answer has more.
    limit = csv.field_size_limit(2**31 - 1)
    try:
        rows = [(reader.line_num, row) for row in reader]
    finally:
        csv.field_size_limit(limit)
    if missing := {"annotator", "item", "grade"} - set(reader.fieldnames or ()):
        raise CorpusError(f"lacks the columns {', '.join(sorted(missing))}", source=source, line=1)
    for number, row in rows:
        yield number, {name: unguarded(cell.strip()) for name, cell in row.items() if name}
