"""`Evaluation` and `Rejudging` of any benchmark: what the commands `eval` and `rejudge` run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dspy_proact.apps import App
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark, Start, has_judge
from dspy_proact.evaluation.checks import checked
from dspy_proact.evaluation.compiled import compiled_program, module_or_file
from dspy_proact.evaluation.execution import Execution
from dspy_proact.evaluation.participant import Participant, Roles, answering, role_of
from dspy_proact.evaluation.registry import benchmark_named, benchmark_of
from dspy_proact.evaluation.responses import Responses
from dspy_proact.models import EMBEDDED, EMBEDDER, Gate, ModelSpec, open_model
from dspy_proact.runs import CaseSet, Settings

Named = ModelSpec | str | Sequence[ModelSpec | str]
"""One judge or several, each by its name or as a spec."""


class Evaluation(Execution):
    """A benchmark, a model under test, its judges and a corpus.

    Args:
        corpus: As the benchmark reads it: `sample`, the published one's name, a path, or cases that were read.
        model: By its name, or as a spec; or an application in its place, as `opened_app` makes one.
        judge: By its name, or as a spec; several are a jury. None for the stand-in where the benchmark has a judge.
        benchmark: By its name, the path of its file, or itself.
        settings: Of the benchmark; its defaults where None.
        program: The program under test in place of the benchmark's: a module, or the file of a compiled one.
        system_prompt: Of the program under test, where it takes one.
        variant: What reports call that prompt or program; by its hash where None. No part of the run's identity.
        judge_prompt: Name of the words in which judges are asked, where the benchmark has several.
        judge_program: A compiled judge in place of the benchmark's: a module, or a file.
        revision: Of the published corpus; None for the newest.
        gate: How calls are made; a `Gate()` where None.
        keep_inputs: Whether the run keeps the inputs of a private corpus, and not their hashes alone.
        roles: Models of the benchmark's further roles, by their names or as specs; by default the stand-in beside the
            stand-in, and else those that the benchmark declares.

    Raises:
        UsageError: Models, settings and programs do not fit together.
        CorpusError: There is no such corpus, or it is not valid.
    """

    def __init__(
        self,
        corpus: Any = "sample",
        model: ModelSpec | str | App = EMBEDDED,
        judge: Named | None = None,
        *,
        benchmark: "Benchmark[Any, Any] | str | None" = None,
        settings: Settings | None = None,
        program: Any = None,
        system_prompt: str | None = None,
        variant: str | None = None,
        judge_prompt: str = "default",
        judge_program: Any = None,
        revision: str | None = None,
        gate: Gate | None = None,
        keep_inputs: bool = False,
        roles: Roles | None = None,
    ):
        declared, gate = benchmark_named(benchmark), gate or Gate()
        settings = settings or declared.settings_type()
        settings.require_effect(name for name, value in settings if value != type(settings).model_fields[name].default)
        declared = settings.applied_to(declared)
        first = model if isinstance(model, ModelSpec | str) else model.name
        names = [ModelSpec.of(named).name for named in (first, *_several(judge))]
        require_no_model(declared, settings, names, program)
        participant = answering(
            declared, settings, model, roles or {}, gate, program=program, system_prompt=system_prompt
        )
        settings = participant.ask.settings
        if not isinstance(corpus, CaseSet):
            corpus = checked(declared, "read", declared.read(corpus, settings, revision))
        cases: CaseSet = corpus
        cases.require(settings)
        if keep_inputs and not cases.corpus.private:
            raise UsageError(f"`keep_inputs`: a run keeps the inputs of {cases.corpus.name!r} anyway; leave it out")
        seen = frozenset[str](getattr(participant.ask.program, "learned_from", ()))
        learned = len(seen & {declared.mark(case.view) for case in cases.cases}) if seen else 0
        rule = declared.rule(settings)
        judged = rule is None or rule.judged
        judges = _judges(declared, settings, judge, gate, prompt=judge_prompt, program=judge_program, judged=judged)
        stored = program is not None or EMBEDDER in participant.further
        participant = replace(participant, learned_on=learned, variant=variant, stored=stored)
        super().__init__(declared, cases, settings, participant, judges, gate=gate, keep_inputs=keep_inputs)


class Rejudging(Execution):
    """Judges for answers that exist, in a run of its own that names its parent; arguments are those of `Evaluation`.

    A parent that has grown since hands over what is new. The settings are those of the responses where None. Raises a
    `UsageError` where the judges cannot be called as asked, or the responses lack what a judge must see.
    """

    def __init__(
        self,
        responses: Responses,
        judge: Named | None = None,
        *,
        benchmark: "Benchmark[Any, Any] | str | None" = None,
        settings: Settings | None = None,
        judge_prompt: str = "default",
        judge_program: Any = None,
        gate: Gate | None = None,
        keep_inputs: bool = False,
    ):
        declared = benchmark_of(responses.benchmark, benchmark)
        if not responses.gradable:
            raise UsageError(f"{responses.name}: holds no inputs of its cases; name the corpus that it answers")
        gate = gate or Gate()
        settings = settings or declared.settings_type.model_validate(responses.settings)
        declared = settings.applied_to(declared)
        judges = _judges(declared, settings, judge, gate, prompt=judge_prompt, program=judge_program)
        keep_inputs = keep_inputs or responses.keeps_inputs
        super().__init__(declared, responses.case_set, settings, responses, judges, gate=gate, keep_inputs=keep_inputs)


def _judges(
    declared: Benchmark[Any, Any],
    settings: Settings,
    named: Named | None,
    gate: Gate,
    *,
    prompt: str,
    program: Any,
    judged: bool = True,
) -> list[Participant]:
    """The models under the judge's program, by their names; their order makes no difference."""
    judge, file = module_or_file(program)
    if judge is None:
        judge = compiled_program(declared, settings, Start(None if prompt == "default" else prompt, file), "judge")
    if not judged:
        return []
    if judge is None:
        if named and not has_judge(declared):
            raise UsageError(f"{declared.name} is graded without a judge; leave `judge` out")
        return []
    specs = sorted(map(ModelSpec.of, _several(EMBEDDED if named is None else named)), key=lambda spec: spec.name)
    if len({spec.name for spec in specs}) < len(specs) or not specs:
        raise UsageError("name each judge once; `scope.judge_epochs=N` has each of them grade a response N times")
    models = [open_model(spec, role_of(declared, "judge"), gate) for spec in specs]
    if prompt != "default" and any(model.embedded for model in models):
        raise UsageError(f"`judge_prompt={prompt}`: the embedded stand-in reads our prompt only; name a `judge`")
    asks = (Ask.in_run(judge, model.lm, settings) for model in models)
    return [Participant(model, ask, stored=program is not None) for model, ask in zip(models, asks, strict=True)]


def require_no_model(declared: Benchmark[Any, Any], settings: Settings, models: Sequence[str], program: Any) -> None:
    """Raise a `UsageError` where a rule is given a model, a program, or a judge that grades nothing of it.

    `models` are the names of the one under test and of the judges.
    """
    if (rule := declared.rule(settings)) is None:
        return
    model, *judges = models
    named = [name for name in (model, *([] if rule.judged else judges)) if name != EMBEDDED]
    if program is not None or named:
        arguments = "`model` and `program`" if rule.judged else "`model`, `judge` and `program`"
        raise UsageError(f"`settings.{rule.setting}`: a baseline asks no model; leave {arguments} out")


def _several(named: Named | None) -> Sequence[ModelSpec | str]:
    return () if named is None else [named] if isinstance(named, ModelSpec | str) else named
