"""A server's answer to a request of embeddings."""

import json

from server import Answer


def vectors(sent, widths=None):
    """A vector a text: how often it says "permit", and 1; of the texts in the other order; cut to widths if given."""
    numbers = [[float(text.count("permit")), 1.0] for text in sent.body["input"]]
    numbers = [each[:width] for each, width in zip(numbers, widths or [2] * len(numbers), strict=False)]
    rows = [{"object": "embedding", "index": place, "embedding": each} for place, each in enumerate(numbers)]
    whole = {"object": "list", "model": "any", "data": rows[::-1], "usage": {"prompt_tokens": 7, "total_tokens": 7}}
    return Answer(raw=json.dumps(whole).encode())
