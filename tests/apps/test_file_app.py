"""An application in a file of one's own, over real child processes: each way to fail is told apart, and ends alone."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from drivers.child import Child

from dspy_proact.apps import AppRequest, opened_app
from dspy_proact.errors import AppError, SetupFault, UsageError

TURNS = (
    {"role": "user", "content": "The train left."},
    {"role": "assistant", "content": "It did."},
    {"role": "user", "content": "And my bag?"},
)
BOT = """
import asyncio, ctypes, os, sys, time

STEP = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "it is late"}

def text(messages): return messages[-1]["content"].upper()
async def awaited(messages): return text(messages)
def later(messages): return awaited(messages)
def with_id(messages, conversation): return conversation
def first(history, /): return str(len(history))
def message(messages): return {"role": "assistant", "content": "Lost."}
def parts(messages):
    return {"content": [{"type": "text", "text": "Lost."}], "usage": {"input_tokens": 3, "output_tokens": 2}}
def agent(messages): return {"messages": [*messages, STEP, RESULT, message(messages)], "usd": 0.5}
def response(messages):
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "cost": 0.1}
    return {"choices": [{"message": message(messages)}], "usage": usage}

class Bot:
    def __call__(self, messages): return "of an instance"
    async def method(self, messages): return "of a method"
bot = Bot()

def none(messages): return None
def number(messages): return 7
def generator(messages): yield "a piece"
async def generator_async(messages): yield "a piece"
def no_text(messages): return {"answer": "?"}
def tool_call(messages): return STEP
def large(messages): return "x" * 10_000_000
def long(messages): return "x" * 2_000_000
def endless(messages):
    deep = []
    deep.append(deep)
    return {"text": "x", "more": deep}
def raises(messages):
    return {}["bag"]
def raises_what_raises(messages):
    class Odd(Exception):
        def __str__(self): raise SystemExit
    raise Odd
async def raises_later(messages):
    return text(messages)[100]
def mistakes(messages): return text(messages) + 1
def exits(messages): sys.exit(3)
def exits_at_once(messages): os._exit(4)
def crashes(messages): ctypes.string_at(0)
def prints(messages):
    print("x" * 100_000)
    os.write(1, b"\\0\\0\\0\\5{id:1")
    os.close(1)
    return "printed"
def forks(messages):
    if (child := os.fork()): os.waitpid(child, 0)
    return "forked"
def closes(messages):
    os.closerange(3, 256)
    return "closed"
def writes_anywhere(messages):
    for number in range(3, 64):
        try: os.write(number, b"\\xff" * 8)
        except OSError: pass
    time.sleep(1000)

def writes_a_frame(messages):
    for number in range(3, 64):
        try: os.write(number, b"\\0\\0\\0\\x02[]")
        except OSError: pass
    time.sleep(1000)

def two(messages, other): pass
def nothing(): pass
value = 3

def some_end(messages):
    if "end" in text(messages).lower(): os._exit(7)
    time.sleep(0.2)
    return "ok"
def some_hang(messages):
    while "hang" in messages[-1]["content"]: time.sleep(0.01)
    time.sleep(0.2)
    return str(os.getpid())
async def some_wait(messages):
    while "hang" in messages[-1]["content"]: await asyncio.sleep(0.01)
    return str(os.getpid())
def spawns(messages):
    import subprocess
    return f"{os.getpid()} {subprocess.Popen(['sleep', '1000']).pid}"
"""


def line(part: str) -> int:
    """The number of the line that has this."""
    return next(number for number, text in enumerate(BOT.splitlines(), start=1) if part in text)


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    (tmp_path / "bot.py").write_text(BOT, "utf-8")
    return tmp_path / "bot.py"


def ask(app, *texts, seconds=30.0):
    """The replies to conversations of one message each, or of `TURNS`, all at once; errors as they are."""

    async def one(text):
        messages = ({"role": "user", "content": text},) if text else TURNS
        while True:  # as the gate does
            try:
                async with asyncio.timeout(seconds):
                    return await app.answer(AppRequest(messages, "c1"))
            except AppError as error:
                if not error.unclear:
                    return error
            except (TimeoutError, SetupFault) as error:
                return error

    async def all_of_them():
        try:
            return await asyncio.gather(*map(one, texts or [""]))
        finally:
            await app.aclose()

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("text", "AND MY BAG?"),
        ("awaited", "AND MY BAG?"),
        ("later", "AND MY BAG?"),
        ("with_id", "c1"),
        ("first", "3"),
        ("message", "Lost."),
        ("bot", "of an instance"),
        ("bot.method", "of a method"),
        ("prints", "printed"),
        ("forks", "forked"),
    ],
)
def test_whatever_can_be_called_with_messages_is_an_application(bot, name, text):
    (reply,) = ask(opened_app(f"{bot}:{name}"))
    assert (reply.text, reply.steps, reply.usd) == (text, (), None)


def test_steps_usage_and_cost_are_read_where_they_are_reported(bot):
    (reply,) = ask(opened_app(f"{bot}:agent"))
    assert (reply.text, reply.usd, [step["role"] for step in reply.steps]) == ("Lost.", 0.5, ["assistant", "tool"])
    (reply,) = ask(opened_app(f"{bot}:parts"))
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.usd) == ("Lost.", 3, 2, None)
    (reply,) = ask(opened_app(f"{bot}:response"))
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.usd) == ("Lost.", 3, 2, 0.1)


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("none", "no_text", "it returned None"),
        ("number", "no_text", "a value of the type int"),
        ("generator", "no_text", "it returned a generator"),
        ("generator_async", "no_text", "it returned an asynchronous generator"),
        ("no_text", "no_text", "an object with answer, in which there is no text"),
        ("tool_call", "no_text", "its last message calls a tool and has no text"),
        ("large", "too_long", "it returned 10,000,002 bytes"),
        ("long", "too_long", "its answer has 2,000,000 characters"),
        ("endless", "no_text", "cannot be written as JSON"),
        ("raises", "raised", f"KeyError: 'bag' (bot.py:{line('{}[')})"),
        ("raises_later", "raised", f"IndexError: string index out of range (bot.py:{line('[100]')})"),
        ("mistakes", "bug", f"to str (bot.py:{line('+ 1')})"),
        ("raises_what_raises", "raised", "Odd: its message cannot be made"),
        ("exits", "exited", f"it called sys.exit(3) (bot.py:{line('sys.exit')})"),
        ("exits_at_once", "exited", "its process ended with exit status 4"),
        ("crashes", "crashed", "its process was ended by SIGSEGV"),
        ("closes", "broken", "it closed the socket by which it answers"),
        ("writes_anywhere", "broken", "it wrote into the socket by which it answers"),
        ("writes_a_frame", "broken", "it wrote into the socket by which it answers"),
    ],
)
def test_each_way_to_fail_is_an_error_of_the_application_with_its_own_reason(bot, name, reason, words):
    (error,) = ask(opened_app(f"{bot}:{name}"))
    assert isinstance(error, AppError), error
    assert (error.reason, words in error.detail) == (reason, True), error.detail


def test_of_requests_side_by_side_the_one_that_ends_the_process_fails_alone(bot):
    replies = ask(opened_app(f"{bot}:some_end"), "a", "b", "end it", "c", "d")
    assert [getattr(reply, "text", "") or reply.reason for reply in replies] == ["ok", "ok", "exited", "ok", "ok"]


def test_where_every_request_ends_the_process_each_fails_alone_and_not_the_file(bot):
    """Two that are sent once more are not sent to one child, nor before it has imported the file."""
    errors = ask(opened_app(f"{bot}:exits_at_once"), *"abcd")
    assert [error.detail for error in errors] == ["its process ended with exit status 4"] * 4


@pytest.mark.parametrize("name", ["some_hang", "some_wait"])
def test_the_others_go_on_beside_one_that_hangs(bot, name):
    replies = ask(opened_app(f"{bot}:{name}"), "a", "hang", "b", seconds=1.5)
    assert isinstance(replies[1], TimeoutError)
    assert replies[0].text == replies[2].text != ""


def test_a_child_in_which_a_request_goes_on_gets_no_new_one_and_is_ended(bot):
    app = opened_app(f"{bot}:some_hang")

    async def one(text, seconds):
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return int((await app.answer(AppRequest(({"role": "user", "content": text},), text))).text)

    async def in_turn():
        first = await one("a", 30)
        await one("hang", 0.3)
        second = await one("b", 30)
        while is_alive(first):
            await asyncio.sleep(0.01)
        await app.aclose()
        return first, second

    first, second = asyncio.run(in_turn())
    assert first != second
    assert not is_alive(second)


def is_alive(number):
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        with suppress(ProcessLookupError):
            os.kill(number, 0)
            return Path("/proc").exists() is False
        return False
    return state != "Z"


def test_what_a_child_has_started_ends_with_it(bot):
    (reply,) = ask(opened_app(f"{bot}:spawns"))
    child, grandchild = map(int, reply.text.split())
    try:
        assert not is_alive(child)
        assert not is_alive(grandchild)
    finally:
        with suppress(ProcessLookupError):
            os.kill(grandchild, signal.SIGKILL)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nope", "bot.py: has no 'nope'; it has text, awaited,"),
        ("two", "two needs other; it is given `messages`"),
        ("nothing", "nothing takes no parameter"),
        ("value", "value cannot be called: it is of the type int"),
        ("Bot", "Bot is a class; name an instance of it"),
    ],
)
def test_what_cannot_be_asked_is_at_fault_before_the_first_request(bot, name, words):
    (fault,) = ask(opened_app(f"{bot}:{name}"))
    assert isinstance(fault, SetupFault), fault
    assert words in str(fault)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\nimport no_such_package\n", "bot.py:2: ModuleNotFoundError: No module named 'no_such_package'"),
        ("import sys\nsys.exit(2)\n", "bot.py:2: SystemExit: 2"),
        ("import os\nos._exit(5)\n", "its process ended with exit status 5 before its file was imported"),
    ],
)
def test_a_file_that_cannot_be_imported_is_named_with_its_line(tmp_path, source, words):
    (tmp_path / "bot.py").write_text(source, "utf-8")
    faults = ask(opened_app(f"{tmp_path / 'bot.py'}:answer"), *"abcde")
    assert {type(fault) for fault in faults} == {SetupFault}, faults
    assert words in str(faults[0])


def test_names_that_are_none_are_refused_before_anything_is_started(bot, tmp_path):
    (tmp_path / "broken.py").write_text("def f(:\n", "utf-8")
    for text, words in (
        (f"{bot}", "name what in it is to be asked, such as"),
        (f"{tmp_path / 'none.py'}:f", "there is no such file"),
        (f"{tmp_path / 'broken.py'}:f", r"broken.py:1: "),
        (f"{bot}:1+1", "is no name in Python"),
        ("bot", "is neither FILE.py:NAME nor the URL of a service"),
    ):
        with pytest.raises(UsageError, match=words):
            opened_app(text)


def test_another_content_is_another_application_and_a_change_while_it_runs_is_refused(bot):
    app = opened_app(f"{bot}:text")
    assert app.fingerprint() == opened_app(f"{bot}:text").fingerprint() != opened_app(f"{bot}:message").fingerprint()
    before = app.fingerprint()
    bot.write_text(BOT + "\n", "utf-8")
    assert opened_app(f"{bot}:text").fingerprint() != before
    (fault,) = ask(app)
    assert "was changed since the run began" in str(fault)


def test_what_it_imports_from_its_folder_is_part_of_the_application(bot):
    """Modules, whole packages, and what these import, by `from` or inside a function; not what only lies there."""
    folder = bot.parent
    bot.write_text("import json, helper\nfrom kit.deep import tool\ndef answer(messages): import late\n", "utf-8")
    (folder / "kit" / "deep").mkdir(parents=True)
    names = ("helper.py", "kit/__init__.py", "kit/deep/tool.py", "kit/other.py", "late.py", "further.py", "aside.py")
    for name in (*names, "json.txt"):
        (folder / name).write_text("import bot, helper, further" if name == "helper.py" else "def broken(:", "utf-8")

    def fingerprint(name="answer"):
        return opened_app(f"{bot}:{name}").fingerprint()

    changed = dict[str, bool]()
    for name in names:
        before = fingerprint()
        (folder / name).write_text((folder / name).read_text("utf-8") + " # more", "utf-8")
        changed[name] = fingerprint() != before
    assert [name for name, is_other in changed.items() if not is_other] == ["aside.py"]
    app = opened_app(f"{bot}:answer")
    (folder / "late.py").write_text("x = 1", "utf-8")
    (fault,) = ask(app)
    assert "it, or what it imports, was changed since the run began" in str(fault)


def test_what_is_cancelled_prints_no_traceback_and_any_other_failure_one(bot, capfd):
    ask(opened_app(f"{bot}:some_wait"), "hang", seconds=0.5)
    assert "Traceback" not in capfd.readouterr().err
    ask(opened_app(f"{bot}:raises_later"))
    assert "IndexError" in capfd.readouterr().err


def test_no_message_repeats_a_key_of_the_environment(bot, monkeypatch):
    monkeypatch.setenv("BOT_API_KEY", "sk-0123456789abcdef")
    bot.write_text(
        "import os\ndef answer(messages): raise ValueError('bad key ' + os.environ['BOT_API_KEY'])\n", "utf-8"
    )
    (error,) = ask(opened_app(f"{bot}:answer"))
    assert error.detail == "ValueError: bad key [key] (bot.py:2)"


def ask_for_ever(file: str) -> None:
    """What a process does that asks an application which never answers."""
    ask(opened_app(f"{file}:answer"), "x", seconds=1000)


def test_no_child_is_left_behind_where_its_parent_is_killed(tmp_path):
    """The pipe that the child and what it has started hold open ends with the last of them."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bot.py").write_text(
        "import subprocess, time\n"
        "def answer(messages):\n"
        f"    pipe = open({str(tmp_path / 'pipe')!r}, 'wb', buffering=0)\n"
        "    subprocess.Popen(['sleep', '1000'], stdout=pipe)\n"
        "    pipe.write(b'begun')\n"
        "    while True: time.sleep(1)\n",
        "utf-8",
    )
    parent = Child(ask_for_ever, tmp_path / "bot.py")
    with (tmp_path / "pipe").open("rb", buffering=0) as pipe:
        assert pipe.read(5) == b"begun"
        parent.kill()
        assert parent.ended().returncode == -signal.SIGKILL
        assert pipe.read() == b""
