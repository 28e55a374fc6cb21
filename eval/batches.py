"""What a run in batches beyond the limit of one file takes: time a case, memory, and whether each request is paid once.

    python eval/batches.py

60,000 triggers are 60,000 answers and 60,000 verdicts, and a file of OpenAI's has at most 50,000 requests and 200 MB. A
server in another process holds to that. The clock of the batches runs ten times as fast.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

from support.batch_server import batches_served
from support.scale import copied_sample, on_disk, tell

from dspy_proact import Evaluation, Gate, ModelSpec, RunFolder
from dspy_proact.call_observer import BatchProgress
from dspy_proact.models.batch import Batching
from dspy_proact.runs import Observer

CASES, QUICK = 60_000, 120
FASTER = Batching(sleep=lambda seconds: asyncio.sleep(seconds / 10))


class Notices(Observer):
    """Tells of what is submitted and what has ended."""

    def batched(self, progress: BatchProgress, news: bool) -> None:
        if news:
            print(f"{progress.who.split('`')[1]}: {str(progress).partition(' at ')[0]}", flush=True)


def describe(sizes: Sequence[int], names: int, cases: int) -> str:
    """What was submitted, in a line."""
    once = "every request once" if sum(sizes) == names == 2 * cases else "NOT every request once"
    return f"{len(sizes)} batches of at most {max(sizes):,} requests; {sum(sizes):,} requests, {once}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} triggers, 50 requests a batch")
    parser.add_argument("--triggers", type=int, default=CASES)
    options, os.environ["OPENAI_API_KEY"] = parser.parse_args(), "none"
    cases = QUICK if options.quick else options.triggers
    batching = replace(FASTER, requests=50) if options.quick else FASTER
    with batches_served() as port, tempfile.TemporaryDirectory() as name:
        corpus = copied_sample(cases, Path(name))
        models = (
            ModelSpec(name="openai/any", api_base=f"http://127.0.0.1:{port}/{role}/v1")
            for role in ("assistant", "judge")
        )
        began = time.perf_counter()
        Evaluation(corpus, *models, gate=Gate(batch=batching)).run(Path(name, "run"), observer=Notices())
        tell("answered and graded", cases, "trigger", began)
        graded = sum(event.grade is not None for event in RunFolder(Path(name, "run")).events())
        with urlopen(f"http://127.0.0.1:{port}/bill") as response:
            bill = json.load(response)
        print(f"{graded:,} of {cases:,} graded; {describe(bill['sizes'], bill['names'], cases)}")
        print(f"on disk: {on_disk(Path(name, 'run'))}")


if __name__ == "__main__":
    main()
