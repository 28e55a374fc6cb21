"""Made conversations with planted personal data: sentences of ours in English and German, and values by a seed.

A slot such as `{NAME}` is filled and its position kept; `{NAME in prose}` and `{town in prose}` are filled likewise, in
sentences that do not mark what they are. `{=price}` and the like are filled with what must stay.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

_SLOT = re.compile(r"\{(=?[\w ]+)\}")


@dataclass(frozen=True)
class Planted:
    """One piece of a made text."""

    kind: str
    """As the rules call it, or `=` and what it looks like where it must stay."""
    turn: int
    """Counted from 1."""
    start: int
    end: int


@dataclass(frozen=True)
class Language:
    """Sentences of a language."""

    users: Sequence[str]
    """With what is personal or looks like it, each a message or a part of one."""
    replies: Sequence[str]
    """Of an assistant, with nothing personal."""


ENGLISH = Language(
    users=(
        "Hi, my name is {NAME} and my blender stopped after two weeks.",
        "my name is {NAME}, the app shows the wrong invoice",
        "Dear {NAME},\nthank you for the quick answer. The lid still leaks.",
        "Could you call Mrs {NAME} back? She ordered in our shop.",
        "I tried it twice already.\n\nBest regards,\n{NAME}",
        "This is {NAME} speaking, I called yesterday about the oven.",
        "My husband {NAME} wants to use the app too, on his own phone.",
        "Please send the receipt to {EMAIL}, not to the old address.",
        "My mail is {EMAIL} and you can ring me on {PHONE} after six.",
        "You can reach me at {PHONE} today.",
        "Our number in the office is {PHONE}, ask for the front desk.",
        "Please deliver to {ADDRESS} this time.",
        "We moved: the new address is {ADDRESS}.",
        "I paid with my card {CARD}, and the money is gone.",
        "Refund it to {IBAN}, please.",
        "My customer number is {NUMBER}, if that helps.",
        "My passport number is {NUMBER} and the form does not take it.",
        "The log says that {IP} was blocked.",
        "My password is {KEY} and it is refused, why?",
        "I set the token to {KEY} and get a 401.",
        "I was born on {BIRTH}, so I should get the discount.",
        "This link came by mail: {URL} Is it from you?",
        "{NAME in prose} from our team has set it up, and {NAME in prose} uses it most.",
        "Yesterday I asked {NAME in prose}, who said it is fine.",
        "We are a small bakery in {town in prose}, with two ovens.",
        "My order {=order} has not arrived, it was {=price}.",
        "The tracking number is {=order}; it left on {=date} at {=time}.",
        "I run version {=version} since {=date}, with {=count} users.",
        "The page {=link} says that model {=model} fits.",
        "It costs {=price} a month, or {=price} a year from {=date} on.",
        "Item {=model} was {=price}; the manual is from {=date}, page {=count}.",
    ),
    replies=(
        "Thank you for the details. Reset it for ten seconds, then start it again.",
        "I am sorry to hear that. The guarantee covers 24 months from the day of purchase.",
        "You can change that in the settings, under Account. It takes effect at once.",
        "Spare parts ship within 3 days; a seal costs 4.90 EUR.",
    ),
)
GERMAN = Language(
    users=(
        "Guten Tag, mein Name ist {NAME}, mein Mixer ging nach zwei Wochen kaputt.",
        "hallo, ich heiße {NAME} und die App zeigt die falsche Rechnung",
        "Sehr geehrte Frau {NAME},\ndanke für die schnelle Antwort. Der Deckel tropft noch.",
        "Bitte rufen Sie Herrn {NAME} zurück, er hat bei uns bestellt.",
        "Ich habe es schon zweimal versucht.\n\nMit freundlichen Grüßen\n{NAME}",
        "Geht immer noch nicht.\nViele Grüße\n{NAME}",
        "Hallo {NAME}, das hat leider nicht geklappt.",
        "Bitte schicken Sie die Quittung an {EMAIL}, nicht an die alte Adresse.",
        "Meine Mail ist {EMAIL}, oder Sie rufen unter {PHONE} an.",
        "Sie erreichen mich heute unter {PHONE}.",
        "Die Nummer im Büro ist {PHONE}, fragen Sie am Empfang.",
        "Bitte liefern Sie diesmal an {ADDRESS}.",
        "Wir sind umgezogen, jetzt {ADDRESS}.",
        "Ich habe mit der Karte {CARD} bezahlt, und das Geld ist weg.",
        "Bitte überweisen Sie es auf {IBAN}.",
        "Meine Kundennummer ist {NUMBER}, falls das hilft.",
        "Ausweisnummer: {NUMBER}, das Formular nimmt sie nicht.",
        "Im Protokoll steht, dass {IP} gesperrt wurde.",
        "Mein Passwort ist {KEY} und wird nicht angenommen.",
        "Als API-Key habe ich {KEY} eingetragen und bekomme 401.",
        "Ich bin am {BIRTH} geboren und sollte den Rabatt bekommen.",
        "Geburtsdatum: {BIRTH}",
        "Dieser Link kam per Mail: {URL} Ist der von Ihnen?",
        "{NAME in prose} aus unserem Team hat es eingerichtet, und {NAME in prose} nutzt es am meisten.",
        "Gestern habe ich {NAME in prose} gefragt, das sei in Ordnung.",
        "Wir sind eine kleine Bäckerei in {town in prose} mit zwei Öfen.",
        "Meine Bestellung {=order} ist nicht da, sie kostete {=price}.",
        "Die Sendungsnummer ist {=order}; abgeschickt am {=date} um {=time}.",
        "Ich habe Version {=version} seit dem {=date}, mit {=count} Nutzern.",
        "Auf {=link} steht, dass Modell {=model} passt.",
        "Es kostet {=price} im Monat oder {=price} im Jahr, ab {=date}.",
        "Artikel {=model} kostete {=price}; die Anleitung ist vom {=date}, Seite {=count}.",
    ),
    replies=(
        "Danke für die Angaben. Setzen Sie das Gerät zehn Sekunden lang zurück und starten Sie es neu.",
        "Das tut mir leid. Die Garantie gilt 24 Monate ab dem Kauf.",
        "Das ändern Sie in den Einstellungen unter Konto. Es gilt sofort.",
        "Ersatzteile sind in 3 Tagen da; eine Dichtung kostet 4,90 EUR.",
    ),
)
ENGLISH_LATER = Language(
    users=(
        "hiya, {NAME} here. the timer resets whenever I unplug it",
        "Account holder: {NAME}\nProblem: billed twice",
        "I'm {NAME}, we spoke last week about the warranty.",
        "It's {NAME} again... still no parcel",
        "Signed up as {NAME} with {EMAIL} and never got the code.",
        "Can you forward this to my sister {NAME}? Her mail: {EMAIL}",
        "thx in advance\n{NAME}",
        "Ok. Greetings from {NAME}",
        "The courier can text {PHONE} when he is at the door.",
        "cell {PHONE}, landline {PHONE}",
        "My wife's number, {PHONE}, is the one on file.",
        "Ship it to: {ADDRESS}. Leave it at the back.",
        "I live on {ADDRESS} and there is no lift.",
        "The card ending was declined, full number {CARD}.",
        "visa {CARD}, it says expired",
        "Bank details: {IBAN}",
        "Member ID {NUMBER}, gold plan.",
        "Policy no. {NUMBER} says I am covered for that",
        "Someone logged in from {IP} last night, that was not me!",
        "login works with user admin and pw {KEY}",
        "curl -H 'Authorization: Bearer {KEY}' gives me 403",
        "My mum's date of birth is {BIRTH}, can she have the senior fare?",
        "DOB {BIRTH}",
        "is {URL} the right page? it has my name on it",
        "{NAME in prose} and I share one licence.",
        "Invoice {=order} is over {=price} but we agreed on {=price}.",
        "Booking {=order}, check-in {=date} {=time}.",
        "Since firmware {=version} the {=model} beeps {=count} times.",
        "From {=date} to {=date} you charged {=price} per seat for {=count} seats.",
        "Did you read {=link}? It says {=time}.",
    ),
    replies=ENGLISH.replies,
)
GERMAN_LATER = Language(
    users=(
        "huhu, hier {NAME}. der Timer springt immer zurück",
        "Kontoinhaber: {NAME}\nProblem: doppelt abgebucht",
        "Ich bin {NAME}, wir hatten letzte Woche telefoniert.",
        "Nochmal {NAME}... immer noch kein Paket",
        "Angemeldet bin ich als {NAME} mit {EMAIL}, der Code kam nie.",
        "Leiten Sie das bitte an meine Schwester {NAME} weiter? Ihre Mail: {EMAIL}",
        "Danke schon mal\n{NAME}",
        "Mit besten Grüßen aus dem Norden, {NAME}",
        "Der Bote kann mir eine SMS an {PHONE} schicken.",
        "Handy {PHONE}, Festnetz {PHONE}",
        "Die Nummer meiner Frau, {PHONE}, ist hinterlegt.",
        "Versand an: {ADDRESS}. Hinten abstellen.",
        "Ich wohne {ADDRESS} und es gibt keinen Aufzug.",
        "Die Karte wurde abgelehnt, ganze Nummer {CARD}.",
        "Visa {CARD}, angeblich abgelaufen",
        "Bankverbindung: {IBAN}",
        "Mitgliedsnummer {NUMBER}, Tarif Gold.",
        "Laut Versicherungsnummer {NUMBER} bin ich dafür versichert",
        "Jemand hat sich nachts von {IP} angemeldet, das war ich nicht!",
        "Anmeldung klappt mit Benutzer admin und PW {KEY}",
        "curl -H 'Authorization: Bearer {KEY}' gibt 403",
        "Meine Mutter, geboren {BIRTH}, möchte den Seniorentarif.",
        "geb. {BIRTH}",
        "ist {URL} die richtige Seite? da steht mein Name",
        "{NAME in prose} und ich teilen uns eine Lizenz.",
        "Rechnung {=order} ist über {=price}, vereinbart waren {=price}.",
        "Buchung {=order}, Anreise {=date} {=time}.",
        "Seit Firmware {=version} piept der {=model} {=count} Mal.",
        "Vom {=date} bis {=date} haben Sie {=price} je Platz für {=count} Plätze berechnet.",
        "Haben Sie {=link} gelesen? Da steht {=time}.",
    ),
    replies=GERMAN.replies,
)
LANGUAGES = {"English": ENGLISH, "German": GERMAN}
LATER = {"English": ENGLISH_LATER, "German": GERMAN_LATER}
"""Sentences that were written after the rules."""

_FIRST = (
    *("Olivia", "Noah", "Priya", "Kwame", "Siobhán", "José", "Chloé", "Yusuf", "Ingrid", "Bjarne", "Mei", "Aleksandra"),
    *("Jürgen", "Heike", "Zoë", "Matteo", "Fatima", "Lars", "Anneliese", "Tomás"),
)
_LAST = (
    *("Whitfield", "O'Connor", "Nguyen", "Ramaswamy", "Okafor", "García", "Lefèvre", "Yilmaz", "van der Velde"),
    *("Groß-Gerau", "Hoffmann", "Petersen", "Kowalska", "Rossi", "Schäfer", "MacLeod", "Lindqvist", "Obermüller"),
)
_STREETS = {
    "English": ("Station Road", "Elm Street", "Old Mill Lane", "Queen's Avenue", "Harbour Drive", "St. Mary's Close"),
    "German": (
        "Lindenstraße",
        "Am Alten Markt",
        "Goethestr.",
        "Kirchweg",
        "Berliner Allee",
        "Schillerplatz",
        "Hauptstr.",
    ),
}
_TOWNS = {
    "English": ("Norwich", "Aberdeen", "Springfield", "Cork", "Leeds", "Galway"),
    "German": ("Göttingen", "Bad Homburg", "Leipzig", "Wörth", "Celle", "Ulm"),
}


def conversation(language: str, random: Random, later: bool = False) -> tuple[list[str], list[Planted]]:
    """The texts of six turns, of user and assistant in turn, and what is planted in them."""
    sentences, texts, planted = (LATER if later else LANGUAGES)[language], list[str](), list[Planted]()
    for turn in range(1, 7):
        if turn % 2 == 0:
            texts.append(random.choice(sentences.replies))
            continue
        text = ""
        for template in random.sample(sentences.users, random.randint(1, 2)):
            text += "\n" if text else ""
            at = 0
            for slot in _SLOT.finditer(template):
                text += template[at : slot.start()]
                value = _VALUES[slot[1]](random, language)
                planted.append(Planted(slot[1], turn, len(text), len(text) + len(value)))
                text += value
                at = slot.end()
            text += template[at:]
        texts.append(text)
    return texts, planted


def _digits(random: Random, count: int) -> str:
    return "".join(str(random.randint(0, 9)) for _ in range(count))


def _name(random: Random, language: str) -> str:
    first, last = random.choice(_FIRST), random.choice(_LAST)
    return random.choice([f"{first} {last}", f"{first} {last}", last if language == "German" else first])


def _email(random: Random, _: str) -> str:
    first, number = random.choice(("olivia", "noah", "priya", "kwame", "jose", "heike", "lars")), random.randint(1, 99)
    address = random.choice([f"{first}.w{number}", f"{first}{number}", f"{first}+shop", f"{first}_{number}-x"])
    at, dot = random.choice([("@", "."), ("@", "."), ("@", "."), (" (at) ", " (dot) ")])
    host, top = random.choice(("mail", "post-box", "uni.example")), random.choice(("example", "test", "org"))
    return f"{address}{at}{host}{dot}{top}"


def _phone(random: Random, language: str) -> str:
    if language == "English":
        forms = [
            "+44 20 79## ####",
            "(415) 555-0###",
            "415-555-0###",
            "415.555.0###",
            "07700 900###",
            "+1 415 555 0###",
        ]
    else:
        forms = [
            "+49 151 234#####",
            "0151/234#####",
            "0049 30 2345####",
            "(030) 23 45 ## ##",
            "01512345####",
            "030-2345###",
        ]
    return re.sub("#", lambda _: _digits(random, 1), random.choice(forms))


def _address(random: Random, language: str) -> str:
    street, town, number = random.choice(_STREETS[language]), random.choice(_TOWNS[language]), random.randint(1, 199)
    if language == "German":
        return f"{street} {number}{random.choice(('', '', 'a', ' b'))}, {random.randint(10000, 99999)} {town}"
    unit = random.choice(("", "", ", Flat 3", " Apt 4B"))
    code = random.choice(("NR2 4TG", "LS1 3AB", "IL 62704"))
    return f"{number} {street}{unit}, {town} {code}" if " 6" not in code else f"{number} {street}{unit}, {town}, {code}"


def _card(random: Random, _: str) -> str:
    digits = random.choice(("4", "51", "37")) + _digits(random, 14)
    digits = digits[: 14 if digits[:2] == "37" else 15]
    total = sum(sum(divmod(int(digit) * (2 if at % 2 == 0 else 1), 10)) for at, digit in enumerate(reversed(digits)))
    digits += str(-total % 10)
    parts = (
        [digits[:4], digits[4:10], digits[10:]]
        if len(digits) == 15
        else [digits[at : at + 4] for at in range(0, 16, 4)]
    )
    return random.choice((" ", "-", "")).join(parts)


def _iban(random: Random, language: str) -> str:
    country, bank = ("GB", "WEST" + _digits(random, 14)) if language == "English" else ("DE", _digits(random, 18))
    number = int("".join(str(int(char, 36)) for char in f"{bank}{country}00"))
    compact = f"{country}{98 - number % 97:02d}{bank}"
    return compact if random.random() < 0.5 else " ".join(compact[at : at + 4] for at in range(0, len(compact), 4))


def _number(random: Random, _: str) -> str:
    return random.choice([_digits(random, 6), f"{_digits(random, 4)}-{_digits(random, 2)}", f"L{_digits(random, 8)}"])


def _ip(random: Random, _: str) -> str:
    return random.choice(
        [f"203.0.113.{random.randint(1, 254)}", f"2001:db8::{random.randint(1, 9999):x}:a{random.randint(1, 9)}"]
    )


def _key(random: Random, _: str) -> str:
    letters = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    run = "".join(random.choice(letters) for _ in range(32))
    return random.choice(
        [f"sk-{run}", f"ghp_{run}", f"Tr0ub{run[:4]}!7", f"{run[:5]}#{random.randint(10, 99)}", f"{run}{run[:8]}9aZ"]
    )


def _birth(random: Random, language: str) -> str:
    day, month, year = random.randint(1, 28), random.randint(1, 12), random.randint(1950, 2004)
    if language == "German":
        months = ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober")
        months += ("November", "Dezember")
        return random.choice([f"{day:02d}.{month:02d}.{year}", f"{day}. {months[month - 1]} {year}"])
    months = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
    months += ("November", "December")
    name = months[month - 1]
    return random.choice(
        [f"{day} {name} {year}", f"{name} {day}, {year}", f"{year}-{month:02d}-{day:02d}", f"{month}/{day}/{year}"]
    )


def _url(random: Random, _: str) -> str:
    token = "".join(random.choice("abcdef0123456789") for _ in range(24))
    return random.choice(
        [
            f"https://shop.example/reset?user=noah&code={token[:6]}",
            f"https://shop.example/r/{token}",
            f"https://noah:{token[:8]}@files.example/x",
            f"https://www.linkedin.com/in/noah-{token[:6]}",
        ]
    )


def _order(random: Random, _: str) -> str:
    return random.choice([_digits(random, 6), f"#{_digits(random, 5)}", _digits(random, 13), f"A-{_digits(random, 7)}"])


def _price(random: Random, _: str) -> str:
    units = random.randint(5, 4999)
    return random.choice(
        [f"{units}.99 USD", f"${units}", f"{units} EUR", f"{units},50 €", f"{units} 000 EUR", f"{units}%"]
    )


def _date(random: Random, _: str) -> str:
    day, month = random.randint(1, 28), random.randint(1, 12)
    return random.choice([f"2026-{month:02d}-{day:02d}", f"{day:02d}.{month:02d}.2026", f"{day}/{month}/2026"])


def _time(random: Random, _: str) -> str:
    return f"{random.randint(0, 23):02d}:{random.randint(0, 59):02d}" + random.choice(("", ":30"))


def _version(random: Random, _: str) -> str:
    return ".".join(str(random.randint(0, 30)) for _ in range(random.randint(2, 4)))


def _model(random: Random, _: str) -> str:
    return random.choice(
        [f"XR-{_digits(random, 4)}", f"MK{_digits(random, 3)}B", f"{_digits(random, 4)}/{_digits(random, 2)}"]
    )


def _link(random: Random, _: str) -> str:
    return random.choice(
        ["https://shop.example/help/returns", "www.shop.example/faq", "https://docs.example/v2/setup.html"]
    )


_VALUES: dict[str, Callable[[Random, str], str]] = {
    "NAME": _name,
    "EMAIL": _email,
    "PHONE": _phone,
    "ADDRESS": _address,
    "CARD": _card,
    "IBAN": _iban,
    "NUMBER": _number,
    "IP": _ip,
    "KEY": _key,
    "BIRTH": _birth,
    "URL": _url,
    "NAME in prose": lambda random, _: random.choice(_FIRST),
    "town in prose": lambda random, language: random.choice(_TOWNS[language]),
    "=order": _order,
    "=price": _price,
    "=date": _date,
    "=time": _time,
    "=version": _version,
    "=model": _model,
    "=link": _link,
    "=count": lambda random, _: str(random.randint(2, 9999)),
}
