"""Scripts that fail or wait, judges of riddles who grade apart, and the stages that a run has kept."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from toy import Guess, Marking, Riddles, cases, guess, mark, marked

from dspy_proact.runs import Case, RunFolder, Scored

KINDS = ["content", "provider"]


def raising(error: BaseException, key: str = "a") -> Callable[..., Any]:
    """A script for either stage that fails at one case."""

    async def script(case: Case, *answer: Guess) -> Any:
        if case.key == key:
            raise error
        return await (mark(case, *answer) if answer else guess(case))

    return script


def stages(path: Path) -> list[tuple[str, str]]:
    """Case and stage of each event on disk, sorted."""
    return sorted((event.key.case, event.key.stage) for event in RunFolder(path).events())


async def until(condition: Callable[[], object]) -> None:
    """Let others go on until something holds."""
    while not condition():
        await asyncio.sleep(0)


class Court(Riddles):
    """Two judges who grade apart: `sphinx` is lenient and `oracle` is not; notes in which order they are asked."""

    def __init__(self, *keys: str, failing: Mapping[str, Exception] = MappingProxyType({})):
        super().__init__(cases(*keys), judges=("sphinx", "oracle"))
        self.asked: list[tuple[str, str]] = []
        self._failing = failing

    async def grade(self, case: Case, answer: Guess, judge: str) -> Scored[Marking]:
        self.asked.append((case.key, judge))
        if error := self._failing.get(judge):
            raise error
        return marked({"sphinx": "SOLVED", "oracle": "LOST"}[judge], f"{judge} on {answer.words}")
