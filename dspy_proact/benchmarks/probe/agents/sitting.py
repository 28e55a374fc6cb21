"""One task being worked: questions are asked and counted, and what cannot be read becomes a fault."""

import json
from collections.abc import Mapping
from typing import Any

import dspy

from dspy_proact.benchmarks.probe.agents.partial_json import PartialJSON
from dspy_proact.benchmarks.probe.solution import PARTS, Solution
from dspy_proact.benchmarks.probe.tools import Toolbox
from dspy_proact.benchmarks.probe.view import TaskView
from dspy_proact.errors import ContentError
from dspy_proact.programs import FencedJSON
from dspy_proact.programs.asking import Answer, Asking, ask_for_fields

_FENCED = ("bottleneck", "action")
"""What a model wrote who has read the items, and is shown to it again."""


class Sitting:
    """Asks the model of one agent about one task.

    Args:
        asking: How.
        task: All that is known.
        tools: Over its items.
        calls: Requests that may be made, repairs among them.

    Attributes:
        turns: Questions that were asked.
        left: Requests that are left.
        faults: What is missing or malformed, in the order in which it was noticed, each once.
    """

    def __init__(self, asking: Asking, task: TaskView, tools: Toolbox, calls: int):
        self.task, self.tools, self.turns, self.left = task, tools, 0, calls
        self.faults: dict[str, None] = {}
        self._asking = asking
        self._read = False
        self._last: ContentError | None = None

    async def ask(self, predictor: dspy.Predict, **inputs: Any) -> Mapping[str, Any]:
        """The fields of an answer that can be read, after one repair; none where no request is left.

        Raises:
            ProviderError: The model could not be reached.
        """
        if self.left < 1:
            self.fault("turns")
            return {}
        self.turns += 1
        try:
            said = await ask_for_fields(self._counted, predictor, wording, **inputs)
        except ContentError as error:
            self._last = error
            return {}
        found = {name: value for name, value in said.items() if value is not None}
        self._read = self._read or bool(found)
        return found

    def fault(self, name: str) -> None:
        """Note what is missing or malformed."""
        self.faults[name] = None

    def solution(self, told: Mapping[str, Any]) -> Solution:
        """The answer in what was told; a part that is missing, malformed or impossible is a fault.

        Raises:
            ContentError: Nothing at all could be read in any answer.
        """
        if self._last and not self._read:
            raise self._last
        told = {name: value for name, value in told.items() if _is_json(value)}
        parameters = told.get("parameters", {})
        evidence = tuple(dict.fromkeys(id_ for each in told.get("evidence") or () if (id_ := each.strip())))
        bottleneck, action = (str(told.get(part) or "").strip() for part in ("bottleneck", "action"))
        required = next((each.required for each in self.task.actions if each.id == action), None)
        sound = (evidence, bottleneck, required is not None, required is None or set(required) <= parameters.keys())
        missing = [part for part, is_sound in zip(PARTS, sound, strict=True) if not is_sound or part not in told]
        return Solution(
            evidence=evidence,
            bottleneck=bottleneck,
            action=action,
            parameters=parameters,
            touched=self.tools.touched,
            turns=self.turns,
            faults=tuple(dict.fromkeys((*missing, *self.faults))),
        )

    async def _counted(self, predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
        if self.left < 1:
            raise ContentError("calls", "no request is left to repair an answer")
        self.left -= 1
        return await self._asking(predictor, adapter, **inputs)


def wording(note: str = "") -> FencedJSON:
    """The adapter under a question; one that ends with a note is a repair, and takes what it gets."""
    return PartialJSON(*_FENCED, note=note) if note else FencedJSON(*_FENCED)


def _is_json(value: Any) -> bool:
    """Whether a value can be kept: no number in it that is not finite, and no more depth than can be written."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True
