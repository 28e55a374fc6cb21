"""How a made corpus of ProactBench is published: its rows, and what its card says of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.proactbench.corpus.dialogues import CONTROLS_FILE, FILE
from dspy_proact.benchmarks.proactbench.corpus.personas import attribution
from dspy_proact.benchmarks.proactbench.generation.effect import effect_of
from dspy_proact.benchmarks.proactbench.generation.made import Sampled
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.publish.publishing import DataTable, Description, PublicData, Publishing, Row
from dspy_proact.report.numbers import counted, percent, points_of

DIALOGUES, CONTROLS = "dialogues", "controls"
_SWAP = "__swap"
"""In the key of a control dialogue, after that of the dialogue that it is a swap of."""
_MESSAGES = {
    "user_messages": ("turn_records", "$[*].user_message"),
    "assistant_responses": ("turn_records", "$[*].assistant_response"),
}
_PURPOSE = "Measures whether an assistant acts on what its users disclose and do not ask about."
INSTANCE = (
    "An instance is a dialogue: user messages, responses, a system text, the facts planted in it, and at each trigger "
    "a rubric that was written before the response. Rubrics are the labels. Control dialogues lack the planted facts, "
    "and an assistant should offer nothing there. Personas are the units of splitting and of clustering."
)
METHOD = (
    "A planner writes a scenario, a blueprint and each turn's plan and rubric; another model plays the user and sees "
    "no rubric, no goal and no blueprint; the assistant sees the chat and the system text; an auditor checks what they "
    "write, after rules in code. What breaks a rule is asked for again twice, then the stage before is repeated, then "
    "the attempt is dropped."
)
_USES = (
    "For measuring an assistant of this product, and for compiling one; for no claim about assistants as such.",
    "A model that was trained on it has no score on it that could be trusted.",
)
_LIMITS = (
    "An anchor test asks if a pass depends on the planted facts, not if the act is what people would want.",
    "Users are played by models: real ones disclose less neatly, and in other words.",
)


def _key(_: str, row: Row) -> str:
    return str(row["unique_id_eval"]).partition(_SWAP)[0]


def _group(_: str, row: Row) -> str:
    return str(row["uuid"])


def describe(data: PublicData) -> Description:
    """What card, datasheet and metadata say, with counts of what is published."""
    brief: Mapping[str, Any] = data.brief
    rows, controls = data.rows[DIALOGUES], data.rows.get(CONTROLS, ())
    phases = [point["evaluation_rubric"]["type"] for row in rows for point in row["trigger_points"]]
    domains = {row["category_key"] for row in rows}
    return Description(
        title=f"Dialogues for {brief['product']['name']}",
        language=brief["dialogue"]["language"],
        purpose=_PURPOSE,
        instance=INSTANCE,
        counts=[
            ("dialogues", f"{len(rows):,}"),
            ("turns", f"{sum(len(row['turn_records']) for row in rows):,}"),
            ("triggers", f"{len(phases):,}"),
            *((f"triggers, {phase}", f"{phases.count(phase):,}") for phase in Phase),
            ("personas", f"{len({row['uuid'] for row in rows}):,}"),
            ("parts of life", f"{len(domains):,}"),
            ("control dialogues", f"{len(controls):,}"),
        ],
        method=METHOD,
        proof=[*_proof(rows)],
        uses=_USES,
        limits=_LIMITS,
        attributions=(
            attribution(brief["users"]["personas"]),
            "The brief is of the person who wrote it.",
        ),
        product=brief["product"]["text"],
    )


def _proof(rows: Sequence[Row]) -> Iterator[str]:
    """The effect of the triggers that are published, by fresh answers, which selected nothing."""
    triggers = [(row["uuid"], point["turn"], row) for row in rows for point in row["trigger_points"]]
    proofs = {(row["unique_id_eval"], proof["turn"]): proof for row in rows for proof in row.get("proof") or ()}
    tested = [
        (persona, Sampled.model_validate(fresh))
        for persona, turn, row in triggers
        if (fresh := proofs.get((row["unique_id_eval"], turn), {}).get("fresh"))
    ]
    if not tested:
        yield "No anchor test of these triggers gave fresh answers: whether a pass depends on the facts is unknown."
        return
    effect = effect_of(tested)
    known = effect.difference
    rest = "95 % intervals clustered by persona" if known.low is not None else known.reason
    yield (
        f"Anchor test: {effect.triggers} of {len(triggers)} triggers have fresh answers by an assistant that was told "
        f"to look, {counted(effect.answers, 'answer')} of {counted(effect.personas, 'persona')}. With the facts "
        f"{percent(effect.with_anchors)} % pass, without them {percent(effect.without_anchors)} %: a difference of "
        f"{points_of(known)} points{f' ({rest})' if rest else ''}."
    )


def publishing() -> Publishing:
    """How corpora of ProactBench are published."""
    return Publishing(
        tables=(
            DataTable(
                DIALOGUES, FILE, "a dialogue with its triggers and their rubrics", _key, _group, arrays=_MESSAGES
            ),
            DataTable(
                CONTROLS,
                CONTROLS_FILE,
                "a dialogue without planted facts, and the turn that is answered",
                _key,
                _group,
                arrays=_MESSAGES,
            ),
        ),
        describe=describe,
        metric="strict",
        items=("dialogue", "dialogues"),
        groups=("persona", "personas"),
    )
