"""What a run shows, and what two of them show: one plain sentence that claims no more than the numbers carry."""

from collections.abc import Iterator, Mapping

from dspy_proact.report.comparison import Comparison, Difference, Differences
from dspy_proact.report.numbers import MEASURES_NOTHING, bounds, counted, listed, seen_from, share, signed
from dspy_proact.report.summary import Summary
from dspy_proact.stats import Estimate, is_claimed
from dspy_proact.stats.paired import LEVEL

_HIGHER = ("scores higher", "scores lower")


def headline(summary: Summary) -> str:
    """The score of the model under test, 0 to 100, over what was scored, and the stratum in which it is lowest.

    Counts of what is unscored or pending follow. A stratum is named where its interval lies below that of every other.
    """
    states = [f"{count} {state}" for state in ("unscored", "pending") if (count := summary.count(state))]
    missing = f" ({listed(states)})" if states else ""
    corpus = summary.manifest and summary.manifest.corpus.name
    of = summary.benchmark if corpus is None or summary.benchmark in corpus else f"the corpus {corpus}"
    asked = f"{counted(summary.case_count, summary.nouns.case, summary.nouns.cases)} of {of}"
    if len(summary.outcomes) != summary.case_count:
        asked = f"{counted(len(summary.outcomes), 'answer')} to {asked}"
    if not summary.scored:
        message = f"{summary.model_name} has no score, with 0 of {asked} scored{missing}"
    else:
        scored = f"the {len(summary.scored):,} scored of {asked}{missing}" if missing else asked
        by_stratum, further = summary.leading is summary.macro, ""
        for measure in (each for each in summary.shown_measures() if each.name == summary.reporting.beside):
            value = summary.measured(summary.outcomes, by_stratum)[measure.name].value
            further = "" if value is None else f" with {value:.2f} {measure.title}"
        mean = f", {'means' if further else 'the mean'} of the {summary.nouns.strata}," if by_stratum else ""
        message = f"{summary.model_name} scored {_score(summary.leading.weighted)}{further}{mean} on {scored}"
        scores = {name: summary.scores(name).weighted for name in summary.strata}
        for name, score in scores.items():
            others = [other.low for each, other in scores.items() if each != name]
            if others and score.high is not None and all(low is not None and score.high < low for low in others):
                message += f", lowest in {name}: {_score(score)}"
    begin = MEASURES_NOTHING if summary.embedded else ""
    return f"{begin}{message},{summary.graded_by.removeprefix(',')}."


def comparison_headline(comparison: Comparison, first: str = "a", second: str = "b") -> str:
    """In which strata b is better or worse than a, by the test that is adjusted over the strata.

    Where nothing was shown it says what would have been, and how often; where nothing could have been, why. "Better" is
    said only of real models, where both were judged alike and everything that both were asked is scored in both. Who
    left what out follows, and what is shown with that counted 0 where it is something else. `first` and `second` name a
    and b.
    """
    begin = MEASURES_NOTHING if comparison.a.embedded or comparison.b.embedded else ""
    a, b = first, second
    # By their models, or by their judges where only these differ.
    models = comparison.a.model_name, comparison.b.model_name
    judges = comparison.a.graded_by.strip(), comparison.b.graded_by.strip()
    if differing := next((pair for pair in (models, judges) if pair[0] != pair[1]), None):
        a, b = _called(first, differing[0]), _called(second, differing[1])
    rows = comparison.lenient.rows
    if shown := _significant(comparison.lenient):
        whole = not begin and comparison.judged_alike and len(comparison.pairs) == comparison.shared
        message = [_sides(shown, ("is better", "is worse") if whole else _HIGHER, a, b)]
        unable = [name for name, row in rows.items() if name not in shown and row.weighted.reason]
        if alike := [name for name in rows if name not in shown and name not in unable]:
            message.append(f"no difference was detected on {listed(alike)}")
        if unable:
            message.append(f"no test was possible on {listed(unable)}")
    else:
        message = [_not_shown(comparison, a, b)]
    return f"{begin}{'; '.join([*message, *_reserved(comparison, first, second)])}."


def _score(score: Estimate) -> str:
    return f"{share(score.value)} of 100 ({bounds(score)})"


def _significant(differences: Differences) -> Mapping[str, Difference]:
    """The strata that differ by more than chance, adjusted over all of them."""
    rows, adjusted = differences.rows, differences.adjusted
    return {name: row for name, row in rows.items() if is_claimed(row.weighted, adjusted[name][0])}


def _sides(found: Mapping[str, Difference], verbs: tuple[str, str], a: str, b: str) -> str:
    """In which of these strata b is above a, and in which below."""
    sides: list[str] = []
    there = {name: row.weighted.difference for name, row in found.items()}
    for verb, sign in zip(verbs, (1, -1), strict=True):
        strata = [
            f"{name} ({signed(each.value)} points, {bounds(each, signed)})"
            for name, each in there.items()
            if each.value is not None and each.value * sign > 0
        ]
        if strata:
            than = "" if sides else f" than {a}"
            sides.append(f"{verb}{than} on {listed(strata)}")
    return f"{b} {' and '.join(sides)}"


def _not_shown(comparison: Comparison, a: str, b: str) -> str:
    nouns = comparison.a.nouns
    tested = [row.weighted for row in comparison.rows.values() if row.weighted.p is not None]
    if not comparison.pairs:
        return f"{b} cannot be compared with {a}: no {nouns.case} is scored in both"
    # The smallest p of G flipped groups is 2 / 2^G, and Holm multiplies the smallest by the number of strata.
    groups = max((paired.groups for paired in tested), default=1)
    if not tested or len(tested) * 2 / 2**groups > LEVEL:
        few = f"{counted(groups, nouns.group, nouns.groups)} {'is' if groups == 1 else 'are'}"
        strata = counted(len(tested) or len(comparison.rows), nouns.stratum, nouns.strata)
        # A mean over the strata has more groups, and may differ: the sentence is of the tests that Holm adjusts.
        test = f"A test of {b} against {a} within one {nouns.stratum}"
        return f"{test} cannot become significant: {few} too few in {strata}"
    if all(pair.score[0] == pair.score[1] for pair in comparison.pairs):
        cases = counted(len(comparison.pairs), nouns.case, nouns.cases)
        return f"{b} and {a} have the same score on each of {cases} scored in both"
    nothing = f"No difference between {b} and {a} was detected in any {nouns.stratum}"
    known = (
        (seen, name, row.weighted.base) for name, row in comparison.rows.items() if (seen := seen_from(row.weighted))
    )
    (often, half), name, base = min(known, default=((0, 0), "", None))
    if not name:
        return nothing
    power = f"80 % power to detect {counted(often, 'point')} from a score of {share(base)}, and 50 % to detect {half}"
    return f"{nothing}; the most sensitive, {name}, has {power}"


def _called(name: str, what: str) -> str:
    """A name with what it is in one pair of brackets: `b (model, prompt 8fc37674)`."""
    return f"{name} ({what.removesuffix(')').replace(' (', ', ') if what.endswith(')') else what})"


def _reserved(comparison: Comparison, first: str, second: str) -> Iterator[str]:
    """What limits the comparison: what is left out and counts 0 instead, other judges, and what was compiled on it."""
    nouns, scored, shared = comparison.a.nouns, len(comparison.pairs), comparison.shared
    sides = zip((first, second), comparison.unscored, strict=True)
    missing = [f"{count:,} unscored by {name}" for name, count in sides if count]
    if untried := shared - len(comparison.tried):
        missing.append(f"{untried:,} not tried by both")
    if missing:
        of = f"based on the {scored:,} of {shared:,} shared {nouns.cases} scored in both: " if scored else ""
        yield f"{of}{listed(missing)}"
    lenient, strict = (_significant(each) for each in (comparison.lenient, comparison.strict))
    if _signs(lenient) != _signs(strict):
        seen = _sides(strict, _HIGHER, first, second) if strict else f"no difference of {second} is detected"
        yield f"with the unscored counted 0, {seen}"
    if not comparison.judged_alike:
        known = comparison.a.manifest and comparison.b.manifest
        same = "the responses are the same, so only the judging differs"
        apart = "they were judged differently" if known else "it is not known whether both were judged alike"
        yield same if known and comparison.agreement else apart
    for name, side in ((first, comparison.a), (second, comparison.b)):
        if side.manifest and side.manifest.learned_on:
            rows = f"{side.manifest.learned_on:,} of these {nouns.rows}"
            yield f"{name} was compiled on {rows}, so this comparison is not a test of it"


def _signs(found: Mapping[str, Difference]) -> dict[str, bool]:
    """Of strata that differ, whether b is above a."""
    return {name: (row.weighted.difference.value or 0) > 0 for name, row in found.items()}
