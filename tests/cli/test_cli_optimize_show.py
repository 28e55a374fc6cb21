"""`dspy-proact optimize show`: the first sentence of a card, its prompt, and what a compile changed."""

import json
from pathlib import Path

import pytest
from builders import assistants, judges
from builders.assistants import PUSHY, artefact, on_disk
from fakes.server import healthy

from dspy_proact import Assistant, Estimate, Judge
from dspy_proact.programs.artefact import write_artefact

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
    status, out, err = diff(begun_with(judges.artefact(demos=1), judge.fingerprint()))
    taken, brought = changed(out)
    assert (status, err) == (0, "")
    message = (predictor.signature.instructions for predictor in judge.predictors())
    assert set(filter(None, "\n".join(message).splitlines())) <= set(taken)
    assert brought.count("Grade by the moon.") == 3  # one for each phase
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


def test_a_program_that_is_not_known_is_null(diff):
    assert json.loads(diff(begun_with(assistants.artefact(PUSHY, 0), "0" * 64), "--json")[1])["before"] is None


def test_a_program_that_was_left_alone_says_so(diff):
    _, out, _ = diff(
        begun_with(assistants.artefact(PROMPT, 0), Assistant(PROMPT).fingerprint()), "--system-prompt", PROMPT
    )
    assert out == "No change.\n"


def test_both_wholes_are_json(diff):
    document = json.loads(diff(begun_with(assistants.artefact(PUSHY, 1), Assistant().fingerprint()), "--json")[1])
    assert document["before"] == {"instruction": "", "demos": []}
    assert document["now"]["instruction"] == PUSHY
    assert [demo.keys() >= {"history", "user_message", "response"} for demo in document["now"]["demos"]] == [True]


def test_no_terminal_obeys_an_instruction(diff):
    _, out, _ = diff(begun_with(assistants.artefact("Go\x1b[2J \u202eon.", 0), Assistant().fingerprint()))
    assert changed(out) == [[], ["Go\\x1b[2J \\u202eon."]]


# What its card claims

RISE = Estimate(value=0.2, low=0.05, high=0.35)
"""In kappa, or of a mean score."""
KAPPA, POINTS = "(+0.20 in kappa, 95 % +0.05 to +0.35)", "(+20.0 [+5.0, +35.0] points)"
JUDGE, ASSISTANT = judges.artefact, assistants.artefact
SHOWN, NOT_SHOWN = {"shown": True}, {"shown": False, "group_count": 20, "rows": ()}
UNREAD = {"total": 154, "low98": 0.02, "low98_unread": -0.03}
UNGRADED = {"count": 0, "difference": Estimate(value=None, reason="no scores"), "low98": None}
HIGH = {"before": Estimate(value=0.6, low=0.5, high=0.7)}
SEEN = f"{KAPPA}, on 147 graded answers not seen before"


@pytest.fixture
def first(proact):
    """The first sentence of what is shown of a compiled program, whose card and target have these changes."""

    def first(artefact, changes, target):
        row = {"count": 147, "difference": RISE, "low98": -0.01, **target}
        card = artefact.card.model_copy(update={"target": artefact.card.target.model_copy(update=row), **changes})
        write_artefact(Path("made.json"), artefact.model_copy(update={"card": card}))
        status, out, _ = proact("optimize", "show", "made.json")
        assert status == 0
        return " ".join(out.split()).partition(". ")[0]

    return first


@pytest.mark.parametrize(
    ("made", "changes", "target", "message"),
    [
        (JUDGE, SHOWN | {"raters": 4}, {"low98": 0.02}, f"the judge agrees better with people {SEEN}"),
        (JUDGE, SHOWN | {"raters": 3}, {"low98": 0.02}, f"the judge agrees better with these 3 raters {SEEN}"),
        (JUDGE, SHOWN | {"raters": 1}, {"low98": 0.02}, f"the judge agrees better with this rater {SEEN}"),
        # The 98 % interval reaches .2 + .01 below the gain, and counting the unread .2 + .03.
        (
            JUDGE,
            NOT_SHOWN,
            {},
            f"No improvement shown {KAPPA}: with 147 graded answers it takes a measured gain of more than 0.21",
        ),
        (
            ASSISTANT,
            NOT_SHOWN,
            {},
            f"RECOVERY {POINTS}: with 147 triggers it takes a measured gain of more than 21.0 points",
        ),
        (JUDGE, NOT_SHOWN, {"low98_unread": -0.03}, "it takes a measured gain of more than 0.23"),
        # From .6 a gain of .4 is left; the interval reaches .49 below what was measured, or to the end of the scale.
        (JUDGE, NOT_SHOWN, HIGH | {"low98": -0.29}, f"{KAPPA}: no gain from 0.60 could have been shown"),
        (ASSISTANT, NOT_SHOWN, HIGH | {"low98": -1.0}, f"{POINTS}: no gain from 60.0 points could have been shown"),
        (JUDGE, NOT_SHOWN, {"difference": Estimate(0.1, -0.001, 0.2)}, "(+0.10 in kappa, 95 % +0.00 to +0.20)"),
        *((made, NOT_SHOWN, UNREAD, ": not counting the 7 unreadable against it") for made in (JUDGE, ASSISTANT)),
        (
            JUDGE,
            NOT_SHOWN,
            {"difference": Estimate(0.1, reason="all scenarios shift alike"), "low98": None},
            "No improvement shown (+0.10 in kappa): all scenarios shift alike",
        ),
        (JUDGE, NOT_SHOWN | {"group_count": 1}, {}, "147 graded answers in 1 scenario are too few; a claim takes 60"),
        (JUDGE, NOT_SHOWN, {"count": 59}, "59 graded answers in 20 scenarios are too few; a claim takes 60 in 10"),
        (ASSISTANT, NOT_SHOWN | {"group_count": 9}, {}, "147 triggers in 9 scenarios are too few; a claim takes 60"),
        (ASSISTANT, NOT_SHOWN, UNGRADED, "No improvement is claimed in RECOVERY: nothing could be graded"),
    ],
)
def test_a_card_claims_what_its_interval_bears_and_says_what_is_missing(first, made, changes, target, message):
    assert message in first(made(), changes, target)


def test_numbers_that_may_be_below_0_stand_as_they_are(proact):
    before, after = (Estimate(value=value, low=value - 0.1, high=value + 0.1) for value in (-0.25, 0.5))
    value = row("value", 0.75, 0.6, 0.9, unit="value", before=before, after=after, margin=None)
    card = ASSISTANT().card.model_copy(update={"rows": (value,)})
    write_artefact(Path("made.json"), ASSISTANT().model_copy(update={"card": card}))
    out = " ".join(proact("optimize", "show", "made.json")[1].split())
    assert "-0.25 [-0.35, -0.15] 0.50 [0.40, 0.60] 0.75 [0.60, 0.90]" in out
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
    card = ASSISTANT().card
    target = card.target.model_copy(update={"count": 147, "difference": RISE, "low98": 0.02})
    card = card.model_copy(update=SHOWN | {"rows": tuple(rows), "target": target})
    end = ", at a cost." if cost and cost[0].startswith("beyond") else "."
    assert card.headline.text == f"Improvement shown in RECOVERY {POINTS}, on 147 triggers not seen before{end}"
    assert [*card.headline.caveats] == cost


@pytest.mark.parametrize(("compiles", "caveats"), [(1, 0), (5, 1)])
def test_the_best_of_several_compiles_on_the_same_data_is_said_to_be_one_of_them(compiles, caveats):
    headline = ASSISTANT().card.model_copy(update={"compiles": compiles, "rows": ()}).headline
    assert len(headline.caveats) == caveats
    assert all(caveat.startswith("one of 5 compiles on these data: ") for caveat in headline.caveats)


COSTLY = row("EMERGENT", -0.2, -0.3, -0.1)


@pytest.mark.parametrize("made", [JUDGE, ASSISTANT])
@pytest.mark.parametrize(
    ("changes", "target", "side", "number"),
    [
        (SHOWN, {"low98": 0.02}, "higher", RISE),
        (SHOWN | {"rows": (COSTLY,)}, {"low98": 0.02}, "higher", RISE),
        (NOT_SHOWN, {}, None, RISE),
        (NOT_SHOWN, UNGRADED, None, None),
        (NOT_SHOWN | {"unchanged": True}, {}, None, None),
    ],
)
def test_the_headline_of_a_card_is_a_sentence_of_at_most_30_words_with_the_numbers_beside_it(
    made, changes, target, side, number
):
    card = made().card
    card = card.model_copy(
        update={"target": card.target.model_copy(update={"count": 147, "difference": RISE, **target}), **changes}
    )
    headline = card.headline
    assert (headline.side, headline.number, headline.count) == (side, number, card.target.count)
    assert len(headline.text.split()) <= 30
    assert headline.text.endswith(".")
    assert card.document()["claim"] == headline.claim
