"""The files of a corpus of logs: rows of the official layout, logged responses, what was taken out, and the page.

All but `redacted.jsonl` and the page hold the redacted conversations alone.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from dspy_proact.benchmarks.proactbench.corpus.dialogues import CONTROLS_FILE, FILE, LOGGED_FILE, trigger_key
from dspy_proact.benchmarks.proactbench.corpus.rows import TacticalOrder, row_of
from dspy_proact.benchmarks.proactbench.generation.brief import brief_text
from dspy_proact.benchmarks.proactbench.generation.files import AUDITS, BRIEF, DATASHEET
from dspy_proact.benchmarks.proactbench.logs.datasheet import datasheet
from dspy_proact.benchmarks.proactbench.logs.page import overlooked_page
from dspy_proact.benchmarks.proactbench.logs.summary import LogCorpus, LogSummary
from dspy_proact.benchmarks.proactbench.logs.values import LoggedTrigger, MinedDialogue
from dspy_proact.benchmarks.proactbench.types import LOGGED, Dialogue, Origin, Trigger, Turn
from dspy_proact.plain_text import shortened

RESPONSES, REDACTED, PAGE = LOGGED_FILE, "redacted.jsonl", "overlooked.html"
_DOMAIN = "logs"
_NO_ORDER = TacticalOrder(intent="", content_payload=[], behavioral_directive="")
"""Nobody planned what the user was to say."""


def files_of(corpus: LogCorpus) -> Mapping[str, str]:
    """Names and contents; of conversations without a trigger, `audits.jsonl` alone has those that are no control."""
    summary = LogSummary(corpus)
    rows, controls, responses, removed, audits = (list[Any]() for _ in range(5))
    for kept, mined in summary.dialogues:
        logged, key = corpus.log.conversations[kept.slot - 1], mined.dialogue.key
        audits.append({"unique_id_eval": key, **_audits(mined)})
        removed.append(
            {
                "conversation": key,
                "source": logged.chat.source,
                "original_sha256": logged.sha256,
                "removed": [one.model_dump() for one in mined.dialogue.redacted],
            }
        )
        if mined.control:
            controls.append(_control(mined, mined.control))
        if mined.triggers:
            rows.append(_row(mined))
            responses += [
                {"key": trigger_key(key, one.turn), "response": mined.dialogue.response(one.turn)}
                for one in mined.triggers
            ]
    texts = {BRIEF: brief_text(corpus.brief), DATASHEET: datasheet(summary), PAGE: overlooked_page(summary)}
    tables = {FILE: rows, CONTROLS_FILE: controls, RESPONSES: responses, REDACTED: removed, AUDITS: audits}
    return {**{name: _lines(table) for name, table in tables.items()}, **texts}


def _dialogue(mined: MinedDialogue, last: int | None = None) -> Dialogue:
    """A conversation as corpora have it, up to a turn."""
    of = mined.dialogue
    return Dialogue(
        origin=Origin(
            dialogue=of.key,
            persona=of.sha256[:32],
            scenario_id=LOGGED,
            blueprint=of.key,
            life_domain=_DOMAIN,
            style=0,
            source_model=LOGGED,
        ),
        turns=tuple(Turn(user=turn.user, assistant=turn.assistant) for turn in of.turns[:last]),
        triggers=tuple(Trigger(turn=one.turn, rubric=one.rubric.criteria) for one in mined.triggers),
        system=of.system,
    )


def _control(mined: MinedDialogue, turn: int) -> dict[str, Any]:
    return row_of(_dialogue(mined, turn), [_NO_ORDER] * turn, control_turn=turn)


def _row(mined: MinedDialogue) -> dict[str, Any]:
    dialogue = mined.dialogue
    return row_of(
        _dialogue(mined),
        [_NO_ORDER] * len(dialogue.turns),
        scenario={"title": shortened(dialogue.turns[0].user)},
        anchors=[
            {**anchor.model_dump(), "turn": fact.turn, "quote": fact.quote}
            for one in mined.triggers
            for anchor, fact in zip(one.anchors, one.need.facts, strict=True)
        ],
        proof=[{"turn": one.turn, "anchors": one.rubric.anchors, "act": one.rubric.act} for one in mined.triggers],
    )


def _audits(mined: MinedDialogue) -> dict[str, Any]:
    """What models said of a conversation, triggers or not."""
    dialogue = mined.dialogue
    return {
        "language": dialogue.language,
        "orders": dialogue.orders,
        "redacted": dict(sorted(Counter(one.kind for one in dialogue.redacted).items())),
        "lost": [lost.model_dump() for lost in mined.lost],
        "needs": [_need(one) for one in mined.triggers],
        "rubrics": [{"turn": one.turn, **one.audit.model_dump()} for one in mined.triggers],
    }


def _need(one: LoggedTrigger) -> dict[str, Any]:
    verdict = one.verdict and one.verdict.model_dump(mode="json")
    return {"turn": one.turn, **one.need.model_dump(), "after": one.after.model_dump(), "verdict": verdict}


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
