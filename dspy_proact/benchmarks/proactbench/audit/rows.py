"""A corpus of dialogues as an audit reads it: every row by itself, with what a made corpus says of its planted facts.

The reader of `eval` refuses a file at its first fault; here a row that cannot be used is a finding, and the others are
checked. What rows hide from programs, anchors and their proof, is read here and reaches no program.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from dspy_proact.audit.check import Finding
from dspy_proact.benchmarks.proactbench.corpus.dialogues import (
    CONTROLS_FILE,
    FILE,
    ControlRow,
    Corpus,
    Row,
    dataset_lines,
    sample_path,
)
from dspy_proact.benchmarks.proactbench.types import Dialogue
from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Line, RawPart, lines_in, lines_of, opened
from dspy_proact.kept import Kind, content_of

_WANTED = "sample, proactbench, proactbench@REVISION, or the path of a JSONL file or of a folder that holds one"


class PlantedFact(RawPart):
    """One of `anchors`: a fact that was planted, and where the user disclosed it."""

    id: str
    fact: str
    keys: list[str]
    """Words by which it is known."""
    turn: int
    quote: str


class TriggerAnchors(RawPart):
    """One of `proof`: the facts that a trigger rests on, by their ids."""

    turn: int
    anchors: list[str]
    act: str = ""
    """What earns a pass, in one clause."""


_ANCHORS = TypeAdapter(list[PlantedFact])
_PROOFS = TypeAdapter(Annotated[list[TriggerAnchors], BeforeValidator(lambda value: value or [])])


@dataclass(frozen=True)
class AuditedDialogue:
    """A dialogue with what its row hides from programs."""

    dialogue: Dialogue
    anchors: Sequence[PlantedFact] = ()
    needs: Mapping[int, Sequence[str]] = field(default_factory=dict[int, Sequence[str]])
    """Ids of the anchors that a trigger rests on, by its turn, counted from 1; of a made corpus with proof alone."""
    acts: Mapping[int, str] = field(default_factory=dict[int, str])
    """What earns a pass, likewise."""
    control_turn: int | None = None
    """Of a row of the controls; None for the others."""
    unreadable: str = ""
    """Why `anchors` or `proof` of its row are not read; empty where they are, or are not there."""

    @property
    def key(self) -> str:
        """`unique_id_eval`."""
        return self.dialogue.origin.dialogue


@dataclass(frozen=True)
class AuditedRows:
    """The rows of a corpus of dialogues, those that cannot be used beside the others."""

    corpus: Corpus
    """Of the rows that can be used."""
    dialogues: Sequence[AuditedDialogue]
    """In the order of the file."""
    controls: Sequence[AuditedDialogue]
    """Dialogues that are control cases only."""
    unusable: Sequence[Finding]
    """By the line of a row."""


def read_rows(spec: str, revision: str | None = None) -> AuditedRows:
    """The rows of `sample`, of the published corpus, or of a file or the folder of a made corpus.

    Raises a `CorpusError` where there is no such corpus, or no row of it can be used.
    """
    name, at, pinned = spec.partition("@")
    unusable, ignored = list[Finding](), Counter[str]()
    with ExitStack() as stack:
        controls: Iterable[Line] = ()
        commit = None
        if name == "proactbench":
            if at and not pinned:
                raise CorpusError("the revision after @ is empty; leave the @ out for the newest", source=spec)
            commit, source, texts = dataset_lines(pinned or revision)
            lines = lines_in(texts, source)
        else:
            path = sample_path() if spec == "sample" else Path(spec)
            if (path / FILE).is_file():
                lines = _lines_at(path / FILE, stack)
                if (path / CONTROLS_FILE).is_file():
                    controls = _lines_at(path / CONTROLS_FILE, stack)
                elif content_of(path).kind is Kind.CORPUS:
                    problem = (
                        "It is missing from the folder of a made corpus; repeat its `generate`, which costs nothing."
                    )
                    unusable.append(Finding(key=CONTROLS_FILE, problem=problem))
            else:
                lines = _lines_at(path, stack)
            name = spec
        dialogues = list(_dialogues(lines, Row, unusable, ignored))
        if not dialogues:
            problem = f"no row of it can be used: {unusable[0].problem}" if unusable else "there is no dialogue in it"
            raise CorpusError(problem, source=spec)
        if not any(one.dialogue.triggers for one in dialogues):
            raise CorpusError("no dialogue has a trigger, so there is nothing to measure", source=spec)
        # Its keys are none of the other dialogues'.
        taken = {dialogue.key for dialogue in dialogues}
        own = list(_dialogues(controls, ControlRow, unusable, ignored, taken))
    pairs = tuple((one.dialogue, one.control_turn or 0) for one in own)
    corpus = Corpus(name, commit, tuple(one.dialogue for one in dialogues), dict(sorted(ignored.items())), pairs)
    return AuditedRows(corpus, dialogues, own, unusable)


def _lines_at(path: Path, stack: ExitStack) -> Iterator[Line]:
    source = str(path)
    return lines_in(lines_of(stack.enter_context(opened(source, _WANTED)), source), source)


def _dialogues(
    lines: Iterable[Line],
    kind: type[Row],
    unusable: list[Finding],
    ignored: Counter[str],
    taken: Iterable[str] = (),
) -> Iterator[AuditedDialogue]:
    """The dialogues of rows; what cannot be used is added to `unusable`, and unknown fields are counted."""
    positions = dict.fromkeys(taken, "among the dialogues with triggers")
    for line in lines:
        try:
            row = kind.of(line)
            if row.unique_id_eval in positions:
                problem = f"the same key stands {positions[row.unique_id_eval]}; keep one of the two rows"
                raise line.error(problem, "unique_id_eval")
        except CorpusError as error:
            where = f"{error.field}: " if error.field else ""
            key = f"{Path(line.source).name}, line {line.number}"
            unusable.append(Finding(key=key, problem=f"{where}{error.problem}."))
            continue
        positions[row.unique_id_eval] = line.position
        ignored.update(row.unknown_fields())
        anchors, proofs, unreadable = list[PlantedFact](), list[TriggerAnchors](), ""
        try:
            anchors = _ANCHORS.validate_python(row.anchors) if row.anchors is not None else []
            proofs = _PROOFS.validate_python(row.proof)
        except ValidationError as error:
            path = ".".join(map(str, error.errors()[0]["loc"]))
            unreadable = f"{error.title} {path}: {error.errors()[0]['msg']}"
        yield AuditedDialogue(
            dialogue=row.dialogue(),
            anchors=anchors,
            needs={proof.turn: proof.anchors for proof in proofs},
            acts={proof.turn: proof.act for proof in proofs},
            control_turn=row.control_turn if isinstance(row, ControlRow) else None,
            unreadable=unreadable,
        )
