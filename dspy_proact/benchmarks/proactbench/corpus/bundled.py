"""What was published, and what comes with the package: models' figures, studies of ratings, cases of the judge.

The sample's ratings are *author ratings*: the authors of this project gave them, each without sight of the others'.
They are no human study, and agreement with them shows how tools work and nothing about people.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.proactbench.corpus import rated_items
from dspy_proact.benchmarks.proactbench.corpus.dialogues import DATA, read_jsonl, sample_path
from dspy_proact.benchmarks.proactbench.corpus.rated_items import (
    PUBLISHED,
    STUDY,
    RawRating,
    origin_of,
    rated_item,
    study_of,
)
from dspy_proact.benchmarks.proactbench.types import HELD_BACK, UNWANTED, Grade, JudgeView, Phase, Response
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import HumanGrade, WorkedCase
from dspy_proact.evaluation.published import Counts, PublishedRow, pooled
from dspy_proact.evaluation.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.files.github import cache_folder
from dspy_proact.files.labels import Label, LabelFile, labels_in
from dspy_proact.files.rows import Line, csv_rows
from dspy_proact.runs import Case, Settings
from dspy_proact.types import Frozen

HUMAN_ALPHA: Mapping[str, float] = {"EMERGENT": 0.17, "CRITICAL": 0.16, "RECOVERY": 0.28}
"""Krippendorff's ordinal alpha among the human raters of 60 responses, by phase: 1 is perfect agreement, 0 chance."""
TRIGGERS_PER_PHASE: Mapping[str, int] = {"EMERGENT": 201, "CRITICAL": 232, "RECOVERY": 191}
"""Triggers of the published corpus, 624 in all."""
SAMPLE = "sample"
"""Name of the sample's author ratings, which no person gave."""
AUTHORS = (
    "The sample was rated by its authors, who are language-model agents: it shows how this works, and says nothing "
    "about people."
)
_FOLDER = DATA / "sample"


def published_models() -> tuple[PublishedRow, ...]:
    """The 16 models of the published leaderboard, best first by the overall lenient weighted score.

    A trigger of the corpus without a published grade is unscored; the published SKIPPED counts are all 0.
    """
    phases: dict[str, dict[str, Counts]] = {}
    for row in csv_rows(PUBLISHED / "leaderboard_counts.csv"):
        grades = tuple(int(row[label]) for label in ("pass", "partial", "fail"))
        counts = Counts(TRIGGERS_PER_PHASE[row["type"]], grades)
        phases.setdefault(row["model"].replace("__", "/"), {})[row["type"]] = counts
    rows: list[PublishedRow] = []
    for name, counts in phases.items():
        overall = pooled(counts.values())
        scores = {"score": overall.weighted(), "strict": overall.strict_weighted()}
        scores |= {phase: of.weighted() for phase, of in counts.items()}
        rows.append(PublishedRow(name, scores, counts=counts, cases=overall.total))
    return tuple(sorted(rows, key=lambda row: -(row.scores["score"] or 0)))


def published_study(declared: Benchmark[Any, Any]) -> Ratings:
    """The published study: 275 ratings of 60 items by 18 annotators, with the grades of the study's judge, GPT-5.4.

    Labels only: no conversation, no rubric, no response and no reason comes with the package. One item has no rating.
    """
    items: list[RatedItem] = []
    for row in csv_rows(PUBLISHED / "human_items.csv"):
        scenario, persona = origin_of(row["item_id"])
        meta = {"persona": persona, "response_model": row["evaluated_model"], "turn": int(row["turn"])}
        judged = {"": Grade(row["judge_score"].upper())}
        items.append(RatedItem(row["item_id"], scenario, Phase(row["type"]), judged=judged, meta=meta))
    labels: list[Label] = []
    for number, row in enumerate(csv_rows(PUBLISHED / "human_ratings.csv"), start=2):
        line = Line("human_ratings.csv", number, "", {**row})
        labels.append(RawRating.of(line).label(line))
    contents = {name: (PUBLISHED / name).read_bytes() for name in ("human_items.csv", "human_ratings.csv")}
    source = RatingsSource.of(f"github.com/{STUDY.repository}", contents)
    return study_of(declared, "published", items, LabelFile(tuple(labels)), source)


class SampleResponse(Frozen):
    """One response to a trigger of the sample."""

    item: str
    """What its author ratings refer to."""
    case: str
    """Key of the trigger or control turn: `<unique_id_eval>__t<turn>`."""
    text: str

    @property
    def dialogue(self) -> str:
        """`unique_id_eval` of its dialogue."""
        return self.case.rpartition("__t")[0]


def sample_study(declared: Benchmark[Any, Any]) -> Ratings:
    """The responses of the bundled sample with their author ratings, which are no human study; no judge graded them."""
    triggers = read_jsonl(sample_path()).triggers
    items: list[RatedItem] = []
    for response in _responses("responses.jsonl"):
        dialogue, trigger = triggers[response.case]
        view, origin = JudgeView.of(dialogue, trigger), dialogue.origin
        items.append(rated_item(response.item, view, response.text, origin.scenario, origin.persona))
    contents = {name: (_FOLDER / name).read_bytes() for name in ("dialogues.jsonl", "responses.jsonl", "ratings.csv")}
    rated = labels_in(contents["ratings.csv"].decode(), "ratings.csv", [""])
    source = RatingsSource.of("dspy-proact, the bundled sample", contents)
    return replace(Ratings.of(SAMPLE, declared, items, [rated], source=source), agents=True, about=(AUTHORS,))


def sample_control_responses() -> tuple[SampleResponse, ...]:
    """Responses at the sample's control turns, three to each, in the order of their file."""
    return _responses("control_responses.jsonl")


def sample_offer_ratings() -> tuple[HumanGrade, ...]:
    """The author ratings of these responses, in the order of their file."""
    return tuple(
        HumanGrade(
            row["item"],
            None,
            UNWANTED if row["unwanted"] == "yes" else HELD_BACK,
            row["annotator"],
            reason=row["reason"],
            confidence=int(row["confidence"]),
        )
        for row in csv_rows(_FOLDER / "offer_ratings.csv")
    )


def _responses(name: str) -> tuple[SampleResponse, ...]:
    with (_FOLDER / name).open(encoding="utf-8") as lines:
        return tuple(map(SampleResponse.model_validate_json, lines))


def judge_cases() -> tuple[WorkedCase, ...]:
    """The 40 cases, for each rule and its neighbour a response, the grade that follows, and why.

    They are the judge's prompt as examples, written for this project, with one plain answer each. They say whether a
    judge keeps to its rules, and nothing about how hard real responses are to grade.
    """
    held = json.loads((DATA / "judge_cases.json").read_text(encoding="utf-8"))
    worked: list[WorkedCase] = []
    for entry in held["cases"]:
        scene = held["scenes"][entry["scene"]]
        view = JudgeView.model_validate({**scene, "turn": len(scene["conversation"])})
        case = Case(entry["name"], entry["name"], view.rubric.phase, view)
        answer = Response(text=entry["response"])
        worked.append(WorkedCase(entry["name"], case, answer, Grade(entry["grade"]), entry["rule"], entry["why"]))
    return tuple(worked)


def known_ratings(declared: Benchmark[Any, Any], named: str, settings: Settings) -> Ratings | None:  # noqa: ARG001
    """The bundled studies, the published one in full, fetched once, or a folder in its layout."""
    if named == "published":
        return published_study(declared)
    if named == SAMPLE:
        return sample_study(declared)
    if named == "proactbench":
        return rated_items.fetched_study(declared, cache_folder())
    flat = (path.suffix.lower() in {".csv", ".jsonl"} for path in Path(named).glob("*"))
    official = Path(named).is_dir() and ((Path(named) / rated_items.ITEMS).is_file() or not any(flat))
    return rated_items.read_folder(declared, Path(named)) if official else None
