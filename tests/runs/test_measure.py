"""What a benchmark may declare as a measure."""

import pytest
from pydantic import ValidationError

from dspy_proact.runs import Measure


def test_a_measure_is_the_mean_of_one_part_unless_it_says_otherwise():
    assert Measure(name="length", title="words", parts=("words",)).statistic == "mean"


@pytest.mark.parametrize(
    ("statistic", "parts"), [("mean", ("true", "said")), ("f1", ("said",)), ("kappa", ()), ("recall", ("a", "b", "c"))]
)
def test_a_statistic_of_other_than_its_number_of_parts_is_refused(statistic, parts):
    with pytest.raises(ValidationError, match="a mean takes one part"):
        Measure(name="measure", title="a measure", statistic=statistic, parts=parts)


@pytest.mark.parametrize("name", ["", "F1", "a b", "1st"])
def test_a_name_that_is_no_key_is_refused(name):
    with pytest.raises(ValidationError, match="name"):
        Measure(name=name, title="a measure", parts=("words",))
