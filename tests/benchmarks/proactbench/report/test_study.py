"""How far a judge agrees with people: the published figures, the sentence, the law of names, and every silence."""

import json
import re
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from dspy_proact import Estimate, ProactBench, load_ratings, study
from dspy_proact.benchmarks.proactbench.report.published_rule import published_rule
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.people import HumanGrade, parts_of
from dspy_proact.evaluation.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.report.headline import study_headline
from dspy_proact.report.study import Choices, RatingStudy
from dspy_proact.report.study_text import print_study, studies_document
from dspy_proact.stand_in import DEMONSTRATION

PHASES = ("EMERGENT", "CRITICAL", "RECOVERY")
PUBLISHED = {
    # Ordinal alpha, unweighted kappa, each with its published percentile interval; then people by judge.
    "EMERGENT": ((0.1703, -0.0521, 0.3391), (0.5455, 0.2565, 0.8347), [[3, 1, 0], [1, 4, 0], [2, 2, 7]]),
    "CRITICAL": ((0.1576, -0.0285, 0.2873), (0.2692, -0.0245, 0.5561), [[4, 1, 0], [0, 0, 1], [2, 5, 6]]),
    "RECOVERY": ((0.2780, 0.0494, 0.4474), (0.5522, 0.2278, 0.8413), [[6, 2, 0], [0, 4, 3], [0, 1, 4]]),
}
COUNTS = {"items", "judged", "ratings", "paired_ratings", "raters", "judge_minus_human_98", "confusion"}
(PART,) = parts_of(ProactBench())
FAIL, PARTIAL, PASS = LABELS = PART.levels
LETTERS = {"F": FAIL, "P": PARTIAL, "+": PASS}
BETTER = [("EMERGENT", *row) for row in [("+", "++F"), ("F", "FF+"), ("P", "PP+"), ("+", "++P")] * 8]
"""The judge's letter, and those of raters with whom it agrees more than they do."""
WORSE = [("EMERGENT", *row) for row in [("F", "+++"), ("+", "FFP"), ("F", "PPP"), ("+", "FFF")] * 8]


def of(*rows, scenarios=1000, **about):
    """Ratings of items: each row is a phase, the judge's letter or a blank, the raters' letters, and a scenario."""
    items, ratings = [], []
    for index, (phase, judge, grades, *scenario) in enumerate(rows):
        key, where = f"item {index}", scenario[0] if scenario else f"scenario {index % scenarios}"
        items.append(RatedItem(key, where, phase, judged={"": LETTERS[judge]} if judge in LETTERS else {}))
        ratings += [
            HumanGrade(key, None, LETTERS[letter], f"rater {number}")
            for number, letter in enumerate(grades)
            if letter != " "
        ]
    source = RatingsSource(origin="own", files={})
    return Ratings("own", "proactbench", tuple(items), tuple(ratings), source, **about)


def printed(result: RatingStudy, explain: bool = True) -> str:
    file = StringIO()
    print_study(result, Console(width=80, file=file), explain)
    return file.getvalue()


def flat(result: RatingStudy, explain: bool = True) -> str:
    return " ".join(printed(result, explain).split())


def parts(document):
    return [*document["phases"].values(), document["pooled"]]


def documented(ratings, *choices, **more):
    """The document, which is JSON without nan, and gives a reason where a number or an interval is missing."""
    document = studies_document([study(ratings, *choices, **more)])
    json.dumps(document, allow_nan=False)
    for part in parts(document):
        assert len(part) == 26
        for name in part.keys() - COUNTS:
            assert set(part[name]) == {"value", "low", "high", "reason"}
            assert part[name]["reason"] or not {part[name][end] for end in ("value", "low", "high")} & {None}, name
    return document


@pytest.fixture(scope="module")
def published():
    return study(load_ratings("published"))


@pytest.fixture(scope="module")
def document():
    return documented(load_ratings("published"))


# The published study


@pytest.mark.parametrize("phase", PHASES)
def test_the_published_statistics_are_reproduced_and_our_intervals_are_wider(document, phase):
    alpha, kappa, confusion = PUBLISHED[phase]
    ours, theirs = document["phases"][phase], document["published"][phase]
    assert ours["confusion"] == theirs["confusion"] == confusion
    assert theirs["exact"] == sum(confusion[index][index] for index in range(3))
    for name, (value, low, high) in (("alpha_ordinal", alpha), ("kappa", kappa)):
        assert round(ours[name]["value"], 4) == round(theirs[name]["value"], 4) == value
        # Another random generator: the bounds differ by at most .015.
        assert [theirs[name]["low"], theirs[name]["high"]] == pytest.approx([low, high], abs=0.02)
        assert ours[name]["high"] - ours[name]["low"] > theirs[name]["high"] - theirs[name]["low"]


def test_raters_stand_beside_each_other_in_numbers_and_no_sentence_accuses_one(published, document):
    words = flat(published)
    kappas = sorted(
        rater["against_others"]["value"] for rater in document["raters"] if rater["against_others"]["value"] is not None
    )
    line = next(note for note in document["notes"] if note.startswith("kappa of each rater with the others: "))
    assert [float(number) for number in re.findall(r"-?[.0-9]{4}(?=[,.])", line.partition(". Two")[0] + ".")] == [
        pytest.approx(kappa, abs=0.005) for kappa in kappas
    ]
    assert "outlier" not in words
    assert "by chance alone" not in words.lower()
    assert [rater["rater"] for rater in document["raters"] if rater["excluded_by_published_rule"]] == ["A08"]
    assert any("too few to rank judges" in note for note in document["notes"])
    # What is said of a column that is not printed is left out.
    assert ("exact of EMERGENT" in words, "exact" in flat(published, explain=False)) == (True, False)


def test_that_the_items_were_drawn_is_said_of_them_under_any_name():
    assert "too few to rank judges" in flat(study(replace(load_ratings("published"), name="elsewhere")))
    assert "too few to rank judges" not in flat(study(of(("EMERGENT", "+", "++"))))


def test_exclusion_leaves_258_ratings_and_45_items_with_three():
    result = study(load_ratings("published"), Choices(exclude=True, min_ratings=3))
    document = studies_document([result])
    assert (document["pooled"]["ratings"], document["pooled"]["items"]) == (258, 45)
    assert document["ratings"]["excluded"] == ["A08"]
    assert sum(rule["items"] for rule in document["published"].values()) == 45
    assert "left out by the published rule: A08. This is circular" in flat(result)
    assert "left out of what the judge is compared on, not of alpha: 14" in flat(result)
    assert document["claim"]["caveats"][0].endswith("left out, which raises its agreement.")


def test_notes_are_of_the_ratings_that_are_left():
    """Rater 0 says what the judge says of five items, rater 1 the opposite of these, and alone rates a sixth."""
    rows = [("EMERGENT", judge, f"{judge}{other}") for judge, other in ("F+", "+F", "F+", "+F", "F+")]
    result = study(of(*rows, ("EMERGENT", "+", " F")), Choices(exclude=True))
    assert result.excluded == ("rater 1",)
    assert result.ratings.notes(result.nouns) == (
        "items without a rating: 1 of 6",
        "items with one rater (not usable for agreement): 5",
    )


@pytest.mark.parametrize(
    ("ratings", "problem"),
    [
        (load_ratings("sample"), "raters are excluded by their agreement with a judge"),
        # The only rater says the opposite of the judge six times: kappa -1
        (of(*[("EMERGENT", judge, grade) for judge, grade in ("F+", "+F") * 3]), "leaves out every rater"),
    ],
)
def test_exclusion_without_a_judge_or_of_everybody_is_refused(ratings, problem):
    with pytest.raises(UsageError, match=problem):
        study(ratings, Choices(exclude=True))


def test_few_ratings_keep_an_item_from_the_judge_and_not_from_alpha(document):
    few = documented(load_ratings("published"), Choices(min_ratings=3))
    assert few["pooled"]["items"] < 59
    for phase in PHASES:
        for name in ("alpha_ordinal", "ratings"):
            assert few["phases"][phase][name] == document["phases"][phase][name]
    none = documented(load_ratings("published"), Choices(min_ratings=100))["pooled"]
    assert (none["items"], none["confusion"], none["kappa"]["reason"]) == (0, [[0] * 3] * 3, "no item with 100 ratings")
    assert none["alpha_ordinal"]["value"] is not None


# What is counted


def test_with_30_items_for_each_of_three_raters_there_is_an_alt_test():
    # The judge says what the majority does, and each rater is alone with PASS at every third item: it wins over all.
    rows = [("EMERGENT", "F", letters) for letters in ("+FF", "F+F", "FF+") * 10]
    assert documented(of(*rows))["phases"]["EMERGENT"]["alt_test"]["value"] == 1
    assert "alt-test passed: the judge wins over 100 % of raters at epsilon 0.15" in flat(study(of(*rows)))
    assert "alt-test failed: the judge wins over 0 % of raters" in flat(study(of(*[("EMERGENT", "+", "FFF")] * 30)))


def test_with_one_rater_no_interval_speaks_of_people():
    rows = [("EMERGENT", "+F"[index % 3 == 0], "+FP"[index % 4 % 3], f"s{index % 12}") for index in range(36)]
    message = documented(of(*rows))["pooled"]
    bounded = {name: message[name]["reason"] for name in message.keys() - COUNTS if message[name]["low"] is not None}
    assert {"kappa", "ac1", "exact", "recall_pass", "bias"} < set(bounded)
    assert all("for this rater only" in (reason or "") for reason in bounded.values())


def test_soft_labels_divide_an_item_among_its_grades():
    # +: half PASS, half FAIL; P: two thirds PARTIAL, one third PASS. Exact: (1/2 + 2/3) / 2 = 7/12
    ratings = of(("EMERGENT", "+", "+F"), ("EMERGENT", "P", "PP+"))
    part = documented(ratings, Choices(consensus="soft"))["phases"]["EMERGENT"]
    assert part["confusion"] == [[0, 0, 0.5], [0, 0.666667, 0], [0, 0.333333, 0.5]]
    assert round(part["exact"]["value"], 6) == 0.583333
    assert part["kappa_quadratic"]["value"] is not None
    assert part["kappa"]["reason"] == part["ac1"]["reason"] == "needs one label an item: the published consensus"


def test_ties_go_to_partial_then_pass_then_fail():
    rows = [("EMERGENT", "+", grades) for grades in ("+F", "+P", "FP", "FP+")]
    assert study(of(*rows)).strata["EMERGENT"].confusion == [[0, 0, 0], [0, 0, 3], [0, 0, 1]]


# Silence


def test_without_a_judge_people_are_compared_and_the_judge_s_numbers_have_their_reason():
    sample = load_ratings("sample")
    assert documented(sample)["phases"]["EMERGENT"]["human_reference"]["low"] is not None
    text, why = flat(study(sample)), "the judge's grades of these items are not known"
    assert "rated by its authors, who are language-model agents" in text
    assert f"judge, judge - person, exact, kappa, judge - people: {why}" in text
    rows = [("EMERGENT", "+", grades) for grades in ("+P", "FP", "++", "FF")]
    with_judge, without = (
        study(of(*((phase, judge, grades) for phase, _, grades in rows))).strata["EMERGENT"].reference for judge in "+ "
    )
    assert without.one_human == with_judge.one_human
    assert without.best_attainable == with_judge.best_attainable


def test_what_is_left_out_is_counted():
    result = study(of(("EMERGENT", "+", "++F"), ("EMERGENT", " ", "F+"), ("EMERGENT", "F", "P")))
    part = studies_document([result])["phases"]["EMERGENT"]
    assert (part["items"], part["judged"], part["ratings"], part["paired_ratings"]) == (3, 2, 6, 5)
    assert "items without a grade of the judge, left out of what it is compared on, not of alpha: 1" in flat(result)
    assert "items with one rater (not usable for agreement): 1" in flat(result)
    assert "EMERGENT 5 " in flat(result)


def test_a_phase_that_nobody_rated_says_so():
    document = documented(of(("EMERGENT", "+", "+F"), ("EMERGENT", "F", "FP"), ("CRITICAL", "F", "")))
    for phase in ("CRITICAL", "RECOVERY"):
        part = document["phases"][phase]
        assert (part["items"], part["ratings"], part["alpha_ordinal"]["reason"]) == (0, 0, "no item with two ratings")
        assert part["kappa"]["reason"] == part["exact"]["reason"] == "no ratings"
        assert document["published"][phase]["alpha_ordinal"]["reason"] == "no ratings"


def test_raters_who_are_all_equal_have_no_kappa_and_agree_exactly():
    part = documented(of(*[("RECOVERY", "F", "FF")] * 4))["phases"]["RECOVERY"]
    assert part["exact"]["value"] == 1
    assert part["kappa"] == {"value": None, "low": None, "high": None, "reason": "gradings that do not vary"}
    assert part["alpha_ordinal"]["reason"] == "all ratings equal"


def test_items_without_a_scenario_count_as_one():
    ratings = of(("EMERGENT", "+", "+P", ""), ("EMERGENT", "F", "F+", ""))
    assert "items without a scenario count as one scenario" in flat(study(ratings))
    # Ties go to PARTIAL and to PASS, which are not the judge's PASS and FAIL; one scenario gives a mean no interval.
    alone = {"value": 0.0, "low": None, "high": None, "reason": "one scenario"}
    assert documented(ratings)["pooled"]["exact"] == alone


# The sentence

OPEN = "no difference between the judge and one of these 3 raters can be claimed in agreement with another: "
"""Beside an interval that excludes 0, nothing says that none was detected."""
BEGIN = "On 32 items the judge agrees with one of these 3 raters"
THESE = "The interval: for these 3 raters only."


@pytest.mark.parametrize(
    ("ratings", "begin", "side", "below"),
    [
        (of(*BETTER, scenarios=20), f"{BEGIN} better than another does: +0.", "higher", THESE),
        (of(*WORSE, scenarios=20), f"{BEGIN} less well than another does: -1.", "lower", THESE),
        (
            of(*[(phase, judge, grades[:2]) for phase, judge, grades in WORSE], scenarios=20),
            "On 32 items the judge agrees with these 2 raters less well than they do with each other: -1.",
            "lower",
            "",
        ),
        # Of 40 items: +0.35, 95 % +0.04 to +0.66, and from -0.02 at 98 %.
        (
            of(*BETTER, *BETTER[:4], *WORSE[:4], scenarios=20),
            f"On 40 items {OPEN}+0.35 in kappa (95 % +0.04 to +0.66).",
            None,
            "The 98 % interval decides: -0.02 to +0.72.",
        ),
        (of(*BETTER[:28]), f"On 28 items {OPEN}", None, "Too few for a claim: 28 items."),
        (of(*BETTER, scenarios=9), f"On 32 items {OPEN}", None, "Too few for a claim: 9 scenarios."),
        (
            of(*[("EMERGENT", " ", grades) for grades in ("++", "F+", "FP", "FF") * 3]),
            "On 12 items these 2 raters agree with each other at kappa 0.",
            None,
            "No judge is compared: the judge's grades of these items are not known.",
        ),
        (
            of(("EMERGENT", "+", "+"), ("EMERGENT", "F", "P")),
            "The judge gives the grade that the only rater gave on 1 of 2 items (50.0 %, 95 % ",
            None,
            "A judge cannot be compared with a single person: no item has two ratings.",
        ),
        (
            of(("EMERGENT", "+", "+"), ("EMERGENT", "F", " P")),
            "The judge gives the grade that the only rater of an item gave on 1 of 2 items (50.0 %, 95 % ",
            None,
            "A judge cannot be compared with a single person: no item has two ratings.",
        ),
        (
            of(("EMERGENT", " ", "+")),
            "A judge cannot be compared with a single person: no item has two ratings.",
            None,
            "",
        ),
        (
            of(*[("EMERGENT", "+", "++")] * 12),
            "On 12 items nothing can be said of the judge beside one of these 2 raters.",
            None,
            "The difference in kappa has no interval: gradings that do not vary.",
        ),
        (
            of(*[("EMERGENT", "+", "++"), ("EMERGENT", "F", "FF")] * 6),
            "On 12 items the judge agrees with these 2 raters at kappa 1.00, and they with each other at 1.00",
            None,
            "",
        ),
        (
            of(*BETTER, scenarios=20, agents=True),
            BEGIN,
            "higher",
            "These raters are language-model agents, not people.",
        ),
    ],
)
def test_a_side_is_named_only_where_the_numbers_carry_it(ratings, begin, side, below):
    result = study(ratings)
    first = study_headline(result)
    assert first.text.startswith(begin)
    assert (first.side, below in ("", *first.caveats)) == (side, True)
    assert len(first.text.split()) <= 30
    assert first.text.count("95 %") <= 1
    if side:
        # The sign, the number and the interval of the sentence are those of the value.
        assert (first.number.value > 0) == (side == "higher")
        assert f"{first.number.value:+.2f} in kappa (95 % {first.number.low:+.2f} to " in first.text
        assert documented(ratings)["claim"] | {"caveats": None} == first.claim | {"caveats": None}


@pytest.mark.parametrize(
    ("ratings", "end"),
    [
        (of(*BETTER, scenarios=20), " between these 3 raters."),
        (of(*[("EMERGENT", "+", "+++F")] * 3, ("EMERGENT", "F", "FFFP"), scenarios=4), " between people."),
        (of(*[("EMERGENT", "+", "+++F")] * 3, ("EMERGENT", "F", "FFFP"), scenarios=4, agents=True), " between raters."),
    ],
)
def test_the_kappa_of_raters_is_that_of_people_only_where_it_stands_for_others(ratings, end):
    (kappa,) = (line for line in study_headline(study(ratings)).caveats if line.startswith("Kappa"))
    assert kappa.endswith(end)


@pytest.mark.parametrize(
    ("raters", "whose"), [("+F++", "generalise to similar raters."), ("+F+", "speak of these raters alone.")]
)
def test_raters_who_share_no_item_are_as_many_as_they_are(raters, whose):
    """Each rates two items, so that no kappa is between them, and the share of equal grades is over all of them."""
    rows = [("EMERGENT", "+", " " * number + rating) for number, rating in enumerate(raters)] * 2
    shown = flat(study(of(*rows)))
    assert whose in shown
    assert "its commonest grade has" not in shown


def test_what_raises_the_agreement_is_said_first_below_the_sentence():
    result = replace(study(of(*BETTER, scenarios=20), learned_on=3), roles=(("judge", "embedded"),))
    first = study_headline(result)
    assert first.text.startswith(f"{DEMONSTRATION}{BEGIN} better")
    assert first.caveats[0] == "The judge was compiled on 3 of these items: this is no test of it."
    assert "agreement on them is no test" in flat(result)


# The published rule


def test_a_consensus_by_hand():
    # Consensus PARTIAL (tie), PASS, FAIL, none of three ratings but the last.
    rows = [("EMERGENT", *row) for row in (("P", "+P"), ("F", "+"), ("F", "FF+"), ("+", ""))]
    one, three = (published_rule(study(of(*rows), Choices(min_ratings=least)).pooled) for least in (1, 3))
    assert (one.items, one.ratings, one.exact) == (3, 6, 2)
    assert one.confusion == ((1, 0, 0), (0, 1, 0), (1, 0, 0))
    # Observed agreement 2/3, by chance (1 * 2 + 1 * 1 + 1 * 0) / 9 = 1/3.
    assert one.kappa.value == pytest.approx(0.5)
    assert (three.items, three.ratings, three.confusion) == (1, 6, ((1, 0, 0), (0, 0, 0), (0, 0, 0)))
    assert three.alpha == one.alpha


@pytest.mark.parametrize(
    ("rows", "value", "reason"),
    [
        ([("CRITICAL", "+", "+")], None, "no ratings"),
        ([("EMERGENT", "+", "++")] * 3, None, "gradings that do not vary"),
        ([("EMERGENT", "F", "+F")], 0, "rests on one item"),
    ],
)
def test_without_enough_there_is_a_reason(rows, value, reason):
    one = published_rule(study(of(*rows)).strata["EMERGENT"])
    assert [one.kappa, one.alpha] == [Estimate(value, reason=reason)] * 2


@pytest.mark.parametrize(
    ("judge", "excluded"), [("F+F+F", True), ("F+F+", False), ("++++++", False)], ids=["five", "four", "no kappa"]
)
def test_a_person_with_five_ratings_that_do_not_agree_with_the_judge_is_left_out(judge, excluded):
    result = study(of(*[("EMERGENT", item, "+") for item in judge]))
    assert bool(result.all_raters.excluded) is excluded
