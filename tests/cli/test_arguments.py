"""Arguments of Python in messages of the library, as a person at the command line reads them."""

import pytest

from dspy_proact.cli.options.arguments import with_options, words_of

FLAGS = ["--out", "--judge", "--judge-param", "--judge-api-base", "--max-usd", "--stratum", "--votes", "--timeout"]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("name another folder with `out`", "name another folder with --out"),
        ("`judge` openai/m: no key; give `judge.api_base`", "--judge openai/m: no key; give --judge-api-base"),
        ("set `judge.params` max_tokens=9", "set --judge-param max_tokens=9"),
        ("`limits.usd=0.5` is reached", "--max-usd 0.5 is reached"),
        ("`scope.strata=X`: leave `scope.judge_epochs` out", "--stratum X: leave --votes out"),
        ("`gate.timeout` and `settings.history=3`", "--timeout and --set history=3"),
        ("is used by `judge_program`", "is used by --judge-program"),
        (
            "`model` is no option of this command, `grade` none of any",
            "`model` is no option of this command, `grade` none of any",
        ),
        ("the raters' `out`, people's `out`", "the raters' --out, people's --out"),
    ],
)
def test_an_argument_of_the_command_is_its_option(message, shown):
    assert with_options(message, FLAGS) == shown


@pytest.mark.parametrize("quoted", ["'`judge` is required'", '"the server\'s `out`"', "'it\\'s `judge`'"])
def test_what_a_provider_said_is_not_changed(quoted):
    assert (
        with_options(f"`judge` m: refused. The server said: {quoted}", FLAGS)
        == f"--judge m: refused. The server said: {quoted}"
    )


def test_members_of_a_file_of_ones_own_are_not_changed():
    message = "mine.py:12: `judge` failed: TypeError: no `out`"
    assert with_options(message, FLAGS) == message


def test_arguments_are_typed_as_options():
    assert words_of("judge_prompt", "official") == ["--judge-prompt", "official"]
    assert words_of("settings.upstream_rule", "true") == ["--set", "upstream_rule=true"]
