"""The labels that a person names on the command line."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dspy_proact.corpus import Ratings
    from dspy_proact.report import Summary


def load(ratings: str, summary: "Summary | None", items: Path | None) -> "Ratings":
    """Ratings joined with what they are of: a study's own items, those of a run, or those of a file."""
    from dspy_proact.corpus import load_ratings
    from dspy_proact.report import items_of

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dspy-proact"
    return load_ratings(ratings, items_of(summary) if summary else None, items_path=items, cache=cache)
