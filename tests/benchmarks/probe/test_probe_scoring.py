"""Every rule of PROBE's scores on cases that are worked by hand, the published quirks among them."""

import pytest
from probe_task import GOOD, PARAMETERS, facet_grades, view

from dspy_proact.benchmarks.probe.scoring import (
    ESSENTIAL,
    FURTHER,
    IdentificationVerdict,
    ParametersVerdict,
    graded,
    identification_score,
    label_of,
    overall_score,
    parts_of,
    search_scores,
    task_score,
)
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import PARTS, Solution

RIGHT = dict.fromkeys((*ESSENTIAL, *FURTHER), "correct")


def identified(judgment="CORRECT", **words):
    return IdentificationVerdict(facets=facet_grades(**words), judgment=judgment, reasoning="because")


def resolved(judgment="CORRECT"):
    return ParametersVerdict(
        judgment=judgment, would_resolve="yes", missing=(), incorrect=(), semantic_matches=(), reasoning="because"
    )


@pytest.mark.parametrize(
    ("gold", "named", "expected"),
    [
        ("abc", "ab", (1.0, 2 / 3, 0.8)),  # 2 x 1 x 2/3 / (5/3) = 4/5
        ("ab", "abxy", (0.5, 1.0, 2 / 3)),  # 2 x 1/2 x 1 / (3/2)
        ("ab", "xy", (0.0, 0.0, 0.0)),
        ("ab", "", (0.0, 0.0, 0.0)),
        ("", "a", (0.0, 0.0, 0.0)),
        ("ab", "aab", (1.0, 1.0, 1.0)),  # as sets
        ("a", "az", (0.5, 1.0, 2 / 3)),  # z is of no item: wrong like any other
    ],
)
def test_search_is_precision_recall_and_f1_of_ids(gold, named, expected):
    scores = search_scores(gold, named)
    assert (scores.precision, scores.recall, scores.f1) == pytest.approx(expected)


@pytest.mark.parametrize("name", ESSENTIAL)
@pytest.mark.parametrize("word", ["incorrect", "missing", "n/a"])
def test_an_essential_facet_that_is_not_correct_leaves_nothing(name, word):
    assert identification_score(RIGHT | {name: word}) == 0


@pytest.mark.parametrize("name", FURTHER)
@pytest.mark.parametrize(("word", "score"), [("incorrect", 0.5), ("missing", 0.5), ("n/a", 1.0)])
def test_a_further_facet_costs_half_unless_by_the_published_rule_it_does_not_apply(name, word, score):
    assert identification_score(RIGHT | {name: word}) == score


@pytest.mark.parametrize(("name", "otherwise"), [("who_blocker", 0), ("when_deadline", 0.5)])
def test_where_gold_tells_what_does_not_apply_that_alone_may_be_left_out(name, otherwise):
    absent = RIGHT | {name: "n/a"}
    assert identification_score(absent, [name]) == 1
    assert identification_score(absent, ["where_system"]) == otherwise
    assert identification_score(RIGHT | {name: "missing"}, [name]) == otherwise


def test_facets_that_a_judge_left_out_are_missing():
    assert identification_score({}) == 0  # a judgment alone
    assert identification_score(dict.fromkeys(ESSENTIAL, "correct")) == 0.5


@pytest.mark.parametrize(
    ("word", "score"), [("CORRECT", 1), ("PARTIALLY_CORRECT", 0.5), ("INCORRECT", 0), ("correct", 0), ("", 0)]
)
def test_a_word_of_a_judge_is_worth_what_it_says_and_any_other_nothing(word, score):
    assert task_score("send", "send", word) == score


def test_the_action_is_the_right_one_letter_by_letter():
    assert task_score("Send", "send", "CORRECT") == 0
    assert task_score("send ", "send", "CORRECT") == 0
    assert task_score("send", "send", None) == 0


def test_overall_is_the_papers_weighted_mean():
    stages = {"f1": 0.65, "identification": 0.42, "task": 0.40}
    assert overall_score(stages) == pytest.approx(0.49016)  # .2171 + .13986 + .1332
    assert overall_score(dict.fromkeys(stages, 1)) == 1


def test_a_grade_says_what_was_missed_and_what_was_made_up():
    solution = Solution(evidence=("item_a1", "item_c3", "ghost"), touched=("item_a1", "item_b2"), action="send_note")
    grade = graded(view(), solution, ProbeSettings(), None, None)
    assert (grade.missed, grade.wrong, grade.unknown) == (("item_b2",), ("item_c3", "ghost"), ("ghost",))
    assert (grade.search.precision, grade.search.recall, grade.touched.f1) == (1 / 3, 0.5, 1.0)
    assert (grade.identification, grade.task, grade.action_right, grade.lacking) == (0, 0, False, ("to", "body"))


def test_labels_are_strict_end_to_end():
    settings = ProbeSettings()
    whole = graded(view(), GOOD, settings, identified(where_system="n/a"), resolved())
    assert (label_of(whole), whole.overall) == ("SOLVED", 1)
    half = graded(view(), GOOD, settings, identified(when_deadline="missing"), resolved())
    assert (label_of(half), half.identification) == ("PARTIAL", 0.5)
    unsupported = GOOD.model_copy(update={"evidence": ("ghost",)})
    assert not graded(view(), unsupported, settings, identified(where_system="n/a"), resolved()).solved
    assert not graded(view(), GOOD, settings, identified(where_system="n/a"), resolved("PARTIALLY_CORRECT")).solved
    assert label_of(graded(view(), Solution(), settings, None, None)) == "FAILED"


def test_what_gold_has_none_of_may_be_left_out_but_for_the_published_rule():
    facets = view().gold.facets
    assert facets is not None
    nobody = view(facets=facets.model_copy(update={"who_blocker": None}))
    verdict = identified(who_blocker="n/a")
    assert graded(nobody, GOOD, ProbeSettings(), verdict, resolved()).identification == 1
    assert graded(nobody, GOOD, ProbeSettings(upstream_rule=True), verdict, resolved()).identification == 0
    assert graded(view(facets=None), GOOD, ProbeSettings(), verdict, resolved()).identification == 0


def test_parts_tell_where_a_judges_word_and_its_facets_part():
    apart = graded(view(), GOOD, ProbeSettings(), identified("CORRECT", when_deadline="missing"), resolved())
    alike = graded(view(), GOOD, ProbeSettings(), identified("PARTIALLY_CORRECT", when_deadline="missing"), resolved())
    assert (parts_of(apart, GOOD)["apart"], parts_of(alike, GOOD)["apart"]) == (1, 0)


def test_what_could_not_be_read_counts_as_nothing_and_is_left_out_of_the_published_mean():
    unread = Solution(faults=PARTS)
    parts = parts_of(graded(view(), unread, ProbeSettings(), None, None), unread)
    assert (parts["overall"], parts["task"], parts["faulty"]) == (0, 0, 1)
    assert not [name for name in parts if name.startswith("read_") or name == "apart"]
    half = Solution(action="request_key", parameters=PARAMETERS, faults=("evidence", "bottleneck"))
    assert parts_of(graded(view(), half, ProbeSettings(), None, resolved()), half)["read_task"] == 1
