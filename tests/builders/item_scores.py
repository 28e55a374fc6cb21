"""Scores of items by hand, of which the numbers of a card are made, and numbers by hand in their place."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import PrivateAttr

from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.programs.card import Card
from dspy_proact.programs.card_rows import CardNumbers, CardRow
from dspy_proact.programs.item_scores import GradedPart, ItemScores, ScoreColumn
from dspy_proact.stats import Change

GROUPS = 10
LEVELS = tuple(reversed(Grade))
TOKENS = ((1000, 100),)
"""Of the one call of each answer."""


def of_judge(
    per_group: int = 6,
    *,
    groups: int = GROUPS,
    raters: int = 2,
    better: bool = True,
    errors: Mapping[str, int] | None = None,
    alike: str = "",
    votes: int = 1,
) -> ItemScores:
    """A judge that is wrong in three of four items, and right after: but for so many errors in some phases.

    Without `better` it errs after as before. All grades of the phase `alike` are one.
    """
    count, phases = groups * per_group, tuple(map(str, Phase))
    stratum = [item % 3 for item in range(count)]
    truth = [0 if phases[stratum[item]] == alike else (item // 3 + item // per_group) % 3 for item in range(count)]
    unsure = [item % 7 == 0 and phases[stratum[item]] != alike for item in range(count)]
    grades = [
        tuple((rater, (level + (rater > 0 and unsure[item])) % 3) for rater in range(raters))
        for item, level in enumerate(truth)
    ]
    before = [level if item % 4 == 0 else (level + 1) % 3 for item, level in enumerate(truth)]
    after, left = list(truth), dict(errors or {})
    for item in range(count):
        if left.get(phase := phases[stratum[item]], 0) > 0:
            after[item], left[phase] = (truth[item] + 2) % 3, left[phase] - 1
    part = GradedPart(
        name="",
        levels=LEVELS,
        scale="ordinal",
        grades=tuple(grades),
        before=tuple(before),
        after=tuple(after if better else before),
    )
    return ItemScores(
        strata=phases,
        votes=votes,
        groups=tuple(item // per_group for item in range(count)),
        folds=tuple(item // per_group % 2 for item in range(count)),
        stratum=tuple(stratum),
        parts=(part,),
        evidence_before=tuple((item > 0,) for item in range(count)),
        evidence_after=((True,),) * count,
        calls_before=(TOKENS * votes,) * count,
        calls_after=(TOKENS * votes,) * count,
    )


def of_assistant(count: int = 60, *, groups: int = GROUPS, better: bool = True, aim: str = "RECOVERY") -> ItemScores:
    """An assistant tuned for so many cases of a phase, which are a third or less, and as many of the others.

    It fails in three of four cases before, and in one of six after; one of three controls gets an offer.
    """
    strata = ("EMERGENT", "CRITICAL", aim)
    stratum = [2] * count + [0, 1] * 20 + [-1] * 20
    items = range(len(stratum))
    before = [float(item % 4 == 0) for item in items]
    after = [float(item % 6 > 0) for item in items] if better else before

    def column(
        kind: Any, name: str, title: str, first: Sequence[float], second: Sequence[float], *of: int
    ) -> ScoreColumn:
        sides = [tuple(side[item] if stratum[item] in of else None for item in items) for side in (first, second)]
        return ScoreColumn(kind=kind, name=name, title=title, before=sides[0], after=sides[1])

    offers = [float(item % 3 == 0) for item in items]
    words = [100.0 + item % 9 for item in items]
    return ItemScores(
        strata=strata,
        tuned_for=(2,),
        groups=tuple(item % groups for item in items),
        folds=tuple(item % groups % 2 for item in items),
        stratum=tuple(stratum),
        columns=(
            column("score", "score", "score", before, after, 0, 1, 2),
            column("controls", "offers", "unwanted offers", offers, offers, -1),
            column("length", "length", "words", words, [1.1 * number for number in words], 0, 1, 2),
        ),
        calls_before=(TOKENS,) * len(stratum),
        calls_after=(TOKENS,) * len(stratum),
    )


class CardByHand(Card):
    """A card whose numbers are not those of its items."""

    _by_hand: CardNumbers = PrivateAttr()

    @property
    def numbers(self) -> CardNumbers:
        """By hand."""
        return self._by_hand


def by_hand(
    card: Card, target: Mapping[str, Any], rows: Sequence[CardRow] | None = None, *, groups: int = GROUPS
) -> Card:
    """The card with other numbers in its target, and other rows; its claim rests on so many groups."""
    made = CardByHand(**{name: getattr(card, name) for name in Card.model_fields})
    row = card.target.model_copy(update=dict(target))
    change = Change(
        row.count,
        groups,
        row.before,
        row.after,
        row.difference,
        row.low98,
        row.p,
        row.total - row.count,
        row.low98 if row.low98_unread is None else row.low98_unread,
    )
    made._by_hand = CardNumbers(change, row, card.rows if rows is None else tuple(rows))
    return made
