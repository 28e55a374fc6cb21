"""What may be told of a judge's reasoning: sentences in which nothing speaks with the rubric's words alone."""

import re
from importlib.resources import files

import pytest
from builders.assistants import DECLARED, few, items_of, secret
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact import Grade, Phase, Response, Rubric, Scored, Settings, Verdict
from dspy_proact.benchmarks.proactbench.programs import JUDGE_INSTRUCTIONS
from dspy_proact.benchmarks.proactbench.tuning import without_rubric_words
from dspy_proact.evidence import locate_quotes

VOCABULARY = files("dspy_proact.benchmarks.proactbench").joinpath("vocabulary.txt").read_text("utf-8")
PUBLIC = set(re.findall(r"[^\W\d_]+", f"{JUDGE_INSTRUCTIONS}\n{VOCABULARY}".casefold()))
SEEN = "I move on Friday with my lantern. Good luck with it."


def rubric(passing: str, partial: str = "It hints.", failing: str = "It is idle.") -> Rubric:
    return Rubric(phase=Phase.RECOVERY, pass_criteria=passing, partial_criteria=partial, fail_criteria=failing)


def kept_words(reasoning: str, passing: str, seen: str = SEEN) -> str:
    return " ".join(without_rubric_words(reasoning, rubric(passing), seen)[0])


# Sentence by sentence


@pytest.mark.parametrize(
    ("passing", "reasoning"),
    [
        ("Names the zebra.", "It does not name the zebra."),
        ("Has a map.", "It has no map."),
        # Of a word that nobody has seen it is not known whose it is: spelt, coded and translated ones are among them.
        ("Names the zebra.", "It lacks an arbez."),
        ("Names the zebra.", "It lacks a z3bra."),
        ("Names the zebra.", "Es fehlt das Zebra."),
        ("Names the zebra.", "No ZEBRA, sadly"),
        ("Names the zebra.", "Where are the zebras?"),
        ("Names the zebra.", "It lacks a **zebra**."),
        ("Names the zebra.", "It has no (zebra's) stripes."),
        ("Names the zebra.", "It is zebra-like."),
        ("Names the zebras.", "It lacks a zebra."),
        ("Has them packed.", "It does without packing."),
        ("Takes the ferry.", "It forgets both ferries."),
        ("Has it scrubbed.", "It does without a scrub."),
        ("Names the _zebra_ there.", "It lacks a zebra of any kind."),
        ("说出最后一班渡轮。", "没有说出最后一班渡轮"),
        ("Names the café.", "It lacks a cafe\u0301."),
        ("Says it before 14.", "It comes after 14."),
        ("Leaves by gate 17b.", "It forgets 17b."),
        # A word that only begins like one that was seen, or that the judge's instruction has, or a number of its rules.
        ("Names the lanthanum.", "It forgets the lanthanum."),
        ("Orders the conveyor.", "It forgets the conveyor."),
        ("Names the species.", "It forgets the species."),
        ("Says it before 9.", "It comes after 9."),
        # Four words in a row that stand nowhere else, each of them too short to mean anything or seen elsewhere.
        ("Go up to it.", "It says: go up to it."),
        ("Friday with luck, my lantern.", "It has no Friday with luck my lantern"),
    ],
)
def test_a_sentence_with_a_word_or_a_run_of_four_of_the_rubrics_alone_is_not_told(passing, reasoning):
    assert kept_words(f"A kind answer. {reasoning}", passing) == "a kind answer."


@pytest.mark.parametrize(
    ("passing", "reasoning"),
    [
        ("Names the zebra.", "It is kind."),
        ("Names the zebra.", "It iS KiNd."),
        # The user said it, or the judge is told so of every response.
        ("Packs the lantern by Friday.", "It forgets the lantern, and Friday."),
        ("Packs the lanterns.", "It forgets the lantern."),
        ("Offers a concrete suggestion.", "It has no concrete suggestion."),
        ("Names the zebra.", ""),
    ],
)
def test_what_stands_elsewhere_too_is_told_by_its_words(passing, reasoning):
    words = re.findall(r"\w+", reasoning.lower())
    assert kept_words(reasoning, passing) == (f"{' '.join(words)}." if words else "")


SILENT = {
    "braille": "\u2839\u2811\u2803\u2817\u2801",
    "morse": "--.. . -... .-. .-",
    "regional indicators": "\U0001f1ff\U0001f1ea\U0001f1e7\U0001f1f7\U0001f1e6",
    "emoji": "\U0001f993",
    "invisible bits": "\u200b\u200c\u200b\u200b\u200c",
    "tags": "".join(chr(0xE0000 + ord(letter)) for letter in "zebra"),
    "variation selectors": "\ufe00\ufe0f\ufe01",
    "marks": ",;,,;:,;",
    "blanks": "\u00a0\u2003 \t\u00a0",
    "chess": "\u265e\u265c\u265d",
    "arrows": "\u2191\u2193\u2190",
    "direction": "\u202e\u202d\u202c",
    "soft hyphens": "\u00ad\u00ad\u00ad",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_has_no_letter_says_nothing_alone_and_beside_words_that_may_be_told(code):
    assert kept_words(code, "Names the zebra.") == ""
    for text in (f"A {code} kind {code}answer{code}", f"{code} a kind answer", f"a kind answer{code}"):
        assert kept_words(text, "Names the zebra.").replace(".", "") == "a kind answer"


def test_what_is_kept_back_is_counted_among_all_sentences():
    reasoning = "A kind answer.\nNo zebra! And the zebras?  \n\n It is clear"
    assert without_rubric_words(reasoning, rubric("A zebra."), SEEN) == (["a kind answer.", "it is clear."], 4)
    assert without_rubric_words("No zebra.", rubric("A zebra."), SEEN) == ([], 1)


# The law

LETTERS = "abcdefghijklmnopqrstuvwxyzäßéŁжд"
WORD = st.text(LETTERS + LETTERS.upper()[:10] + "0123456789", min_size=1, max_size=9)
MARKS = st.sampled_from(["", "", "", "*", "**", '"', "'", "(", "-", ",", ";", ":", "…", "`", "'s"])
ENDS = st.sampled_from([" ", " ", " ", ". ", "! ", "?\n", "\n", ".\n\n"])


@st.composite
def texts(draw: st.DrawFn, words: st.SearchStrategy[str]) -> str:
    """Words with marks around them and sentences' ends between them."""
    drawn = draw(st.lists(st.tuples(MARKS, words, MARKS, ENDS), max_size=12))
    return "".join("".join(parts) for parts in drawn)


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def forms(word: str) -> set[str]:
    """A word, and what is left of it without an ending."""
    return {word} | {word.removesuffix(end) for end in ("ingly", "edly", "ing", "ies", "ed", "es", "ly", "s")}


@given(data=st.data(), pool=st.lists(WORD, min_size=3, max_size=12, unique_by=str.casefold))
def test_no_word_is_told_that_was_not_seen_and_is_not_public(data, pool):
    """So that none is that stands in the rubric alone."""
    word = st.sampled_from(pool)
    seen = data.draw(texts(st.sampled_from(pool[: len(pool) // 2])))
    of = rubric(*(data.draw(texts(word)) for _ in range(3)))
    text, sentences = without_rubric_words(data.draw(texts(word)), of, seen)
    # What was seen was seen in all its forms.
    known = {form for item in words_of(seen) | PUBLIC for form in forms(item)}
    assert all(forms(item) & known for item in words_of(" ".join(text)))
    assert len(text) <= sentences


@given(texts(WORD))
def test_of_what_was_seen_as_it_is_said_every_word_is_told(reasoning):
    text, _ = without_rubric_words(reasoning, rubric(reasoning), reasoning)
    assert re.findall(r"[^\W_]+", " ".join(text)) == re.findall(r"[^\W_]+", reasoning.casefold())


# As feedback


CASE = items_of(few())[0]
RESPONSE = "Good luck. Take the lantern."


def test_feedback_is_the_grade_quotes_from_the_response_and_reasons_without_the_rubric():
    word = secret(0, 4, 0)

    def feedback(grade: Grade, reasoning: str, *quotes: str) -> list[str]:
        verdict = Verdict(reasoning=reasoning, evidence=locate_quotes(quotes, RESPONSE), grade=grade)
        answer = Response(text=RESPONSE)
        scored = Scored(grade.score, grade, verdict)
        feedback = DECLARED.tuning(Settings()).feedback(CASE, answer, scored)
        assert feedback.text == DECLARED.feedback(CASE, answer, scored)
        assert feedback.shortfall == f"User: {CASE.view.conversation[-1].user}\nAssistant: {RESPONSE}\n{feedback.text}"
        return feedback.text.splitlines()

    assert feedback(Grade.PARTIAL, f"It is kind. No {word}.", "Take the lantern", f"a {word}") == [
        "The judge graded this response PARTIAL.",
        "It quoted: Take the lantern",
        "It said: it is kind.",
    ]
    assert feedback(Grade.FAIL, f"No {word}.", f"a {word}") == [
        "The judge graded this response FAIL.",
        "Its reasons are not told.",
    ]
