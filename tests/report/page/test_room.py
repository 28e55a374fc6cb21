"""How long the texts of a page may be, so that all of them have room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.report.page.room import even_length, shortened


@pytest.mark.parametrize(
    ("lengths", "room", "longest"),
    [
        ([], 0, None),
        ([3, 5], 8, None),
        ([3, 5], 7, 4),  # 3 whole, and 4 of 5
        ([2, 9, 9], 10, 4),  # 2 whole, and 8 for the two others
        ([9, 9, 9], 10, 3),
        ([4], 0, 0),
    ],
)
def test_short_texts_leave_their_share_to_long_ones(lengths, room, longest):
    assert even_length(lengths, room) == longest


@given(st.lists(st.integers(0, 50)), st.integers(0, 500))
def test_cut_texts_have_room_and_one_character_more_of_each_has_not(lengths, room):
    longest = even_length(lengths, room)
    if longest is None:
        assert sum(lengths) <= room
    else:
        assert sum(min(length, longest) for length in lengths) <= room
        assert sum(min(length, longest + 1) for length in lengths) > room


def test_what_is_left_out_is_counted():
    assert shortened("abcdef", 4) == "abcd… [2 more characters]"
    assert shortened("abcd", 4) == shortened("abcd", None) == "abcd"
