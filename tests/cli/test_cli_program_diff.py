"""`dspy-proact optimize show --diff`: what a compile changed, and nothing where what was before is not known."""

import json

import assistants
import pytest
import tuning
from assistants import PUSHY

from dspy_proact.benchmarks.proactbench.programs import Assistant, Judge
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.programs.artefact import Cuts, write_artefact

PROMPT = "Answer.\nBe brief."


def begun_with(artefact, start):
    """The artefact of a compile that began with a program of this hash."""
    made = artefact.card.provenance.model_copy(update={"start": start})
    return artefact.model_copy(update={"card": artefact.card.model_copy(update={"provenance": made})})


@pytest.fixture
def diff(proact, tmp_path):
    def call(artefact, *options):
        write_artefact(tmp_path / "program.json", artefact)
        return proact("optimize", "show", "program.json", "--diff", *options)

    return call


def changed(out):
    """The lines that were taken away, and those that were brought, without the headings."""
    lines = out.splitlines()[2:]
    return [[line[1:] for line in lines if line[:1] == sign] for sign in "-+"]


def test_a_compiled_judge_is_compared_with_ours_uncompiled(diff):
    judge = Judge(ask_quote_again=False)
    status, out, err = diff(begun_with(tuning.artefact(demos=1), judge.fingerprint()))
    taken, brought = changed(out)
    assert (status, err) == (0, "")
    assert list(filter(None, taken)) == list(filter(None, judge.instruction.splitlines()))
    assert brought[0] == "Grade by the moon."
    assert "A worked example:" in brought
    assert '"conversation": [' in "".join(brought)


def test_an_assistant_without_a_prompt_began_with_nothing(diff):
    _, out, _ = diff(begun_with(assistants.artefact(demos=0), Assistant().fingerprint()))
    assert changed(out) == [[], PUSHY.splitlines()]


def test_a_prompt_that_is_named_is_compared_where_it_is_the_right_one(diff):
    compiled = begun_with(assistants.artefact("Answer.\nLook ahead.", 0), Assistant(PROMPT).fingerprint())
    status, out, _ = diff(compiled, "--system-prompt", PROMPT)
    assert (status, changed(out)) == (0, [["Be brief."], ["Look ahead."]])
    status, out, err = diff(compiled, "--system-prompt", "Answer.")
    assert (status, out) == (2, "")
    assert "--system-prompt: is not what this assistant was compiled from" in err


def test_a_program_that_is_named_is_compared(diff, tmp_path):
    before = assistants.artefact(PUSHY, 1)
    write_artefact(tmp_path / "before.json", before)
    compiled = begun_with(assistants.artefact(PUSHY, 0), before.digest)
    status, out, _ = diff(compiled, "--start", "before.json")
    taken, brought = changed(out)
    assert (status, "A worked example:" in taken, brought) == (0, True, [])


def test_what_is_not_known_is_said_and_what_it_says_now_is_printed(diff):
    status, out, err = diff(begun_with(assistants.artefact(PUSHY, 0), "0" * 64))
    assert (status, out) == (0, f"{PUSHY}\n")
    assert "What it was before is not known" in err
    assert "Name it with --start or --system-prompt." in err
    assert json.loads(diff(begun_with(assistants.artefact(PUSHY, 0), "0" * 64), "--json")[1])["before"] is None


def test_a_program_that_was_left_alone_says_so(diff):
    _, out, _ = diff(
        begun_with(assistants.artefact(PROMPT, 0), Assistant(PROMPT).fingerprint()), "--system-prompt", PROMPT
    )
    assert out == "It says what it said before.\n"


def test_both_wholes_are_json(diff):
    told = json.loads(diff(begun_with(assistants.artefact(PUSHY, 1), Assistant().fingerprint()), "--json")[1])
    assert told["before"] == {"instruction": "", "demos": []}
    assert told["now"]["instruction"] == PUSHY
    assert [demo.keys() >= {"history", "user_message", "response"} for demo in told["now"]["demos"]] == [True]


def test_no_terminal_obeys_an_instruction(diff):
    _, out, _ = diff(begun_with(assistants.artefact("Go\x1b[2J \u202eon.", 0), Assistant().fingerprint()))
    assert changed(out) == [[], ["Go\\x1b[2J \\u202eon."]]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--diff", "--as-prompt"], "leave it out, or leave --diff out"),
        (["--start", "program.json"], "--start is about what --diff compares with; name that too, or leave it out"),
        (["--system-prompt", "x"], "--system-prompt is about what --diff compares with; name that too"),
        (["--as-prompt", "--start", "program.json"], "--start is about what --diff compares with; leave it out"),
        (["--diff", "--explain"], "--explain is about the card; leave it out"),
        (["--diff", "--no-demos"], "--no-demos is about the prompt that --as-prompt prints; leave it out"),
        (["--diff", "--no-demos", "--start", "program.json"], "that --as-prompt prints; leave it out"),
        (["--diff", "--start", "program.json", "--system-prompt", "x"], "leave --system-prompt out"),
    ],
)
def test_what_does_not_go_together_is_refused(proact, tmp_path, options, told):
    write_artefact(tmp_path / "program.json", assistants.artefact())
    status, out, err = proact("optimize", "show", "program.json", *options)
    assert (status, out) == (2, "")
    assert told in err


def test_a_judge_has_no_system_prompt(diff):
    status, _, err = diff(tuning.artefact(), "--system-prompt", "x")
    assert (status, "a judge has none" in err) == (2, True)


@pytest.mark.parametrize(
    ("text", "cut", "told"), [(None, 1.5, True), (None, 1.2, False), ("Grade by the moon.", 1.5, False)]
)
def test_a_card_says_where_nothing_better_was_found(proact, tmp_path, text, cut, told):
    judge, artefact = Judge(ask_quote_again=False), tuning.artefact(demos=0)
    signature = artefact.states["grade"].signature.model_copy(update={"instructions": text or judge.instruction})
    plain = {phase: Cuts(partial=0.5, full=cut) for phase in Phase}
    state = artefact.states["grade"].model_copy(update={"signature": signature})
    updated = {"states": {"grade": state}, "cuts": plain}
    write_artefact(tmp_path / "program.json", begun_with(artefact.model_copy(update=updated), judge.fingerprint()))
    _, out, _ = proact("optimize", "show", "program.json")
    assert ("Nothing better was found: the file is the program that the compile began with." in out) is told
