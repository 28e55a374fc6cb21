"""From what was logged to a conversation that roles may read: turns, and then the same with what is private taken out.

Rules in code come first (`files.personal_data`). The redactor then lists what they cannot know, such as names in prose,
and code looks each entry up and puts a mark in its stead wherever it stands. No other role is asked before that. A
conversation of which no list of the redactor's can be used is left out, and never sent on as it was.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from dspy_proact.benchmarks.proactbench.generation.values import SwappedTurn
from dspy_proact.benchmarks.proactbench.logs.roles import READING
from dspy_proact.benchmarks.proactbench.logs.values import ChatReading, LoggedDialogue, Redacted
from dspy_proact.errors import CorpusError
from dspy_proact.evidence import words_of
from dspy_proact.files.chats import ChatFile, ChatNote, LoggedChat
from dspy_proact.files.personal_data import Redaction, redact_chat
from dspy_proact.generation.attempt import Attempt
from dspy_proact.programs.program import Question
from dspy_proact.programs.wording import holds, stands

MOST_TURNS, MOST_CHARACTERS = 40, 40_000
"""Of a conversation that are read: the finder reads every turn again at each later one."""
_LONGEST = 100
"""Characters of something private, so that no entry takes a sentence out."""
_FEWEST = 2
"""Letters or digits of it."""


@dataclass(frozen=True)
class Conversation:
    """A logged conversation as turns, before anything is taken out."""

    chat: LoggedChat
    read: LoggedChat
    """The same as far as it is read: without a turn that has no answer, where it is cut."""

    @classmethod
    def of(cls, chat: LoggedChat) -> "Conversation":
        """A chat, up to the most that is read."""
        sizes = accumulate(len(turn.text) for turn in chat.turns)
        fitting = min(sum(size <= MOST_CHARACTERS for size in sizes), 2 * MOST_TURNS)
        fitting -= fitting % 2 if fitting < len(chat.turns) else 0
        return cls(chat, replace(chat, turns=chat.turns[:fitting]))

    @property
    def is_cut(self) -> bool:
        """Whether it is longer than what is read of it."""
        return len(self.read.turns) < len(self.chat.turns)

    @property
    def is_usable(self) -> bool:
        """Whether there is a response to be looked at, and the system text can stand in requests."""
        return len(self.read.turns) > 1 and len(self.chat.system) <= MOST_CHARACTERS

    @property
    def sha256(self) -> str:
        """Of all that was logged of it, in hexadecimal."""
        messages = [self.chat.system, *((turn.role, turn.text) for turn in self.chat.turns)]
        return hashlib.sha256(json.dumps(messages, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def characters(self) -> int:
        """Of what is read."""
        return sum(len(turn.text) for turn in self.read.turns) + len(self.chat.system)


@dataclass(frozen=True)
class LogFile:
    """The conversations of a log that can be used, and what is to be known of it."""

    name: str
    """As it was named."""
    conversations: tuple[Conversation, ...]
    """In the order of the log."""
    records: int
    """Conversations of the log, those that cannot be used among them."""
    notes: tuple[ChatNote, ...]
    """What was left out and why, and what of the others is not read."""

    @property
    def digest(self) -> str:
        """Four hexadecimal digits of a hash of all conversations, in their order.

        They tell one log from another, and are too few to search for what was taken out.
        """
        return hashlib.sha256("\n".join(one.sha256 for one in self.conversations).encode()).hexdigest()[:4]

    @classmethod
    def of(cls, name: str, chats: ChatFile) -> "LogFile":
        """The conversations of a log; a `CorpusError` where none can be used."""
        cut = f"only the first {MOST_TURNS} turns or {MOST_CHARACTERS:,} characters are read"
        empty = f"its first turn or its system text has more than {MOST_CHARACTERS:,} characters; left out"
        usable, sources = list[Conversation](), defaultdict[str, list[str]](list)
        for conversation in map(Conversation.of, chats):
            usable += [conversation] if conversation.is_usable else []
            if not conversation.is_usable or conversation.is_cut:
                sources[cut if conversation.is_usable else empty].append(conversation.chat.source)
        notes = [*chats.left_out, *chats.notes]
        notes += [ChatNote(reason, len(of), of[0]) for reason, of in sources.items()]
        if not usable:
            listed = " ".join(map(str, notes)) or "It is empty."
            raise CorpusError(f"no conversation of it can be used. {listed}", source=name)
        return cls(name, tuple(usable), len(chats) + sum(note.count for note in chats.left_out), tuple(notes))


async def read_privately(
    attempt: Attempt, program: Question, conversation: Conversation, product: str
) -> LoggedDialogue:
    """The conversation with what is private taken out, by rules and then by the redactor.

    Raises `RuleError` where no answer of the redactor can be used.

    Args:
        attempt: Whose redactor is asked.
        program: What it is asked.
        conversation: As logged.
        product: Text in which nothing is private.
    """
    by_rules, redactions = redact_chat(conversation.read), list[Redaction]()
    transcript = _transcript(by_rules.chat)

    def faults(answer: Any) -> list[str]:
        if reasons := reading_rules(answer.reading):
            return reasons
        redaction, unmarked = _taken_out(by_rules, answer.reading, product)
        redactions.append(redaction)
        # What stood in a longer entry is taken out with it. No sentence repeats an entry: items.jsonl keeps sentences.
        left, texts = _transcript(redaction.chat), [entry.text for entry in answer.reading.private]
        missing = [at for at in unmarked if texts[at - 1] not in transcript or texts[at - 1] in left]
        return [
            f"Entry {number} of `private` does not stand in the conversation; copy it exactly, or leave it out."
            for number in missing
        ]

    answer = await attempt.ask("redactor", READING, program, faults, product=product, conversation=transcript)
    reading: ChatReading = answer.reading
    chat, starts = redactions[-1].chat, {(one.turn, one.start) for one in by_rules.removals}
    taken = {
        (one.mark, one.text): Redacted(
            mark=one.mark, kind=one.kind, text=one.text, by="rules" if (one.turn, one.start) in starts else "model"
        )
        for one in reversed(redactions[-1].removals)  # the first place of a text says who has taken it out
    }
    texts = [turn.text for turn in chat.turns]
    turns = [
        SwappedTurn(turn=number, user=user, assistant=texts[at + 1] if at + 1 < len(texts) else None)
        for number, (at, user) in enumerate([*enumerate(texts)][::2], start=1)
    ]
    content = json.dumps([attempt.slot, chat.system, texts], ensure_ascii=False)
    return LoggedDialogue(
        sha256=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest(),
        day=chat.time and chat.time.date().isoformat(),
        system=chat.system or None,
        turns=turns,
        language=reading.language.strip(),
        orders=[_with_marks(text, taken.values()) for text in reading.orders if stands(text, transcript)],
        redacted=[*reversed(taken.values())],
    )


def _transcript(chat: LoggedChat) -> str:
    """What the redactor reads."""
    system = [f"system: {chat.system}"] if chat.system else []
    return "\n\n".join([*system, *(f"{turn.role}: {turn.text}" for turn in chat.turns)])


def reading_rules(reading: ChatReading) -> list[str]:
    """What is wrong with a reading, whatever the conversation says."""
    reasons = [] if words_of(reading.language) else ["Name the language."]
    for number, entry in enumerate(reading.private, start=1):
        if len(entry.text) > _LONGEST or "\n" in entry.text:
            problem = "is longer than a name; list the private words alone, each by itself"
        elif sum(map(str.isalnum, entry.text)) < _FEWEST:
            problem = "is no name; leave it out"
        else:
            continue
        reasons.append(f"Entry {number} of `private` {problem}.")
    return reasons


def _taken_out(redaction: Redaction, reading: ChatReading, product: str) -> tuple[Redaction, list[int]]:
    """The redaction with what a reading names, and the numbers of entries that got no mark, counted from 1.

    Of two entries of which one holds the other, the longer one is taken out first. What the product's text names stays.
    """
    unmarked = list[int]()
    entries = sorted(enumerate(reading.private, start=1), key=lambda entry: -len(entry[1].text))
    for number, entry in entries:
        if not holds(product, entry.text):
            redaction, absent = redaction.marked([entry.text], entry.kind)
            unmarked += [number] if absent else []
    return redaction, sorted(unmarked)


def _with_marks(text: str, taken: Iterable[Redacted]) -> str:
    """A passage with marks in place of what was taken out."""
    for one in sorted(taken, key=lambda one: -len(one.text)):
        text = text.replace(one.text, one.mark)
    return text
