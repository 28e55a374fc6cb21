"""A trial as JSON, and what it has used. The document's shape is a promise: scripts read it."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from dspy_proact.calls import Call, Usage
from dspy_proact.models import Model
from dspy_proact.report import Section, document, sections_document

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.trial import Pair, Side


class Spending:
    """What calls have used, by role, at the price of its model.

    Args:
        models: Each of a role of its own; None for a role that nobody has.
    """

    def __init__(self, *models: Model | None):
        self._prices = {model.role.name: model.price for model in models if model}

    def of(self, calls: Iterable[Call]) -> dict[str, Usage]:
        """Every attempt counted; a role that is not there has none."""
        calls = list(calls)
        return {role: Usage.of([call for call in calls if call.role == role], p) for role, p in self._prices.items()}

    def lines(self, calls: Iterable[Call]) -> Iterator[str]:
        """A line a role, for a person."""
        for role, usage in self.of(calls).items():
            cost = f"cost unknown ({usage.reason})" if usage.usd is None else f"USD {usage.usd:.4f}"
            tokens = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
            yield f"{role}: {usage.calls:,} calls, {tokens}, {cost}"


def sections_of(view: BaseModel) -> list[Section]:
    """What there is to read of a view."""
    from dspy_proact.benchmarks.proactbench.report import sections

    return list(sections(view.model_dump(mode="json")))


def pair_document(pair: "Pair", spending: Spending, whole: bool = False) -> dict[str, Any]:
    """One conversation with its responses: an object of the list of `try --json`.

    `trigger` and `phase` are null for a conversation of a person's own, `with` where there was neither a prompt nor a
    program. `error` begins with a short word; a response or verdict that a halt left out has `stopped`. Where the whole
    is asked for, `sections` has the conversation and the rubric.
    """
    from dspy_proact.benchmarks.proactbench.cases import user_message

    before = {"sections": sections_document(sections_of(pair.case.view))} if whole else {}
    return {
        "trigger": pair.case.key or None,
        "phase": pair.case.stratum or None,
        "user_message": user_message(pair.case),
        **before,
        "with": None if pair.prompted is None else _side(pair.prompted),
        "without": _side(pair.bare),
        "usage": {role: document(usage) for role, usage in spending.of(pair.calls).items()},
    }


def _side(side: "Side") -> dict[str, Any]:
    response, verdict = side.response, side.verdict
    return {
        "response": response.text if response else None,
        "truncated": response.truncated if response else None,
        "grade": str(verdict.grade) if verdict else None,
        "reasoning": verdict.reasoning if verdict else None,
        "evidence": [quote.model_dump() for quote in verdict.evidence] if verdict else [],
        "error": side.error,
    }
