"""The votes, judges and outputs of ProactiveAgent (arXiv 2410.12361): what its published numbers rest on.

    python eval/proactiveagent.py FOLDER

FOLDER holds the authors' train_data.jsonl, test_data.jsonl, test_data/ and traces.zip. Prints two Markdown tables;
nobody is asked anything. The first has the official test of judges: the published ones by their agreement in each
category, from which the other figures follow, beside judges that read no text: two that always say the same, and one
that looks up in the training part whether help was needed in the same context. The second counts what must be known of
these data. Exits 1 where a published figure does not follow from its categories.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

from dspy_proact.benchmarks.proactiveagent.corpus import load_corpus
from dspy_proact.benchmarks.proactiveagent.outputs import read_outputs
from dspy_proact.benchmarks.proactiveagent.report import published_rows
from dspy_proact.benchmarks.proactiveagent.votes import OFFICIAL, Vote, load_votes

CATEGORIES = ("Missed-Need (MN)", "Correct-Rejection (CR)", "Correct-Detection (CD)", "False-Alarm (FA)")
"""The paper's MN, NR, CD and FD, in its order."""
ROWS = 30  # of each category in the test part
PUBLISHED = {
    "GPT-4o": ((0.033, 1.0, 1.0, 0.0), (0.508, 0.504, 1.0, 0.670)),
    "GPT-4o-mini": ((0.567, 0.567, 0.867, 0.333), (0.583, 0.566, 0.717, 0.632)),
    "LLaMA-3.1-8B": ((0.8, 0.3, 0.967, 0.133), (0.550, 0.543, 0.633, 0.585)),
    "LLaMA-3.1-70B": ((0.333, 0.833, 1.0, 0.067), (0.558, 0.534, 0.917, 0.675)),
    "the authors' reward model": ((0.8, 0.867, 1.0, 1.0), (0.917, 0.903, 0.933, 0.918)),
}
"""Agreement in each category, then accuracy, precision, recall and F1 as printed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    votes = load_votes(str(folder), window=50).rows
    train, test = ([vote for vote in votes if vote.part == part] for part in OFFICIAL)
    needed = {vote.turn: vote.help_needed for vote in train}
    print(line("judge", "MN", "NR", "CD", "FD", "accuracy", "precision", "recall", "F1", "kappa"))
    print(line(*["---"] * 10))
    astray = 0
    for name, (shares, printed) in PUBLISHED.items():
        result = scores([round(share * ROWS) for share in shares])
        astray += any(abs(a - b) > 0.002 for a, b in zip(result, printed, strict=False))
        print(line(name, *shares, *result))
    constant: dict[str, Callable[[Vote], bool]] = {
        "always accepts": lambda _: True,
        "always rejects": lambda _: False,
        "looks up the training part, without text": lambda vote: needed[vote.turn] == bool(vote.proposal),
    }
    for name, accepts in constant.items():
        right = Counter(vote.category for vote in test if accepts(vote) == vote.valid)
        counts = [right[category] for category in CATEGORIES]
        print(line(name, *(count / ROWS for count in counts), *scores(counts)))
    print("", line("what", "count"), line("---", "---"), sep="\n")
    print(*(line(*defect) for defect in defects(folder, votes, train, test)), sep="\n")
    sys.exit(1 if astray else 0)


def scores(right: Sequence[int]) -> tuple[float, float, float, float, float]:
    """Accuracy, precision, recall, F1 and kappa, from the rows of each category that a judge gets right."""
    missed_need, rejection, detection, alarm = right
    accepted = rejection + detection + (ROWS - missed_need) + (ROWS - alarm)
    true = rejection + detection
    accuracy, recall = sum(right) / (4 * ROWS), true / (2 * ROWS)
    precision = true / accepted if accepted else 0.0
    f1 = 2 * true / (accepted + 2 * ROWS)
    return accuracy, precision, recall, f1, 2 * accuracy - 1  # half of the rows are valid, so that chance is .5


def defects(folder: Path, votes: Sequence[Vote], train: Sequence[Vote], test: Sequence[Vote]):
    """What is counted, and how much of how many."""
    proposals = [vote for vote in votes if vote.proposal]
    seen, known = {vote.turn for vote in train}, {vote.turn for vote in votes}
    yield "test rows whose context stands in the training part", f"{sum(v.turn in seen for v in test)} of {len(test)}"
    silent = [vote for vote in train if not vote.proposal and vote.valid]
    against = sum(vote.share < 0.5 for vote in silent)
    yield "training rows that accept silence against the majority", f"{against} of {len(silent)}"
    ticked = defaultdict[str, list[tuple[bool, ...]]](list)
    for vote in proposals:
        if len(vote.votes) == 3:
            ticked[vote.turn].append(vote.votes)
    wanted = Counter(sum(any(item) for item in zip(*rows, strict=True)) for rows in ticked.values())
    yield "turns at which 0, 1, 2, 3 of three people ticked something", " / ".join(str(wanted[n]) for n in range(4))
    three = [vote.votes for vote in proposals if len(vote.votes) == 3]
    agree = sum(a == b for item in three for a, b in combinations(item, 2)) / (3 * len(three))
    yes = sum(map(sum, three)) / (3 * len(three))
    chance = yes**2 + (1 - yes) ** 2
    yield f"Fleiss' kappa of {len(three):,} proposals with three votes", (agree - chance) / (1 - chance)
    turns = [case.key for case in load_corpus(str(folder), window=50).cases]
    yield (
        "turns of the agents' test among the judge's contexts",
        f"{sum(key in known for key in turns)} of {len(turns)}",
    )
    published = {row.name: row for row in published_rows()}
    for agent in read_outputs(folder / "traces.zip"):
        name, count = agent.identity.model, len(agent.stages)
        proposed = sum(bool(stage.answer and stage.answer["proposals"]) for stage in agent.stages)
        counted = round((published[name].scores["acted"] or 0) * count)
        if counted > proposed:
            yield f"proposals that the published counts of {name} have too many", f"{counted - proposed} of {counted}"


def line(*cells: object) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in cells)} |"


if __name__ == "__main__":
    main()
