"""What the embedded model answers in ProactiveAgent: rules, so that a machine without a key has an agent and a judge.

The agent proposes to go on with what the last event names and an event before it named too, where there is such a word.
An instruction that asks to be strict makes it want two such words, one that asks to be lenient none. It repeats no
proposal that it is shown.

The judge counts the words that a proposal shares with the last three events: three make it accepted (four where the
instruction asks to be strict, two where lenient), six a repetition of what is seen, which is rejected. It accepts
silence where the last event shares no word with the two before it. Its confidence goes by the count.
"""

import re
from collections.abc import Sequence

from dspy_proact.programs.embedded.fields import request_fields, requested_json, strictness, unfenced, value_of
from dspy_proact.programs.embedded.words import content_words

_WORD = re.compile(r"[^\W_]+")
_RECENT = 3
"""Events that the judge looks at."""
_ENOUGH, _REPEATED = 3, 6
"""Words that an accepted proposal shares with them: so many, and fewer than so many."""


def agent_answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The fields that are asked for, as JSON."""
    events, wanted = _shown(messages), 1 + strictness(system)
    last = events[-1] if events else ""
    before = content_words(" ".join(events[:-1]))
    shared = [word for word in dict.fromkeys(_WORD.findall(last)) if content_words(word) & before]
    proposal = f"Go on with {', '.join(shared) or 'this'}." if last and len(shared) >= wanted else None
    if proposal and proposal in request_fields(messages).get("earlier", ""):
        proposal = None
    fields = {
        "purpose": f"To go on with this: {last}",
        "proposal": proposal,
        "proposals": [proposal, "Make a list of what is still to do."] if proposal else [],
        "message": proposal and "Shall I take this over?",
    }
    return requested_json(system, fields)


def judge_answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The verdict as JSON."""
    events, shown = _shown(messages), request_fields(messages)
    recent = content_words(" ".join(events[-_RECENT:]))
    if shown.get("silent", "").strip().casefold() == "true":
        count, enough = len(content_words(events[-1]) & content_words(" ".join(events[-3:-1]))) if events else 0, 1
        accepted = count < enough
    else:
        count, enough = len(content_words(unfenced(shown.get("proposal", ""))) & recent), _ENOUGH + strictness(system)
        accepted = enough <= count < _REPEATED
    sure = min(0.95, 0.55 + 0.1 * abs(count - enough))
    verdict = {
        "reason": f"{count} words are shared; {enough} are enough.",
        "accepted": accepted,
        "confidence": round(sure if accepted else 1 - sure, 2),
    }
    return requested_json(system, verdict)


def _shown(messages: Sequence[tuple[str, str]]) -> list[str]:
    shown = value_of(request_fields(messages).get("events"), [])
    return [str(event.get("event", "")) for event in shown if isinstance(event, dict)]
