"""The card of a compiled program: its headline, what was shown, what it cost, and with what it was made.

Every number of it, every interval and whether an improvement is claimed is worked out from the scores of its items when
somebody reads it: a file holds none of them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from pydantic import Field

from dspy_proact.calls import Price
from dspy_proact.plain_text import html_table, map_texts
from dspy_proact.programs.card_rows import CardNumbers, CardRow, fold_scores_of, numbers_of
from dspy_proact.programs.item_scores import ItemScores, Tokens
from dspy_proact.recipe import Recipe
from dspy_proact.runs import Nouns
from dspy_proact.stand_in import demonstration
from dspy_proact.stats import CLAIM_GROUPS, CLAIM_LABELS, ENOUGH_RATERS, Estimate, Headline, enough_for_claim
from dspy_proact.types import Frozen, RoleIdentity


class DataSource(Frozen):
    """What a program was compiled on."""

    name: str
    sha256: str
    revision: str | None = None
    """Of a dataset, or the commit of a study; None where it has none."""
    files: dict[str, str] = Field(default_factory=dict[str, str])
    """sha256 of each file of a study."""
    rows: tuple[str, ...] = ()
    """Marks of the rows of the corpus in it (`Benchmark.mark`), sorted."""


class Provenance(Frozen):
    """With what a program was made."""

    models: dict[str, RoleIdentity]
    """By what each was asked for: the program's own name, `proposer`, and so on."""
    recipe: Recipe
    start: str
    """sha256 of what the start says to its model."""
    data: DataSource
    embedded: bool
    """Whether a stand-in that measures nothing took part."""
    versions: dict[str, str]
    created: str
    """ISO 8601, UTC."""
    learned_before: tuple[str, ...] = ()
    """Marks of the rows that the start was compiled on, and its own start, and so on; sorted."""


class CandidateCard(Frozen):
    """A program that was tried, by the tuning judge on what candidates were compared on: chosen, not tested, there."""

    score: float
    """Mean score in [0, 1], as far as it was compared."""
    share: float
    """Share in (0, 1] of the cases on which it was compared, before it was dropped as unlikely to win."""
    harm: float | None
    """Mean harm at control cases in [0, 1]; None where that was not measured, or there are none."""
    broken: tuple[str, ...]
    """Guards that it does not keep; those of candidates that were not tested, being worse, are not known."""
    chosen: bool


class Proposals(Frozen):
    """What came of asking a proposer for instructions, over all training sets of a compile."""

    new: int = Field(default=0, ge=0)
    """Answers that differ from the instruction that they were to improve, and from other answers to its brief."""
    same: int = Field(default=0, ge=0)
    """Those that do not."""
    unread: int = Field(default=0, ge=0)
    """Requests without an answer that could be read; it was asked for twice unless it was cut, or the request refused.
    """

    @property
    def total(self) -> int:
        """All requests."""
        return self.new + self.same + self.unread

    def __str__(self) -> str:
        others = {"repeated an instruction": self.same, "could not be read": self.unread}
        rest = "".join(f"; {count} {what}" for what, count in others.items() if count)
        return f"{self.new} of {self.total} answers of the proposer were new instructions{rest}"


class CardUsage(Frozen):
    """What 1,000 answers of a program take."""

    prompt_tokens: int | None = Field(ge=0)
    completion_tokens: int | None = Field(ge=0)
    usd: float | None = Field(ge=0)

    @classmethod
    def of(cls, calls: Sequence[Tokens], answers: int, price: Price) -> Self:
        """That of so many answers by the calls that they took, repairs included; unknown where none was counted.

        A call whose tokens were not counted counts as the mean of those that were. An answer that stood in the record
        counts with the calls that it took when it was asked for.
        """
        known = [tokens for tokens in calls if tokens is not None]
        if not known or not answers:
            return cls(prompt_tokens=None, completion_tokens=None, usd=None)
        count = 1000 * len(calls) / answers
        prompt, completion = (round(count * sum(tokens) / len(known)) for tokens in zip(*known, strict=True))
        usd = price.of(prompt, completion, calls=round(count))
        return cls(prompt_tokens=prompt, completion_tokens=completion, usd=usd)

    @property
    def tokens(self) -> int | None:
        """Of prompts and answers."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


def points(difference: Estimate) -> str:
    """A difference with its interval, in points of a hundred; a dash where it is not known."""
    return difference.text(lambda value: f"{100 * value:+z.1f}")


def _kappa(difference: Estimate) -> str:
    """A difference of kappas with its interval, in words."""
    if difference.value is None or difference.low is None or difference.high is None:
        return "-" if difference.value is None else f"{difference.value:+z.2f} in kappa"
    return f"{difference.value:+z.2f} in kappa, 95 % {difference.low:+z.2f} to {difference.high:+z.2f}"


def tokens_ratio(before: CardUsage, after: CardUsage) -> float | None:
    """Tokens of an answer after by those before; None where they are not known."""
    return None if not before.tokens or after.tokens is None else after.tokens / before.tokens


class Card(Frozen):
    """What a compile showed, out of fold; the program itself was compiled on everything and has no score of its own."""

    nouns: Nouns
    """What an item and a group of items, which are not independent, are called, and so on."""
    unchanged: bool = False
    """Whether the program is the start: then nothing is claimed. A file in which that is not so is refused."""
    item_scores: ItemScores
    compiles: int = Field(default=1, ge=1)
    """Finished compiles on the same data, this one among them, in the folders beside it and in `compiles`."""
    warnings: tuple[str, ...] = ()
    """What weakens it, such as one judge for tuning and for reporting."""
    notes: tuple[str, ...] = ()
    """Further sentences, without their full stop."""
    guards: dict[str, float] = Field(default_factory=dict[str, float])
    """Margin of each guard."""
    candidates: tuple[CandidateCard, ...] = ()
    """Of the last compile, on everything, in the order of trying."""
    proposals: Proposals = Proposals()
    """Of all training sets."""
    further_counts: dict[str, tuple[int, int]] = Field(default_factory=dict[str, tuple[int, int]])
    """So many of so many that are no items, such as worked cases that are right."""
    overlap: dict[str, float] = Field(default_factory=dict[str, float])
    """Share in [0, 1] of the instructions' runs of eight words that stand in texts of a kind."""
    price: Price
    """Of the model of the program."""
    provenance: Provenance

    @property
    def aim(self) -> str:
        """What it was tuned for."""
        return self.item_scores.aim

    @property
    def numbers(self) -> CardNumbers:
        """What the scores of its items say."""
        return numbers_of(self.item_scores, self.nouns)

    @property
    def target(self) -> CardRow:
        """What it was tuned for: the one claim, chosen in advance."""
        return self.numbers.target

    @property
    def rows(self) -> tuple[CardRow, ...]:
        """Beside it: strata or parts, measures, control cases, length and tokens."""
        return self.numbers.rows

    @property
    def shown(self) -> bool:
        """Whether an improvement is claimed: the program is not the start, and its 98 % interval lies above 0."""
        return self.numbers.change.shown and not self.unchanged

    @property
    def items(self) -> int:
        """How many it was compiled on; control cases are not counted."""
        return len(self.item_scores.graded)

    @property
    def controls(self) -> int:
        """How many control cases there were beside them."""
        return len(self.item_scores.controls)

    @property
    def group_count(self) -> int:
        """How many groups it was compiled on."""
        return len({*self.item_scores.groups})

    @property
    def target_groups(self) -> int:
        """Groups of the items that the target counts, on which a claim would rest."""
        return self.numbers.change.groups

    @property
    def unscored(self) -> int:
        """Items left out of their number because a verdict on them could not be read, before or after."""
        return self.item_scores.unscored

    @property
    def raters(self) -> int:
        """People whose grades a judge was tuned to."""
        return self.item_scores.raters

    @property
    def fold_scores(self) -> tuple[float | None, ...]:
        """Mean score of each fold's program on its test items; None where none could be scored."""
        return fold_scores_of(self.item_scores)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """So many of so many, such as the verdicts whose quote stands in the answer."""
        return {**self.item_scores.evidence, **self.further_counts}

    @property
    def usage_before(self) -> CardUsage:
        """Of the start."""
        return self._usage(self.item_scores.calls_before)

    @property
    def usage_after(self) -> CardUsage:
        """Of the programs that were tested."""
        return self._usage(self.item_scores.calls_after)

    def _usage(self, calls: Sequence[Sequence[Tokens]]) -> CardUsage:
        return CardUsage.of([call for own in calls for call in own], self.item_scores.votes * len(calls), self.price)

    def __getitem__(self, name: str) -> CardRow:
        return next(row for row in (self.target, *self.rows) if row.name == name)

    @property
    def learned_from(self) -> frozenset[str]:
        """Marks of the rows that it was compiled on, and the programs from which its compile went on."""
        return frozenset((*self.provenance.data.rows, *self.provenance.learned_before))

    @property
    def headline(self) -> Headline:
        """Whether it rose by more than chance; where not, which measured gain it took. What it cost stands below."""
        target, change, kappa = self.target, self.target.difference, self.target.unit == "kappa"
        groups = self.target_groups
        cases = f"{target.count:,} {self.nouns.case if target.count == 1 else self.nouns.cases}"
        gain = "" if change.value is None else f" ({_kappa(change) if kappa else f'{points(change)} points'})"
        where = "" if kappa else f" in {self.aim}"
        beyond, unsure = self._costs
        if self.shown:
            whom = f"these {self.raters} raters" if self.raters > 1 else "this rater"
            few = kappa and self.raters < ENOUGH_RATERS
            claim = f": the judge agrees better with {whom if few else 'people'}" if kappa else ""
            sentence = (
                f"Improvement shown{where}{claim}{gain}, on {cases} not seen before{', at a cost' if beyond else ''}"
            )
        elif not target.count:
            sentence = f"No improvement is claimed{where}: nothing could be graded"
        elif self.unchanged:
            broken = sorted({guard for candidate in self.candidates for guard in candidate.broken})
            kept = f" that keeps {' and '.join(f'the guard on {guard}' for guard in broken)}" if broken else ""
            sentence = f"No improvement{where}: no candidate{kept} beat the starting program, which is kept unchanged"
            sentence += self._in_the_folds()
        elif (target.low98 or 0) > 0 and target.low98_unread is not None and target.low98_unread <= 0:
            unread = target.total - target.count
            sentence = f"No improvement shown{where}{gain}: not counting the {unread} unreadable against it"
        elif not enough_for_claim(target.count, groups):
            are = "is" if target.count == 1 else "are"
            few = f"{cases} in {groups} {self.nouns.group if groups == 1 else self.nouns.groups} {are} too few"
            sentence = f"No improvement is claimed{where}{gain}: {few}; a claim takes {CLAIM_LABELS} in {CLAIM_GROUPS}"
        elif change.value is None:
            sentence = f"No improvement is claimed{where}: {change.reason}"
        else:
            sentence = f"No improvement shown{where}{gain}{self._reach(cases)}"
        silent, caveats = self.unchanged or not target.count, list[str]()
        if not silent and any(row.margin is not None and row.count for row in self.rows):
            more = "further costs" if beyond else "costs beyond the usual margins"
            caveats += [f"beyond the usual margins: {', '.join(beyond)}."] if beyond else []
            caveats += [f"{more} cannot be excluded for {', '.join(unsure)}."] if unsure else []
            caveats = caveats or ["no cost beyond the usual margins."]
        if self.compiles > 1:
            chosen = "of the best of five, up to 15 % claim an improvement where there is none"
            caveats.append(f"one of {self.compiles} compiles on these data: {chosen}.")
        return Headline(
            f"{demonstration((role, model.model) for role, model in self.provenance.models.items())}{sentence}.",
            side="higher" if self.shown else None,
            number=None if silent or change.value is None else change,
            test="98 % interval above 0",
            p=target.p,
            count=target.count,
            caveats=(*caveats, *(f"warning: {warning}." for warning in self.warnings)),
        )

    @property
    def reach(self) -> float | None:
        """The measured gain from which on one is shown; None where no claim may be made, or there is no interval.

        It is how far the 98 % interval reaches below what was measured, counting the unreadable against it.
        """
        low, value, unread = self.target.low98, self.target.difference.value, self.target.low98_unread
        if low is None or value is None or not enough_for_claim(self.target.count, self.target_groups):
            return None
        return value - (low if unread is None else min(low, unread))

    def _in_the_folds(self) -> str:
        """What the change of a compile is worth that kept its start, as the end of a sentence; empty for none."""
        change, kappa = self.target.difference.value, self.target.unit == "kappa"
        size = "" if change is None else f"{abs(change):.2f}" if kappa else f"{100 * abs(change):.1f} points"
        if change is None or not any(digit in size for digit in "123456789"):
            return ""
        if change < 0 or self.numbers.change.shown:
            return f"; the {'gain' if change > 0 else 'loss'} of {size} in the folds is that of other programs"
        return f"; the gain of {size} in the folds, by other programs, may be chance"

    def _reach(self, cases: str) -> str:
        """The measured gain that would have been shown, as the end of a sentence."""
        reach, start, kappa = self.reach, self.target.before.value, self.target.unit == "kappa"
        if reach is None or start is None:
            return f": {self.target.difference.reason}" if self.target.difference.reason else ""
        if reach >= 1 - start:  # as also where the interval ends at the end of the scale
            return f": no gain from {f'{start:z.2f}' if kappa else f'{100 * start:z.1f} points'} could have been shown"
        more = f"{reach:.2f}" if kappa else f"{100 * reach:.1f} points"
        return f": with {cases} it takes a measured gain of more than {more}"

    @property
    def _costs(self) -> tuple[list[str], list[str]]:
        """What got worse beyond its usual margin, and of what that is not known."""
        costs = [row for row in self.rows if row.margin is not None and row.count]
        beyond = [
            f"{row.title} x {row.difference}" if row.unit == "times" else f"{row.title} {points(row.difference)} points"
            for row in costs
            if (row.worse or 0) > (row.margin or 0)
        ]
        unsure = [
            row.title
            for row in costs
            if (row.worse or 0) <= (row.margin or 0) and (row.worst is None or row.worst > (row.margin or 0))
            if not all(cost.alike for cost in costs)
        ]
        return beyond, unsure

    @property
    def summary(self) -> str:
        """What it shows and how it was made, in two sentences."""
        made, data = self.provenance.recipe, self.provenance.data
        how = f"Compiled by {made.optimizer}, seed {made.seed}, on {data.name} (sha256 {data.sha256[:16]})"
        return f"{how}. Its card, out of fold: {self.headline.text}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.headline.text!r})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rows = (
            (row.title, str(row.count), str(row.before), str(row.after), str(row.difference))
            for row in (self.target, *self.rows)
        )
        above = [*(["embedded stand-in"] if self.provenance.embedded else []), *self.headline.lines]
        return html_table(("out of fold", "n", "before", "after", "change"), rows, above=above)

    def document(self) -> Mapping[str, Any]:
        """The card as JSON, its headline, what that claims, and the tokens and price of one answer first."""
        usages = {"before": self.usage_before, "after": self.usage_after}
        cost: dict[str, Any] = {
            when: {name: None if number is None else number / 1000 for name, number in usage.model_dump().items()}
            for when, usage in usages.items()
        }
        cost["times_the_tokens"] = tokens_ratio(self.usage_before, self.usage_after)
        first, stored = self.headline, self.model_dump(mode="json", exclude={"nouns", "further_counts", "price"})
        names = ("aim", "shown", "reach", "items", "controls", "group_count", "target_groups", "unscored", "raters")
        return {
            "headline": first.text,
            "claim": first.claim,
            "cost_per_answer": cost,
            **{noun: getattr(self.nouns, noun) for noun in ("case", "group", "groups")},
            **{name: getattr(self, name) for name in names},
            "target": self.target.model_dump(mode="json"),
            "rows": [row.model_dump(mode="json") for row in self.rows],
            "fold_scores": list(self.fold_scores),
            "counts": {name: list(count) for name, count in self.counts.items()},
            **{f"usage_{when}": usage.model_dump(mode="json") for when, usage in usages.items()},
            **{name: stored[name] for name in (*(name for name in stored if name != "item_scores"), "item_scores")},
        }


def texts_in(value: Any) -> list[str]:
    """Every text in a value, in its order."""
    texts = list[str]()
    map_texts(value, lambda text: texts.append(text) or text)
    return texts


_RUN = 8
"""Words in a row that make an overlap."""


def overlap(text: str, others: Iterable[str]) -> float:
    """Share in [0, 1] of a text's runs of eight words that stand in one of the others; 0 where it has none."""

    def runs(of: str) -> list[tuple[str, ...]]:
        words = re.findall(r"\w+", of.casefold())
        return [tuple(words[index : index + _RUN]) for index in range(len(words) - _RUN + 1)]

    own = runs(text)
    seen = {run for other in others for run in runs(other)} if own else set[tuple[str, ...]]()
    return sum(run in seen for run in own) / len(own) if own else 0.0
