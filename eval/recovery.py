"""Recovery, and what it costs: the bare model, three hand-written system prompts and a compiled program, side by side.

    python eval/recovery.py --model openai/gpt-4o --judge openai/gpt-5.4 --corpus proactbench --program FILE

Prints a Markdown table and draws Recovery against unwanted offers. Intervals are over scenarios; the difference to the
bare model is paired by trigger, its p adjusted by Holm over the programs. With the embedded stand-in, which is the
default, it measures no real model. The same command again goes on where it stopped.
"""

import argparse
from pathlib import Path
from statistics import fmean

from dspy_proact import Assistant, Evaluation, Halt, ProactError, Summary, compare, load_corpus, summarize
from dspy_proact.evaluation.compiled import load_assistant
from dspy_proact.kept import write_file
from dspy_proact.programs.artefact import read_artefact
from dspy_proact.report.numbers import percent, points_of, probability
from dspy_proact.report.page import ScatterPoint, scatter_svg
from dspy_proact.runs import RunFolder, Scope
from dspy_proact.stand_in import STAND_IN
from dspy_proact.stats import holm

HERE = Path(__file__).parent
PROMPTS = sorted((HERE.parent / "optimize" / "prompts").glob("*.txt"))
PROGRAM = HERE.parent / "optimize" / "programs" / "assistant-embedded.json"
PHASE, OTHERS = "RECOVERY", ("EMERGENT", "CRITICAL")
HEADS = ("program", "n", "Recovery: pass", "weighted", "to bare", "p", "Emergent", "Critical")
HEADS += ("control turns", "unwanted offers", "words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="embedded", help="a litellm name")
    parser.add_argument("--judge", default="embedded", help="likewise")
    parser.add_argument("--corpus", default="sample", help="with control turns")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="a compiled assistant")
    parser.add_argument("--limit", type=int, help="the most triggers")
    parser.add_argument("--out", type=Path, default=Path("runs", "recovery"), help="folder of the runs")
    parser.add_argument("--svg", type=Path, default=HERE / "recovery.svg", help="the picture")
    options = parser.parse_args()

    try:
        corpus, artefact = load_corpus(options.corpus), read_artefact(options.program, "assistant")
        learned = artefact.card.provenance.data
        prompts = {path.stem: Assistant(path.read_text(encoding="utf-8")) for path in PROMPTS}
        programs = {"bare": Assistant(), **prompts, "compiled": load_assistant(options.program)}
        runs: dict[str, Summary] = {}
        for name, assistant in programs.items():
            evaluation = Evaluation(corpus, options.model, options.judge, program=assistant)
            finished = evaluation.run(options.out / name, Scope(limit=options.limit, controls=True))
            runs[name] = summarize(RunFolder(finished.path))
    except (ProactError, Halt) as end:
        parser.exit(2, f"{end}\n")
    notes = [STAND_IN] if any(run.embedded for run in runs.values()) else []
    if corpus.sha256 == learned.sha256 or corpus.name == learned.name:
        notes += ["compiled: learned on this corpus, so that this is no test of it; its card has one, out of fold"]
    print(*table(runs), *("", *(f"{note[0].upper()}{note[1:]}." for note in notes)), sep="\n")
    write_file(options.svg, picture(runs, f"{options.model} on {options.corpus}", notes))


def table(runs: dict[str, Summary]) -> list[str]:
    others = {name: run for name, run in runs.items() if name != "bare"}
    changes = {name: compare(runs["bare"], run).lenient.rows[PHASE].weighted for name, run in others.items()}
    p = dict(zip(changes, holm([change.p for change in changes.values()]), strict=True))
    rows = [HEADS, ["---"] * len(HEADS)]
    for name, run in runs.items():
        scores, controls = run.scores(PHASE), run.controls
        paired = [points_of(changes[name].difference), probability(p[name])] if name in changes else ["", ""]
        rows += [
            [
                *(name, sum(item.state == "scored" for item in run.of_stratum(PHASE))),
                *(percent(scores.pass_rate), percent(scores.weighted), *paired),
                *(percent(run.scores(phase).weighted) for phase in OTHERS),
                *(controls.count("scored"), percent(controls.rate), words(run)),
            ]
        ]
    return [f"| {' | '.join(map(str, row))} |" for row in rows]


def words(run: Summary) -> str:
    counts = [len(outcome.response.split()) for outcome in run.outcomes if outcome.response is not None]
    return f"{fmean(counts):.0f}" if counts else "-"


def picture(runs: dict[str, Summary], title: str, notes: list[str]) -> str:
    points = [
        ScatterPoint(name, run.controls.rate, run.scores(PHASE).weighted, marked=name == "bare")
        for name, run in runs.items()
    ]
    texts = ["95 % intervals over scenarios", "filled: the model without a system prompt", *notes]
    x, y = "control turns with an unwanted offer", "Recovery, mean score"
    return scatter_svg(points, title=f"Recovery against unwanted offers: {title}", x=x, y=y, note="; ".join(texts))


if __name__ == "__main__":
    main()
