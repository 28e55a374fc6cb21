"""A run as `.eval_results/NAME.yaml` of a model's repository on the Hugging Face hub, whose page then shows the score.

The dataset is one that the Hub lists as a benchmark, so that it is named by the person who exports. The file holds one
number: the score that ranks, in percent, with what it rests on in `notes`.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.registry import find_benchmark
from dspy_proact.kept import replacing
from dspy_proact.report.numbers import counted, interval
from dspy_proact.report.summary import Summary
from dspy_proact.runs import RunFolder
from dspy_proact.stats import Estimate

_DATASET = re.compile(r"([\w.-]+/[\w.-]+)(?::([\w.-]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def export_hub(folder: RunFolder, summary: Summary, path: Path, dataset: str | None) -> Sequence[str]:
    """Write a run as results of the Hub; nothing of it is left out that has a place there.

    Args:
        folder: Of the run.
        summary: Of the run.
        path: Of the file.
        dataset: `OWNER/NAME` of the benchmark's dataset, or `OWNER/NAME:TASK` with the id of a task of its `eval.yaml`.

    Raises:
        UsageError: No dataset is named, the run is not complete, or a stand-in took part, or it cannot be written.
    """
    manifest, nouns = folder.manifest(), summary.nouns
    named = _DATASET.fullmatch(dataset or "")
    if named is None:
        raise UsageError(
            "`dataset`: name the dataset of the benchmark on the Hub, OWNER/NAME, or OWNER/NAME:TASK with the id of a "
            f"task of its eval.yaml{f', not {dataset!r}' if dataset else ''}"
        )
    if manifest.embedded:
        raise UsageError(f"{summary.path}: a stand-in took part, which measures nothing; its score is of no model")
    if pending := summary.count("pending"):
        raise UsageError(
            f"{summary.path}: {pending} of {len(summary.outcomes)} {nouns.cases} are pending; finish it first"
        )
    headline, score = _ranking_score(summary)
    if score.value is None:
        raise UsageError(f"{summary.path}: has no {headline} score: {score.reason}")
    unscored = summary.count("unscored")
    scored = f"{len(summary.outcomes) - unscored} of {counted(len(summary.outcomes), nouns.case, nouns.cases)} scored"
    notes = [f"{headline}, in percent, {interval(score)}", scored]
    notes += [f"judge {manifest.identity.judge_name}"] if manifest.identity.judges else []
    notes += [f"program {summary.model_name}"] if summary.model_name != summary.model else []
    notes += [
        f"corpus {Path(manifest.corpus.name).name}",
        f"dspy-proact {manifest.versions.get('dspy-proact', '')}".strip(),
    ]
    lines = ["- dataset:", f"    id: {json.dumps(named[1])}", f"    task_id: {json.dumps(named[2] or 'default')}"]
    if _COMMIT.fullmatch(manifest.corpus.revision or ""):
        lines.append(f"    revision: {json.dumps(manifest.corpus.revision)}")
    lines += [f"  value: {round(100 * score.value, 2)}", f"  date: {json.dumps(manifest.created)}"]
    lines.append(f"  notes: {json.dumps('; '.join(notes), ensure_ascii=False)}")
    with replacing(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ()


def _ranking_score(summary: Summary) -> tuple[str, Estimate]:
    """The score by which a leaderboard of the benchmark would rank the run, with its name."""
    declared = find_benchmark(summary.benchmark)
    headline = declared.published.headline if declared and declared.published else "score"
    if headline in ("score", "macro"):
        mean = summary.macro if headline == "macro" else summary.micro
        return ("strict mean of strata" if headline == "macro" else "strict score"), mean.strict_weighted
    return headline, summary.measured(summary.outcomes)[headline]
