"""Personal data taken out of a conversation: a mark stands where each piece was, the same mark for the same piece.

So a reader still sees who is who: "Ask [NAME 1] whether [PHONE 1] is right." Rules find most pieces (`personal_rules`,
`personal_names`); a model that has read the marked conversation may name more, which `Redaction.marked` locates in it.
What was found once is taken out wherever else it stands in the conversation, and so are the single words of a name.

What was taken out is listed for the owner of the log alone. For anybody else there is a hash, keyed by a salt that the
owner keeps: without it, who has the hash of a telephone number could try them all.
"""

import hashlib
import hmac
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from dspy_proact.evidence import is_unspaced
from dspy_proact.files.chats import LoggedChat
from dspy_proact.files.personal_names import NAME_RULES, NO_NAMES, PARTICLES, name_at
from dspy_proact.files.personal_rules import RULES, DataKind, digits_of

_MARK = re.compile(r"\[(KEY|URL|EMAIL|IBAN|CARD|IP|BIRTH|PHONE|NUMBER|ADDRESS|NAME) (\d{1,6})\]")
_TAKEN = "\ufffc"
"""Stands, while rules look, for each character that is taken out already; it is no letter, digit, sign or blank."""
_SHORTEST = {"NAME": 3, "KEY": 4}
"""Characters of a word of a name, and of a password, that is taken out wherever else it stands; of all others, five."""
_WORDS_TOO = frozenset(
    """
    alt art baker berg bill black braun brown busch cook dawn drew ernst faith frank frei fuchs grace grant green groß
    gross hahn hart hirsch hope jung joy kaiser king klein koch kraus kurz lang lange long mark may miles pat penny
    reich rich richter rob roman rose roth sommer stark stein sue summer sunny tag vogel wagner weber weiß weiss white
    will winter wolf wood young
    """.split()  # noqa: SIM905 - a list of words is read as words
)
"""Names that are words as well: elsewhere in a conversation they are taken out only where they are written alike."""


@dataclass(frozen=True)
class Removal:
    """One piece that was taken out, at one position; for the owner of the log."""

    kind: DataKind
    mark: str
    """What stands in its place, such as `[EMAIL 1]`."""
    turn: int
    """0 for the system text, else the turn, counted from 1."""
    start: int
    """Index of its first character in the original text of the turn."""
    end: int
    """Index after its last."""
    text: str = field(repr=False)
    """What stood there."""

    def sha256(self, salt: str) -> str:
        """What may be published in place of the text: its hash, keyed by the owner's salt, in hexadecimal."""
        return hmac.new(salt.encode(), self.text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Redaction:
    """A conversation without what was found in it, and what that is."""

    original: LoggedChat = field(repr=False)
    removals: tuple[Removal, ...]
    """By turn and position; they do not overlap."""

    @cached_property
    def chat(self) -> LoggedChat:
        """The conversation with marks, and without the names of its speakers."""
        texts = _texts(self.original)
        for removal in reversed(self.removals):
            text = texts[removal.turn]
            texts[removal.turn] = f"{text[: removal.start]}{removal.mark}{text[removal.end :]}"
        turns = [
            replace(turn, text=text, speakers=()) for turn, text in zip(self.original.turns, texts[1:], strict=True)
        ]
        return replace(self.original, system=texts[0], turns=tuple(turns))

    def marked(self, spans: Iterable[str], kind: DataKind = "NAME") -> "tuple[Redaction, tuple[str, ...]]":
        """Take out further texts, wherever they stand as they are, and return also those that stand nowhere.

        A span may hold marks, since who names it has read the conversation with marks: what stands between them is
        taken out. Marks that are there keep their numbers.
        """
        pieces, missing = _Pieces(self.original, self.removals), list[str]()
        for span in spans:
            parts = [part for part in (one.strip(" \t\n,.;:()\"'") for one in _MARK.split(span)[::3]) if part]
            located = [pieces.take_out(kind, part) for part in parts]  # all of them, and not up to the first
            if not all(located) or (not parts and not _MARK.search(span)):
                missing.append(span)
        pieces.repeat()
        return Redaction(self.original, pieces.removals()), tuple(missing)


def redact_chat(chat: LoggedChat) -> Redaction:
    """Take out of a conversation what rules find, and the names of its speakers.

    A conversation that was redacted stays as it is: the rules are applied until they find nothing more, and a mark that
    stands in a text from the beginning is left, and its number given to nothing else.
    """
    pieces = _Pieces(chat)
    for name in dict.fromkeys(name for turn in chat.turns for name in turn.speakers):
        if name_at(name, 0) == len(name):
            pieces.take_out("NAME", name)
    while pieces.apply_rules() or pieces.repeat():
        pass
    return Redaction(chat, pieces.removals())


def _texts(chat: LoggedChat) -> list[str]:
    return [chat.system, *(turn.text for turn in chat.turns)]


class _Pieces:
    """What is taken out so far, without overlaps, with the marks that are known."""

    def __init__(self, chat: LoggedChat, removals: Iterable[Removal] = ()):
        self._texts = _texts(chat)
        self._open = list(self._texts)
        """The texts with `_TAKEN` where something is taken out or a mark stood from the beginning."""
        self._lower = [_lower(text) for text in self._texts]
        self._pieces = dict[tuple[int, int], tuple[int, DataKind]]()
        """By turn and start, the end and the kind."""
        self._known = dict[tuple[DataKind, str], None]()
        """Kinds and texts of what is taken out wherever it stands."""
        self._marks, self._last = dict[tuple[str, str], str](), Counter[str]()
        for turn, text in enumerate(self._texts):
            for match in _MARK.finditer(text):
                self._last[match[1]] = max(self._last[match[1]], int(match[2]))
                self._cover(turn, match.start(), match.end())
        for removal in removals:
            self._add(removal.kind, removal.turn, removal.start, removal.end)
            self._marks[removal.kind, _same(removal.kind, removal.text)] = removal.mark
            self._last[removal.kind] = max(self._last[removal.kind], int(removal.mark.split()[1][:-1]))

    def apply_rules(self) -> bool:
        """Take out what rules find; whether there was anything."""
        count = len(self._pieces)
        for rule in (*RULES, *NAME_RULES):
            for turn in range(len(self._texts)):
                for start, end in list(rule.spans(self._open[turn])):
                    self._add(rule.kind, turn, start, end)
        return len(self._pieces) > count

    def repeat(self) -> bool:
        """Take out elsewhere what is taken out somewhere, and the words of names; whether there was anything."""
        count, texts = len(self._pieces), dict(self._known)
        for (turn, start), (end, kind) in self._pieces.items():
            texts[kind, self._texts[turn][start:end]] = None
        for kind, text in list(texts):
            for word in text.split() if kind == "NAME" else ():
                if word.lower() not in NO_NAMES | PARTICLES:
                    texts[kind, word] = None
        for kind, text in sorted(texts, key=lambda one: -len(one[1])):  # the longest first
            if len(text) >= _SHORTEST.get(kind, 5):
                self._take_out(kind, text)
        return len(self._pieces) > count

    def take_out(self, kind: DataKind, text: str) -> bool:
        """Take out a text wherever it stands as words of its own, a German genitive included; whether it does.

        In scripts without blanks no word stands by itself, and it is taken out wherever it stands.
        """
        self._known[kind, text] = None
        blanks = re.compile(r"\s+".join(map(re.escape, text.split())), re.IGNORECASE)  # a line may break within it
        forms = {match[0] for own in self._open for match in blanks.finditer(own)} or {text}
        stands = [self._take_out(kind, form) for form in sorted(forms)]
        return any(stands)

    def _take_out(self, kind: DataKind, text: str) -> bool:
        genitive = "s?" if kind == "NAME" else ""
        start = r"(?<!\w)" if text[:1].isalnum() and not is_unspaced(text[0]) else ""
        end = rf"(?={genitive}(?!\w|[.,-]\d))" if text[-1:].isalnum() and not is_unspaced(text[-1]) else ""
        alike = kind != "NAME" or text.lower() in _WORDS_TOO
        small, pattern, stands = _lower(text), None, False
        for turn, lower in enumerate(self._lower):
            at = lower.find(small)
            while at >= 0:
                if self._open[turn][at] != _TAKEN:  # compiled for what may be new alone: a log may hold many pieces
                    pattern = pattern or re.compile(f"{start}{re.escape(text)}{end}", 0 if alike else re.IGNORECASE)
                    if match := pattern.match(self._open[turn], at):
                        self._add(kind, turn, match.start(), match.end())
                        stands = True
                at = lower.find(small, at + len(small))
        return stands

    def removals(self) -> tuple[Removal, ...]:
        """All pieces by turn and position; what has no mark yet gets the next number of its kind."""
        result, names = list[Removal](), self._names()
        for (turn, start), (end, kind) in sorted(self._pieces.items()):
            text = self._texts[turn][start:end]
            same = _same(kind, text)
            key = (kind, names.get(same, same) if kind == "NAME" else same)
            mark = self._marks.get((kind, same)) or self._marks.get(key)
            if mark is None:
                self._last[kind] += 1
                mark = self._marks[key] = f"[{kind} {self._last[kind]}]"
            result.append(Removal(kind, mark, turn, start, end, text))
        return tuple(result)

    def _names(self) -> dict[str, str]:
        """Of a name that is a part of exactly one longer name the longer one."""
        pieces = [self._texts[turn][start:end] for (turn, start), (end, kind) in self._pieces.items() if kind == "NAME"]
        names, by_word = {_same("NAME", text) for text in pieces}, defaultdict[str, list[str]](list)
        for name in names:
            for word in set(name.split()):
                by_word[word].append(name)
        longer = {
            name: [other for other in by_word[name.split()[0]] if set(name.split()) < set(other.split())]
            for name in names
        }
        return {name: others[0] for name, others in longer.items() if len(others) == 1}

    def _add(self, kind: DataKind, turn: int, start: int, end: int) -> None:
        if start < end and _TAKEN not in self._open[turn][start:end]:
            self._pieces[turn, start] = (end, kind)
            self._cover(turn, start, end)

    def _cover(self, turn: int, start: int, end: int) -> None:
        text = self._open[turn]
        self._open[turn] = text[:start] + _TAKEN * (end - start) + text[end:]


def _lower(text: str) -> str:
    """A text in small letters and of the same length, so that positions are those of the text."""
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


def _same(kind: str, text: str) -> str:
    """What is equal for two ways to write the same piece."""
    if kind == "PHONE":
        return digits_of(text)[-8:]  # with the country or without
    if kind in ("CARD", "IBAN", "NUMBER", "ADDRESS", "BIRTH"):
        return "".join(filter(str.isalnum, text)).casefold()
    return text if kind == "KEY" else " ".join(text.casefold().split())
