"""Corpora of PROBE's tasks with one leak each: what finds it; and clean ones, which may be accused in 1 of 20.

    python eval/planted_writers_probe.py

Tasks are made by code and read from their files: 120 tasks of 40 people, 16 items that are no evidence shared by three
tasks, two to five items of evidence. Nothing tells evidence but its text, unless a leak is planted: in all tasks, where
the check of its name has to fail, and in one of three, where it may. Of each the share of pairs is printed in which a
classifier ranks evidence above another item, with its 95 % interval; chance is 50 %.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from support.leaky_tasks import LEAKS, LeakyCorpus

from dspy_proact.audit.check import AuditCheck
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.gates import gates_of
from dspy_proact.report.numbers import percent

SEEDS, SHARES = 20, (1.0, 1 / 3)
ACCUSED = 0.05
"""Of clean corpora, at most."""
QUICK = ("order", "place of the action")


def checks_of(corpus: LeakyCorpus, seed: int) -> list[AuditCheck]:
    """What an audit shows of a corpus in its files."""
    with tempfile.TemporaryDirectory() as folder:
        corpus.write(Path(folder), seed)
        return gates_of(load_tasks(folder, sanitize=False, strict=True).cases)


def failed(checks: Sequence[AuditCheck]) -> list[str]:
    """The names of those that failed."""
    return [check.name for check in checks if check.state == "failed"]


def leaks(names: Sequence[str], people: int) -> bool:
    """Print a row a leak; whether each was found where all tasks have it."""
    print("| leak | how | found by | in all tasks | in one of three |\n| --- | --- | --- | --- | --- |")
    sound = True
    for seed, name in enumerate(names):
        change, finder = LEAKS[name]
        cells = list[str]()
        for part in SHARES:
            checks = checks_of(LeakyCorpus(name, part, people), seed)
            (own,) = (check for check in checks if check.name == finder)
            caught = own.state == "failed"
            sound &= caught or part < 1
            others = [other for other in failed(checks) if other != finder]
            reached = f" {percent(own.estimate)}" if own.estimate else ""
            also = f"; also {', '.join(others)}" if others else ""
            cells.append(f"{'found' if caught else 'not found'}{reached}{also}")
        form = " ".join((change.__doc__ or "").split()).rstrip(".")
        print(f"| {name} | {form} | {finder} | {' | '.join(cells)} |", flush=True)
    return sound


def clean(seeds: int, people: int) -> bool:
    """Print what clean corpora are accused of; whether at most 1 of 20 is."""
    accused, by_check = 0, Counter[str]()
    for seed in range(seeds):
        names = failed(checks_of(LeakyCorpus(people=people), seed))
        accused += bool(names)
        by_check.update(names)
    of_what = f": {', '.join(f'{name} in {count}' for name, count in by_check.most_common())}" if by_check else ""
    print(f"\nClean corpora: {accused} of {seeds} accused{of_what}.")
    return accused <= ACCUSED * seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two leaks, and a clean corpus, of 34 people")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="clean corpora")
    options = parser.parse_args()
    sound = leaks(QUICK, 34) & clean(1, 34) if options.quick else leaks(list(LEAKS), 40) & clean(options.seeds, 40)
    if not sound:
        sys.exit(1)


if __name__ == "__main__":
    main()
