"""What becomes of a slot, with a maker of one line in place of a benchmark."""

import asyncio

from dspy_proact.generation.attempt import Attempt, Mend
from dspy_proact.generation.progress import CorpusForecast, CorpusObserver, CorpusProgress
from dspy_proact.generation.slots import SlotWork
from dspy_proact.switch import Switch
from dspy_proact.types import Frozen


class Line(Frozen):
    text: str


class LineMaker:
    """Mends two stages at once, of which now one and now the other comes first."""

    def __init__(self, *stages: str):
        self.stages = stages

    async def begin(self, attempt: Attempt) -> Line:
        return Line(text=f"{attempt.slot} alone")

    def text(self, made: Line) -> str:
        return made.text

    async def finish(self, attempt: Attempt, begun: Line) -> Line:
        attempt.mends.extend(Mend(stage=stage, reasons=("It fails.",)) for stage in self.stages)
        return begun


def test_what_was_mended_stands_in_one_order_whichever_of_several_stages_came_first():
    def mends(*stages):
        progress = CorpusProgress(CorpusObserver(), CorpusForecast([], 1, 1), 1)
        work = SlotWork(LineMaker(*stages), lambda slot, number: Attempt(0, slot, number, {}, {}), progress, Switch())  # pyright: ignore[reportArgumentType]
        (kept,), _ = asyncio.run(work.run(1))
        return [mend.stage for mend in kept.mends]

    assert mends("review", "plan") == mends("plan", "review") == ["plan", "review"]
