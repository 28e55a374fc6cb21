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
    missing = [f"{count} {state}" for state in ("unscored", "pending") if (count := summary.count(state))]
    asked, scored = _asked(summary), len(summary.scored)
    if not scored:
        told = (
            f"{summary.model_name} has no score, with 0 of {asked} scored{f' ({listed(missing)})' if missing else ''}"
        )
    else:
        of = f"the {scored:,} scored of {asked} ({listed(missing)})" if missing else asked
        told = f"{summary.model_name} scored {_score(summary.micro.weighted)} on {of}{_least(summary)}"
    begin = MEASURES_NOTHING if summary.embedded else ""
    return f"{begin}{told},{summary.graded_by.removeprefix(',')}."


def comparison_headline(comparison: Comparison, first: str = "a", second: str = "b") -> str:
    """In which strata b is better or worse than a, by the test that is adjusted over the strata.

    Where nothing was shown it says what would have been, and how often; where nothing could have been, why. "Better" is
    said only where both were judged alike and everything that both were asked is scored in both. Who left what out
    follows, and what is shown with that counted 0 where it is something else. `first` and `second` name a and b.
    """
    begin = MEASURES_NOTHING if comparison.a.embedded or comparison.b.embedded else ""
    names = _names(comparison, first, second)
    if shown := _significant(comparison.lenient):
        whole = comparison.judged_alike and len(comparison.pairs) == comparison.shared
        verbs = ("is better", "is worse") if whole else _HIGHER
        told = "; ".join([_sides(shown, verbs, *names), *_others(comparison)])
    else:
        told = _not_shown(comparison, *names)
    return f"{begin}{'; '.join([told, *_reserved(comparison, first, second)])}."


def _asked(summary: Summary) -> str:
    """What was asked for: cases, and answers to them where there are several of each."""
    cases = counted(summary.case_count, summary.nouns.case, summary.nouns.cases)
    corpus = summary.manifest and summary.manifest.corpus.name
    of = summary.benchmark if corpus is None or summary.benchmark in corpus else f"the corpus {corpus}"
    asked = f"{cases} of {of}"
    answers = len(summary.outcomes)
    return asked if answers == summary.case_count else f"{counted(answers, 'answer')} to {asked}"


def _least(summary: Summary) -> str:
    """The stratum whose score lies below every other's, intervals and all; nothing without one."""
    scores = {name: summary.scores(name).weighted for name in summary.strata}
    for name, score in scores.items():
        others = [other.low for each, other in scores.items() if each != name]
        if others and score.high is not None and all(low is not None and score.high < low for low in others):
            return f", lowest in {name}: {_score(score)}"
    return ""


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
        told = [
            f"{name} ({signed(each.value)} points, {bounds(each, signed)})"
            for name, each in there.items()
            if each.value is not None and each.value * sign > 0
        ]
        if told:
            than = "" if sides else f" than {a}"
            sides.append(f"{verb}{than} on {listed(told)}")
    return f"{b} {' and '.join(sides)}"


def _others(comparison: Comparison) -> Iterator[str]:
    """The strata in which nothing was shown, beside others in which something was."""
    rest = {name: row for name, row in comparison.rows.items() if name not in _significant(comparison.lenient)}
    unable = [name for name, row in rest.items() if row.weighted.reason]
    if seen := [name for name in rest if name not in unable]:
        yield f"no difference was detected on {listed(seen)}"
    if unable:
        yield f"no test was possible on {listed(unable)}"


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
        return f"A test of {b} against {a} cannot become significant: {few} too few in {strata}"
    if all(pair.score[0] == pair.score[1] for pair in comparison.pairs):
        cases = counted(len(comparison.pairs), nouns.case, nouns.cases)
        return f"{b} and {a} have the same score on each of {cases} scored in both"
    told = f"No difference between {b} and {a} was detected in any {nouns.stratum}"
    known = (
        (seen, name, row.weighted.base) for name, row in comparison.rows.items() if (seen := seen_from(row.weighted))
    )
    (often, half), name, base = min(known, default=((0, 0), "", None))
    if not name:
        return told
    power = f"80 % power to detect {counted(often, 'point')} from a score of {share(base)}, and 50 % to detect {half}"
    return f"{told}; the most sensitive, {name}, has {power}"


def _names(comparison: Comparison, first: str, second: str) -> tuple[str, str]:
    """What a and b are called: by their models too, or by their judges where only these differ."""
    a, b = comparison.a, comparison.b
    if a.model_name != b.model_name:
        return _called(first, a.model_name), _called(second, b.model_name)
    if a.judge_name != b.judge_name:
        return _called(first, a.graded_by.strip()), _called(second, b.graded_by.strip())
    return first, second


def _called(name: str, what: str) -> str:
    """A name with what it is in brackets, of which there is one pair: `b (model, prompt 8fc37674)`."""
    return f"{name} ({what.removesuffix(')').replace(' (', ', ') if what.endswith(')') else what})"


def _reserved(comparison: Comparison, first: str, second: str) -> Iterator[str]:
    """Why it may be something else than it seems."""
    nouns = comparison.a.nouns
    yield from _left_out(comparison, first, second)
    if not comparison.judged_alike:
        known = comparison.a.manifest and comparison.b.manifest
        same = "the responses are the same, so only the judging differs"
        apart = "they were judged differently" if known else "it is not known whether both were judged alike"
        yield same if known and comparison.agreement else apart
    for name, side in ((first, comparison.a), (second, comparison.b)):
        if side.manifest and side.manifest.learned_on:
            rows = f"{side.manifest.learned_on:,} of these {nouns.rows}"
            yield f"{name} was compiled on {rows}, so this comparison is not a test of it"


def _left_out(comparison: Comparison, first: str, second: str) -> Iterator[str]:
    """What is in no difference above and who left it out; what counting it shows, where that is something else."""
    nouns, scored, shared = comparison.a.nouns, len(comparison.pairs), comparison.shared
    sides = zip((first, second), comparison.unscored, strict=True)
    untried = shared - len(comparison.tried)
    missing = [f"{count:,} unscored by {name}" for name, count in sides if count]
    missing += [f"{untried:,} not tried by both"] if untried else []
    if missing:
        of = f"based on the {scored:,} of {shared:,} shared {nouns.cases} scored in both: " if scored else ""
        yield f"{of}{listed(missing)}"
    lenient, strict = (_significant(each) for each in (comparison.lenient, comparison.strict))
    if _signs(lenient) != _signs(strict):
        seen = _sides(strict, _HIGHER, first, second) if strict else f"no difference of {second} is detected"
        yield f"with the unscored counted 0, {seen}"


def _signs(found: Mapping[str, Difference]) -> dict[str, bool]:
    """Of strata that differ, whether b is above a."""
    return {name: (row.weighted.difference.value or 0) > 0 for name, row in found.items()}
