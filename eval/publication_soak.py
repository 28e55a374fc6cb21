"""A publication that is killed again and again ends as one that nobody killed.

    python eval/publication_soak.py --kills 50

The stand-in makes a corpus of ProactBench and one of PROBE. Each is published with a held-back part in a process that
is killed (SIGKILL) when it has written as many files as a seed draws; half of the time it goes on with what the kill
before left. After each kill every whole file must be that of the uninterrupted publication, and at the end the same
call must complete both folders to the byte. Exits 1 where that does not hold.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dspy_proact import Generation
from dspy_proact.publish.parts import Source, threshold_of
from dspy_proact.publish.publication import publish
from dspy_proact.publish.publishing import Owner

SEED = 20261129
SIZES = {"proactbench": 6, "probe": 4}
OWNER = Owner(licence="cc-by-4.0", contact="Nobody", date="2026-11-29")
LEFT = re.compile(r".+\.\d+\.new")


def contents(*folders: Path) -> dict[str, bytes]:
    """Whole files of folders that may not be there, by folder and name."""
    paths = ((folder, path) for folder in folders if folder.exists() for path in folder.rglob("*") if path.is_file())
    return {
        f"{folder.name}/{path.relative_to(folder)}": path.read_bytes()
        for folder, path in paths
        if not LEFT.fullmatch(path.name)
    }


def written(*folders: Path) -> int:
    """How many whole files there are, without reading one: it is counted again and again while they are written."""
    return sum(path.is_file() and not LEFT.fullmatch(path.name) for folder in folders for path in folder.rglob("*"))


def middle_share(mine: Path) -> float:
    """By which half of the groups are held back."""
    source = Source.of(mine, (), None)
    digest, groups = source.claim.identity.digest(), source.part("public", 0.0).groups
    thresholds = sorted(threshold_of(digest, group) for group in groups)
    return sum(thresholds[len(thresholds) // 2 - 1 :][:2]) / 2


def soak(benchmark: str, folder: Path, kills: int, moment: random.Random) -> bool:
    """Whether a corpus of a benchmark ends as it must; prints what was done."""
    mine, out = folder / "mine", folder / "public"
    both = (out, out.with_name("public-held-back"))
    Generation(items=SIZES[benchmark], proof="none", benchmark=benchmark).run(mine)
    share = middle_share(mine)
    publish(mine, out, held_back=share, owner=OWNER)
    expected, partly, wrong = contents(*both), 0, 0
    command = [sys.executable, __file__, "--publish", mine, "--out", out]

    def cleared() -> None:
        for path in both:
            shutil.rmtree(path, ignore_errors=True)

    cleared()
    for number in range(kills):
        if number % 2 == 0 or written(*both) >= len(expected) - 1:
            cleared()
        after = moment.randint(written(*both) + 1, len(expected) - 1)
        process = subprocess.Popen(command)
        while process.poll() is None and written(*both) < after:
            time.sleep(0.001)
        process.kill()
        process.wait()
        there = contents(*both)
        partly += 0 < len(there) < len(expected)
        wrong += any(expected.get(name) != data for name, data in there.items())
    publish(mine, out, held_back=share, owner=OWNER)
    unequal = sorted(name for name in {*expected, *contents(*both)} if expected.get(name) != contents(*both).get(name))
    print(
        f"{benchmark}: {kills} kills, {partly} of them with some files written; files that were not those of the "
        f"uninterrupted publication: {wrong} times; unequal at the end: {', '.join(unequal) or 'none'}"
    )
    return not wrong and not unequal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="2 kills of ProactBench's alone")
    parser.add_argument("--publish", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.publish:
        publish(options.publish, options.out, held_back=middle_share(options.publish), owner=OWNER)
        return
    moment, kills = random.Random(SEED), 2 if options.quick else options.kills
    with tempfile.TemporaryDirectory() as name:
        of = ["proactbench"] if options.quick else [*SIZES]
        done = [soak(benchmark, Path(name, benchmark), kills, moment) for benchmark in of]
    if not all(done):
        sys.exit(1)


if __name__ == "__main__":
    main()
