"""A server in a process of its own that answers the requests of a run well, and what a run of ProactBench sends."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dspy_proact import Assistant, AssistantView, Corpus, Judge, JudgeView

RESPONSE = "You could label the boxes today, and ask your sister for the key before she leaves. " * 12
VERDICT = json.dumps({"reasoning": "It goes on. " * 20, "evidence": [RESPONSE[:60], RESPONSE[84:150]], "grade": "PASS"})
Answer = tuple[str | Mapping[str, Any], int, int]
"""What a role answers, as text or as JSON, and the tokens in and out that it reports."""
PROACTBENCH: Mapping[str, Answer] = {"assistant": (RESPONSE, 2500, 230), "judge": (VERDICT, 2500, 230)}


def body(content: str | Mapping[str, Any], tokens_in: int, tokens_out: int) -> bytes:
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
    return json.dumps({"choices": [choice], "id": "x", "model": "any", "usage": usage}).encode()


async def serve(answers: Mapping[str, Answer], slots: int, refuses: bool, claims: int | None) -> None:
    bodies, count = {role: body(*answer) for role, answer in answers.items()}, 0
    slot, props = asyncio.Semaphore(slots), json.dumps({"total_slots": claims} if claims else {}).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        while head := await reader.readuntil(b"\r\n\r\n"):
            if head.startswith(b"GET "):
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(props), props))
                continue
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            _, low, high, role, *_ = head.split(b" ")[1].decode().split("/")
            if refuses and slot.locked():
                writer.write(b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n")
                continue
            count += 1  # evenly spread, and the same for whoever asks
            if float(high):
                async with slot:
                    await asyncio.sleep(float(low) + (float(high) - float(low)) * (count * 0.618 % 1))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(bodies[role]), bodies[role]))

    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # clients hang up
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=2048, limit=2**22)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving(
    answers: Mapping[str, Answer] = PROACTBENCH, slots: int = 4096, *, refuses: bool = False, claims: int | None = 4096
) -> Iterator[int]:
    """The port of a server in another process.

    The path of a request begins with its least and greatest latency in seconds and the role: `/0/0/judge/v1`. It
    answers as many at a time as it has slots; others wait, or are refused. As llama.cpp it claims a number of them.
    """
    command = [sys.executable, __file__, json.dumps([answers, slots, refuses, claims])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.terminate()


def requests_of(corpus: Corpus) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a run sends, by role."""
    for dialogue in corpus.dialogues:
        for view in (JudgeView.of(dialogue, trigger) for trigger in dialogue.triggers):
            yield (
                "assistant",
                {"model": "any", "messages": Assistant().messages(AssistantView.of(view.conversation).inputs)},
            )
            yield "judge", {"model": "any", "messages": Judge().messages(view.inputs(RESPONSE))}


if __name__ == "__main__":
    asyncio.run(serve(*json.loads(sys.argv[1])))
