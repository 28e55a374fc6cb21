"""The judge tuned to the sample's author ratings, pinned from top to bottom.

    python optimize/judge.py

With the embedded stand-in, which shows how it works and measures no real model; `--judge openai/gpt-5.4` tunes a real
one. The same command again goes on where it stopped. The artefact is copied into optimize/programs/.
"""

import argparse
import shutil
from pathlib import Path

from dspy_proact import Compile, Halt, JudgeTarget, ProactError, Recipe, load_ratings

RATINGS = "sample"
RECIPE = Recipe(optimizer="search", trials=12, max_demos=4, folds=5, seed=0)
PROGRAMS = Path(__file__).parent / "programs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="embedded", help="a litellm name")
    parser.add_argument("--out", type=Path, help="folder of the compile")
    parser.add_argument("--programs", type=Path, default=PROGRAMS, help="where the artefact is copied to")
    options = parser.parse_args()

    try:
        finished = Compile(JudgeTarget(load_ratings(RATINGS), options.judge), RECIPE).run(options.out)
    except (ProactError, Halt) as end:
        parser.exit(2, f"{end}\n")
    name = options.judge.replace("/", "_")
    shutil.copyfile(finished.path, options.programs / f"judge-{name}.json")
    card = finished.artefact.card
    before, after, difference = card.target.before, card.target.after, card.target.difference
    print(f"quadratic kappa, out of fold, within phases: {before.value:.2f} before, {after.value:.2f} after,")
    print(f"difference {difference.value:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}]. {card.headline.text}")


if __name__ == "__main__":
    main()
