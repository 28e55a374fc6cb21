"""Personal data in conversations: what rules take out, what stays, and that equal pieces have equal marks."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dspy_proact.files.chats import LoggedChat, LoggedTurn
from dspy_proact.files.personal_data import redact_chat


def chat(*texts, speaker=None, system=""):
    """A conversation of these turns, of user and assistant in turn; the speaker is the user's name in the log."""
    roles = ("user", "assistant") * len(texts)
    turns = [
        LoggedTurn(role, text, speakers=(speaker,) if speaker and role == "user" else ())
        for role, text in zip(roles, texts, strict=False)
    ]
    return LoggedChat("key", tuple(turns), None, "chats.jsonl on line 1", system)


def marked(*texts, **fields):
    """The texts without what rules find."""
    return [turn.text for turn in redact_chat(chat(*texts, **fields)).chat.turns]


TAKEN = [
    ("Write to anna.schmidt+shop@mail.example.co.uk.", "Write to [EMAIL 1]."),
    ("It is anna (at) example (dot) com", "It is [EMAIL 1]"),
    ("Ruf an: +49 171 1234567, bitte", "Ruf an: [PHONE 1], bitte"),
    ("Telefon: 089 / 123 45 67.", "Telefon: [PHONE 1]."),
    ("call (415) 555-2671 or 020 7946 0958", "call [PHONE 1] or [PHONE 2]"),
    ("card 4111 1111 1111 1111 ok", "card [CARD 1] ok"),  # Luhn: 30 of 10
    ("card 4111\u00a01111\u202f1111\u20111111 ok", "card [CARD 1] ok"),
    ("mail \uff41nn\uff20x\uff0eexample, call +49\u00a0171\u20131234567", "mail [EMAIL 1], call [PHONE 1]"),
    ("IBAN DE89 3704 0044 0532 0130 00 und so", "IBAN [IBAN 1] und so"),
    ("from 203.0.113.7 and 2001:db8::ff00:42:8329", "from [IP 1] and [IP 2]"),
    ("see https://shop.example/r?user=anna&t=1.", "see [URL 1]."),
    ("https://anna:pw@shop.example/", "[URL 1]"),
    ("my password is hunter22.", "my password is [KEY 1]."),
    ("user admin, pw Tr0ub4dor", "user admin, pw [KEY 1]"),
    ("Als API-Key habe ich q7Ra#9 gesetzt", "Als API-Key habe ich [KEY 1] gesetzt"),
    ("Ich bin am 3. Mai 1985 geboren", "Ich bin am [BIRTH 1] geboren"),
    ("Die PIN lautet 4821, danke", "Die PIN lautet [KEY 1], danke"),
    ("key sk-abcdefghijklmnopqrstuv here", "key [KEY 1] here"),
    ("I was born on 12 March 1985.", "I was born on [BIRTH 1]."),
    ("Geburtsdatum: 03.04.1979", "Geburtsdatum: [BIRTH 1]"),
    ("Kundennummer: 4711-88, bitte", "Kundennummer: [NUMBER 1], bitte"),
    ("ssn 123-45-6789", "ssn [NUMBER 1]"),
    ("It is 1234567890123.", "It is [NUMBER 1]."),
    ("I live at 12 Baker Street, London NW1 6XE.", "I live at [ADDRESS 1]."),
    ("in der Berliner Straße 12a, 10115 Berlin.", "in der [ADDRESS 1]."),
    ("Am Bach 3, 80331 München", "[ADDRESS 1]"),
    ("My name is Anna van der Berg and", "My name is [NAME 1] and"),
    ("my name is anna and", "my name is [NAME 1] and"),
    ("Ich heiße Jürgen Groß-Müller.", "Ich heiße [NAME 1]."),
    ("Sehr geehrte Frau Dr. Müller,", "Sehr geehrte Frau Dr. [NAME 1],"),
    ("Hi Peter,\nit broke.\nBest regards,\nMaria Lopez", "Hi [NAME 1],\nit broke.\nBest regards,\n[NAME 2]"),
    ("Viele Grüße\nHans", "Viele Grüße\n[NAME 1]"),
    ("My husband Tom likes it", "My husband [NAME 1] likes it"),
    ("meine Schwester Eva Klein weiter", "meine Schwester [NAME 1] weiter"),
    ("hiya, Anna Lee here, I'm Bob Roe.", "hiya, [NAME 1] here, I'm [NAME 2]."),
    ("It broke.\nAnna Lee", "It broke.\n[NAME 1]"),
    ("thx in advance\nAnna", "thx in advance\n[NAME 1]"),
    ("Kontoinhaber: Jan van Dyk\nText", "Kontoinhaber: [NAME 1]\nText"),
    ("Je m'appelle Élodie.", "Je m'appelle [NAME 1]."),
    ("Hi, this is Marta Kowalczyk. It broke", "Hi, this is [NAME 1]. It broke"),
    ("Hello team,\nthis is Marta and my lid leaks", "Hello team,\nthis is [NAME 1] and my lid leaks"),
    ("This is Marta Kowalczyk, a customer", "This is [NAME 1], a customer"),
    ("Hier ist Marta Kowalczyk und der Deckel", "Hier ist [NAME 1] und der Deckel"),
    ("Hallo, hier schreibt Marta Kowalczyk aus Linz", "Hallo, hier schreibt [NAME 1] aus Linz"),
    ("It broke. Regards, Marta Kowalczyk, Linz", "It broke. Regards, [NAME 1], Linz"),
    ("It broke. Best, Marta", "It broke. Best, [NAME 1]"),
    ("It broke.\nBest\nMarta", "It broke.\nBest\n[NAME 1]"),
    ("Kind regards Marta Kowalczyk", "Kind regards [NAME 1]"),
    ("Best regards - Marta", "Best regards - [NAME 1]"),
    ("Regards, marta", "Regards, [NAME 1]"),
    ("Ok. Greetings from Marta", "Ok. Greetings from [NAME 1]"),
    ("Thanks a lot, Marta Kowalczyk", "Thanks a lot, [NAME 1]"),
    ("Mit freundlichen Grüßen, Ihre Marta Kowalczyk", "Mit freundlichen Grüßen, Ihre [NAME 1]"),
    ("Viele Grüße aus Linz, Marta Kowalczyk", "Viele Grüße aus Linz, [NAME 1]"),
    ("Herzlichst, Marta", "Herzlichst, [NAME 1]"),
    ("Hochachtungsvoll\nMarta Kowalczyk", "Hochachtungsvoll\n[NAME 1]"),
]


@pytest.mark.parametrize(("text", "expected"), TAKEN)
def test_what_is_personal_is_taken_out(text, expected):
    assert marked(text) == [expected]


STAYS = [
    "It costs 1 200 000 EUR, 10.000.000 € or 5.99 @ 2 pieces, -15 %.",
    "Order 48291, order no. 1234567890123 and Bestellnummer 4111111111111111 are late.",
    "Version 1.2.3.4, build 10.0.19045.2, Python 3.11.7, std::vector<int> a::b.",
    "From 2026-11-29 10:15 to 2026-12-01, at 12:30:45, on 03.04.2026, in 2024-2025-2026.",
    "The party is on 12 March, Spring 2026.",
    "See https://shop.example/help/returns and www.example.com.",
    "Parkplatz 12, 5 mg Aspirin, 24 hr Delivery, 10000 Euro, 12345 Kunden, page 10 St",
    "Hello World! Hi there, dear customer, Hallo zusammen, Liebe Grüße, Guten Tag,",
    "my name is on the list; my name is spelled wrong; mein Name ist falsch",
    "password reset, the PIN is on the back, case-sensitive passwords, 127.0.0.1",
    "/usr/local/lib/python3.11/site-packages and some_very_long_identifier_of_words_2",
    "I'm German, ich bin Kunde, bitte hier Fragen. It's Monday, please add:\nGarden Chair",
    "Many thanks\nBest Wishes",
    "This is Windows 11 Home. This is New York Style pizza. This is Google Chrome from 2024.",
    "This is Black Friday, right?",
    "Hi, this is Windows again.",
    "This is Python again, and this is Android calling a native method.",
    "This is URGENT, please answer. This is Customer Support. This is Error 42.",
    "We like it best, Apple Pay works. Best Western or Best Buy, worst and average price.",
    "It regards Invoice 12. Which is best, Chrome or Firefox?\nRegards\nSent from my phone",
    "It broke.\nBest regards\nCustomer Service",
    "Liebe Grüße, Ihr Team",
    "Mit freundlichen Grüßen aus Linz",
    "Thanks, Premium works now. Cheers, Windows works now.",
    "Hier ist Schluss. Hier ist Platz für Text, hier steht Rechnung.",
    "1 2 3 4 5 6 7 8 9 10 11, iPhone 15 Pro 256 GB, 3.14159265358979, ISBN 978-3-16-148410-0",
]


@pytest.mark.parametrize("text", STAYS)
def test_what_conversations_are_about_stays(text):
    assert marked(text) == [text]


def test_equal_pieces_have_equal_marks_in_the_conversation():
    assert marked(
        "My name is Anna Schmidt, 0171/1234567.",
        "Thanks, Anna. Is +49 171 1234567 right, Ms Schmidt?",
        "Yes, that is SCHMIDT's. Annas Mann is Tom. Tom@x.example or tom@x.example",
    ) == [
        "My name is [NAME 1], [PHONE 1].",
        "Thanks, [NAME 1]. Is [PHONE 1] right, Ms [NAME 1]?",
        "Yes, that is [NAME 1]'s. [NAME 1]s Mann is Tom. [EMAIL 1] or [EMAIL 1]",
    ]


def test_the_name_of_the_speaker_in_the_log_is_taken_out_of_the_texts():
    (text, _) = marked("Ask for Anna at the desk.", "Sure.", speaker="Anna Schmidt")
    assert text == "Ask for [NAME 1] at the desk."
    assert redact_chat(chat("a", "b", speaker="Anna")).chat.turns[0].speakers == ()


def test_a_name_that_is_a_word_too_is_taken_out_elsewhere_only_where_it_is_written_alike():
    assert marked("My name is Rose Will.", "I will, a rose, Will.")[1] == "I will, a rose, [NAME 1]."


def test_what_was_taken_out_is_listed_with_positions_in_the_original_text():
    text = "👩‍🔧 Grüße an ann@x.example 🇩🇪, Tel. 030 1234567"
    redaction = redact_chat(chat(text, system="Ask max@x.example"))
    assert [(one.kind, one.mark, one.turn) for one in redaction.removals] == [
        ("EMAIL", "[EMAIL 1]", 0),
        ("EMAIL", "[EMAIL 2]", 1),
        ("PHONE", "[PHONE 1]", 1),
    ]
    assert [text[one.start : one.end] for one in redaction.removals[1:]] == ["ann@x.example", "030 1234567"]
    assert "ann@" not in repr(redaction)  # a log of a program that prints it holds nothing of it


def test_the_hash_of_a_piece_depends_on_the_owners_salt():
    (one,) = redact_chat(chat("ann@x.example")).removals
    assert re.fullmatch("[0-9a-f]{64}", one.sha256("a"))
    assert one.sha256("a") == one.sha256("a") != one.sha256("b")


def test_what_a_model_names_is_marked_with_the_numbers_that_go_on():
    redaction = redact_chat(chat("My name is Anna. I saw Bob and Bobby; Eva Klein too.", "Eva is klein, and Bob?"))
    further, missing = redaction.marked(["Bob", "[NAME 1]", "Eva Klein", "Nobody"])
    assert [turn.text for turn in further.chat.turns] == [
        "My name is [NAME 1]. I saw [NAME 2] and Bobby; [NAME 3] too.",
        "[NAME 3] is klein, and [NAME 2]?",
    ]
    assert missing == ("Nobody",)
    addressed, _ = further.marked(["Bobby"], "ADDRESS")
    assert addressed.chat.turns[0].text == "My name is [NAME 1]. I saw [NAME 2] and [ADDRESS 1]; [NAME 3] too."


def test_a_span_with_a_mark_in_it_is_taken_out_around_the_mark():
    redaction = redact_chat(chat("Dear Anna, and Anna Schmidt-Lee", "x"))
    further, missing = redaction.marked(["[NAME 1] Schmidt-Lee"])
    assert (further.chat.turns[0].text, missing) == ("Dear [NAME 1], and [NAME 1] [NAME 2]", ())


def test_what_a_model_names_is_taken_out_where_other_blanks_stand_within_it():
    redaction = redact_chat(chat("I saw Eva\nKlein, and Eva  Klein.", "x"))
    further, missing = redaction.marked(["Eva Klein"])
    assert (further.chat.turns[0].text, missing) == ("I saw [NAME 1], and [NAME 1].", ())


def test_a_mark_that_somebody_typed_keeps_its_number_to_itself():
    assert marked("Is [EMAIL 3] a mark? ann@x.example") == ["Is [EMAIL 3] a mark? [EMAIL 4]"]


SECRETS = {
    "ann.lee@x.example", "+49 171 1234567", "4111 1111 1111 1111", "DE89370400440532013000", "203.0.113.7",
    "https://x.example/?user=annlee", "sk-abcdefghijklmnopqrstuv", "12 Baker Street, London NW1 6XE", "123-45-6789",
    "Berliner Straße 12, 10115 Berlin", "1234567890123", "ghp_abcdefghijklmnopqrstuvwx",
}  # fmt: skip
"""Each has a form of its own, so that it is found in any surroundings of blanks and punctuation."""
FILLERS = st.sampled_from(
    [
        "hello",
        "und",
        "(",
        ")",
        ",",
        ".",
        "\n",
        "🙂",
        "12:30",
        "5 EUR",
        "is",
        "-",
        "Anna",
        "My name is",
        "[EMAIL 1]",
        "Hi",
    ]
)
PIECES = st.lists(st.one_of(FILLERS, st.sampled_from(sorted(SECRETS))), max_size=12)


@given(st.lists(PIECES, min_size=1, max_size=4))
@example([["My name is", "Anna", "\n", "Hi", "Anna"]])
def test_no_planted_secret_survives_and_a_second_redaction_changes_nothing(turns):
    texts = [" ".join(pieces) or "x" for pieces in turns]
    once = redact_chat(chat(*texts))
    for turn in once.chat.turns:
        assert not [secret for secret in SECRETS if secret in turn.text]
    assert redact_chat(once.chat).removals == ()
    for removal in once.removals:
        assert texts[removal.turn - 1][removal.start : removal.end] == removal.text


@given(st.text(max_size=200))
def test_any_text_can_be_redacted_and_stays_so(text):
    once = redact_chat(chat(text or "x"))
    assert redact_chat(once.chat).chat == once.chat
