"""How far a judge agrees with people: the published figures, the law of names, and every kind of silence."""

import json
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from dspy_proact import study
from dspy_proact.benchmarks.proactbench.corpus.bundled import published_ratings
from dspy_proact.benchmarks.proactbench.corpus.rating_files import load_ratings
from dspy_proact.benchmarks.proactbench.corpus.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.benchmarks.proactbench.report.study import Choices, Study
from dspy_proact.benchmarks.proactbench.report.study_text import print_study, study_document
from dspy_proact.benchmarks.proactbench.types import Grade, Phase, Rating
from dspy_proact.errors import UsageError

PHASES = ("EMERGENT", "CRITICAL", "RECOVERY")
PUBLISHED = {
    # Ordinal alpha, unweighted kappa, each with its published percentile interval; then people by judge.
    "EMERGENT": ((0.1703, -0.0521, 0.3391), (0.5455, 0.2565, 0.8347), [[3, 1, 0], [1, 4, 0], [2, 2, 7]]),
    "CRITICAL": ((0.1576, -0.0285, 0.2873), (0.2692, -0.0245, 0.5561), [[4, 1, 0], [0, 0, 1], [2, 5, 6]]),
    "RECOVERY": ((0.2780, 0.0494, 0.4474), (0.5522, 0.2278, 0.8413), [[6, 2, 0], [0, 4, 3], [0, 1, 4]]),
}
ESTIMATES = {
    "alpha_nominal", "alpha_ordinal", "alpha_interval", "kappa", "kappa_linear", "kappa_quadratic", "ac1", "ac2",
    "exact", "recall_fail", "recall_partial", "recall_pass", "human_reference", "judge_against_one_human",
    "judge_minus_human", "best_attainable", "bias", "alt_test", "alt_test_advantage",
}  # fmt: skip
OF_THE_JUDGE = ESTIMATES - {"alpha_nominal", "alpha_ordinal", "alpha_interval", "human_reference", "best_attainable"}
LETTERS = {"F": Grade.FAIL, "P": Grade.PARTIAL, "+": Grade.PASS}


def of(*rows, name="own"):
    """Ratings of items: each row is a phase, the judge's letter or a blank, the raters' letters, and a scenario."""
    items, ratings = [], []
    for place, (phase, judge, grades, *scenario) in enumerate(rows):
        key, where = f"item {place}", scenario[0] if scenario else f"scenario {place}"
        items.append(RatedItem(key=key, phase=Phase(phase), scenario=where, judge=LETTERS.get(judge)))
        ratings += [
            Rating(item=key, annotator=f"rater {number}", grade=LETTERS[letter], confidence=3)
            for number, letter in enumerate(grades)
            if letter != " "
        ]
    return Ratings(name, tuple(items), tuple(ratings), RatingsSource(origin="own", files={}))


def printed(found: Study, width: int = 80) -> str:
    file = StringIO()
    print_study(found, Console(width=width, file=file), explain=True)
    return file.getvalue()


def flat(found: Study) -> str:
    return " ".join(printed(found).split())


def sound(document):
    """The document, which is JSON without nan, and gives a reason where a number or an interval is missing."""
    json.dumps(document, allow_nan=False)
    for part in (*document["phases"].values(), document["pooled"]):
        assert set(part) == ESTIMATES | {
            "items",
            "judged",
            "ratings",
            "paired_ratings",
            "raters",
            "judge_minus_human_98",
            "confusion",
        }
        for name in ESTIMATES:
            assert set(part[name]) == {"value", "low", "high", "reason"}
            assert part[name]["reason"] or not {part[name][end] for end in ("value", "low", "high")} & {None}, name
    return document


@pytest.fixture(scope="module")
def published():
    return study(published_ratings())


@pytest.fixture(scope="module")
def document(published):
    return sound(study_document(published))


# The published study


@pytest.mark.parametrize("phase", PHASES)
def test_the_published_statistics_are_reproduced(document, phase):
    alpha, kappa, confusion = PUBLISHED[phase]
    ours, theirs = document["phases"][phase], document["published"][phase]
    assert ours["confusion"] == theirs["confusion"] == confusion
    assert theirs["exact"] == sum(confusion[place][place] for place in range(3))
    for name, (value, low, high) in (("alpha_ordinal", alpha), ("kappa", kappa)):
        assert round(ours[name]["value"], 4) == round(theirs[name]["value"], 4) == value
        assert abs(theirs[name]["low"] - low) < 0.02
        assert abs(theirs[name]["high"] - high) < 0.02


@pytest.mark.parametrize("phase", PHASES)
def test_our_intervals_stand_beside_them_and_are_wider(document, phase):
    for name in ("alpha_ordinal", "kappa"):
        ours, theirs = document["phases"][phase][name], document["published"][phase][name]
        assert ours["high"] - ours["low"] > theirs["high"] - theirs["low"]


def test_items_and_ratings_are_the_published_ones(document):
    parts = [*document["phases"].values(), document["pooled"]]
    assert [(part["items"], part["ratings"]) for part in parts] == [(20, 83), (19, 83), (20, 109), (59, 275)]
    assert document["ratings"]["items"] == 60


def test_judge_and_another_person_are_measured_by_the_same_references(document):
    # facts: one human .12 .18 .21 .31, the judge .32 .41 .57 .46; best by the same shares
    names = ("human_reference", "judge_against_one_human", "judge_minus_human", "best_attainable")
    parts = [*document["phases"].values(), document["pooled"]]
    assert [[round(part[name]["value"], 2) for name in names] for part in parts] == [
        [0.12, 0.32, 0.21, 0.31], [0.18, 0.41, 0.23, 0.38], [0.21, 0.57, 0.36, 0.42], [0.31, 0.46, 0.15, 0.52]
    ]  # fmt: skip


def test_the_judge_is_stricter_in_two_phases_and_more_lenient_in_the_third(document):
    # facts: -.13, -.14, +.13 [.05, .21] of these raters
    bias = [document["phases"][phase]["bias"] for phase in PHASES]
    assert [round(each["value"], 2) for each in bias] == [-0.13, -0.14, 0.13]
    assert [round(bias[2][end], 2) for end in ("low", "high")] == [0.04, 0.22]


def test_the_alt_test_is_refused_with_the_reason_and_the_advantage_given(document):
    for part in (*document["phases"].values(), document["pooled"]):
        assert part["alt_test"]["value"] is None
        assert "not enough ratings for the alt-test" in part["alt_test"]["reason"]
    assert round(document["pooled"]["alt_test_advantage"]["value"], 2) == 0.83


def test_with_30_items_for_each_of_three_raters_there_is_an_alt_test():
    # The judge says what the majority does, and each rater is alone with PASS at every third item: it wins over all.
    rows = [("EMERGENT", "F", letters) for letters in ("+FF", "F+F", "FF+") * 10]
    found = study(of(*rows))
    part = sound(study_document(found))["phases"]["EMERGENT"]
    assert part["alt_test"]["value"] == 1
    assert "alt-test passed: the judge wins over 100 % of raters at epsilon 0.15" in flat(found)
    against = study(of(*[("EMERGENT", "+", "FFF")] * 30))
    assert study_document(against)["pooled"]["alt_test"]["value"] == 0
    assert "alt-test failed: the judge wins over 0 % of raters" in flat(against)


def test_with_one_rater_no_interval_speaks_of_people():
    rows = [("EMERGENT", "+F"[place % 3 == 0], "+FP"[place % 4 % 3], f"s{place % 12}") for place in range(36)]
    told = study_document(study(of(*rows)))["pooled"]
    bounded = {name: told[name]["reason"] for name in ESTIMATES if told[name]["low"] is not None}
    assert {"kappa", "ac1", "exact", "recall_pass", "bias"} < set(bounded)
    assert all("for this rater only" in (reason or "") for reason in bounded.values())


def test_ratings_that_pair_with_none_are_not_among_those_that_alpha_rests_on():
    found = study(of(("EMERGENT", "+", "++F"), ("EMERGENT", "F", "FP"), ("EMERGENT", "F", "P")))
    part = study_document(found)["phases"]["EMERGENT"]
    assert (part["ratings"], part["paired_ratings"]) == (6, 5)
    assert "EMERGENT 5 " in flat(found)


def test_one_rater_stands_apart_and_would_be_left_out_and_that_is_said_to_be_circular(document, published):
    assert [rater["rater"] for rater in document["raters"] if rater["apart"]] == ["A07"]
    assert [rater["rater"] for rater in document["raters"] if rater["excluded_by_published_rule"]] == ["A08"]
    assert "would leave out A08 (kappa with the judge -0.02). This is circular" in flat(published)
    assert "standing apart from the other raters, by kappa with them: A07" in flat(published)


def test_what_the_items_can_show_is_said(document, published):
    assert "drawn by the judge's grade" in flat(published)
    assert "too few to rank judges" in document["notes"][-1]


def test_it_is_said_of_the_published_items_under_any_name():
    ratings = published_ratings()
    other = Ratings("elsewhere", ratings.items, ratings.ratings, ratings.source)
    assert study(other).balanced
    assert not study(of(("EMERGENT", "+", "++"))).balanced


def test_the_tables_fit_in_80_columns_with_every_digit(published):
    out = printed(published)
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    assert "EMERGENT    17 0.12 [-0.18, 0.41] 0.32 [-0.03, 0.68] 0.21 [-0.12, 0.53] 0.31" in out
    assert "judge - people -12.6 [-32.7, +7.5] -14.1 [-32.7, +4.4] +12.9 [+3.8, +21.9]" in out


# Choices


def test_exclusion_leaves_258_ratings_and_45_items_with_three():
    found = study(published_ratings(), Choices(exclude=True, min_ratings=3))
    document = sound(study_document(found))
    assert (document["pooled"]["ratings"], document["pooled"]["items"]) == (258, 45)
    assert document["ratings"]["excluded"] == ["A08"]
    assert sum(rule["items"] for rule in document["published"].values()) == 45
    assert "left out by the published rule: A08. This is circular" in flat(found)
    assert "left out of what the judge is compared on, not of alpha: 14" in flat(found)


def test_few_ratings_keep_an_item_from_the_judge_and_not_from_alpha(document):
    few = study_document(study(published_ratings(), Choices(min_ratings=3)))
    assert few["pooled"]["items"] < 59
    for phase in PHASES:
        assert few["phases"][phase]["alpha_ordinal"] == document["phases"][phase]["alpha_ordinal"]
        assert few["phases"][phase]["ratings"] == document["phases"][phase]["ratings"]


def test_more_ratings_than_any_item_has_is_a_reason_and_no_crash():
    document = sound(study_document(study(published_ratings(), Choices(min_ratings=100))))
    assert (document["pooled"]["items"], document["pooled"]["confusion"]) == (0, [[0, 0, 0]] * 3)
    assert document["pooled"]["kappa"]["reason"] == "no item with 100 ratings"
    assert document["pooled"]["alpha_ordinal"]["value"] is not None


def test_soft_labels_divide_an_item_among_its_grades():
    # +: half PASS, half FAIL; P: two thirds PARTIAL, one third PASS. Exact: (1/2 + 2/3) / 2 = 7/12
    document = sound(
        study_document(study(of(("EMERGENT", "+", "+F"), ("EMERGENT", "P", "PP+")), Choices(consensus="soft")))
    )
    part = document["phases"]["EMERGENT"]
    assert part["confusion"] == [[0, 0, 0.5], [0, 0.666667, 0], [0, 0.333333, 0.5]]
    assert round(part["exact"]["value"], 6) == 0.583333
    assert part["kappa_quadratic"]["value"] is not None
    assert part["kappa"]["reason"] == part["ac1"]["reason"] == "needs one label an item: --consensus published"


def test_ties_go_to_partial_then_pass_then_fail():
    rows = [("EMERGENT", "+", "+F"), ("EMERGENT", "+", "+P"), ("EMERGENT", "+", "FP"), ("EMERGENT", "+", "FP+")]
    confusion = study(of(*rows)).phases[Phase.EMERGENT].confusion
    assert confusion == [[0, 0, 0], [0, 0, 3], [0, 0, 1]]


# Silence


def test_without_a_judge_people_are_compared_and_the_judge_s_numbers_have_their_reason():
    found = study(load_ratings("sample"))
    document = sound(study_document(found))
    for phase in PHASES:
        part = document["phases"][phase]
        assert part["items"] > 0
        assert part["judged"] == 0
        assert part["human_reference"]["low"] is not None
        for name in OF_THE_JUDGE:
            assert part[name] == {
                "value": None, "low": None, "high": None, "reason": "the judge's grades of these items are not known"
            }, name  # fmt: skip
        assert document["published"][phase]["kappa"]["reason"] == "the judge's grades of these items are not known"
    assert [rater["against_others"]["value"] is not None for rater in document["raters"]] == [True] * 3
    assert "rated by its authors, who are language-model agents" in flat(found)
    assert (
        "judge, judge - person, exact, kappa, judge - people: the judge's grades of these items are not known"
        in flat(found)
    )


def test_one_person_against_another_does_not_depend_on_the_judge():
    rows = [("EMERGENT", "+", grades) for grades in ("+P", "FP", "++", "FF")]
    with_judge = study(of(*rows)).phases[Phase.EMERGENT].reference
    without = study(of(*((phase, " ", grades) for phase, _, grades in rows))).phases[Phase.EMERGENT].reference
    assert without.one_human == with_judge.one_human
    assert without.best_attainable == with_judge.best_attainable


def test_items_that_the_judge_did_not_grade_are_counted_and_not_dropped_in_silence():
    found = study(of(("EMERGENT", "+", "++"), ("EMERGENT", " ", "F+"), ("EMERGENT", "F", "FF")))
    part = sound(study_document(found))["phases"]["EMERGENT"]
    assert (part["items"], part["judged"], part["ratings"]) == (3, 2, 6)
    assert "items without a grade of the judge, left out of what it is compared on, not of alpha: 1" in flat(found)


def test_a_phase_that_nobody_rated_says_so():
    document = sound(study_document(study(of(("EMERGENT", "+", "+F"), ("EMERGENT", "F", "FP"), ("CRITICAL", "F", "")))))
    for phase in ("CRITICAL", "RECOVERY"):
        part = document["phases"][phase]
        assert (part["items"], part["ratings"]) == (0, 0)
        assert part["kappa"]["reason"] == part["exact"]["reason"] == "no ratings"
        assert part["alpha_ordinal"]["reason"] == "no item with two ratings"
        assert document["published"][phase]["alpha_ordinal"]["reason"] == "no ratings"


def test_raters_who_are_all_equal_have_no_kappa_and_agree_exactly():
    document = sound(study_document(study(of(*[("RECOVERY", "F", "FF")] * 4))))
    part = document["phases"]["RECOVERY"]
    assert part["exact"]["value"] == 1
    assert part["kappa"] == {"value": None, "low": None, "high": None, "reason": "all gradings equal"}
    assert part["alpha_ordinal"]["reason"] == "all ratings equal"


def test_items_with_one_rating_are_compared_with_the_judge_and_say_nothing_of_people():
    found = study(of(("EMERGENT", "+", "+"), ("EMERGENT", "F", "P")))
    part = sound(study_document(found))["phases"]["EMERGENT"]
    assert part["exact"]["value"] == 0.5
    assert part["human_reference"]["reason"] == "no item with two ratings"
    assert "items with one rating (not usable for agreement): 2" in flat(found)


def test_items_without_a_scenario_count_as_one():
    found = study(of(("EMERGENT", "+", "+P", ""), ("EMERGENT", "F", "F+", "")))
    assert "items without a scenario count as one scenario" in flat(found)
    # Ties go to PARTIAL and to PASS, which are not the judge's PASS and FAIL; one scenario gives a mean no interval.
    assert study_document(found)["pooled"]["exact"] == {
        "value": 0.0, "low": None, "high": None, "reason": "one scenario"
    }  # fmt: skip


def test_exclusion_without_a_judge_is_refused():
    with pytest.raises(UsageError, match="raters are excluded by their agreement with a judge"):
        study(load_ratings("sample"), Choices(exclude=True))


def test_exclusion_of_everybody_is_refused():
    # The only rater says the opposite of the judge six times: kappa -1
    rows = [("EMERGENT", judge, grade) for judge, grade in zip("F+F+F+", "+F+F+F", strict=True)]
    with pytest.raises(UsageError, match="leaves out every rater"):
        study(of(*rows), Choices(exclude=True))


def test_a_rater_s_name_does_nothing_to_the_terminal():
    evil = "\x1b[31m[bold]x\n\x07\u202e[/bold]"
    ratings = published_ratings()
    renamed = [each.model_copy(update={"annotator": evil if each.annotator == "A08" else each.annotator})
               for each in ratings.ratings]  # fmt: skip
    found = study(Ratings("published", ratings.items, tuple(renamed), ratings.source))
    out = printed(found)
    assert not {"\x1b", "\x07", "\u202e"} & set(out)
    assert "[bold]x\\n" in "".join(out.split("\n"))
    assert max(map(len, out.splitlines())) <= 80


# Laws


@st.composite
def studies(draw):
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(PHASES[:2]),
                st.sampled_from("FP+ "),
                st.text("FP+ ", max_size=4),
                st.sampled_from("abc"),
            ),
            min_size=1,
            max_size=8,
        ).filter(lambda rows: any(grades.strip() for _, _, grades, _ in rows))
    )
    return of(*rows)


def comparable(document, back=None):
    back = back or {}
    raters = {back.get(each["rater"], each["rater"]): {**each, "rater": ""} for each in document["raters"]}
    return {"phases": document["phases"], "pooled": document["pooled"], "raters": raters}


def alike(one, other):
    match one:
        case dict():
            return set(one) == set(other) and all(alike(one[key], other[key]) for key in one)
        case list():
            return len(one) == len(other) and all(map(alike, one, other))
        case float():
            return other == pytest.approx(one, abs=1e-9)
    return one == other


@settings(max_examples=15, deadline=None)
@given(studies(), st.randoms(use_true_random=False), st.sampled_from(["published", "soft"]))
def test_names_and_order_of_raters_and_items_change_nothing(ratings, random, consensus):
    names = [f"new {number}" for number in range(20)]
    random.shuffle(names)
    rater = dict(zip(ratings.annotators, names, strict=False))
    keys = dict(zip((item.key for item in ratings.items), names, strict=False))
    items = [item.model_copy(update={"key": keys[item.key]}) for item in ratings.items]
    given = [each.model_copy(update={"annotator": rater[each.annotator], "item": keys[each.item]})
             for each in ratings.ratings]  # fmt: skip
    random.shuffle(items)
    random.shuffle(given)
    choices = Choices(consensus=consensus)
    before = sound(study_document(study(ratings, choices)))
    after = sound(study_document(study(Ratings("own", tuple(items), tuple(given), ratings.source), choices)))
    assert alike(comparable(before), comparable(after, {new: old for old, new in rater.items()}))


def test_new_names_leave_the_published_document_as_it_is(document):
    ratings = published_ratings()
    items = tuple(item.model_copy(update={"key": f"new {item.key}"}) for item in ratings.items)
    given = tuple(
        each.model_copy(update={"annotator": f"new {each.annotator}", "item": f"new {each.item}"})
        for each in ratings.ratings
    )
    renamed = study_document(study(Ratings("published", items, given, ratings.source)))
    for block in ("phases", "pooled", "published"):
        assert renamed[block] == document[block]
