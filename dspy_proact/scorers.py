"""Ready-made scorers for `grade`: functions of a text that give a score in [0, 1], higher is better, and ask no model.

They look at the text alone, so that equal texts score alike. An empty text scores 0.0, unless a pattern takes it. A
scorer raises a `ValueError` where what is expected could not be missed, or could not be met.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(
    r"(?<![\w.,])[-+\u2212]?"
    r"(?:(?P<european>\d{1,3}(?:\.\d{3})+,\d+)|(?P<grouped>\d{1,3}(?:[,'\u2019\u00a0\u202f]\d{3})+(?!\d)(?:\.\d+)?)"
    r"|\d+(?:[.,]\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
)


def contains(text: str, *expected: str, match_case: bool = False) -> float:
    r"""Share of the expected texts that occur in a text: 1.0 if all of them do, 0.0 if none does.

    Any white space counts as one blank, and letters match in either case unless `match_case`. A part of a word counts:
    "unhappy" contains "happy"; use `regex` with `\b` for whole words.

    Raises:
        ValueError: Nothing is expected, or one of the texts is blank.
    """
    if not expected or not all(wanted.strip() for wanted in expected):
        raise ValueError("`contains` takes one text or more, none of them blank")

    def plain(part: str) -> str:
        joined = " ".join(part.split())
        return joined if match_case else joined.casefold()

    return sum(plain(wanted) in plain(text) for wanted in expected) / len(expected)


def regex(text: str, pattern: str, flags: int = 0) -> float:
    r"""1.0 if a pattern of Python's `re` matches anywhere in a text, else 0.0.

    Anchor it with `\A` and `\Z` to match all of the text; `flags` are those of `re`, such as `re.IGNORECASE`. The
    time that a pattern with nested repetitions takes can grow exponentially with the text.

    Raises:
        re.error: The pattern is not valid.
    """
    return float(re.search(pattern, text, flags) is not None)


def json_fields(text: str, expected: Mapping[str, Any] | None = None) -> float:
    """Share of the expected fields that the JSON object in a text has with equal values, in [0, 1].

    Where no fields are expected: 1.0 if the text is a JSON object. The object may stand in a code fence, with nothing
    beside it. A text that is no such object scores 0.0, as does one with a key given twice, `NaN` or `Infinity`.
    Further fields are ignored. 1 equals 1.0; true does not equal 1, nor "1".
    """
    fenced = _FENCED.fullmatch(text)
    try:
        read = json.loads(fenced[1] if fenced else text, object_pairs_hook=_unique, parse_constant=_refused)
        fields = _typed(read)
    except (ValueError, RecursionError):
        return 0.0
    if not isinstance(read, dict):
        return 0.0
    if not expected:
        return 1.0
    return sum(name in fields and fields[name] == _typed(wanted) for name, wanted in expected.items()) / len(expected)


def number(text: str, expected: float, tolerance: float = 0.0) -> float:
    """1.0 if the last number in a text is the expected one, at most `tolerance` away, else 0.0; 0.0 without a number.

    Numbers are compared to nine digits. Read are 1234.5, 1,234.5, 1.234,5 and 1'234.5, a decimal comma (3,50), a
    leading sign, and an exponent. A comma before three digits groups thousands, so that 1,234 is 1234; a dot is a
    decimal point, so that 1.234 is not. What follows a number, such as a unit, a percent sign or the `rd` of 3rd, is
    ignored; digits after a letter, as in A4, are no number.

    Raises:
        ValueError: A number is not finite, or the tolerance is negative.
    """
    if not (math.isfinite(expected) and math.isfinite(tolerance) and tolerance >= 0):
        raise ValueError("`number` takes a finite number, and a tolerance of 0 or more")
    matches = [*_NUMBER.finditer(text)]
    if not matches:
        return 0.0
    last = matches[-1]
    digits = re.sub(r"[\u00a0\u202f'\u2019]", "", last[0]).replace("\u2212", "-")
    if last["european"]:
        digits = digits.replace(".", "").replace(",", ".")
    digits = digits.replace(",", "" if last["grouped"] else ".")
    return float(math.isclose(float(digits), expected, rel_tol=1e-9, abs_tol=tolerance))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _typed(value: Any) -> Any:
    """A value in which true and false equal no number, and a tuple is a list."""
    match value:
        case bool():
            return str, value
        case Mapping():
            return {name: _typed(of) for name, of in cast("Mapping[str, Any]", value).items()}
        case list() | tuple():
            return [_typed(item) for item in cast("Sequence[Any]", value)]
        case _:
            return value
