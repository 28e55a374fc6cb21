"""A case as JSON: what became of it, and all there is to read of it. The shape of both is a promise."""

from collections.abc import Iterable, Sequence
from typing import Any

from dspy_proact.report.outcome import Outcome
from dspy_proact.report.reading import Reading
from dspy_proact.report.section import Section
from dspy_proact.runs import Nouns


def outcome_document(outcome: Outcome, nouns: Nouns) -> dict[str, Any]:
    """What became of a case in one epoch; `grade`, `reason` and `response` are null where there is none.

    Key, stratum and group stand under what the benchmark calls them.
    """
    return {
        nouns.case: outcome.key,
        nouns.stratum: outcome.stratum,
        nouns.group: outcome.group,
        "epoch": outcome.epoch,
        "state": outcome.state,
        "grade": outcome.label,
        "score": outcome.score if outcome.label is not None else None,
        "reason": outcome.reason,
        "response": outcome.response,
        "truncated": outcome.truncated,
        "verdicts": [
            {"judge": each.judge, "judge_epoch": each.judge_epoch, "grade": each.label, "verified": each.verified}
            for each in outcome.verdicts
        ],
        "unread": [{"judge": judge, "reason": reason} for judge, reason in outcome.unread],
    }


def reading_document(reading: Reading, nouns: Nouns) -> dict[str, Any]:
    """The same with what stood there before the answer, and what each verdict rests on."""
    told = outcome_document(reading.outcome, nouns)
    for verdict, grounds in zip(told["verdicts"], reading.grounds, strict=True):
        verdict["reasons"] = grounds.reasons
        verdict["quotes"] = [quote.model_dump() for quote in grounds.quotes]
        verdict["points"] = _named(grounds.points, "name", "text")
    return told | {"sections": sections_document(reading.sections)}


def sections_document(sections: Iterable[Section]) -> list[dict[str, Any]]:
    """What stood there before an answer: messages by `speaker`, or terms by `name`, each with its `text`."""
    first = {"chat": "speaker", "terms": "name"}
    return [
        {"title": each.title, "kind": each.kind, "items": _named(each.items, first[each.kind], "text")}
        for each in sections
    ]


def _named(pairs: Sequence[tuple[str, str]], *names: str) -> list[dict[str, str]]:
    return [dict(zip(names, pair, strict=True)) for pair in pairs]
