"""What the embedded model answers in ProAgentBench: rules, so that a machine without a key has an agent.

It helps where what is seen now shares two words of difficulty with its list; one is enough where the instruction asks
to be lenient, three are needed where it asks to be strict. The intention follows from a word of what is seen.
"""

import re
from collections.abc import Mapping, Sequence

from dspy_proact.benchmarks.proagentbench.moments import COMMONEST, Intention
from dspy_proact.programs.embedded.fields import request_fields, requested_json, strictness, value_of

_WORD = re.compile(r"[a-z]+")
_DIFFICULT = frozenset(
    "again error fails stuck unclear unsure searches twice rereads compares wonders deletes rewrites why".split()  # noqa: SIM905
)
_INTENTIONS: Mapping[str, Intention] = {
    "error": "Coding/Programming",
    "table": "Data Analysis",
    "column": "Data Analysis",
    "letter": "Content Generation",
    "paragraph": "Document Editing",
    "article": "Summarization",
    "offers": "Comparison/Evaluation",
    "spanish": "Translation",
    "term": "Knowledge Q&A",
}


def agent_answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The fields that are asked for, as JSON."""
    state = value_of(request_fields(messages).get("current"), {})
    seen = " ".join(str(state.get(name, "")) for name in ("window_title", "summary")).casefold()
    words = set(_WORD.findall(seen))
    difficult, enough = words & _DIFFICULT, 2 + strictness(system)
    intention = next((name for word, name in _INTENTIONS.items() if word in words), COMMONEST)
    fields = {
        "reasoning": f"{len(difficult)} words of difficulty are seen; {enough} are enough.",
        "need_help": len(difficult) >= enough,
        "intention": intention,
        "query": f"Can you help me with {state.get('window_title', 'this')}?",
    }
    return requested_json(system, fields)
