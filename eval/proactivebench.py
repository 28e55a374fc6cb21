"""ProactiveBench with the settings of the paper (arXiv 2603.19466), pinned from top to bottom as far as they are known.

    python eval/proactivebench.py openai/gpt-4.1 --corpus FOLDER

FOLDER is the folder test of the dataset tdemin16/ProactiveBench. Known: the filter, lettered options matched by the
released rule, no history, greedy decoding of 50 tokens, of which reasoning models need more. Ours: the words, hints
included, and that the choice is asked for as JSON, which takes some of the tokens; images are scaled down to 1,024
pixels. So a score stands below the published ones and not among them. Four runs: as it is, with a hint, with moves of
other environments, and with the clear image. Prints accuracy and interventions of each, which are to be read together,
and how much less the model asks under the control. The same command again goes on where it stopped.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from dspy_proact import Halt, ModelSpec, ProactError, RunFolder, leaderboard, print_leaderboard, summarize
from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings
from dspy_proact.evaluation.evaluation import Evaluation
from dspy_proact.report import Summary

CORPUS = "proactivebench"
RUNS: Mapping[str, ProactiveBenchSettings] = {
    "as it is": ProactiveBenchSettings(upstream_rule=True),
    "with a hint": ProactiveBenchSettings(upstream_rule=True, hint=True),
    "with moves of other environments": ProactiveBenchSettings(upstream_rule=True, control=True),
    "with the clear image": ProactiveBenchSettings(upstream_rule=True, reference=True),
}
DECODING = {"temperature": 0.0, "top_p": None, "max_tokens": 128}
REASONING = {"temperature": None, "top_p": None, "max_tokens": 32_768}
"""Of models that refuse another temperature."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a litellm name")
    parser.add_argument("--corpus", default=CORPUS, help="the folder, or sample, to try this out")
    parser.add_argument("--out", type=Path, default=Path("runs/proactivebench"), help="folder of the runs")
    options = parser.parse_args()

    name = options.model.rsplit("/", 1)[-1]
    decoding = {} if name == "embedded" else REASONING if name.startswith(("o1", "o3", "o4", "gpt-5")) else DECODING
    result = dict[str, Summary]()
    for title, settings in RUNS.items():
        try:
            model = ModelSpec(name=options.model, params=decoding)
            evaluation = Evaluation(options.corpus, model, settings=settings, benchmark="proactivebench")
            finished = evaluation.run(options.out / title.replace(" ", "-"))
        except (ProactError, Halt) as end:
            parser.exit(2, f"{end}\n")
        result[title] = summarize(RunFolder(finished.path))

    strata = next(iter(result.values())).strata
    print(line("run", *strata, "accuracy", "interventions", "asks", "blind asking"))
    print(line(*["---"] * (len(strata) + 5)))
    means = {title: summary.measured(summary.outcomes, by_stratum=True) for title, summary in result.items()}
    for title, summary in result.items():
        scores = [summary.scores(stratum).weighted.value for stratum in strata]
        own = [means[title][measure].value for measure in ("interventions", "asks", "blind")]
        print(line(title, *scores, summary.macro.weighted.value, *own))
    first, control = (means[title]["asks"].value for title in ("as it is", "with moves of other environments"))
    gap = "unknown" if first is None or control is None else f"{first - control:.3f}"
    print(f"\nasks where moves help, minus asks where they do not: {gap}\n")
    print_leaderboard(leaderboard([result["as it is"]]), Console())


def line(*cells: object) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in cells)} |"


if __name__ == "__main__":
    main()
