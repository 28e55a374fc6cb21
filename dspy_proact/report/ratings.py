"""What people rate of a run, the sheets in which they do, and the ratings that a person names, of any benchmark.

Which responses they rate may be drawn by stratum and label, so that a draw can be made again and checked. A sheet is
CSV, a rating a line, with the key of the item that it is of, and with what a rater reads. Of that the response alone is
checked in reading, because a rating is of one response and of no other.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

from dspy_proact.errors import CorpusError, RunError, UsageError
from dspy_proact.evaluation import DEFAULT_BENCHMARK, OWN_ROWS
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.inspect_run import run_at
from dspy_proact.evaluation.people import HumanGrade, People, graded_levels, parts_of
from dspy_proact.evaluation.ratings import Draw, RatedItem, Ratings, RatingsSource, folded, items_in, ratings_named
from dspy_proact.evaluation.registry import benchmark_named, benchmark_of_run, reporting_of
from dspy_proact.evaluation.responses import Responses
from dspy_proact.files.labels import LabelFile, labels_in
from dspy_proact.files.rows import FileReader, text_of
from dspy_proact.files.sheets import csv_text
from dspy_proact.report.numbers import counted
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Outcome, Scored, Settings, majority_label
from dspy_proact.stats.plan import balanced_order

_MODEL = "response_model"
"""Key of the model in the `meta` of an item, which no rater sees."""


@dataclass(frozen=True)
class JudgeGrades:
    """A judge's grades of the parts of an answer, or those of several verdicts by majority."""

    levels: Mapping[str, str]
    """By name of the part."""
    likelihoods: Mapping[str, float]
    """How probable the best level of a part is found, where that is said: in [0, 1], by name of the part."""
    reasons: tuple[str, ...]
    """One a verdict."""


def judge_grades(summary: Summary, declared: Benchmark[Any, Any]) -> dict[str, JudgeGrades]:
    """The judges' grades of each answer of the first epoch of a run that has a verdict, by key.

    What is none of a part's levels is as if it was not said: a model may write what it likes.
    """
    grounds, by_key = reporting_of(summary.benchmark).grounds, dict[str, JudgeGrades]()
    for outcome in summary.outcomes:
        if outcome.epoch > 1 or not outcome.verdicts:
            continue
        kind, scored = summary.reporting.detail(outcome.stratum), list[Scored[Any]]()
        for verdict in outcome.verdicts:
            detail: Any = kind.model_validate(verdict.detail) if kind else SimpleNamespace(**verdict.detail)
            scored.append(Scored(verdict.score, verdict.label, detail))
        likelihoods = (declared.people or People()).likelihoods
        graded, likely = [graded_levels(declared, one) for one in scored], [likelihoods(one) for one in scored]
        levels = {
            part.name: majority_label(named, part.levels[::-1])
            for part in parts_of(declared)
            if (named := [levels[part.name] for levels in graded if levels.get(part.name) in part.levels])
        }
        if "" in levels and outcome.label:
            levels[""] = outcome.label  # which knows the cuts of a compiled judge
        likelihoods = {name: fmean(levels[name] for levels in likely if name in levels) for name in {*chain(*likely)}}
        reasons = tuple(grounds(verdict).reasons for verdict in outcome.verdicts)
        by_key[outcome.key] = JudgeGrades(levels, likelihoods, reasons)
    return by_key


def rated_items(summary: Summary, benchmark: Benchmark[Any, Any] | None = None) -> tuple[RatedItem, ...]:
    """The responses of the first epoch of a run or a results file as items to rate, with the judge's grades.

    Those of a results file, or of a run that keeps no inputs, have no view: what was asked is not known. The benchmark
    is needed where it is of a person's own file. Raises a `UsageError` where there is no such benchmark, and a
    `RunError` where a case cannot be read, or there is no response yet.
    """
    declared = benchmark_of_run(summary, benchmark)
    grades, kept = judge_grades(summary, declared), summary.keeps_inputs
    views, answers = dict[str, Any](), dict[str, Any]()
    if kept:
        responses = summary.responses or Responses.of_run(run_at(summary.path), declared)
        views = {case.key: case.view for case in responses.case_set.cases}
        first = {stage.key.case: stage.answer for stage in responses.stages if stage.answer and stage.key.epoch == 1}
        answers = {key: declared.answer_type.model_validate(answer) for key, answer in first.items()}
    return tuple(
        RatedItem(
            outcome.key,
            outcome.group,
            outcome.stratum,
            outcome.response,
            views.get(outcome.key),
            answers.get(outcome.key),
            judged=grades[outcome.key].levels if outcome.key in grades else {},
            meta={**outcome.meta, _MODEL: summary.model},
        )
        for outcome in summary.outcomes
        # Where no inputs were kept an item without a text would be one of which labels alone are known.
        if outcome.epoch == 1 and (outcome.key in views if kept else outcome.response is not None)
    )


def ratable(summary: Summary) -> list[Outcome]:
    """The scored outcomes of the first epoch, which ratings are of."""
    return [outcome for outcome in summary.scored if outcome.epoch == 1]


def drawn_keys(summary: Summary, seed: int) -> list[str]:
    """Keys of all cases that can be rated, in an order whose every beginning is a draw by stratum and label."""
    cases = ratable(summary)
    order = balanced_order([case.key for case in cases], [(case.stratum, case.label) for case in cases], seed)
    return [cases[index].key for index in order]


def grades_mark(summary: Summary) -> str:
    """8 hex digits over what a draw is made of: keys, strata and labels."""
    drawn = sorted([case.key, case.stratum, case.label] for case in ratable(summary))
    return hashlib.sha256(json.dumps(drawn, ensure_ascii=True).encode()).hexdigest()[:8]


def draw_of(
    summary: Summary, count: int, seed: int, benchmark: Benchmark[Any, Any] | None = None
) -> tuple[Draw, list[RatedItem]]:
    """Responses of a run to be rated, drawn in equal numbers by stratum, and in each by the judge's grade.

    The first is what the sheet says of the draw; of the items, in the order of the sheet, every first part is a draw
    too. Raises a `UsageError` where the run has no such number of scored cases, and as `rated_items` does.
    """
    items, order = {item.key: item for item in rated_items(summary, benchmark)}, drawn_keys(summary, seed)
    if count > len(order):
        cases = counted(len(order), f"scored {summary.nouns.case}", f"scored {summary.nouns.cases}")
        raise UsageError(f"{summary.path}: {count} cannot be drawn of {cases}")
    return Draw(count=count, seed=seed, mark=grades_mark(summary)), [items[key] for key in order[:count]]


def rating_sheet(
    items: Iterable[RatedItem],
    declared: Benchmark[Any, Any],
    *,
    draw: Draw | None = None,
    grades: Mapping[str, Sequence[HumanGrade]] | None = None,
) -> str:
    """A CSV to fill in: a row for each item and part of the grading, with what there is to read.

    An item with everything but a response, such as an unscored case of a run, is left out: it cannot be rated. Text
    that a spreadsheet would run gets an apostrophe before it, which reading takes away again; ends of lines become line
    feeds. Stratum, model and the judge's grade are left out, so that they sway nobody.

    `draw` says how the items were chosen. `grades` are those of the items by key, each a row, where the sheet is filled
    in: `Ratings.by_item`. Raises a `RunError` where an item cannot be read.
    """
    parts, reporting = parts_of(declared), reporting_of(declared.name)
    several = any(part.name for part in parts)
    timed = any(row.seconds is not None for rows in (grades or {}).values() for row in rows)
    columns = ["item", "annotator", *(["part"] if several else []), "grade", "confidence", "reason"]
    columns += ["grades", "case", "response", *(["seconds"] if timed else []), *(["draw"] if draw else [])]
    rows: list[Sequence[Any]] = [columns]
    levels = {part.name: " | ".join(map(part.described, reversed(part.levels))) for part in parts}
    for item in items:
        if not item.ratable:
            continue
        try:
            sections = list(reporting.sections(item.view.model_dump(mode="json"))) if item.view else []
            sections += reporting.details({name: value for name, value in item.meta.items() if name != _MODEL})
            case = "\n\n".join(f"{name}: {text}" for section in sections for name, text in section.items)
            response = "" if item.text is None else reporting.answer(item.text)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RunError(f"{item.key!r} cannot be read: {type(error).__name__}") from error
        empty = [HumanGrade(item.key, None, "", "", part=part.name) for part in parts]
        for row in empty if grades is None else grades.get(item.key, ()):
            cells = [row.key, row.rater, *([row.part] if several else []), row.grade, row.confidence, row.reason]
            more = [*([row.seconds] if timed else []), *([draw] if draw else [])]
            rows.append([*cells, levels[row.part], folded(case), folded(response), *more])
    return csv_text(rows)


def load_ratings(
    named: str | Sequence[str],
    items: Sequence[RatedItem] | str | Path | None = None,
    *,
    benchmark: Benchmark[Any, Any] | str | None = None,
    settings: Settings | None = None,
    studies: Mapping[str, LabelFile] | None = None,
) -> Ratings:
    """Load the ratings that a person asked for.

    Args:
        named: `sample` or `published`, what the benchmark bundles; what else it knows by name or reads in a form of its
            own; a CSV or JSONL file of labels, or the export of a labelling tool; or a folder of such files, a rater
            each. A file or folder with one of the names is given as `./sample`. Several files or folders of labels of
            the same items, such as a file from each rater, are read as one study.
        items: What the labels of files are of, such as `rated_items` of a run, or a file of such items.
        benchmark: By its name, the path of its file, or itself; the default one where None.
        settings: Of the benchmark, which may say which ratings are read; its defaults where None.
        studies: The labels of those that are named and not read here, by name: see `label.exchange.ratings_of_run`.

    Raises:
        CorpusError: There are no such ratings, they are not valid, they do not fit the items or each other, or all
            files together are larger than 256 MiB.
        UsageError: There is no such benchmark, or it declares no human grades.
    """
    declared, names = benchmark_named(benchmark), [named] if isinstance(named, str) else list(named)
    if twice := next((name for index, name in enumerate(names) if name in names[:index]), None):
        raise CorpusError("is named twice; name each file once", source=twice)
    settings = settings or declared.settings_type()
    declared = settings.applied_to(declared)
    if items is None and len(names) == 1 and (own := ratings_named(declared, names[0], settings)):
        return own
    bundled, studies = ("published", "sample", declared.corpus.name or declared.name), studies or {}
    if bundle := next((name for name in names if name in bundled), None):
        problem = "these ratings come with what was rated; name them alone, and leave the run or the items out"
        raise CorpusError(problem, source=bundle)
    reader, beside = FileReader(), dict[str, bytes]()
    if isinstance(items, str | Path):
        beside[str(items)] = reader.read(items, "a file of items")
        items = items_in(declared, beside[str(items)], str(items))
    wanted = f"{', '.join(bundled)}, or a CSV or JSONL file of ratings, or a folder of them"
    sheets = [sheet for name in names if name not in studies for sheet in _sheets(name)]
    contents = {sheet: reader.read(sheet, wanted) for sheet in sheets}
    if items is None:
        problem = "a file of ratings does not hold what was rated; give its run, or a file of its items"
        if declared.name == DEFAULT_BENCHMARK:
            problem += (
                "; a table of your own, with responses and labels, is read by its scale: `settings.scale=bad,ok,good`, "
                "and where columns have other names, `settings.columns=ROLE=COLUMN`"
            )
        if declared.name == OWN_ROWS:
            problem += "; tables of your own that hold it are read as one from a folder: name that"
        raise CorpusError(problem, source=names[0])
    parts = [part.name for part in parts_of(declared)]
    files = [labels_in(text_of(data, sheet), sheet, parts) for sheet, data in contents.items()]
    files += [studies[name] for name in names if name in studies]
    source = RatingsSource.of(" + ".join(names), contents | beside)
    shown = reporting_of(declared.name).answer
    return Ratings.of(source.origin, declared, items, files, source=source, shown=shown)


def _sheets(name: str) -> list[str]:
    """The file of labels that is named, or those in the folder."""
    if not Path(name).is_dir():
        return [name]
    there = sorted(path for path in Path(name).glob("*") if path.is_file())
    if sheets := [str(path) for path in there if path.suffix.lower() in {".csv", ".jsonl"}]:
        return sheets
    problem = "holds no CSV or JSONL file of ratings; ratings that come with what was rated are named alone"
    raise CorpusError(problem, source=name)
