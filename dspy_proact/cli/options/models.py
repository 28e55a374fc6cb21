"""Options of every command that calls a model: the models, their programs, how calls are made, and limits."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.verb import Bundle, Heading, Section, first_typed
from dspy_proact.cli.views.message import say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.apps import App
    from dspy_proact.calls import Price
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.variants import Wording
    from dspy_proact.models import Gate, Limits, ModelSpec
    from dspy_proact.recipe import Recipe


EMBEDDED = "embedded"
"""The stand-in, which is `dspy_proact.models.EMBEDDED` without its imports."""

# A model by its role


@dataclass(frozen=True)
class NamedModel:
    """The models that a person names for a role, with what is said of all of them."""

    flag: str
    name: tuple[str, ...] = ()
    api_base: str | None = None
    param: tuple[tuple[str, Any], ...] = ()
    price: "Price | None" = None

    def specs(self, default: str) -> "tuple[ModelSpec, ...]":
        """Each model that is named, or the default."""
        from dspy_proact.models import ModelSpec

        return tuple(
            ModelSpec(name=name, api_base=self.api_base, params=dict(self.param), price=self.price)
            for name in self.name or (default,)
        )

    def spec(self, default: "ModelSpec | str") -> "ModelSpec":
        """The one that is named; else the default, with what is said here in place of its own.

        Raises a `UsageError` for several, and for an endpoint without its model where the default is another role's.
        """
        from dspy_proact.models import ModelSpec

        if len(self.name) > 1:
            raise UsageError(f"{self.flag}: takes one model here, and {len(self.name)} are given")
        named = ModelSpec.of(default)
        if not self.name and self.api_base and isinstance(default, ModelSpec):
            raise UsageError(f"{self.flag}-api-base: name the model of this endpoint with {self.flag}")
        (spec,) = self.specs(named.name)
        return spec if self.name else spec.beside(named)


def model_options(flag: str, text: str, heading: Heading = Heading.MODELS) -> Bundle:
    """The options of a role, which come as one `NamedModel`; all begin with the flag, such as `--judge`."""
    name = flag.removeprefix("--").replace("-", "_")
    options = (
        option.text(flag, "NAME", text, f"{name}_name", several=True),
        option.text(f"{flag}-api-base", "URL", "Its endpoint, such as http://localhost:8000/v1."),
        option.text(
            f"{flag}-param",
            "NAME=VALUE",
            "Request parameter in place of the preset's; repeatable. NAME=none omits it. "
            "response_format=json_object asks for JSON without a schema.",
            several=True,
            read=option.parameter,
        ),
        option.text(f"{flag}-price", "IN,OUT", "USD per million tokens, if litellm has no price.", read=option.price),
    )
    return Bundle(name, partial(NamedModel, flag), Section(heading, *options), prefix=f"{name}_")


class NamedRoles(dict[str, NamedModel]):
    """The models that a person names for further roles, by role, each with what is said of it."""

    @classmethod
    def of(cls, **options: tuple[tuple[str, Any], ...]) -> Self:
        """By what follows `--role` in the name of an option, each role with what was read after it."""
        named = cls()
        for end, pairs in options.items():
            for role, value in pairs:
                before = named.get(role, NamedModel(f"--role {role}"))
                if end != "param" and getattr(before, end):
                    flag = "--role" if end == "name" else f"--role-{end.replace('_', '-')}"
                    raise UsageError(f"{flag} {role}: given twice; it takes one value")
                several = {"name": (value,), "param": (*before.param, value)}
                named[role] = replace(before, **{end: several.get(end, value)})
        return named

    def specs(self, declared: "Benchmark[Any, Any]", embedded: bool) -> "dict[str, ModelSpec]":
        """Each as a spec; one of a role that is not named is of the model by which it is played else."""
        usual = {name: EMBEDDED if embedded else model or EMBEDDED for name, model in declared.roles.items()}
        return {name: model.spec(usual.get(name, EMBEDDED)) for name, model in self.items()}


def _of_role(read: Callable[[str], Any], form: str) -> Callable[[str], tuple[str, Any]]:
    """Reads the role and the value of a form such as ROLE=MODEL."""

    def of_role(text: str) -> tuple[str, Any]:
        role, _, value = text.partition(form.removeprefix("ROLE")[0])
        if not (role.strip() and value.strip()):
            raise click.BadParameter(f"{text!r} is not {form}")
        return role.strip(), read(value.strip())

    return of_role


ROLES = Bundle(
    "roles",
    NamedRoles.of,
    Section(
        Heading.MODELS,
        *(
            option.text(f"--role{end}", form, text, f"role_{name}", several=True, read=_of_role(read, form))
            for end, name, form, read, text in (
                ("", "name", "ROLE=NAME", str, "Model of a further role, such as the user; repeatable."),
                ("-api-base", "api_base", "ROLE=URL", str, "Its endpoint."),
                ("-param", "param", "ROLE.NAME=VALUE", option.parameter, "Its request parameter, as --model-param."),
                ("-price", "price", "ROLE=IN,OUT", option.price, "Its price, as --model-price."),
            )
        ),
    ),
    prefix="role_",
)
"""The models of a benchmark's further roles."""

# An application in the place of a model


@dataclass(frozen=True)
class NamedApps:
    """The applications that a person names as assistants under test, none where a model is."""

    name: tuple[str, ...] = ()
    template: Path | None = None

    def require_alone(self, others: Collection[str]) -> None:
        """Raise a `UsageError` where an option of a model is typed beside an application."""
        if self.template and not self.name:
            raise UsageError("--app-template: has no effect without --app URL")
        if self.name and (flag := first_typed(others)):
            mend = "test a model by a command of its own, and compare the runs"
            raise UsageError(f"--app and {flag} are mutually exclusive: an application has models of its own; {mend}")

    def opened(self, limits: "Limits", called: str | None) -> "list[App]":
        """Each application, of which none is started; which limits do not hold for it is printed.

        The only one may be `called` otherwise than its file or URL; a `UsageError` is raised where there are several.
        """
        if not self.name:
            return []
        if called is not None and len(self.name) > 1:
            raise UsageError("--as: names one application; test each of them by a command of its own")
        from dspy_proact.apps import opened_app

        taken = {"--max-usd": limits.usd, "--max-tokens": limits.tokens}
        if named := [flag for flag, limit in taken.items() if limit is not None]:
            say(
                f"{' and '.join(named)}: the judge never exceeds it; an application counts with what it reports "
                "once it has answered, and nothing limits the models that it calls itself."
            )
        return [opened_app(name, self.template, called) for name in self.name]


APPS = Bundle(
    "apps",
    NamedApps,
    Section(
        Heading.MODELS,
        option.text(
            "--app",
            "FILE.py:NAME|URL",
            "Your application in place of a model; repeatable.",
            "app_name",
            several=True,
        ),
        option.path("--app-template", "JSON file that says how the service at --app URL is asked."),
    ),
    prefix="app_",
)

# Calls


def _gate(*, max_calls: int | None, max_tokens: int | None, max_usd: float | None, **calls: Any) -> "Gate":
    from dspy_proact.models import Gate, Limits

    return Gate(limits=Limits(max_calls, max_tokens, max_usd), **calls)


_CONCURRENCY = option.number(
    "--concurrency", click.IntRange(1, 4096), "Most requests in flight, all models.", default=32
)
_HOW = (
    option.number(
        "--timeout",
        option.Between(0, 86400, min_open=True),
        "Seconds allowed for one attempt. Default: 600; 900 with --flex.",
        "S",
    ),
    option.number("--retries", click.IntRange(0, 100), "Further attempts per call.", default=5),
    option.choice("--backend", ("auto", "litellm"), "`litellm` forces its client."),
    option.flag("--flex", "Use the flex tier of every model's provider: half the price, and slower."),
)
_ENGINE = option.text(
    "--engine",
    "ray[=ADDRESS]",
    "Have the machines of a Ray cluster send the requests: one that is started here, or that of ADDRESS (ray=auto).",
)
_RUN_CALLS = (
    option.number(
        "--concurrency",
        click.IntRange(1, 10**6),
        "Most requests in flight, all models. Default: 32; with --batch all that can begin.",
    ),
    *_HOW,
    _ENGINE,
    option.flag("--batch", "Use the batch API of every model's provider: half the price, within a day."),
)
_LIMITS = Section(
    Heading.LIMITS,
    option.number("--max-calls", click.IntRange(1), "Stop after N calls, retries included."),
    option.number("--max-tokens", click.IntRange(1), "Stop after N tokens of prompts and answers."),
    option.number(
        "--max-usd", option.Between(0, 1e9, min_open=True), "Stop before this many US dollars are spent.", "USD"
    ),
)
TRY_GATE = Bundle("gate", _gate, Section(Heading.CALLS, _CONCURRENCY, *_HOW), _LIMITS)
"""For a command that makes a few calls, in this process."""
GATE = Bundle("gate", _gate, Section(Heading.CALLS, _CONCURRENCY, *_HOW, _ENGINE), _LIMITS)
RUN_GATE = Bundle("gate", _gate, Section(Heading.CALLS, *_RUN_CALLS), _LIMITS)
"""Like `GATE`, for a command whose answers and verdicts may come in batches."""
LAZY_GATE = Bundle("gate", partial(partial, _gate), *GATE.sections)
"""Like `GATE`, but as a function that opens it: for a command that may not ask a model."""

# Programs

_JUDGE_PROMPT = option.choice(
    "--judge-prompt", ("default", "official"), "`official`: the prompt of the installed official package."
)
_JUDGE_PROGRAM = option.path("--judge-program", "Compiled judge, as `optimize judge` writes it.")
JUDGING = Section(Heading.JUDGE, _JUDGE_PROMPT, _JUDGE_PROGRAM)
JUDGE_PROGRAM = Section(Heading.JUDGE, _JUDGE_PROGRAM)
"""Where the prompt is always ours."""
SYSTEM_PROMPT = option.text("--system-prompt", "TEXT|@FILE", "System prompt (default: none).")
PROGRAM = option.path("--program", "Compiled assistant, as `optimize assistant` writes it.")


def _wordings(system_prompts: Sequence[str], programs: Sequence[Path], bare: bool) -> "tuple[Wording, ...]":
    from dspy_proact.evaluation.variants import wordings_of

    return wordings_of([(typed, text_of(typed) or "") for typed in system_prompts], programs, bare)


WORDINGS = Bundle(
    "wordings",
    _wordings,
    Section(
        Heading.MODELS,
        option.text(
            "--system-prompt",
            "TEXT|@FILE",
            "System prompt (default: none); repeatable.",
            "wordings_system_prompts",
            several=True,
        ),
        option.path(
            "--program", "Compiled assistant, as `optimize assistant` writes it; repeatable.", "wordings_programs"
        ),
        option.flag("--bare", "Beside --system-prompt or --program: also the model without one.", "wordings_bare"),
    ),
    prefix="wordings_",
)
"""How the models under test are asked; every model is asked in each of these ways."""


def text_of(text: str | None) -> str | None:
    """TEXT as it is, or the contents of the file of @FILE; raises `UsageError` where that cannot be read.

    Where TEXT is the name of a file, a note says that the name itself is the prompt.
    """
    from dspy_proact.kept import open_to_read, read_contents

    if text is None or not text.startswith("@"):
        try:
            named = bool(text) and Path(text or "").is_file()
        except (OSError, ValueError):  # too long for the name of a file
            named = False
        if named:
            say(f"The prompt is the text {text!r} itself. There is a file of that name: for its contents, @{text}")
        return text
    path = Path(text.removeprefix("@"))
    try:
        with open_to_read(path) as file:
            text = read_contents(file).decode("utf-8-sig")
        return StringIO(text, newline=None).read().strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        why = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else why
        raise UsageError(f"{path}: cannot be read: {why}") from error


def _recipe(**options: Any) -> "Recipe":
    from dspy_proact.recipe import Recipe

    return Recipe.model_validate(options)


# Compiles

_RECIPE = (
    option.number("--trials", click.IntRange(1, 10000), "Candidates to try.", default=20),
    option.number("--max-demos", click.IntRange(0, 64), "At most N worked examples in the prompt.", default=4),
    option.number("--folds", click.IntRange(2, 100), "Folds of whole groups, such as scenarios.", default=5),
    option.number("--seed", click.IntRange(0, 2**31), "Seed of folds, draws and studies.", default=0),
)


def recipe_options(optimizers: Sequence[str]) -> Bundle:
    """The options of a compile by one of these optimizers, which come as one `Recipe`."""
    optimizer = option.choice("--optimizer", optimizers, "Optimizer.", "search")
    return Bundle("recipe", _recipe, Section(Heading.RECIPE, optimizer, *_RECIPE))
