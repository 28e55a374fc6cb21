"""What a guard lets pass, by unit and direction; what is dropped by default; what a compile will take."""

from dataclasses import replace

import pytest
from builders import assistants, judges
from builders.assistants import OFFER, PUSHY, at, corpus, obedient, recipe
from fakes.server import Answer, Sent, is_about_offers, verdict

from dspy_proact import Benchmark, Case, Measure, Scored
from dspy_proact.compile.measured import Examined, Measured, measured_of
from dspy_proact.evaluation.tuning import CardRows
from dspy_proact.types import Frozen


class Seen(Frozen):
    words: str = "x"


class Contest(Benchmark):
    name = "contest"
    labels = ("x",)
    answer_type = Seen


ITEMS = [Case(f"k{number}", f"g{number}", "all", Seen()) for number in range(4)]


def examined(*numbers):
    """What was examined at each item, with a number that a measure reads."""
    return {
        item.key: Examined(Seen(), None if number is None else Scored(0.5, "x", Seen(), parts={"n": number}))
        for item, number in zip(ITEMS, numbers, strict=True)
    }


def read(examined):
    return examined.scored.parts["n"] if examined.scored else None


@pytest.mark.parametrize(
    ("unit", "before", "after", "broken"),
    [
        # Means of four; the margin is 0.25. A score may fall by it, a rate may rise by it, a ratio of means too.
        ("score", (1, 1, 1, 1), (1, 1, 1, 0), False),
        ("score", (1, 1, 1, 1), (1, 1, 0, 0), True),
        ("score", (0, 0, 0, 0), (1, 1, 1, 1), False),
        ("rate", (0, 0, 0, 0), (0, 0, 0, 1), False),
        ("rate", (0, 0, 0, 0), (0, 0, 1, 1), True),
        ("rate", (1, 1, 1, 1), (0, 0, 0, 0), False),
        ("times", (100, 100, 100, 100), (100, 100, 100, 200), False),
        ("times", (100, 100, 100, 100), (100, 100, 200, 200), True),
        ("times", (100, 100, 100, 100), (1, 1, 1, 1), False),
        # Counts are no shares: they may get worse by a quarter of what they were, of 40 by 10 and of none by nothing.
        ("rate", (40, 40, 40, 40), (50, 50, 50, 50), False),
        ("rate", (40, 40, 40, 40), (51, 50, 50, 50), True),
        ("rate", (40, 40, 40, 40), (12, 12, 12, 12), False),
        ("rate", (0, 0, 0, 0), (0, 0, 0, 2), True),
        ("score", (8, 8, 0, 0), (6, 6, 0, 0), False),
        ("score", (8, 8, 0, 0), (6, 5, 0, 0), True),
        ("score", (-8, 0, 0, 0), (-10, 0, 0, 0), False),
        ("score", (-8, 0, 0, 0), (-11, 0, 0, 0), True),
        # What is not known counts on neither side; where nothing is known, or a ratio is of nothing, nothing is broken.
        ("score", (1, None, None, 1), (None, 0, 1, None), True),
        ("score", (None,) * 4, (0, 0, 0, 0), False),
        ("rate", (0, 0, 0, 0), (None,) * 4, False),
        ("times", (0, 0, 0, 0), (9, 9, 9, 9), False),
    ],
)
def test_a_guard_is_broken_beyond_its_margin_and_not_at_it(unit, before, after, broken):
    measured = Measured("n", "n", list, read, unit)
    assert measured.is_broken(ITEMS, examined(*before), examined(*after), 0.25) is broken


def test_a_guard_looks_at_its_own_items_where_they_are_others_than_the_cards():
    measured = Measured("n", "n", list, read, of_guard=lambda items: items[:1])
    assert not measured.is_broken(ITEMS, examined(1, 1, 1, 1), examined(1, 0, 0, 0), 0.0)
    assert measured.is_broken(ITEMS, examined(1, 0, 0, 0), examined(0, 1, 1, 1), 0.0)


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_of_a_declared_measure_the_worse_direction_breaks_the_guard(higher_is_better):
    contest = Contest()
    contest.measures = (Measure(name="n", title="n", parts=("n",), higher_is_better=higher_is_better),)
    rows = measured_of(contest, CardRows(), ITEMS, ("all",))
    (row,) = [item for item in rows if item.name == "n"]
    rise = row.is_broken(ITEMS, examined(0, 0, 0, 0), examined(1, 1, 1, 1), 0.05)
    fall = row.is_broken(ITEMS, examined(1, 1, 1, 1), examined(0, 0, 0, 0), 0.05)
    assert (rise, fall) == (not higher_is_better, higher_is_better)


# Forecasts


def test_prompts_are_counted_only_for_whoever_asks_what_a_compile_takes(server, tmp_path, monkeypatch):
    """The tokenizer takes seconds to import; a compile that nobody watches has no use for it."""

    def counted(*_):
        raise AssertionError("counted")

    monkeypatch.setattr("dspy_proact.evaluation.forecast.count_tokens", counted)
    server.script = judges.models
    judging = judges.at(server, judges.study(), judges.recipe())
    assert judging.run(tmp_path / "judge").paid > 0
    server.script = assistants.models
    answering = assistants.at(server, assistants.few(), assistants.recipe())
    assert answering.run(tmp_path / "assistant").paid > 0
    for item in (judging, answering):
        assert item.forecast().calls > 0
        with pytest.raises(AssertionError, match="counted"):
            _ = item.forecast().tokens


def test_a_forecast_promises_no_gain_where_the_rules_forbid_a_claim(server):
    few, many = judges.study(personas=4, per_persona=20), judges.study(personas=12, per_persona=6)
    forecast = judges.at(server, few, judges.recipe()).forecast()
    assert (forecast.items, forecast.sizes, forecast.detectable_gain) == (80, (20,) * 4, None)
    forecast = judges.at(server, many, judges.recipe()).forecast()
    assert (forecast.items, forecast.sizes) == (72, (6,) * 12)
    # t of 11 degrees: 2.7181 sqrt(12 / 11) + .8755 = 3.7144; x .52 / sqrt(72), and x 1.1 sqrt(1.25) / sqrt(72).
    assert forecast.detectable_gain == pytest.approx((0.2276, 0.5384), abs=1e-4)
    # Of a mean score x .25 / sqrt(72), and x .5 sqrt(1.25) / sqrt(72).
    answering = assistants.at(server, assistants.few(), assistants.recipe())
    assert (answering.forecast().in_kappa, forecast.in_kappa) == (False, True)
    (case, *_) = answering.target.chosen(answering.target.items)
    cases = [replace(case, key=str(number), group=str(number // 6)) for number in range(72)]
    assert answering.target.learning_from(cases).detectable_gain == pytest.approx((0.1094, 0.2447), abs=1e-4)
    # Grades that are all alike have no kappa, and so no gain in it.
    alike = replace(many, grades=tuple(replace(grade, grade="PASS") for grade in many.grades))
    assert judges.at(server, alike, judges.recipe()).forecast().detectable_gain is None


def test_a_better_candidate_that_is_shown_worse_in_another_stratum_is_dropped_unless_that_is_lifted(tmp_path, server):
    """An offer helps where the user is done; here it does harm where something was only mentioned."""

    def script(sent: Sent) -> Answer:
        if sent.role in ("assistant", "proposer") or is_about_offers(sent):
            return obedient(PUSHY)(sent)
        harmed = "This is EMERGENT" in sent.text
        return Answer(verdict("PASS" if (OFFER in str(sent.messages[-1]["content"])) != harmed else "FAIL"))

    server.script = script
    how = recipe(trials=2, max_demos=0)
    kept = at(server, corpus(), how).run(tmp_path / "kept").artefact
    assert kept.card.unchanged
    assert [candidate.broken for candidate in kept.card.candidates] == [(), ("emergent",)]
    assert any("shown worse in EMERGENT" in note for note in kept.card.notes)
    lifted = at(server, corpus(), how, guards={"none": None}).run(tmp_path / "lifted").artefact
    assert not lifted.card.unchanged
    assert [candidate.broken for candidate in lifted.card.candidates] == [(), ()]
