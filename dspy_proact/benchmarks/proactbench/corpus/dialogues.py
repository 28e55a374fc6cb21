"""The corpus of dialogues: from the official file, the folder of a made corpus, the hub, or the bundled sample.

A row of the official file stops here. What programs may see goes into a `Dialogue`; ids and grouping keys go into its
`Origin`. The fields that the format knows and nobody may see (the planner's notes, token usage, results of older
versions, what a made corpus says of its scenario, its anchors and their proof, and which fields people have edited) are
named so that they are not counted as unknown, and are dropped unread. Field names are the corpus's; `rows` writes them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Self, TypeVar

from pydantic import Field

from dspy_proact.benchmarks.proactbench.types import LOGGED, Dialogue, Origin, Phase, Rubric, Trigger, Turn, canonical
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.hub import hub_commit, text_lines
from dspy_proact.files.rows import Id, Name, OwnPart, RawPart, Text, lines_in, lines_of, opened
from dspy_proact.kept import Kind, content_of

DATA = files("dspy_proact.benchmarks.proactbench") / "data"
"""The files that come with the package."""
_DATASET = "bosonai/proactbench"
"""The official dataset on the Hugging Face hub."""
FILE, CONTROLS_FILE, LOGGED_FILE = "final_dialogues.jsonl", "controls.jsonl", "logged.jsonl"
"""Of the published dataset and of a folder; the second is of a folder alone, which may lack it, the third of logs."""
AnyRow = TypeVar("AnyRow", bound="Row")
CONTROL_RULE = (
    "control turns: without a trigger and at least 2 turns from any, at most as many as the dialogue has triggers, and "
    "the last turn of a dialogue without a RECOVERY trigger"
)
"""In a sentence, for tables."""
_CONTROL_DISTANCE = 2


def rubric_of(phase: Phase, criteria: OwnPart) -> Rubric:
    """The rubric whose three criteria a part has under our names."""
    return Rubric(phase=phase, **criteria.model_dump(include={"pass_criteria", "partial_criteria", "fail_criteria"}))


class RowRubric(RawPart):
    """`evaluation_rubric`."""

    type: Annotated[Phase, Field(strict=False)]
    """Not strict because JSON has no enumerations; nothing but the three names is accepted."""
    pass_criteria: Text
    partial_criteria: Text
    fail_criteria: Text


class RowTrigger(RawPart):
    """One of `trigger_points`."""

    turn: int
    evaluation_rubric: RowRubric
    evaluation_result: object = None
    """The judgement that older versions carry."""


class RowTurn(RawPart):
    """One of `turn_records`."""

    turn: int
    user_message: Text
    assistant_response: str
    planner: object = None
    """Hidden: the rubric again, and the strategy."""


class DialogueRow(RawPart):
    """What a row of a corpus and one of results say of their dialogue."""

    blueprint_id: Name
    scenario_id: Id
    uuid: Id
    category_key: Id
    style_combination_index: int

    def origin(self, dialogue: str, source_model: str) -> Origin:
        """Where the dialogue of this key comes from, whose curated responses are the model's."""
        return Origin(
            dialogue=dialogue,
            persona=self.uuid,
            scenario_id=self.scenario_id,
            blueprint=self.blueprint_id,
            life_domain=self.category_key.removesuffix("_persona"),
            style=self.style_combination_index,
            source_model=source_model,
        )


class Row(DialogueRow):
    """One line of `final_dialogues.jsonl`."""

    unique_id_eval: Id
    evaluated_model: Name
    trigger_points: list[RowTrigger]
    turn_records: Annotated[list[RowTurn], Field(min_length=1)]
    num_turns_completed: int | None = None
    """Hidden, but where it is given it must agree with `turn_records`."""
    token_usage: object = None
    trigger_stats: object = None
    system_text: Text | None = None
    """Of a made corpus: what the assistant is told in this dialogue."""
    scenario: object = None
    """Hidden, of a made corpus: what the dialogue is about."""
    anchors: object = None
    """Hidden, of a made corpus: what was planted."""
    proof: object = None
    """Hidden, of a made corpus: what was tested of it."""
    edited: object = None
    """Hidden, of a reviewed corpus: which of its fields people changed."""
    canary: object = None
    """Hidden, of a published corpus: a GUID by which it is found in training data."""
    held_back: bool = False
    """Of a corpus that was published in part: whether it is of the part that was not."""

    def dialogue(self) -> Dialogue:
        """The dialogue, with its triggers in turn order; nothing hidden and nothing unknown is in it."""
        points = sorted(self.trigger_points, key=lambda point: point.turn)
        return Dialogue(
            origin=self.origin(self.unique_id_eval, self.evaluated_model),
            turns=tuple(Turn(user=turn.user_message, assistant=turn.assistant_response) for turn in self.turn_records),
            triggers=tuple(
                Trigger(turn=point.turn, rubric=rubric_of(point.evaluation_rubric.type, point.evaluation_rubric))
                for point in points
            ),
            system=self.system_text,
        )

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Turns and triggers that do not fit together."""
        last = len(self.turn_records)
        for index, turn in enumerate(self.turn_records):
            if turn.turn != index + 1:
                yield f"turn_records[{index}].turn", f"turns must be in order: {index + 1} expected, not {turn.turn}"
            if index + 1 < last and not turn.assistant_response.strip():
                problem = "empty, and providers refuse a conversation with an empty message; leave the dialogue out"
                yield f"turn_records[{index}].assistant_response", problem
        if self.num_turns_completed not in {None, last}:
            yield "num_turns_completed", f"{self.num_turns_completed} disagrees with turn_records, which has {last}"
        taken: set[int] = set()
        for index, point in enumerate(self.trigger_points):
            if not 1 <= point.turn <= last:
                yield f"trigger_points[{index}].turn", f"there is no turn {point.turn}: the last one is {last}"
            if point.turn in taken:
                yield f"trigger_points[{index}].turn", f"turn {point.turn} has a trigger already: one a turn"
            taken.add(point.turn)


class ControlRow(Row):
    """One line of `controls.jsonl`: a dialogue in which nothing is to be taken up, and the turn that is answered."""

    control_turn: int

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Likewise; it has no trigger, and a turn of this number."""
        yield from super().misfits()
        if self.trigger_points:
            yield "trigger_points", "a control has no trigger; leave them out of it"
        if not 1 <= self.control_turn <= (last := len(self.turn_records)):
            yield "control_turn", f"there is no turn {self.control_turn}: the last one is {last}"


@dataclass(frozen=True)
class Corpus:
    """Dialogues that were validated as a whole, and where they come from."""

    name: str
    """What the person asked for: a path, `sample` or `proactbench`."""
    revision: str | None
    """Commit of the dataset; None for files, which have none."""
    dialogues: tuple[Dialogue, ...]
    """In the order of the file."""
    ignored_fields: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    """How often each field occurred that the format does not know, by dotted name."""
    controls: tuple[tuple[Dialogue, int], ...] = ()
    """Dialogues that are control cases only, each with its control turn; empty but for a made corpus."""
    held_back: bool = False
    """Whether a dialogue is of the part of a corpus that is not published."""

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, {len(self.dialogues):,} dialogues, {self.trigger_count:,} triggers)"

    @classmethod
    def of(cls, lines: Iterable[str], *, name: str, source: str, revision: str | None = None) -> Self:
        """Read and validate the lines of an official file; blank lines and a byte order mark are skipped.

        Raises a `CorpusError` where a line is at fault, two rows have one `unique_id_eval`, or there is no dialogue or
        no trigger in all.
        """
        ignored, held_back, dialogues = Counter[str](), False, list[Dialogue]()
        for row in _rows(Row, lines, source, ignored):
            dialogues.append(row.dialogue())
            held_back |= row.held_back
        if not dialogues:
            raise CorpusError("empty: there is no dialogue in it", source=source)
        if not any(dialogue.triggers for dialogue in dialogues):
            raise CorpusError("no dialogue has a trigger, so there is nothing to measure", source=source)
        return cls(name, revision, tuple(dialogues), dict(sorted(ignored.items())), held_back=held_back)

    def with_controls(self, lines: Iterable[str], source: str) -> Self:
        """The same with the dialogues of a file that are control cases only; raises as `of` does for a line.

        Their keys are none of the other dialogues'.
        """
        taken, ignored = {dialogue.origin.dialogue for dialogue in self.dialogues}, Counter(self.ignored_fields)
        controls = [(row.dialogue(), row.control_turn) for row in _rows(ControlRow, lines, source, ignored)]
        for dialogue, _ in controls:
            if (key := dialogue.origin.dialogue) in taken:
                problem = f"{key!r} is the key of a dialogue with triggers too; give the control one of its own"
                raise CorpusError(problem, source=source, field="unique_id_eval")
        return replace(self, controls=tuple(controls), ignored_fields=dict(sorted(ignored.items())))

    def require(self, keys: Iterable[str], source: str) -> None:
        """Raise a `UsageError` where keys of triggers in a results file are none of this corpus."""
        keys = list(keys)
        if strange := [key for key in keys if key not in self.triggers]:
            raise UsageError(
                f"{source}: {len(strange)} of its {len(keys)} triggers are not in the corpus {self.name!r}, the first "
                f"is {strange[0]!r}; name the corpus that it answers with `corpus`"
            )

    @cached_property
    def triggers(self) -> Mapping[str, tuple[Dialogue, Trigger]]:
        """Every trigger, after its dialogue, by key and in the order of the file; at least one."""
        return {
            trigger_key(dialogue.origin.dialogue, trigger.turn): (dialogue, trigger)
            for dialogue in self.dialogues
            for trigger in dialogue.triggers
        }

    @property
    def trigger_count(self) -> int:
        """Of all dialogues, at least 1."""
        return len(self.triggers)

    @cached_property
    def sha256(self) -> str:
        """64 hex digits over the dialogues and their order; the file's formatting and hidden fields do not matter."""
        # Row by row, as one list of JSON: the whole text at once would take twice the memory of the corpus.
        digest = hashlib.sha256(b"[")
        for number, dialogue in enumerate(self.dialogues):
            digest.update(b"," * (number > 0) + canonical(dialogue.model_dump(mode="json")))
        digest.update(b"]")
        for dialogue, turn in self.controls:
            digest.update(canonical({"control": dialogue.model_dump(mode="json"), "turn": turn}))
        return digest.hexdigest()


def _rows(kind: type[AnyRow], lines: Iterable[str], source: str, ignored: Counter[str]) -> Iterator[AnyRow]:
    """The rows of a file, whose unknown fields are counted; raises a `CorpusError` for a key that stands twice."""
    first_lines: dict[str, int] = {}
    for line in lines_in(lines, source):
        row = kind.of(line)
        if (first := first_lines.setdefault(row.unique_id_eval, line.number)) != line.number:
            raise line.error(f"the same key stands on line {first}; keep one of the two rows", "unique_id_eval")
        ignored.update(row.unknown_fields())
        yield row


def load_corpus(spec: str, revision: str | None = None) -> Corpus:
    """The corpus that is asked for: `sample`, `proactbench`, `proactbench@REVISION`, or a path.

    That of an official file, or of the folder of a made corpus. A file with one of these names is given as `./sample`.
    `revision` is used where `proactbench` pins none, such as the
    commit that a resumed run has recorded. Raises a `CorpusError` where there is no such corpus, it is not valid, or a
    revision is given for what has none.
    """
    name, at, pinned = spec.partition("@")
    if name == "proactbench":
        if at and not pinned:
            raise CorpusError("the revision after @ is empty; leave the @ out for the newest", source=spec)
        return read_dataset(pinned or revision)
    if revision is not None:
        raise CorpusError("only proactbench has revisions; leave the revision out", source=spec)
    if spec == "sample":
        return replace(read_jsonl(sample_path()), name=spec)
    return read_folder(Path(spec)) if (Path(spec) / FILE).is_file() else read_jsonl(spec)


def read_folder(folder: Path) -> Corpus:
    """Read the folder of a made corpus: its dialogues, and its controls where it has any; raises as `read_jsonl`."""
    if not (folder / FILE).stat().st_size and (folder / LOGGED_FILE).is_file():
        problem = (
            "no need was found in these logs, so that there is nothing to measure; its datasheet.md has the reasons"
        )
        raise CorpusError(problem, source=str(folder))
    corpus = replace(read_jsonl(folder / FILE), name=str(folder))
    source = str(folder / CONTROLS_FILE)
    if not Path(source).exists():
        if content_of(folder).kind is Kind.CORPUS:
            problem = "missing from the folder of a made corpus; repeat its `generate`, which costs nothing"
            raise CorpusError(problem, source=source)
        return corpus
    with opened(source, "the folder of a made corpus") as file:
        return corpus.with_controls(lines_of(file, source), source)


def read_dataset(revision: str | None = None) -> Corpus:
    """Read the official dataset of the hub, as `dataset_lines` has it; raises as `read_jsonl` does."""
    commit, source, lines = dataset_lines(revision)
    return Corpus.of(lines, name="proactbench", source=source, revision=commit)


def dataset_lines(revision: str | None = None) -> tuple[str, str, list[str]]:
    """Commit, source and lines of the official dataset of the hub; a `CorpusError` where it cannot be had.

    A revision (a branch, tag or commit; None is the default branch) is resolved once, to the commit that is then read
    and that `Corpus.revision` records.
    """
    instead = f"download {FILE} and give its path"
    commit = hub_commit(_DATASET, revision, instead)
    source = f"{_DATASET}@{commit}/{FILE}"
    return commit, source, text_lines(f"hf://datasets/{source}", source, instead)


def read_jsonl(path: str | Path) -> Corpus:
    """Read a corpus from a file in the official format; a `CorpusError` where it cannot be read or is not valid."""
    source = str(path)
    with opened(source, "sample, proactbench, proactbench@REVISION or the path of a JSONL file") as file:
        return Corpus.of(lines_of(file, source), name=source, source=source)


def sample_path() -> Path:
    """The bundled sample's dialogues, a file in the official format."""
    return Path(str(DATA / "sample" / "dialogues.jsonl"))


def trigger_key(dialogue: str, turn: int) -> str:
    """The key of a trigger or control turn: the dialogue's only unique id, and the turn."""
    return f"{dialogue}__t{turn}"


def control_turns(dialogue: Dialogue) -> tuple[int, ...]:
    """The control turns of a dialogue, counted from 1, in order: an answer is wanted there and nothing more.

    Where more turns lie far enough from every trigger than there are triggers, a hash of key and turn chooses. A last
    turn that is a trigger is no control. A logged conversation has none: needs that nobody found may be open in it.
    """

    def rank(turn: int) -> str:
        return hashlib.sha256(f"control {dialogue.origin.dialogue} {turn}".encode()).hexdigest()

    if dialogue.origin.scenario_id == LOGGED:
        return ()
    triggers = [trigger.turn for trigger in dialogue.triggers]
    turns = range(1, len(dialogue.turns) + 1)
    far = [turn for turn in turns if triggers and all(abs(turn - other) >= _CONTROL_DISTANCE for other in triggers)]
    chosen = set(sorted(far, key=rank)[: len(triggers)])
    recovers = any(trigger.rubric.phase is Phase.RECOVERY for trigger in dialogue.triggers)
    closing = set[int]() if recovers else set(turns[-1:]) - set(triggers)
    return tuple(sorted(chosen | closing))
