"""What runs in the child of an application: it imports a file, and answers the requests that come by a socket.

It is started by its path, so that nothing of the package is imported into a person's process: the standard library
alone. A frame is four bytes, its length, and JSON. From the parent come `{id, messages, conversation}` and
`{cancel: id}`; back go `{ready: true}` or `{fault: sentence}` once, and for each request `{id, value}`, which is what
the application returned, as JSON, or `{id, error, detail}`. The end of the socket ends the child and all that it has
started: whoever reads here is gone.

What the file prints goes to the parent's standard error. The socket is no stream that anybody prints to, and a fork of
the child closes it.
"""

import asyncio
import atexit
import faulthandler
import functools
import importlib.util
import inspect
import json
import os
import queue
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

LONGEST = 8 * 2**20
"""Bytes of what an application returns, as JSON."""
CLOSED = 114
"""Exit status of a child whose socket the file has closed."""
_MOST_NAMES = 10
"""Of a file, in a message."""
_SECONDS_TO_END = 2.0
"""For what the file has left to do at the end of its process, such as to send its traces."""
_MESSAGES, _HISTORY, _CONVERSATION = "messages", "history", "conversation"
_BUGS = (AttributeError, ImportError, NameError, NotImplementedError, SyntaxError, TypeError)
"""Errors of the code, which a further attempt meets again; any other may be of what it asks."""
Answer = Callable[[list[Any], str], Any]
"""Asks the application for its answer to messages in a conversation; what comes back may be awaitable."""


class StartError(Exception):
    """Why nothing can be asked, as a sentence with file and line."""


class Channel:
    """The socket to the parent; writing is for any thread."""

    def __init__(self, link: socket.socket):
        self._link, self._lock, self._forked = link, threading.Lock(), False
        self._socket = os.fstat(link.fileno()).st_ino
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """In a fork: whatever it does, it does not answer."""
        self._forked = True
        self._link.close()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; in a fork that returns from the application, end it."""
        if self._forked:
            os._exit(0)
        data = json.dumps(message).encode()
        with self._lock:
            try:
                # The file may have closed all that is open, and opened something else under its number.
                if os.fstat(self._link.fileno()).st_ino != self._socket:
                    os._exit(CLOSED)
                self._link.sendall(struct.pack(">I", len(data)) + data)
            except OSError:
                os._exit(CLOSED)

    def receive(self) -> Any:
        """The next message; None once the parent has closed its end."""
        head = self._exactly(4)
        body = head and self._exactly(struct.unpack(">I", head)[0])
        return json.loads(body) if body else None

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = self._link.recv(size - len(data))
            except OSError:
                piece = b""
            if not piece:
                return b""
            data += piece
        return bytes(data)


class Worker:
    """Answers requests: what blocks in a thread of its own, what is awaited in the loop of the main thread."""

    def __init__(self, channel: Channel, file: str):
        self._channel, self._file = channel, file
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._tasks = dict[int, asyncio.Task[None]]()
        self._waiting = queue.SimpleQueue[Any]()
        self._shown, self._cancelled = set[str](), set[int]()

    def run(self, name: str) -> None:
        """Import the file, and answer until the parent closes the socket."""
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self._answer = answer_of(imported(self._file, name), name, self._file)
        except StartError as fault:
            self._channel.send({"fault": str(fault)})
            os._exit(0)
        asyncio.set_event_loop(self._loop)
        threading.Thread(target=self._serve, daemon=True).start()
        self._channel.send({"ready": True})
        try:
            self._loop.run_until_complete(self._ended.wait())
        except OSError:  # what the loop waits by was closed
            os._exit(CLOSED)
        with suppress(BaseException):
            atexit._run_exitfuncs()
        end_group()

    def _read(self) -> None:
        while (message := self._channel.receive()) is not None:
            self._waiting.put(message)
        self._loop.call_soon_threadsafe(self._ended.set)
        threading.Event().wait(_SECONDS_TO_END)
        end_group()

    def _serve(self) -> None:
        """Begin each request; a cancelled one that is awaited ends, and nothing ends a thread."""
        while True:
            message = self._waiting.get()
            if "cancel" in message:
                self._loop.call_soon_threadsafe(self._cancel, message["cancel"])
            elif self._answer[1]:
                self._loop.call_soon_threadsafe(self._start, message)
            else:
                threading.Thread(target=self._block, args=(message,), daemon=True).start()

    def _start(self, message: Mapping[str, Any]) -> None:
        task = self._loop.create_task(self._await(message))
        self._tasks[message["id"]] = task
        task.add_done_callback(lambda _: self._tasks.pop(message["id"], None))

    def _cancel(self, number: int) -> None:
        if task := self._tasks.get(number):
            self._cancelled.add(number)
            task.cancel()

    async def _await(self, message: Mapping[str, Any]) -> None:
        try:
            value = self._answer[0](message[_MESSAGES], message[_CONVERSATION])
            outcome = returned(await value if inspect.isawaitable(value) else value)
        except BaseException as error:
            # Nobody waits for one that was cancelled, and how it ended is no news.
            outcome = {"error": "cancelled"} if message["id"] in self._cancelled else self._failed(error)
        self._channel.send({"id": message["id"], **outcome})

    def _block(self, message: Mapping[str, Any]) -> None:
        try:
            value = self._answer[0](message[_MESSAGES], message[_CONVERSATION])
            if inspect.isawaitable(value):
                value = asyncio.run_coroutine_threadsafe(awaited(value), self._loop).result()
            outcome = returned(value)
        except BaseException as error:
            outcome = self._failed(error)
        self._channel.send({"id": message["id"], **outcome})

    def _failed(self, error: BaseException) -> dict[str, str]:
        """An error of the application, by its reason; its traceback is shown once for each position."""
        if isinstance(error, StartError):
            return {"fault": str(error)}
        where = position(error, self._file)
        if isinstance(error, SystemExit):
            return {"error": "exited", "detail": f"it called sys.exit({error.code!r}) ({where})"}
        if where not in self._shown:
            self._shown.add(where)
            trace = error.__traceback__
            while trace and trace.tb_next and trace.tb_frame.f_code.co_filename == __file__:
                trace = trace.tb_next
            traceback.print_exception(type(error), error, trace)
        reason = "bug" if isinstance(error, _BUGS) else "raised"
        return {"error": reason, "detail": f"{described(error)} ({where})"}


async def awaited(value: Any) -> Any:
    """The result of any awaitable, as a coroutine."""
    return await value


def end_group() -> None:
    """End this process and all that it has started."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def described(error: BaseException) -> str:
    """Class and first line of an error."""
    try:
        message = str(error)
    except BaseException:  # of a class of the file's
        message = "its message cannot be made"
    lines = message.strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:500]}" if lines else type(error).__name__


def position(error: BaseException, file: str) -> str:
    """The innermost line of the file that an error passed, else the innermost of any."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == file] or frames[-1:]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else Path(file).name


def imported(file: str, name: str) -> Any:
    """What a file calls by a name; raises a `StartError` where it cannot be imported, or has no such thing."""
    path = Path(file)
    module_name = path.stem if path.stem not in sys.modules else f"{path.stem}_app"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise StartError(f"{path.name}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    sys.path.insert(0, str(path.parent))
    sys.argv = [file]
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise StartError(f"{Path(error.filename or file).name}:{error.lineno}: SyntaxError: {error.msg}") from error
    except BaseException as error:  # it may call sys.exit
        traceback.print_exception(error)
        raise StartError(f"{position(error, file)}: {described(error)}") from error
    try:
        return functools.reduce(getattr, name.split("."), module)
    except AttributeError:
        own = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        own = [key for key in own if getattr(vars(module)[key], "__module__", module_name) == module_name]
        names = ", ".join(own[:_MOST_NAMES] + ["..."] * bool(own[_MOST_NAMES:])) or "nothing that can be called"
        raise StartError(f"{path.name}: has no {name!r}; it has {names}") from None


def answer_of(target: Any, name: str, file: str) -> tuple[Answer, bool]:
    """How what the file has under a name is asked, and whether in the loop; raises a `StartError` if it cannot be."""
    whose = f"{Path(file).name}{line_of(target)}: {name}"
    if isinstance(target, type):
        raise StartError(f"{whose} is a class; name an instance of it, or a function")
    dspy: Any = sys.modules.get("dspy")
    if dspy is not None and isinstance(target, dspy.Module):
        return _of_module(target, whose, dspy)
    if not callable(target):
        raise StartError(f"{whose} cannot be called: it is of the type {type(target).__name__}")
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):  # it is built in
        return lambda messages, _: target(messages), False
    positional = [of.name for of in parameters.values() if of.kind in (of.POSITIONAL_ONLY, of.POSITIONAL_OR_KEYWORD)]
    first = _MESSAGES if _MESSAGES in parameters else next((key for key in positional if key != _CONVERSATION), "")
    needed = [of.name for of in parameters.values() if of.default is of.empty and of.kind not in (2, 4)]
    if unknown := [key for key in needed if key not in (first, _CONVERSATION)]:
        names = ", ".join(unknown)
        raise StartError(f"{whose} needs {names}; it is given `messages` and, if it takes it, `conversation`")
    if not first and not any(of.kind == of.VAR_POSITIONAL for of in parameters.values()):
        raise StartError(f"{whose} takes no parameter; it is given `messages`")

    def ask(messages: list[Any], conversation: str) -> Any:
        more = {_CONVERSATION: conversation} if _CONVERSATION in parameters else {}
        if first and parameters[first].kind != inspect.Parameter.POSITIONAL_ONLY:
            return target(**{first: messages}, **more)
        return target(messages, **more)

    called = getattr(type(target), "__call__", None)  # noqa: B004 - of an instance of a class of the file's
    is_async = inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(called)
    return ask, is_async


def line_of(target: Any) -> str:
    """The line on which a function begins, after a colon; empty where that is not known."""
    code = getattr(inspect.unwrap(target), "__code__", None) if callable(target) else None
    return f":{code.co_firstlineno}" if code else ""


def _of_module(module: Any, whose: str, dspy: Any) -> tuple[Answer, bool]:
    """How a module of DSPy's is asked: by the names of its inputs."""
    bare = [name for name, of in module.named_predictors() if of.lm is None]
    if bare and dspy.settings.lm is None:
        of = ", ".join(name for name in bare if name != "self")
        mend = "give it one of its own with `set_lm(dspy.LM(...))`, or test it as `program` under the `model` you name"
        raise StartError(f"{whose} has no model{f' for {of}' if of else ''}; {mend}")
    # In a thread where it can be, as a model may know no other way. Of its class, as DSPy warns of that of an instance.
    is_async = not hasattr(type(module), "forward")
    called = getattr(type(module), "aforward" if is_async else "forward")
    parameters = dict([*inspect.signature(called).parameters.items()][1:])
    signature = getattr(module, "signature", None)
    if any(of.kind == of.VAR_KEYWORD for of in parameters.values()):
        signatures = [of.signature for of in module.predictors()]
        signature: Any = signature if hasattr(signature, "input_fields") else next(iter(signatures), None)
        kinds = {name: field.annotation for name, field in signature.input_fields.items()} if signature else {}
        needed = list(kinds)
    else:
        kinds = {of.name: of.annotation for of in parameters.values()}
        needed = [of.name for of in parameters.values() if of.default is of.empty and of.kind not in (2, 4)]
    others = [name for name in needed if name not in (_MESSAGES, _HISTORY, _CONVERSATION)]
    if len(others) > 1 or not (others or _MESSAGES in kinds):
        inputs = ", ".join(needed) or "no input"
        mend = "it is given `messages`, or `history` and one input, the user's message"
        raise StartError(f"{whose} takes {inputs}; {mend}")

    def ask(messages: list[Any], conversation: str) -> Any:
        known = {_MESSAGES: messages, _HISTORY: messages[:-1], _CONVERSATION: conversation}
        if "History" in str(kinds.get(_HISTORY)):
            known[_HISTORY] = dspy.History(messages=_turns(messages[:-1], others, module))
        inputs = {name: known[name] for name in kinds if name in known}
        inputs |= {name: text_of(messages[-1]) for name in others}
        if _MESSAGES not in inputs:
            lost = "the system text" if any(message["role"] == "system" for message in messages[:-1]) else ""
            if _HISTORY in inputs:
                lost = lost if isinstance(inputs[_HISTORY], dspy.History) else ""
            else:
                lost = "the turns before" if any(message["role"] != "system" for message in messages[:-1]) else lost
            mend = "an input `messages`" + (" or `history: dspy.History`" if lost == "the turns before" else "")
            if lost:
                raise StartError(f"{whose} takes {', '.join(inputs)}, and {lost} would be lost: give it {mend}")
        return prediction_of(module, inputs, is_async, dspy)

    return ask, is_async


def _turns(messages: list[Any], others: list[str], module: Any) -> list[dict[str, Any]]:
    """Earlier messages as DSPy has them in a history: a turn by the names of an input and an output."""
    outputs = [name for of in module.predictors() for name in of.signature.output_fields] or ["answer"]
    turns = list[dict[str, Any]]()
    for message in messages:
        if message["role"] == "user":
            turns.append({name: text_of(message) for name in others})
        elif message["role"] == "assistant" and turns:
            turns[-1][outputs[-1]] = text_of(message)
    return turns


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message."""
    content = message.get("content")
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or ())


async def _prediction_of_async(module: Any, inputs: Mapping[str, Any], dspy: Any) -> Any:
    with dspy.track_usage() as tracker:  # DSPy's own tracking warns of a module that returns a text
        return of_prediction(await module.acall(**inputs), tracker.get_total_tokens(), dspy)


def prediction_of(module: Any, inputs: Mapping[str, Any], is_async: bool, dspy: Any) -> Any:
    """What a module predicts, with its usage; awaitable where the module is asked so."""
    if is_async:
        return _prediction_of_async(module, inputs, dspy)
    with dspy.track_usage() as tracker:
        return of_prediction(module(**inputs), tracker.get_total_tokens(), dspy)


def of_prediction(value: Any, used: Mapping[str, Any], dspy: Any) -> Any:
    """A prediction as a document: its `response` or `answer`, else its last field, and the steps of an agent."""
    usage = {}
    for counts in used.values():
        for key in ("prompt_tokens", "completion_tokens"):
            usage[key] = usage.get(key, 0) + (counts.get(key) or 0)
    reported = {"usage": usage} if usage else {}
    if not isinstance(value, dspy.Prediction):
        return {"text": value, **reported} if isinstance(value, str) else value
    fields = {name: value[name] for name in value.keys()}  # noqa: SIM118 - iterating a prediction gives no names
    trajectory = fields.pop("trajectory", None)
    name = next((name for name in ("response", "answer") if name in fields), next(reversed(fields), None))
    text = fields[name] if name else None
    steps = _steps(trajectory) if isinstance(trajectory, dict) else []
    return {"messages": [*steps, {"role": "assistant", "content": text}], **reported}


def _steps(trajectory: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The trajectory of `dspy.ReAct` as messages."""
    steps = list[dict[str, Any]]()
    number = 0
    while (tool := trajectory.get(f"tool_name_{number}")) is not None:
        arguments = json.dumps(trajectory.get(f"tool_args_{number}"), default=str)
        call = {"id": f"call_{number}", "type": "function", "function": {"name": str(tool), "arguments": arguments}}
        steps.append({"role": "assistant", "content": trajectory.get(f"thought_{number}"), "tool_calls": [call]})
        result = str(trajectory.get(f"observation_{number}"))
        steps.append({"role": "tool", "tool_call_id": call["id"], "name": str(tool), "content": result})
        number += 1
    return steps


def returned(value: Any) -> dict[str, Any]:
    """What an application returned, as JSON, or why it is no answer."""
    for kind, test in (("a generator", inspect.isgenerator), ("an asynchronous generator", inspect.isasyncgen)):
        if test(value):
            return {"error": "no_text", "detail": f"it returned {kind}; return the finished text"}
    if not isinstance(value, str | dict) and hasattr(value, "model_dump"):  # a reply of a provider's package
        value = value.model_dump()
    if not isinstance(value, str | dict):
        what = "None" if value is None else f"a value of the type {type(value).__name__}"
        return {"error": "no_text", "detail": f"it returned {what}; return a text or a message"}
    try:
        size = len(json.dumps(value, default=str))
        value = json.loads(json.dumps(value, default=str))
    except (TypeError, ValueError, RecursionError) as error:
        return {"error": "no_text", "detail": f"what it returned cannot be written as JSON: {described(error)}"}
    if size > LONGEST:
        return {"error": "too_long", "detail": f"it returned {size:,} bytes, and an answer has {LONGEST:,} at most"}
    return {"value": value}


def main() -> None:
    """Serve the file and name in the arguments, by the socket of this number."""
    file, name, number = sys.argv[1:4]
    link = socket.socket(fileno=int(number))
    link.set_inheritable(False)
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    Worker(Channel(link), file).run(name)


if __name__ == "__main__":
    main()
