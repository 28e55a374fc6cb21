"""The field's files, in: dialogues from a file, from the Hugging Face dataset and from the bundled sample.

Everything is validated as a whole before the first call, and raw rows stop here: what leaves is a `Corpus` of
dialogues that have no place for what a program must not see.
"""

from dspy_proact.corpus.corpus import Corpus
from dspy_proact.corpus.dataset import read_dataset
from dspy_proact.corpus.jsonl import read_jsonl
from dspy_proact.corpus.sample import SampleResponse, sample_path, sample_ratings, sample_responses
from dspy_proact.corpus.spec import load_corpus

__all__ = [
    "Corpus",
    "SampleResponse",
    "load_corpus",
    "read_dataset",
    "read_jsonl",
    "sample_path",
    "sample_ratings",
    "sample_responses",
]
