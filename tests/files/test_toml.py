"""Values and fields of TOML that come from a command line."""

import pytest

from dspy_proact.errors import UsageError
from dspy_proact.files.toml import toml_value, with_fields
from dspy_proact.types import Frozen

VALUES = {
    "9": 9,
    "true": True,
    '"csi"': "csi",
    "[1, 2]": [1, 2],
    "csi": "csi",
    "a = b": "a = b",
    "": "",
    "1\nother = 2": "1\nother = 2",
    "[" * 5000: "[" * 5000,
}


@pytest.mark.parametrize("text", VALUES, ids=range(len(VALUES)))
def test_a_text_is_the_one_value_of_toml_that_it_holds_or_itself(text):
    assert toml_value(text) == VALUES[text]


class Inner(Frozen):
    count: int = 1
    words: tuple[str, ...] = ()


class Outer(Frozen):
    name: str
    inner: Inner = Inner()


def test_fields_at_any_depth_take_other_values_and_the_first_value_stays_as_it_was():
    before = Outer(name="a")
    after = with_fields(before, {"inner.count": 2, "name": "b"}, "set")
    assert (after, before) == (Outer(name="b", inner=Inner(count=2)), Outer(name="a"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inner.cuont": 2}, "`set` inner.cuont: there is no such field; did you mean inner.count?"),
        ({"inner": {}}, "`set` inner: there is no such field; did you mean inner.words? There are"),
        ({"name.first": "a"}, "`set` name.first: there is no such field; "),
        ({"inner.words": ["a", 1]}, "`set` inner.words: input should be a valid string, not 1"),
    ],
)
def test_a_change_that_is_none_is_refused_by_its_name(changes, message):
    with pytest.raises(UsageError) as raised:
        with_fields(Outer(name="a"), changes, "set")
    assert str(raised.value).startswith(message)
