"""What each command that reads a finished run of many cases takes: whole commands, imports and printing included.

    python eval/scale.py

Two runs of 100,000 cases are compared, a third has two epochs and control cases. At most 5 s and 1.5 GB are asked for.
Then runs of 1,000 cases are exported.
"""

import argparse
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from support.large_run import enlarge, renamed, small_run
from support.scale import finished, on_disk

EXPORTS = ("csv", "parquet", "eval", "every-eval-ever")


def measure(name: str, words: tuple[object, ...], rounds: int) -> None:
    """Print a row of medians."""
    command = [sys.executable, "-m", "dspy_proact", *map(str, words)]
    columns = zip(*(finished(command) for _ in range(rounds)), strict=True)
    total, processor, memory = map(median, columns)
    print(f"| {name} | {total:.2f} | {processor:.2f} | {memory:,.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 cases, once")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cases, few, rounds = (2_000, 100, 1) if options.quick else (options.cases, 1_000, options.rounds)
    with TemporaryDirectory() as name:
        root = Path(name)
        plain, repeated = small_run(root / "small"), small_run(root / "repeated", epochs=2, controls=True)
        one, other, epochs = root / "one", root / "other", root / "epochs"
        count = enlarge(plain, one, cases)
        enlarge(plain, other, cases, model="openai/gpt-4.1", shift=1)
        halves = enlarge(repeated, epochs, cases // 2)
        print(f"one: {count:,} cases, {on_disk(one)}; epochs: {halves:,} cases in two epochs, controls included\n")
        print("| command | s | s of the processor | MiB |\n|" + " --- |" * 4)
        key = renamed(next(plain.cases()).key, 0)
        for run in (one, epochs):
            commands = {
                "report": ("report", run),
                "show": ("show", run, "--grade", "FAIL"),
                "show --trigger": ("show", run, "--trigger", key),
                "report --html": ("report", run, "--html", root / "page.html"),
                "leaderboard": ("leaderboard", run),
            }
            for command, words in commands.items():
                measure(f"{command} {run.name}", words, rounds)
        measure("compare one other", ("compare", one, other), rounds)
        print(f"\nthe page of epochs: {(root / 'page.html').stat().st_size / 1e6:.0f} MB\n")
        exported = enlarge(plain, root / "exported", few)
        print(f"| export of {exported:,} cases | s | s of the processor | MiB |\n|" + " --- |" * 4)
        for form in EXPORTS:
            measure(form, ("export", root / "exported", "--format", form, "--out", root / form), rounds)


if __name__ == "__main__":
    main()
