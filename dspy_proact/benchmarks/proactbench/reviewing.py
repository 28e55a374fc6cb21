"""How people review a corpus of dialogues: what they read and may change, and the files that follow from their reviews.

A dialogue is one item. Scenario, user messages and the criteria of its triggers can be edited; the curated responses
cannot, since whoever wrote them is on record. An edit is carried to wherever the same text stands: the planner's copy
of a rubric, and the conversations of control turns that were made from the dialogue. What was tested of another text
is left out with it: the proof and the audits of what was edited, and rewritten turns of an edited message.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dspy_proact.benchmarks.proactbench.corpus.dialogues import (
    CONTROLS_FILE,
    FILE,
    Row,
    RowTrigger,
    read_folder,
    read_jsonl,
)
from dspy_proact.evaluation.reporting import PageSection
from dspy_proact.evaluation.reviewing import KeptQuote, Review, ReviewField, ReviewItem, settle
from dspy_proact.files.rows import Line, lines_in, lines_of, read_bytes

AUDITS_FILE = "audits.jsonl"
_SCENARIO = {"title": "Title", "request": "Request", "hidden_goal": "Hidden goal"}
_CRITERIA = {"pass_criteria": "Pass", "partial_criteria": "Partial", "fail_criteria": "Fail"}
_SWAP = "__swap"
"""Stands between the key of a dialogue and the turn in the key of a conversation that was rewritten from it."""
RawRow = dict[str, Any]


def reviewing() -> "DialogueReviewing":
    """What the declaration names."""
    return DialogueReviewing()


class DialogueReviewing:
    """Reviews of dialogues, of a made corpus's folder as of a file in the official layout."""

    def items(self, corpus: Path) -> tuple[ReviewItem, ...]:
        """A dialogue each, in the order of the file."""
        return tuple(_item(Row.of(line), line.parse()) for line in _read(corpus))

    def apply(self, corpus: Path, reviews: Sequence[Review]) -> Mapping[str, str]:
        """The dialogues, and the control turns and audits of a folder."""
        items = self.items(corpus)
        settled = settle(items, reviews, str(corpus))
        settled.require_resolved(len(items))
        edits = {
            key: _Edits({tuple(name.split(".")): text for name, text in texts.items()})
            for key, texts in settled.edited.items()
        }
        lines = {_key(line.parse()): line for line in _read(corpus)}

        def dialogue(row: RawRow) -> RawRow | None:
            key = _key(row)
            return None if key in settled.rejected else edits[key].row(row) if key in edits else row

        def control(row: RawRow) -> RawRow | None:
            key, swapped, _ = _key(row).partition(_SWAP)
            if swapped and key in settled.rejected:
                return None
            return edits[key].control(row, lines[key].parse()) if swapped and key in edits else row

        def audits(row: RawRow) -> RawRow | None:
            key = _key(row)
            return None if key in settled.rejected else edits[key].audits(row) if key in edits else row

        changes = {CONTROLS_FILE: control, AUDITS_FILE: audits} if corpus.is_dir() else {}
        texts = {FILE if corpus.is_dir() else corpus.name: _written(lines.values(), dialogue)}
        further = {name: corpus / name for name in changes if (corpus / name).exists()}
        return texts | {name: _written(_lines(path), changes[name]) for name, path in further.items()}


def _read(corpus: Path) -> list[Line]:
    """The lines of the dialogues of a corpus that was read; raises a `CorpusError` as its reader does."""
    path = corpus / FILE if corpus.is_dir() else corpus
    if corpus.is_dir() and path.is_file():
        read_folder(corpus)
    else:
        read_jsonl(path)
    return [*_lines(path)]


def _lines(path: Path) -> Iterator[Line]:
    return lines_in(lines_of(read_bytes(str(path), "a corpus"), str(path)), str(path))


def _key(row: RawRow) -> str:
    return str(row["unique_id_eval"])


def _written(lines: Iterable[Line], change: Callable[[RawRow], RawRow | None]) -> str:
    """The lines of a file with their rows changed, those as they stand that are not; None leaves one out."""
    texts = list[str]()
    for line in lines:
        row = line.parse()
        if (changed := change(row)) is not None:
            texts.append(line.text.rstrip("\n") if changed is row else json.dumps(changed, ensure_ascii=False))
    return "".join(f"{text}\n" for text in texts)


def _objects(value: object) -> list[RawRow]:
    """The objects of a list that may be anything else."""
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("RawRow", one) for one in listed if isinstance(one, dict)]


def _item(row: Row, raw: RawRow) -> ReviewItem:
    """A dialogue as it is reviewed, from top to bottom."""
    scenario = cast("RawRow", raw["scenario"]) if isinstance(raw.get("scenario"), dict) else {}
    anchors = _objects(raw.get("anchors"))
    fields = [
        ReviewField(f"scenario.{name}", label, scenario[name], "Scenario", "line" if name == "title" else "text")
        for name, label in _SCENARIO.items()
        if isinstance(scenario.get(name), str)
    ]
    triggers = {point.turn: point for point in row.trigger_points}
    for turn in row.turn_records:
        keeps = [
            KeptQuote(anchor["quote"], f"the planted fact “{anchor.get('fact', anchor.get('id'))}”")
            for anchor in anchors
            if anchor.get("turn") == turn.turn and isinstance(anchor.get("quote"), str)
        ]
        after = (("assistant", turn.assistant_response),) if turn.assistant_response.strip() else ()
        name, heading = f"turns.{turn.turn}.user", f"Turn {turn.turn}"
        fields.append(ReviewField(name, "User", turn.user_message, heading, followed_by=after, keeps=tuple(keeps)))
        if turn.turn in triggers:
            fields += _rubric(triggers[turn.turn])
    sections = (
        [PageSection("the assistant's system text", "terms", (("system", row.system_text),))] if row.system_text else []
    )
    if planted := [(f"turn {one.get('turn', '?')}", _planted(one)) for one in anchors]:
        sections.append(PageSection("planted facts", "terms", tuple(planted)))
    phases = ", ".join(f"{point.evaluation_rubric.type} at turn {turn}" for turn, point in sorted(triggers.items()))
    domain = row.category_key.removesuffix("_persona")
    title = scenario.get("title") if isinstance(scenario.get("title"), str) else f"A dialogue on {domain}"
    return ReviewItem(
        row.unique_id_eval, f"{title} ({phases or 'no trigger'})", tuple(sections), tuple(fields), group=row.uuid
    )


def _rubric(point: RowTrigger) -> Iterator[ReviewField]:
    for name, label in _CRITERIA.items():
        text, heading = getattr(point.evaluation_rubric, name), f"Turn {point.turn}: {point.evaluation_rubric.type}"
        yield ReviewField(f"triggers.{point.turn}.{name}", label, text, f"{heading} trigger, graded by")


def _planted(anchor: RawRow) -> str:
    """What is planted at a turn, and what follows from it."""
    return "\n".join(str(anchor[name]) for name in ("fact", "consequence") if anchor.get(name))


@dataclass(frozen=True)
class _Edits:
    """The edits of one dialogue."""

    texts: Mapping[tuple[str, ...], str]
    """By the parts of a field's name."""

    def row(self, row: RawRow) -> RawRow:
        """The edited dialogue, with the names of what was edited."""
        row = cast("RawRow", json.loads(json.dumps(row)))  # a copy, in which anything may be changed
        for (kind, *path), text in self.texts.items():
            if kind == "scenario":
                row["scenario"][path[0]] = text
            elif kind == "turns":
                row["turn_records"][int(path[0]) - 1]["user_message"] = text
            else:
                number, name = int(path[0]), path[1]
                own = [point["evaluation_rubric"] for point in row["trigger_points"] if point["turn"] == number]
                planner = row["turn_records"][number - 1].get("planner")
                copy = planner.get("evaluation_rubric") if isinstance(planner, dict) else None
                for rubric in (*own, copy):
                    if isinstance(rubric, dict):
                        rubric[name] = text
        if proof := [one for one in _objects(row.pop("proof", None)) if not self._touches(one.get("turn"))]:
            row["proof"] = proof
        return row | {"edited": [*(row.get("edited") or []), *map(".".join, self.texts)]}

    def control(self, row: RawRow, original: RawRow) -> RawRow | None:
        """A conversation rewritten from the dialogue, edited alike; None where an edited message is rewritten in it."""
        messages = {turn["turn"]: turn["user_message"] for turn in original["turn_records"]}
        turns = list[RawRow]()
        for turn in row["turn_records"]:
            number = turn["turn"]
            text = self.texts.get(("turns", str(number), "user"))
            if text is not None and turn["user_message"] != messages.get(number):
                return None
            turns.append(turn if text is None else turn | {"user_message": text})
        return row | {"turn_records": turns}

    def audits(self, row: RawRow) -> RawRow:
        """What models said of the dialogue, without what they said of another text."""
        messages = [
            one for one in _objects(row.get("messages")) if ("turns", str(one.get("turn")), "user") not in self.texts
        ]
        of_triggers = {
            name: [one for one in _objects(row[name]) if not self._touches(one.get("turn"))]
            for name in ("rubrics", "swaps")
            if name in row
        }
        return row | ({"messages": messages} if "messages" in row else {}) | of_triggers

    def _touches(self, turn: object) -> bool:
        """Whether the trigger at a turn has another rubric, or another message at it or before it."""
        numbers = [(kind, int(path[0])) for kind, *path in self.texts if kind != "scenario"]
        return isinstance(turn, int) and any(
            number <= turn if kind == "turns" else number == turn for kind, number in numbers
        )
