"""What a run costs the processor: its time a call beside that of plain httpx.

    python eval/call_cost.py

In turns, five times: a run of the copied sample and the same messages sent by httpx, both with 32 in flight, to a
server in another process that answers at once. Printed are medians of this process's user and system time a call.
"""

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from support.fast_server import requests_of, serving

from dspy_proact import Evaluation, Gate, ModelSpec, load_corpus
from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path

WIDTH, CONTEXT = 32, httpx.create_ssl_context(verify=False)


async def send(base: str, bodies: Iterator[tuple[str, dict[str, Any]]]) -> None:
    async def work() -> None:
        # A client each: one for all would search its pool of 32 at every request, at three times the cost.
        async with httpx.AsyncClient(verify=CONTEXT) as client:
            for role, body in bodies:
                assert (await client.post(f"{base}/{role}/v1/chat/completions", json=body)).json()["choices"]

    await asyncio.gather(*(work() for _ in range(WIDTH)))


def milliseconds(act: Callable[[], object]) -> float:
    before = sum(os.times()[:2])
    act()
    return 1000 * (sum(os.times()[:2]) - before)


def measure(base: str, folder: Path, copies: int, rounds: int) -> None:
    rows = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()]
    copied = (row | {"unique_id_eval": f"{row['unique_id_eval']}-{copy}"} for copy in range(copies) for row in rows)
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, copied)), encoding="utf-8")
    corpus = load_corpus(str(folder / "corpus.jsonl"))
    requests, ran, sent = list(requests_of(corpus)), list[float](), list[float]()
    models = [ModelSpec(name="openai/gpt-4o", api_base=f"{base}/{role}/v1") for role in ("assistant", "judge")]
    for number in range(rounds):
        evaluation, run = Evaluation(corpus, *models, gate=Gate(concurrency=WIDTH)), folder / f"run-{number}"
        ran.append(milliseconds(lambda: evaluation.run(run)) / len(requests))  # noqa: B023 - called at once
        sent.append(milliseconds(lambda: asyncio.run(send(base, iter(requests)))) / len(requests))
    print(f"{len(requests)} calls a round, {rounds} rounds: {median(ran):.2f} ms a call in a run, ", end="")
    print(f"{median(sent):.2f} in httpx; median ratio {median(map(truediv, ran, sent)):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="98 calls, twice")
    size, os.environ["OPENAI_API_KEY"] = (1, 2) if parser.parse_args().quick else (20, 5), "none"
    with serving() as port, tempfile.TemporaryDirectory() as name:
        measure(f"http://127.0.0.1:{port}/0/0", Path(name), *size)


if __name__ == "__main__":
    main()
