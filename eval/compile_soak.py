"""A compile that is killed again and again at full width ends as if it had not been, and pays for what was in flight.

    python eval/compile_soak.py --kills 20

A judge is tuned by a search at a simulated provider, at 32 calls in flight, and killed (SIGKILL) at random moments:
when as many requests have come as a seed draws. The same compile goes on each time. At the end the artefact must be
that of one that nobody killed, times apart, and the provider must have counted at most 32 calls a kill beyond it.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from support.provider import SimulatedProvider, healthy, killed
from support.synthetic_study import synthetic_items, synthetic_ratings

from dspy_proact import Compile, Gate, JudgeTarget, Recipe, load_ratings
from dspy_proact.models import ModelSpec

WIDTH, SEED = 32, 20261122
QUICK = 2  # trials


def compiles(folder: Path, judge: str, proposer: str, trials: int) -> None:
    """What is killed: on the sample, or with two trials on a smaller study in two folds."""
    models = [ModelSpec(name="openai/any", api_base=base) for base in (judge, proposer)]
    small, gate = trials == QUICK, Gate(concurrency=WIDTH)
    ratings = synthetic_ratings(SEED, synthetic_items(SEED, 24, 8)) if small else load_ratings("sample")
    recipe = Recipe(optimizer="search", trials=trials, max_demos=4, folds=2 if small else 5)
    Compile(JudgeTarget(ratings, *models), recipe, gate).run(folder)


def begun(folder: Path, provider: SimulatedProvider, trials: int) -> "subprocess.Popen[bytes]":
    bases = ["--at", provider.base("judge"), provider.base("proposer")]
    return subprocess.Popen([sys.executable, __file__, "--out", folder, *bases, "--trials", str(trials)])


def artefact(folder: Path) -> dict[str, Any]:
    """What was written, without the time, of which its checksum is too."""
    content = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
    assert content["card"]["provenance"].pop("created")
    assert content.pop("checksum")
    return content


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="2 kills of a compile of 2 trials on 24 items")
    parser.add_argument("--trials", type=int, default=12, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--at", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.out:
        judge, proposer = options.at
        compiles(options.out, judge, proposer, options.trials)
        return

    kills, trials = (2, QUICK) if options.quick else (options.kills, options.trials)
    moment, done = random.Random(SEED), 0
    with tempfile.TemporaryDirectory() as name, SimulatedProvider(healthy) as provider:
        folder = Path(name)
        judge, proposer = provider.base("judge"), provider.base("proposer")
        compiles(folder / "whole", judge, proposer, trials)
        needed = provider.received.total()
        again = partial(begun, folder / "killed", provider, trials)
        while done < kills and killed(provider, again, moment.randint(1, needed // kills), moment.uniform(0, 0.05)):
            done += 1
        provider.script = healthy
        compiles(folder / "killed", judge, proposer, trials)
        extra = provider.received.total() - 2 * needed
        same = artefact(folder / "whole") == artefact(folder / "killed")
    print(f"{needed} calls, {done} kills, {extra} further ones of at most {done * WIDTH}; artefacts equal: {same}")
    if not (same and done == kills and 0 <= extra <= done * WIDTH):
        sys.exit(1)


if __name__ == "__main__":
    main()
