"""What holds where a person does not say: the embedded model and what goes with it, or what the paper takes."""

EMBEDDED = "embedded"
"""The stand-in, which is `dspy_proact.models.EMBEDDED` without its imports."""
_SAMPLE = "sample"
HUB = "proactbench"
"""The published corpus."""
_PAPER_JUDGE = "openai/gpt-5.4"


def default_judge(embedded: bool) -> str:
    """Who grades: a stand-in the stand-in, the paper's judge a real model."""
    return EMBEDDED if embedded else _PAPER_JUDGE


def default_corpus(embedded: bool) -> str:
    """What is asked: the stand-in the sample, a real model the published corpus."""
    return _SAMPLE if embedded else HUB
