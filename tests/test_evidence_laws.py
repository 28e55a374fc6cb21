"""Laws of quotes and of the texts in which they are located."""

import unicodedata

from builders.quotes import FORMS, UNSEEN, span_of
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.evidence import PlainLetters, locate_quotes, words_of

# Words of letters, apart from scripts that are written without blanks and from digits, which may number a list.
LETTERS = st.characters(categories=["Lu", "Ll", "Lt"])
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=8), min_size=1, max_size=12)
BETWEEN = st.sampled_from(
    [" ", "\n", ", ", ". ", " \u2014 ", "-", "**", "_", "\u2019", "\u00a0", "\r\n\t", ") ", "\n> ", "\n\n- "]
)


def folded(word):
    return unicodedata.normalize("NFKC", word).casefold().replace("i\u0307", "i")


@given(WORDS, st.data())
def test_any_run_of_whole_words_is_found_where_it_stands(words, data):
    text, spans = "", []
    for word in words:
        text += data.draw(BETWEEN)
        spans.append((len(text), len(text) + len(word)))
        text += word
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    for quote in (text[spans[first][0] : spans[last][1]], " ".join(words[first : last + 1])):
        start, end = span_of(text, quote)
        plain = [folded(word) for word in words]
        assert (start, end) in {
            (spans[at][0], spans[at + last - first][1])
            for at in range(len(words) - last + first)
            if plain[at : at + last - first + 1] == plain[first : last + 1]
        }


@given(WORDS, st.data())
def test_the_words_of_a_text_are_found_whatever_nobody_sees_in_them(words, data):
    hidden = [data.draw(st.sampled_from(UNSEEN)).join(word) for word in words]
    text = data.draw(BETWEEN).join(hidden)
    assert span_of(text, " ".join(words)) == (0, len(text))
    assert words_of(text) == words_of(" ".join(words))


# A consonant, and a vowel or another mark of Hindi and of Tamil, or none.
SYLLABLES = st.sampled_from(
    [a + b for a in "\u0915\u0926\u0928" for b in ["", *"\u093e\u093f\u0940\u0902\u094d\u093c"]]
)
TAMIL = st.sampled_from([a + b for a in "\u0b95\u0baa" for b in ["", *"\u0bbe\u0bbf\u0bc6\u0bcb\u0bcd"]])
MARKED = st.lists(st.one_of(st.lists(kind, min_size=1, max_size=3).map("".join) for kind in (SYLLABLES, TAMIL)))


@given(MARKED, MARKED)
def test_words_with_marks_are_found_where_they_stand_and_nowhere_else(words, quoted):
    positions = [at for at in range(len(words) - len(quoted) + 1) if words[at : at + len(quoted)] == quoted]
    start = sum(len(word) + 1 for word in words[: positions[0]]) if positions and quoted else None
    expected = None if start is None else (start, start + len(" ".join(quoted)))
    assert span_of(" ".join(words), " ".join(quoted)) == expected
    assert words_of(" ".join(words)) == [unicodedata.normalize("NFC", word) for word in words]


POINTS = st.text(st.sampled_from("\u064e\u0651\u0652\u0670\u0640\u06e1\u05b8\u05bc"), max_size=3)


@given(st.lists(st.text(st.sampled_from("\u0628\u062a\u0645\u05d0\u05e9a"), min_size=1), min_size=1), st.data())
def test_points_that_may_be_missing_change_no_word_and_no_place(words, data):
    pointed = ["".join(letter + data.draw(POINTS) for letter in word) for word in words]
    text = " ".join(pointed)
    assert span_of(text, " ".join(words)) == (0, len(text))
    assert span_of(" ".join(words), text) == (0, len(" ".join(words)))
    assert words_of(text) == words


ODD = st.lists(st.one_of(st.text(max_size=3), st.sampled_from([text for text, _ in FORMS.values()]))).map("".join)


@given(ODD)
def test_the_form_of_a_text_does_not_matter_and_a_plain_form_stays(text):
    plain = PlainLetters(text)
    assert PlainLetters(unicodedata.normalize("NFD", text)).text == plain.text
    assert PlainLetters(plain.text).text == plain.text


@given(ODD)
def test_each_plain_letter_is_one_of_those_that_its_place_holds(text):
    letters = PlainLetters(text)
    positions = [letters.span(at, at + 1) for at in range(len(letters.text))]
    assert positions == sorted(positions)
    for letter, (start, end) in zip(letters.text, positions, strict=True):
        assert letter in PlainLetters(text[start:end]).text


@given(st.lists(st.sampled_from(["a", "b", "ab", "ba", "aab"]), max_size=8), st.data())
def test_a_quote_is_found_exactly_where_its_words_stand_in_a_row(words, data):
    quoted = data.draw(st.lists(st.sampled_from(["a", "b", "ab", "ba", "aab"]), min_size=1, max_size=4))
    positions = [at for at in range(len(words) - len(quoted) + 1) if words[at : at + len(quoted)] == quoted]
    text = " ".join(words)
    expected = None
    if positions:
        start = sum(len(word) + 1 for word in words[: positions[0]])
        expected = (start, start + len(" ".join(quoted)))
    assert span_of(text, data.draw(BETWEEN).join(quoted)) == expected


@given(st.text(), st.lists(st.text()))
def test_any_two_texts_give_quotes_that_stand_in_the_text_or_say_that_they_do_not(text, evidence):
    for quote in locate_quotes(evidence, text):
        assert (quote.start is None) == (quote.end is None)
        if quote.start is not None:
            assert 0 <= quote.start < quote.end <= len(text)
