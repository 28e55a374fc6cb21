"""Drafts a brief from a page about a product. Names and order of the fields are prompt text."""

from importlib.resources import files
from typing import Any

import dspy
from pydantic import ValidationError

from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief, brief_text, require_short
from dspy_proact.errors import UsageError
from dspy_proact.evidence import Passage
from dspy_proact.generation.attempt import Attempt
from dspy_proact.generation.draft import Draft
from dspy_proact.programs.program import Question
from dspy_proact.types import Frozen

_INSTRUCTION = files("dspy_proact.benchmarks.proactbench.programs").joinpath("draft_brief.txt").read_text("utf-8")


class DraftedRule(Frozen):
    """A rule that the assistant keeps to."""

    rule: str
    quote: str
    """The passage of the page that says so, word for word."""


class DraftBrief(dspy.Signature):
    __doc__ = _INSTRUCTION.strip()

    page: str = dspy.InputField()
    name: str = dspy.OutputField()
    rules: list[DraftedRule] = dspy.OutputField()
    who: str = dspy.OutputField()
    may_plant: list[str] = dspy.OutputField()
    domains: list[str] = dspy.OutputField()
    never_offer: list[str] = dspy.OutputField()


async def drafted(attempt: Attempt, page: str) -> Draft:
    """The brief that the planner drafts; a rule whose quote does not stand in the page is left out.

    Raises:
        UsageError: The page is too long for a brief.
        RuleError: No answer makes a brief.
        ProviderError: The model cannot be reached.
    """
    try:
        require_short(page)
    except ValueError as error:
        raise UsageError(f"the page {error}") from None
    answer = await attempt.ask(
        "planner", "brief", Question(DraftBrief, "page"), lambda answer: _faults(answer, page), page=page
    )
    passage = Passage(page)
    known = [rule for rule in answer.rules if passage.quote(rule.quote).start is not None]
    left_out = [
        f"Left out, since the page does not say {rule.quote!r}: {rule.rule}"
        for rule in answer.rules
        if rule not in known
    ]
    notes = {"product.rules": [f'page: "{rule.quote}"' for rule in known]}
    return Draft(brief_text(_brief(answer, page, [rule.rule for rule in known]), notes), left_out)


def _brief(answer: Any, page: str, rules: list[str]) -> CorpusBrief:
    return CorpusBrief.model_validate(
        {
            "product": {"name": answer.name, "text": page, "rules": [rule for rule in rules if rule.strip()]},
            "users": {"who": answer.who},
            "plant": {"may": answer.may_plant, "domains": answer.domains},
            "never": {"offers": answer.never_offer},
        }
    )


_NAMES = {"product.name": "name", "users.who": "who", "plant.may": "may_plant", "plant.domains": "domains"}


def _faults(answer: Any, page: str) -> list[str]:
    """Why an answer makes no brief, by its own names; empty where it does."""
    try:
        _brief(answer, page, [])
    except ValidationError as error:
        reasons = list[str]()
        for fault in error.errors(include_url=False):
            name = ".".join(map(str, fault["loc"][:2]))
            message = fault["msg"].removeprefix("Value error, ")
            reasons.append(f"`{_NAMES.get(name, 'never_offer')}`: {message}." if name else f"{message}.")
        return reasons
    return []
