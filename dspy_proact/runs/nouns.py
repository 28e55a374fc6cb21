from dspy_proact.types import Frozen


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
