"""The datasheet of a made corpus, as Markdown, after Gebru et al., Datasheets for Datasets (arXiv:1803.09010).

It is a function of the answers: no date, time or cost is in it. What a person or a model wrote is quoted as code.
"""

import uuid

from dspy_proact.benchmarks.proactbench.generation.made_corpus import MadeCorpus


def canary(corpus: MadeCorpus) -> str:
    """A GUID of this corpus alone, by which it can be found in training data."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, corpus.identity))
