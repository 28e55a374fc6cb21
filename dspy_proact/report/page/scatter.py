"""A picture of numbered points with their intervals, their names below: one standalone SVG, for a page or a README.

Names come from people and models. Nothing in them becomes markup, and nothing is drawn that the numbers do not say: a
point without bounds has no bars, and one without a value is named below the picture with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from dspy_proact.plain_text import printable
from dspy_proact.report.numbers import percent
from dspy_proact.report.page.figures import templates
from dspy_proact.stats import Estimate

_LONGEST_NAME, _LONGEST_LINE = 40, 96
"""Characters of a name, and of a line below the picture."""


@dataclass(frozen=True)
class ScatterPoint:
    """A named point with its intervals; raises a `ValueError` where a value or a bound is no share in [0, 1]."""

    name: str
    x: Estimate
    """Share in [0, 1]; without a value, the point is named below the picture."""
    y: Estimate
    """Share in [0, 1], as `x`."""
    marked: bool = False
    """Whether it stands out."""
    colour: str = ""
    """A colour of its own, as CSS writes it, which fills it; without one it has that of marked or of other points."""
    letter: str = ""
    """Its name in the picture; without one it has a number."""
    mark: str = ""
    """`striped` and `dotted` have an outline of the colour alone, the second a broken one."""

    def __post_init__(self):
        for estimate in (self.x, self.y):
            numbers = [number for number in (estimate.low, estimate.value, estimate.high) if number is not None]
            if not all(0 <= number <= 1 for number in numbers):
                raise ValueError(f"a point of a scatter is a share in [0, 1]: {self!r}")

    @property
    def placed(self) -> bool:
        """Whether it has a place in the picture: both values are known."""
        return self.x.value is not None and self.y.value is not None


@dataclass(frozen=True)
class _Spot:
    """A point of the picture, in pixels: the plot goes from 76 to 716 across, and from 484 up to 64."""

    point: ScatterPoint
    name: str
    """Its letter or number."""
    across: float
    down: float

    @property
    def bars(self) -> str:
        """The path of its intervals, with a stroke at each end; empty without bounds."""
        x, y, path = self.point.x, self.point.y, ""
        if x.low is not None and x.high is not None:
            path += f"M{_across(x.low):.1f} {self.down:.1f}H{_across(x.high):.1f}"
            path += "".join(f"M{_across(end):.1f} {self.down - 4:.1f}v8" for end in (x.low, x.high))
        if y.low is not None and y.high is not None:
            path += f"M{self.across:.1f} {_down(y.low):.1f}V{_down(y.high):.1f}"
            path += "".join(f"M{self.across - 4:.1f} {_down(end):.1f}h8" for end in (y.low, y.high))
        return path


def scatter_svg(
    points: Sequence[ScatterPoint], *, title: str, x: str, y: str, note: str = "", in_page: bool = False
) -> str:
    """The picture as SVG text, the same for the same points, with a note below; both axes go from 0 to 100 %.

    Points that stand earlier are drawn above. `in_page` says whether a page holds it, whose colours it has: those of
    page.css, also for a dark and a printed page.
    """
    known = [(point, point.x.value, point.y.value) for point in points]
    drawn = [(point, a, b) for point, a, b in known if a is not None and b is not None]
    spots = [
        _Spot(point, point.letter or str(number), _across(a), _down(b))
        for number, (point, a, b) in enumerate(drawn, start=1)
    ]
    texts = ["; ".join(f"{spot.name} {clipped(spot.point.name, _LONGEST_NAME)}" for spot in spots), note]
    for point in points:
        reasons = [
            f"{axis}: {estimate.reason}" for axis, estimate in ((x, point.x), (y, point.y)) if estimate.value is None
        ]
        texts += [f"Not drawn: {point.name} ({'; '.join(reasons)})"] if reasons else []
    below = [
        line
        for text in texts
        for line in wrap(
            " ".join(clipped(word, _LONGEST_LINE) for word in text.split()),
            _LONGEST_LINE,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
    tips: list[str] = []  # one a spot; it also names what the spot hides
    for spot in spots:
        here = [other.point for other in spots if (other.across, other.down) == (spot.across, spot.down)]
        lines = (f"{point.name}: {x} {percent(point.x)} %, {y} {percent(point.y)} %" for point in here)
        tips.append("\n".join(map(clipped, lines)))
    # What stands later is drawn first.
    last_first = list(zip(spots, tips, strict=True))[::-1]
    shown_values = {"title": title, "x": x, "y": y, "count": len(points), "spots": last_first, "below": below}
    shown = templates().get_template("scatter.svg").render(**shown_values, in_page=in_page, clipped=clipped)
    return f"{shown}\n"


def clipped(text: str, most: int | None = None) -> str:
    """A text on one line, its middle left out where it is longer than that: names of models differ at their ends."""
    line = " ".join(printable(text).split())
    if most is None or len(line) <= most:
        return line
    return f"{line[: most // 2 - 1]}…{line[len(line) - most // 2 :]}"


def _across(share: float) -> float:
    return 76 + 640 * share


def _down(share: float) -> float:
    return 484 - 420 * share
