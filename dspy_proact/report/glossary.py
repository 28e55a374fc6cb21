"""What terms of reports mean, by term: terminal, page and docs/statistics.md take them from here.

Texts are filled with the benchmark's nouns (`Nouns`), and with what else a report hands over.
"""

from dspy_proact.runs import Nouns

GLOSSARY = {
    "score": "the mean score, 0 to 100, over what is scored",
    "pass rate": "the share of the best grade, over what is scored",
    "lenient": "over what is scored, as published scores are",
    "strict": "over all that were tried, unscored ones counting 0",
    "micro": "the mean over {cases}",
    "macro": "the mean of the {strata}",
    "interval": "95 %, cluster-robust over {groups}: CR2 with Bell-McCaffrey degrees of freedom, on the logit scale",
    "measures": (
        "95 % intervals of means, precision and recall are cluster-robust, the others jackknife over {groups} on the "
        "logit scale"
    ),
    "several verdicts": "the commonest grade counts, ties go to the lower; the score is their mean",
    "p": "of a permutation test that flips all {cases} of a {group} together (of 2,000 {groups} or more that shift "
    "about alike: by the normal distribution that such flips follow)",
    "Holm": "p adjusted over the {strata}",
    "80 %, 50 %": (
        "true differences, from the mean of both scores towards 50, that are detected with this power; in one of the "
        "{strata}, after Holm if the others do not differ"
    ),
    "only a, only b": "counts without a test",
    "person, judge": "kappa against one rater at a time",
    "within": "within {strata}, averaged over them",
    "pooled": "over all {strata} together, higher where they differ in level",
    "best": (
        "the kappa of a judge that knows each item's expected grade and cuts it best, computed for items whose raters "
        "give grades in these shares and agree as far as person"
    ),
    "quadratic": "kappa with quadratic weights",
    "judge - people": "mean level, by equal steps, in points of 100; above 0 the judge is the more lenient",
    "majority": "the level of most votes; ties are left out",
    "Brier, log loss": (
        "of the probability of the best level against the share of votes for it, lower is better; probabilities "
        "between 0.01 and 0.99"
    ),
    "one person": "each vote against the others on its answer, of answers with 3 votes or more",
    "overlap": (
        "the share of characters that both chose, of those that either chose; a mean over n responses, cluster-robust "
        "over {groups}"
    ),
    "corrected": (
        "what people gave to the rated {cases} of a {stratum} and grade stands for all of it, each grade by its share "
        "of the run; where few are rated, the judge's grade is used too. Intervals generalise to similar {groups} and "
        "similar raters, on the logit scale"
    ),
    "mean of the rated": "of these {cases} alone, which may be a sample balanced by grade: not a score of the run",
    "range": "the ranks that the data cannot rule out",
    "share": "of the choices that are no ties, with an interval over items and raters (cluster-robust, logit scale)",
    "binomial": "the exact interval of Clopper and Pearson, which takes every choice as independent",
    "seconds": "median of a choice",
    "others": "the share without this rater",
}
"""A text is the rest of a sentence: `TERM: TEXT.`"""


def explained(nouns: Nouns, *terms: str) -> str:
    """A sentence that explains terms, in their order."""
    return "; ".join(f"{term}: {GLOSSARY[term].format(**nouns.model_dump())}" for term in terms) + "."
