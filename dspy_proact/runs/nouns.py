import re

from dspy_proact.types import Frozen

_NEUTRAL = re.compile(r"\b(?:cases?|stratum|strata|groups?)\b")


class Nouns(Frozen):
    """What a benchmark calls its things, in reports and as keys of their JSON."""

    case: str = "case"
    cases: str = "cases"
    stratum: str = "stratum"
    strata: str = "strata"
    group: str = "group"
    groups: str = "groups"
    control: str = "control case"
    controls: str = "control cases"
    row: str = "row"
    """What its corpus is a list of; a row may hold several cases."""
    rows: str = "rows"

    def worded(self, text: str) -> str:
        """A text of `stats`, which speaks of cases, strata and groups, in these words."""
        return _NEUTRAL.sub(lambda found: str(getattr(self, found[0])), text)
