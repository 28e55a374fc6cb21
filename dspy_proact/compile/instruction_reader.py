"""Reads the one text that a proposer is asked for, in whatever form it comes."""

import json
import re
from contextlib import suppress
from typing import Any, cast

import dspy
from dspy import AdapterParseError

from dspy_proact.models.thoughts import without_thoughts
from dspy_proact.plain_text import encodable
from dspy_proact.programs.fenced_json import FencedJSON

LONGEST = 20_000
"""Characters of an instruction, which stands in every request of a program."""
_OBJECTS = 20
"""Objects in one reply that are looked at."""
_MARKER = re.compile(r"\[\[ ?## ?(\w+) ?## ?\]\]")
_TAG = re.compile(r"\A\s*<(\w+)>(.*)</\1>\s*\Z", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,})[\w-]*[ \t]*\n(.*?)\n {0,3}\1[ \t]*$", re.DOTALL | re.MULTILINE)
_PREAMBLE = re.compile(
    r"\A(?=[^\n]{0,200}:\W{0,4}\n)[\W_]*(?:sure|certainly|of course|okay|here(?:'s|\u2019s| is| are)|"
    r"(?:the )?(?:new |better |improved |revised |updated )?(?:instructions?|prompt|system prompt)\b)[^\n]*\n\s*",
    re.IGNORECASE,
)
"""A first line that only announces the text."""
_REFUSAL = re.compile(
    r"\A\W*(?:i(?:['\u2019]?m| am) (?:sorry|unable)|sorry|i can(?:not|['\u2019]t)|i won['\u2019]t|as an ai)\b"
    r"[^\n]{0,400}\Z",
    re.IGNORECASE,
)
_QUOTES = {'"': '"', "\u201c": "\u201d"}


class InstructionReader(FencedJSON):
    """Asks for JSON, and reads one field, the last, from whatever is answered.

    Read are JSON with line breaks or quotation marks in the text, among others and in code fences; DSPy's markers; a
    tag; and plain text, in a fence or after a line that announces it. Not read are thoughts that never end, JSON that
    is cut or has no such field, an apology, and what is longer than `LONGEST`.
    """

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The field; raises `AdapterParseError` where there is none."""
        *_, name = signature.output_fields
        thoughts, text = without_thoughts(completion)
        read = "" if thoughts and not text else encodable(instruction_in(text, name))
        if not 0 < len(read) <= LONGEST:
            raise AdapterParseError(
                adapter_name=type(self).__name__,
                signature=cast("Any", signature),  # annotated as an instance in DSPy, where a class is meant
                lm_response=completion,
                message=f"There is no {name} in it of at most {LONGEST:,} characters.",
            )
        return {name: read}


def instruction_in(text: str, name: str) -> str:
    """The text of a field in an answer, stripped; empty where there is none."""
    begin, decoder = -1, json.JSONDecoder(strict=False)
    for _ in range(_OBJECTS):
        begin = text.find("{", begin + 1)
        if begin < 0:
            break
        with suppress(ValueError, RecursionError):
            value, _ = decoder.raw_decode(text, begin)
            if isinstance(read := value.get(name), str):
                return read.strip()
    if broken := re.search(rf'"{name}"\s*:\s*"(.*)"\s*,?\s*\}}', text, re.DOTALL):
        # A quotation mark that is not escaped: the last one before the end of the object ends the text.
        escaped = re.sub(r'\\.|"', lambda match: match[0] if len(match[0]) > 1 else '\\"', broken[1], flags=re.DOTALL)
        with suppress(ValueError):
            return json.loads(f'"{escaped}"', strict=False).strip()
    if f'"{name}"' in text:
        return ""
    head, *marked = _MARKER.split(text)
    return _plain(dict(zip(marked[::2], marked[1::2], strict=True)).get(name, head), name)


def _plain(text: str, name: str) -> str:
    """A text without what stands around it; empty for an apology, and for JSON."""
    text = text.strip()
    if (tagged := _TAG.match(text)) and tagged[1] == name:
        text = tagged[2]
    text = _PREAMBLE.sub("", text, count=1).strip()
    fences = _FENCE.findall(text)
    if len(fences) == 1 and 2 * len(fences[0][1]) > len(text):
        text = fences[0][1].strip()
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return "" if text.startswith(("{", "[{")) or _REFUSAL.match(text) else text
