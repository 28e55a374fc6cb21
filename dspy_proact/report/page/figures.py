"""What templates are filled with: numbers of JSON documents, each with the place that it is from; letters of runs."""

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from dspy_proact.plain_text import encodable, printable
from dspy_proact.report.numbers import probability, share, signed
from dspy_proact.report.page.rendered import readable

Step = str | int
"""A key of an object, or a number of a list."""
Path = tuple[Step, ...]
_NONE = Markup('<span class="none">–</span>')


@dataclass(frozen=True)
class Cited:
    """Documents whose numbers become elements that name their source.

    Each is a `data` element: its `value` is the number as it stands in the document, `data-at` the JSON pointer to it,
    and its text the number as people read it. Paths are given whole, or in parts.
    """

    documents: Mapping[str, Any]

    def at(self, *path: Step | Path) -> Any:
        """What stands there."""
        value: Any = self.documents
        for step in _flat(path):
            value = value[step]
        return value

    def count(self, *path: Step | Path) -> Markup:
        """A whole number."""
        return self._number(path, lambda value: f"{value:,}")

    def share(self, *path: Step | Path) -> Markup:
        """A share in [0, 1], in percent."""
        return self._number(path, share)

    def estimate(self, *path: Step | Path) -> Markup:
        """A share with its interval, in percent."""
        return self._with_interval(path, share, "–")

    def coefficient(self, *path: Step | Path) -> Markup:
        """A kappa, a correlation or a measure with its interval."""
        return self._with_interval(path, lambda value: f"{value:z.2f}", ", ")

    def points(self, *path: Step | Path) -> Markup:
        """A difference with its interval, in points of a hundred."""
        return self._with_interval(path, signed, ", ")

    def probability(self, *path: Step | Path) -> Markup:
        """A p-value."""
        return self._number(path, probability)

    def usd(self, *path: Step | Path) -> Markup:
        """US dollars."""
        return self._number(path, lambda value: f"{value:.4f}")

    def seconds(self, *path: Step | Path) -> Markup:
        """Seconds, with their unit."""
        return self._number(path, lambda value: f"{value:,.1f}") + Markup(" s")

    def range(self, *path: Step | Path) -> Markup:
        """Two whole numbers, or one where they are alike."""
        value = self.at(*path)
        if value is None:
            return _NONE
        low, high = value
        ends = [self.count(*path, 0)] if low == high else [self.count(*path, 0), self.count(*path, 1)]
        return Markup("–").join(ends)

    def _with_interval(self, path: tuple[Step | Path, ...], shown: Callable[[float], str], to: str) -> Markup:
        value = self._number((*path, "value"), shown)
        if self.at(*path)["low"] is None:
            return value
        low, high = (self._number((*path, end), shown) for end in ("low", "high"))
        return Markup('{} <span class="interval">[{}{}{}]</span>').format(value, low, to, high)

    def _number(self, path: tuple[Step | Path, ...], shown: Callable[[Any], str]) -> Markup:
        value = self.at(*path)
        if value is None:
            return _NONE
        return Markup('<data value="{}" data-at="{}">{}</data>').format(repr(value), pointer(*path), shown(value))


def pointer(*path: Step | Path) -> str:
    """Where something stands in a document, as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in _flat(path))


def _flat(path: tuple[Step | Path, ...]) -> Iterator[Step]:
    for part in path:
        if isinstance(part, tuple):
            yield from part
        else:
            yield part


_COLOURS = 6
_MARKS = ("", "striped", "dotted")
"""What tells runs of one colour from each other beside their letters: nothing, lines across it, dots on it."""


def colour(run: int) -> int:
    """The number of a run's colour; a seventh run has the first's, and another `mark`."""
    return run % _COLOURS


def mark(run: int) -> str:
    """What stands on a run's colour, a class of page.css; a nineteenth run has the first's, and its own letter."""
    return _MARKS[run // _COLOURS % len(_MARKS)]


def look(run: int) -> str:
    """Colour and mark of a run, as classes of page.css."""
    return f"run-{colour(run)} {mark(run)}".strip()


PAGE = "dspy_proact.report.page"


@cache
def templates(package: str = PAGE) -> Environment:
    """The templates of a page that a package has; what is filled in is text, never markup."""
    environment: Any = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(PAGE)]),  # what pages share is here
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    environment.globals |= {"readable": readable}
    return environment


@cache
def page_text(package: str, name: str) -> str:
    """A style or a script that a package has."""
    return (files(package) / name).read_text(encoding="utf-8")


def one_file(template: Template, style: str, script: str, images: str = "", **shown: Any) -> str:
    """A page that needs no other file: its style and script are allowed, and nothing else but images from `images`."""
    style_digest, script_digest = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)
    )
    policy = (
        f"default-src 'none'; style-src 'sha256-{style_digest}'; script-src 'sha256-{script_digest}'; "
        f"{f'img-src {images}; ' if images else ''}base-uri 'none'; form-action 'none'"
    )
    return template.render(style=Markup(style), script=Markup(script), policy=policy, **shown)


def _seen(value: Any) -> Any:
    """A text of others with what would be hidden in it shown; what is safe already stays as it is."""
    return printable(encodable(value)) if isinstance(value, str) and not isinstance(value, Markup) else value
