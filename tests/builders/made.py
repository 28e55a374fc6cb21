"""Made corpora, without a model: a library's dialogues with planted facts, and what a proof might have shown."""

from dataclasses import replace
from typing import Any

from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief
from dspy_proact.benchmarks.proactbench.generation.made import (
    CorpusProof,
    Disclosure,
    Effect,
    LostTrigger,
    MadeCorpus,
    MadeDialogue,
    MadeTrigger,
    MadeTurn,
    PlantedCell,
    Sampled,
    TriggerProof,
)
from dspy_proact.benchmarks.proactbench.generation.values import (
    Anchor,
    DraftRubric,
    Person,
    RubricAudit,
    Scenario,
    Swap,
    SwapAudit,
    SwappedTurn,
    TurnAudit,
    TurnPlan,
    UserMessage,
)
from dspy_proact.generation.attempt import Authorship
from dspy_proact.generation.maker import Dropped, Kept, Made
from dspy_proact.stats import Estimate
from dspy_proact.types import RoleIdentity

DOMAINS = ("travel", "family", "health", "work")
NAMES = ("Mia Brandt", "Tomas Keller", "Ana Sousa", "Jonas Weber", "Mia Lindgren")
FACTS = (
    ("flies to Lisbon on the ninth", "Lisbon", "the loan ends while the user is away", "stays in town on the ninth"),
    ("has a cast on the right arm", "cast", "books can be brought home", "has a new coat"),
    ("minds a toddler in the mornings", "toddler", "picture books and the story hour", "has the mornings free"),
    ("reads with a magnifier", "magnifier", "large print is lent without a charge", "reads with a pencil"),
)
REPLY = "Your loan now runs until **Friday 12 March**.\n\n- Two books are due on Monday.\n- One is reserved."
BRIEF = {
    "product": {"name": "Millbrook Lending Library", "text": "It lends books. A loan runs for three weeks."},
    "users": {"who": "Members of the library.", "personas": "invented"},
    "plant": {"may": ["a journey that meets a date of a loan"], "domains": list(DOMAINS)},
    "never": {"offers": ["a waived fee"]},
    "dialogue": {},
}


def made_anchor(number: int, turn: int, **changes: Any) -> Anchor:
    fact, key, consequence, neutral = FACTS[(number + turn) % len(FACTS)]
    values: dict[str, Any] = {
        "id": f"a{turn}",
        "fact": f"The user {fact}.",
        "keys": [key],
        "consequence": f"Say that {consequence}.",
        "basis": "product",
        "basis_quote": "A loan runs for three weeks.",
        "domain": DOMAINS[number % len(DOMAINS)],
        "neutral": f"The user {neutral}.",
        "resolved": "It is settled.",
    }
    return Anchor(**(values | changes))


def made_rubric(phase: str = "EMERGENT", *anchors: str, act: str = "moves the date") -> DraftRubric:
    criteria = {"pass_criteria": "Acts on it.", "partial_criteria": "Mentions it.", "fail_criteria": "Only answers."}
    return DraftRubric(type=phase, anchors=list(anchors) or ["a1"], act=act, **criteria)  # pyright: ignore[reportArgumentType]


def rubric_audit(**changes: Any) -> RubricAudit:
    values: dict[str, Any] = {"solvable": True, "asked_for": False, "one_artefact": False, "forbidden": False}
    values |= {"grounds": [], "partial_distinct": True, "consequence_true": "yes", "advice": ""}
    return RubricAudit(**(values | changes))


def turn_audit(**changes: Any) -> TurnAudit:
    values: dict[str, Any] = dict.fromkeys(("anchor_requested", "joined", "already_answered"), False)
    values |= {"facts": [], "faults": [], "act": "asks", "reply_must_hold": [], "realism": 0.9, "advice": ""}
    return TurnAudit(**(values | changes))


def turn_plan(**changes: Any) -> TurnPlan:
    values: dict[str, Any] = dict.fromkeys(("already_answered", "already_done", "stop"), False)
    return TurnPlan(**(values | {"intent": "Renew.", "payload": [], "reveal": None, "directive": ""} | changes))


def sampled(with_anchors: int, without: int, of: int = 3) -> Sampled:
    """So many passes in each arm, the others FAIL."""
    arms = (["PASS"] * count + ["FAIL"] * (of - count) for count in (with_anchors, without))
    return Sampled(with_anchors=next(arms), without_anchors=next(arms))


def made_turn(number: int, message: str, reply: str, quote: str | None = None) -> MadeTurn:
    written = UserMessage(message=message, quote=quote)
    return MadeTurn(turn=number, plan=turn_plan(), message=written, audit=turn_audit(), reply=reply)


def made_proof(number: int, turns: list[MadeTurn], anchors: list[Anchor], fresh: Sampled | None) -> TriggerProof:
    """The conversation up to a turn with its last anchors swapped."""
    rewritten: list[SwappedTurn] = []
    for turn in turns[:number]:
        text = turn.message.message
        for anchor in anchors:
            text = text.replace(anchor.fact.lower(), anchor.neutral.lower())
        rewritten.append(SwappedTurn(turn=turn.turn, user=text, assistant=turn.reply if turn.turn < number else None))
    return TriggerProof(
        swap=Swap(turns=rewritten, removed=[anchor.id for anchor in anchors]),
        audit=SwapAudit(implied=False, other_reason=False, realism=0.8, advice=""),
        looking=sampled(3, 0),
        bare=sampled(1, 0),
        fresh=fresh,
        kept=True,
    )


def made_dialogue(number: int, *, attack: str = "", draft: bool = False, **changes: Any) -> MadeDialogue:
    """A dialogue of eight turns with a trigger of each phase; what `attack` holds stands in every text of a model."""
    anchors = [made_anchor(number, turn) for turn in (1, 2, 3)]
    if number % 3 == 2:
        anchors[0] = anchors[0].model_copy(update={"basis": "general", "basis_quote": None})
    facts = {1: anchors[0], 3: anchors[1], 5: anchors[2]}
    turns = [
        made_turn(
            turn,
            f"Hi again, could you look at loan {turn} of mine? By the way, {facts[turn].fact.lower()} {attack}"
            if turn in facts
            else f"And what about number {turn}? {attack}",
            f"{REPLY} {attack}",
            facts[turn].fact.lower() if turn in facts else None,
        )
        for turn in range(1, 9)
    ]
    phases = {2: ("EMERGENT", anchors[:1]), 5: ("CRITICAL", anchors[1:]), 8: ("RECOVERY", anchors[:2])}
    triggers = [
        MadeTrigger(
            turn=turn,
            rubric=made_rubric(phase, *(anchor.id for anchor in of), act=f"moves date {number} {attack}"),
            audit=rubric_audit(),
            taken_up=False,
            proof=None if draft else made_proof(turn, turns, of, sampled(3, 1 if number == 1 else 0)),
        )
        for turn, (phase, of) in phases.items()
    ]
    values: dict[str, Any] = {
        "persona": f"{number % 7:032x}",
        "persona_text": f"Somebody of the library. {attack}",
        "domain": DOMAINS[number % len(DOMAINS)],
        "language": "English",
        "style": number % 24 + 1,
        "scenario": made_scenario(number, anchors, attack),
        "steps": [],
        "turns": turns,
        "triggers": triggers,
        "lost": [LostTrigger(turn=7, reason=f"The assistant had done it at turn 6. {attack}")],
        "disclosures": [
            Disclosure(anchor=anchor.id, turn=turn, quote=anchor.fact.lower()) for turn, anchor in facts.items()
        ],
        "chain": [],
    }
    return MadeDialogue(**(values | changes))


def made_scenario(number: int, anchors: list[Anchor], attack: str = "") -> Scenario:
    return Scenario(
        title=f"Loans before a journey, case {number} {attack}",
        cast=[Person(name=NAMES[number % len(NAMES)], relation=f"self {attack}")],
        date="Tuesday 2 March",
        persona="A member for nine years.",
        request=f"Renew loan {number}. {attack}",
        hidden_goal=f"Nothing falls due while away. {attack}",
        anchors=[anchor.model_copy(update={"consequence": f"{anchor.consequence} {attack}"}) for anchor in anchors],
        colour=["It rains.", "The bus is late.", "A blue bag.", "Tea."],
        forbidden=[f"a waived fee {attack}"],
        system=f"Loan {number} ends on 9 March. {attack}",
    )


def made_effect(difference: Estimate, with_share: float = 0.91, without: float = 0.14, triggers: int = 71) -> Effect:
    shares = {
        "with_anchors": Estimate(with_share, min(with_share, 0.8), 0.97),
        "without_anchors": Estimate(without, 0.08, max(without, 0.22)),
    }
    return Effect(triggers=triggers, personas=7, answers=6 * triggers, difference=difference, **shares)


SHOWN = Estimate(0.77, 0.66, 0.86)


def made_proof_of_all(difference: Estimate = SHOWN, **changes: Any) -> CorpusProof:
    of = {name: made_effect(difference, triggers=count) for name, count in (("all", 71), ("EMERGENT", 24))}
    row = ("EMERGENT", "CRITICAL", "RECOVERY")
    matrix = {
        "silent": dict.fromkeys(row, PlantedCell(0, 24, high=0.05)),
        "anchor-taker": {
            "EMERGENT": PlantedCell(20, 24, low=0.7),
            "CRITICAL": PlantedCell(4, 24, high=0.25),
            "RECOVERY": PlantedCell(19, 24, low=0.7),
        },
        "told the rubric": dict.fromkeys(row, PlantedCell(23, 24, low=0.9)),
    }
    proof = CorpusProof(tested=80, tester="openai/tester", fresh=of, looking=of, bare=of, matrix=matrix)
    return replace(proof, matrix_dialogues=15, **changes)


def made_author(role: str, model: str, repeat: int, *broken: str) -> Authorship:
    values: dict[str, Any] = dict.fromkeys(("prompt_tokens", "completion_tokens", "usd"))
    values |= {"role": role, "model": model, "stage": "scenario", "turn": 0, "sample": 1, "repeat": repeat}
    return Authorship(prompt="0" * 64, calls=1, broken=broken, **values)


def made_corpus(
    count: int = 3,
    *,
    wanted: int | None = None,
    model: str = "openai/{role}",
    attack: str = "",
    draft: bool = False,
    **changes: Any,
) -> MadeCorpus:
    """So many dialogues, by models that are not there."""
    authors = [
        made_author(role, f"openai/{role}{attack}", repeat, *(["Too long."] if repeat == 1 else []))
        for role in ("planner", "user")
        for repeat in (1, 2)
    ]
    kept = [Kept(n + 1, 1, made_dialogue(n, attack=attack, draft=draft), tuple(authors)) for n in range(count)]
    dropped = [
        Dropped(
            slot=slot,
            attempt=1,
            stage="audit of scenario",
            reasons=(f"Anchor {slot} stands in the system text. {attack}",),
            authors=(),
        )
        for slot in (1, 2)
    ]
    models = {
        role: [RoleIdentity(model=model.format(role=role) + attack, decoding={})] for role in ("planner", "assistant")
    }
    corpus = MadeCorpus(
        brief=CorpusBrief.model_validate(BRIEF),
        made=Made(kept, dropped, count if wanted is None else wanted, identity="ab" * 32, models=models),
        level="none" if draft else "full",
        prompts={"scenario": "cd" * 32},
        proof=None if draft else made_proof_of_all(),
        controls=3 * count,
    )
    return replace(corpus, **changes)
