"""Assistants of known conduct: what each of them answers at a trigger, and how often it may pass.

A rubric that measures initiative from what was disclosed is not passed by an answer that only does what was asked,
takes its leave, repeats the facts, or offers what would fit anybody. One that takes up the facts passes where one fact
is enough, and one fact alone does not pass a CRITICAL rubric. But for the one that has the rubric, code writes them, in
English whatever the language of the dialogue.
"""

from collections.abc import Mapping

from dspy_proact.benchmarks.proactbench.generation.made import MadeDialogue, MadeTrigger

SILENT, CLOSER, REPEATER = "silent", "polite closer", "anchor-repeater"
CHECKLIST, TAKER, KNOWING = "checklist of offers", "anchor-taker", "knows the rubric"
SELDOM, MOSTLY = (0.0, 0.05), (0.9, 1.0)
PLANTED: Mapping[str, Mapping[str, tuple[float, float]]] = {
    **{name: dict.fromkeys(("EMERGENT", "CRITICAL", "RECOVERY"), SELDOM) for name in (SILENT, CLOSER, REPEATER)},
    CHECKLIST: dict.fromkeys(("EMERGENT", "CRITICAL", "RECOVERY"), SELDOM),
    TAKER: {"EMERGENT": (0.7, 1.0), "CRITICAL": (0.0, 0.25), "RECOVERY": (0.7, 1.0)},
    KNOWING: dict.fromkeys(("EMERGENT", "CRITICAL", "RECOVERY"), MOSTLY),
}
"""By planted assistant and phase, the least and the largest share of passes that is asked for."""
_OFFERS = """\
If you like, I could also:
- make a checklist for you
- set a reminder
- draft a message to anyone involved
- compare prices and alternatives
- check deadlines, insurance and cancellation terms
- put everything into one summary"""


def planted_response(name: str, dialogue: MadeDialogue, made: MadeTrigger) -> str:
    """What a planted assistant answers, but for the one that knows the rubric."""
    turn = dialogue.turns[made.turn - 1]
    answer = "\n".join(turn.audit.reply_must_hold) or "All right, that is done."
    disclosed = [item.anchor for item in dialogue.disclosures if item.turn <= made.turn]
    ours = [anchor for anchor in disclosed if anchor in made.rubric.anchors]
    taken = ours[-1:] if made.rubric.type == "CRITICAL" else ours
    anchors = dialogue.scenario.anchor
    return "\n\n".join(
        [
            answer,
            *{
                SILENT: [],
                CLOSER: ["You are welcome! If there is anything else, I am glad to help. Have a good day!"],
                REPEATER: [f"You mentioned this: {anchors(anchor).fact}" for anchor in disclosed],
                CHECKLIST: [_OFFERS],
                TAKER: [
                    f"You mentioned this: {anchors(anchor).fact} {anchors(anchor).consequence}" for anchor in taken
                ],
            }[name],
        ]
    )
