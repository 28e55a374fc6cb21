"""Replies as they came, for a page: what stands on it already is left out, and what has no room."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dspy_proact.calls import LoggedCall, part_text
from dspy_proact.report.summary import Summary
from dspy_proact.runs import RunFolder

REPLY_ROOM = 20_000_000
"""Characters of raw replies that a page has room for."""
_LONGEST = 20_000
"""Characters of one of them."""
Raw = Sequence[tuple[str, str]]
"""Whose reply and what part of it, and its text, in the order of ending."""


def raw_replies(summary: Summary, room: int = REPLY_ROOM) -> Mapping[tuple[str, int], Raw]:
    """The replies of a run by case and epoch; none of a file, an older run and a private corpus.

    A reply that is the response is left out. Raises a `RunError` where the log of calls was changed.
    """
    folder = RunFolder(summary.path)
    if summary.manifest is None or summary.manifest.corpus.private or not folder.path.is_dir():
        return {}
    outcomes = (*summary.outcomes, *summary.controls.outcomes)
    shown = {(outcome.key, outcome.epoch): outcome.response for outcome in outcomes}
    replies = defaultdict[tuple[str, int], list[tuple[str, str]]](list)
    for call in folder.calls():
        if call.key is None or (case := (call.key.case, call.key.epoch)) not in shown:
            continue
        parts = [*map(part_text, call.parts)]
        parts += [("failure", f"{call.failure.reason}: {call.failure.detail}")] if call.failure else []
        for kind, text in parts:
            if text == shown[case]:
                continue
            cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… [{len(text) - _LONGEST:,} more characters]"
            room -= len(cut)
            replies[case].append((_name(call, kind), cut if room >= 0 else "no room for more; a transcript has it"))
    return replies


def _name(call: LoggedCall, kind: str) -> str:
    assert call.key is not None, "of a run"
    who = f"judge {call.key.judge}" if call.key.judge and call.role == "judge" else call.role
    again = f", verdict {call.key.judge_epoch}" if call.key.judge_epoch > 1 else ""
    cut = ", cut at the token limit" if (call.response or {}).get("finish_reason") == "length" else ""
    return f"{who}{again}, call {call.number}: {kind}{cut}"
