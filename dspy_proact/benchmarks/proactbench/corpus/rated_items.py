"""ProactBench's rated items: as files of items to rate hold them, and in the layout of the published study.

A file of items is JSONL, a response to be rated a line, for what no run and no study holds. The official layout is
`sample_items.json`, a list of items, and `results/*.jsonl`, a file an annotator. Field names are the study's. What it
tells of persona, style and anchors, and what its judge wrote, is dropped unread: raters saw some of it, but no program
may.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from dspy_proact.benchmarks.proactbench.conversation import turns_of
from dspy_proact.benchmarks.proactbench.corpus.dialogues import DATA, rubric_of
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase, Response, Turn
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.files import rows
from dspy_proact.files.github import RepositoryFolder
from dspy_proact.files.labels import BLANK, Confidence, Label, LabelFile, Seconds


def _word(value: object, kind: type[Phase] | type[Grade], problem: str) -> Phase | Grade:
    word = value.strip().upper() if isinstance(value, str) else value
    if word not in tuple(kind):
        raise PydanticCustomError("word", problem)  # pyright: ignore[reportArgumentType] - a literal of ours
    return kind(word)


_Phase = BeforeValidator(partial(_word, kind=Phase, problem="A phase is EMERGENT, CRITICAL or RECOVERY"))
_Grade = BeforeValidator(partial(_word, kind=Grade, problem="A grade is PASS, PARTIAL or FAIL"))
PhaseWord = Annotated[Phase, _Phase]
"""A phase in any case."""
GradeWord = Annotated[Annotated[Grade, _Grade] | None, BLANK]
"""PASS, PARTIAL or FAIL in any case; null and blanks are None."""


def rated_item(
    key: str,
    view: JudgeView,
    response: str,
    scenario: str = "",
    persona: str = "",
    *,
    judge: Grade | None = None,
    model: str = "",
) -> RatedItem:
    """A response that people rated, with what a judge sees of it."""
    known = {"persona": persona, "response_model": model, "turn": view.turn}
    return RatedItem(
        key,
        scenario,
        view.rubric.phase,
        response,
        view,
        Response(text=response),
        judged={"": judge} if judge else {},
        meta={name: value for name, value in known.items() if value},
    )


class ItemRubric(rows.OwnPart):
    """`rubric` of an item in a file of ours."""

    phase: PhaseWord
    pass_criteria: rows.Text
    partial_criteria: rows.Text
    fail_criteria: rows.Text


class ItemTurn(rows.OwnPart):
    """One of `conversation`."""

    user: rows.Text
    assistant: str | None = None


class ItemRow(rows.OwnPart):
    """One line of a file of items."""

    item: rows.Id
    rubric: ItemRubric
    conversation: Annotated[list[ItemTurn], Field(min_length=1)]
    response: str
    turn: int | None = None
    """What the conversation has anyhow; where it is given it must agree."""
    system_text: rows.Text | None = None
    """What the assistant was told in this conversation alone."""
    judge: GradeWord = None
    scenario: rows.Name = ""
    persona: rows.Name = ""
    model: rows.Name = ""

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever another than the last turn awaits its response, or the turn is not the last."""
        last = len(self.conversation)
        for number, turn in enumerate(self.conversation, start=1):
            where = f"conversation[{number - 1}].assistant"
            if number < last and turn.assistant is None:
                yield where, "missing: only the last turn awaits its response"
            if number == last and turn.assistant is not None:
                yield where, "the last turn awaits its response, which stands in response; leave it out"
        if self.turn not in {None, last}:
            yield "turn", f"{self.turn} disagrees with conversation, which has {last} turns"

    def rated_item(self) -> RatedItem:
        """The item."""
        turns = tuple(Turn(user=turn.user, assistant=turn.assistant) for turn in self.conversation)
        rubric = rubric_of(self.rubric.phase, self.rubric)
        view = JudgeView(conversation=turns, turn=len(turns), rubric=rubric, system=self.system_text)
        origin = self.scenario, self.persona
        return rated_item(self.item, view, self.response, *origin, judge=self.judge, model=self.model)


def items_in(data: bytes, source: str) -> tuple[RatedItem, ...]:
    """The items of a file, in its order; a `CorpusError` where it is at fault, or an item is given twice."""
    items: list[RatedItem] = []
    first_lines: dict[str, int] = {}
    for line in rows.lines_in(rows.lines_of(data, source), source, "item"):
        row = ItemRow.of(line)
        if (first := first_lines.setdefault(row.item.strip(), line.number)) != line.number:
            raise line.error(f"the same item stands on line {first}; keep one of the two", "item")
        items.append(row.rated_item())
    if not items:
        raise CorpusError("empty: there is no item in it", source=source)
    return tuple(items)


# The layout of the published study

ITEMS, RESULTS = "sample_items.json", "results"
BALANCED = (
    "The published items were drawn by the judge's grade, in about equal numbers: no rate on them, and no leniency, is "
    "one in the corpus. They are too few to rank judges, or to show that one has improved."
)
PUBLISHED = DATA / "published"
"""Figures that were published, without any text."""
STUDY = RepositoryFolder("boson-ai/ProactBench", "dataset/human_eval", (ITEMS, f"{RESULTS}/*.jsonl"))


class RawMessage(rows.RawPart):
    """One of `dialogue_history`."""

    role: Literal["user", "assistant"]
    content: str


class RawRubric(rows.RawPart):
    """`rubric`; its type is stated by the documentation, and the item states it anyhow."""

    type: PhaseWord | None = None
    pass_criteria: rows.Text
    partial_criteria: rows.Text
    fail_criteria: rows.Text


class RawItem(rows.RawPart):
    """One of `sample_items.json`."""

    item_id: rows.Id
    trigger_type: PhaseWord
    turn_index: Annotated[int, Field(ge=1)]
    evaluated_model: rows.Name = ""
    judge_score: GradeWord = None
    dialogue_history: list[RawMessage]
    """The user's message at the trigger is the last, or else stands in `user_message` only."""
    user_message: rows.Text | None = None
    model_response: str
    rubric: RawRubric
    system_text: rows.Text | None = None
    """Not of the published study: what the assistant was told in this conversation alone."""
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
        view = JudgeView(conversation=conversation, turn=self.turn_index, rubric=rubric, system=self.system_text)
        key, judge, model = self.item_id, self.judge_score, self.evaluated_model
        return rated_item(key, view, self.model_response, *origin_of(key), judge=judge, model=model)

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


class RawRating(rows.RawPart):
    """One line of `results/*.jsonl`."""

    annotator: Annotated[rows.Id, Field(validation_alias="annotator_id")]
    item: Annotated[rows.Id, Field(validation_alias="item_id")]
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

    def label(self, line: rows.Line) -> Label:
        """The rating on a line."""
        rating = (self.grade or "", self.confidence, self.reason or "", self.seconds)
        return Label(line, self.annotator.strip(), self.item.strip(), "", *rating)


def read_folder(declared: Benchmark[Any, Any], folder: Path) -> Ratings:
    """The study in a folder in the official layout; a `CorpusError` where it is at fault."""
    reader = rows.FileReader()
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
    record, contents = STUDY.fetched(folder)
    source = RatingsSource(origin=record.url, commit=record.commit, files=record.files)
    return _study_in(declared, folder, contents, "proactbench", source)


def _study_in(
    declared: Benchmark[Any, Any], folder: Path, contents: Mapping[str, bytes], name: str, source: RatingsSource
) -> Ratings:
    ignored = Counter[str]()
    items: list[RatedItem] = []
    path = str(folder / ITEMS)
    for element in rows.elements(rows.text_of(contents[ITEMS], path), path):
        raw = RawItem.of(element)
        ignored.update(raw.unknown_fields())
        items.append(raw.rated_item())
    labels: list[Label] = []
    for results in (path for path in contents if path != ITEMS):
        path = str(folder / results)
        for line in rows.lines_in(rows.lines_of(contents[results], path), path, "rating"):
            rating = RawRating.of(line)
            ignored.update(rating.unknown_fields())
            labels.append(rating.label(line))
    return study_of(declared, name, items, LabelFile(tuple(labels), ignored=ignored), source)


def study_of(
    declared: Benchmark[Any, Any], name: str, items: Sequence[RatedItem], labels: LabelFile, source: RatingsSource
) -> Ratings:
    """Items and ratings of them; those of the published study say how it was drawn, and who its judge is."""
    ratings = Ratings.of(name, declared, items, [labels], source=source)
    if {item.key for item in items} != {row["item_id"] for row in rows.csv_rows(PUBLISHED / "human_items.csv")}:
        return ratings
    return replace(ratings, about=(BALANCED,), judge="GPT-5.4")


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
        conversation = item.view.conversation
        texts = [text for turn in conversation for text in (turn.user, turn.assistant) if text is not None]
        history = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]
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
                **({"system_text": item.view.system} if item.view.system else {}),
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


def origin_of(item_id: str) -> tuple[str, str]:
    """Scenario and persona in an official id, `{uuid}__{scenario_id}__s{style}...`; empty where it has none.

    The scenario has the form of `Origin.scenario`, so that ratings and dialogues of one scenario are one group.
    """
    parts = item_id.split("__")
    if len(parts) < 3 or not all(parts[:2]) or not (parts[2][:1] == "s" and parts[2][1:].isdecimal()):
        return "", ""
    return f"{parts[0]}/{parts[1]}", parts[0]
