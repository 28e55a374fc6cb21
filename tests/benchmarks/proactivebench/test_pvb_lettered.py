"""Options by letters: how they are shown, and which one a text chooses."""

import pytest

from dspy_proact.benchmarks.proactivebench.lettered import chosen, lettered

SHOWN = ("Move the block to the left.", "I do not know.", "A cat", "A bird from the U.S.")


def test_each_option_stands_on_a_line_after_its_letter():
    assert lettered(SHOWN[:2]) == "A. Move the block to the left.\nB. I do not know."


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("Move the block to the left.", 0),
        ("  MOVE the  block to the left\n\nbecause it hides something", 0),
        ("**Move the block to the left.**", 0),
        ("A. Move the block to the left.", 0),
        ("I would say: B. I do not know.", 1),
        ("A", 0),
        ("(b)", 1),
        ("**C**", 2),
        ("C) it has ears", 2),
        ("d.", 3),
        ("A cat", 2),
        ("a bird from the u.s", 3),
        ("D. A bird from the U.S.", 3),
        ("C. I do not know.", 1),  # the text is read before the letter
        ("E", None),
        ("A bear", None),
        ("It is a cat.", None),
        ("AB", None),
        ("", None),
        (" \n\t", None),
        ("...", None),
    ],
)
def test_the_text_of_an_option_is_read_first_and_then_a_letter(text, option):
    assert chosen(text, SHOWN) == (None if option is None else SHOWN[option])


def test_options_that_differ_in_a_vowel_are_two():
    one, other = "\u0926\u0940\u092a \u0915\u093e", "\u0926\u0940\u092a \u0915\u0940"  # "of the lamp" in Hindi
    assert chosen(f"**{other}**", (one, other)) == other
