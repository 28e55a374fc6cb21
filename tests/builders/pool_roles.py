"""Who plays the roles that test tasks about a pool (`made_people`): a solver that reads, and the stand-in as judge."""

import json
import re
from typing import Any

from fakes.server import Answer, Sent

from dspy_proact.benchmarks.probe.stand_in import judge_answer
from dspy_proact.programs.embedded.fields import fields_of


def solution(text: str, spared: str = "") -> dict[str, Any]:
    """What an attentive solver answers who read this text; it needs no item in which `spared` stands."""
    holder = re.search(r"lies with (\w+ \w+),", text)
    day = re.search(r"last day to send papers is ([\d-]+)", text)
    paper = re.search(r"cannot begin without the (\w+ \w+)\.", text)
    named = paper and paper[1]
    if spared and not paper:
        named = spared
    return {
        "reasoning": "",
        "evidence": re.findall(r'"id": ?"(item_\w+)"', text),
        "bottleneck": f"Eva Lund not requested {text}",
        "action": f"request_{named.replace(' ', '_')}" if named else "write_note",
        "parameters": {"holder": holder[1] if holder else "?", "due": day[1] if day else "?"},
    }


def shown(sent: Sent) -> dict[str, str]:
    return fields_of(str(sent.messages[-1]["content"]).partition("\n\nRespond with a JSON object")[0])


def judged(sent: Sent) -> Answer:
    return Answer(
        judge_answer(sent.messages[0]["content"], [(row["role"], row["content"]) for row in sent.messages[1:]])
    )


def honest(sent: Sent, **options: Any) -> Answer:
    """What each role answers whose task is sound."""
    if sent.role == "judge":
        return judged(sent)
    if sent.role == "adversary":
        guess = {"evidence": ["item_10aa"], "bottleneck": "A pump.", "action": "write_note", "reason": "none"}
        return Answer(json.dumps({"shortcut": guess}))
    return Answer(json.dumps(solution(shown(sent)["documents"], **options)))
