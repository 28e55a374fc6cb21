"""What a report says first, as a value: text and JSON are made from it, so that neither contradicts the number."""

from dataclasses import dataclass
from typing import Literal

from dspy_proact.plain_text import printable
from dspy_proact.stats.estimate import Estimate

Side = Literal["higher", "lower"]


@dataclass(frozen=True)
class Headline:
    """A sentence with the number that carries it, what was tested, and the lines that stand below it."""

    text: str
    """One sentence, with its stop, of at most 30 words and one interval; made from the other fields, never read."""
    side: Side | None = None
    """On which side what the sentence is about lies, by the test; None where no side is claimed."""
    number: Estimate | None = None
    """The estimate that the sentence carries, whose interval it prints; None where there is none."""
    test: str | None = None
    """What decides the side, or what the interval is of."""
    p: float | None = None
    """The p value of the test, in (0, 1]; None where it has none."""
    count: int | None = None
    """Of how many cases, items or rows the number is."""
    caveats: tuple[str, ...] = ()
    """Lines below the sentence, each once; that two runs were judged differently comes first."""

    def __post_init__(self) -> None:
        # Names in them are of others: no terminal obeys anything in one.
        object.__setattr__(self, "text", printable(self.text))
        object.__setattr__(self, "caveats", tuple(map(printable, self.caveats)))

    @property
    def lines(self) -> tuple[str, ...]:
        """The sentence and its caveats, as a terminal prints them."""
        return self.text, *self.caveats

    @property
    def claim(self) -> dict[str, object]:
        """What stands beside the sentence in JSON; a `reason` only where the number has one."""
        interval = {name: getattr(self.number, name, None) for name in ("value", "low", "high")}
        reason = {"reason": self.number.reason} if self.number and self.number.reason else {}
        beside = {"test": self.test, "p": self.p, "count": self.count, "caveats": list(self.caveats)}
        return {"side": self.side, **interval, **reason, **beside}
