"""Tables in HTML: any text is shown, and none of it obeyed."""

import pytest
from builders.attack import ATTACK, VISIBLE, harmless
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.plain_text import html_table


def test_headings_rows_and_lines_stand_where_they_belong():
    message = html_table(("phase", "n"), [("EMERGENT", "3")], [("all", "4")], above=["a run"])
    assert message == (
        "<div><p>a run</p><table><thead><tr><th>phase</th><th>n</th></tr></thead>"
        "<tbody><tr><th>EMERGENT</th><td>3</td></tr></tbody><tbody><tr><th>all</th><td>4</td></tr></tbody></table></div>"
    )


@pytest.mark.parametrize("location", ["heading", "name", "cell", "above"])
def test_an_attack_is_shown_as_text_wherever_it_stands(location: str):
    at = {name: ATTACK if name == location else name for name in ("heading", "name", "cell", "above")}
    message = html_table(("", at["heading"]), [(at["name"], at["cell"])], above=[at["above"]])
    assert VISIBLE in harmless(message)


@given(st.text())
def test_no_text_can_be_more_than_text(text: str):
    harmless(html_table((text,), [(text, text)], above=[text]))


def test_a_long_text_is_cut():
    assert len(html_table((), [("response", "x" * 1_000_000)])) < 3000
