"""How a run ended, and what would mend one whose answers cannot be used: a greater limit, or a schema of answers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dspy_proact.calls import Call, Failure, StageKey
from dspy_proact.errors import UnusableContent
from dspy_proact.models import AnyModel, Model
from dspy_proact.runs import RunFolder, latest

_FUTILE = ("cut", "too_long", "refused")
"""Reasons for which the same request would fail again."""


@dataclass(frozen=True)
class Completed:
    """How a run ended that came to its end."""

    path: Path
    stages: int
    """Responses and verdicts that this command got or failed to get; 0 when all was on disk already."""
    unscored: int
    """Of what this command asked for: tried and without a grade."""
    retryable: int
    """Of these, what can be asked for again: not what another run or a file never answered, and none where every
    request would fail as before."""
    by_content: int
    """Of these, what only `Scope.retry_unscored` asks for again; the same command asks for the others."""
    pending: int
    """Of what this command asked for: copied responses that the other run does not have yet."""
    limits: Mapping[str, int]
    """By argument, a greater limit of output for a model whose replies were cut where something is unscored."""
    labels: frozenset[str]
    """That cases of the run have; empty where several verdicts decide the label of one."""


def greater_limits(folder: RunFolder, models: Iterable[AnyModel]) -> dict[str, int]:
    """By argument, a greater limit of output for each model of which replies were cut where content failed."""
    failures = {event.key: event.failure for event in folder.events()}
    cut = {
        call.role
        for key, calls in folder.attempts()
        if (failure := failures.get(key)) and failure.kind == "content"
        for call in calls
        if call.finish_reason == "length"
    }
    of_cut = (model for model in models if isinstance(model, Model) and model.role.name in cut)
    return {model.role.argument: limit for model in of_cut if (limit := model.greater_limit)}


def has_hope(folder: RunFolder) -> bool:
    """Whether any stage failed for a reason with which the same request may succeed another time."""
    failures = (event.failure for event in latest(folder.events()).values())
    return any(failure and (failure.kind == "app" or failure.reason not in _FUTILE) for failure in failures)


def unusable_content(
    key: StageKey,
    failures: Sequence[tuple[Failure, Sequence[Call]]],
    model: AnyModel | None,
    otherwise: str = ". `scope.keep_going` goes on all the same",
) -> UnusableContent:
    """The halt of a run of which the first responses, or verdicts of a judge, are of no use, with the likely cause.

    How to go on `otherwise` ends the message.
    """
    what = "responses" if key.stage == "response" else "verdicts"
    reasons = Counter(failure.reason for failure, _ in failures)
    counts = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    whose = f"{model.caller.whose}: " if isinstance(model, Model) else ""
    first = f"{whose}the first {len(failures)} {what} cannot be used ({counts})."
    cause, change = _cause(failures, model)
    return UnusableContent(f"{first} {cause}{otherwise}", change)


def _cause(
    failures: Sequence[tuple[Failure, Sequence[Call]]], model: AnyModel | None
) -> tuple[str, tuple[str, str, str] | None]:
    """The likely cause in a sentence, and the change of a parameter that mends it."""
    cut = sum(calls[-1].finish_reason == "length" for _, calls in failures if calls)
    last = f"The last one: {failures[-1][0].detail or 'no further reason'}"
    if not isinstance(model, Model) or model.embedded:
        return last, None
    argument, limit = model.role.argument, model.decoding.get("max_tokens")
    if 2 * cut > len(failures):
        if limit is None:
            return f"{cut} of them were cut by the server, and no limit was sent: raise its own", None
        at = f"{cut} of them were cut at the limit of {limit:,} tokens"
        if greater := model.greater_limit:
            change = (argument, "max_tokens", str(greater))
            return f"{at}: raise it with `{argument}.params` max_tokens={greater}", change
        return f"{at}, the most that the model is known to give: name another model", None
    if any(failure.reason == "unreadable" for failure, _ in failures):
        if model.form is None:
            mend = f"`{argument}.params` response_format=json_schema sends one"
            return f"No JSON schema is sent with the requests: {mend}", (argument, "response_format", "json_schema")
        last = f"The answers are not JSON of the requested form. {last}"
    return last, None
