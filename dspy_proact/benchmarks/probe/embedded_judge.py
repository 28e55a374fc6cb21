"""What the embedded model says as a judge of PROBE.

Its rules. A facet is correct where enough of the words that carry its meaning stand in the description, incorrect where
some do, missing where none does, and `n/a` where it is null; without facets the whole bottleneck stands for each
of the essential ones, and the further ones do not apply. How many are enough an instruction moves that asks to be
strict or lenient. Parameters are matched one by one: letter by letter, as days and hours, as sets of values, or by
their words.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.probe.scoring import ESSENTIAL, FURTHER
from dspy_proact.models import Role
from dspy_proact.programs.embedded.asked import fields_of, outputs_of, unfenced, value_of
from dspy_proact.programs.embedded.words import content_words

_ENOUGH, _STEP = 0.4, 0.2
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SPELT = re.compile(rf"\b(\d{{1,2}}) ((?:{'|'.join(_MONTHS)})[a-z]*)(?:,? (\d{{4}}))?", re.IGNORECASE)
_TIME = re.compile(r"\d{2}:\d{2}")
_MOST = 0.6
"""Share of right parameters from which an action resolves a part."""


def answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The verdict as JSON, with the fields that were asked for."""
    shown = fields_of(messages[-1][1]) if messages else {}
    names = outputs_of(system)
    instruction = system.partition("your objective is:")[2]
    strict, lenient = (bool(re.search(rf"\bbe {word}\b", instruction, re.IGNORECASE)) for word in ("strict", "lenient"))
    enough = _ENOUGH + _STEP * (strict - lenient)
    verdict = _of_parameters(shown, enough) if "would_resolve" in names else _of_description(shown, enough)
    return json.dumps({name: verdict.get(name, "") for name in names or verdict}, ensure_ascii=False)


JUDGE = Role("judge", "--judge", "verdict", answer)


def _of_description(shown: Mapping[str, str], enough: float) -> dict[str, Any]:
    expected = value_of(shown.get("expected"), {})
    said = content_words(unfenced(shown.get("description", "")))
    whole: dict[str, Any] = dict.fromkeys(ESSENTIAL, expected.get("description"))
    facets = expected.get("facets") if isinstance(expected.get("facets"), dict) else whole
    words = {name: _word(facets.get(name), said, enough) for name in (*ESSENTIAL, *FURTHER)}
    wrong = [name for name, word in words.items() if word not in {"correct", "n/a"}]
    identified = not set(wrong) & set(ESSENTIAL)
    judgment = "INCORRECT" if not identified else "PARTIALLY_CORRECT" if wrong else "CORRECT"
    reasoning = f"Not there or otherwise: {', '.join(wrong)}." if wrong else "Every facet is there."
    return {"reasoning": reasoning, **words, "judgment": judgment}


def _word(facet: Any, said: Any, enough: float) -> str:
    if not isinstance(facet, str):
        return "n/a"
    words = content_words(facet)
    share = len(words & said) / len(words) if words else 0.0
    return "correct" if share >= enough else "incorrect" if share else "missing"


def _of_parameters(shown: Mapping[str, str], enough: float) -> dict[str, Any]:
    expected, given = value_of(shown.get("expected"), {}), value_of(unfenced(shown.get("given", "")), {})
    missing = [name for name in expected if given.get(name) in (None, "", [], {})]
    there = [name for name in expected if name not in missing]
    same = [name for name in there if _plain(given[name]) == _plain(expected[name])]
    alike = [name for name in there if name not in same and _alike(expected[name], given[name], enough)]
    share = (len(same) + len(alike)) / len(expected) if expected else 1.0
    level = 2 if share == 1 else 1 if share >= _MOST else 0
    return {
        "reasoning": f"{len(same)} of {len(expected)} parameters are the same, {len(alike)} alike.",
        "missing": missing,
        "incorrect": [name for name in there if name not in same and name not in alike],
        "semantic_matches": alike,
        "would_resolve": ("no", "partially", "yes")[level],
        "judgment": ("INCORRECT", "PARTIALLY_CORRECT", "CORRECT")[level],
    }


def _plain(value: Any) -> Any:
    """A value without what its form adds: lists as sets, texts without case and further blanks."""
    if isinstance(value, list):
        return frozenset(str(_plain(each)) for each in value)
    return " ".join(str(value).split()).casefold()


def _alike(expected: Any, given: Any, enough: float) -> bool:
    """Whether two dates are of one moment, as far as both say it, or enough words are there; a number must be equal."""
    if isinstance(expected, int | float):
        return False
    if isinstance(expected, str) and _ISO.match(expected):
        one, other = _moment(expected), _moment(str(given))
        return bool(one and other) and all(a == b or not (a and b) for a, b in zip(one or (), other or (), strict=True))
    words, said = (content_words(json.dumps(value, ensure_ascii=False)) for value in (expected, given))
    return bool(words) and len(words & said) / len(words) >= enough


def _moment(text: str) -> tuple[str, str, str] | None:
    """Year, month with day, and time of the first date in a text, each empty where it is not said; None without one."""
    if found := _ISO.search(text):
        year, month, day = found.groups()
    elif found := _SPELT.search(text):
        day, name, year = found.groups()
        month = f"{_MONTHS.index(name[:3].lower()) + 1:02}"
    else:
        return None
    time = _TIME.search(text, found.end())
    return year or "", f"{month}-{int(day):02}", time.group() if time else ""
