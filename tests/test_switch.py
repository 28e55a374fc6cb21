"""A switch ends a run, in any event loop and thread."""

import asyncio
from threading import Thread

import pytest

from dspy_proact.errors import Interrupted, SetupFault
from dspy_proact.switch import Switch


def test_a_pulled_switch_raises_its_first_halt_from_then_on():
    switch = Switch()
    switch.check()
    first, second = SetupFault("first"), Interrupted("second")
    switch.pull(first)
    switch.pull(second)
    assert switch.halt is first
    for _ in range(2):
        with pytest.raises(SetupFault) as caught:
            switch.check()
        assert caught.value is first
    with pytest.raises(SetupFault):
        asyncio.run(asyncio.wait_for(switch.pause(3600.0), 5.0))


def test_pauses_end_by_themselves_in_one_event_loop_after_another():
    switch = Switch()
    for seconds in (0.0, 0.001, 0.001):
        asyncio.run(switch.pause(seconds))


def test_a_pull_from_any_thread_ends_every_pause_at_once():
    async def run(pull):
        switch = Switch()
        pauses = [asyncio.create_task(switch.pause(3600.0)) for _ in range(3)]
        await asyncio.sleep(0)
        pull(switch)
        async with asyncio.timeout(5.0):
            return await asyncio.gather(*pauses, return_exceptions=True)

    for pull in (
        lambda switch: switch.pull(Interrupted("stop")),
        lambda switch: Thread(target=switch.pull, args=[Interrupted("stop")]).start(),
    ):
        assert [type(ended) for ended in asyncio.run(run(pull))] == [Interrupted] * 3


def test_a_cancelled_pause_is_cancelled():
    async def run():
        pause = asyncio.create_task(Switch().pause(3600.0))
        await asyncio.sleep(0)
        pause.cancel()
        await asyncio.wait([pause], timeout=5.0)
        return pause.cancelled()

    assert asyncio.run(run())
