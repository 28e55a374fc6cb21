"""The assistant tuned to Recovery on the sample, guarded against unwanted offers, pinned from top to bottom.

    python optimize/assistant.py

With the embedded stand-in, which shows how it works and measures no real model; `--model openai/gpt-4o --judge
openai/gpt-5.4 --report-judge anthropic/claude-opus-4-7` tunes a real one. The same command again goes on where it
stopped. The artefact is copied into optimize/programs/.
"""

import argparse
import shutil
from pathlib import Path

from dspy_proact import AssistantTarget, Compile, Halt, ProactError, Recipe, load_corpus
from dspy_proact.report.numbers import percent, points_of
from dspy_proact.stand_in import STAND_IN

CORPUS = "sample"
RECIPE = Recipe(optimizer="search", trials=12, max_demos=2, folds=5, seed=0)
# Bare, the stand-in says goodbye in a few words: any act at RECOVERY would break the default guard on tokens.
GUARDS = {"offers": 0.05, "none": None}
PROGRAMS = Path(__file__).parent / "programs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="embedded", help="the assistant, a litellm name")
    parser.add_argument("--judge", default="embedded", help="whose grades it is tuned by")
    parser.add_argument("--report-judge", default="embedded", help="who tests it")
    parser.add_argument("--out", type=Path, help="folder of the compile")
    parser.add_argument("--programs", type=Path, default=PROGRAMS, help="where the artefact is copied to")
    options = parser.parse_args()
    if options.model != "embedded" and "embedded" in {options.judge, options.report_judge}:
        parser.error("name a --judge to tune by and a --report-judge to test: the stand-in grades no real model")

    try:
        corpus = load_corpus(CORPUS)
        models = options.model, options.judge, options.report_judge
        finished = Compile(AssistantTarget(corpus, *models, margins=GUARDS), RECIPE).run(options.out)
    except (ProactError, Halt) as end:
        parser.exit(2, f"{end}\n")
    name = options.model.replace("/", "_")
    shutil.copyfile(finished.path, options.programs / f"assistant-{name}.json")
    card = finished.artefact.card
    for change in (row for row in card.rows if row.unit != "times"):
        before, after, difference = change.before, change.after, change.difference
        turns, message = f"{change.count} turns", f"{percent(before)} before, {percent(after)} after"
        print(f"{change.title} ({turns}): {message}, {points_of(difference)}")
    words = card["length"]
    if words.count:
        print(f"words: {words.before.value:.0f} before, {words.after.value:.0f} after")
    print(*card.headline.lines, sep="\n")
    if card.provenance.embedded:
        print(STAND_IN)


if __name__ == "__main__":
    main()
