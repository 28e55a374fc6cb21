"""What a study holds, and who rates what: as often as planned, nothing twice, and everyone beside others."""

from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations, groupby

import hypothesis
import pytest
from builders.studies import submission
from hypothesis import strategies as st

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.people import Part
from dspy_proact.label.assignment import IDLE_SECONDS, assign, design_study
from dspy_proact.label.store import Store
from dspy_proact.label.study import Design, Study, StudyItem, StudyRun


@pytest.fixture
def begun(tmp_path, clock):
    """Makes the store of a study of so many units, of one item or of several parts each."""
    stores = []

    def begin(units, parts=("",), ratings=2, raters=4, repeated=0.0):
        study = Study("toy", (StudyRun("r1", "runs/one"),), Design(ratings=ratings, raters=raters, repeated=repeated))
        items = [
            StudyItem(f"{unit}{part}", "r1", f"case {unit}", Part(part, ("bad", "good")), (), (), ("An answer.",))
            for unit in range(units)
            for part in parts
        ]
        store = Store.create(tmp_path / f"{len(stores)}.db", study, items, clock)
        stores.append(store)
        return store

    yield begin
    for store in stores:
        store.close()


def join(store, count):
    """So many new raters, each with what they are to rate first."""
    raters = []
    for _ in range(count):
        raters.append(store.add_rater(f"rater {len(store.raters())}").number)
        assign(store, raters[-1])
    return raters


def opened(store, rater):
    return [slot for slot in store.slate(rater) if slot.state == "open"]


def more(store, rater):
    """How much is open to a rater who asks for it."""
    return sum(slot.state == "open" for slot in assign(store, rater))


def rate(store, rater, count=None, grade="good"):
    """Rate the first open places, or all; skip them where the grade is empty."""
    for slot in opened(store, rater)[:count]:
        store.give(rater, submission(slot.item, grade, repeated=slot.repeated))


def raters_of(store):
    """Of each item, those who have rated it or are to."""
    raters_of = defaultdict(list)
    for slot in store.slate():
        if slot.state in ("open", "rated") and not slot.repeated:
            raters_of[slot.item].append(slot.rater)
    return raters_of


def test_the_planned_raters_have_the_same_share_and_all_are_comparable(begun):
    store = begun(20, ratings=2, raters=4)
    raters = join(store, 4)
    assert [len(opened(store, rater)) for rater in raters] == [10] * 4
    assert {len(people) for people in raters_of(store).values()} == {2}
    # 20 units fall on the pairs of raters, but for the two who divided all units first.
    beside = Counter(tuple(sorted(people)) for people in raters_of(store).values())
    assert beside == dict.fromkeys([(1, 3), (1, 4), (2, 3), (2, 4)], 5)
    assert [slot.item for slot in store.slate(1)] == [str(unit) for unit in range(10)], "the beginning of the draw"


def test_who_comes_late_finds_nothing_and_takes_what_others_give_back(begun):
    store = begun(10, ratings=1, raters=2)
    ann, bob, eve = join(store, 3)
    assert opened(store, eve) == []
    rate(store, ann, 2)
    store.give_back(ann)
    assert more(store, eve) == 3
    rate(store, bob)
    assert more(store, bob) == 0
    assert {len(people) for people in raters_of(store).values()} == {1}


def test_what_is_kept_for_raters_who_have_yet_to_come_is_given_to_nobody_else_for_a_day(begun, clock):
    """The share of each is 5 of 10 items; one person rates an item once, so that ann may have all ten."""
    store = begun(10, ratings=2, raters=4)
    (ann,) = join(store, 1)
    rate(store, ann)
    assert more(store, ann) == 0
    join(store, 2)
    assert more(store, ann) == 0
    (eve,) = join(store, 1)
    store.give_back(eve)
    assert more(store, ann) == 3, "eve had 3, 4, 7, 8 and 9, of which ann has rated two"
    (bob,) = join(alone := begun(10, ratings=2, raters=4), 1)
    rate(alone, bob)
    clock.now += IDLE_SECONDS + 1
    assert more(alone, bob) == 5


def test_whoever_is_idle_is_not_waited_for(begun, clock):
    store = begun(10, ratings=1, raters=2)
    ann, bob = join(store, 2)
    rate(store, ann, 1)
    clock.now += IDLE_SECONDS + 1
    rate(store, bob)
    assert more(store, bob) == 4
    assert more(store, ann) == 0, "all is given"
    store.give_back(bob)
    assert more(store, ann) == 4
    assert [slot.state for slot in store.slate(ann)] == ["rated", *["open"] * 4], "back in places that count once"


def test_a_skipped_item_gets_another_rater_and_never_this_one(begun):
    store = begun(4, ratings=1, raters=2)
    ann, bob = join(store, 2)
    rate(store, ann, grade="")
    rate(store, bob)
    assert more(store, ann) == 0
    assert more(store, bob) == 2
    assert {*raters_of(store)} == {"0", "1", "2", "3"}
    assert {rater for people in raters_of(store).values() for rater in people} == {bob}


def test_parts_of_a_unit_follow_one_another_also_where_they_come_again(begun):
    store = begun(20, parts=("search", "action"), ratings=1, raters=1, repeated=0.2)
    (ann,) = join(store, 1)
    slate = [(slot.item.removesuffix("search").removesuffix("action"), slot.repeated) for slot in store.slate(ann)]
    runs = [(key, len(list(several))) for key, several in groupby(slate)]
    assert {count for _, count in runs} == {2}
    units = [key for key, _ in runs]
    # 4 of 20 come again, half a slate after the first time.
    again = [index for index, (_, repeated) in enumerate(units) if repeated]
    assert [units[index][0] for index in again] == ["0", "2", "5", "7"]
    between = [index - units.index((units[index][0], False)) for index in again]
    assert between == [11, 12, 13, 14]


def test_a_short_slate_repeats_nothing(begun):
    store = begun(5, ratings=1, raters=1, repeated=1.0)
    (ann,) = join(store, 1)
    assert not any(slot.repeated for slot in store.slate(ann))


@hypothesis.settings(max_examples=25, deadline=None)
@hypothesis.given(units=st.integers(1, 30), raters=st.integers(1, 7), data=st.data())
def test_every_item_gets_its_planned_raters_whoever_leaves(tmp_path_factory, units, raters, data):
    ratings = data.draw(st.integers(1, raters))
    study = Study("toy", (StudyRun("r1", "runs/one"),), Design(ratings=ratings, raters=raters))
    items = [StudyItem(f"{unit}", "r1", f"{unit}", Part("", ("bad", "good")), (), (), ("",)) for unit in range(units)]
    store = Store.create(tmp_path_factory.mktemp("plan") / "study.db", study, items)
    store._db.execute("PRAGMA synchronous = OFF")  # many studies, none of which has to outlast the machine
    for rater in join(store, raters):
        rate(store, rater, data.draw(st.integers(0, 40)))
        store.give_back(rater)
    assert all(len(people) <= ratings for people in raters_of(store).values())
    for rater in join(store, ratings):
        while opened(store, rater):
            rate(store, rater)
            assign(store, rater)
    counts = Counter(rating.item for rating in store.ratings(repeats=False))
    assert counts == dict.fromkeys((item.key for item in items), ratings)
    pairs = [(rating.rater, rating.item) for rating in store.ratings(repeats=False)]
    assert len(pairs) == len({*pairs})
    store.close()


def test_raters_who_come_at_once_are_given_nothing_too_often(begun):
    path = begun(40, ratings=3, raters=12).path

    def come(number):
        store = Store.open(path)
        rater = store.add_rater(f"rater {number}")
        assign(store, rater.number)
        store.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(come, range(12)))
    store = Store.open(path)
    assert {len(people) for people in raters_of(store).values()} == {3}
    beside = {pair for people in raters_of(store).values() for pair in combinations(sorted(people), 2)}
    assert len(beside) > 40, "of 66 pairs"
    store.close()


def test_a_study_is_drawn_as_a_sheet_is(run, declared, proactbench):
    from dspy_proact import draw_of

    study, items = design_study(declared, [run], Design(count=20, seed=3))
    draw, rows = draw_of(run, 20, 3)
    assert [item.case for item in items] == [row.key for row in rows]
    assert [one.draw for one in study.runs] == [str(draw)]


def test_runs_take_turns_and_what_has_no_grade_comes_last(run, other, declared):
    first = next(outcome for outcome in other.outcomes if outcome.key == run.outcomes[0].key)
    ungraded = replace(first, state="unscored", label=None, verdicts=())
    some = replace(other, outcomes=(ungraded, *other.outcomes[1:]))
    study, items = design_study(declared, [run, some], Design())
    keys = [one.run for one in study.runs]
    assert [item.run for item in items[:6]] == keys * 3
    assert (len(items), items[-1].unit) == (98, (keys[1], first.key))
    assert [one.draw.split("-")[0] for one in study.runs] == ["49", "48"], "in no draw"


def test_what_judges_dispute_comes_first_and_is_no_draw(run, declared):
    with pytest.raises(UsageError, match="differ"):
        design_study(declared, [run], Design(disputed=True))
    passed = [outcome for outcome in run.outcomes if outcome.label == "PASS"][:2]
    against = {
        one.key: replace(one, verdicts=(*one.verdicts, replace(one.verdicts[0], label=label, score=score)))
        for one, label, score in zip(passed, ("PARTIAL", "FAIL"), (0.5, 0.0), strict=True)
    }
    jury = replace(run, outcomes=tuple(against.get(outcome.key, outcome) for outcome in run.outcomes))
    study, items = design_study(declared, [jury], Design(count=5, disputed=True))
    assert [item.case for item in items[:2]] == [passed[1].key, passed[0].key]
    assert (len(items), study.runs[0].draw) == (5, None)


def test_pairs_are_drawn_by_the_grades_of_both(run, other, declared):
    study, items = design_study(declared, [run, other], Design(count=9, kind="pairs"))
    assert (study.design.kind, len(items), {one.draw for one in study.runs}) == ("pairs", 9, {None})
    strata = {outcome.key: outcome.stratum for outcome in run.outcomes}
    assert {*Counter(strata[item.case] for item in items).values()} == {3}, "one of three phases"
    for refused in (Design(disputed=True, kind="pairs"), Design(count=49, kind="pairs"), Design(ratings=5)):
        with pytest.raises(UsageError):
            design_study(declared, [run, other], refused)
