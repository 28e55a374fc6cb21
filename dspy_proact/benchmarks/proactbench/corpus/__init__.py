"""The field's files: dialogues in, results in and out, the bundled sample, and what was published.

Dialogues come from a file, from the Hugging Face dataset or from the sample. Everything is validated as a whole before
the first call, and raw rows stop here: what leaves is a `Corpus` of dialogues that have no place for what a program
must not see, `Results` for reports, and `Ratings`, what people thought of responses.
"""

from dspy_proact.benchmarks.proactbench.corpus.dialogues import (
    CONTROL_RULE,
    Corpus,
    control_turns,
    load_corpus,
    read_jsonl,
    sample_path,
    trigger_key,
)
from dspy_proact.benchmarks.proactbench.corpus.published import (
    HUMAN_ALPHA,
    TRIGGERS_PER_PHASE,
    published_models,
    published_ratings,
)
from dspy_proact.benchmarks.proactbench.corpus.rating_files import (
    comes_with_items,
    load_ratings,
    rating_template,
    read_rated_items,
)
from dspy_proact.benchmarks.proactbench.corpus.ratings import Draw, RatedItem, Ratings, RatingsSource
from dspy_proact.benchmarks.proactbench.corpus.results import (
    Results,
    ResultTrigger,
    read_results,
    write_results,
)
from dspy_proact.benchmarks.proactbench.corpus.sample import (
    SAMPLE,
    JudgeCase,
    SampleResponse,
    judge_cases,
    sample_control_responses,
    sample_offer_ratings,
)

__all__ = [
    "CONTROL_RULE",
    "HUMAN_ALPHA",
    "SAMPLE",
    "TRIGGERS_PER_PHASE",
    "Corpus",
    "Draw",
    "JudgeCase",
    "RatedItem",
    "Ratings",
    "RatingsSource",
    "ResultTrigger",
    "Results",
    "SampleResponse",
    "comes_with_items",
    "control_turns",
    "judge_cases",
    "load_corpus",
    "load_ratings",
    "published_models",
    "published_ratings",
    "rating_template",
    "read_jsonl",
    "read_rated_items",
    "read_results",
    "sample_control_responses",
    "sample_offer_ratings",
    "sample_path",
    "trigger_key",
    "write_results",
]
