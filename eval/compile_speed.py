"""How much of a provider's width a compile uses: its time with one call in flight, and with many.

    python eval/compile_speed.py

Every optimizer of judge and assistant compiles on the bundled sample against a server on this machine, a process of its
own, that answers each call after half a second as the embedded stand-in would: first all of them at full width, then
one call at a time. `ratio` is the time with one call in
flight by that with 32; `ideal` the share of the least time that so many calls could take (calls x latency / width)
that was reached; `in flight` their mean. Exits 1 when a ratio is below what is promised.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from support.provider import Received, Scripted, SimulatedProvider

from dspy_proact import Gate, ModelSpec, load_corpus, load_ratings
from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, JUDGE
from dspy_proact.compile.assistant_target import AssistantTarget
from dspy_proact.compile.compile import Compile
from dspy_proact.compile.judge_target import JudgeTarget
from dspy_proact.compile.target import PROPOSER
from dspy_proact.optimizer_names import OPTIMIZERS
from dspy_proact.recipe import Recipe

PROMISED = {
    "judge search": 20,
    "judge bootstrap": 12,
    "assistant search": 12,
    "assistant bootstrap": 12,
    "judge gepa": 3,
}
"""How many times as fast a compile is at full width, by program and optimizer; else 4. GEPA goes on from one minibatch
to the next, and a judge's minibatches are small."""
ROLES = {"assistant": ASSISTANT, "judge": JUDGE, "proposer": PROPOSER}


def answer(received: Received, latency: float) -> Scripted:
    rows = [(str(item["role"]), str(item["content"])) for item in received.body["messages"]]
    system = "\n".join(text for role, text in rows if role == "system")
    stand_in = ROLES[received.role].stand_in
    assert stand_in, "roles of the package have stand-ins"
    text = stand_in(system, [item for item in rows if item[0] != "system"])
    return Scripted(text, delay=latency)


def serve(latency: float) -> None:
    """Say the endpoints, and then, for each line read, the calls since the last one and the most at once."""
    with SimulatedProvider(partial(answer, latency=latency)) as provider:
        print(json.dumps({role: provider.base(role) for role in ROLES}), flush=True)
        for _ in sys.stdin:
            print(json.dumps([provider.received.total(), provider.most_in_flight]), flush=True)
            provider.received.clear()
            provider.most_in_flight = 0


def compiling(name: str, size: dict[str, int], bases: dict[str, str], width: int) -> Compile:
    program, _, optimizer = name.partition(" ")
    recipe = Recipe.model_validate({"optimizer": optimizer} | size)
    specs = {role: ModelSpec(name="openai/any", api_base=base) for role, base in bases.items()}
    gate = Gate(concurrency=width, retries=0)
    if program == "judge":
        return Compile(JudgeTarget(load_ratings("sample"), specs["judge"], specs["proposer"]), recipe, gate)
    models = specs["assistant"], specs["judge"], specs["judge"], specs["proposer"]
    return Compile(AssistantTarget(load_corpus("sample"), *models), recipe, gate)


def measured(server: Any, make: Callable[[int], Compile], width: int) -> tuple[float, str, int, int]:
    """Seconds, digest, calls and the most of them at once, of a compile at a server."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        finished = make(width).run(Path(folder, "compile"))
        seconds = time.monotonic() - begun
    print(file=server.stdin, flush=True)
    return seconds, finished.artefact.digest, *json.loads(server.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one compile, 2 trials, 2 folds, no latency, width 8")
    parser.add_argument("--only", action="append", metavar="'PROGRAM OPTIMIZER'", help="such as 'judge search'")
    parser.add_argument("--serve", type=float, metavar="LATENCY", help="be the server")
    options = parser.parse_args()
    if options.serve is not None:
        return serve(options.serve)
    latency, width, size = (0.0, 8, {"trials": 2, "folds": 2}) if options.quick else (0.5, 32, {"trials": 20})
    every = [f"judge {name}" for name in OPTIMIZERS] + [f"assistant {name}" for name in OPTIMIZERS if name != "labeled"]
    every, missed = ["assistant search"] if options.quick else every, False
    command = [sys.executable, __file__, "--serve", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        bases = json.loads(server.stdout.readline())
        makers = {name: partial(compiling, name, size, bases) for name in options.only or every}
        wide = {name: measured(server, make, width) for name, make in makers.items()}
        print("| compile | calls | alone | wide | ratio | at least | in flight | ideal | same |\n|" + " --- |" * 9)
        for name, (fast, second, calls, most) in wide.items():
            slow, first, _, single = measured(server, makers[name], 1)
            assert single == 1 < most <= width, "as many calls in flight as asked for"
            promised, ratio = PROMISED.get(name, 4), slow / fast
            missed |= first != second or (ratio < promised and not options.quick)
            times = f"{slow:.0f} s | {fast:.0f} s | {ratio:.1f} | {promised} | {calls * latency / fast:.1f}"
            message = f"{calls * latency / width / fast:.0%} | {'yes' if first == second else 'NO'}"
            print(f"| {name} | {calls:,} | {times} | {message} |", flush=True)
    sys.exit(int(missed))


if __name__ == "__main__":
    main()
