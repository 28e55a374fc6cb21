"""How many calls an endpoint is sent at once, and how it is noted when none ends."""

import asyncio
import threading
from dataclasses import replace

import pytest
from drivers.client import QUIET, answers, ask, assistant, gate
from fakes.server import Answer, error, healthy, one_at_a_time

from dspy_proact import Evaluation, ModelSpec
from dspy_proact.call_observer import CallObserver
from dspy_proact.errors import Interrupted
from dspy_proact.models import Gate
from dspy_proact.models.endpoint import find_route
from dspy_proact.models.pacing import Pace
from dspy_proact.models.server import Server, first_calls
from dspy_proact.models.slots import Slots
from dspy_proact.runs import RunFolder
from dspy_proact.switch import Switch

pytestmark = QUIET


def own(first=4, most=32, timeout=600.0):
    """The pace of a server of one's own, which may let calls wait."""
    return Pace(first, most, timeout, queues=True)


def a_round(pace, seconds=1.0, kind="judge"):
    """A round of answers while all of the limit is used; the limit then."""
    turn, in_flight = pace.turn, pace.limit
    for _ in range(in_flight):
        pace.answered(turn, kind, seconds, in_flight)
    return pace.limit


def refusals(pace, taken):
    """A burst: of as many calls as may be in flight all but so many are refused, the first answers still to come."""
    turn, in_flight = pace.turn, pace.limit
    for others in range(in_flight - 1, taken - 1, -1):
        pace.refused(turn, others)
    return pace.limit


def test_the_number_doubles_while_answers_come_as_quickly():
    pace = own()
    assert [a_round(pace) for _ in range(4)] == [8, 16, 32, 32]


def test_growth_that_only_lengthens_a_queue_is_taken_back_and_tried_ever_later():
    """Twice as many calls that take twice as long are no gain; 1.6 times as long would be a quarter more answers."""
    pace = own()
    limits = [a_round(pace, seconds=pace.limit / 4) for _ in range(10)]
    assert limits == [8, 4, 4, 8, 4, 4, 4, 4, 8, 4]


def test_kinds_of_calls_are_compared_with_themselves():
    pace = own()
    a_round(pace, 1.0, "model")
    a_round(pace, 30.0, "judge")  # of a kind that was not measured before
    assert a_round(pace, 30.0, "judge") == 32


def test_no_growth_is_tried_that_could_make_calls_time_out():
    """Of 8 in a queue, the last would take 8 of 15 seconds: more than half."""
    assert a_round(own(timeout=15.0), 4.0) == 4
    assert a_round(own(timeout=16.0), 4.0) == 8


def test_rounds_count_only_while_the_number_is_used():
    pace = own()
    for _ in range(40):
        pace.answered(pace.turn, "judge", 1.0, in_flight=3)
    assert pace.limit == 4


def test_a_burst_of_refusals_leaves_what_is_in_flight_beside_them():
    """Of 128 calls 20 are taken. Doubled once, as 64 may be the ceiling, 20 are refused, and 20 is the ceiling."""
    pace = Pace(128, 128, 600.0, queues=False)
    assert refusals(pace, 20) == 20
    assert a_round(pace) == 40
    assert refusals(pace, 20) == 20
    assert a_round(pace) == 21


def test_a_ceiling_is_tried_ever_later():
    """Refused at 21 each time, the next attempt comes after 2, 4 and 8 rounds."""
    pace = Pace(40, 40, 600.0, queues=False)
    refusals(pace, 20)
    rounds = list[int]()
    for _ in range(4):
        count = 1
        while a_round(pace) == 20:
            count += 1
        rounds.append(count)
        assert refusals(pace, 20) == 20
    assert rounds == [1, 2, 4, 8]


def test_refusals_without_an_answer_between_say_nothing_of_a_ceiling():
    """All is refused for a while, and one call at a time tries; then half of before is reached in four rounds."""
    pace = Pace(32, 32, 600.0, queues=False)
    assert [refusals(pace, 0) for _ in range(5)] == [1] * 5
    assert [a_round(pace) for _ in range(5)] == [2, 4, 8, 16, 17]


def test_a_burst_of_time_outs_halves_the_number_once():
    pace = own(first=16)
    turn = pace.turn
    for _ in range(16):
        pace.timed_out(turn)
    assert pace.limit == 8
    pace.timed_out(pace.turn)
    assert pace.limit == 4


@pytest.mark.parametrize(
    ("address", "first"),
    [
        *((f"http://{host}:8000/v1", 4) for host in ("127.0.0.1", "localhost", "10.1.2.3", "192.168.0.7", "[::1]")),
        *((f"http://{host}/v1", 4) for host in ("100.100.1.2", "fridge.local", "host.docker.internal", "vllm")),
        *((f"http://{host}/v1", None) for host in ("8.8.8.8", "api.example.com", "local.example.com")),
    ],
)
def test_a_server_of_ones_own_begins_with_few_calls(monkeypatch, address, first):
    monkeypatch.setattr("dspy_proact.models.server.find_server", lambda _: Server())
    assert first_calls(find_route("hosted_vllm/any", address)) == first
    monkeypatch.setattr("dspy_proact.models.server.find_server", lambda _: Server(slots=3))
    assert first_calls(find_route("hosted_vllm/any", address)) == 3


def test_a_server_of_ones_own_needs_no_address_where_its_provider_has_one():
    assert [first_calls(find_route(name)) for name in ("ollama_chat/any", "openai/any")] == [4, None]


def test_slots_are_taken_in_turn_also_where_one_that_waits_is_cancelled_and_their_number_changes():
    async def scene():
        limit, order = 1, list[int]()
        slots = Slots(lambda: limit)

        async def work(number):
            async with slots:
                order.append(number)
                await asyncio.sleep(0)

        await slots.acquire()
        tasks = [asyncio.create_task(work(number)) for number in range(5)]
        await asyncio.sleep(0)
        assert (slots.held, slots.waiting) == (1, 5)
        tasks[0].cancel()
        limit = 2
        slots.release()
        tasks[1].cancel()  # to which it was given just now
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (order, slots.held, slots.waiting) == ([2, 3, 4], 0, 0)

    asyncio.run(scene())


def sample_run(server, folder, **calls):
    """The sample, scored by models that the server plays: unscored cases, and the errors of all attempts."""
    models = (ModelSpec(name="hosted_vllm/any", api_base=base) for base in (server.assistant, server.judge))
    completed = Evaluation("sample", *models, gate=Gate(**calls)).run(folder)
    return completed.unscored, [call.error for _, calls in RunFolder(folder).attempts() for call in calls]


def test_a_server_of_one_slot_scores_all_without_a_time_out(server, tmp_path):
    """As 19 s a call and the usual time limit: 32 calls in its queue would take longer."""
    server.documents.clear()
    server.script = one_at_a_time()
    assert sample_run(server, tmp_path / "run", timeout=0.6) == (0, [None] * 98)


def test_a_server_that_refuses_more_than_three_scores_all(server, tmp_path):
    refused = asyncio.Event()

    async def script(sent):
        if server.in_flight > 3:
            refused.set()
            return error(429)
        await asyncio.wait_for(refused.wait(), 60)  # the first three, until a fourth call has come
        return healthy(sent)

    server.script = script
    unscored, errors = sample_run(server, tmp_path / "run", backoff=0.01)
    assert (unscored, errors.count(None)) == (0, 98)
    assert set(errors) == {None, "rate_limit"}
    assert len(errors) < 98 + 60


class Waiting(Gate):
    """A gate whose provider asks to wait for an hour."""

    def wait(self, attempt, retry_after):
        return 3600.0


class Watching(CallObserver):
    """Calls a function at each event."""

    def __init__(self, notify):
        self.notify, self.stalls = notify, []

    def failed(self, call):
        self.notify()

    def stalled(self, stall):
        self.stalls.append(stall)
        self.notify()


def test_a_wait_that_an_endpoint_asks_for_holds_its_other_calls_too(server):
    answers(server, error(429, **{"Retry-After": "3600"}))
    failed = threading.Event()
    through = Waiting()
    through.open(switch := Switch(), observer=Watching(failed.set))
    model = assistant(server, "hosted_vllm/any", through)

    async def scene():
        first = asyncio.create_task(model.lm.acall("one"))
        await asyncio.to_thread(failed.wait)
        second = asyncio.create_task(model.lm.acall("two"))
        while not sum(lane.slots.held for lane in through.lanes):
            await asyncio.sleep(0)
        switch.pull(Interrupted("stop"))
        outcomes = await asyncio.gather(first, second, return_exceptions=True)
        await model.aclose()
        return outcomes

    assert [type(outcome) for outcome in asyncio.run(scene())] == [Interrupted] * 2
    assert len(server.sent) == 1


def test_that_no_call_ends_is_noted_with_what_waits_where(server):
    silence = threading.Event()
    watching, through = Watching(silence.set), gate(concurrency=1, timeout=77.0)
    through.quiet = 0.01
    through.open(Switch(), observer=watching)

    async def script(sent):
        await asyncio.to_thread(silence.wait)
        return Answer("hello")

    server.script = script
    assert ask(assistant(server, "hosted_vllm/any", through)).text == "hello"
    line = str(watching.stalls[0])
    assert line.startswith("No call has ended for ")
    assert f"1 in flight at {server.assistant}. A call may take `timeout=77` seconds." in line
    stall = replace(
        watching.stalls[0], calls={"http://vllm/v1": (4, 25), "openai/any": (1, 0)}, open=32, concurrency=32
    )
    counts = (
        "4 in flight and 25 waiting at http://vllm/v1, 1 in flight at openai/any, 2 waiting before a further attempt"
    )
    assert f"seconds: {counts}. A call may" in str(stall)
    assert "try `concurrency=1` for a server that answers one call at a time, or another `timeout`." in str(stall)
