"""Names of people where a text marks them: "my name is", greetings, titles, signatures, relatives.

A name is one to four words that begin with a capital letter, with particles such as *van* or *de la* between them.
Where somebody says that it is their name, one word in small letters will do.
"""

import re
from functools import partial

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
    support team best kind warm many wishes regards greetings
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
_NO_PEOPLE = frozenset(
    """
    about absolutely account again all amazing amazon android app apple awesome awful bad beta black blue broken bug
    cable chrome city clearly cloud confidential critical cyber decimal delivery desk edge enough error excel exactly
    excellent express facebook fantastic feedback final fine firefox first free friday gift good google great green
    horrible html http id important info information insane instagram internet invoice ios iphone ipad item java just
    last late linux mac machine macos madness mail mega message microsoft model mode monday my netflix new nice number
    obviously office office365 one only option order outlook page panel part perfect phone pin plan platinum play plus
    policy premium prime pro problem product python question really red ridiculous safari sale second serial shop simply
    site snow software spam square star step stock store sql teams terrible test top tracking tv unacceptable
    unbelievable unfair update urgent usb version very vista visa web white wifi windows word works wrong xbox xp york
    youtube guten tag
    abzocke alles anfrage betrug bild ende endlich falsch fehler gut information jetzt kein klar leider linie nichts
    nummer ordnung platz rechnung ruhe schade schluss schön schwarz seite sehr spitze super toll typisch unglaublich
    wichtig wichtige zufall
    """.split()  # noqa: SIM905 - a list of words is read as words
)
"""Words after "this is" and in a closing that are no part of a person's name, such as those of products."""


def name_at(text: str, start: int, small: bool = False) -> int:
    """The end of the name that begins at a position of a text; the position itself where none does.

    A word in `small` letters counts as a name where it stands alone.
    """
    end, at, count = start, start, 0
    while count < _MOST and (match := _WORD.match(text, at)):
        word = match[0].rstrip(".") if len(match[0]) > 2 else match[0]  # "J." is an initial, "Anna." ends a sentence
        lower = word.lower()
        if lower in PARTICLES and word == lower:
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


_CLAUSE_ENDS = re.compile(r"\s*(?:[,!.?:;\u2013\u2014-]|\n|$)")
_LINE_ENDS = re.compile(r"[.!]?[^\S\n]*(?:\n|$)")
_TEXT_ENDS = re.compile(r"[ .!\n]*\Z")
_HERE = re.compile(r"\s+here\b")
_SPEAKS = re.compile(r"\s+(?:speaking|here|calling|from(?! \d)|again|von|am Apparat|nochmal)\b|,\s+(?:calling|from)\b")
_GOES_ON = re.compile(r"\s*(?:[,!.?:;(\u2013\u2014-]|\n|$)|\s+(?:and|und|from(?! \d)|of|aus|von|vom|at|with|writing)\b")
_SIGNED = re.compile(r"\s*(?:[,.!(|\n\u2013\u2014]|- |$)")
_CLOSING = re.compile(
    r"\b(?:thanks|thank you|thx|cheers|regards|wishes|greetings|danke|dank|gr[üu](?:ß|ss)e?n?)\b", re.IGNORECASE
)


def _named(match: re.Match[str], after: re.Pattern[str] | None = None, small: bool = False) -> str:
    """The name that begins where a match ends, and is followed by a pattern if there is one; empty where none does."""
    end = name_at(match.string, match.end(), small)
    return match.string[match.end() : end] if after is None or after.match(match.string, end) else ""


def _of_two_words(match: re.Match[str]) -> str:
    """A name of two words or more: one word with a capital letter may be anything."""
    name = _named(match)
    return name if " " in name else ""


def _last_line(match: re.Match[str]) -> str:
    """A name that ends the text: of two words after a sentence, or any after a word of thanks or farewell."""
    name, before = _named(match, _TEXT_ENDS), match.string[max(0, match.start() - 80) : match.start()].rstrip()
    sentence = " " in name and before.endswith((".", "!", "?", ",", "\u2026"))
    return name if sentence or _CLOSING.search(before) else ""


def _speaking(match: re.Match[str]) -> str:
    """A name where the sentence goes on as that of somebody who introduces themselves does."""
    german = match[0].lower().startswith("hier")
    return _of_person(_named(match, _SPEAKS) or (_named(match, _CLAUSE_ENDS) if german else ""))


def _of_person(name: str) -> str:
    """A name, but for one in capitals or with a word that no person is called; then empty."""
    words = {word.lower().strip(".") for word in name.split()}
    return "" if words & _NO_PEOPLE or (name.isupper() and len(name) > 2) else name


def _introduced(match: re.Match[str]) -> str:
    """A name of two words that begins what somebody writes, or any after a greeting."""
    name = _of_person(_named(match, _GOES_ON))
    return name if " " in name or match["hi"] else ""


def _signed(match: re.Match[str]) -> str:
    """A name after a farewell: with what follows it in the line where it has two words, else alone."""
    name = _of_person(_named(match, _SIGNED))
    return name if " " in name else _of_person(_named(match, _LINE_ENDS)) or _named(match, _TEXT_ENDS, small=True)


def _name_rule(check: Check, *parts: str, exact: bool = False) -> PersonalRule:
    """A rule whose group `x` is empty and stands where a name may begin."""
    return personal_rule("NAME", *parts, "(?P<x>)", check=check, exact=exact)


_CAPITAL = r"(?-i:(?=[^\Wa-zäöüß]))"
NAME_RULES = (
    _name_rule(
        partial(_named, small=True),
        r"\b(?:my (?:full |first |last |sur)?name(?: is|'s|\u2019s|:)|mein (?:voller |vor|nach)?name (?:ist|lautet)",
        r"|ich hei(?:ß|ss)e|me llamo|mi nombre es|je m['\u2019]appelle|mon nom est|mi chiamo|il mio nome è|meu nome é",
        r"|me chamo|mijn naam is|ik heet|nazywam się|mam na imię)\s+",
    ),
    _name_rule(
        _named,
        r"(?m:^)[^\S\n]*(?:(?:full|first|last|contact) )?(?:name|vorname|nachname|ansprechpartner(?:in)?|kontakt",
        r"|(?:account ?|card ?)?holder|(?:konto|karten)inhaber(?:in)?|passenger|guest|reisende[r]?|gast)\s?:",
        rf"[^\S\n]+{_CAPITAL}",
    ),
    _name_rule(
        _named,
        r"\b(?:Mr|Mrs|Ms|Mx|Prof|Dr|Doctor|Professor|Herrn?|Frau|Fr|Hr|[Ss]eñora?|Monsieur|Madame|Mme|[Ss]ignora?)\b",
        r"\.?[^\S\n]+(?:(?:Prof|Dr|Doktor|Professor)\b\.?[^\S\n]+){0,2}",
        exact=True,
    ),
    _name_rule(
        partial(_named, after=_CLAUSE_ENDS),
        r"\b(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|liebe[rs]?|hallo|guten (?:tag|morgen|abend)|moin",
        r"|servus|gr(?:ü|ue)(?:ß|ss) gott|hola|querid[oa]|bonjour|ch[eè]re?|ciao|buongiorno|olá),?[^\S\n]+",
        _CAPITAL,
    ),
    _name_rule(
        _introduced,
        r"(?m:^)[^\S\n]{0,9}(?P<hi>(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|day)|hallo|huhu|moin|servus",
        r"|guten (?:tag|morgen|abend)|gr(?:ü|ue)(?:ß|ss) gott)(?: (?:there|all|team|everyone|again|zusammen))?",
        rf"[,.!]?\s{{1,9}})?(?:this is|it['\u2019]?s|hier (?:ist|spricht|schreibt))[^\S\n]{_CAPITAL}",
    ),
    _name_rule(
        _signed,
        r"(?:\b(?:(?:best|kind|kindest|warm|warmest|many) (?:regards|wishes|greetings)|yours (?:sincerely|faithfully)",
        r"|yours truly|(?:freundliche|beste|liebe|viele|herzliche|sch(?:ö|oe)ne)[nmr]? gr(?:ü|ue)(?:ß|ss)en?",
        r"|herzlichst|hochachtungsvoll)|(?:(?m:^)[^\S\n]{0,9}|(?<=[.!?,] ))(?:regards|greetings|sincerely",
        r"|gr(?:ü|ue)(?:ß|ss)e|gru(?:ß|ss)|mfg|lg|vg|best(?=[^\S\n]*\n)))\b",
        r"(?: (?:aus|from the)(?: [^\W\d_]{1,20}){1,3}(?=,|[^\S\n]*\n))?",
        r"(?:,| from| von|[^\S\n]*[\u2013\u2014-])?\s{1,9}",
        r"(?:(?:ihre?|eure?|deine?)[^\S\n](?-i:(?=[A-ZÄÖÜ])))?",
    ),
    _name_rule(
        lambda match: (
            _of_two_words(match) if _LINE_ENDS.match(match.string, name_at(match.string, match.end())) else ""
        ),
        r"\b(?:thanks|thank you|cheers|danke|vielen dank)(?: (?:again|in advance|a lot|so much|very much|nochmals?",
        rf"|im voraus|schon mal))?[,.!][^\S\n]{_CAPITAL}",
    ),
    _name_rule(
        partial(_named, after=_LINE_ENDS),
        r"(?:\b(?:thanks|thank you|many thanks|cheers|danke|vielen dank|merci|gracias|grazie)",
        r"(?: (?:again|in advance|nochmal|im voraus))?[,.!]?[^\S\n]*\n\s*",
        r"|\b(?:(?:best|kind|warm|many) (?:regards|wishes)|regards|sincerely|yours(?: sincerely| faithfully| truly)?",
        r"|cheers|love|best),\s*|(?m:^)[^\S\n]*(?:mfg|lg|vg)\b,?\s+",
        r"|\b(?:(?:freundliche|beste|liebe|viele|herzliche|sch(?:ö|oe)ne)[nm]? gr(?:ü|ue)(?:ß|ss)en?|gru(?:ß|ss)",
        r"|cordialement|saludos|cordiali saluti|groeten)\b,?\s+)",
    ),
    _name_rule(
        _named,
        r"\bmy (?:husband|wife|son|daughter|mother|father|mum|mom|dad|brother|sister|partner|boyfriend|girlfriend|boss",
        rf"|colleague|friend|neighbou?r|uncle|aunt|cousin|fianc[eé]e?),?[^\S\n]+{_CAPITAL}",
    ),
    _name_rule(  # in German any noun may stand there: a clause must end with the name
        lambda match: _of_two_words(match) or _named(match, _CLAUSE_ENDS),
        r"\bmein(?:e[rmn]?)? (?:mann|frau|sohn|tochter|mutter|vater|bruder|schwester|partner(?:in)?|onkel",
        r"|freund(?:in)?|chef(?:in)?|kolleg(?:e|in)|nachbar(?:in)?|tante|verlobte[rn]?|oma|opa|enkel(?:in)?),?",
        rf"[^\S\n]+{_CAPITAL}",
    ),
    _name_rule(_speaking, rf"\b(?:this is|here is|it'?s|hier (?:ist|spricht|schreibt))[^\S\n]+{_CAPITAL}"),
    _name_rule(_of_two_words, rf"\b(?:I am|I['\u2019]?m|ich bin)[^\S\n]+{_CAPITAL}"),
    _name_rule(
        partial(_named, after=_LINE_ENDS),
        r"(?m:^)(?:(?:hi|hallo|huhu|moin|guten tag)[^\S\n]*,?[^\S\n]+)?hier[^\S\n]+",
        _CAPITAL,
    ),
    _name_rule(
        partial(_named, after=_HERE), r"(?m:^)(?:(?:hi|hello|hey|hiya|hallo|huhu|moin)[^\S\n]*,?[^\S\n]+)?", _CAPITAL
    ),
    _name_rule(_last_line, r"\n[^\S\n]*", _CAPITAL),
    _name_rule(
        partial(_named, after=_CLAUSE_ENDS), rf"\b(?:(?:you can )?call me|nenn(?:en sie)? mich)[^\S\n]+{_CAPITAL}"
    ),
)
"""In the order in which they take."""
