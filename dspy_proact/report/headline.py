"""What a run, two runs or a study show: one plain sentence that claims no more than the numbers carry."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dspy_proact.report.measured import in_nouns
from dspy_proact.report.numbers import bounds, counted, listed, plain, seen_from, share, signed
from dspy_proact.stand_in import demonstration
from dspy_proact.stats import CLAIM_GROUPS, ENOUGH_RATERS, SHARE_ITEMS, Estimate, is_claimed
from dspy_proact.stats.paired import LEVEL, excludes_zero

if TYPE_CHECKING:
    from dspy_proact.report.comparison import Comparison, Difference, Differences
    from dspy_proact.report.study import RatingStudy
    from dspy_proact.report.summary import Summary

_HIGHER = ("scores higher", "scores lower")


def headline(summary: "Summary") -> str:
    """The score of the model under test, 0 to 100, over what was scored, and the stratum in which it is lowest.

    Counts of what is unscored or pending follow. A stratum is named where its interval lies below that of every other.
    """
    states = [f"{count} {state}" for state in ("unscored", "pending") if (count := summary.count(state))]
    missing = f" ({listed(states)})" if states else ""
    corpus = summary.manifest and summary.manifest.corpus.name
    of = summary.benchmark if corpus is None or summary.benchmark in corpus else f"the corpus {corpus}"
    cases = f"{counted(summary.case_count, summary.nouns.case, summary.nouns.cases)} of {of}"
    if len(summary.outcomes) != summary.case_count:
        cases = f"{counted(len(summary.outcomes), 'answer')} to {cases}"
    if not summary.scored:
        message = f"{summary.model_name} has no score, with 0 of {cases} scored{missing}"
    else:
        scored = f"the {len(summary.scored):,} scored of {cases}{missing}" if missing else cases
        by_stratum, further = summary.leading is summary.macro, ""
        for measure in (measure for measure in summary.shown_measures() if measure.name == summary.reporting.beside):
            value = summary.measured(summary.outcomes, by_stratum)[measure.name].value
            further = "" if value is None else f" with {value:.2f} {measure.title}"
        mean = f", {'means' if further else 'the mean'} of the {summary.nouns.strata}," if by_stratum else ""
        message = f"{summary.model_name} scored {_score(summary.leading.weighted)}{further}{mean} on {scored}"
        scores = {name: summary.scores(name).weighted for name in summary.strata}
        for name, score in scores.items():
            others = [other.low for stratum, other in scores.items() if stratum != name]
            if others and score.high is not None and all(low is not None and score.high < low for low in others):
                message += f", lowest in {name}: {_score(score)}"
    return f"{demonstration(summary.roles)}{message},{summary.graded_by.removeprefix(',')}."


def comparison_headline(comparison: "Comparison", first: str = "a", second: str = "b") -> str:
    """In which strata b is better or worse than a, by the test that is adjusted over the strata.

    Where nothing was shown it says what would have been, and how often; where nothing could have been, why. "Better" is
    said only of real models, where both were judged alike and everything that both were asked is scored in both. Who
    left what out follows, and what is shown with that counted 0 where it differs. `first` and `second` name a and b.
    """
    begin = demonstration(comparison.roles)
    a, b = first, second
    # By their models, or by their judges where only these differ.
    models = comparison.a.model_name, comparison.b.model_name
    judges = comparison.a.graded_by.strip(), comparison.b.graded_by.strip()
    if differing := next((pair for pair in (models, judges) if pair[0] != pair[1]), None):
        a, b = _called(first, differing[0]), _called(second, differing[1])
    rows = comparison.lenient.rows
    if shown := _significant(comparison.lenient):
        fair = not begin and comparison.judged_alike and len(comparison.pairs) == comparison.shared
        message = [_sides(shown, ("is better", "is worse") if fair else _HIGHER, a, b)]
        unable = [name for name, row in rows.items() if name not in shown and row.weighted.reason]
        if alike := [name for name in rows if name not in shown and name not in unable]:
            message.append(f"no difference was detected on {listed(alike)}")
        if unable:
            message.append(f"no test was possible on {listed(unable)}")
    else:
        message = [_not_shown(comparison, a, b)]
    return f"{begin}{'; '.join([*message, *_reserved(comparison, first, second)])}."


def study_headline(study: "RatingStudy") -> str:
    """Whether the judge agrees with a person more or less than another person does, within strata, averaged over them.

    It is said where the 98 % interval of the difference says so, of 30 items or more in ten groups or more, and of
    other raters where there are four or more, else of these alone. Where there is no judge, how far people agree with
    each other; where nobody rated an item twice, on how many items the judge gives the grade that these raters gave.
    """
    compiled = f"the judge was compiled on {study.learned_on}"
    reserved = (
        (study.ratings.agents, "these raters are language-model agents, not people"),
        (study.learned_on, f"{compiled} of the rated items, so that this is no test of it"),
        (study.excluded, "raters who disagree with the judge were left out, which raises its agreement"),
    )
    parts = [_Finding(study).sentence, *(sentence for holds, sentence in reserved if holds)]
    return f"{demonstration(study.roles)}{'; '.join(parts)}."


class _Finding:
    """What a study shows of a judge beside people, or of people alone; of fewer than four raters, of these alone."""

    def __init__(self, study: "RatingStudy"):
        self._study, self._pooled, self._within, self._nouns = study, study.pooled, study.pooled.within, study.nouns
        raters = self._within.raters or 0
        self._judge = study.judge or "the judge"
        self._person = "rater" if study.ratings.agents else "person"
        self._part = f" of the {study.part.name}" if study.part.name else ""
        few = raters < ENOUGH_RATERS
        self._one = f"one of these {raters or 'few'} raters" if few else f"a {self._person}"
        self._another = "another of them" if few else f"another {self._person}"
        self._begin = f"On the {counted(self._within.items, 'item')} with two ratings or more{self._part}"
        enough = (self._pooled.reference.raters or 0) >= ENOUGH_RATERS
        self._scope = ", allowing for a different sample of raters" if enough else ""
        self._strata = f"within {self._nouns.strata}" if len(study.order) > 1 else ""

    @property
    def sentence(self) -> str:
        """Without its stop and its reservations."""
        if not self._within.items:
            return self._without_pairs()
        return self._of_judge() if self._pooled.compared else self._of_people()

    def _without_pairs(self) -> str:
        """Nobody rated an item twice that is compared."""
        study, pooled = self._study, self._pooled
        reason = f"no item has two ratings{self._part}"
        if pooled.paired:
            reason = f"no item has {study.choices.min_ratings} ratings{self._part}"
            if pooled.enough:
                reason = f"no item that the judge graded has two ratings{self._part}"
        nothing = f"nothing can be said of a judge beside a {self._person}, for {reason}"
        if not pooled.compared:
            return nothing[0].upper() + nothing[1:]
        raters = {grade.rater for item in pooled.compared for grade in item.grades[study.part.name]}
        whose = "the only rater" if len(raters) == 1 else f"these {counted(len(raters), 'rater')}"
        same = sum(row[level] for level, row in enumerate(pooled.confusion))
        exact = pooled.estimates["exact"]
        rate = "" if exact.value is None else f" ({share(exact.value)} %, {bounds(in_nouns(exact, self._nouns))})"
        items = counted(len(pooled.compared), "item")
        return f"{self._judge} gives the grade{self._part} that {whose} gave on {same:g} of {items}{rate}; {nothing}"

    def _of_people(self) -> str:
        """No judge is compared."""
        people, kappa = f"unknown ({self._within.one_human.reason})", in_nouns(self._within.one_human, self._nouns)
        if kappa.value is not None:
            span = bounds(kappa, lambda value: f"{value:.2f}")
            people = f"{plain(kappa)} ({span}{self._scope if kappa.low is not None else ''})"
        strata = f", {self._strata}" if self._strata else ""
        agree = f"{self._begin} {self._one} agrees with {self._another} at kappa {people}{strata}"
        return f"{agree}; no judge is compared, for {self._pooled.silence}"

    def _of_judge(self) -> str:
        """The judge beside one person, by the 98 % interval of the difference from another person."""
        within, nouns, judge, one = self._within, self._nouns, self._judge, self._one
        difference = in_nouns(within.difference, nouns)
        if difference.value is None or difference.low is None or difference.high is None:
            reason = f"their difference has no interval: {difference.reason}"
            return f"{self._begin} nothing can be said of {judge} beside {one}, for {reason}"
        kappas = (
            f"kappa{f' {self._strata}' if self._strata else ''} {plain(within.judge)} and {plain(within.one_human)}, "
            f"difference {difference.value:+.2f}, {bounds(difference, lambda value: f'{value:+.2f}')}{self._scope}"
        )
        groups = len({item.group for item in self._pooled.compared if len(self._pooled.grades(item)) > 1})
        low, high = within.low98 or 0, within.high98 or 0
        if groups < CLAIM_GROUPS or within.items < SHARE_ITEMS:
            few = counted(groups, nouns.group, nouns.groups) if groups < CLAIM_GROUPS else counted(within.items, "item")
            kappas = f"{kappas}; {few} would be too few for a claim"
        elif low > 0 or high < 0:
            side = "better" if low > 0 else "less well"
            subsets, by_stratum = self._study.strata.items(), ""
            rated = {name: subset.reference.difference for name, subset in subsets if subset.reference.items}
            showing = [name for name, of_stratum in rated.items() if excludes_zero(of_stratum)]
            if len(rated) != len(showing) and len(rated) != 1:
                where = f"{listed(showing)} only" if showing else "none"
                by_stratum = f"; by {nouns.stratum}, the interval excludes 0 in {where}"
            return f"{self._begin} {judge} agrees with {one} {side} than {self._another} does ({kappas}{by_stratum})"
        elif within.low98 is not None and (difference.low > 0 or difference.high < 0):
            kappas = f"{kappas}; by the 98 % interval, {low:+.2f} to {high:+.2f}, which decides"
        side = f"better or less well than {self._another} does"
        return f"{self._begin} it cannot be told whether {judge} agrees with {one} {side} ({kappas})"


def _score(score: Estimate) -> str:
    return f"{share(score.value)} of 100 ({bounds(score)})"


def _significant(differences: "Differences") -> "Mapping[str, Difference]":
    """The strata that differ by more than chance, adjusted over all of them."""
    rows, adjusted = differences.rows, differences.adjusted
    return {name: row for name, row in rows.items() if is_claimed(row.weighted, adjusted[name][0])}


def _sides(rows: "Mapping[str, Difference]", verbs: tuple[str, str], a: str, b: str) -> str:
    """In which of these strata b is above a, and in which below."""
    sides: list[str] = []
    there = {name: row.weighted.difference for name, row in rows.items()}
    for verb, sign in zip(verbs, (1, -1), strict=True):
        strata = [
            f"{name} ({signed(difference.value)} points, {bounds(difference, signed)})"
            for name, difference in there.items()
            if difference.value is not None and difference.value * sign > 0
        ]
        if strata:
            than = "" if sides else f" than {a}"
            sides.append(f"{verb}{than} on {listed(strata)}")
    return f"{b} {' and '.join(sides)}"


def _not_shown(comparison: "Comparison", a: str, b: str) -> str:
    nouns = comparison.a.nouns
    rows = comparison.lenient.rows
    tested = [row.weighted for row in rows.values() if row.weighted.p is not None]
    if not comparison.pairs:
        return f"{b} cannot be compared with {a}: no {nouns.case} is scored in both"
    # The smallest p of G flipped groups is 2 / 2^G, and Holm multiplies the smallest by the number of strata.
    groups = max((paired.groups for paired in tested), default=1)
    if not tested or len(tested) * 2 / 2**groups > LEVEL:
        few = f"{counted(groups, nouns.group, nouns.groups)} {'is' if groups == 1 else 'are'}"
        strata = counted(len(tested) or len(rows), nouns.stratum, nouns.strata)
        # A mean over the strata has more groups, and may differ: the sentence is of the tests that Holm adjusts.
        test = f"A test of {b} against {a} within one {nouns.stratum}"
        return f"{test} cannot become significant: {few} too few in {strata}"
    if all(pair.score[0] == pair.score[1] for pair in comparison.pairs):
        cases = counted(len(comparison.pairs), nouns.case, nouns.cases)
        return f"{b} and {a} have the same score on each of {cases} scored in both"
    nothing = f"No difference between {b} and {a} was detected in any {nouns.stratum}"
    known = ((seen, name, row.weighted.base) for name, row in rows.items() if (seen := seen_from(row.weighted)))
    (often, half), name, base = min(known, default=((0, 0), "", None))
    if not name:
        return nothing
    power = f"80 % power to detect {counted(often, 'point')} from a score of {share(base)}, and 50 % to detect {half}"
    return f"{nothing}; the most sensitive, {name}, has {power}"


def _called(name: str, what: str) -> str:
    """A name with what it is in one pair of brackets: `b (model, prompt 8fc37674)`."""
    return f"{name} ({what.removesuffix(')').replace(' (', ', ') if what.endswith(')') else what})"


def _reserved(comparison: "Comparison", first: str, second: str) -> Iterator[str]:
    """What limits the comparison: what is left out and counts 0 instead, other judges, and what was compiled on it."""
    nouns, scored, shared = comparison.a.nouns, len(comparison.pairs), comparison.shared
    sides = zip((first, second), comparison.unscored, strict=True)
    missing = [f"{count:,} unscored by {name}" for name, count in sides if count]
    if untried := shared - len(comparison.tried):
        missing.append(f"{untried:,} not tried by both")
    if missing:
        of = f"based on the {scored:,} of {shared:,} shared {nouns.cases} scored in both: " if scored else ""
        yield f"{of}{listed(missing)}"
    lenient, strict = (_significant(differences) for differences in (comparison.lenient, comparison.strict))
    if _signs(lenient) != _signs(strict):
        seen = _sides(strict, _HIGHER, first, second) if strict else f"no difference of {second} is detected"
        yield f"with the unscored counted 0, {seen}"
    if not comparison.judged_alike:
        known = comparison.a.manifest and comparison.b.manifest
        same = "the responses are the same, so only the judging differs"
        differently = "they were judged differently" if known else "it is not known whether both were judged alike"
        yield same if known and comparison.agreement else differently
    for name, side in ((first, comparison.a), (second, comparison.b)):
        if side.manifest and side.manifest.learned_on:
            rows = f"{side.manifest.learned_on:,} of these {nouns.rows}"
            yield f"{name} was compiled on {rows}, so this comparison is not a test of it"


def _signs(rows: "Mapping[str, Difference]") -> dict[str, bool]:
    """Of strata that differ, whether b is above a."""
    return {name: (row.weighted.difference.value or 0) > 0 for name, row in rows.items()}
