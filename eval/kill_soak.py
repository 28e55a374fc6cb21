"""Runs that are killed again and again end as if they had not been, and pay only for what was in flight.

    python eval/kill_soak.py --kills 200

Runs of every benchmark, with one call in flight, with 4 and with 32, on a simulated provider are killed (SIGKILL) at
random moments and begun again by the same command. A call is lost when the provider has received it and its reply is
not on disk: at a kill at most as many as may be in flight. At the end answers, grades and report must equal an
uninterrupted run's, and no call that is on disk may have been sent again.
"""

import argparse
import random
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from support.every_run import RUNS, command, reply
from support.forks import Command
from support.probe_tasks import Size, write_synthetic
from support.provider import SimulatedProvider, killed

from dspy_proact.report import summarize, summary_document
from dspy_proact.runs import RunFolder, latest

SEED = 20261121
DONE = (0, 3)
"""Exit status: all is scored, or some is unscored."""
WIDTHS = (1, 4, 32)
"""Calls in flight."""
QUICK = (("proactivebench", 1, 1), ("proactiveagent history", 32, 2))
"""A run, its calls in flight, and kills."""


def result(folder: Path) -> tuple[Any, ...]:
    """What a run came to: its stages, and its report without what its path and the clock say."""
    ended = latest(RunFolder(folder).events())
    report = summary_document(summarize(folder))
    return {key: (event.answer, event.grade, event.failure) for key, event in ended.items()}, report | {"run": None}


def logged(folder: Path) -> int:
    """Calls on disk."""
    return sum(len(call.attempts) for call in RunFolder(folder).call_usage())


def soak(name: str, width: int, kills: int, alone: Path, *, limit: int, moment: random.Random) -> tuple[int, int]:
    """Kill a run so often; how many calls it needs, and how many were lost. An `AssertionError` says what is wrong."""
    folder, messages, lost = alone.with_name(f"{name} {width}"), alone.with_name("messages"), 0
    with SimulatedProvider(reply) as provider:
        if not alone.exists():
            status = Command(command(name, alone, provider, limit, 32), messages).wait()
            assert status in DONE, messages.read_text("utf-8")
        needed, again = logged(alone), command(name, folder, provider, limit, width)
        provider.received.clear()
        for left in range(kills, 0, -1):
            after = moment.randint(1, max(1, (needed - logged(folder)) // (left + 1)))
            stalls = moment.random() < 0.5
            pause = moment.uniform(0, 0.05 if stalls else 0.005)
            begin = partial(Command, again, messages)
            assert killed(provider, begin, after, pause, script=reply, stalls=stalls), "it ended before it was killed"
            before, lost = lost, provider.received.total() - logged(folder)
            assert before <= lost <= before + width, f"{lost - before} calls were lost at once"
        provider.script = reply
        assert Command(again, messages).wait() in DONE, messages.read_text("utf-8")
        assert logged(folder) == needed, f"{logged(folder)} calls are on disk, and {needed} are needed"
        further = provider.received.total() - needed
        assert further <= lost, f"{further} calls more than needed, and {lost} were lost at kills"
    assert result(folder) == result(alone), "answers, grades or report differ"
    return needed, lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--benchmark", choices=RUNS, help="one of them alone")
    parser.add_argument("--quick", action="store_true", help="three kills of two of them")
    options = parser.parse_args()
    names = [options.benchmark] if options.benchmark else [*RUNS]
    share = -(-options.kills // (len(names) * len(WIDTHS)))
    plan = QUICK if options.quick else [(name, width, share) for name in names for width in WIDTHS]
    limit, moment, faults = 10 if options.quick else 40, random.Random(SEED), list[str]()
    print("| run | in flight | calls | kills | lost | at most |\n|" + " --- |" * 6)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tasks").mkdir()
        write_synthetic(folder / "tasks", SEED, limit, Size(items=10, words=30, actions=4))
        for run, width, kills in plan:
            try:
                needed, lost = soak(run, width, kills, folder / run, limit=limit, moment=moment)
            except AssertionError as error:
                faults.append(f"{run}, {width} in flight: {error}")
                print(faults[-1], flush=True)
                continue
            print(f"| {run} | {width} | {needed:,} | {kills} | {lost} | {kills * width} |", flush=True)
    print(f"{sum(kills for *_, kills in plan)} kills, {len(faults)} faults")
    if faults:
        sys.exit(1)


if __name__ == "__main__":
    main()
