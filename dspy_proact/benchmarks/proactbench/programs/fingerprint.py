"""What a program says to its model, as a hash: any change of wording, fields, demos or adapter changes it."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import dspy

from dspy_proact.benchmarks.proactbench.types import Phase, Rubric, Turn
from dspy_proact.programs.asking import rendered

_RUBRIC = Rubric(phase=Phase.EMERGENT, pass_criteria="{pass}", partial_criteria="{partial}", fail_criteria="{fail}")
_STAND_INS: dict[str, Any] = {
    "conversation": [Turn(user="{user}", assistant="{assistant}"), Turn(user="{user}", assistant=None)],
    "evidence": ["{evidence}"],
    "grade": "PASS",
    "history": [Turn(user="{user}", assistant="{assistant}")],
    "reasoning": "{reasoning}",
    "response": "{response}",
    "rubric": _RUBRIC,
    "user_message": "{user}",
}


def fingerprint(*asked: tuple[dspy.Predict, dspy.Adapter], beside: Iterable[str] = ()) -> str:
    """sha256, in hexadecimal, of the messages that predictors send under their adapters for stand-in inputs.

    Args:
        asked: Who asks, and how.
        beside: What they send only with other inputs.
    """
    messages = [*(rendered(predictor, adapter, _STAND_INS) for predictor, adapter in asked), *beside]
    return hashlib.sha256(json.dumps(messages, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
