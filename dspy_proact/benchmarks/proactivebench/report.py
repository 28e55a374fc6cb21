"""What is ProactiveBench's own in reports: trajectories as they are read, their images, and the published rows."""

import json
import tomllib
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, cast

from dspy_proact.benchmarks.proactivebench.corpus import read_corpus
from dspy_proact.benchmarks.proactivebench.entries import FOLDER, NAMES, WORLDS, Name, World
from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings, Step, Trajectory, TrajectoryGrade
from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.evaluation.published import PublishedRow, several_answers
from dspy_proact.evaluation.reporting import Grounds, PageSection, Reporting, Thumbnail, View
from dspy_proact.files.rows import csv_rows
from dspy_proact.images import thumbnail
from dspy_proact.runs import Manifest, Outcome, VerdictRecord

_WORDS: dict[str, Any] = tomllib.loads((FOLDER / "words.toml").read_text(encoding="utf-8"))
_AS_PUBLISHED = ProactiveBenchSettings(upstream_rule=True).model_dump(
    mode="json", exclude={"ask_reward", "seed", "longest"}
)


def published_rows() -> tuple[PublishedRow, ...]:
    """The published averages by accuracy: models as they are, then with a hint, history or training, and their mean."""
    rows = [
        PublishedRow(
            row["name"] if row["kind"] == "model" else f"{row['name']}, {row['kind']}",
            {name: float(row[name]) / of if row[name] else None for name, of in (("macro", 100), ("interventions", 1))},
            kind=row["kind"],
            notes=(row["note"],) if row["note"] else (),
        )
        for row in csv_rows(FOLDER / "published" / "models.csv")
    ]
    return tuple(sorted(rows, key=lambda row: (row.kind != "model", row.kind, -(row.scores["macro"] or 0.0))))


def differences(summary: MeasuredRun) -> Iterator[str]:
    """What a run was measured otherwise than the published rows; a run never stands among them."""
    manifest = summary.manifest
    assert manifest is not None, "the caller requires one"
    if manifest.corpus.name.partition("@")[0] != "proactivebench":
        yield f"the corpus is {manifest.corpus.name!r}, not the published one"
    own = manifest.identity.settings
    other = [name for name, value in _AS_PUBLISHED.items() if own.get(name) != value]
    if other:
        yield f"with {', '.join(f'{name}={json.dumps(own.get(name))}' for name in other)}"
    yield "asked in our words, for JSON"
    yield from several_answers(summary)


def _alike(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes are of one entry; under the control it offers other moves."""
    return {**one.view["entry"], "options": None} == {**other.view["entry"], "options": None}


def _sections(view: View) -> Iterator[PageSection]:
    entry = view["entry"]
    terms = {"question": entry["prompt"], **{name: "\n".join(entry[name]) for name in ("options", "categories")}}
    yield PageSection("sample", "terms", tuple(terms.items()))
    yield PageSection("truth", "terms", (("right category", entry["answer"]),), hidden=True)


def _answer(kept: str) -> str:
    acts = {"ask": " (asks)", "abstain": " (abstains)", "guess": " (guesses)", "none": " (nothing on offer)"}
    steps = enumerate(Trajectory.model_validate_json(kept).steps, start=1)
    return "\n\n".join(
        f"{_seen(n, step)}: {step.text}{acts[step.outcome.act] if step.outcome else ''}" for n, step in steps
    )


def _grounds(verdict: VerdictRecord) -> Grounds:
    grade = TrajectoryGrade.model_validate(verdict.detail)
    answers = tuple((answer, "given" if hit else "not given") for answer, hit in grade.given.items())
    return Grounds(f"It ended {grade.ended}.", points=answers)


def _seen(number: int, step: Step) -> str:
    crop = f", crop {', '.join(f'{edge:g}' for edge in step.crop)}" if step.crop else ""
    return f"Step {number}, {step.image}{crop}"


@lru_cache(maxsize=2 * len(NAMES))
def _images(corpus: str, revision: str | None, environment: Name, filtered: bool) -> Any:
    return read_corpus(corpus, (environment,), filtered, foreign=True, revision=revision).images


def _thumbnails(manifest: Manifest, outcome: Outcome) -> Iterator[Thumbnail]:
    """The image of each step; raises a `CorpusError` where the corpus is not there any more."""
    if outcome.response is None:
        return
    name = cast("Name", outcome.stratum)
    filtered = manifest.identity.settings["filter"]
    images = _images(manifest.corpus.name, manifest.corpus.revision, name, filtered)
    for number, step in enumerate(Trajectory.model_validate_json(outcome.response).steps, start=1):
        yield Thumbnail(_seen(number, step), partial(_small, images, WORLDS[name], step))


def _small(images: Any, world: World, step: Step) -> str:
    return thumbnail(images.load(world, step.image), step.image, images.source_of(world, step.image), crop=step.crop)


REPORTING = Reporting(
    meta=frozenset(),
    about_case=_WORDS["about_case"],
    beside="interventions",
    foremost=frozenset({"interventions", "asks", "abstains", "useful", "blind", "asking", "category"}),
    notes=tuple(_WORDS["notes"]),
    alike=_alike,
    detail=lambda _: TrajectoryGrade,
    answer=_answer,
    sections=_sections,
    grounds=_grounds,
    thumbnails=_thumbnails,
    citation=_WORDS["citation"],
)
