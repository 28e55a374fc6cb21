"""The cases of several runs side by side, as JSON in one compressed block of a page.

    block  := head, chunk*     one line each: JSON, deflated, in base64
    head   := what is read first, and of each chunk the number of its first text
    chunk  := items, each with the texts that it is the first to hold

Texts are numbered over all chunks and stored once, however many items hold them. A page has room for `ROOM` characters
of what stood before the answers, so that a browser can open it: tens of megabytes, not hundreds.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.measured_run import names_of
from dspy_proact.evaluation.reporting import Grounds, PageSection, quoted
from dspy_proact.plain_text import encodable
from dspy_proact.report.numbers import fields_of, letter
from dspy_proact.report.page.figures import look
from dspy_proact.report.page.rendered import rendered
from dspy_proact.report.page.replies import REPLY_ROOM, Raw, raw_replies
from dspy_proact.report.reading import Reading
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CONTROL, Outcome

IMAGE_ROOM = 20_000_000
"""Characters of images that a page has room for."""
ROOM = 60_000_000
"""Characters of what stood before the answers; packed they are about 20 MB of a page."""


def even_length(lengths: Iterable[int], room: int) -> int | None:
    """The length to which texts are cut so that all of them have room, whatever their number; None for no need."""
    ordered = sorted(lengths)
    for index, length in enumerate(ordered):
        share = room // (len(ordered) - index)
        if length > share:
            return share
        room -= length
    return None


def shortened(text: str, longest: int | None) -> str:
    """The text, or its beginning and how much is left out."""
    if longest is None or len(text) <= longest:
        return text
    return f"{text[:longest]}… [{len(text) - longest:,} more characters]"


_CHUNK = 256 * 1024
"""Characters of JSON after which a chunk ends."""
Item = Mapping[str, Any]


class Block:
    """Items in chunks, each with the texts that it is the first to hold."""

    def __init__(self):
        self.image_room = IMAGE_ROOM
        self._numbers: dict[str, int] = {}
        self._new: list[str] = []
        self._lines: list[str] = []
        self._firsts: list[int] = []
        self._items: list[str] = []
        self._size = self._first = 0

    def number(self, text: str) -> int:
        """That of a text, in the order in which texts are first met."""
        if text not in self._numbers:
            self._numbers[text] = len(self._numbers)
            self._new.append(text)
        return self._numbers[text]

    def image(self, uri: str) -> int | None:
        """The number of an image, which is stored once too; None where there is no room for it."""
        if uri not in self._numbers:
            if len(uri) > self.image_room:
                return None
            self.image_room -= len(uri)
        return self.number(uri)

    def add(self, item: Item) -> tuple[int, int]:
        """Add an item whose texts were numbered just before; the number of its chunk, and its place in it."""
        added = _json({"texts": self._new, **item})
        position = len(self._lines), len(self._items)
        self._items.append(added)
        self._new = []
        self._size += len(added)
        if self._size > _CHUNK:
            self._end()
        return position

    def lines(self, head: Item) -> Iterable[str]:
        """The block; nothing can be added after that."""
        if self._items:
            self._end()
        return [_packed(_json({**head, "firsts": self._firsts})), *self._lines]

    def _end(self) -> None:
        self._lines.append(_packed(f"[{','.join(self._items)}]"))
        self._firsts.append(self._first)
        self._items, self._size, self._first = [], 0, len(self._numbers)


def _json(value: Item) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(encodable(text).encode(), 9)).decode()


Key = tuple[str, int]
"""A case and an epoch."""
_EXCERPT = 140
"""Characters of a case that a list shows."""
_STATES = {"unscored": -1, "pending": -2}
_ABSENT = -3
"""In place of a label's number, where a run does not have the case."""
UNVERIFIED, UNSCORED, DIFFERENT = 1, 2, 4
"""Bits of a row: a verdict without a quote that stands, no grade, and grades that differ between runs, between
judges or between epochs."""


def longest_text(summaries: Sequence[Summary]) -> int | None:
    """Characters of a text of what stood before the answers that a page has room for; None for all there are.

    Raises a `RunError` where a view or a verdict is not what the benchmark writes.
    """
    runs = _runs(summaries)
    lengths: dict[int, int] = {}
    for key in _keys(runs):
        readings = _readings([run.get(key) for run in runs], summaries)
        texts = (text for section in _fullest(readings).sections for _, text in section.items)
        lengths |= {hash(text): len(text) for text in texts}  # one that several cases share is held once
    return even_length(lengths.values(), ROOM)


def block(summaries: Sequence[Summary], longest: int | None = None) -> Iterator[str]:
    """The lines of a page's block of data; `longest` is that of `longest_text`, and so are errors."""
    first, runs = summaries[0], _runs(summaries)
    of_controls = [run.manifest.control_labels for run in summaries if run.manifest and run.controls.outcomes]
    scales = [scale for scale in (*(run.labels for run in summaries), *of_controls) if scale]
    labels = list(dict.fromkeys(label for scale in scales for label in scale))
    best, worst = ({scale[end] for scale in scales} for end in (0, -1))
    strata = [*first.strata, *([CONTROL] if any(o.stratum == CONTROL for run in runs for o in run.values()) else [])]
    differing = _differing(runs)
    held, rows = Block(), list[list[Any]]()
    raw = [raw_replies(summary, REPLY_ROOM // len(summaries)) for summary in summaries]
    for key in _keys(runs):
        sides = [run.get(key) for run in runs]
        readings = _readings(sides, summaries)
        there = next(side for side in sides if side)
        item = _item(readings, summaries, [replies.get(key, ()) for replies in raw], held, longest)
        position = held.add(item)
        graded = [side and (labels.index(side.label) if side.label else _STATES[side.state]) for side in sides]
        marks = [_ABSENT if mark is None else mark for mark in graded]
        flags = DIFFERENT if key[0] in differing else 0
        if any(verdict.verified is False for side in sides if side for verdict in side.verdicts):
            flags |= UNVERIFIED
        if any(side.state == "unscored" for side in sides if side):
            flags |= UNSCORED
        rows.append([*key, strata.index(there.stratum), marks, flags, _excerpt(readings), *position])
    head = {
        "runs": names_of(summaries),
        "letters": [letter(run) for run in range(len(summaries))],
        "looks": [look(run) for run in range(len(summaries))],
        "labels": labels,
        "tones": ["best" if label in best else "worst" if label in worst else "middle" for label in labels],
        "strata": strata,
        "control": first.nouns.control,
        "controls": first.nouns.controls,
        "control_stratum": CONTROL,
        "epochs": max(key[1] for run in runs for key in run) if rows else 1,
        "rows": rows,
    }
    yield from held.lines(head)


def _runs(summaries: Sequence[Summary]) -> list[dict[Key, Outcome]]:
    return [
        {(outcome.key, outcome.epoch): outcome for outcome in (*summary.outcomes, *summary.controls.outcomes)}
        for summary in summaries
    ]


def _readings(sides: Sequence[Outcome | None], summaries: Sequence[Summary]) -> list[Reading | None]:
    """What each run has of a case; of a private corpus without a text, since a page is made to be passed on."""
    readings = [side and Reading.of(side, summaries[0].benchmark) for side in sides]
    if not any(summary.manifest and summary.manifest.corpus.private for summary in summaries):
        return readings
    left_out = PageSection(
        "inputs", "terms", (("left out", "the corpus is of real people; `show` reads what was kept"),)
    )
    return [
        reading
        and Reading(
            reading.outcome, (left_out,), tuple(Grounds("") for _ in reading.grounds), reading.answer and "(left out)"
        )
        for reading in readings
    ]


def _keys(runs: Sequence[Mapping[Key, Outcome]]) -> dict[Key, None]:
    """Those of all runs, each once."""
    return dict.fromkeys(key for run in runs for key in run)


def _differing(runs: Sequence[Mapping[Key, Outcome]]) -> set[str]:
    """Cases with grades that differ between runs, between judges or between epochs."""
    seen: dict[str, str] = {}
    differing = set[str]()
    for run in runs:
        for outcome in run.values():
            labels = [verdict.label for verdict in outcome.verdicts]
            for label in [*labels, *([outcome.label] if outcome.label else [])]:
                if seen.setdefault(outcome.key, label) != label:
                    differing.add(outcome.key)
    return differing


def _excerpt(readings: Sequence[Reading | None]) -> str:
    """How the last that was said before the answer begins; where nothing was said, how the first answer does."""
    there = [reading for reading in readings if reading]
    chats = [section.items[-1][1] for section in there[0].sections if section.kind == "chat" and section.items]
    text = next(iter([*chats, *(reading.answer for reading in there if reading.answer)]), "")
    line = " ".join(text[: 4 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else f"{line[: _EXCERPT - 1]}…"


def _fullest(readings: Sequence[Reading | None]) -> Reading:
    """The one that says most of a case: a results file says less of it than a run does."""
    there = (reading for reading in readings if reading)
    return max(there, key=lambda reading: sum(len(text) for section in reading.sections for _, text in section.items))


def _item(
    readings: Sequence[Reading | None],
    summaries: Sequence[Summary],
    raw: Sequence[Raw],
    held: Block,
    longest: int | None,
) -> dict[str, Any]:
    outcome, reporting = next(reading for reading in readings if reading).outcome, summaries[0].reporting
    fullest, number = _fullest(readings), held.number
    return {
        "group": outcome.group,
        "meta": [[key, str(value)] for key, value in outcome.meta.items() if key not in reporting.ungrouped],
        "sections": [
            [section.title, section.kind, [[name, number(shortened(text, longest))] for name, text in section.items]]
            for section in fullest.sections
        ],
        "sides": [
            reading
            and _side(reading, summary, replies, held)
            | ({} if reporting.alike(fullest.outcome, reading.outcome) else {"rephrased": True})
            for reading, summary, replies in zip(readings, summaries, raw, strict=True)
        ],
    }


def _side(reading: Reading, summary: Summary, raw: Raw, held: Block) -> dict[str, Any]:
    """What one run has of a case; what is not there has no key."""
    outcome, number, names = reading.outcome, held.number, summary.judge_names
    side = fields_of(outcome, "label", "reason", "cause", "state", "truncated", "awaited")
    if (answer := reading.answer) is not None:
        spans = quoted(quote for grounds in reading.grounds for quote in grounds.quotes)
        side["response"] = number(answer)
        # Places in the text, counted as a browser counts them.
        side["marks"] = spans if answer.isascii() else [(_units(answer[:a]), _units(answer[:b])) for a, b in spans]
        side["rendered"] = rendered(answer, spans)
    side["verdicts"] = [
        {
            "judge": names.get(verdict.judge or "", verdict.judge),
            "epoch": verdict.judge_epoch,
            **fields_of(verdict, "label", "score", "verified"),
            "reasons": number(grounds.reasons),
            "quotes": [[number(quote.text), quote.start is not None, quote.short] for quote in grounds.quotes],
            "points": [[number(name), number(text)] for name, text in grounds.points],
        }
        for verdict, grounds in zip(outcome.verdicts, reading.grounds, strict=True)
    ]
    side["unread"] = [[names.get(judge or "", judge), failure.reason] for judge, failure in outcome.unread]
    side["images"] = list(_images(reading, summary, held))
    side["raw"] = [[name, number(text)] for name, text in raw]
    # The first text has the number 0.
    return {name: value for name, value in side.items() if value or name == "response"}


def _images(reading: Reading, summary: Summary, held: Block) -> Iterator[list[Any]]:
    """Of each image that was shown its caption, and its number or why there is none."""
    try:
        shown = summary.reporting.thumbnails(summary.manifest, reading.outcome) if summary.manifest else ()
        for thumbnail in shown:
            number = held.image(thumbnail.load()) if held.image_room else None
            if number is None and held.image_room < IMAGE_ROOM // 100:
                held.image_room = 0  # a page of many cases is not to read images that it does not hold
            reason = [] if number is not None else ["no room for more images"]
            yield [thumbnail.caption, number, *reason]
    except CorpusError as error:
        yield ["images", None, str(error)]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
