"""Names beside the points of a picture, so that they cover as little as possible. All lengths are in pixels."""

from collections.abc import Sequence
from dataclasses import dataclass

_CLOSE, _DISTANCES = 9.0, 6
"""Distance of a name from its point, and at how many distances it may stand."""
_SIDES = ((1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1))
"""Where a name may stand, the best first; the second number grows downwards."""


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: "Box") -> bool:
        """Whether the other one lies within."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom

    def shared(self, other: "Box") -> float:
        """Area that both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, wide) * max(0.0, high)


@dataclass(frozen=True)
class Named:
    """What a name belongs to."""

    across: float
    """Of the point; `down` likewise, from the top."""
    down: float
    wide: float
    """Of the name; `high` likewise."""
    high: float
    marker: Box
    bars: tuple[Box, ...]
    """Its intervals."""


@dataclass(frozen=True)
class Placed:
    """Where a name stands."""

    box: Box
    steps: int
    """By which it had to move away; 0 is beside its point."""


def placed(named: Sequence[Named], room: Box) -> list[Placed]:
    """A place for each name within the room, in their order; the same for the same names.

    Each takes what is cheapest with the others where they are, twice round, so that the early give way to the late.
    """
    places: dict[int, Placed] = {}
    for _ in range(2):
        for number, each in enumerate(named):
            others = [place.box for other, place in places.items() if other != number]
            places[number] = min(_choices(each, room), key=lambda place: _cost(place, others, named))
    return [places[number] for number in range(len(named))]


def _choices(each: Named, room: Box) -> list[Placed]:
    """Where a name may stand, near its point first; where nothing fits, above it, moved into the room."""
    places: list[Placed] = []
    for steps in range(_DISTANCES):
        for right, low in _SIDES:
            # At a corner of its point a name comes closer; above and below it is centred.
            off = _CLOSE * (1 + steps) * (0.6 if right and low else 1.0)
            left = each.across + right * off - (each.wide if right < 0 else 0 if right else each.wide / 2)
            top = each.down + low * off - (each.high if low < 0 else 0 if low else each.high / 2)
            box = Box(left, top, left + each.wide, top + each.high)
            if room.holds(box):
                places.append(Placed(box, steps))
    left = max(min(each.across - each.wide / 2, room.right - each.wide), room.left)
    top = max(each.down - _CLOSE - each.high, room.top)
    return places or [Placed(Box(left, top, left + each.wide, top + each.high), 0)]


def _cost(place: Placed, others: Sequence[Box], named: Sequence[Named]) -> float:
    """What a place costs: other names cost most, then markers, then intervals, then distance."""
    names = sum(place.box.shared(other) for other in others)
    markers = sum(place.box.shared(each.marker) for each in named)
    bars = sum(place.box.shared(bar) for each in named for bar in each.bars)
    return 100 * names + 20 * markers + bars + 12 * place.steps
