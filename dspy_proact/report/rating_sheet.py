"""A sheet for raters of the answers of a run, of any benchmark: written without the judge's grades, and read again."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.benchmark import Benchmark, HumanGrade
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import CorpusError
from dspy_proact.files.labels import labels_in
from dspy_proact.files.rows import read_files, text_of
from dspy_proact.files.sheets import csv_text
from dspy_proact.report.reading import Reading
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CaseSet, RunFolder, Settings

_FILLED = ("annotator", "item", "part", "grade", "reason")


def rating_sheet(declared: Benchmark[Any, Any], run: Summary) -> str:
    """A CSV with a row for each answer and part of the grading, in which a rater fills in annotator and grade.

    The judge's grade is left out, so that it sways nobody; so is the stratum. Text that a spreadsheet would run gets an
    apostrophe before it.
    """
    rows = [[*_FILLED, "grades", "case", "answer"]]
    for reading in rated_readings(run):
        outcome, texts = reading.outcome, (item for section in reading.sections for item in section.items)
        shown = "\n\n".join(f"{name}: {text}" for name, text in texts)
        rows += [
            ["", outcome.key, part.name, "", "", " | ".join(part.levels), shown, reading.answer or ""]
            for part in declared.graded_by_people
        ]
    return csv_text(rows)


def rated_readings(run: Summary) -> Iterator[Reading]:
    """What people rate of a run: the responses of the first epoch; raises as `Reading.of` does."""
    for outcome in run.outcomes:
        if outcome.epoch == 1 and outcome.response is not None:
            yield Reading.of(outcome, run.benchmark)


def read_rating_sheets(
    paths: Sequence[str | Path], declared: Benchmark[Any, Any], rated: Responses, texts: Mapping[str, str]
) -> tuple[HumanGrade, ...]:
    """The grades that raters gave to these answers; rows without a grade are left out.

    Args:
        paths: Of sheets, or of what labelling tools export, as `labels_in` reads them.
        declared: The benchmark.
        rated: The answers.
        texts: CSV files that stand for ratings which are kept in another form, by path.

    Raises:
        CorpusError: A file is named twice or has no grade, a column is missing, a grade is of no answer of the run, of
            no part or no level of its part, a rater grades one twice, or all files together are larger than 256 MiB.
    """
    answers = {
        event.key.case: declared.answer_type.model_validate(event.answer)
        for event in rated.stages
        if event.answer and event.key.epoch == 1
    }
    levels = {part.name: part.levels for part in declared.graded_by_people}
    grades, first = list[HumanGrade](), dict[tuple[str, ...], str]()
    sheets = list(map(str, paths))
    contents = read_files({sheet: sheet for sheet in sheets}, "a file of ratings", texts)
    if len(contents) < len(sheets):
        raise CorpusError("is named twice; name each file once", source=max(sheets, key=sheets.count))
    for sheet, data in contents.items():
        for label in labels_in(text_of(data, sheet), sheet, levels):
            for field, value, known in (
                ("item", label.item, answers),
                ("part", label.part, levels),
                ("grade", label.grade, levels.get(label.part, ())),
            ):
                if value not in known:
                    raise label.error(f"{value!r} is none of {', '.join(map(repr, list(known)[:5]))}", field)
            place = label.rater, label.item, label.part
            if place in first:
                raise label.error(f"{label.rater} graded {label.item} already, in {first[place]}", "item")
            first[place] = sheet
            given = label.item, answers[label.item], label.grade, label.rater
            grades.append(HumanGrade(*given, part=label.part, reason=label.reason))
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
