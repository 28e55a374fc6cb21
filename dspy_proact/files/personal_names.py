"""Names of people where a text marks them: "my name is", greetings, titles, signatures, relatives.

A name is one to four words that begin with a capital letter, with particles such as *van* or *de la* between them.
Where somebody says that it is their name, one word in small letters will do.
"""

import re

from dspy_proact.files.personal_rules import Check, PersonalRule, personal_rule

_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['\u2019-](?=[^\W\d_]))*\.?")
"""A word of a name or an initial; a hyphen and an apostrophe within it."""
PARTICLES = frozenset(
    "al bin da de del della den der di dos du el la le ten ter van von zu zum".split()  # noqa: SIM905 - a list of words is read as words
)
_MOST = 4
"""Words of a name."""
NO_NAMES = frozenset(
    """
    all again agent anyone assistant bot chatgpt claude colleague colleagues customer dear everybody everyone folks
    friend friends guys hello hi human ladies gentlemen madam manager miss mr mrs ms sales service sir sirs someone
    support team
    there user world you yes no ok okay thanks thank please sorry the this that my your and but what why how when
    where can could would do does did is are i im we it monday tuesday wednesday thursday friday saturday sunday january
    february march april may june july august september october november december god
    alle allerseits beisammen damen danke bitte frau freunde freund herr herren hallo ihr ihre ich ja nein kunde kunden
    kundin kundendienst kundenservice kollege kollegen kollegin leute moin nochmal servus sie team und zusammen
    montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar maerz märz mai juni juli oktober dezember
    grüße gruesse grüßen gruß wünsche welt
    wie was wo wann warum kann können könnte können haben hat ist sind das der die ein eine es wir
    """.split()  # noqa: SIM905 - a list of words is read as words
)
"""Words after a greeting, a title or a closing that are no name."""
_NO_SMALL_NAMES = NO_NAMES | frozenset(
    """
    a an not on in at of for from spelled spelt misspelled wrong correct already still listed missing different also
    too being as with under so just too long short hard easy important irrelevant same shown displayed used written
    nicht auf im in am bei falsch richtig schon noch auch anders gleich zu mit unter nur so als unwichtig dort hier
    """.split()  # noqa: SIM905 - a list of words is read as words
)
"""Words after "my name is" that are no name either."""


def name_at(text: str, start: int, small: bool = False) -> int:
    """The end of the name that begins at a position of a text; the position itself where none does.

    A word in `small` letters counts as a name where it stands alone.
    """
    end, at, count = start, start, 0
    while count < _MOST and (match := _WORD.match(text, at)):
        word = match[0].rstrip(".") if len(match[0]) > 2 else match[0]  # "J." is an initial, "Anna." ends a sentence
        lower = word.lower()
        if count and lower in PARTICLES and word == lower:
            at = match.end() + 1 if text[match.end() : match.end() + 1] == " " else len(text)
            continue
        if lower.rstrip(".") in (_NO_SMALL_NAMES if small and not count else NO_NAMES):
            break
        if word[0].lower() == word[0].upper() or word[0].isupper():  # a script without cases, such as Hebrew
            count += 1
        elif small and not count:
            return at + len(word)
        else:
            break
        end = at + len(word)
        if len(word) < len(match[0]) or text[match.end() : match.end() + 1] != " ":
            break
        at = match.end() + 1
    return end


def _capital(match: re.Match[str]) -> str | None:
    return match.string[match.end() : name_at(match.string, match.end())] or None


def _greeted(match: re.Match[str]) -> str | None:
    """A name after a greeting, where the line or a clause ends with it."""
    end = name_at(match.string, match.end())
    return match.string[match.end() : end] if re.match(r"\s*(?:[,!.?:;–—-]|\n|$)", match.string[end:]) else None


def _signed(match: re.Match[str]) -> str | None:
    """A name after a closing, where the line ends with it."""
    end = name_at(match.string, match.end())
    return match.string[match.end() : end] if re.match(r"[.!]?[^\S\n]*(?:\n|$)", match.string[end:]) else None


def _introduced(match: re.Match[str]) -> str | None:
    return match.string[match.end() : name_at(match.string, match.end(), small=True)] or None


def _speaking(match: re.Match[str]) -> str | None:
    """A name where the sentence goes on as that of somebody who introduces themselves does."""
    end = name_at(match.string, match.end())
    rest = match.string[end:]
    follows = re.match(r"\s+(?:speaking|here|calling|from|again|von|am Apparat)\b|,\s+(?:calling|from)\b", rest)
    german = match[0].lower().startswith("hier") and re.match(r"\s*[,.!\n]|$", rest)
    return match.string[match.end() : end] if follows or german else None


def _name_rule(check: Check, *parts: str, exact: bool = False) -> PersonalRule:
    """A rule whose group `x` is empty and stands where a name may begin."""
    return personal_rule("NAME", *parts, "(?P<x>)", check=check, exact=exact)


_CAPITAL = r"(?-i:(?=[^\Wa-zäöüß]))"
NAME_RULES = (
    _name_rule(
        _introduced,
        r"\b(?:my (?:full |first |last |sur)?name(?: is|'s|\u2019s|:)|mein (?:voller |vor|nach)?name (?:ist|lautet)",
        r"|ich hei(?:ß|ss)e|me llamo|mi nombre es|je m['\u2019]appelle|mon nom est|mi chiamo|il mio nome è|meu nome é",
        r"|me chamo|mijn naam is|ik heet|nazywam się|mam na imię)\s+",
    ),
    _name_rule(
        _capital,
        r"(?m:^)[^\S\n]*(?:(?:full|first|last|contact) )?(?:name|vorname|nachname|ansprechpartner(?:in)?|kontakt)\s?:",
        rf"[^\S\n]+{_CAPITAL}",
    ),
    _name_rule(
        _capital,
        r"\b(?:Mr|Mrs|Ms|Mx|Prof|Dr|Doctor|Professor|Herrn?|Frau|Fr|Hr|[Ss]eñora?|Monsieur|Madame|Mme|[Ss]ignora?)\b",
        r"\.?[^\S\n]+(?:(?:Prof|Dr|Doktor|Professor)\b\.?[^\S\n]+){0,2}",
        exact=True,
    ),
    _name_rule(
        _greeted,
        r"\b(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|liebe[rs]?|hallo|guten (?:tag|morgen|abend)|moin",
        r"|servus|gr(?:ü|ue)(?:ß|ss) gott|hola|querid[oa]|bonjour|ch[eè]re?|ciao|buongiorno|olá),?[^\S\n]+",
        _CAPITAL,
    ),
    _name_rule(
        _signed,
        r"(?:\b(?:thanks|thank you|many thanks|cheers|danke|vielen dank|merci|gracias|grazie)",
        r"(?: (?:again|in advance|nochmal|im voraus))?[,.!]?[^\S\n]*\n\s*",
        r"|\b(?:(?:best|kind|warm|many) (?:regards|wishes)|regards|sincerely|yours(?: sincerely| faithfully| truly)?",
        r"|cheers|love|best),\s*|(?m:^)[^\S\n]*(?:mfg|lg|vg)\b,?\s+",
        r"|\b(?:(?:freundliche|beste|liebe|viele|herzliche|sch(?:ö|oe)ne)[nm]? gr(?:ü|ue)(?:ß|ss)en?|gru(?:ß|ss)",
        r"|cordialement|saludos|cordiali saluti|groeten)\b,?\s+)",
    ),
    _name_rule(
        _capital,
        r"\bmy (?:husband|wife|son|daughter|mother|father|mum|mom|dad|brother|sister|partner|boyfriend|girlfriend|boss",
        rf"|colleague|friend|neighbou?r|uncle|aunt|cousin|fianc[eé]e?),?[^\S\n]+{_CAPITAL}",
    ),
    _name_rule(  # in German any noun may stand there: a clause must end with the name
        _greeted,
        r"\bmein(?:e[rmn]?)? (?:mann|frau|sohn|tochter|mutter|vater|bruder|schwester|partner(?:in)?|onkel",
        r"|freund(?:in)?|chef(?:in)?|kolleg(?:e|in)|nachbar(?:in)?|tante|verlobte[rn]?|oma|opa|enkel(?:in)?),?",
        rf"[^\S\n]+{_CAPITAL}",
    ),
    _name_rule(_speaking, rf"\b(?:this is|here is|it'?s|hier (?:ist|spricht|schreibt))[^\S\n]+{_CAPITAL}"),
    _name_rule(_greeted, rf"\b(?:(?:you can )?call me|nenn(?:en sie)? mich)[^\S\n]+{_CAPITAL}"),
)
"""In the order in which they take."""
