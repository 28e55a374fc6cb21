"""A server in a process of its own that answers every request of a run well after a latency, and what a run sends."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dspy_proact import Assistant, AssistantView, Corpus, Judge, JudgeView

RESPONSE = "You could label the boxes today, and ask your sister for the key before she leaves. " * 12
VERDICT = json.dumps({"reasoning": "It goes on. " * 20, "evidence": [RESPONSE[:60], RESPONSE[84:150]], "grade": "PASS"})


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    count = 0
    while head := await reader.readuntil(b"\r\n\r\n"):
        await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
        _, low, high, role, *_ = head.split(b" ")[1].decode().split("/")
        count += 1  # evenly spread, and the same for whoever asks
        await asyncio.sleep(float(low) + (float(high) - float(low)) * (count * 0.618 % 1))
        message = {"role": "assistant", "content": VERDICT if role == "judge" else RESPONSE}
        whole = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "id": "x", "model": "any"}
        body = json.dumps(whole | {"usage": {"prompt_tokens": 2500, "completion_tokens": 230}}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


async def serve() -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # clients hang up
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving() -> Iterator[int]:
    """The port of a server in another process; the path of a request begins with its least and greatest latency."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.terminate()


def requests_of(corpus: Corpus) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a run sends, by role."""
    for dialogue in corpus.dialogues:
        for view in (JudgeView.of(dialogue, trigger) for trigger in dialogue.triggers):
            yield "assistant", {"model": "any", "messages": Assistant().messages(AssistantView.of(view.conversation))}
            yield "judge", {"model": "any", "messages": Judge().messages(view, RESPONSE)}


if __name__ == "__main__":
    asyncio.run(serve())
