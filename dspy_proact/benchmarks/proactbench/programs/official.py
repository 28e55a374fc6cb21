"""The official evaluator's judge prompt, for comparison with published numbers.

Its text is not ours and is not here: system message, user message and answer schema come from the user's own
installation of the official package, worded by its own function. Only the reading is ours, strict as for our judge:
an answer that is not evaluated or cannot be read is asked for once more, in the same words, and then unscored.
"""

import hashlib
import importlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar

import dspy
from pydantic import BaseModel

from dspy_proact.benchmarks.proactbench.programs.judge import Judge
from dspy_proact.benchmarks.proactbench.types import Phase, Rubric, Turn
from dspy_proact.errors import UsageError
from dspy_proact.programs.fenced_json import FencedJSON, only_object

_INSTALL = "pip install 'proactbench @ git+https://github.com/boson-ai/ProactBench'"
_BREAKS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What somebody else's code may raise."""
_RESULT = "evaluation_result"
_FIELDS = {"reasoning": "rationale", "evidence": "evidence", "grade": "score"}
"""Our names of what stands in the official answer."""


class OfficialJudge(Judge):
    """Grades a response in the words of the official package.

    Raises:
        UsageError: The official package is not installed, or is not as it was when this was written.
    """

    name = "official"
    _rules: ClassVar[Mapping[Phase, str]] = {}

    def __init__(self) -> None:
        super().__init__(ask_quote_again=False)
        self._prompt = OfficialPrompt()

    @property
    def instruction(self) -> str:
        """The official system message."""
        return self._prompt.system_message

    def fingerprint(self) -> str:
        """Hash of what it says to its model, and of the answer schema, which is sent too."""
        return hashlib.sha256(f"{super().fingerprint()}\n{self._prompt.schema}".encode()).hexdigest()

    def _wording(self, note: str = "") -> FencedJSON:
        return self._prompt


class OfficialPrompt(FencedJSON):
    """The adapter under a question in official words; it takes no demos and no note."""

    def __init__(self) -> None:
        super().__init__()
        self.system_message = _official("prompts.runtime", "JUDGE_SYSTEM_TEMPLATE")
        self._worded = _official("prompts.runtime", "build_judge_eval_message")
        self._point, self._schema = _official("types", "TriggerPoint"), _official("types", "JudgeOutput")
        if not isinstance(self.system_message, str):
            raise _changed("its system message is no text")
        if not (isinstance(self._schema, type) and issubclass(self._schema, BaseModel)):
            raise _changed("its answer schema is no pydantic model")

    @property
    def schema(self) -> str:
        """The answer schema, as JSON: models read it too."""
        return json.dumps(self._schema.model_json_schema())

    def format(self, signature: type[dspy.Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]) -> list[Any]:
        """The official system and user message."""
        rubric: Rubric = inputs["rubric"]
        criteria = {"type": str(rubric.phase), **rubric.model_dump(exclude={"phase"})}
        try:
            point = self._point(turn=len(inputs["conversation"]), evaluation_rubric=criteria)
            message = self._worded(point, _history(inputs["conversation"], inputs["response"]))
        except _BREAKS as error:
            raise _changed(f"its judge message cannot be built ({type(error).__name__})") from error
        if not isinstance(message, str):
            raise _changed("its judge message is no text")
        return [{"role": "system", "content": self.system_message}, {"role": "user", "content": message}]

    def answer(self, completion: str, names: set[str]) -> dict[str, Any]:
        """What the official answer says, under our names; raises `ValueError` when it is not evaluated."""
        result = only_object(completion, {_RESULT})[_RESULT]
        result = json.loads(result) if isinstance(result, str) else result
        if not isinstance(result, dict) or result.get("status") != "EVALUATED":
            raise ValueError("the response was not evaluated")
        if missing := sorted(theirs for ours, theirs in _FIELDS.items() if ours in names and theirs not in result):
            raise ValueError(f"the field {missing[0]!r} is missing")
        return {ours: result[theirs] for ours, theirs in _FIELDS.items()}

    def _prepare_response_format(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any) -> None:
        super()._prepare_response_format(lm, lm_kwargs, signature)
        if isinstance(lm_kwargs.get("response_format"), type):
            lm_kwargs["response_format"] = self._schema


def _history(conversation: list[Turn], response: str) -> list[dict[str, str]]:
    """The official form of a conversation that ends with the response to grade."""
    messages: list[dict[str, str]] = []
    for turn in conversation:
        answer = response if turn.assistant is None else turn.assistant
        messages += [{"role": "user", "content": turn.user}, {"role": "assistant", "content": answer}]
    return messages


def _official(module: str, name: str) -> Any:
    """A part of the official package."""
    try:
        return getattr(importlib.import_module(f"proactbench.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name == "proactbench":
            wanted = "--judge-prompt official takes its words from the official package, which is not installed"
            raise UsageError(f"{wanted}: {_INSTALL}") from None
        raise _changed(f"it needs {error.name!r}, or has moved it") from error
    except _BREAKS as error:
        raise _changed(str(error)) from error


def _changed(what: str) -> UsageError:
    return UsageError(f"--judge-prompt official: the installed official package is not the one known here: {what}")
