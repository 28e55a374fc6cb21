"""Help of every verb as a person reads it in a terminal of 80 columns, and the options that several verbs share."""

import shlex
from collections.abc import Iterator

import click
import pytest
from assistants import ASSISTANT_OPTIMIZERS

from dspy_proact.cli import proact as command_line
from dspy_proact.cli.options.models import EMBEDDED
from dspy_proact.cli.options.verb import Bundle, Heading, Verb
from dspy_proact.models import EMBEDDED as NAME_OF_THE_STAND_IN
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.programs import OPTIMIZERS, Recipe

OF_ONE_BENCHMARK = ("PROBE", "ProactBench", "--phase", "--judge-prompt")
"""Of which help for a first day does not speak."""


def walked(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from walked(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


VERBS = dict(walked(command_line))
EACH = pytest.mark.parametrize("name", VERBS)


def options(name: str) -> dict[str, click.Option]:
    return {param.opts[0]: param for param in VERBS[name].params if isinstance(param, click.Option)}


def bundle(name: str, of: str) -> Bundle:
    (found,) = [part for part in VERBS[name].parts if isinstance(part, Bundle) and part.name == of]
    return found


# Help


@pytest.mark.parametrize("words", [[], ["label"], ["optimize"]])
def test_a_list_of_commands_has_whole_sentences(proact, words):
    listed = proact(*words, "--help")[1].partition("Commands:\n")[2].splitlines()
    assert listed
    assert all(line.endswith(".") and not line.endswith("...") for line in listed), listed


def test_the_first_page_names_proactbench_and_explains_the_words_of_every_option(proact):
    first = " ".join(proact("--help")[1].partition("Options:")[0].split())
    assert [
        word
        for word in ("ProactBench", "A case is", "a trigger:", "A stratum is", "a phase:", "An epoch is")
        if word not in first
    ] == []
    for name in VERBS:
        assert ("that of the run, else" in " ".join(proact(*name.split(), "--help-all")[1].split())) is (
            name in ("agree", "rejudge", "report", "show", "compare", "export", "leaderboard", "label sheet")
        )


@EACH
def test_help_fits_a_screen_and_speaks_of_no_single_benchmark(proact, name):
    lines = proact(*name.split(), "--help")[1].splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert "--help-all" in " ".join(lines)
    assert not [word for word in OF_ONE_BENCHMARK if word in " ".join(lines)]


@EACH
def test_everything_is_in_help_all_under_headings_with_an_example_that_parses(proact, name):
    verb = VERBS[name]
    assert isinstance(verb, Verb)
    said = proact(*name.split(), "--help-all")[1]
    words = set(said.replace(",", " ").split())
    for flag, option in options(name).items():
        assert flag in words
        assert option.help
    headings = [line.removesuffix(":") for line in said.splitlines() if line.endswith(":") and line[0] != " "]
    known = [str(heading) for heading in Heading]
    assert headings[: -2 - len(verb.files)] == [heading for heading in known if heading in headings]
    assert headings[-2 - len(verb.files) :] == ["Help", *(form.name for form in verb.files), "Example"]
    pasted = {line for form in verb.files for line in form.example.splitlines()}  # as in a file, and so not broken
    assert max(len(line) for line in said.splitlines() if line.strip() not in pasted) <= 80
    assert said.rstrip().endswith(verb.example.splitlines()[-1])
    example = shlex.split(verb.example.replace("\\\n", " "))
    begin = ["dspy-proact", *name.split()]
    assert example[: len(begin)] == begin
    assert verb.make_context(name, example[len(begin) :])
    assert set(verb.first) <= set(options(name))


# What is typed


@pytest.mark.parametrize(
    "words",
    [
        ["eval", "--out", "a", "--out", "b"],
        ["eval", "--limit", "1", "--limit=2", "--help"],
        ["report", "a", "--html", "a", "--html", "b"],
        ["label", "sheet", "a", "--draw", "1", "--draw", "2"],
        ["optimize", "judge", "--seed", "1", "--seed", "1"],
        ["benchmarks", "--help-all"],
    ],
)
def test_an_option_of_one_value_is_given_once(proact, words):
    status, _, err = proact(*words)
    if words[-1] == "--help-all":
        assert (status, err) == (0, "")
        return
    flag = next(word for word in words if word.startswith("--"))
    assert (status, f"Error: {flag}: given 2 times; it takes one value" in err) == (2, True)


def test_options_that_take_several_values_are_merged_and_flags_may_be_repeated(proact):
    words = ["--stratum", "recovery", "--phase", "Critical", "--stratum", "RECOVERY", "--limit", "2", "--controls"]
    status, out, _ = proact("eval", *words, "--controls", "--dry-run", "--json", "--json")
    assert (status, '"calls": 8' in out) == (0, True)  # two triggers and two control turns, each answered and graded


# What several verbs share


def test_defaults_and_choices_are_those_of_the_library():
    usual, gate = Gate(), bundle("eval", "gate")
    said = {option.name: option.default for option in gate.options if option.name in vars(usual)}
    assert said == {name: getattr(usual, name) for name in ("concurrency", "timeout", "retries", "backend")}
    recipe = {option.name: option.default for option in bundle("optimize judge", "recipe").options}
    assert Recipe(**recipe) == Recipe()
    assert EMBEDDED == NAME_OF_THE_STAND_IN == ModelSpec().name
    for name, known in (("optimize judge", OPTIMIZERS), ("optimize assistant", ASSISTANT_OPTIMIZERS)):
        assert tuple(options(name)["--optimizer"].type.choices) == known
