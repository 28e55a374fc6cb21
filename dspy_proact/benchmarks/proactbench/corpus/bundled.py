"""What was published, and what comes with the package: models' figures, studies of ratings, cases of the judge.

The official layout of the study is `sample_items.json`, a list of items, and `results/*.jsonl`, a file an annotator.
Field names are the study's. What it tells of persona, style and anchors, and what its judge wrote, is dropped unread:
raters saw some of it, but no program may.

The sample's ratings are *author ratings*: the authors of this project gave them, each without sight of the others'.
They are no human study, and agreement with them shows how tools work and nothing about people.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dspy_proact.benchmarks.benchmark import Benchmark, HumanGrade, WorkedCase
from dspy_proact.benchmarks.proactbench.conversation import turns_of
from dspy_proact.benchmarks.proactbench.corpus.dialogues import DATA, read_jsonl, rubric_of, sample_path
from dspy_proact.benchmarks.proactbench.corpus.rated_items import GradeWord, PhaseWord, rated_item
from dspy_proact.benchmarks.proactbench.types import HELD_BACK, UNWANTED, Grade, JudgeView, Phase, Response
from dspy_proact.benchmarks.published import Counts, PublishedRow, pooled
from dspy_proact.benchmarks.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.errors import CorpusError
from dspy_proact.files.github import RepositoryFolder
from dspy_proact.files.labels import Confidence, Label, LabelFile, Seconds, labels_in
from dspy_proact.files.rows import (
    FileReader,
    Id,
    Line,
    Name,
    RawPart,
    Text,
    csv_rows,
    elements,
    lines_in,
    lines_of,
    text_of,
)
from dspy_proact.runs import Case
from dspy_proact.types import Frozen

HUMAN_ALPHA: Mapping[str, float] = {"EMERGENT": 0.17, "CRITICAL": 0.16, "RECOVERY": 0.28}
"""Krippendorff's ordinal alpha among the human raters of 60 responses, by phase: 1 is perfect agreement, 0 chance."""
TRIGGERS_PER_PHASE: Mapping[str, int] = {"EMERGENT": 201, "CRITICAL": 232, "RECOVERY": 191}
"""Triggers of the published corpus, 624 in all."""
ITEMS, RESULTS = "sample_items.json", "results"
SAMPLE = "sample"
"""Name of the sample's author ratings, which no person gave."""
BALANCED = (
    "The published items were drawn by the judge's grade, in about equal numbers: no rate on them, and no leniency, is "
    "one in the corpus. They are too few to rank judges, or to show that one has improved."
)
AUTHORS = (
    "The sample was rated by its authors, who are language-model agents: it shows how this works, and says nothing "
    "about people."
)
_FOLDER = DATA / "sample"
_STUDY = RepositoryFolder("boson-ai/ProactBench", "dataset/human_eval", (ITEMS, f"{RESULTS}/*.jsonl"))


def published_models() -> tuple[PublishedRow, ...]:
    """The 16 models of the published leaderboard, best first by the overall lenient weighted score.

    A trigger of the corpus without a published grade is unscored; the published SKIPPED counts are all 0.
    """
    phases: dict[str, dict[str, Counts]] = {}
    for row in csv_rows(DATA / "published" / "leaderboard_counts.csv"):
        grades = (int(row[label]) for label in ("pass", "partial", "fail"))
        counts = Counts(TRIGGERS_PER_PHASE[row["type"]], *grades)
        phases.setdefault(row["model"].replace("__", "/"), {})[row["type"]] = counts
    rows: list[PublishedRow] = []
    for name, counts in phases.items():
        whole = pooled(counts.values())
        scores = {"score": whole.weighted, "strict": whole.strict_weighted}
        scores |= {phase: of.weighted for phase, of in counts.items()}
        rows.append(PublishedRow(name, scores, counts=counts, cases=whole.total))
    return tuple(sorted(rows, key=lambda row: -(row.scores["score"] or 0)))


class RawMessage(RawPart):
    """One of `dialogue_history`."""

    role: Literal["user", "assistant"]
    content: str


class RawRubric(RawPart):
    """`rubric`; its type is stated by the documentation, and the item states it anyhow."""

    type: PhaseWord | None = None
    pass_criteria: Text
    partial_criteria: Text
    fail_criteria: Text


class RawItem(RawPart):
    """One of `sample_items.json`."""

    item_id: Id
    trigger_type: PhaseWord
    turn_index: Annotated[int, Field(ge=1)]
    evaluated_model: Name = ""
    judge_score: GradeWord = None
    dialogue_history: list[RawMessage]
    """The user's message at the trigger is the last, or else stands in `user_message` only."""
    user_message: Text | None = None
    model_response: str
    rubric: RawRubric
    # Unread: what no program sees.
    dialogue_id: object = None
    judge_rationale: object = None
    judge_evidence: object = None
    persona_category: object = None
    communication_style: object = None
    anchors_disclosed: object = None

    def rated_item(self) -> RatedItem:
        """The item; `misfits` must be empty."""
        rubric = rubric_of(self.trigger_type, self.rubric)
        conversation = turns_of([message.content for message in self._messages()])
        view = JudgeView(conversation=conversation, turn=self.turn_index, rubric=rubric)
        key, judge, model = self.item_id, self.judge_score, self.evaluated_model
        return rated_item(key, view, self.model_response, *_origin_of(key), judge=judge, model=model)

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever history, turn and rubric do not fit together."""
        messages = self._messages()
        if not messages or messages[-1].role != "user":
            yield "dialogue_history", "the user's message at the trigger is missing at its end"
            return
        for index, message in enumerate(messages):
            if message.role != ("user", "assistant")[index % 2]:
                yield f"dialogue_history[{index}].role", f"user and assistant must alternate, not {message.role} here"
        if self.user_message is not None and messages[-1].content.strip() != self.user_message.strip():
            yield "user_message", "another message than the last of dialogue_history"
        turns = (len(messages) + 1) // 2
        if turns != self.turn_index:
            yield "turn_index", f"{self.turn_index} disagrees with dialogue_history, which has {turns} turns"
        if self.rubric.type not in {None, self.trigger_type}:
            yield "rubric.type", f"{self.rubric.type} disagrees with trigger_type, which is {self.trigger_type}"

    def _messages(self) -> Sequence[RawMessage]:
        """The conversation up to the user's message at the trigger."""
        history = self.dialogue_history
        if self.user_message is not None and (not history or history[-1].role == "assistant"):
            return (*history, RawMessage(role="user", content=self.user_message))
        return history


class RawRating(RawPart):
    """One line of `results/*.jsonl`."""

    annotator: Annotated[Id, Field(validation_alias="annotator_id")]
    item: Annotated[Id, Field(validation_alias="item_id")]
    grade: Annotated[GradeWord, Field(validation_alias="score")]
    reason: Annotated[str | None, Field(validation_alias="rationale")] = None
    confidence: Confidence = None
    seconds: Annotated[Seconds, Field(validation_alias="time_spent_seconds")] = None
    # Unread.
    timestamp: object = None
    server_received_at: object = None

    def misfits(self) -> Iterator[tuple[str, str]]:
        """The field and the problem where there is no grade."""
        if self.grade is None:
            yield "score", "empty: a rating needs a grade, Pass, Partial or Fail"

    def label(self, line: Line) -> Label:
        """The rating on a line."""
        given = (self.grade or "", self.confidence, self.reason or "", self.seconds)
        return Label(line, self.annotator.strip(), self.item.strip(), "", *given)


def read_folder(declared: Benchmark[Any, Any], folder: Path) -> Ratings:
    """The study in a folder in the official layout; a `CorpusError` where it is at fault."""
    reader = FileReader()
    names = [ITEMS, *(f"{RESULTS}/{path.name}" for path in sorted((folder / RESULTS).glob("*.jsonl")))]
    if not (folder / ITEMS).is_file():
        problem = f"there is no {ITEMS} in this folder; give the one that holds {ITEMS} and {RESULTS}"
        raise CorpusError(problem, source=str(folder))
    if len(names) == 1:
        raise CorpusError(f"there is no file of ratings in {RESULTS}", source=str(folder))
    contents = {name: reader.read(folder / name, "a file of the official layout") for name in names}
    return _study_in(declared, folder, contents, str(folder), RatingsSource.of(str(folder), contents))


def fetched_study(declared: Benchmark[Any, Any], cache: Path) -> Ratings:
    """The published study in full, from the cache, or fetched into it; a `CorpusError` where neither is possible."""
    folder = cache / "proactbench-human-eval"
    record, contents = _STUDY.fetched(folder)
    source = RatingsSource(origin=record.url, commit=record.commit, files=record.files)
    return _study_in(declared, folder, contents, "proactbench", source)


def _study_in(
    declared: Benchmark[Any, Any], folder: Path, contents: Mapping[str, bytes], name: str, source: RatingsSource
) -> Ratings:
    """The study in the contents of a folder, by path in it."""
    ignored = Counter[str]()
    items: list[RatedItem] = []
    path = str(folder / ITEMS)
    for element in elements(text_of(contents[ITEMS], path), path):
        raw = RawItem.of(element)
        ignored.update(raw.unknown_fields())
        items.append(raw.rated_item())
    labels: list[Label] = []
    for results in (path for path in contents if path != ITEMS):
        path = str(folder / results)
        for line in lines_in(lines_of(contents[results], path), path, "rating"):
            rating = RawRating.of(line)
            ignored.update(rating.unknown_fields())
            labels.append(rating.label(line))
    return _study(declared, name, items, LabelFile(tuple(labels), ignored=ignored), source)


def _study(
    declared: Benchmark[Any, Any], name: str, items: Sequence[RatedItem], labels: LabelFile, source: RatingsSource
) -> Ratings:
    """Items and ratings of them; those of the published study say how it was drawn, and who its judge is."""
    ratings = Ratings.of(name, declared, items, [labels], source=source)
    if {item.key for item in items} != {row["item_id"] for row in _published("human_items.csv")}:
        return ratings
    return replace(ratings, about=(BALANCED,), judge="GPT-5.4")


def _published(name: str) -> Iterator[dict[str, str]]:
    return csv_rows(DATA / "published" / name)


def official_files(ratings: Ratings) -> dict[str, str]:
    """The rated items and their ratings in the official layout: texts by path in the folder.

    Raters are A01, A02 and so on, in the order of their first ratings. Raises a `CorpusError` where an item comes
    without its conversation or response.
    """
    items = list[dict[str, object]]()
    for item in ratings.rated:
        if not isinstance(item.view, JudgeView) or item.text is None:
            problem = f"{item.key!r} comes without its conversation or response, which the official layout holds"
            raise CorpusError(problem, source=ratings.name)
        said = [(turn.user, turn.assistant) for turn in item.view.conversation]
        texts = [text for pair in said for text in pair if text is not None]
        history = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]
        rubric, judge = item.view.rubric.model_dump(mode="json"), item.judged.get("")
        items.append(
            {
                "item_id": item.key,
                "trigger_type": item.stratum,
                "turn_index": item.view.turn,
                "evaluated_model": item.meta.get("response_model", ""),
                "judge_score": judge and judge.title(),
                "dialogue_history": history,
                "user_message": texts[-1],
                "model_response": item.text,
                "rubric": {"type": rubric.pop("phase"), **rubric},
            }
        )
    files = {ITEMS: json.dumps(items, ensure_ascii=False, indent=2)}
    for number, rater in enumerate(ratings.raters, start=1):
        lines = (
            {
                "annotator_id": f"A{number:02}",
                "item_id": row.key,
                "score": row.grade.title(),
                "rationale": row.reason,
                "confidence": row.confidence,
                "time_spent_seconds": row.seconds,
            }
            for row in ratings.grades
            if row.rater == rater
        )
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        files[f"{RESULTS}/A{number:02}.jsonl"] = text
    return files


def published_study(declared: Benchmark[Any, Any]) -> Ratings:
    """The published study: 275 ratings of 60 items by 18 annotators, with the grades of the study's judge, GPT-5.4.

    Labels only: no conversation, no rubric, no response and no reason comes with the package. One item has no rating.
    """
    items: list[RatedItem] = []
    for row in _published("human_items.csv"):
        scenario, persona = _origin_of(row["item_id"])
        meta = {"persona": persona, "response_model": row["evaluated_model"], "turn": int(row["turn"])}
        judged = {"": Grade(row["judge_score"].upper())}
        items.append(RatedItem(row["item_id"], scenario, Phase(row["type"]), judged=judged, meta=meta))
    labels: list[Label] = []
    for number, row in enumerate(_published("human_ratings.csv"), start=2):
        line = Line("human_ratings.csv", number, "", {**row})
        labels.append(RawRating.of(line).label(line))
    contents = {name: (DATA / "published" / name).read_bytes() for name in ("human_items.csv", "human_ratings.csv")}
    source = RatingsSource.of(f"github.com/{_STUDY.repository}", contents)
    return _study(declared, "published", items, LabelFile(tuple(labels)), source)


def _origin_of(item_id: str) -> tuple[str, str]:
    """Scenario and persona in an official id, `{uuid}__{scenario_id}__s{style}...`; empty where it has none.

    The scenario has the form of `Origin.scenario`, so that ratings and dialogues of one scenario are one group.
    """
    parts = item_id.split("__")
    if len(parts) < 3 or not all(parts[:2]) or not (parts[2][:1] == "s" and parts[2][1:].isdecimal()):
        return "", ""
    return f"{parts[0]}/{parts[1]}", parts[0]


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
    for each in held["cases"]:
        scene = held["scenes"][each["scene"]]
        view = JudgeView.model_validate({**scene, "turn": len(scene["conversation"])})
        case = Case(each["name"], each["name"], view.rubric.phase, view)
        answer = Response(text=each["response"])
        worked.append(WorkedCase(each["name"], case, answer, Grade(each["grade"]), each["rule"], each["why"]))
    return tuple(worked)
