"""Where a quote stands, and letters in forms that make no difference to it."""

from dspy_proact.evidence import Passage

# Zero-width, soft hyphen, byte order mark, direction marks, joiners, variation selectors, tags, a filler, a control.
UNSEEN = [*"\u200b\u200c\u200d\u00ad\u2060\ufeff\u200e\u200f\u061c\u202e\u2066\u034f\ufe0f\U000e0100\u180b\U000e0061"]
UNSEEN += ["\u3164", "\x01", "\u200b\u034f\u200d"]
FORMS = {
    "accent after its letter": ("cafe\u0301 cre\u0300me", "caf\u00e9 cr\u00e8me"),
    "two accents": ("e\u0323\u0302x", "\u1ec7x"),
    "accents in another order": ("e\u0302\u0323x", "\u1ec7x"),
    "accent after something unseen": ("cafe\u200d\u0301", "caf\u00e9"),
    "ligature with an accent": ("\ufb01\u0301n", "f\u00edn"),
    "syllable in parts": ("\u1112\u1161\u11ab\uae00", "\ud55c\uae00"),
    "Thai vowel": ("\u0e19\u0e49\u0e33", "\u0e19\u0e49\u0e4d\u0e32"),
    "a script whose vowels are marks": ("\u0939\u093f\u0928", "\u0939\u093f\u0928"),
    "ligatures": ("\ufb01nd the o\ufb03ce", "find the office"),
    "full width": ("\uff23\uff41\uff4c\uff4c \uff11\uff12", "Call 12"),
    "circled": ("\u24b8\u24d0\u24db\u24db Ann", "Call Ann"),
    "mathematical": ("\U0001d402\U0001d41a\U0001d425\U0001d425 Ann", "Call Ann"),
    "half-width kana": ("\uff8c\uff6a\uff98\uff70", "\u30d5\u30a7\u30ea\u30fc"),
    "Korean in parts": ("\u1107\u1162\u1100\u1161", "\ubc30\uac00"),
    "unit": ("take 5\u338f along", "take 5kg along"),
    "Turkish capital": ("\u0130stanbul i\u00e7in", "istanbul i\u00e7in"),
    "Arabic with and without vowel points": (
        "\u0627\u0650\u062d\u0652\u0632\u0650\u0645\u0650",
        "\u0627\u062d\u0632\u0645",
    ),
    "Arabic, drawn out": ("\u0627\u062d\u0640\u0640\u0632\u0645\u0640", "\u0627\u062d\u0632\u0645"),
    "an Arabic vowel point by itself": ("\u0632\ufe77\u0645\ufc60", "\u0632\u0645"),
    "an Arabic letter with a mark that is a part of it": ("\u0627\u064e\u0653\u0645", "\u0622\u0645"),
    "Hebrew with and without vowel points": ("\u05d0\u05b8\u05e8\u05d5\u05b9\u05d6\u05bc", "\u05d0\u05e8\u05d5\u05d6"),
    "a Hebrew letter with its point": ("\ufb2a\u05dd", "\u05e9\u05dd"),
}


def span_of(text, quote):
    """Where a quote stands in the text; None when it is not found."""
    located = Passage(text).quote(quote)
    return None if located.start is None else (located.start, located.end)
