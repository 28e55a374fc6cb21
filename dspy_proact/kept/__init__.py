"""What is kept on disk, so that no kill and no full disk loses more than what was in flight.

A `Log` grows by whole lines, a file that is `replacing` another takes its place whole or not at all, and a `Claim`
gives a folder to one run or compile. Whoever keeps something for later keeps it by these.
"""

from dspy_proact.kept.claim import Claim, Claimed
from dspy_proact.kept.identity import Identified
from dspy_proact.kept.log import Log, read_log
from dspy_proact.kept.whole import replacing, write_whole

__all__ = [
    "Claim",
    "Claimed",
    "Identified",
    "Log",
    "read_log",
    "replacing",
    "write_whole",
]
