from dspy_proact.stats import Band, share_error


def test_a_share_may_be_out_by_two_standard_errors_of_the_edge():
    # Of 1,000 data sets 1.6 points at 93 %, and .9 at 98.
    band = Band(0.93, 0.98)
    assert [band.holds(share, 1000) for share in (0.913, 0.914, 0.988, 0.989)] == [False, True, True, False]
    assert not band.holds(0.914, 10_000)


def test_what_is_out_is_said_and_is_no_fault_where_intervals_are_marked():
    band = Band(0.0, 0.05)
    assert band.told(0.031, 1000) == "3.1"
    assert band.told(0.11, 1000) == "11.0 OUT"
    assert band.told(0.11, 1000, marked=True) == "11.0 marked"
    assert band.told(0.031, 1000, marked=True) == "3.1"


def test_the_error_of_a_share():
    assert share_error(0.8, 100) == 0.04
