"""What the owner sees of a study: figures that are right, no word against a rater, and a page that works."""

from dataclasses import replace

import pytest
from builders.studies import submission
from drivers.labelling import LEVELS, PART, Riddles, collected, item

from dspy_proact.evaluation.people import Part
from dspy_proact.label.quality import overview, owner_page
from dspy_proact.label.store import Store
from dspy_proact.label.study import PREFERENCE, Design, Study, StudyRun
from dspy_proact.stats import Estimate, alpha_estimate
from dspy_proact.stats.agreement import disagreements
from dspy_proact.stats.raters import Panel

NOMINAL = Part("kind", ("pun", "rhyme", "none"), "nominal")


@pytest.fixture
def rated(tmp_path):
    """Makes the store of a study in which raters gave these grades, one a column, None where there is none."""
    stores = []

    def rate(items, grades, ratings=2, repeated=(), **kind):
        collection = collected(tmp_path / f"{len(stores)}.db", items, ratings=ratings, raters=len(grades[0]), **kind)
        store = collection.store
        stores.append(store)
        for number, own in enumerate(zip(*grades, strict=True)):
            rater = store.add_rater(f"rater {number}")
            mine = [(of, grade) for of, grade in zip(items, own, strict=True) if grade]
            store.assign(rater.number, lambda mine=mine: [(of.key, False) for of, _ in mine])
            for of, grade in mine:
                store.give(rater.number, submission(of.key, grade, seconds=10.0 + number))
            for of, grade in repeated if not number else ():
                store.give(rater.number, submission(of.key, grade, repeated=True))
        return store

    yield rate
    for store in stores:
        store.close()


def test_coverage_and_agreement_are_those_of_the_ratings(rated):
    items = [item(number) for number in range(6)]
    lost, close, solved = LEVELS
    grades = [(lost, lost), (solved, solved), (close, lost), (close, close), (solved, None), (None, None)]
    view = overview(rated(items, grades, repeated=[(items[0], close), (items[1], solved)]), items, Riddles())
    (part,) = view.parts
    assert (len(part.items), part.complete, len(part.ratings), len(view.raters)) == (6, 4, 9, 2)
    panel = Panel.of([[one for one in of if one] for of in grades], LEVELS, [[0, 1], *[[0, 1]] * 3, [0], []])
    assert part.growth[-1][1] == alpha_estimate(panel, "ordinal", [of.case for of in items])
    assert [count for count, _ in part.growth] == [2, 3, 4, 5, 6, 7, 8, 9], "eighths of 9, each rounded up"
    ann, bob = view.raters
    assert (ann.rated, bob.rated, ann.again, bob.again) == (5, 4, (1, 2), (0, 0))
    # LOST became CLOSE once, and SOLVED stayed.
    assert (ann.moved, bob.moved) == (0.5, None)
    assert (ann.seconds, bob.seconds) == (10, 11)
    # Of four shared items three are alike; Ann gave LOST once, CLOSE and SOLVED twice.
    assert part.conducts["rater 0"].agreement.value == 0.75
    assert part.conducts["rater 0"].shares == (0.2, 0.4, 0.4)
    assert "too few to show that tuning helped" in view.carried
    assert view.pairs == (), "four shared items"


def test_items_with_most_disagreement_come_first_and_two_raters_who_agree_least(rated):
    items = [item(number) for number in range(5)]
    lost, close, solved = LEVELS
    store = rated(
        items, [(lost, lost, lost), (lost, close, lost), (lost, solved, lost), (solved,) * 3, (close,) * 3], 3
    )
    store.adjudicate(submission(items[3].key, lost, reason="It names nothing."))
    view = overview(store, items, Riddles())
    # Of three ratings two of three pairs differ, by a quarter of the squared scale and by all of it.
    assert disagreements(view.parts[0].panel, "quadratic") == pytest.approx([0, 1 / 6, 2 / 3, 0, 0])
    assert [item.case for item, _ in view.disputed] == ["case 2", "case 1", "case 3"]
    assert view.adjudications[items[3].key].grade == lost
    assert [pair.raters for _, pair in view.pairs][-1] == ("rater 0", "rater 2")
    assert [pair.same for _, pair in view.pairs] == [0.6, 0.6, 1.0]
    page = owner_page(view, "csrf")
    # LOST is 60 % of the first rater's, 20 and 60 of the others': the median is 60.
    assert '<tfoot><tr><th scope="row">median</th><td class="number">20</td><td class="number">20</td>' in page
    assert '<td class="number">60</td><td class="number">-0.1</td><td>0.80</td>' in page


def test_grades_that_are_all_alike_promise_no_gain(rated):
    items = [item(number) for number in range(60)]
    groups = {of.case: f"group {number % 12}" for number, of in enumerate(items)}
    varied, alike = [(LEVELS[number % 3],) * 2 for number in range(60)], [(LEVELS[0],) * 2] * 60
    of_varied, of_alike = (overview(rated(items, of), items, Riddles(), groups).carried for of in (varied, alike))
    assert "80 % power takes a true gain" in of_varied
    assert "which gain they can show is not known in advance" in of_alike


def test_who_joined_later_is_counted_beside_the_planned_and_no_zero_has_a_sign(rated):
    items = [item(number) for number in range(5)]
    view = overview(rated(items, [(LEVELS[0],) * 2] * 4 + [LEVELS[:2]]), items, Riddles())
    ((part, pair),) = view.pairs
    near = replace(pair, kappa=Estimate(0.1, -0.004, 0.3))
    page = owner_page(replace(view, design=Design(raters=1), pairs=((part, near),)), "csrf")
    assert "10 ratings by 2 raters, 1 planned." in page
    assert "0.00 to 0.30" in page
    assert "-0.00" not in page


def test_parts_stand_beside_one_another_each_on_its_scale(rated):
    items = [item(10 * number + at, part=part) for number in range(8) for at, part in enumerate((PART, NOMINAL))]
    grades = [(of.part.levels[number // 2 % 3], of.part.levels[number // 3 % 3]) for number, of in enumerate(items)]
    view = overview(rated(items, grades), items, Riddles())
    assert [(one.part.name, len(one.items), len(one.ratings)) for one in view.parts] == [("", 8, 16), ("kind", 8, 16)]
    assert {part.name for part, _ in view.pairs} == {"", "kind"}
    assert {*disagreements(view.parts[1].panel, "none")} == {0.0, 1.0}
    assert "kind" in owner_page(view, "csrf")


def test_of_pairs_the_page_says_which_is_preferred(tmp_path):
    items = [replace(item(number, part=PREFERENCE), responses=("One.", "Two."), criteria=()) for number in range(8)]
    study = Study("riddles", (StudyRun("r1", "runs/one"), StudyRun("r2", "runs/two")), Design(ratings=4, kind="pairs"))
    store = Store.create(tmp_path / "pairs.db", study, items)
    assert overview(store, items, Riddles()).carried == "Nobody has chosen yet."
    for _ in range(4):
        rater = store.add_rater(f"rater {len(store.raters())}")
        grades = ["second"] * 7 + ["first"]
        choices = (submission(of.key, grade) for of, grade in zip(items, grades, strict=True))
        store.assign(rater.number, lambda: [(of.key, False) for of in items])
        store.give(rater.number, *choices)
    view = overview(store, items, Riddles())
    store.close()
    assert "two is chosen in 28 of 32" in view.carried
    assert view.parts[0].growth[-1][1].value == 1
    page = owner_page(view, "csrf")
    assert "The second response" not in page, "nobody disagrees"
