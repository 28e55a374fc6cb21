"""The published study of pairs: does a writer who sees the rubric write what people prefer?

Numbers and labels only; no dialogue text comes with the package. See NOTICE.
"""

from pathlib import Path

from dspy_proact.benchmarks.proactbench.corpus.dialogues import DATA
from dspy_proact.report.pairs import PublishedPairs
from dspy_proact.stats import Estimate


def published_pairs() -> PublishedPairs:
    """The study of responses by a writer who saw the rubric."""
    return PublishedPairs(
        file=Path(str(DATA / "published" / "pairwise_ratings.csv")),
        about=(
            "A: the response to a RECOVERY trigger as it stands in the corpus. B: one by the same model, told the "
            "rubric and to meet PASS. Rows FAIL, PARTIAL and PASS: the judge's grade of A."
        ),
        figures={
            "all": (Estimate(0.799, 0.741, 0.855), 2.56e-13),
            "FAIL": (Estimate(0.825, 0.768, 0.887), 3.1e-9),
            "PARTIAL": (Estimate(0.852, 0.719, 1.0), 3.1e-4),
            "PASS": (Estimate(0.703, 0.559, 0.828), 0.020),
        },
        method="percentile bootstrap over items, 10,000 resamples; p-values of the exact binomial test.",
        faults=(
            "the study's file of statistics has a share of .753. That is 61 of 81, the choices of confidence 5, left "
            "over in a variable that a loop used again; all are 115 of 144, .799.",
            "the binomial test takes 144 choices as independent. They are of 45 items by 8 raters, who repeat, and "
            "raters differ widely; the bootstrap draws items again, and raters never.",
        ),
    )
