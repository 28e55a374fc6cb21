"""ProactBench with the settings of the paper (arXiv 2605.09228), pinned from top to bottom.

    python eval/proactbench.py openai/gpt-4o

The probe, the decoding and the judge's model are the paper's; the judge's prompt is ours, so a score is comparable
with the published ones only as far as that was shown. The same command again goes on where it stopped.
"""

import argparse
from pathlib import Path

from rich.console import Console

from dspy_proact import Evaluation, Halt, ModelSpec, ProactError, RunFolder, load_corpus, print_summary, summarize

CORPUS = "proactbench"
JUDGE = "openai/gpt-5.4"
REASONING = ("gpt-5", "o1", "o3", "o4", "gemini-2.5-pro")
# What the paper sends. None: not sent. Claude takes no top_p, and from 4.7 on no temperature.
SAMPLED = {"temperature": 0.7, "top_p": 1.0, "max_tokens": 8192}
REASONED = {"temperature": 1.0, "top_p": None, "max_tokens": 32768}
JUDGED = {**REASONED, "reasoning_effort": "medium"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a litellm name")
    parser.add_argument("--corpus", default=CORPUS, help="another corpus than the paper's, to try this out")
    parser.add_argument("--judge", default=JUDGE, help="another judge than the paper's, to try this out")
    parser.add_argument("--out", type=Path, help="folder of the run")
    options = parser.parse_args()

    name = options.model.rsplit("/", 1)[-1]
    settings = {} if name.startswith(("claude-", "embedded")) else REASONED if name.startswith(REASONING) else SAMPLED
    judged = JUDGED if options.judge == JUDGE else {}
    try:
        corpus = load_corpus(options.corpus)
        model, judge = ModelSpec(name=options.model, params=settings), ModelSpec(name=options.judge, params=judged)
        evaluation = Evaluation(corpus, model, judge)
        finished = evaluation.run(options.out)
    except (ProactError, Halt) as end:
        parser.exit(2, f"{end}\n")
    print_summary(summarize(RunFolder(finished.path)), Console())


if __name__ == "__main__":
    main()
