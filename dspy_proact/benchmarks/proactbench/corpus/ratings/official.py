"""The official layout of a study: `sample_items.json`, a list of items, and `results/*.jsonl`, a file an annotator.

Field names are the study's. What it tells of persona, style and anchors, and what its judge wrote, is dropped unread:
raters saw some of it, but no program may.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from dspy_proact.benchmarks.proactbench.conversation import turns_of
from dspy_proact.benchmarks.proactbench.corpus.ratings.rated_item import PhaseWord, RatedItem, scenario_of
from dspy_proact.benchmarks.proactbench.corpus.ratings.rating import ConfidenceWord, GivenRating, GradeWord
from dspy_proact.benchmarks.proactbench.corpus.ratings.ratings import Ratings, RatingsSource
from dspy_proact.benchmarks.proactbench.corpus.row import rubric_of
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.errors import CorpusError
from dspy_proact.files.line import Line, elements, lines_in
from dspy_proact.files.part import Id, Name, RawPart, Text
from dspy_proact.files.text_file import lines_of, read_bytes

ITEMS, RESULTS = "sample_items.json", "results"


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
    dialogue_id: object = None
    """Unread, as are the fields that follow: what no program sees."""
    judge_rationale: object = None
    judge_evidence: object = None
    persona_category: object = None
    communication_style: object = None
    anchors_disclosed: object = None

    def rated_item(self) -> RatedItem:
        """The item; `misfits` must be empty."""
        scenario, persona = scenario_of(self.item_id)
        rubric = rubric_of(self.trigger_type, self.rubric)
        conversation = turns_of([message.content for message in self._messages()])
        return RatedItem(
            key=self.item_id,
            phase=self.trigger_type,
            scenario=scenario,
            persona=persona,
            judge=self.judge_score,
            view=JudgeView(conversation=conversation, turn=self.turn_index, rubric=rubric),
            response=self.model_response,
            turn=self.turn_index,
            model=self.evaluated_model,
        )

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
    confidence: ConfidenceWord = None
    seconds: Annotated[float | None, Field(validation_alias="time_spent_seconds", ge=0, allow_inf_nan=False)] = None
    timestamp: object = None
    """Unread, as is the next."""
    server_received_at: object = None

    def misfits(self) -> Iterator[tuple[str, str]]:
        """The field and the problem where there is no grade."""
        if self.grade is None:
            yield "score", "empty: a rating needs a grade, Pass, Partial or Fail"


@dataclass(frozen=True)
class OfficialFolder:
    """The contents of a folder in the official layout."""

    path: Path
    contents: Mapping[str, bytes]
    """Of `sample_items.json` and of each file of results, by its path in the folder."""

    @classmethod
    def read(cls, path: Path) -> "OfficialFolder":
        """What is in a folder.

        Raises:
            CorpusError: `sample_items.json` or all results are missing, or a file cannot be read.
        """
        names = [ITEMS, *(f"{RESULTS}/{each.name}" for each in sorted((path / RESULTS).glob("*.jsonl")))]
        if not (path / ITEMS).is_file():
            problem = f"there is no {ITEMS} in this folder; give the one that holds {ITEMS} and {RESULTS}"
            raise CorpusError(problem, source=str(path))
        if len(names) == 1:
            raise CorpusError(f"there is no file of ratings in {RESULTS}", source=str(path))
        return cls(path, {name: read_bytes(str(path / name), "a file of the official layout") for name in names})

    def ratings(self, name: str, source: RatingsSource | None = None) -> Ratings:
        """The study in the folder.

        Args:
            name: What the person asked for.
            source: Where the folder comes from; itself, if not given.

        Raises:
            CorpusError: A file is at fault, or ratings and items do not fit together.
        """
        raw_items = tuple(self._items())
        ignored = sum((raw.unknown_fields() for raw in raw_items), Counter[str]())
        given: list[GivenRating] = []
        for line in chain.from_iterable(self._lines(name) for name in self.contents if name != ITEMS):
            raw = RawRating.of(line)
            ignored.update(raw.unknown_fields())
            given.append(GivenRating.of(line, raw))
        source = source or RatingsSource.of(str(self.path), self.contents)
        items = [raw.rated_item() for raw in raw_items]
        return Ratings.of(name, items, given, source, ignored_fields=ignored)

    def _items(self) -> Iterator[RawItem]:
        source = str(self.path / ITEMS)
        first: dict[str, int] = {}
        for element in elements("".join(lines_of(self.contents[ITEMS], source)).removeprefix("\ufeff"), source):
            raw = RawItem.of(element)
            if (before := first.setdefault(raw.item_id, element.number)) != element.number:
                raise element.error(f"[{before}] has the same; keep one of the two", "item_id")
            yield raw

    def _lines(self, name: str) -> Iterator[Line]:
        source = str(self.path / name)
        return lines_in(lines_of(self.contents[name], source), source, "rating")
