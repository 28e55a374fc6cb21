"""What a run costs the processor: its time a call beside that of plain httpx.

    python eval/throughput.py

A server in a process of its own answers at once. In turns, five times: a run of the copied sample, and the same
messages sent by an asynchronous httpx client, both with 32 in flight. Printed are the medians of user and system time
of this process a call, and their ratio.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from dspy_proact import Assistant, Corpus, Evaluation, Gate, Judge, ModelSpec, load_corpus
from dspy_proact.corpus import sample_path
from dspy_proact.views import AssistantView, JudgeView

WIDTH = 32
RESPONSE = "You could label the boxes today, and ask your sister for the key before she leaves. " * 12
VERDICT = json.dumps({"reasoning": "It goes on. " * 20, "evidence": [RESPONSE[:60], RESPONSE[84:150]], "grade": "PASS"})


class Answering(asyncio.Protocol):
    """A connection on which every request is answered by its path, at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._read = b""

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, end, body = self._read.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]) if end else 0
        if end and len(body) >= length:
            self._read = body[length:]
            self._transport.write(reply(VERDICT if b"/judge/" in head[:40] else RESPONSE))


def reply(text: str) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 2500, "completion_tokens": 230, "total_tokens": 2730}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "any", "choices": [choice], "usage": usage}
    body = json.dumps(whole).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def requests_of(corpus: Corpus) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a run sends, by role."""
    decoding = {"model": "any", "temperature": 0.0, "max_tokens": 4096}
    assistant, judge = Assistant(), Judge()
    for dialogue in corpus.dialogues:
        for view in (JudgeView.of(dialogue, trigger) for trigger in dialogue.triggers):
            yield "assistant", decoding | {"messages": assistant.messages(AssistantView.of(view.conversation))}
            yield "judge", decoding | {"messages": judge.messages(view, RESPONSE)}


async def send(base: str, bodies: Iterator[tuple[str, dict[str, Any]]]) -> None:
    """A client for each worker: one for all would search its pool at every request, at several times the cost."""

    async def work() -> None:
        async with httpx.AsyncClient(verify=False) as client:
            for role, body in bodies:
                answered = await client.post(f"{base}/{role}/v1/chat/completions", json=body)
                assert answered.json()["choices"][0]["message"]["content"]

    await asyncio.gather(*(work() for _ in range(WIDTH)))


def copied_sample(folder: Path, copies: int) -> Corpus:
    rows = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()]
    copied = [row | {"unique_id_eval": f"{row['unique_id_eval']}-{copy}"} for copy in range(copies) for row in rows]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in copied), encoding="utf-8")
    return load_corpus(str(folder / "corpus.jsonl"))


def processor_ms(act: Callable[[], object]) -> float:
    """User and system time of this process."""
    before = os.times()
    act()
    after = os.times()
    return 1000 * (after.user + after.system - before.user - before.system)


def measured(base: str, folder: Path, copies: int, rounds: int) -> None:
    corpus = copied_sample(folder, copies)
    requests = list(requests_of(corpus))
    model, judge = (ModelSpec(name="openai/gpt-4o", api_base=f"{base}/{role}/v1") for role in ("model", "judge"))
    ran, sent = [], []
    for number in range(rounds):
        evaluation = Evaluation(corpus, model, judge, gate=Gate(concurrency=WIDTH))
        ran.append(processor_ms(partial(evaluation.run, folder / f"run-{number}")) / len(requests))
        sent.append(processor_ms(lambda: asyncio.run(send(base, iter(requests)))) / len(requests))
        print(f"round {number + 1}: {ran[-1]:.3f} ms a call, httpx {sent[-1]:.3f}", flush=True)
    print(
        f"{len(requests)} calls a round, medians of {rounds}: {median(ran):.3f} ms of processor time a call, httpx "
        f"{median(sent):.3f}: {median(ran) / median(sent):.2f} x"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true", help="be the server")
    parser.add_argument("--quick", action="store_true", help="98 calls, twice")
    asked = parser.parse_args()
    if asked.serve:
        return asyncio.run(serve())
    os.environ["OPENAI_API_KEY"] = "none"
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, tempfile.TemporaryDirectory() as name:
        base = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        try:
            measured(base, Path(name), *((1, 2) if asked.quick else (20, 5)))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
