"""Numbers of JSON documents, each shown with the place that it is from, and bars of them as inline SVG.

Across, a figure is measured in shares of its width and up it in pixels, so that letters keep their size on any screen.
Colours and patterns are the page's: a bar has the class of its run and of its kind.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dspy_proact.report.numbers import probability, share, signed

Place = str | int
"""A key of an object, or a number of a list."""
Path = tuple[Place, ...]
_NONE = Markup('<span class="none">–</span>')


@dataclass(frozen=True)
class Cited:
    """Documents whose numbers become elements that name their source.

    Each is a `data` element: its `value` is the number as it stands in the document, `data-at` the JSON pointer to it,
    and its text the number as people read it. Paths are given whole, or in parts.
    """

    documents: Mapping[str, Any]

    def at(self, *path: Place | Path) -> Any:
        """What stands there."""
        found: Any = self.documents
        for place in _flat(path):
            found = found[place]
        return found

    def count(self, *path: Place | Path) -> Markup:
        """A whole number."""
        return self._number(path, lambda value: f"{value:,}")

    def share(self, *path: Place | Path) -> Markup:
        """A share in [0, 1], in percent."""
        return self._number(path, share)

    def estimate(self, *path: Place | Path) -> Markup:
        """A share with its interval, in percent."""
        return self._with_interval(path, share, "–")

    def coefficient(self, *path: Place | Path) -> Markup:
        """A kappa, a correlation or a measure with its interval."""
        return self._with_interval(path, lambda value: f"{value:.2f}", ", ")

    def points(self, *path: Place | Path) -> Markup:
        """A difference with its interval, in points of a hundred."""
        return self._with_interval(path, signed, ", ")

    def probability(self, *path: Place | Path) -> Markup:
        """A p-value."""
        return self._number(path, probability)

    def usd(self, *path: Place | Path) -> Markup:
        """US dollars."""
        return self._number(path, lambda value: f"{value:.4f}")

    def seconds(self, *path: Place | Path) -> Markup:
        """Seconds, with their unit."""
        return self._number(path, lambda value: f"{value:,.1f}") + Markup(" s")

    def range(self, *path: Place | Path) -> Markup:
        """Two whole numbers, or one where they are alike."""
        found = self.at(*path)
        if found is None:
            return _NONE
        low, high = found
        ends = [self.count(*path, 0)] if low == high else [self.count(*path, 0), self.count(*path, 1)]
        return Markup("–").join(ends)

    def _with_interval(self, path: tuple[Place | Path, ...], shown: Callable[[float], str], to: str) -> Markup:
        value = self._number((*path, "value"), shown)
        if self.at(*path)["low"] is None:
            return value
        low, high = (self._number((*path, end), shown) for end in ("low", "high"))
        return Markup('{} <span class="interval">[{}{}{}]</span>').format(value, low, to, high)

    def _number(self, path: tuple[Place | Path, ...], shown: Callable[[Any], str]) -> Markup:
        value = self.at(*path)
        if value is None:
            return _NONE
        return Markup('<data value="{}" data-at="{}">{}</data>').format(repr(value), pointer(*path), shown(value))


def pointer(*path: Place | Path) -> str:
    """Where something stands in a document, as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(place).replace('~', '~0').replace('/', '~1')}" for place in _flat(path))


def _flat(path: tuple[Place | Path, ...]) -> Iterator[Place]:
    for each in path:
        if isinstance(each, tuple):
            yield from each
        else:
            yield each


_HIGH, _TOP, _FOOT = 240, 26, 54
_STAMP = 24
"""Height of the line above the bars that names a stand-in."""
_GAP = 0.18
"""Share of a group's width that is left free."""
_MOST_VALUES = 2
"""Runs up to which bars have their numbers above them; of more the table tells."""


@dataclass(frozen=True)
class Group:
    """Bars that stand together: those of one row of a report, by run."""

    name: str
    rows: Sequence[tuple[Place, ...]]
    """Where each run's row stands."""
    note: str = ""
    """Below the name."""


def bars(cited: Cited, groups: Sequence[Group], runs: Sequence[str], title: str, *, stand_in: bool) -> Markup:
    """Grouped bars of scores in [0, 1] with their 95 % intervals, one for each run."""
    shape = "many" if len(groups) * len(runs) > 12 else "several" if len(runs) > 1 else "one"
    what = "; ".join(_told(cited, group, runs) for group in groups)
    drawn = Markup("").join(_group(cited, group, place, len(groups)) for place, group in enumerate(groups))
    axis = Markup("").join(
        Markup(
            '<line class="grid" x1="0" x2="100%" y1="{0:g}" y2="{0:g}"/>'
            '<text class="tick" x="-8" y="{1:g}">{2:.0f}</text>'
        ).format(_up(value), _up(value) + 4, 100 * value)
        for value in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    stamp = Markup('<text class="stand-in" x="0" y="14">embedded stand-in</text>') if stand_in else ""
    above = _STAMP if stand_in else 0
    return Markup(
        '<svg role="img" aria-labelledby="bars-title bars-what" class="{}" width="100%" height="{}">'
        '<title id="bars-title">{}</title><desc id="bars-what">{}</desc>{}'
        '<g transform="translate(0 {})">{}{}</g></svg>'
    ).format(shape, above + _TOP + _HIGH + _FOOT, title, what, stamp, above, axis, drawn)


def _group(cited: Cited, group: Group, place: int, groups: int) -> Markup:
    wide = 100 / groups
    left, inner = wide * (place + _GAP / 2), wide * (1 - _GAP)
    each = inner / len(group.rows)
    valued = len(group.rows) <= _MOST_VALUES
    slots = [(left + each * run, each) for run in range(len(group.rows))]
    drawn = [_bar(cited, (*row, "weighted"), run, slots[run], valued) for run, row in enumerate(group.rows)]
    letters = [
        Markup('<text class="letter" x="{:.2f}%" y="{}">{}</text>').format(start + each / 2, _up(0) + 15, letter(run))
        for run, (start, _) in enumerate(slots)
        if len(slots) > 1
    ]
    name = Markup('<text class="name" x="{:.2f}%" y="{}">{}</text><text class="note" x="{:.2f}%" y="{}">{}</text>')
    below = _up(0) + (30 if letters else 19)
    middle = left + inner / 2
    return Markup("").join([*drawn, *letters, name.format(middle, below, group.name, middle, below + 15, group.note)])


def _bar(cited: Cited, path: tuple[Place, ...], run: int, slot: tuple[float, float], valued: bool) -> Markup:
    """A bar with its interval, in its slot: left end and width; without a value a dash."""
    left, wide = slot
    found: dict[str, Any] = cited.at(*path)
    value, low, high = (found[name] for name in ("value", "low", "high"))
    if value is None:
        return Markup('<text class="value" x="{:.2f}%" y="{}">–</text>').format(left + wide / 2, _up(0) - 6)
    drawn = Markup('<rect x="6%" width="88%" y="{:.1f}" height="{:.1f}"/>').format(_up(value), _HIGH * value)
    top = _up(value)
    if low is not None:
        top = _up(high)
        whisker = Markup(
            '<line class="halo" x1="50%" x2="50%" y1="{0:.1f}" y2="{1:.1f}"/>'
            '<line x1="50%" x2="50%" y1="{0:.1f}" y2="{1:.1f}"/><line x1="32%" x2="68%" y1="{0:.1f}" y2="{0:.1f}"/>'
            '<line x1="32%" x2="68%" y1="{1:.1f}" y2="{1:.1f}"/>'
        )
        drawn += whisker.format(_up(low), _up(high))
    label = Markup('<text class="value" x="50%" y="{:.1f}">{}</text>').format(top - 6, share(value)) if valued else ""
    return Markup('<svg class="bar run-{}" data-at="{}" x="{:.3f}%" width="{:.3f}%" height="100%">{}{}</svg>').format(
        colour(run), pointer(*path), left, wide, drawn, label
    )


_COLOURS = 6


def colour(run: int) -> int:
    """The number of a run's colour; a seventh run has the first's, and a letter of its own."""
    return run % _COLOURS


def letter(run: int) -> str:
    """What a run is called in figures and tables: A, B, ..., Z, then 27 and so on."""
    return chr(ord("A") + run) if run < 26 else str(run + 1)


def _told(cited: Cited, group: Group, runs: Sequence[str]) -> str:
    """A group in words."""
    values = [
        f"{f'{name}: ' if len(runs) > 1 else ''}{share(cited.at(*row, 'weighted')['value'])} %"
        for name, row in zip(runs, group.rows, strict=True)
    ]
    return f"{group.name} {', '.join(values)}"


def _up(value: float) -> float:
    return _TOP + _HIGH * (1 - value)
