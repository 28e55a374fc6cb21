"""Cases that are answered one after another, since the program under test is told what it answered before."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel

from dspy_proact.errors import ProviderError
from dspy_proact.runs.benchmark import Case
from dspy_proact.runs.ledger import StageEvent, Work


class Chains:
    """The chains among the cases of a run: what may begin, what follows it, and the answers so far.

    An answer whose content could not be used is final, so that the chain goes on without it. One that failed because of
    the provider is tried again in the next run, and with it every case after it: none of them is asked until then, so
    that a resumed run sends what an uninterrupted one would have sent.

    Cases, and the open work among them, are in the order in which they are done. Events, which the run has on disk, are
    read only where there are chains.

    Attributes:
        ready: What needs no answer that is still to come, in its order.
    """

    def __init__(
        self, cases: Sequence[Case], todo: Iterable[Work], events: Iterable[StageEvent], answer_type: type[BaseModel]
    ):
        self._chain = {case.key: case.chain for case in cases if case.chain}
        self._keys = defaultdict[str, list[str]](list)
        for key, chain in self._chain.items():
            self._keys[chain].append(key)
        self._waiting = dict[tuple[str, int], deque[Work]]()
        self.ready = list[Work]()
        for work in todo:
            lane = (work.case.chain, work.epoch)
            if work.case.chain and lane in self._waiting:
                self._waiting[lane].append(work)
            else:
                self._waiting |= {lane: deque()} if work.case.chain else {}
                self.ready.append(work)
        self._answer_type = answer_type
        self._answers, self._broken = dict[tuple[str, int], BaseModel | dict[str, Any]](), set[tuple[str, int]]()
        if self._chain:
            for event in events:
                self.note(event)
            self._broken.clear()  # what failed is tried again first

    def note(self, event: StageEvent) -> None:
        """Note a stage that ended."""
        key, chain = event.key, self._chain.get(event.key.case)
        if chain is None or key.stage != "response":
            return
        if event.answer is not None:
            self._answers[key.case, key.epoch] = event.answer
        elif event.failure and event.failure.kind != "content":
            self._broken.add((chain, key.epoch))

    def next_after(self, work: Work) -> Work | None:
        """The open work that waited for this one; None where there is none."""
        waiting = self._waiting.get((work.case.chain, work.epoch))
        return waiting.popleft() if waiting else None

    def earlier(self, work: Work) -> tuple[BaseModel | None, ...]:
        """The answers to the cases before this one in its chain, None for one without; empty outside of chains.

        Raises a `ProviderError` where one of them failed in this run for another reason than its content.
        """
        if (work.case.chain, work.epoch) in self._broken:
            raise ProviderError("earlier", "an answer before it in its chain failed; both are tried again together")
        keys = self._keys.get(work.case.chain) or [work.case.key]
        return tuple(self._answer(key, work.epoch) for key in keys[: keys.index(work.case.key)])

    def _answer(self, case: str, epoch: int) -> BaseModel | None:
        kept = self._answers.get((case, epoch))
        if isinstance(kept, dict):
            kept = self._answers[case, epoch] = self._answer_type.model_validate(kept)
        return kept
