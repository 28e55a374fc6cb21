"""A compiled program, put into the module that its benchmark declares."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import NO_ROLES, Benchmark, Start
from dspy_proact.evaluation.checks import file_of, line_of
from dspy_proact.evaluation.registry import benchmark_of, find_benchmark
from dspy_proact.kept import first_fault
from dspy_proact.runs import Settings

if TYPE_CHECKING:
    from dspy_proact.programs.artefact import Artefact, ProgramRole


def load_assistant(path: str | Path, benchmark: "Benchmark[Any, Any] | str | None" = None) -> Any:
    """The compiled program under test in a file, or in the folder of a compile, ready for any `dspy.LM`.

    `benchmark` is needed where it is a person's own file, which the file of the program does not name. Raises a
    `UsageError` where it cannot be read, is a judge, or its benchmark declares other signatures by now.
    """
    return _load(path, benchmark, "assistant")


def load_judge(path: str | Path, benchmark: "Benchmark[Any, Any] | str | None" = None) -> Any:
    """The compiled judge in a file; arguments and errors are those of `load_assistant`.

    It gives one verdict at a time. How many to ask for, and how they are read together, say its `votes` and `cuts`,
    which an `Evaluation` goes by.
    """
    return _load(path, benchmark, "judge")


def _load(path: str | Path, benchmark: "Benchmark[Any, Any] | str | None", role: "ProgramRole") -> Any:
    """The module of an artefact; raises as `load_assistant` does."""
    from dspy_proact.programs.artefact import read_artefact

    artefact = read_artefact(path, role)
    try:
        declared = benchmark_of(artefact.benchmark, benchmark)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    try:
        settings = declared.settings_type.model_validate(artefact.settings)
    except ValidationError as error:
        raise UsageError(f"{path}: settings: {first_fault(error)}") from error
    return put_into_declared(artefact, path, settings.applied_to(declared), settings)


def require_current(artefact: "Artefact", path: str | Path) -> None:
    """Raise a `UsageError` where its benchmark, if it is known, declares other signatures by now."""
    if find_benchmark(artefact.benchmark):
        _load(path, None, artefact.role)


def module_or_file(program: Any) -> tuple[Any, Path | None]:
    """A program as a person gives it, apart: a module, or the path of a file; None for the other, and both for none."""
    return (None, Path(program)) if isinstance(program, str | Path) else (program, None)


def compiled_program(
    declared: "Benchmark[Any, Any]",
    settings: Settings,
    start: Start,
    role: "ProgramRole",
    roles: Mapping[str, Any] = NO_ROLES,
) -> Any:
    """The program of a role that a benchmark declares, compiled where the start names a file.

    Raises:
        UsageError: The file cannot be used, or a prompt is named beside it, or for a program that takes none.
    """
    names = ("program", "system_prompt") if role == "assistant" else ("judge_program", "judge_prompt")
    prompts = declared.models.judge_prompts
    if start.prompt is not None:
        takes = takes_system_prompt(declared, settings, roles) if role == "assistant" else prompts
        if not takes:
            lacked = "system prompt" if role == "assistant" else "choice of judge prompts"
            raise UsageError(f"`{names[1]}`: {declared.name} has no {lacked}; leave it out")
    if role == "judge" and start.prompt not in (None, *prompts):
        known = ", ".join(("default", *prompts))
        raise UsageError(f"no judge's prompt is called {start.prompt!r}; there are {known}")
    if start.file is None:
        return _program(declared, settings, start, roles) if role == "assistant" else declared.judge(settings, start)
    if start.prompt is not None:
        raise UsageError(f"`{names[0]}` has a prompt of its own; leave `{names[1]}` out")
    from dspy_proact.programs.artefact import read_artefact

    return put_into_declared(read_artefact(start.file, role), start.file, declared, settings, roles)


def takes_system_prompt(
    declared: "Benchmark[Any, Any]", settings: Settings, roles: Mapping[str, Any] = NO_ROLES
) -> bool:
    """Whether `start.prompt` changes what the program under test says of itself, such as an instruction."""

    def prompted(prompt: str) -> Any:
        program = _program(declared, settings, Start(prompt), roles)
        if hasattr(program, "fingerprint"):
            return program.fingerprint()
        return [predictor.signature.instructions for predictor in program.predictors()]

    return prompted("one prompt") != prompted("another prompt")


def _program(declared: "Benchmark[Any, Any]", settings: Settings, start: Start, roles: Mapping[str, Any]) -> Any:
    """The program under test that a benchmark declares; a `UsageError` where it returns none."""
    program = declared.program(settings, start, roles)
    if program is None:
        file = file_of(declared)
        where = f"{line_of(declared, file, 'program')}: " if file else ""
        raise UsageError(f"{where}`program` returns None; let it return a dspy.Module")
    return program


def put_into_declared(
    artefact: "Artefact",
    path: str | Path,
    declared: "Benchmark[Any, Any]",
    settings: Settings,
    roles: Mapping[str, Any] = NO_ROLES,
) -> Any:
    """The module that a benchmark declares, with what a compile has learned; raises as `load_assistant` does."""
    if artefact.benchmark != declared.name:
        raise UsageError(f"{path}: compiled for {artefact.benchmark}, where {declared.name} is asked for")
    judge = artefact.role == "judge"
    program = declared.judge(settings, Start()) if judge else _program(declared, settings, Start(), roles)
    if program is None:
        raise UsageError(f"{path}: {declared.name} is graded without a judge")
    if strange := sorted(artefact.cuts.keys() - set(map(str, declared.strata))):
        raise UsageError(f"{path}: cuts.{strange[0]}: is no {declared.nouns.stratum} of {declared.name}")
    if artefact.program != type(program).__name__:
        values = settings.model_dump(mode="json")
        other = [f"`settings.{name}={value}`" for name, value in artefact.settings.items() if values.get(name) != value]
        named = f"; name it with {' '.join(other)}" if other else ""
        raise UsageError(f"{path}: a compiled {artefact.program}, where {type(program).__name__} is asked for{named}")
    return artefact.put_into(program, path)
