"""How much of a provider's width a compile uses: its time with one call in flight, and with many.

    python eval/compile_speed.py

Every optimizer of judge and assistant compiles on the bundled sample against a server on this machine, a process of its
own, that answers each call after half a second as the embedded stand-in would. `ratio` is the time with one call in
flight by that with 32; `ideal` the share of the least time that so many calls could take (calls x latency / width)
that was reached; `in flight` their mean. Exits 1 when a ratio is below what is promised.
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from dspy_proact import Gate, ModelSpec, load_corpus, load_ratings
from dspy_proact.compile import AssistantCompile, Compile, JudgeCompile
from dspy_proact.models.simulated import Received, Reply, SimulatedProvider
from dspy_proact.programs import ASSISTANT, JUDGE, OPTIMIZERS, PROPOSER, Optimizer, Recipe

PROMISED = {"judge search": 20, "judge bootstrap": 12, "assistant search": 12, "assistant bootstrap": 12}
LEAST = 4  # of every other
ROLES = {"assistant": ASSISTANT, "judge": JUDGE, "proposer": PROPOSER}


def answer(received: Received, latency: float) -> Reply:
    said = [(str(each["role"]), str(each["content"])) for each in received.body["messages"]]
    system = "\n".join(text for role, text in said if role == "system")
    text = ROLES[received.role].stand_in(system, [each for each in said if each[0] != "system"])
    return Reply(text, delay=latency)


def serve(pipe: Connection, latency: float) -> None:
    """Tell the endpoints, and then, at each word, how many calls there were since the last one and the most at once."""
    with SimulatedProvider(partial(answer, latency=latency)) as provider:
        pipe.send({role: provider.base(role) for role in ROLES})
        while pipe.recv():
            pipe.send((provider.received.total(), provider.most_in_flight))
            provider.received.clear()
            provider.most_in_flight = 0


def compiling(program: str, optimizer: Optimizer, bases: dict[str, str], width: int, trials: int) -> Compile:
    specs = {role: ModelSpec(name="openai/any", api_base=base) for role, base in bases.items()}
    recipe, gate = Recipe(optimizer=optimizer, trials=trials), Gate(concurrency=width, retries=0)
    if program == "judge":
        return JudgeCompile(load_ratings("sample"), specs["judge"], specs["proposer"], recipe=recipe, gate=gate)
    models = specs["assistant"], specs["judge"], specs["judge"], specs["proposer"]
    return AssistantCompile(load_corpus("sample"), *models, recipe=recipe, gate=gate)


def timed(make: Callable[[int], Compile], width: int) -> tuple[float, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        finished = make(width).run(Path(folder, "compile"))
        return time.monotonic() - begun, finished.artefact.digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="labeled and search, 2 trials, no latency, width 8")
    parser.add_argument("--only", action="append", metavar="'PROGRAM OPTIMIZER'", help="such as 'judge search'")
    parser.add_argument("--trials", type=int, default=20)
    asked = parser.parse_args()
    latency, width, trials = (0.0, 8, 2) if asked.quick else (0.5, 32, asked.trials)
    every = [f"judge {name}" for name in OPTIMIZERS] + [f"assistant {name}" for name in OPTIMIZERS if name != "labeled"]
    chosen = asked.only or (["judge labeled", "judge search"] if asked.quick else every)
    pipe, end = multiprocessing.Pipe()
    multiprocessing.get_context("spawn").Process(target=serve, args=(end, latency), daemon=True).start()
    bases, missed = pipe.recv(), False
    print("| compile | calls | alone | wide | ratio | at least | in flight | ideal | same |\n|" + " --- |" * 9)
    for name in chosen:
        program, _, wanted = name.partition(" ")
        optimizer = next(each for each in OPTIMIZERS if each == wanted)
        made, rows = partial(compiling, program, optimizer, bases, trials=trials), []
        for each in (1, width):
            seconds, digest = timed(lambda width, made=made: made(width=width), each)
            pipe.send(True)
            rows.append((seconds, digest, *pipe.recv()))
        (alone, first, _, most_alone), (wide, second, calls, most) = rows
        assert most_alone == 1, "one call in flight was asked for"
        assert most <= width, "more calls were in flight than asked for"
        ratio, promised = alone / wide, PROMISED.get(name, LEAST)
        busy, ideal = calls * latency / wide, calls * latency / width / wide
        missed = missed or first != second or (ratio < promised and not asked.quick and optimizer != "labeled")
        numbers = f"{alone:.0f} s | {wide:.0f} s | {ratio:.1f} | {promised} | {busy:.1f} | {ideal:.0%}"
        print(f"| {name} | {calls:,} | {numbers} | {'yes' if first == second else 'NO'} |", flush=True)
    sys.exit(int(missed))


if __name__ == "__main__":
    main()
