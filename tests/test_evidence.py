import pytest
from builders.quotes import FORMS, UNSEEN, span_of
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.evidence import locate_quotes
from dspy_proact.types import Quote

RESPONSE = "Label the boxes today. Then call Ann, since her ferry stops on Sunday."


def quoted_part(text, quote):
    """The part of the text that a quote is found at; None when it is not found."""
    span = span_of(text, quote)
    return span and text[span[0] : span[1]]


LINK = "take [the ferry](https://boats.example/a?b=c#d) at nine"
LISTED = "do this:\n1. label boxes\n2) call Ann"
FOLDED = {
    "straightened apostrophe": ("don\u2019t wait", "don't wait"),
    "curly apostrophe": ("don't wait", "don\u2019t wait"),
    "quotation marks": ("call \u201cAnn\u201d today", 'call "Ann" today'),
    "guillemets dropped": ("call \u00abAnn\u00bb today", "call Ann today"),
    "hyphen for a dash": ("the last \u2014 and only \u2014 boat", "the last - and only - boat"),
    "dash dropped": ("half\u2013empty boat", "half-empty boat"),
    "bold": ("label **the boxes** today", "label the boxes today"),
    "italics": ("label _the_ *boxes* today", "label the boxes today"),
    "code": ("run `pack` first", "run pack first"),
    "struck": ("take ~~two~~ three bags", "take two three bags"),
    "heading": ("Next\n## Label the boxes\ntoday", "Next Label the boxes today"),
    "bullets": ("label\n- boxes\n* bags", "label boxes bags"),
    "table": ("| boxes | bags |", "boxes bags"),
    "block quote": ("> label\n> the boxes", "label the boxes"),
    "bold added by the judge": ("label the boxes", "**label** the *boxes*"),
    "blanks": ("label\u00a0the\t\tboxes\r\n\r\ntoday", "label the boxes today"),
    "punctuation": ("label, then call; wait!", "label then call wait"),
    "case": ("Label THE boxes", "lABEL the BOXES"),
    "case of several letters": ("Stra\u00dfe am See", "STRASSE AM SEE"),
    "link": (LINK, "take the ferry at nine"),
    "link, copied": (LINK, LINK),
    "list numbers left out": (LISTED, "do this label boxes call Ann"),
    "list numbers, copied": (LISTED, LISTED),
    "list numbers, on one line": (LISTED, "do this: 1. label boxes 2) call Ann"),
    "a number that a line break put first": ("it closes at\n5. Bring a coat", "it closes at 5. Bring a coat"),
    "a line break, escaped twice": ("label the boxes.\nCall Ann", r"label the boxes.\nCall Ann"),
    "a letter, escaped twice": ("the caf\u00e9 at nine", r"the caf\u00e9 at nine"),
    "escaped for HTML": ("salt & pepper at the caf\u00e9", "salt &amp; pepper&nbsp;at the caf&eacute;"),
    "keycap": ("step 1\ufe0f\u20e3 label", "step 1 label"),
}


@pytest.mark.parametrize(("text", "quote"), FOLDED.values(), ids=FOLDED)
def test_what_stands_between_words_is_folded(text, quote):
    assert quoted_part(f"Before it: {text}, and after.", quote) is not None
    assert quoted_part(f"Other words. {text}", f"{quote} zebra") is None


@pytest.mark.parametrize("unseen", UNSEEN, ids=ascii)
def test_what_nobody_sees_hides_no_word(unseen):
    text = f"Then la{unseen}bel the{unseen} b{unseen}oxes."
    assert quoted_part(text, "label the boxes") == f"la{unseen}bel the{unseen} b{unseen}oxes"
    assert quoted_part("Then label the boxes.", f"l{unseen}abel the {unseen}boxes") == "label the boxes"
    assert quoted_part(text, f"label t{unseen}he boxes") == f"la{unseen}bel the{unseen} b{unseen}oxes"
    # It may stand between words, too.
    assert quoted_part(f"Then label{unseen}the{unseen}boxes.", "label the boxes") == f"label{unseen}the{unseen}boxes"
    assert quoted_part("Then label the boxes.", f"the{unseen}boxes") == "the boxes"
    text = f"take [it](a{unseen}b) the\n1. bo{unseen}at"
    assert quoted_part(text, "it the boat") == text[6:]


@pytest.mark.parametrize(("text", "quote"), FORMS.values(), ids=FORMS)
def test_the_form_of_letters_is_folded(text, quote):
    assert quoted_part(f"Before it: {text}, and after.", quote) == text
    assert quoted_part(f"Before it: {quote}, and after.", text) == quote


BEFORE = [
    "\u200b",
    "e\u0301",
    "\ufb03 ",
    "\u3316 ",
    "\ufdfa ",
    "\u338f\u200d",
    "\u1112\u1161\u11ab",
    "\U000e0061\u2026",
]


@given(st.lists(st.sampled_from(BEFORE)).map("".join))
def test_what_grows_or_vanishes_moves_no_place(before):
    text = f"{before} Label the boxes {before} now"
    assert span_of(text, "label the boxes") == (len(before) + 1, len(before) + 16)
    assert quoted_part(text, "now") == "now"


FIRST_OF = [
    ("boat or boat", "boat", "boat"),
    ("\u0130stanbul:  \u201cLabel\u2014the **boxes**\u201d, today.", "label THE boxes", "Label\u2014the **boxes"),
    ("Take your Foo\u2122 along.", "your foo along", "your Foo\u2122 along"),
    ("well ... perhaps the ferry", "well ... perhaps", "well ... perhaps"),
    ("well \u2026 perhaps the ferry", "well perhaps", "well \u2026 perhaps"),
]


@pytest.mark.parametrize(("text", "quote", "stands"), FIRST_OF)
def test_the_place_found_is_the_first_in_the_real_text(text, quote, stands):
    start = text.index(stands)
    assert span_of(text, quote) == (start, start + len(stands))


CHINESE = "\u660e\u5929\u6e21\u8f2a\u505c"
MISSING = {
    "another order": (RESPONSE, "the Label boxes"),
    "a word left out": (RESPONSE, "Label boxes"),
    "a word added": (RESPONSE, "Label the old boxes"),
    "the beginning of a word": (RESPONSE, "Label the box"),
    "the end of a word": (RESPONSE, "abel the boxes"),
    "the end and the beginning": (RESPONSE, "today. Label"),
    "a negation": ("I would not go", "I would go"),
    "characters in another order": (CHINESE, "\u8f2a\u6e21"),
    "characters left out": (CHINESE, "\u660e\u5929\u505c"),
    "pieces in another order": (RESPONSE, "call Ann ... Label the boxes"),
    "the same piece twice": (RESPONSE, "Label the boxes ... Label the boxes"),
    "one piece is not there": (RESPONSE, "Label the boxes ... call Bob"),
    "the first piece is not there": (RESPONSE, "Burn ... call Ann"),
    "a piece that is the end of a word": (RESPONSE, "Label ... oxes"),
    "pieces of one word": (RESPONSE, "L ... be ... l"),
    "a number without its last digit": ("\u0e23\u0e32\u0e04\u0e32 \u0e55\u0e50", "\u0e23\u0e32\u0e04\u0e32 \u0e55"),
    "a letter without its tone": ("\u0e44\u0e21\u0e49", "\u0e44\u0e21"),
    "a letter without the one below it": ("\u1781\u17d2\u1785\u1794", "\u1781\u17d2"),
    "a letter that stands below another": ("\u1781\u17d2\u1785\u1794", "\u1785\u1794"),
    "the beginning of a Tibetan syllable": ("\u0f58\u0f7a\u0f51\u0f0b", "\u0f58\u0f7a"),
}


@pytest.mark.parametrize(("text", "quote"), MISSING.values(), ids=MISSING)
def test_other_words_or_another_order_are_not_found(text, quote):
    assert quoted_part(text, quote) is None


ELLIPSES = {
    "three dots": "Label the boxes ... call Ann",
    "one sign": "Label the boxes \u2026 call Ann",
    "without blanks": "Label the boxes...call Ann",
    "many dots": "Label the boxes ..... call Ann",
    "square brackets": "Label the boxes [...] call Ann",
    "round brackets": "Label the boxes (\u2026) call Ann",
    "several": "Label ... boxes ... Ann",
    "around it": "... Label the boxes today. Then call Ann...",
    "nothing left out": "Label the boxes ... today. Then call Ann",
}


@pytest.mark.parametrize("quote", ELLIPSES.values(), ids=ELLIPSES)
def test_words_may_be_left_out_with_an_ellipsis(quote):
    assert quoted_part(RESPONSE, quote) == "Label the boxes today. Then call Ann"


CJK = "\u660e\u5929\u6e21\u8f2a\u505c\u822a\uff0c\u8acb\u65e9\u9ede\u51fa\u767c\u3002"  # Chinese, one sentence


RUNS = ["\u0e40\u0e23\u0e37\u0e2d\u0e2b\u0e22\u0e38\u0e14", "\u30d5\u30a7\u30ea\u30fc", "\ubc30\uac00"]
RUNS += ["\u1785\u1784\u17d2\u1780\u17c0\u1784", "\u1000\u102d\u102f\u101a\u1014", "\u0e9e\u0eb1\u0e81"]
RUNS += ["\U00020bb7\U00020bb7\u91ce"]
"""Thai, Japanese, Korean, Khmer, Burmese, Lao, and rare Chinese characters."""
UNSPACED = [
    (CJK, "\u6e21\u8f2a\u505c\u822a", "\u6e21\u8f2a\u505c\u822a"),
    (CJK, "\u6e21 \u8f2a\n\u505c\u822a", "\u6e21\u8f2a\u505c\u822a"),
    (CJK, "\u505c\u822a\u8acb\u65e9", "\u505c\u822a\uff0c\u8acb\u65e9"),
    (CJK, "\u660e\u5929\u2026\u51fa\u767c", CJK[:-1]),
    ("Nimm die\u6e21\u8f2a2 heute", "\u6e21\u8f2a2", "\u6e21\u8f2a2"),
    ("\u30d5\u30a7\u30fb\u30ea\u30fc", "\u30d5\u30a7\u30ea\u30fc", "\u30d5\u30a7\u30fb\u30ea\u30fc"),
    *((f"{text}{text[::-1]}", text, text) for text in RUNS),
    *((f"x{text}y", text, text) for text in RUNS),
]


@pytest.mark.parametrize(("text", "quote", "stands"), UNSPACED)
def test_a_script_without_blanks_is_found_character_by_character(text, quote, stands):
    assert quoted_part(text, quote) == stands


OTHER_WORDS = {
    "Hindi": ("\u0926\u093f\u0928", "\u0926\u093e\u0928"),  # day, gift
    "Hindi, a vowel at the end": ("\u0915\u0932\u093e", "\u0915\u0932"),  # art, tomorrow
    "Bengali": ("\u09a6\u09bf\u09a8", "\u09a6\u09be\u09a8"),
    "Punjabi": ("\u0a26\u0a3f\u0a28", "\u0a26\u0a3e\u0a28"),
    "Gujarati": ("\u0aa6\u0abf\u0aa8", "\u0aa6\u0abe\u0aa8"),
    "Odia": ("\u0b26\u0b3f\u0b28", "\u0b26\u0b3e\u0b28"),
    "Tamil": ("\u0baa\u0bb2\u0bcd", "\u0baa\u0bbe\u0bb2\u0bcd"),  # tooth, milk
    "Telugu": ("\u0c15\u0c3e\u0c32\u0c41", "\u0c15\u0c32"),  # leg, dream
    "Kannada": ("\u0cae\u0ca8\u0cc6", "\u0cae\u0cbe\u0ca8"),  # house, honour
    "Malayalam": ("\u0d15\u0d32", "\u0d15\u0d3e\u0d32\u0d02"),  # art, time
    "Sinhala": ("\u0db8\u0dbd", "\u0db8\u0dcf\u0dbd"),
    "Maldivian": ("\u0784\u07a6\u0783\u07aa", "\u0784\u07a8\u0783\u07a9"),
    "Turkish": ("\u0131l\u0131k", "ilik"),  # lukewarm, marrow
    "Hebrew, other letters": ("\u05d0\u05b8\u05e8", "\u05e2\u05b8\u05e8"),
    "an accent that no letter has": ("x\u0300y", "x y"),
}


@pytest.mark.parametrize(("one", "other"), OTHER_WORDS.values(), ids=OTHER_WORDS)
def test_words_that_differ_in_a_mark_are_other_words(one, other):
    assert quoted_part(f"{one} {one} {one}", other) is None
    assert quoted_part(f"{other} {other} {other}", one) is None
    assert quoted_part(f"{other} {one}. {other}", one) == one


@pytest.mark.parametrize("empty", ["", " \n", "...", "**", '""', "\U0001f44d"])
def test_without_a_word_a_quote_makes_none_and_in_a_text_none_stands(empty):
    assert span_of(RESPONSE, empty) is None
    assert locate_quotes([empty], RESPONSE) == ()
    assert locate_quotes(["boat"], empty) == (Quote(text="boat"),)


def test_each_quote_keeps_its_text_and_gets_its_place():
    located = locate_quotes(["call **Ann**", "call Bob", "", '"the boxes" and "call Eve"'], RESPONSE)
    assert located == (
        Quote(text="call **Ann**", start=28, end=36, short=True),
        Quote(text="call Bob"),
        Quote(text="the boxes", start=6, end=15, short=True),
        Quote(text="call Eve"),
    )


SEPARATED = {
    "quotation marks": '"Label the boxes" and "call Ann"',
    "curly quotation marks": "\u201cLabel the boxes\u201d, \u201ccall Ann\u201d",
    "low quotation marks": "\u201eLabel the boxes\u201c und \u201ecall Ann\u201c",
    "guillemets": "\u00abLabel the boxes\u00bb et \u00abcall Ann\u00bb",
    "with words around": 'It says "Label the boxes", and later "call Ann".',
    "lines": "Label the boxes\ncall Ann",
    "bullets": "- Label the boxes\n\n- call Ann",
    "semicolon": "Label the boxes; call Ann",
    "slash": "Label the boxes / call Ann",
    "bar": "Label the boxes | call Ann",
    "single quotation marks after a label": "The response says 'Label the boxes' and 'call Ann'.",
    "curly ones": "It says \u2018Label the boxes\u2019, and then \u2018call Ann\u2019.",
    "lines with labels": "First: 'Label the boxes'\nLater: 'call Ann'",
}


@pytest.mark.parametrize("entry", SEPARATED.values(), ids=SEPARATED)
def test_several_quotes_in_one_string_are_looked_up_one_by_one(entry):
    located = locate_quotes([entry], RESPONSE)
    assert [RESPONSE[quote.start : quote.end] for quote in located] == ["Label the boxes", "call Ann"]


def test_an_apostrophe_is_no_quotation_mark():
    text = "Ann's boat isn't late, is it?"
    assert [quote.text for quote in locate_quotes([f"It says '{text}'"], text)] == [text]
    assert [quote.text for quote in locate_quotes(["Ann's boats' masts"], text)] == ["Ann's boats' masts"]


@pytest.mark.parametrize("text", ['He said "one"; she said "two".', "one / two\nthree; four | five"])
def test_a_string_that_stands_in_the_text_as_a_whole_is_one_quote(text):
    assert [quote.text for quote in locate_quotes([text], f"Before. {text} After.")] == [text]


COUNTING = {
    "three words": ("Label the boxes", RESPONSE, True),
    "two words": ("call Ann", RESPONSE, False),
    "one word": ("the", RESPONSE, False),
    "three words in a row after an ellipsis": ("Label ... her ferry stops", RESPONSE, True),
    "three words, none in a row": ("the ... her ... on", RESPONSE, False),
    "the whole of a short response": ("Sure: **Bob**", "Sure, Bob!", True),
    "all of one word": ("no", "No.", True),
    "a part of a short response": ("Bob", "Sure, Bob!", False),
    "three characters of a script without blanks": ("\u6e21\u8f2a\u505c", "\u660e\u5929\u6e21\u8f2a\u505c\u822a", True),
    "what does not stand there": ("the boxes Label", RESPONSE, False),
    "two words with something unseen in them": ("ca\u200bll A\u200bn\u200bn", RESPONSE, False),
    "three words with something unseen in them": ("Label the bo\u00adxes", RESPONSE, True),
    "words that something unseen parts": ("label the boxes", "Then label\u200bthe\u200bboxes.", True),
    "a link of one word": ("[it](https://boats.example/a)", "Take [it](https://boats.example/a) at nine.", False),
    "a link of three words": ("[the old boat](a)", "Take [the old boat](a) at nine.", True),
    "numbers of a list": ("1. boxes 2. bags", "Take\n1. boxes\n2. bags\n3. hats", False),
    "items of a list": ("1. boxes 2. bags 3. hats", "Take\n1. boxes\n2. bags\n3. hats\n4. oars", True),
    "the whole of a short list": ("boxes, bags", "1. boxes\n2. bags", True),
    "two words of Hindi": (
        "\u0926\u0940\u092a\u0915 \u0915\u094b",
        "\u0926\u0940\u092a\u0915 \u0915\u094b \u0906\u091c",
        False,
    ),
    "two letters of Khmer": ("\u1781\u17d2\u1785\u1794\u17cb", "\u1781\u17d2\u1785\u1794\u17cb\u1780", False),
}


@pytest.mark.parametrize(("quote", "text", "counts"), COUNTING.values(), ids=COUNTING)
def test_a_quote_counts_from_three_words_in_a_row_or_as_the_whole_response(quote, text, counts):
    (located,) = locate_quotes([quote], text)
    assert located.counts is counts


@pytest.mark.parametrize(
    "evidence",
    [["\n".join(["zebra boat"] * 300_000)], ['"zebra boat" ' * 300_000], ["zebra\nboat"] * 150_000],
    ids=["lines", "quotation marks", "strings"],
)
def test_of_very_many_quotes_the_first_200_are_looked_up_whatever_string_they_stand_in(evidence):
    # Each costs a search of the text: 300,000 of them take minutes.
    assert len(locate_quotes(evidence, "word " * 50_000)) == 200


def test_of_many_quotes_in_a_very_long_text_the_first_are_looked_up():
    # Near misses: each costs a search of a million characters, and in some texts 200 of them take many seconds.
    located = locate_quotes(
        [f"take bag {number} along" for number in range(200)], "take bag 7 along " + "a b " * 250_000
    )
    assert 50 <= len(located) < 100
    assert [quote.start is not None for quote in located] == [number == 7 for number in range(len(located))]


def test_of_very_many_lines_those_that_stand_in_the_text_are_found_as_ever():
    lines = [f"take bag {number} along" for number in range(200)]
    located = locate_quotes(["\n".join(lines) + "\nzebra"], ". ".join(reversed(lines)))
    assert [quote.text for quote in located] == lines
    assert all(quote.counts for quote in located)


HUGE = [*'a\u4e00("\u2026> \n*\u0130\u200b\ufb03\ufdfa', "a ", "1. ", "\n1. ", "](", '"ab" ', "a...", " ; ", "a\u200b"]
HUGE += ["\u0301\u0323", "a\u0301\u200b"]


@pytest.mark.parametrize("unit", HUGE, ids=ascii)
def test_a_very_long_text_on_either_side_is_no_trouble(unit):
    # What takes its square takes minutes.
    text = unit * (40_000 // len(unit))
    (quote,) = locate_quotes(["zebra boat"], f"{text} zebra boat")
    assert (quote.start, quote.end) == (len(text) + 1, len(text) + 11)
    assert span_of(f"{text} zebra", f"{text} boat") is None
