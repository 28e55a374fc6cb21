"""How near a run at full width comes to the least time that its calls can take, beside raw aiohttp in the same turn.

    python eval/width.py

A server in another process answers each request after a latency; a run of copied sample triggers and the same chains
of two requests by aiohttp take turns. The share of the ideal is calls x mean latency / width / the time taken.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import aiohttp
from throughput import RESPONSE, VERDICT, requests_of

from dspy_proact import Corpus, Evaluation, Gate, ModelSpec, load_corpus
from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path

CASES = ((128, 624, (1.0, 1.0)), (128, 624, (0.5, 1.5)), (512, 10_000, (1.0, 1.0)))
"""Requests in flight, triggers, and the least and greatest latency in seconds."""
ROLES = ("assistant", "judge")
QUICK = ((8, 20, (0.02, 0.02)),)


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


async def send(base: str, corpus: Corpus, width: int) -> None:
    """The chains of a run by aiohttp: each worker asks for a response, then for its verdict."""
    requests = iter(list(requests_of(corpus)))
    chains = zip(requests, requests, strict=True)

    async def work(session: aiohttp.ClientSession) -> None:
        for chain in chains:
            for role, body in chain:
                async with session.post(f"{base}/{role}/v1/chat/completions", json=body) as response:
                    assert (await response.json(content_type=None))["choices"]

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(work(session) for _ in range(width)))


def corpus_of(triggers: int, folder: Path) -> Corpus:
    """Copies of the sample, cut to so many triggers."""
    rows, copied = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()], list[str]()
    left, number = triggers, 0
    while left > 0:
        row = rows[number % len(rows)]
        points = row["trigger_points"][:left]
        changes = {"unique_id_eval": f"{row['unique_id_eval']}-{number}", "trigger_points": points}
        copied.append(json.dumps(row | changes))
        left, number = left - len(points), number + 1
    (folder / "corpus.jsonl").write_text("\n".join(copied), encoding="utf-8")
    return load_corpus(str(folder / "corpus.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 triggers, once")
    parser.add_argument("--rounds", type=int, default=5)
    options, os.environ["OPENAI_API_KEY"] = parser.parse_args(), "none"
    print("| in flight | triggers | latency, s | a run | aiohttp | run / aiohttp |\n|" + " --- |" * 6)
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            for width, triggers, (low, high) in QUICK if options.quick else CASES:
                base, shares = f"http://127.0.0.1:{port}/{low}/{high}", list[tuple[float, float]]()
                for _ in range(1 if options.quick else options.rounds):
                    with tempfile.TemporaryDirectory() as name:
                        corpus = corpus_of(triggers, Path(name))
                        at = (ModelSpec(name="openai/any", api_base=f"{base}/{role}/v1") for role in ROLES)
                        evaluation = Evaluation(corpus, *at, gate=Gate(concurrency=width))
                        times = [time.perf_counter()]
                        evaluation.run(Path(name, "run"))
                        times.append(time.perf_counter())
                        asyncio.run(send(base, corpus, width))
                        times.append(time.perf_counter())
                    ideal = 2 * triggers * (low + high) / 2 / width
                    shares.append((ideal / (times[1] - times[0]), ideal / (times[2] - times[1])))
                run, raw = (median(column) for column in zip(*shares, strict=True))
                told = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                ratio = median(one / other for one, other in shares)
                print(f"| {width} | {triggers:,} | {told} | {run:.2f} | {raw:.2f} | {ratio:.2f} |", flush=True)
        finally:
            server.terminate()


if __name__ == "__main__":
    asyncio.run(serve()) if sys.argv[1:] == ["--serve"] else main()
