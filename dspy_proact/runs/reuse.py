"""Stages that a run takes over from another one, since their requests are equal or differ in a raised limit of output.

Such a stage is done as always, and its requests are answered from the log of the other run, by the names that they
have under its limit. It is reused only if all of them are answered so; else nothing of it is, and its models are asked.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from dspy_proact.calls import LoggedCall, StageKey
from dspy_proact.kept import CALLS, CallLog, NoReply, Request, StageCalls, marked_calls, read_records
from dspy_proact.runs.folder import RunFolder
from dspy_proact.runs.ledger import Grading, Ledger, StageEvent, latest
from dspy_proact.runs.manifest import Identity
from dspy_proact.types import RoleIdentity


class ReusedStage(StageCalls):
    """A stage that is answered from the calls of another run.

    Attributes:
        copies: These calls as this run keeps them, each with what gives its request.
    """

    def __init__(
        self, log: CallLog, key: StageKey, begun: int, calls: Mapping[str, LoggedCall], limits: Mapping[str, int]
    ):
        super().__init__(log, key, begun)
        self._calls, self.limits, self.copies = calls, limits, list[tuple[LoggedCall, Callable[[], Request]]]()

    def reply(self, name: str, before: str, role: str, request: Callable[[], Request]) -> LoggedCall | None:
        """The logged call; None for vectors, which are not kept and are made again; raises `NoReply` without one."""
        if own := super().reply(name, before, role, request):  # copied before a kill, or paid for by this run
            return own
        kept = self._calls.get(before)
        if kept is None:
            raise NoReply
        if kept.response is None:
            return None
        here = {"begun": self.begun, "number": self.number, "request": name, "messages": None, "mark": ""}
        copy = kept.model_copy(update=here | {"attempts": (), "reused": kept.reused or kept.attempts})
        self.copies.append((copy, request))
        return copy


class ReuseSource:
    """A run whose stages another one takes over; a third process may be writing it.

    Args:
        folder: Of the run.
        here: The identity of the run that takes over.

    Raises:
        RunError: There is no run, or it is damaged or was changed.
    """

    def __init__(self, folder: RunFolder, here: Identity):
        manifest = folder.manifest()
        there = manifest.identity
        self.record = folder.reused_by(here)
        self._folder, self._path = folder, folder.path / CALLS
        self._forecast = (there.settings, there.corpus) == (here.settings, here.corpus)
        judges = {judge.model: judge for judge in there.judges}
        self._limits: dict[str | None, dict[str, int] | None] = {}
        before = {"assistant": there.assistant, **there.roles}
        self._limits[None] = _raised(before, {"assistant": here.assistant, **here.roles})
        for judge in here.judges:
            before = {"judge": judges[judge.model]} if judge.model in judges else {}
            self._limits[judge.model] = _raised(before, {"judge": judge})
        self._ledger = Ledger(folder.events(), Grading([*judges], manifest.judge_epochs))
        self._lines = defaultdict[tuple[StageKey, int], list[tuple[int, int]]](list)
        self._cut = set[tuple[StageKey, int, str]]()
        for line, call in marked_calls(self._path, there.digest()):
            if call.key:
                self._lines[call.key, call.begun].append((line.number, line.start))
                if call.response and call.response.get("finish_reason") == "length":
                    self._cut.add((call.key, call.begun, call.role))

    def qualifies(self, key: StageKey) -> bool:
        """Whether a stage has a result, by the same model and program, and no reply was cut at a limit now raised."""
        last, limits = self._ledger.begun(key), self._limits.get(key.judge)
        if limits is None or not self._ledger.has_result(key) or (key, last) not in self._lines:
            return False
        return not any((key, last, role) in self._cut for role in limits)

    def stage(self, key: StageKey, begun: int, log: CallLog) -> ReusedStage:
        """A stage that qualifies, as it is done in the run that takes over, into this log."""
        logged = read_records(self._path, LoggedCall, self._lines[key, self._ledger.begun(key)])
        calls = {call.request: call for call in logged if not call.failure}
        return ReusedStage(log, key, begun, calls, self._limits[key.judge] or {})

    def results(self) -> Iterator[StageEvent]:
        """The events of the stages that qualify; none where their requests are made by other settings or cases."""
        if self._forecast:
            yield from (event for event in latest(self._folder.events()).values() if self.qualifies(event.key))


def _raised(there: Mapping[str, RoleIdentity], here: Mapping[str, RoleIdentity]) -> dict[str, int] | None:
    """The limits of output there that are lower than here, by role; None where replies there are not of use here."""
    limits = dict[str, int]()
    for role, now in here.items():
        before = there.get(role)
        if before is None or before.output_limit > now.output_limit or _without_limit(before) != _without_limit(now):
            return None
        limits |= {role: int(before.output_limit)} if before.output_limit < now.output_limit else {}
    return limits


def _without_limit(role: RoleIdentity) -> RoleIdentity:
    decoding = {name: value for name, value in role.decoding.items() if name != "max_tokens"}
    return role.model_copy(update={"decoding": decoding, "cuts": {}})
