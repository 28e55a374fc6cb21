"""Thoughts that a server leaves in the text of a reply, told from the text.

    <think>...</think> text         and <thinking>, <thought>, <reasoning>, <seed:think>, [THINK], and the like
    ...</think> text                where the template of the chat opens the thoughts
    <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>text
    <think>...                      thoughts that never end: there is no text

A mark inside code, quotation marks or a complete JSON object is text, and so is a pair of marks in the middle of a text
that did not begin with thoughts. A response can thus speak of such marks, and a verdict can quote them.
"""

import json
import re
from collections.abc import Sequence

_TAG = r"(?:[\w.-]{1,20}:)?(?:think(?:ing)?|thoughts?|reasoning)"
_OPENING = (
    rf"<{_TAG}>|\[THINK\]|◁think▷|<\|(?:START_THINKING|inner_prefix|begin_of_thought)\|>|<\|channel>thought\b|"
    r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)[^<]{0,99}<\|message\|>"
)
_CLOSING = (
    rf"</{_TAG}>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>(?:\s*<\|START_RESPONSE\|>)?|<\|inner_suffix\|>|<channel\|>|"
    r"<\|end_of_thought\|>(?:\s*<\|begin_of_solution\|>)?|"
    r"(?:<\|end\|>\s*)?(?:<\|start\|>assistant)?<\|channel\|>final[^<]{0,99}(?:<\|constrain\|>\w*\s*)?<\|message\|>"
)
# Where a server drops the special tokens of the `channel` form, "analysis" and "assistantfinal" are left of them.
_BLANKS = r"[\s\u200b-\u200d\u2060\ufeff]*"
"""Also those that nobody sees, such as a byte order mark."""
OPENS = re.compile(rf"{_BLANKS}(?:(?i:{_OPENING})|analysis(?=[A-Z]))")
_CLOSES = re.compile(rf"(?i:{_CLOSING})|assistantfinal(?![a-z])")
_MARK = re.compile(rf"(?i:{_OPENING}|{_CLOSING})")
_AFTER = re.compile(r"\s*(?:<\|(?:return|end|END_RESPONSE|end_of_solution)\|>\s*)+\Z")
"""What ends the text in the forms that have an end of it."""
_TOKEN = re.compile(
    # A fenced block, which may have no end; a code span, which stands in one paragraph; a mark in quotation marks.
    r"^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:\n {0,3}(?P=fence)|\Z)"
    r"|(?<!`)(?P<ticks>`{1,20})(?!`)(?:(?!\n\s*\n).){1,1000}?(?<!`)(?P=ticks)(?!`)"
    rf"|[\"'\u201c\u2018«](?i:{_OPENING}|{_CLOSING})[\"'\u201d\u2019»]"
    r"|(?P<object>\{\s*[\"}])"
    rf"|(?P<opening>(?i:{_OPENING}))|(?P<closing>{_CLOSES.pattern})",
    re.MULTILINE | re.DOTALL,
)
BEGINNING = re.compile(
    rf"{_BLANKS}(?:|<[\w.:-]{{0,40}}|<\|.{{0,120}}|\[[A-Za-z]{{0,5}}|◁[a-z]{{0,5}}|a|an|ana|anal|analy|analys|analysis)\Z"
)
"""A text that may begin with a mark, once more of it has come."""
HINTS = ("</", "[/", "◁/", "|>")
"""One of them is in every closing mark; to look for the marks themselves takes a hundred times as long."""
ROOM = 160
"""Characters in which any mark ends, with what may follow it."""
_OBJECTS = 100
"""That are looked at in one reply: to read many that never end takes long."""


def without_thoughts(text: str, system: object = None) -> tuple[str, str]:
    """The thoughts in a text that a model wrote, and the text without them; both stripped where there are thoughts.

    An element that the `system` message asks for, as DSPy's XML adapter does for a field `reasoning`, is text.
    """
    first = OPENS.match(text)
    if not first and not any(hint in text for hint in HINTS):
        return "", text
    if first and isinstance(system, str):
        name = first.group().strip().strip("<>")
        if f"<{name}>\n{{{name}}}" in system:
            return "", text
    kept = kept_of(text)
    if kept is None:
        return "", text
    return thoughts_beside(kept, text), _AFTER.sub("", joined(kept, text).rstrip())


def joined(kept: Sequence[slice], text: str) -> str:
    """What is kept of a text; blanks at its end are left, since more may follow."""
    *before, last = (text[part] for part in kept) if kept else ("",)
    return "\n\n".join(filter(None, (*(part.strip() for part in before), last.lstrip())))


def thoughts_beside(kept: Sequence[slice], text: str) -> str:
    """The rest of a text, without the marks."""
    ends = [0, *(part.stop for part in kept)]
    between = zip(ends, [*(part.start for part in kept), len(text)], strict=True)
    return _MARK.sub("", "".join(text[start:stop] for start, stop in between)).strip()


def kept_of(text: str) -> list[slice] | None:
    """Where text stands between thoughts; None where there are none."""
    kept, opened = list[slice](), OPENS.match(text)
    thinks = opened is not None
    start = position = depth = objects = 0
    while True:
        if opened:  # whatever stands in thoughts, their first closing mark ends them
            closed = _CLOSES.search(text, opened.end())
            if closed is None:
                return kept
            position = start = closed.end()
            opened = OPENS.match(text, position)
            continue
        token = _TOKEN.search(text, position)
        if token is None:
            break
        position = token.end()
        if token["object"] and objects < _OBJECTS:
            position, objects = _end_of_object(text, token.start()), objects + 1
        elif token["opening"]:
            if thinks and _CLOSES.search(text, position):
                kept.append(slice(start, token.start()))
                opened = token
            else:
                depth += 1
        elif token["closing"]:
            if depth:
                depth -= 1
            else:  # all of it up to here was thoughts
                kept, start, thinks = [], token.end(), True
                opened = OPENS.match(text, position)
    return [*kept, slice(start, len(text))] if thinks else None


def _end_of_object(text: str, start: int) -> int:
    """Where a JSON object ends; right after its brace if it is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start + 1
