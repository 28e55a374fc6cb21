"""What a run, two runs or a study show: one plain sentence that claims no more than the numbers carry."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from dspy_proact.evaluation.measured_run import BY_ITSELF, names_of
from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.report.caveats import caveats
from dspy_proact.report.measured import in_nouns
from dspy_proact.report.numbers import (
    bounds,
    counted,
    interval,
    listed,
    marked,
    name_or,
    plain,
    seen_from,
    share,
    signed,
)
from dspy_proact.stand_in import demonstration
from dspy_proact.stats import CLAIM_GROUPS, ENOUGH_RATERS, SHARE_ITEMS, Estimate, Headline
from dspy_proact.stats.paired import LEVEL, UNDECIDED, excludes_zero

if TYPE_CHECKING:
    from dspy_proact.report.comparison import Comparison
    from dspy_proact.report.study import RatingStudy
    from dspy_proact.report.summary import Summary

_NO_TEST = "their scores are not a fair test; its card has out-of-fold scores"
_MOST_LABELS = 3
"""That a headline counts, of labels without an order."""
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
    model, has = name_or(summary.model_name, "This model"), "has"
    answers = summary.manifest and summary.manifest.answers
    if answers:
        # Their file is in the details: equal answers in another file are this run too.
        model, has = f"Answers of {name_or(summary.model_name, 'a model')}", "have"
    of_corpus, part = summary.manifest.corpus.cases if summary.manifest else 0, list[str]()
    if answers and answers.cases < of_corpus:
        part = [f"A part of the corpus: the file has {answers.cases:,} of {of_corpus:,} {summary.nouns.cases}."]
    if summary.scored and not summary.ordered:
        counts = Counter(outcome.label for outcome in summary.scored).most_common()
        most = ", ".join(f"{label} {count:,}" for label, count in counts[:_MOST_LABELS])
        others = sum(count for _, count in counts[_MOST_LABELS:])
        text = f"{begin}{model} {has} {most}{f' and {others:,} other labels' if others else ''} on {of_cases}{end}"
        unscored = [f"Without a label: {listed(states)}."] if states else []
        return Headline(text, count=len(summary.scored), caveats=(*part, *unscored, *caveats(summary)))
    if not summary.scored:
        text = f"{begin}{model} {has} no score, with {of_cases} scored{end}"
        unscored = [f"Without a score: {listed(states)}."] if states else []
        return Headline(text, count=0, caveats=(*part, *unscored, *caveats(summary)))
    if score.value is None:
        text = f"{begin}{model} {has} no mean over {summary.nouns.strata}: {score.reason}, with {of_cases} scored{end}"
        unscored = [f"Not in the score: {listed(states)}."] if states else []
        return Headline(text, number=score, count=len(summary.scored), caveats=(*part, *unscored, *caveats(summary)))
    by_stratum, further = summary.leading is summary.macro, ""
    for measure in (measure for measure in summary.shown_measures() if measure.name == summary.reporting.beside):
        value = summary.measured(summary.outcomes, by_stratum)[measure.name].value
        further = "" if value is None else f" with {value:.2f} {measure.title}"
    mean = f", {'means' if further else 'mean'} over {summary.nouns.strata}," if by_stratum else ""
    result = f"{share(score.value)} of 100 ({interval(score)}){further}{mean}"
    rows = counted(summary.manifest.corpus.rows, summary.nouns.row, summary.nouns.rows) if summary.manifest else ""
    learned_on = (summary.manifest and summary.manifest.learned_on) or 0
    reserved = (
        *((True, sentence) for sentence in part),
        (learned_on, f"Compiled on {learned_on:,} of these {rows}: {_NO_TEST}."),
        *((True, line) for line in marked(score)),
        (states, f"Not in the score: {listed(states)}."),
        *((True, f"Lowest in {name}: {share(low.value)} of 100 ({bounds(low)}).") for name, low in _lowest(summary)),
    )
    below = [sentence for holds, sentence in reserved if holds]
    return Headline(
        f"{begin}{model} scored {result} on {of_cases}{end}",
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
    models = tuple(names_of((comparison.a, comparison.b)))
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
    if not comparison.a.ordered:
        return f"{b} and {a} have no scores, as their labels have no order; the share of each label stands below"
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
        counted_0 = strict.overall.weighted.difference.value or 0
        # By their letters alone, for the sentence has two numbers already.
        one, other = (name.partition(" ")[0] for name in (b, a))
        turned = difference.value * counted_0 < 0
        what = f"scores higher or lower than {other}" if turned else f"differs from {other}"
        shown = f"Whether {one} {what} depends on unscored {nouns.cases}"
        return f"{shown}: {points}{by} without them, {signed(counted_0)} counting them 0"
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


def study_headline(study: "RatingStudy") -> Headline:
    """Whether the judge agrees with a person more or less than another person does, within strata, averaged over them.

    It is said where the 98 % interval of the difference says so, of 30 items or more in ten groups or more, and of
    other raters where there are four or more, else of these alone. Where there is no judge, how far people agree with
    each other; where nobody rated an item twice, on how many items the judge gives the grade that these raters gave.
    """
    first = _of_study(study)
    reserved = (
        (study.ratings.agents, "These raters are language-model agents, not people."),
        (study.learned_on, f"The judge was compiled on {study.learned_on} of these items: this is no test of it."),
        *((True, line) for line in reporting_of(study.ratings.benchmark).agreement(study).lines),
        (study.excluded, "Raters who disagree with the judge were left out, which raises its agreement."),
    )
    caveats = (*(sentence for holds, sentence in reserved if holds), *first.caveats)
    return replace(first, text=f"{demonstration(study.roles)}{first.text}", caveats=caveats)


@dataclass(frozen=True)
class _AgreementWording:
    """How the agreement of a judge and of people is put into words: fewer than four raters stand for themselves."""

    one: str
    raters: str
    """That they agree with each other."""
    kappas: str
    """Of a judge, its kappa, and that of people."""
    difference: str
    """Of a judge, and whether one is known."""
    better: str
    """Of a judge, and how it agrees."""

    @classmethod
    def of(cls, raters: int, person: str) -> Self:
        """Those for so many raters, who are people or agents."""
        if raters == 2:
            return cls(
                "one of these 2 raters",
                "these 2 raters agree with each other",
                "{0} agrees with these 2 raters at kappa {1}, and they with each other at {2}",
                "between how {0} agrees with these 2 raters and they with each other {1}",
                "{0} agrees with these 2 raters {1} than they do with each other",
            )
        few = raters < ENOUGH_RATERS
        one = f"one of these {raters or 'few'} raters" if few else f"a {person}"
        another = "another" if few else f"another {person}"
        return cls(
            one,
            f"{one} agrees with {another}",
            f"{{0}} and {one} agree with {another} at kappa {{1}} and {{2}}",
            f"between {{0}} and {one} {{1}} in agreement with {another}",
            f"{{0}} agrees with {one} {{1}} than {another} does",
        )


def _of_study(study: "RatingStudy") -> Headline:
    """Of a judge beside people, or of people alone; of fewer than four raters, of these alone."""
    pooled, within, nouns = study.pooled, study.pooled.within, study.nouns
    if not within.items:
        return _without_pairs(study)
    raters, person = within.raters or 0, "rater" if study.ratings.agents else "person"
    few, wording = raters < ENOUGH_RATERS, _AgreementWording.of(raters, person)
    items = counted(within.items, "item")
    begin = f"On the {study.part.name} of {items}" if study.part.name else f"On {items}"
    averaged = f"within {nouns.strata}, averaged over them" if len(study.order) > 1 else ""
    if not pooled.compared:
        kappa, missing = in_nouns(within.one_human, nouns), f"No judge is compared: {pooled.silence}."
        if kappa.value is None:
            text = f"{begin} it is unknown how far {wording.raters}."
            return Headline(text, number=kappa, count=within.items, caveats=(f"No kappa: {kappa.reason}.", missing))
        text = f"{begin} {wording.raters} at kappa {plain(kappa)} ({interval(kappa, '{:z.2f}'.format)})."
        below = [*_interval_note(kappa), *([f"Kappa is {averaged}."] if averaged else []), missing]
        return Headline(text, number=kappa, test="95 % interval", count=within.items, caveats=tuple(below))
    difference, judge = in_nouns(within.difference, nouns), _name_of_judge(study)
    if difference.value is None or difference.low is None or difference.high is None:
        why = f"The difference in kappa has no interval: {difference.reason}."
        text = f"{begin} nothing can be said of {judge} beside {wording.one}."
        if difference.value is not None:
            kappas = wording.kappas.format(judge, plain(within.judge), plain(within.one_human))
            text = f"{begin} {kappas}, without an interval."
        return Headline(text, number=difference, count=within.items, caveats=(why,))
    groups = len({item.group for item in pooled.compared if len(pooled.grades(item)) > 1})
    low, high = within.low98 or 0, within.high98 or 0
    enough = groups >= CLAIM_GROUPS and within.items >= SHARE_ITEMS
    side = None if not enough else "higher" if low > 0 else "lower" if high < 0 else None
    size = f"{difference.value:+z.2f} in kappa ({interval(difference, '{:+z.2f}'.format)})"
    verb = "can be claimed" if excludes_zero(difference) else "was detected"  # beside an interval that excludes 0
    text = f"{begin} no difference {wording.difference.format(judge, verb)}: {size}."
    if side:
        how = "better" if side == "higher" else "less well"
        text = f"{begin} {wording.better.format(judge, how)}: {size}."
    whose = (
        f"between these {raters or 'few'} raters" if few else f"between {'raters' if person == 'rater' else 'people'}"
    )
    kappas = f"Kappa{f' {averaged}' if averaged else ''}: {plain(within.judge)}, and {plain(within.one_human)} {whose}."
    below = [kappas, *_interval_note(difference)]
    if not enough:
        count = counted(groups, nouns.group, nouns.groups) if groups < CLAIM_GROUPS else counted(within.items, "item")
        below.append(f"Too few for a claim: {count}.")
    elif side:
        below += _showing(study)
    elif excludes_zero(difference):
        below.append(f"The 98 % interval decides: {low:+z.2f} to {high:+z.2f}.")
    return Headline(text, side, difference, "98 % interval", count=within.items, caveats=tuple(below))


def _without_pairs(study: "RatingStudy") -> Headline:
    """Nobody rated an item twice that is compared."""
    pooled, part = study.pooled, f" of the {study.part.name}" if study.part.name else ""
    reason = f"no item has two ratings{part}"
    if pooled.paired:
        reason = f"no item has {study.choices.min_ratings} ratings{part}"
        if pooled.enough:
            reason = f"no item that the judge graded has two ratings{part}"
    nothing = f"A judge cannot be compared with a single {'rater' if study.ratings.agents else 'person'}: {reason}."
    if not pooled.compared:
        return Headline(nothing, count=0)
    raters = {grade.rater for item in pooled.compared for grade in item.grades[study.part.name]}
    several = f"these {len(raters)} raters" if pooled.paired else "the only rater of an item"
    whose = "the only rater" if len(raters) == 1 else several
    same = sum(row[level] for level, row in enumerate(pooled.confusion))
    exact, items = in_nouns(pooled.estimates["exact"], study.nouns), counted(len(pooled.compared), "item")
    rate = "" if exact.value is None else f" ({share(exact.value)} %, {interval(exact)})"
    judge = _name_of_judge(study)
    text = f"{judge[0].upper()}{judge[1:]} gives the grade{part} that {whose} gave on {same:g} of {items}{rate}."
    below = (*_interval_note(exact), nothing)
    return Headline(text, number=exact, test="95 % interval", count=len(pooled.compared), caveats=below)


def _name_of_judge(study: "RatingStudy") -> str:
    """As a sentence has it; the line below it has the names of several."""
    return study.judge if len(study.judge.split()) == 1 else "the judge"


def _interval_note(estimate: Estimate) -> list[str]:
    return [f"The interval: {estimate.reason}."] if estimate.low is not None and estimate.reason else []


def _showing(study: "RatingStudy") -> list[str]:
    """In which strata the interval excludes 0, where it does not in all."""
    subsets = study.strata.items()
    rated = {name: subset.reference.difference for name, subset in subsets if subset.reference.items}
    showing = [name for name, of_stratum in rated.items() if excludes_zero(of_stratum)]
    if len(rated) in {1, len(showing)}:
        return []
    return [f"By {study.nouns.stratum}, the interval excludes 0 in {listed(showing) or 'none'}."]


def _called(name: str, what: str) -> str:
    """A name with what it is in one pair of brackets, if that is short: `b (model, prompt 8fc37674)`."""
    if not name_or(what, ""):
        return name
    return f"{name} ({what.removesuffix(')').replace(' (', ', ') if what.endswith(')') else what})"


def _reserved(comparison: "Comparison", first: str, second: str) -> Iterator[str]:
    """Lines below the headline: other judges, the interval, strata, what is left out or repeated, power, training."""
    nouns, lenient = comparison.a.nouns, comparison.lenient
    overall = lenient.overall.weighted
    yield from _judging(comparison)
    yield from marked(overall.difference)
    if (
        comparison.a.ordered
        and len(lenient.rows) > 1
        and any(pair.score[0] != pair.score[1] for pair in comparison.tried)
    ):
        yield f"By {nouns.stratum}, adjusted (Holm): {_by_stratum(comparison, second)}."
    missing = [f"{n:,} unscored by {name}" for name, n in zip((first, second), comparison.unscored, strict=True) if n]
    if untried := comparison.shared - len(comparison.tried):
        missing.append(f"{untried:,} not tried by both")
    if missing:
        yield f"Left out of {comparison.shared:,} shared {nouns.cases}: {listed(missing)}."
    if comparison.repeated and (comparison.judged_alike or not comparison.agreement):
        of = counted(len(comparison.pairs), nouns.case, nouns.cases)
        yield f"The same response in both, word for word: {comparison.repeated:,} of {of}."
    if (
        comparison.a.ordered
        and not (lenient.side or comparison.strict.side)
        and (power := listed([*_power(comparison)]))
    ):
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
        elif not able or row.weighted.reason:
            shown = "no test can show a difference"
        else:
            excluded = excludes_zero(row.weighted.difference)  # beside such an interval no difference is denied
            shown = "no side can be claimed" if excluded else "no difference detected"
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
        base = " to ".join(dict.fromkeys((share(min(bases)), share(max(bases)))))
        yield f"{reach} points from {base} in one {nouns.stratum}{of}, after Holm"
