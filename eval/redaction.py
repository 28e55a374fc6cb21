"""What the rules take out of conversations with planted personal data, and what they take that is none.

    python eval/redaction.py

Conversations are made of sentences of ours in English and German (`support/personal_texts.py`), with personal data of
known kind and position, and with what looks like it and is none: prices, times, dates, versions, numbers of orders and
articles, links to pages. Recall is the share of planted pieces of which no letter or digit is left; precision the share
of pieces taken out that overlap a planted one, or repeat a word of one. Names and towns in prose, which no rule can
know, are planted too: they are left to the redactor's model. The sentences are by the authors of the rules, so that
figures are an upper end; those of a second set were written after the rules, of which some were added for it since
then. Exits 1 where a figure of the first set is out of band.
"""

import argparse
import sys
from collections import Counter
from itertools import product
from random import Random

from support.bands import Band, Banded
from support.personal_texts import LANGUAGES, Planted, conversation

from dspy_proact.files.chats import LoggedChat, LoggedTurn
from dspy_proact.files.personal_data import Removal, redact_chat

SEED, CONVERSATIONS, QUICK = 20261129, 2000, 60
BY_FORM = ("EMAIL", "IBAN", "CARD", "IP", "URL", "KEY")
"""Kinds that have a form of their own."""
RECALL, RECALL_BY_FORM, PRECISION, STAYS = Band(0.9, 1.0), Band(0.98, 1.0), Band(0.98, 1.0), Band(0.99, 1.0)
Counts = Counter[tuple[str, str]]
"""By kind and outcome."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} conversations a language, for the tests")
    count = QUICK if parser.parse_args().quick else CONVERSATIONS
    tables = dict[str, list[str]]()
    for language, later in product(LANGUAGES, (False, True)):
        random, counts = Random(SEED), Counts()
        for _ in range(count):
            texts, planted = conversation(language, random, later)
            counts += outcomes(texts, planted)
        tables |= rows(language, counts, later)
    print(
        text := Banded(
            f"{count:,} conversations of six turns a language, seed {SEED}; recall and precision in %", tables
        )
    )
    sys.exit(int(text.out > 0))


def outcomes(texts: list[str], planted: list[Planted]) -> Counts:
    """How often a planted piece of a kind was planted and taken out, and a piece taken out as a kind was planted."""
    roles = ("user", "assistant") * len(texts)
    turns = tuple(LoggedTurn(role, text) for role, text in zip(roles, texts, strict=False))
    removals, counts = redact_chat(LoggedChat("made", turns, None, "made")).removals, Counts()
    for piece in planted:
        covered = {at for one in removals if one.turn == piece.turn for at in range(one.start, one.end)}
        letters = [at for at in range(piece.start, piece.end) if texts[piece.turn - 1][at].isalnum()]
        gone = not covered & set(letters) if piece.kind.startswith("=") else covered >= set(letters)
        counts += Counts({(piece.kind, "planted"): 1, (piece.kind, "right"): gone})
    personal = [piece for piece in planted if not piece.kind.startswith("=")]
    words = {word for one in personal for word in texts[one.turn - 1][one.start : one.end].casefold().split()}
    for removal in removals:
        right = any(overlaps(removal, piece) for piece in personal) or {*removal.text.casefold().split()} <= words
        counts += Counts({(removal.kind, "taken out"): 1, (removal.kind, "personal"): right})
    return counts


def overlaps(removal: Removal, piece: Planted) -> bool:
    """Whether what was taken out and a planted piece have a character in common."""
    return removal.turn == piece.turn and removal.start < piece.end and piece.start < removal.end


def rows(language: str, counts: Counts, later: bool = False) -> dict[str, list[str]]:
    """The table of what is personal, and that of what stays; nothing is asked of sentences written later."""
    any_share = Band(0.0, 1.0)
    kinds = sorted({kind for kind, _ in counts})
    personal_rows, kept = list[str](), list[str]()
    for kind in kinds:
        planted, right = counts[kind, "planted"], counts[kind, "right"]
        if kind.startswith("="):
            stays = (any_share if later else STAYS).text(right / planted, planted)
            kept.append(f"{kind[1:]} | {planted:,} | {stays}")
            continue
        band = any_share if later or "prose" in kind else RECALL_BY_FORM if kind in BY_FORM else RECALL
        recall = band.text(right / planted, planted) if planted else "-"
        taken, personal = counts[kind, "taken out"], counts[kind, "personal"]
        precision = (any_share if later else PRECISION).text(personal / taken, taken) if taken else "-"
        personal_rows.append(f"{kind} | {planted:,} | {recall} | {taken:,} | {precision}")
    language += ", written later" if later else ""
    return {
        f"{language} | planted | recall | taken out | precision": personal_rows,
        f"{language}, what stays | planted | untouched": kept,
    }


if __name__ == "__main__":
    main()
