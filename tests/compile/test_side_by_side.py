"""Work side by side: what comes of it, the first failure, and contexts."""

import threading
from contextvars import ContextVar
from functools import partial

import pytest

from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.errors import Halt, Interrupted, LimitReached

NAME: ContextVar[str] = ContextVar("NAME", default="nobody's")


@pytest.mark.parametrize("width", [1, 2, 3, 64])
def test_results_stand_in_the_order_of_the_work_whichever_ends_first(width):
    """The first of each pair waits for the second, where there is room for both."""
    ended = threading.Event()

    def first() -> str:
        assert width == 1 or ended.wait(60)
        return "first"

    def second() -> str:
        ended.set()
        return "second"

    assert side_by_side([first, second], width) == ["first", "second"]
    assert side_by_side([], width) == []


@pytest.mark.parametrize("width", [2, 5])
def test_no_more_run_at_once_than_the_width_and_as_many_do(width):
    """All that run wait for one another: fewer would wait for ever."""
    together, running, most, turn = threading.Barrier(width), 0, [0], threading.Lock()

    def work() -> None:
        nonlocal running
        with turn:
            running += 1
            most[0] = max(most[0], running)
        together.wait(60)
        with turn:
            running -= 1
        together.wait(60)

    side_by_side([work] * (2 * width), width)
    assert most == [width]


@pytest.mark.parametrize("kind", [ValueError, LimitReached])
def test_the_first_failure_in_order_is_raised_once_what_has_begun_has_ended(kind):
    failed, ended = threading.Event(), []

    def early() -> None:
        failed.wait(60)
        ended.append("early")
        raise kind("the first in order")

    def late() -> None:
        failed.set()
        raise kind("the first in time")

    with pytest.raises(kind, match="the first in order"):
        side_by_side([early, late], 2)
    assert ended == ["early"]


@pytest.mark.parametrize("width", [1, 2])
def test_nothing_is_begun_after_a_failure(width):
    begun: list[int] = []

    def fails() -> None:
        raise LimitReached("here")

    with pytest.raises(Halt):
        side_by_side([fails, *(partial(begun.append, number) for number in range(50))], width)
    assert len(begun) < 50


@pytest.mark.parametrize("width", [1, 4])
def test_each_piece_runs_in_the_context_of_the_caller_and_of_nobody_else(width):
    NAME.set("the caller's")

    def work(number: int) -> str:
        seen = NAME.get()
        NAME.set("a piece's")
        return f"{seen} {number}"

    message = side_by_side([partial(work, number) for number in range(4)], width)
    assert message[0] == "the caller's 0"
    assert width == 1 or message == [f"the caller's {number}" for number in range(4)]


def test_a_failure_that_is_no_halt_is_told_before_the_halts_that_it_caused():
    both = threading.Barrier(2)

    def fails(error):
        both.wait()
        raise error

    halted, broken = Interrupted("another part failed"), ValueError("a bug")
    with pytest.raises(ValueError, match="a bug"):
        side_by_side([partial(fails, halted), partial(fails, broken)], 2)
