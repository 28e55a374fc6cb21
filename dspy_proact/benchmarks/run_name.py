"""How the folder of a run begins: with the names of who takes part."""

import re
from collections.abc import Sequence

_LONGEST_NAME = 100
"""Characters of the name of a model, or of a jury, in a folder's name."""


def run_name(model: str, judges: Sequence[str]) -> str:
    """`<model>--<judges>`, several judges with a plus between them: the beginning of a run's folder's name."""
    return "--".join(filter(None, [folder_name(model), "+".join(map(folder_name, judges))[:_LONGEST_NAME]]))


def folder_name(model: str) -> str:
    """A model's name as a part of a folder's name, short enough for any disk."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "_", model).strip(".") or "_")[:_LONGEST_NAME]
