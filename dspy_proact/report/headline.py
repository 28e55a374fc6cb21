"""What a run, two runs or a study show: one plain sentence that claims no more than the numbers carry."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dspy_proact.evaluation.measured_run import BY_ITSELF
from dspy_proact.report.caveats import caveats
from dspy_proact.report.measured import in_nouns
from dspy_proact.report.numbers import bounds, counted, interval, listed, marked, plain, seen_from, share, signed
from dspy_proact.stand_in import demonstration
from dspy_proact.stats import CLAIM_GROUPS, ENOUGH_RATERS, SHARE_ITEMS, Estimate, Headline
from dspy_proact.stats.paired import LEVEL, UNDECIDED, excludes_zero

if TYPE_CHECKING:
    from dspy_proact.report.comparison import Comparison
    from dspy_proact.report.study import RatingStudy
    from dspy_proact.report.summary import Summary

_NO_TEST = "their scores are not a fair test; its card has out-of-fold scores"
_VERBS = ("scores higher", "scores lower")


def headline(summary: "Summary") -> Headline:
    """The score of the model under test, 0 to 100, by the mean that ranks, over what was scored.

    The lowest stratum is a line below it where its interval lies below that of every other.
    """
    corpus = summary.manifest and summary.manifest.corpus.name
    of = summary.benchmark if corpus is None or summary.benchmark in corpus else f"the corpus {corpus}"
    cases = f"{counted(summary.case_count, summary.nouns.case, summary.nouns.cases)} of {of}"
    if len(summary.outcomes) != summary.case_count:
        cases = f"{counted(len(summary.outcomes), 'answer')} to {cases}"
    states = [f"{count:,} {state}" for state in ("unscored", "pending") if (count := summary.count(state))]
    of_cases = f"{len(summary.scored):,} of {cases}" if states else cases
    score, by = summary.leading.weighted, summary.graded_by.removesuffix(BY_ITSELF)
    begin, end = demonstration(summary.roles), f",{by}." if by else "."
    if not summary.scored:
        text = f"{begin}{summary.model_name} has no score, with {of_cases} scored{end}"
        return Headline(text, count=0, caveats=(f"Without a score: {listed(states)}.", *caveats(summary)))
    by_stratum, further = summary.leading is summary.macro, ""
    for measure in (measure for measure in summary.shown_measures() if measure.name == summary.reporting.beside):
        value = summary.measured(summary.outcomes, by_stratum)[measure.name].value
        further = "" if value is None else f" with {value:.2f} {measure.title}"
    mean = f", {'means' if further else 'mean'} over {summary.nouns.strata}," if by_stratum else ""
    result = f"{share(score.value)} of 100 ({interval(score)}){further}{mean}"
    rows = counted(summary.manifest.corpus.rows, summary.nouns.row, summary.nouns.rows) if summary.manifest else ""
    learned_on = (summary.manifest and summary.manifest.learned_on) or 0
    reserved = (
        (learned_on, f"Compiled on {learned_on:,} of these {rows}: {_NO_TEST}."),
        *((True, line) for line in marked(score)),
        (states, f"Not in the score: {listed(states)}."),
        *((True, f"Lowest in {name}: {share(low.value)} of 100 ({bounds(low)}).") for name, low in _lowest(summary)),
    )
    below = [sentence for holds, sentence in reserved if holds]
    return Headline(
        f"{begin}{summary.model_name} scored {result} on {of_cases}{end}",
        number=score,
        test="95 % interval",
        count=len(summary.scored),
        caveats=(*below, *caveats(summary)),
    )


def _lowest(summary: "Summary") -> Iterator[tuple[str, Estimate]]:
    """The stratum whose interval lies below that of every other, with its score; where there are several."""
    scores = {name: summary.scores(name).weighted for name in summary.strata}
    for name, score in scores.items():
        others = [other.low for stratum, other in scores.items() if stratum != name]
        if others and score.high is not None and all(low is not None and score.high < low for low in others):
            yield name, score


def comparison_headline(comparison: "Comparison", first: str = "a", second: str = "b") -> Headline:
    """Whether b is better or worse than a by the mean that ranks, as one test; strata and reservations stand below.

    A side is claimed where what both have scored and what both have tried, the unscored counting 0, show the same.
    "Better" is said only of real models, where both were judged alike and everything that both were asked is scored in
    both. `first` and `second` name a and b.
    """
    a, b = first, second
    # By their models, or by their judges where only these differ.
    models = comparison.a.model_name, comparison.b.model_name
    judges = comparison.a.graded_by.strip(), comparison.b.graded_by.strip()
    if differing := next((pair for pair in (models, judges) if pair[0] != pair[1]), None):
        a, b = _called(first, differing[0]), _called(second, differing[1])
    overall = comparison.lenient.overall
    return Headline(
        f"{demonstration(comparison.roles)}{_compared(comparison, a, b)}.",
        side=comparison.side,
        number=overall.weighted.difference,
        test=f"permutation test that flips whole {comparison.a.nouns.groups}",
        p=overall.weighted.p,
        count=overall.pairs,
        caveats=tuple(_reserved(comparison, first, second)),
    )


def _compared(comparison: "Comparison", a: str, b: str) -> str:
    """What is shown of b beside a, without a stop."""
    nouns, lenient, strict = comparison.a.nouns, comparison.lenient, comparison.strict
    overall, difference = lenient.overall.weighted, lenient.overall.weighted.difference
    if not comparison.pairs:
        return f"{b} cannot be compared with {a}: no {nouns.case} is scored in both"
    if difference.value is None:
        return f"{b} cannot be compared with {a} by the mean of the {nouns.strata}: {difference.reason}"
    cases = counted(overall.count, nouns.case, nouns.cases)
    points, by = f"{signed(difference.value)} points ({interval(difference, signed)})", ""
    if lenient.leading == "macro":
        by = f", mean over {nouns.strata},"
    if comparison.side:
        fair = comparison.judged_alike and len(comparison.pairs) == comparison.shared
        verbs = ("is better", "is worse") if fair and not demonstration(comparison.roles) else _VERBS
        shown = f"{b} {verbs[comparison.side == 'lower']} than {a}"
    elif lenient.side != strict.side:
        counted_0 = signed(strict.overall.weighted.difference.value or 0)
        # By their letters alone, for the sentence has two numbers already.
        one, other = (name.partition(" ")[0] for name in (b, a))
        shown = f"Whether {one} scores higher or lower than {other} depends on unscored {nouns.cases}"
        return f"{shown}: {points}{by} without them, {counted_0} counting them 0"
    elif all(pair.score[0] == pair.score[1] for pair in comparison.pairs):
        return f"{b} and {a} have the same score on {'each of ' if overall.count > 1 else ''}{cases} scored in both"
    elif UNDECIDED in (difference.reason or ""):
        shown = f"Whether {b} differs from {a} is open"
    elif overall.reason:
        few = counted(overall.groups, nouns.group, nouns.groups)
        shown = f"With {few} no difference between {b} and {a} can become significant"
    else:
        shown = f"No difference between {b} and {a} was detected"
    return f"{shown}: {points}{by} on {cases}"


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


def _called(name: str, what: str) -> str:
    """A name with what it is in one pair of brackets: `b (model, prompt 8fc37674)`."""
    return f"{name} ({what.removesuffix(')').replace(' (', ', ') if what.endswith(')') else what})"


def _reserved(comparison: "Comparison", first: str, second: str) -> Iterator[str]:
    """Lines below the headline: other judges, the interval, strata, what is left out or repeated, power, training."""
    nouns, lenient = comparison.a.nouns, comparison.lenient
    overall = lenient.overall.weighted
    yield from _judging(comparison)
    yield from marked(overall.difference)
    if len(lenient.rows) > 1 and any(pair.score[0] != pair.score[1] for pair in comparison.tried):
        yield f"By {nouns.stratum}, adjusted (Holm): {_by_stratum(comparison, second)}."
    missing = [f"{n:,} unscored by {name}" for name, n in zip((first, second), comparison.unscored, strict=True) if n]
    if untried := comparison.shared - len(comparison.tried):
        missing.append(f"{untried:,} not tried by both")
    if missing:
        yield f"Left out of {comparison.shared:,} shared {nouns.cases}: {listed(missing)}."
    if comparison.repeated and (comparison.judged_alike or not comparison.agreement):
        of = counted(len(comparison.pairs), nouns.case, nouns.cases)
        yield f"The same response in both, word for word: {comparison.repeated:,} of {of}."
    if not (lenient.side or comparison.strict.side) and (power := listed([*_power(comparison)])):
        yield f"80 % power to detect {power}."
    for name, side in ((first, comparison.a), (second, comparison.b)):
        if side.manifest and side.manifest.learned_on:
            rows = f"{side.manifest.learned_on:,} of these {nouns.rows}"
            yield f"{name} was compiled on {rows}, so this comparison is not a test of it."


def _judging(comparison: "Comparison") -> Iterator[str]:
    """Whether both were judged alike, where they were not or nobody knows."""
    if comparison.judged_alike:
        return
    if not (comparison.a.manifest and comparison.b.manifest):
        yield "It is not known whether both were judged alike."
    elif comparison.agreement:
        yield "The responses are the same, so only the judging differs."
    elif comparison.changed_judges:
        yield "Judged differently: the difference may be due to the judges."
    else:
        yield "Beside other further models: the difference may be due to them."


def _by_stratum(comparison: "Comparison", second: str) -> str:
    """Where b is higher and lower, what depends on the unscored, what was not detected and what could not be shown."""
    lenient, strict, groups = comparison.lenient, comparison.strict, dict[str, list[str]]()
    tested = [row.weighted.groups for row in lenient.rows.values() if row.weighted.p is not None]
    # The smallest p of G flipped groups is 2 / 2^G, and Holm multiplies the smallest by the number of tests.
    able = bool(tested) and len(tested) * 2 / 2 ** max(tested) <= LEVEL
    for name, row in lenient.rows.items():
        if side := comparison.sides[name]:
            shown = f"{second} {side}"
        elif lenient.sides[name] != strict.sides[name]:
            shown = f"depending on the unscored {comparison.a.nouns.cases}"
        else:
            shown = "no difference detected" if able and not row.weighted.reason else "no test can show a difference"
        groups.setdefault(shown, []).append(name)
    return "; ".join(f"{shown} on {listed(names)}" for shown, names in groups.items())


def _power(comparison: "Comparison") -> Iterator[str]:
    """Which true difference is detected overall, with its base; in one stratum, the range over the known ones."""
    nouns, overall = comparison.a.nouns, comparison.lenient.overall.weighted
    if overall.base is not None and (seen := seen_from(overall)):
        way = "rise" if overall.base <= 0.5 else "fall"
        yield f"a {way} of {counted(seen[0], 'point')} from {share(overall.base)} overall"
    rows = [row.weighted for row in comparison.lenient.rows.values()]
    known = [(seen[0], row.base) for row in rows if row.base is not None and (seen := seen_from(row))]
    if len(known) > 1:
        (low, high), bases = (f(points for points, _ in known) for f in (min, max)), [base for _, base in known]
        of = "" if len(known) == len(rows) else f" of {len(known)} of {len(rows)} {nouns.strata}"
        reach = f"{low}" if low == high else f"{low} to {high}"
        yield f"{reach} points from {share(min(bases))} to {share(max(bases))} in one {nouns.stratum}{of}, after Holm"
