"""The published leaderboard of ProactBench (arXiv 2605.09228), as published and with the dropped triggers counted.

    python eval/leaderboard.py

Prints a Markdown table, made from the bundled counts of the study's judge, GPT-5.4. Lenient scores are over the
triggers with a grade, which is what the study published; strict ones are over all 624, a dropped trigger counting 0.
"""

import argparse

from dspy_proact import leaderboard

HEADINGS = ("rank", "range", "published rank", "model", "scored", "strict", "lenient", "dropped (E, C, R)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()

    print(line(*HEADINGS), line(*["---"] * len(HEADINGS)), sep="\n")
    board = leaderboard()
    for entry in board.entries:
        low, high = entry.rank_range or (None, None)
        lenient, strict = entry.scores["score"].value, entry.scores["strict"].value
        dropped = ", ".join(str(counts.unscored) for counts in entry.counts.values())
        scored = f"{entry.tried.scored}/{entry.tried.total}"
        ranks = (entry.rank, f"{low}–{high}", entry.lenient_rank)
        print(line(*ranks, entry.name, scored, f"{strict:.4f}", f"{lenient:.4f}", dropped))


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
