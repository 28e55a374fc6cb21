from dspy_proact.stats import Band, Banded, share_error


def test_a_share_may_be_out_by_two_standard_errors_of_the_edge():
    # Of 1,000 data sets 1.6 points at 93 %, and .9 at 98.
    band = Band(0.93, 0.98)
    assert [band.holds(share, 1000) for share in (0.913, 0.914, 0.988, 0.989)] == [False, True, True, False]
    assert not band.holds(0.914, 10_000)


def test_where_the_number_of_data_sets_is_not_known_a_share_may_not_be_out_at_all():
    band = Band(0.93, 0.98)
    assert [band.holds(share) for share in (0.929, 0.93, 0.98, 0.981)] == [False, True, True, False]


def test_a_wider_band_stays_a_share():
    assert Band(0.25, 0.75).wider(0.25) == Band(0.0, 1.0)
    assert Band(0.125, 0.875).wider(0.25) == Band(0.0, 1.0)


def test_what_is_out_is_said_and_is_no_fault_where_intervals_are_marked():
    band = Band(0.0, 0.05)
    assert band.told(0.031, 1000) == "3.1"
    assert band.told(0.11, 1000) == "11.0 OUT"
    assert band.told(0.11, 1000, marked=True) == "11.0 marked"
    assert band.told(0.031, 1000, marked=True) == "3.1"


def test_the_error_of_a_share():
    assert share_error(0.8, 100) == 0.04


def test_tables_are_told_with_how_many_are_out():
    found = Banded("10 data sets", {"a | b": ["1 | 91.0 OUT", "2 | 90.0 OUT"], "c": ["3"]})
    assert found.out == 2
    assert str(found).splitlines() == [
        "10 data sets",
        "",
        "| a | b |",
        "| --- | --- |",
        "| 1 | 91.0 OUT |",
        "| 2 | 90.0 OUT |",
        "",
        "| c |",
        "| --- |",
        "| 3 |",
        "",
        "2 out of band",
    ]
