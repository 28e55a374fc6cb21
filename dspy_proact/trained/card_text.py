"""The card of a trained model on a terminal, as a JSON document, and as Markdown for the README of the model."""

from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console

from dspy_proact.programs.card_rows import MARGIN, CardRow
from dspy_proact.publish.markdown import table_lines, unmarked
from dspy_proact.report.numbers import document, fields_of, percent, points_of, probability
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import reason_lines, show, table
from dspy_proact.stats import CLAIM_GROUPS, CLAIM_LABELS
from dspy_proact.trained.card import CLAIM_CHOICES, CLAIM_P, TrainedCard

_HEADS = ("", "n", "base", "trained", "change", "p")


def cells_of(row: CardRow) -> list[str]:
    """The cells of a row of a card, after its title."""
    count = str(row.count) if row.count == row.total else f"{row.count}/{row.total}"
    before, after, difference = row.before, row.after, row.difference
    if row.unit == "times":
        means = (
            "-" if number.value is None else f"{number.value:{'.0f' if number.value >= 10 else '.2g'}}"
            for number in (before, after)
        )
        return [count, *means, "-" if difference.value is None else f"x {difference}", probability(row.p)]
    if row.unit in ("kappa", "value"):
        return [count, *map(str, (before, after, difference)), probability(row.p)]
    return [count, percent(before), percent(after), points_of(difference), probability(row.p)]


def trained_card_document(card: TrainedCard) -> dict[str, Any]:
    """The document of `compare --card --json`; `preference` and `trained_on` are null where there are none."""
    first, choices, trained = card.headline, card.choices, card.trained
    numbers = ("tuned", "base", "ties", "alike", "first", "chosen")
    return {
        "headline": first.text,
        "claim": first.claim,
        "shown": card.shown,
        "base": _run(card.base),
        "trained": _run(card.tuned),
        card.base.nouns.cases: len(card.keys),
        "left_out": card.left_out,
        "conditions": [
            {"name": one.name, "met": one.met, "text": one.text, "unmet": one.unmet or None} for one in card.conditions
        ],
        "rows": [row.model_dump(mode="json") for row in card.rows],
        "preference": choices
        and {
            "judges": list(choices.judges),
            "folder": choices.path and str(choices.path),
            **document(card.preference.after),
            **fields_of(choices, *numbers),
        },
        "trained_on": trained and fields_of(trained, "sources", "rows", "reserved", "judges", "judged"),
    }


def _run(summary: Summary) -> dict[str, Any]:
    return {"path": summary.path, "model": summary.model_name, "judges": list(summary.judges)}


def print_trained_card(
    card: TrainedCard,
    console: Console | None = None,
    explain: bool = False,
    spelled: Callable[[str], str] = lambda text: text,
) -> None:
    """Print the claim, or why there is none, every condition, and the numbers; `spelled` writes names of options."""
    rows = [[row.title, *cells_of(row)] for row in card.rows]
    show(
        console,
        *map(spelled, card.headline.lines),
        f"base: {card.base.path}, {card.base.model_name}; trained: {card.tuned.path}, {card.tuned.model_name}.",
        *(spelled(f"{'met' if one.met else 'not met'}: {one.name}: {one.text}.") for one in card.conditions),
        table(_HEADS, rows, fold=False),
        *reason_lines((row.title, row.difference.reason) for row in card.rows),
        *(_explained(card) if explain else ()),
    )


def trained_card_markdown(card: TrainedCard, spelled: Callable[[str], str] = lambda text: text) -> str:
    """The same for people who read the README of the model."""
    conditions = ((one.name, "yes" if one.met else "no", unmarked(spelled(one.text))) for one in card.conditions)
    rows = ([unmarked(cell) for cell in (row.title, *cells_of(row))] for row in card.rows)
    return "\n".join(
        [
            unmarked(spelled(card.headline.text)),
            "",
            *table_lines(("condition of a claim", "met", "found"), conditions),
            "",
            *table_lines(_HEADS, rows),
            "",
            *_explained(card),
            "",
        ]
    )


def _explained(card: TrainedCard) -> Iterator[str]:
    nouns, choices = card.base.nouns, card.choices
    yield (
        f"Means in %, each {nouns.case} weighted equally; {nouns.cases} that share data with the named training data "
        f"are left out. An improvement is claimed where every condition is met. score: the 98 % interval of its change "
        f"lies above 0, and its p is {CLAIM_P} or less, which allows for the best of ten checkpoints, on "
        f"{CLAIM_LABELS} {nouns.cases} in {CLAIM_GROUPS} {nouns.groups} or more. judges: none is of a family, by its "
        f"name, that rewarded. {nouns.controls} and preference: not worse by more than {100 * MARGIN:g} points, and "
        f"not shown to be worse (one-sided 90 %)."
    )
    if choices:
        yield (
            f"preference: two different responses are shown in both orders; the same choice in both is a choice, "
            f"anything else a tie; a claim takes {CLAIM_CHOICES} choices. What stood first was chosen "
            f"{choices.first:,} of {choices.chosen:,} times."
        )
