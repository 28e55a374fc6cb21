"""A picture of numbered points with their intervals, their names below: one standalone SVG, for a page or a README.

Names come from people and models. Nothing in them becomes markup, and nothing is drawn that the numbers do not say: a
point without bounds has no bars, and one without a value is named below the picture with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from dspy_proact.plain_text import printable
from dspy_proact.report.numbers import percent
from dspy_proact.stats import Estimate

_WIDTH = 760
_LEFT, _TOP, _RIGHT, _BOTTOM = 76, 64, 716, 484
"""Of the plot."""
_RADIUS, _CAP = 9.0, 4.0
_SIZE, _LINE = 13, 17
_LONGEST_NAME, _LONGEST_AXIS, _LONGEST_LINE = 40, 56, 96
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class ScatterColours:
    """What the picture is drawn with, each as CSS writes a colour; those of a light ground."""

    ink: str = "#1f2328"
    """Of text."""
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
    colour: str = ""
    """Its own, as CSS writes it, with which it is filled; else it has that of the marked or of the others."""
    letter: str = ""
    """What it is called in the picture; else its number."""

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
    name: str
    """Its letter or number."""
    across: float
    down: float

    @property
    def text(self) -> str:
        """Its name, fit for the picture."""
        return _clipped(self.point.name, _LONGEST_NAME)

    def colour(self, colours: ScatterColours) -> str:
        """Of its marker and its bars."""
        return self.point.colour or (colours.marked if self.point.marked else colours.plain)


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
    drawn = [(each, a, b) for each, a, b in known if a is not None and b is not None]
    spots = [
        _Spot(each, each.letter or str(number), _across(a), _down(b))
        for number, (each, a, b) in enumerate(drawn, start=1)
    ]
    names = "; ".join(f"{spot.name} {spot.text}" for spot in spots)
    below = [*_broken(names), *_broken(note), *(line for point in points for line in _broken(_absent(point, x, y)))]
    height = f"{_BOTTOM + 64 + (8 + _LINE * len(below) if below else 0):g}"
    what = f"{title}. Across: {x}. Up: {y}. {len(spots)} of {len(points)} points are drawn."
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" font-family="{_FONTS}" font-size="{_SIZE}" fill="{colours.ink}">',
            f"<title>{_safe(title)}</title>",
            f"<desc>{_safe(what)}</desc>",
            f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{float(height) - 1:g}" rx="6" fill="{colours.paper}" '
            f'stroke="{colours.edge}"/>',
            f'<text x="{_LEFT}" y="36" font-size="16" font-weight="600">{_safe(_clipped(title, 72))}</text>',
            *_axes(x, y, colours),
            *(_bars(spot, colours) for spot in reversed(spots)),
            *(_marker(spot, spots, (x, y), colours) for spot in reversed(spots)),
            *(
                f'<text x="{_LEFT}" y="{_BOTTOM + 72 + _LINE * number}" font-size="12" '
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
            f'<path d="M{across:g} {_TOP}V{_BOTTOM}M{_LEFT} {down:g}H{_RIGHT}" stroke="{colours.grid}"/>',
            f'<text x="{across:g}" y="{_BOTTOM + 20}" text-anchor="middle" fill="{colours.muted}">{told}</text>',
            f'<text x="{_LEFT - 10}" y="{down + 4.5:g}" text-anchor="end" fill="{colours.muted}">{told}</text>',
        ]
    middle, centre = (_LEFT + _RIGHT) / 2, (_TOP + _BOTTOM) / 2
    across, up = (_safe(_clipped(axis, _LONGEST_AXIS)) for axis in (x, y))
    return [
        *lines,
        f'<path d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}" stroke="{colours.muted}" fill="none"/>',
        f'<text x="{middle:g}" y="{_BOTTOM + 44}" text-anchor="middle">{across}</text>',
        f'<text transform="translate(22 {centre:g}) rotate(-90)" text-anchor="middle">{up}</text>',
    ]


def _bars(spot: _Spot, colours: ScatterColours) -> str:
    """The intervals, with a stroke at each end; nothing without bounds."""
    x, y, path = spot.point.x, spot.point.y, ""
    if x.low is not None and x.high is not None:
        path += f"M{_across(x.low):.1f} {spot.down:.1f}H{_across(x.high):.1f}"
        path += "".join(f"M{_across(end):.1f} {spot.down - _CAP:.1f}v{2 * _CAP:g}" for end in (x.low, x.high))
    if y.low is not None and y.high is not None:
        path += f"M{spot.across:.1f} {_down(y.low):.1f}V{_down(y.high):.1f}"
        path += "".join(f"M{spot.across - _CAP:.1f} {_down(end):.1f}h{2 * _CAP:g}" for end in (y.low, y.high))
    if not path:
        return ""
    return f'<path d="{path}" stroke="{spot.colour(colours)}" stroke-width="1.4" stroke-opacity="0.55" fill="none"/>'


def _marker(spot: _Spot, spots: Sequence[_Spot], axes: tuple[str, str], colours: ScatterColours) -> str:
    """A point, which also tells of those that it hides."""
    x, y = axes
    here = [each.point for each in spots if (each.across, each.down) == (spot.across, spot.down)]
    told = "\n".join(_safe(f"{each.name}: {x} {percent(each.x)} %, {y} {percent(each.y)} %") for each in here)
    filled = spot.point.marked or spot.point.colour
    fill, ink = (spot.colour(colours), colours.paper) if filled else (colours.paper, colours.ink)
    return (
        f'<circle cx="{spot.across:.1f}" cy="{spot.down:.1f}" r="{_RADIUS:g}" fill="{fill}" '
        f'stroke="{spot.colour(colours)}" stroke-width="2"><title>{told}</title></circle>'
        f'<text x="{spot.across:.1f}" y="{spot.down + 4:.1f}" text-anchor="middle" font-size="11" fill="{ink}" '
        f'pointer-events="none">{spot.name}</text>'
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


def _across(share: float) -> float:
    return _LEFT + share * (_RIGHT - _LEFT)


def _down(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)
