"""How near the making of a corpus comes to the least time that its calls can take, and how near its forecast was.

    python eval/generation_speed.py
    python eval/generation_speed.py --of probe

Twenty dialogues of ProactBench, or twenty people of PROBE with three tasks each, are made with full proof and 32 calls
in flight, at a server on this machine, a process of its own, that answers each call after a second as the embedded
stand-in would, a dialogue's responses with 1,000 characters. The least time is that of calls / 32 answers one after
another, or that of the longest chain, if that is more. The longest chain is counted in another making, of the first
three items with so many calls in flight that none queues: the most calls of one item of which each began after the one
before had ended, by the log of calls. Memory is the most that a process of its own ever had, by Linux's count, making 5
items and 20 without latency. The forecast is set beside what the server counted. At last the folder is read: of
dialogues with copies of the rows, until there are 200. Exits 1 where a bound is missed.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from support.made_corpora import as_stand_in, made_at
from support.provider import Received, Scripted, SimulatedProvider

from dspy_proact import Gate
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.generation.attempt import rollout_of

RESPONSE = 1_000  # characters
TIME = {"proactbench": 1.3, "probe": 1 / 0.9}
"""Bounds of the time by the least one."""
GROWTH = {"proactbench": 2.0, "probe": 6.0}
"""Bounds of the memory of an item, in MiB: a dialogue, or a person with the texts of some sixty items."""
NEAR, CPU, READ = 0.3, 10.0, 1.0
"""Bounds: share by which a forecast is off, ms of the processor a call, and seconds to read the folder."""
ENDLESS, ALONE, FEW, ROWS = 1_000, 3, 5, 200
"""Calls in flight so that none queues, items of which the chain is counted, items of small memory, and rows."""


def late(received: Received, latency: float, of: str) -> Scripted:
    begun = time.monotonic()
    answer = as_stand_in(received, RESPONSE if of == "proactbench" else None, of)
    # To think of an answer is part of the latency.
    return Scripted(answer.content, usage=answer.usage, delay=max(0.0, latency - (time.monotonic() - begun)))


def serve(of: str) -> None:
    """Print the endpoint, and for each line, the latency of what follows, calls and tokens since the last one."""
    with SimulatedProvider(partial(late, latency=0.0, of=of)) as provider:
        print(provider.base("any"), flush=True)
        for line in sys.stdin:
            print(json.dumps([provider.received.total(), provider.tokens]), flush=True)
            provider.received.clear()
            provider.script, provider.tokens = partial(late, latency=float(line), of=of), 0


def counted(server: Any, latency: float) -> list[int]:
    """Calls and tokens since the last time; from now on answers come after so many seconds."""
    print(latency, file=server.stdin, flush=True)
    return json.loads(server.stdout.readline())


def make(out: Path, base: str, items: int, width: int, of: str) -> None:
    """Make a corpus, and print the most memory that this process had, in MiB."""
    made_at(base, items, Gate(concurrency=width), of).run(out)
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    print(int(kilobytes) / 1024)


def memory(base: str, items: int, width: int, of: str) -> float:
    """The most that a process has that makes so many items, in MiB."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, __file__, "--make", name, "--at", base]
        numbers = ["--items", str(items), "--width", str(width), "--of", of]
        return float(subprocess.run([*command, *numbers], check=True, capture_output=True, text=True).stdout)


def longest_chain(folder: Path) -> int:
    """The most calls of one item of which each began after the one before had ended."""
    slots = dict[int, int]()
    for record in map(json.loads, (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()):
        attempts = [(record["attempt"], record["authors"])]
        attempts += [(failed["attempt"], failed["authors"]) for failed in record["failed"]]
        for number, authors in attempts:
            for author in authors:
                named = [author[name] for name in ("stage", "turn", "sample", "repeat")]
                slots[rollout_of(record["seed"], record["slot"], number, *named)] = record["slot"]
    calls = defaultdict[int, list[tuple[float, float]]](list)
    for line in map(json.loads, (folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()):
        for attempt in line["attempts"]:
            begun = attempt["started"]
            calls[slots[line["rollout"]]].append((begun + attempt["latency"], begun))
    longest = 0
    for spans in calls.values():
        count, over = 0, 0.0
        for ended, begun in sorted(spans):
            if begun >= over:
                count, over = count + 1, ended
        longest = max(longest, count)
    return longest


def copied(folder: Path, copy: Path, rows: int) -> None:
    """A folder with so many dialogues, those of another one again and again, each with its control turns."""
    copy.mkdir()
    shutil.copy(folder / "corpus.json", copy)
    dialogues = (folder / "final_dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    times = -(-rows // len(dialogues))
    for name, most in (("final_dialogues.jsonl", rows), ("controls.jsonl", None)):
        lines = [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        named = (row | {"unique_id_eval": f"{row['unique_id_eval']}-{n}"} for n in range(times) for row in lines)
        text = "".join(f"{json.dumps(row)}\n" for row in list(named)[:most])
        (copy / name).write_text(text, encoding="utf-8")


def seconds_to_read(folder: Path, of: str) -> float:
    begun = time.monotonic()
    declared = benchmark_named(of)
    declared.read(str(folder), declared.settings_type())
    return time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 items, 8 in flight, hardly a latency, no bounds")
    parser.add_argument("--of", choices=TIME, default="proactbench")
    parser.add_argument("--items", type=int, default=20, help="dialogues, or people")
    parser.add_argument("--width", type=int, default=32, help="calls in flight")
    parser.add_argument("--latency", type=float, default=1.0, help="seconds")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    options = parser.parse_args()
    of = options.of
    if options.serve:
        return serve(of)
    items, width, latency = (2, 8, 0.02) if options.quick else (options.items, options.width, options.latency)
    if options.make:
        return make(options.make, options.at, options.items, options.width, of)
    few, alone = (1, 1) if options.quick else (FEW, ALONE)
    command = [sys.executable, __file__, "--serve", "--of", of]
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout
        folder, base = Path(name), server.stdout.readline().strip()
        small, large = (memory(base, number, width, of) for number in (few, items))
        counted(server, latency)
        made_at(base, alone, Gate(concurrency=ENDLESS), of).run(folder / "alone")
        chain = longest_chain(folder / "alone")
        counted(server, latency)
        generation = made_at(base, items, Gate(concurrency=width), of)
        begun, used = time.monotonic(), time.process_time()
        generation.run(folder / "made")
        taken, used = time.monotonic() - begun, time.process_time() - used
        calls, tokens = counted(server, latency)
        read = folder / "made"
        if of == "proactbench":
            copied(read, read := folder / "copied", ROWS)
        reading = median(seconds_to_read(read, of) for _ in range(3))
    forecast = generation.forecast()
    foreseen = forecast.prompt_tokens + forecast.completion_tokens
    least = max(calls / width, chain) * latency
    growth = (large - small) / (items - few)
    off = {"calls": forecast.calls / calls - 1, "tokens": foreseen / tokens - 1}
    what, rows = ("dialogues", f"{ROWS} dialogues") if of == "proactbench" else ("people", f"{items} people")
    print(
        f"{items} {what}, {calls:,} calls, {width} in flight, {latency:g} s latency; longest chain {chain}, "
        f"{forecast.in_a_row:.0f} by the forecast\n\n| measure | came out | at most |\n| --- | --- | --- |\n"
        f"| time by the least one ({least:.1f} s) | {taken:.1f} s, {taken / least:.2f} | {TIME[of]:.2f} |\n"
        f"| processor time a call | {1_000 * used / calls:.1f} ms | {CPU:g} ms |\n"
        f"| calls of the forecast beside those counted | {forecast.calls:,}, {off['calls']:+.0%} | {NEAR:.0%} off |\n"
        f"| tokens, {tokens:,} counted | {foreseen:,}, {off['tokens']:+.0%} | {NEAR:.0%} off |\n"
        f"| memory with {few} and {items} {what} | {small:.0f} and {large:.0f} MiB, {growth:.1f} each | "
        f"{GROWTH[of]:g} each |\n| reading {rows} | {reading:.2f} s | {READ:g} s |"
    )
    over = [(taken / least, TIME[of]), (1_000 * used / calls, CPU), (growth, GROWTH[of]), (reading, READ)]
    over += [(abs(share), NEAR) for share in off.values()]
    sys.exit(int(not options.quick and any(value > most for value, most in over)))


if __name__ == "__main__":
    main()
