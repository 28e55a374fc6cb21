"""How near a run at full width comes to the least time that its calls can take, beside raw aiohttp and `dspy.Evaluate`.

    python eval/throughput.py

A server in another process answers each request after a latency; a run of copied sample triggers and the same chains
of two requests by aiohttp take turns. The share of the ideal is calls x mean latency / width / the time taken. Then
`dspy-proact eval` and a plain program with `dspy.Evaluate` take turns, each a process from its start to its end.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import aiohttp
from support import plain_dspy
from support.fast_server import PROACTBENCH, RESPONSE, VERDICT, requests_of, serving
from support.scale import copied_sample, finished, on_disk

from dspy_proact import Corpus, Evaluation, Gate, ModelSpec

CASES = ((128, 624, (1.0, 1.0)), (128, 624, (0.5, 1.5)), (512, 10_000, (1.0, 1.0)))
"""Requests in flight, triggers, and the least and greatest latency in seconds."""
ROLES = ("assistant", "judge")
QUICK = ((8, 20, (0.02, 0.02)),)


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


def compare_commands(address: str, triggers: int, width: int, rounds: int) -> None:
    """Print what `dspy-proact eval` takes beside `dspy.Evaluate`."""
    times, sizes = list[tuple[float, float]](), list[float]()
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            requests = iter(list(requests_of(copied_sample(triggers, Path(name)))))
            texts = [
                {
                    key: json.dumps(body["messages"])
                    for key, (_, body) in zip(("conversation", "rubric"), pair, strict=True)
                }
                for pair in zip(requests, requests, strict=True)
            ]
            Path(name, "rows.json").write_text(json.dumps(texts), encoding="utf-8")
            models = [
                word
                for flag, role in zip(("--model", "--judge"), ROLES, strict=True)
                for word in (flag, "openai/gpt-4o", f"{flag}-api-base", f"{address}/{role}/v1")
            ]
            run = ["--corpus", f"{name}/corpus.jsonl", "--out", f"{name}/run", "--concurrency", str(width)]
            ours, _, size = finished([sys.executable, "-m", "dspy_proact", "eval", *models, *run])
            plain, *_ = finished([sys.executable, plain_dspy.__file__, f"{name}/rows.json", address, str(width)])
            times.append((ours, plain))
            sizes.append(size)
    ours, plain = (median(column) for column in zip(*times, strict=True))
    ratio = median(one / other for one, other in times)
    print(
        f"\n{triggers} triggers, {width} in flight, whole commands: eval {ours:.1f} s, dspy.Evaluate {plain:.1f} s, "
        f"median ratio {ratio:.2f}; eval takes at most {max(sizes):,.0f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 triggers, once")
    parser.add_argument("--rounds", type=int, default=5)
    options, os.environ["OPENAI_API_KEY"] = parser.parse_args(), "none"
    print("| in flight | triggers | latency, s | a run | aiohttp | run / aiohttp |\n|" + " --- |" * 6)
    sizes = list[str]()
    plain = {
        role: (text.format(response=RESPONSE, reasoning=VERDICT), 2500, 230)
        for role, text in plain_dspy.ANSWERS.items()
    }
    with serving({**PROACTBENCH, **plain}) as port:
        for width, triggers, (low, high) in QUICK if options.quick else CASES:
            base, shares, size = f"http://127.0.0.1:{port}/{low}/{high}", list[tuple[float, float]](), ""
            for _ in range(1 if options.quick else options.rounds):
                with tempfile.TemporaryDirectory() as name:
                    corpus = copied_sample(triggers, Path(name))
                    at = (ModelSpec(name="openai/any", api_base=f"{base}/{role}/v1") for role in ROLES)
                    evaluation = Evaluation(corpus, *at, gate=Gate(concurrency=width))
                    times = [time.perf_counter()]
                    evaluation.run(Path(name, "run"))
                    times.append(time.perf_counter())
                    size = f"{triggers:,} triggers on disk: {on_disk(Path(name, 'run'))}"
                    asyncio.run(send(base, corpus, width))
                    times.append(time.perf_counter())
                ideal = 2 * triggers * (low + high) / 2 / width
                shares.append((ideal / (times[1] - times[0]), ideal / (times[2] - times[1])))
            run, raw = (median(column) for column in zip(*shares, strict=True))
            latency = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            ratio = median(one / other for one, other in shares)
            print(f"| {width} | {triggers:,} | {latency} | {run:.2f} | {raw:.2f} | {ratio:.2f} |", flush=True)
            sizes.append(size)
        width, triggers, (low, high) = (QUICK if options.quick else CASES)[0]
        rounds = 1 if options.quick else options.rounds
        compare_commands(f"http://127.0.0.1:{port}/{low}/{high}", triggers, width, rounds)
    print("\n" + "\n".join(dict.fromkeys(sizes)))


if __name__ == "__main__":
    main()
