"""A reward for training: what it is worth, and what it grades only once."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from drivers.child import Child, code
from drivers.rewards import at, of
from fakes.server import Answer, error, is_about_offers, offers, verdict

from dspy_proact import (
    Gate,
    Limits,
    RunFolder,
    load_corpus,
    reward,
    summarize,
)
from dspy_proact.benchmarks.proactbench.cases import case_set_of
from dspy_proact.errors import LimitReached, RunError, UnusableContent, UsageError
from dspy_proact.evaluation.registry import benchmarks
from dspy_proact.runs import CONTROL

pytestmark = pytest.mark.usefixtures("proactbench")
SHORT = "You could label the boxes today."


def triggers(rewarding):
    return [key for key, case in rewarding.cases.items() if case.stratum != CONTROL]


def controls(rewarding):
    return [key for key, case in rewarding.cases.items() if case.stratum == CONTROL]


def scripted(grade, *unwanted):
    """A judge that always says this, and a detector that always quotes that."""
    return lambda sent: Answer(offers(*unwanted) if is_about_offers(sent) else verdict(grade, [SHORT]))


# What it is worth


@pytest.mark.parametrize(("grade", "score"), [("PASS", 1.0), ("PARTIAL", 0.5), ("FAIL", 0.0)])
def test_a_text_of_proper_length_is_worth_its_score_and_a_longer_one_less(server, tmp_path, grade, score):
    server.script = scripted(grade)
    rewarding = at(server, tmp_path)
    key = triggers(rewarding)[0]
    proper = len(rewarding.cases[key].meta["curated_response"]) + 400
    texts = [SHORT.ljust(length, "x") for length in (proper, proper * 5 // 4, 2 * proper, 9 * proper)]
    # A quarter too long is a quarter of the weight of 0.5; twice as long and more is all of it.
    assert of(rewarding, [key] * 4, texts) == pytest.approx([score, score - 0.125, score - 0.5, score - 0.5], abs=0.002)
    rewarding.close()


def test_a_control_costs_what_its_weight_says_and_is_never_worth_more_than_nothing(server, tmp_path):
    server.script = lambda sent: Answer(offers(*[SHORT] * (SHORT in sent.text)))
    rewarding = at(server, tmp_path, control_weight=0.75)
    key = controls(rewarding)[0]
    assert of(rewarding, [key] * 2, [SHORT, "It is at four."]) == [-0.75, 0.0]
    rewarding.close()


def test_texts_and_conversations_are_worth_the_same_and_thoughts_nothing(server, tmp_path):
    server.script = scripted("PASS")
    rewarding = at(server, tmp_path)
    key = triggers(rewarding)[0]
    forms = [
        SHORT,
        [{"role": "assistant", "content": SHORT}],
        [
            {"role": "assistant", "content": "Wait."},
            {"role": "assistant", "content": [{"type": "text", "text": SHORT}]},
        ],
        f"<think>{'What did they mention? ' * 200}</think>{SHORT}",
    ]
    assert of(rewarding, [key] * 4, forms) == [1.0] * 4
    (sent,) = server.sent
    assert "What did they mention?" not in sent.text
    with pytest.raises(UsageError, match="neither a text nor a conversation"):
        of(rewarding, [key], [7])
    rewarding.close()


def test_what_has_no_grade_is_none_and_a_fail_is_zero(server, tmp_path):
    def judged(sent):
        return error(500) if "broken" in sent.text else Answer("no verdict" if "odd" in sent.text else verdict("FAIL"))

    server.script = judged
    rewarding = at(server, tmp_path)
    key = triggers(rewarding)[0]
    assert of(rewarding, [key] * 3, ["a fine answer", "an odd answer", "a broken answer"]) == [0.0, None, None]
    rewarding.close()
    # The provider is asked again by the next process; an unreadable verdict is not, since that would choose a judge.
    server.script = scripted("PASS")
    again = at(server, tmp_path)
    assert of(again, [key] * 3, ["a fine answer", "an odd answer", "a broken answer"]) == [0.0, None, 1.0]
    again.close()


def test_a_completion_without_an_answer_has_the_worst_score_so_that_none_is_no_way_out(server, tmp_path):
    server.script = scripted("PASS")
    rewarding = at(server, tmp_path)
    silent = ["", " \n", [], "<think>only thoughts</think>", "<think>thoughts that never end"]
    calls_tool = [{"role": "assistant", "content": "", "tool_calls": []}, {"role": "tool", "content": SHORT}]
    for key, worst in ((triggers(rewarding)[0], 0.0), (controls(rewarding)[0], -0.5)):
        assert of(rewarding, [key] * 6, [*silent, calls_tool]) == [worst] * 6
        # Beyond what is judged at all, and far too long.
        assert of(rewarding, [key], ["x" * 1_000_001]) == [worst - 0.5]
    assert not server.sent
    rewarding.close()


# What it grades once


def test_the_same_completion_to_the_same_case_is_graded_once(server, tmp_path):
    server.script = scripted("PARTIAL")
    rewarding = at(server, tmp_path)
    first, second = triggers(rewarding)[:2]
    assert of(rewarding, [first, first, second], [SHORT, SHORT, SHORT]) == [0.5] * 3
    assert len(server.sent) == 2
    assert of(rewarding, [second, first], [SHORT, SHORT]) == [0.5] * 2
    assert len(server.sent) == 2

    async def at_once():
        calls = [rewarding(None, [f"{SHORT} Or {n % 3}."], [first]) for n in range(9)]
        return await asyncio.gather(*calls)

    assert asyncio.run(at_once()) == [[0.5]] * 9
    assert len(server.sent) == 5
    rewarding.close()


KILLED = """
import asyncio, json, os, sys
from dspy_proact import Gate, ModelSpec, reward
judge = ModelSpec(name="openai/j", api_base=os.environ["JUDGE"])
rewarding = reward("proactbench", judge, split=None, out="rewards", gate=Gate(retries=0, concurrency=1))
keys = [key for key, case in rewarding.cases.items() if case.stratum != "CONTROL"][:6]
print(json.dumps(asyncio.run(rewarding(None, ["You could label the boxes today."] * 6, keys))), rewarding.spent.calls)
"""


def test_after_a_kill_only_what_has_no_grade_is_asked_for(server, tmp_path):
    started = []

    def judged(sent):
        if len(server.sent) == 4:
            started[0].kill()  # in the middle of the fourth
            return error(500)
        return Answer(verdict(["PASS", "PARTIAL", "FAIL"][len(server.sent) % 3], [SHORT]))

    server.script = judged
    started.append(Child(code, KILLED, folder=tmp_path, JUDGE=server.judge, OPENAI_API_KEY="k"))
    assert started[0].wait() == -9
    first = [event.grade.score for event in RunFolder(tmp_path / "rewards").events() if event.grade]
    assert len(first) == 3
    server.sent.clear()
    server.script = scripted("PASS")
    ended = Child(code, KILLED, folder=tmp_path, JUDGE=server.judge, OPENAI_API_KEY="k").ended()
    assert ended.returncode == 0, ended.stderr
    printed, calls = ended.stdout.rsplit(" ", 1)
    assert json.loads(printed) == [*first, 1.0, 1.0, 1.0]
    assert (int(calls), len(server.sent)) == (3, 3)
    assert not ended.stderr


def test_a_limit_ends_it_and_is_never_exceeded_and_the_rest_is_graded_later(server, tmp_path):
    server.script = scripted("PASS")
    rewarding = at(server, tmp_path, limits=Limits(calls=3))
    keys = triggers(rewarding)[:8]
    for _ in range(2):
        with pytest.raises(LimitReached):
            of(rewarding, keys, [SHORT] * 8)
        assert len(server.sent) == 3
    rewarding.close()
    with pytest.raises(LimitReached):  # what this process has spent counts when it opens the folder again
        of(rewarding, keys, [SHORT] * 8)
    rewarding.close()
    more = at(server, tmp_path)
    assert of(more, keys, [SHORT] * 8) == [1.0] * 8
    assert len(server.sent) == 8
    more.close()


def test_what_a_cancelled_call_left_open_is_asked_for_by_the_next_one_in_another_loop(server, tmp_path):
    rewarding, running = at(server, tmp_path), []
    keys = triggers(rewarding)[:8]

    def judged(sent):
        if len(server.sent) == 1:
            task = running[0]
            task.get_loop().call_soon_threadsafe(task.cancel)
        return Answer(verdict("PASS", [SHORT]))

    async def cancelled():
        running.append(asyncio.ensure_future(rewarding(None, [SHORT] * 8, keys)))
        await running[0]

    server.script = judged
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert of(rewarding, keys, [SHORT] * 8) == [1.0] * 8
    rewarding.close()


def test_it_is_closed_from_any_thread_in_the_middle_of_a_call_and_goes_on(server, tmp_path):
    rewarding = at(server, tmp_path)
    keys = triggers(rewarding)[:8]

    def judged(sent):
        if len(server.sent) == 3:
            rewarding.close()  # in the thread of the server
        return Answer(verdict("PASS", [SHORT]))

    server.script = judged
    with pytest.raises(RunError, match="was closed in the middle of a call; call it again"):
        of(rewarding, keys, [SHORT] * 8)
    assert of(rewarding, keys, [SHORT] * 8) == [1.0] * 8
    rewarding.close()


def test_event_loops_of_several_threads_use_it_at_once(server, tmp_path):
    server.script = scripted("PASS")
    rewarding = at(server, tmp_path)
    keys = triggers(rewarding)[:8]
    with ThreadPoolExecutor(4) as threads:
        rewards = [threads.submit(of, rewarding, keys, [f"{SHORT} {number % 2}"] * 8) for number in range(4)]
    assert [one.result() for one in rewards] == [[1.0] * 8] * 4
    assert len(server.sent) == 16
    rewarding.close()


def test_a_judge_of_which_nothing_can_be_read_ends_it_and_the_same_is_graded_once_it_is_mended(server, tmp_path):
    server.script = lambda sent: Answer("no verdict")
    rewarding = at(server, tmp_path)
    keys = triggers(rewarding)[:12]
    with pytest.raises(UnusableContent, match="the first 10 verdicts cannot be used") as raised:
        of(rewarding, keys, [SHORT] * 12)
    assert "keep_going" not in str(raised.value)
    rewarding.close()
    server.script = scripted("PASS")
    assert of(rewarding, keys, [SHORT] * 12) == [1.0] * 12
    rewarding.close()


def test_the_folder_is_a_run_that_others_read_and_one_process_writes(server, tmp_path):
    server.script = scripted("PASS")
    rewarding = at(server, tmp_path)
    key = triggers(rewarding)[0]
    of(rewarding, [key] * 3, [SHORT, "Another one.", SHORT])
    with pytest.raises(RunError, match="another process is writing"):
        of(at(server, tmp_path), [key], [SHORT])
    scored = [outcome for outcome in summarize(rewarding.out).outcomes if outcome.state == "scored"]
    assert [(outcome.key, outcome.epoch, outcome.response) for outcome in scored] == [
        (key, 1, SHORT),
        (key, 2, "Another one."),
    ]
    rewarding.close()
    other = at(server, tmp_path, judge="openai/k")
    with pytest.raises(RunError, match="holds another run"):
        of(other, [key], [SHORT])


# What it refuses


def test_a_case_takes_as_many_completions_as_a_run_has_epochs(server, tmp_path, monkeypatch):
    monkeypatch.setattr("dspy_proact.evaluation.grading_run.MOST_EPOCHS", 2)
    server.script = scripted("PASS")
    rewarding = at(server, tmp_path)
    key = triggers(rewarding)[0]
    assert of(rewarding, [key] * 3, ["one", "two", "one"]) == [1.0] * 3
    with pytest.raises(UsageError, match=r"3 completions of .* are more than the 2 that a run takes; name another"):
        of(rewarding, [key], ["three"])
    assert of(rewarding, [key] * 2, ["one", "two"]) == [1.0] * 2
    rewarding.close()


def test_keys_of_the_other_split_and_of_no_case_are_refused_before_a_call(server, tmp_path):
    rewarding = at(server, tmp_path, split="train")
    test = next(key for key, side in rewarding.splits.items() if side == "test")
    train = next(iter(rewarding.cases))
    with pytest.raises(UsageError, match="of the split 'test'"):
        of(rewarding, [train, test], [SHORT, SHORT])
    with pytest.raises(UsageError, match="key of no case of sample; name the `corpus`"):
        of(rewarding, ["d9__t1"], [SHORT])
    with pytest.raises(UsageError, match="`key`: has 1 entries, and there are 2 completions"):
        of(rewarding, [train], [SHORT, SHORT])
    assert server.sent == []
    assert not rewarding.out.exists()


def test_batches_are_refused_as_a_trainer_waits():
    with pytest.raises(UsageError, match=r"`gate.batch`: a trainer waits for each reward"):
        reward("proactbench", gate=Gate(batch=True))


def test_what_is_held_back_is_refused():
    held_back = case_set_of(replace(load_corpus("sample"), held_back=True))
    with pytest.raises(UsageError, match="held back"):
        reward("proactbench", corpus=held_back)


@pytest.mark.parametrize("name", list(benchmarks()))
def test_a_benchmark_whose_answers_are_texts_has_a_reward_and_another_says_what_to_do(name):
    if name in ("proactbench", "rows"):
        assert reward(name, split=None).cases
        return
    with pytest.raises(UsageError, match=r"what is trained here writes a text; grade its answers by a run"):
        reward(name)


def test_a_split_is_one_of_two():
    with pytest.raises(UsageError, match="`split=dev`: is `train`, `test`, or None"):
        reward("proactbench", split="dev")


@pytest.mark.parametrize("weights", [{"control_weight": -0.1}, {"length_weight": float("nan")}])
def test_weights_are_numbers_from_zero_on(weights):
    with pytest.raises(UsageError, match="0 or more"):
        reward("proactbench", **weights)
