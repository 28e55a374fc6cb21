"""How far a run is: what is done, which grades came, what failed and what it cost."""

import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from dspy_proact.calls import CallTally, Price
from dspy_proact.cli.views.forecast import duration
from dspy_proact.cli.views.progress import ProgressOnStderr
from dspy_proact.runs import Event, Manifest, Observer, Scope

_ANSWERS = "answers"
"""What is counted where it is more than cases: their epochs, and control cases."""
_LINES = 10
_WIDTH = 80
"""Columns of a line that no terminal shows."""
_WORTH_TELLING = 10.0
"""Seconds that are left from which on they are told in a line."""


class RunProgress(ProgressOnStderr, Observer):
    """Shows cases that are done.

    Args:
        manifest: Of the run as it begins; it names its things and knows its prices.
        scope: How much of it is asked for.
    """

    def __init__(self, manifest: Manifest, scope: Scope):
        super().__init__("left")
        self._manifest = manifest
        more = scope.controls or (scope.epochs or manifest.epochs) > 1
        self._counted = _ANSWERS if more else manifest.nouns.cases
        self._todo = self._done = self._failures_for_good = 0
        self._begun = time.monotonic()
        self._labels = Counter[str]()
        self._tallies = defaultdict[tuple[str, str | None], CallTally](CallTally)

    def started(self, todo: int, asked: int) -> None:
        """Say how much there is."""
        self._todo = todo
        if todo < asked:
            self._say(f"{asked - todo} of {asked} {self._counted} are done already.")
        if todo:
            self._begin(self._counted, todo)

    def ended(self, event: Event, last: bool) -> None:
        """Count a stage, and a case that has its grades or will have none."""
        for call in event.calls:
            self._tallies[call.role, event.key.judge].add(call)
        self._labels.update([event.grade.label] if event.grade else [])
        self._failures_for_good += event.failure is not None
        self._done += last
        told = self._told()
        self._move(self._done, _broken(told, self._bar.console.width if self._bar else _WIDTH))
        if last and not self._bar and self._done * _LINES // self._todo > (self._done - 1) * _LINES // self._todo:
            left = (time.monotonic() - self._begun) * (self._todo - self._done) / self._done
            ahead = [f"about {duration(left)} left"] if left >= _WORTH_TELLING else []
            self._say(_broken([f"{self._done} of {self._todo} {self._counted}", *told, *ahead], _WIDTH))

    def _told(self) -> list[str]:
        """Grades, failures and cost so far."""
        named = {"verdicts": self._manifest.labels, self._manifest.nouns.controls: self._manifest.control_labels}
        counts = {
            name: ", ".join(f"{label} {self._labels[label]}" for label in labels if self._labels[label])
            for name, labels in named.items()
        }
        parts = [f"{name}: {told}" for name, told in counts.items() if told]
        parts += [f"failed {self._failures_for_good}"] if self._failures_for_good else []
        return [*parts, *self._cost()]

    def _cost(self) -> list[str]:
        prices: dict[tuple[str, str | None], Price] = {("assistant", None): self._manifest.assistant_price}
        prices |= {(role, None): price for role, price in self._manifest.further_prices.items()}
        prices |= {("judge", judge): price for judge, price in self._manifest.judge_prices.items()}
        spent = [tally.usage(prices[who]).usd for who, tally in self._tallies.items() if who in prices]
        known = [usd for usd in spent if usd is not None]
        return [f"USD {sum(known):.2f}"] if spent and len(known) == len(spent) and sum(known) else []


def _broken(parts: Sequence[str], width: int) -> str:
    """Parts in lines of so many columns, none of them broken."""
    whole = "; ".join(part.replace(" ", "\xa0") for part in parts)
    return textwrap.fill(whole, width, subsequent_indent="  ").replace("\xa0", " ")
