"""How many calls an endpoint is sent at once: numbers in, a number out; no clock, no network.

what happens                        what follows
a round of calls was answered       grows: twice as many below the ceiling, 5 % more (at least 1) from there on
growth made calls slower            an endpoint that queues: back to the number before, and the next growth is later
refused (429)                       as many as are in flight beside the refused ones; the ceiling is at least half
timed out                           half as many

A round has as many answers as calls may be in flight, from calls that began since the number changed, while at least
80 % of it was in use. Calls that began before a cut cause no second one: a burst of refusals is one cut.

The doubling, 5 % and 80 % are those of Inspect (inspect_ai's adaptive connections); one cut a burst and a ceiling that
is remembered are those of NVIDIA's DataDesigner. Both cut by a factor (0.8, 0.75), which takes many bursts to get from
128 to 20; what was not refused is what the endpoint takes, so that number is used as it is. That growth must buy
throughput is the idea of TCP Vegas and of Netflix's gradient limiter; kinds of calls are compared with themselves,
since answers of different programs differ in length more than a queue shows.
"""

from collections import defaultdict
from statistics import fmean

FIRST = 4
"""Calls that an endpoint of one's own is sent at first, where it does not say how many it answers at a time."""
_USED = 0.8
_STEP = 0.05
_GAIN = 0.25
"""The least share of a growth that must become throughput: twice as many calls, a quarter more answers in a second."""
_WORTH_MEASURING = 1.5
"""Growth over the measured number from which on throughput is compared; one answer more or less hides any less."""
_LONGEST_PATIENCE = 16
_SHARE_OF_TIMEOUT = 0.5
"""Of the time that a call may take: no growth is made with which calls would take longer, if all of it queued."""


class Pace:
    """How many calls of one endpoint are in flight at most.

    Calls of several threads and event loops may report at once: what a race can lose is one report.

    Args:
        first: Calls at first.
        most: Calls at most.
        timeout: Seconds that a call may take.
        queues: Whether the endpoint may let calls wait instead of refusing them, as servers of one's own do.

    Attributes:
        limit: Calls in flight at most, 1 or more.
        turn: Number of changes so far; a call reports the one that it began in.
    """

    def __init__(self, first: int, most: int, timeout: float, *, queues: bool):
        self.limit, self.turn = max(1, min(first, most)), 0
        self._most, self._timeout, self._queues = most, timeout, queues
        self._ceiling: int | None = None
        """What was taken when more was refused; None where nothing was."""
        self._patience = 1
        """Rounds before the next growth from the ceiling on, or after one that bought nothing."""
        self._rounds = 0
        self._last_cut, self._least = 0, 1
        self._answered_since_cut = True
        self._round = defaultdict[str, list[float]](list)
        """Seconds of the answers of this round, by kind of call."""
        self._measured = 0
        self._seconds = dict[str, float]()
        """Mean seconds of an answer with `_measured` calls in flight, by kind of call."""

    def answered(self, turn: int, kind: str, seconds: float, in_flight: int) -> None:
        """A call of this kind was answered, which began in this turn; so many were in flight, itself included."""
        self._answered_since_cut = self._answered_since_cut or turn >= self._last_cut
        if turn < self.turn or in_flight < _USED * self.limit:
            return
        self._round[kind].append(seconds)
        if sum(map(len, self._round.values())) < self.limit:
            return
        means = {kind: fmean(seconds) for kind, seconds in self._round.items()}
        self._round.clear()
        self._rounds += 1
        if self._queues and not self._pays(means):
            self._patience, self._ceiling = min(2 * self._patience, _LONGEST_PATIENCE), None
            self._change(self._measured)
        else:
            self._grow(max(means.values()))

    def refused(self, turn: int, others: int) -> None:
        """A call was refused as one too many (429), while so many others were in flight."""
        taken = max(1, min(others, self.limit - (turn >= self._last_cut)))
        if turn >= self._last_cut:
            # Refused again without an answer between: the endpoint takes nothing now, which says nothing of a ceiling.
            self._cut(self.limit // 2 if self._answered_since_cut else self._ceiling)
        self._ceiling = max(taken, self._least)
        if taken < self.limit:
            self._change(taken)
            self._last_cut = self.turn

    def timed_out(self, turn: int) -> None:
        """A call was not answered in time."""
        if turn >= self._last_cut:
            half = max(1, self.limit // 2)
            self._cut(half)
            self._ceiling = half
            self._change(half)
            self._last_cut = self.turn

    def _pays(self, means: dict[str, float]) -> bool:
        """Whether the number bought throughput over the measured one; measures anew where it can be compared so far."""
        growth = self.limit / self._measured if self._measured else 1.0
        compared = [mean / self._seconds[kind] for kind, mean in means.items() if self._seconds.get(kind)]
        if growth >= _WORTH_MEASURING and compared:
            if fmean(compared) * (1 + _GAIN * (growth - 1)) > growth:
                return False
            self._patience = 1
        elif 1 < growth < _WORTH_MEASURING:
            return True
        self._seconds = means if growth != 1 else self._seconds | means
        self._measured = self.limit
        return True

    def _grow(self, seconds: float) -> None:
        """Grow after a round whose answers took so many seconds."""
        below = self._ceiling is not None and self.limit < self._ceiling
        if self._ceiling is not None and self.limit > self._ceiling:
            self._ceiling, self._patience = self.limit, 1
        if self._rounds < (1 if below else self._patience):
            return
        if below:
            aim = min(2 * self.limit, self._ceiling or self._most)
        elif self._ceiling is None:
            aim = 2 * self.limit
        else:
            aim = self.limit + max(1, int(_STEP * self.limit))
        aim = min(aim, self._most)
        in_a_queue = seconds * aim / self.limit
        if aim > self.limit and not (self._queues and in_a_queue > _SHARE_OF_TIMEOUT * self._timeout):
            self._change(aim)

    def _cut(self, least: int | None) -> None:
        """A burst begins, after which the ceiling is at least this."""
        if self._ceiling is not None and self.limit > self._ceiling:
            self._patience = min(2 * self._patience, _LONGEST_PATIENCE)
        self._least, self._answered_since_cut = least or 1, False

    def _change(self, limit: int) -> None:
        self.limit, self.turn, self._rounds = limit, self.turn + 1, 0
        self._round.clear()
