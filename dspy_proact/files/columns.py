"""Columns of tables that others made: what is usually in a column of a name, and how messages list columns."""

import re
from collections.abc import Collection, Mapping, Sequence

USUAL: Mapping[str, tuple[str, ...]] = {
    "input": ("input", "prompt", "question", "messages", "conversation", "user message", "query", "instruction"),
    "response": (
        *("response", "reply", "answer", "output", "completion", "prediction", "generation"),
        *("assistant response", "model response", "model output", "generated text"),
    ),
    "grade": ("grade", "label", "rating", "human grade", "human label", "annotation"),
    "rater": ("rater", "annotator", "labeler", "labeller", "worker"),
    "key": (
        *("key", "id", "case", "item", "uid"),
        *("case id", "case key", "item id", "sample id", "unique id", "row id", "example id"),
    ),
    "group": ("group", "customer", "user id", "customer id", "session", "session id", "conversation id"),
    "epoch": ("epoch",),
    "context": (),
}
"""By role, names of columns that are taken where a person names none; the role itself comes first."""
_MOST_LISTED = 20


def folded(name: str) -> str:
    """The name of a column without what does not matter in it: upper case, blanks, hyphens and low lines."""
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()


def columns_called(names: Collection[str], columns: Sequence[str]) -> list[str]:
    """Those of the columns that have one of these names, folded."""
    return [column for column in columns if folded(column) in names]


def columns_listed(columns: Sequence[str]) -> str:
    """A clause that lists the columns of a table."""
    more = f" and {len(columns) - _MOST_LISTED} more" if len(columns) > _MOST_LISTED else ""
    return f"the columns are {', '.join(columns[:_MOST_LISTED])}{more}"
