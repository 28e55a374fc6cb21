"""The files of a made corpus: rows of the official layout, control turns, audits, brief, datasheet, page."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dspy_proact.benchmarks.proactbench.corpus.rows import TacticalOrder, row_of
from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief, brief_text
from dspy_proact.benchmarks.proactbench.generation.effect import proof_of
from dspy_proact.benchmarks.proactbench.generation.made import MadeCorpus, MadeDialogue
from dspy_proact.benchmarks.proactbench.generation.proof import controls_of
from dspy_proact.benchmarks.proactbench.report.corpus_page import corpus_page
from dspy_proact.benchmarks.proactbench.report.datasheet import datasheet
from dspy_proact.benchmarks.proactbench.types import Dialogue, Origin, Trigger, Turn
from dspy_proact.generation.maker import Kept, Made, Proof

DIALOGUES, CONTROLS, AUDITS = "final_dialogues.jsonl", "controls.jsonl", "audits.jsonl"
BRIEF, DATASHEET, PAGE = "brief.toml", "datasheet.md", "corpus.html"
_SCENARIO = "made"
"""Of every dialogue: personas are the units of folds."""


def corpus_of(
    brief: CorpusBrief, made: Made, proof: Proof, prompts: Mapping[str, str], key: Callable[[MadeDialogue], str]
) -> MadeCorpus:
    """What all files are written from.

    Args:
        brief: What the corpus was made from.
        made: What came of it.
        proof: How far it was proved.
        prompts: sha256 of what a stage says to its model, by stage.
        key: Names a dialogue.
    """
    controls = (trigger.published and trigger.proof for kept in made.kept for trigger in kept.item.triggers)
    return MadeCorpus(
        brief=brief,
        made=made,
        level=proof,
        prompts=prompts,
        proof=None if proof == "none" else proof_of([kept.item for kept in made.kept], _tester(made)),
        controls=sum(map(bool, controls)),
        keys={kept.slot: key(kept.item) for kept in made.kept},
    )


def files_of(corpus: MadeCorpus) -> Mapping[str, str]:
    """Names and contents."""
    rows, controls, audits = list[Any](), list[Any](), list[Any]()
    for kept in corpus.made.kept:
        item, key = kept.item, corpus.keys[kept.slot]
        dialogue, orders = dialogue_of(kept, key), _orders(item)
        scenario = item.scenario.model_dump(include={"title", "request", "hidden_goal"})
        rows.append(row_of(dialogue, orders, scenario=scenario, anchors=_anchors(item), proof=_proofs(item) or None))
        for control in controls_of(item, dialogue):
            last = len(control.turns)
            controls.append(row_of(control, orders[:last], control_turn=last))
        audits.append({"unique_id_eval": key, **_audits(item)})
    texts = {BRIEF: brief_text(corpus.brief), DATASHEET: datasheet(corpus), PAGE: corpus_page(corpus)}
    return {DIALOGUES: _lines(rows), CONTROLS: _lines(controls), AUDITS: _lines(audits), **texts}


def _tester(made: Made) -> str:
    """The models of the fresh answers."""
    return ", ".join(identity.name for identity in made.models.get("tester", ()))


def dialogue_of(kept: Kept, key: str) -> Dialogue:
    """A made dialogue as the corpus has it: with the triggers that were kept."""
    made: MadeDialogue = kept.item
    writers = [author.model for author in kept.authors if author.role == "assistant"]
    return Dialogue(
        origin=Origin(
            dialogue=key,
            persona=hashlib.sha256(made.persona.encode()).hexdigest()[:32],
            scenario_id=_SCENARIO,
            blueprint=key,
            life_domain=made.domain,
            style=made.style or 0,
            source_model=writers[0] if writers else "",
        ),
        turns=tuple(Turn(user=turn.message.message, assistant=turn.reply) for turn in made.turns),
        triggers=tuple(
            Trigger(turn=trigger.turn, rubric=trigger.rubric.criteria) for trigger in made.triggers if trigger.published
        ),
        system=made.scenario.system.strip() or None,
    )


def _orders(made: MadeDialogue) -> list[TacticalOrder]:
    plans = [turn.plan for turn in made.turns]
    return [
        TacticalOrder(intent=plan.intent, content_payload=plan.payload, behavioral_directive=plan.directive)
        for plan in plans
    ]


def _anchors(made: MadeDialogue) -> list[dict[str, Any]]:
    """The anchors that were disclosed, with turn and quote."""
    return [
        {**made.scenario.anchor(one.anchor).model_dump(), "turn": one.turn, "quote": one.quote}
        for one in made.disclosures
    ]


def _proofs(made: MadeDialogue) -> list[dict[str, Any]]:
    """What the anchor test of each trigger showed; swaps are rows of their own."""
    return [
        {
            "turn": trigger.turn,
            "anchors": trigger.rubric.anchors,
            "act": trigger.rubric.act,
            **trigger.proof.model_dump(mode="json", exclude={"swap", "audit"}),
        }
        for trigger in made.triggers
        if trigger.proof
    ]


def _audits(made: MadeDialogue) -> dict[str, Any]:
    return {
        "notes": made.notes,
        "lost": [lost.model_dump() for lost in made.lost],
        "messages": [{"turn": turn.turn, **turn.audit.model_dump(), "served": turn.served} for turn in made.turns],
        "rubrics": [{"turn": trigger.turn, **trigger.audit.model_dump()} for trigger in made.triggers],
        "swaps": [
            {"turn": trigger.turn, **trigger.proof.audit.model_dump()}
            for trigger in made.triggers
            if trigger.proof and trigger.proof.audit
        ],
        "chain": [link.model_dump() for link in made.chain],
    }


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
