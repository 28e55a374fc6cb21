"""A picture of named points with their intervals: one standalone SVG, for a page or a README.

Names come from people and models. Nothing in them becomes markup, and nothing is drawn that the numbers do not say: a
point without bounds has no bars, and one without a value is named below the picture with the reason.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from dspy_proact.plain_text import printable
from dspy_proact.report.numbers import percent
from dspy_proact.report.placement import Box, Named, Placed, placed
from dspy_proact.stats import Estimate

_WIDTH = 760
_PLOT = Box(76, 64, 716, 484)
_ROOM = Box(_PLOT.left + 2, _PLOT.top, _WIDTH - 8, _PLOT.bottom)
"""For names."""
_RADIUS, _CAP = 5.0, 4.0
_SIZE, _LINE = 13, 17
_LONGEST_NAME, _LONGEST_AXIS, _LONGEST_LINE = 40, 56, 96
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class ScatterColours:
    """What the picture is drawn with, each as CSS writes a colour; those of a light ground."""

    ink: str = "#1f2328"
    """Of text and leaders."""
    muted: str = "#59636e"
    """Of axes, their numbers and what stands below."""
    grid: str = "#e7eaee"
    edge: str = "#c6cdd5"
    """Of the frame."""
    paper: str = "#ffffff"
    marked: str = "#0a58a8"
    """Of points that stand out."""
    plain: str = "#7a828b"
    """Of the others."""


_LIGHT = ScatterColours()


@dataclass(frozen=True)
class ScatterPoint:
    """A named point with its intervals.

    Raises:
        ValueError: A value or a bound is no share in [0, 1].
    """

    name: str
    x: Estimate
    """Share in [0, 1]; where it has no value, the point is named below the picture."""
    y: Estimate
    """Likewise."""
    marked: bool = False
    """Whether it stands out."""

    def __post_init__(self):
        for each in (self.x, self.y):
            numbers = [number for number in (each.low, each.value, each.high) if number is not None]
            if not all(0 <= number <= 1 for number in numbers):
                raise ValueError(f"a point of a scatter is a share in [0, 1]: {self!r}")

    @property
    def placed(self) -> bool:
        """Whether it has a place in the picture: both values are known."""
        return self.x.value is not None and self.y.value is not None


@dataclass(frozen=True)
class _Spot:
    """A point of the picture, in pixels."""

    point: ScatterPoint
    across: float
    down: float

    @property
    def text(self) -> str:
        """Its name, fit for the picture."""
        return _clipped(self.point.name, _LONGEST_NAME)

    def colour(self, colours: ScatterColours) -> str:
        """Of its marker and its bars."""
        return colours.marked if self.point.marked else colours.plain

    @property
    def named(self) -> Named:
        """What its name must not cover."""
        x, y, bars = self.point.x, self.point.y, list[Box]()
        if x.low is not None and x.high is not None:
            bars.append(Box(_across(x.low), self.down - 1, _across(x.high), self.down + 1))
        if y.low is not None and y.high is not None:
            bars.append(Box(self.across - 1, _down(y.high), self.across + 1, _down(y.low)))
        marker = Box(self.across - _RADIUS, self.down - _RADIUS, self.across + _RADIUS, self.down + _RADIUS)
        wide = _wide(self.text) * (1.06 if self.point.marked else 1.0)
        return Named(self.across, self.down, wide, _LINE, marker, tuple(bars))


def scatter_svg(
    points: Sequence[ScatterPoint], *, title: str, x: str, y: str, note: str = "", colours: ScatterColours = _LIGHT
) -> str:
    """The picture as SVG text, the same for the same points; both axes go from 0 to 100 %.

    Args:
        points: In any number; those that stand earlier are drawn above.
        title: What is shown.
        x: What the horizontal axis shows.
        y: What the vertical axis shows.
        note: What a reader has to know, below the picture.
        colours: What it is drawn with; a page that holds it can give its own, which change with it.
    """
    known = [(point, point.x.value, point.y.value) for point in points]
    spots = [_Spot(each, _across(a), _down(b)) for each, a, b in known if a is not None and b is not None]
    names = list(zip(spots, placed([spot.named for spot in spots], _ROOM), strict=True))
    below = [*_broken(note), *(line for point in points for line in _broken(_absent(point, x, y)))]
    height = f"{_PLOT.bottom + 64 + (8 + _LINE * len(below) if below else 0):g}"
    what = f"{title}. Across: {x}. Up: {y}. {len(spots)} of {len(points)} points are drawn."
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" font-family="{_FONTS}" font-size="{_SIZE}" fill="{colours.ink}">',
            f"<title>{_safe(title)}</title>",
            f"<desc>{_safe(what)}</desc>",
            f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{float(height) - 1:g}" rx="6" fill="{colours.paper}" '
            f'stroke="{colours.edge}"/>',
            f'<text x="{_PLOT.left}" y="36" font-size="16" font-weight="600">{_safe(_clipped(title, 72))}</text>',
            *_axes(x, y, colours),
            *(_bars(spot, colours) for spot in reversed(spots) if spot.named.bars),
            *(_leader(spot, place, colours) for spot, place in names if place.steps),
            *(_marker(spot, spots, (x, y), colours) for spot in reversed(spots)),
            *(_name(spot, place, colours) for spot, place in names),
            *(
                f'<text x="{_PLOT.left}" y="{_PLOT.bottom + 72 + _LINE * number}" font-size="12" '
                f'fill="{colours.muted}">{_safe(line)}</text>'
                for number, line in enumerate(below)
            ),
            "</svg>\n",
        ]
    )


def _axes(x: str, y: str, colours: ScatterColours) -> list[str]:
    lines: list[str] = []
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        across, down = _across(share), _down(share)
        told = f"{100 * share:.0f} %"
        lines += [
            f'<path d="M{across:g} {_PLOT.top}V{_PLOT.bottom}M{_PLOT.left} {down:g}H{_PLOT.right}" '
            f'stroke="{colours.grid}"/>',
            f'<text x="{across:g}" y="{_PLOT.bottom + 20}" text-anchor="middle" fill="{colours.muted}">{told}</text>',
            f'<text x="{_PLOT.left - 10}" y="{down + 4.5:g}" text-anchor="end" fill="{colours.muted}">{told}</text>',
        ]
    middle, centre = (_PLOT.left + _PLOT.right) / 2, (_PLOT.top + _PLOT.bottom) / 2
    across, up = (_safe(_clipped(axis, _LONGEST_AXIS)) for axis in (x, y))
    return [
        *lines,
        f'<path d="M{_PLOT.left} {_PLOT.top}V{_PLOT.bottom}H{_PLOT.right}" stroke="{colours.muted}" fill="none"/>',
        f'<text x="{middle:g}" y="{_PLOT.bottom + 44}" text-anchor="middle">{across}</text>',
        f'<text transform="translate(22 {centre:g}) rotate(-90)" text-anchor="middle">{up}</text>',
    ]


def _bars(spot: _Spot, colours: ScatterColours) -> str:
    """The intervals, with a stroke at each end."""
    x, y, path = spot.point.x, spot.point.y, ""
    if x.low is not None and x.high is not None:
        path += f"M{_across(x.low):.1f} {spot.down:.1f}H{_across(x.high):.1f}"
        path += "".join(f"M{_across(end):.1f} {spot.down - _CAP:.1f}v{2 * _CAP:g}" for end in (x.low, x.high))
    if y.low is not None and y.high is not None:
        path += f"M{spot.across:.1f} {_down(y.low):.1f}V{_down(y.high):.1f}"
        path += "".join(f"M{spot.across - _CAP:.1f} {_down(end):.1f}h{2 * _CAP:g}" for end in (y.low, y.high))
    return f'<path d="{path}" stroke="{spot.colour(colours)}" stroke-width="1.4" stroke-opacity="0.55" fill="none"/>'


def _leader(spot: _Spot, place: Placed, colours: ScatterColours) -> str:
    """What joins a name to its point where it had to move away."""
    box = place.box
    across, down = min(max(spot.across, box.left), box.right), min(max(spot.down, box.top), box.bottom)
    line = f"M{spot.across:.1f} {spot.down:.1f}L{across:.1f} {down:.1f}"
    return f'<path d="{line}" stroke="{colours.ink}" stroke-width="0.8" fill="none"/>'


def _marker(spot: _Spot, spots: Sequence[_Spot], axes: tuple[str, str], colours: ScatterColours) -> str:
    """A point, which also tells of those that it hides."""
    x, y = axes
    here = [each.point for each in spots if (each.across, each.down) == (spot.across, spot.down)]
    told = "\n".join(_safe(f"{each.name}: {x} {percent(each.x)} %, {y} {percent(each.y)} %") for each in here)
    fill = colours.marked if spot.point.marked else colours.paper
    return (
        f'<circle cx="{spot.across:.1f}" cy="{spot.down:.1f}" r="{_RADIUS:g}" fill="{fill}" '
        f'stroke="{spot.colour(colours)}" stroke-width="2"><title>{told}</title></circle>'
    )


def _name(spot: _Spot, place: Placed, colours: ScatterColours) -> str:
    weight = ' font-weight="600"' if spot.point.marked else ""
    return (
        f'<text x="{place.box.left:.1f}" y="{place.box.bottom - 4:.1f}"{weight} paint-order="stroke" '
        f'stroke="{colours.paper}" stroke-width="3" stroke-linejoin="round">{_safe(spot.text)}</text>'
    )


def _absent(point: ScatterPoint, x: str, y: str) -> str:
    """Why a point is not drawn; nothing for one that is."""
    reasons = [f"{axis}: {each.reason}" for axis, each in ((x, point.x), (y, point.y)) if each.value is None]
    return f"Not drawn: {point.name} ({'; '.join(reasons)})" if reasons else ""


def _broken(text: str) -> list[str]:
    """Lines of a text that fit below the picture; the middle of a word that is longer than a line is left out."""
    words = " ".join(_clipped(word, _LONGEST_LINE) for word in text.split())
    return wrap(words, _LONGEST_LINE, break_long_words=False, break_on_hyphens=False)


def _clipped(text: str, most: int) -> str:
    """A text on one line, its middle left out where it is long: names of models differ at their ends."""
    line = " ".join(printable(text).split())
    return line if len(line) <= most else f"{line[: most // 2 - 1]}…{line[len(line) - most // 2 :]}"


def _safe(text: str) -> str:
    """A text on one line, without markup and without what a reader of XML refuses."""
    return escape(" ".join(printable(text).split()))


def _wide(text: str) -> float:
    """About how wide a name is, in pixels."""
    return 4 + sum(_SIZE if unicodedata.east_asian_width(char) in "WF" else 0.57 * _SIZE for char in text)


def _across(share: float) -> float:
    return _PLOT.left + share * (_PLOT.right - _PLOT.left)


def _down(share: float) -> float:
    return _PLOT.bottom - share * (_PLOT.bottom - _PLOT.top)
