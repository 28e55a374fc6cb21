"""What people would have given, in one plain sentence that claims no more than the numbers carry."""

from dspy_proact.report.corrected import WHOLE, Corrected, CorrectedComparison
from dspy_proact.report.numbers import bounds, counted, share, signed


def corrected_headline(corrected: Corrected) -> str:
    """The corrected score of all strata beside the judge's own, or why there is none."""
    nouns, whole, people = corrected.nouns, corrected.whole, corrected.ratings.people
    cases = counted(whole.cases, nouns.case, nouns.cases)
    score = whole.corrected
    if score.value is None:
        return f"What {people} would have given to all {cases} cannot be said: {score.reason}."
    return (
        f"Where the judge gives {share(whole.judge.value)} % ({bounds(whole.judge)}) to {cases}, {people} would have "
        f"given {share(score.value)} % ({bounds(score)}), by {counted(whole.ratings, 'rating')} of {whole.rated} by "
        f"{counted(whole.raters, 'rater')}."
    )


def difference_headline(compared: CorrectedComparison, first: str = "a", second: str = "b") -> str:
    """By how much people would have given more to b than to a, or why that cannot be said."""
    whole, nouns = compared.rows[WHOLE], compared.comparison.a.nouns
    people, found = compared.ratings[0].people, whole.difference
    if found.value is None:
        return f"What {people} would have given to {second} beside {first} cannot be said: {found.reason}."
    pairs = counted(whole.pairs, nouns.case, nouns.cases)
    points = f"{signed(found.value)} points, {bounds(found, signed)}"
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return f"It cannot be told to which {people} would have given more over {pairs} ({second} - {first} {points})."
    more = "more" if found.value > 0 else "less"
    return f"{people.capitalize()} would have given {more} to {second} than to {first} over {pairs} ({points})."
