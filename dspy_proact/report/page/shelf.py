"""The cases of several runs side by side, as a page reads them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dspy_proact.report.page.block import Block
from dspy_proact.report.page.figures import letter
from dspy_proact.report.page.rendered import rendered
from dspy_proact.report.page.room import ROOM, even_length, shortened
from dspy_proact.report.particulars import Grounds, quoted
from dspy_proact.report.reading import Reading
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CONTROL, GivenVerdict, Outcome

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

    Raises:
        RunError: A view or a verdict is not what the benchmark writes.
    """
    runs = _runs(summaries)
    lengths: dict[int, int] = {}
    for key in _keys(runs):
        readings = [side and Reading.of(side, summaries[0].benchmark) for side in (run.get(key) for run in runs)]
        texts = (text for section in _fullest(readings).sections for _, text in section.items)
        lengths |= {hash(text): len(text) for text in texts}  # one that several cases share is held once
    return even_length(lengths.values(), ROOM)


def block(summaries: Sequence[Summary], longest: int | None = None) -> Iterator[str]:
    """The lines of a page's block of data.

    Args:
        summaries: At least one.
        longest: As `longest_text` says it.

    Raises:
        RunError: A view or a verdict is not what the benchmark writes.
    """
    first, runs = summaries[0], _runs(summaries)
    labels = list(dict.fromkeys(label for each in summaries for label in (*each.labels, *_control_labels(each))))
    strata = [*first.strata, *([CONTROL] if any(o.stratum == CONTROL for run in runs for o in run.values()) else [])]
    differing = _differing(runs)
    held, rows = Block(), list[list[Any]]()
    for key in _keys(runs):
        sides = [run.get(key) for run in runs]
        readings = [side and Reading.of(side, first.benchmark) for side in sides]
        there = next(side for side in sides if side)
        item = _item(readings, summaries, held, longest)
        place = held.add(item)
        marks = [_label(side, labels) for side in sides]
        flags = _flags(sides) | (DIFFERENT if key[0] in differing else 0)
        rows.append([*key, strata.index(there.stratum), marks, flags, _excerpt(readings), *place])
    head = {
        "runs": [summary.model_name for summary in summaries],
        "letters": [letter(run) for run in range(len(summaries))],
        "labels": labels,
        "tones": _tones(summaries, labels),
        "strata": strata,
        "control": first.nouns.control,
        "control_stratum": CONTROL,
        "epochs": max(key[1] for run in runs for key in run) if rows else 1,
        "rows": rows,
    }
    yield from held.lines(head)


def _runs(summaries: Sequence[Summary]) -> list[dict[Key, Outcome]]:
    """The outcomes of each run."""
    return [{(each.key, each.epoch): each for each in _outcomes(summary)} for summary in summaries]


def _keys(runs: Sequence[Mapping[Key, Outcome]]) -> dict[Key, None]:
    """Those of all runs, each once."""
    return dict.fromkeys(key for run in runs for key in run)


def _outcomes(summary: Summary) -> tuple[Outcome, ...]:
    return (*summary.outcomes, *summary.controls.outcomes)


def _control_labels(summary: Summary) -> tuple[str, ...]:
    return summary.manifest.control_labels if summary.manifest and summary.controls.outcomes else ()


def _tones(summaries: Sequence[Summary], labels: Sequence[str]) -> list[str]:
    """Of each label whether it is the best there is, the worst, or in between."""
    ends = [labels for each in summaries for labels in (each.labels, _control_labels(each)) if labels]
    best, worst = ({each[end] for each in ends} for end in (0, -1))
    return ["best" if label in best else "worst" if label in worst else "middle" for label in labels]


def _differing(runs: Sequence[Mapping[Key, Outcome]]) -> set[str]:
    """Cases with grades that differ between runs, between judges or between epochs."""
    seen: dict[str, str] = {}
    found = set[str]()
    for run in runs:
        for outcome in run.values():
            given = [each.label for each in outcome.verdicts]
            for label in [*given, *([outcome.label] if outcome.label else [])]:
                if seen.setdefault(outcome.key, label) != label:
                    found.add(outcome.key)
    return found


def _label(side: Outcome | None, labels: Sequence[str]) -> int:
    if side is None:
        return _ABSENT
    return labels.index(side.label) if side.label else _STATES[side.state]


def _flags(sides: Sequence[Outcome | None]) -> int:
    there = [side for side in sides if side]
    unverified = any(verdict.verified is False for side in there for verdict in side.verdicts)
    unscored = any(side.state == "unscored" for side in there)
    return UNVERIFIED * unverified | UNSCORED * unscored


def _excerpt(readings: Sequence[Reading | None]) -> str:
    """How the last that was said before the answer begins; where nothing was said, how the first answer does."""
    there = [each for each in readings if each]
    chats = [section.items[-1][1] for section in there[0].sections if section.kind == "chat" and section.items]
    said = next(iter([*chats, *(each.answer for each in there if each.answer)]), "")
    line = " ".join(said[: 4 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else f"{line[: _EXCERPT - 1]}…"


def _fullest(readings: Sequence[Reading | None]) -> Reading:
    """The one that says most of a case: a results file says less of it than a run does."""
    there = (each for each in readings if each)
    return max(there, key=lambda each: sum(len(text) for section in each.sections for _, text in section.items))


def _item(
    readings: Sequence[Reading | None], summaries: Sequence[Summary], held: Block, longest: int | None
) -> dict[str, Any]:
    outcome, said = next(each for each in readings if each).outcome, summaries[0].particulars
    fullest, number = _fullest(readings), held.texts.number
    return {
        "group": outcome.group,
        "meta": [[key, str(value)] for key, value in outcome.meta.items() if key not in said.ungrouped],
        "sections": [
            [section.title, section.kind, [[name, number(shortened(text, longest))] for name, text in section.items]]
            for section in fullest.sections
        ],
        "sides": [
            each
            and _side(each, summary, held)
            | ({} if said.alike(fullest.outcome.view, each.outcome.view) else {"otherwise": True})
            for each, summary in zip(readings, summaries, strict=True)
        ],
    }


def _side(reading: Reading, summary: Summary, held: Block) -> dict[str, Any]:
    """What one run has of a case; what is not there has no key."""
    outcome, number = reading.outcome, held.texts.number
    told: dict[str, Any] = {"state": outcome.state, "truncated": outcome.truncated, "awaited": outcome.awaited}
    if (answer := reading.answer) is not None:
        spans = quoted(quote for grounds in reading.grounds for quote in grounds.quotes)
        told["response"] = number(answer)
        told["marks"] = _in_utf16(answer, spans)
        told["rendered"] = rendered(answer, spans)
    names = summary.judge_names
    told["verdicts"] = [
        _verdict(verdict, grounds, names, held)
        for verdict, grounds in zip(outcome.verdicts, reading.grounds, strict=True)
    ]
    told["unread"] = [[names.get(judge or "", judge), reason] for judge, reason in outcome.unread]
    whole = {"label": outcome.label, "reason": outcome.reason, **told}
    # The first text has the number 0.
    return {name: value for name, value in whole.items() if value or name == "response"}


def _verdict(verdict: GivenVerdict, grounds: Grounds, names: Mapping[str, str], held: Block) -> dict[str, Any]:
    number = held.texts.number
    return {
        "judge": names.get(verdict.judge or "", verdict.judge),
        "epoch": verdict.judge_epoch,
        "label": verdict.label,
        "score": verdict.score,
        "verified": verdict.verified,
        "reasons": number(grounds.reasons),
        "quotes": [[number(each.text), each.start is not None, each.short] for each in grounds.quotes],
        "points": [[number(name), number(text)] for name, text in grounds.points],
    }


def _in_utf16(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in a text, counted as a browser counts them."""
    if text.isascii():
        return list(spans)
    return [(_units(text[:start]), _units(text[:end])) for start, end in spans]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
