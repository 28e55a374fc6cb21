"""How the embedded judge reads a request in indented text."""

import re
from dataclasses import dataclass

from dspy_proact.benchmarks.proactbench.programs.indented_text import MARGIN

_SHAPE = "Answer with one JSON object: "
_NESTED = re.compile(r"\[\{.*?\}\]")


@dataclass(frozen=True)
class Shown:
    """What a request shows; empty where it does not."""

    said: tuple[str, ...]
    """The user's messages."""
    passing: str
    failing: str
    """Criteria of the rubric."""
    response: str
    names: tuple[str, ...]
    """Of the fields that it asks for."""


def read(content: str) -> Shown:
    """What a request shows: a line without a margin is a heading, and what is indented below it its text."""
    heading, texts = "", dict[str, list[str]]()
    for line in content.split("\n"):
        if line and not line.startswith(MARGIN):
            heading = line
        else:
            texts.setdefault(heading, []).append(line.removeprefix(MARGIN))

    def text(begins: str) -> str:
        return next(("\n".join(lines) for heading, lines in texts.items() if heading.startswith(begins)), "")

    return Shown(
        said=tuple("\n".join(lines) for heading, lines in texts.items() if heading.endswith(", user:")),
        passing=text("PASS:"),
        failing=text("FAIL:"),
        response=text("Response "),
        names=next((_names(line) for line in content.split("\n") if line.startswith(_SHAPE)), ()),
    )


def _names(shape: str) -> tuple[str, ...]:
    return tuple(re.findall(r'"(\w+)": ', _NESTED.sub("[]", shape.removeprefix(_SHAPE))))
