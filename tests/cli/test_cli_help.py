"""What `--help` says, as a person reads it in a terminal of 80 columns."""

import pytest
from click import Group

from dspy_proact import cli
from dspy_proact.cli.options.labels import FILES


def commands(group=cli.proact, words=()):
    """The words of every command that does something."""
    for name, command in group.commands.items():
        if isinstance(command, Group):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name)


@pytest.mark.parametrize("words", [[], ["optimize"]])
def test_a_list_of_commands_has_whole_sentences(proact, words):
    listed = proact(*words, "--help")[1].partition("Commands:\n")[2].splitlines()
    assert listed
    assert all(line.endswith(".") and not line.endswith("...") for line in listed), listed


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_help_fits_into_a_terminal(proact, words):
    pasted = {line for form in FILES for line in form.example.splitlines()}  # as they are in a file, and so not broken
    told = [line for line in proact(*words, "--help")[1].splitlines() if line.strip() not in pasted]
    assert max(map(len, told)) <= 80


def test_a_trial_names_the_corpora_that_it_takes(proact):
    assert "--corpus sample|proactbench[@REV]|FILE" in proact("try", "--help")[1]
