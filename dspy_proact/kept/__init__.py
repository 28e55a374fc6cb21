"""Files on disk, so that neither a kill nor a full disk loses more than the calls in flight.

A `Log` grows by whole lines, `replacing` swaps a file whole or not at all, and a `Claim` gives a folder to one run or
compile. A `PathContent` says what a path holds.
"""

from dspy_proact.kept.batch_log import BatchLog, KeptBatch, name_in_batch, read_batches
from dspy_proact.kept.call_log import (
    OPEN_STAGES,
    CallLog,
    NoReply,
    StageCalls,
    conversation_of,
    marked_calls,
    open_stage,
    open_stage_files,
    read_calls,
)
from dspy_proact.kept.claim import (
    AUDIT_CLAIM,
    BATCHES,
    CALLS,
    COMPILE_CLAIM,
    CORPUS_CLAIM,
    RUN_CLAIM,
    Claim,
    Claimed,
    Identified,
    Kind,
    content_of,
    git_commit,
    now,
    refuse_overwrite,
    versions,
)
from dspy_proact.kept.known_files import write_known
from dspy_proact.kept.log import (
    Log,
    LogLine,
    as_text,
    first_fault,
    mark_of,
    marked,
    open_to_read,
    read_contents,
    read_lines,
    read_log,
    read_records,
    replacing,
    require_finite,
    unwritable,
    write_file,
)
from dspy_proact.kept.messages import MESSAGES, MessageLog, Request, StoredMessage, read_messages, read_requests
