import pytest

from dspy_proact.stats.raters import Spread, jackknifed_rater_term, rater_term


def test_the_rater_term_by_hand():
    # Raters a and b, groups 1 and 2; a: 3 + 1 and 2, b: -2 and -4. Shares 3/5 and 2/5.
    # V_R = 6^2 / (2/5) + 6^2 / (3/5) = 90 + 60; V_SR = 4^2 + 2^2 + 2^2 + 4^2 = 40.
    assert rater_term([3, 1, 2, -2, -4], "aaabb", [1, 1, 2, 1, 2]) == pytest.approx(110)


def test_raters_who_differ_no_more_than_their_ratings_add_nothing():
    # Each rater's influences cancel over the groups: V_R = 0, V_SR = 4.
    assert rater_term([1, -1, 1, -1], "aabb", [1, 2, 1, 2]) == 0


def test_of_a_mean_the_jackknife_is_the_formula():
    # Mean of the ratings 0, 0 | 1, 1 | 1, 0 of raters a, b, c, each in groups 1 and 2: 1/2, u = (y - 1/2) / 6.
    # V_R: sums -1/6, 1/6, 0; 2/36 by 2/3 = 1/12. V_SR: six times 1/144 = 1/24.
    ratings, raters, groups = [0, 0, 1, 1, 1, 0], "aabbcc", [1, 2] * 3
    formula = rater_term([(y - 1 / 2) / 6 for y in ratings], raters, groups)
    assert formula == pytest.approx(1 / 12 - 1 / 24)
    # Without a 3/4, without b 1/4, without c 1/2: 2/3 of 2/16 = 1/12.
    # Without one rating 3/5 or 2/5: 5/6 of 6/100 = 1/20.
    told = jackknifed_rater_term([3 / 4, 1 / 4, 1 / 2], [3 / 5, 3 / 5, 2 / 5, 2 / 5, 2 / 5, 3 / 5])
    assert told == pytest.approx(1 / 12 - 1 / 20)


def test_the_degrees_of_freedom_lie_between_the_groups_and_the_raters():
    # Satterthwaite: 9^2 / (4^2 / 11 + 5^2 / 5) = 81 / (71 / 11) = 891 / 71; the smaller: 5.
    told = Spread(4, 11).with_raters(5, 6)
    assert (told.variance, told.error) == (9, 3)
    assert told.df == pytest.approx(2 / (71 / 891 + 1 / 5))
    # Raters who add nothing leave Satterthwaite those of the groups: 2 / (1 / 24 + 1 / 5).
    assert Spread(4, 24).with_raters(0, 6).df == pytest.approx(240 / 29)
    assert Spread(0, 24).with_raters(0, 6).variance == 0


def test_one_rater_has_no_variance():
    with pytest.raises(ValueError, match="takes two of them"):
        rater_term([0, 0], "aa", [1, 2])
    with pytest.raises(ValueError, match="takes two of them"):
        Spread(4, 3).with_raters(0, 1)


def test_raters_and_groups_must_align():
    with pytest.raises(ValueError, match="one rater and group a rating"):
        rater_term([0, 0], "ab", [1])
