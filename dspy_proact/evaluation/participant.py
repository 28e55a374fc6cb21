"""A model in its role of a run, with the program that calls it and the further models of its answers."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from dspy_proact.apps import App, open_app
from dspy_proact.calls import Price
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark, Start
from dspy_proact.evaluation.compiled import compiled_program, module_or_file
from dspy_proact.evaluation.own_file import located
from dspy_proact.models import EMBEDDED, EMBEDDER, AnyModel, Gate, Model, ModelSpec, Role, open_model
from dspy_proact.models.dspy_internals import async_engine_of
from dspy_proact.runs import Settings
from dspy_proact.types import STATEFUL, RoleIdentity

Roles = Mapping[str, ModelSpec | str]
"""The model of each further role that a person names, by its name or as a spec."""


@dataclass(frozen=True)
class Participant:
    """A model in its role of a run, with the program that calls it."""

    model: Model
    ask: Ask
    """Its program, through the model."""
    learned_on: int = 0
    """Rows of the corpus that the program was compiled on."""
    further: Mapping[str, AnyModel] = field(default_factory=dict[str, AnyModel])
    """Of its answers, by role."""
    prompt: str | None = None
    """The system prompt that a person names, if any."""
    variant: str | None = None
    """What a person calls that prompt, or the program."""
    require: Callable[[Sequence[Any]], None] | None = None
    """Raises a `UsageError` for the messages of a conversation that an application cannot take; None where it may."""
    stored: bool = False
    """Whether its requests are kept: its program is a person's, or calls what is not kept, such as vectors."""

    @property
    def models(self) -> list[AnyModel]:
        """All that it calls: they need their keys, and are closed when all is done."""
        return [self.model, *self.further.values()]

    @property
    def program_card(self) -> Any:
        """The card of a compiled program; None for another."""
        return getattr(self.ask.program, "card", None)

    @property
    def card(self) -> str | None:
        """What that says, in two sentences."""
        return self.program_card and self.program_card.summary

    @property
    def system_prompt(self) -> str | None:
        """What the program tells its model beside its inputs."""
        return getattr(self.ask.program, "system_prompt", None) or self.prompt

    @property
    def votes(self) -> int:
        """Verdicts that a judge's program asks of its model on each response."""
        return getattr(self.ask.program, "votes", 1)

    @property
    def identity(self) -> RoleIdentity:
        """What decides its answers."""
        program = self.ask.program
        name = program_name(program) if self.prompt is None else "prompt"
        name = STATEFUL if self.model.stateful else name
        spoken = {"program": name, "prompt": fingerprint_of(program)}
        return self.model.identity.model_copy(update={**spoken, "cuts": dict(getattr(program, "cuts", {}))})

    @property
    def price(self) -> Price:
        """Of its model."""
        return self.model.price

    @property
    def embedded(self) -> bool:
        """Whether a stand-in that measures nothing takes part."""
        return any(model.embedded for model in self.models)

    @property
    def overridden(self) -> tuple[str, ...]:
        """Decoding parameters that are not the preset's."""
        return self.model.overridden


def role_of(declared: Benchmark[Any, Any], name: str, argument: str | None = None) -> Role:
    """A role of a benchmark, `assistant`, `judge` or one of its `roles`, with its stand-in, if any.

    The `argument` names its model; the usual one where None.
    """
    stand_in = declared.stand_in(name)

    def answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
        assert stand_in is not None, "a role without one never answers"
        with located(declared, "stand_in"):
            text = stand_in(system, messages)
            # Fields are written as the adapter of a plain program reads them.
            return text if isinstance(text, str) else "\n".join(f"[[ ## {name} ## ]]\n{text[name]}" for name in text)

    usual = {"assistant": "model", "judge": "judge"}.get(name, f"roles.{name}")
    writes = "verdict" if name == "judge" else "response"
    answers = answer if stand_in else None
    return Role(name, argument or usual, writes, answers, declared.models.temperatures.get(name))


def answering(
    declared: Benchmark[Any, Any],
    settings: Settings,
    model: ModelSpec | str | App,
    roles: Roles,
    gate: Gate,
    *,
    program: Any = None,
    system_prompt: str | None = None,
) -> Participant:
    """The model under test with its program and the further models of its answers; a rule asks none.

    An application in its place is asked by the benchmark's own program. Raises a `UsageError` where they do not fit
    together; parameters are those of `Evaluation`.
    """
    rule, role = declared.rule(settings), role_of(declared, "assistant")
    spec = ModelSpec.of(model) if isinstance(model, ModelSpec | str) else None
    if spec is None and (program is not None or system_prompt is not None):
        argument = "program" if program is not None else "system_prompt"
        raise UsageError(f"`{argument}`: an application has its own prompts and programs; leave it out beside `app`")
    further = further_models(declared, settings, roles, spec is not None and spec.name == EMBEDDED, gate)
    handles = {name: other.lm if isinstance(other, Model) else other for name, other in further.items()}
    if EMBEDDER in further:  # as a run records it
        settings = settings.model_copy(update={"embedder_api_base": further[EMBEDDER].endpoint})
    module, file = module_or_file(program)
    if module is None:
        module = compiled_program(declared, settings, Start(system_prompt, file), "assistant", handles)
    if rule is None:
        opened = open_model(model, role, gate) if isinstance(model, ModelSpec | str) else open_app(model, role, gate)
        ask, require = Ask.in_run(module, opened.lm, settings, handles), getattr(model, "require", None)
        return Participant(opened, ask, further=further, prompt=system_prompt, require=require)
    role = replace(role, stand_in=role.stand_in or (lambda _, __: ""))
    return Participant(replace(open_model(EMBEDDED, role, gate), name=rule.name), Ask.in_run(module, None, settings))


def further_models(
    declared: Benchmark[Any, Any], settings: Settings, roles: Roles, embedded: bool, gate: Gate
) -> dict[str, AnyModel]:
    """The models of a benchmark's further roles, and the embedder that its settings name, by role; of a rule none.

    Raises as `further_specs` does.
    """
    specs = further_specs(declared, settings, roles, embedded)
    further: dict[str, AnyModel] = {name: open_model(*named, gate) for name, named in specs.items()}
    if declared.rule(settings) is None and "embedder" in type(settings).model_fields:
        from dspy_proact.evaluation.embedding import embedder_of

        if embedder := embedder_of(settings, gate):
            further[EMBEDDER] = embedder
    return further


def further_specs(
    declared: Benchmark[Any, Any], settings: Settings, roles: Roles, embedded: bool
) -> dict[str, tuple[ModelSpec, Role]]:
    """The models of a benchmark's further roles, by role; of a rule none.

    A role without a named model is played by the stand-in beside the stand-in (`embedded`), else by the benchmark's.
    Raises a `UsageError` where there is no such role, or no model of one.
    """
    rule = declared.rule(settings)
    for name in roles.keys() - (declared.roles.keys() if rule is None else ()):
        known = f"; it has {', '.join(declared.roles)}" if declared.roles else ""
        problem = f"{declared.name} has no such role{known}" if rule is None else f"{rule.setting} asks no model"
        raise UsageError(f"`roles.{name}`: {problem}; leave it out")
    if rule is not None:
        return {}
    specs = dict[str, tuple[ModelSpec, Role]]()
    for name, usual in declared.roles.items():
        if (named := roles.get(name, EMBEDDED if embedded else usual)) is None:
            problem = f"{declared.name} declares no model of its {name}: name it with `roles.{name}`"
            raise UsageError(f"{problem}; `roles.{name}=embedded` is the stand-in, which measures nothing")
        specs[name] = ModelSpec.of(named), role_of(declared, name)
    return specs


def program_name(program: Any) -> str:
    """What a program is called in runs: its own name, else that of its class; `default` for a plain one of DSPy."""
    kind = type(program)
    return getattr(program, "name", None) or (
        "default" if kind.__module__.startswith("dspy.") else kind.__name__.lower()
    )


def fingerprint_of(program: Any) -> str:
    """sha256 of what a program says to its model: its own `fingerprint`, else of instructions, fields and demos."""
    if hasattr(program, "fingerprint"):
        return program.fingerprint()
    states = list[Any]()
    for name, predictor in program.named_predictors():
        bare = copy(predictor)  # DSPy cannot write down a model of a run
        bare.lm = None
        role = {"lm": async_engine_of(predictor.lm).gated.caller.role} if predictor.lm else {}
        states.append([name, bare.dump_state() | role])
    return hashlib.sha256(json.dumps(states, sort_keys=True, default=str).encode()).hexdigest()


_LONGEST_PROGRAM, _LONGEST_NAME = 20, 100
"""Characters of the name of a program, and of a model or a jury, in a folder's name."""


def run_name(benchmark: str, model: str, judges: Iterable[str], program: str = "") -> str:
    """`<benchmark>--<model>--<judges>`, the beginning of the name of a run's folder.

    Judges are joined by a plus, none where the benchmark grades by itself; an empty `program` is the plain one.
    """
    answering = folder_name(model)
    if program:
        answering += f"-{folder_name(program)[:_LONGEST_PROGRAM]}"
    return "--".join(filter(None, [benchmark, answering, "+".join(map(folder_name, judges))[:_LONGEST_NAME]]))


def folder_name(model: str) -> str:
    """A model's name as a part of a folder's name, short enough for any disk."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "_", model).strip(".") or "_")[:_LONGEST_NAME]
