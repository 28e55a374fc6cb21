"""The nouns of ProactBench, as frozen values, and what each role may see of them.

A `Dialogue` has the text and the rubrics, its `Origin` the ids and grouping keys for reports. A program is handed a
view and nothing else; no view has a field for persona, style, scenario, ids, planner's notes, the curated response at
the trigger or anything later.

`Turn` and `Rubric` are input types of the judge's signature: their field names are prompt text.
"""

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field

from dspy_proact.runs import Nouns, usable  # noqa: F401 - readers of responses take it from here
from dspy_proact.types import Frozen, Quote

HELD_BACK, UNWANTED = "HELD_BACK", "UNWANTED"
"""What a response at a control turn did: only answer, or offer what nobody asked for."""
CONTROL_LABELS = (HELD_BACK, UNWANTED)
NOUNS = Nouns(case="trigger", stratum="phase", group="scenario", control="control turn", row="dialogue")


def _system() -> Any:
    """The field of a dialogue's system text. Where there is none it is not written: hashes and files stay the same."""
    return Field(default=None, exclude_if=lambda value: value is None)


class Phase(StrEnum):
    """When in a conversation initiative is asked for."""

    EMERGENT = "EMERGENT"
    """One clue has been disclosed."""
    CRITICAL = "CRITICAL"
    """Several clues have been disclosed and nobody has joined them."""
    RECOVERY = "RECOVERY"
    """The task is done; what would still be of value?"""


class Grade(StrEnum):
    """A judge's or a person's grade for one response, from best to worst."""

    PASS = "PASS"
    PARTIAL = "PARTIAL"
    FAIL = "FAIL"

    @property
    def score(self) -> float:
        """PASS 1, PARTIAL 0.5, FAIL 0: in [0, 1], higher is better."""
        return {Grade.PASS: 1.0, Grade.PARTIAL: 0.5, Grade.FAIL: 0.0}[self]


class Rubric(Frozen):
    """What earns each grade at one trigger, written before any response."""

    phase: Phase
    pass_criteria: str
    partial_criteria: str
    fail_criteria: str


class Turn(Frozen):
    """One user message and the response to it."""

    user: str
    assistant: str | None
    """None where the response is still to be written."""


class Trigger(Frozen):
    """A turn at which a good assistant would act on what was disclosed."""

    turn: int = Field(ge=1)
    """Counted from 1."""
    rubric: Rubric


LOGGED = "logged"
"""`scenario_id` and source of conversations that took place."""


class Origin(Frozen):
    """Where a dialogue comes from: ids and grouping keys, for reports only. No program receives one."""

    dialogue: str
    """`unique_id_eval`, the corpus's only unique key."""
    persona: str
    """`uuid`; repeats over the scenarios of a persona."""
    scenario_id: str
    """Repeats from persona to persona."""
    blueprint: str
    life_domain: str
    """`category_key` without its ending: professional, sports, arts, travel or culinary, or another corpus's own."""
    style: int
    """`style_combination_index`, 1 to 24; 0 for a dialogue without a style."""
    source_model: str
    """Who wrote the curated responses."""

    @property
    def scenario(self) -> str:
        """Persona and scenario id together: the unit of splitting and of clustering."""
        return f"{self.persona}/{self.scenario_id}"


class Dialogue(Frozen):
    """One curated conversation with its triggers, in turn order."""

    origin: Origin
    turns: tuple[Turn, ...]
    triggers: tuple[Trigger, ...]
    system: str | None = _system()
    """System text of this dialogue alone: rules, date, data of the case; None where it has none."""

    def __repr__(self) -> str:
        return f"Dialogue({self.origin.dialogue!r}, {len(self.turns)} turns, {len(self.triggers)} triggers)"


class Response(Frozen):
    """What an assistant answered at a trigger."""

    text: str
    truncated: bool = False
    """Cut at the token limit; judged all the same, and flagged."""


EVALUATED = "EVALUATED"
"""The official status of a verdict that was given."""


def is_evaluated(status: object) -> bool:
    """Whether a status says that a verdict was given, in any case and with blanks around it."""
    return isinstance(status, str) and status.strip().upper() == EVALUATED


class Verdict(Frozen):
    """What the judge returned for one response."""

    reasoning: str
    evidence: tuple[Quote, ...]
    grade: Grade

    @property
    def verified(self) -> bool | None:
        """Whether a quote counts as evidence; None for a FAIL that quotes nothing: nothing to check."""
        if self.grade is Grade.FAIL and not self.evidence:
            return None
        return any(quote.counts for quote in self.evidence)


class Offer(Frozen):
    """Something that a response puts forward to do, get, consider or check."""

    quote: Quote
    grounded: bool
    """Whether it hangs on a detail of this conversation; else it would fit anybody."""
    asked_for: bool
    """Whether the user's message asks for it or cannot be answered without it."""


class Offers(Frozen):
    """What was offered at a control turn, where nothing was wanted but the answer."""

    reasoning: str
    offers: tuple[Offer, ...]

    @property
    def unwanted(self) -> tuple[Offer, ...]:
        """Those that nobody asked for. An offer whose quote does not stand in the response is none."""
        return tuple(offer for offer in self.offers if not offer.asked_for and offer.quote.start is not None)

    @property
    def verified(self) -> bool | None:
        """Whether every quote stands in the response; None where there is none."""
        return all(offer.quote.start is not None for offer in self.offers) if self.offers else None


class AssistantView(Frozen):
    """What the assistant under test sees."""

    history: tuple[Turn, ...]
    """The curated turns before the trigger."""
    user_message: str
    """The user's message at the trigger."""
    system: str | None = _system()
    """System text of the dialogue."""

    @classmethod
    def of(cls, conversation: Sequence[Turn], system: str | None = None) -> "AssistantView":
        """The view on a conversation whose last turn awaits its response."""
        *history, last = conversation
        assert last.assistant is None, "the last turn must await its response"
        return cls(history=tuple(history), user_message=last.user, system=system)

    @property
    def inputs(self) -> dict[str, Any]:
        """What the assistant is called with; `system` only where there is one."""
        return {"history": list(self.history), "user_message": self.user_message, **_as_input(self.system)}


class JudgeView(Frozen):
    """What the judge sees beside the response."""

    conversation: tuple[Turn, ...]
    """Turns 1 to t; `assistant` is None at turn t only."""
    turn: int
    rubric: Rubric
    system: str | None = _system()
    """System text of the dialogue."""

    @classmethod
    def of(cls, dialogue: Dialogue, trigger: Trigger) -> "JudgeView":
        """The view on a trigger of a dialogue; the curated response at the trigger is left behind."""
        turns, system = _awaiting(dialogue, trigger.turn), dialogue.system
        return cls(conversation=turns, turn=trigger.turn, rubric=trigger.rubric, system=system)

    def inputs(self, response: str) -> dict[str, Any]:
        """What the judge of a response is called with; `system` only where there is one."""
        shown = {"conversation": list(self.conversation), "rubric": self.rubric, "response": response}
        return {**shown, **_as_input(self.system)}


class ControlView(Frozen):
    """What the detector of offers sees beside the response."""

    conversation: tuple[Turn, ...]
    """Turns 1 to t; `assistant` is None at turn t only."""
    turn: int
    system: str | None = _system()
    """System text of the dialogue."""

    @classmethod
    def of(cls, dialogue: Dialogue, turn: int) -> "ControlView":
        """The view on a turn of a dialogue, counted from 1; its curated response is left behind."""
        return cls(conversation=_awaiting(dialogue, turn), turn=turn, system=dialogue.system)

    def inputs(self, response: str) -> dict[str, Any]:
        """What the detector of offers in a response is called with; `system` only where there is one."""
        return {"conversation": list(self.conversation), "response": response, **_as_input(self.system)}


def canonical(values: object) -> bytes:
    """Values as JSON, the same however their keys are ordered."""
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def assistant_view(view: object) -> AssistantView:
    """What the assistant sees of a case, at a turn where initiative is asked for and at a control turn alike."""
    assert isinstance(view, JudgeView | ControlView), "ProactBench makes its own cases"
    return AssistantView.of(view.conversation, view.system)


def dialogue_mark(view: object) -> str:
    """A mark of the dialogue that a case is from: 16 hex digits of sha256 over how its conversation begins."""
    seen = assistant_view(view)
    first = seen.history[0].user if seen.history else seen.user_message
    return hashlib.sha256(first.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _as_input(system: str | None) -> dict[str, str]:
    return {} if system is None else {"system": system}


def _awaiting(dialogue: Dialogue, turn: int) -> tuple[Turn, ...]:
    """The conversation up to a turn, whose response is still to be written."""
    return (*dialogue.turns[: turn - 1], Turn(user=dialogue.turns[turn - 1].user, assistant=None))
