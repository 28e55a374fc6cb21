"""What a stage asks, rendered without a call: its requests are answered from what was logged, or end it."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from dspy_proact.calls import LoggedCall, StageKey
from dspy_proact.errors import Halt
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.kept import NoReply, Request, StageCalls
from dspy_proact.models import AnyModel
from dspy_proact.runs import Case, attempted, run_to_end

Speaker = tuple[AnyModel, Ask]
"""A model, and how a program asks it."""
Body = Callable[[], Coroutine[Any, Any, Any]]
"""Makes what a stage is done by."""


class Replay(StageCalls):
    """A stage answered from its logged calls; `requests` end with the first without a logged reply, of `roles`."""

    def __init__(self, key: StageKey, begun: int = 1, calls: Iterable[LoggedCall] = ()):
        super().__init__(None, key, begun)
        self._calls = {call.request: call for call in calls if call.begun == begun}
        self.requests, self.roles = dict[str, Request](), dict[str, str]()

    def reply(self, name: str, before: str, role: str, request: Callable[[], Request]) -> LoggedCall:  # noqa: ARG002
        """The logged call; raises `NoReply` where there is none."""
        self.requests[name], self.roles[name] = request(), role
        call = self._calls.get(name)
        if call is None or call.response is None:
            raise NoReply
        return call

    def run(self, stage: Body) -> None:
        """Do the stage, whatever it ends with."""
        with self.opened(), suppress(NoReply, Halt):
            run_to_end(attempted(stage()))


@dataclass(frozen=True)
class Prompt:
    """The first request of an answer to a case, or of a grade."""

    case: str
    role: str
    """Who is sent it: the assistant or a judge, unless another role comes first."""
    model: str
    request: Request | None
    """None where it is not known before the response."""
    placeholder: str | None = None
    """What stands in it in place of the response that a judge is to grade; None elsewhere."""


def prompts_of(
    declared: Benchmark[Any, Any], case: Case, answering: Sequence[Speaker], judging: Sequence[Speaker]
) -> list[Prompt]:
    """The first request of each answer to a case and of each grade, as models that answer and judge would get it."""
    names = {model.name: None for model, _ in answering}
    text = f"[the response of {' or '.join(names) or 'the model'} stands here]"
    answer = assumed_answer(declared.answer_type, text)

    def prompt(model: AnyModel, stage: Body, placeholder: str | None = None) -> Prompt:
        replay = Replay(StageKey(case=case.key, epoch=1, stage="response"))
        replay.run(stage)
        for name, request in replay.requests.items():  # at most one
            return Prompt(case.key, replay.roles[name], request["model"], request, placeholder)
        return Prompt(case.key, model.role.name, model.name, None, placeholder)

    return [
        *(prompt(model, partial(ask.answer, declared, case)) for model, ask in answering),
        *(prompt(model, partial(ask.grade, declared, case, answer), text) for model, ask in judging),
    ]


def assumed_answer(form: type[BaseModel], text: str) -> Any:
    """An answer in which each text is this one; None where that is none of its form."""
    with suppress(ValidationError):
        return form.model_validate(assumed_value(form, text))
    return None


def assumed_value(kind: Any, text: str) -> Any:
    """A value of a type, as JSON, with what has a default left out unless it is a text or a list of texts."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is str:
        return text
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {name: (field.annotation, field.is_required()) for name, field in kind.model_fields.items()}
        texts = (str, tuple[str, ...])
        return {name: assumed_value(of, text) for name, (of, required) in fields.items() if required or of in texts}
    if origin in (tuple, list, Sequence):
        return [assumed_value(inner[0], text)]
    if origin is Literal:
        return inner[0]
    return 0 if not inner else assumed_value(inner[0], text)
