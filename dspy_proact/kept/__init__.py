"""What is kept on disk, so that no kill and no full disk loses more than what was in flight.

A `Log` grows by whole lines, a file that is `replacing` another takes its place whole or not at all, and a `Claim`
gives a folder to one run or compile. Whoever keeps something for later keeps it by these. A `Place` says what a path
is.
"""

from dspy_proact.kept.claim import Claim, Claimed
from dspy_proact.kept.fault import first_fault, require_finite
from dspy_proact.kept.identity import Identified
from dspy_proact.kept.log import Log, read_lines, read_log, read_placed
from dspy_proact.kept.place import COMPILE_CLAIM, RUN_CLAIM, Kind, Place, place_of, require_apart
from dspy_proact.kept.whole import replacing, write_whole

__all__ = [
    "COMPILE_CLAIM",
    "RUN_CLAIM",
    "Claim",
    "Claimed",
    "Identified",
    "Kind",
    "Log",
    "Place",
    "first_fault",
    "place_of",
    "read_lines",
    "read_log",
    "read_placed",
    "replacing",
    "require_apart",
    "require_finite",
    "write_whole",
]
