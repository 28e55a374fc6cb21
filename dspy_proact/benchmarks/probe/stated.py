"""Whether a value stands in a text: by its words, as a date in any of the usual forms, or as a number."""

import re
from contextlib import suppress
from datetime import date, datetime
from typing import Any

from dspy_proact.evidence import Passage

_SMALL = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
_AMOUNT = re.compile(r"[^\w+-]*([A-Z]{3})?\s*([+-]?\d[\d.,' \u00a0\u2019]*)\s*([A-Z]{3})?[^\w]*")
_BETWEEN = r"[.,' \u00a0\u2019]?"
"""What may stand between the thousands of a number."""


def stands(value: Any, text: str) -> bool:
    """Whether a value stands in a text; of a list or an object each of its values. Yes, no and null stand in any."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, list | tuple | dict):
        return all(stands(inner, text) for inner in (value.values() if isinstance(value, dict) else value))
    if isinstance(value, int | float):
        return _has_number(float(value), text)
    return Passage(text).quote(str(value)).start is not None or _in_other_forms(str(value), text)


def _in_other_forms(value: str, text: str) -> bool:
    """Whether a value that is a day, a time or an amount stands in a text in another form."""
    with suppress(ValueError):
        moment = datetime.fromisoformat(value)
        return any(re.search(form, text, re.IGNORECASE) for form in _day_forms(moment.date())) and (
            ":" not in value or any(re.search(form, text, re.IGNORECASE) for form in _clock_forms(moment))
        )
    if amount := _AMOUNT.fullmatch(value.strip()):
        digits = re.sub(r"[,' \u00a0\u2019]", "", amount[2].rstrip(".,' "))
        with suppress(ValueError):
            return _has_number(float(digits), text)
    return False


def _has_number(number: float, text: str) -> bool:
    """Whether a number stands in a text, with or without separators of thousands, or as a small word."""
    size, fraction = divmod(abs(number), 1)
    digits = f"{size:.0f}"
    groups = [digits[max(0, end - 3) : end] for end in range(len(digits), 0, -3)][::-1]
    decimals = f"{fraction:.6f}".rstrip("0")[2:]
    pattern = _BETWEEN.join(groups) + (rf"[.,]{decimals}0*" if decimals else r"(?:[.,]00?)?")
    if re.search(rf"(?<![\d.,]){pattern}(?!\d|[.,]\d)", text):
        return True
    small = not fraction and size < len(_SMALL)
    return small and re.search(rf"\b{_SMALL[int(size)]}\b", text, re.IGNORECASE) is not None


def _day_forms(day: date) -> list[str]:
    number, month, weekday = rf"0?{day.day}(?:st|nd|rd|th)?", rf"{day:%b}(?:[a-z]*)\.?", rf"{day:%a}[a-z]*\.?,?"
    numeric = rf"0?{day.month}"
    return [
        rf"\b{day:%Y-%m-%d}",
        rf"\b{number}\.?\s+(?:of\s+)?{month}",
        rf"\b{month}\s+(?:the\s+)?{number}\b",
        rf"\b{weekday}\s+(?:the\s+)?{number}\b",
        rf"\b0?{day.day}[./-]{numeric}\b",
        rf"\b{numeric}[./-]0?{day.day}\b",
    ]


def _clock_forms(moment: datetime) -> list[str]:
    hour, minute = moment.hour, f"{moment.minute:02d}"
    half = (hour + 11) % 12 + 1
    minutes = rf"(?:[:.]{minute})?" if minute == "00" else rf"[:.]{minute}"
    return [rf"\b0?{hour}[:.h]{minute}\b", rf"\b0?{half}{minutes}\s*{'p' if hour >= 12 else 'a'}\.?m"]
