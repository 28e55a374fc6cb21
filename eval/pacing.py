"""How many calls a run has in flight at servers that take few: one by one from a queue, or 20, and 429 above.

    python eval/pacing.py

The queue: the sample, at 1 s a call, with a time limit of 15 s and the default concurrency. The refusals: runs of 60 s
with 128 in flight at most, begun with 4 calls and with all, beside one that is given the number.
"""

import argparse
import asyncio
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from support.fast_server import serving
from support.scale import copied_sample

from dspy_proact import Corpus, Evaluation, Gate, ModelSpec, RunFolder, load_corpus
from dspy_proact.calls import Call
from dspy_proact.runs import Observer

TAKEN, WIDTH = 20, 128


def evaluation(corpus: Corpus, port: int, seconds: float, gate: Gate) -> Evaluation:
    bases = (f"http://127.0.0.1:{port}/{seconds}/{seconds}/{role}/v1" for role in ("assistant", "judge"))
    return Evaluation(corpus, *(ModelSpec(name="hosted_vllm/any", api_base=base) for base in bases), gate=gate)


def attempts(run: Path) -> list[Call]:
    return [call for _, calls in RunFolder(run).attempts() for call in calls]


class Clock(Observer):
    """Ends a run so many seconds after it has begun."""

    def __init__(self, seconds: float):
        self.seconds = seconds

    def started(self, todo: int, total: int) -> None:  # noqa: ARG002 - the observer's
        task = asyncio.current_task()
        assert task is not None, "a run is awaited"
        asyncio.get_running_loop().call_later(self.seconds, task.cancel)


def queue(folder: Path, seconds: float) -> None:
    corpus = load_corpus("sample")
    with serving(slots=1, claims=None) as port:
        run, begun = evaluation(corpus, port, seconds, Gate(timeout=15 * seconds)), time.perf_counter()
        completed = run.run(folder / "queue")
        took = time.perf_counter() - begun
    calls = attempts(folder / "queue")
    late, ideal = sum(call.error == "timeout" for call in calls), 2 * corpus.trigger_count * seconds
    scored = f"{corpus.trigger_count - completed.unscored} of {corpus.trigger_count} scored"
    print(f"One slot, {seconds:g} s a call: {scored}, {len(calls)} calls, {late} timed out, ", end="")
    print(f"{took / ideal:.2f} of the ideal time")


def refusals(folder: Path, seconds: float) -> None:
    lasts, answered, known = 60 * seconds, dict[str, int](), f"given {TAKEN}"
    corpus = copied_sample(round(TAKEN * lasts / seconds), folder)
    print(f"\n{TAKEN} in flight are taken, {seconds:g} s a call, {lasts:g} s:\n")
    print(f"| begun | answers | beside {known} | refused | after the first sixth |\n|" + " --- |" * 5)
    for begins, width, claims in ((known, TAKEN, TAKEN), ("with 4", WIDTH, None), (f"with {WIDTH}", WIDTH, WIDTH)):
        with serving(slots=TAKEN, refuses=True, claims=claims) as port:
            run = evaluation(corpus, port, seconds, Gate(concurrency=width, backoff=seconds))
            with suppress(asyncio.CancelledError):
                asyncio.run(run.arun(folder / begins, observer=Clock(lasts)))
        calls, shares = attempts(folder / begins), list[str]()
        answered[begins], begun = sum(call.error is None for call in calls), min(call.started for call in calls)
        for since in (begun, begun + lasts / 6):
            of = [call.error == "rate_limit" for call in calls if call.started >= since]
            shares.append(f"{sum(of) / len(of):.1%}")
        ratio = answered[begins] / answered[known]
        print(f"| {begins} | {answered[begins]:,} | {ratio:.2f} | {' | '.join(shares)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="0.1 s a call, and all times in proportion")
    seconds = 0.1 if parser.parse_args().quick else 1.0
    os.environ["HOSTED_VLLM_API_KEY"] = "none"
    with tempfile.TemporaryDirectory() as name:
        queue(Path(name), seconds)
        refusals(Path(name), seconds)


if __name__ == "__main__":
    main()
