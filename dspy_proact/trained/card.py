"""The card of a trained model: whether it is shown to be better than what it was made from, and why not.

An improvement is claimed only where every condition is met; each has its number, its interval and its denominator. All
of them speak of cases whose unit, such as the persona, the model was not trained on.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.split import units_of
from dspy_proact.models import EMBEDDED
from dspy_proact.programs.card_rows import MARGIN, CardRow
from dspy_proact.report.comparison import compare
from dspy_proact.report.numbers import bounds, counted, interval, listed, probability, signed
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Case, Outcome
from dspy_proact.stand_in import demonstration
from dspy_proact.stats import (
    CLAIM_GROUPS,
    CLAIM_LABELS,
    Change,
    Headline,
    enough_for_claim,
    holm,
    is_shown_lower,
    length_change,
    score_change,
)
from dspy_proact.trained.families import families_of
from dspy_proact.trained.preference import PairChoices, why_no_pairs
from dspy_proact.trained.trained_on import TrainedOn
from dspy_proact.types import Frozen

CLAIM_P = 0.002
"""With a greater p nothing is claimed. The 98 % interval alone has a claim in a hundred cards of a model that training
left as it was; with this it is one in a hundred where the best of ten checkpoints is shown. Ten groups can reach it."""
CLAIM_CHOICES = CLAIM_LABELS // 2
"""With fewer choices nothing is claimed: a judge that takes whatever stands first makes ties alone."""
_OF_THE_MODEL = ("assistant.model", "assistant.endpoint", "parent")
"""What may differ between two runs of which only the model differs; the answers that were judged again do."""
_REFUSED = ("benchmark", "settings", "corpus", "judge", "judges", "roles")
"""What may not differ."""


class Condition(Frozen):
    """One of the conditions of a claim."""

    name: str
    text: str
    """What is known, with its numbers, and why that is not enough: a sentence without its stop."""
    unmet: str = ""
    """Why nothing may be claimed, a short clause; empty where it is met."""

    @classmethod
    def of(cls, name: str, text: str, unmet: str = "") -> "Condition":
        """One whose text gives the reason after what is known."""
        return cls(name=name, text=f"{text}; {unmet}" if unmet else text, unmet=unmet)

    @property
    def met(self) -> bool:
        """Whether a claim may stand as far as it is concerned."""
        return not self.unmet


@dataclass(frozen=True)
class TrainedCard:
    """Two runs, what the model of the second was trained on, and what a judge without the rubric prefers.

    Raises:
        UsageError: The runs cannot be compared: they are no runs, of several benchmarks, corpora, settings or judges.
    """

    base: Summary
    tuned: Summary
    declared: Benchmark[Any, Any]
    trained: TrainedOn | None
    """None where a person does not say."""
    choices: PairChoices | None = None
    """None where no judge was asked."""

    def with_choices(self, choices: PairChoices) -> "TrainedCard":
        """A copy that knows what a judge without the rubric chose."""
        return replace(self, choices=choices)

    def __post_init__(self) -> None:
        for run in (self.base, self.tuned):
            if run.manifest is None:
                raise UsageError(f"{run.path}: a card is of folders of runs; grade these answers by a run")
        if not self.base.ordered:
            raise UsageError(f"{self.base.path}: its labels have no order, so that no score can rise")
        if wrong := [name for name in self._differing if name.partition(".")[0] in _REFUSED]:
            a, b = self._differing[wrong[0]]
            raise UsageError(
                f"{self.base.path} and {self.tuned.path}: differ in {', '.join(wrong)} ({wrong[0]}: {a}, {b}); a card "
                "compares runs with one corpus, settings and judge: `rejudge` grades both alike"
            )

    @cached_property
    def _differing(self) -> dict[str, tuple[str, str]]:
        return {name: (a, b) for name, a, b in compare(self.base, self.tuned).changed}

    # The test

    @cached_property
    def _cases(self) -> dict[str, Case]:
        """Each case, and control case, of either run, by key."""
        runs = (self.base, self.tuned)
        outcomes = [one for run in runs for one in (*run.outcomes, *run.controls.outcomes)]
        return {one.key: Case(one.key, one.group, one.stratum, Frozen(), one.meta) for one in outcomes}

    @cached_property
    def _trained_keys(self) -> frozenset[str]:
        """Those that share data with what the model was trained on."""
        if self.trained is None:
            return frozenset()
        return self.trained.left_out(self._cases.values(), units_of(self.declared, self._cases.values()))

    @cached_property
    def _common(self) -> dict[str, tuple[list[Outcome], list[Outcome]]]:
        """The outcomes of each case, or control case, that both were asked in the same words, one an epoch."""
        sides = defaultdict[str, tuple[list[Outcome], list[Outcome]]](lambda: ([], []))
        for side, run in enumerate((self.base, self.tuned)):
            for outcome in (*run.outcomes, *run.controls.outcomes):
                sides[outcome.key][side].append(outcome)
        alike = self.base.reporting.alike
        return {key: both for key, both in sides.items() if all(both) and alike(both[0][0], both[1][0])}

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The cases of the test: what both were asked and the model was not trained on."""
        return tuple(one.key for one in self._unique(self.base.outcomes) if self._is_tested(one.key))

    @property
    def left_out(self) -> int:
        """Cases that both were asked and that share their unit with what it was trained on."""
        cases = {outcome.key for outcome in self.base.outcomes}
        return sum(key in self._trained_keys for key in self._common if key in cases)

    def _is_tested(self, key: str) -> bool:
        return key in self._common and key not in self._trained_keys

    @staticmethod
    def _unique(outcomes: Sequence[Outcome]) -> list[Outcome]:
        return [*{outcome.key: outcome for outcome in outcomes}.values()]

    def _scores(self, keys: Sequence[str]) -> tuple[list[float | None], list[float | None], list[str]]:
        """Scores before and after, averaged over epochs, None where one is missing; and the groups."""
        sides = [
            [
                fmean(one.score for one in self._common[key][side])
                if all(one.state == "scored" for one in self._common[key][side])
                else None
                for key in keys
            ]
            for side in (0, 1)
        ]
        return sides[0], sides[1], [self._common[key][0][0].group for key in keys]

    # Its rows

    @cached_property
    def change(self) -> Change:
        """Of the score: it carries the claim."""
        return score_change(*self._scores(self.keys))

    @cached_property
    def target(self) -> CardRow:
        """The score over the cases of the test, each weighted equally."""
        return self._row(self.change, name="score", title="score", total=len(self.keys))

    @cached_property
    def strata(self) -> tuple[CardRow, ...]:
        """The score of each stratum, where there are several; p is adjusted over them."""
        own = {name: [key for key in self.keys if self._common[key][0][0].stratum == name] for name in self.base.strata}
        there = {name: keys for name, keys in own.items() if keys}
        if len(there) < 2:
            return ()
        changes = {name: score_change(*self._scores(keys)) for name, keys in there.items()}
        adjusted = holm([change.p for change in changes.values()])
        return tuple(
            self._row(change, name=name.lower(), title=name, total=len(there[name]), margin=MARGIN, p=p)
            for (name, change), p in zip(changes.items(), adjusted, strict=True)
        )

    @cached_property
    def controls(self) -> CardRow | None:
        """The share of unwanted acts at control cases; None where both runs have none."""
        if not self._controls:
            return None
        return self._row(
            self._harm,
            name="controls",
            title=self.base.controls.title,
            total=len(self._controls),
            unit="rate",
            margin=MARGIN,
        )

    @cached_property
    def _controls(self) -> tuple[str, ...]:
        return tuple(one.key for one in self._unique(self.base.controls.outcomes) if self._is_tested(one.key))

    @cached_property
    def _harm(self) -> Change:
        before, after, groups = self._scores(self._controls)
        harm = [[None if score is None else 1 - score for score in side] for side in (before, after)]
        return score_change(harm[0], harm[1], groups)

    @cached_property
    def length(self) -> CardRow:
        """Words of the responses of both, where both have one."""
        words = {
            key: sides
            for key in self.keys
            if all(sides := [[len(one.response.split()) for one in of if one.response] for of in self._common[key]])
        }
        before, after = ([fmean(sides[side]) for sides in words.values()] for side in (0, 1))
        change = length_change(before, after, [self._common[key][0][0].group for key in words])
        return self._row(change, name="length", title="words", total=len(self.keys), unit="times")

    @cached_property
    def preference(self) -> Change:
        """Of one half to the share of choices for the trained model, a tie being half a choice."""
        return score_change(*self._choices)

    @property
    def _choices(self) -> tuple[list[float], list[float | None], list[str]]:
        scores = [self.choices.scores.get(key) if self.choices else None for key in self.keys]
        return [0.5] * len(scores), scores, [self._common[key][0][0].group for key in self.keys]

    @property
    def rows(self) -> tuple[CardRow, ...]:
        """The score first; strata, control cases and length beside it."""
        return tuple(filter(None, (self.target, *self.strata, self.controls, self.length)))

    def _row(self, change: Change, **kind: Any) -> CardRow:
        return CardRow.of(change, nouns=self.base.nouns, **kind)

    # What a claim takes

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All of them, in the order in which one that is not met is named first."""
        return (
            self._gain(),
            self._data(),
            self._judges("judge", self.base.judges),
            self._model(),
            *self._unwanted(),
            *self._preferred(),
        )

    @property
    def shown(self) -> bool:
        """Whether an improvement is claimed."""
        return all(condition.met for condition in self.conditions)

    def _of_cases(self, count: int) -> str:
        return counted(count, self.base.nouns.case, self.base.nouns.cases)

    def _groups(self, count: int) -> str:
        return counted(count, self.base.nouns.group, self.base.nouns.groups)

    def _gain(self) -> Condition:
        """By the rules of a compile, and by a test that allows for several checkpoints."""
        change, difference, nouns = self.change, self.target.difference, self.base.nouns
        if difference.value is None:
            text = f"no {nouns.case} of the test is scored in both"
            return Condition(name="score", text=text, unmet=text)
        gain = f"{signed(difference.value)} points ({interval(difference, signed)})"
        text = f"{gain} on {self._of_cases(change.count)} in {self._groups(change.groups)}"
        if not enough_for_claim(change.count, change.groups):
            few = f"a claim takes {CLAIM_LABELS} {nouns.cases} in {CLAIM_GROUPS} {nouns.groups}"
            return Condition(name="score", text=f"{text}; {few}", unmet=f"{gain}, and {few}")
        low = "unknown" if change.low98 is None else signed(change.low98)
        text += f"; lower end of the 98 % interval: {low}"
        if change.unread:
            worst = "unknown" if change.low98_unread is None else signed(change.low98_unread)
            text += f", and {worst} counting the {change.unread:,} without a score against the trained model"
        if change.p is not None:
            text += f"; p {change.p:.4f}"
        unmet = "" if change.shown else f"{gain} are not shown to be a gain"
        if change.shown and (change.p is None or change.p > CLAIM_P):
            unmet = f"{gain} may be chance: p is {probability(change.p)}, and a claim takes {CLAIM_P}"
        return Condition(name="score", text=text, unmet=unmet)

    def _data(self) -> Condition:
        trained, name = self.trained, "training data"
        if trained is None:
            text = "what it was trained on is not known; name it with `trained_on`"
            return Condition(name=name, text=text, unmet=text)
        text = f"{counted(trained.rows, 'row')} of {', '.join(trained.sources)}; "
        text += f"{self._of_cases(self.left_out)} left out that share data with them"
        if trained.reserved:
            text += f"; {counted(trained.reserved, 'row')} of the split test taken as not used"
        if not trained.rows:
            return Condition.of(name, text, "no row that it was trained on is named")
        if unknown := trained.unknown(self._cases):
            unmet = f"{counted(unknown, 'row')} that it was trained on name neither a unit nor a case of the test"
            return Condition(name=name, text=f"{text}; {unmet}: export them anew", unmet=unmet)
        return Condition(name=name, text=text)

    def _judges(self, name: str, judges: Sequence[str]) -> Condition:
        """Whether who judges is of another family than whoever rewarded."""
        trained = self.trained
        if EMBEDDED in judges:
            return Condition.of(name, "it measures nothing", f"the {name} is the stand-in")
        if not judges:
            return Condition(name=name, text="the benchmark grades without one")
        by = listed([self._named(judge) for judge in judges])
        if trained is None or not trained.judged:
            unmet = "who rewarded is not known; name it with `rewarded_by`, or the rewards' folder with `trained_on`"
            return Condition(name=name, text=f"{by}; {unmet}", unmet=unmet)
        text = f"{by}; rewarded by {listed([self._named(judge) for judge in trained.judges]) or 'no judge'}"
        rewarding = {family for judge in trained.judges for family in families_of(judge)}
        alike = [judge for judge in judges if families_of(judge) & rewarding]
        return Condition.of(name, text, f"the {name} is of a family that rewarded" if alike else "")

    @staticmethod
    def _named(judge: str) -> str:
        return f"{judge} ({' and '.join(sorted(families_of(judge)))})"

    def _model(self) -> Condition:
        """Whether the runs differ in their model alone."""
        name, text = "model", f"{self.tuned.model_name} beside {self.base.model_name}"
        if EMBEDDED in (self.base.model, self.tuned.model):
            return Condition.of(name, text, "the stand-in is no model that was trained")
        differing = [one for one in self._differing if one.startswith("assistant") and one not in _OF_THE_MODEL]
        unmet = f"the runs differ in {', '.join(differing)} too" if differing else ""
        if not all(run.manifest and run.manifest.identity.assistant.prompt for run in (self.base, self.tuned)):
            unmet = "how a model was asked is not known of answers in a file"
        return Condition.of(name, text if unmet else f"{text}; asked alike", unmet)

    def _unwanted(self) -> list[Condition]:
        """By both rules that a compile has for what may not get worse."""
        nouns, row, change, name = self.base.nouns, self.controls, self._harm, "control cases"
        if self.declared.controls is None:
            return []
        if row is None or row.difference.value is None:
            unmet = f"no {nouns.control} of the test is scored in both"
            if not all(run.controls.outcomes for run in (self.base, self.tuned)):
                unmet += "; make both runs with `controls`"
            return [Condition(name=name, text=unmet, unmet=unmet)]
        text = f"{row.title} {signed(row.difference.value)} points ({interval(row.difference, signed)}) on"
        text += f" {counted(change.count, nouns.control, nouns.controls)} in {self._groups(change.groups)}"
        unmet = ""
        if change.groups < CLAIM_GROUPS:
            unmet = f"a claim takes {nouns.controls} in {CLAIM_GROUPS} {nouns.groups}, and there are {change.groups}"
        elif len({run.manifest.controls for run in (self.base, self.tuned) if run.manifest}) > 1:
            unmet = f"the {nouns.controls} of the runs were graded in different words, by different versions"
        elif worse := _worse(*self._scores(self._controls)):
            unmet = f"{row.title} rose {worse}"
            unmet += (
                f", counting the {change.unread:,} without a score against the trained model" if change.unread else ""
            )
        return [Condition.of(name, text, unmet)]

    def _preferred(self) -> list[Condition]:
        """Likewise, of the share of the trained model with a tie as half a choice."""
        choices, nouns, name = self.choices, self.base.nouns, "preference"
        if choices is None:
            unmet = "no judge without the rubric was asked which response is better; name one with `judge`"
            if refusal := why_no_pairs(self.declared):
                unmet = f"no judge without the rubric can be asked: {refusal}"
            return [Condition(name=name, text=unmet, unmet=unmet)]
        change, share, several = self.preference, self.preference.after, len(choices.judges) > 1
        text = "no pair of responses has a choice in both orders"
        if share.value is not None:
            text = f"{100 * share.value:.1f} % for the trained model ({bounds(share)}), a tie being half a choice, on"
            text += f" {self._of_cases(change.count)} in {self._groups(change.groups)}: "
            text += f"choices of {len(choices.judges)} judges, " if several else ""
            text += f"{choices.tuned:,} for it, {choices.base:,} against, {counted(choices.ties, 'tie')}, "
            text += f"{choices.alike:,} with equal responses"
        unmet = ""
        if not enough_for_claim(change.count, change.groups):
            unmet = f"a claim takes a preference on {CLAIM_LABELS} {nouns.cases} in {CLAIM_GROUPS} {nouns.groups}"
        elif choices.fewest < CLAIM_CHOICES:
            unmet = f"a claim takes {CLAIM_CHOICES} choices that are the same in both orders, and "
            unmet += f"a judge made {choices.fewest}" if several else f"there are {choices.fewest}"
        elif worse := _worse(*self._choices):
            whose = "the judges without the rubric prefer" if several else "the judge without the rubric prefers"
            unmet = f"{whose} the base model {worse}"
            unmet += f", counting the {change.unread:,} missing against the other" if change.unread else ""
        judges = [self._judges("judge without the rubric", choices.judges)] if choices.judges else []
        return [*judges, Condition.of(name, text, unmet)]

    @property
    def headline(self) -> Headline:
        """The claim, or why there is none."""
        first = next((condition for condition in self.conditions if not condition.met), None)
        change = self.change
        roles = [*self.base.roles, *self.tuned.roles]
        roles += [("judge of preference", judge) for judge in (self.choices.judges if self.choices else ())]
        if first is None:
            assert change.difference.value is not None, "its interval lies above 0"
            gain = f"{signed(change.difference.value)} points ({interval(change.difference, signed)})"
            sentence = f"Improvement shown: {gain} on {self._of_cases(change.count)} that it was not trained on"
        elif first.name == "score":
            sentence = f"No improvement shown: {first.unmet}"
        else:
            sentence = f"No improvement is claimed: {first.unmet}"
        return Headline(
            f"{demonstration(roles)}{sentence}.",
            side="higher" if first is None else None,
            number=None if change.difference.value is None else change.difference,
            test="98 % interval above 0",
            p=change.p,
            count=change.count,
        )


def _worse(before: Sequence[float | None], after: Sequence[float | None], groups: Sequence[str]) -> str:
    """How scores are known to be worse, as the end of a clause; empty where they are not.

    They are where their mean is lower by more than the margin of a guard, or where they are shown to be lower by the
    one-sided 90 % interval, as strata are for which a compile does not tune. A missing score counts as 1 before and
    as 0 after.
    """
    first, second = [1.0 if b is None else b for b in before], [0.0 if a is None else a for a in after]
    if is_shown_lower(first, second, groups):
        return "(shown by the one-sided 90 % interval)"
    return f"by more than {100 * MARGIN:g} points" if fmean(first) - fmean(second) > MARGIN + 1e-9 else ""
