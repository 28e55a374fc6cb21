"""`dspy-proact optimize show`: the first sentence of a card, its prompt, and what a compile changed."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from builders import assistants, judges
from builders.assistants import PUSHY, artefact, on_disk
from builders.item_scores import by_hand, of_judge
from fakes.server import healthy

from dspy_proact import Assistant, Estimate, Judge
from dspy_proact.programs.artefact import Learned, states_of, write_artefact
from dspy_proact.programs.item_scores import ScoreColumn

# The prompt, and what a compile changed

PROMPTS = [
    (PUSHY, 2),
    (None, 1),
    ("Löse [bold]alles[/bold]: «ja»…\n\n- one\n- two\n\n" + "A long line of many words. " * 12 + "\tEnd.", 1),
    ("  Spaces before\n    and inside  \n\n", 0),
]


@pytest.mark.parametrize(("instruction", "demos"), PROMPTS)
def test_as_prompt_prints_what_eval_sends_byte_for_byte(proact, tmp_path, server, instruction, demos):
    write_artefact(tmp_path / "assistant.json", artefact(instruction, demos))
    status, out, err = proact("optimize", "show", "assistant.json", "--as-prompt")
    assert (status, err) == (0, "")
    server.script = healthy
    models = ["--model", "openai/any", "--model-api-base", server.assistant]
    judge = ["--judge", "openai/any", "--judge-api-base", server.judge]
    run = ["--program", "assistant.json", "--limit", 1, "--out", "run"]
    assert proact("eval", *models, *judge, *on_disk(tmp_path), *run)[0] == 0
    (sent,) = server.of("assistant")
    system, *text = sent.messages
    assert system["role"] == "system"
    assert out == f"{system['content']}\n"
    assert [item["role"] for item in text[::2]] == ["user"] * len(text[::2])


def test_as_prompt_without_demos_prints_the_instruction_and_no_conversation(proact, tmp_path):
    write_artefact(tmp_path / "assistant.json", artefact(PUSHY, 2))
    assert "A worked example:" in proact("optimize", "show", "assistant.json", "--as-prompt")[1]
    assert proact("optimize", "show", "assistant.json", "--as-prompt", "--no-demos") == (0, f"{PUSHY}\n", "")


PROMPT = "Answer.\nBe brief."


def begun_with(artefact, program):
    """The artefact of a compile that began with a program."""
    start = Learned(states=states_of(program))
    card = artefact.card.model_copy(update={"unchanged": start.states == artefact.states})
    return artefact.model_copy(update={"start": start, "card": card})


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
    status, out, err = diff(begun_with(judges.artefact(demos=1), judge))
    taken, brought = changed(out)
    assert (status, err) == (0, "")
    message = (predictor.signature.instructions for predictor in judge.predictors())
    assert set(filter(None, "\n".join(message).splitlines())) <= set(taken)
    assert brought.count("Grade by the moon.") == 3  # one for each phase
    assert "A worked example:" in brought
    assert '"conversation": [' in "".join(brought)


def test_an_assistant_without_a_prompt_began_with_nothing(diff):
    _, out, _ = diff(begun_with(assistants.artefact(demos=0), Assistant()))
    assert changed(out) == [[], PUSHY.splitlines()]


def test_a_prompt_with_demos_is_compared_line_by_line(diff):
    start = assistants.compiled_assistant(assistants.artefact("Answer.\nBe brief.", 1))
    status, out, _ = diff(begun_with(assistants.artefact("Answer.\nLook ahead.", 0), start))
    taken, brought = changed(out)
    assert (status, taken[0], "A worked example:" in taken, brought) == (0, "Be brief.", True, ["Look ahead."])


def test_a_program_of_a_benchmark_that_nobody_knows_is_shown_and_compared(diff, proact):
    """A person's own file, which the file of the program does not name."""
    theirs = assistants.artefact(PUSHY, 0).model_copy(update={"benchmark": "theirs"})
    assert changed(diff(begun_with(theirs, Assistant()))[1]) == [[], PUSHY.splitlines()]
    status, out, _ = proact("optimize", "show", "program.json")
    assert (status, "assistant of theirs" in out) == (0, True)


def test_a_program_that_was_left_alone_says_so(diff):
    _, out, _ = diff(begun_with(assistants.artefact(PROMPT, 0), Assistant(PROMPT)))
    assert out == "No change.\n"


def test_both_wholes_are_json(diff):
    document = json.loads(diff(begun_with(assistants.artefact(PUSHY, 1), Assistant()), "--json")[1])
    assert document["before"] == {"instruction": "", "demos": []}
    assert document["now"]["instruction"] == PUSHY
    assert [demo.keys() >= {"history", "user_message", "response"} for demo in document["now"]["demos"]] == [True]


def test_no_terminal_obeys_an_instruction(diff):
    _, out, _ = diff(begun_with(assistants.artefact("Go\x1b[2J \u202eon.", 0), Assistant()))
    assert changed(out) == [[], ["Go\\x1b[2J \\u202eon."]]


# What its card claims

RISE = Estimate(value=0.2, low=0.05, high=0.35)
"""In kappa, or of a mean score."""
KAPPA, POINTS = "(+0.20 in kappa, 95 % +0.05 to +0.35)", "(+20.0 [+5.0, +35.0] points)"
JUDGED, ASSISTED = judges.card, assistants.card
UNREAD = {"total": 154, "low98": 0.02, "low98_unread": -0.03}
UNGRADED = {"count": 0, "difference": Estimate(value=None, reason="no scores"), "low98": None}
HIGH = {"before": Estimate(value=0.6, low=0.5, high=0.7)}
SEEN = f"{KAPPA}, on 147 graded answers not seen before"


def first(card, target, **changes):
    """The first sentence of a card whose target has these numbers, in 20 groups."""
    row = {"count": 147, "total": 147, "difference": RISE, "low98": -0.01, **target}
    return by_hand(card, row, (), **({"groups": 20} | changes)).headline.text


@pytest.mark.parametrize(
    ("made", "changes", "target", "message"),
    [
        *(
            (partial(JUDGED, of_judge(raters=raters)), {}, {"low98": 0.02}, f"agrees better with {whom} {SEEN}")
            for raters, whom in ((4, "people"), (3, "these 3 raters"), (1, "this rater"))
        ),
        # The 98 % interval reaches .2 + .01 below the gain, and counting the unread .2 + .03.
        (
            JUDGED,
            {},
            {},
            f"No improvement shown {KAPPA}: with 147 graded answers it takes a measured gain of more than 0.21",
        ),
        (ASSISTED, {}, {}, f"RECOVERY {POINTS}: with 147 triggers it takes a measured gain of more than 21.0 points"),
        (JUDGED, {}, {"low98_unread": -0.03}, "it takes a measured gain of more than 0.23"),
        # From .6 a gain of .4 is left; the interval reaches .49 below what was measured, or to the end of the scale.
        (JUDGED, {}, HIGH | {"low98": -0.29}, f"{KAPPA}: no gain from 0.60 could have been shown"),
        (ASSISTED, {}, HIGH | {"low98": -1.0}, f"{POINTS}: no gain from 60.0 points could have been shown"),
        (JUDGED, {}, {"difference": Estimate(0.1, -0.001, 0.2)}, "(+0.10 in kappa, 95 % +0.00 to +0.20)"),
        *((made, {}, UNREAD, ": not counting the 7 unreadable against it") for made in (JUDGED, ASSISTED)),
        (
            JUDGED,
            {},
            {"difference": Estimate(0.1, reason="all scenarios shift alike"), "low98": None},
            "No improvement shown (+0.10 in kappa): all scenarios shift alike",
        ),
        (JUDGED, {"groups": 1}, {}, "147 graded answers in 1 scenario are too few; a claim takes 60"),
        (JUDGED, {}, {"count": 59}, "59 graded answers in 20 scenarios are too few; a claim takes 60 in 10"),
        (ASSISTED, {"groups": 9}, {}, "147 triggers in 9 scenarios are too few; a claim takes 60"),
        (ASSISTED, {}, UNGRADED, "No improvement is claimed in RECOVERY: nothing could be graded"),
    ],
)
def test_a_card_claims_what_its_interval_bears_and_says_what_is_missing(made, changes, target, message):
    assert message in first(made(), target, **changes)


def test_numbers_that_may_be_below_0_stand_as_they_are(proact):
    """The cost of the first group falls from -.5 to -.25, of the others from 0 to 1: no ratio can be told."""
    scores = assistants.card().item_scores
    before, after = (
        tuple(low if group == 0 else high for group in scores.groups) for low, high in ((-0.5, 0.0), (-0.25, 1.0))
    )
    value = ScoreColumn(kind="rate", name="value", title="value", before=before, after=after)
    with_value = scores.model_copy(update={"columns": (*scores.columns, value)})
    artefact = assistants.artefact()
    card = artefact.card.model_copy(update={"item_scores": with_value})
    write_artefact(Path("made.json"), artefact.model_copy(update={"card": card}))
    out = " ".join(proact("optimize", "show", "made.json")[1].split())
    # Of ten groups: -.5 / 10; -.25 / 10 + 9 / 10; .25 / 10 + 9 / 10.
    (row,) = re.findall(r"value 60 (\S+) \[.*?\] (\S+) \[.*?\] (\S+) ", out)
    assert [float(number) for number in row] == pytest.approx([-0.05, 0.875, 0.925], abs=0.006)
    assert "value: means as they are" in out


def row(name, value, low, high, **changes):
    """A row beside the target, whose usual margin is .05."""
    difference = Estimate(value, low, high, None if low is not None else "rests on one scenario")
    return assistants.card_row(name, **{"margin": 0.05, "difference": difference, **changes})


@pytest.mark.parametrize(
    ("rows", "cost"),
    [
        # A score that falls by at most .02, a rate that rises by at most .04: both within the margin.
        (
            [row("EMERGENT", 0.01, -0.02, 0.04), row("offers", 0.01, -0.02, 0.04, unit="rate")],
            ["no cost beyond the usual margins."],
        ),
        ([row("EMERGENT", -0.06, -0.1, -0.02)], ["beyond the usual margins: EMERGENT -6.0 [-10.0, -2.0] points."]),
        ([row("offers", 0.1, 0.0, 0.2, unit="rate")], ["beyond the usual margins: offers +10.0 [+0.0, +20.0] points."]),
        # A ratio of 1.1 is a growth of .1 that may be .3.
        (
            [row("words", 1.1, 0.9, 1.3, unit="times", margin=0.2)],
            ["costs beyond the usual margins cannot be excluded for words."],
        ),
        # The unread at their worst count against it.
        (
            [
                row("offers", 0.0, -0.02, 0.02, unit="rate", most=Estimate(value=0.1, low=0.0, high=0.2)),
                row("c", 0.01, 0, 0.02),
            ],
            ["costs beyond the usual margins cannot be excluded for offers."],
        ),
        # The means are equal, but the interval of their difference, or what was not read or counted, is wide.
        ([row("EMERGENT", 0.0, -0.3, 0.3)], ["costs beyond the usual margins cannot be excluded for EMERGENT."]),
        ([row("words", None, None, None)], ["costs beyond the usual margins cannot be excluded for words."]),
        (
            [row("offers", 0.0, None, None, unit="rate", most=Estimate(value=0.1, low=0.0, high=0.2))],
            ["costs beyond the usual margins cannot be excluded for offers."],
        ),
        # What is exactly what it was costs nothing, even without an interval.
        ([row("EMERGENT", 0.0, None, None)], ["no cost beyond the usual margins."]),
        ([row("RECOVERY", -0.9, -1, -0.8, margin=None)], []),
    ],
)
def test_what_got_worse_stands_below_with_its_interval(rows, cost):
    target = {"count": 147, "total": 147, "difference": RISE, "low98": 0.02}
    card = by_hand(ASSISTED(), target, rows)
    end = ", at a cost." if cost and cost[0].startswith("beyond") else "."
    assert card.headline.text == f"Improvement shown in RECOVERY {POINTS}, on 147 triggers not seen before{end}"
    assert [*card.headline.caveats] == cost


@pytest.mark.parametrize(("compiles", "caveats"), [(1, 0), (5, 1)])
def test_the_best_of_several_compiles_on_the_same_data_is_said_to_be_one_of_them(compiles, caveats):
    headline = by_hand(ASSISTED(compiles=compiles), {}, ()).headline
    assert len(headline.caveats) == caveats
    assert all(caveat.startswith("one of 5 compiles on these data: ") for caveat in headline.caveats)


COSTLY = row("EMERGENT", -0.2, -0.3, -0.1)


@pytest.mark.parametrize("made", [JUDGED, ASSISTED])
@pytest.mark.parametrize(
    ("changes", "rows", "target", "side", "number"),
    [
        ({}, (), {"low98": 0.02}, "higher", RISE),
        ({}, (COSTLY,), {"low98": 0.02}, "higher", RISE),
        ({}, (), {"low98": -0.01}, None, RISE),
        ({}, (), UNGRADED, None, None),
        ({"unchanged": True}, (), {"low98": 0.02}, None, None),
    ],
)
def test_the_headline_of_a_card_is_a_sentence_of_at_most_30_words_with_the_numbers_beside_it(
    made, changes, rows, target, side, number
):
    card = by_hand(made(**changes), {"count": 147, "total": 147, "difference": RISE, **target}, rows)
    headline = card.headline
    assert (headline.side, headline.number, headline.count) == (side, number, card.target.count)
    assert len(headline.text.split()) <= 30
    assert headline.text.endswith(".")
    assert card.document()["claim"] == headline.claim
