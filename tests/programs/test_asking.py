"""What a compile awaits is done in the thread that asks, in the order in which it is awaited."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from dspy_proact.errors import Interrupted
from dspy_proact.programs.asking import run_here

MARK: ContextVar[str] = ContextVar("mark")


async def body():
    """Names of threads and the order of five pieces of work, three of them of one `gather`."""
    done = []

    def work(number):
        done.append((number, threading.get_ident(), MARK.get()))
        return number

    first = await asyncio.to_thread(work, 0)
    several = await asyncio.gather(*(asyncio.to_thread(work, number) for number in (1, 2, 3)))
    await asyncio.sleep(0)
    return [first, *several, work(4)], done


def test_work_for_threads_is_done_at_once_in_the_caller_s_context():
    MARK.set("here")
    numbers, done = run_here(body())
    assert numbers == [0, 1, 2, 3, 4]
    assert done == [(number, threading.get_ident(), "here") for number in range(5)]


def test_a_body_runs_beside_the_loop_of_a_notebook():
    async def notebook():
        MARK.set("notebook")
        return run_here(body())

    numbers, done = asyncio.run(notebook())
    assert numbers == [0, 1, 2, 3, 4]
    assert [(number, mark) for number, _, mark in done] == [(number, "notebook") for number in range(5)]


@pytest.mark.parametrize("failure", [ValueError("no"), Interrupted("ended")])
def test_what_a_body_raises_is_raised_and_what_it_left_behind_is_cancelled(failure):
    ended = []

    async def waiting():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def failing():
        left = asyncio.create_task(waiting())
        await asyncio.sleep(0)
        assert not left.done()
        raise failure

    with pytest.raises(type(failure), match=str(failure)):
        run_here(failing())
    assert ended == ["cancelled"]
