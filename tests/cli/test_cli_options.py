"""The options of all verbs: what several share is declared once, and the help is grouped and ends with an example."""

import shlex
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import click
import pytest
from assistants import ASSISTANT_OPTIMIZERS

from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, JUDGE
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.cli import proact
from dspy_proact.cli.optimize import optimize
from dspy_proact.cli.options.model import EMBEDDED, NamedModel, default_judge
from dspy_proact.cli.options.verb import Bundle, Heading, Verb
from dspy_proact.compile.compile import PROPOSER
from dspy_proact.errors import UsageError
from dspy_proact.models import EMBEDDED as NAME_OF_THE_STAND_IN
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.programs import OPTIMIZERS, Recipe
from dspy_proact.runs import Scope

REPORT_JUDGE = replace(JUDGE, flag="--report-judge")
CALLING = {"agree", "eval", "rejudge", "try", "optimize judge", "optimize assistant"}
"""Commands that call models."""
ROLES = {
    "agree": {JUDGE},
    "eval": {ASSISTANT, JUDGE},
    "rejudge": {JUDGE},
    "try": {ASSISTANT, JUDGE},
    "optimize judge": {JUDGE, PROPOSER},
    "optimize assistant": {ASSISTANT, JUDGE, REPORT_JUDGE, PROPOSER},
}


def walked(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from walked(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


COMMANDS = dict(walked(proact))
VERBS = {name: command for name, command in COMMANDS.items() if isinstance(command, Verb)}


def options(command: click.Command) -> dict[str, click.Option]:
    return {param.opts[0]: param for param in command.params if isinstance(param, click.Option)}


def bundles(command: Verb) -> dict[str, Bundle]:
    return {part.name: part for part in command.parts if isinstance(part, Bundle)}


def looks(option: click.Option) -> tuple[object, ...]:
    """What a person sees of an option, and what it takes."""
    return type(option.type), option.metavar, option.multiple, option.default, option.required


def test_who_calls_models_names_them_by_role():
    assert {name for name, command in COMMANDS.items() if "--judge" in options(command)} == CALLING
    for name, roles in ROLES.items():
        assert {role.flag for role in roles} == {
            flag.removesuffix("-api-base") for flag in options(COMMANDS[name]) if flag.endswith("-api-base")
        }


def test_the_four_options_of_every_role_come_from_one_place():
    seen = defaultdict(set)
    for name, roles in ROLES.items():
        declared = options(COMMANDS[name])
        for role in roles:
            ending = {each: declared[f"{role.flag}{each}"] for each in ("", "-api-base", "-param", "-price")}
            for each, option in ending.items():
                seen[each].add((*looks(option), option.help if each else None))
            bundle = bundles(VERBS[name])[role.flag.removeprefix("--").replace("-", "_")]
            assert list(bundle.options) == list(ending.values())
            assert isinstance(bundle.value(name=("m",), api_base=None, param=(), price=None), NamedModel)
    assert [len(each) for each in seen.values()] == [1, 1, 1, 1]


def test_how_calls_are_made_is_the_same_object_in_every_command_and_comes_as_a_gate():
    # `agree` may ask nobody: it gets what makes the same gate.
    always = CALLING - {"agree"}
    (gate,) = {id(bundles(VERBS[name])["gate"]): bundles(VERBS[name])["gate"] for name in always}.values()
    assert bundles(VERBS["agree"])["gate"].options == gate.options
    flags = ["--concurrency", "--timeout", "--retries", "--backend", "--max-calls", "--max-tokens", "--max-usd"]
    assert [option.opts[0] for option in gate.options] == flags
    made = gate.value(
        concurrency=3, timeout=2.0, retries=1, backend="litellm", max_calls=7, max_tokens=None, max_usd=None
    )
    assert isinstance(made, Gate)
    assert (made.concurrency, made.timeout, made.retries, made.backend, made.limits.calls) == (3, 2.0, 1, "litellm", 7)
    for flag in flags:  # and nobody declares one beside it
        assert {id(options(command)[flag]) for command in COMMANDS.values() if flag in options(command)} == {
            id(option) for option in gate.options if option.opts[0] == flag
        }


def test_the_defaults_of_the_command_line_are_those_of_the_library():
    (gate,) = [part for part in VERBS["eval"].parts if isinstance(part, Bundle) and part.name == "gate"]
    usual = Gate()
    said = {option.name: option.default for option in gate.options if option.name in vars(usual)}
    assert said == {name: getattr(usual, name) for name in ("concurrency", "timeout", "retries", "backend")}
    recipe = {option.name: option.default for option in bundles(VERBS["optimize judge"])["recipe"].options}
    assert Recipe(**recipe) == Recipe()
    assert EMBEDDED == NAME_OF_THE_STAND_IN == ModelSpec().name


def test_how_much_is_asked_comes_as_a_scope():
    for name in ("eval", "rejudge"):
        bundle = bundles(VERBS[name])["scope"]
        epochs = {"epochs": 2} if name == "eval" else {}
        made = bundle.value(
            limit=3, phases=("RECOVERY",), judge_epochs=None, controls=True, retry_unscored=False, **epochs
        )
        assert made == Scope(limit=3, strata=("RECOVERY",), controls=True, **epochs)
    shared = [set(map(id, bundles(VERBS[name])["scope"].options)) for name in ("eval", "rejudge")]
    assert shared[1] < shared[0]


def test_choices_are_those_of_the_library():
    for name, known in (("judge", OPTIMIZERS), ("assistant", ASSISTANT_OPTIMIZERS)):
        assert tuple(options(optimize.commands[name])["--optimizer"].type.choices) == known
    # `show` takes those of the run that it reads.
    asked = [options(command) for name, command in COMMANDS.items() if name != "show"]
    phases = [each["--phase"].type.choices for each in asked if "--phase" in each]
    assert all(tuple(each) == tuple(Phase) for each in phases)


def test_every_option_of_a_verb_is_under_a_heading_and_explained():
    for verb in VERBS.values():
        headed = [option for part in verb.parts for section in part.sections for option in section.options]
        assert [param for param in verb.params if isinstance(param, click.Option)] == headed
        assert all(option.help for option in headed)


@pytest.mark.parametrize("name", sorted(CALLING))
def test_help_is_grouped_in_one_order_and_ends_with_an_example_that_parses(name):
    verb = VERBS[name]
    words = ["dspy-proact", *name.split()]
    with click.Context(verb, info_name=name) as context:
        said = verb.get_help(context)
    headings = [line.removesuffix(":") for line in said.splitlines() if line.endswith(":") and line[0] != " "]
    known = [str(heading) for heading in Heading]
    forms = [form.name for form in verb.files]
    first = len(headings) - len(forms) - 2
    assert headings[first:] == ["Help", *forms, "Example"]
    assert headings[:first] == [heading for heading in known if heading in headings]
    assert {"How calls are made", "Limits", "Output"} < set(headings)
    assert said.rstrip().endswith(verb.example.splitlines()[-1])
    assert max(map(len, verb.example.splitlines())) <= 78
    example = shlex.split(verb.example.replace("\\\n", " "))
    assert example[: len(words)] == words
    assert verb.make_context(name, example[len(words) :])


# A model that a person names


def test_several_names_share_what_is_said_of_them():
    named = NamedModel("--judge", ("openai/a", "openai/b"), "http://here/v1", (("seed", 7), ("top_p", None)))
    said = {"api_base": "http://here/v1", "params": {"seed": 7, "top_p": None}}
    assert named.specs("openai/c") == (ModelSpec(name="openai/a", **said), ModelSpec(name="openai/b", **said))
    with pytest.raises(UsageError, match="--judge: one model is asked here; 2 are named"):
        named.spec("openai/c")


def test_without_a_name_the_default_has_what_is_said_here():
    at = "http://here/v1"
    assert NamedModel("--judge", api_base=at).specs(default_judge(False)) == (
        ModelSpec(name="openai/gpt-5.4", api_base=at),
    )
    assert NamedModel("--judge").spec(EMBEDDED) == ModelSpec()


def test_another_roles_model_is_taken_whole_where_nothing_is_said():
    tuning = ModelSpec(name="openai/a", api_base="http://here/v1", params={"seed": 7})
    assert NamedModel("--proposer").spec(tuning) == tuning
    assert NamedModel("--proposer", param=(("seed", 8),)).spec(tuning) == ModelSpec(
        name="openai/a", api_base="http://here/v1", params={"seed": 8}
    )
    assert NamedModel("--proposer", ("openai/b",)).spec(tuning) == ModelSpec(name="openai/b")
    with pytest.raises(UsageError, match="--proposer-api-base: name the model that is there with --proposer"):
        NamedModel("--proposer", api_base="http://there/v1").spec(tuning)
