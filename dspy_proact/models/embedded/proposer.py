"""The embedded proposer: writes instructions for the optimizers that ask a model for them.

Its rules. It answers whatever fields it is asked for. To a field that is an instruction it gives the instruction that
it was shown with one rule more: to be strict where the judge was shown as more lenient than people, to be lenient where
it was stricter, and where nothing tells, one or the other by the request's own hash.
"""

import hashlib
import json
import re

_OUTPUTS = re.compile(r"^Your output fields are:\n((?:\d+\. .*\n?)+)", re.MULTILINE)
_FENCED = re.compile(r"```\n(.*?)\n```", re.DOTALL)
_FIELD = re.compile(r"^\[\[ ## (\w+) ## \]\]\n(.*?)(?=^\[\[ ## |\Z)", re.MULTILINE | re.DOTALL)
_PEOPLE = re.compile(r"People graded this response: (\d+) PASS, (\d+) PARTIAL, (\d+) FAIL")
_JUDGE = re.compile(r"The judge said (PASS|PARTIAL|FAIL)")
_LEVELS = {"FAIL": 0.0, "PARTIAL": 1.0, "PASS": 2.0}
_RULES = ("Be strict: when in doubt between two grades give the lower.", "Be lenient: when in doubt give the higher.")


def answer(system: str, messages: list[tuple[str, str]]) -> str:
    """The fields that were asked for: as JSON where JSON is asked for, else under their headers."""
    asked = messages[-1][1] if messages else ""
    found = _OUTPUTS.search(system)
    names = re.findall(r"^\d+\. `(\w+)`", found.group(1), re.MULTILINE) if found else []
    text = _improved(asked)
    answers = {name: text if "instruction" in name else "A judge grades responses by a rubric." for name in names}
    if not names:
        return f"```\n{text}\n```"
    if "json object" in f"{system}\n{asked}".lower():
        return json.dumps(answers, ensure_ascii=False)
    fields = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in answers.items())
    return f"{fields}\n\n[[ ## completed ## ]]"


def _improved(asked: str) -> str:
    """The instruction that is shown, without rules added before, and one rule."""
    shown = {name: text.strip() for name, text in _FIELD.findall(asked)}
    named = [text for name, text in shown.items() if "instruction" in name and text]
    fenced = _FENCED.search(asked)
    current = named[0] if named else fenced.group(1) if fenced else "Grade one response by its rubric."
    for rule in _RULES:
        current = current.replace(f"\n\n{rule}", "")
    return f"{current}\n\n{_rule(asked)}"


def _rule(asked: str) -> str:
    people = [
        (2.0 * int(full) + int(partial)) / max(1, int(full) + int(partial) + int(fail))
        for full, partial, fail in _PEOPLE.findall(asked)
    ]
    judge = [_LEVELS[grade] for grade in _JUDGE.findall(asked)]
    lead = sum(judge) - sum(people) if len(judge) == len(people) else 0.0
    if lead:
        return _RULES[lead < 0]
    return _RULES[hashlib.sha256(asked.encode()).digest()[0] % 2]
