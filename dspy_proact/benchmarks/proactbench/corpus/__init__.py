"""The field's files: dialogues in, results in and out, the bundled sample, and what was published.

Dialogues come from a file, from the Hugging Face dataset or from the sample. Everything is validated as a whole before
the first call, and raw rows stop here: what leaves is a `Corpus` of dialogues that have no place for what a program
must not see, `Results` for reports, and `Ratings`, what people thought of responses.
"""

from dspy_proact.benchmarks.proactbench.corpus.controls import CONTROL_RULE, control_turns
from dspy_proact.benchmarks.proactbench.corpus.corpus import Corpus
from dspy_proact.benchmarks.proactbench.corpus.dataset import read_dataset
from dspy_proact.benchmarks.proactbench.corpus.judge_cases import JudgeCase, judge_cases
from dspy_proact.benchmarks.proactbench.corpus.published import (
    HUMAN_ALPHA,
    TRIGGERS_PER_PHASE,
    Counts,
    PublishedModel,
    pooled,
    published_models,
)
from dspy_proact.benchmarks.proactbench.corpus.ratings.bundled import published_ratings
from dspy_proact.benchmarks.proactbench.corpus.ratings.draw import Draw
from dspy_proact.benchmarks.proactbench.corpus.ratings.github import GitHub
from dspy_proact.benchmarks.proactbench.corpus.ratings.items_file import read_rated_items
from dspy_proact.benchmarks.proactbench.corpus.ratings.rated_item import RatedItem
from dspy_proact.benchmarks.proactbench.corpus.ratings.rating import ASSUMED_CONFIDENCE, TimedRating
from dspy_proact.benchmarks.proactbench.corpus.ratings.ratings import Coverage, Ratings, RatingsSource
from dspy_proact.benchmarks.proactbench.corpus.ratings.sheet import rating_template
from dspy_proact.benchmarks.proactbench.corpus.ratings.spec import comes_with_items, load_ratings
from dspy_proact.benchmarks.proactbench.corpus.result_trigger import (
    ResultTrigger,
    TokenUsage,
    UnscoredReason,
    trigger_key,
)
from dspy_proact.benchmarks.proactbench.corpus.results import Results, read_results, write_results
from dspy_proact.benchmarks.proactbench.corpus.sample import (
    SampleResponse,
    sample_control_responses,
    sample_offer_ratings,
    sample_path,
    sample_ratings,
    sample_responses,
)
from dspy_proact.benchmarks.proactbench.corpus.spec import load_corpus, read_jsonl
from dspy_proact.benchmarks.proactbench.corpus.transcript import parse_transcript, read_transcript

__all__ = [
    "ASSUMED_CONFIDENCE",
    "CONTROL_RULE",
    "HUMAN_ALPHA",
    "TRIGGERS_PER_PHASE",
    "Corpus",
    "Counts",
    "Coverage",
    "Draw",
    "GitHub",
    "JudgeCase",
    "PublishedModel",
    "RatedItem",
    "Ratings",
    "RatingsSource",
    "ResultTrigger",
    "Results",
    "SampleResponse",
    "TimedRating",
    "TokenUsage",
    "UnscoredReason",
    "comes_with_items",
    "control_turns",
    "judge_cases",
    "load_corpus",
    "load_ratings",
    "parse_transcript",
    "pooled",
    "published_models",
    "published_ratings",
    "rating_template",
    "read_dataset",
    "read_jsonl",
    "read_rated_items",
    "read_results",
    "read_transcript",
    "sample_control_responses",
    "sample_offer_ratings",
    "sample_path",
    "sample_ratings",
    "sample_responses",
    "trigger_key",
    "write_results",
]
