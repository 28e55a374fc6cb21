import pytest

from dspy_proact.stats import Figure


def test_a_figure_has_a_value_or_a_reason():
    assert Figure(0.0).value == 0
    assert Figure[int](None, "no repeated responses").reason == "no repeated responses"


@pytest.mark.parametrize(("value", "reason"), [(None, None), (None, ""), (1, "a reason")])
def test_a_figure_with_both_or_neither_is_refused(value: int | None, reason: str | None):
    with pytest.raises(ValueError, match="either a value or a reason"):
        Figure(value, reason)
