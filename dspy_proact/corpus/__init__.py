"""The field's files: dialogues in, results in and out, the bundled sample, and what was published.

Dialogues come from a file, from the Hugging Face dataset or from the sample. Everything is validated as a whole before
the first call, and raw rows stop here: what leaves is a `Corpus` of dialogues that have no place for what a program
must not see, `Results` for reports, and `Ratings`, what people thought of responses.
"""

from dspy_proact.corpus.controls import CONTROL_RULE, control_turns
from dspy_proact.corpus.corpus import Corpus
from dspy_proact.corpus.dataset import read_dataset, without_progress_bars
from dspy_proact.corpus.judge_cases import JudgeCase, judge_cases
from dspy_proact.corpus.published import (
    HUMAN_ALPHA,
    TRIGGERS_PER_PHASE,
    Counts,
    PublishedModel,
    pooled,
    published_models,
)
from dspy_proact.corpus.ratings.bundled import published_ratings
from dspy_proact.corpus.ratings.draw import Draw
from dspy_proact.corpus.ratings.github import GitHub
from dspy_proact.corpus.ratings.items_file import read_rated_items
from dspy_proact.corpus.ratings.rated_item import RatedItem
from dspy_proact.corpus.ratings.rating import ASSUMED_CONFIDENCE, TimedRating
from dspy_proact.corpus.ratings.ratings import Coverage, Ratings, RatingsSource
from dspy_proact.corpus.ratings.sheet import rating_template
from dspy_proact.corpus.ratings.spec import comes_with_items, load_ratings
from dspy_proact.corpus.result_trigger import ResultTrigger, TokenUsage, UnscoredReason, trigger_key
from dspy_proact.corpus.results import Results, read_results, write_results
from dspy_proact.corpus.sample import (
    SampleResponse,
    sample_control_responses,
    sample_offer_ratings,
    sample_path,
    sample_ratings,
    sample_responses,
)
from dspy_proact.corpus.spec import load_corpus, read_jsonl
from dspy_proact.corpus.transcript import parse_transcript, read_transcript

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
    "without_progress_bars",
    "write_results",
]
