"""Answers that exist: of a run, of a file, of a log or of ratings, and the verdicts on them where these have any."""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ValidationError

from dspy_proact.calls import Price
from dspy_proact.errors import CorpusError, RunError, UsageError
from dspy_proact.evaluation.answer_rows import AnswerRow, AnswerRows, Columns
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.checks import checked
from dspy_proact.evaluation.inspect_run import run_at
from dspy_proact.evaluation.ratings import RatedItem, Ratings, digest
from dspy_proact.evaluation.registry import benchmark_named, benchmark_of
from dspy_proact.files.inspect_log import InspectSample, header_of, samples_in
from dspy_proact.files.rows import Element, JsonFile, Line, first_flaw
from dspy_proact.files.tables import as_json, rows_in
from dspy_proact.kept import Kind, content_of
from dspy_proact.plain_text import printable, shortened, shown
from dspy_proact.runs import (
    CONTROL,
    AnswerFile,
    Case,
    CaseRecord,
    CaseSet,
    CorpusRecord,
    Failure,
    RoleIdentity,
    RunFolder,
    Settings,
    Shards,
    StageEvent,
    StageKey,
    latest,
)
from dspy_proact.types import require_name

_COPIED = Price(prompt=0.0, completion=0.0, cached=None, reason="responses were copied, no call was made")
_TABLE = "a table of answers: CSV, JSONL, JSON or Parquet, or a folder of such files"


@dataclass(frozen=True)
class Responses:
    """Answers that exist, of any benchmark.

    They are graded by a `Rejudging`, and reported as they are by `report.summarize` where the verdicts on them exist
    too.
    """

    name: str
    """Path of the run or file."""
    parent: str
    """Digest of the run's identity, sha256 of the file, or of the answers where these stand in a table."""
    identity: RoleIdentity
    case_set: CaseSet
    """The cases that were answered; the record and the hash are those of their corpus."""
    stages: tuple[StageEvent, ...]
    """The response or failure of each case and epoch, without its calls, which were paid for by the first run; and
    the verdicts or failures of `judges`."""
    embedded: bool
    benchmark: str | None = None
    """Name of the benchmark; None for the default one."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the benchmark, as JSON."""
    epochs: int = 1
    judges: tuple[str, ...] = ()
    """Whose verdicts are among the stages, by name; none where only the answers are known."""
    gradable: bool = True
    """Whether the cases have all that a judge must see."""
    keeps_inputs: bool = True
    """Whether a run of them keeps the inputs of a private corpus, because they were kept already."""
    file: AnswerFile | None = None
    """The file that they were read from; None for those of a run."""
    overridden: tuple[str, ...] = ()
    """Decoding parameters that were not the preset's."""
    system_prompt: str | None = None
    variant: str | None = None
    """What a person calls that prompt, or the program."""
    card: str | None = None
    """What the card of its program says, where that was compiled."""
    learned_on: int = 0
    """Rows of the corpus that its program was compiled on."""
    strata: tuple[str, ...] = ()
    """Of the run; empty where they follow from the cases."""
    shards: Shards | None = None
    """Of the run; None where it is no part of one."""
    price: Price = _COPIED

    def __repr__(self) -> str:
        return f"Responses({self.name!r}, {len(self.answers):,} of {len(self.case_set.cases):,} cases)"

    @property
    def answers(self) -> list[StageEvent]:
        """The stages that are answers, or the failures in their place."""
        return [stage for stage in self.stages if stage.key.stage == "response"]

    def new_beside(self, events: Iterable[StageEvent]) -> list[StageEvent]:
        """The answers that a run with these events does not have yet, or has as failures that were mended since."""
        here = latest(events)
        return [
            event
            for event in self.answers
            if (kept := here.get(event.key)) is None or (kept.answer is None and event.answer is not None)
        ]

    @classmethod
    def of_run(cls, folder: RunFolder, benchmark: Benchmark[Any, Any] | str | None = None) -> Self:
        """The responses of a run; a benchmark of a person's own file must be named.

        Raises a `UsageError` where there is no such benchmark, or no inputs were kept, and a `RunError` where the run
        is none of it, or damaged.
        """
        manifest = folder.manifest()
        identity = manifest.identity
        declared = benchmark_of(identity.benchmark, benchmark)
        if identity.benchmark != declared.name:
            raise RunError(
                f"{folder.path}: a run of {identity.benchmark!r}, which cannot be rejudged as {declared.name}"
            )
        if not manifest.keeps_inputs:
            raise UsageError(f"{folder.path}: holds no inputs that could be judged; make the run with `keep_inputs`")
        settings = declared.settings_type.model_validate(identity.settings)
        model = identity.assistant.model
        rule = declared.rule(settings)  # which stands in place of a model under a name of its own
        answered = (
            event.model_copy(update={"calls": (), "attempts": 0})
            for event in folder.events()
            if event.key.stage == "response"
        )
        stages = tuple(event for event in latest(answered).values() if event.answer or event.failure)
        empty_shard = manifest.shards and next(folder.cases(), None) is None
        if not stages and not empty_shard:
            raise RunError(f"{folder.path}: no response in it yet; the command that began it goes on")
        cases = tuple(_case(declared, record, folder) for record in folder.cases_of({e.key.case for e in stages}))
        return cls(
            name=str(folder.path),
            parent=identity.digest(),
            identity=identity.assistant,
            case_set=CaseSet(cases, manifest.corpus, identity.corpus),
            stages=stages,
            embedded=model == "embedded" or (manifest.embedded and rule is not None and model == rule.name),
            benchmark=identity.benchmark,
            settings=identity.settings,
            epochs=manifest.epochs,
            overridden=manifest.overrides.get("assistant", ()),
            system_prompt=manifest.system_prompt,
            variant=manifest.variant,
            card=manifest.cards.get("assistant"),
            learned_on=manifest.learned_on,
            strata=manifest.strata,
            shards=manifest.shards,
        )

    @classmethod
    def of_ratings(
        cls, ratings: Ratings, benchmark: Benchmark[Any, Any] | str | None = None, settings: Settings | None = None
    ) -> Self:
        """The answers that somebody rated, once, without the ratings themselves and a judge's grades.

        Their run is that of the study's items, rated or not: ratings that come later add to what is graded, and what
        was graded before is not paid for again. A benchmark of a person's own file must be named; its `settings` are
        its defaults where None. Raises a `UsageError` where an item is known by its labels only, so that there is
        nothing to grade.
        """
        declared, rated = benchmark_of(ratings.benchmark, benchmark), ratings.rated
        settings = settings or declared.settings_type()
        if lacking := [item.key for item in rated if not item.judgeable]:
            raise UsageError(
                f"{ratings.name}: no conversation or no response of {len(lacking)} items is known, {lacking[0]!r} the "
                "first, so that no judge can grade them; leave `judge` out, or name ratings that come with what was "
                "rated, such as those of a run that keeps its inputs"
            )
        made = cls.of_items(ratings.name, declared.name, ratings.items, settings, ratings.source.commit)
        keys = {item.key for item in rated}
        cases = tuple(case for case in made.case_set.cases if case.key in keys)
        stages = tuple(stage for stage in made.stages if stage.key.case in keys)
        return replace(made, case_set=replace(made.case_set, cases=cases), stages=stages)

    @classmethod
    def of_items(
        cls, name: str, benchmark: str, items: Sequence[RatedItem], settings: Settings, revision: str | None = None
    ) -> Self:
        """Answers that people have rated or are to rate, whatever they said; items without an answer are left out."""
        sha256 = digest([benchmark, [item.seen for item in items]])
        models = {str(model) for item in items if (model := item.meta.get("response_model"))}
        model = "several models" if len(models) > 1 else next(iter(models), "unnamed models")
        record = CorpusRecord(name=name, revision=revision, rows=len(items), cases=len(items), ignored_fields={})
        judgeable = [item for item in items if item.judgeable]
        return cls(
            name=name,
            parent=sha256,
            identity=RoleIdentity(model=model, program="unknown", prompt="", decoding={}),
            case_set=CaseSet(tuple(item.case for item in judgeable), record, sha256),
            stages=tuple(_stage(item) for item in judgeable),
            embedded=model == "embedded",
            benchmark=benchmark,
            settings=settings.model_dump(mode="json"),
        )

    @classmethod
    def of_rows(
        cls,
        rows: str | Path | Iterable[Line | Mapping[str, Any]],
        model: str,
        corpus: Any = "sample",
        *,
        benchmark: Benchmark[Any, Any] | str | None = None,
        settings: Settings | None = None,
        columns: Columns | None = None,
        name: str | None = None,
    ) -> Self:
        """The answers of a table: a row for each case, or for each case and epoch.

        A row has the key of its case and the text of the answer, or the fields of the answer in columns of their own.
        The columns of key, answer and epoch are found by their usual names. An answer that is blank is there, and
        remains unscored; cases without a row are no part of what is graded. The same answers in another order or form
        have the same `parent`.

        Args:
            rows: The path of a file or a folder, or rows with their values by column.
            model: Who answered.
            corpus: As `Evaluation` takes it.
            benchmark: By its name, the path of its file, or itself.
            settings: Of the benchmark; its defaults where None.
            columns: The column of a role that has another name: `key`, `response`, `epoch`, a field of the answer, or
                entries of the `meta` of cases which together identify a case in place of its key.
            name: Of what the rows are; the path where None.

        Raises:
            CorpusError: There is no such table, or a row is no answer to a case; it names file, row and column.
            UsageError: A column is named for what is no role, or the benchmark makes its answers by a rule.
        """
        declared, path = benchmark_named(benchmark), Path(rows) if isinstance(rows, str | Path) else None
        settings = settings or declared.settings_type()
        name = name or str(path or "rows")
        if rule := declared.rule(settings):
            raise UsageError(f"`settings.{rule.setting}`: answers are there already; leave it out")
        require_name(model)
        if not isinstance(corpus, CaseSet):
            corpus = checked(declared, "read", declared.read(corpus, settings, None))
        cases: CaseSet = corpus
        lines = rows_in(path, _TABLE) if path else _lines(rows, name)  # type: ignore[arg-type]
        read = AnswerRows(declared, cases, columns or {}).read(lines)
        stages = [_row_stage(row) for row in read]
        if not stages:
            raise CorpusError("holds no row with an answer", source=name)
        there, epochs = {stage.key.case for stage in stages}, max(stage.key.epoch for stage in stages)
        answered = tuple(case for case in cases.cases if case.key in there)
        sha256 = hashlib.sha256(declared.name.encode())
        for stage in sorted(stages, key=lambda stage: (stage.key.case, stage.key.epoch)):  # whatever their order
            sha256.update(json.dumps([stage.key.case, stage.key.epoch, stage.text or ""]).encode())
        if epochs > 1:
            known = {(stage.key.case, stage.key.epoch) for stage in stages}
            lacking = Failure(kind="content", reason="absent", detail="there is no answer in this epoch")
            keys = ((case.key, epoch) for epoch in range(1, epochs + 1) for case in answered)
            stages += [response_stage(key, None, lacking, epoch) for key, epoch in keys if (key, epoch) not in known]
        count = sum(case.stratum != CONTROL for case in answered)
        return cls(
            name=name,
            parent=sha256.hexdigest(),
            identity=RoleIdentity(model=model, program="unknown", prompt="", decoding={}),
            case_set=replace(cases, cases=answered),
            stages=tuple(stages),
            embedded=False,
            benchmark=declared.name,
            settings=settings.model_dump(mode="json"),
            epochs=epochs,
            keeps_inputs=False,
            file=AnswerFile(name=name, cases=count),
        )

    @classmethod
    def of_log(
        cls,
        path: Path,
        corpus: Any = "sample",
        *,
        model: str | None = None,
        benchmark: Benchmark[Any, Any] | str | None = None,
        settings: Settings | None = None,
        columns: Columns | None = None,
    ) -> Self:
        """The last answers of the samples of a log of Inspect, unscored where an error ended a sample.

        The key of a case is the `id` of its sample, unless `columns` names an entry of the metadata. The model is that
        of the log where None. Raises as `of_rows` does.
        """
        header = header_of(path)
        columns = {"key": "id", "epoch": "epoch", **(columns or {})}
        lines = (
            JsonFile(
                sample.source,
                1,
                "",
                {**sample.metadata, "id": sample.id, "epoch": sample.epoch, "response": _answer_of(sample)},
            )
            for sample in samples_in(path)
        )
        named: Any = {"benchmark": benchmark, "settings": settings, "columns": columns, "name": str(path)}
        read = cls.of_rows(lines, model or header.model, corpus, **named)
        if header.status == "success" or read.file is None:
            return read
        cut_short = f"the log has the status {shown(header.status)}"
        cut_short += f", its error is {_line(header.error)}" if header.error else ""
        return replace(read, file=read.file.model_copy(update={"cut_short": cut_short}))


def existing_responses(
    declared: Benchmark[Any, Any], path: Path, corpus: str | None, settings: Settings
) -> Sequence[Responses]:
    """Answers that can be graded as they are: those of a run, or those of each model in a results file.

    A run knows its corpus, and a results file holds no inputs: where none is named, it is the sample if that has every
    case. Raises a `UsageError` where there is no run and no such file, a corpus is named beside a run, or is not known.
    """
    if content_of(path).kind in (Kind.FILE, Kind.TABLE):
        if declared.results is None or declared.results.read is None:
            raise UsageError(f"{path}: {declared.name} reads no results files; name the folder of a run")
        several = declared.results.read(path, corpus, settings)
        if corpus is None and not all(responses.gradable for responses in several):
            sample = {case.key for case in declared.read("sample", settings).cases}
            answered = {case.key for responses in several for case in responses.case_set.cases}
            if not answered or not answered <= sample:
                raise UsageError(
                    f"{path}: a results file holds no conversations; name the corpus that it answers with `corpus`"
                )
            several = declared.results.read(path, "sample", settings)
        return several
    if corpus is not None:
        raise UsageError("`corpus` is for results files; a run knows its corpus")
    return [Responses.of_run(run_at(path), declared)]


def response_stage(case: str, answer: BaseModel | None, missing: Failure | None = None, epoch: int = 1) -> StageEvent:
    """The response stage of an answer that exists already, or why there is none that can be graded."""
    key = StageKey(case=case, epoch=epoch, stage="response")
    kept = answer and answer.model_dump(mode="json")
    return StageEvent(key=key, answer=kept, failure=missing, calls=(), time=time.time())


def _answer_of(sample: InspectSample) -> str | Failure | None:
    """The last answer of a sample; why there is none where an error ended it, whatever stood there by then."""
    if sample.error is None:
        return sample.output
    return Failure(kind="content", reason="error", detail=_line(sample.error))


def _line(text: str) -> str:
    """A message of others on one line, short and safe to print."""
    return shortened(printable(" ".join(text.split())))


def _row_stage(row: AnswerRow) -> StageEvent:
    return response_stage(row.case, row.answer, row.failure, row.epoch)


def _lines(rows: Iterable[Line | Mapping[str, Any]], name: str) -> Iterator[Line]:
    """Rows of Python as those of a file; raises a `CorpusError` where one holds what no file of ours may hold."""
    for index, row in enumerate(rows):
        if isinstance(row, Line):
            yield row
            continue
        fields = as_json(dict(row))
        line = Element(name, index, "", fields)
        if flaw := first_flaw(fields):
            raise line.error(*flaw)
        yield line


def _stage(item: RatedItem) -> StageEvent:
    if not (item.text or "").strip():
        empty = Failure(kind="content", reason="empty", detail="the response is blank")
        return response_stage(item.key, None, empty)
    return response_stage(item.key, item.answer)


def _case(benchmark: Benchmark[Any, Any], record: CaseRecord, folder: RunFolder) -> Case:
    """A case as it was kept; raises `RunError` where what is to be seen of it is damaged."""
    kind = benchmark.controls.view if benchmark.controls and record.stratum == CONTROL else benchmark.view
    if kind is None:
        raise UsageError(f"{benchmark.name}: `view` is not declared, so that its answers cannot be judged again")
    try:
        view = kind.model_validate(record.view)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise RunError(f"{folder.path}: the case {record.key!r} is damaged at 'view.{where}'") from error
    return Case(key=record.key, group=record.group, stratum=record.stratum, view=view, meta=record.meta)
