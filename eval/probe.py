"""PROBE with the settings of the paper (arXiv 2510.19771), pinned from top to bottom as far as they are known.

    python eval/probe.py openai/gpt-4.1

Known: one call that sees everything, the files as they are, the rule of the released evaluator, decoding as the
provider has it (Claude with at most 8,192 tokens). Assumed: the judge is the one that the released tool names first,
for the paper names none. Ours: the words of agent and judges, and one call where the released harness has a second
model read the first one's answer. So a score stands beside the published ones and not among them. The same command
again goes on where it stopped.
"""

import argparse
from pathlib import Path

from rich.console import Console

from dspy_proact import (
    Halt,
    ModelSpec,
    ProactError,
    RunFolder,
    leaderboard,
    print_leaderboard,
    print_summary,
    summarize,
)
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.evaluation.evaluation import Evaluation

CORPUS = "probe"
JUDGE = "openai/gpt-4o-mini"
SETTINGS = ProbeSettings(agent="single", sanitize=False, upstream_rule=True)
# What the paper's harness sends. None: not sent.
DECODING = {"temperature": None, "top_p": None, "max_tokens": None}
CLAUDE = {**DECODING, "max_tokens": 8192}
JUDGED = {"temperature": 0.0, "top_p": None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a litellm name")
    parser.add_argument("--corpus", default=CORPUS, help="another corpus than the paper's, to try this out")
    parser.add_argument("--judge", default=JUDGE, help="another judge than the assumed one")
    parser.add_argument("--out", type=Path, help="folder of the run")
    options = parser.parse_args()

    name = options.model.rsplit("/", 1)[-1]
    settings = {} if name == "embedded" else CLAUDE if name.startswith("claude-") else DECODING
    judged = JUDGED if options.judge == JUDGE else {}
    try:
        model, judge = ModelSpec(name=options.model, params=settings), ModelSpec(name=options.judge, params=judged)
        finished = Evaluation(options.corpus, model, judge, settings=SETTINGS, benchmark="probe").run(options.out)
    except (ProactError, Halt) as end:
        parser.exit(2, f"{end}\n")
    summary = summarize(RunFolder(finished.path))
    print_summary(summary, Console())
    print_leaderboard(leaderboard([summary]), Console())


if __name__ == "__main__":
    main()
