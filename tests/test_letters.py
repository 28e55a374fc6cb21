import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.evidence import PlainLetters, without_unseen

PLAIN = {
    "accent after its letter": ("cafe\u0301", "caf\u00e9", "e\u0301"),
    "two accents": ("e\u0323\u0302x", "\u1ec7x", "e\u0323\u0302"),
    "accents in another order": ("e\u0302\u0323x", "\u1ec7x", "e\u0302\u0323"),
    "accent after something unseen": ("cafe\u200d\u0301", "caf\u00e9", "e\u200d\u0301"),
    "ligature": ("a\ufb01ne", "afine", "\ufb01"),
    "ligature with an accent": ("\ufb01\u0301n", "f\u00edn", "\ufb01\u0301"),
    "full width": ("\uff21\uff22", "AB", "\uff22"),
    "circled": ("\u24b6\u24d1", "Ab", "\u24d1"),
    "bold": ("\U0001d400b", "Ab", "\U0001d400"),
    "several letters": ("5\u338f", "5kg", "\u338f"),
    "half-width kana": ("\uff76\uff9e\uff77", "\u30ac\u30ad", "\uff76\uff9e"),
    "syllable in parts": ("\u1112\u1161\u11ab\uae00", "\ud55c\uae00", "\u1112\u1161\u11ab"),
    "Thai vowel": ("\u0e19\u0e49\u0e33", "\u0e19\u0e49\u0e4d\u0e32", "\u0e19\u0e49\u0e33"),
    "something unseen": ("b\u00ado\u200bx", "box", "o"),
    "a raised sign": ("Foo\u2122 ", "Foo\u2122 ", "\u2122"),
    "a phrase in one letter": ("\ufdfa.", "\ufdfa.", "\ufdfa"),
    "punctuation": ("a\u2026\u00a0\uff1b", "a\u2026\u00a0\uff1b", "\u2026"),
    "a script whose vowels are marks": ("\u0939\u093f\u0928", "\u0939\u093f\u0928", "\u093f"),
}


@pytest.mark.parametrize(("text", "plain", "part"), PLAIN.values(), ids=PLAIN)
def test_letters_have_one_form_and_know_where_they_stand(text, plain, part):
    letters = PlainLetters(f"{text} {text}")
    assert letters.text == f"{plain} {plain}"
    start = len(text) + 1 + text.index(part)
    places = [letters.place(at, at + 1) for at in range(len(letters.text))]
    assert (start, start + len(part)) in places
    assert letters.place(0, len(letters.text)) == (0, 2 * len(text) + 1)


def test_what_nobody_sees_at_an_end_is_outside():
    letters = PlainLetters("\u200bbox\u200b \u200bbag\u200b")
    assert letters.place(0, 3) == (1, 4)
    assert letters.place(4, 7) == (7, 10)


ODD = st.lists(st.one_of(st.text(max_size=3), st.sampled_from([text for text, _, _ in PLAIN.values()]))).map("".join)


@given(ODD)
def test_each_letter_is_one_of_those_that_its_place_holds(text):
    letters = PlainLetters(text)
    places = [letters.place(at, at + 1) for at in range(len(letters.text))]
    assert places == sorted(places)
    for letter, (start, end) in zip(letters.text, places, strict=True):
        assert letter in PlainLetters(text[start:end]).text


@given(ODD)
def test_the_form_of_a_text_does_not_matter(text):
    assert PlainLetters(unicodedata.normalize("NFD", text)).text == PlainLetters(text).text


@given(ODD)
def test_plain_letters_stay_as_they_are(text):
    plain = PlainLetters(text).text
    assert PlainLetters(plain).text == plain


def test_a_blank_stands_for_each_character_that_nobody_sees():
    assert without_unseen("a\u200bb\u00ad\ufe0f\u00e9\u2026\n") == "a b  \u00e9\u2026\n"
