"""Rules that find personal data in a text by its form, or by the words before it; in English and German above all.

A rule takes what has a form of its own (an e-mail address, an IBAN, a key), or what a person marks as theirs ("my
password is", "Kundennummer", "born on"). Prices, times, dates, versions, and the numbers of orders, articles and
invoices stay, since conversations are about them. What somebody describes in other words is not found: that takes a
reader. Names are in `personal_names`.

No pattern can begin within the run of characters that it takes, so that its time grows with the length of a text only.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal

DataKind = Literal["KEY", "URL", "EMAIL", "IBAN", "CARD", "IP", "BIRTH", "PHONE", "NUMBER", "ADDRESS", "NAME"]
"""What is taken out: keys, passwords and tokens; links with a user, a query or a token; e-mail addresses; accounts of a
bank; cards; addresses of computers; dates of birth; telephone numbers; other numbers of a person; postal addresses;
names."""
Check = Callable[[re.Match[str]], str | None]
"""The part of a match that is taken out, from the beginning of its group `x`, or of all of it; None where it is not."""


_PLAIN = (
    {0xFF01 + offset: chr(0x21 + offset) for offset in range(0x5E)}
    | dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63"), "-")
    | dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u3000"), " ")
)
"""Full-width letters and digits, hyphens and blanks that word processors write, as a keyboard has them; one for one."""


@dataclass(frozen=True)
class PersonalRule:
    """One pattern, and what of a match is taken out."""

    kind: DataKind
    pattern: re.Pattern[str]
    check: Check

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of what the rule finds in a text, in order."""
        for match in self.pattern.finditer(text if text.isascii() else text.translate(_PLAIN)):
            if taken := self.check(match):
                start = match.start("x" if "x" in self.pattern.groupindex else 0)
                yield start, start + len(taken)


def luhn(digits: str) -> bool:
    """Whether the check digit of a card's number is right."""
    doubled = [int(digit) * (2 if at % 2 else 1) for at, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def digits_of(text: str) -> str:
    """The digits of a text."""
    return "".join(filter(str.isdecimal, text))


def _all(match: re.Match[str]) -> str:
    return match["x"] if "x" in match.re.groupindex else match[0]


def _iban(match: re.Match[str]) -> str | None:
    """As many characters as the country's accounts have, where the check digits are right."""
    text, count = match[0], 0
    for end, char in enumerate(text, start=1):
        count += char.isalnum()
        if count == _IBAN_LENGTHS.get(text[:2].upper()):
            compact = "".join(filter(str.isalnum, text[:end])).upper()
            number = "".join(str(int(char, 36)) for char in compact[4:] + compact[:4])
            return text[:end] if int(number) % 97 == 1 else None
    return None


_IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL", 19: "MK SI", 20: "AT BA EE KZ LT LU XK", 21: "CH HR LI LV",
        22: "BG BH DE GB GE IE ME RS", 23: "AE IL", 24: "AD CZ ES MD RO SA SE SK TN", 25: "PT", 26: "IS TR",
        27: "FR GR IT MC SM", 28: "AL AZ CY HU LB PL", 29: "BR UA", 31: "MT",
    }.items()
    for country in countries.split()
}  # fmt: skip
"""From SWIFT's registry of IBAN formats."""


def _card(match: re.Match[str]) -> str | None:
    digits = digits_of(match[0])
    card = 13 <= len(digits) <= 19 and digits[0] in "23456" and luhn(digits)
    return match[0] if card and not _is_business(match) else None


def _ip(match: re.Match[str]) -> str | None:
    """An address of a computer; a loopback, a mask and what is marked as a version stay."""
    try:
        address = ip_address(match[0])
    except ValueError:
        return None
    short = address.version == 6 and match[0].count(":") < 3
    version = _VERSION.search(match.string[max(0, match.start() - 30) : match.start()])
    return None if short or version or address.is_loopback or match[0].startswith(("0.", "255.")) else match[0]


def _phone(match: re.Match[str]) -> str | None:
    return match[0] if 7 <= len(digits_of(match[0])) <= 15 and not _is_business(match) else None


def _number(match: re.Match[str]) -> str | None:
    long = len(digits_of(match[0])) >= 10 and not _YEARS.fullmatch(match[0])
    return match[0] if long and not _is_business(match) else None


def _marked_number(match: re.Match[str]) -> str | None:
    return match["x"] if len(digits_of(match["x"])) >= 3 else None


def _is_business(match: re.Match[str]) -> bool:
    """Whether it is marked as the number of an order, an article or the like, or is a sum of money."""
    before, after = match.string[max(0, match.start() - 40) : match.start()], match.string[match.end() :][:5]
    return bool(_BUSINESS.search(before) or _MONEY.match(after))


def _token(match: re.Match[str]) -> str | None:
    """A long run without blanks, of hexadecimal digits, or of letters and digits that change more than words do."""
    text = match[0]
    if re.fullmatch(r"[0-9a-fA-F]{32,}", text):
        return None if text.isdecimal() else text
    mixed = len(re.findall(r"\d", text)) > 1 and re.search("[a-z]", text) and re.search("[A-Z]", text)
    return text if mixed and len(_CHANGE.findall(text)) > 0.3 * len(text) else None


def _secret(match: re.Match[str]) -> str | None:
    """What is marked as a password: quoted, or with a digit or a sign; without "is", of two of these and letters."""
    text = match["x"].rstrip(".,;:!?)\"'»“”’")  # noqa: RUF001
    kinds = sum(bool(re.search(kind, text)) for kind in (r"\d", "[!@#$%&*_^]", r"[^\W\d_]"))
    plain = "q" in match.re.groupindex and (match["q"] or re.search(r"[\d!@#$%&*_^]", text))
    return text if len(text) > 2 and (plain or kinds > 1) else None


def _link(match: re.Match[str]) -> str | None:
    """A link that has a user, a query or a token, or leads to a person's page."""
    text = match[0].rstrip(".,;:!?)]}>\"'»")
    rest = text.partition("://")[2] or text
    host, _, path = rest.partition("/")
    tokens = [part for part in path.split("/") if len(part) >= 20 and re.search(r"\d", part)]
    return text if "@" in host or "?" in rest or _PROFILE.match(rest) or any(map(_LETTER.search, tokens)) else None


def _street(match: re.Match[str]) -> str | None:
    """An address with a street; a seat and a parking lot are none."""
    return None if _NO_STREET.match(match[0]) else match[0]


_CHANGE = re.compile(r"(?<=[a-z])[A-Z\d]|(?<=[A-Z])[a-z\d]|(?<=\d)[A-Za-z]")
_YEARS = re.compile(r"(?:(?:19|20)\d{2}[ -]?)+")
_LETTER = re.compile("[A-Za-z]")
_VERSION = re.compile(r"\b(?:v|ver|version|release|build|firmware|update|patch)\W{0,3}$", re.IGNORECASE)
_BUSINESS = re.compile(
    r"\b(?:order|bestell\w*|auftrag\w*|ticket|case|vorgang\w*|invoice|rechnung\w*|tracking|sendung\w*|paket\w*|parcel"
    r"|article|artikel\w*|item|product|produkt\w*|part|sku|isbn|ean|gtin|model|modell\w*|serial|seriennummer"
    r"|reference|referenz\w*|booking|buchung\w*)"
    r"(?:\s+(?:number|code|no\.?|nr\.?|id|num|nummer|is|was|ist|war|lautet))*[\s:#]{0,4}$",
    re.IGNORECASE,
)
_MONEY = re.compile(r"\s?(?:€|\$|£|eur|usd|gbp|chf|%)", re.IGNORECASE)
_PROFILE = re.compile(
    r"(?:www\.|[a-z]{2}\.)?(?:linkedin\.com/in|xing\.com/profile|facebook\.com|instagram\.com|t\.me|wa\.me"
    r"|x\.com|twitter\.com|tiktok\.com)/[\w@.-]",
    re.IGNORECASE,
)
_NO_STREET = re.compile("(?:Arbeits|Camping|Lager|Listen|Park|Sitz|Speicher|Steck|Steh|Stell)platz")
_IS = r"(?:\s+(?:is|was|ist|war|lautet|am|on|number|no|nr|num|nummer|code|id))*\.?\s{0,2}[:=#]?\s{0,2}"
"""What may stand between a mark and what it marks."""
_EQUALS = r"(?:(?:\s+(?:is|was|ist|war|lautet))+\s{0,2}[:=]?|\s{0,2}[:=])\s{0,2}"
"""The same, where nothing is not enough."""
_PASSWORD = r"\b(?:pass(?:word|wort|code|phrase)|pwd?|kennwort|api[ -]?key|(?:access )?token|secret)"
_MONTH = r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zäöü]*\.?"
_DATE = (
    r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2,4}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?\s(?:of\s)?{_MONTH}(?:,?\s\d{{4}})?"
    rf"|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?)"
)
_CITY = r"[A-ZÄÖÜÉ][\w'-]{1,30}(?:\s(?:am|an\sder|im|bei|ob\sder)\s[A-ZÄÖÜ][\w'-]{1,30}|\s[A-ZÄÖÜ][a-zäöüß'-]{1,30})?"
_UK = r"[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2}(?!\w)"
_US = r"[A-Z]{2}\s\d{5}(?:-\d{4})?(?!\w)"


def personal_rule(kind: DataKind, *parts: str, check: Check = _all, exact: bool = False) -> PersonalRule:
    """A rule of a pattern in parts; upper and lower case count only where it is `exact`."""
    return PersonalRule(kind, re.compile("".join(parts), 0 if exact else re.IGNORECASE), check)


RULES = (
    personal_rule("KEY", r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}-----)?", exact=True),
    personal_rule(  # by the beginnings that providers give to keys, and JSON web tokens
        "KEY",
        r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|ak)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}",
        r"|glpat-[\w-]{16,}|hf_\w{20,}|xox[abeprs]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{30,}",
        r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)",
        exact=True,
    ),
    personal_rule("KEY", r"\bbearer\s+(?P<x>[\w.~+/=-]{12,})"),
    personal_rule(
        "KEY",
        _PASSWORD,
        _EQUALS,
        r"(?P<q>[\"'«„“‘]?)(?P<x>\S{3,200})",  # noqa: RUF001
        check=_secret,
    ),
    personal_rule("KEY", _PASSWORD, r"\s+(?:(?:to|as|habe ich|auf|als)\s+)?(?P<x>\S{3,200})", check=_secret),
    personal_rule(
        "KEY",
        r"\b(?:pin|tan|otp|cvv|cvc|(?:security|verification|confirmation|login|sms|best[äa]tigungs|sicherheits)",
        r"[ -]?code)",
        _IS,
        r"(?P<x>\d{3,8})(?![\w.,-]*\d)",
    ),
    personal_rule("URL", r"(?<![\w])(?:https?://|www\.)[^\s<>\"]+", check=_link),
    personal_rule("URL", r"(?<![\w./@])(?:linkedin\.com/in|t\.me|wa\.me|xing\.com/profile)/[^\s<>\"]+", check=_link),
    personal_rule(
        "EMAIL",
        r"(?<![\w.+%-])[\w+%-][\w.+%-]*(?:[@\uff20]|\s?[(\[{]at[)\]}]\s?)",
        r"[\w-]+(?:(?:\.|\s?[(\[{](?:dot|punkt)[)\]}]\s?)[\w-]+)*(?:\.|\s?[(\[{](?:dot|punkt)[)\]}]\s?)[^\W\d_]{2,}",
    ),
    personal_rule("IBAN", r"(?<!\w)[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}", check=_iban),
    personal_rule("CARD", r"(?<![\w.,-])\d{4}[ -]?\d{4,6}[ -]?\d{4,5}(?:[ -]?\d{1,4})?(?![\w-])", check=_card),
    personal_rule("IP", r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)", check=_ip),
    personal_rule("IP", r"(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])", check=_ip),
    personal_rule("NUMBER", r"(?<![\w:-])[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}(?![\w:-])"),  # of a network card
    personal_rule("NUMBER", r"(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])"),  # a UUID
    personal_rule(
        "BIRTH",
        r"\b(?:born|date of birth|birth ?date|dob|d\.o\.b|birthday|geboren|geb|geburts(?:datum|tag))\b\.?",
        r"(?:\s+(?:is|was|ist|war|am|on|the|der|bin|my|his|her))*\s{0,2}[:=]?\s{0,2}",
        rf"(?P<x>{_DATE})",
    ),
    personal_rule("BIRTH", rf"(?<!\w)(?P<x>{_DATE})(?:\sin\s[\w-]+)?\s(?-i:geboren)\b"),
    personal_rule(
        "NUMBER",
        r"\b(?:(?:customer|client|account|member(?:ship)?|policy|insurance|passport|social security|licen[cs]e|tax",
        r"|patient|national)[ -]?(?:number|no|nr|id|plate)|ssn|nino|imei|card number|kartennummer|blz|kennzeichen",
        r"|(?:kunden|konto|mitglieds|(?:sozial)?versicherungs|(?:personal)?ausweis|reisepass|steuer|vertrags|patienten)",
        r"-?(?:nummer|nr|id))\b",
        _IS,
        r"(?P<x>[A-ZÄÖÜ]{0,4}[ -]?\d[\dA-Z]*(?:[./-]?\d[\dA-Z]*|\s\d[\dA-Z]+){0,8})",
        check=_marked_number,
    ),
    personal_rule("NUMBER", r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"),  # of social security in the United States
    personal_rule("NUMBER", r"(?<!\w)\d{2} ?[0-3]\d[01]\d{3} ?[A-Z] ?\d{3}(?!\w)", exact=True),  # and in Germany
    personal_rule("PHONE", r"(?<![\w.,+])(?:\+|00)[1-9]\d{0,2}(?:[ ./()-]{0,3}\d){6,13}(?!\w)", check=_phone),
    personal_rule(
        "PHONE",
        r"\b(?:phone|tel|telefon\w*|telephone|mobile|mobil\w*|handy\w*|cell|fax|whatsapp",
        r"|(?:call|text) me (?:at|on)|reach me (?:at|on)|r[üu]ckruf(?:nummer)?|erreichbar unter",
        r"|erreichen (?:sie|ihr) mich unter)",
        _IS,
        r"(?P<x>\(?\d(?:[ ./()-]{0,3}\d){5,13})",
    ),
    personal_rule("PHONE", r"(?<![\w.,/-])\(?0[1-9]\d{1,4}\)?(?:[ /-]{1,3}\d{2,}){1,5}(?!\w|[.,-]\d)", check=_phone),
    personal_rule("PHONE", r"(?<![\w.,/-])\(?[2-9]\d{2}\)?[ .-]{1,2}\d{3}[ .-]\d{4}(?![\w-]|[.,]\d)", check=_phone),
    personal_rule("PHONE", r"(?<![\w.,/-])0[1-9]\d{8,10}(?![\w-]|[.,]\d)", check=_phone),
    personal_rule("NUMBER", r"(?<![\w.,/-])\d{3,}(?:[ -]\d{3,})*(?![\w-]|[.,]\d)", check=_number),
    personal_rule("KEY", r"(?<![\w+/=-])[A-Za-z0-9_+/=-]{24,}", check=_token, exact=True),
    personal_rule(
        "ADDRESS",
        r"(?<![\w-])[A-ZÄÖÜ][\w.-]*",
        r"(?:(?<=[a-zäöüß.-])(?:stra(?:ß|ss)e|str\.|weg|allee|platz|gasse|damm|ufer|chaussee|steig)",
        r"|[\s-](?:Stra(?:ß|ss)e|Str\.|Weg|Allee|Platz|Gasse|Ring|Damm|Ufer|Chaussee|Steig))",
        rf"\s\d{{1,4}}(?:\s?[a-z](?!\w))?(?:,?\s(?:D-)?\d{{4,5}}\s{_CITY})?",
        check=_street,
        exact=True,
    ),
    personal_rule(
        "ADDRESS",
        rf"(?<![\w-])(?:[A-ZÄÖÜ][\w.-]{{0,30}}\s){{1,4}}\d{{1,4}}\s?[a-z]?,\s(?:D-)?\d{{4,5}}\s{_CITY}",
        exact=True,
    ),
    personal_rule(
        "ADDRESS",
        rf"\b(?:[Ww]ohne in|[Aa]dresse:|PLZ:?|Postleitzahl:?)\s(?P<x>(?:D-)?\d{{4,5}}(?:\s{_CITY})?)",
        exact=True,
    ),
    personal_rule("ADDRESS", r"\b(?:P\.?\s?O\.?\sBox|Postfach)\s\d(?:[\d ]{0,8}\d)?", exact=True),
    personal_rule(
        "ADDRESS",
        r"(?<![\w.,-])\d{1,5}[A-Za-z]?\s(?:[A-Z][\w'.-]{0,30}\s){1,4}(?i:street|st|road|rd|avenue|ave|lane|ln|drive|dr",
        r"|boulevard|blvd|way|court|ct|square|sq|terrace|close|crescent|place|pl|highway|hwy)\b\.?",
        r"(?:,?\s(?:[Aa]pt|[Ff]lat|[Uu]nit|[Ss]uite)\.?\s#?\w{1,6})?",
        rf"(?:,\s{_CITY}(?=,|\s[A-Z\d]))?(?:,?\s(?:{_US}|{_UK}))?",
        exact=True,
    ),
    personal_rule("ADDRESS", rf"(?<!\w)[A-Z][a-z]+(?:\s[A-Z][a-z]+)?,\s{_US}", exact=True),
    personal_rule("ADDRESS", rf"(?<![\w-]){_UK}", exact=True),
)
"""In the order in which they take: what an earlier one has taken is nothing to a later one."""
